// Results recorded on an H200 (docs/results/h200/all.json.zst), and execution of their problems on
// the CPU.
#pragma once

#include <cstdlib>
#include <string>

#include "results/json_read.hpp"
#include "sim/execution.hpp"
#include "simulated/host_problem.hpp"

namespace gpuexp::test {

inline const Report& recording() {
  static const Report report =
      read_report(std::string(GPUEXP_SOURCE_DIR) + "/docs/results/h200/all.json.zst");
  return report;
}

/// Seed of configs/all.json.
inline constexpr std::uint64_t kSeed = 7;

inline Values values_of(const Family& family, const NamedValues& parameters) {
  Values values;
  for (const Parameter& p : family.parameters) {
    const Field field = parameters.field(p.name);
    if (std::holds_alternative<std::string>(p.default_value)) {
      values.push_back(text_of(field));
    } else if (std::holds_alternative<double>(p.default_value)) {
      values.push_back(number_in(field).value());
    } else {
      values.push_back(std::get<std::int64_t>(field));
    }
  }
  return values;
}

/// A problem with its inputs, and the simulator that executes its kernels.
struct Problem {
  Problem(const Family& family, const Values& values)
      : simulator(of_host_loops()), host(family, values, kSeed, device(), simulator) {}

  static sim::Simulator of_host_loops() {
    sim::Simulator simulator(kernels(), device().compute_capability());
    simulator.uses_host_loops = true;
    return simulator;
  }

  sim::Simulator simulator;
  HostProblem host;
};

/// An environment variable, or `otherwise` if it is not set.
inline std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

}  // namespace gpuexp::test
