#include "family/tolerance.hpp"

#include <cmath>
#include <limits>

#include "record/measurement.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

TEST_CASE("many elements have their RMS error bounded, few are bound one by one") {
  const Tolerance t{0.0, 1.0, 0.01, 0.001};
  const double model = 0.01 * 5.0 + 0.001;
  CHECK(rms_allowed(t, 5.0, 1.0, 3200000000) == Approx(model + 1e-4));
  CHECK(rms_allowed(t, 5.0, 1.0, 3200) == Approx(model + 0.1));
  // No RMS error of elements that pass is above what each is allowed.
  for (const std::int64_t count : {1, 2, 32})
    CHECK(rms_allowed(t, 5.0, 1.0, count) > 1.0);
  CHECK(rms_allowed(t, 5.0, 1.0, 100) < 1.0);
}

TEST_CASE("what must be exact has no RMS error") {
  const Tolerance exact;
  CHECK(rms_over_allowed(0.0, rms_allowed(exact, 1.0, 0.0, 1000)) == 0.0);
  CHECK(rms_over_allowed(1e-30, rms_allowed(exact, 1.0, 0.0, 1000)) > 1.0);
}

TEST_CASE("roundings and sums err as the model says") {
  const double u = unit_roundoff(DataType::fp32);
  CHECK(rounding_rms(DataType::fp32) == Approx(0.4247 * u).epsilon(1e-3));
  // As recorded of fp32 products on an H200: 1.146e-6 at k = 4096, 1.619e-6 at 8192.
  CHECK(sum_rms(4096, DataType::fp32) == Approx(1.146e-6).epsilon(0.01));
  CHECK(sum_rms(8192, DataType::fp32) == Approx(1.619e-6).epsilon(0.01));
  // And of products that tensor cores sum in fp16, 16 at a time: 4.704e-3 at k = 16384.
  CHECK(sum_rms(16384 / 16, DataType::fp16) == Approx(4.704e-3).epsilon(0.01));
}

TEST_CASE("an RMS error that is no number does not pass, and is not forgotten") {
  Verification v;
  v.add_rms({"y", 1.0, 2.0});
  CHECK(v.passed());
  v.add_rms({"z", std::nan(""), 2.0});
  CHECK(!v.passed());
  v.add_rms({"y", 1.0, 2.0});
  CHECK(!v.passed());
  CHECK(v.rms.buffer == "z");
}

TEST_CASE("the output that is nearest to its bound is kept") {
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
