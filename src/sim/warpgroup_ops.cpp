#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "sim/matrix_descriptor.hpp"
#include "sim/opcodes.hpp"
#include "sim/registers.hpp"
#include "sim/small_floats.hpp"
#include "sim/tensor_sum.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

constexpr unsigned kWarps = 4;
constexpr unsigned kM = 16;  // rows of D per warp; the warpgroup has 64
constexpr unsigned kMaxN = 256;
constexpr unsigned kMaxK = 32;
constexpr unsigned kUnitBytes = 16;

// ---- modifiers of an instruction

enum class Element : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };
enum class Sum : std::uint8_t { f32, f16, s32, s32_saturated };

/// Op::value: number of columns and these flags.
constexpr std::uint32_t kColumnsMask = 0x1ff;
constexpr std::uint32_t kNegatesA = 1 << 9;
constexpr std::uint32_t kNegatesB = 1 << 10;
constexpr std::uint32_t kTransposesA = 1 << 11;
constexpr std::uint32_t kTransposesB = 1 << 12;
constexpr std::uint32_t kCommits = 1 << 13;

constexpr unsigned bytes_of(Element type) {
  return type == Element::tf32 ? 4 : type == Element::f16 || type == Element::bf16 ? 2 : 1;
}

GPUEXP_INLINED double element_of(std::uint32_t bits, Element type) {
  switch (type) {
    case Element::f16: return value_of<kFp16>(bits);
    case Element::bf16: return value_of<kBf16>(bits);
    case Element::tf32: return std::bit_cast<float>(bits & ~std::uint32_t{0x1fff});
    case Element::e4m3: return value_of_e4m3(bits);
    case Element::e5m2: return value_of<kE5m2>(bits);
    case Element::s8: return static_cast<std::int8_t>(bits);
    case Element::u8: return static_cast<std::uint8_t>(bits);
  }
  return 0;
}

GPUEXP_INLINED std::int32_t exponent_of(std::uint32_t bits, Element type) {
  switch (type) {
    case Element::f16: return tensor_exponent<kFp16>(bits);
    case Element::bf16: return tensor_exponent<kBf16>(bits);
    case Element::tf32: return tensor_exponent<kTf32>(bits >> 13);
    case Element::e4m3: return tensor_exponent<kE4m3>(bits);
    case Element::e5m2: return tensor_exponent<kE5m2>(bits);
    default: return 0;  // integers: their sums are exact
  }
}

struct Number {
  double value;
  std::int32_t exponent;
};

GPUEXP_INLINED Number number_of(std::uint32_t bits, Element type) {
  return {element_of(bits, type), exponent_of(bits, type)};
}

// ---- operands

GPUEXP_INLINED void read_unit(Warp& warp, std::uint32_t address, Element type, Number* values) {
  std::uint32_t words[kUnitBytes / 4];
  std::memcpy(words, warp.block.shared_at(address, kUnitBytes, kUnitBytes), kUnitBytes);
  const unsigned bytes = bytes_of(type);
  for (unsigned i = 0; i < kUnitBytes / bytes; ++i)
    values[i] = number_of(words[i * bytes / 4] >> 8 * (i * bytes % 4), type);
}

MatrixDescriptor descriptor_at(const Warp& warp, unsigned index) {
  return MatrixDescriptor::from_bits(warp.uniform[index] |
                                     static_cast<std::uint64_t>(warp.uniform[index + 1]) << 32);
}

/// Reads `count` rows of A (or columns of B) from `first` on. put(row, k, value) stores an element.
template <class Put>
GPUEXP_INLINED void read_matrix(Warp& warp, const MatrixDescriptor& matrix, bool is_transposed,
                                Element type, unsigned first, unsigned count, const Put& put) {
  const unsigned per_unit = kUnitBytes / bytes_of(type);
  const unsigned depth = 2 * per_unit;  // 32 bytes along K for every type
  Number values[kUnitBytes];
  if (is_transposed) {
    for (unsigned k = 0; k < depth; ++k) {
      for (unsigned row = 0; row < count; row += per_unit) {
        read_unit(warp, matrix.mn_major(k, (first + row) / per_unit), type, values);
        for (unsigned i = 0; i < per_unit; ++i)
          put(row + i, k, values[i]);
      }
    }
    return;
  }
  for (unsigned row = 0; row < count; ++row) {
    for (unsigned unit = 0; unit < 2; ++unit) {
      read_unit(warp, matrix.k_major(first + row, unit), type, values);
      for (unsigned i = 0; i < per_unit; ++i)
        put(row, unit * per_unit + i, values[i]);
    }
  }
}

constexpr unsigned kRows = kMaxN / kRowColumns;  // maximum number of groups of columns of B

struct Product {
  double a[kM][kMaxK];
  std::int32_t a_exponent[kM][kMaxK];
  SumRow b[kRows][kMaxK];
  ExponentRow b_exponent[kRows][kMaxK];
  SumRow sum[kM][kRows];
  ExponentRow sum_exponent[kM][kRows];
  bool finite;

  void put_a(unsigned m, unsigned k, const Number& number) {
    a[m][k] = number.value;
    a_exponent[m][k] = number.exponent;
    finite = finite && std::isfinite(number.value);
  }
  void put_b(unsigned n, unsigned k, const Number& number) {
    b[n / kRowColumns][k][n % kRowColumns] = number.value;
    b_exponent[n / kRowColumns][k][n % kRowColumns] = number.exponent;
    finite = finite && std::isfinite(number.value);
  }
  void put_sum(unsigned m, unsigned n, const Number& number) {
    sum[m][n / kRowColumns][n % kRowColumns] = number.value;
    sum_exponent[m][n / kRowColumns][n % kRowColumns] = number.exponent;
    finite = finite && std::isfinite(number.value);
  }
};

/// Reads A from registers: each register has 4 bytes of row l / 4 or l / 4 + 8. Registers 2 and 3
/// continue the rows along K.
GPUEXP_INLINED void read_register_a(const Warp& warp, const Source& from, Element type,
                                    Product& p) {
  const unsigned bytes = bytes_of(type);
  const unsigned per_register = 4 / bytes;
  for (unsigned r = 0; r < 4; ++r) {
    const Lanes32& words = warp.registers[next_register(from, r).index];
    for (unsigned l = 0; l < kLanes; ++l) {
      for (unsigned i = 0; i < per_register; ++i)
        p.put_a(l / 4 + 8 * (r % 2), (r / 2 * 4 + l % 4) * per_register + i,
                number_of(words[l] >> 8 * bytes * i, type));
    }
  }
}

// ---- sums: lane l has rows l / 4 and l / 4 + 8 and, of 8 columns, two starting at 2 (l mod 4)

template <class Visit>
GPUEXP_INLINED void for_each_sum(unsigned columns, bool is_half, const Visit& visit) {
  for (unsigned j = 0; j < columns / 8; ++j) {
    for (unsigned half = 0; half < 2; ++half) {
      for (unsigned e = 0; e < 2; ++e) {
        const unsigned place = is_half ? 2 * j + half : 4 * j + 2 * half + e;
        for (unsigned l = 0; l < kLanes; ++l)
          visit(place, l, e, l / 4 + 8 * half, 8 * j + 2 * (l % 4) + e);
      }
    }
  }
}

GPUEXP_INLINED Number sum_of(std::uint32_t bits, unsigned e, Sum type) {
  switch (type) {
    case Sum::f32: return {std::bit_cast<float>(bits), tensor_exponent<kFp32>(bits)};
    case Sum::f16: return {value_of<kFp16>(bits >> 16 * e), tensor_exponent<kFp16>(bits >> 16 * e)};
    default: return {static_cast<double>(static_cast<std::int32_t>(bits)), 0};
  }
}

GPUEXP_INLINED std::uint32_t integer_sum(double exact, Sum type) {
  constexpr double kMinInt32 = -2147483648.0;
  constexpr double kMaxInt32 = 2147483647.0;
  if (type == Sum::s32_saturated) exact = std::clamp(exact, kMinInt32, kMaxInt32);
  return static_cast<std::uint32_t>(static_cast<std::int64_t>(exact));
}

GPUEXP_INLINED std::uint32_t float_sum(double exact, bool is_fp8, Sum type) {
  if (type == Sum::f16) return sum_to_fp16(exact);
  return is_fp8 ? fp8_sum_to_fp32(exact) : sum_to_fp32(exact);
}

void note_matrix_loads(Warp& warp, std::uint32_t start, std::uint32_t bytes) {
  Lanes64 range{};
  range[0] = start;
  warp.block.note({Space::shared, Access::matrix_load, bytes, 1, range});
}

// Each warp computes its own 16 rows when it executes the instruction, although the hardware
// computes all 64 rows together. The results are the same: A and B do not change before all four
// warps have started the product, because no thread may write them before run_wait(), which waits
// for all four warps.
GPUEXP_VECTORIZED void run_wgmma(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != kAllLanes) throw Fault("wgmma is executed by only some lanes of a warp");
  if (warp.block.launch.is_alone) return;
  if ((warp.index / kWarps + 1) * kWarps > warp.block.warps().size())
    throw Fault("wgmma is executed by fewer than four warps");
  thread_local Product product;
  Product& p = product;
  p.finite = true;
  const auto a_type = static_cast<Element>(op.kind & 0xf);
  const auto b_type = static_cast<Element>(op.kind >> 4);
  const auto sum_type = static_cast<Sum>(op.kind2);
  const unsigned columns = op.value & kColumnsMask;
  const unsigned depth = 2 * kUnitBytes / bytes_of(a_type);
  const bool a_in_registers = op.from[0].kind == Kind::reg;
  const unsigned b_at = op.from[1].index + (a_in_registers ? 0u : 2u);
  const MatrixDescriptor b = descriptor_at(warp, b_at);
  note_matrix_loads(warp, b.start, columns * 2 * kUnitBytes);
  if (op.is_idle) {
    if (!a_in_registers)
      note_matrix_loads(warp, descriptor_at(warp, op.from[1].index).start, kM * 2 * kUnitBytes);
    warp.product_groups += (op.value & kCommits) != 0;
    return;
  }
  read_matrix(warp, b, op.value & kTransposesB, b_type, 0, columns,
              [&](unsigned n, unsigned k, const Number& number) { p.put_b(n, k, number); });
  if (a_in_registers) {
    read_register_a(warp, op.from[0], a_type, p);
  } else {
    const MatrixDescriptor a = descriptor_at(warp, op.from[1].index);
    note_matrix_loads(warp, a.start, kM * 2 * kUnitBytes);
    read_matrix(warp, a, op.value & kTransposesA, a_type, warp.index % kWarps * kM, kM,
                [&](unsigned m, unsigned k, const Number& number) { p.put_a(m, k, number); });
  }
  const bool negates = ((op.value & kNegatesA) != 0) != ((op.value & kNegatesB) != 0);
  const bool adds = op.from[3].kind == Kind::none || read_predicate(warp, op.from[3]) != 0;
  const bool is_half = sum_type == Sum::f16;
  for_each_sum(
      columns, is_half, [&](unsigned place, unsigned l, unsigned e, unsigned m, unsigned n) {
        const Source c = next_register(op.from[2], place);
        p.put_sum(m, n,
                  adds ? sum_of(warp.registers[c.index][l], e, sum_type) : Number{0, kNoExponent});
      });
  if (negates) {
    for (auto& row : p.a) {
      for (unsigned k = 0; k < depth; ++k)
        row[k] = -row[k];
    }
  }
  const bool is_fp8 = a_type == Element::e4m3 || a_type == Element::e5m2;
  const bool is_integer = a_type == Element::s8 || a_type == Element::u8;
  const int places = is_fp8 ? kFp8SumPlaces : kSumPlaces;
  thread_local std::uint32_t bits[kM][kMaxN];
  for (unsigned m = 0; m < kM; ++m) {
    for (unsigned n = 0; n < columns; n += kRowColumns) {
      const unsigned row = n / kRowColumns;
      const TensorFactors factors{p.a[m], p.a_exponent[m], p.b[row], p.b_exponent[row], depth};
      const SumRow c = p.sum[m][row];
      SumRow exact = c;
      if (is_integer) {
        for (unsigned k = 0; k < depth; ++k)
          exact += p.a[m][k] * p.b[row][k];
      } else if (p.finite) {
        add_products(factors, exact, p.sum_exponent[m][row], places);
      }
      for (unsigned column = 0; column < kRowColumns; ++column) {
        std::uint32_t& result = bits[m][n + column];
        if (is_integer) {
          result = integer_sum(exact[column], sum_type);
          continue;
        }
        const double value = p.finite ? exact[column]
                                      : sum_of_any(factors, column, c[column],
                                                   p.sum_exponent[m][row][column], places);
        result = float_sum(value, is_fp8, sum_type);
        if (value == 0 && is_negative_zero(factors, column, c[column]))
          result = is_half ? 0x8000 : kSign32;
      }
    }
  }
  for_each_sum(columns, is_half,
               [&](unsigned place, unsigned l, unsigned e, unsigned m, unsigned n) {
                 std::uint32_t& d = warp.registers[next_register(op.to[0], place).index][l];
                 const std::uint32_t sum = bits[m][n];
                 d = !is_half ? sum : e == 0 ? (d & 0xffff0000u) | sum : (d & 0xffffu) | sum << 16;
               });
  if (op.value & kCommits) ++warp.product_groups;
}

// Number of columns in a shape such as "64x256x16"; 0 if the type does not have this shape.
unsigned columns_of(std::string_view shape, unsigned depth) {
  if (take_until(shape, "x") != "64") return 0;
  const unsigned columns = take_number<unsigned>(shape).value_or(0);
  if (columns < 8 || columns > kMaxN || columns % 8 != 0) return 0;
  return shape == fmt::format("x{}", depth) ? columns : 0;
}

std::optional<Element> element_named(std::string_view name) {
  constexpr std::pair<std::string_view, Element> kNames[] = {
      {"E4M3", Element::e4m3}, {"E5M2", Element::e5m2}, {"S8", Element::s8}, {"U8", Element::u8}};
  for (const auto& [known, element] : kNames) {
    if (known == name) return element;
  }
  return std::nullopt;
}

// HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4].tnspB, R24, UP0, gsb0: UR4 to UR7 are the descriptors of
// A and B. If A is in registers, UR4 and UR5 are B's descriptor. UP0 selects whether C is added;
// without a predicate, it is. gsb0: this product is the last of its group.
void place_operands(const Decoding& in, Op& op) {
  std::size_t next = 0;
  const auto operand = [&]() -> const Operand& {
    in.refuse_operands_if(next >= in.operands.size());
    return in.operands[next++];
  };
  op.to[0] = source_of(operand());
  if (const Operand& a = operand(); a.kind == Kind::reg) {
    op.from[0] = source_of(a);
    if (a.negated) op.value |= kNegatesA;
  } else {
    --next;
  }
  const Operand& matrices = operand();
  // Two registers for each of the descriptors of A and B.
  constexpr unsigned kLast = kZeroUniformRegister - 4;
  in.refuse_operands_if(matrices.kind != Kind::matrices || matrices.index > kLast);
  op.from[1] = source_of(matrices);
  const auto flag = [&](std::string_view name, std::uint32_t bit) {
    if (matrices.text.find(name) != std::string_view::npos) op.value |= bit;
  };
  flag(".negA", kNegatesA);
  flag(".negB", kNegatesB);
  flag(".tnspA", kTransposesA);
  flag(".tnspB", kTransposesB);
  op.from[2] = source_of(operand());
  for (; next < in.operands.size(); ++next) {
    const Operand& more = in.operands[next];
    if (more.text == "gsb0") {
      op.value |= kCommits;
    } else if (more.kind == Kind::predicate || more.kind == Kind::uniform_predicate) {
      op.from[3] = source_of(more);
    } else {
      in.refuse("its operands are not understood");
    }
  }
}

void decode_product(const Decoding& in, Op& op, Element a, Element b, Sum sum) {
  op.kind = static_cast<std::uint8_t>(static_cast<unsigned>(a) | static_cast<unsigned>(b) << 4);
  op.kind2 = static_cast<std::uint8_t>(sum);
  op.value = columns_of(in.modifiers.front(), 2 * kUnitBytes / bytes_of(a));
  if (op.value == 0) in.refuse("this shape is not executed");
  place_operands(in, op);
  op.run = run_wgmma;
}

Sum float_sum_of(const Decoding& in) {
  in.refuse_form_if(in.modifiers.size() < 2 ||
                    (in.modifiers[1] != "F32" && in.modifiers[1] != "F16"));
  return in.modifiers[1] == "F16" ? Sum::f16 : Sum::f32;
}

void decode_hgmma(const Decoding& in, Op& op) {
  const Sum sum = float_sum_of(in);
  in.refuse_form_if(in.modifiers.size() > (in.has("TF32") || in.has("BF16") ? 3u : 2u));
  const Element type = in.has("TF32")   ? Element::tf32
                       : in.has("BF16") ? Element::bf16
                                        : Element::f16;
  decode_product(in, op, type, type, sum);
}

void decode_qgmma(const Decoding& in, Op& op) {
  const Sum sum = float_sum_of(in);
  in.refuse_form_if(in.modifiers.size() != 4);
  const auto a = element_named(in.modifiers[2]);
  const auto b = element_named(in.modifiers[3]);
  in.refuse_form_if(!a || !b);
  decode_product(in, op, *a, *b, sum);
}

void decode_igmma(const Decoding& in, Op& op) {
  in.refuse_form_if(in.modifiers.size() != (in.has("SAT") ? 4u : 3u));
  const auto a = element_named(in.modifiers[1]);
  const auto b = element_named(in.modifiers[2]);
  in.refuse_form_if(!a || !b);
  decode_product(in, op, *a, *b, in.has("SAT") ? Sum::s32_saturated : Sum::s32);
}

// ---- waits

// wgmma.wait_group: a group is complete when all four warps have computed their rows, so a warp
// that is ahead of the others repeats the instruction. Kernels may let one thread of the four warps
// signal the producer that A and B can be overwritten.
void run_wait(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != kAllLanes) throw Fault("wgmma.wait_group is executed by only some lanes of a warp");
  if (warp.block.launch.is_alone) return;
  const unsigned first = warp.index / kWarps * kWarps;
  const auto& warps = warp.block.warps();
  for (std::size_t w = first; w < std::min<std::size_t>(first + kWarps, warps.size()); ++w) {
    const Warp& other = *warps[w];
    if (other.product_groups + op.value >= warp.product_groups) continue;
    if (other.divergence.has_exited())
      throw Fault("a warp ends before it has started the products of its warpgroup");
    warp.divergence.go_to(warp.divergence.next() - 1);
    return warp.wait();
  }
}

// WARPGROUP.ARRIVE (wgmma.fence) orders register accesses, which the simulator always executes in
// order. WARPGROUP.DEPBAR.LE gsb0, 0x1 waits.
void decode_warpgroup(const Decoding& in, Op& op) {
  if (in.has("ARRIVE")) {
    op.run = run_noop;
    return;
  }
  in.refuse_form_if(!in.has("DEPBAR") || !in.has("LE") || in.operands.size() != 2);
  op.value = static_cast<std::uint32_t>(in.operands[1].value);
  op.run = run_wait;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"HGMMA", decode_hgmma},
    {"QGMMA", decode_qgmma},
    {"IGMMA", decode_igmma},
    {"WARPGROUP", decode_warpgroup},
};

}  // namespace

std::span<const OpcodeDecoder> warpgroup_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
