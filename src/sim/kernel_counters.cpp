#include "sim/kernel_counters.hpp"

#include <cmath>
#include <utility>

namespace gpuexp::sim {

namespace {

struct InstructionSums {
  std::uint64_t warps = 0;
  std::uint64_t lanes = 0;
  std::uint64_t predicated_lanes = 0;
  std::uint64_t branches = 0;
  std::uint64_t lsu_without_access = 0;
  std::uint64_t copy_commits = 0;
  std::array<std::uint64_t, kIssuePipes> of_pipe{};

  std::uint64_t of(IssuePipe pipe) const { return of_pipe[static_cast<std::size_t>(pipe)]; }
};

InstructionSums sums_of(const Program& program, std::span<const OpCount> counts) {
  InstructionSums sums;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const OpCount& count = counts[i];
    const OpClass& of = program.classes[i];
    sums.warps += count.warps;
    sums.lanes += count.lanes;
    sums.predicated_lanes += count.predicated_lanes;
    sums.of_pipe[static_cast<std::size_t>(of.pipe)] += count.warps;
    if (of.is_lsu_without_access) sums.lsu_without_access += count.warps;
    if (of.commits_copies) sums.copy_commits += count.warps;
    if (of.is_branch) sums.branches += count.warps;
  }
  return sums;
}

struct Execution {
  InstructionSums instructions;
  MemoryCounts memory;
};

bool are_pipes_known(const Execution& e) {
  return e.instructions.of(IssuePipe::unknown) == 0;
}
bool are_shared_wavefronts_known(const Execution& e) {
  return e.memory.other_accesses == 0;
}
bool are_data_wavefronts_known(const Execution& e) {
  return are_pipes_known(e) && are_shared_wavefronts_known(e);
}
bool are_tag_wavefronts_known(const Execution& e) {
  return e.memory.other_tag_accesses == 0;
}

struct Metric {
  std::string_view name;
  std::uint64_t (*of)(const Execution&);
  /// Returns false if a count in the metric's sum is unknown. Null: all counts are always known.
  bool (*is_known)(const Execution&) = nullptr;
};

template <IssuePipe kPipe>
std::uint64_t of_pipe(const Execution& e) {
  return e.instructions.of(kPipe);
}

template <std::uint64_t MemoryCounts::*kCount>
std::uint64_t of_memory(const Execution& e) {
  return e.memory.*kCount;
}

constexpr std::array<Metric, kMetrics> kAll{{
    {"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", of_memory<&MemoryCounts::load_requests>},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum", of_memory<&MemoryCounts::load_sectors>},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", of_memory<&MemoryCounts::store_requests>},
    {"l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum", of_memory<&MemoryCounts::store_sectors>},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
     of_memory<&MemoryCounts::atomic_requests>},
    {"l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
     of_memory<&MemoryCounts::reduction_requests>},
    {"l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
     of_memory<&MemoryCounts::local_load_requests>},
    {"l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", of_memory<&MemoryCounts::local_load_sectors>},
    {"l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
     of_memory<&MemoryCounts::local_store_requests>},
    {"l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
     of_memory<&MemoryCounts::local_store_sectors>},
    {"l1tex__data_pipe_lsu_wavefronts.sum",
     [](const Execution& e) {
       return e.instructions.lsu_without_access + e.memory.global_wavefronts +
              e.memory.shared_load_wavefronts + e.memory.shared_store_wavefronts;
     },
     are_data_wavefronts_known},
    {"l1tex__t_output_wavefronts_pipe_lsu.sum",
     [](const Execution& e) {
       return e.memory.tag_wavefronts + e.memory.async_tag_wavefronts + e.instructions.copy_commits;
     },
     are_tag_wavefronts_known},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
     of_memory<&MemoryCounts::shared_load_wavefronts>},
    {"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
     of_memory<&MemoryCounts::shared_store_wavefronts>},
    {"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
     of_memory<&MemoryCounts::shared_conflicts>, are_shared_wavefronts_known},
    {"smsp__inst_executed.sum", [](const Execution& e) { return e.instructions.warps; }},
    {"smsp__thread_inst_executed.sum", [](const Execution& e) { return e.instructions.lanes; }},
    {"smsp__thread_inst_executed_pred_on.sum",
     [](const Execution& e) { return e.instructions.predicated_lanes; }},
    {"smsp__inst_executed_op_branch.sum",
     [](const Execution& e) { return e.instructions.branches; }},
    {"sm__inst_executed_pipe_fma.sum", of_pipe<IssuePipe::fma>, are_pipes_known},
    {"sm__inst_executed_pipe_alu.sum", of_pipe<IssuePipe::alu>, are_pipes_known},
    {"sm__inst_executed_pipe_fp64.sum", of_pipe<IssuePipe::fp64>},
    {"sm__inst_executed_pipe_xu.sum", of_pipe<IssuePipe::xu>, are_pipes_known},
    {"sm__inst_executed_pipe_lsu.sum", of_pipe<IssuePipe::lsu>, are_pipes_known},
    {"sm__inst_executed_pipe_tensor.sum", of_pipe<IssuePipe::tensor>},
}};

template <std::size_t... kPlaces>
constexpr std::array<std::string_view, kMetrics> names_of(std::index_sequence<kPlaces...>) {
  return {kAll[kPlaces].name...};
}

}  // namespace

std::span<const std::string_view, kMetrics> metric_names() {
  static constexpr auto names = names_of(std::make_index_sequence<kMetrics>());
  return names;
}

MetricValues metric_values(const Program& program, std::span<const OpCount> counts,
                           const MemoryCounts& memory) {
  const Execution execution{sums_of(program, counts), memory};
  MetricValues values;
  for (std::size_t i = 0; i < kMetrics; ++i)
    values[i] = !kAll[i].is_known || kAll[i].is_known(execution)
                    ? static_cast<double>(kAll[i].of(execution))
                    : std::nan("");
  return values;
}

}  // namespace gpuexp::sim
