// Copies of tensor boxes, and calls through pointers.
#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "sim/device_cases.hpp"
#include "sim/execution.hpp"
#include "sim/simulator.hpp"
#include "sim/tensor_kernels.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using sim::FaultKind;

constexpr std::size_t kInput = 8192;

struct BoxCase {
  TensorMap map;  ///< without its memory
  BoxPlace place{};

  std::size_t elements() const {
    std::size_t count = 1;
    for (const std::int64_t box : map.box)
      count *= static_cast<std::size_t>(box);
    return count;
  }
  std::size_t bytes() const { return elements() * size_of(map.type); }
  /// Byte offset of the box's i-th element in the tensor, negative if outside. Stores write rows in
  /// groups of 16 bytes.
  std::int64_t offset(std::size_t i, bool is_written = false) const {
    const auto group = static_cast<std::int64_t>(16 / size_of(map.type));
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < map.box.size(); ++d) {
      const auto box = static_cast<std::size_t>(map.box[d]);
      const std::int64_t at = place[d] + static_cast<std::int64_t>(i % box);
      i /= box;
      const std::int64_t extent = map.extents[d];
      const std::int64_t end = is_written && d == 0 ? (extent + group - 1) / group * group : extent;
      if (at < 0 || at >= end) return -1;
      offset += at * (d == 0 ? static_cast<std::int64_t>(size_of(map.type)) : map.strides[d - 1]);
    }
    return offset;
  }
  /// Byte offset in shared memory (CUDA C++ Programming Guide, "Swizzle modes"): the row number is
  /// XORed into the index of the 16-byte group within a 128-byte row.
  std::size_t shared_offset(std::size_t i) const {
    const std::size_t at = i * size_of(map.type);
    const std::size_t group = at / 16 % 8;
    const std::size_t row = at / 128;
    const std::size_t mixed = map.swizzle == Swizzle::bytes_128  ? group ^ row % 8
                              : map.swizzle == Swizzle::bytes_64 ? group ^ row % 4
                              : map.swizzle == Swizzle::bytes_32 ? group ^ row % 2
                                                                 : group;
    return row * 128 + mixed * 16 + at % 16;
  }
  TensorMap on(const void* base) const {
    TensorMap result = map;
    result.base = base;
    return result;
  }
};

BoxCase box_case(DataType type, std::vector<std::int64_t> extents,
                 std::vector<std::int64_t> strides, std::vector<std::int64_t> box,
                 const BoxPlace& place, Swizzle swizzle = Swizzle::none,
                 OutOfBoundsFill fill = OutOfBoundsFill::zero) {
  BoxCase c;
  c.map.type = type;
  c.map.extents = std::move(extents);
  c.map.strides = std::move(strides);
  c.map.box = std::move(box);
  c.map.swizzle = swizzle;
  c.map.fill = fill;
  c.place = place;
  return c;
}

const std::vector<BoxCase>& boxes() {
  using D = DataType;
  static const std::vector<BoxCase> all{
      box_case(D::uint32, {301}, {}, {64}, {36}),
      box_case(D::uint32, {301}, {}, {64}, {280}),
      box_case(D::fp16, {301}, {}, {72}, {-8}),
      box_case(D::fp32, {37, 19}, {160}, {12, 7}, {4, 5}),
      box_case(D::fp32, {37, 19}, {160}, {12, 7}, {28, 15}),
      box_case(D::uint64, {21, 9}, {176}, {6, 5}, {-2, -3}),
      box_case(D::fp64, {21, 9}, {176}, {2, 3}, {20, 8}),
      box_case(D::bf16, {33, 11, 5}, {80, 896}, {16, 4, 3}, {24, 9, 3}),
      box_case(D::uint32, {13, 7, 5, 3}, {64, 464, 2336}, {8, 3, 2, 2}, {-4, 5, 4, -1}),
      box_case(D::uint32, {13, 7, 5, 3, 2}, {64, 464, 2336, 7024}, {4, 3, 2, 2, 2},
               {12, -1, 1, 2, 1}),
      box_case(D::uint32, {70, 40}, {288}, {32, 33}, {4, 3}, Swizzle::bytes_128),
      box_case(D::fp16, {70, 40}, {144}, {64, 17}, {-8, 30}, Swizzle::bytes_128),
      box_case(D::fp32, {70, 40}, {288}, {16, 21}, {60, 7}, Swizzle::bytes_64),
      box_case(D::fp16, {70, 40}, {144}, {16, 26}, {8, 20}, Swizzle::bytes_32),
      box_case(D::uint32, {20, 20, 5}, {80, 1600}, {8, 5, 3}, {4, 18, 3}, Swizzle::bytes_32),
      box_case(D::fp16, {37, 19}, {80}, {24, 7}, {32, -2}, Swizzle::none, OutOfBoundsFill::nan),
      box_case(D::bf16, {37, 19}, {80}, {32, 9}, {-8, 15}, Swizzle::bytes_64, OutOfBoundsFill::nan),
      box_case(D::uint16, {40, 19}, {80}, {24, 7}, {24, 15}),
  };
  return all;
}

// The 16-bit value that fma.oob treats as out of bounds.
constexpr std::uint16_t kOutside = 0x7ff7;

void expect_load(const BoxCase& c, const DeviceWords& in, unsigned* out) {
  const std::size_t size = size_of(c.map.type);
  for (std::size_t i = 0; i < c.elements(); ++i) {
    char* const to = reinterpret_cast<char*>(out) + c.shared_offset(i);
    const std::int64_t from = c.offset(i);
    if (from >= 0) {
      std::memcpy(to, reinterpret_cast<const char*>(in.data()) + from, size);
    } else if (c.map.fill == OutOfBoundsFill::nan) {
      std::memcpy(to, &kOutside, size);
    } else {
      std::memset(to, 0, size);
    }
  }
}

void expect_store(const BoxCase& c, const DeviceWords& in, DeviceWords& out) {
  for (std::size_t i = 0; i < c.elements(); ++i) {
    if (const std::int64_t to = c.offset(i, true); to >= 0)
      std::memcpy(reinterpret_cast<char*>(out.data()) + to,
                  reinterpret_cast<const char*>(in.data()) + c.shared_offset(i),
                  size_of(c.map.type));
  }
}

std::vector<DeviceCase> box_cases() {
  std::vector<DeviceCase> cases;
  for (std::size_t i = 0; i < boxes().size(); ++i) {
    const BoxCase& c = boxes()[i];
    cases.push_back(
        {fmt::format("load_box {}", i), c.bytes() / sizeof(unsigned),
         [&c](const unsigned* in, unsigned* out) { return load_box(c.on(in), c.place, out); },
         [&c](const DeviceWords& in, DeviceWords& out) { expect_load(c, in, out.data()); }});
    const bool is_below =
        std::any_of(c.place.begin(), c.place.end(), [](auto at) { return at < 0; });
    if (c.map.fill == OutOfBoundsFill::nan || is_below) continue;
    cases.push_back(
        {fmt::format("store_box {}", i), kInput,
         [&c](const unsigned* in, unsigned* out) { return store_box(c.on(out), c.place, in); },
         [&c](const DeviceWords& in, DeviceWords& out) { expect_store(c, in, out); }});
  }
  for (const std::size_t i : {4u, 10u}) {
    const BoxCase& c = boxes()[i];
    const std::size_t words = c.bytes() / sizeof(unsigned);
    cases.push_back(
        {fmt::format("multicast_box {}", i), 3 * words,
         [&c](const unsigned* in, unsigned* out) { return multicast_box(c.on(in), c.place, out); },
         [&c, words](const DeviceWords& in, DeviceWords& out) {
           for (std::size_t block = 0; block < 3; ++block)
             expect_load(c, in, out.data() + block * words);
         }});
  }
  return cases;
}

// ---- reductions of tensors of 256 words

struct ReductionCase {
  BoxReduction how;
  BoxCase box;
  /// Result bits from the bits of two elements.
  std::uint64_t (*result)(std::uint64_t a, std::uint64_t b);
};

float to_float(std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<unsigned>(bits));
}

std::uint64_t lesser_bfloat(std::uint64_t a, std::uint64_t b) {
  return to_float(b << 16) < to_float(a << 16) ? b : a;
}

const std::vector<ReductionCase>& reductions() {
  using D = DataType;
  using R = BoxReduction;
  using B = std::uint64_t;
  const auto words = [](D type) {
    return box_case(type, {13, 11}, {64}, {8, 5}, {8, 7}, Swizzle::bytes_32);
  };
  const auto whole = [](D type) { return box_case(type, {13, 11}, {64}, {12, 9}, {4, 1}); };
  static const std::vector<ReductionCase> all{
      {R::add, words(D::uint32), [](B a, B b) -> B { return a + b; }},
      {R::add, whole(D::fp32),
       [](B a, B b) -> B { return std::bit_cast<unsigned>(to_float(a) + to_float(b)); }},
      {R::min, whole(D::int32),
       [](B a, B b) -> B { return std::min(static_cast<int>(a), static_cast<int>(b)); }},
      {R::max, words(D::uint32), [](B a, B b) -> B { return std::max(a, b); }},
      {R::increment, whole(D::uint32), [](B a, B b) -> B { return a >= b ? 0 : a + 1; }},
      {R::decrement, words(D::uint32), [](B a, B b) -> B { return a == 0 || a > b ? b : a - 1; }},
      {R::with_and, whole(D::uint32), [](B a, B b) -> B { return a & b; }},
      {R::with_or, words(D::int32), [](B a, B b) -> B { return a | b; }},
      {R::with_xor, box_case(D::uint64, {7, 11}, {64}, {6, 5}, {2, 8}),
       [](B a, B b) -> B { return a ^ b; }},
      {R::min, box_case(D::bf16, {27, 11}, {64}, {16, 5}, {16, 8}), lesser_bfloat},
  };
  return all;
}

void expect_reduction(const ReductionCase& c, const DeviceWords& in, DeviceWords& out) {
  std::copy_n(in.begin(), out.size(), out.begin());
  const std::size_t size = size_of(c.box.map.type);
  for (std::size_t i = 0; i < c.box.elements(); ++i) {
    if (c.box.offset(i, true) < 0) continue;
    char* const to = reinterpret_cast<char*>(out.data()) + c.box.offset(i, true);
    std::uint64_t a = 0, b = 0;
    std::memcpy(&a, to, size);
    std::memcpy(&b, reinterpret_cast<const char*>(&in[256]) + c.box.shared_offset(i), size);
    const std::uint64_t result = c.result(a, b);
    std::memcpy(to, &result, size);
  }
}

std::vector<DeviceCase> reduction_cases() {
  std::vector<DeviceCase> cases;
  for (std::size_t i = 0; i < reductions().size(); ++i) {
    const ReductionCase& c = reductions()[i];
    cases.push_back(
        {fmt::format("reduce_box {}", i), 256,
         [&c](const unsigned* in, unsigned* out) {
           return reduce_box(c.box.on(out), c.box.place, c.how, in, out);
         },
         [&c](const DeviceWords& in, DeviceWords& out) { expect_reduction(c, in, out); }});
  }
  return cases;
}

TEST_CASE("tensor boxes match the host", "[tensors]") {
  if (!has_machine_code()) return;
  const DeviceWords in = device_input(kInput);
  for (const DeviceCase& c : box_cases())
    check_on_cpu(c, in);
  for (const DeviceCase& c : reduction_cases())
    check_on_cpu(c, in);
}

TEST_CASE("tensor boxes match on GPU and CPU", "[tensors][gpu]") {
  check_on_gpu(box_cases(), device_input(kInput));
  check_on_gpu(reduction_cases(), device_input(kInput));
}

struct TensorFault {
  std::string name;
  FaultKind kind;
  std::string words;
  Steps (*steps)(bool is_faulty, unsigned* out);
};

TEST_CASE("tensor copy faults are reported with their line, and correct kernels without a fault",
          "[tensors]") {
  if (!has_machine_code()) return;
  for (const TensorFault& f : {
           TensorFault{"tensor_overrun", FaultKind::out_of_bounds, "64 bytes at", tensor_overrun},
           TensorFault{"tensor_misaligned", FaultKind::misaligned, "512 bytes of shared memory at",
                       tensor_misaligned},
           TensorFault{"tensor_coordinate", FaultKind::misaligned,
                       "element 3 of its rows, at an offset of 12 bytes", tensor_coordinate},
           TensorFault{"tensor_below", FaultKind::out_of_bounds, "coordinate -1 of dimension 1",
                       tensor_below},
           TensorFault{"tensor_unwritten", FaultKind::unwritten,
                       "of shared memory before anything wrote it", tensor_unwritten},
           TensorFault{"tensor_dimensions", FaultKind::other,
                       "a copy of 2 dimensions uses a tensor map of 3", tensor_dimensions},
       }) {
    INFO(f.name);
    const auto fault = fault_of([&](unsigned* out) { return f.steps(true, out); });
    REQUIRE(fault);
    INFO(fault->what());
    CHECK(fault->kind == f.kind);
    CHECK_THAT(fault->words, contains_text(f.words));
    CHECK(fault->place == fault_line("tests/sim/tensor_kernels.cu", f.name));
    CHECK(fault->thread == Extent{0, 0, 0});
    const auto none = fault_of([&](unsigned* out) { return f.steps(false, out); });
    if (none) FAIL(none->what());
  }
}

TEST_CASE("a tensor map that the driver refuses is refused", "[tensors]") {
  if (!has_machine_code()) return;
  sim::Simulator simulator(kernels(), 90);
  alignas(16) unsigned words[64] = {};
  const auto refusal = [&](const BoxCase& c) {
    return simulator.refusal(load_box(c.on(words), c.place, words));
  };
  using D = DataType;
  CHECK(refusal(box_case(D::fp32, {8, 8}, {32}, {4, 2}, {})).empty());
  CHECK_THAT(refusal(box_case(D::fp32, {8, 8}, {36}, {4, 2}, {})), contains_text("a stride"));
  CHECK_THAT(refusal(box_case(D::fp32, {8, 8}, {32}, {3, 2}, {})), contains_text("a row"));
  CHECK_THAT(refusal(box_case(D::fp32, {8, 8}, {32}, {4, 257}, {})), contains_text("256 elements"));
  CHECK_THAT(refusal(box_case(D::fp32, {8, 8}, {32}, {16, 2}, {}, Swizzle::bytes_32)),
             contains_text("is longer than its swizzle"));
  CHECK_THAT(refusal(box_case(D::fp32, {8, 8}, {32}, {4, 2}, {}, Swizzle::bytes_32)),
             contains_text("shorter than their swizzle"));
  CHECK_THAT(
      refusal(box_case(D::int32, {8, 8}, {32}, {4, 2}, {}, Swizzle::none, OutOfBoundsFill::nan)),
      contains_text("NaN"));
}

// ---- calls through pointers

unsigned called(unsigned which, unsigned a, unsigned b) {
  const unsigned mixed = b % 3 == 0 ? a + b : a * 3 ^ b;
  return which % 3 == 0 ? a + b : which % 3 == 1 ? a * b : mixed;
}

void expect_calls(const DeviceWords& in, DeviceWords& out) {
  for (unsigned t = 0; t < 96; ++t) {
    out[3 * t] = called(t, in[t], t);
    out[3 * t + 1] = called(1, in[t], t);
    unsigned result = in[t];
    for (unsigned i = 0; i < t % 5; ++i)
      result = called(t + i, result, i);
    out[3 * t + 2] = result;
  }
}

void expect_recursion(const DeviceWords& in, DeviceWords& out) {
  for (unsigned t = 0; t < 96; ++t) {
    unsigned now = 0, next = 1;
    for (unsigned i = 0; i < in[t] % 11; ++i) {
      next += now;
      now = next - now;
    }
    out[2 * t] = now;
    unsigned value = in[t];
    for (unsigned i = 1; i <= t % 7; ++i)
      value = called(t, value, i);
    out[2 * t + 1] = value;
  }
}

const std::vector<DeviceCase>& call_cases() {
  static const std::vector<DeviceCase> all{
      {"call_by_pointer", 3 * 96, call_by_pointer, expect_calls},
      {"call_recursively", 2 * 96, call_recursively, expect_recursion},
  };
  return all;
}

TEST_CASE("functions are called through pointers", "[calls]") {
  if (!has_machine_code()) return;
  const DeviceWords in = device_input(kInput);
  for (const DeviceCase& c : call_cases())
    check_on_cpu(c, in);
}

TEST_CASE("calls through pointers match on GPU and CPU", "[calls][gpu]") {
  check_on_gpu(call_cases(), device_input(kInput));
}

TEST_CASE("a call of a null function is a fault", "[calls]") {
  if (!has_machine_code()) return;
  const auto fault = fault_of([](unsigned* out) { return call_of_nothing(true, out); });
  REQUIRE(fault);
  CHECK_THAT(fault->words, contains_text("the called pointer does not point to a function"));
  CHECK(fault->place == fault_line("tests/sim/call_kernels.cu", "call_of_nothing"));
  CHECK(fault->thread == Extent{37, 0, 0});
  const auto none = fault_of([](unsigned* out) { return call_of_nothing(false, out); });
  if (none) FAIL(none->what());
}

}  // namespace
}  // namespace gpuexp::test
