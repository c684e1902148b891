#include "sim/kernel_counters.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "sass/issue_pipe.hpp"

namespace gpuexp::sim {

namespace {

struct InstructionSums {
  double warps = 0;
  double lanes = 0;
  double lanes_on = 0;
  double branches = 0;
  double lsu_alone = 0;  ///< of the load-store unit, without an access to memory
  std::array<double, kIssuePipes> of_pipe{};

  double of(IssuePipe pipe) const { return of_pipe[static_cast<std::size_t>(pipe)]; }
};

InstructionSums sums_of(const KernelExecution& execution) {
  InstructionSums sums;
  for (std::size_t i = 0; i < execution.counts.size(); ++i) {
    const OpCount& count = execution.counts[i];
    const ListedInstruction& listed = execution.program->listed[i];
    const auto warps = static_cast<double>(count.warps);
    sums.warps += warps;
    sums.lanes += static_cast<double>(count.lanes);
    sums.lanes_on += static_cast<double>(count.lanes_on);
    const IssuePipe pipe = issue_pipe(listed.opcode, listed.operands);
    sums.of_pipe[static_cast<std::size_t>(pipe)] += warps;
    if (pipe == IssuePipe::lsu && is_load_store_without_access(listed.opcode))
      sums.lsu_alone += warps;
    if (is_branch(listed.opcode)) sums.branches += warps;
  }
  return sums;
}

// cp.async takes about two wavefronts of the tag stage where other loads take one
// (family/warp_access.hpp).
constexpr std::uint64_t kAsyncTagFactor = 2;

// Metrics of which part is not known are left out: a sum without that part would be wrong.
void withhold(std::vector<MetricValue>& values, std::initializer_list<std::string_view> metrics) {
  std::erase_if(values, [&](const MetricValue& value) {
    return std::find(metrics.begin(), metrics.end(), value.metric) != metrics.end();
  });
}

void withhold_unknown(std::vector<MetricValue>& values, const InstructionSums& sums,
                      const MemoryCounts& memory) {
  constexpr std::string_view kDataWavefronts = "l1tex__data_pipe_lsu_wavefronts.sum";
  if (sums.of(IssuePipe::unknown) > 0)
    withhold(values,
             {"sm__inst_executed_pipe_fma.sum", "sm__inst_executed_pipe_alu.sum",
              "sm__inst_executed_pipe_xu.sum", "sm__inst_executed_pipe_lsu.sum", kDataWavefronts});
  if (memory.other_accesses > 0) withhold(values, {kDataWavefronts});
  if (memory.other_tag_accesses > 0) withhold(values, {"l1tex__t_output_wavefronts_pipe_lsu.sum"});
}

}  // namespace

std::vector<MetricValue> metrics_of(const KernelExecution& execution) {
  const InstructionSums sums = sums_of(execution);
  const MemoryCounts& memory = execution.memory;
  const auto number = [](std::uint64_t count) { return static_cast<double>(count); };
  std::vector<MetricValue> values{
      {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", number(memory.load_requests)},
      {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", number(memory.load_sectors)},
      {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", number(memory.store_requests)},
      {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", number(memory.store_sectors)},
      {"l1tex__data_pipe_lsu_wavefronts.sum",
       sums.lsu_alone + number(memory.global_wavefronts + memory.shared_load_wavefronts +
                               memory.shared_store_wavefronts)},
      {"l1tex__t_output_wavefronts_pipe_lsu.sum",
       number(memory.tag_wavefronts + kAsyncTagFactor * memory.async_tag_wavefronts)},
      {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
       number(memory.shared_load_wavefronts)},
      {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
       number(memory.shared_store_wavefronts)},
      {"smsp__inst_executed.sum", sums.warps},
      {"smsp__thread_inst_executed.sum", sums.lanes},
      {"smsp__thread_inst_executed_pred_on.sum", sums.lanes_on},
      {"smsp__inst_executed_op_branch.sum", sums.branches},
      {"sm__inst_executed_pipe_fma.sum", sums.of(IssuePipe::fma)},
      {"sm__inst_executed_pipe_alu.sum", sums.of(IssuePipe::alu)},
      {"sm__inst_executed_pipe_fp64.sum", sums.of(IssuePipe::fp64)},
      {"sm__inst_executed_pipe_xu.sum", sums.of(IssuePipe::xu)},
      {"sm__inst_executed_pipe_lsu.sum", sums.of(IssuePipe::lsu)},
      {"sm__inst_executed_pipe_tensor.sum", sums.of(IssuePipe::tensor)},
  };
  withhold_unknown(values, sums, memory);
  return values;
}

bool counts(std::string_view metric) {
  static const Program empty;
  static const std::vector<MetricValue> known = metrics_of({&empty, {}, {}});
  return std::any_of(known.begin(), known.end(),
                     [&](const MetricValue& m) { return m.metric == metric; });
}

}  // namespace gpuexp::sim
