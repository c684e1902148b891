// make_kernel_table OUTPUT CODE SOURCE_ROOT [SOURCE.cu...] [DUMP...]: writes the kernel resource
// table of the objects whose dumps are DUMP.symbols, DUMP.usage, DUMP.sass and DUMP.elf, and their
// machine code with the text of its source files and of each SOURCE, which the table includes.
// Source files are named from SOURCE_ROOT on.
// kernels/kernel_resources.cmake runs it.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "sass/kernel_table.hpp"

namespace {

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

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 4)
      throw std::runtime_error(
          "expected: make_kernel_table OUTPUT CODE SOURCE_ROOT [SOURCE.cu...] [DUMP...]");
    gpuexp::KernelTable table(argv[3]);
    for (int i = 4; i < argc; ++i) {
      const std::string dump = argv[i];
      if (const std::filesystem::path path(dump); path.extension() == ".cu") {
        table.add_source(path.lexically_relative(argv[3]).generic_string(), read_file(dump));
        continue;
      }
      table.add({dump, read_file(dump + ".symbols"), read_file(dump + ".usage"),
                 read_file(dump + ".sass"), read_file(dump + ".elf")});
    }
    for (const std::string& file : table.source_files()) {
      const std::string path = fmt::format("{}/{}", argv[3], file);
      // A file of no folder stands elsewhere: a header of the toolkit.
      if (std::filesystem::is_regular_file(path)) table.add_source(file, read_file(path));
    }
    write_file(argv[2], table.code());
    write_file(argv[1], table.source(argv[2]));
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "make_kernel_table: {}\n", e.what());
    return 1;
  }
}
