// Simulated warpgroup products (wgmma).
#include <bit>
#include <cstring>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "sim/matrix_descriptor.hpp"
#include "sim/small_floats.hpp"
#include "support/catch.hpp"
#include "support/execution.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;

constexpr std::uint64_t descriptor(std::uint64_t start, std::uint64_t leading, std::uint64_t stride,
                                   std::uint64_t mode, std::uint64_t base = 0) {
  return start >> 4 | leading >> 4 << 16 | stride >> 4 << 32 | base << 49 | mode << 62;
}

TEST_CASE("matrix descriptors give the address of each 16-byte unit", "[sim]") {
  const auto k_major = [](std::uint64_t bits, unsigned row, unsigned unit) {
    return MatrixDescriptor::from_bits(bits).k_major(row, unit);
  };
  const auto mn_major = [](std::uint64_t bits, unsigned k, unsigned unit) {
    return MatrixDescriptor::from_bits(bits).mn_major(k, unit);
  };
  // No swizzle: blocks of eight rows of 16 bytes.
  CHECK(k_major(descriptor(0x400, 0x200, 0x80, 0), 10, 1) == 0x400 + 0x80 + 2 * 16 + 0x200);
  CHECK(mn_major(descriptor(0x400, 0x200, 0x80, 0), 9, 3) == 0x400 + 0x200 + 16 + 3 * 0x80);
  // 128-byte swizzle: unit u of row r is stored at unit u xor r.
  CHECK(k_major(descriptor(0x400, 0, 0x400, 1), 11, 1) == 0x800 + 3 * 128 + (1 ^ 3) * 16);
  CHECK(k_major(descriptor(0x420, 0, 0x400, 1), 3, 1) == 0x400 + 3 * 128 + ((2 + 1) ^ 3) * 16);
  CHECK(mn_major(descriptor(0x400, 0x1000, 0x400, 1), 9, 10) ==
        0x400 + 0x400 + 128 + 0x1000 + (2 ^ 1) * 16);
  // 64-byte swizzle: two rows in 128 bytes.
  CHECK(k_major(descriptor(0x400, 0, 0x200, 2), 6, 0) == 0x400 + 6 * 64 + 3 * 16);
  CHECK(mn_major(descriptor(0x400, 0x800, 0x200, 2), 2, 5) ==
        0x400 + 2 * 64 + 0x800 + (1 ^ 1) * 16);
  // 32-byte swizzle: four rows in 128 bytes.
  CHECK(k_major(descriptor(0x400, 0, 0x100, 3), 4, 0) == 0x400 + 4 * 32 + 16);
  CHECK(k_major(descriptor(0x400, 0, 0x100, 3), 3, 0) == 0x400 + 3 * 32);
  // A pattern that starts at 0x480.
  CHECK(k_major(descriptor(0x480, 0, 0x400, 1, 1), 0, 1) == 0x480 + 16);
  CHECK(k_major(descriptor(0x480, 0, 0x400, 1, 0), 0, 1) == 0x480);
}

/// One wgmma of four warps with matrices of small integers; D starts at R24.
class Wgmma {
 public:
  Wgmma(const std::string& instruction, std::uint64_t first, std::uint64_t second)
      : execution_(moves(4, first) + moves(6, second) + "WARPGROUP.ARRIVE;0\n" + instruction +
                       ";0\nWARPGROUP.DEPBAR.LE gsb0, 0x0;0\n",
                   4) {}

  static int a(unsigned m, unsigned k) { return static_cast<int>((3 * m + 5 * k) % 11) - 5; }
  static int b(unsigned k, unsigned n) { return static_cast<int>((7 * k + 2 * n) % 9) - 4; }

  template <class T>
  void store(std::size_t at, T value) {
    std::memcpy(execution_.block().shared.data() + at, &value, sizeof value);
  }
  Warp& warp(unsigned which) { return *execution_.block().warps()[which]; }
  Execution& execution() { return execution_; }

  float d(unsigned m, unsigned n) {
    return std::bit_cast<float>(
        execution_.reg(24 + 4 * (n / 8) + 2 * (m % 16 / 8) + n % 2, m % 8 * 4 + n % 8 / 2, m / 16));
  }
  static double expected(unsigned m, unsigned n, unsigned depth) {
    double sum = 0;
    for (unsigned k = 0; k < depth; ++k)
      sum += a(m, k) * b(k, n);
    return sum;
  }

 private:
  static std::string moves(unsigned index, std::uint64_t value) {
    return fmt::format("UMOV UR{}, {:#x};0\nUMOV UR{}, {:#x};0\n", index, value & 0xffffffff,
                       index + 1, value >> 32);
  }
  Execution execution_;
};

std::uint16_t half(int value) {
  return static_cast<std::uint16_t>(round_to<kFp16>(value));
}

// A at 0x400, 64×16, rows of 16 bytes in blocks of eight; the second half of K is at +0x400.
constexpr std::uint64_t kPlainA = descriptor(0x400, 0x400, 0x80, 0);
void store_plain_a(Wgmma& w) {
  for (unsigned m = 0; m < 64; ++m) {
    for (unsigned k = 0; k < 16; ++k)
      w.store(0x400 + m / 8 * 0x80 + m % 8 * 16 + k / 8 * 0x400 + k % 8 * 2, half(Wgmma::a(m, k)));
  }
}
// B at 0x800, rows of 32 bytes for each of 16 columns, swizzled.
constexpr std::uint64_t kPermutedB = descriptor(0xc00, 0, 0x100, 3);
void store_permuted_b(Wgmma& w) {
  for (unsigned n = 0; n < 16; ++n) {
    for (unsigned k = 0; k < 16; ++k)
      w.store(0xc00 + n * 32 + (k / 8 ^ (n / 4 & 1)) * 16 + k % 8 * 2, half(Wgmma::b(k, n)));
  }
}

void check_sums(Wgmma& w, unsigned depth, double sign = 1, double before = 0) {
  for (unsigned m = 0; m < 64; ++m) {
    for (unsigned n = 0; n < 16; ++n) {
      INFO(m << ", " << n);
      REQUIRE(w.d(m, n) == static_cast<float>(sign * Wgmma::expected(m, n, depth) + before));
    }
  }
}

void set_sums(Wgmma& w, float value) {
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned r = 24; r < 32; ++r)
      w.warp(i).registers[r].of.fill(std::bit_cast<std::uint32_t>(value));
  }
}

TEST_CASE("wgmma multiplies matrices in shared memory", "[sim]") {
  SECTION("and adds to D") {
    Wgmma w("HGMMA.64x16x16.F32 R24, gdesc[UR4], R24, gsb0", kPlainA, kPermutedB);
    store_plain_a(w);
    store_permuted_b(w);
    set_sums(w, 3);
    w.execution().run();
    check_sums(w, 16, 1, 3);
  }
  SECTION("or replaces D") {
    Wgmma w("HGMMA.64x16x16.F32 R24, gdesc[UR4].negB, R24, UP0, gsb0", kPlainA, kPermutedB);
    store_plain_a(w);
    store_permuted_b(w);
    set_sums(w, 3);
    w.execution().run();
    check_sums(w, 16, -1, 0);
  }
  SECTION("not if the swizzle differs") {
    Wgmma w("HGMMA.64x16x16.F32 R24, gdesc[UR4], RZ, !UPT, gsb0", kPlainA,
            descriptor(0xc00, 0, 0x100, 2));
    store_plain_a(w);
    store_permuted_b(w);
    w.execution().run();
    bool all_same = true;
    for (unsigned m = 0; m < 64; ++m)
      all_same &= w.d(m, 9) == static_cast<float>(Wgmma::expected(m, 9, 16));
    CHECK(!all_same);
  }
}

TEST_CASE("wgmma reads M-major and N-major matrices", "[sim]") {
  // A: units of 8 rows with stride 0x80; the second half of K at +0x400. B: 32 bytes hold 16
  // columns.
  Wgmma w("HGMMA.64x16x16.F32.BF16 R24, gdesc[UR4].tnspA.tnspB, RZ, !UPT, gsb0", kPlainA,
          descriptor(0xc00, 0x800, 0x100, 3));
  const auto brain = [](int value) { return static_cast<std::uint16_t>(round_to<kBf16>(value)); };
  for (unsigned k = 0; k < 16; ++k) {
    for (unsigned m = 0; m < 64; ++m)
      w.store(0x400 + m / 8 * 0x80 + k / 8 * 0x400 + k % 8 * 16 + m % 8 * 2, brain(Wgmma::a(m, k)));
    for (unsigned n = 0; n < 16; ++n)
      w.store(0xc00 + k * 32 + (n / 8 ^ (k / 4 & 1)) * 16 + n % 8 * 2, brain(Wgmma::b(k, n)));
  }
  w.execution().run();
  check_sums(w, 16);
}

TEST_CASE("wgmma takes A from registers", "[sim]") {
  Wgmma w("HGMMA.64x16x16.F32 R24, -R56, gdesc[UR4], RZ, !UPT, gsb0", kPermutedB, 0);
  store_permuted_b(w);
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned r = 0; r < 4; ++r) {
      for (unsigned l = 0; l < kLanes; ++l) {
        const unsigned m = 16 * i + l / 4 + 8 * (r % 2);
        const unsigned k = 8 * (r / 2) + 2 * (l % 4);
        w.warp(i).registers[56 + r][l] =
            half(Wgmma::a(m, k)) | std::uint32_t{half(Wgmma::a(m, k + 1))} << 16;
      }
    }
  }
  w.execution().run();
  check_sums(w, 16, -1);
}

TEST_CASE("wgmma sums in fp16, with two columns per register", "[sim]") {
  Wgmma w("HGMMA.64x16x16.F16 R24, gdesc[UR4], RZ, !UPT, gsb0", kPlainA, kPermutedB);
  store_plain_a(w);
  store_permuted_b(w);
  w.execution().run();
  for (unsigned m = 0; m < 64; ++m) {
    for (unsigned n = 0; n < 16; ++n) {
      const std::uint32_t pair =
          w.execution().reg(24 + 2 * (n / 8) + m % 16 / 8, m % 8 * 4 + n % 8 / 2, m / 16);
      REQUIRE(value_of<kFp16>(pair >> 16 * (n % 2)) == Wgmma::expected(m, n, 16));
    }
  }
}

// 8-bit operands, 32 deep, stored as kPlainA and kPermutedB.
void store_bytes(Wgmma& w, const std::function<std::uint8_t(int)>& a,
                 const std::function<std::uint8_t(int)>& b) {
  for (unsigned k = 0; k < 32; ++k) {
    for (unsigned m = 0; m < 64; ++m)
      w.store(0x400 + m / 8 * 0x80 + m % 8 * 16 + k / 16 * 0x400 + k % 16, a(Wgmma::a(m, k)));
    for (unsigned n = 0; n < 16; ++n)
      w.store(0xc00 + n * 32 + (k / 16 ^ (n / 4 & 1)) * 16 + k % 16, b(Wgmma::b(k, n)));
  }
}

TEST_CASE("wgmma multiplies 8-bit operands", "[sim]") {
  const auto e4m3 = [](int value) { return static_cast<std::uint8_t>(round_to_e4m3(value)); };
  const auto e5m2 = [](int value) { return static_cast<std::uint8_t>(round_to<kE5m2>(value)); };
  const auto byte = [](int value) { return static_cast<std::uint8_t>(value); };
  SECTION("fp8") {
    Wgmma w("QGMMA.64x16x32.F32.E4M3.E5M2 R24, gdesc[UR4], RZ, !UPT, gsb0", kPlainA, kPermutedB);
    store_bytes(w, e4m3, e5m2);
    w.execution().run();
    check_sums(w, 32);
  }
  SECTION("signed and unsigned integers") {
    Wgmma w("IGMMA.64x16x32.S8.U8 R24, gdesc[UR4], RZ, !UPT, gsb0", kPlainA, kPermutedB);
    store_bytes(w, byte, byte);
    w.execution().run();
    for (unsigned m = 0; m < 64; m += 5) {
      for (unsigned n = 0; n < 16; ++n) {
        std::int32_t sum = 0;
        for (unsigned k = 0; k < 32; ++k)
          sum += Wgmma::a(m, k) * byte(Wgmma::b(k, n));
        REQUIRE(std::bit_cast<std::int32_t>(w.d(m, n)) == sum);
      }
    }
  }
  SECTION("integers that wrap or saturate") {
    for (const bool is_saturated : {false, true}) {
      Wgmma w(fmt::format("IGMMA.64x16x32.S8.S8{} R24, gdesc[UR4], R24, gsb0",
                          is_saturated ? ".SAT" : ""),
              kPlainA, kPermutedB);
      store_bytes(
          w, [](int) { return 1; }, [](int) { return 1; });
      set_sums(w, std::bit_cast<float>(0x7ffffff0));
      w.execution().run();
      CHECK(std::bit_cast<std::uint32_t>(w.d(17, 3)) == (is_saturated ? 0x7fffffffu : 0x80000010u));
    }
  }
}

TEST_CASE("e4m3 has numbers instead of infinities", "[sim]") {
  CHECK(value_of_e4m3(0x38) == 1);
  CHECK(value_of_e4m3(0xb9) == -1.125f);
  CHECK(value_of_e4m3(0x7e) == 448);
  CHECK(value_of_e4m3(0x01) == std::ldexp(1.0f, -9));
  CHECK(value_of_e4m3(0x7f) != value_of_e4m3(0x7f));
  for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
    if ((bits & 0x7f) != 0x7f && round_to_e4m3(value_of_e4m3(bits)) != bits) FAIL("e4m3 " << bits);
  }
}

TEST_CASE("a warp waits for the products of all four warps", "[sim]") {
  // Each warp overwrites a part of B after its wait, which no product may read.
  const std::string code =
      "S2R R1, SR_TID.X;0\nSHF.L.U32 R1, R1, 0x2, RZ;0\n"
      "UMOV UR4, {:#x};0\nUMOV UR5, {:#x};0\nUMOV UR6, {:#x};0\nUMOV UR7, {:#x};0\n"
      "HGMMA.64x16x16.F32 R24, gdesc[UR4], RZ, !UPT, gsb0;0\nWARPGROUP.DEPBAR.LE gsb0, {};0\n"
      "STS [R1+0xc00], RZ;0\n";
  const auto run = [&](const char* pending) {
    Wgmma w("NOP", 0, 0);
    Execution e(fmt::format(fmt::runtime(code), kPlainA & 0xffffffff, kPlainA >> 32,
                            kPermutedB & 0xffffffff, kPermutedB >> 32, pending),
                4);
    store_plain_a(w);
    store_permuted_b(w);
    e.block().shared = w.execution().block().shared;
    e.run();
    const float last = std::bit_cast<float>(e.reg(24, 0, 3));
    return last == static_cast<float>(Wgmma::expected(48, 0, 16));
  };
  CHECK(run("0x0"));
  CHECK(!run("0x1"));
}

TEST_CASE("wgmma with missing warps or lanes is a fault", "[sim]") {
  Execution three("HGMMA.64x16x16.F32 R24, gdesc[UR4], RZ, !UPT, gsb0;0\n", 3);
  CHECK_THROWS_WITH(three.run(), contains_text("fewer than four warps"));
  Execution lanes(
      "S2R R1, SR_LANEID;0\nISETP.EQ.AND P0, PT, R1, RZ, PT;0\n"
      "@P0 HGMMA.64x16x16.F32 R24, gdesc[UR4], RZ, !UPT, gsb0;0\n",
      4);
  CHECK_THROWS_WITH(lanes.run(), contains_text("only some lanes of a warp"));
  Execution one(
      "S2R R1, SR_TID.X;0\nISETP.LT.AND P0, PT, R1, 0x20, PT;0\n@!P0 EXIT;0\n"
      "HGMMA.64x16x16.F32 R24, gdesc[UR4], RZ, !UPT, gsb0;0\nWARPGROUP.DEPBAR.LE gsb0, 0x0;0\n",
      4);
  CHECK_THROWS_WITH(one.run(), contains_text("ends before it has started the products"));
  CHECK_THROWS_WITH(Execution("HGMMA.64x12x16.F32 R24, gdesc[UR4], RZ, !UPT, gsb0;0\n"),
                    contains_text("this shape is not executed"));
  CHECK_THROWS_WITH(Execution("HGMMA.64x16x8.F32 R24, gdesc[UR4], RZ, !UPT, gsb0;0\n"),
                    contains_text("this shape is not executed"));
}

}  // namespace
}  // namespace gpuexp::test
