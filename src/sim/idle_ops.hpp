// Finds instructions whose values affect no branch, no address and no other instruction's effects.
// A simulation that only needs branches and addresses can skip them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Whether an instruction can be skipped, because its values affect no branch, no address and no
/// instruction with effects besides its results.
enum class Idle : std::uint8_t {
  no,
  arithmetic,  ///< computes an unused value
  access,      ///< loads or stores unused values
};

struct IdleOps {
  std::vector<Idle> of;  ///< by index in the program
  /// Whether values loaded from global memory are used, so that earlier kernels must store them.
  bool global_decides = false;
  /// Whether numbers of iterations depend on values loaded from global memory, as those over the
  /// rows of a sparse matrix do.
  bool global_decides_loops = false;
};

/// Analyzes a program. `keeps_global`: whether other kernels use its stores to global memory.
IdleOps idle_ops(const Program& program, bool keeps_global);

/// Replaces idle arithmetic by no operation, and lets idle loads and stores only note their
/// addresses. `ops` are the program's ops, in order.
void leave_out(const IdleOps& idle, std::vector<Op>& ops);

}  // namespace gpuexp::sim
