// The instructions that the simulator executes. Each group of them has a file, GROUP_ops.cpp.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Sums, products, shifts and logic of integers.
extern const std::span<const OpcodeDecoder> kIntegerOpcodes;
/// Integers as fields of bits and of bytes: counts, fields, dot products.
extern const std::span<const OpcodeDecoder> kBitOpcodes;
/// Selections, comparisons of integers, moves.
extern const std::span<const OpcodeDecoder> kSelectOpcodes;
/// Integers of 64 bits, which code of compute capability 12.0 has instructions for. Of instructions
/// with a modifier of 64 bits, these decoders come first: their mnemonics are those of 32 bits,
/// too.
extern const std::span<const OpcodeDecoder> kWideOpcodes;
/// fp32 and fp64.
extern const std::span<const OpcodeDecoder> kFloatOpcodes;
/// Pairs of fp16 and of bf16.
extern const std::span<const OpcodeDecoder> kHalfOpcodes;
/// Conversions between types of numbers.
extern const std::span<const OpcodeDecoder> kConversionOpcodes;
/// Tensor cores.
extern const std::span<const OpcodeDecoder> kMatrixOpcodes;
/// Products of a warpgroup (wgmma): matrices of shared memory, by descriptors.
extern const std::span<const OpcodeDecoder> kWarpgroupOpcodes;
/// Loads, stores and copies.
extern const std::span<const OpcodeDecoder> kMemoryOpcodes;
/// Atomics in global and shared memory.
extern const std::span<const OpcodeDecoder> kAtomicOpcodes;
/// Barriers that count arrivals and bytes, and stores that arrive there.
extern const std::span<const OpcodeDecoder> kMbarrierOpcodes;
/// Bulk copies and reductions: ranges of memory that the copy engine moves.
extern const std::span<const OpcodeDecoder> kBulkOpcodes;
/// Copies and reductions of boxes of tensors, whose maps are arguments of the launch.
extern const std::span<const OpcodeDecoder> kTensorOpcodes;
/// Lanes of a warp among themselves: what they exchange, vote and agree on.
extern const std::span<const OpcodeDecoder> kLaneOpcodes;
/// Branches, barriers, waiting.
extern const std::span<const OpcodeDecoder> kControlOpcodes;
/// Special registers: a thread's place in its block, grid and cluster, and others.
extern const std::span<const OpcodeDecoder> kSpecialOpcodes;

/// "MOV.64", "ISETP.GE.S64.AND".
bool has_wide_modifier(std::span<const std::string_view> modifiers);

/// Op::kind2 of a load from shared memory that counts as atomic.
inline constexpr std::uint8_t kAtomicLoad = 1;

inline void run_nothing(Warp&, const Op&, LaneMask) {}

/// Of an instruction without operands and modifiers that matter.
template <Op::Run run>
void decode_plain(const Decoding&, Op& op) {
  op.run = run;
}

}  // namespace gpuexp::sim
