// Which part of a predicted time a source line has: its part of what is asked of the resource that
// takes longest, among those whose work belongs to instructions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/prediction.hpp"
#include "sass/issue_pipe.hpp"
#include "sass/tensor_shape.hpp"
#include "sim/simulator.hpp"

namespace gpuexp {

/// The resource, and what of an instruction's counts asks for it.
struct LineShare {
  std::string resource;   ///< of resource_names(); empty: none that lines ask for
  double time_us = 0;     ///< that it takes alone
  std::string amount;     ///< what is counted of a line, for readers
  std::string why_empty;  ///< lines have no share, because; else empty

  enum class By { nothing, instructions, pipe, tensor, data_stage, tag_stage, sectors };
  By by = By::nothing;
  IssuePipe pipe = IssuePipe::other;
  double per_load_sector = 0;
  double per_store_sector = 0;
};

/// Of a launch whose kernels were observed place by place. Warps that wait for latencies wait for
/// several lines at once, and what starts blocks and launches belongs to none: of these no line has
/// a share, and the longest of the others is taken. L2 and DRAM serve what caches before them did
/// not hold, which is counted by no line: there, lines have shares where those caches hold nothing,
/// or where one line alone loads (or stores).
LineShare line_share(const Prediction& prediction, const Ceilings& ceilings,
                     const std::vector<sim::KernelExecution>& executions);

/// What the instruction at this place asks of the resource, in a unit of the resource's own.
double demand(const LineShare& share, const sim::KernelExecution& execution, std::size_t place);

}  // namespace gpuexp
