#include "run/run_estimate.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

// Two sizes of one family with two variants each; DRAM limits every launch.
struct Bench {
  Family family = toy_family();
  DeviceSpec device = toy_device();
  Config config;
  Plan plan;

  explicit Bench(Mode mode = Mode::cold) {
    device.sm_clock_max_mhz = 1000;
    device.peak_ops_per_s[static_cast<int>(Pipe::fp64)] = 1e12;
    Experiment e;
    e.name = "toy";
    e.family = &family;
    e.variants = {family.find("first"), family.find("second")};
    e.modes = {mode};
    e.axes = {{"n", {Value{std::int64_t{1} << 30}, Value{std::int64_t{1} << 31}}}};
    e.axis_groups = {{0}};
    e.measure.min_samples = 10;
    e.measure.min_seconds = 0;
    e.measure.max_seconds = 100;
    e.measure.warmup_launches = 3;
    e.measure.warmup_seconds = 1000;
    config.experiments.push_back(std::move(e));
    plan = make_plan(config, device, KernelResources(), std::int64_t{1} << 40);
  }

  MeasureSettings& measure() { return config.experiments.front().measure; }
  RunEstimate estimate(RunKind kind = RunKind::measure) const {
    return RunEstimate(plan, KernelResources(), kind);
  }
  double limit_s(std::size_t group) const {
    const Group& g = plan.groups[group];
    return 1e-6 * predict_cell(plan, g, g.cells.front(), KernelResources())->limit.time_us.value();
  }
  Row row(std::size_t group, std::size_t cell, double time_us) const {
    Row row;
    row.group = &plan.groups[group];
    row.cell = &plan.groups[group].cells[cell];
    row.time_us = summarize({time_us, time_us, time_us}, 0);
    return row;
  }
};

/// Sampling continues until the median is precise: up to 0.05 s longer for each of two cells.
double sampling_s(double fewest_s) {
  return fewest_s + std::min(3 * fewest_s, 0.05);
}

TEST_CASE("a cell's estimate is its launches at a multiple of the limit, plus overhead") {
  const Bench b;
  const double launch_s = 3 * b.limit_s(0) + 1e-4;
  // Ten samples, three warm-up launches, two verifications; references count for the first cell.
  CHECK(b.estimate().cell_s(1) == Approx(0.01 + 5 * launch_s + sampling_s(10 * launch_s)));
  CHECK(b.estimate().cell_s(0) > b.estimate().cell_s(1));
  CHECK(b.estimate(RunKind::verify).cell_s(1) == Approx(0.01 + launch_s));
  // Each sample follows a priming launch.
  const Bench warm(Mode::warm);
  const double warm_s = 3 * warm.limit_s(0) + 1e-4;
  CHECK(warm.estimate().cell_s(1) == Approx(0.01 + 5 * warm_s + sampling_s(20 * warm_s)));
}

TEST_CASE("warm-up ends after warmup_seconds") {
  Bench b;
  const double launch_s = 3 * b.limit_s(0) + 1e-4;
  const double all_s = b.estimate().cell_s(1);
  b.measure().warmup_seconds = 0;
  CHECK(b.estimate().cell_s(1) == Approx(all_s - 2 * launch_s));
  b.measure().warmup_seconds = 1.5 * launch_s;
  CHECK(b.estimate().cell_s(1) == Approx(all_s - 0.5 * launch_s));
  b.measure().warmup_launches = 0;
  CHECK(b.estimate().cell_s(1) == Approx(all_s - 3 * launch_s));
}

TEST_CASE("sampling takes at least min_seconds and at most max_seconds") {
  Bench b;
  const double launch_s = 3 * b.limit_s(0) + 1e-4;
  b.measure().min_seconds = 50;
  CHECK(b.estimate().cell_s(1) == Approx(0.01 + 50.05 + 5 * launch_s));
  b.measure().max_seconds = 1e-3;
  CHECK(b.estimate().cell_s(1) == Approx(0.01 + 1e-3 + 5 * launch_s));
}

TEST_CASE("back-to-back launches count once per group") {
  Bench b;
  const double first = b.estimate().cell_s(0);
  const double second = b.estimate().cell_s(1);
  b.measure().sustain_seconds = 3;
  CHECK(b.estimate().cell_s(0) == Approx(first + 3));
  CHECK(b.estimate().cell_s(1) == Approx(second));
  // A burst check at one size predicts a burst check at the other size.
  RunEstimate estimate = b.estimate();
  const double before = estimate.cell_s(2);
  Row row = b.row(0, 0, 3e6 * b.limit_s(0));
  row.clocks = Clocks{900, 900, 900, {}};
  estimate.timed(row);
  CHECK(estimate.cell_s(0) == Approx(b.measure().burst_check_seconds));
  CHECK(estimate.cell_s(2) == Approx(before + b.measure().burst_check_seconds));
  // At the highest clock there is no burst check.
  RunEstimate cool = b.estimate();
  row.clocks = Clocks{1000, 1000, 1000, {}};
  cool.timed(row);
  CHECK(cool.cell_s(0) == 0.0);
  CHECK(cool.cell_s(2) == Approx(before));
}

TEST_CASE("a finished cell scales its variant's estimates and no longer counts") {
  const Bench b;
  RunEstimate estimate = b.estimate();
  const double first = estimate.cell_s(0);
  const double others = estimate.cell_s(1) + estimate.cell_s(3);
  CHECK(estimate.left_s() == Approx(first + others + estimate.cell_s(2)));
  estimate.timed(b.row(0, 0, 1e6 * 50 * b.limit_s(0)));
  CHECK(estimate.cell_s(0) == 0.0);
  // The factor is 50 instead of 3, only for the same variant.
  CHECK(estimate.cell_s(2) - b.estimate().cell_s(2) == Approx(15 * 47 * b.limit_s(1)));
  CHECK(estimate.left_s() == Approx(others + estimate.cell_s(2)));
  // A cell without a time changes no estimate.
  Row failed = b.row(0, 1, 1.0);
  failed.time_us.reset();
  const double before = estimate.cell_s(3);
  estimate.timed(failed);
  CHECK(estimate.cell_s(3) == before);
  CHECK(estimate.left_s() == Approx(estimate.cell_s(2) + estimate.cell_s(3)));
  estimate.finished(2);
  CHECK(estimate.left_s() == Approx(estimate.cell_s(3)));
}

TEST_CASE("a simulated run has no remaining time, because the estimates are of a GPU's time") {
  Bench b;
  CHECK(b.estimate().left_s().has_value());
  b.plan.device.simulated = true;
  CHECK_FALSE(b.estimate().left_s().has_value());
}

TEST_CASE("a grid that fills a quarter of the GPU takes four times as long") {
  Bench b;
  b.config.experiments.front().axes = {{"n", {Value{std::int64_t{256 * 200}}}}};
  const Plan plan = make_plan(b.config, b.device, KernelResources(), std::int64_t{1} << 40);
  const Group& group = plan.groups.front();
  const auto shapes = group.cells.front().variant->shapes(group.problem.get(), b.device);
  // 32 registers allow 8 blocks of 256 threads on each of 100 SMs: 200 blocks are a quarter.
  const KernelResource row{shapes.front().kernel, "toy", "toy", 80, 32, 0, 0, 0};
  const RunEstimate whole(plan, KernelResources());
  const RunEstimate quarter(plan, KernelResources(&row, 1));
  const double limit_s =
      1e-6 * predict_cell(plan, group, group.cells[1], KernelResources())->limit.time_us.value();
  // Five launches around the samples, and four times the minimum of ten samples.
  CHECK(quarter.cell_s(1) - whole.cell_s(1) == Approx((5 + 4 * 10) * 3 * (4 - 1) * limit_s));
}

TEST_CASE("a reference executes its operations twice, at the fp64 peak or a plain kernel's rate") {
  Bench b;
  for (Variant& v : b.family.variants) {
    v.work = [](const void*) {
      Work w;
      w.operations = {{Pipe::fp32, 4e9}};
      return w;
    };
  }
  const auto reference_s = [&] {
    const Plan plan = make_plan(b.config, b.device, KernelResources(), std::int64_t{1} << 40);
    const RunEstimate estimate(plan, KernelResources());
    return estimate.cell_s(0) - estimate.cell_s(1);
  };
  b.device.sm_count = 100;
  b.device.sm_clock_max_mhz = 1000;
  // Once for the value and once for the magnitude.
  b.device.peak_ops_per_s[static_cast<int>(Pipe::fp64)] = 80e9;
  CHECK(reference_s() == Approx(0.1));
  b.device.peak_ops_per_s[static_cast<int>(Pipe::fp64)] = 1e15;
  CHECK(reference_s() == Approx(8e9 / (22.5 * 100 * 1e9)));
  // Beyond the time limit of a reference, only some elements are computed.
  b.device.peak_ops_per_s[static_cast<int>(Pipe::fp64)] = 8e9;
  CHECK(reference_s() == Approx(1.0));
  b.device.peak_ops_per_s[static_cast<int>(Pipe::fp64)] = 1e9;
  CHECK(reference_s() == Approx(1.0));
}

}  // namespace
}  // namespace gpuexp::test
