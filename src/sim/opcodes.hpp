// Instructions that the simulator executes. Each group has a file, GROUP_ops.cpp.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Integer sums, products, shifts and logic.
std::span<const OpcodeDecoder> integer_opcodes();
/// Bit and byte fields of integers: counts, fields, dot products.
std::span<const OpcodeDecoder> bit_opcodes();
/// Selections, integer comparisons, moves.
std::span<const OpcodeDecoder> select_opcodes();
/// 64-bit integers; compute capability 12.0 has instructions for them. These decoders are tried
/// first for an instruction with a 64-bit modifier, because 32-bit instructions have the same
/// mnemonics.
std::span<const OpcodeDecoder> wide_opcodes();
/// fp32 and fp64.
std::span<const OpcodeDecoder> float_opcodes();
/// Pairs of fp16 or bf16.
std::span<const OpcodeDecoder> half_opcodes();
/// Conversions between number types.
std::span<const OpcodeDecoder> conversion_opcodes();
/// Tensor core instructions of a warp.
std::span<const OpcodeDecoder> matrix_opcodes();
/// Products of a warpgroup (wgmma): matrices in shared memory, given by descriptors.
std::span<const OpcodeDecoder> warpgroup_opcodes();
/// Loads, stores and copies.
std::span<const OpcodeDecoder> memory_opcodes();
/// Atomics in global and shared memory.
std::span<const OpcodeDecoder> atomic_opcodes();
/// mbarriers, and asynchronous stores that arrive at them.
std::span<const OpcodeDecoder> mbarrier_opcodes();
/// Bulk copies and reductions: the copy engine moves ranges of memory.
std::span<const OpcodeDecoder> bulk_opcodes();
/// Copies and reductions of boxes of tensors, whose tensor maps are launch arguments.
std::span<const OpcodeDecoder> tensor_opcodes();
/// Exchanges and votes between the lanes of a warp.
std::span<const OpcodeDecoder> lane_opcodes();
/// Branches, barriers and waits.
std::span<const OpcodeDecoder> control_opcodes();
/// Special registers, such as a thread's index in its block, grid and cluster.
std::span<const OpcodeDecoder> special_opcodes();

/// True for the modifiers of "MOV.64" and "ISETP.GE.S64.AND".
bool has_wide_modifier(std::span<const std::string_view> modifiers);

/// Op::kind2 of a load from shared memory that counts as atomic.
inline constexpr std::uint8_t kAtomicLoad = 1;

inline void run_noop(Warp&, const Op&, LaneMask) {}

/// Decodes an instruction whose operands and modifiers have no effect.
template <Op::Run run>
void decode_plain(const Decoding&, Op& op) {
  op.run = run;
}

}  // namespace gpuexp::sim
