#include <algorithm>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "sim/opcodes.hpp"
#include "sim/registers.hpp"
#include "sim/small_floats.hpp"
#include "sim/tensor_sum.hpp"

namespace gpuexp::sim {

namespace {

// Layout of fragments in mma.sync (PTX ISA): lane l holds rows l / 4 and l / 4 + 8 of A and D, and
// column l / 4 of B. l mod 4 selects the columns of A and D and the rows of B.

enum class Element : std::uint8_t { f16, bf16, tf32, e4m3, e5m2 };

constexpr unsigned kM = 16;
constexpr unsigned kN = 8;
static_assert(kN == kRowColumns);
constexpr unsigned kMaxK = 32;

unsigned elements_per_register(Element type) {
  switch (type) {
    case Element::tf32: return 1;
    case Element::e4m3:
    case Element::e5m2: return 4;
    default: return 2;
  }
}

/// One element per lane of a register that holds one, two or four elements. `which` = 0 is the
/// lowest element.
struct Elements {
  Lanes<double> values;
  Lanes<std::int32_t> exponents;
  bool finite = true;

  template <SmallFloat format>
  GPUEXP_INLINED void read(const Lanes32& bits, unsigned shift) {
    constexpr std::uint32_t kInfinity = ((1u << format.exponent_bits) - 1) << format.fraction_bits;
    std::uint32_t infinite = 0;
    GPUEXP_LANE_BY_LANE
    for (unsigned l = 0; l < kLanes; ++l) {
      const std::uint32_t element = bits[l] >> shift;
      values[l] = value_of<format>(element);
      exponents[l] = tensor_exponent<format>(element);
      infinite |= (element & kInfinity) == kInfinity ? 1 : 0;
    }
    finite = finite && infinite == 0;
  }

  // e4m3 has no infinity, and only one NaN of each sign (PTX ISA, "Alternate floating point data
  // formats").
  void read_e4m3(const Lanes32& bits, unsigned shift) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const std::uint32_t element = bits[l] >> shift & 0xff;
      values[l] = value_of_e4m3(element);
      exponents[l] = tensor_exponent<kE4m3>(element);
      finite = finite && !std::isnan(values[l]);
    }
  }

  GPUEXP_INLINED void read(const Lanes32& bits, Element type, unsigned which) {
    switch (type) {
      case Element::f16: return read<kFp16>(bits, 16 * which);
      case Element::bf16: return read<kBf16>(bits, 16 * which);
      case Element::e4m3: return read_e4m3(bits, 8 * which);
      case Element::e5m2: return read<kE5m2>(bits, 8 * which);
      default: return read<kTf32>(bits, 13);  // the lower 13 bits are not read
    }
  }
};

constexpr unsigned kQuarter = 4;

using FloatRow = float __attribute__((vector_size(32)));
using Floats = Lanes<float>;

// fp16 infinity and NaN are read as 65536 or more, which is sufficient for approximate execution.
GPUEXP_INLINED void read_floats(const Lanes32& bits, Element type, unsigned which, Floats& values) {
  const unsigned shift = 16 * which;
  const auto of = [&](auto bits_of) {
    Lanes32 floats;
    GPUEXP_LANE_BY_LANE
    for (unsigned l = 0; l < kLanes; ++l)
      floats[l] = bits_of(bits[l] >> shift);
    std::memcpy(&values, &floats, sizeof values);
  };
  if (type == Element::tf32) return of([](std::uint32_t x) { return x & 0xffffe000u; });
  if (type == Element::bf16) return of([](std::uint32_t x) { return x << 16; });
  of([](std::uint32_t x) { return (x & 0x8000u) << 16 | (x & 0x7fffu) << 13; });
  constexpr float kBiases = 0x1p112;  // difference of the exponent biases of fp32 and fp16
  GPUEXP_LANE_BY_LANE
  for (unsigned l = 0; l < kLanes; ++l)
    values[l] *= kBiases;
}

// Truncates to fp16. Values beyond the range become the largest finite number.
GPUEXP_INLINED void pack_halves(const Floats& low, const Floats& high, Lanes32& pairs) {
  constexpr float kBiases = 0x1p-112;
  constexpr float kLargest = 65504;
  const auto half = [=](float x) {
    const float bounded = std::min(std::max(x, -kLargest), kLargest) * kBiases;
    const auto bits = std::bit_cast<std::uint32_t>(bounded);
    return (bits >> 16 & 0x8000u) | (bits >> 13 & 0x7fffu);
  };
  GPUEXP_LANE_BY_LANE
  for (unsigned l = 0; l < kLanes; ++l)
    pairs[l] = half(low[l]) | half(high[l]) << 16;
}

GPUEXP_INLINED FloatRow row_at(const float* values) {
  FloatRow row;
  std::memcpy(&row, values, sizeof row);
  return row;
}

// Four consecutive lanes hold the elements of one column of B. Returns rows of B.
GPUEXP_INLINED void rows_of_columns(const Floats& columns, FloatRow* rows) {
  const FloatRow of0 = row_at(&columns[0]), of2 = row_at(&columns[8]);
  const FloatRow of4 = row_at(&columns[16]), of6 = row_at(&columns[24]);
  const auto pair = [](FloatRow x, FloatRow y, auto at) {
    if constexpr (at == 0) return __builtin_shufflevector(x, y, 0, 4, 8, 12, 1, 5, 9, 13);
    return __builtin_shufflevector(x, y, 2, 6, 10, 14, 3, 7, 11, 15);
  };
  const auto set = [&](auto at) {
    const FloatRow left = pair(of0, of2, at);
    const FloatRow right = pair(of4, of6, at);
    rows[at] = __builtin_shufflevector(left, right, 0, 1, 2, 3, 8, 9, 10, 11);
    rows[at + 1] = __builtin_shufflevector(left, right, 4, 5, 6, 7, 12, 13, 14, 15);
  };
  set(std::integral_constant<unsigned, 0>{});
  set(std::integral_constant<unsigned, 2>{});
}

// Each of four lanes holds two adjacent elements of a row of C and D, in two registers.
GPUEXP_INLINED void rows_of_pairs(const Floats& even, const Floats& odd, FloatRow* rows) {
  for (unsigned m = 0; m < kM / 2; m += 2) {
    const FloatRow first = row_at(&even[kQuarter * m]);
    const FloatRow second = row_at(&odd[kQuarter * m]);
    rows[m] = __builtin_shufflevector(first, second, 0, 8, 1, 9, 2, 10, 3, 11);
    rows[m + 1] = __builtin_shufflevector(first, second, 4, 12, 5, 13, 6, 14, 7, 15);
  }
}
GPUEXP_INLINED void pairs_of_rows(const FloatRow* rows, Floats& even, Floats& odd) {
  for (unsigned m = 0; m < kM / 2; m += 2) {
    const FloatRow x = __builtin_shufflevector(rows[m], rows[m + 1], 0, 2, 4, 6, 8, 10, 12, 14);
    const FloatRow y = __builtin_shufflevector(rows[m], rows[m + 1], 1, 3, 5, 7, 9, 11, 13, 15);
    std::memcpy(&even[kQuarter * m], &x, sizeof x);
    std::memcpy(&odd[kQuarter * m], &y, sizeof y);
  }
}

// Approximate mma.sync: rounds each multiply-add in fp32.
GPUEXP_VECTORIZED void run_rough_mma(Warp& warp, const Op& op) {
  const auto type = static_cast<Element>(op.kind);
  const unsigned k_count = op.value;
  const unsigned per_register = type == Element::tf32 ? 1 : 2;
  Floats a[2][kMaxK / kQuarter];  // by half of the rows, and by group of four k
  FloatRow b[kMaxK];
  Floats in;
  unsigned k = 0;
  for (unsigned r = 0; k < k_count; ++r) {
    for (unsigned i = 0; i < per_register; ++i, k += kQuarter) {
      for (unsigned half = 0; half < 2; ++half)
        read_floats(warp.registers[next_register(op.from[0], 2 * r + half).index], type, i,
                    a[half][k / kQuarter]);
      read_floats(warp.registers[next_register(op.from[1], r).index], type, i, in);
      rows_of_columns(in, b + k);
    }
  }
  const bool is_half = op.kind2 != 0;  // C and D are fp16
  std::array<Floats, 4> c;
  for (unsigned i = 0; i < 4; ++i) {
    const Lanes32& bits = warp.registers[next_register(op.from[2], is_half ? i / 2 : i).index];
    if (is_half) {
      read_floats(bits, Element::f16, i % 2, c[i]);
    } else {
      std::memcpy(&c[i], &bits, sizeof c[i]);
    }
  }
  for (unsigned half = 0; half < 2; ++half) {
    FloatRow rows[kM / 2];
    rows_of_pairs(c[2 * half], c[2 * half + 1], rows);
    for (unsigned m = 0; m < kM / 2; ++m) {
      for (unsigned j = 0; j < k_count; ++j)
        rows[m] += a[half][j / kQuarter][kQuarter * m + j % kQuarter] * b[j];
    }
    pairs_of_rows(rows, c[2 * half], c[2 * half + 1]);
  }
  for (unsigned i = 0; i < 4; i += is_half ? 2 : 1) {
    Lanes32 d;
    if (is_half) {
      pack_halves(c[i], c[i + 1], d);
    } else {
      std::memcpy(&d, &c[i], sizeof d);
    }
    write(warp, next_register(op.to[0], is_half ? i / 2 : i), kAllLanes, d);
  }
}

GPUEXP_VECTORIZED void run_mma(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != kAllLanes) throw Fault("mma is executed by only some lanes of a warp");
  if (warp.block.launch.is_alone) return;
  const auto type = static_cast<Element>(op.kind);
  const auto type_of_b = static_cast<Element>(op.bank);
  const unsigned k_count = op.value;
  const unsigned per_register = elements_per_register(type);
  if (warp.block.launch.is_approximate && per_register <= 2) return run_rough_mma(warp, op);
  // The order of k differs from the PTX ISA: values of k that the lanes of a row hold at the same
  // position of a register are adjacent, both in A and in B. Sums are exact, so the order does not
  // matter.
  double a[kM][kMaxK];
  std::int32_t a_exponent[kM][kMaxK];
  SumRow b[kMaxK];
  ExponentRow b_exponent[kMaxK];
  Elements in;
  unsigned k = 0;
  for (unsigned r = 0; k < k_count; ++r) {
    for (unsigned i = 0; i < per_register; ++i, k += kQuarter) {
      for (unsigned half = 0; half < 2; ++half) {
        in.read(warp.registers[next_register(op.from[0], 2 * r + half).index], type, i);
        for (unsigned m = 0; m < kM / 2; ++m) {
          std::memcpy(&a[m + 8 * half][k], &in.values[kQuarter * m], kQuarter * sizeof a[0][0]);
          std::memcpy(&a_exponent[m + 8 * half][k], &in.exponents[kQuarter * m],
                      kQuarter * sizeof a_exponent[0][0]);
        }
      }
      in.read(warp.registers[next_register(op.from[1], r).index], type_of_b, i);
      for (unsigned l = 0; l < kLanes; ++l) {
        b[k + l % kQuarter][l / kQuarter] = in.values[l];
        b_exponent[k + l % kQuarter][l / kQuarter] = in.exponents[l];
      }
    }
  }
  const bool is_half = op.kind2 != 0;  // C and D are fp16
  SumRow sum[kM];
  ExponentRow c_exponent[kM];
  for (unsigned i = 0; i < 4; ++i) {
    const Lanes32& c = warp.registers[next_register(op.from[2], is_half ? i / 2 : i).index];
    if (is_half) {
      in.read<kFp16>(c, 16 * (i % 2));
    } else {
      in.read<kFp32>(c, 0);
    }
    for (unsigned l = 0; l < kLanes; ++l) {
      const unsigned m = l / 4 + 8 * (i / 2);
      const unsigned n = 2 * (l % 4) + i % 2;
      sum[m][n] = in.values[l];
      c_exponent[m][n] = in.exponents[l];
    }
  }
  std::uint32_t bits_of[kM][kN];
  for (unsigned m = 0; m < kM; ++m) {
    const TensorFactors factors{a[m], a_exponent[m], b, b_exponent, k_count};
    SumRow exact = sum[m];
    if (in.finite) add_products(factors, exact, c_exponent[m], kSumPlaces);
    if (in.finite && !is_half && sums_to_fp32(exact, bits_of[m])) continue;
    for (unsigned n = 0; n < kN; ++n) {
      const double value =
          in.finite ? exact[n] : sum_of_any(factors, n, sum[m][n], c_exponent[m][n], kSumPlaces);
      bits_of[m][n] = is_half ? sum_to_fp16(value) : sum_to_fp32(value);
      if (value == 0 && is_negative_zero(factors, n, sum[m][n]))
        bits_of[m][n] = is_half ? 0x8000 : kSign32;
    }
  }
  std::array<Lanes32, 4> d;
  for (unsigned i = 0; i < 4; ++i) {
    for (unsigned l = 0; l < kLanes; ++l) {
      const std::uint32_t bits = bits_of[l / 4 + 8 * (i / 2)][2 * (l % 4) + i % 2];
      if (is_half) {
        std::uint32_t& pair = d[i / 2][l];
        pair = i % 2 == 0 ? bits : (pair | bits << 16);
      } else {
        d[i][l] = bits;
      }
    }
  }
  for (unsigned i = 0; i < (is_half ? 2u : 4u); ++i)
    write(warp, next_register(op.to[0], i), lanes, d[i]);
}

void decode_hmma(const Decoding& in, Op& op) {
  if (in.has("SP")) in.refuse("products of sparse matrices (mma.sp) are not simulated");
  in.refuse_operands_if(in.operands.size() != 4 || in.modifiers.size() < 2);
  place(in, op);
  const std::string_view shape = in.modifiers.front();
  op.value = shape == "16816" ? 16 : shape == "1688" ? 8 : shape == "1684" ? 4 : 0;
  op.kind = static_cast<std::uint8_t>(in.has("TF32")   ? Element::tf32
                                      : in.has("BF16") ? Element::bf16
                                                       : Element::f16);
  op.bank = op.kind;
  op.kind2 = in.modifiers[1] == "F16";
  if (op.value == 0 || (shape == "1684" && !in.has("TF32")))
    in.refuse("this shape is not executed");
  op.run = run_mma;
}

// QMMA.16832.F32.E4M3.E5M2 (compute capability 8.9 and 12.0): A and B have elements of 8 bits. The
// places that its sums keep are not known, and assumed to be those of HMMA.
void decode_qmma(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() != 4);
  in.refuse_form_if(in.modifiers.size() != 4 || in.modifiers[0] != "16832");
  place(in, op);
  const auto type_of = [&](std::string_view name) {
    in.refuse_form_if(name != "E4M3" && name != "E5M2");
    return static_cast<std::uint8_t>(name == "E4M3" ? Element::e4m3 : Element::e5m2);
  };
  op.value = 32;
  op.kind = type_of(in.modifiers[2]);
  op.bank = type_of(in.modifiers[3]);
  op.kind2 = in.modifiers[1] == "F16";
  op.run = run_mma;
}

// DMMA: lane l holds row l / 4 of A and, if A has 16 rows, row l / 4 + 8, at k = l mod 4, l mod 4 +
// 4, … It holds column l / 4 of B at the same k. Products are added in ascending order of k.
void run_dmma(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != kAllLanes) throw Fault("mma is executed by only some lanes of a warp");
  const unsigned rows = op.kind;
  const unsigned k_count = op.value;
  const unsigned halves = rows / 8;
  double a[16][kMaxK];
  double b[kMaxK][kN];
  const auto value = [&](const Source& from, unsigned place, unsigned lane) {
    const Source at = next_register(from, 2 * place);
    const std::uint64_t low = warp.registers[at.index][lane];
    const std::uint64_t high = warp.registers[next_register(at).index][lane];
    return std::bit_cast<double>(low | high << 32);
  };
  for (unsigned l = 0; l < kLanes; ++l) {
    for (unsigned k = 0; k < k_count / 4; ++k) {
      for (unsigned half = 0; half < halves; ++half)
        a[l / 4 + 8 * half][4 * k + l % 4] = value(op.from[0], halves * k + half, l);
      b[4 * k + l % 4][l / 4] = value(op.from[1], k, l);
    }
  }
  std::array<Lanes64, 4> d;
  for (unsigned l = 0; l < kLanes; ++l) {
    for (unsigned i = 0; i < 2 * halves; ++i) {
      const unsigned row = l / 4 + 8 * (i / 2);
      const unsigned column = 2 * (l % 4) + i % 2;
      double sum = value(op.from[2], i, l);
      for (unsigned k = 0; k < k_count; ++k)
        sum = std::fma(a[row][k], b[k][column], sum);
      d[i][l] = std::bit_cast<std::uint64_t>(sum);
    }
  }
  for (unsigned i = 0; i < 2 * halves; ++i)
    write_pair(warp, next_register(op.to[0], 2 * i), lanes, d[i]);
}

void decode_dmma(const Decoding& in, Op& op) {
  in.refuse_form_if(in.operands.size() != 4 || in.modifiers.size() != 1);
  place(in, op);
  const std::string_view shape = in.modifiers.front();
  const bool has_8_rows = shape == "8x8x4" || shape == "884";  // "884" before Hopper
  op.kind = has_8_rows ? 8 : 16;
  op.value = has_8_rows || shape == "16x8x4" ? 4
             : shape == "16x8x8"             ? 8
             : shape == "16x8x16"            ? 16
                                             : 0;
  if (op.value == 0) in.refuse("this shape is not executed");
  op.run = run_dmma;
}

// MOVM transposes a matrix of 8 × 8 values of 16 bits; each lane holds two values.
GPUEXP_VECTORIZED void run_movm(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != kAllLanes) throw Fault("movmatrix is executed by only some lanes of a warp");
  const Lanes32& a = warp.registers[op.from[0].index];
  Lanes32 result;
  const auto value = [&](unsigned row, unsigned column) {
    return a[4 * row + column / 2] >> 16 * (column % 2) & 0xffff;
  };
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned row = l / 4;
    const unsigned column = 2 * (l % 4);
    result[l] = value(column, row) | value(column + 1, row) << 16;
  }
  write(warp, op.to[0], lanes, result);
}

void decode_movm(const Decoding& in, Op& op) {
  in.refuse_form_if(in.operands.size() != 2 || !in.has("16") || !in.has("MT88"));
  place(in, op);
  op.run = run_movm;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"HMMA", decode_hmma},
    {"QMMA", decode_qmma},
    {"DMMA", decode_dmma},
    {"MOVM", decode_movm},
};

}  // namespace

std::span<const OpcodeDecoder> matrix_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
