#include "sass/compiled_kernels.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "sass/code_listing.hpp"
#include "sass/line_table.hpp"
#include "sass/machine_code.hpp"

namespace gpuexp {

namespace {

int capability_of(const std::string& architecture) {
  constexpr std::string_view kPrefix = "sm_";
  std::string_view rest = architecture;
  const std::string_view before = take_until(rest, kPrefix);
  const auto number = take_number<int>(rest);
  if (!before.empty() || !number)
    throw std::runtime_error(
        fmt::format("'{}' is not an architecture such as sm_90a", architecture));
  return *number;
}

// Number after `key`, such as "REG:", in " REG:12 STACK:0 SHARED:1536 LOCAL:0 CONSTANT[0]:536".
int number_after(std::string_view line, std::string_view key) {
  std::string_view rest = line;
  take_until(rest, fmt::format(" {}", key));
  if (const auto number = take_number<int>(rest)) return *number;
  throw std::runtime_error(fmt::format("cuobjdump printed no number after {} in: {}", key, line));
}

// Since Hopper, a kernel's shared memory section includes the 1 KiB that the system reserves per
// block; ptxas -v, the occupancy documentation and the kernel table exclude it.
int without_reserved_bytes(int shared_bytes, const std::string& architecture) {
  constexpr int kReservedSince = 90;
  constexpr int kReservedBytes = 1024;
  const bool reserved = capability_of(architecture) >= kReservedSince;
  return reserved && shared_bytes >= kReservedBytes ? shared_bytes - kReservedBytes : shared_bytes;
}

std::vector<CompiledKernel> read_resource_usage(const std::string& text) {
  constexpr std::string_view kArchitecture = "arch = ";
  constexpr std::string_view kFunction = " Function ";
  constexpr std::string_view kParameterBank = " CONSTANT[0]:";
  std::vector<CompiledKernel> all;
  std::istringstream lines(text);
  std::string architecture;
  std::string kernel;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kArchitecture)) {
      architecture = line.substr(kArchitecture.size());
    } else if (line.starts_with(kFunction)) {
      kernel = line.substr(kFunction.size(), line.find(':') - kFunction.size());
    } else if (!kernel.empty()) {
      CompiledKernel usage;
      usage.lowered_name = kernel;
      usage.architecture = architecture;
      usage.registers = number_after(line, "REG:");
      usage.static_shared_bytes =
          without_reserved_bytes(number_after(line, "SHARED:"), architecture);
      usage.local_bytes = number_after(line, "LOCAL:");
      usage.stack_bytes = number_after(line, "STACK:");
      // Functions that linked kernels call are also listed, but without a parameter bank.
      if (line.find(kParameterBank) != line.npos) all.push_back(std::move(usage));
      kernel.clear();
    }
  }
  return all;
}

struct CodeTables {
  LinesByKernel lines;
  ConstantsByKernel constants;
  RelocationsByKernel relocations;
};

// Sets each instruction's source line from the last row at or before its address.
void locate(KernelCode& kernel, const std::vector<LineRow>& rows) {
  auto next = rows.begin();
  for (ListedInstruction& instruction : kernel.instructions) {
    while (next != rows.end() && next->address <= instruction.address)
      ++next;
    if (next == rows.begin()) continue;
    const LineRow& row = *std::prev(next);
    instruction.file = row.file;
    instruction.line = row.line;
    instruction.from_file = row.from_file;
    instruction.from_line = row.from_line;
  }
}

// Replaces the targets of calls by `names`, the code's relocations. The operands then refer to
// `names`.
void name_calls(KernelCode& kernel, const std::map<std::uint32_t, std::string>& names) {
  for (ListedInstruction& instruction : kernel.instructions) {
    const auto name = names.find(instruction.address);
    if (name != names.end() && instruction.opcode.starts_with("CALL"))
      instruction.operands = name->second;
  }
}

bool launches_kernels(const KernelCode& kernel) {
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(), [](const auto& i) {
    return i.operands.starts_with("__cudaCDP2LaunchDevice");
  });
}

bool reads_bank(const KernelCode& kernel, unsigned bank) {
  const std::string operand = fmt::format("c[{:#x}]", bank);
  return std::any_of(kernel.instructions.begin(), kernel.instructions.end(),
                     [&](const auto& i) { return i.operands.find(operand) != i.operands.npos; });
}

void add_code(CompiledKernel& kernel, KernelCode& code, const CodeTables& tables) {
  const std::pair key(kernel.architecture, kernel.lowered_name);
  for (const auto& [bank, owner] :
       {std::pair(kKernelBank, kernel.lowered_name), {kModuleBank, ""}}) {
    const auto found = tables.constants.find({kernel.architecture, owner});
    if (found != tables.constants.end() && reads_bank(code, bank))
      code.constants[bank] = found->second;
  }
  const auto names = tables.relocations.find(key);
  if (names != tables.relocations.end()) name_calls(code, names->second);
  const auto rows = tables.lines.find(key);
  if (rows != tables.lines.end()) locate(code, rows->second);
  for (const ListedInstruction& i : code.instructions) {
    for (const std::string_view file : {i.file, i.from_file}) {
      if (!file.empty()) kernel.source_files.emplace(file);
    }
  }
  kernel.launches_kernels = launches_kernels(code);
  kernel.instructions = to_text(count_instructions(code));
  kernel.code = to_text(code);
}

}  // namespace

int CompiledKernel::compute_capability() const {
  return capability_of(architecture);
}

std::vector<CompiledKernel> read_kernels(const ObjectDump& object, const std::string& source_root) {
  const CodeTables tables{read_lines(object.elf, source_root), read_constants(object.elf),
                          read_relocations(object.elf)};
  std::map<std::pair<std::string_view, std::string_view>, KernelCode> listed;
  for (KernelCode& code : read_code(object.sass))
    listed[{code.architecture, code.lowered_name}] = std::move(code);
  std::vector<CompiledKernel> kernels = read_resource_usage(object.resource_usage);
  for (CompiledKernel& kernel : kernels) {
    const auto code = listed.find({kernel.architecture, kernel.lowered_name});
    if (code != listed.end()) {
      add_code(kernel, code->second, tables);
    } else if (!object.sass.empty()) {
      throw std::runtime_error(fmt::format("cuobjdump -sass of {} lists no kernel {} for {}",
                                           object.name, kernel.lowered_name, kernel.architecture));
    }
  }
  return kernels;
}

}  // namespace gpuexp
