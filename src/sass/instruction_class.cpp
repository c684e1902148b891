#include "sass/instruction_class.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "sass/issue_pipe.hpp"

namespace gpuexp {

namespace {

using Guard = Instruction::Guard;

bool has_modifier(const Instruction& instruction, std::string_view modifier) {
  const auto all = instruction.modifiers();
  return std::find(all.begin(), all.end(), modifier) != all.end();
}

// Operation of an instruction such as ATOMG.E.ADD: its first modifier except E, which marks a
// 64-bit address.
std::string_view operation(const Instruction& instruction) {
  for (const std::string_view modifier : instruction.modifiers()) {
    if (modifier != "E") return modifier;
  }
  return {};
}

// HADD2.F32 R0, -RZ, R1.H0_H0 converts one fp16 value to fp32.
bool is_half_arithmetic(const Instruction& i) {
  return !i.makes_constant && !has_modifier(i, "F32");
}

bool is_conversion(const Instruction& i) {
  return i.mnemonic() != "HADD2" || has_modifier(i, "F32");
}

// IMAD.MOV, IMAD.SHL, IMAD.IADD, IMAD.X and IMAD.U32 multiply by 0, 1 or a power of two.
bool is_product(const Instruction& i) {
  return !is_any_of(operation(i), {"MOV", "SHL", "IADD", "X", "U32"});
}

bool is_not_product(const Instruction& i) {
  return !is_product(i);
}

bool is_warp_branch(const Instruction& i) {
  return i.guard == Guard::warp || has_modifier(i, "U");
}

bool is_lane_branch(const Instruction& i) {
  return i.guard == Guard::lane && !is_warp_branch(i);
}

bool is_guarded(const Instruction& i) {
  return i.guard == Guard::lane;
}

bool is_predicated_computation(const Instruction& i) {
  return is_guarded(i) && !is_any_of(i.mnemonic(), {"BRA", "BRX", "BRXU", "JMP", "JMX", "BREAK",
                                                    "CALL", "RET", "EXIT"});
}

using Detail = InstructionClass::Detail;

constexpr InstructionClass kClasses[] = {
    // Memory
    {"LDG", "LDG", Detail::width,
     "loads from global memory, by bits per lane: *p of a float is 32, of a float4 128; ld.global"},
    {"STG", "STG", Detail::width, "stores to global memory; st.global"},
    {"LD", "LD", Detail::width,
     "loads through a pointer whose memory space the compiler does not know; ld"},
    {"ST", "ST", Detail::width, "stores through such a pointer; st"},
    {"LDL", "LDL", Detail::width,
     "loads from local memory: spilled registers, arrays indexed by a variable; ld.local"},
    {"STL", "STL", Detail::width, "stores to local memory; st.local"},
    {"LDS", "LDS", Detail::width, "loads from shared memory; ld.shared"},
    {"STS", "STS", Detail::width, "stores to shared memory; st.shared"},
    {"LDSM", "LDSM", Detail::opcode,
     "loads of 8×8 matrices from shared memory, rows spread over the warp; ldmatrix, "
     "wmma::load_matrix_sync"},
    {"STSM", "STSM", Detail::opcode, "stores of such matrices; stmatrix"},
    {"MOVM", "MOVM", Detail::none, "transposition of a matrix in registers; movmatrix"},
    {"LDGSTS", "LDGSTS", Detail::width,
     "asynchronous copies from global to shared memory, past the registers; cp.async, "
     "__pipeline_memcpy_async"},
    {"LDGDEPBAR", "LDGDEPBAR", Detail::none,
     "ends of a group of such copies; cp.async.commit_group, __pipeline_commit"},
    {"UBLKCP", "UBLKCP", Detail::opcode,
     "bulk copies, S shared memory, G global, target first; cp.async.bulk"},
    {"UBLKRED", "UBLKRED", Detail::opcode, "bulk reductions; cp.reduce.async.bulk"},
    {"UTMALDG", "UTMALDG", Detail::opcode,
     "loads of a tile by the tensor memory accelerator; cp.async.bulk.tensor to shared memory"},
    {"UTMASTG", "UTMASTG", Detail::opcode,
     "stores of a tile by this unit; cp.async.bulk.tensor to global memory"},
    {"UTMAREDG", "UTMAREDG", Detail::opcode,
     "reductions of a tile by this unit; cp.reduce.async.bulk.tensor"},

    // Arithmetic
    {"FFMA", "FFMA", Detail::none, "fp32 fused multiply-adds: a * b + c, fmaf"},
    {"FMUL", "FMUL", Detail::none, "fp32 products"},
    {"FADD", "FADD", Detail::none, "fp32 sums"},
    {"FFMA2", "FFMA2 FMUL2 FADD2", Detail::none,
     "fp32 multiply-adds, products and sums, two at once; fma.rn.f32x2"},
    {"MUFU", "MUFU", Detail::operation,
     "special functions in fp32: EX2 of __expf, RCP of divisions (of integers, too), RSQ, LG2, "
     "SIN"},
    {"FMNMX", "FMNMX FMNMX3 HMNMX2", Detail::none,
     "minima and maxima of fp32, or of two fp16 or bf16: fmaxf, __hmax2"},
    {"DFMA", "DFMA", Detail::none, "fp64 fused multiply-adds"},
    {"DMUL", "DMUL", Detail::none, "fp64 products"},
    {"DADD", "DADD", Detail::none, "fp64 sums"},
    {"HFMA2", "HFMA2 HMUL2 HADD2", Detail::none,
     "packed half-precision arithmetic, two fp16 or bf16 values per instruction: __hfma2, __hmul2, "
     "__hadd2; without each HFMA2 by which ptxas only sets a register to a constant",
     is_half_arithmetic},
    {"conversion", "F2F F2FP F2I F2IP I2F I2FP I2I I2IP FRND HADD2", Detail::none,
     "conversions between number types, roundings; cvt", is_conversion},
    {"IMAD", "IMAD", Detail::none,
     "integer multiply-adds, most of them addresses: row * n + column", is_product},
    {"IMAD.MOV", "IMAD", Detail::none,
     "integer multiply-adds by 0, 1 or a power of two: moves, sums and shifts, which ptxas spreads "
     "over two pipes",
     is_not_product},
    {"HMMA", "HMMA IMMA BMMA DMMA QMMA OMMA", Detail::opcode,
     "tensor core products of a warp, by shape and types; mma.sync, wmma::mma_sync"},
    {"HGMMA", "HGMMA IGMMA BGMMA QGMMA", Detail::opcode,
     "tensor core products of four warps, operands in shared memory; wgmma.mma_async"},
    {"UTCMMA", "UTCHMMA UTCIMMA UTCQMMA UTCOMMA", Detail::opcode,
     "tensor core products into tensor memory; tcgen05.mma"},

    // Control
    {"BSSY", "BSSY", Detail::none,
     "starts of a region in which lanes may diverge: an if or a loop that is a branch"},
    {"BSYNC", "BSYNC", Detail::none, "ends of such a region, where the lanes reconverge"},
    {"@P BRA", "BRA", Detail::none, "branches that each lane takes or not: if, for, while",
     is_lane_branch},
    {"@UP BRA", "BRA", Detail::none, "branches on a condition that is the same in the whole warp",
     is_warp_branch},
    {"BRX", "BRX BRXU JMX", Detail::none, "branches through a table: switch"},
    {"CALL", "CALL", Detail::none,
     "calls: functions that were not inlined, the slow path of a division"},
    {"@P EXIT", "EXIT", Detail::none, "early exits of lanes: if (i >= n) return", is_guarded},
    {"predicated", "", Detail::none,
     "instructions other than branches that run for the lanes of a predicate: an if without a "
     "branch, if-converted",
     is_predicated_computation},
    {"SEL", "SEL FSEL", Detail::none, "choices between two values: c ? a : b; selp"},

    // Lanes, blocks and atomics
    {"SHFL", "SHFL", Detail::operation, "exchanges between lanes; __shfl_*_sync"},
    {"VOTE", "VOTE VOTEU", Detail::operation, "votes; __any_sync, __all_sync, __ballot_sync"},
    {"REDUX", "REDUX CREDUX", Detail::operation, "reductions over a warp; __reduce_*_sync"},
    {"MATCH", "MATCH", Detail::operation, "lanes with equal values; __match_*_sync"},
    {"BAR", "BAR", Detail::operation, "barriers of a block; __syncthreads, bar.sync"},
    {"WARPSYNC", "WARPSYNC", Detail::none, "barriers of a warp; __syncwarp"},
    {"SYNCS", "SYNCS", Detail::operation, "barriers in shared memory; mbarrier, cuda::barrier"},
    {"UCGABAR", "UCGABAR_ARV UCGABAR_WAIT", Detail::none, "barriers of a cluster; barrier.cluster"},
    {"MEMBAR", "MEMBAR", Detail::none, "memory fences; __threadfence"},
    {"ATOMG", "ATOMG ATOM", Detail::operation,
     "atomics in global memory whose old value is used; atom.global"},
    {"RED", "RED REDG", Detail::operation,
     "atomics in global memory that return no value: atomicAdd(p, x) as a statement; red.global"},
    {"ATOMS", "ATOMS", Detail::operation, "atomics in shared memory; atom.shared"},
};

// Orders LDG.32 before LDG.128.
struct ShorterFirst {
  bool operator()(const std::string& a, const std::string& b) const {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  }
};

bool is_listed(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    if (take_until(words, " ") == word) return true;
  }
  return false;
}

}  // namespace

std::span<const InstructionClass> instruction_classes() {
  return kClasses;
}

bool InstructionClass::contains(const Instruction& instruction) const {
  if (!mnemonics.empty() && !is_listed(mnemonics, instruction.mnemonic())) return false;
  return !is_member || is_member(instruction);
}

std::string InstructionClass::name_of(const Instruction& instruction) const {
  switch (detail) {
    case Detail::none: return std::string(name);
    case Detail::width: return fmt::format("{}.{}", name, width_bits(instruction));
    case Detail::operation: return fmt::format("{}.{}", name, operation(instruction));
    case Detail::opcode: break;
  }
  return instruction.opcode;
}

int width_bits(const Instruction& instruction) {
  for (std::string_view modifier : instruction.modifiers()) {
    if (modifier.starts_with('U') || modifier.starts_with('S')) modifier.remove_prefix(1);
    const auto bits = take_number<int>(modifier);
    if (bits && modifier.empty()) return *bits;
  }
  return 32;
}

std::vector<ClassCount> count_classes(const InstructionCounts& counts) {
  std::vector<ClassCount> found;
  for (const InstructionClass& c : instruction_classes()) {
    std::map<std::string, int, ShorterFirst> members;
    for (const auto& [instruction, count] : counts) {
      if (c.contains(instruction)) members[c.name_of(instruction)] += count;
    }
    for (const auto& [name, count] : members)
      found.push_back({&c, name, count});
  }
  return found;
}

int total(const InstructionCounts& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0,
                         [](int sum, const auto& entry) { return sum + entry.second; });
}

}  // namespace gpuexp
