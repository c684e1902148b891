#include "sass/kernel_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <string_view>

#include <fmt/format.h>

namespace gpuexp {

namespace {

// Returns "matmul" for "…/matmul.cu.o".
std::string module_of(const std::string& object) {
  const std::string file = object.substr(object.rfind('/') + 1);
  return file.substr(0, file.find('.'));
}

// C++ does not allow empty arrays, so the generated function returns null if there are no rows.
std::string array(std::string_view type, std::string_view rows) {
  if (rows.empty()) return "  return nullptr;\n";
  return fmt::format("  static const {} table[] = {{\n{}  }};\n  return table;\n", type, rows);
}

}  // namespace

void KernelTable::add(const KernelPart& part) {
  for (const KernelPart::Row& kernel : part.rows)
    insert({kernel, frames_.size(), part.object});
  frames_.push_back(part.frame);
  source_files_.insert(part.source_files.begin(), part.source_files.end());
}

void KernelTable::insert(const Row& row) {
  const Key key{row.kernel.lowered_name, row.kernel.compute_capability};
  const auto [entry, is_new] = rows_.insert({key, row});
  Row& known = entry->second;
  if (is_new) return;
  const std::string first_object = std::min(known.object, row.object);
  const std::string& architecture = row.kernel.architecture;
  if (architecture != known.kernel.architecture) {
    const bool is_more_specific = architecture.size() > known.kernel.architecture.size();
    if (is_more_specific) known = row;
  } else if (row.kernel.usage != known.kernel.usage) {
    throw std::runtime_error(
        fmt::format("the kernel {} differs between {} and {}, and the linker keeps one of them: "
                    "give each its own namespace",
                    key.first, known.object, row.object));
  }
  known.object = first_object;
}

std::string KernelTable::code() const {
  std::string all;
  for (const std::string& frame : frames_)
    all += frame;
  for (const auto& [file, text] : source_texts_)
    all += text;
  return all;
}

std::string KernelTable::source_of_frames() const {
  if (frames_.empty()) return "";
  std::string frames;
  std::size_t begin = 0;
  for (const std::string& frame : frames_) {
    frames += fmt::format("  {{kernel_code + {}, {}}},\n", begin, frame.size());
    begin += frame.size();
  }
  return fmt::format("static const gpuexp::CodeFrame frames[] = {{\n{}}};\n", frames);
}

std::string KernelTable::source_of_rows() const {
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
        "{{frames[{}], {}, {}}}}},\n",
        index, module_of(row.object), name, architecture, row.kernel.usage, row.frame,
        row.kernel.code_begin, row.kernel.code_size);
  }
  return fmt::format(
      "{}\nnamespace gpuexp {{\n\n"
      "const KernelResource* kernel_resource_table(std::size_t& count) {{\n"
      "  count = {};\n{}}}\n",
      declarations, rows_.size(), array("KernelResource", rows));
}

std::string KernelTable::source_of_texts() const {
  std::size_t begin = 0;
  for (const std::string& frame : frames_)
    begin += frame.size();
  std::string rows;
  for (const auto& [file, text] : source_texts_) {
    rows += fmt::format("    {{\"{}\", {{kernel_code + {}, {}}}}},\n", file, begin, text.size());
    begin += text.size();
  }
  return fmt::format(
      "const SourceText* kernel_source_table(std::size_t& count) {{\n  count = {};\n{}}}\n",
      source_texts_.size(), array("SourceText", rows));
}

std::string KernelTable::source(const std::string& code_path) const {
  std::string included;
  if (!frames_.empty() || !source_texts_.empty())
    included = fmt::format(
        "extern \"C\" const char kernel_code[] __asm__(\"gpuexp_kernel_code\");\n"
        "__asm__(\".pushsection .rodata\\n.global gpuexp_kernel_code\\ngpuexp_kernel_code:\\n\"\n"
        "        \".incbin \\\"{}\\\"\\n.byte 0\\n.popsection\\n\");\n",
        code_path);
  return fmt::format(
      "#include \"sass/kernel_resource.hpp\"\n\n{}{}{}\n{}\n}}  // namespace gpuexp\n", included,
      source_of_frames(), source_of_rows(), source_of_texts());
}

}  // namespace gpuexp
