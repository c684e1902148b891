// The ceilings of a device, from which limits and predictions are computed: measured on it, or from
// its datasheet.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mode.hpp"
#include "device/device_spec.hpp"

namespace gpuexp {

/// An empty figure is unknown.
struct Ceilings {
  std::optional<double> sm_clock_hz;  ///< SM clock under load
  std::optional<double> dram_read_bytes_per_s;
  std::optional<double> dram_write_bytes_per_s;
  std::optional<double> dram_copy_bytes_per_s;  ///< half of the bytes read, half written
  /// Reads of one fetch each (l2_fetch_bytes) at random addresses.
  std::optional<double> dram_random_bytes_per_s;
  std::optional<double> l2_read_bytes_per_s;
  std::optional<double> l2_write_bytes_per_s;
  std::optional<double> shared_bytes_per_s;
  /// By pipe; tensor pipes with the instructions that drive them fastest.
  std::array<std::optional<double>, kPipeCount> ops_per_s{};
  /// Tensor pipes with mma.sync.
  std::array<std::optional<double>, kPipeCount> mma_sync_ops_per_s{};
  /// A large matrix product by a vendor's library.
  std::array<std::optional<double>, kPipeCount> library_ops_per_s{};
  // One step in a chain of dependent steps, on an otherwise idle device.
  std::optional<double> dram_latency_ns;
  std::optional<double> l2_latency_ns;
  std::optional<double> l1_latency_ns;
  std::optional<double> shared_latency_ns;
  std::optional<double> barrier_latency_ns;
  std::optional<double> fma_latency_ns;
  // The same step while every SM has such a chain.
  std::optional<double> dram_all_sms_latency_ns;
  std::optional<double> l2_all_sms_latency_ns;
  /// From the end of a block to the first instruction of the next block in its slot.
  std::optional<double> block_latency_ns;
  std::optional<double> blocks_per_s;  ///< blocks started, over all SMs
  // Time between two events around an empty kernel.
  std::optional<double> floor_cold_us;
  std::optional<double> floor_warm_us;
  std::optional<double> floor_graph_us;  ///< per launch; also the cost of a further kernel
  /// Cost of each further kernel of a launch, in modes other than graph.
  std::optional<double> kernel_latency_ns;
  // Properties of the machine that contains the device: its host, and the bus between both.
  std::optional<double> host_call_ns;    ///< host time per kernel, in a long chain of launches
  std::optional<double> host_launch_ns;  ///< from before a call until the kernel's end is known
  std::optional<double> bus_to_device_bytes_per_s;  ///< one copy of pinned memory
  std::optional<double> bus_to_host_bytes_per_s;    ///< one copy of pinned memory
  std::optional<double> bus_both_bytes_per_s;       ///< per direction, with copies in both
  // Links to another GPU of the host: bytes per second into one GPU, and latencies.
  std::optional<double> link_copy_bytes_per_s;        ///< by the copy engine
  std::optional<double> link_read_bytes_per_s;        ///< by loads of its SMs
  std::optional<double> link_write_bytes_per_s;       ///< by stores of the other GPU's SMs
  std::optional<double> link_both_bytes_per_s;        ///< per direction, with copies in both
  std::optional<double> link_both_read_bytes_per_s;   ///< per direction, with loads in both
  std::optional<double> link_both_write_bytes_per_s;  ///< per direction, with stores in both
  std::optional<double> link_all_bytes_per_s;         ///< with copies between all pairs of GPUs
  std::optional<double> link_load_ns;                 ///< a load from another GPU's memory
  std::optional<double> link_atomic_ns;               ///< an atomic addition there
  /// Time between a store and the load of its value by a kernel on the GPU that has the memory.
  std::optional<double> link_signal_ns;
  /// Additional latency of a signal that must follow an earlier store of data.
  std::optional<double> link_fence_ns;
  std::optional<double> link_copy_ns;  ///< a copy of a few bytes, from event to event
  /// A kernel with one load from its own L2, in a launch that spans GPUs, from event to event.
  std::optional<double> link_kernel_ns;
  /// From the end of a step to the start of the next step of its stream on another unit (SMs, copy
  /// engines), or to the next step of the same copy engine in another stream.
  std::optional<double> unit_change_ns;

  std::optional<double> floor_us(Mode mode) const;
  std::optional<double> ops(Pipe pipe, TensorPath path) const;
};

/// One figure of Ceilings, as files, tables and docs show it.
struct CeilingTerm {
  std::string id;    ///< "dram_read", "mma_sync.tensor_bf16_fp32"
  std::string unit;  ///< unit in which it is shown
  double scale;      ///< figure in Ceilings divided by the value shown
  std::string doc;
  std::function<std::optional<double>&(Ceilings&)> of;
};

/// Whether a term is a time, for which less is better. The others are rates.
bool is_time(const CeilingTerm& term);

/// Whether a term describes the link between two GPUs, which differs from pair to pair.
bool is_link_term(const CeilingTerm& term);

/// All terms, in the order in which they are shown.
const std::vector<CeilingTerm>& ceiling_terms();

/// The term with this id; null if there is none.
const CeilingTerm* find_ceiling_term(std::string_view id);

/// Error message for an unknown id, with the most similar known id.
std::string unknown_ceiling(std::string_view id);

/// A ceiling as measured on a device.
struct MeasuredCeiling {
  double value;  ///< in the unit of its CeilingTerm
  double low;    ///< 95 % interval, low to high
  double high;
  std::string from;  ///< the row with the measurement

  bool operator==(const MeasuredCeiling&) const = default;
};

/// By CeilingTerm::id.
using MeasuredCeilings = std::map<std::string, MeasuredCeiling>;

/// Ceilings of the datasheet: bandwidths, rates of pipes, the clock. The others are empty.
Ceilings datasheet_ceilings(const DeviceSpec& device);

/// Estimates the ceilings of `to` from those measured on `from`, in proportion to the datasheets.
/// DRAM and link bandwidth and the rates of pipes scale with the datasheets' values. L2 and shared
/// memory scale with the number of SMs and the clock. Latencies on the SM are constant in cycles;
/// latencies of L2, DRAM and launches are constant in time. A figure with an unknown proportion is
/// empty, and so are those of the machine around the device.
Ceilings scaled_ceilings(const Ceilings& measured, const DeviceSpec& from, const DeviceSpec& to);

/// Ceilings measured on `device`, completed by the rates of fp16 products with sums in fp16, which
/// no kernel measures. They are computed from the rates with sums in fp32, in proportion to the
/// datasheet's two rates. On data-center GPUs these are equal; GeForce GPUs sum in fp32 at half the
/// rate. If the datasheet lacks one of them, equal rates are assumed.
Ceilings with_fp16_sums(const Ceilings& ceilings, const DeviceSpec& device);

/// Minimum time in seconds that DRAM takes for these numbers of bytes read and written alternately.
/// The bus changes direction between reads and writes, which costs as much as a copy shows. Empty
/// if a rate is unknown.
std::optional<double> dram_seconds(const Ceilings& ceilings, double read, double written);

/// Each figure of `ceilings`; if it is empty, the figure of `others`.
Ceilings completed(const Ceilings& ceilings, const Ceilings& others);

}  // namespace gpuexp
