#include "sass/kernel_part.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include <fmt/format.h>
#include <zstd.h>

#include "base/text_parts.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kObjectLine = "object ";
constexpr std::string_view kSourceLine = "source ";
constexpr std::string_view kKernelLine = "kernel ";
constexpr std::string_view kFrameLine = "frame";

// Parses lines such as "0000000000000000 W _ZN6gpuexp…". Host stubs are strong or weak functions.
std::set<std::string> read_functions(const std::string& symbols) {
  std::set<std::string> functions;
  std::istringstream words(symbols);
  for (std::string address, type, name; words >> address >> type >> name;) {
    if (type == "T" || type == "W") functions.insert(name);
  }
  return functions;
}

bool is_of_library(const std::string& kernel) {
  // Kernels of the device runtime, such as its memset.
  if (kernel.find("cuda_device_runtime") != std::string::npos) return true;
  for (const char* prefix : {"_ZN3cub", "_ZN6thrust", "_ZN4cuda"}) {
    if (kernel.starts_with(prefix)) return true;
  }
  return false;
}

std::string usage_of(const CompiledKernel& k) {
  std::string instructions;
  for (const char c : k.instructions)
    instructions += c == '\n' ? "\\n" : std::string(1, c);
  return fmt::format("{}, {}, {}, {}, {}, \"{}\"", k.registers, k.static_shared_bytes,
                     k.local_bytes, k.stack_bytes, k.launches_kernels, instructions);
}

// A rebuild after a change in one file waits for the compression. Level 19 takes fifteen times as
// long as level 12, and its result is a sixth smaller.
std::string compressed_frame(const std::string& code) {
  constexpr int kLevel = 12;
  std::string frame(ZSTD_compressBound(code.size()), '\0');
  const std::size_t size =
      ZSTD_compress(frame.data(), frame.size(), code.data(), code.size(), kLevel);
  if (ZSTD_isError(size) != 0) throw std::runtime_error(ZSTD_getErrorName(size));
  frame.resize(size);
  return frame;
}

template <class Number>
Number take_count(std::string_view& line) {
  const std::string_view digits = take_word(line);
  Number number = 0;
  const char* const end = digits.data() + digits.size();
  if (digits.empty() || std::from_chars(digits.data(), end, number).ptr != end)
    throw std::runtime_error(fmt::format("'{}' is not a number", digits));
  return number;
}

KernelPart::Row read_row(std::string_view line) {
  KernelPart::Row row;
  row.lowered_name = take_word(line);
  row.compute_capability = take_count<int>(line);
  row.architecture = take_word(line);
  row.code_begin = take_count<std::size_t>(line);
  row.code_size = take_count<std::size_t>(line);
  row.usage = trimmed(line);
  return row;
}

}  // namespace

KernelPart make_part(const ObjectDump& object, const std::string& source_root) {
  const std::set<std::string> functions = read_functions(object.symbols);
  KernelPart part;
  part.object = object.name;
  std::string code;
  for (CompiledKernel& kernel : read_kernels(object, source_root)) {
    if (!functions.count(kernel.lowered_name)) {
      if (is_of_library(kernel.lowered_name)) continue;
      throw std::runtime_error(fmt::format(
          "the kernel {} in {} has no host symbol of its name, so its registers and shared memory "
          "cannot be looked up: give it external linkage (not static), and named types as template "
          "arguments (no lambda)",
          kernel.lowered_name, object.name));
    }
    part.rows.push_back({kernel.lowered_name, kernel.compute_capability(), kernel.architecture,
                         code.size(), kernel.code.size(), usage_of(kernel)});
    part.source_files.merge(kernel.source_files);
    code += kernel.code;
  }
  part.frame = compressed_frame(code);
  return part;
}

std::string to_text(const KernelPart& part) {
  std::string text = fmt::format("{}{}\n", kObjectLine, part.object);
  for (const std::string& file : part.source_files)
    text += fmt::format("{}{}\n", kSourceLine, file);
  for (const KernelPart::Row& row : part.rows)
    text +=
        fmt::format("{}{} {} {} {} {} {}\n", kKernelLine, row.lowered_name, row.compute_capability,
                    row.architecture, row.code_begin, row.code_size, row.usage);
  return text + fmt::format("{}\n", kFrameLine) + part.frame;
}

KernelPart read_part(std::string_view text) {
  KernelPart part;
  while (!text.empty()) {
    std::string_view line = take_until(text, "\n");
    if (line == kFrameLine) {
      part.frame = text;
      return part;
    }
    if (line.starts_with(kObjectLine)) {
      part.object = line.substr(kObjectLine.size());
    } else if (line.starts_with(kSourceLine)) {
      part.source_files.emplace(line.substr(kSourceLine.size()));
    } else if (line.starts_with(kKernelLine)) {
      part.rows.push_back(read_row(line.substr(kKernelLine.size())));
    } else {
      throw std::runtime_error(fmt::format("'{}' is not a line of a kernel part", line));
    }
  }
  throw std::runtime_error(fmt::format("the kernel part of {} has no code", part.object));
}

}  // namespace gpuexp
