#include "compile/kernel_attributes.hpp"

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

// The numbers in "Value: 0x100 0x1 0x1"; 0 for those that are missing.
std::array<std::int64_t, 3> sides(std::string_view line) {
  std::array<std::int64_t, 3> found{};
  for (std::int64_t& side : found) {
    take_until(line, "0x");
    side = take_number<std::uint32_t>(line, 16).value_or(0);
  }
  return found;
}

void set_attribute(KernelAttributes& kernel, std::string_view attribute, std::string_view value) {
  if (attribute == "EIATTR_MAX_THREADS") {
    const auto [x, y, z] = sides(value);
    kernel.block.max_threads = x * y * z;
  } else if (attribute == "EIATTR_REQNTID") {
    kernel.block.required = sides(value);
  } else if (attribute == "EIATTR_CTA_PER_CLUSTER") {
    kernel.cluster = sides(value);
  }
}

using SizesByOrdinal = std::map<std::uint32_t, std::int64_t>;

std::vector<std::int64_t> in_order(const std::string& kernel, const SizesByOrdinal& parameters) {
  std::vector<std::int64_t> sizes;
  for (const auto& [ordinal, bytes] : parameters) {
    if (ordinal != sizes.size())
      throw std::runtime_error(fmt::format(
          "the machine code has no size of parameter {} of kernel {}", sizes.size() + 1, kernel));
    sizes.push_back(bytes);
  }
  return sizes;
}

}  // namespace

// A kernel's attributes are in the section ".nv.info.<kernel>". Each has a line "Attribute:
// EIATTR_MAX_THREADS" before that of its value; a parameter's value is "Value: Index : 0x0
// Ordinal : 0x1 Offset : 0x8 Size : 0x8".
std::map<std::string, KernelAttributes> kernel_attributes(std::string_view dump) {
  constexpr std::string_view kSection = ".nv.info.";
  constexpr std::string_view kAttribute = "Attribute:";
  constexpr std::string_view kValue = "Value:";
  std::map<std::string, KernelAttributes> kernels;
  std::map<std::string, SizesByOrdinal> parameters;
  std::string kernel;
  std::string_view attribute;
  while (!dump.empty()) {
    std::string_view line = trimmed(take_until(dump, "\n"));
    if (line.starts_with('.'))
      kernel = line.starts_with(kSection) ? line.substr(kSection.size()) : std::string_view();
    if (kernel.empty()) continue;
    if (line.starts_with(kAttribute)) attribute = trimmed(line.substr(kAttribute.size()));
    if (!line.starts_with(kValue)) continue;
    set_attribute(kernels[kernel], attribute, line);
    const auto ordinal = number_of_field(line, "Ordinal ");
    const auto bytes = number_of_field(line, "Size ");
    if (ordinal && bytes) parameters[kernel][*ordinal] = *bytes;
  }
  for (const auto& [name, sizes] : parameters)
    kernels[name].parameter_bytes = in_order(name, sizes);
  return kernels;
}

}  // namespace gpuexp
