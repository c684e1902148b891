#include "plan/shard.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "support/catch.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

Plan planned(ToyRun& run) {
  return make_plan(run.config, run.device, run.resources, run.device.memory_bytes);
}

std::string refusal(const std::string& text) {
  try {
    parse_shard(text);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

TEST_CASE("a shard has a number from 1 to the number of shards", "[shard]") {
  CHECK(parse_shard("1/1") == Shard{1, 1});
  CHECK(parse_shard("4/4") == Shard{4, 4});
  CHECK(to_string(parse_shard("12/345")) == "12/345");
  for (const char* wrong : {"", "1", "/", "1/", "/2", "a/b", "1/2/3", "-1/2", "+1/2", " 1/2",
                            "1/2 ", "1.0/2", "99999999999999999999/2"}) {
    INFO(wrong);
    CHECK_THAT(refusal(wrong), contains_text("expected I/N, such as 2/4"));
  }
  CHECK_THAT(refusal("0/4"), contains_text("--shard 0/4: there is no shard 0 of 4"));
  CHECK_THAT(refusal("5/4"), contains_text("there is no shard 5 of 4"));
  CHECK_THAT(refusal("1/0"), contains_text("--shard 1/0: no shards"));
}

TEST_CASE("shards are disjoint and complete and keep groups whole", "[shard]") {
  ToyRun run({"first", "second", "even"});
  run.sweep(
      {std::int64_t{2}, std::int64_t{3}, std::int64_t{64}, std::int64_t{65}, std::int64_t{4096}});
  run.experiment().modes = {Mode::cold, Mode::warm};
  const Plan whole = planned(run);
  REQUIRE(whole.groups.size() == 10);
  for (std::size_t count = 1; count <= 12; ++count) {
    INFO(count << " shards");
    const std::vector<ShardedCell> cells = sharded_cells(whole, count);
    REQUIRE(cells.size() == whole.cell_count());
    std::size_t seen = 0;
    for (std::size_t index = 1; index <= count; ++index) {
      Plan part = planned(run);
      keep_shard({index, count}, part);
      std::vector<std::string> keys;
      std::size_t next = 0;
      for (const Group& group : part.groups) {
        CHECK(group.cells.size() == 3);
        for (const Cell& cell : group.cells) {
          CHECK(cell.index == next++);
          keys.push_back(cell_key(part, group, cell));
        }
      }
      std::vector<std::string> expected;  // in plan order
      for (const ShardedCell& cell : cells) {
        if (cell.shard == index) expected.push_back(cell.key);
      }
      CHECK(keys == expected);
      CHECK(part.groups.empty() == (index > whole.groups.size()));
      seen += keys.size();
    }
    CHECK(seen == cells.size());
  }
}

TEST_CASE("skipped cells do not change how a run is divided", "[shard]") {
  ToyRun run({"first", "even", "vendor"});
  run.sweep({std::int64_t{3}, std::int64_t{64}, std::int64_t{1 << 20}});
  const Plan plan = planned(run);
  ToyRun other({"first", "even", "vendor"});
  other.sweep({std::int64_t{3}, std::int64_t{64}, std::int64_t{1 << 20}});
  other.device.memory_bytes_per_s = 1e10;
  other.device.sm_count = 1;
  const Plan small = make_plan(other.config, other.device, other.resources, 1);
  for (const Group& group : small.groups) {
    for (const Cell& cell : group.cells)
      CHECK(!cell.skip_reason.empty());
  }
  for (const std::size_t count : {1, 2, 3, 5})
    CHECK(sharded_cells(plan, count) == sharded_cells(small, count));
}

TEST_CASE("groups of equal duration are assigned round-robin", "[shard]") {
  ToyRun run({"first"});
  run.sweep({std::int64_t{2}, std::int64_t{3}, std::int64_t{4}, std::int64_t{5}, std::int64_t{6}});
  CHECK(shards_of_groups(planned(run), 2) == std::vector<std::size_t>{1, 2, 1, 2, 1});
}

TEST_CASE("many short groups balance a long one", "[shard]") {
  ToyRun run({"first"});
  Experiment slow = run.experiment();
  slow.name = "slow";
  slow.measure.min_seconds = slow.measure.max_seconds = 1;
  run.sweep({std::int64_t{2}, std::int64_t{3}, std::int64_t{4}, std::int64_t{5}, std::int64_t{6}});
  run.config.experiments.push_back(slow);
  const auto shards = shards_of_groups(planned(run), 2);
  REQUIRE(shards.size() == 6);
  CHECK(shards == std::vector<std::size_t>{2, 2, 2, 2, 2, 1});
}

TEST_CASE("a run of a shard has only its cells, numbered from 0", "[shard]") {
  ToyRun run({"first", "second"});
  run.sweep({std::int64_t{2}, std::int64_t{3}, std::int64_t{4}});
  run.plan = planned(run);
  keep_shard({2, 2}, run.plan);
  REQUIRE(run.plan.cell_count() == 2);
  const auto rows =
      run_plan(run.plan, run.resources, run.executor, run.tracer, run.observer, run.options);
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].key == "toy/toy/first/n=3,share=0.5,width=narrow/cold");
  CHECK(rows[1].cell->index == 1);
  CHECK(rows[1].status == Status::passed);
}

TEST_CASE("an empty shard runs nothing", "[shard]") {
  ToyRun run({"first"});
  run.plan = planned(run);
  keep_shard({2, 2}, run.plan);
  CHECK(run.plan.groups.empty());
  CHECK(run_plan(run.plan, run.resources, run.executor, run.tracer, run.observer, run.options)
            .empty());
}

}  // namespace
}  // namespace gpuexp::test
