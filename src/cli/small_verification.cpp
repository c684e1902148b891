#include "cli/small_verification.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "cli/simulation.hpp"
#include "family/function_text.hpp"
#include "gpu/nvtx_tracer.hpp"
#include "run/runner.hpp"
#include "run/small_problem.hpp"

namespace gpuexp::cli {

SmallVerification::SmallVerification(const Context& context, const Plan& plan)
    : context_(context), plan_(plan) {
  for (const Group& group : plan.groups) {
    const Family& family = *plan.experiment(group).family;
    std::vector<const Variant*> variants;
    for (const Cell& cell : group.cells)
      if (cell.skip_reason.empty()) variants.push_back(cell.variant);
    small_[&group] = small_values(family, variants, group.values,
                                  context.kernel_files.tuning_parameters(family), plan.device);
  }
}

/// One experiment for each distinct small problem.
Config SmallVerification::small_config() {
  Config config = *plan_.config;
  config.experiments.clear();
  std::set<Values> known;
  for (const Group& group : plan_.groups) {
    const Values& values = small_.at(&group);
    if (!known.insert(values).second) continue;
    Experiment experiment = plan_.experiment(group);
    experiment.name += fmt::format("-{}", known.size());
    experiment.modes = {Mode::cold};
    experiment.counters.clear();
    experiment.axes.clear();
    experiment.axis_groups.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      experiment.axis_groups.push_back({i});
      experiment.axes.push_back({experiment.family->parameters[i].name, {values[i]}});
    }
    config.experiments.push_back(std::move(experiment));
  }
  return config;
}

void SmallVerification::run(Executor& executor) {
  config_ = small_config();
  const DeviceSpec& device = plan_.device;
  verified_ =
      std::make_unique<Plan>(make_plan(config_, device, context_.resources, device.memory_bytes));
  skip_unsimulated_cells(*verified_, context_.resources, {});
  RunOptions options;
  options.kind = RunKind::verify;
  options.seed = config_.seed;
  options.kernel_files = &context_.registry.kernel_files();
  options.counters = false;
  options.interrupted = interrupted;
  RunObserver observer;
  const auto tracer = make_nvtx_tracer();
  rows_ = run_plan(*verified_, context_.resources, executor, *tracer, observer, options);
}

const Row* SmallVerification::row_of(const Group& group, const Cell& cell) const {
  if (!cell.skip_reason.empty()) return nullptr;
  const auto row = std::ranges::find_if(rows_, [&](const Row& of) {
    return of.group->values == small_.at(&group) && of.cell->variant == cell.variant;
  });
  return row == rows_.end() ? nullptr : &*row;
}

std::string SmallVerification::other_sizes(const Group& group) const {
  const Values& values = small_.at(&group);
  return values == group.values ? "" : values_text(*plan_.experiment(group).family, values);
}

}  // namespace gpuexp::cli
