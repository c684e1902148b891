// The simulator's rule for sums of products, compared with tensor cores of compute capability 9.0.
#include <map>
#include <random>

#include "gpu/device_query.hpp"
#include "gpu/tensor_products.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"
#include "support/tensor_numbers.hpp"

namespace gpuexp::test {
namespace {

using namespace sim;

constexpr unsigned kWarpLanes = 32;
constexpr unsigned kMaxDepth = 32;

unsigned bytes_of(Product p) {
  if (p == Product::wgmma_e4m3 || p == Product::wgmma_e5m2) return 1;
  return p == Product::mma_tf32 || p == Product::wgmma_tf32 ? 4 : 2;
}

std::string_view type_of(Product p) {
  switch (p) {
    case Product::mma_bf16:
    case Product::wgmma_bf16: return "bf16";
    case Product::mma_tf32:
    case Product::wgmma_tf32: return "tf32";
    case Product::mma_fp16_to_fp16:
    case Product::wgmma_fp16_to_fp16: return "fp16_to_fp16";
    case Product::wgmma_e4m3: return "e4m3";
    case Product::wgmma_e5m2: return "e5m2";
    default: return "fp16";
  }
}

/// Expected words of a warp's D; B comes from the lanes `of_b`.
std::vector<std::uint32_t> expected(Product p, const Fragments* lanes, const Fragments* of_b) {
  const std::string_view type = type_of(p);
  const unsigned bits_each = 8 * bytes_of(p);
  const unsigned per_word = 4 / bytes_of(p);
  const unsigned depth = 8 * per_word;
  const bool packs_sums = is_to_fp16(type);
  double a[16][kMaxDepth];
  std::int32_t a_exponent[16][kMaxDepth];
  SumRow b[8 / kRowColumns][kMaxDepth];
  ExponentRow b_exponent[8 / kRowColumns][kMaxDepth];
  for (unsigned l = 0; l < kWarpLanes; ++l) {
    for (unsigned r = 0; r < 2; ++r) {
      for (unsigned i = 0; i < per_word; ++i) {
        const unsigned k = (4 * r + l % 4) * per_word + i;
        for (unsigned half = 0; half < 2; ++half) {
          const Number n = element(type, lanes[l].a[2 * r + half] >> bits_each * i);
          a[l / 4 + 8 * half][k] = n.value;
          a_exponent[l / 4 + 8 * half][k] = n.exponent;
        }
        const Number n = element(type, of_b[l].b[r] >> bits_each * i);
        b[l / 4 / kRowColumns][k][l / 4 % kRowColumns] = n.value;
        b_exponent[l / 4 / kRowColumns][k][l / 4 % kRowColumns] = n.exponent;
      }
    }
  }
  std::vector<std::uint32_t> words(4 * kWarpLanes, 0);
  for (unsigned l = 0; l < kWarpLanes; ++l) {
    for (unsigned j = 0; j < 4; ++j) {
      const unsigned row = l / 4 + 8 * (j / 2);
      const unsigned b_row = (2 * (l % 4) + j % 2) / kRowColumns;
      const unsigned column = (2 * (l % 4) + j % 2) % kRowColumns;
      const std::uint32_t bits =
          packs_sums ? lanes[l].c[j / 2] >> 16 * (j % 2) & 0xffff : lanes[l].c[j];
      const Number c = addend(type, bits);
      const TensorFactors factors{a[row], a_exponent[row], b[b_row], b_exponent[b_row], depth};
      const double sum = sum_of_any(factors, column, c.value, c.exponent, sum_places(type));
      if (std::isfinite(sum)) CHECK(sum_at_once(type, factors, column, c) == sum);
      const std::uint32_t d = sum_bits(type, factors, column, c, sum);
      if (packs_sums) {
        words[4 * l + j / 2] |= d << 16 * (j % 2);
      } else {
        words[4 * l + j] = d;
      }
    }
  }
  return words;
}

enum class Bits { moderate, any, special };

/// Elements of similar magnitude, with random bits, or at the edges of the format; sometimes
/// infinity or NaN.
std::uint32_t element_bits(std::mt19937& random, SmallFloat f, Bits kind) {
  const auto draw = [&](std::uint32_t below) {
    return static_cast<std::uint32_t>(random()) % below;
  };
  const std::uint32_t fraction = (1u << f.fraction_bits) - 1;
  const std::uint32_t exponents = (1u << f.exponent_bits) - 1;
  const auto bias = static_cast<std::uint32_t>(f.bias());
  const std::uint32_t sign = draw(2) << (f.exponent_bits + f.fraction_bits);
  const std::uint32_t some = draw(fraction + 1);
  if (kind == Bits::any) return sign | draw(exponents + 1) << f.fraction_bits | some;
  if (kind == Bits::moderate) return sign | (bias - 4 + draw(8)) << f.fraction_bits | some;
  if (draw(96) == 0) return sign | exponents << f.fraction_bits | (draw(2) ? some : 0);
  const std::uint32_t exponent = draw(3) == 0 ? bias + draw(2) : draw(2);
  const std::uint32_t edges[] = {0, 1, fraction, fraction - 1, fraction / 2 + 1, some};
  return sign | exponent << f.fraction_bits | edges[draw(6)];
}

SmallFloat format_of(std::string_view type) {
  if (type == "bf16") return kBf16;
  if (type == "tf32") return kFp32;
  if (type == "e4m3") return kE4m3;
  if (type == "e5m2") return kE5m2;
  return kFp16;
}

TEST_CASE("the simulator sums products like tensor cores, bit by bit", "[tensor_sum]") {
  if (query_device(0, {}).spec.compute_capability() != 90)
    return skip(Tier::hardware, "the rule is that of compute capability 9.0");
  const std::map<std::string, Product> kProducts{
      {"mma fp16", Product::mma_fp16},     {"mma bf16", Product::mma_bf16},
      {"mma tf32", Product::mma_tf32},     {"mma fp16 to fp16", Product::mma_fp16_to_fp16},
      {"wgmma fp16", Product::wgmma_fp16}, {"wgmma bf16", Product::wgmma_bf16},
      {"wgmma tf32", Product::wgmma_tf32}, {"wgmma fp16 to fp16", Product::wgmma_fp16_to_fp16},
      {"wgmma e4m3", Product::wgmma_e4m3}, {"wgmma e5m2", Product::wgmma_e5m2}};
  constexpr std::size_t kLanesPerCase = 128 * 128;
  std::mt19937 random(2026);
  for (const auto& [name, product] : kProducts) {
    for (const Bits kind : {Bits::moderate, Bits::any, Bits::special}) {
      std::vector<Fragments> lanes(kLanesPerCase);
      const unsigned per_word = 4 / bytes_of(product);
      for (Fragments& lane : lanes) {
        for (std::uint32_t* word :
             {lane.a, lane.a + 1, lane.a + 2, lane.a + 3, lane.b, lane.b + 1}) {
          *word = 0;
          for (unsigned i = 0; i < per_word; ++i)
            *word |= element_bits(random, format_of(type_of(product)), kind)
                     << 8 * bytes_of(product) * i;
        }
        for (std::uint32_t& word : lane.c) {
          word = is_to_fp16(type_of(product))
                     ? element_bits(random, kFp16, kind) | element_bits(random, kFp16, kind) << 16
                     : element_bits(random, kFp32, kind);
        }
      }
      const std::vector<std::uint32_t> got = products(product, lanes);
      std::size_t wrong = 0;
      for (std::size_t warp = 0; warp < lanes.size(); warp += kWarpLanes) {
        const std::size_t of_b = is_wgmma(product) ? warp / 128 * 128 : warp;
        const auto should = expected(product, &lanes[warp], &lanes[of_b]);
        for (std::size_t i = 0; i < should.size(); ++i)
          wrong += should[i] != got[4 * warp + i];
      }
      INFO(name << ", bits " << static_cast<int>(kind) << ": " << wrong << " of " << got.size());
      CHECK(wrong == 0);
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
