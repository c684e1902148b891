#include "sim/function_addresses.hpp"

#include <algorithm>

namespace gpuexp::sim {

namespace {

// No memory is in this window.
constexpr std::uint64_t kFunctionWindow = std::uint64_t{0x05000000} << 32;
constexpr std::uint64_t kFunctionBytes = 16;

}  // namespace

std::uint64_t address_of_function(std::string_view name) {
  const auto found = std::find(kRuntimeFunctions.begin(), kRuntimeFunctions.end() - 1, name);
  return kFunctionWindow +
         static_cast<std::uint64_t>(found - kRuntimeFunctions.begin()) * kFunctionBytes;
}

std::optional<std::size_t> function_at(std::uint64_t address) {
  const std::uint64_t index = (address - kFunctionWindow) / kFunctionBytes;
  if (address < kFunctionWindow || index >= kRuntimeFunctions.size()) return std::nullopt;
  return index;
}

}  // namespace gpuexp::sim
