#include "sim/addresses.hpp"
#include "sim/atomic_update.hpp"
#include "sim/mbarrier_ops.hpp"
#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

AtomicChange change_of(const Op& op) {
  return {static_cast<Atomic>(op.kind), static_cast<AtomicType>(op.kind2)};
}

LaneMask lanes_with_rank(const Lanes64& address, unsigned rank) {
  return lanes_where(
      [&](unsigned l) { return static_cast<std::uint32_t>(address[l]) >> kRankShift == rank; });
}

GPUEXP_INLINED LaneMask lanes_in_window(const Lanes64& address, std::uint64_t window) {
  return lanes_where([&](unsigned l) { return (address[l] & kWindowMask) == window; });
}

LaneMask lanes_in_own(const Warp& warp, const Lanes64& address) {
  return lanes_in_window(address, kSharedWindow) & lanes_with_rank(address, warp.block.member.rank);
}

// Lanes for which an instruction with a predicate operand reports failure; subsequent code then
// handles their memory space. This code of ptxas shows which spaces are not supported: local
// memory, the block's own shared memory except for EXCH and CAS, and other blocks' shared memory
// for sums of fp32 and fp64.
LaneMask unsupported_lanes(const Warp& warp, const Op& op, const Lanes64& address) {
  const auto how = static_cast<Atomic>(op.kind);
  const auto type = static_cast<AtomicType>(op.kind2);
  const LaneMask shared = lanes_in_window(address, kSharedWindow);
  const LaneMask own = lanes_in_own(warp, address);
  const bool supports_own = how == Atomic::exchange || how == Atomic::compare_and_swap;
  const bool supports_others =
      type != AtomicType::f32 && type != AtomicType::f32_ftz && type != AtomicType::f64;
  return lanes_in_window(address, kLocalWindow) | (supports_own ? 0 : own) |
         (supports_others ? 0 : shared & ~own);
}

// RED has no result register; ATOM may write its result to RZ.
Access access_of(const Op& op) {
  return op.to[0].kind == Kind::none ? Access::reduction : Access::atomic;
}

// Lanes execute one after another, the lowest first.
template <bool is_shared>
void run_atomic(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  Lanes64 with;
  Lanes64 swap{};
  if constexpr (is_shared) {
    shared_addresses(warp, op.from[0], address);
    MemoryAccess access{Space::shared, Access::atomic, op.width, lanes, address};
    access.is_flag = op.is_flag;
    warp.block.note(access);
  } else {
    global_addresses(warp, op.from[0], address);
    if (predicate_index(op.to[1]) != kTruePredicate && op.to[1].kind != Kind::none) {
      const LaneMask others = unsupported_lanes(warp, op, address);
      write_predicate(warp, op.to[1], lanes, ~others);
      lanes &= ~others;
    }
    MemoryAccess access{Space::global, access_of(op), op.width, lanes, address};
    access.is_flag = op.is_flag;
    note_generic(warp, access);
    warp.signals = true;
  }
  read_pair(warp, op.from[1], with);
  if (op.from[2].kind != Kind::none) read_pair(warp, op.from[2], swap);
  Lanes64 result{};
  for_each_lane(lanes, [&](unsigned l) {
    std::byte* const at = is_shared ? shared_at(warp, address[l], op.width)
                                    : generic_at(warp, l, address[l], op.width);
    result[l] = op.width == 8 ? update<std::uint64_t>(at, change_of(op), with[l], swap[l])
                              : update<std::uint32_t>(at, change_of(op), with[l], swap[l]);
    if (static_cast<Atomic>(op.kind) != Atomic::compare_and_swap_reported) return;
    const std::uint64_t mask = op.width == 8 ? ~std::uint64_t{0} : 0xffffffff;
    result[l] = result[l] == (with[l] & mask);
  });
  if (is_shared && op.to[1].kind != Kind::none) {
    const LaneMask done = lanes_where([&](unsigned l) { return result[l] != 0; });
    write_predicate(warp, op.to[1], lanes, done);
  }
  if (op.width == 8) return write_pair(warp, op.to[0], lanes, result);
  Lanes32 low;
  for (unsigned l = 0; l < kLanes; ++l)
    low[l] = static_cast<std::uint32_t>(result[l]);
  write(warp, op.to[0], lanes, low);
}

// ATOMG.E.ADD.F32x4 PT, R4, desc[UR4][R2.64], R8: adds Op::value adjacent words, each atomically.
void run_atomic_vector(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  note_generic(warp, access_of(op), op.width, lanes, address);
  warp.signals = true;
  for (unsigned i = 0; i < op.value; ++i) {
    Lanes32 scratch;
    Lanes32 result{};
    const Lanes32& with = read_raw(warp, next_register(op.from[1], i), scratch);
    for_each_lane(lanes, [&](unsigned l) {
      std::byte* const at = generic_at(warp, l, address[l], op.width) + i * sizeof(std::uint32_t);
      result[l] = update<std::uint32_t>(at, change_of(op), with[l]);
    });
    write(warp, next_register(op.to[0], i), lanes, result);
  }
}

/// Number of words in a vector operand; 1 for other operands.
unsigned words_of(const Decoding& in) {
  if (in.has("F32x4") || in.has("F16x8") || in.has("BF16x8")) return 4;
  return in.has("F32x2") || in.has("F16x4") || in.has("BF16x4") ? 2 : 1;
}

// ATOMG.E.ADD.STRONG.GPU PT, R4, desc[UR4][R2.64], R6: the predicate reports lanes whose memory
// space is supported. REDG has no result. CAS has two values after the address: the expected value
// and the new value. In ATOMS.CAST.SPIN of compute capability 10.0, the predicate reports whether
// the new value was stored.
void decode_atomic(const Decoding& in, Op& op) {
  if (in.has("ARRIVE")) return decode_arrive_at_words(in, op);
  std::size_t next = 0;
  const auto is = [&](Kind kind) {
    return next < in.operands.size() && in.operands[next].kind == kind;
  };
  if (is(Kind::predicate)) op.to[1] = source_of(in.operands[next++]);
  if (is(Kind::reg)) op.to[0] = source_of(in.operands[next++]);
  for (std::size_t i = 0; next < in.operands.size(); ++next, ++i) {
    in.refuse_operands_if(i > 2 || (i == 0 && !is(Kind::memory)));
    op.from[i] = source_of(in.operands[next]);
  }
  if (in.has("E")) op.from[0].wide = true;  // CAS does not mark its address register as wide
  in.refuse_form_if(in.has("128"));
  Atomic how = Atomic::increment;
  if (in.has("POPC")) {  // ATOMS.POPC.INC.32 RZ, [R4]: adds 1 per lane
    how = Atomic::add;
    op.from[1].kind = Kind::integer;
    op.from[1].bits = 1;
    in.refuse_form_if(op.to[0].index != kZeroRegister);
  } else {
    how = atomic_of(in);
  }
  const AtomicType type = atomic_type_of(in);
  const bool is_float = type >= AtomicType::f32;
  in.refuse_form_if(type >= AtomicType::f16);
  in.refuse_form_if(op.from[1].kind == Kind::none || (is_float && how != Atomic::add));
  const bool compares = how == Atomic::compare_and_swap || how == Atomic::compare_and_swap_reported;
  in.refuse_operands_if(compares != (op.from[2].kind != Kind::none));
  const bool is_shared = in.listed.opcode.starts_with("ATOMS");
  in.refuse_operands_if(is_shared && op.to[1].kind != Kind::none &&
                        how != Atomic::compare_and_swap_reported);
  op.kind = static_cast<std::uint8_t>(how);
  op.kind2 = static_cast<std::uint8_t>(type);
  op.width = type == AtomicType::u64 || type == AtomicType::s64 || type == AtomicType::f64 ? 8 : 4;
  op.is_flag = in.has("STRONG") && in.listed.opcode.starts_with("ATOM.");
  op.value = words_of(in);
  if (op.value > 1) {
    op.width = static_cast<std::uint8_t>(op.value * sizeof(std::uint32_t));
    op.run = run_atomic_vector;
    return;
  }
  op.run = is_shared ? run_atomic<true> : run_atomic<false>;
}

// QSPC.E.S P0, RZ, [R6]: whether the address is in the block's own shared memory. D: in shared
// memory of any block of the cluster. L: in local memory. G: in global memory.
template <char space>
void run_query(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes64 address;
  global_addresses(warp, op.from[0], address);
  const LaneMask shared = lanes_in_window(address, kSharedWindow);
  const LaneMask local = lanes_in_window(address, kLocalWindow);
  write_predicate(warp, op.to[1], lanes,
                  space == 'S'   ? lanes_in_own(warp, address)
                  : space == 'D' ? shared
                  : space == 'L' ? local
                                 : ~(shared | local));
}

void decode_query(const Decoding& in, Op& op) {
  op.run = in.has("S")   ? run_query<'S'>
           : in.has("D") ? run_query<'D'>
           : in.has("L") ? run_query<'L'>
           : in.has("G") ? run_query<'G'>
                         : nullptr;
  place_each(in, {&op.to[1], nullptr, &op.from[0]});
  in.refuse_form_if(!op.run || in.operands[1].index != kZeroRegister);
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
