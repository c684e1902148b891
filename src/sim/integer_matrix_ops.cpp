#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#include "base/text_parts.hpp"
#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

// Layout of fragments in mma.sync (PTX ISA): lane l holds row l / 4 of A and D and, if A has 16
// rows, row l / 4 + 8, and column l / 4 of B. A register holds 32 / bits consecutive elements along
// k. The registers of lanes with l mod 4 = 0, 1, 2, 3 follow each other along k, then the lanes'
// next registers.

constexpr unsigned kMaxRows = 16;
constexpr unsigned kColumns = 8;
constexpr unsigned kLanesOfRow = 4;
constexpr unsigned kMaxK = 64;      ///< integers of 4 or 8 bits
constexpr unsigned kMaxKWords = 8;  ///< words of single bits
constexpr unsigned kWordBits = 32;

/// Op::kind and Op::kind2 of IMMA: the types of A and B.
constexpr std::uint8_t kSignedElements = 1;
constexpr std::uint8_t kNibbles = 2;
/// Op::width of IMMA and BMMA: whether D is clamped to 32 bits instead of wrapping around.
constexpr std::uint8_t kClamps = 1;
/// Op::bank of IMMA and BMMA: number of rows of A.
unsigned rows_of(const Op& op) {
  return op.bank;
}

std::int32_t element_of(std::uint32_t word, unsigned place, std::uint8_t type) {
  const unsigned bits = type & kNibbles ? 4 : 8;
  const std::uint32_t up = word << (kWordBits - bits * (place + 1));
  return type & kSignedElements ? static_cast<std::int32_t>(up) >> (kWordBits - bits)
                                : static_cast<std::int32_t>(up >> (kWordBits - bits));
}

// Calls product(row, column) for each element of D and adds it to that of C.
template <class Product>
void add_products_to(Warp& warp, const Op& op, const Product& product) {
  const unsigned registers = rows_of(op) / 4;
  std::array<Lanes32, 4> d;
  for (unsigned l = 0; l < kLanes; ++l) {
    for (unsigned i = 0; i < registers; ++i) {
      const unsigned row = l / 4 + 8 * (i / 2);
      const unsigned column = 2 * (l % 4) + i % 2;
      const std::uint32_t c = warp.registers[next_register(op.from[2], i).index][l];
      const std::int64_t sum = std::int64_t{static_cast<std::int32_t>(c)} + product(row, column);
      d[i][l] = static_cast<std::uint32_t>(
          op.width == kClamps ? std::clamp<std::int64_t>(sum, INT32_MIN, INT32_MAX) : sum);
    }
  }
  for (unsigned i = 0; i < registers; ++i)
    write(warp, next_register(op.to[0], i), kAllLanes, d[i]);
}

// Calls store(row or column, word number along k, word) for the words of a fragment of `halves`
// times 8 rows or columns and of `words` words along k.
template <class Store>
void for_words(const Warp& warp, const Source& from, unsigned halves, unsigned words,
               const Store& store) {
  for (unsigned r = 0; r < words / kLanesOfRow; ++r) {
    for (unsigned half = 0; half < halves; ++half) {
      const Lanes32& reg = warp.registers[next_register(from, halves * r + half).index];
      for (unsigned l = 0; l < kLanes; ++l)
        store(l / 4 + 8 * half, kLanesOfRow * r + l % 4, reg[l]);
    }
  }
}

GPUEXP_VECTORIZED void run_imma(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != kAllLanes) throw Fault("mma is executed by only some lanes of a warp");
  const unsigned k_count = op.value;
  const unsigned per_word = op.kind & kNibbles ? 8 : 4;
  std::int32_t a[kMaxRows][kMaxK];
  std::int32_t b[kColumns][kMaxK];
  for_words(warp, op.from[0], rows_of(op) / 8, k_count / per_word,
            [&](unsigned row, unsigned word, std::uint32_t bits) {
              for (unsigned i = 0; i < per_word; ++i)
                a[row][per_word * word + i] = element_of(bits, i, op.kind);
            });
  for_words(warp, op.from[1], 1, k_count / per_word,
            [&](unsigned column, unsigned word, std::uint32_t bits) {
              for (unsigned i = 0; i < per_word; ++i)
                b[column][per_word * word + i] = element_of(bits, i, op.kind2);
            });
  add_products_to(warp, op, [&](unsigned row, unsigned column) {
    std::int32_t sum = 0;
    for (unsigned k = 0; k < k_count; ++k)
      sum += a[row][k] * b[column][k];
    return sum;
  });
}

// The product of two bits is their AND or XOR.
template <bool is_xor>
void run_bmma(Warp& warp, const Op& op, LaneMask lanes) {
  if (lanes != kAllLanes) throw Fault("mma is executed by only some lanes of a warp");
  const unsigned words = op.value / kWordBits;
  std::uint32_t a[kMaxRows][kMaxKWords];
  std::uint32_t b[kColumns][kMaxKWords];
  for_words(warp, op.from[0], rows_of(op) / 8, words,
            [&](unsigned row, unsigned word, std::uint32_t bits) { a[row][word] = bits; });
  for_words(warp, op.from[1], 1, words,
            [&](unsigned column, unsigned word, std::uint32_t bits) { b[column][word] = bits; });
  add_products_to(warp, op, [&](unsigned row, unsigned column) {
    int ones = 0;
    for (unsigned w = 0; w < words; ++w)
      ones += std::popcount(is_xor ? a[row][w] ^ b[column][w] : a[row][w] & b[column][w]);
    return ones;
  });
}

// "16832" has 16 rows, 8 columns and k = 32; "8816" has 8 rows and k = 16.
void place_shape(const Decoding& in, Op& op, std::initializer_list<std::string_view> shapes) {
  in.refuse_operands_if(in.operands.size() != 4 || in.modifiers.size() < 3);
  std::string_view shape = in.modifiers.front();
  if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end())
    in.refuse("this shape is not executed");
  op.bank = shape.starts_with("16") ? 16 : 8;
  shape.remove_prefix(op.bank == 16 ? 3 : 2);
  op.value = take_number<std::uint32_t>(shape).value_or(0);
  place(in, op);
}

std::uint8_t type_of(const Decoding& in, std::string_view name) {
  if (name != "S8" && name != "U8" && name != "S4" && name != "U4")
    in.refuse("this type of elements is not executed");
  return static_cast<std::uint8_t>((name.starts_with('S') ? kSignedElements : 0) |
                                   (name.ends_with('4') ? kNibbles : 0));
}

// IMMA.16832.U8.S8.SAT: A has unsigned bytes, B signed ones.
void decode_imma(const Decoding& in, Op& op) {
  place_shape(in, op, {"8816", "8832", "16816", "16832", "16864"});
  op.kind = type_of(in, in.modifiers[1]);
  op.kind2 = type_of(in, in.modifiers[2]);
  const bool clamps = in.modifiers.size() == 4 && in.modifiers[3] == "SAT";
  const unsigned k_per_word = op.kind & kNibbles ? 8 : 4;
  in.refuse_form_if((op.kind ^ op.kind2) & kNibbles || (in.modifiers.size() > 3 && !clamps) ||
                    op.value < kLanesOfRow * k_per_word || op.value > 2 * kLanesOfRow * k_per_word);
  op.width = clamps ? kClamps : 0;
  op.run = run_imma;
}

// BMMA.168256.AND.POPC
void decode_bmma(const Decoding& in, Op& op) {
  place_shape(in, op, {"88128", "168128", "168256"});
  const bool is_xor = in.modifiers[1] == "XOR";
  in.refuse_form_if(in.modifiers.size() != 3 || (!is_xor && in.modifiers[1] != "AND") ||
                    in.modifiers[2] != "POPC");
  op.width = 0;
  op.run = is_xor ? run_bmma<true> : run_bmma<false>;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"IMMA", decode_imma},
    {"BMMA", decode_bmma},
};

}  // namespace

std::span<const OpcodeDecoder> integer_matrix_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
