#include "span_run.hpp"

#include "fake_rank.hpp"
#include "family/registry.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {

namespace {
constexpr int kFew = 20;
}

SpanRun::SpanRun(std::int64_t gpus, int samples) {
  machine.launch_timeout_s = 5;
  Experiment e;
  e.name = "span";
  e.family = spanning_registry().find("toy_span");
  for (const char* id : {"first", "second", "third"})
    e.variants.push_back(e.family->find(id));
  e.modes = {Mode::warm};
  e.measure.min_seconds = 0;
  e.measure.min_samples = std::min(e.measure.min_samples, samples);
  if (samples > kFew) e.measure.min_samples = samples;
  e.measure.max_samples = samples;
  Axis axis;
  axis.parameter = "gpus";
  axis.items = {Value(gpus)};
  e.axes = {axis};
  e.axis_groups = {{0}};
  config.experiments.push_back(e);
  Experiment alone;
  alone.name = "alone";
  alone.family = spanning_registry().find("toy");
  alone.variants = {alone.family->find("first")};
  alone.modes = {Mode::warm};
  alone.measure = e.measure;
  config.experiments.push_back(alone);
}

std::vector<Row> SpanRun::run() {
  DeviceSpec device = toy_device();
  device.machine.gpus = 4;
  plan = make_plan(config, device, resources, std::int64_t{1} << 40);
  MachineExecutor executor(machine);
  return run_plan(plan, resources, executor, tracer, *observer, options);
}

}  // namespace gpuexp::test
