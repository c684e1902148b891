#include <cstring>

#include "sim/atomic_update.hpp"
#include "sim/opcodes.hpp"
#include "sim/transfer.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

enum class Direction : std::uint8_t { to_shared, to_global, within_shared };
constexpr std::uint8_t kMulticast = 1;

/// Size operand UR4: the lower half is the number of 16-byte units, the upper half is the multicast
/// mask.
std::size_t bytes_of(std::uint32_t size) {
  return (size & 0xffff) * kBulkUnit;
}

// The simulator completes the copy, including the arrival of its bytes at the mbarrier, before the
// next instruction. Hardware may do the same, so a program that relies on a later copy has a race.
void run_bulk_copy(Warp& warp, const Op& op, LaneMask) {
  const unsigned to = op.from[0].uniform_index;
  const unsigned from = op.from[1].uniform_index;
  const std::uint32_t size = warp.uniform[op.from[2].index];
  const std::size_t bytes = bytes_of(size);
  const auto direction = static_cast<Direction>(op.kind);
  const std::byte* const source =
      direction == Direction::to_shared
          ? global_range(warp, Access::bulk_load, uniform_pair(warp, from), bytes)
          : shared_range(warp, Access::bulk_load, warp.uniform[from], bytes);
  if (direction == Direction::to_global) {
    std::memcpy(global_range(warp, Access::bulk_store, uniform_pair(warp, to), bytes), source,
                bytes);
    return;
  }
  Delivery delivery{warp.uniform[to], warp.uniform[to + 1u], {}, bytes};
  if (op.kind2 == kMulticast) delivery.blocks = size >> 16;
  deliver(warp, delivery, [&](std::byte* target) { std::memmove(target, source, bytes); });
}

void reduce_all(std::byte* to, const std::byte* with, std::size_t bytes,
                const AtomicChange& change) {
  for (std::size_t at = 0; at < bytes; at += size_of(change.type))
    reduce(to + at, with + at, change);
}

// cp.reduce.async.bulk: updates each element in global or another block's shared memory atomically.
void run_bulk_reduction(Warp& warp, const Op& op, LaneMask) {
  const unsigned to = op.from[0].uniform_index;
  const std::size_t bytes = bytes_of(warp.uniform[op.from[2].index]);
  const AtomicChange change{static_cast<Atomic>(op.kind), static_cast<AtomicType>(op.kind2)};
  const std::byte* const with =
      shared_range(warp, Access::bulk_load, warp.uniform[op.from[1].uniform_index], bytes);
  if (static_cast<Direction>(op.value) == Direction::to_global) {
    const std::uint64_t target = uniform_pair(warp, to);
    global_range(warp, Access::bulk_load, target, bytes);
    reduce_all(global_range(warp, Access::bulk_store, target, bytes), with, bytes, change);
    return;
  }
  check_readable(warp, warp.uniform[to], bytes);
  deliver(warp, {warp.uniform[to], warp.uniform[to + 1u], {}, bytes},
          [&](std::byte* target) { reduce_all(target, with, bytes, change); });
}

void place_ranges(const Decoding& in, Op& op) {
  in.refuse_form_if(in.operands.size() < 3 || in.operands.size() > 4);
  for (unsigned i = 0; i < 3; ++i) {
    in.refuse_operands_if(in.operands[i].kind != (i < 2 ? Kind::memory : Kind::uniform));
    if (i < 2 && in.operands[i].uniform_index == kZeroUniformRegister)
      in.refuse("its addresses are not in uniform registers");
    op.from[i] = source_of(in.operands[i]);
  }
}

// UBLKCP.S.G [UR8], [UR6], UR4: copies UR4 × 16 bytes from global memory at UR6 and UR7 to shared
// memory at UR8, with the mbarrier at UR9. With MULTICAST, the upper half of UR4 has one bit per
// destination block. A last operand desc[UR10] is the L2 eviction policy.
void decode_bulk_copy(const Decoding& in, Op& op) {
  const bool is_multicast = in.modifiers.size() == 3 && in.modifiers[2] == "MULTICAST";
  in.refuse_form_if(in.modifiers.size() != (is_multicast ? 3 : 2));
  place_ranges(in, op);
  const bool to_shared = in.modifiers[0] == "S";
  const bool from_shared = in.modifiers[1] == "S";
  in.refuse_form_if(!to_shared && !from_shared);
  in.refuse_form_if(is_multicast && (!to_shared || from_shared));
  op.kind = static_cast<std::uint8_t>(!to_shared    ? Direction::to_global
                                      : from_shared ? Direction::within_shared
                                                    : Direction::to_shared);
  op.kind2 = is_multicast ? kMulticast : 0;
  op.run = run_bulk_copy;
}

// UBLKRED.G.S.ADD.F32.RN [UR6], [UR5], UR4 reduces into global memory at UR6. UBLKRED.S.S.ADD
// [UR10], [UR4], UR13 reduces into shared memory at UR10, with the mbarrier at UR11.
void decode_bulk_reduction(const Decoding& in, Op& op) {
  in.refuse_form_if(in.modifiers.size() < 3 || in.modifiers[1] != "S");
  place_ranges(in, op);
  const bool to_shared = in.modifiers[0] == "S";
  const Atomic how = atomic_of(in);
  const AtomicType type = atomic_type_of(in);
  const bool is_half = type == AtomicType::f16 || type == AtomicType::bf16;
  const bool has_order = how == Atomic::min || how == Atomic::max;
  in.refuse_form_if(type >= AtomicType::f32 && how != Atomic::add && !(is_half && has_order));
  in.refuse_form_if(how >= Atomic::exchange || (to_shared && type >= AtomicType::f32));
  op.kind = static_cast<std::uint8_t>(how);
  op.kind2 = static_cast<std::uint8_t>(type);
  op.value =
      static_cast<std::uint32_t>(to_shared ? Direction::within_shared : Direction::to_global);
  op.run = run_bulk_reduction;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"UBLKCP", decode_bulk_copy},
    {"UBLKRED", decode_bulk_reduction},
    // UBLKPF prefetches into L2, which is not simulated. UTMACMDFLUSH (cp.async.bulk.commit_group)
    // has no effect, because copies are already complete.
    {"UBLKPF", decode_plain<run_noop>},
    {"UTMACMDFLUSH", decode_plain<run_noop>},
};

}  // namespace

std::span<const OpcodeDecoder> bulk_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
