// Machine code as the schedulers of an SM see it: where each instruction goes, for how long, and
// what it waits for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/program.hpp"
#include "timing/control.hpp"
#include "timing/sm_figures.hpp"
#include "timing/warp_state.hpp"

namespace gpuexp {

/// Pipes of a quarter of an SM. Half of the FMA lanes are heavy: they alone multiply integers.
/// Products of wgmma go to all four tensor cores.
enum class IssuedTo : std::uint8_t {
  none,
  fma,
  fma_heavy,
  alu,
  fp64,
  xu,
  tensor,
  memory,
  products
};
inline constexpr std::size_t kIssuedTo = 9;

struct TimedOp {
  enum class Kind : std::uint8_t {
    plain,
    global,          ///< memory behind L1's tags
    shared,          ///< shared memory, and exchanges between lanes
    commit,          ///< LDGDEPBAR: its scoreboard is released when copies before it have arrived
    depends,         ///< DEPBAR: waits until a scoreboard has so many releases left
    mbarrier,        ///< SYNCS, and ARRIVES: makes an mbarrier, or arrives there
    phase_check,     ///< SYNCS.PHASECHK: whether a phase has ended
    bulk,            ///< what the copy engine moves: it comes to an mbarrier, or is committed
    bulk_commit,     ///< UTMACMDFLUSH: LDGDEPBAR of copies from shared memory
    async_store,     ///< STAS, REDAS: comes to an mbarrier of a block of the cluster
    product,         ///< of wgmma, by all four warps of a warpgroup
    products_order,  ///< WARPGROUP.ARRIVE: until those before have left their registers
    products_wait,   ///< WARPGROUP.DEPBAR: until so many groups of products are left
    cluster_wait,    ///< UCGABAR_WAIT
    fence,           ///< MEMBAR of the GPU or more: until others see what was stored before
    drop_l1,         ///< CCTL.IVALL
  };
  /// What a bulk copy does.
  enum class Moves : std::uint8_t { to_shared, to_global, reduces, within_cluster };

  Control control;
  Kind kind = Kind::plain;
  IssuedTo to = IssuedTo::none;
  WarpState result_wait = WarpState::short_scoreboard;  ///< of who waits for its result
  /// For which the pipe takes no other; of products of a warpgroup, all four tensor cores.
  double pipe_clocks = 0;
  double latency = 0;  ///< clocks until its scoreboard is released, where memory does not say
  double operand_clocks = 0;     ///< more than one, in which its operands are read
  bool passes_l1 = false;        ///< what it reads leaves nothing in L1
  bool copies = false;           ///< cp.async
  bool may_end_barrier = false;  ///< of the block or the cluster, without waiting there
  bool exits = false;            ///< EXIT
  bool suspends = false;         ///< try_wait: who asks sleeps until the phase has ended
  bool commits = false;          ///< the product is the last of its group
  bool is_tensor = false;        ///< the copy is of a box of a tensor map
  bool awaits_copies = false;    ///< it arrives when the warp's cp.async have
  Moves moves = Moves::to_shared;
  bool a_in_registers = false;    ///< of a product of a warpgroup
  double operand_wavefronts = 0;  ///< of shared memory, that it reads
  std::uint8_t scoreboard = 0;    ///< of DEPBAR
  std::uint8_t left = 0;          ///< likewise, and of WARPGROUP.DEPBAR
};

struct Schedule {
  std::vector<TimedOp> ops;  ///< by place in the program
  std::string refusal;       ///< why the kernel's time cannot be modelled; empty where it can
};

Schedule schedule_of(const sim::Program& program, const SmFigures& figures);

}  // namespace gpuexp
