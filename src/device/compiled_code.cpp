#include "device/compiled_code.hpp"

#include <fmt/format.h>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace {

struct Entry {
  CompiledCode code;
  bool has_machine_code = true;
  bool has_ptx = true;
};

// Parses "90a-real": capability, whether the code is architecture-specific, and the kind of code.
// Entries without a suffix have both kinds, machine code and PTX.
std::optional<Entry> parse(std::string_view suffix) {
  const auto capability = take_number<int>(suffix);
  if (!capability) return std::nullopt;
  Entry entry;
  entry.code.capability = *capability;
  if (!suffix.empty() && (suffix.front() == 'a' || suffix.front() == 'f')) {
    entry.code.is_specific = true;
    suffix.remove_prefix(1);
  }
  if (suffix == "-real") {
    entry.has_ptx = false;
  } else if (suffix == "-virtual") {
    entry.has_machine_code = false;
  } else if (!suffix.empty()) {
    return std::nullopt;
  }
  return entry;
}

bool runs_machine_code(const CompiledCode& code, int capability) {
  if (code.is_specific) return code.capability == capability;
  return code.capability / 10 == capability / 10 && code.capability <= capability;
}

bool runs_ptx(const CompiledCode& code, int capability) {
  return code.is_specific ? code.capability == capability : code.capability <= capability;
}

bool is_better(const CompiledCode& code, const std::optional<CompiledCode>& best) {
  if (!best || code.capability != best->capability)
    return !best || code.capability > best->capability;
  return code.is_specific;
}

std::string dotted(int capability) {
  return fmt::format("{}.{}", capability / 10, capability % 10);
}

}  // namespace

std::optional<CompiledCode> code_for(std::string_view architectures, int capability) {
  std::optional<CompiledCode> machine_code;
  std::optional<CompiledCode> ptx;
  while (!architectures.empty()) {
    const std::size_t length = architectures.find_first_of(",;");
    const std::string_view text = architectures.substr(0, length);
    architectures.remove_prefix(length == std::string_view::npos ? architectures.size()
                                                                 : length + 1);
    // CMake names for several architectures, reduced to the architecture that such a device runs.
    if (text == "native" || text == "all") machine_code = CompiledCode{capability, false};
    if (text == "all-major") machine_code = CompiledCode{capability / 10 * 10, false};
    const auto entry = parse(text);
    if (!entry) continue;
    const CompiledCode& code = entry->code;
    if (entry->has_machine_code && runs_machine_code(code, capability) &&
        is_better(code, machine_code))
      machine_code = code;
    if (entry->has_ptx && runs_ptx(code, capability) && is_better(code, ptx)) ptx = code;
  }
  return machine_code ? machine_code : ptx;
}

std::optional<std::string> lacks_code(std::string_view architectures, int capability, int needed,
                                      bool specific) {
  const auto code = code_for(architectures, capability);
  if (code && code->capability >= needed && (code->is_specific || !specific)) return std::nullopt;
  return fmt::format(
      "this binary, built for {}, {} for compute capability {}; build with "
      "-DCMAKE_CUDA_ARCHITECTURES={}{}-real",
      architectures,
      !code ? "has no code"
      : specific && code->capability >= needed
          ? "has no architecture-specific code"
          : fmt::format("has only the code of {}", dotted(code->capability)),
      dotted(capability), capability, specific ? "a" : "");
}

}  // namespace gpuexp
