// Sums of a check that several output elements share, such as the mean of a row: the host keeps
// their values by the indices that they use, and computes each only once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "own/check_program.hpp"

namespace gpuexp::own {

namespace check_detail {
struct State;
}

/// Costs, or shares of them, if elements are evaluated in the order of their indices.
struct SharedCost {
  double of_all = 0;    ///< all elements are evaluated
  double of_drawn = 0;  ///< pieces of ElementDraw::kPiece elements are, and pieces share nothing
};

/// A sum whose value depends on some of the indices only.
struct SharedSum {
  /// The instructions [begin, end) compute the sum. They take the number of terms from the stack.
  /// Two sums do not begin at the same instruction.
  std::int32_t begin = 0;
  std::int32_t end = 0;
  /// By index, of the output and of enclosing sums: the number of its values if the sum uses it,
  /// otherwise 1.
  std::array<std::int64_t, kMaxRank + kMaxSums> extents{};
  std::int32_t index_count = 0;
  std::int32_t output_rank = 0;
  SharedCost computed;  ///< shares of its evaluations that compute it; the others take its value

  /// Whether the sum does not use an index of the output that `enclosing` uses.
  bool is_shared_more(const SharedSum& enclosing) const;
};

/// The sum that uses these indices, without `begin` and `end`. The first `output_rank` indices are
/// those of the output. Empty if no kept value would be used: the sum uses all indices of the
/// output, or more than kMaxKeptSums other values are needed between two uses of a value.
std::optional<SharedSum> sum_of(const std::vector<bool>& uses, const std::vector<double>& extents,
                                std::size_t output_rank);

/// Maximum number of values that are kept of a sum.
inline constexpr std::int64_t kMaxKeptSums = 1 << 15;

/// The values of a check's shared sums, for one thread that evaluates elements with
/// evaluate_with(). The inputs of the check must not change meanwhile.
class SumValues {
 public:
  static constexpr bool kShares = true;

  explicit SumValues(const std::vector<SharedSum>& sums);

  const SharedSum* sum_at(int begin) const {
    const int sum = at_[static_cast<std::size_t>(begin)];
    return sum < 0 ? nullptr : &sums_[static_cast<std::size_t>(sum)];
  }
  bool take(const SharedSum& sum, check_detail::State& state) const;
  void keep(const SharedSum& sum, check_detail::State& state, bool was_exact);

 private:
  struct Value {
    std::int64_t key = -1;
    Checked value;
    std::int32_t instruction = 0;  ///< the last executed one
    bool is_exact = true;
  };

  std::vector<Value>& values_of(const SharedSum& sum);

  std::vector<SharedSum> sums_;
  std::array<std::int16_t, kMaxInstructions> at_{};  ///< by instruction: position in sums_, or -1
  std::vector<std::vector<Value>> values_;           ///< per sum: one value per key modulo size
};

}  // namespace gpuexp::own
