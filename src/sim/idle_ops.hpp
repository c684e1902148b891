// Finds the instructions of a kernel whose values affect no branch, no address and nothing else. A
// simulation that only counts branches and addresses can skip them.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/program.hpp"

namespace gpuexp::sim {

/// Whether an instruction can be skipped: its value reaches no branch, no address and no
/// instruction with effects besides its results.
enum class Idle : std::uint8_t {
  no,
  arithmetic,  ///< it computes a value that is not used
  access,      ///< it loads or stores such values
};

struct IdleOps {
  std::vector<Idle> of;  ///< by position in the program
  /// Values loaded from global memory are used, so earlier kernels must store theirs.
  bool global_decides = false;
};

/// Analyzes a program. `keeps_global`: other kernels use what it stores to global memory.
IdleOps idle_ops(const Program& program, bool keeps_global);

/// Makes idle arithmetic do nothing. Idle loads and stores only note their addresses. `ops` are the
/// program's, in its order.
void leave_out(const IdleOps& idle, std::vector<Op>& ops);

}  // namespace gpuexp::sim
