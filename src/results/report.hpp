// A finished (or interrupted) run: its results and everything needed to know where they came from.
// Sinks write it and read it back; they know nothing of plans or GPUs.
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

/// What the driver said of the GPU, or the device spec of a simulated one. Empty where it did not
/// say.
struct DeviceProvenance {
  std::optional<std::string> name;
  std::optional<std::string> executed_on;  ///< as the rows'; absent: a GPU
  std::optional<std::string> uuid;
  std::optional<std::string> pci_bus_id;
  std::optional<std::string> compute_capability;  ///< "9.0"
  std::optional<std::int64_t> sm_count;
  std::optional<std::string> driver_version;   ///< of the kernel module, "580.65.06"
  std::optional<std::string> runtime_version;  ///< of the CUDA runtime, "13.0"
  std::optional<std::int64_t> sm_clock_mhz;    ///< at the start of the run
  std::optional<std::int64_t> sm_clock_max_mhz;
  std::optional<std::int64_t> memory_clock_mhz;
  std::optional<double> power_limit_w;
  std::optional<std::int64_t> temperature_c;
  std::optional<bool> ecc_enabled;
  std::optional<std::int64_t> memory_total_bytes;
  std::optional<double> memory_bytes_per_s;  ///< theoretical bandwidth of its memory
  std::optional<std::int64_t> memory_free_bytes;
  std::optional<std::int64_t>
      pcie_generation;                     ///< of the link to the host, at the start of the run
  std::optional<std::int64_t> pcie_width;  ///< its lanes
  std::optional<std::int64_t> numa_node;   ///< of the host, that it is next to
  /// Nodes of the host whose processors this process may use: "0" or "0,1".
  std::optional<std::string> process_numa_nodes;

  bool is_simulated() const { return executed_on == kSimulated; }
  bool operator==(const DeviceProvenance&) const = default;
};

struct ConfigProvenance {
  std::optional<std::string> path;  ///< as given
  std::optional<std::string> name;
  std::optional<std::string> sha256;  ///< of `text`, hexadecimal
  std::optional<std::string> text;    ///< the file's bytes

  bool operator==(const ConfigProvenance&) const = default;
};

/// A file that inputs were read from.
struct InputProvenance {
  std::optional<std::string> file;  ///< as the config names it
  std::optional<std::string> path;  ///< absolute
  std::optional<std::int64_t> bytes;
  std::optional<std::string> sha256;  ///< of the bytes, hexadecimal

  bool operator==(const InputProvenance&) const = default;
};

/// What the device can do at most in one respect: measured, as far as it was, and by its datasheet.
struct CeilingProvenance {
  std::string id;                   ///< CeilingTerm::id
  std::optional<std::string> unit;  ///< of the four numbers
  std::optional<double> value;      ///< that limits and predictions were made from
  std::optional<double> low;  ///< its 95 % interval; empty where it was scaled from another GPU's
  std::optional<double> high;
  std::optional<std::string> from;  ///< the row that it was measured in
  std::optional<double> datasheet;

  bool operator==(const CeilingProvenance&) const = default;
};

struct CeilingsProvenance {
  std::string source;  ///< "ceilings measured on …", for readers
  std::vector<CeilingProvenance> values;

  bool operator==(const CeilingsProvenance&) const = default;
};

/// One of the runs that merged results are of.
struct PartProvenance {
  std::optional<std::string> shard;  ///< as a run's
  std::optional<std::string> utc;
  std::optional<std::string> host;
  std::optional<std::string> gpu_uuid;
  std::optional<std::string> gpu;
  std::optional<std::int64_t> rows;  ///< of the merged results, that are its

  bool operator==(const PartProvenance&) const = default;
};

/// A rank of problems that span GPUs: where it ran.
struct RankProvenance {
  std::optional<std::int64_t> rank;
  std::optional<std::string> host;
  std::optional<std::string> gpu;
  std::optional<std::string> gpu_uuid;
  std::optional<std::string> pci_bus_id;
  std::optional<std::int64_t> numa_node;  ///< of the host, that its GPU is next to
  std::optional<std::string> processors;  ///< of the host, that its process may use: "0-15,32"

  bool operator==(const RankProvenance&) const = default;
};

/// Takes it in, in order; in the place of an earlier one of its number.
void keep_rank(std::vector<RankProvenance>& ranks, const RankProvenance& rank);

/// As Provenance::utc has it, or in another format of strftime.
std::string utc_text(std::time_t at, const char* format = "%Y-%m-%dT%H:%M:%SZ");

struct Provenance {
  std::optional<std::string> gpuexp_version;
  std::optional<std::string> git_commit;
  std::optional<bool> git_dirty;  ///< built from a tree with uncommitted changes
  std::optional<std::string> compiler;
  std::optional<std::string> cuda_toolkit;
  std::optional<std::string> utc;  ///< start of the run, ISO 8601
  std::optional<std::string> host;
  std::optional<std::string> shard;  ///< "2/4"; empty where the run was not divided
  std::vector<std::string> argv;
  ConfigProvenance config;
  /// What was in force after defaults, config and command line, in the order given.
  std::vector<std::pair<std::string, Field>> settings;
  DeviceProvenance device;
  std::optional<CeilingsProvenance> ceilings;  ///< that limits and predictions rest on
  std::vector<PartProvenance> parts = {};      ///< of merged results, which have what they share
  std::vector<RankProvenance> ranks = {};      ///< in order; none where no problem spanned GPUs
  std::vector<InputProvenance> inputs = {};    ///< each file once; none if all data are generated

  bool operator==(const Provenance&) const = default;
};

struct Report {
  Provenance provenance;
  RecordTable table;
  /// Raw samples of each row of the table, in the order taken; empty where none were. No element at
  /// all where the report has left samples out.
  std::vector<std::vector<double>> samples_us;
  /// Hardware counters of each kernel of a row's launch: its key, the kernel's place in the launch,
  /// its name, its counters. No columns where none were read.
  Table kernels;
  /// That the config holds its rows against, with what the model says of each claim.
  std::vector<PublishedFigure> figures = {};
  /// Where the time went: of all, also of what no group was charged with, and of each group in the
  /// order in which they ran. Empty where nobody recorded it.
  RunTimes times = {};
  std::vector<GroupTimes> group_times = {};
  bool complete = false;  ///< every planned row is there; false after an interruption

  bool operator==(const Report&) const = default;
};

}  // namespace gpuexp
