// The cells that a config selects on a device, in execution order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/config_error.hpp"
#include "config/config.hpp"
#include "device/device_spec.hpp"
#include "model/prediction.hpp"
#include "plan/skip_reason.hpp"
#include "sass/kernel_resource.hpp"

namespace gpuexp {

struct Cell {
  std::size_t index = 0;       ///< position in the plan
  std::size_t experiment = 0;  ///< index into Config::experiments
  const Variant* variant = nullptr;
  Mode mode = Mode::cold;
  std::string skip_reason;  ///< why the cell is not run; empty if it is run
  SkipCause skip_cause = SkipCause::other;
  /// Positions of the parameters on which the variant does not depend, in the order of the family's
  /// parameters. The plan has no other cells of the variant that differ only in their values.
  std::vector<std::size_t> unused_parameters = {};
};

/// The cells of one experiment that share a problem and a mode. The cells share the set-up problem
/// and are sampled in interleaved rounds.
struct Group {
  std::size_t experiment = 0;
  Values values;  ///< in the order of the family's parameters
  std::shared_ptr<const void> problem;
  Mode mode = Mode::cold;
  std::int64_t device_bytes = 0;  ///< maximum of cell_bytes() over the cells that are run
  std::vector<Cell> cells;        ///< baseline first
};

struct Plan {
  const Config* config = nullptr;
  DeviceSpec device;
  CeilingSource ceiling_source;  ///< datasheet ceilings until measured ceilings replace them
  std::vector<Group> groups;

  const Experiment& experiment(const Group& group) const {
    return config->experiments[group.experiment];
  }
  std::size_t cell_count() const;
};

/// Expands axes and resolves wave edges from each variant's grid and resident blocks. Skips a cell,
/// with the reason, if the variant or the device does not support it, its library is missing, it
/// has no code for the device, or it needs more than `free_bytes` of device memory. Compiles the
/// kernels of users' files for the other cells, on all processors. Cells of a variant that differ
/// only in parameters on which it does not depend become one cell. Throws ConfigError if an
/// experiment selects no cell.
Plan plan_of(const Config& config, const DeviceSpec& device, const KernelResources& resources,
             std::int64_t free_bytes);

/// The same, and throws like check_runnable() (runnable.hpp, which has the definition).
Plan make_plan(const Config& config, const DeviceSpec& device, const KernelResources& resources,
               std::int64_t free_bytes);

/// "family/variant: reason" for each selected variant whose library is missing on this machine or
/// was missing when the program was built.
std::vector<std::string> missing_libraries(const Config& config);

/// Device memory of a cell in bytes: the problem's buffers with guards, the fp64 references of the
/// outputs that the variant writes, and the variant's workspace.
std::int64_t cell_bytes(const Family& family, const Variant& variant, const void* problem,
                        const DeviceSpec& device);

/// "experiment/family/variant/m=64,n=64,k=64/cold": the row's key and the name of its NVTX range.
std::string cell_key(const Plan& plan, const Group& group, const Cell& cell);

/// Keeps one cell, the first that can run, of the cells of a variant that differ only in a
/// parameter on which it does not depend (Experiment::unused_parameters). Groups from
/// `first_group` on are searched, which are those of the last experiment. All cells remain if their
/// kernels' machine code differs, because the parameter is a macro that they use, or if no two of
/// them can run, so that this is not known. Removes empty groups, and numbers the cells again.
void join_cells(Plan& plan, std::size_t first_group, const KernelResources& resources);

/// Whether the cell's variant does the same at `values`: they are those of the cell's group, except
/// for parameters on which the variant does not depend.
bool stands_for(const Group& group, const Cell& cell, const Values& values);

/// Work, occupancy, waves and limits of the cell; empty if the cell is skipped. The predicted time
/// is missing, because it requires executing the cell's code (simulated/code_predictor.hpp).
std::optional<Prediction> predict_cell(const Plan& plan, const Group& group, const Cell& cell,
                                       const KernelResources& resources);

/// Every n in [edges.from, edges.to] at an increase of the number of waves: the last n before it,
/// the first n after it, and the next n. Only edges.from if the device cannot run the variant. The
/// other parameters have the values in `values`. Throws ConfigError if the variant's grid or
/// occupancy is unknown.
std::vector<std::int64_t> resolve_wave_edges(const WaveEdges& edges, const Family& family,
                                             const Variant& variant, const Values& values,
                                             std::size_t parameter, const DeviceSpec& device,
                                             const KernelResources& resources);

/// Size in bytes of the guard at each end of a buffer.
inline constexpr std::int64_t kGuardBytes = 4096;

/// Alignment of a buffer in bytes: its size rounded up to a power of two, at least 512 (required by
/// textures) and at most 2 MiB (the alignment of large separate allocations). Alignment affects the
/// time of kernels, because L1 selects the tag bank of a line by its address (docs/studies/caches).
std::int64_t buffer_alignment(std::int64_t bytes);

}  // namespace gpuexp
