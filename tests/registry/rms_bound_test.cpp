// Bounds on root-mean-square (RMS) errors, checked with correct and faulty kernels that the host
// emulates, with every rounding, on a sample of elements.
#include <array>
#include <cmath>
#include <map>
#include <random>

#include <nlohmann/json.hpp>

#include "base/output.hpp"
#include "family/registry.hpp"
#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {
namespace {

using Numbers = std::vector<double>;

const Family& family_of(const char* id) {
  const Family* family = Registry::global().find(id);
  REQUIRE(family != nullptr);
  return *family;
}

Tolerance tolerance_of(const char* family_id, const std::map<std::string, Value>& changed) {
  const Family& family = family_of(family_id);
  const auto problem = family.make_problem(values_with(family, changed));
  return family.tolerance(problem.get());
}

double rms(const Numbers& numbers) {
  double squares = 0;
  for (const double x : numbers)
    squares += x * x;
  return std::sqrt(squares / static_cast<double>(numbers.size()));
}

// ---- formats

/// Rounds to `bits` significant bits, to nearest even.
double rounded(double x, int bits) {
  if (x == 0) return 0;
  int exponent = 0;
  std::frexp(x, &exponent);
  return std::ldexp(std::rint(std::ldexp(x, bits - exponent)), exponent - bits);
}

/// Truncates to a multiple of 2^last.
double cut(double x, int last) {
  return std::ldexp(std::trunc(std::ldexp(x, -last)), last);
}

constexpr int kFp32Bits = 24;
constexpr int kTf32Bits = 11;
constexpr int kFp16Bits = 11;
constexpr int kBf16Bits = 8;

// ---- products of rows and columns

/// Sampled elements of a product of matrices, uniform in [-1, 1), rounded to `bits`.
struct Sample {
  std::vector<Numbers> a;
  std::vector<Numbers> b;
  Numbers value;
  Numbers absolute;  ///< Σ|a·b|
  Numbers norm;      ///< √Σ(a·b)²

  Sample(std::int64_t k, int bits) {
    constexpr int kElements = 384;
    std::mt19937_64 generator(static_cast<std::uint64_t>(k + bits));
    const auto number = [&] {
      return rounded(static_cast<double>(generator() >> 40) * 0x1p-23 - 1.0, bits);
    };
    for (int i = 0; i < kElements; ++i) {
      a.emplace_back();
      b.emplace_back();
      double sum = 0;
      double magnitude = 0;
      double squares = 0;
      for (std::int64_t j = 0; j < k; ++j) {
        const double p = a.back().emplace_back(number()) * b.back().emplace_back(number());
        sum += p;
        magnitude += std::abs(p);
        squares += p * p;
      }
      value.push_back(sum);
      absolute.push_back(magnitude);
      norm.push_back(std::sqrt(squares));
    }
  }

  /// `element` of each row and column.
  template <class Element>
  Numbers map(Element element) const {
    Numbers results;
    for (std::size_t i = 0; i < a.size(); ++i)
      results.push_back(element(a[i], b[i]));
    return results;
  }
};

/// Errors of a product of `count` elements, estimated from a sample, relative to its bounds.
struct Verdict {
  double rms_over_allowed;
  double worst_over_allowed;
};

Verdict judge(const Tolerance& t, const Numbers& got, const Numbers& value,
              const Numbers& magnitude, std::int64_t count) {
  Numbers errors;
  double worst = 0;
  double largest_allowed = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double allowed = t.absolute + t.relative * magnitude[i];
    errors.push_back(got[i] - value[i]);
    worst = std::max(worst, std::abs(errors.back()) / allowed);
    largest_allowed = std::max(largest_allowed, allowed);
  }
  const double allowed = rms_allowed(t, rms(value), largest_allowed, count);
  return {rms_over_allowed(rms(errors), allowed), worst};
}

// ---- sums in fp32

double fp32_sum(const Numbers& a, const Numbers& b, int slices = 1) {
  const std::size_t length = a.size() / static_cast<std::size_t>(slices);
  float sum = 0;
  for (std::size_t first = 0; first < a.size(); first += length) {
    float part = 0;
    for (std::size_t k = first; k < std::min(first + length, a.size()); ++k)
      part = std::fma(static_cast<float>(a[k]), static_cast<float>(b[k]), part);
    sum += part;
  }
  return sum;
}

Numbers all_rounded(Numbers numbers, int bits) {
  for (double& x : numbers)
    x = rounded(x, bits);
  return numbers;
}

TEST_CASE("fp32 products stay within the RMS bound, and products of tf32 inputs exceed it") {
  for (const std::int64_t k : {1, 8, 256, 1024, 4096, 8192, 16384}) {
    const Sample sample(k, kFp32Bits);
    const Tolerance tolerance = tolerance_of("matmul", {{"m", k}, {"n", k}, {"k", k}});
    const auto verdict = [&](const Numbers& got) {
      return judge(tolerance, got, sample.value, sample.absolute, std::max<std::int64_t>(k * k, 1));
    };
    INFO("k = " << k);
    CHECK(verdict(sample.map([](const Numbers& a, const Numbers& b) {
            return fp32_sum(a, b);
          })).rms_over_allowed < 0.6);
    if (k >= 256) {
      CHECK(verdict(sample.map([](const Numbers& a, const Numbers& b) {
              return fp32_sum(a, b, 8);
            })).rms_over_allowed < 0.6);
      const Verdict faulty = verdict(sample.map([](const Numbers& a, const Numbers& b) {
        return fp32_sum(all_rounded(a, kTf32Bits), all_rounded(b, kTf32Bits));
      }));
      CHECK(faulty.rms_over_allowed > 20);
      // The bound per element does not detect this.
      if (k >= 4096) CHECK(faulty.worst_over_allowed < 1);
    }
  }
}

// ---- sums in tensor cores

/// Sum in fp16, rounded after every `step` products, starting at product `first`.
double fp16_sum(const Numbers& a, const Numbers& b, std::size_t step, std::size_t first = 0) {
  double sum = 0;
  for (; first < a.size(); first += step) {
    for (std::size_t k = first; k < std::min(first + step, a.size()); ++k)
      sum += a[k] * b[k];
    sum = rounded(sum, kFp16Bits);
  }
  return sum;
}

/// Sum in fp32. Per step, truncates products to `extra` bits below the last bit of the largest
/// term, and the sum to its own last bit.
double cut_sum(const Numbers& a, const Numbers& b, std::size_t step, int extra,
               std::size_t first = 0) {
  const auto last_bit = [](double x) {
    int exponent = 0;
    std::frexp(x, &exponent);
    return exponent - kFp32Bits;
  };
  double sum = 0;
  for (; first < a.size(); first += step) {
    const std::size_t end = std::min(first + step, a.size());
    double largest = std::abs(sum);
    for (std::size_t k = first; k < end; ++k)
      largest = std::max(largest, std::abs(a[k] * b[k]));
    const int last = last_bit(largest) - extra;
    for (std::size_t k = first; k < end; ++k)
      sum += cut(a[k] * b[k], last);
    sum = cut(sum, last_bit(sum));
  }
  return sum;
}

constexpr std::size_t kSlice = 32;

TEST_CASE("fp16 sums stay within the RMS bound, and sums that drop a slice exceed it") {
  for (const std::int64_t k : {16, 1024, 4096, 16384}) {
    const Sample sample(k, kFp16Bits);
    const Tolerance tolerance = tolerance_of(
        "matmul_tensor",
        {{"m", 4096L}, {"n", 4096L}, {"k", k}, {"dtype", "fp16"}, {"accumulate", "fp16"}});
    // Magnitude in the family's reference: |value|, plus the bound on the sum divided by u.
    const double u = unit_roundoff(DataType::fp16);
    Numbers magnitude;
    for (std::size_t i = 0; i < sample.value.size(); ++i)
      magnitude.push_back(std::abs(sample.value[i]) +
                          (1 + u) * 8 * std::sqrt(std::ceil(static_cast<double>(k) / 4)) *
                              sample.norm[i]);
    const auto verdict = [&](std::size_t step, std::size_t first) {
      return judge(tolerance, sample.map([&](const Numbers& a, const Numbers& b) {
        return fp16_sum(a, b, step, first);
      }),
                   sample.value, magnitude, 4096 * 4096);
    };
    INFO("k = " << k);
    for (const std::size_t step : {4, 8, 16})
      CHECK(verdict(step, 0).rms_over_allowed < 0.7);
    if (k < 1024) continue;
    for (const std::size_t step : {4, 16})
      CHECK(verdict(step, kSlice).rms_over_allowed > 2);
    if (k == 16384) CHECK(verdict(16, kSlice).worst_over_allowed < 1);
  }
}

TEST_CASE("truncated sums stay within the RMS bound, and sums that drop a slice exceed it") {
  struct Types {
    const char* dtype;
    int bits;
    const char* output;
    DataType stored;
  };
  // Products of tf32 have nearly as many bits as sums, and lose the most.
  const std::array<Types, 3> all{Types{"tf32", kTf32Bits, "fp32", DataType::fp32},
                                 Types{"bf16", kBf16Bits, "fp32", DataType::fp32},
                                 Types{"bf16", kBf16Bits, "same", DataType::bf16}};
  for (const Types& types : all) {
    for (const std::int64_t k : {16, 512, 4096, 16384}) {
      const Sample sample(k, types.bits);
      const Tolerance tolerance = tolerance_of("matmul_tensor", {{"m", 4096L},
                                                                 {"n", 4096L},
                                                                 {"k", k},
                                                                 {"dtype", types.dtype},
                                                                 {"accumulate", "fp32"},
                                                                 {"output", types.output}});
      const double u = unit_roundoff(types.stored);
      const double roundings =
          std::ceil(static_cast<double>(k) / 4) + std::sqrt(static_cast<double>(k));
      Numbers magnitude;
      for (std::size_t i = 0; i < sample.value.size(); ++i)
        magnitude.push_back(std::abs(sample.value[i]) +
                            (1 + u) / u * 8 * 0x1p-24 * roundings * sample.norm[i]);
      const auto verdict = [&](std::size_t step, int extra, std::size_t first) {
        const Numbers got = sample.map([&](const Numbers& a, const Numbers& b) {
          const double sum = cut_sum(a, b, step, extra, first);
          return types.stored == DataType::fp32 ? sum : rounded(sum, kBf16Bits);
        });
        return judge(tolerance, got, sample.value, magnitude, 4096 * 4096);
      };
      INFO("k = " << k << ", " << types.dtype << ", output " << types.output);
      // First the oldest tensor cores, then later ones, which keep more bits until the sum is
      // stored.
      CHECK(verdict(4, 0, 0).rms_over_allowed < 0.7);
      CHECK(verdict(4, 3, 0).rms_over_allowed < 0.7);
      CHECK(verdict(8, 3, 0).rms_over_allowed < 0.7);
      CHECK(verdict(16, 3, 0).rms_over_allowed < 0.7);
      CHECK(verdict(16, 3, k > 16 ? kSlice : 8).rms_over_allowed > 5);
    }
  }
}

// ---- chains of multiply-adds

/// Result of one way of a branch, in fp32 or fp64.
template <class T>
T branch_chain(double x, unsigned way, std::int64_t steps) {
  constexpr double kD = 0x1p-11;
  T y = static_cast<T>(x);
  for (std::int64_t step = 0; step < steps; ++step) {
    const double c = way >> step % 8 & 1 ? kD - 1 : 1 - kD;
    y = std::fma(y, static_cast<T>(c), static_cast<T>(kD));
  }
  return y + static_cast<T>(way);
}

TEST_CASE(
    "chains of a branch's multiply-adds stay within the RMS bound, one step short they do not") {
  for (const std::int64_t cost : {1, 20, 512, 4096}) {
    const Tolerance tolerance = tolerance_of("divergence", {{"cost", cost}});
    for (const unsigned way : {0u, 1u, 31u}) {
      std::mt19937_64 generator(way);
      Numbers value;
      Numbers magnitude;
      Numbers right;
      Numbers short_of_one;
      for (int i = 0; i < 4000; ++i) {
        const double x = static_cast<double>(generator() >> 40) * 0x1p-23 - 1.0;
        value.push_back(branch_chain<double>(x, way, cost));
        magnitude.push_back(std::abs(value.back()));
        right.push_back(branch_chain<float>(x, way, cost));
        short_of_one.push_back(branch_chain<float>(x, way, cost - 1));
      }
      INFO("cost " << cost << ", way " << way);
      CHECK(judge(tolerance, right, value, magnitude, 1 << 22).rms_over_allowed < 0.8);
      CHECK(judge(tolerance, short_of_one, value, magnitude, 1 << 22).rms_over_allowed > 2);
    }
  }
}

TEST_CASE("chains of a pipe's multiply-adds stay within the RMS bound") {
  for (const std::int64_t steps : {1, 32, 2048, 4096, 8192, 65536}) {
    const Tolerance tolerance = tolerance_of("pipe_rate", {{"steps", steps}, {"pipe", "fp32"}});
    std::mt19937_64 generator(1);
    const auto unit = [&] { return static_cast<float>(generator() >> 40) * 0x1p-24f; };
    Numbers value;
    Numbers got;
    for (int i = 0; i < 1000; ++i) {
      float x = 2 * unit() - 1;
      const float c = 1.0f - 0x1p-12f * (1.0f + unit());
      const float d = 0x1.fp-13f * (2.0f * unit() - 1.0f);
      double exact = x;
      for (std::int64_t step = 0; step < steps; ++step) {
        x = std::fma(x, c, d);
        exact = std::fma(exact, static_cast<double>(c), static_cast<double>(d));
      }
      value.push_back(exact);
      got.push_back(x);
    }
    INFO(steps << " steps");
    CHECK(judge(tolerance, got, value, Numbers(value.size(), 0.0), 1 << 26).rms_over_allowed < 0.8);
  }
}

// ---- declarations

TEST_CASE("a family with a tolerance bounds its RMS error and derives the bound") {
  for (const Family& family : Registry::global().families()) {
    bool allows = false;
    for (const Values& values : small_problems(family)) {
      const auto problem = family.make_problem(values);
      for (const Buffer& buffer : family.buffers) {
        if (!is_output(buffer.role)) continue;
        const Tolerance t =
            buffer.tolerance ? buffer.tolerance(problem.get()) : family.tolerance(problem.get());
        INFO(family.id << "/" << buffer.name << " " << describe(family, values));
        CHECK((t.rms_relative + t.rms_absolute > 0) == (t.relative + t.absolute > 0));
        CHECK(t.rms_relative >= 0);
        CHECK(t.rms_absolute >= 0);
        allows = allows || t.relative + t.absolute > 0;
      }
    }
    INFO(family.id);
    CHECK((family.tolerance_derivation.find("The RMS error") != std::string::npos) == allows);
  }
}

/// Value of a parameter in a recorded row.
Value recorded_value(const Parameter& parameter, const nlohmann::json& row) {
  const nlohmann::json& value = row.at("param." + parameter.name);
  if (std::holds_alternative<std::string>(parameter.default_value)) return value.get<std::string>();
  if (std::holds_alternative<double>(parameter.default_value)) return value.get<double>();
  return value.get<std::int64_t>();
}

// Without an accuracy reference, the bound applies to error_rms_rel.
TEST_CASE("errors recorded on a GPU stay within the RMS bounds") {
  const auto report = nlohmann::json::parse(
      read_text(std::string(GPUEXP_SOURCE_DIR) + "/docs/results/h200/all.json.zst"));
  std::map<std::string, double> worst;
  for (const auto& row : report.at("rows")) {
    const Family& family = family_of(row.at("family").get<std::string>().c_str());
    if (family.accuracy_reference || !family.tolerance || row.at("error_rms_rel").is_null())
      continue;
    Values values;
    for (const Parameter& parameter : family.parameters)
      values.push_back(recorded_value(parameter, row));
    const auto problem = family.make_problem(values);
    const Tolerance t = family.tolerance(problem.get());
    if (t.rms_relative == 0 || t.rms_absolute > 0) continue;
    INFO(row.at("key"));
    const double over = row.at("error_rms_rel").get<double>() / t.rms_relative;
    CHECK(over < 0.55);
    worst[family.id] = std::max(worst[family.id], over);
  }
  // The bounds of these families must not be much too wide.
  for (const char* id : {"matmul", "struct_layout", "wave_quantization", "alignment"}) {
    INFO(id);
    CHECK(worst[id] > 0.4);
  }
}

TEST_CASE("numbers in the derivations match the bounds") {
  const auto fp32 = tolerance_of("matmul", {{"k", 4096L}});
  CHECK(fp32.rms_relative / kRmsSafety == Approx(1.1e-6).epsilon(0.05));
  const auto fp16 =
      tolerance_of("matmul_tensor", {{"k", 16384L}, {"dtype", "fp16"}, {"accumulate", "fp16"}});
  CHECK(fp16.rms_relative == Approx(0.019).epsilon(0.05));
  CHECK(std::sqrt(32.0 / 16384.0) == Approx(0.044).epsilon(0.05));
  CHECK(rounding_rms(DataType::fp32) / unit_roundoff(DataType::fp32) == Approx(0.42).epsilon(0.02));
}

}  // namespace
}  // namespace gpuexp::test
