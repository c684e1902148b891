#include "sim/atomic_ops.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>

#include "sim/addresses.hpp"
#include "sim/float_values.hpp"
#include "sim/registers.hpp"
#include "sim/small_floats.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

enum class Atomic : std::uint8_t {
  add,
  min,
  max,
  increment,  ///< to 0 from the operand on
  decrement,  ///< to the operand from 0, and from above it
  with_and,
  with_or,
  with_xor,
  exchange,
  compare_and_swap,
  /// Of ATOMS.CAST, which returns whether it did.
  compare_and_swap_reported
};
enum class Type : std::uint8_t { u32, s32, u64, s64, f32, f32_ftz, f64, f16x2, bf16x2 };

template <class T>
T updated_integer(Atomic how, T old, T with) {
  switch (how) {
    case Atomic::add:
      return static_cast<T>(static_cast<std::uint64_t>(old) + static_cast<std::uint64_t>(with));
    case Atomic::min: return std::min(old, with);
    case Atomic::max: return std::max(old, with);
    case Atomic::increment: return old >= with ? T{0} : static_cast<T>(old + 1);
    case Atomic::decrement: return old == 0 || old > with ? with : static_cast<T>(old - 1);
    case Atomic::with_and: return old & with;
    case Atomic::with_or: return old | with;
    case Atomic::with_xor: return old ^ with;
    default: return with;
  }
}

std::uint32_t sum_bits(float sum) {
  return sum != sum ? 0x7fffffff : std::bit_cast<std::uint32_t>(sum);
}

template <SmallFloat format>
std::uint32_t pair_sum(std::uint64_t a, std::uint64_t b) {
  std::uint32_t result = 0;
  for (unsigned half = 0; half < 2; ++half) {
    const double sum = sum_to_odd(value_of<format>(static_cast<std::uint32_t>(a >> 16 * half)),
                                  value_of<format>(static_cast<std::uint32_t>(b >> 16 * half)));
    result |= round_to<format>(sum) << 16 * half;
  }
  return result;
}

/// The new bits. Floating-point types are added alone, or exchanged as bits.
std::uint64_t updated(Atomic how, Type type, std::uint64_t old, std::uint64_t with) {
  const auto low = [](std::uint64_t bits) { return static_cast<std::uint32_t>(bits); };
  switch (type) {
    case Type::u32: return updated_integer(how, low(old), low(with));
    case Type::s32:
      return low(static_cast<std::uint64_t>(
          updated_integer(how, static_cast<std::int32_t>(old), static_cast<std::int32_t>(with))));
    case Type::u64: return updated_integer(how, old, with);
    case Type::s64:
      return static_cast<std::uint64_t>(
          updated_integer(how, static_cast<std::int64_t>(old), static_cast<std::int64_t>(with)));
    case Type::f32:
      return sum_bits(std::bit_cast<float>(low(old)) + std::bit_cast<float>(low(with)));
    case Type::f32_ftz:
      return sum_bits(flushed(flushed(std::bit_cast<float>(low(old))) +
                              flushed(std::bit_cast<float>(low(with)))));
    case Type::f64: {
      // Of NaN the operand's, else that of memory, both as they are.
      if (std::isnan(std::bit_cast<double>(with))) return with;
      if (std::isnan(std::bit_cast<double>(old))) return old;
      const double sum = std::bit_cast<double>(old) + std::bit_cast<double>(with);
      return sum != sum ? kNan64 : std::bit_cast<std::uint64_t>(sum);
    }
    case Type::f16x2: return pair_sum<kFp16>(old, with);
    case Type::bf16x2: return pair_sum<kBf16>(old, with);
  }
  return old;
}

/// Blocks may run on several threads of the host. Returns what was there.
template <class T>
T update(std::byte* at, const Op& op, std::uint64_t with, std::uint64_t swap) {
  const auto how = static_cast<Atomic>(op.kind);
  const bool compares = how == Atomic::compare_and_swap || how == Atomic::compare_and_swap_reported;
  std::atomic_ref<T> target(*reinterpret_cast<T*>(at));
  T old = target.load();
  for (;;) {
    if (compares && old != static_cast<T>(with)) return old;
    const auto next = compares
                          ? static_cast<T>(swap)
                          : static_cast<T>(updated(how, static_cast<Type>(op.kind2), old, with));
    if (target.compare_exchange_weak(old, next)) return old;
  }
}

GPUEXP_INLINED LaneMask lanes_in_window(const Lanes64& address, std::uint64_t window) {
  LaneMask inside = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    inside |= LaneMask{(address[l] & kWindowMask) == window} << l;
  return inside;
}

// Lanes come one after the other, the lowest first.
template <bool is_shared>
void run_atomic(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  Lanes64 with;
  Lanes64 swap{};
  if constexpr (is_shared) {
    shared_addresses(warp, op.from[0], address);
    warp.block.note({Space::shared, Access::atomic, op.width, lanes, address});
  } else {
    global_addresses(warp, op.from[0], address);
    // One that says where it worked does so in global memory: code for other spaces follows it.
    if (predicate_index(op.to[1]) != kTruePredicate && op.to[1].kind != Kind::none) {
      const LaneMask others =
          lanes_in_window(address, kSharedWindow) | lanes_in_window(address, kLocalWindow);
      write_predicate(warp, op.to[1], lanes, ~others);
      lanes &= ~others;
    }
    note_generic(warp, Access::atomic, op.width, lanes, address);
  }
  read_pair(warp, op.from[1], with);
  if (op.from[2].kind != Kind::none) read_pair(warp, op.from[2], swap);
  Lanes64 result{};
  for_each_lane(lanes, [&](unsigned l) {
    std::byte* const at = is_shared ? shared_at(warp, address[l], op.width)
                                    : generic_at(warp, l, address[l], op.width);
    result[l] = op.width == 8 ? update<std::uint64_t>(at, op, with[l], swap[l])
                              : update<std::uint32_t>(at, op, with[l], swap[l]);
    if (static_cast<Atomic>(op.kind) != Atomic::compare_and_swap_reported) return;
    const std::uint64_t mask = op.width == 8 ? ~std::uint64_t{0} : 0xffffffff;
    result[l] = result[l] == (with[l] & mask);
  });
  if (op.width == 8) return write_pair(warp, op.to[0], lanes, result);
  Lanes32 low;
  for (unsigned l = 0; l < kLanes; ++l)
    low[l] = static_cast<std::uint32_t>(result[l]);
  write(warp, op.to[0], lanes, low);
}

// ATOMG.E.ADD.F32x4 PT, R4, desc[UR4][R2.64], R8: of Op::value neighbours in memory and in
// registers, each is added by itself.
void run_atomic_vector(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  note_generic(warp, Access::atomic, op.width, lanes, address);
  for (unsigned i = 0; i < op.value; ++i) {
    Lanes32 scratch;
    Lanes32 result{};
    const Lanes32& with = read_raw(warp, next_register(op.from[1], i), scratch);
    for_each_lane(lanes, [&](unsigned l) {
      std::byte* const at = generic_at(warp, l, address[l], op.width) + i * sizeof(std::uint32_t);
      result[l] = update<std::uint32_t>(at, op, with[l], 0);
    });
    write(warp, next_register(op.to[0], i), lanes, result);
  }
}

/// Words that a vector has, 1 of other operands.
unsigned words_of(const Decoding& in) {
  if (in.has("F32x4") || in.has("F16x8") || in.has("BF16x8")) return 4;
  return in.has("F32x2") || in.has("F16x4") || in.has("BF16x4") ? 2 : 1;
}

Atomic atomic_of(const Decoding& in) {
  constexpr std::array<std::pair<std::string_view, Atomic>, 11> kAtomics{
      {{"ADD", Atomic::add},
       {"MIN", Atomic::min},
       {"MAX", Atomic::max},
       {"INC", Atomic::increment},
       {"DEC", Atomic::decrement},
       {"AND", Atomic::with_and},
       {"OR", Atomic::with_or},
       {"XOR", Atomic::with_xor},
       {"EXCH", Atomic::exchange},
       {"CAS", Atomic::compare_and_swap},
       {"CAST", Atomic::compare_and_swap_reported}}};
  for (const auto& [name, atomic] : kAtomics) {
    if (in.has(name)) return atomic;
  }
  in.refuse("this form is not executed");
}

Type type_of(const Decoding& in) {
  if (in.has("F16x2") || in.has("F16x4") || in.has("F16x8")) return Type::f16x2;
  if (in.has("BF16x2") || in.has("BF16x4") || in.has("BF16x8")) return Type::bf16x2;
  if (in.has("F64")) return Type::f64;
  if (in.has("F32") || in.has("F32x2") || in.has("F32x4"))
    return in.has("FTZ") ? Type::f32_ftz : Type::f32;
  if (in.has("S64")) return Type::s64;
  if (in.has("S32")) return Type::s32;
  return in.has("64") || in.has("U64") ? Type::u64 : Type::u32;
}

// ATOMG.E.ADD.STRONG.GPU PT, R4, desc[UR4][R2.64], R6: the predicate says that the address was of
// memory where this works. REDG has no result. CAS has two values behind the
// address: what shall be there, and what then replaces it.
void decode_atomic(const Decoding& in, Op& op) {
  std::size_t next = 0;
  const auto is = [&](Kind kind) {
    return next < in.operands.size() && in.operands[next].kind == kind;
  };
  if (is(Kind::predicate)) op.to[1] = source_of(in.operands[next++], Reads::integer);
  if (is(Kind::reg)) op.to[0] = source_of(in.operands[next++], Reads::integer);
  for (std::size_t i = 0; next < in.operands.size(); ++next, ++i) {
    if (i > 2 || (i == 0 && !is(Kind::memory))) in.refuse("its operands are not understood");
    op.from[i] = source_of(in.operands[next], Reads::integer);
  }
  if (in.has("E")) op.from[0].wide = true;  // which CAS does not say of its register
  if (in.has("128")) in.refuse("this form is not executed");
  Atomic how = Atomic::increment;
  if (in.has("POPC")) {  // ATOMS.POPC.INC.32 RZ, [R4]: one for each lane
    how = Atomic::add;
    op.from[1].kind = Kind::integer;
    op.from[1].bits = 1;
    if (op.to[0].index != kZeroRegister) in.refuse("this form is not executed");
  } else {
    how = atomic_of(in);
  }
  const Type type = type_of(in);
  const bool is_float = type >= Type::f32;
  if (op.from[1].kind == Kind::none || (is_float && how != Atomic::add))
    in.refuse("this form is not executed");
  const bool compares = how == Atomic::compare_and_swap || how == Atomic::compare_and_swap_reported;
  if (compares != (op.from[2].kind != Kind::none)) in.refuse("its operands are not understood");
  op.kind = static_cast<std::uint8_t>(how);
  op.kind2 = static_cast<std::uint8_t>(type);
  op.width = type == Type::u64 || type == Type::s64 || type == Type::f64 ? 8 : 4;
  op.value = words_of(in);
  if (op.value > 1) {
    op.width = static_cast<std::uint8_t>(op.value * sizeof(std::uint32_t));
    op.run = run_atomic_vector;
    return;
  }
  op.run = in.listed.opcode.starts_with("ATOMS") ? run_atomic<true> : run_atomic<false>;
}

// QSPC.E.S P0, RZ, [R6]: whether the address is of shared memory; .D, of that of the cluster's
// blocks; .L, of local memory; .G, of global memory.
template <char space>
void run_query(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  const LaneMask shared = lanes_in_window(address, kSharedWindow);
  const LaneMask local = lanes_in_window(address, kLocalWindow);
  write_predicate(warp, op.to[1], lanes,
                  space == 'S'   ? shared
                  : space == 'L' ? local
                                 : ~(shared | local));
}

void decode_query(const Decoding& in, Op& op) {
  op.run = in.has("S") || in.has("D") ? run_query<'S'>
           : in.has("L")              ? run_query<'L'>
           : in.has("G")              ? run_query<'G'>
                                      : nullptr;
  if (in.operands.size() != 3 || !op.run || in.operands[1].index != kZeroRegister)
    in.refuse("this form is not executed");
  op.to[1] = source_of(in.operands[0], Reads::integer);
  op.from[0] = source_of(in.operands[2], Reads::integer);
  op.from[0].wide = true;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"ATOMG", decode_atomic}, {"ATOM", decode_atomic}, {"ATOMS", decode_atomic},
    {"REDG", decode_atomic},  {"RED", decode_atomic},  {"QSPC", decode_query},
};

}  // namespace

std::span<const OpcodeDecoder> atomic_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
