#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "sim/opcodes.hpp"
#include "sim/tensor_box.hpp"
#include "sim/transfer.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

constexpr std::size_t kGroupBytes = 16;
// Alignment in shared memory (PTX ISA, cp.async.bulk.tensor).
constexpr std::size_t kBoxAlignment = 128;
constexpr std::uint8_t kMulticast = 1;

// Map that the second operand addresses, which must be a launch argument, because only the driver
// knows the format of a map in memory.
const TensorMap& map_of(const Warp& warp, const Op& op) {
  const std::uint64_t address = uniform_pair(warp, op.from[1].uniform_index);
  const auto& maps = warp.block.launch.tensor_maps;
  const auto found = std::find_if(maps.begin(), maps.end(),
                                  [&](const auto& map) { return map.address == address; });
  if (found == maps.end())
    throw Fault(FaultKind::other,
                fmt::format("no argument of the launch is a tensor map at {:#x}", address),
                address);
  if (found->map->extents.size() != op.value)
    throw Fault(fmt::format("a copy of {} dimensions uses a tensor map of {}", op.value,
                            found->map->extents.size()));
  return *found->map;
}

TensorBox::Place place_of(const Warp& warp, const Op& op, unsigned first) {
  TensorBox::Place place{};
  for (unsigned d = 0; d < op.value; ++d)
    place[d] = static_cast<std::int32_t>(warp.uniform[first + d]);
  return place;
}

std::byte* global_row(Warp& warp, Access kind, std::uint64_t address, std::size_t bytes) {
  std::byte* const begin = warp.block.launch.global->at(address, bytes);
  Lanes64 range{};
  range[0] = address;
  warp.block.note({Space::global, kind, static_cast<unsigned>(bytes), 1, range});
  return begin;
}

/// Calls function(in_box, in_shared) for each 16 bytes of a box at `address`, with their offset in
/// the box and in shared memory, both from the box's start.
template <class Function>
void for_groups(std::size_t bytes, std::uint32_t address, Swizzle swizzle,
                const Function& function) {
  for (std::size_t at = 0; at < bytes; at += kGroupBytes)
    function(at, swizzled(address + at, swizzle) - address);
}

// UTMALDG.2D [UR8], [UR22]: UR8 is the address in shared memory, UR9 the mbarrier's address, UR10
// and UR11 the box's coordinates, UR22 and UR23 the map's address. The simulator completes the copy
// before the next instruction.
void run_tensor_load(Warp& warp, const Op& op, LaneMask) {
  const TensorMap& map = map_of(warp, op);
  const unsigned first = op.from[0].uniform_index;
  const TensorBox box(map, place_of(warp, op, first + 2), TensorBox::For::reading);
  std::vector<std::byte> values = box.filled();
  box.for_rows([&](std::size_t at, std::uint64_t address, std::size_t bytes) {
    std::memcpy(&values[at], global_row(warp, Access::bulk_load, address, bytes), bytes);
  });
  const std::uint32_t to = warp.uniform[first];
  Delivery delivery{to, warp.uniform[first + 1], {}, values.size(), kBoxAlignment};
  if (op.kind2 == kMulticast) delivery.blocks = warp.uniform[op.from[2].index] >> 16;
  deliver(warp, delivery, [&](std::byte* target) {
    for_groups(values.size(), to, map.swizzle, [&](std::size_t in_box, std::size_t in_shared) {
      std::memcpy(target + in_shared, &values[in_box], kGroupBytes);
    });
  });
}

std::vector<std::byte> read_box(Warp& warp, const TensorMap& map, const TensorBox& box,
                                std::uint32_t from) {
  std::vector<std::byte> values(box.bytes());
  const std::byte* const source =
      shared_range(warp, Access::bulk_load, from, values.size(), kBoxAlignment);
  for_groups(values.size(), from, map.swizzle, [&](std::size_t in_box, std::size_t in_shared) {
    std::memcpy(&values[in_box], source + in_shared, kGroupBytes);
  });
  return values;
}

// UTMASTG.2D [UR8], [UR14]: UR8 is the address in shared memory, UR9 and UR10 the coordinates.
void run_tensor_store(Warp& warp, const Op& op, LaneMask) {
  const TensorMap& map = map_of(warp, op);
  const unsigned first = op.from[0].uniform_index;
  const TensorBox box(map, place_of(warp, op, first + 1), TensorBox::For::writing);
  const std::vector<std::byte> values = read_box(warp, map, box, warp.uniform[first]);
  box.for_rows([&](std::size_t at, std::uint64_t address, std::size_t bytes) {
    std::memcpy(global_row(warp, Access::bulk_store, address, bytes), &values[at], bytes);
  });
}

// UTMAREDG.2D.ADD [UR8], [UR14] has the same operands as UTMASTG.
void run_tensor_reduction(Warp& warp, const Op& op, LaneMask) {
  const TensorMap& map = map_of(warp, op);
  const unsigned first = op.from[0].uniform_index;
  const auto how = static_cast<Atomic>(op.kind);
  const AtomicChange change{how, reduction_type(map.type, how)};
  const TensorBox box(map, place_of(warp, op, first + 1), TensorBox::For::writing);
  const std::vector<std::byte> values = read_box(warp, map, box, warp.uniform[first]);
  box.for_rows([&](std::size_t at, std::uint64_t address, std::size_t bytes) {
    global_row(warp, Access::bulk_load, address, bytes);
    std::byte* const to = global_row(warp, Access::bulk_store, address, bytes);
    for (std::size_t i = 0; i < bytes; i += size_of(change.type))
      reduce(to + i, &values[at + i], change);
  });
}

// UTMAPF.L2.2D [UR8], [UR14] prefetches the box at coordinates UR8 and UR9 into L2. The simulator
// only checks the box.
void run_tensor_prefetch(Warp& warp, const Op& op, LaneMask) {
  TensorBox(map_of(warp, op), place_of(warp, op, op.from[0].uniform_index),
            TensorBox::For::reading);
}

// `before`: number of uniform registers in the first operand before the coordinates.
void place_tensor(const Decoding& in, Op& op, unsigned before) {
  if (in.has("IM2COL")) in.refuse("the im2col mode is not executed");
  for (unsigned dimensions = 1; dimensions <= kMaxDimensions; ++dimensions) {
    if (in.has(fmt::format("{}D", dimensions))) op.value = dimensions;
  }
  in.refuse_form_if(op.value == 0 || in.operands.size() < 2 || in.operands.size() > 4);
  for (unsigned i = 0; i < 2; ++i) {
    const Operand& operand = in.operands[i];
    const unsigned registers = i == 0 ? before + op.value : 2;
    in.refuse_operands_if(operand.kind != Kind::memory || operand.value != 0 || operand.has_base ||
                          operand.uniform_index + registers > kZeroUniformRegister);
    op.from[i] = source_of(operand);
  }
}

// A last operand desc[UR6] is an L2 cache policy.
bool has_descriptor(const Decoding& in) {
  return in.operands.back().text.starts_with("desc");
}

void decode_tensor_load(const Decoding& in, Op& op) {
  place_tensor(in, op, 2);
  const bool is_multicast = in.has("MULTICAST");
  in.refuse_form_if(in.modifiers.size() != (is_multicast ? 2 : 1));
  in.refuse_operands_if(in.operands.size() != 2u + is_multicast + has_descriptor(in));
  if (is_multicast) {
    in.refuse_operands_if(in.operands[2].kind != Kind::uniform);
    op.from[2] = source_of(in.operands[2]);
    op.kind2 = kMulticast;
  }
  op.run = run_tensor_load;
}

void decode_tensor_store(const Decoding& in, Op& op) {
  place_tensor(in, op, 1);
  in.refuse_form_if(in.modifiers.size() != 1 || in.operands.size() != 2u + has_descriptor(in));
  op.run = run_tensor_store;
}

void decode_tensor_reduction(const Decoding& in, Op& op) {
  place_tensor(in, op, 1);
  const Atomic how = atomic_of(in);
  in.refuse_form_if(in.modifiers.size() != 2 || how >= Atomic::exchange ||
                    in.operands.size() != 2u + has_descriptor(in));
  op.kind = static_cast<std::uint8_t>(how);
  op.run = run_tensor_reduction;
}

void decode_tensor_prefetch(const Decoding& in, Op& op) {
  place_tensor(in, op, 0);
  op.run = run_tensor_prefetch;
}

// UTMACCTL.PF prefetches the map. UTMACCTL.IV invalidates a map that a kernel has changed.
void decode_map_control(const Decoding& in, Op& op) {
  if (!in.has("PF")) in.refuse("only tensor maps that are launch arguments are known");
  op.run = run_noop;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"UTMALDG", decode_tensor_load},       {"UTMASTG", decode_tensor_store},
    {"UTMAREDG", decode_tensor_reduction}, {"UTMAPF", decode_tensor_prefetch},
    {"UTMACCTL", decode_map_control},
};

}  // namespace

std::span<const OpcodeDecoder> tensor_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
