// Hardware counters: column names, and the Nsight Compute metrics of their values.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// Metric values of one kernel.
struct KernelCounts {
  std::string kernel;          ///< mangled name; empty if the driver did not report it
  std::vector<double> values;  ///< in the order of LaunchCounts::metrics
};

/// Metric values of one launch of a variant.
struct LaunchCounts {
  std::vector<std::string> metrics;   ///< Nsight Compute names
  std::vector<KernelCounts> kernels;  ///< in launch order
  int passes = 0;                     ///< number of times that the launch was replayed
  /// For counts estimated from a sample of blocks: the largest relative standard error of a
  /// metric. Empty for hardware counts.
  std::optional<double> standard_error = std::nullopt;
};

/// A counter's value is scale × numerator / denominator, or scale × numerator if there is no
/// denominator. For several kernels, numerators and denominators are summed before the division.
/// The result is exact for sums over the units of the GPU, and for `.avg` and `.max` of cycles,
/// because kernels run one after another.
struct Counter {
  std::string_view id;     ///< column name without "counter."
  std::string_view group;  ///< group for `--counters GROUP`
  std::string_view unit;
  std::string_view doc;
  std::string_view fragment;  ///< text after the value: "32 sectors per load request"
  std::string_view numerator;
  std::string_view denominator = {};
  double scale = 1;
  /// Nsight Compute's metric for the ratio; empty if there is none.
  std::string_view nsight_name = {};
  double bytes_each = 0;  ///< bytes per count, for counters that sentences convert to bytes
};

inline constexpr std::array kCounters{
    // Memory: bytes and sectors that move between levels.
    Counter{"dram_read_bytes", "memory", "B", "bytes read from device memory", "read from DRAM",
            "dram__bytes_read.sum"},
    Counter{"dram_write_bytes", "memory", "B", "bytes written to device memory", "written to DRAM",
            "dram__bytes_write.sum"},
    Counter{"l2_sectors",
            "memory",
            "",
            "32-byte sectors of the SMs' loads, stores and atomics in L2",
            "through L2",
            "lts__t_sectors_srcunit_tex.sum",
            {},
            1,
            {},
            32},
    Counter{"l2_hit_pct", "memory", "%", "share of l2_sectors that hit in L2; stores always hit",
            "found in L2", "lts__t_sectors_srcunit_tex_lookup_hit.sum",
            "lts__t_sectors_srcunit_tex.sum", 100},
    Counter{"l1_hit_pct", "memory", "%", "hit rate of sectors looked up in L1", "found in L1",
            "l1tex__t_sectors_lookup_hit.sum", "l1tex__t_sectors.sum", 100,
            "l1tex__t_sector_hit_rate.pct"},
    Counter{"global_load_requests", "memory", "", "warp-level global load instructions",
            "global load requests", "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"},
    Counter{"global_load_sectors", "memory", "", "32-byte sectors of global loads",
            "sectors loaded", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"},
    Counter{
        "global_load_sectors_per_request", "memory", "",
        "sectors per global load of a warp: 4 if 32 lanes load neighbouring 4-byte words, 32 if "
        "each lane loads from another sector",
        "sectors per load request", "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum", 1,
        "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"},
    Counter{"global_store_requests", "memory", "", "warp-level global store instructions",
            "global store requests", "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"},
    Counter{"global_store_sectors", "memory", "", "32-byte sectors of global stores",
            "sectors stored", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"},
    Counter{"global_store_sectors_per_request", "memory", "",
            "sectors per global store of a warp: 4 if 32 lanes store neighbouring 4-byte words",
            "sectors per store request", "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
            "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum", 1,
            "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"},
    Counter{"l1_data_wavefronts", "memory", "",
            "L1 data-stage wavefronts of loads and stores in global, local and shared memory, at "
            "most 128 bytes each",
            "L1 data-stage wavefronts", "l1tex__data_pipe_lsu_wavefronts.sum"},
    Counter{
        "l1_tag_wavefronts", "memory", "",
        "L1 tag-stage (t-stage) wavefronts of loads and stores in global and local memory: at most "
        "four lines each, one per tag bank",
        "L1 tag-stage wavefronts", "l1tex__t_output_wavefronts_pipe_lsu.sum"},
    // Constant and texture caches.
    Counter{
        "constant_requests", "memory", "",
        "distinct addresses of warps in indexed constant loads; 1 per load if all lanes use the "
        "same address",
        "constant requests", "idc__requests.sum"},
    Counter{"texture_requests", "memory", "", "warp-level texture and surface instructions",
            "texture requests", "l1tex__t_requests_pipe_tex.sum"},
    // Local memory: spilled registers and arrays with variable indices.
    Counter{"local_load_requests", "local", "",
            "warp-level local load instructions, such as reloads of spilled registers",
            "local load requests", "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"},
    Counter{"local_load_sectors", "local", "", "32-byte sectors of local loads",
            "local sectors loaded", "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"},
    Counter{"local_load_hit_pct", "local", "%", "share of local_load_sectors that hit in L1",
            "of local sectors found in L1",
            "l1tex__t_sectors_pipe_lsu_mem_local_op_ld_lookup_hit.sum",
            "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum", 100},
    Counter{"local_store_requests", "local", "", "warp-level local store instructions",
            "local store requests", "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"},
    Counter{"local_store_sectors", "local", "", "32-byte sectors of local stores",
            "local sectors stored", "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"},
    // Shared memory.
    Counter{"shared_load_wavefronts", "shared", "",
            "L1 data-stage wavefronts of shared-memory loads", "wavefronts of shared loads",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"},
    Counter{"shared_store_wavefronts", "shared", "",
            "L1 data-stage wavefronts of shared-memory stores", "wavefronts of shared stores",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"},
    Counter{"shared_bank_conflicts", "shared", "",
            "additional L1 data-stage wavefronts of shared-memory accesses due to bank conflicts",
            "bank conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum"},
    // Atomics.
    Counter{"global_atomic_requests", "atomics", "",
            "warp-level global atomic instructions that return the old value (ATOM)",
            "global atomic requests", "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"},
    Counter{"global_reduction_requests", "atomics", "",
            "warp-level global atomic instructions that return no value (RED)",
            "global reduction requests", "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"},
    Counter{"l2_atomic_sectors", "atomics", "",
            "32-byte sectors that L2 updates for atomics that return the old value",
            "sectors of atomics in L2", "lts__t_sectors_op_atom.sum"},
    Counter{"l2_reduction_sectors", "atomics", "",
            "32-byte sectors that L2 updates for atomics that return no value",
            "sectors of reductions in L2", "lts__t_sectors_op_red.sum"},
    Counter{"l2_atomic_cycles", "atomics", "cycles",
            "cycles in which an atomic unit of L2 accepts an operation, summed over the L2 slices",
            "cycles of L2's atomic units", "lts__d_atomic_input_cycles_active.sum"},
    Counter{"shared_atomic_wavefronts", "atomics", "",
            "L1 data-stage wavefronts of shared-memory atomics", "wavefronts of shared atomics",
            "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"},
    // Divergence: inactive lanes.
    Counter{"warp_instructions", "divergence", "", "warp instructions executed",
            "warp instructions", "smsp__inst_executed.sum"},
    Counter{"active_lanes_per_instruction", "divergence", "",
            "mean number of active lanes per warp instruction, at most 32",
            "active lanes per instruction", "smsp__thread_inst_executed.sum",
            "smsp__inst_executed.sum", 1, "smsp__thread_inst_executed_per_inst_executed.ratio"},
    Counter{"predicated_lanes_per_instruction", "divergence", "",
            "mean number of active lanes with a true predicate per warp instruction",
            "lanes with effect per instruction", "smsp__thread_inst_executed_pred_on.sum",
            "smsp__inst_executed.sum", 1,
            "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"},
    Counter{"branch_instructions", "divergence", "", "warp-level branch instructions", "branches",
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
            "share of a scheduler's cycles with a resident warp in which it issues an instruction",
            "of issue slots used", "smsp__issue_active.sum", "smsp__cycles_active.sum", 100},
    // Tensor cores.
    Counter{"tensor_instructions", "tensor", "", "warp instructions of the tensor pipe",
            "tensor instructions", "sm__inst_executed_pipe_tensor.sum"},
    Counter{"tensor_active_pct", "tensor", "%",
            "share of a scheduler's cycles with a resident warp in which its tensor pipe is busy",
            "of the tensor pipe busy", "sm__pipe_tensor_cycles_active.sum",
            "smsp__cycles_active.sum", 100},
    // Occupancy and warp stall reasons.
    Counter{"active_warps_per_sm", "occupancy", "",
            "mean number of resident warps per SM, over cycles with a resident warp",
            "warps per SM", "sm__warps_active.sum", "sm__cycles_active.sum"},
    Counter{"eligible_warps_per_scheduler", "occupancy", "",
            "mean number of warps that could issue, over a scheduler's cycles with a resident warp",
            "eligible warps per scheduler", "smsp__warps_eligible.sum", "smsp__cycles_active.sum"},
    Counter{"sm_balance_pct", "occupancy", "%",
            "mean over the SMs of cycles with a resident warp, as a share of the busiest SM's",
            "of the busiest SM's cycles on the mean SM", "sm__cycles_active.avg",
            "sm__cycles_active.max", 100},
    Counter{"stalled_long_scoreboard", "occupancy", "warps",
            "warps waiting for data from L1, L2 or DRAM, per issued instruction",
            "warps waiting for L1, L2 or DRAM", "smsp__warps_issue_stalled_long_scoreboard.sum",
            "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_long_scoreboard_per_issue_active.ratio"},
    Counter{"stalled_short_scoreboard", "occupancy", "warps",
            "warps waiting for shared memory or a special function, per issued instruction",
            "warps waiting for shared memory or a special function",
            "smsp__warps_issue_stalled_short_scoreboard.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_short_scoreboard_per_issue_active.ratio"},
    Counter{"stalled_barrier", "occupancy", "warps",
            "warps waiting at a barrier, per issued instruction", "warps waiting at a barrier",
            "smsp__warps_issue_stalled_barrier.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_barrier_per_issue_active.ratio"},
    Counter{"stalled_math_pipe", "occupancy", "warps",
            "warps waiting for a free arithmetic pipe, per issued instruction",
            "warps waiting for an arithmetic pipe",
            "smsp__warps_issue_stalled_math_pipe_throttle.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_math_pipe_throttle_per_issue_active.ratio"},
    Counter{"stalled_lg_throttle", "occupancy", "warps",
            "warps waiting because the queue of global and local accesses is full, per issued "
            "instruction",
            "warps waiting for the queue of global accesses",
            "smsp__warps_issue_stalled_lg_throttle.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_lg_throttle_per_issue_active.ratio"},
    Counter{"stalled_mio_throttle", "occupancy", "warps",
            "warps waiting because the queue of shared-memory accesses (MIO) is full, per issued "
            "instruction",
            "warps waiting for the queue of shared accesses",
            "smsp__warps_issue_stalled_mio_throttle.sum", "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_mio_throttle_per_issue_active.ratio"},
    Counter{"stalled_no_instruction", "occupancy", "warps",
            "warps waiting for an instruction fetch, per issued instruction",
            "warps waiting for an instruction", "smsp__warps_issue_stalled_no_instruction.sum",
            "smsp__issue_active.sum", 1,
            "smsp__average_warps_issue_stalled_no_instruction_per_issue_active.ratio"},
};

/// The distinct groups of kCounters, in order.
std::vector<std::string> counter_groups();

/// Names for `--counters`, except Nsight Compute metrics: "all", "none", groups and counters.
std::vector<std::string> counter_names();
inline constexpr const char* kAllCounters = "all";
inline constexpr const char* kNoCounters = "none";

/// The counter with this id; null if there is none.
const Counter* find_counter(std::string_view id);

/// Whether the name has the form of an Nsight Compute metric: unit, two underscores, quantity,
/// dot and suffix, such as "lts__t_sectors.sum".
bool is_nsight_metric(std::string_view name);

/// One counter column: an entry of kCounters or an Nsight Compute metric.
struct SelectedCounter {
  std::string name;
  std::string unit;
  std::string doc;
  std::string numerator;
  std::string denominator;  ///< empty if there is none
  double scale = 1;

  bool operator==(const SelectedCounter&) const = default;
};

/// The counters selected by names of groups, counters and metrics, or by "all": in the order of
/// kCounters, then metrics, without duplicates. Unknown names are ignored.
std::vector<SelectedCounter> select_counters(const std::vector<std::string>& names);

/// The distinct metrics from which the counters are computed.
std::vector<std::string> metrics_of(const std::vector<SelectedCounter>& counters);

/// The counter's value over all kernels of a launch, or for kernel number `kernel`. Over several
/// kernels, numerators and denominators are summed. Without a denominator, "….max" and "….min"
/// metrics are not summed but give the maximum or minimum. Empty if a metric is missing, is not
/// finite or cannot be combined, or if the denominator is not positive.
std::optional<double> counted(const SelectedCounter& counter, const LaunchCounts& counts,
                              std::optional<std::size_t> kernel = std::nullopt);

}  // namespace gpuexp
