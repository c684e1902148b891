// A run of problems that span GPUs, with fake ranks on the toy family.
#pragma once

#include <vector>

#include "run/runner.hpp"
#include "support/fake_executor.hpp"
#include "worker/machine_executor.hpp"

namespace gpuexp::test {

/// Three variants of toy_span on `gpus` of four GPUs, then `first` of toy on one.
struct SpanRun {
  MachineOptions machine;
  RunOptions options;
  Config config;
  Plan plan;
  KernelResources resources;
  RecordingTracer tracer;
  RunObserver* observer = &ignore_;

  explicit SpanRun(std::int64_t gpus, int samples = 20);
  std::vector<Row> run();

 private:
  RunObserver ignore_;
};

}  // namespace gpuexp::test
