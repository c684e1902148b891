#include "sim/opcodes.hpp"
#include "sim/registers.hpp"

namespace gpuexp::sim {

namespace {

using Kind = Operand::Kind;

// A function of three bits, for each bit of the operands: the table has its values by a, b and c.
GPUEXP_INLINED std::uint32_t look_up(std::uint32_t table, std::uint32_t a, std::uint32_t b,
                                     std::uint32_t c) {
  std::uint32_t result = 0;
  for (unsigned entry = 0; entry < 8; ++entry) {
    if (!(table >> entry & 1)) continue;
    result |= (entry & 4 ? a : ~a) & (entry & 2 ? b : ~b) & (entry & 1 ? c : ~c);
  }
  return result;
}

GPUEXP_VECTORIZED void run_lop3(Warp& warp, const Op& op, LaneMask lanes) {
  Lanes32 sa, sb, sc, result;
  const Lanes32& a = read_integer(warp, op.from[0], sa);
  const Lanes32& b = read_integer(warp, op.from[1], sb);
  const Lanes32& c = read_integer(warp, op.from[2], sc);
  switch (op.value) {
    case 0xc0:
      for (unsigned l = 0; l < kLanes; ++l)
        result[l] = a[l] & b[l];
      break;
    case 0xfc:
      for (unsigned l = 0; l < kLanes; ++l)
        result[l] = a[l] | b[l];
      break;
    case 0x3c:
      for (unsigned l = 0; l < kLanes; ++l)
        result[l] = a[l] ^ b[l];
      break;
    default:
      for (unsigned l = 0; l < kLanes; ++l)
        result[l] = look_up(op.value, a[l], b[l], c[l]);
  }
  if (op.to[1].kind != Kind::none) {
    const LaneMask any = lanes_where([&](unsigned l) { return result[l] != 0; });
    const LaneMask with = read_predicate(warp, op.from[4]);
    write_predicate(warp, op.to[1], lanes, op.kind ? any & with : any | with);
  }
  write(warp, op.to[0], lanes, result);
}

// LOP3.LUT [P1,] R4, a, b, c, table, !PT
void decode_lop3(const Decoding& in, Op& op) {
  Decoding rest{in.listed, in.modifiers, in.operands};
  Operand non_zero;
  in.refuse_operands_if(in.operands.empty());
  if (is_predicate(rest.operands.front())) {
    non_zero = rest.operands.front();
    rest.operands.erase(rest.operands.begin());
  }
  in.refuse_operands_if(rest.operands.size() != 6);
  op.value = static_cast<std::uint32_t>(rest.operands[4].value);
  rest.operands.erase(rest.operands.begin() + 4);
  place(rest, op);
  op.from[4] = op.from[3];
  op.to[1] = source_of(non_zero);
  op.kind = in.has("PAND");
  op.run = run_lop3;
}

GPUEXP_INLINED LaneMask read_signs(const Warp& warp, const Source& source) {
  if (source.kind != Kind::reg && source.kind != Kind::uniform) return read_predicate(warp, source);
  Lanes32 scratch;
  const Lanes32& raw = read_raw(warp, source, scratch);
  LaneMask signs = 0;
  for (unsigned l = 0; l < kLanes; ++l)
    signs |= (raw[l] >> 31) << l;
  return source.inverted ? ~signs : signs;
}

GPUEXP_VECTORIZED void run_plop3(Warp& warp, const Op& op, LaneMask lanes) {
  const LaneMask a = read_signs(warp, op.from[0]);
  const LaneMask b = read_signs(warp, op.from[1]);
  const LaneMask c = read_signs(warp, op.from[2]);
  const LaneMask first = look_up(op.value & 0xff, a, b, c);
  const LaneMask second = look_up(op.value >> 8, a, b, c);
  write_predicate(warp, op.to[0], lanes, first);
  write_predicate(warp, op.to[1], lanes, second);
}

// PLOP3.LUT P0, P1, a, b, c, table of P0, table of P1
void decode_plop3(const Decoding& in, Op& op) {
  place_each(in, {&op.to[0], &op.to[1], &op.from[0], &op.from[1], &op.from[2], nullptr, nullptr});
  op.value = static_cast<std::uint32_t>(in.operands[5].value | in.operands[6].value << 8);
  op.run = run_plop3;
}

constexpr OpcodeDecoder kOpcodes[] = {
    {"LOP3", decode_lop3},
    {"ULOP3", decode_lop3},
    {"PLOP3", decode_plop3},
    {"UPLOP3", decode_plop3},
};

}  // namespace

std::span<const OpcodeDecoder> logic_opcodes() {
  return kOpcodes;
}

}  // namespace gpuexp::sim
