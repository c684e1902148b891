// Ceilings of a device, from which limits and predictions are computed: measured on it or on its
// model, scaled from another GPU, or from its datasheet.
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

/// An empty value is unknown.
struct Ceilings {
  std::optional<double> sm_clock_hz;
  std::optional<double> dram_read_bytes_per_s;
  std::optional<double> dram_write_bytes_per_s;
  std::optional<double> dram_copy_bytes_per_s;  ///< half of the bytes read, half written
  /// Loads of one L2 fetch each (l2_fetch_bytes) at random addresses.
  std::optional<double> dram_random_bytes_per_s;
  std::optional<double> l2_read_bytes_per_s;
  std::optional<double> l2_write_bytes_per_s;
  /// Atomic additions that return nothing, on all SMs: to one address, and to random sectors.
  std::optional<double> atomics_of_address_per_s;
  std::optional<double> atomic_sectors_per_s;
  std::optional<double> shared_bytes_per_s;
  /// By pipe. Tensor pipes: with their fastest instructions.
  std::array<std::optional<double>, kPipeCount> ops_per_s{};
  /// Tensor pipes: with mma.sync.
  std::array<std::optional<double>, kPipeCount> mma_sync_ops_per_s{};
  /// A large matrix product of a vendor's library.
  std::array<std::optional<double>, kPipeCount> library_ops_per_s{};
  // Latency of one step in a chain of dependent steps, on an otherwise idle device.
  std::optional<double> dram_latency_ns;
  std::optional<double> l2_latency_ns;
  std::optional<double> l1_latency_ns;
  std::optional<double> shared_latency_ns;
  std::optional<double> barrier_latency_ns;
  std::optional<double> fma_latency_ns;
  // The same latency while every SM runs such a chain.
  std::optional<double> dram_all_sms_latency_ns;
  std::optional<double> l2_all_sms_latency_ns;
  /// From the end of a block to the first instruction of the next block in its slot.
  std::optional<double> block_latency_ns;
  std::optional<double> blocks_per_s;  ///< rate of block starts, over all SMs
  // Time between two events around an empty kernel.
  std::optional<double> floor_cold_us;
  std::optional<double> floor_warm_us;
  std::optional<double> floor_graph_us;  ///< per kernel of a graph of empty kernels
  /// Time of each kernel after the first in a launch, in modes other than graph.
  std::optional<double> kernel_latency_ns;
  // Properties of the host, and of the bus between host and device.
  std::optional<double> host_call_ns;    ///< host time per kernel, in a long chain of launches
  std::optional<double> host_launch_ns;  ///< from a launch call until the kernel's end is known
  std::optional<double> bus_to_device_bytes_per_s;  ///< one copy of pinned memory
  std::optional<double> bus_to_host_bytes_per_s;    ///< one copy of pinned memory
  std::optional<double> bus_both_bytes_per_s;  ///< per direction, with copies in both directions
  // Links to another GPU of the host: bandwidth into one GPU, and latencies.
  std::optional<double> link_copy_bytes_per_s;        ///< by the copy engine
  std::optional<double> link_read_bytes_per_s;        ///< by loads of its SMs
  std::optional<double> link_write_bytes_per_s;       ///< by stores of the other GPU's SMs
  std::optional<double> link_both_bytes_per_s;        ///< per direction, with copies in both
  std::optional<double> link_both_read_bytes_per_s;   ///< per direction, with loads in both
  std::optional<double> link_both_write_bytes_per_s;  ///< per direction, with stores in both
  std::optional<double> link_all_bytes_per_s;         ///< with copies between all pairs of GPUs
  std::optional<double> link_load_ns;
  std::optional<double> link_atomic_ns;
  /// Time from a store to another GPU's memory until a kernel on that GPU loads the value.
  std::optional<double> link_signal_ns;
  /// Additional latency of a signal that must follow an earlier store of data.
  std::optional<double> link_fence_ns;
  std::optional<double> link_copy_ns;  ///< a copy of a few bytes, between two events
  /// A kernel with one load from its own L2, in a launch that spans GPUs, between two events.
  std::optional<double> link_kernel_ns;
  /// Time from the end of a step to the start of the next step of its stream on another unit
  /// (SMs, copy engines), or of the next step of the same copy engine in another stream.
  std::optional<double> unit_change_ns;

  std::optional<double> floor_us(Mode mode) const;
  std::optional<double> ops(Pipe pipe, TensorPath path) const;
};

/// One member of Ceilings, as files, tables and docs show it.
struct CeilingTerm {
  std::string id;  ///< "dram_read", "mma_sync.tensor_bf16_fp32"
  std::string unit;
  double scale;  ///< value in Ceilings divided by the value shown
  std::string doc;
  std::function<std::optional<double>&(Ceilings&)> of;
};

/// Whether a term is a time, for which lower is better. Other terms are rates.
bool is_time(const CeilingTerm& term);

/// Whether a term describes a link between two GPUs. Its value differs from pair to pair.
bool is_link_term(const CeilingTerm& term);

const std::vector<CeilingTerm>& ceiling_terms();

const CeilingTerm* find_ceiling_term(std::string_view id);

/// Error message for an unknown id; suggests the most similar known id.
std::string unknown_ceiling(std::string_view id);

struct MeasuredCeiling {
  double value;  ///< in the unit of its CeilingTerm
  double low;    ///< 95 % interval, low to high
  double high;
  std::string from;  ///< key of the row with the measurement

  bool operator==(const MeasuredCeiling&) const = default;
};

/// By CeilingTerm::id.
using MeasuredCeilings = std::map<std::string, MeasuredCeiling>;

/// Ceilings from the datasheet: bandwidths of DRAM, bus and links, rates of pipes, and the clock.
/// Other ceilings are empty.
Ceilings datasheet_ceilings(const DeviceSpec& device);

/// Estimates the ceilings of `to` from the measured ceilings of `from`. DRAM and link bandwidth and
/// the rates of pipes scale with the datasheet values. L2 and shared memory bandwidth scale with
/// the number of SMs and the clock, and block starts with the clock. Latencies on the SM are
/// constant in cycles; latencies of L2, DRAM and launches are constant in time. A ceiling is empty
/// if a datasheet value that it needs is unknown. Ceilings of the host and the bus are empty.
Ceilings scaled_ceilings(const Ceilings& measured, const DeviceSpec& from, const DeviceSpec& to);

/// Returns the ceilings measured on `device`, with rates of fp16 products summed in fp16, which
/// no kernel measures: the measured rates with fp32 sums times the ratio of the two rates in the
/// datasheet. The ratio is 1 on data-center GPUs, 2 on GeForce GPUs, and assumed to be 1 if the
/// datasheet lacks a rate.
Ceilings with_fp16_sums(const Ceilings& ceilings, const DeviceSpec& device);

/// Minimum time in seconds that DRAM needs for these numbers of bytes, read and written
/// alternately. The bus changes direction between reads and writes; the copy bandwidth contains
/// the cost of these changes. Empty if a rate is unknown.
std::optional<double> dram_seconds(const Ceilings& ceilings, double read, double written);

/// Returns `ceilings`, with empty values replaced by the values of `others`.
Ceilings completed(const Ceilings& ceilings, const Ceilings& others);

}  // namespace gpuexp
