#include "sim/runtime_functions.hpp"

#include <array>
#include <cstring>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "sim/addresses.hpp"
#include "sim/device_printf.hpp"
#include "sim/function_addresses.hpp"

namespace gpuexp::sim {

namespace {

constexpr std::uint8_t kFirstArgument = 4;

std::uint64_t argument_pair(const Warp& warp, unsigned lane, unsigned index) {
  const unsigned at = kFirstArgument + index;
  return warp.registers[at][lane] | std::uint64_t{warp.registers[at + 1][lane]} << 32;
}

std::uint64_t value_at(Warp& warp, unsigned lane, std::uint64_t address, unsigned bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, generic_at(warp, lane, address, bytes), bytes);
  return value;
}

std::string text_at(Warp& warp, unsigned lane, std::uint64_t address) {
  constexpr std::size_t kMaxCharacters = 4096;
  std::string text;
  while (text.size() < kMaxCharacters) {
    const auto c = static_cast<char>(value_at(warp, lane, address + text.size(), 1));
    if (c == '\0') break;
    text += c;
  }
  return text;
}

// int vprintf(const char* format, void* arguments)
void run_vprintf(Warp& warp, unsigned lane) {
  const std::uint64_t format = argument_pair(warp, lane, 0);
  const std::uint64_t arguments = argument_pair(warp, lane, 2);
  constexpr std::uint32_t kNoFormat = ~0u;  // -1
  std::uint32_t& result = warp.registers[kFirstArgument][lane];
  if (format == 0) {
    result = kNoFormat;
    return;
  }
  const PrintfArguments access{[&](std::size_t offset, std::size_t bytes) {
                                 return value_at(warp, lane, arguments + offset,
                                                 static_cast<unsigned>(bytes));
                               },
                               [&](std::uint64_t address) { return text_at(warp, lane, address); }};
  const PrintfResult printed = format_printf(text_at(warp, lane, format), access);
  if (warp.block.launch.print) (*warp.block.launch.print)(printed.text);
  result = static_cast<std::uint32_t>(printed.arguments);
}

// void __assertfail(const char* condition, const char* file, unsigned line, const char* function,
//                   size_t character_bytes)
void run_assertfail(Warp& warp, unsigned lane) {
  const std::string condition = text_at(warp, lane, argument_pair(warp, lane, 0));
  std::string file = text_at(warp, lane, argument_pair(warp, lane, 2));
  const std::uint32_t line = warp.registers[kFirstArgument + 4][lane];
  const std::string function = text_at(warp, lane, argument_pair(warp, lane, 6));
  // Other faults name files relative to the compiled file's folder.
  const std::string_view listed =
      warp.block.launch.program->listed[warp.divergence.next() - 1].file;
  if (!listed.empty() && file.ends_with(listed)) file = listed;
  Fault fault(FaultKind::other, fmt::format("assertion `{}` failed in {}", condition, function),
              std::nullopt, lane);
  fault.place = fmt::format("{}:{}", file, line);
  throw fault;
}

using RunFunction = void (*)(Warp& warp, unsigned lane);

// In the order of kRuntimeFunctions; null: cannot be executed.
constexpr std::array<RunFunction, kRuntimeFunctions.size()> kRun{run_vprintf, run_assertfail};

}  // namespace

void call_runtime(Warp& warp, unsigned lane, std::uint64_t address) {
  const std::optional<std::size_t> index = function_at(address);
  if (!index)
    throw Fault(FaultKind::other, "the called pointer does not point to a function", address, lane);
  if (warp.block.launch.is_approximate) return;
  if (!kRun[*index])
    throw Fault(FaultKind::other,
                fmt::format("the kernel calls {}, which the simulator does not execute",
                            kRuntimeFunctions[*index]),
                std::nullopt, lane);
  kRun[*index](warp, lane);
}

}  // namespace gpuexp::sim
