#include "results/run_merge.hpp"

#include <algorithm>

#include "analysis/least_times.hpp"
#include "results/json_read.hpp"
#include "results/json_write.hpp"
#include "results/results.hpp"
#include "support/catch.hpp"
#include "support/record_rows.hpp"

namespace gpuexp::test {
namespace {

const std::vector<ShardedCell> kPlan{{"e/a/n=1", 1}, {"e/b/n=1", 1}, {"e/a/n=2", 2},
                                     {"e/b/n=2", 2}, {"e/a/n=3", 1}, {"e/b/n=3", 1}};

Table no_rows() {
  Table table;
  table.columns = {
      {"experiment", "", FieldType::text, ""}, {"variant", "", FieldType::text, ""},
      {"status", "", FieldType::text, ""},     {"executed_on", "", FieldType::text, ""},
      {"param.n", "", FieldType::integer, ""}, {"key", "", FieldType::text, ""}};
  return table;
}

/// A part to merge; all cells passed, except those in `unfinished`.
struct PartOf {
  std::string name;
  std::optional<Shard> shard;
  std::string uuid = "GPU-1";
  std::string ended_utc = "2026-01-01T00:10:00Z";
  std::vector<std::string> unfinished = {};  ///< keys of cells that were not run
  std::vector<std::string> absent = {};      ///< keys of cells whose group never started
  double time_us = 1;                        ///< its one sample of every cell
};

RunPart part_of(const PartOf& of) {
  RunPart part;
  part.name = of.name;
  RunLog& log = part.log;
  log.origin.build_id = "0123456789abcdef";
  log.origin.shard = of.shard;
  log.origin.plan = kPlan;
  if (!of.shard) {
    for (ShardedCell& cell : log.origin.plan)
      cell.shard = 1;
  }
  log.ended_utc = of.ended_utc;
  Provenance& p = log.report.provenance;
  p.gpuexp_version = "0.1.0";
  p.git_commit = "abc";
  p.config = {"small.json", "small", "e3b0c442", "{}"};
  p.settings = {{"seed", std::int64_t{1}}, {"e.max_seconds", 2.0}};
  p.utc = "2026-01-01T00:00:00Z";
  p.host = "host-of-" + of.uuid;
  p.device.name = "NVIDIA H200";
  p.device.executed_on = of.uuid.empty() ? kSimulated : kOnGpu;
  if (!of.uuid.empty()) p.device.uuid = of.uuid;
  if (of.shard) p.shard = to_string(*of.shard);
  Table table = no_rows();
  const auto is_in = [](const std::vector<std::string>& keys, const std::string& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  std::size_t own = 0;
  for (const ShardedCell& cell : log.origin.plan) {
    if (cell.shard != of.shard.value_or(Shard{}).index) continue;
    const std::size_t index = own++;
    if (is_in(of.absent, cell.key)) continue;
    const bool ran = !is_in(of.unfinished, cell.key);
    const std::string variant(1, cell.key[2]);
    table.rows.push_back({"e", variant, ran ? "passed" : "not_run",
                          of.uuid.empty() ? "simulated" : "gpu",
                          std::int64_t{cell.key.back() - '0'}, cell.key});
    log.cell_of_row.push_back(index);
    log.report.samples_us.push_back(ran ? std::vector{of.time_us} : std::vector<double>{});
  }
  log.cells = own;
  log.report.table = record_table(table);
  log.report.complete = of.unfinished.empty() && of.absent.empty();
  return part;
}

MergedRuns merged(const std::vector<PartOf>& parts) {
  std::vector<RunPart> made;
  for (const PartOf& part : parts)
    made.push_back(part_of(part));
  return merge_runs(std::move(made));
}

std::string refusal(RunPart a, RunPart b) {
  try {
    merge_runs({std::move(a), std::move(b)});
  } catch (const ReportError& e) {
    return e.what();
  }
  return "";
}

std::vector<std::string> keys_of(const MergedRuns& runs) {
  std::vector<std::string> keys;
  for (const ResultRecord& row : runs.report.table.rows)
    keys.push_back(row.key);
  return keys;
}

std::vector<std::string> planned_keys() {
  std::vector<std::string> keys;
  for (const ShardedCell& cell : kPlan)
    keys.push_back(cell.key);
  return keys;
}

TEST_CASE("rows of shards are in plan order, with host and GPU", "[merge]") {
  // The second shard is given first.
  const MergedRuns runs = merged({{"two", Shard{2, 2}, "GPU-2", "", {}, {}, 5.0},
                                  {"one", Shard{1, 2}, "GPU-1", "", {}, {}, 3.0}});
  CHECK(runs.notes.empty());
  CHECK(runs.missing.empty());
  CHECK(runs.report.complete);
  CHECK(keys_of(runs) == planned_keys());
  const std::vector<ResultRecord>& rows = runs.report.table.rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string uuid = kPlan[i].shard == 1 ? "GPU-1" : "GPU-2";
    CHECK(rows[i].gpu_uuid == uuid);
    CHECK(rows[i].host == "host-of-" + uuid);
    CHECK(runs.report.samples_us[i] == std::vector{kPlan[i].shard == 1 ? 3.0 : 5.0});
  }
  const Provenance& p = runs.report.provenance;
  CHECK(p.device.name == "NVIDIA H200");
  CHECK_FALSE(p.device.uuid);
  CHECK_FALSE(p.host);
  CHECK_FALSE(p.shard);
  REQUIRE(p.parts.size() == 2);
  CHECK(p.parts[0] ==
        PartProvenance{"1/2", "2026-01-01T00:00:00Z", "host-of-GPU-1", "GPU-1", "NVIDIA H200", 4});
  CHECK(p.parts[1].rows == 2);
  CHECK(parse_report(to_json(runs.report), "x") == runs.report);
}

TEST_CASE("common properties of the parts remain, such as the host", "[merge]") {
  const MergedRuns runs = merged({{"one", Shard{1, 2}}, {"two", Shard{2, 2}}});
  CHECK(runs.report.provenance.host == "host-of-GPU-1");
  CHECK(runs.report.provenance.device.uuid == "GPU-1");
}

TEST_CASE("missing shards and cells are named", "[merge]") {
  const MergedRuns without = merged({{"a", Shard{1, 2}}, {"b", Shard{1, 2}}});
  CHECK_FALSE(without.report.complete);
  REQUIRE(without.missing.size() == 1);
  CHECK(without.missing[0] == "shard 2 of 2 is missing (2 cells: e/a/n=2, e/b/n=2)");

  const MergedRuns cut =
      merged({{"one", Shard{1, 2}, "GPU-1", "", {"e/b/n=1"}, {"e/a/n=3", "e/b/n=3"}},
              {"two", Shard{2, 2}}});
  CHECK_FALSE(cut.report.complete);
  REQUIRE(cut.missing.size() == 1);
  CHECK(cut.missing[0] ==
        "shard 1/2 has not finished in one (without a result: 3 cells: e/b/n=1, e/a/n=3, e/b/n=3)");
  CHECK(keys_of(cut) == std::vector<std::string>{"e/a/n=1", "e/b/n=1", "e/a/n=2", "e/b/n=2"});
}

TEST_CASE("a shard without cells is not missing", "[merge]") {
  const auto of = [](std::size_t index) { return part_of({"part", Shard{index, 2}}); };
  RunPart one = of(1);
  RunPart two = of(2);
  for (RunPart* part : {&one, &two})
    part->log.origin.shard->count = 3;
  CHECK(merge_runs({one, two}).missing.empty());
}

TEST_CASE("a repeated shard is used once: a finished one, then the latest", "[merge]") {
  const PartOf two{"two", Shard{2, 2}};
  const PartOf early{"early", Shard{1, 2}, "GPU-1", "2026-01-01T01:00:00Z"};
  const PartOf late{"late", Shard{1, 2}, "GPU-2", "2026-01-01T02:00:00Z"};
  const PartOf cut{"cut", Shard{1, 2}, "GPU-3", "2026-01-01T03:00:00Z", {"e/b/n=3"}};
  for (const auto& parts :
       {std::vector{early, late, cut, two}, std::vector{cut, two, late, early}}) {
    const MergedRuns runs = merged(parts);
    CHECK(runs.report.complete);
    CHECK(keys_of(runs) == planned_keys());
    CHECK(runs.report.table.rows.front().gpu_uuid == "GPU-2");
    REQUIRE(runs.notes.size() == 2);
    CHECK(runs.notes[0] ==
          "shard 1/2 was given more than once: late is used (finished at 2026-01-01T02:00:00Z), "
          "early is ignored (finished at 2026-01-01T01:00:00Z)");
    CHECK_THAT(runs.notes[1], contains_text("cut is ignored (not finished, ended at"));
  }
}

TEST_CASE("there is one whole run per GPU, and rows are never mixed", "[merge]") {
  const MergedRuns runs = merged({{"a", {}, "GPU-1", "2026-01-01T01:00:00Z", {}, {}, 3.0},
                                  {"b", {}, "GPU-2", "", {}, {}, 5.0},
                                  {"again", {}, "GPU-1", "2026-01-01T02:00:00Z", {}, {}, 4.0}});
  CHECK(runs.report.complete);
  REQUIRE(runs.report.table.rows.size() == 2 * kPlan.size());
  REQUIRE(runs.notes.size() == 1);
  CHECK_THAT(runs.notes[0],
             contains_text("the whole run on GPU-1 was given more than once: again"));
  CHECK(runs.report.samples_us[0] == std::vector{4.0});
  CHECK(runs.report.samples_us[1] == std::vector{5.0});
  const auto experiments = experiments_of(runs.report.table);
  REQUIRE(experiments.size() == 1);
  const ResultRecord& on_1 = experiments[0].rows[0];
  const ResultRecord& on_2 = experiments[0].rows[1];
  CHECK(on_1.key == on_2.key);
  CHECK(group_of(experiments[0], on_1) != group_of(experiments[0], on_2));
  CHECK_THAT(place_of(experiments[0], on_2), contains_text("GPU-2"));
  // The GPU is not shown if there is only one.
  const MergedRuns shards = merged({{"one", Shard{1, 2}}, {"two", Shard{2, 2}}});
  const auto of_one = experiments_of(shards.report.table);
  CHECK_THAT(place_of(of_one[0], of_one[0].rows[0]), !contains_text("GPU-1"));
}

TEST_CASE("simulated runs do not depend on the machine", "[merge]") {
  const MergedRuns runs = merged({{"a", {}, ""}, {"b", {}, ""}});
  CHECK(keys_of(runs) == planned_keys());
  CHECK(runs.notes.size() == 1);
}

TEST_CASE("kernels are merged with their rows and counted once", "[merge]") {
  std::vector<RunPart> parts{part_of({"a", {}, "GPU-1"}), part_of({"b", {}, "GPU-2"})};
  for (RunPart& part : parts) {
    Table& kernels = part.log.report.kernels;
    kernels.columns = {{"key", "", FieldType::text, ""}, {"kernel", "", FieldType::integer, ""}};
    kernels.rows = {
        {"e/b/n=1", std::int64_t{0}}, {"e/b/n=1", std::int64_t{1}}, {"e/a/n=2", std::int64_t{0}}};
  }
  const MergedRuns runs = merge_runs(std::move(parts));
  REQUIRE(runs.report.kernels.rows.size() == 6);
  CHECK(runs.report.kernels.rows[1] == std::vector<Field>{"e/b/n=1", std::int64_t{1}, "GPU-1"});
  CHECK(runs.report.kernels.rows[2] == std::vector<Field>{"e/b/n=1", std::int64_t{0}, "GPU-2"});
  const DeviceRates rates = device_rates(runs.report);
  CHECK(rates.kernels.at("e/b/n=1") == 2);
  CHECK(rates.kernels.at("e/a/n=2") == 1);
}

TEST_CASE("parts of different runs are rejected with the difference", "[merge]") {
  const RunPart one = part_of({"one", Shard{1, 2}});
  const RunPart two = part_of({"two", Shard{2, 2}});
  CHECK(refusal(one, two).empty());
  const auto changed = [&](const auto& change) {
    RunPart other = two;
    change(other.log);
    const std::string text = refusal(one, other);
    CHECK_THAT(text, contains_text("one and two are not parts of one run: "));
    return text;
  };
  CHECK_THAT(changed([](RunLog& log) { log.origin.build_id = "fedcba9876543210"; }),
             contains_text("build 0123456789ab") && contains_text("build fedcba987654"));
  CHECK_THAT(changed([](RunLog& log) { log.report.provenance.git_commit = "def"; }),
             contains_text("commit def"));
  CHECK_THAT(changed([](RunLog& log) { log.report.provenance.config.sha256 = "ffff"; }),
             contains_text("small.json (sha256 e3b0c442)") && contains_text("sha256 ffff"));
  CHECK_THAT(changed([](RunLog& log) {
               log.report.provenance.inputs = {{"m.mtx", "/data/m.mtx", 9, "aaaa", {}}};
             }),
             contains_text("their input files differ: none; /data/m.mtx (sha256 aaaa)"));
  CHECK_THAT(changed([](RunLog& log) { log.origin.seed = 9; }), contains_text("--seed 9"));
  CHECK_THAT(changed([](RunLog& log) { log.origin.sets = {"n=1"}; }), contains_text("--set [n=1]"));
  CHECK_THAT(changed([](RunLog& log) { log.report.provenance.settings[1].second = 3.0; }),
             contains_text("e.max_seconds 2; e.max_seconds 3"));
  CHECK_THAT(changed([](RunLog& log) { log.origin.shard->count = 3; }),
             contains_text("the first is shard 1/2, the second shard 2/3"));
  CHECK_THAT(changed([](RunLog& log) { log.origin.shard.reset(); }), contains_text("a whole run"));
  CHECK_THAT(changed([](RunLog& log) { log.origin.plan[3].key = "e/c/n=2"; }),
             contains_text("starting at cell 3 (e/b/n=2 in shard 2; e/c/n=2 in shard 2)"));
  CHECK_THAT(changed([](RunLog& log) { log.report.provenance.device.executed_on = kSimulated; }),
             contains_text("the first was measured, the second simulated"));
  CHECK_THAT(changed([](RunLog& log) {
               Table table = no_rows();
               table.columns.push_back({"param.m", "", FieldType::integer, ""});
               log.report.table = record_table(table);
             }),
             contains_text("their columns differ"));
  RunPart unplanned = two;
  unplanned.log.origin.plan.clear();
  CHECK_THAT(refusal(unplanned, unplanned), contains_text("the log does not contain the plan"));
}

}  // namespace
}  // namespace gpuexp::test
