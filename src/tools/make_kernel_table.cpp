// make_kernel_table OUTPUT [DUMP...]: writes the kernel resource table of the objects whose dumps
// are DUMP.symbols, DUMP.usage and DUMP.sass. kernels/kernel_resources.cmake runs it.
#include <cstdio>
#include <exception>
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

void write_table(const std::string& output, const gpuexp::KernelTable& table) {
  std::ofstream out(output, std::ios::binary);
  out << table.source();
  out.close();
  if (!out) throw std::runtime_error(fmt::format("cannot write {}", output));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc < 2) throw std::runtime_error("expected: make_kernel_table OUTPUT [DUMP...]");
    gpuexp::KernelTable table;
    for (int i = 2; i < argc; ++i) {
      const std::string dump = argv[i];
      table.add({dump, read_file(dump + ".symbols"), read_file(dump + ".usage"),
                 read_file(dump + ".sass")});
    }
    write_table(argv[1], table);
    return 0;
  } catch (const std::exception& e) {
    fmt::print(stderr, "make_kernel_table: {}\n", e.what());
    return 1;
  }
}
