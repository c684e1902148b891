// Device code as users write it, compiled for several compute capabilities. Results of shuffles are
// those of an H200.
#include <algorithm>
#include <numeric>

#include "sim/fault.hpp"
#include "sim/run_time_kernels.hpp"

namespace gpuexp::test {
namespace {

constexpr const char* kDeviceCodeFile = "tests/sim/device_code_kernels.cu";

/// Words that a lane of kernel "shuffles" stores on an H200.
std::vector<int> shuffled_on_h200(int lane) {
  const bool is_low = lane < 16;
  return {is_low ? 0 : -1, !is_low ? -1 : lane < 8 ? 1008 + lane : 0, is_low ? 0 : -1,
          is_low ? 1 : -1, is_low ? -1 : lane < 28 ? 0 : 988 + lane,  is_low ? 0 : -1};
}

void check_shuffles(const RunTimeKernels& module) {
  std::vector<int> out(8 * 32, -1);
  RunTimeKernels::Execution execution(module);
  execution.add(out, "out");
  execution.run("shuffles", 1, 32, out.data());
  for (int lane = 0; lane < 32; ++lane) {
    INFO("lane " << lane);
    const auto first = out.begin() + 8 * lane;
    CHECK(std::vector<int>(first, first + 6) == shuffled_on_h200(lane));
    CHECK(first[6] == (lane >= 24 ? -1 : lane >= 16 ? 0 : 1008 + lane));
  }
}

void check_few(const RunTimeKernels& module) {
  std::vector<int> in(32, 100);
  std::iota(in.begin(), in.begin() + 5, 1);
  std::vector<int> out(1);
  RunTimeKernels::Execution execution(module);
  execution.add(in, "in");
  execution.add(out, "out");
  execution.run("reduce_few", 1, 32, in.data(), out.data());
  CHECK(out[0] == 15);
}

int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
int sum_of_digits(int n, int depth) {
  int sum = depth > 0 ? sum_of_digits(n + 1, depth - 1) : 0;
  for (int i = 0; i < 8; ++i)
    sum += (n >> 4 * i) & 15;
  return sum;
}
int called(int a, int b) {
  return a % 3 == 0 ? a + b : a % 3 == 1 ? a * b : a * b + a - b;
}

void check_calls(const RunTimeKernels& module) {
  std::vector<int> in(64);
  for (std::size_t t = 0; t < in.size(); ++t)
    in[t] = static_cast<int>(t * t % 101);
  std::vector<int> out(3 * in.size());
  RunTimeKernels::Execution execution(module);
  execution.add(in, "in");
  execution.add(out, "out");
  execution.run("calls", 1, 64, in.data(), out.data());
  for (std::size_t t = 0; t < in.size(); ++t) {
    INFO("thread " << t);
    const int index = static_cast<int>(t);
    CHECK(out[3 * t] == fibonacci(index % 12));
    CHECK(out[3 * t + 1] == sum_of_digits(in[t] * 77777, index % 4));
    CHECK(out[3 * t + 2] == called(in[t], index));
  }
}

void check_traps(const RunTimeKernels& module) {
  std::vector<int> out(64);
  RunTimeKernels::Execution execution(module);
  execution.add(out, "out");
  execution.run("traps", 1, 64, out.data(), 1000);
  CHECK(out[63] == 63);
  for (const int which : {33, 133}) {
    INFO(which);
    try {
      execution.run("traps", 1, 64, out.data(), which);
      FAIL("the trap was not reported");
    } catch (const sim::Fault& fault) {
      CHECK_THAT(fault.what(), contains_text("the kernel traps"));
      CHECK_THAT(fault.what(), contains_text("thread (33, 0, 0)"));
    }
  }
}

void check_asserts(const RunTimeKernels& module) {
  std::vector<int> out(64);
  RunTimeKernels::Execution execution(module);
  execution.add(out, "out");
  execution.run("asserts", 1, 64, out.data(), 64);
  CHECK(out[63] == 63);
  try {
    execution.run("asserts", 1, 64, out.data(), 40);
    FAIL("the assertion did not fail");
  } catch (const sim::Fault& fault) {
    CHECK(fault.place == module.place_of("fault: asserts"));
    CHECK(fault.thread == Extent{40, 0, 0});
    CHECK_THAT(fault.what(), contains_text("assertion `t < n && \"too many threads\"` failed in "
                                           "void asserts(int *, int)"));
  }
}

void check_prints(const RunTimeKernels& module) {
  std::vector<int> out(8);
  std::string text;
  RunTimeKernels::Execution execution(module);
  execution.add(out, "out");
  execution.simulator().print = [&](std::string_view more) { text += more; };
  execution.run("prints", 1, 8, out.data(), 6);
  CHECK(out == std::vector<int>{3, -1, 3, -1, 3, -1, 3, -1});
  // Each branch prints in the order of lanes; the order of the branches is not defined.
  CHECK_THAT(text, contains_text("0 zero 0.00\n2 two 0.50\n4 one 1.00\n6 zero 1.50\n"));
  CHECK_THAT(text, contains_text("1   |b|0x2\n3   |d|0x8\n5   |f|0x20\n"));
  CHECK(text.ends_with("end\n"));
}

void check_tables(const RunTimeKernels& module) {
  std::vector<int> out(128);
  RunTimeKernels::Execution execution(module);
  execution.add(out, "out");
  execution.run("tables", 1, 64, out.data(), 5);
  for (int t = 0; t < 64; ++t) {
    INFO("thread " << t);
    CHECK(out[2 * static_cast<std::size_t>(t)] == (t % 2 ? t * t : 5 * t));
    const int called = t % 3 == 0 ? t + 5 : t % 3 == 1 ? t * 5 : t * 5 + t - 5;
    CHECK(out[2 * static_cast<std::size_t>(t) + 1] == called);
  }
}

TEST_CASE("shuffles, calls and traps are executed as on a GPU", "[device_code]") {
  if (const std::string missing = lacks_compiler(); !missing.empty())
    return skip(Tier::machine_code, missing);
  for (const int compute_capability : {80, 89, 90, 120}) {
    INFO("compute capability " << compute_capability);
    const RunTimeKernels module(kDeviceCodeFile, compute_capability);
    check_shuffles(module);
    check_few(module);
    check_calls(module);
    check_traps(module);
    check_asserts(module);
    check_prints(module);
    check_tables(module);
  }
}

}  // namespace
}  // namespace gpuexp::test
