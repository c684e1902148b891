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
enum class IssuedTo : std::uint8_t { none, fma, fma_heavy, alu, fp64, xu, tensor, memory };
inline constexpr std::size_t kIssuedTo = 8;

struct TimedOp {
  enum class Kind : std::uint8_t {
    plain,
    global,   ///< memory behind L1's tags
    shared,   ///< shared memory, and exchanges between lanes
    commit,   ///< LDGDEPBAR: its scoreboard is released when copies before it have arrived
    depends,  ///< DEPBAR: waits until a scoreboard has so many releases left
  };

  Control control;
  Kind kind = Kind::plain;
  IssuedTo to = IssuedTo::none;
  WarpState result_wait = WarpState::short_scoreboard;  ///< of who waits for its result
  double pipe_clocks = 0;                               ///< for which the pipe takes no other
  double latency = 0;  ///< clocks until its scoreboard is released, where memory does not say
  double operand_clocks = 0;    ///< more than one, in which its operands are read
  bool passes_l1 = false;       ///< what it reads leaves nothing in L1
  bool copies = false;          ///< cp.async
  std::uint8_t scoreboard = 0;  ///< of DEPBAR
  std::uint8_t left = 0;        ///< likewise
};

struct Schedule {
  std::vector<TimedOp> ops;  ///< by place in the program
  std::string refusal;       ///< why the kernel's time cannot be modelled; empty where it can
};

Schedule schedule_of(const sim::Program& program, const SmFigures& figures);

}  // namespace gpuexp
