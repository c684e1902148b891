#include "sass/grid_barrier.hpp"

#include <cstddef>

namespace gpuexp {

namespace {

/// Offset in constant bank 0 of the address of the memory with which a cooperative launch
/// synchronizes its grid. Other launches have 0 there.
std::string_view workspace_offset(int compute_capability) {
  return compute_capability >= 100 ? "0x254" : compute_capability >= 90 ? "0x44" : "0x8c";
}

}  // namespace

// The offset is the whole index of the bank, or is added to a register.
bool synchronizes_grid(std::string_view code, int compute_capability) {
  constexpr std::string_view kBank = "c[0x0][";
  const std::string_view offset = workspace_offset(compute_capability);
  for (std::size_t at = code.find(kBank); at != code.npos; at = code.find(kBank, at)) {
    at += kBank.size();
    std::string_view index = code.substr(at, code.find(']', at) - at);
    if (const std::size_t plus = index.rfind('+'); plus != index.npos)
      index.remove_prefix(plus + 1);
    if (index == offset) return true;
  }
  return false;
}

}  // namespace gpuexp
