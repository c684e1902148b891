// Pipe, duration and dependencies of each instruction.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/program.hpp"
#include "timing/control.hpp"
#include "timing/register_banks.hpp"
#include "timing/sm_parameters.hpp"
#include "timing/warp_state.hpp"

namespace gpuexp {

/// Pipes of one SM quarter. Half of the FMA lanes are heavy: only they multiply integers. IMAD.WIDE
/// and IMAD.HI, whose product has 64 bits, also use the ALU, and HFMA2 uses both halves of the FMA
/// lanes (docs/studies/instruction_issue). wgmma uses the tensor cores of all four quarters.
enum class IssuedTo : std::uint8_t {
  none,
  fma,
  fma_heavy,
  fma_wide,  ///< the heavy half and the ALU
  fma_both,
  alu,
  fp64,
  xu,
  tensor,
  memory,
  products
};
inline constexpr std::size_t kIssuedTo = 11;

struct TimedOp {
  enum class Kind : std::uint8_t {
    plain,
    global,          ///< accesses global or local memory
    shared,          ///< accesses shared memory, or exchanges values between lanes
    commit,          ///< LDGDEPBAR: releases its scoreboard when earlier copies have arrived
    depends,         ///< DEPBAR: waits until at most `left` results of a scoreboard are pending
    mbarrier,        ///< SYNCS, ARRIVES: initializes an mbarrier or arrives at one
    phase_check,     ///< SYNCS.PHASECHK: tests whether a phase has ended
    bulk,            ///< bulk copy, which arrives at an mbarrier or is committed
    bulk_commit,     ///< UTMACMDFLUSH: commits copies from shared memory
    async_store,     ///< STAS, REDAS: arrives at an mbarrier of a block of the cluster
    product,         ///< wgmma, executed by all four warps of a warpgroup
    products_order,  ///< WARPGROUP.ARRIVE: waits until earlier products release registers
    products_wait,   ///< WARPGROUP.DEPBAR: waits until at most `left` groups are pending
    cluster_wait,    ///< UCGABAR_WAIT
    fence,    ///< MEMBAR with a scope beyond the block: waits until earlier stores are visible
    drop_l1,  ///< CCTL.IVALL
  };
  enum class Moves : std::uint8_t { to_shared, to_global, reduces, within_cluster };

  Control control;
  Kind kind = Kind::plain;
  IssuedTo to = IssuedTo::none;
  /// Stall reason of instructions that wait for this instruction's result.
  WarpState result_wait = WarpState::short_scoreboard;
  /// Cycles for which the instruction occupies its pipe; for wgmma, all four tensor cores.
  double pipe_clocks = 0;
  /// Cycles until the scoreboard is released; unused if memory determines the time.
  double latency = 0;
  OperandReads reads;            ///< registers that the FMA lanes or the ALU read
  bool passes_l1 = false;        ///< L1 does not keep the data that the instruction reads
  bool copies = false;           ///< the instruction is a cp.async copy
  bool may_end_barrier = false;  ///< may complete a barrier without waiting at it
  bool exits = false;            ///< EXIT
  /// Atomic operation on shared memory that takes a cycle for each lane with an address in one
  /// bank.
  bool serializes_lanes = false;
  bool suspends = false;  ///< try_wait: the warp sleeps until the phase has ended
  bool commits = false;   ///< the product is the last of its group
  bool is_tensor = false;
  bool awaits_copies = false;  ///< arrives when the warp's cp.async copies have completed
  Moves moves = Moves::to_shared;
  bool a_in_registers = false;
  double operand_wavefronts = 0;  ///< shared memory wavefronts that read the operands
  std::uint8_t scoreboard = 0;    ///< operand of DEPBAR
  std::uint8_t left = 0;          ///< operand of DEPBAR and WARPGROUP.DEPBAR
};

struct Schedule {
  std::vector<TimedOp> ops;
  std::string refusal;  ///< why the kernel's time cannot be modelled; empty if it can
};

Schedule schedule_of(const sim::Program& program, const SmParameters& parameters);

}  // namespace gpuexp
