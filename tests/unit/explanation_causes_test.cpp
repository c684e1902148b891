// Explanations of small tables: causes in several kernels, the host and atomics.
#include <map>

#include "analysis/explanation.hpp"
#include "render/explanation_text.hpp"
#include "support/catch.hpp"
#include "support/explained_rows.hpp"

namespace gpuexp::test {
namespace {

using namespace explained;

using Kernel = std::pair<std::string, Numbers>;

// Rates of a report whose rows launch these kernels.
DeviceRates with_kernels(const std::map<std::string, std::vector<Kernel>>& rows) {
  Report report;
  Table& table = report.kernels;
  table.columns = {{"key", "", FieldType::text, ""}, {"name", "", FieldType::text, ""}};
  for (const auto& [counter, value] : reading(0, 0))
    table.columns.push_back({"counter." + counter, "", FieldType::real, ""});
  for (const auto& [key, kernels] : rows) {
    for (const auto& [name, counters] : kernels) {
      table.rows.push_back({Field{key}, Field{name}});
      for (std::size_t i = 2; i < table.columns.size(); ++i) {
        const auto found =
            counters.find(table.columns[i].name.substr(std::string("counter.").size()));
        table.rows.back().push_back(found == counters.end() ? Field{} : Field{found->second});
      }
    }
  }
  DeviceRates rates = device();
  const DeviceRates read = device_rates(report);
  rates.kernels = read.kernels;
  rates.fills = read.fills;
  rates.names_of_kernels = read.names_of_kernels;
  rates.counters_of_kernels = read.counters_of_kernels;
  return rates;
}

// ---- several kernels

TEST_CASE("Each further kernel adds the launch latency, or the graph's floor in a graph",
          "[explanation]") {
  DeviceRates rates = with_kernels({{"first", {{"a", {}}, {"b", {}}, {"c", {}}}}});
  rates.ceilings.floor_graph_us = 0.5;
  rates.ceilings.kernel_latency_ns = 1700;
  ResultRecord row;
  row.key = "first";
  row.floor_us = 3;
  row.mode = Mode::cold;
  CHECK(least_times(row, rates, {}).launch_us == Approx(3 + 2 * 1.7));
  row.mode = Mode::warm;
  CHECK(least_times(row, rates, {}).launch_us == Approx(3 + 2 * 1.7));
  row.mode = Mode::graph;
  CHECK(least_times(row, rates, {}).launch_us == Approx(3 + 2 * 0.5));
  CHECK(least_times(row, rates, {}).further_us == Approx(1));
  rates = with_kernels({{"first", {{"cudaMemsetAsync", {}}, {"b", {}}}}});
  rates.ceilings.floor_graph_us = 0.5;
  rates.ceilings.kernel_latency_ns = 1700;
  row.mode = Mode::cold;
  CHECK(least_times(row, rates, {}).launch_us == Approx(3.5));  // a fill adds less
}

TEST_CASE("Launches are the cause if they make up most of the difference", "[explanation]") {
  DeviceRates rates = with_kernels(
      {{"first", std::vector<Kernel>(21, {"step<1>", {}})}, {"fused", {{"fused", {}}}}});
  rates.ceilings.kernel_latency_ns = 2000;
  Measured first{"first", 60, reading(1e7, 4)};
  Measured fused{"fused", 15, reading(1e7, 4)};
  first.numbers = fused.numbers = {{"floor_us", 3}};
  const auto r = read({first, fused}, rates);
  const Explanation& e = r->explanations.at(0);
  CHECK(e.launched.kernels == 1);
  CHECK(e.reference_launched.kernels == 21);
  CHECK(e.cause == Cause::launches);
  CHECK(*e.accounted == Approx((3 + 40 + 10) / 13.0));
  CHECK(*e.accounted_without_launches == Approx(1));
  CHECK(e.reference_bound->needed_share == Approx(50 / 57.0));
  // If bytes account for more than the launches, bytes are the cause.
  first = {"first", 460, reading(4e8, 4)};
  const auto bytes = read({first, fused}, rates);
  CHECK(bytes->explanations.at(0).cause == Cause::amounts);
  CHECK_THAT(bytes->text(), !contains_text("The cause is the launch"));
  CHECK_THAT(bytes->text(), contains_text("first launches 21 kernels, fused 1 kernel."));
  // Equal numbers of kernels are not mentioned.
  const auto same = read({{"first", 100, reading(8e7, 4)}, {"fused", 50, reading(4e7, 4)}});
  CHECK_THAT(same->text(), !contains_text("kernel"));
}

TEST_CASE("Fills are named together with kernels", "[explanation]") {
  const DeviceRates rates = with_kernels(
      {{"first", {{"cudaMemsetAsync", {}}, {"sum", {}}}}, {"two", {{"sum", {}}, {"sum", {}}}}});
  const auto r = read({{"first", 10, reading(1e6, 4)}, {"two", 20, reading(1e6, 4)}}, rates);
  CHECK(r->explanations.at(0).reference_launched == Launched{1, 1});
  CHECK_THAT(r->text(), contains_text("first launches 1 kernel and 1 fill, two 2 kernels."));
}

TEST_CASE("Consecutive kernels need the sum of their longest times", "[explanation]") {
  // 300 µs of DRAM, then 300 µs of instructions: each resource is busy for 300 µs.
  const Numbers bytes = reading(3e8, 4);
  const Numbers instructions = issuing(1.2e8);
  Numbers both = reading(3.01e8, 4);
  both["warp_instructions"] = 1.21e8;
  const auto rates = with_kernels({{"first", {{"load", bytes}, {"compute", instructions}}}});
  const auto r = read({{"first", 640, both}, {"fused", 330, both}}, rates);
  const Explanation& e = r->explanations.at(0);
  CHECK(e.reference_bound->times.of_chain.size() == 2);
  CHECK(e.reference_bound->times.needed_us() == Approx(600));
  CHECK(e.bound->times.of_chain.empty());
  CHECK(*e.accounted == Approx(600 / 302.5));
  CHECK(e.confidence == Confidence::high);
  CHECK_THAT(r->text(),
             contains_text("first needs DRAM most: 300 MB take 300.0 µs of 640.0 µs; each "
                           "kernel at its own limit, all take 600.0 µs; fused"));
  CHECK_THAT(r->text(), !contains_text("near no rate"));
  // Without counters per kernel, the two resources overlap.
  const auto together = read({{"first", 640, both}, {"fused", 330, both}});
  CHECK(*together->explanations.at(0).accounted == Approx(1));
  CHECK_THAT(together->text(), !contains_text("own limit"));
}

TEST_CASE("Kernels that ran faster than consecutively are not a chain", "[explanation]") {
  const Numbers bytes = reading(3e8, 4);
  Numbers both = reading(3.01e8, 4);
  both["warp_instructions"] = 1.21e8;
  const auto rates = with_kernels({{"first", {{"load", bytes}, {"compute", issuing(1.2e8)}}}});
  const auto r = read({{"first", 400, both}, {"fused", 310, both}}, rates);
  CHECK(r->explanations.at(0).reference_bound->times.of_chain.empty());
  // Nor are hundreds of kernels of which only some were counted.
  Measured first{"first", 640, both};
  first.numbers = {{"kernel_launches", 300}};
  CHECK(read({first, {"fused", 310, both}}, rates)
            ->explanations.at(0)
            .reference_bound->times.of_chain.empty());
}

TEST_CASE("With several kernels, the cause is the resource with the larger difference",
          "[explanation]") {
  Numbers first = reading(5e8, 4);
  first["warp_instructions"] = 1.2e8;
  Numbers second = reading(1e8, 4);
  second["warp_instructions"] = 1.2e8;
  const auto rates =
      with_kernels({{"first", {{"load", reading(5e8, 4)}, {"compute", issuing(1.2e8)}}},
                    {"fast", {{"load", reading(1e8, 4)}, {"compute", issuing(1.2e8)}}}});
  const auto r = read({{"first", 850, first}, {"fast", 450, second}}, rates);
  CHECK(r->explanations.at(0).resources == std::vector<Resource>{Resource::dram});
  CHECK_THAT(r->text(), contains_text("The cause is DRAM in first"));
  CHECK_THAT(r->text(), contains_text(": 100 MB read from DRAM instead of 500 MB."));
}

TEST_CASE("Kernels divided differently are compared in total, with at most medium confidence",
          "[explanation]") {
  // 500 µs of DRAM and 100 µs of instructions; then one kernel with 400 µs of instructions.
  Numbers first = reading(5e8, 4);
  first["warp_instructions"] = 4e7;
  const auto rates = with_kernels(
      {{"first", {{"load", reading(5e8, 4)}, {"compute", issuing(4e7)}}}, {"one", {{"one", {}}}}});
  const auto r = read({{"first", 620, first}, {"one", 420, issuing(1.6e8)}}, rates);
  const Explanation& e = r->explanations.at(0);
  CHECK(*e.accounted == Approx(1.5));
  CHECK(e.cause == Cause::amounts);
  CHECK(e.confidence == Confidence::medium);
  CHECK(e.resources.empty());
  CHECK(e.changes.empty());
  CHECK_THAT(r->text(),
             contains_text("The cause is all that the kernels need together in first: "
                           "the amounts account for 1.5× of 1.48× (medium confidence)."));
}

// ---- L2

TEST_CASE("Stores that L1 merges do not count as L2 writes", "[explanation]") {
  DeviceRates rates = device();
  rates.ceilings.l2_write_bytes_per_s = 1e12;  // a quarter of the read rate
  const auto l2_us = [&](double stored, double read_from_dram) {
    Numbers numbers = with(reading(32 * read_from_dram, 4), "l2_sectors", 3e6);
    numbers["global_store_sectors"] = stored;
    const auto r = read({{"first", 100, numbers}, {"b", 1, {}}});
    for (const LeastTime& t : least_times(r->experiments[0].rows[0], rates, {}).of_resources) {
      if (t.resource == Resource::l2) return t.time_us;
    }
    return 0.0;
  };
  CHECK(l2_us(1e6, 2e6) == Approx(16 + 32));  // 2 M read, 1 M stored
  CHECK(l2_us(8e6, 2e6) == Approx(16 + 32));  // 7 M merged in L1
  CHECK(l2_us(8e6, 0) == Approx(96));         // all may be stores
  CHECK(l2_us(1e6, 9e6) == Approx(24));       // DRAM read more than SMs requested
  // DRAM reads for partial writes are not loads.
  Numbers writes = with(reading(3.2e7, 4), "l2_sectors", 1e6);
  writes["global_load_sectors"] = 0;
  writes["global_store_sectors"] = 1e6;
  const auto r = read({{"first", 100, writes}, {"b", 1, {}}});
  CHECK(least_us(r->experiments[0].rows[0], Resource::l2) == Approx(8));
}

TEST_CASE("A lower L2 hit rate is named if SMs request equal sectors", "[explanation]") {
  const auto text = [](double sectors, double hit_pct, double bytes) {
    const auto row = [&](double read, double hit, double l2) {
      return with(with(reading(read, 4), "l2_hit_pct", hit), "l2_sectors", l2);
    };
    return read({{"first", 500, row(4e8, 49, 2.5e7)}, {"wide", 560, row(bytes, hit_pct, sectors)}})
        ->text();
  };
  CHECK_THAT(text(2.5e7, 36, 5e8),
             contains_text("At equal sectors, 36 % found in L2 instead of 49 %."));
  CHECK_THAT(text(3e7, 36, 5e8), !contains_text("found in L2"));
  CHECK_THAT(text(2.5e7, 48.5, 5e8), !contains_text("found in L2"));
  CHECK_THAT(text(2.5e7, 36, 4e8), !contains_text("found in L2"));
}

// ---- what belongs to the cause

TEST_CASE("Active lanes are named if instructions are the cause", "[explanation]") {
  const auto text = [](double first_lanes, double fast_lanes) {
    return read({{"first", 1000, with(issuing(3.6e8), "active_lanes_per_instruction", first_lanes)},
                 {"fast", 500, with(issuing(1.8e8), "active_lanes_per_instruction", fast_lanes)}})
        ->text();
  };
  CHECK_THAT(text(16, 32),
             contains_text("): 32 active lanes per instruction instead of 16, 180 M"));
  CHECK_THAT(text(32, 32), !contains_text("lanes"));
  CHECK_THAT(text(32, 16), !contains_text("lanes"));
  const auto of_bytes =
      read({{"first", 1000, with(reading(8e8, 32), "active_lanes_per_instruction", 16)},
            {"fast", 125, with(reading(1e8, 4), "active_lanes_per_instruction", 32)}});
  CHECK_THAT(of_bytes->text(), !contains_text("lanes"));
}

TEST_CASE("Bank conflicts are named if they are a large share of L1's wavefronts",
          "[explanation]") {
  const auto text = [](double conflicts) {
    const auto tile = [](double wavefronts, double of_them) {
      return with(with(reading(1e6, 4), "l1_data_wavefronts", wavefronts), "shared_bank_conflicts",
                  of_them);
    };
    return read({{"first", 1000, tile(9e7, conflicts)}, {"padded", 500, tile(4.5e7, 0)}})->text();
  };
  CHECK_THAT(text(4.5e7), contains_text("no bank conflicts instead of 45 M, 45 M L1 data-stage"));
  CHECK_THAT(text(1e6), !contains_text("conflicts"));
}

TEST_CASE("Expected changes that occurred are named if nothing is explained", "[explanation]") {
  const auto text = [](double fast_bytes) {
    return read({{"first", 1000, with(reading(8e8, 32), "branch_instructions", 9e5)},
                 {"fast", 125, with(reading(fast_bytes, 4), "branch_instructions", 1e3),
                  "branch_instructions decreases 4;stalled_long_scoreboard unchanged 2"}})
        ->text();
  };
  CHECK_THAT(text(8e7 * 1.6), !contains_text("changes seen"));
  const auto unexplained = [](double stalled) {
    const auto row = [&](double branches, double long_scoreboard) {
      return with(with(reading(8e7, 4), "branch_instructions", branches), "stalled_long_scoreboard",
                  long_scoreboard);
    };
    return read({{"first", 120, row(9e5, 40)},
                 {"fast", 100, row(1e3, stalled),
                  "branch_instructions decreases 4;stalled_long_scoreboard decreases 2"}})
        ->text();
  };
  // Stall reasons follow from the time and are not named.
  CHECK_THAT(unexplained(4),
             contains_text("Expected counter changes seen: 1 k branches instead of 900 k."));
  CHECK_THAT(unexplained(4), !contains_text("waiting"));
}

TEST_CASE("Fewer warps per SM are named if the difference is not explained", "[explanation]") {
  const auto text = [](double warps, double balance_pct, double bytes_of_fast) {
    const auto row = [](const char* name, double us, double bytes, double active, double balance) {
      Measured m{
          name, us,
          with(with(reading(bytes, 4), "active_warps_per_sm", active), "sm_balance_pct", balance)};
      m.numbers = {{"occupancy_pct", 50}};
      return m;
    };
    return read({row("first", 1000, 6e8, warps, balance_pct),
                 row("fast", 800, bytes_of_fast, 32, 100)})
        ->text();
  };
  CHECK_THAT(text(16, 100, 6e8),
             contains_text("first has 16 warps per SM (theoretical occupancy 50 %), fast has 32 "
                           "warps per SM (theoretical occupancy 50 %)."));
  CHECK_THAT(text(32, 40, 6e8), contains_text("first has 32 warps per SM for 40 % of the cycles"));
  CHECK_THAT(text(1, 100, 6e8), contains_text("first has 1 warp per SM"));
  CHECK_THAT(text(32, 98, 6e8), !contains_text("occupancy"));
  CHECK_THAT(text(64, 100, 6e8), !contains_text("occupancy"));
  CHECK_THAT(text(16, 100, 4.8e8), !contains_text("occupancy"));  // the bytes are the cause
}

// ---- more than the difference

TEST_CASE(
    "If amounts account for more than the difference, something else limits the faster variant",
    "[explanation]") {
  const auto of = [](double fast_us, double fast_instructions, double first_instructions = 3e8) {
    return read({{"first", 1000, issuing(first_instructions)},
                 {"fast", fast_us, issuing(fast_instructions)}});
  };
  // 1.67× of 1.22× is 250 % of the difference.
  const auto r = of(820, 1.8e8);
  CHECK(r->explanations.at(0).cause == Cause::amounts);
  CHECK(r->explanations.at(0).confidence == Confidence::medium);
  CHECK_THAT(r->text(),
             contains_text("The cause is the issue slots in first: the amounts by themselves would "
                           "give 1.67× of 1.22× (medium confidence); another resource then "
                           "limits fast."));
  CHECK_THAT(of(650, 1.8e8)->text(), !contains_text("another resource"));
  CHECK(of(940, 2.0e8)->explanations.at(0).cause == Cause::unknown);       // 650 % of it
  CHECK(of(820, 1.2e8, 2e8)->explanations.at(0).cause == Cause::unknown);  // only half of the time
  CHECK(of(960, 2.7e8)->explanations.at(0).cause == Cause::unknown);       // any amount fits 4 %
}

TEST_CASE("Equally idle SMs are not a cause", "[explanation]") {
  const auto cause = [](double fast_blocks, double fast_instructions) {
    Measured first{"first", 440, issuing(3.6e7)};
    Measured fast{"fast", 145, issuing(fast_instructions)};
    first.numbers = {{"grid_blocks", 24}};
    fast.numbers = {{"grid_blocks", fast_blocks}};
    return read({first, fast})->explanations.at(0).cause;
  };
  CHECK(cause(24, 1.2e7) == Cause::amounts);
  CHECK(cause(96, 3.6e7) == Cause::idle_sms);
}

TEST_CASE("One block leaves SMs idle", "[explanation]") {
  Measured one{"first", 440, issuing(4e5)};
  Measured all{"all", 44, issuing(4e5)};
  one.numbers = {{"grid_blocks", 1}};
  all.numbers = {{"grid_blocks", 10}};
  CHECK_THAT(read({one, all})->text(), contains_text("as 1 block leaves 99 of 100 SMs idle; all"));
  CHECK_THAT(read({one, all})->text(), contains_text("as 10 blocks leave 90 of 100 SMs idle"));
}

TEST_CASE("A share of cycles is not described as blocks", "[explanation]") {
  // The grid of a library is unknown, so cycles are compared.
  Measured first{"first", 440, with(issuing(3.6e7), "sm_balance_pct", 24)};
  first.numbers = {{"grid_blocks", 528}};
  const auto r = read({first, {"cublas", 145, with(issuing(4.1e7), "sm_balance_pct", 96)}});
  CHECK_THAT(r->text(), contains_text(", as SMs have work for 24 % of the cycles; cublas"));
  CHECK_THAT(r->text(), !contains_text("528 blocks"));
}

// ---- the host

TEST_CASE("The host is the cause if equal kernels leave the GPU idle", "[explanation]") {
  const std::vector<Kernel> step{{"step<0>", {}}};
  struct Case {
    double launches = 1;
    const char* flags = "ungated";
    double instructions = 1e6;
    std::vector<Kernel> kernels = {{"step<0>", {}}};
    double time_us = 200;
    const char* bound_by = "";
  };
  const auto read_case = [&](const Case& c) {
    Measured first{"first", 50, reading(1e6, 4)};
    Measured slow{"slow", c.time_us, with(reading(1e6, 4), "warp_instructions", c.instructions)};
    first.numbers = {{"kernel_launches", 1}};
    slow.numbers = {{"kernel_launches", c.launches}};
    slow.flags = c.flags;
    slow.predicted_us = c.bound_by[0] ? c.time_us : 0;
    slow.bound_by = c.bound_by;
    return read({first, slow}, with_kernels({{"first", step}, {"slow", c.kernels}}));
  };
  const auto cause = [&](const Case& c) { return read_case(c)->explanations.at(0).cause; };
  const auto host = read_case({});
  CHECK(host->explanations.at(0).cause == Cause::host);
  CHECK(host->explanations.at(0).confidence == Confidence::low);
  CHECK_THAT(host->text(),
             contains_text("The cause is the host (low confidence): both variants launch the same "
                           "kernels with equal counters, and the stream of slow was not blocked "
                           "until they were queued (flag ungated)."));
  CHECK(read_case({.bound_by = "host"})->explanations.at(0).confidence == Confidence::medium);
  CHECK(cause({.flags = ""}) != Cause::host);
  CHECK(cause({.instructions = 2e6}) != Cause::host);
  CHECK(cause({.kernels = {{"queue", {}}}}) != Cause::host);
  CHECK(cause({.launches = 2}) != Cause::host);
  // 1e6 instructions on 100 SMs, issued in 10 % of the cycles, occupy the SMs for 25 µs.
  CHECK(cause({.time_us = 60}) == Cause::host);
  CHECK(read({{"first", 30, reading(1e6, 4)}, {"slow", 48, reading(1e6, 4)}},
             with_kernels({{"first", step}, {"slow", step}}))
            ->explanations.at(0)
            .cause != Cause::host);
}

// ---- atomics

TEST_CASE("Atomics that L2 serialises are the cause if their cycles explain the difference",
          "[explanation]") {
  const auto of = [](double slow_us, double slow_cycles, double fast_us, double fast_cycles) {
    return read({{"first", slow_us, with(reading(1e6, 4), "l2_atomic_cycles", slow_cycles)},
                 {"fast", fast_us, with(reading(1e6, 4), "l2_atomic_cycles", fast_cycles)}});
  };
  const auto one = of(1000, 1.336e6, 110, 1.336e5);
  CHECK(one->explanations.at(0).cause == Cause::atomics);
  CHECK(one->explanations.at(0).confidence == Confidence::medium);
  CHECK(one->explanations.at(0).atomics->slices == Approx(1));
  CHECK_THAT(one->text(), contains_text(": 134 k cycles of L2's atomic units instead of 1.34 M."));
  CHECK_THAT(
      one->text(),
      contains_text("The cause is atomics in first, which L2 serialises: they need all of its "
                    "time if one of L2's slices works on them, and account for 10× of 9.09× "
                    "(medium confidence)."));
  const auto four = of(1000, 4 * 1.336e6, 110, 4 * 1.336e5);
  CHECK(four->explanations.at(0).confidence == Confidence::low);  // the number of slices is fitted
  CHECK_THAT(four->text(), contains_text("if 4 of L2's slices work on them"));
  const auto cause = [&](const auto& r) { return r->explanations.at(0).cause; };
  CHECK(cause(of(1000, 1.0e6, 110, 1e5)) == Cause::unknown);        // less than one slice executes
  CHECK(cause(of(1000, 1.0e8, 110, 1e7)) == Cause::unknown);        // more than all slices execute
  CHECK(cause(of(1000, 1.336e6, 500, 1.336e5)) == Cause::unknown);  // 10× of 2×
  CHECK(cause(of(1000, 1.336e6, 110, 1.4e6)) == Cause::unknown);    // the faster one has more
  CHECK(cause(of(1000, 0, 110, 0)) == Cause::unknown);
}

}  // namespace
}  // namespace gpuexp::test
