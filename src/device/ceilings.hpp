// What a device can do at most, from which limits and predictions are made: measured on it, or as
// its datasheet has it.
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

/// A figure is empty where nothing is known of it.
struct Ceilings {
  std::optional<double> sm_clock_hz;  ///< that the SMs hold while they are busy
  std::optional<double> dram_read_bytes_per_s;
  std::optional<double> dram_write_bytes_per_s;
  std::optional<double> dram_copy_bytes_per_s;  ///< half read, half written
  /// Of reads of one fetch each (l2_fetch_bytes) at random places.
  std::optional<double> dram_random_bytes_per_s;
  std::optional<double> l2_read_bytes_per_s;
  std::optional<double> l2_write_bytes_per_s;
  std::optional<double> shared_bytes_per_s;
  /// Tensor pipes by the instructions that drive them fastest.
  std::array<std::optional<double>, kPipeCount> ops_per_s{};
  /// Tensor pipes driven by mma.sync.
  std::array<std::optional<double>, kPipeCount> mma_sync_ops_per_s{};
  /// Of a large product by a vendor's library.
  std::array<std::optional<double>, kPipeCount> library_ops_per_s{};
  // Of one step in a chain of dependent ones, on an otherwise idle device.
  std::optional<double> dram_latency_ns;
  std::optional<double> l2_latency_ns;
  std::optional<double> l1_latency_ns;
  std::optional<double> shared_latency_ns;
  std::optional<double> barrier_latency_ns;
  std::optional<double> fma_latency_ns;
  // The same while every SM has such a chain.
  std::optional<double> dram_all_sms_latency_ns;
  std::optional<double> l2_all_sms_latency_ns;
  /// A place on an SM stays empty from a block's end to the first instruction of the next.
  std::optional<double> block_latency_ns;
  std::optional<double> blocks_per_s;  ///< that start, over all SMs
  // From one event to the other with an empty kernel between them.
  std::optional<double> floor_cold_us;
  std::optional<double> floor_warm_us;
  std::optional<double> floor_graph_us;  ///< per launch; what a further kernel of a launch adds
  /// What a further kernel of a launch adds in other modes than graph.
  std::optional<double> kernel_latency_ns;
  // Of the machine that the device is in: what the host takes, and the bus between the two.
  std::optional<double> host_call_ns;    ///< per kernel of a long chain that the host enqueues
  std::optional<double> host_launch_ns;  ///< from before a call until the kernel's end is known
  std::optional<double> bus_to_device_bytes_per_s;  ///< of one copy of pinned memory
  std::optional<double> bus_to_host_bytes_per_s;    ///< likewise
  std::optional<double> bus_both_bytes_per_s;       ///< each way, while both are used
  // Of the links to another GPU of the host, into one GPU.
  std::optional<double> link_copy_bytes_per_s;        ///< by the copy engine
  std::optional<double> link_read_bytes_per_s;        ///< by loads of the SMs
  std::optional<double> link_write_bytes_per_s;       ///< by stores of the other's SMs
  std::optional<double> link_both_bytes_per_s;        ///< each way, copies both ways at once
  std::optional<double> link_both_read_bytes_per_s;   ///< each way, loads both ways at once
  std::optional<double> link_both_write_bytes_per_s;  ///< each way, stores both ways at once
  std::optional<double> link_all_bytes_per_s;  ///< likewise, copies between all pairs of GPUs
  std::optional<double> link_load_ns;          ///< a load from another GPU's memory
  std::optional<double> link_atomic_ns;        ///< an atomic addition there
  /// From a store until a kernel on the GPU that has the memory has seen it.
  std::optional<double> link_signal_ns;
  /// What a signal takes longer that has to come behind data which were stored before it.
  std::optional<double> link_fence_ns;
  std::optional<double> link_copy_ns;  ///< a copy of some bytes, from event to event
  /// Of a launch that spans GPUs, a kernel that makes one load, which its own L2 answers, from
  /// event to event.
  std::optional<double> link_kernel_ns;
  /// From the end of a step to the start of its stream's next on another unit (SMs, copy engines),
  /// or of a copy engine's next of another stream.
  std::optional<double> unit_change_ns;

  std::optional<double> floor_us(Mode mode) const;
  std::optional<double> ops(Pipe pipe, TensorPath path) const;
};

/// One figure of Ceilings: files, tables and docs go through these.
struct CeilingTerm {
  std::string id;    ///< "dram_read", "mma_sync.tensor_bf16_fp32"
  std::string unit;  ///< of what a reader sees
  double scale;      ///< figure in Ceilings over what a reader sees
  std::string doc;
  std::function<std::optional<double>&(Ceilings&)> of;
};

/// Of a time, less is better; of a rate, more.
bool is_time(const CeilingTerm& term);

/// Whether it is of the links between two GPUs, each pair of which has its own.
bool is_of_links(const CeilingTerm& term);

/// In the order in which they are shown.
const std::vector<CeilingTerm>& ceiling_terms();

/// The one of this id; null where none is.
const CeilingTerm* find_ceiling_term(std::string_view id);

/// What errors say of an id that no term has, with the nearest that one has.
std::string unknown_ceiling(std::string_view id);

/// A ceiling as it was found on a device.
struct MeasuredCeiling {
  double value;  ///< in the unit of its CeilingTerm
  double low;    ///< 95 % interval
  double high;
  std::string from;  ///< the row that it was taken from

  bool operator==(const MeasuredCeiling&) const = default;
};

/// By CeilingTerm::id.
using MeasuredCeilings = std::map<std::string, MeasuredCeiling>;

/// What the datasheet has: bandwidth of DRAM, rates of pipes, the clock. The rest is empty.
Ceilings datasheet_ceilings(const DeviceSpec& device);

/// What a device would reach that is to its datasheet as `from` is to `measured`: bandwidth of DRAM
/// and rates of pipes in proportion to the datasheet's, L2 and shared memory per SM and clock,
/// latencies on the SM in clocks, of L2, DRAM and launches in time. A figure whose proportion is
/// not known is empty, and so is what belongs to the machine around the device.
Ceilings scaled_ceilings(const Ceilings& measured, const DeviceSpec& from, const DeviceSpec& to);

/// Ceilings measured on `device`, with rates of fp16 that is summed in fp16, for which no kernel
/// measures: those of sums in fp32 in proportion to the datasheet's two. On data-centre parts they
/// are equal; GeForce parts sum in fp32 at half the rate. As equal where the datasheet lacks one.
Ceilings with_fp16_sums(const Ceilings& ceilings, const DeviceSpec& device);

/// Seconds that DRAM takes at least for so many bytes read and written in turn: the bus turns
/// between the two, which costs what a copy shows. Empty where a rate is not known.
std::optional<double> dram_seconds(const Ceilings& ceilings, double read, double written);

/// Each figure of `ceilings`, or where it is empty that of `others`.
Ceilings completed(const Ceilings& ceilings, const Ceilings& others);

}  // namespace gpuexp
