#include "compile/parameter_sizes.hpp"

#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace {

// The number in "Ordinal : 0x1", given "Ordinal".
std::optional<std::uint32_t> number_of_field(std::string_view line, std::string_view field) {
  const std::size_t at = line.find(field);
  if (at == std::string_view::npos) return std::nullopt;
  line.remove_prefix(at);
  take_until(line, ": 0x");
  return take_number<std::uint32_t>(line, 16);
}

}  // namespace

// A kernel's attributes are in the section ".nv.info.<kernel>". Each parameter has a line
// "Value: Index : 0x0 Ordinal : 0x1 Offset : 0x8 Size : 0x8".
std::map<std::string, std::vector<std::int64_t>> parameter_sizes(std::string_view dump) {
  constexpr std::string_view kSection = ".nv.info.";
  std::map<std::string, std::map<std::uint32_t, std::int64_t>> found;
  std::string kernel;
  while (!dump.empty()) {
    const std::string_view line = trimmed(take_until(dump, "\n"));
    if (line.starts_with('.'))
      kernel = line.starts_with(kSection) ? line.substr(kSection.size()) : std::string_view();
    const auto ordinal = number_of_field(line, "Ordinal ");
    const auto bytes = number_of_field(line, "Size ");
    if (!kernel.empty() && ordinal && bytes) found[kernel][*ordinal] = *bytes;
  }
  std::map<std::string, std::vector<std::int64_t>> sizes;
  for (const auto& [name, parameters] : found) {
    for (const auto& [ordinal, bytes] : parameters) {
      std::vector<std::int64_t>& of_kernel = sizes[name];
      if (ordinal != of_kernel.size())
        throw std::runtime_error(
            fmt::format("the machine code has no size of parameter {} of kernel {}",
                        of_kernel.size() + 1, name));
      of_kernel.push_back(bytes);
    }
  }
  return sizes;
}

}  // namespace gpuexp
