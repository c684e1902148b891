// Times predicted from machine code, held against those that an H200 took.
#include <chrono>
#include <fstream>
#include <regex>

#include <fmt/format.h>

#include "family/registry.hpp"
#include "model/ceiling_source.hpp"
#include "sim/recorded.hpp"
#include "simulated/code_prediction.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

const CeilingSource& recorded_ceilings() {
  static const CeilingSource source =
      choose_ceiling_source(device(), "h200", std::string(GPUEXP_SOURCE_DIR) + "/configs", {});
  return source;
}

Prediction declared_prediction(const Variant& variant, const void* problem, Mode mode) {
  return predict(variant.work(problem), variant.shapes(problem, device()),
                 variant.traffic ? variant.traffic(problem, device()) : std::vector<Traffic>{},
                 mode, device(), recorded_ceilings(), kernels());
}

// Writes a line per row: what was measured, and what is predicted by declared traffic and by code.
TEST_CASE("times of all recorded rows, in a file", "[.times]") {
  std::ofstream csv(setting("GPUEXP_TIMES", "times.csv"));
  const std::regex which(setting("GPUEXP_CELLS", "."));
  csv << "key,measured_us,floor_us,declared_us,code_us,seconds,refusal,states\n";
  for (const ResultRecord& row : recording().table.rows) {
    const Family* const family = Registry::global().find(row.family);
    if (!family || row.is_vendor() || !row.time_median_us || !row.mode) continue;
    if (!std::regex_search(row.key, which)) continue;
    const Variant& variant = *family->find(row.variant);
    const auto begin = std::chrono::steady_clock::now();
    Problem problem(*family, values_of(*family, row.parameters));
    const Prediction declared = declared_prediction(variant, problem.host.problem(), *row.mode);
    const CodeTime code =
        predict_from_code(problem.host, variant, problem.simulator, declared, *row.mode, device(),
                          recorded_ceilings().ceilings, kernels());
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    WarpClocks states;
    for (const KernelCodeTime& kernel : code.kernels) {
      for (const WarpClocks& place : kernel.places_us)
        states += place;
    }
    std::string text;
    for (std::size_t i = 0; i < kWarpStates; ++i)
      text += fmt::format("{}={:.0f} ", name_of(static_cast<WarpState>(i)),
                          100 * states.in[i] / states.sum());
    csv << fmt::format("\"{}\",{},{},{},{},{:.2f},\"{}\",{}\n", row.key, *row.time_median_us,
                       row.floor_us.value_or(0), declared.time_us.value_or(0), code.total_us,
                       took.count(), code.refusal, text);
    csv.flush();
  }
}

}  // namespace
}  // namespace gpuexp::test
