// Addresses of functions of the CUDA runtime, which device code calls.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuexp::sim {

/// The last one stands for all others.
inline constexpr std::array<std::string_view, 5> kRuntimeFunctions{
    "vprintf", "__assertfail", "malloc", "free", "a function of the CUDA runtime"};

/// The address that stands for the function; also of a function that the simulator cannot execute.
std::uint64_t address_of_function(std::string_view name);

/// The function at the address, as an index of kRuntimeFunctions; empty if there is none.
std::optional<std::size_t> function_at(std::uint64_t address);

}  // namespace gpuexp::sim
