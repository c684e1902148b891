// Contents of buffers before a launch of a user's kernel.
#include "own/fill_program.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "own/device_kernels.hpp"
#include "own/parameter_types.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

constexpr DataType kTypes[] = {DataType::fp64,   DataType::fp32,   DataType::fp16,
                               DataType::bf16,   DataType::int32,  DataType::uint8,
                               DataType::uint16, DataType::uint32, DataType::uint64,
                               DataType::int8,   DataType::int16,  DataType::int64};

/// The element that a fill stores, read back as fp64.
double stored(double value, DataType type) {
  std::array<unsigned char, 3 * sizeof(double)> bytes{};
  bytes.fill(0xAB);
  store_element(bytes.data(), type, 1, value);
  const std::size_t size = size_of(type);
  // The elements before and after stay unchanged.
  CHECK(bytes[size - 1] == 0xAB);
  CHECK(bytes[2 * size] == 0xAB);
  return to_double(bytes.data() + size, type);
}

FillProgram program(FillKind kind, DataType type = DataType::fp32, std::uint64_t seed = 5) {
  FillProgram fill;
  fill.kind = kind;
  fill.type = type;
  fill.seed = seed;
  return fill;
}

TEST_CASE("fills have the moments of their distributions", "[fill_program]") {
  constexpr int kCount = 100'000;
  const auto moments = [](const FillProgram& fill) {
    double sum = 0, squares = 0;
    for (int i = 0; i < kCount; ++i) {
      const double value = fill_value(fill, i);
      sum += value;
      squares += value * value;
    }
    return std::pair(sum / kCount, squares / kCount);
  };
  const auto [uniform_mean, uniform_square] = moments(program(FillKind::uniform));
  CHECK(std::abs(uniform_mean) < 0.01);
  CHECK(uniform_square == Approx(1.0 / 3).epsilon(0.02));
  const auto [normal_mean, normal_square] = moments(program(FillKind::normal));
  CHECK(std::abs(normal_mean) < 0.02);
  CHECK(normal_square == Approx(1.0).epsilon(0.02));
  FillProgram integers = program(FillKind::integers);
  integers.low = -2;
  integers.high = 3;
  const auto [integer_mean, integer_square] = moments(integers);
  CHECK(std::abs(integer_mean) < 0.03);
  CHECK(integer_square == Approx(2.0).epsilon(0.02));
}

TEST_CASE("a constant and uniform numbers have the declared bounds", "[fill_program]") {
  FillProgram uniform = program(FillKind::uniform);
  uniform.from = 2;
  uniform.to = 6;
  double low = 6, high = 2, sum = 0;
  constexpr int kCount = 10'000;
  for (int i = 0; i < kCount; ++i) {
    const double value = fill_value(uniform, i);
    low = std::min(low, value);
    high = std::max(high, value);
    sum += value;
    // The default of -1 to 1 has the numbers that it always had.
    CHECK(fill_value(program(FillKind::uniform), i) ==
          signed_unit(5, static_cast<std::uint64_t>(i)));
  }
  CHECK(low >= 2);
  CHECK(low < 2.01);
  CHECK(high < 6);
  CHECK(high > 5.99);
  CHECK(sum / kCount == Approx(4).epsilon(0.02));
  FillProgram constant = program(FillKind::constant);
  constant.from = 0.25;
  CHECK(fill_value(constant, 0) == 0.25);
  CHECK(fill_value(constant, 12345) == 0.25);
}

TEST_CASE("fills stay in their ranges and depend on seed and index", "[fill_program]") {
  FillProgram integers = program(FillKind::integers);
  integers.low = -2;
  integers.high = 3;
  bool has_lowest = false, has_highest = false;
  for (int i = 0; i < 1000; ++i) {
    const double uniform = fill_value(program(FillKind::uniform), i);
    CHECK((uniform >= -1 && uniform < 1));
    CHECK(static_cast<float>(uniform) == uniform);
    CHECK(uniform != fill_value(program(FillKind::uniform, DataType::fp32, 6), i));
    const double integer = fill_value(integers, i);
    CHECK((integer >= -2 && integer < 3 && integer == std::floor(integer)));
    has_lowest = has_lowest || integer == -2;
    has_highest = has_highest || integer == 2;
    CHECK(fill_value(program(FillKind::iota), i) == i);
    CHECK(fill_value(program(FillKind::zeros), i) == 0);
  }
  CHECK(has_lowest);
  CHECK(has_highest);
  CHECK(fill_value(program(FillKind::uniform), 7) == fill_value(program(FillKind::uniform), 7));
  FillProgram widest = integers;
  widest.low = std::numeric_limits<std::int32_t>::min();
  widest.high = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  CHECK(std::abs(fill_value(widest, 3)) <= 0x1p31);
}

TEST_CASE("every type stores the whole numbers of its range exactly", "[fill_program]") {
  for (const DataType type : kTypes) {
    INFO(name_of(type));
    const WholeNumbers range = whole_numbers(type);
    for (const std::int64_t value : {range.low, range.low + 1, std::int64_t{0}, std::int64_t{1},
                                     std::int64_t{99}, range.high - 1, range.high})
      CHECK(stored(static_cast<double>(value), type) == static_cast<double>(value));
  }
  CHECK(whole_numbers(DataType::fp16).high == 2048);
  CHECK(whole_numbers(DataType::bf16).high == 256);
  CHECK(whole_numbers(DataType::uint8).high == 255);
  CHECK(whole_numbers(DataType::int8).low == -128);
  CHECK(whole_numbers(DataType::boolean).high == 1);
  CHECK(whole_numbers(DataType::int32).low == -2147483648LL);
}

/// Rounds to nearest even by comparing neighbours, a method other than that of store_element().
double nearest_of_16_bits(double value, DataType type) {
  double best = 0, distance = std::numeric_limits<double>::infinity();
  bool best_is_even = false;
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const std::array<unsigned char, 2> bytes{static_cast<unsigned char>(bits),
                                             static_cast<unsigned char>(bits >> 8)};
    const double candidate = to_double(bytes.data(), type);
    if (!std::isfinite(candidate)) continue;
    const double d = std::abs(candidate - value);
    const bool is_even = bits % 2 == 0;
    if (d < distance || (d == distance && is_even && !best_is_even)) {
      best = candidate;
      distance = d;
      best_is_even = is_even;
    }
  }
  return best;
}

TEST_CASE("16-bit elements are rounded to nearest, ties to even", "[fill_program]") {
  for (const DataType type : {DataType::fp16, DataType::bf16}) {
    INFO(name_of(type));
    for (const double value : {0.1,
                               -0.1,
                               1.0 + 0x1p-11,
                               1.0 + 3 * 0x1p-11,
                               1.0 + 0x1p-8,
                               1.0 + 3 * 0x1p-8,
                               2 - 0x1p-12,
                               0x1p-14,
                               0x1p-24,
                               0x1p-25,
                               3 * 0x1p-25,
                               0x1p-26,
                               1.5 * 0x1p-24,
                               0x1p-14 - 0x1p-25,
                               1023.5 * 0x1p-24,
                               3.14159,
                               -4095.0,
                               0x1.ffcp5,
                               0x1.ffep5,
                               0.0})
      CHECK(stored(value, type) == nearest_of_16_bits(value, type));
    for (int i = 0; i < 60; ++i) {
      const double value = fill_value(program(FillKind::normal), i) * std::exp2(-(i % 30));
      CHECK(stored(value, type) == nearest_of_16_bits(value, type));
    }
  }
  CHECK(stored(0x1p-130, DataType::bf16) == 0x1p-130);
  CHECK(stored(0x1p-133, DataType::bf16) == 0x1p-133);
  CHECK(stored(0x1p-135, DataType::bf16) == 0);
  CHECK(std::signbit(stored(-0x1p-30, DataType::fp16)));
}

TEST_CASE("a fill step fills on the host", "[fill_program]") {
  std::vector<float> to(10, -5.0f);
  const Steps steps = fill_step(to.data(), 8, program(FillKind::iota));
  const auto& step = std::get<KernelStep>(steps.all().at(0).action);
  CHECK(step.on_host.items == 8);
  CHECK(step.on_host.to == to.data());
  CHECK(step.on_host.item_bytes == 4);
  CHECK(step.arguments.count() == 3);
  step.on_host.run(2, 4);
  CHECK(to[1] == -5.0f);
  CHECK(to[2] == 2.0f);
  CHECK(to[3] == 3.0f);
  CHECK(to[4] == -5.0f);
}

}  // namespace
}  // namespace gpuexp::own
