#include "sass/kernel_table.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>

namespace gpuexp {

namespace {

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
  // The device runtime's own, such as those of its memset.
  if (kernel.find("cuda_device_runtime") != std::string::npos) return true;
  for (const char* prefix : {"_ZN3cub", "_ZN6thrust", "_ZN4cuda"}) {
    if (kernel.starts_with(prefix)) return true;
  }
  return false;
}

std::string figures_of(const CompiledKernel& k) {
  return fmt::format("{}, {}, {}, {}, R\"({})\"", k.registers, k.static_shared_bytes, k.local_bytes,
                     k.stack_bytes, k.instructions);
}

// "matmul" of "…/matmul.cu.o".
std::string module_of(const std::string& object) {
  const std::string file = object.substr(object.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

}  // namespace

void KernelTable::add(const ObjectDump& object) {
  const std::set<std::string> functions = read_functions(object.symbols);
  for (CompiledKernel& kernel : read_kernels(object, source_root_)) {
    if (!functions.count(kernel.lowered_name)) {
      if (is_of_library(kernel.lowered_name)) continue;
      throw std::runtime_error(fmt::format(
          "the kernel {} in {} has no host symbol of its name, so its registers and shared memory "
          "cannot be looked up: give it external linkage (not static), and named types as template "
          "arguments (no lambda)",
          kernel.lowered_name, object.name));
    }
    source_files_.merge(kernel.source_files);
    insert({kernel.lowered_name, kernel.compute_capability()},
           {figures_of(kernel), kernel.code, kernel.architecture, object.name});
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
