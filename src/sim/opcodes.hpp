// Instructions that the simulator executes. Each group has its own file, GROUP_ops.cpp.
#pragma once

#include <span>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Integer sums, products and shifts, and permutations of bytes.
std::span<const OpcodeDecoder> integer_opcodes();
/// Logic functions of three registers or predicates.
std::span<const OpcodeDecoder> logic_opcodes();
/// Bits and bytes of integers: bit counts, bit fields, dot products of bytes.
std::span<const OpcodeDecoder> bit_opcodes();
std::span<const OpcodeDecoder> select_opcodes();
/// 64-bit integers; compute capability 12.0 has instructions for them. For a 64-bit modifier,
/// decode() tries these decoders first, because 32-bit instructions have the same mnemonics.
std::span<const OpcodeDecoder> wide_opcodes();
std::span<const OpcodeDecoder> float_opcodes();
/// Arithmetic and comparisons on pairs of fp16 or bf16 values.
std::span<const OpcodeDecoder> half_opcodes();
std::span<const OpcodeDecoder> conversion_opcodes();
/// Tensor core instructions of one warp.
std::span<const OpcodeDecoder> matrix_opcodes();
/// Tensor core products of integers and of single bits.
std::span<const OpcodeDecoder> integer_matrix_opcodes();
/// Products of a warpgroup (wgmma), whose matrices in shared memory are given by descriptors.
std::span<const OpcodeDecoder> warpgroup_opcodes();
std::span<const OpcodeDecoder> memory_opcodes();
std::span<const OpcodeDecoder> atomic_opcodes();
/// mbarriers, and asynchronous stores that arrive at them.
std::span<const OpcodeDecoder> mbarrier_opcodes();
/// Bulk copies and reductions of ranges of memory by the copy engine.
std::span<const OpcodeDecoder> bulk_opcodes();
/// Copies and reductions of boxes of tensors; the tensor maps are launch parameters.
std::span<const OpcodeDecoder> tensor_opcodes();
std::span<const OpcodeDecoder> lane_opcodes();
std::span<const OpcodeDecoder> control_opcodes();
/// Calls, returns, and branches to addresses in registers.
std::span<const OpcodeDecoder> call_opcodes();
/// Special registers, such as a thread's index in its block, grid and cluster.
std::span<const OpcodeDecoder> special_opcodes();

inline bool is_predicate(const Operand& operand) {
  return operand.kind == Operand::Kind::predicate ||
         operand.kind == Operand::Kind::uniform_predicate;
}

/// True if the modifiers select 64 bits, as in "MOV.64" and "ISETP.GE.S64.AND".
bool has_wide_modifier(std::span<const std::string_view> modifiers);

/// Lets an access to shared memory poll a flag (sim/poll_loops.hpp).
void set_polling(Op& op);

/// Op::kind2 of a load from shared memory that counts as an atomic operation.
inline constexpr std::uint8_t kAtomicLoad = 1;

inline void run_noop(Warp&, const Op&, LaneMask) {}

/// Decodes an instruction whose operands and modifiers have no effect.
template <Op::Run run>
void decode_plain(const Decoding&, Op& op) {
  op.run = run;
}

}  // namespace gpuexp::sim
