#include "sass/compiled_kernels.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "sass/code_listing.hpp"
#include "sass/line_table.hpp"
#include "sass/machine_code.hpp"

namespace gpuexp {

namespace {

struct Usage {
  std::string kernel;
  std::string architecture;  // sm_90a
  int registers;
  int shared_bytes;
  int local_bytes;
  int stack_bytes;
};

int capability_of(const std::string& architecture) {
  constexpr std::string_view kPrefix = "sm_";
  int number = 0;
  const char* begin = architecture.data() + kPrefix.size();
  if (!architecture.starts_with(kPrefix) ||
      std::from_chars(begin, architecture.data() + architecture.size(), number).ec != std::errc())
    throw std::runtime_error(fmt::format("'{}' is no architecture such as sm_90a", architecture));
  return number;
}

// The number after "REG:" in a line such as " REG:12 STACK:0 SHARED:1536 LOCAL:0 CONSTANT[0]:536".
int number_after(const std::string& line, const std::string& key) {
  const std::size_t position = line.find(" " + key);
  int number = 0;
  if (position == std::string::npos ||
      std::from_chars(line.data() + position + 1 + key.size(), line.data() + line.size(), number)
              .ec != std::errc())
    throw std::runtime_error(fmt::format("cuobjdump printed no number after {} in: {}", key, line));
  return number;
}

// From Hopper on, the size of a kernel's shared memory section starts with the 1 KiB that the
// system keeps in each block; ptxas -v and the documentation of occupancy count it apart, and so
// does the table.
int without_reserved_bytes(int shared_bytes, const std::string& architecture) {
  constexpr int kReservedSince = 90;
  constexpr int kReservedBytes = 1024;
  const bool reserved = capability_of(architecture) >= kReservedSince;
  return reserved && shared_bytes >= kReservedBytes ? shared_bytes - kReservedBytes : shared_bytes;
}

std::vector<Usage> read_resource_usage(const std::string& text) {
  constexpr std::string_view kArchitecture = "arch = ";
  constexpr std::string_view kFunction = " Function ";
  constexpr std::string_view kParameterBank = " CONSTANT[0]:";
  std::vector<Usage> all;
  std::istringstream lines(text);
  std::string architecture;
  std::string kernel;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(kArchitecture)) {
      architecture = line.substr(kArchitecture.size());
    } else if (line.starts_with(kFunction)) {
      kernel = line.substr(kFunction.size(), line.find(':') - kFunction.size());
    } else if (!kernel.empty()) {
      const Usage usage{kernel,
                        architecture,
                        number_after(line, "REG:"),
                        without_reserved_bytes(number_after(line, "SHARED:"), architecture),
                        number_after(line, "LOCAL:"),
                        number_after(line, "STACK:")};
      // Functions that linked kernels call stand there, too, without the bank of parameters.
      if (line.find(kParameterBank) != line.npos) all.push_back(usage);
      kernel.clear();
    }
  }
  return all;
}

struct Listing {
  bool launches_kernels = false;
  std::string counts;
  std::string code;
  std::set<std::string> source_files;
};
using Listings = std::map<std::pair<std::string, std::string>, Listing>;

// Gives each instruction the line of the last row at or before it.
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

// Operands refer to `names`, the code's relocations.
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

Listings listings_by_kernel(const std::string& sass, const std::string& elf,
                            const std::string& source_root) {
  Listings texts;
  const LinesByKernel lines = read_lines(elf, source_root);
  for (const KernelListing& listing : read_listings(sass))
    texts[{listing.mangled_name, listing.architecture}].counts = to_text(listing.instructions);
  const ConstantsByKernel constants = read_constants(elf);
  const RelocationsByKernel relocations = read_relocations(elf);
  for (KernelCode& kernel : read_code(sass)) {
    const std::string name(kernel.lowered_name);
    const std::string architecture(kernel.architecture);
    for (const auto& [bank, owner] : {std::pair(kKernelBank, name), {kModuleBank, ""}}) {
      const auto found = constants.find({architecture, owner});
      if (found != constants.end() && reads_bank(kernel, bank))
        kernel.constants[bank] = found->second;
    }
    const auto names = relocations.find({architecture, name});
    if (names != relocations.end()) name_calls(kernel, names->second);
    const auto rows = lines.find({architecture, name});
    if (rows != lines.end()) locate(kernel, rows->second);
    Listing& text = texts[{name, architecture}];
    for (const ListedInstruction& i : kernel.instructions) {
      for (const std::string_view file : {i.file, i.from_file}) {
        if (!file.empty()) text.source_files.emplace(file);
      }
    }
    text.launches_kernels = launches_kernels(kernel);
    text.code = to_text(kernel);
  }
  return texts;
}

}  // namespace

int CompiledKernel::compute_capability() const {
  return capability_of(architecture);
}

std::vector<CompiledKernel> read_kernels(const ObjectDump& object, const std::string& source_root) {
  Listings listings = listings_by_kernel(object.sass, object.elf, source_root);
  std::vector<CompiledKernel> kernels;
  for (const Usage& usage : read_resource_usage(object.resource_usage)) {
    CompiledKernel& kernel = kernels.emplace_back();
    kernel.lowered_name = usage.kernel;
    kernel.architecture = usage.architecture;
    kernel.registers = usage.registers;
    kernel.static_shared_bytes = usage.shared_bytes;
    kernel.local_bytes = usage.local_bytes;
    kernel.stack_bytes = usage.stack_bytes;
    const auto listing = listings.find({usage.kernel, usage.architecture});
    if (listing != listings.end()) {
      kernel.launches_kernels = listing->second.launches_kernels;
      kernel.instructions = std::move(listing->second.counts);
      kernel.code = std::move(listing->second.code);
      kernel.source_files = std::move(listing->second.source_files);
    } else if (!object.sass.empty()) {
      throw std::runtime_error(fmt::format("cuobjdump -sass of {} lists no kernel {} for {}",
                                           object.name, usage.kernel, usage.architecture));
    }
  }
  return kernels;
}

}  // namespace gpuexp
