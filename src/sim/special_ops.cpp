#include <algorithm>
#include <iterator>

#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

Extent thread_of(const Warp& warp, unsigned lane) {
  return place_at(warp.block.launch.block, std::int64_t{warp.index} * kLanes + lane);
}

struct Special {
  std::string_view name;
  std::int64_t (*value)(const Warp& warp, unsigned lane);
};

constexpr auto kZero = [](const Warp&, unsigned) { return std::int64_t{0}; };
constexpr auto kClock = [](const Warp& warp, unsigned) {
  return static_cast<std::int64_t>(warp.block.steps());
};

constexpr Special kSpecials[] = {
    {"SRZ", kZero},
    {"SR_TID.X", [](const Warp& w, unsigned l) { return thread_of(w, l).x; }},
    {"SR_TID.Y", [](const Warp& w, unsigned l) { return thread_of(w, l).y; }},
    {"SR_TID.Z", [](const Warp& w, unsigned l) { return thread_of(w, l).z; }},
    {"SR_CTAID.X", [](const Warp& w, unsigned) { return w.block.place.x; }},
    {"SR_CTAID.Y", [](const Warp& w, unsigned) { return w.block.place.y; }},
    {"SR_CTAID.Z", [](const Warp& w, unsigned) { return w.block.place.z; }},
    {"SR_LANEID", [](const Warp&, unsigned l) { return std::int64_t{l}; }},
    {"SR_CgaCtaId", [](const Warp& w, unsigned) { return std::int64_t{w.block.member.rank}; }},
    {"SR_SWINHI", [](const Warp&, unsigned) { return std::int64_t{kSharedWindow >> 32}; }},
    // Code extracts %warpid from this register.
    {"SR_VIRTID", [](const Warp& w, unsigned) { return std::int64_t{w.index} << 8; }},
    {"SR_LTMASK", [](const Warp&, unsigned l) { return std::int64_t{(1u << l) - 1}; }},
    {"SR_LEMASK", [](const Warp&, unsigned l) { return std::int64_t{(2u << l) - 1}; }},
    {"SR_GTMASK", [](const Warp&, unsigned l) { return std::int64_t{~((2u << l) - 1)}; }},
    {"SR_GEMASK", [](const Warp&, unsigned l) { return std::int64_t{~((1u << l) - 1)}; }},
    {"SR_EQMASK", [](const Warp&, unsigned l) { return std::int64_t{1u << l}; }},
    {"SR_SMEMSZ",
     [](const Warp& w, unsigned) { return static_cast<std::int64_t>(w.block.shared.size()); }},
    {"SR_VIRTUALSMID", kZero},
    // Code uses it only to locate the cluster's sizes in constant bank 0.
    {"SR_CgaSize", kZero},
    {"SR_CLOCKLO", kClock},
    {"SR_CLOCKHI", kZero},
    {"SR_GLOBALTIMERLO", kClock},
    {"SR_GLOBALTIMERHI", kZero}};

void run_special(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 value;
  for (unsigned l = 0; l < kLanes; ++l)
    value[l] = static_cast<std::uint32_t>(kSpecials[op.kind].value(warp, l));
  write(warp, op.to[0], lanes, value);
  if (op.width == 8) {
    value.of.fill(0);
    write(warp, next_register(op.to[0]), lanes, value);
  }
}

void decode_special(const Decoding& in, Op& op) {
  in.refuse_operands_if(in.operands.size() != 2);
  const std::string_view name = in.operands[1].text;
  const auto* const found = std::find_if(std::begin(kSpecials), std::end(kSpecials),
                                         [&](const Special& known) { return known.name == name; });
  if (found == std::end(kSpecials)) in.refuse("this special register is unknown");
  op.to[0] = source_of(in.operands[0]);
  op.kind = static_cast<std::uint8_t>(found - std::begin(kSpecials));
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
