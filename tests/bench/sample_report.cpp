// Writes a results.json of many invented rows, for tests of the schema and of speed:
//   gpuexp_sample_report ROWS [SAMPLES] > results.json
#include "support/sample_report.hpp"

#include <cstdio>
#include <cstdlib>

#include "results/json_write.hpp"

int main(int argc, char** argv) {
  constexpr std::size_t kRows = 1000;
  constexpr std::size_t kSamples = 20;
  const auto count = [&](int i, std::size_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  gpuexp::Output out(stdout, "standard output");
  gpuexp::print_json(gpuexp::test::sample_report(count(1, kRows), count(2, kSamples)),
                     [&](std::string_view part) { out.write(part); });
  out.close();
}
