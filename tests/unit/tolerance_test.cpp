#include "family/tolerance.hpp"

#include <cmath>
#include <limits>

#include "record/measurement.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("the RMS bound is strict for many elements and ineffective for few") {
  const Tolerance t{0.0, 1.0, 0.01, 0.001};
  const double model = 0.01 * 5.0 + 0.001;
  CHECK(rms_allowed(t, 5.0, 1.0, 3200000000) == Approx(model + 1e-4));
  CHECK(rms_allowed(t, 5.0, 1.0, 3200) == Approx(model + 0.1));
  // For few elements, the bound exceeds any RMS error of passing elements.
  for (const std::int64_t count : {1, 2, 32})
    CHECK(rms_allowed(t, 5.0, 1.0, count) > 1.0);
  CHECK(rms_allowed(t, 5.0, 1.0, 100) < 1.0);
}

TEST_CASE("an exact output allows no RMS error") {
  const Tolerance exact;
  CHECK(rms_over_allowed(0.0, rms_allowed(exact, 1.0, 0.0, 1000)) == 0.0);
  CHECK(rms_over_allowed(1e-30, rms_allowed(exact, 1.0, 0.0, 1000)) > 1.0);
}

TEST_CASE("errors of roundings and sums follow the model") {
  const double u = unit_roundoff(DataType::fp32);
  CHECK(rounding_rms(DataType::fp32) == Approx(0.4247 * u).epsilon(1e-3));
  // Recorded for fp32 products on an H200: 1.146e-6 at k = 4096, 1.619e-6 at 8192.
  CHECK(sum_rms(4096, DataType::fp32) == Approx(1.146e-6).epsilon(0.01));
  CHECK(sum_rms(8192, DataType::fp32) == Approx(1.619e-6).epsilon(0.01));
  // Tensor-core products with fp16 sums, 16 at a time: 4.704e-3 at k = 16384.
  CHECK(sum_rms(16384 / 16, DataType::fp16) == Approx(4.704e-3).epsilon(0.01));
}

TEST_CASE("a NaN RMS error fails and is kept") {
  Verification v;
  v.add_rms({"y", 1.0, 2.0});
  CHECK(v.passed());
  v.add_rms({"z", std::nan(""), 2.0});
  CHECK(!v.passed());
  v.add_rms({"y", 1.0, 2.0});
  CHECK(!v.passed());
  CHECK(v.rms.buffer == "z");
}

TEST_CASE("the output closest to its bound is kept") {
  Verification v;
  v.add_rms({"x", 1.0, 4.0});
  v.add_rms({"y", 1.0, 2.0});
  v.add_rms({"z", 1.0, 3.0});
  CHECK(v.rms.buffer == "y");
  CHECK(v.passed());
  v.add_rms({"x", std::numeric_limits<double>::infinity(), 4.0});
  CHECK(!v.passed());
}

}  // namespace
}  // namespace gpuexp::test
