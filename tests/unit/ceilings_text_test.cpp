// Measured ceilings in text and in reports.
#include "render/ceilings_text.hpp"

#include <algorithm>

#include "support/catch.hpp"

namespace gpuexp::test {

namespace {

DeviceSpec small_device() {
  DeviceSpec d;
  d.memory_bytes_per_s = 4.8e12;
  d.peak_ops_per_s[static_cast<std::size_t>(Pipe::fp32)] = 66.9e12;
  d.peak_ops_per_s[static_cast<std::size_t>(Pipe::fp64)] = 33.5e12;
  return d;
}

MeasuredCeilings measured() {
  return {{"dram_copy", {4252, 4231, 4273, "copy"}},
          {"fp32", {48, 47.9, 48.1, "fp32"}},
          {"floor_cold", {2.848, 2.816, 2.88, "floor/cold"}}};
}

const CeilingProvenance* find(const CeilingsProvenance& ceilings, const std::string& id) {
  const auto found = std::find_if(ceilings.values.begin(), ceilings.values.end(),
                                  [&](const auto& c) { return c.id == id; });
  return found == ceilings.values.end() ? nullptr : &*found;
}

}  // namespace

TEST_CASE("measured ceilings are shown with those of the datasheet and of the vendor library",
          "[ceilings][golden]") {
  const std::vector<VendorCall> vendor{{"dram_copy", "memcpy", "", 4238},
                                       {"fp32", "cublas", "", 51.1},
                                       {"tensor_tf32", "cublas", "", 382.2}};
  const std::string text = ceilings_text(measured(), vendor, small_device());
  const std::size_t missing = text.find("not measured on this device: dram_read, dram_write,");
  const std::size_t calls = text.find("compared with vendor calls");
  REQUIRE(missing < calls);
  CHECK(text.substr(0, missing) ==
        R"(ceiling     measured  ± %  unit     datasheet  % of it  meaning
----------  --------  ---  -------  ---------  -------  ---------------------------------------------------
dram_copy       4252  0.5  GB/s          4800     88.6  copied within device memory, bytes read and written
fp32              48  0.2  TFLOP/s       66.9     71.7  fp32
floor_cold     2.848  1.1  us                           an empty kernel between two events, caches flushed

)");
  CHECK(text.substr(calls) == R"(compared with vendor calls of the same run:
  dram_copy          100.3 % of memcpy (4238 GB/s)
  fp32                93.9 % of cublas (51.1 TFLOP/s)
warning: fp32 is below 95 % of cublas: the ceiling is too low
warning: tensor_tf32 was not measured, but cublas reached 382.2 TFLOP/s
)");
}

TEST_CASE("ceilings without a vendor call have no comparison", "[ceilings]") {
  CHECK_THAT(ceilings_text(measured(), {}, small_device()),
             contains_text("no vendor call passed, so the ceilings are not compared with one\n"));
}

TEST_CASE("a report distinguishes measured, scaled and listed ceilings", "[ceilings][report]") {
  CeilingSource ceiling_source;
  ceiling_source.source = "ceilings measured on this GPU";
  ceiling_source.measured = measured();
  ceiling_source.ceilings.dram_copy_bytes_per_s = 4252e9;
  ceiling_source.ceilings.l2_latency_ns = 142;  // from another GPU
  ceiling_source.ceilings = completed(ceiling_source.ceilings, datasheet_ceilings(small_device()));
  const CeilingsProvenance ceilings = ceilings_in_force(ceiling_source, small_device());
  CHECK(ceilings.source == ceiling_source.source);
  CHECK(*find(ceilings, "dram_copy") ==
        CeilingProvenance{"dram_copy", "GB/s", 4252, 4231, 4273, "copy", 4800});
  CHECK(*find(ceilings, "l2_latency") ==
        CeilingProvenance{"l2_latency", "ns", 142, {}, {}, {}, {}});
  CHECK(*find(ceilings, "fp64") == CeilingProvenance{"fp64", "TFLOP/s", {}, {}, {}, {}, 33.5});
  CHECK(find(ceilings, "l2_read") == nullptr);
}

}  // namespace gpuexp::test
