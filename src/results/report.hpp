// The results of a finished or interrupted run, with their provenance.
#pragma once

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/report_error.hpp"
#include "base/table.hpp"
#include "config/published_figure.hpp"
#include "record/record_table.hpp"
#include "record/run_times.hpp"

namespace gpuexp {

/// Properties of the GPU according to the driver, or of a simulated GPU according to its device
/// spec.
struct DeviceProvenance {
  std::optional<std::string> name;
  std::optional<std::string> executed_on;  ///< kOnGpu or kSimulated; empty: a GPU
  std::optional<std::string> uuid;
  std::optional<std::string> pci_bus_id;
  std::optional<std::string> compute_capability;  ///< "9.0"
  std::optional<std::int64_t> sm_count;
  std::optional<std::string> driver_version;   ///< version of the kernel module, "580.65.06"
  std::optional<std::string> runtime_version;  ///< version of the CUDA runtime, "13.0"
  std::optional<std::int64_t> sm_clock_mhz;    ///< at the start of the run
  std::optional<std::int64_t> sm_clock_max_mhz;
  std::optional<std::int64_t> memory_clock_mhz;
  std::optional<double> power_limit_w;
  std::optional<std::int64_t> temperature_c;
  std::optional<bool> ecc_enabled;
  std::optional<std::int64_t> memory_total_bytes;
  std::optional<double> memory_bytes_per_s;  ///< theoretical memory bandwidth
  std::optional<std::int64_t> memory_free_bytes;
  std::optional<std::int64_t> pcie_generation;  ///< link to the host, at the start of the run
  std::optional<std::int64_t> pcie_width;       ///< number of PCIe lanes
  std::optional<std::int64_t> numa_node;  ///< the host's NUMA node that the GPU is attached to
  /// NUMA nodes whose processors the run could use: "0" or "0,1".
  std::optional<std::string> process_numa_nodes;

  bool is_simulated() const { return executed_on == kSimulated; }
  bool operator==(const DeviceProvenance&) const = default;
};

struct ConfigProvenance {
  std::optional<std::string> path;  ///< as given
  std::optional<std::string> name;
  std::optional<std::string> sha256;  ///< SHA-256 of `text`, hexadecimal
  std::optional<std::string> text;    ///< bytes of the file

  bool operator==(const ConfigProvenance&) const = default;
};

/// A file from which inputs or kernels were read.
struct InputProvenance {
  std::optional<std::string> file;  ///< name in the config
  std::optional<std::string> path;  ///< absolute path
  std::optional<std::int64_t> bytes;
  std::optional<std::string> sha256;  ///< SHA-256 of the bytes, hexadecimal
  std::optional<std::string> text;    ///< only source files of kernels; may be left out

  bool operator==(const InputProvenance&) const = default;
};

/// One ceiling of the device: measured, and according to the datasheet.
struct CeilingProvenance {
  std::string id;                   ///< CeilingTerm::id
  std::optional<std::string> unit;  ///< unit of the four numbers
  std::optional<double> value;      ///< the value that limits and predictions use
  std::optional<double> low;  ///< lower end of the 95 % interval; empty if scaled from another GPU
  std::optional<double> high;
  std::optional<std::string> from;  ///< key of the row that measured it
  std::optional<double> datasheet;

  bool operator==(const CeilingProvenance&) const = default;
};

struct CeilingsProvenance {
  std::string source;  ///< "ceilings measured on …", for readers
  std::vector<CeilingProvenance> values;

  bool operator==(const CeilingsProvenance&) const = default;
};

/// One of the merged runs.
struct PartProvenance {
  std::optional<std::string> shard;  ///< as Provenance::shard
  std::optional<std::string> utc;
  std::optional<std::string> host;
  std::optional<std::string> gpu_uuid;
  std::optional<std::string> gpu;
  std::optional<std::int64_t> rows;  ///< number of merged rows from this run

  bool operator==(const PartProvenance&) const = default;
};

struct RankProvenance {
  std::optional<std::int64_t> rank;
  std::optional<std::string> host;
  std::optional<std::string> gpu;
  std::optional<std::string> gpu_uuid;
  std::optional<std::string> pci_bus_id;
  std::optional<std::int64_t> numa_node;  ///< the host's NUMA node that the GPU is attached to
  std::optional<std::string> processors;  ///< host processors that its process may use: "0-15,32"

  bool operator==(const RankProvenance&) const = default;
};

/// Inserts the rank in order; replaces an entry of the same rank.
void keep_rank(std::vector<RankProvenance>& ranks, const RankProvenance& rank);

/// The UTC time in a format of strftime; the default is the format of Provenance::utc.
std::string utc_text(std::time_t at, const char* format = "%Y-%m-%dT%H:%M:%SZ");

struct Provenance {
  std::optional<std::string> gpuexp_version;
  std::optional<std::string> git_commit;
  std::optional<bool> git_dirty;  ///< built from a tree with uncommitted changes
  std::optional<std::string> compiler;
  std::optional<std::string> cuda_toolkit;
  std::optional<std::string> utc;  ///< start of the run, ISO 8601
  std::optional<std::string> host;
  std::optional<std::string> shard;  ///< "2/4"; empty if the run was not divided
  std::vector<std::string> argv;
  ConfigProvenance config;
  /// Settings after defaults, config and command line were applied, in the order given.
  std::vector<std::pair<std::string, Field>> settings;
  DeviceProvenance device;
  std::optional<CeilingsProvenance> ceilings;  ///< used by limits and predictions
  std::vector<PartProvenance> parts = {};      ///< only in merged results
  std::vector<RankProvenance> ranks = {};      ///< in order; empty if no problem spanned GPUs
  /// Each file once; empty if all inputs are generated and all kernels are built in.
  std::vector<InputProvenance> inputs = {};

  bool operator==(const Provenance&) const = default;
};

struct Report {
  Provenance provenance;
  RecordTable table;
  /// Raw samples of each row, in the order taken. The outer vector is empty if the report leaves
  /// samples out.
  std::vector<std::vector<double>> samples_us;
  /// Hardware counters of each kernel: key of the row, index of the kernel in the launch, name,
  /// counters. Has no columns if no counters were requested.
  Table kernels;
  /// Published figures for comparison with the rows; each claim includes the model's value.
  std::vector<PublishedFigure> figures = {};
  /// Times of the run and of each group; zero and empty if not recorded. The run's times also
  /// include time outside of groups.
  RunTimes times = {};
  std::vector<GroupTimes> group_times = {};
  bool complete = false;  ///< true if every planned row is present

  bool operator==(const Report&) const = default;
};

}  // namespace gpuexp
