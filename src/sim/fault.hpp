// Faults: illegal behaviour of a kernel, with the source line and thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/types.hpp"

namespace gpuexp::sim {

enum class FaultKind : std::uint8_t {
  out_of_bounds,  ///< access outside of every buffer, or of shared or local memory
  misaligned,
  unwritten,
  race,        ///< unordered accesses to a byte of shared memory by two threads; one or both write
  async_copy,  ///< access to bytes that cp.async is still copying: no wait has completed the copy
  barrier,
  endless,  ///< a warp exceeds the instruction limit
  other,    ///< a trap, or behaviour that the simulator cannot execute
};

std::string_view to_string(FaultKind kind);

/// "(33, 0, 0)"
std::string to_text(const Extent& place);

/// Coordinates of element `number` of a block or grid, x first; number_in() is the inverse.
constexpr Extent place_at(const Extent& all, std::int64_t number) {
  return {number % all.x, number / all.x % all.y, number / (all.x * all.y)};
}
constexpr std::int64_t number_in(const Extent& all, const Extent& place) {
  return place.x + all.x * (place.y + all.y * place.z);
}

/// An address in a block's shared memory as an offset in the kernel's own shared memory, which
/// begins after the `system_bytes` that the system reserves: "0x80", or "0x8 before the start".
std::string shared_offset(std::uint64_t address, std::size_t system_bytes);
/// `bytes`: size of the block's shared memory, with the system's.
std::string describe_outside_shared(std::uint64_t address, std::size_t width, std::size_t bytes,
                                    std::size_t system_bytes);
std::string describe_misaligned_shared(std::uint64_t address, std::size_t width,
                                       std::size_t system_bytes);
std::string describe_outside_local(std::uint64_t address, std::size_t width);
/// `memory`: " of local memory", for example.
std::string describe_misaligned(std::uint64_t address, std::size_t width,
                                std::string_view memory = "");

/// In the words of faults of the kind `unwritten`.
inline constexpr std::string_view kBeforeAnyWrite = "before anything wrote them";

class Fault : public std::runtime_error {
 public:
  explicit Fault(const std::string& words_of) : Fault(FaultKind::other, words_of) {}
  Fault(FaultKind of, const std::string& words_of,
        std::optional<std::uint64_t> address_of = std::nullopt,
        std::optional<unsigned> lane_of = std::nullopt);

  const char* what() const noexcept override { return sentence_.c_str(); }

  void set_place(const Extent& block_of, const std::optional<Extent>& thread_of,
                 const std::string& place_of);
  void set_kernel(const std::string& kernel_of);
  void add_words(std::string_view more);

  FaultKind kind;
  std::string words;
  std::optional<std::uint64_t> address;  ///< in shared memory: offset in the block's shared memory
  std::optional<unsigned> lane;
  /// For a read of unwritten bytes of the block's own shared memory, at `address`: their number.
  unsigned unwritten_shared_bytes = 0;
  std::string kernel;
  std::string place;  ///< source line, "kernels/matmul.cu:120"; empty: unknown
  std::optional<Extent> block;
  std::optional<Extent> thread;

 private:
  void compose();

  std::string sentence_;
};

/// The execution ended because its caller asked for it.
class Stopped : public std::runtime_error {
 public:
  explicit Stopped(const std::string& words, std::string at = {})
      : std::runtime_error(words), place(std::move(at)) {}

  std::string place;  ///< source line that a warp was executing; empty: unknown
  /// Whether the warp's block waited for a value in global memory, and later blocks had not
  /// started.
  bool may_await_later_block = false;
};

/// Why a block may never end that waits for a value in global memory while later blocks have not
/// started. Begins with "; ".
inline constexpr std::string_view kAwaitsLaterBlock =
    "; its block waits for a value in global memory: blocks that wait for blocks that start later "
    "never end in the simulator, which starts blocks in order, each after earlier ones have ended";

}  // namespace gpuexp::sim
