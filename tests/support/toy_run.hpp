// A run of the toy family on the fake executor.
#pragma once

#include <string>
#include <vector>

#include "run/runner.hpp"
#include "support/fake_executor.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {

/// One experiment on the toy family, with all that a run needs.
struct ToyRun {
  Family family = toy_family();
  DeviceSpec device = toy_device();
  KernelResources resources;
  Config config;
  Plan plan;
  FakeExecutor executor;
  RecordingTracer tracer;
  RunObserver observer;
  RunOptions options;
  double clock_s = 0;

  explicit ToyRun(const std::vector<std::string>& variants) {
    Experiment e;
    e.name = "toy";
    e.family = &family;
    for (const std::string& id : variants)
      e.variants.push_back(family.find(id));
    e.baseline = e.variants.front();
    e.modes = {Mode::cold};
    e.measure.min_seconds = 0;  // in most tests the clock stands still
    config.experiments.push_back(e);
    options.now_s = [this] { return clock_s; };
  }

  Experiment& experiment() { return config.experiments.front(); }

  void sweep(std::vector<AxisItem> sizes) {
    experiment().axes = {{"n", std::move(sizes)}};
    experiment().axis_groups = {{0}};
  }

  std::vector<Row> run() {
    plan = make_plan(config, device, resources, device.memory_bytes);
    return run_plan(plan, resources, executor, tracer, observer, options);
  }
};

}  // namespace gpuexp::test
