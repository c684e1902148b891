// Writes the kernel resource table of a program in two steps, so that only changed objects are read
// again. kernels/kernel_resources.cmake runs both steps. Source files are named relative to
// SOURCE_ROOT.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "sass/kernel_table.hpp"

namespace {

constexpr const char* kUsage =
    R"(expected: make_kernel_table part OUTPUT SOURCE_ROOT DUMP
            reads the tools' output for one object: DUMP.symbols, .usage, .sass and .elf
      or: make_kernel_table table OUTPUT CODE SOURCE_ROOT [SOURCE.cu...] [PART...]
            writes the table as C++ that includes CODE, the machine code and sources)";

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error(fmt::format("cannot read {}", path));
  return text.str();
}

void write_file(const std::string& output, const std::string& text) {
  std::ofstream out(output, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}", output));
}

void write_part(const std::vector<std::string>& arguments) {
  const std::string& dump = arguments.at(2);
  write_file(arguments.at(0), to_text(gpuexp::make_part(
                                  {dump, read_file(dump + ".symbols"), read_file(dump + ".usage"),
                                   read_file(dump + ".sass"), read_file(dump + ".elf")},
                                  arguments.at(1))));
}

void write_table(const std::vector<std::string>& arguments) {
  const std::string& code = arguments.at(1);
  const std::filesystem::path root = arguments.at(2);
  gpuexp::KernelTable table;
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    const std::filesystem::path path = arguments[i];
    if (path.extension() == ".cu") {
      table.add_source(path.lexically_relative(root).generic_string(), read_file(path));
    } else {
      table.add(gpuexp::read_part(read_file(path)));
    }
  }
  for (const std::string& file : table.source_files()) {
    // A file that is not below the root is a header of the toolkit.
    if (const auto path = root / file; std::filesystem::is_regular_file(path))
      table.add_source(file, read_file(path));
  }
  write_file(code, table.code());
  write_file(arguments.at(0), table.source(code));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + std::min(argc, 2), argv + argc);
    const std::string step = argc > 1 ? argv[1] : "";
    if (step == "part" && arguments.size() == 3) {
      write_part(arguments);
    } else if (step == "table" && arguments.size() >= 3) {
      write_table(arguments);
    } else {
      throw std::runtime_error(kUsage);
    }
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "make_kernel_table: {}\n", e.what());
    return 1;
  }
}
