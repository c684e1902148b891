#include "sim/warpgroup_ops.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "sim/matrix_descriptor.hpp"
#include "sim/registers.hpp"
#include "sim/small_floats.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

constexpr unsigned kWarps = 4;
constexpr unsigned kM = 16;  // rows of D that one warp holds, of 64
constexpr unsigned kMostN = 256;
constexpr unsigned kMostK = 32;
constexpr unsigned kUnitBytes = 16;

// ---- what an instruction's words come to

enum class Element : std::uint8_t { f16, bf16, tf32, e4m3, e5m2, s8, u8 };
enum class Sum : std::uint8_t { f32, f16, s32, s32_saturated };

/// Op::value: the columns, and these.
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

// ---- operands

template <Element type>
GPUEXP_INLINED void convert_unit(const std::uint32_t (&words)[kUnitBytes / 4], double* values) {
  constexpr unsigned kBytes = bytes_of(type);
  constexpr unsigned kPerWord = 4 / kBytes;
  for (unsigned w = 0; w < kUnitBytes / 4; ++w) {
    for (unsigned i = 0; i < kPerWord; ++i)
      values[w * kPerWord + i] = element_of(words[w] >> 8 * kBytes * i, type);
  }
}

/// The elements of 16 bytes of shared memory.
GPUEXP_INLINED void read_unit(Warp& warp, std::uint32_t address, Element type, double* values) {
  std::uint32_t words[kUnitBytes / 4];
  std::memcpy(words, warp.block.shared_at(address, kUnitBytes, kUnitBytes), kUnitBytes);
  switch (type) {
    case Element::f16: return convert_unit<Element::f16>(words, values);
    case Element::bf16: return convert_unit<Element::bf16>(words, values);
    case Element::tf32: return convert_unit<Element::tf32>(words, values);
    case Element::e4m3: return convert_unit<Element::e4m3>(words, values);
    case Element::e5m2: return convert_unit<Element::e5m2>(words, values);
    case Element::s8: return convert_unit<Element::s8>(words, values);
    case Element::u8: return convert_unit<Element::u8>(words, values);
  }
}

MatrixDescriptor descriptor_at(const Warp& warp, unsigned index) {
  return MatrixDescriptor::from_bits(warp.uniform[index] |
                                     static_cast<std::uint64_t>(warp.uniform[index + 1]) << 32);
}

/// Rows (of A; of B its columns) from `first` on, `count` of them; put(row, k, value) keeps each.
template <class Put>
GPUEXP_INLINED void read_matrix(Warp& warp, const MatrixDescriptor& matrix, bool is_transposed,
                                Element type, unsigned first, unsigned count, const Put& put) {
  const unsigned per_unit = kUnitBytes / bytes_of(type);
  const unsigned depth = 2 * per_unit;  // 32 bytes along K, whatever the type
  double values[kUnitBytes];
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

/// A row of sums, as a compiler keeps it in a vector register; two of them it keeps on the stack.
using Row = double __attribute__((vector_size(32)));
constexpr unsigned kRowSums = 4;

/// Rows are a vector longer than they need to be: rows of 2 KiB would share few sets of L1.
struct Product {
  double a[kM][kMostK];
  alignas(64) double b[kMostK][kMostN + kRowSums];
  alignas(64) double sum[kM][kMostN + kRowSums];
};

/// Of A in registers, each has 4 bytes: rows l / 4 and l / 4 + 8, and behind them along K again.
GPUEXP_INLINED void read_register_a(const Warp& warp, const Source& from, Element type,
                                    Product& p) {
  const unsigned bytes = bytes_of(type);
  const unsigned per_register = 4 / bytes;
  for (unsigned r = 0; r < 4; ++r) {
    const Lanes32& words = warp.registers[next_register(from, r).index];
    for (unsigned l = 0; l < kLanes; ++l) {
      for (unsigned i = 0; i < per_register; ++i)
        p.a[l / 4 + 8 * (r % 2)][(r / 2 * 4 + l % 4) * per_register + i] =
            element_of(words[l] >> 8 * bytes * i, type);
    }
  }
}

// ---- sums: a lane has rows l / 4 and l / 4 + 8, and of each 8 columns two from 2 (l mod 4) on

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

GPUEXP_INLINED double sum_of(std::uint32_t bits, unsigned e, Sum type) {
  switch (type) {
    case Sum::f32: return std::bit_cast<float>(bits);
    case Sum::f16: return value_of<kFp16>(bits >> 16 * e);
    default: return static_cast<std::int32_t>(bits);
  }
}

GPUEXP_INLINED std::uint32_t rounded_sum(double exact, std::uint32_t before, unsigned e, Sum type) {
  constexpr double kLeast = -2147483648.0;
  constexpr double kMost = 2147483647.0;
  switch (type) {
    case Sum::f32: {
      const auto rounded = static_cast<float>(exact);
      return rounded != rounded ? 0x7fffffff : std::bit_cast<std::uint32_t>(rounded);
    }
    case Sum::f16: {
      const std::uint32_t half = round_to<kFp16>(exact);
      return e == 0 ? (before & 0xffff0000u) | half : (before & 0xffffu) | half << 16;
    }
    case Sum::s32:  // modulo 2^32
      return static_cast<std::uint32_t>(static_cast<std::int64_t>(exact));
    case Sum::s32_saturated:
      return static_cast<std::uint32_t>(
          static_cast<std::int32_t>(std::clamp(exact, kLeast, kMost)));
  }
  return 0;
}

void note_matrix_loads(Warp& warp, std::uint32_t start, std::uint32_t bytes) {
  Lanes64 range{};
  range[0] = start;
  warp.block.note({Space::shared, Access::matrix_load, bytes, 1, range});
}

// Each warp computes its own 16 rows when it comes here. That is exact, though the hardware
// computes all 64 together: no warp needs another's rows, and A and B stay as they are until all
// four have started the product, because run_wait holds back who waits for it, and without waiting
// nobody may write them.
GPUEXP_VECTORIZED void run_wgmma(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != kAllLanes) throw Fault("wgmma is executed by some lanes of a warp only");
  if ((warp.index / kWarps + 1) * kWarps > warp.block.warps().size())
    throw Fault("wgmma is executed by fewer than four warps");
  thread_local Product product;
  Product& p = product;
  const auto a_type = static_cast<Element>(op.kind & 0xf);
  const auto b_type = static_cast<Element>(op.kind >> 4);
  const auto sum_type = static_cast<Sum>(op.kind2);
  const unsigned columns = op.value & kColumnsMask;
  const unsigned depth = 2 * kUnitBytes / bytes_of(a_type);
  const bool a_in_registers = op.from[0].kind == Kind::reg;
  const unsigned b_at = op.from[1].index + (a_in_registers ? 0u : 2u);
  const MatrixDescriptor b = descriptor_at(warp, b_at);
  note_matrix_loads(warp, b.start, columns * 2 * kUnitBytes);
  read_matrix(warp, b, op.value & kTransposesB, b_type, 0, columns,
              [&](unsigned n, unsigned k, double value) { p.b[k][n] = value; });
  if (a_in_registers) {
    read_register_a(warp, op.from[0], a_type, p);
  } else {
    const MatrixDescriptor a = descriptor_at(warp, op.from[1].index);
    note_matrix_loads(warp, a.start, kM * 2 * kUnitBytes);
    read_matrix(warp, a, op.value & kTransposesA, a_type, warp.index % kWarps * kM, kM,
                [&](unsigned m, unsigned k, double value) { p.a[m][k] = value; });
  }
  const bool negates = ((op.value & kNegatesA) != 0) != ((op.value & kNegatesB) != 0);
  const bool adds = op.from[3].kind == Kind::none || read_predicate(warp, op.from[3]) != 0;
  const bool is_half = sum_type == Sum::f16;
  for_each_sum(columns, is_half,
               [&](unsigned place, unsigned l, unsigned e, unsigned m, unsigned n) {
                 const Source c = next_register(op.from[2], place);
                 p.sum[m][n] = adds ? sum_of(warp.registers[c.index][l], e, sum_type) : 0;
               });
  if (negates) {
    for (auto& row : p.a) {
      for (double& value : row)
        value = -value;
    }
  }
  for (unsigned n = 0; n < columns; n += kRowSums) {
    Row b_rows[kMostK];
    for (unsigned k = 0; k < depth; ++k)
      std::memcpy(&b_rows[k], &p.b[k][n], sizeof b_rows[k]);
    for (unsigned m = 0; m < kM; ++m) {
      Row sum;
      std::memcpy(&sum, &p.sum[m][n], sizeof sum);
      for (unsigned k = 0; k < depth; ++k)
        sum += p.a[m][k] * b_rows[k];
      std::memcpy(&p.sum[m][n], &sum, sizeof sum);
    }
  }
  for_each_sum(columns, is_half,
               [&](unsigned place, unsigned l, unsigned e, unsigned m, unsigned n) {
                 std::uint32_t& d = warp.registers[op.to[0].index + place][l];
                 d = rounded_sum(p.sum[m][n], d, e, sum_type);
               });
  if (op.value & kCommits) ++warp.product_groups;
}

// "64x256x16": the columns; 0 for another shape than the type has.
unsigned columns_of(std::string_view shape, unsigned depth) {
  unsigned columns = 0;
  if (!shape.starts_with("64x")) return 0;
  const auto [end, error] = std::from_chars(shape.data() + 3, shape.data() + shape.size(), columns);
  if (error != std::errc() || columns < 8 || columns > kMostN || columns % 8 != 0) return 0;
  return std::string_view(end, shape.data() + shape.size()) == fmt::format("x{}", depth) ? columns
                                                                                         : 0;
}

std::optional<Element> element_named(std::string_view name) {
  constexpr std::pair<std::string_view, Element> kNames[] = {
      {"E4M3", Element::e4m3}, {"E5M2", Element::e5m2}, {"S8", Element::s8}, {"U8", Element::u8}};
  for (const auto& [known, element] : kNames) {
    if (known == name) return element;
  }
  return std::nullopt;
}

// HGMMA.64x256x16.F32.BF16 R24, gdesc[UR4].tnspB, R24, UP0, gsb0: A's and B's descriptors are in
// UR4 to UR7, or A's elements are in registers, and B's descriptor is in UR4 and UR5. UP0: whether
// C is added, which it is without. gsb0: this product is the last of its group.
void place_operands(const Decoding& in, Op& op) {
  std::size_t next = 0;
  const auto operand = [&]() -> const Operand& {
    if (next >= in.operands.size()) in.refuse("its operands are not understood");
    return in.operands[next++];
  };
  op.to[0] = source_of(operand(), Reads::integer);
  if (const Operand& a = operand(); a.kind == Kind::reg) {
    op.from[0] = source_of(a, Reads::integer);
    if (a.negated) op.value |= kNegatesA;
  } else {
    --next;
  }
  const Operand& matrices = operand();
  if (matrices.kind != Kind::matrices) in.refuse("its operands are not understood");
  op.from[1] = source_of(matrices, Reads::integer);
  const auto flag = [&](std::string_view name, std::uint32_t bit) {
    if (matrices.text.find(name) != std::string_view::npos) op.value |= bit;
  };
  flag(".negA", kNegatesA);
  flag(".negB", kNegatesB);
  flag(".tnspA", kTransposesA);
  flag(".tnspB", kTransposesB);
  op.from[2] = source_of(operand(), Reads::integer);
  for (; next < in.operands.size(); ++next) {
    const Operand& more = in.operands[next];
    if (more.text == "gsb0") {
      op.value |= kCommits;
    } else if (more.kind == Kind::predicate || more.kind == Kind::uniform_predicate) {
      op.from[3] = source_of(more, Reads::integer);
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

Sum float_sum(const Decoding& in) {
  if (in.modifiers.size() < 2 || (in.modifiers[1] != "F32" && in.modifiers[1] != "F16"))
    in.refuse("this form is not executed");
  return in.modifiers[1] == "F16" ? Sum::f16 : Sum::f32;
}

void decode_hgmma(const Decoding& in, Op& op) {
  const Sum sum = float_sum(in);
  if (in.modifiers.size() > (in.has("TF32") || in.has("BF16") ? 3u : 2u))
    in.refuse("this form is not executed");
  const Element type = in.has("TF32")   ? Element::tf32
                       : in.has("BF16") ? Element::bf16
                                        : Element::f16;
  decode_product(in, op, type, type, sum);
}

void decode_qgmma(const Decoding& in, Op& op) {
  const Sum sum = float_sum(in);
  if (in.modifiers.size() != 4) in.refuse("this form is not executed");
  const auto a = element_named(in.modifiers[2]);
  const auto b = element_named(in.modifiers[3]);
  if (!a || !b) in.refuse("this form is not executed");
  decode_product(in, op, *a, *b, sum);
}

void decode_igmma(const Decoding& in, Op& op) {
  if (in.modifiers.size() != (in.has("SAT") ? 4u : 3u)) in.refuse("this form is not executed");
  const auto a = element_named(in.modifiers[1]);
  const auto b = element_named(in.modifiers[2]);
  if (!a || !b) in.refuse("this form is not executed");
  decode_product(in, op, *a, *b, in.has("SAT") ? Sum::s32_saturated : Sum::s32);
}

// ---- waits

// wgmma.wait_group: a group is complete when all four warps' rows are, so who runs ahead of the
// others comes again. A kernel may have one thread of the four warps tell the producer that A and B
// may be overwritten.
void run_wait(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != kAllLanes) throw Fault("wgmma.wait_group is executed by some lanes of a warp only");
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

// WARPGROUP.ARRIVE (wgmma.fence) orders registers, which are in order here.
void run_nothing(Warp&, const Op&, LaneMask) {}

// WARPGROUP.DEPBAR.LE gsb0, 0x1
void decode_warpgroup(const Decoding& in, Op& op) {
  if (in.has("ARRIVE")) {
    op.run = run_nothing;
    return;
  }
  if (!in.has("DEPBAR") || !in.has("LE") || in.operands.size() != 2)
    in.refuse("this form is not executed");
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
