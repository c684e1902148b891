// The cells that a config asks for on a device, in the order in which they run.
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
#include "sass/kernel_resource.hpp"

namespace gpuexp {

/// One variant on one problem in one mode.
struct Cell {
  std::size_t index = 0;       ///< position in the plan
  std::size_t experiment = 0;  ///< index into Config::experiments
  const Variant* variant = nullptr;
  Mode mode = Mode::cold;
  std::string skip_reason;     ///< not empty: the cell is not run
  bool machine_lacks = false;  ///< and another machine could run it: GPU, GPUs or library
};

/// The cells of one experiment that share a problem and a mode: the unit of set-up, interleaving
/// and loss.
struct Group {
  std::size_t experiment = 0;
  Values values;  ///< in the order of the family's parameters
  std::shared_ptr<const void> problem;
  Mode mode = Mode::cold;
  std::int64_t device_bytes = 0;  ///< of the cell that needs most, of those that are run
  std::vector<Cell> cells;        ///< baseline first
};

struct Plan {
  const Config* config = nullptr;
  DeviceSpec device;
  CeilingSource ceiling_source;  ///< the datasheet's, until somebody knows better
  std::vector<Group> groups;

  const Experiment& experiment(const Group& group) const {
    return config->experiments[group.experiment];
  }
  std::size_t cell_count() const;
};

/// Expands axes, resolves wave edges from each variant's own grid and resident blocks, and decides
/// which cells cannot run and why (unsupported by the variant, library missing, not enough memory).
/// `free_bytes` is what the device has for buffers.
Plan make_plan(const Config& config, const DeviceSpec& device, const KernelResources& resources,
               std::int64_t free_bytes);

/// "family/variant: the reason", of each variant that the config asks for and whose library is
/// missing on this machine, or was when the program was built.
std::vector<std::string> missing_libraries(const Config& config);

/// Device bytes that a variant's cell needs: the problem's guarded buffers, the fp64 references of
/// the outputs that the variant writes, and its workspace.
std::int64_t cell_bytes(const Family& family, const Variant& variant, const void* problem,
                        const DeviceSpec& device);

/// "experiment/family/variant/m=64,n=64,k=64/cold": the row's key and the name of its NVTX range.
std::string cell_key(const Plan& plan, const Group& group, const Cell& cell);

/// Work, occupancy, waves and limits of the cell, but no time: that takes executing its code
/// (simulated/code_predictor.hpp). Empty when it is skipped.
std::optional<Prediction> predict_cell(const Plan& plan, const Group& group, const Cell& cell,
                                       const KernelResources& resources);

/// Every n in [edges.from, edges.to] that ends a wave count, starts the next, or lies one beyond,
/// for the variant on the device, with the other parameters as in `values`. Throws ConfigError when
/// the variant's occupancy is not known.
std::vector<std::int64_t> resolve_wave_edges(const WaveEdges& edges, const Family& family,
                                             const Variant& variant, const Values& values,
                                             std::size_t parameter, const DeviceSpec& device,
                                             const KernelResources& resources);

/// Guard bytes on each end of every buffer.
inline constexpr std::int64_t kGuardBytes = 4096;

/// A buffer begins at a multiple of this: its size rounded up to a power of two, at least the 512
/// bytes that a texture asks for, at most the 2 MiB at whose multiples a large allocation of its
/// own begins. Which lines of it share a bank of L1's tags depends on the address
/// (docs/studies/caches): elsewhere, the same kernel takes another time.
std::int64_t buffer_alignment(std::int64_t bytes);

}  // namespace gpuexp
