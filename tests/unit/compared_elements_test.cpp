// Which elements are compared if a full reference costs too much, and which errors that finds.
#include "run/compared_elements.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "device/device_spec_file.hpp"
#include "record/measurement.hpp"
#include "run/output_comparison.hpp"
#include "support/catch.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kPieces = 10'000;
constexpr std::int64_t kElements = kPieces * ElementDraw::kPiece;

std::int64_t pieces_of(const ElementDraw& draw) {
  std::int64_t drawn = 0;
  for (std::int64_t i = 0; i < kElements; i += ElementDraw::kPiece)
    drawn += draw.has(i);
  return drawn;
}

TEST_CASE("a draw has about its share of the pieces; equal seeds draw equal pieces") {
  const ElementDraw draw = drawn_share(0.1, 7);
  // With 10,000 pieces, the count is outside these bounds once in 10^6 draws.
  CHECK(pieces_of(draw) > 850);
  CHECK(pieces_of(draw) < 1150);
  CHECK(draw == drawn_share(0.1, 7));
  CHECK(!(draw == drawn_share(0.1, 8)));
  std::int64_t both = 0;
  for (std::int64_t i = 0; i < kElements; i += ElementDraw::kPiece)
    both += draw.has(i) && drawn_share(0.1, 8).has(i);
  CHECK(both < 150);
  // A piece is drawn as a whole.
  for (std::int64_t i = 0; i < kElements; ++i) {
    if (draw.has(i) != draw.has(i / ElementDraw::kPiece * ElementDraw::kPiece)) FAIL(i);
  }
}

TEST_CASE("a share of one or more draws all elements") {
  for (const double share : {1.0, 2.0, std::numeric_limits<double>::infinity()}) {
    CHECK(drawn_share(share, 7).is_all());
    CHECK(pieces_of(drawn_share(share, 7)) == kPieces);
  }
  CHECK(ElementDraw{}.is_all());
  CHECK(!drawn_share(std::nextafter(1.0, 0.0), 7).is_all());
  CHECK(pieces_of(drawn_share(0.0, 7)) == 0);
}

TEST_CASE("elements are drawn only if the reference's operations exceed the bound") {
  const Family family = toy_family();
  const std::int64_t n = 1 << 20;
  const auto problem = family.make_problem({n, 0.5, std::string("narrow")});
  const auto share = [&](double most) {
    return affordable_share(family, problem.get(), *family.find("first"), most);
  };
  CHECK(share(static_cast<double>(n)) == 1.0);
  CHECK(share(1e300) == 1.0);
  CHECK(share(static_cast<double>(n) / 4) == 0.25);
  CHECK(affordable_draw(share(static_cast<double>(n)), n, n, 7).is_all());
  CHECK(affordable_draw(0.25, n, n, 7) == drawn_share(0.25, 7));
  // 4096 elements, unless they take more than 8 times the intended time: then at least 1024.
  const auto drawn = [&](double elements) {
    return drawn_share(elements / static_cast<double>(n), 7);
  };
  const auto draw_for = [&](double affordable) {
    return affordable_draw(affordable / static_cast<double>(n), n, n, 7);
  };
  CHECK(draw_for(5000) == drawn(5000));
  CHECK(draw_for(512) == drawn(4096));
  CHECK(draw_for(256) == drawn(2048));
  CHECK(draw_for(128) == drawn(1024));
  CHECK(draw_for(0) == drawn(1024));
  CHECK(affordable_draw(0, 1024, 1024, 7).is_all());
  CHECK(!affordable_draw(0, 1025, 1025, 7).is_all());
  // If only some blocks wrote, the number of drawn elements stays the same.
  CHECK(affordable_draw(0.25, n, n / 2, 7) == drawn_share(0.5, 7));
  CHECK(affordable_draw(0.25, n, n / 4, 7).is_all());
  CHECK(affordable_draw(0.25, 0, 0, 7).is_all());
}

TEST_CASE("a family's count of reference operations takes precedence over the variant's") {
  Family family = toy_family();
  const std::int64_t n = 1 << 20;
  const auto problem = family.make_problem({n, 0.5, std::string("narrow")});
  const Variant& first = *family.find("first");
  CHECK(reference_operations(family, problem.get(), first) == static_cast<double>(n));
  family.reference_operations = [](const void*) { return 4.0 * (1 << 20); };
  CHECK(reference_operations(family, problem.get(), first) == 4.0 * static_cast<double>(n));
  CHECK(affordable_share(family, problem.get(), first, static_cast<double>(n)) == 0.25);
  // An element costs at least one operation.
  family.reference_operations = [](const void*) { return 1.0; };
  CHECK(affordable_share(family, problem.get(), first, static_cast<double>(n) / 2) == 0.5);
}

TEST_CASE("host loops that share values count their own operations") {
  Family family = toy_family();
  const std::int64_t n = 1 << 20;
  const auto problem = family.make_problem({n, 0.5, std::string("narrow")});
  const Variant& first = *family.find("first");
  const auto elements = static_cast<double>(n);
  family.reference_operations = [](const void*) { return 64.0 * (1 << 20); };
  const auto host_share = [&](double most) {
    return affordable_host_share(family, problem.get(), first, most);
  };
  CHECK(host_reference_operations(family, problem.get(), first) == 64 * elements);
  CHECK(host_share(16 * elements) == 0.25);
  family.host_operations = [](const void*) {
    return HostOperations{16.0 * (1 << 20), 32.0 * (1 << 20)};
  };
  CHECK(host_reference_operations(family, problem.get(), first) == 16 * elements);
  CHECK(host_share(16 * elements) == 1);
  // Drawn elements share less.
  CHECK(host_share(8 * elements) == 0.25);
  // A GPU shares nothing.
  CHECK(affordable_share(family, problem.get(), first, 16 * elements) == 0.25);
  // An element costs at least one operation.
  family.host_operations = [](const void*) { return HostOperations{1, 1}; };
  CHECK(host_share(elements) == 1);
  CHECK(host_share(elements / 2) == 0.5);
}

TEST_CASE("unwritten elements are NaN in floating-point outputs that are not inputs") {
  Buffer buffer = toy_family().buffers.back();
  const auto is_nan = [&](BufferRole role, DataType type) {
    buffer.role = role;
    buffer.type = [type](const void*) { return type; };
    return is_nan_unwritten(buffer, nullptr);
  };
  for (const DataType type :
       {DataType::fp64, DataType::fp32, DataType::tf32, DataType::fp16, DataType::bf16}) {
    CHECK(is_nan(BufferRole::output, type));
    CHECK(!is_nan(BufferRole::in_out, type));
  }
  for (const DataType type :
       {DataType::int32, DataType::uint8, DataType::uint16, DataType::uint32, DataType::uint64,
        DataType::int8, DataType::int16, DataType::int64, DataType::boolean})
    CHECK(!is_nan(BufferRole::output, type));
}

TEST_CASE("outputs without NaN are compared completely, unless that takes too long") {
  const std::int64_t n = 1 << 20;
  const auto problem = toy_family().make_problem({n, 0.5, std::string("narrow")});
  Buffer buffer = toy_family().buffers.back();
  const std::int64_t count = buffer.count(problem.get());
  const auto draw = [&](DataType type, double share) {
    buffer.type = [type](const void*) { return type; };
    return affordable_draw(buffer, problem.get(), share, 7);
  };
  CHECK(draw(DataType::fp32, 0.2) == affordable_draw(0.2, count, count, 7));
  CHECK(draw(DataType::int32, 0.2).is_all());
  CHECK(draw(DataType::int32, 0.1) == affordable_draw(0.1, count, count, 7));
}

TEST_CASE("a reference runs at a plain kernel's rate, the datasheet's, or the lowest listed rate") {
  const auto spec_of = [](const char* id) {
    const std::string directory = GPUEXP_SOURCE_DIR "/configs/devices/";
    return read_device_spec(directory + id + ".json").spec;
  };
  CHECK(reference_rate(spec_of("h200")) == Approx(22.5 * 132 * 1.98e9));
  CHECK(reference_rate(spec_of("l4")) == *spec_of("l4").peak(Pipe::fp64));
  DeviceSpec unlisted = spec_of("l4");
  unlisted.peak_ops_per_s = {};
  CHECK(reference_rate(unlisted) == Approx(*spec_of("l4").peak(Pipe::fp64)).epsilon(0.01));
}

/// Results of 1, with a reference of 1 for drawn elements and NaN for the others.
struct Ones {
  explicit Ones(double share) : draw(drawn_share(share, 7)) {
    for (std::int64_t i = 0; i < kElements; ++i) {
      if (draw.has(i)) value[static_cast<std::size_t>(i)] = 1;
    }
  }

  /// The first element that is drawn, or that is not.
  std::size_t first(bool is_drawn) const {
    std::int64_t i = 0;
    while (draw.has(i) != is_drawn)
      ++i;
    return static_cast<std::size_t>(i);
  }

  Verification verify() const {
    Comparison c{};
    c.got = got.data();
    c.type = DataType::fp64;
    c.count = kElements;
    c.value = c.magnitude = c.accurate = value.data();
    c.tolerance = Tolerance{0.01, 0.0};
    c.draw = draw;
    ComparisonSums sums;
    for (std::int64_t i = 0; i < kElements; ++i)
      sums = combined(sums, compared(got[static_cast<std::size_t>(i)], c, i));
    const auto read = [](const void* array, DataType, std::int64_t begin, std::int64_t count) {
      const auto* const from = static_cast<const double*>(array) + begin;
      return std::vector<double>(from, from + count);
    };
    Verification result;
    add_output(
        "y", c, sums, [&](std::int64_t begin) { return mismatches("y", c, begin, read); }, result);
    return result;
  }

  ElementDraw draw;
  std::vector<double> got = std::vector<double>(kElements, 1);
  std::vector<double> value = std::vector<double>(kElements, std::nan(""));
};

TEST_CASE("elements for which zero would pass are counted") {
  Ones ones(1);
  for (std::size_t i = 0; i < kElements; ++i)
    ones.value[i] = ones.got[i] = i % 4 == 0 ? 0 : 1;
  const Verification some = ones.verify();
  REQUIRE(some.zero_shares.size() == 1);
  CHECK(some.zero_shares[0].buffer == "y");
  CHECK(some.zero_shares[0].share == Approx(0.25).epsilon(0.01));
  CHECK(ones.verify().passed());
  CHECK(Ones(1).verify().zero_shares[0].share == 0);
}

TEST_CASE("drawn elements are compared, and a NaN fails anywhere") {
  Ones ones(0.1);
  const auto drawn = pieces_of(ones.draw) * ElementDraw::kPiece;
  SECTION("correct elements pass") {
    const Verification v = ones.verify();
    CHECK(v.passed());
    CHECK(v.elements == kElements);
    CHECK(v.checked == drawn);
    CHECK(v.error_rms_rel == 0);
  }
  SECTION("a wrong drawn element fails") {
    ones.got[ones.first(true)] = 2;
    const Verification v = ones.verify();
    CHECK(!v.passed());
    CHECK(v.wrong == 1);
    REQUIRE(v.first_wrong.size() == 1);
    CHECK(v.first_wrong.front().index == static_cast<std::int64_t>(ones.first(true)));
    CHECK_THAT(failure_of(v), contains_text("expected 1, got 2"));
  }
  SECTION("a wrong element that is not drawn passes") {
    ones.got[ones.first(false)] = 2;
    const Verification v = ones.verify();
    CHECK(v.passed());
    CHECK(v.checked == drawn);
  }
  SECTION("a NaN in an element that is not drawn fails") {
    ones.got[ones.first(false)] = std::nan("");
    const Verification v = ones.verify();
    CHECK(!v.passed());
    CHECK(v.wrong == 1);
    CHECK(v.checked == drawn + 1);
    REQUIRE(v.first_wrong.size() == 1);
    CHECK(v.first_wrong.front().index == static_cast<std::int64_t>(ones.first(false)));
    CHECK_THAT(failure_of(v), contains_text("got nan, which is always wrong"));
  }
}

TEST_CASE("the first element whose reference has no value is listed after many wrong elements") {
  Ones ones(1);
  std::fill(ones.got.begin(), ones.got.end(), 2);
  CHECK(ones.verify().first_wrong.size() == kMaxMismatches);
  const std::size_t element = kElements - 2;
  REQUIRE(element > kMaxMismatches);
  ones.value[element] = ones.value[element + 1] = std::nan("");
  const Verification late = ones.verify();
  REQUIRE(late.first_wrong.size() == kMaxMismatches + 1);
  CHECK(late.first_wrong.back().index == static_cast<std::int64_t>(element));
  CHECK(std::isnan(late.first_wrong.back().expected));
  ones.value[3] = std::nan("");
  CHECK(ones.verify().first_wrong.size() == kMaxMismatches);
}

TEST_CASE("elements that the kernel did not write are named so") {
  struct Case {
    DataType type;
    bool is_poisoned;
    double got;
    const char* text;
    const char* got_text;
  };
  const auto poison = [](DataType type) { return poisoned_element(type); };
  for (const Case& c :
       {Case{DataType::fp64, true, poison(DataType::fp64),
             "y[3]: the kernel did not write it, expected 1", "unwritten"},
        Case{DataType::fp32, true, poison(DataType::fp32),
             "y[3]: the kernel did not write it, expected 1", "unwritten"},
        Case{DataType::fp16, true, poison(DataType::fp16),
             "y[3]: the kernel did not write it, expected 1", "unwritten"},
        Case{DataType::bf16, true, poison(DataType::bf16),
             "y[3]: the kernel did not write it, expected 1", "unwritten"},
        // The NaN that operations return has another sign or fewer bits.
        Case{DataType::fp32, true, std::nan(""), "y[3]: expected 1, got nan, must be exact", "nan"},
        Case{DataType::fp32, true, -std::nan(""), "y[3]: expected 1, got nan, must be exact",
             "nan"},
        Case{DataType::fp32, false, poison(DataType::fp32),
             "y[3]: expected 1, got nan, must be exact", "nan"},
        // All bits set is also an integer that a kernel may write.
        Case{DataType::uint8, true, 255,
             "y[3]: expected 1, got 255 as if the kernel did not write it, must be exact", "255"},
        Case{DataType::int32, true, -1,
             "y[3]: expected 1, got -1 as if the kernel did not write it, must be exact", "-1"},
        Case{DataType::int32, false, -1, "y[3]: expected 1, got -1, must be exact", "-1"},
        Case{DataType::uint8, true, 254, "y[3]: expected 1, got 254, must be exact", "254"}}) {
    CAPTURE(name_of(c.type), c.is_poisoned, c.got);
    Comparison comparison{};
    comparison.type = c.type;
    comparison.is_poisoned = c.is_poisoned;
    Verification v;
    v.wrong = v.checked = 1;
    v.first_wrong = {mismatch_of("y", comparison, 3, 1, c.got, 0)};
    CHECK_THAT(failure_of(v), contains_text(c.text));
    CHECK(v.first_wrong.front().got_text() == c.got_text);
    // Without an expected value: the element was not drawn.
    v.first_wrong = {mismatch_of("y", comparison, 3, std::nan(""), c.got, 0)};
    if (v.first_wrong.front().is_unwritten && std::isnan(c.got))
      CHECK(failure_of(v).ends_with("y[3]: the kernel did not write it"));
  }
}

TEST_CASE("a bound that only covers underflow is not shown as a number") {
  const auto text = [](double expected, double got, double allowed) {
    Verification v;
    v.wrong = v.checked = 1;
    v.first_wrong = {{"y", 3, expected, got, allowed}};
    return failure_of(v);
  };
  for (const double got : {0.0, 11.0, HUGE_VAL, std::nan("")})
    CHECK_THAT(text(12, got, 1.84e-40), Catch::EndsWith(", must be exact"));
  CHECK_THAT(text(0, 1, 1.84e-40), Catch::EndsWith("expected 0, got 1, must be exact"));
  CHECK_THAT(text(12, 11, 1e-9), Catch::EndsWith("expected 12, got 11, allowed ±1e-09"));
  CHECK_THAT(text(1e-30, 2e-30, 1e-36), Catch::EndsWith("allowed ±1e-36"));
  CHECK_THAT(text(0, 1e-39, 1e-40), Catch::EndsWith("allowed ±1e-40"));
}

TEST_CASE("a reference is elementwise if one host loop computes each array") {
  std::vector<double> a(4);
  std::vector<double> b(4);
  const auto loop_to = [](double* to) {
    HostLoop loop;
    loop.items = 4;
    loop.run = [](std::int64_t, std::int64_t) {};
    loop.to = to;
    loop.item_bytes = sizeof(double);
    return with_host_loop(Steps(KernelStep{}), loop);
  };
  CHECK(is_elementwise(loop_to(a.data()), {a.data()}));
  CHECK(is_elementwise(loop_to(b.data()) + loop_to(a.data()), {a.data(), b.data()}));
  // Two loops to one array, another array, an array without a loop, no host loop.
  CHECK(!is_elementwise(loop_to(a.data()) + loop_to(a.data() + 2), {a.data()}));
  CHECK(!is_elementwise(loop_to(b.data()), {a.data()}));
  CHECK(!is_elementwise(loop_to(a.data()), {a.data(), b.data()}));
  CHECK(!is_elementwise(Steps(KernelStep{}), {a.data()}));
}

}  // namespace
}  // namespace gpuexp::test
