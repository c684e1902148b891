#include "render/version_table.hpp"

#include "support/catch.hpp"

namespace gpuexp {
namespace {

VersionRow version_row(const std::string& problem, const std::string& variant, double wavefronts,
                       double time_us) {
  VersionRow row;
  row.problem = problem;
  row.variant = variant;
  row.status = "passed";
  row.bound_by = "shared";
  row.values = {1000.0, 64.0, 8192.0, wavefronts, 18.0, 4096.0, 100.0, time_us};
  return row;
}

const TerminalOptions kPlain{0, false, true};

TEST_CASE("a version without one before has a line for each variant") {
  KernelVersion now{{version_row("n=8", "tile", 0, 33.5), version_row("n=16", "tile", 0, 67)}};
  now.rows.back().checked_at = "n=4";
  CHECK(version_table_text(now, nullptr, kPlain) == R"(n=8
variant    status  instr.  sectors   DRAM  wavefronts  regs  shared  occupancy  predicted  bound by
-------    ------  ------  -------  -----  ----------  ----  ------  ---------  ---------  --------
tile       passed    1000       64  8 KiB           0    18   4 KiB      100 %   33.50 µs  shared

n=16
variant    status  instr.  sectors   DRAM  wavefronts  regs  shared  occupancy  predicted  bound by
-------    ------  ------  -------  -----  ----------  ----  ------  ---------  ---------  --------
tile       passed    1000       64  8 KiB           0    18   4 KiB      100 %   67.00 µs  shared
verified at n=4
)");
}

TEST_CASE("a changed variant has lines for both versions and for the ratios of what changed") {
  const KernelVersion before{
      {version_row("n=8", "naive", 0, 50), version_row("n=8", "tile", 4, 40)}};
  const KernelVersion now{{version_row("n=8", "naive", 0, 50), version_row("n=8", "tile", 0, 20)}};
  CHECK(version_table_text(now, &before, kPlain) == R"(n=8
variant          status  instr.  sectors   DRAM  wavefronts  regs  shared  occupancy  predicted  bound by
-------  ------  ------  ------  -------  -----  ----------  ----  ------  ---------  ---------  --------
naive            passed    1000       64  8 KiB           0    18   4 KiB      100 %   50.00 µs  shared
tile     before  passed    1000       64  8 KiB           4    18   4 KiB      100 %   40.00 µs  shared
         now     passed    1000       64  8 KiB           0    18   4 KiB      100 %   20.00 µs  shared
         ratio                                        0.000                               0.500
)");
}

TEST_CASE("a variant of another problem, or with another name, is not compared") {
  const KernelVersion before{
      {version_row("n=8", "tile", 0, 50), version_row("n=16", "wide", 0, 50)}};
  const KernelVersion now{{version_row("n=16", "tile", 0, 20)}};
  CHECK(version_table_text(now, &before, kPlain).find("before") == std::string::npos);
}

TEST_CASE("a variant with wrong results has its reason below the table, and no values") {
  KernelVersion now{{version_row("n=8", "tile", 0, 50)}};
  now.rows[0].status = "incorrect";
  now.rows[0].reason = "2 of 8 elements differ";
  now.rows[0].values.assign(kVersionQuantities.size(), std::nullopt);
  const KernelVersion before{{version_row("n=8", "tile", 0, 50)}};
  const std::string text = version_table_text(now, &before, kPlain);
  CHECK_THAT(text, contains_text("now     incorrect"));
  CHECK_THAT(text, contains_text("tile: 2 of 8 elements differ\n"));
  CHECK(text.find("ratio") == std::string::npos);
}

TEST_CASE("variants with one reason have it once") {
  KernelVersion now{{version_row("n=8", "a", 0, 50), version_row("n=8", "b", 0, 50),
                     version_row("n=8", "c", 0, 50)}};
  for (VersionRow& row : now.rows) {
    row.status = "skipped";
    row.reason = row.variant == "b" ? "needs more memory" : "does not compile";
  }
  const std::string text = version_table_text(now, nullptr, kPlain);
  CHECK_THAT(text, contains_text("a, c: does not compile\nb: needs more memory\n"));
  CHECK(text.find("does not compile") == text.rfind("does not compile"));
}

}  // namespace
}  // namespace gpuexp
