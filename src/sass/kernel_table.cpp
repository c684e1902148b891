#include "sass/kernel_table.hpp"

#include <charconv>
#include <iterator>
#include <set>
#include <sstream>
#include <stdexcept>
#include <vector>

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

// 90 of sm_90a.
int compute_capability(const std::string& architecture) {
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
  const bool reserved = compute_capability(architecture) >= kReservedSince;
  return reserved && shared_bytes >= kReservedBytes ? shared_bytes - kReservedBytes : shared_bytes;
}

std::vector<Usage> read_resource_usage(const std::string& text) {
  constexpr std::string_view kArchitecture = "arch = ";
  constexpr std::string_view kFunction = " Function ";
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
      all.push_back({kernel, architecture, number_after(line, "REG:"),
                     without_reserved_bytes(number_after(line, "SHARED:"), architecture),
                     number_after(line, "LOCAL:"), number_after(line, "STACK:")});
      kernel.clear();
    }
  }
  return all;
}

// "0000000000000000 W _ZN6gpuexp…": strong and weak functions, which host stubs are.
std::set<std::string> read_functions(const std::string& symbols) {
  std::set<std::string> functions;
  std::istringstream words(symbols);
  for (std::string address, type, name; words >> address >> type >> name;) {
    if (type == "T" || type == "W") functions.insert(name);
  }
  return functions;
}

bool is_of_library(const std::string& kernel) {
  for (const char* prefix : {"_ZN3cub", "_ZN6thrust", "_ZN4cuda"}) {
    if (kernel.starts_with(prefix)) return true;
  }
  return false;
}

struct Listing {
  std::string counts;
  std::string code;
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

Listings listings_by_kernel(const std::string& sass, const std::string& elf,
                            const std::string& source_root, std::set<std::string>& source_files) {
  Listings texts;
  const LinesByKernel lines = read_lines(elf, source_root);
  for (const KernelListing& listing : read_listings(sass))
    texts[{listing.mangled_name, listing.architecture}].counts = to_text(listing.instructions);
  const ConstantsByKernel constants = read_constants(elf);
  for (KernelCode& kernel : read_code(sass)) {
    const std::string name(kernel.lowered_name);
    const std::string architecture(kernel.architecture);
    const auto found = constants.find({architecture, name});
    if (found != constants.end()) kernel.constants = found->second;
    const auto rows = lines.find({architecture, name});
    if (rows != lines.end()) locate(kernel, rows->second);
    for (const ListedInstruction& i : kernel.instructions) {
      for (const std::string_view file : {i.file, i.from_file}) {
        if (!file.empty()) source_files.emplace(file);
      }
    }
    texts[{name, architecture}].code = to_text(kernel);
  }
  return texts;
}

std::string figures_of(const Usage& u, const std::string& instructions) {
  return fmt::format("{}, {}, {}, {}, R\"({})\"", u.registers, u.shared_bytes, u.local_bytes,
                     u.stack_bytes, instructions);
}

// "matmul" of "…/matmul.cu.o".
std::string module_of(const std::string& object) {
  const std::string file = object.substr(object.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

}  // namespace

void KernelTable::add(const ObjectDump& object) {
  const std::set<std::string> functions = read_functions(object.symbols);
  const Listings listings =
      listings_by_kernel(object.sass, object.elf, source_root_, source_files_);
  for (const Usage& usage : read_resource_usage(object.resource_usage)) {
    if (!functions.count(usage.kernel)) {
      if (is_of_library(usage.kernel)) continue;
      throw std::runtime_error(fmt::format(
          "the kernel {} in {} has no host symbol of its name, so its registers and shared memory "
          "cannot be looked up: give it external linkage (not static), and named types as template "
          "arguments (no lambda)",
          usage.kernel, object.name));
    }
    const auto listing = listings.find({usage.kernel, usage.architecture});
    if (listing == listings.end() && !object.sass.empty()) {
      throw std::runtime_error(fmt::format("cuobjdump -sass of {} lists no kernel {} for {}",
                                           object.name, usage.kernel, usage.architecture));
    }
    const Listing& text = listing == listings.end() ? Listing{} : listing->second;
    insert({usage.kernel, compute_capability(usage.architecture)},
           {figures_of(usage, text.counts), text.code, usage.architecture, object.name});
  }
}

void KernelTable::insert(const Key& key, const Row& row) {
  const auto [entry, is_new] = rows_.insert({key, row});
  Row& known = entry->second;
  if (is_new) return;
  const std::string first_object = std::min(known.object, row.object);
  if (row.architecture != known.architecture) {
    const bool is_more_specific = row.architecture.size() > known.architecture.size();
    if (is_more_specific) known = row;
  } else if (row.figures != known.figures) {
    throw std::runtime_error(
        fmt::format("the kernel {} differs between {} and {}, and the linker keeps one of them: "
                    "give each its own namespace",
                    key.first, known.object, row.object));
  }
  known.object = first_object;
}

std::string KernelTable::code() const {
  std::string all;
  for (const auto& [key, row] : rows_)
    all += row.code;
  for (const auto& [file, text] : source_texts_)
    all += text;
  return all;
}

std::string KernelTable::source_of_texts(std::size_t begin) const {
  std::string rows;
  for (const auto& [file, text] : source_texts_) {
    rows += fmt::format("    {{\"{}\", {{kernel_code + {}, {}}}}},\n", file, begin, text.size());
    begin += text.size();
  }
  const std::string table = source_texts_.empty()
                                ? "  return nullptr;\n"
                                : fmt::format(
                                      "  static const SourceText table[] = {{\n{}  }};\n"
                                      "  return table;\n",
                                      rows);
  return fmt::format(
      "const SourceText* kernel_source_table(std::size_t& count) {{\n"
      "  count = {};\n{}}}\n",
      source_texts_.size(), table);
}

std::string KernelTable::source(const std::string& code_path) const {
  std::size_t code_begin = 0;
  std::string declarations;
  std::string rows;
  std::string previous;
  int index = -1;
  for (const auto& [key, row] : rows_) {
    const auto& [name, architecture] = key;
    if (name != previous)
      declarations +=
          fmt::format("extern \"C\" void kernel_{}() __asm__(\"{}\");\n", ++index, name);
    previous = name;
    rows += fmt::format(
        "    {{reinterpret_cast<const void*>(&kernel_{}), \"{}\", \"{}\", {}, {}, "
        "{{kernel_code + {}, {}}}}},\n",
        index, module_of(row.object), name, architecture, row.figures, code_begin, row.code.size());
    code_begin += row.code.size();
  }
  const std::string table = rows_.empty()
                                ? "  return nullptr;\n"
                                : fmt::format(
                                      "  static const KernelResource table[] = {{\n{}  }};\n"
                                      "  return table;\n",
                                      rows);
  if (!rows_.empty() || !source_texts_.empty())
    declarations += fmt::format(
        "extern \"C\" const char kernel_code[] __asm__(\"gpuexp_kernel_code\");\n"
        "__asm__(\".pushsection .rodata\\n.global gpuexp_kernel_code\\ngpuexp_kernel_code:\\n\"\n"
        "        \".incbin \\\"{}\\\"\\n.byte 0\\n.popsection\\n\");\n",
        code_path);
  return fmt::format(
      "#include \"sass/kernel_resource.hpp\"\n\n{}\nnamespace gpuexp {{\n\n"
      "const KernelResource* kernel_resource_table(std::size_t& count) {{\n"
      "  count = {};\n{}}}\n\n{}\n}}  // namespace gpuexp\n",
      declarations, rows_.size(), table, source_of_texts(code_begin));
}

}  // namespace gpuexp
