// The instructions that the simulator executes. Each group of them has a file, GROUP_ops.cpp.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Sums, products, shifts and logic of integers.
std::span<const OpcodeDecoder> integer_opcodes();
/// Integers as fields of bits and of bytes: counts, fields, dot products.
std::span<const OpcodeDecoder> bit_opcodes();
/// Selections, comparisons of integers, moves.
std::span<const OpcodeDecoder> select_opcodes();
/// Integers of 64 bits, which code of compute capability 12.0 has instructions for. Of instructions
/// with a modifier of 64 bits, these decoders come first: their mnemonics are those of 32 bits,
/// too.
std::span<const OpcodeDecoder> wide_opcodes();
/// fp32 and fp64.
std::span<const OpcodeDecoder> float_opcodes();
/// Pairs of fp16 and of bf16.
std::span<const OpcodeDecoder> half_opcodes();
/// Conversions between types of numbers.
std::span<const OpcodeDecoder> conversion_opcodes();
/// Tensor cores.
std::span<const OpcodeDecoder> matrix_opcodes();
/// Products of a warpgroup (wgmma): matrices of shared memory, by descriptors.
std::span<const OpcodeDecoder> warpgroup_opcodes();
/// Loads, stores and copies.
std::span<const OpcodeDecoder> memory_opcodes();
/// Atomics in global and shared memory.
std::span<const OpcodeDecoder> atomic_opcodes();
/// Barriers that count arrivals and bytes, and stores that arrive there.
std::span<const OpcodeDecoder> mbarrier_opcodes();
/// Bulk copies and reductions: ranges of memory that the copy engine moves.
std::span<const OpcodeDecoder> bulk_opcodes();
/// Copies and reductions of boxes of tensors, whose maps are arguments of the launch.
std::span<const OpcodeDecoder> tensor_opcodes();
/// Lanes of a warp among themselves: what they exchange, vote and agree on.
std::span<const OpcodeDecoder> lane_opcodes();
/// Branches, barriers, waiting.
std::span<const OpcodeDecoder> control_opcodes();
/// Special registers: a thread's place in its block, grid and cluster, and others.
std::span<const OpcodeDecoder> special_opcodes();

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
