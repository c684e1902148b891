// Faults below the bound of every element are detected by the RMS error, at sizes where they once
// passed.
#include "gpu/faulty_product.hpp"

#include <fmt/format.h>

#include "gpu/cuda_executor.hpp"
#include "gpu/device_query.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

void check_rejected(const Family& family, const Values& values, const char* fault) {
  const auto executor = make_cuda_executor(0, query_device(0, {}).spec);
  executor->set_up(family, values, 7);
  const auto verified = [&](const char* variant) {
    const Verification v = executor->verify(*family.find(variant), Mode::warm);
    fmt::print(
        "{}/{} m={} n={} k={}: RMS error {:.3g}, allowed {:.3g}; worst element {:.3f} of its "
        "bound\n",
        family.id, variant, to_string(values[0]), to_string(values[1]), to_string(values[2]),
        v.rms.got, v.rms.allowed, v.worst_over_allowed);
    return v;
  };
  const Verification right = verified("right");
  CHECK(right.passed());
  CHECK(right.rms.over_allowed() < 0.75);
  const Verification wrong = verified(fault);
  // Bounds per element detect at most a handful of tens of millions of elements.
  CHECK(wrong.wrong <= 10);
  CHECK(!wrong.passed());
  CHECK(!wrong.rms_passed());
  CHECK(wrong.rms.buffer == "c");
  CHECK(wrong.rms.over_allowed() > 1.5);
  // The RMS sum does not depend on the order of blocks.
  CHECK(verified(fault).rms.got == wrong.rms.got);
}

Values sizes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {m, n, k};
}

TEST_CASE("an fp32 product of inputs rounded to tf32 is rejected", "[faulty_product]") {
  check_rejected(faulty_fp32_product(), sizes(4096, 4096, 4096), "tf32_inputs");
  check_rejected(faulty_fp32_product(), sizes(8192, 8192, 8192), "tf32_inputs");
}

TEST_CASE("an fp16 sum of 16384 products that drops 32 of them is rejected", "[faulty_product]") {
  check_rejected(faulty_fp16_product(), sizes(4096, 4096, 16384), "drops_slice");
}

}  // namespace
}  // namespace gpuexp::test
