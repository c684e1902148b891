// What a kernel did that no kernel may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/types.hpp"

namespace gpuexp::sim {

enum class FaultKind : std::uint8_t {
  out_of_bounds,  ///< an access outside of every buffer, or of the block's shared memory
  misaligned,     ///< an address that is no multiple of the access's width
  unwritten,      ///< a read of memory that nothing has written
  race,           ///< two threads, the same byte of shared memory, at least one write, no order
  async_copy,     ///< what cp.async copies is used before the copy is waited for
  barrier,        ///< threads wait for others that never come
  endless,        ///< a warp exceeds the limit of instructions
  other,          ///< a trap, or what the simulator cannot execute
};

std::string_view to_string(FaultKind kind);

/// "(33, 0, 0)"
std::string to_text(const Extent& place);

/// The place with this number in a block or a grid, the x-coordinate first; the number of a place.
constexpr Extent place_at(const Extent& all, std::int64_t number) {
  return {number % all.x, number / all.x % all.y, number / (all.x * all.y)};
}
constexpr std::int64_t number_in(const Extent& all, const Extent& place) {
  return place.x + all.x * (place.y + all.y * place.z);
}

/// What to say of accesses to shared memory.
std::string describe_outside_shared(std::uint64_t address, std::size_t width, std::size_t bytes);
std::string describe_outside_local(std::uint64_t address, std::size_t width);
/// `memory`: " of shared memory"
std::string describe_misaligned(std::uint64_t address, std::size_t width,
                                std::string_view memory = "");

class Fault : public std::runtime_error {
 public:
  /// `words_of` says what happened, without the place.
  explicit Fault(const std::string& words_of) : Fault(FaultKind::other, words_of) {}
  Fault(FaultKind of, const std::string& words_of,
        std::optional<std::uint64_t> address_of = std::nullopt,
        std::optional<unsigned> lane_of = std::nullopt);

  /// All of it in one sentence.
  const char* what() const noexcept override { return sentence_.c_str(); }

  /// Whoever knows more adds it on the way up.
  void set_place(const Extent& block_of, const std::optional<Extent>& thread_of,
                 const std::string& place_of);
  void set_kernel(const std::string& kernel_of);

  FaultKind kind;
  std::string words;
  std::optional<std::uint64_t> address;  ///< in shared memory: from the beginning of the block's
  std::optional<unsigned> lane;          ///< of the warp
  std::string kernel;
  std::string place;             ///< "kernels/matmul.cu:120"; empty: not known
  std::optional<Extent> block;   ///< in the grid
  std::optional<Extent> thread;  ///< in the block

 private:
  void compose();

  std::string sentence_;
};

}  // namespace gpuexp::sim
