// Which instructions of a kernel decide where it goes and what it reaches, and which carry values
// alone: whoever asks for branches and addresses may leave the latter out.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Whether what an instruction computes, loads or stores comes to a branch, an address, or any
/// instruction that does more than compute.
enum class Idle : std::uint8_t {
  no,
  arithmetic,  ///< it computes, and that comes to nothing
  access,      ///< it loads or stores such values
};

struct IdleOps {
  std::vector<Idle> of;  ///< by place in the program
  /// Values loaded from global memory decide: kernels before this one have to store theirs.
  bool global_decides = false;
};

/// `keeps_global`: what is stored to global memory decides, in other kernels.
IdleOps idle_ops(const Program& program, bool keeps_global);

/// Idle arithmetic does nothing, and of idle loads and stores what they reach is noted alone. The
/// ops are those of the program, in its order.
void leave_out(const IdleOps& idle, std::vector<Op>& ops);

}  // namespace gpuexp::sim
