// Explanations of small tables: causes found, and causes ruled out.
#include "analysis/explanation.hpp"

#include "support/catch.hpp"
#include "support/explained_rows.hpp"

namespace gpuexp::test {
namespace {

using namespace explained;

TEST_CASE("A difference that bytes account for is explained", "[explanation]") {
  // At 1 TB/s, 800 MB take 800 µs and 100 MB take 100 µs.
  const auto r =
      read({{"first", 1000, reading(8e8, 32)},
            {"coalesced", 125, reading(1e8, 4),
             "global_load_sectors_per_request decreases 4;dram_read_bytes decreases 4"}});
  REQUIRE(r->explanations.size() == 1);
  const Explanation& e = r->explanations[0];
  CHECK(e.factor == Approx(8));
  CHECK(e.differs);
  REQUIRE(e.accounted);
  CHECK(*e.accounted == Approx(8));
  CHECK(e.cause == Cause::amounts);
  CHECK(e.confidence == Confidence::high);
  CHECK(
      r->text() ==
      "coalesced is 8× (7.94 to 8.06) as fast as first (1.000 ms → 125.0 µs): 4 sectors per load "
      "request instead of 32, 100 MB read from DRAM instead of 800 MB. The cause is DRAM in first: "
      "the amounts account for 8× of 8× (high confidence). At the device's rates first is bound "
      "by DRAM: 800 MB take 800.0 µs of 1.000 ms; coalesced is bound by DRAM: 100 MB take 100.0 "
      "µs of 125.0 µs.");
}

TEST_CASE("A slower variant is explained in reverse", "[explanation]") {
  const auto r =
      read({{"first", 125, reading(1e8, 4)},
            {"strided", 1000, reading(9e8, 32), "global_load_sectors_per_request increases 4"}});
  const Explanation& e = r->explanations.at(0);
  CHECK(e.factor == Approx(0.125));
  CHECK(*e.accounted == Approx(1.0 / 9));
  CHECK(e.confidence == Confidence::high);
  CHECK_THAT(r->text(), contains_text("strided takes 8× (7.94 to 8.06) as long as first"));
  CHECK_THAT(r->text(), contains_text("At the device's rates strided is bound by DRAM: 900 MB"));
  CHECK_THAT(r->text(), contains_text("the amounts account for 9× of 8× (high confidence)."));
}

TEST_CASE("Confidence decreases with the distance of the factors and ends at half the difference",
          "[explanation]") {
  const auto confidence = [](double bytes_of_fast) {
    return read({{"first", 1000, reading(8e8, 32)}, {"fast", 125, reading(bytes_of_fast, 4)}})
        ->explanations.at(0)
        .confidence;
  };
  CHECK(confidence(1.0e8) == Confidence::high);
  CHECK(confidence(0.88e8) == Confidence::high);
  CHECK(confidence(0.86e8) == Confidence::medium);
  CHECK(confidence(0.68e8) == Confidence::medium);
  CHECK(confidence(0.66e8) == Confidence::low);
  const auto slower = [](double us, double bytes) {
    return read({{"first", us, reading(8e8, 32)}, {"fast", 125, reading(bytes, 4)}})
        ->explanations.at(0)
        .confidence;
  };
  CHECK(slower(1000, 1.25e8) == Confidence::medium);  // 6.4×
  CHECK(slower(1500, 2.0e8) == Confidence::none);     // 200 µs of bytes do not fit in 125 µs
  CHECK(slower(1700, 1.0e8) == Confidence::none);     // 800 µs are less than half of 1.7 ms
}

TEST_CASE("Amounts that explain little more than half of a small difference have medium confidence",
          "[explanation]") {
  // 1.06× of 1.10× is within 15 %, but only 61 % of the difference.
  const auto r = read({{"first", 110, reading(8.48e7, 4)}, {"fast", 100, reading(8e7, 4)}});
  CHECK(r->explanations.at(0).confidence == Confidence::medium);
}

TEST_CASE("Unchanged counters explain nothing, even if the factors are close", "[explanation]") {
  // 1.12 is within 15 % of 1, but the whole difference remains.
  const auto r = read({{"first", 112, reading(8e7, 4)},
                       {"wide", 100, reading(8e7, 8), "dram_read_bytes unchanged 1.05"}});
  CHECK(r->explanations.at(0).differs);
  CHECK(r->explanations.at(0).confidence == Confidence::none);
  CHECK(r->explanations.at(0).cause == Cause::unknown);
  CHECK_THAT(
      r->text(),
      contains_text("This difference is not explained: the amounts account for 1× of 1.12×."));
}

TEST_CASE("Amounts that changed much more than the time explain nothing", "[explanation]") {
  const auto r = read({{"first", 104, reading(8.8e7, 4)}, {"fast", 100, reading(7.6e7, 4)}});
  CHECK(*r->explanations.at(0).accounted == Approx(8.8 / 7.6));
  CHECK(r->explanations.at(0).confidence == Confidence::none);
}

TEST_CASE("Twice a difference of 2 % is within the accuracy of the rates", "[explanation]") {
  const auto of = [](double first_us, double first_bytes) {
    return read({{"first", first_us, reading(first_bytes, 4)}, {"fast", 100, reading(8e7, 4)}})
        ->explanations.at(0)
        .confidence;
  };
  CHECK(of(102, 8.36e7) == Confidence::medium);  // 1.045× of 1.02×
  CHECK(of(102, 8.44e7) == Confidence::none);    // 1.055× of 1.02×
  CHECK(of(104, 8.80e7) == Confidence::none);    // 1.1× of 1.04×
}

TEST_CASE("Amounts that changed in the other direction explain nothing", "[explanation]") {
  const auto r = read({{"first", 100, reading(7e7, 4)}, {"more", 90, reading(8e7, 4)}});
  CHECK(r->explanations.at(0).confidence == Confidence::none);
}

TEST_CASE("A resource that needs less than half of the time is not a bound", "[explanation]") {
  const auto r = read({{"first", 1000, reading(4e8, 32)}, {"fast", 500, reading(2e8, 32)}});
  CHECK(*r->explanations.at(0).accounted == Approx(2));
  CHECK(r->explanations.at(0).confidence == Confidence::none);
  CHECK_THAT(r->text(), contains_text("first is near no rate; the nearest is DRAM at 40 %: 400 MB "
                                      "take 400.0 µs of 1.000 ms"));
  CHECK_THAT(r->text(), contains_text("This difference is not explained: the amounts account for "
                                      "2× of 2×. They need less than half of the longer time."));
  const auto most = read({{"first", 1000, reading(6e8, 32)}, {"fast", 500, reading(3e8, 32)}});
  CHECK_THAT(most->text(),
             contains_text("first needs DRAM most: 600 MB take 600.0 µs of 1.000 ms"));
  CHECK_THAT(most->text(), !contains_text("bound by"));
}

// ---- where the time is no part of it

TEST_CASE("SMs without a block are the cause if they explain the difference", "[explanation]") {
  // At best, 24 of 100 SMs issue 3.6e7 instructions in 375 µs, and all SMs issue 4.1e7 in 102.5 µs.
  Measured few{"first", 440, issuing(3.6e7)};
  few.numbers = {{"grid_blocks", 24}};
  Measured all{"cublas", 145, with(issuing(4.1e7), "sm_balance_pct", 100)};
  all.numbers = {{"grid_blocks", 2000}};
  const auto r = read({few, all});
  const Explanation& e = r->explanations.at(0);
  CHECK(*e.accounted == Approx(375 / 102.5));
  CHECK(*e.accounted_without_idle_sms == Approx(3.6 / 4.1));
  CHECK(e.cause == Cause::idle_sms);
  CHECK(e.confidence == Confidence::medium);
  CHECK_THAT(r->text(), contains_text("first is bound by the issue slots: 36 M warp instructions "
                                      "take 375.0 µs of 440.0 µs, as 24 blocks leave 76 of 100 SMs "
                                      "idle"));
  CHECK_THAT(r->text(),
             contains_text("The cause is SMs without a block in first: the amounts account for "
                           "3.66× of 3.03× (medium confidence). With work on all SMs they would "
                           "give 0.878×."));
  few.numbers = {{"grid_blocks", 2400}};
  CHECK_THAT(read({few, all})->text(), !contains_text("idle"));
}

TEST_CASE("Without a grid, the cycles with a resident block give the share of idle SMs",
          "[explanation]") {
  const auto r = read({{"first", 440, with(issuing(3.6e7), "sm_balance_pct", 24)},
                       {"cublas", 145, with(issuing(4.1e7), "sm_balance_pct", 96)}});
  CHECK(r->explanations.at(0).cause == Cause::idle_sms);
  CHECK_THAT(r->text(), contains_text(", as SMs have work for 24 % of the cycles; cublas"));
}

TEST_CASE("Idle SMs do not reduce DRAM bandwidth", "[explanation]") {
  const auto r = read({{"first", 1000, with(reading(8e8, 32), "sm_balance_pct", 30)},
                       {"fast", 125, with(reading(1e8, 4), "sm_balance_pct", 90)}});
  CHECK(r->explanations.at(0).cause == Cause::amounts);
  CHECK(*r->explanations.at(0).accounted == Approx(8));
  CHECK_THAT(r->text(), !contains_text("idle"));
}

TEST_CASE("Shares of cycles and stall reasons change no verdict and are never a cause",
          "[explanation]") {
  const auto with_shares = [](Numbers numbers, double pct, double stalled) {
    return with(with(with(std::move(numbers), "issue_active_pct", pct), "tensor_active_pct", pct),
                "stalled_barrier", stalled);
  };
  const std::string declared =
      "issue_active_pct increases 2;tensor_active_pct increases 2;stalled_barrier decreases 2";
  const auto busy = read({{"first", 1000, with_shares(issuing(3.6e8), 20, 30)},
                          {"fast", 500, with_shares(issuing(1.8e8), 95, 1), declared}});
  const auto idle = read({{"first", 1000, with_shares(issuing(3.6e8), 90, 1)},
                          {"fast", 500, with_shares(issuing(1.8e8), 90, 1)}});
  CHECK(*busy->explanations.at(0).accounted == *idle->explanations.at(0).accounted);
  CHECK(busy->text() == idle->text());
  CHECK(busy->explanations.at(0).others.size() == 3);
  CHECK_THAT(busy->text(), !contains_text("busy"));
  CHECK_THAT(busy->text(), !contains_text("wait"));
}

TEST_CASE("cp.async copies into shared memory are derived from load sectors", "[explanation]") {
  const auto tile = [](double l1, double stores) {
    Numbers numbers = with(reading(1e6, 16), "global_load_sectors", 4e7);
    numbers["l1_data_wavefronts"] = l1;
    numbers["shared_load_wavefronts"] = 2e7;
    numbers["shared_store_wavefronts"] = stores;
    return numbers;
  };
  // Loads with shared stores and loads; then cp.async copies, which counters leave out.
  const std::string declared =
      "shared_store_wavefronts decreases 4;l1_data_wavefronts decreases 1.5";
  const auto r = read({{"first", 500, tile(4e7, 1e7)}, {"cp_async", 300, tile(2e7, 0), declared}});
  const auto& rows = r->experiments[0].rows;
  CHECK_FALSE(has_uncounted_copies(rows[0]));
  CHECK(has_uncounted_copies(rows[1]));
  CHECK(least_us(rows[0], Resource::l1_data) == Approx(400));
  CHECK(least_us(rows[1], Resource::l1_data) == Approx(300));  // not 200
  CHECK(*r->explanations.at(0).accounted == Approx(4.0 / 3));
  CHECK_THAT(r->text(), !contains_text("shared stores"));
  CHECK_THAT(r->text(), !contains_text("L1 data-stage wavefronts instead"));
  // Loads into registers are not copies, even if there are few shared stores.
  Numbers registers = with(tile(2e7, 0), "shared_load_wavefronts", 1e3);
  const auto none = read({{"first", 500, tile(4e7, 1e7)}, {"registers", 300, registers}});
  CHECK_FALSE(has_uncounted_copies(none->experiments[0].rows[1]));
}

TEST_CASE("Tensor cores are compared by operations, not by instructions", "[explanation]") {
  const auto product = [](const char* name, double us, double instructions) {
    Measured m{name, us, with(reading(1e6, 4), "tensor_instructions", instructions)};
    m.numbers = {{"operations", 1e11}};
    m.limit_by = "tensor_bf16_fp32";
    return m;
  };
  // 4096 and 65536 operations per instruction.
  const auto r = read({product("first", 280, 1e11 / 4096), product("wgmma", 140, 1e11 / 65536)});
  CHECK(least_us(r->experiments[0].rows[0], Resource::operations) == Approx(250));
  CHECK(least_us(r->experiments[0].rows[1], Resource::operations) == Approx(125));
  CHECK(*r->explanations.at(0).accounted == Approx(2));  // not 16
  CHECK_THAT(r->text(),
             contains_text("first is bound by the tensor cores (tensor_bf16_fp32 by "
                           "mma.sync): 100 G operations at 400 TFLOP/s take 250.0 µs of 280.0 "
                           "µs"));
  CHECK_THAT(r->text(), contains_text("by wgmma): 100 G operations at 800 TFLOP/s"));
  CHECK_THAT(r->text(), !contains_text("tensor instructions"));
  // If arithmetic does not limit a row, its pipe is unknown.
  Measured read_only = product("first", 280, 1e7);
  read_only.limit_by = "dram";
  CHECK(least_us(read({read_only, product("b", 1, 1)})->experiments[0].rows[0],
                 Resource::operations) == 0);
}

TEST_CASE("DRAM counters that exceed its rate are left out", "[explanation]") {
  // 6.7 TB/s of 1 TB/s: counted with empty caches, timed warm.
  Measured warm{"strided", 6, with(reading(4e7, 32), "l2_sectors", 1e5)};
  const auto r = read({{"first", 3, reading(2e6, 4)}, warm});
  const Explanation& e = r->explanations.at(0);
  REQUIRE(e.misfit);
  CHECK(e.misfit->amount.resource == Resource::dram);
  CHECK(e.misfit->is_of_row);
  CHECK(e.cause == Cause::unknown);
  CHECK(e.confidence == Confidence::none);
  CHECK(r->text() ==
        "strided takes 2× (1.99 to 2.01) as long as first (3.000 µs → 6.000 µs). The DRAM counters "
        "do not fit the timed launch and are left out: 40 MB of strided would take DRAM 40.00 µs, "
        "and its time less the launch is 6.000 µs; they were counted in another state than was "
        "timed. Other amounts explain no difference.");
  // Rates are accurate to 10 %.
  CHECK_FALSE(read({{"first", 1000, reading(1.09e9, 32)}, {"fast", 500, reading(5e8, 4)}})
                  ->explanations.at(0)
                  .misfit);
  CHECK(read({{"first", 1000, reading(1.11e9, 32)}, {"fast", 500, reading(5e8, 4)}})
            ->explanations.at(0)
            .misfit);
}

TEST_CASE("If DRAM counters are left out, a resource near its rate explains", "[explanation]") {
  const auto through_l2 = [](double l2_us) {
    return with(reading(4e7, 32), "l2_sectors", l2_us * 4e6 / 32);
  };
  const auto near_rate = read({{"first", 4, with(reading(2e6, 4), "l2_sectors", 3 * 4e6 / 32)},
                               {"strided", 8, through_l2(7)}});
  CHECK(near_rate->explanations.at(0).cause == Cause::amounts);
  CHECK_THAT(near_rate->text(), contains_text("are left out"));
  CHECK_THAT(near_rate->text(), contains_text("strided is bound by L2: 28 MB take 7.000 µs of"));
  const auto far = read({{"first", 4, with(reading(2e6, 4), "l2_sectors", 3 * 4e6 / 32)},
                         {"strided", 8, through_l2(6)}});
  CHECK(far->explanations.at(0).cause == Cause::unknown);
  // The L2 counters do not fit either.
  const auto none = read({{"first", 4, with(reading(2e6, 4), "l2_sectors", 3 * 4e6 / 32)},
                          {"strided", 8, through_l2(9)}});
  CHECK(none->explanations.at(0).cause == Cause::unknown);
  CHECK(none->explanations.at(0).misfit->amount.resource == Resource::l2);
}

TEST_CASE("SM counters that do not fit explain nothing", "[explanation]") {
  const auto r = read({{"first", 1000, issuing(5e8)}, {"fast", 500, issuing(2e8)}});
  REQUIRE(r->explanations.at(0).misfit);
  CHECK(r->explanations.at(0).confidence == Confidence::none);
  CHECK_THAT(r->text(), contains_text("The counters do not fit the timed launch, and nothing is "
                                      "explained from them: 500 M warp instructions of first would "
                                      "take the issue slots 1.250 ms"));
}

TEST_CASE("Starting blocks and launches are amounts", "[explanation]") {
  DeviceRates rates = device();
  rates.ceilings.blocks_per_s = 1e9;
  const auto blocks = [](const char* name, double us, double grid) {
    Measured m{name, us, reading(4e7, 4)};
    m.numbers = {{"grid_blocks", grid}};
    return m;
  };
  const auto r = read({blocks("first", 100, 9e4), blocks("fewer", 52, 2e4)}, rates);
  CHECK(*r->explanations.at(0).accounted == Approx(90.0 / 40));
  CHECK_THAT(r->text(), contains_text("first is bound by the start of blocks: 90 k blocks take"));

  DeviceRates launches = device();
  launches.ceilings.floor_graph_us = 2;
  launches.kernels = {{"first", 11}, {"fused", 1}};
  Measured first{"first", 35, reading(1e7, 4)};
  Measured fused{"fused", 15, reading(1e7, 4)};
  first.numbers = fused.numbers = {{"floor_us", 4}};
  const auto launched = read({first, fused}, launches);
  CHECK(*launched->explanations.at(0).accounted == Approx((4 + 20 + 10) / 14.0));
  CHECK(launched->explanations.at(0).confidence == Confidence::high);
  CHECK(launched->explanations.at(0).cause == Cause::launches);
  CHECK_THAT(
      launched->text(),
      contains_text("The cause is the launch of 11 kernels in first: the amounts account for "
                    "2.43× of 2.33× (high confidence). With one kernel each they would give "
                    "1×. first launches 11 kernels, fused 1 kernel."));
  CHECK_THAT(launched->text(),
             contains_text("10 MB take 10.00 µs of 35.00 µs, of which 11 launches "
                           "take 24.00 µs; fused is bound by DRAM"));
  first.time_us = 350;
  CHECK_THAT(read({first, fused}, launches)->text(), contains_text("of 350.0 µs; fused"));
}

// ---- latency

TEST_CASE("Bytes in flight explain a difference that amounts leave", "[explanation]") {
  const auto loads = [](const char* name, double us, double in_flight) {
    Measured m{name, us, with(reading(8e8, 4), "active_warps_per_sm", 10)};
    m.numbers = {{"metric.bytes_in_flight_per_thread", in_flight}};
    return m;
  };
  // 10 warps with 4 B per lane are 128 kB in flight on 100 SMs: 0.256 TB/s at 500 ns.
  const auto r = read({loads("first", 4000, 4), loads("wide", 2000, 8)});
  const Explanation& e = r->explanations.at(0);
  CHECK(e.cause == Cause::latency);
  CHECK(e.confidence == Confidence::medium);
  CHECK(e.latency->factor == Approx(std::hypot(800, 3125) / std::hypot(800, 1562.5)));
  CHECK_THAT(
      r->text(),
      contains_text("The cause is latency: by Little's law the bytes in flight account for "
                    "1.84× of 2× (medium confidence). first has 10 warps and 1.28 kB in "
                    "flight per SM, and its loads take 3.125 ms at DRAM's latency, with the "
                    "800.0 µs that DRAM needs for its bytes 3.226 ms (root of the sum of "
                    "squares); wide has 10 warps and 2.56 kB in flight per SM. Without latency the "
                    "amounts account for 1× of 2×."));
  // If bytes account for the difference, latency is not considered.
  const auto bytes = read({{"first", 1000, reading(8e8, 32)}, loads("wide", 125, 8)});
  CHECK_THAT(bytes->text(), !contains_text("latency"));
  // Equal bytes in flight explain nothing.
  CHECK(read({loads("first", 4000, 4), loads("same", 2000, 4)})->explanations.at(0).cause ==
        Cause::unknown);
}

TEST_CASE("Operands pass L1 while tensor instructions execute", "[explanation]") {
  // wgmma operations take 1000 µs.
  const auto product = [](const char* name, double wavefronts) {
    Measured m{name, 1200, with(reading(8e6, 4), "l1_data_wavefronts", wavefronts)};
    m.counters["tensor_instructions"] = 1e7;
    m.numbers = {{"operations", 8e11}};
    m.limit_by = std::string(name_of(Pipe::tensor_bf16_fp32));
    return m;
  };
  const auto r = read({product("first", 1.1e8), product("alike", 1.02e8)});
  const Explanation& e = r->explanations.at(0);
  CHECK(e.bound->longest->resource == Resource::operations);
  CHECK(e.reference_bound->longest->resource == Resource::l1_data);
}

TEST_CASE("DRAM time and load latency combine as the root of the sum of squares", "[explanation]") {
  const auto loads = [](const char* name, double us, double in_flight) {
    Measured m{name, us, with(reading(8e8, 4), "active_warps_per_sm", 10)};
    m.numbers = {{"metric.bytes_in_flight_per_thread", in_flight}};
    return m;
  };
  // In both, DRAM needs 800 µs for the bytes; loads wait for 781 and 391 µs.
  const auto r = read({loads("first", 1150, 16), loads("wide", 920, 32)});
  const Explanation& e = r->explanations.at(0);
  CHECK(e.cause == Cause::latency);
  CHECK(e.latency->factor == Approx(std::hypot(800, 781.25) / std::hypot(800, 390.625)));
  CHECK_THAT(r->text(), contains_text("and its loads take 781.2 µs at DRAM's latency, with the "
                                      "800.0 µs that DRAM needs for its bytes 1.118 ms (root of "
                                      "the sum of squares)"));
  // If loads wait briefly, DRAM time dominates both.
  CHECK(read({loads("first", 1150, 64), loads("wide", 920, 128)})->explanations.at(0).cause ==
        Cause::unknown);
}

TEST_CASE("SM resources use the clock of the row's samples", "[explanation]") {
  // 100 SMs issue 4e11 instructions per second at 1 GHz.
  const auto issues = [](const char* name, double us, double instructions, double mhz) {
    Measured m{name, us, with(reading(8e6, 4), "warp_instructions", instructions)};
    if (mhz > 0) m.numbers = {{"sm_clock_mhz", mhz}};
    return m;
  };
  const auto slow = read({issues("first", 1000, 1.9e8, 500), issues("second", 500, 9.5e7, 500)});
  const Explanation& e = slow->explanations.at(0);
  CHECK(e.reference_bound->longest->resource == Resource::issue);
  CHECK(e.reference_bound->longest->time_us == Approx(950));
  CHECK(e.cause == Cause::amounts);
  CHECK(e.confidence == Confidence::high);
  const auto unread = read({issues("first", 1000, 1.9e8, 0), issues("second", 500, 9.5e7, 0)});
  CHECK(unread->explanations.at(0).reference_bound->longest->time_us == Approx(475));
  // A lower clock accounts for the longer time of equal work.
  const auto capped = read({issues("first", 1000, 1.9e8, 500), issues("second", 500, 1.9e8, 1000)});
  CHECK(*capped->explanations.at(0).accounted == Approx(2).epsilon(0.02));
  CHECK_THAT(capped->text(),
             contains_text("The SMs ran at 500 MHz in first, at 1000 MHz in second."));
  CHECK_THAT(slow->text(), !contains_text("MHz"));
}

TEST_CASE("The launch is named if it is much of the time", "[explanation]") {
  Measured fast{"fast", 3, reading(1e4, 4)};
  fast.flags = "few_samples;near_floor";
  const auto r = read({{"first", 4, reading(1e4, 4)}, fast});
  Measured all{"fast", 3, reading(1e4, 4)};
  all.numbers = {{"floor_us", 3.1}};
  CHECK_THAT(read({{"first", 4, reading(1e4, 4)}, all})->text(),
             contains_text("fast is near no rate; the nearest is the issue slots: 1 M"));
  CHECK_THAT(r->text(), contains_text(" Much of these times is launch overhead."));
}

TEST_CASE("Resources need their counts divided by their rates", "[explanation]") {
  Numbers numbers = with(reading(1e6, 4), "l1_data_wavefronts", 1e8);
  numbers["l1_tag_wavefronts"] = 2e8;
  numbers["l2_sectors"] = 1e8;
  numbers["fma_instructions"] = 4e8;
  numbers["alu_instructions"] = 4e8;
  numbers["xu_instructions"] = 1e8;
  const auto r = read({{"first", 1e4, numbers}, {"b", 1, {}}});
  const ResultRecord& row = r->experiments[0].rows[0];
  CHECK(least_us(row, Resource::dram) == Approx(1));
  CHECK(least_us(row, Resource::l2) == Approx(800));
  CHECK(least_us(row, Resource::l1_data) == Approx(1000));
  CHECK(least_us(row, Resource::l1_tags) == Approx(2000));
  CHECK(least_us(row, Resource::issue) == Approx(2.5));
  CHECK(least_us(row, Resource::fma) == Approx(1000));
  CHECK(least_us(row, Resource::alu) == Approx(2000));
  CHECK(least_us(row, Resource::xu) == Approx(2000));
}

TEST_CASE("A grid occupies all SMs until its last wave", "[explanation]") {
  const auto share = [](double blocks) {
    Measured m{"first", 100, reading(1e6, 4)};
    m.numbers = {{"grid_blocks", blocks}};
    const auto r = read({m, {"b", 1, {}}});
    const ResultRecord& row = r->experiments[0].rows[0];
    return sm_shares(row, row, device()).row;
  };
  CHECK(share(24) == Approx(0.24));
  CHECK(share(100) == Approx(1));
  CHECK(share(101) == Approx(0.505));
  CHECK(share(10050) == Approx(100.5 / 101));
}

}  // namespace
}  // namespace gpuexp::test
