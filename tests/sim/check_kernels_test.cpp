// The kernels with which a GPU evaluates checks, executed on the CPU: they store what the host
// computes.
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include "base/random_bits.hpp"
#include "family/element_draw.hpp"
#include "own/check_evaluation.hpp"
#include "own/check_expression.hpp"
#include "sim/run_time_kernels.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kElements = 6;
constexpr std::int64_t kTerms = 1500;

struct Evaluation {
  std::vector<double> value = std::vector<double>(kElements, 0);
  std::vector<double> magnitude = std::vector<double>(kElements, 0);

  bool operator==(const Evaluation& other) const {
    const auto bytes = kElements * sizeof(double);
    return std::memcmp(value.data(), other.value.data(), bytes) == 0 &&
           std::memcmp(magnitude.data(), other.magnitude.data(), bytes) == 0;
  }
};

TEST_CASE("kernels that evaluate checks store what the host computes", "[check_kernels]") {
  if (!lacks_compiler().empty()) {
    skip(Tier::machine_code, lacks_compiler());
    return;
  }
  CompileOptions options;
  options.include_folders = {".."};
  const RunTimeKernels module("src/gpu/own_kernels.cu", 90, options);
  std::vector<double> x;
  for (std::int64_t i = 0; i < kElements * kTerms; ++i)
    x.push_back(static_cast<double>(random_bits(5, static_cast<std::uint64_t>(i)) >> 11) * 0x1p-52);
  own::CheckBuffers buffers;
  buffers.inputs["x"] = {x.data(), DataType::fp64, {kElements, kTerms}};
  buffers.output_extents = {kElements};
  // A split sum, one whose last parts are empty, a value computed before a sum, a value without
  // which an element has a fault, and sums within the terms of others.
  for (const char* text :
       {"y[i] = sum(k < n: x[i][k])", "y[i] = sum(k < 1025 - i: x[i][k])/n",
        "y[i] = sum(k < n: (x[i][k] - sum(l < n: x[i][l])/n)^2)/n",
        "y[i] = sum(k < 3: k < i ? sum(l < n: x[i - 1][l + (i == 4)]) : 1)",
        "y[i] = sum(k < 4: sum(l < n: x[k][l])) + sum(k < n: sum(l < 2: x[l][k]))"}) {
    CAPTURE(text);
    own::CheckProgram program = own::Check::parse(text).program({{"n", kTerms}}, buffers);
    Evaluation expected;
    for (std::int64_t i = 0; i < kElements; ++i) {
      const own::Checked checked = own::evaluate(program, i);
      expected.value[static_cast<std::size_t>(i)] = checked.value;
      expected.magnitude[static_cast<std::size_t>(i)] = checked.magnitude;
    }
    for (const auto& [kernel, blocks, threads] :
         {std::tuple("12check_kernel", std::int64_t{1}, std::int64_t{32}),
          std::tuple("check_by_block_kernel", std::int64_t{4}, std::int64_t{own::kSumParts})}) {
      RunTimeKernels::Execution execution(module);
      Evaluation got;
      execution.add(x, "x");
      execution.add(got.value, "value");
      execution.add(got.magnitude, "magnitude");
      execution.run(module.name_with(kernel), blocks, threads, got.value.data(),
                    got.magnitude.data(), kElements, ElementDraw{}, program);
      CAPTURE(kernel);
      CHECK(got == expected);
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
