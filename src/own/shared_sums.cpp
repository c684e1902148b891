#include "own/shared_sums.hpp"

#include <algorithm>

#include "family/element_draw.hpp"
#include "own/check_evaluation.hpp"

namespace gpuexp::own {

namespace {

constexpr double kMaxKeys = 0x1p53;

/// Product of the numbers of values of the indices from `first` to before `end`.
double combinations(const SharedSum& sum, std::size_t first, std::size_t end) {
  double product = 1;
  for (std::size_t i = first; i < end; ++i)
    product *= static_cast<double>(sum.extents[i]);
  return product;
}

double keys_of(const SharedSum& sum) {
  return combinations(sum, 0, static_cast<std::size_t>(sum.index_count));
}

/// The position of the index values in row-major order; -1 if a value is out of range.
std::int64_t key_of(const SharedSum& sum, const check_detail::State& state) {
  std::int64_t key = 0;
  for (std::int32_t i = 0; i < sum.index_count; ++i) {
    const std::int64_t extent = sum.extents[static_cast<std::size_t>(i)];
    if (extent == 1) continue;
    const double index = state.indices[i];
    if (!(index < static_cast<double>(extent))) return -1;
    key = key * extent + static_cast<std::int64_t>(index);
  }
  return key;
}

}  // namespace

bool SharedSum::is_shared_more(const SharedSum& enclosing) const {
  for (std::size_t d = 0; d < static_cast<std::size_t>(output_rank); ++d) {
    if (extents[d] < enclosing.extents[d]) return true;
  }
  return false;
}

std::optional<SharedSum> sum_of(const std::vector<bool>& uses, const std::vector<double>& extents,
                                std::size_t output_rank) {
  SharedSum sum;
  sum.index_count = static_cast<std::int32_t>(uses.size());
  sum.output_rank = static_cast<std::int32_t>(output_rank);
  double keys = 1;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    if (uses[i]) keys *= std::max(1.0, extents[i]);
    if (!(keys < kMaxKeys)) return std::nullopt;
    sum.extents[i] = uses[i] ? static_cast<std::int64_t>(std::max(1.0, extents[i])) : 1;
  }
  // The unused index that changes first, and the number of values that its neighbours repeat.
  const auto repeats = [&](std::size_t d) { return !uses[d] && extents[d] > 1; };
  std::size_t after = output_rank;
  while (after > 0 && !repeats(after - 1))
    --after;
  if (after == 0) return std::nullopt;
  if (combinations(sum, after, uses.size()) > static_cast<double>(kMaxKeptSums))
    return std::nullopt;
  double repeated = 1;
  for (std::size_t d = after; d > 0 && (!uses[d - 1] || extents[d - 1] <= 1); --d)
    repeated *= std::max(1.0, extents[d - 1]);
  double elements = 1;
  for (std::size_t d = 0; d < output_rank; ++d)
    elements *= extents[d];
  const double keys_of_output = combinations(sum, 0, output_rank);
  sum.computed.of_all =
      keys <= static_cast<double>(kMaxKeptSums) ? keys_of_output / elements : 1 / repeated;
  // A piece of neighbouring elements begins anywhere in a row of elements with one value, so it
  // computes 1 + (kPiece - 1) / row values on average.
  constexpr auto kPiece = static_cast<double>(ElementDraw::kPiece);
  const double row = combinations(sum, after, output_rank) > 1 ? 1 : repeated;
  sum.computed.of_drawn = (1 + (kPiece - 1) / row) / kPiece;
  return sum;
}

SumValues::SumValues(const std::vector<SharedSum>& sums) : sums_(sums), values_(sums.size()) {
  at_.fill(-1);
  for (std::size_t i = 0; i < sums_.size(); ++i)
    at_[static_cast<std::size_t>(sums_[i].begin)] = static_cast<std::int16_t>(i);
}

std::vector<SumValues::Value>& SumValues::values_of(const SharedSum& sum) {
  std::vector<Value>& values = values_[static_cast<std::size_t>(&sum - sums_.data())];
  const double keys = std::min(keys_of(sum), static_cast<double>(kMaxKeptSums));
  if (values.empty()) values.resize(static_cast<std::size_t>(keys));
  return values;
}

bool SumValues::take(const SharedSum& sum, check_detail::State& state) const {
  const std::vector<Value>& values = values_[static_cast<std::size_t>(&sum - sums_.data())];
  const std::int64_t key = key_of(sum, state);
  if (values.empty() || key < 0) return false;
  const Value& value = values[static_cast<std::size_t>(key) % values.size()];
  if (value.key != key) return false;
  state.stack[state.top - 1] = value.value;
  state.is_exact = state.is_exact && value.is_exact;
  state.fault.instruction = value.instruction;
  return true;
}

void SumValues::keep(const SharedSum& sum, check_detail::State& state, bool was_exact) {
  const std::int64_t key = key_of(sum, state);
  if (key >= 0) {
    std::vector<Value>& values = values_of(sum);
    values[static_cast<std::size_t>(key) % values.size()] = {
        key, state.stack[state.top - 1], state.fault.instruction, state.is_exact};
  }
  state.is_exact = state.is_exact && was_exact;
}

}  // namespace gpuexp::own
