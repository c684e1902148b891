#include "run/cell_times.hpp"

#include <fstream>

#include "base/output.hpp"
#include "run/run_estimate.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("times with and without counters are stored separately") {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "own.txt";
  ToyRun b({"first", "second"});
  b.plan = make_plan(b.config, b.device, b.resources, b.device.memory_bytes);
  const Group& group = b.plan.groups[0];
  CellTimes times(file);
  times.keep(b.plan, group, group.cells[0], RunKind::measure, 7);
  times.save();
  b.config.experiments.front().counters = {"memory"};
  const CellTimes read(file);
  CHECK(!read.find(b.plan, group, group.cells[0], RunKind::measure));
  CHECK(read.find(b.plan, group, group.cells[0], RunKind::measure, false) == 7.0);
  // Counting adds to the time.
  const RunEstimate counted(b.plan, b.resources, RunKind::measure, read);
  CHECK(counted.cell_s(group.cells[0].index) > 7);
  CHECK(counted.cell_s(group.cells[0].index) < 8);
}

TEST_CASE("a time of this run replaces a recorded one") {
  const ScratchFolder folder;
  const std::filesystem::path recorded = folder.path() / "recorded.txt";
  const std::filesystem::path file = folder.path() / "own.txt";
  ToyRun b({"first", "second"});
  b.plan = make_plan(b.config, b.device, b.resources, b.device.memory_bytes);
  const Group& group = b.plan.groups[0];
  CellTimes others(recorded);
  others.keep(b.plan, group, group.cells[0], RunKind::measure, 7);
  others.keep(b.plan, group, group.cells[1], RunKind::measure, 8);
  others.save();
  CellTimes own(file, recorded);
  own.keep(b.plan, group, group.cells[1], RunKind::measure, 9);
  own.save();
  const CellTimes times(file, recorded);
  CHECK(times.find(b.plan, group, group.cells[0], RunKind::measure) == 7.0);
  CHECK(times.find(b.plan, group, group.cells[1], RunKind::measure) == 9.0);
  // Recorded times are not copied to the new file.
  CHECK(!CellTimes(file).find(b.plan, group, group.cells[0], RunKind::measure));
}

TEST_CASE("a cell's recorded time is its estimate, only for the same measurement") {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "new" / "gpu.txt";
  ToyRun b({"first", "second"});
  b.sweep({Value{std::int64_t{1024}}, Value{std::int64_t{2048}}});
  b.plan = make_plan(b.config, b.device, b.resources, b.device.memory_bytes);
  const Group& small = b.plan.groups[0];
  const Group& large = b.plan.groups[1];
  {
    CellTimes times(file);
    times.keep(b.plan, small, small.cells[0], RunKind::measure, 7);
    CHECK(!times.find(b.plan, small, small.cells[0], RunKind::measure));
    times.save();
    CellTimes other(file);
    other.keep(b.plan, large, large.cells[1], RunKind::measure, 9);
    // Times that another run has saved in the meantime remain.
    times.keep(b.plan, large, large.cells[0], RunKind::measure, 8);
    times.save();
    other.save();
  }
  const CellTimes times(file);
  CHECK(times.find(b.plan, small, small.cells[0], RunKind::measure) == 7.0);
  CHECK(times.find(b.plan, large, large.cells[0], RunKind::measure) == 8.0);
  CHECK(times.find(b.plan, large, large.cells[1], RunKind::measure) == 9.0);
  CHECK(!times.find(b.plan, small, small.cells[1], RunKind::measure));
  CHECK(!times.find(b.plan, small, small.cells[0], RunKind::verify));

  RunEstimate estimate(b.plan, b.resources, RunKind::measure, times);
  CHECK(estimate.cell_s(small.cells[0].index) == 7.0);
  CHECK(estimate.cell_s(small.cells[1].index) < 1.0);
  CHECK(estimate.left_s() == Approx(24 + estimate.cell_s(small.cells[1].index)));

  b.experiment().name = "another";
  CHECK(times.find(b.plan, small, small.cells[0], RunKind::measure) == 7.0);
  b.experiment().measure.min_samples += 1;
  CHECK(!times.find(b.plan, small, small.cells[0], RunKind::measure));
}

TEST_CASE("an unreadable file of cell times only removes the estimates") {
  const ScratchFolder folder;
  const std::filesystem::path file = folder.path() / "gpu.txt";
  ToyRun b({"first"});
  b.plan = make_plan(b.config, b.device, b.resources, b.device.memory_bytes);
  const Group& group = b.plan.groups.front();
  const auto found = [&] {
    return CellTimes(file).find(b.plan, group, group.cells[0], RunKind::measure);
  };
  CellTimes times(file);
  times.keep(b.plan, group, group.cells[0], RunKind::measure, 5);
  times.save();
  CHECK(found() == 5.0);
  std::ofstream(file, std::ios::app) << "no number\n\x01 -3\nlonely\n";
  CHECK(found() == 5.0);
  const std::string text = read_text(file);
  const std::string key = text.substr(0, text.find(' '));
  for (const char* seconds : {"inf", "1e300", "nan", "-1"}) {
    std::ofstream(file) << key << " " << seconds << "\n";
    CHECK(!found());
  }
  std::filesystem::remove(file);
  std::filesystem::create_directory(file);
  CHECK(!found());
  times.save();
  CHECK(!found());
  CHECK(!CellTimes().find(b.plan, group, group.cells[0], RunKind::measure));
}

}  // namespace
}  // namespace gpuexp::test
