#include "sim/special_ops.hpp"

#include <algorithm>

#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

enum class Special : std::uint8_t {
  zero,
  tid_x,
  tid_y,
  tid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  lane,
  cluster_block,
  shared_window,
  warp,
  lanes_below,
  lanes_to,
  lanes_above,
  lanes_from,
  lane_bit,
  shared_size,
  clock
};
constexpr std::array<std::pair<std::string_view, Special>, 21> kSpecials{
    {{"SRZ", Special::zero},
     {"SR_TID.X", Special::tid_x},
     {"SR_TID.Y", Special::tid_y},
     {"SR_TID.Z", Special::tid_z},
     {"SR_CTAID.X", Special::ctaid_x},
     {"SR_CTAID.Y", Special::ctaid_y},
     {"SR_CTAID.Z", Special::ctaid_z},
     {"SR_LANEID", Special::lane},
     {"SR_CgaCtaId", Special::cluster_block},
     {"SR_SWINHI", Special::shared_window},
     {"SR_VIRTID", Special::warp},
     {"SR_LTMASK", Special::lanes_below},
     {"SR_LEMASK", Special::lanes_to},
     {"SR_GTMASK", Special::lanes_above},
     {"SR_GEMASK", Special::lanes_from},
     {"SR_EQMASK", Special::lane_bit},
     {"SR_SMEMSZ", Special::shared_size},
     {"SR_VIRTUALSMID", Special::zero},
     // Code only takes the place of the cluster's sizes in constant bank 0 from it.
     {"SR_CgaSize", Special::zero},
     {"SR_CLOCKLO", Special::clock},
     {"SR_GLOBALTIMERLO", Special::clock}}};

std::uint32_t special_value(const Warp& warp, Special which, unsigned lane) {
  const Block& block = warp.block;
  const std::int64_t thread = std::int64_t{warp.index} * kLanes + lane;
  const Extent& size = block.launch.block;
  switch (which) {
    case Special::zero: return 0;
    case Special::tid_x: return static_cast<std::uint32_t>(thread % size.x);
    case Special::tid_y: return static_cast<std::uint32_t>(thread / size.x % size.y);
    case Special::tid_z: return static_cast<std::uint32_t>(thread / (size.x * size.y));
    case Special::ctaid_x: return static_cast<std::uint32_t>(block.place.x);
    case Special::ctaid_y: return static_cast<std::uint32_t>(block.place.y);
    case Special::ctaid_z: return static_cast<std::uint32_t>(block.place.z);
    case Special::lane: return lane;
    case Special::cluster_block: return block.member.rank;
    case Special::shared_window: return static_cast<std::uint32_t>(kSharedWindow >> 32);
    case Special::warp: return warp.index << 8;  // %warpid is cut out of it
    case Special::lanes_below: return (1u << lane) - 1;
    case Special::lanes_to: return (2u << lane) - 1;
    case Special::lanes_above: return ~((2u << lane) - 1);
    case Special::lanes_from: return ~((1u << lane) - 1);
    case Special::lane_bit: return 1u << lane;
    case Special::shared_size: return static_cast<std::uint32_t>(block.shared.size());
    case Special::clock: return static_cast<std::uint32_t>(block.steps());
  }
  return 0;
}

void run_special(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 value;
  for (unsigned l = 0; l < kLanes; ++l)
    value[l] = special_value(warp, static_cast<Special>(op.kind), l);
  write(warp, op.to[0], lanes, value);
  if (op.width == 8) {
    value.of.fill(0);
    write(warp, next_register(op.to[0]), lanes, value);
  }
}

void decode_special(const Decoding& in, Op& op) {
  if (in.operands.size() != 2) in.refuse("its operands are not understood");
  const std::string_view name = in.operands[1].text;
  const auto found = std::find_if(kSpecials.begin(), kSpecials.end(),
                                  [&](const auto& known) { return known.first == name; });
  if (found == kSpecials.end()) in.refuse("this register is not known");
  op.to[0] = source_of(in.operands[0], Reads::integer);
  op.kind = static_cast<std::uint8_t>(found->second);
  op.width = in.listed.opcode.starts_with("CS2") && !in.has("32") ? 8 : 4;
  op.run = run_special;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"S2R", decode_special},
    {"S2UR", decode_special},
    {"CS2R", decode_special},
    {"CS2UR", decode_special},
};

}  // namespace

std::span<const OpcodeDecoder> special_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
