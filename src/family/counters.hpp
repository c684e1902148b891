// Hardware counters: the friendly names that columns have, and the metrics of Nsight Compute that
// they are made from.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// What a GPU counted during one kernel.
struct KernelCounts {
  std::string kernel;          ///< its mangled name; empty where the driver did not say
  std::vector<double> values;  ///< in the order of LaunchCounts::metrics
};

/// What it counted during one launch of a variant.
struct LaunchCounts {
  std::vector<std::string> metrics;   ///< names of Nsight Compute
  std::vector<KernelCounts> kernels;  ///< in the order in which they were launched
  int passes = 0;                     ///< repetitions that it took
  /// Where the counts are estimates by some of the blocks: of the least certain one, over its
  /// value. Empty where hardware counted.
  std::optional<double> standard_error = std::nullopt;
};

/// A friendly name. Its value is scale × numerator / denominator, or scale × numerator where there
/// is no denominator. Over several kernels, both add up before they are divided: sums over the
/// units of the GPU do, and cycles of the mean unit and of the one that has most, kernel after
/// kernel.
struct Counter {
  std::string_view id;     ///< of the column, behind "counter."
  std::string_view group;  ///< what it belongs to in `--counters GROUP`
  std::string_view unit;
  std::string_view doc;
  std::string_view fragment;  ///< what stands behind its value: "32 sectors per load request"
  std::string_view numerator;
  std::string_view denominator = {};
  double scale = 1;
  /// The name under which Nsight Compute has the quotient, where it has one.
  std::string_view nsight_name = {};
  double bytes_each = 0;  ///< of what sentences give in bytes although it is counted in pieces
};

inline constexpr std::array kCounters{
    // Memory: which bytes and sectors moved between which levels.
    Counter{"dram_read_bytes", "memory", "B", "bytes read from device memory", "read from DRAM",
            "dram__bytes_read.sum"},
    Counter{"dram_write_bytes", "memory", "B", "bytes written to device memory", "written to DRAM",
            "dram__bytes_write.sum"},
    Counter{"l2_sectors",
            "memory",
            "",
            "32-byte sectors that the SMs asked of L2, or wrote there",
            "through L2",
            "lts__t_sectors_srcunit_tex.sum",
            {},
            1,
            {},
            32},
    Counter{"l2_hit_pct", "memory", "%", "of these, found in L2; writes always are", "found in L2",
            "lts__t_sectors_srcunit_tex_lookup_hit.sum", "lts__t_sectors_srcunit_tex.sum", 100},
    Counter{"l1_hit_pct", "memory", "%", "sectors found in L1, of all looked up there",
            "found in L1", "l1tex__t_sectors_lookup_hit.sum", "l1tex__t_sectors.sum", 100,
            "l1tex__t_sector_hit_rate.pct"},
    Counter{"global_load_requests", "memory", "",
            "load instructions that a warp sent to global memory", "global load requests",
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
    Counter{"global_load_sectors", "memory", "", "32-byte sectors that they touched",
            "sectors loaded", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
    Counter{"global_load_sectors_per_request", "memory", "",
            "4 where 32 lanes load 32 neighbouring words of 4 bytes; 32 where each has its own "
            "sector",
            "sectors per load request", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
            "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1,
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"},
    Counter{"global_store_requests", "memory", "",
            "store instructions that a warp sent to global memory", "global store requests",
            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
    Counter{"global_store_sectors", "memory", "", "32-byte sectors that they touched",
            "sectors stored", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
    Counter{"global_store_sectors_per_request", "memory", "", "likewise, of stores",
            "sectors per store request", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 1,
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"},
    Counter{"l1_data_wavefronts", "memory", "",
            "L1 data-stage wavefronts, at most 128 bytes each, of loads and stores to "
            "global, local and shared memory",
            "L1 data-stage wavefronts", "l1tex__data_pipe_lsu_wavefronts.sum"},
    Counter{
        "l1_tag_wavefronts", "memory", "",
        "L1 tag-stage (t-stage) wavefronts of loads and stores to global and local memory: at most "
        "four lines each, one in each bank of the tags",
        "L1 tag-stage wavefronts", "l1tex__t_output_wavefronts_pipe_lsu.sum"},
    // Caches of their own: constants, and textures.
    Counter{"constant_requests", "memory", "",
            "addresses that loads of constants by an index asked for: one for all lanes of a warp, "
            "or each of them after the other",
            "constant requests", "idc__requests.sum"},
    Counter{"texture_requests", "memory", "",
            "instructions that a warp sent to the texture unit: fetches of textures, and surfaces",
            "texture requests", "l1tex__t_requests_pipe_tex.sum"},
    // Local memory: spilled registers, arrays that are indexed by a variable.
    Counter{"local_load_requests", "local", "",
            "load instructions that a warp sent to local memory, as of spilled registers",
            "local load requests", "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"},
    Counter{"local_load_sectors", "local", "", "32-byte sectors that they touched",
            "local sectors loaded", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"},
    Counter{"local_load_hit_pct", "local", "%", "of these, found in L1",
            "of local sectors found in L1",
            "l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum",
            "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 100},
    Counter{"local_store_requests", "local", "",
            "store instructions that a warp sent to local memory", "local store requests",
            "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"},
    Counter{"local_store_sectors", "local", "", "32-byte sectors that they touched",
            "local sectors stored", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"},
    // Shared memory.
    Counter{"shared_load_wavefronts", "shared", "", "L1 data-stage wavefronts of shared loads",
            "wavefronts of shared loads", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
    Counter{"shared_store_wavefronts", "shared", "", "L1 data-stage wavefronts of shared stores",
            "wavefronts of shared stores", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
    Counter{
        "shared_bank_conflicts", "shared", "",
        "L1 data-stage wavefronts of shared accesses beyond the least, because lanes met in a bank",
        "bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"},
    // Atomics: operations on memory that others want at the same time.
    Counter{"global_atomic_requests", "atomics", "",
            "atomic instructions that a warp sent to global memory for its old values (ATOM)",
            "global atomic requests", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"},
    Counter{"global_reduction_requests", "atomics", "",
            "the same of those that get nothing back (RED)", "global reduction requests",
            "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"},
    Counter{"l2_atomic_sectors", "atomics", "",
            "32-byte sectors that L2 changed by atomic operations for their old values",
            "sectors of atomics in L2", "lts__t_sectors_op_atom.sum"},
    Counter{"l2_reduction_sectors", "atomics", "", "likewise, by those that get nothing back",
            "sectors of reductions in L2", "lts__t_sectors_op_red.sum"},
    Counter{"l2_atomic_cycles", "atomics", "cycles",
            "in which the atomic units of L2's slices took something, over all slices",
            "cycles of L2's atomic units", "lts__d_atomic_input_cycles_active.sum"},
    Counter{"shared_atomic_wavefronts", "atomics", "",
            "L1 data-stage wavefronts of atomics on shared memory", "wavefronts of shared atomics",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"},
    // Divergence: lanes that instructions leave idle.
    Counter{"warp_instructions", "divergence", "", "instructions that warps executed",
            "warp instructions", "smsp__inst_executed.sum"},
    Counter{"active_lanes_per_instruction", "divergence", "",
            "lanes that took part in an instruction, of 32", "active lanes per instruction",
            "smsp__thread_inst_executed.sum", "smsp__inst_executed.sum", 1,
            "smsp__thread_inst_executed_per_inst_executed.ratio"},
    Counter{"predicated_lanes_per_instruction", "divergence", "",
            "of these, lanes whose predicate let it have an effect",
            "lanes with effect per instruction", "smsp__thread_inst_executed_pred_on.sum",
            "smsp__inst_executed.sum", 1,
            "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"},
    Counter{"branch_instructions", "divergence", "", "branches that warps executed", "branches",
            "smsp__inst_executed_op_branch.sum"},
    // Pipes.
    Counter{"fma_instructions", "pipes", "", "warp instructions of the FMA pipes (fp32 and others)",
            "instructions of the FMA pipes", "sm__inst_executed_pipe_fma.sum"},
    Counter{"alu_instructions", "pipes", "", "warp instructions of the ALU pipe (integer, logic)",
            "instructions of the ALU pipe", "sm__inst_executed_pipe_alu.sum"},
    Counter{"fp64_instructions", "pipes", "", "warp instructions of the fp64 pipe",
            "instructions of the fp64 pipe", "sm__inst_executed_pipe_fp64.sum"},
    Counter{"xu_instructions", "pipes", "",
            "warp instructions of the transcendental unit (exp, rsqrt, conversions)",
            "instructions of the transcendental unit", "sm__inst_executed_pipe_xu.sum"},
    Counter{"lsu_instructions", "pipes", "", "warp instructions of the load and store unit",
            "instructions of the load-store unit", "sm__inst_executed_pipe_lsu.sum"},
    Counter{"issue_active_pct", "pipes", "%",
            "cycles in which a scheduler issued an instruction, of those with a warp on it",
            "of issue slots used", "smsp__issue_active.sum", "smsp__cycles_active.sum", 100},
    // Tensor cores.
    Counter{"tensor_instructions", "tensor", "", "warp instructions of the tensor pipe",
            "tensor instructions", "sm__inst_executed_pipe_tensor.sum"},
    Counter{"tensor_active_pct", "tensor", "%",
            "cycles in which a scheduler's tensor pipe was busy, of those with a warp on it",
            "of the tensor pipe busy", "sm__pipe_tensor_cycles_active.sum",
            "smsp__cycles_active.sum", 100},
    // Occupancy, and what warps waited for.
    Counter{"active_warps_per_sm", "occupancy", "", "warps on an SM, in cycles in which it had any",
            "warps per SM", "sm__warps_active.sum", "sm__cycles_active.sum"},
    Counter{"eligible_warps_per_scheduler", "occupancy", "",
            "warps that could have issued, in cycles with a warp on the scheduler",
            "eligible warps per scheduler", "smsp__warps_eligible.sum", "smsp__cycles_active.sum"},
    Counter{"sm_balance_pct", "occupancy", "%",
            "cycles with a warp on an SM, mean over the SMs, of those of the SM that has most",
            "of the busiest SM's cycles on the mean SM", "sm__cycles_active.avg",
            "sm__cycles_active.max", 100},
    Counter{"stalled_long_scoreboard", "occupancy", "warps",
            "per instruction issued, warps that waited for L1, L2 or DRAM",
            "warps waiting for L1, L2 or DRAM", "smsp__warps_issue_stalled_long_scoreboard.sum",
            "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"},
    Counter{"stalled_short_scoreboard", "occupancy", "warps",
            "per instruction issued, warps that waited for shared memory or a special function",
            "warps waiting for shared memory or a special function",
            "smsp__warps_issue_stalled_short_scoreboard.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio"},
    Counter{"stalled_barrier", "occupancy", "warps",
            "per instruction issued, warps that waited at a barrier", "warps waiting at a barrier",
            "smsp__warps_issue_stalled_barrier.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"},
    Counter{"stalled_math_pipe", "occupancy", "warps",
            "per instruction issued, warps that waited for an arithmetic pipe to take one more",
            "warps waiting for an arithmetic pipe",
            "smsp__warps_issue_stalled_math_pipe_throttle.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio"},
    Counter{"stalled_lg_throttle", "occupancy", "warps",
            "per instruction issued, warps that waited for the queue of global accesses",
            "warps waiting for the queue of global accesses",
            "smsp__warps_issue_stalled_lg_throttle.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio"},
    Counter{"stalled_mio_throttle", "occupancy", "warps",
            "per instruction issued, warps that waited for the queue of shared accesses",
            "warps waiting for the queue of shared accesses",
            "smsp__warps_issue_stalled_mio_throttle.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio"},
    Counter{"stalled_no_instruction", "occupancy", "warps",
            "per instruction issued, warps that waited for an instruction to be fetched",
            "warps waiting for an instruction", "smsp__warps_issue_stalled_no_instruction.sum",
            "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio"},
};

/// The groups of kCounters, in their order, each once.
std::vector<std::string> counter_groups();

/// What `--counters` takes besides metrics of Nsight Compute: "all" and "none", the groups, the
/// counters.
std::vector<std::string> counter_names();
inline constexpr const char* kAllCounters = "all";
inline constexpr const char* kNoCounters = "none";

/// Null where no counter has the id.
const Counter* find_counter(std::string_view id);

/// True for what can only be a metric of Nsight Compute: a unit, two underscores and a quantity, as
/// in "lts__t_sectors.sum".
bool is_nsight_metric(std::string_view name);

/// A column's worth of counters: one of kCounters or a metric of Nsight Compute by its own name.
struct SelectedCounter {
  std::string name;
  std::string unit;
  std::string doc;
  std::string numerator;
  std::string denominator;  ///< empty: none
  double scale = 1;

  bool operator==(const SelectedCounter&) const = default;
};

/// Names of groups, of counters and metrics of Nsight Compute stand for themselves; "all" stands
/// for every group. In the order of kCounters, metrics behind, each once. All names are known.
std::vector<SelectedCounter> select_counters(const std::vector<std::string>& names);

/// The metrics that the counters need, each once.
std::vector<std::string> metrics_of(const std::vector<SelectedCounter>& counters);

/// The counter's value over all kernels of a launch, or over the one at `kernel`. Empty where a
/// metric is missing, a quotient has nothing below, or several kernels have a metric that does not
/// add up (only sums do; of "….max" and "….min" the extreme is taken).
std::optional<double> counted(const SelectedCounter& counter, const LaunchCounts& counts,
                              std::optional<std::size_t> kernel = std::nullopt);

}  // namespace gpuexp
