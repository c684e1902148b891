#include "sim/fault.hpp"

#include <array>

#include <fmt/format.h>

namespace gpuexp::sim {

std::string_view to_string(FaultKind kind) {
  constexpr std::array<std::string_view, 8> kNames{"out_of_bounds", "misaligned", "unwritten",
                                                   "race",          "async_copy", "barrier",
                                                   "endless",       "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string to_text(const Extent& place) {
  return fmt::format("({}, {}, {})", place.x, place.y, place.z);
}

std::string shared_offset(std::uint64_t address, std::size_t system_bytes) {
  if (address < system_bytes) return fmt::format("{:#x} before the start", system_bytes - address);
  return fmt::format("{:#x}", address - system_bytes);
}

std::string describe_outside_shared(std::uint64_t address, std::size_t width, std::size_t bytes,
                                    std::size_t system_bytes) {
  return fmt::format("{} bytes at {} are outside of the block's {} bytes of shared memory", width,
                     shared_offset(address, system_bytes), bytes - system_bytes);
}

std::string describe_misaligned_shared(std::uint64_t address, std::size_t width,
                                       std::size_t system_bytes) {
  return fmt::format("{} bytes of shared memory at {} are not aligned: expected a multiple of {}",
                     width, shared_offset(address, system_bytes), width);
}

std::string describe_outside_local(std::uint64_t address, std::size_t width) {
  return fmt::format("{} bytes at {:#x} are outside of a thread's local memory", width, address);
}

std::string describe_misaligned(std::uint64_t address, std::size_t width, std::string_view memory) {
  return fmt::format("{} bytes{} at {:#x} are not aligned: expected a multiple of {}", width,
                     memory, address, width);
}

Fault::Fault(FaultKind of, const std::string& words_of, std::optional<std::uint64_t> address_of,
             std::optional<unsigned> lane_of)
    : std::runtime_error(words_of),
      kind(of),
      words(words_of),
      address(address_of),
      lane(lane_of),
      sentence_(words_of) {}

void Fault::set_place(const Extent& block_of, const std::optional<Extent>& thread_of,
                      const std::string& place_of) {
  block = block_of;
  thread = thread_of;
  place = place_of;
  compose();
}

void Fault::set_kernel(const std::string& kernel_of) {
  kernel = kernel_of;
  compose();
}

void Fault::add_words(std::string_view more) {
  words += more;
  compose();
}

void Fault::compose() {
  std::string begin = kernel;
  const auto add = [&](const std::string& part) {
    if (!begin.empty() && !part.empty()) begin += ", ";
    begin += part;
  };
  add(place);
  if (block) add("block " + to_text(*block));
  if (thread) add("thread " + to_text(*thread));
  sentence_ = begin.empty() ? words : begin + ": " + words;
}

}  // namespace gpuexp::sim
