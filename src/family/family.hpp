// A Family is a set of kernel variants that answer one question, as plain data and callbacks.
//
// Kernel files declare families with the typed FamilyOf<Problem, Data> (family_of.hpp). In this
// type-erased form, problems and data are opaque pointers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/callback.hpp"
#include "base/types.hpp"
#include "device/device_spec.hpp"
#include "family/ceiling_rows.hpp"
#include "family/element_draw.hpp"
#include "family/expected_change.hpp"
#include "family/phase.hpp"
#include "family/plot.hpp"
#include "family/ranks.hpp"
#include "family/step.hpp"
#include "family/tolerance.hpp"
#include "family/topic.hpp"

namespace gpuexp {

/// Operations of host loops that compute a reference.
struct HostOperations {
  double of_all = 0;  ///< all elements are computed, in order
  /// Pieces of ElementDraw::kPiece elements are computed, and share no values: an upper bound, in
  /// proportion to the share of the elements, given for all of them.
  double of_drawn = 0;
};

/// A parameter of a family, which configs may sweep as an axis.
struct Parameter {
  std::string name;
  Value default_value;
  std::string unit;  ///< empty for counts and names
  std::string doc;
  double min = 0;  ///< numbers only, inclusive
  double max = 0;
  std::vector<std::string> choices;  ///< text only; globs such as "*.mtx" match file names
  /// Returns why a file cannot be a value, or "". Must be set if values may name files.
  Callback<std::string(const std::string& file)> file_error = nullptr;
  /// Parameters that are ignored if the value names a file, because the file determines them.
  std::vector<std::string> unless_file = {};
  /// Whether the parameter is a size of the problem. Tests set it to 1, odd, prime and tail
  /// sizes.
  bool is_extent = false;

  bool names_file(const Value& value) const;
};

/// Parameter values, in the order of Family::parameters.
using Values = std::vector<Value>;

/// The minimum work of a variant on any hardware.
struct Work {
  double bytes_read = 0;     ///< useful bytes: each required input element once
  double bytes_written = 0;  ///< useful bytes: each output element once
  /// Bytes that DRAM must transfer if the caches are empty before the launch and each sector is
  /// transferred once: useful bytes rounded up to whole 32-byte sectors.
  double moved_read = 0;
  double moved_written = 0;
  // Bytes transferred between host and device.
  double to_device = 0;
  double to_host = 0;
  // Bytes over the links between GPUs: the maximum over the ranks of bytes sent, and of bytes
  // received.
  double to_peers = 0;
  double from_peers = 0;
  std::vector<Operations> operations;
  /// Operations of unknown type, which have no ceiling.
  double untyped_operations = 0;
  /// Whether the work is not declared: the bytes are those of the buffers, each counted once.
  bool is_assumed = false;
};
/// Number of operations over all pipes, without untyped ones.
double operation_count(const Work& work);

/// Names and values of the columns `metric.<name>`. Family::metrics declares the names.
using MetricValues = std::vector<std::pair<std::string, double>>;

struct Metric {
  std::string name;
  std::string unit;
  std::string doc;
};

/// Metric for bytes of loads in flight per thread, which explanations use.
inline constexpr const char* kBytesInFlightMetric = "bytes_in_flight_per_thread";

/// Metric for cycles per dependent step, which headlines use.
inline constexpr const char* kStepCyclesMetric = "step_cycles";

struct LaunchContext {
  const DeviceSpec& device;
  void* workspace;  ///< uninitialized device memory, 256-byte aligned, of Variant::workspace_bytes
  WaitReport* report = nullptr;  ///< in host memory that kernels can write; null for one GPU
};

/// Numbers read from a variant's results. The steps store `bytes` bytes at `from` in device
/// memory; `values` converts a host copy of these bytes.
struct Measurement {
  Steps steps;
  const void* from = nullptr;
  std::int64_t bytes = 0;
  Callback<MetricValues(const void* copied)> values;
  /// Whether the numbers are clock readings of a GPU, which the simulator cannot provide.
  bool reads_clocks = false;
};

/// How launches are timed.
enum class Timing {
  gated,    ///< CUDA events; the stream is blocked until the launch is enqueued, so that the time
            ///< contains no host latency
  ungated,  ///< CUDA events; for launches that wait for the GPU, which can be neither gated nor
            ///< captured into a graph
  host_clock,     ///< host clock, from before the launch is enqueued until the GPU has finished
  fresh_process,  ///< host clock; each sample is the first launch of a process, including its
                  ///< preparation and everything loaded on first use
  from_first,     ///< host clock; all samples are launches of one process, and the first includes
                  ///< preparation and loading
};
/// Whether launches without warm-up are timed.
constexpr bool times_first_launches(Timing timing) {
  return timing == Timing::fresh_process || timing == Timing::from_first;
}

/// How the host submits the steps of a launch to the GPU.
enum class Submission {
  one_by_one,
  graph,          ///< as a CUDA graph, captured once: a launch is one call
  updated_graph,  ///< as `graph`, but each launch first updates the arguments of all its kernels
};

/// Properties of a variant that do not depend on the problem.
struct VariantFacts {
  std::string id;  ///< names the mechanism; unique in the family
  /// Explains what the variant changes, which resource the change relieves, its cost, and which
  /// counter should change. If empty, the comment above the variant is used (variant_comments.hpp).
  std::string why;
  std::string compare_to;          ///< variant that differs only by this mechanism; may be empty
  bool is_vendor = false;          ///< a library call, whose launch shapes are unknown
  int min_compute_capability = 0;  ///< 80 for 8.0
  Timing timing = Timing::gated;
  Submission submission = Submission::one_by_one;
  /// Whether equal inputs give bitwise-identical results in every launch: sums of integers, or of
  /// floats in a fixed order. A test launches each deterministic variant ten times.
  bool deterministic = false;
  /// Why the program predicts no time for the variant; empty if it predicts one.
  std::string without_time;
  /// Parameter values that replace the defaults in `annotate` and in tests of expected_changes.
  /// Required if the variant does not support the defaults.
  std::vector<std::pair<std::string, Value>> shown_at;
  /// Names of the outputs that a launch writes; empty: all outputs. Verification and error columns
  /// use only these outputs.
  std::vector<std::string> writes;
  /// Returns why a required library is unavailable on this machine. Uses no GPU.
  Callback<std::optional<std::string>()> unavailable;

  // Defined in family.cpp, so that kernel files do not compile these functions.
  VariantFacts();
  VariantFacts(const VariantFacts&);
  VariantFacts(VariantFacts&&) noexcept;
  VariantFacts& operator=(const VariantFacts&);
  VariantFacts& operator=(VariantFacts&&) noexcept;
  ~VariantFacts();

  bool fills(std::string_view output) const;
};

struct Variant : VariantFacts {
  Variant();
  Variant(const VariantFacts& facts, std::vector<ExpectedChange> expected);
  Variant(const Variant&);
  Variant(Variant&&) noexcept;
  Variant& operator=(const Variant&);
  Variant& operator=(Variant&&) noexcept;
  ~Variant();

  /// Expected counter changes relative to compare_to: the testable part of `why`. The mechanism
  /// targets the first change. Required for variants with a compare_to, except vendor libraries.
  std::vector<ExpectedChange> expected_changes;
  /// Returns why this variant cannot run the problem on the device ("needs k divisible by 8").
  Callback<std::optional<std::string>(const void* problem, const DeviceSpec&)> unsupported;
  Callback<Work(const void* problem)> work;
  Callback<std::int64_t(const void* problem, const DeviceSpec&)> workspace_bytes;
  /// Properties of the variant at this problem (load width, number of tiles), without a GPU.
  Callback<MetricValues(const void* problem, const DeviceSpec&)> metrics;
  /// For problems that span GPUs: the phases of a launch, from which its time is predicted.
  /// Optional for vendor libraries.
  Callback<std::vector<Phase>(const void* problem, const DeviceSpec&)> phases;
  /// Returns the steps of one launch, including clears of memory, without using a GPU. A vendor
  /// library's launch is one opaque step.
  Callback<Steps(const void* problem, const void* data, const LaunchContext&)> launch;
  /// Optional: numbers to read from the results after a verified launch, outside timed regions.
  /// The steps may use the workspace.
  Callback<Measurement(const void* problem, const void* data, const LaunchContext&)>
      measured_metrics;
  /// The family's data without buffers, for computing shapes without a launch.
  std::shared_ptr<const void> unbound_data;

  /// In launch order; empty for vendor libraries.
  std::vector<Shape> shapes(const void* problem, const DeviceSpec& device) const;
};

/// Arrays into which a reference writes one output: the exact value, and the magnitude that is
/// multiplied by the tolerance (for a sum of products, the sum of absolute terms). Null if the
/// output is not requested. All outputs that a variant writes are requested together.
struct ReferenceView {
  double* value = nullptr;
  double* magnitude = nullptr;
  ElementDraw draw = {};  ///< requested elements; other elements may stay unwritten
  explicit operator bool() const { return value != nullptr; }
};

enum class BufferRole {
  input,
  output,
  in_out,  ///< an output whose contents before the launch are also an input
  /// Data that one launch leaves for the next, such as signals. The executor clears it once, when
  /// it sets up the problem.
  state,
  /// Intermediate results of a launch: memory without contents before the launch, which is not
  /// compared after it.
  workspace,
};
constexpr bool is_output(BufferRole role) {
  return role == BufferRole::output || role == BufferRole::in_out;
}

/// Memory kind of a buffer (CUDA C++ Programming Guide, page-locked and unified memory).
enum class Residence {
  device,
  pinned,  ///< page-locked host memory
  /// Page-locked memory that bypasses the host's caches. The host writes it in order and never
  /// reads it.
  write_combined,
  pageable,  ///< host memory from malloc, which kernels may be unable to access
  mapped,    ///< page-locked host memory that kernels access in place
  managed,   ///< unified memory, which migrates to the processor that accesses it
};

struct Buffer {
  std::string name;
  BufferRole role;
  Callback<DataType(const void* problem)> type;
  Callback<std::int64_t(const void* problem)> count;  ///< number of elements
  /// Outputs only: overrides Family::tolerance, for outputs of different types.
  Callback<Tolerance(const void* problem)> tolerance;
  Residence residence = Residence::device;
  /// For state of problems that span GPUs: index of the first 32-bit word in which other ranks
  /// store the number of the launch, counted from 1. The rank waits until these words have at least
  /// this number. An executor that runs only one rank stores a larger number in them.
  std::optional<std::int64_t> flags_from = {};
  /// Outputs only: whether the family's references compute the output. Others are not compared, and
  /// rows of variants that write them are unverified.
  bool has_reference = true;
};

using Environment = std::vector<std::pair<std::string, std::string>>;

struct Family {
  Family();
  Family(const Family&);
  Family(Family&&) noexcept;
  Family& operator=(const Family&);
  Family& operator=(Family&&) noexcept;
  ~Family();

  std::string id;  ///< stem of its file in kernels/
  Topic topic = Topic::memory;
  std::string question;
  std::string physics;  ///< one paragraph on the hardware's behaviour
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  std::vector<Metric> metrics;
  std::vector<Variant> variants;
  std::vector<CeilingRows> ceilings;  ///< ceilings that rows of this family measure
  std::vector<Plot> plots;            ///< empty: the default plot
  std::string tolerance_derivation;

  Callback<std::shared_ptr<const void>(const Values&)> make_problem;
  /// Binds the buffers of one rank. Launches receive buffers in their residence; inputs, reset and
  /// the device references receive them in device memory, host_reference in host memory.
  Callback<std::shared_ptr<const void>(const RankBuffers&)> make_data;
  /// Number of GPUs that a problem spans; empty: one. Each GPU is a rank, numbered from 0, with
  /// its own buffers. Launches, inputs and references apply to each rank.
  Callback<int(const void* problem)> gpus;

  /// Environment variables for processes that run the problem, such as settings that a library
  /// reads when it is loaded. May be empty.
  Callback<Environment(const void* problem)> environment;

  /// Extents of the output grid that launch shapes must cover.
  Callback<Extent(const void* problem)> outputs;
  Callback<std::optional<std::string>(const void* problem, const DeviceSpec&)> unsupported;
  /// Fills the inputs; equal seeds give equal inputs.
  Callback<Steps(const void* problem, const void* data, std::uint64_t seed)> inputs;
  /// Restores in_out buffers before every launch, untimed. Only for families with such buffers.
  Callback<Steps(const void* problem, const void* data)> reset;
  /// Whether launches may follow each other without `reset`, because only verification depends on
  /// the contents that it restores.
  bool repeats_without_reset = false;
  /// The fp64 reference on the device, with one view per output buffer in declaration order.
  Callback<Steps(const void* problem, const void* data, const std::vector<ReferenceView>&)>
      reference;
  /// If true, references are computed after each launch from its outputs, so each operation in a
  /// sequence is checked with the device's own inputs. Otherwise they are computed once, before
  /// all launches, from the family's inputs.
  bool refers_to_results = false;
  /// The reference as host loops on host pointers. Tests compare it with `reference` at small
  /// sizes.
  Callback<void(const void* problem, const void* data, const std::vector<ReferenceView>&)>
      host_reference;
  /// Optional: number of operations of the reference, if it differs from the variants' number.
  Callback<double(const void* problem)> reference_operations;
  /// Optional: those of its host loops, if they compute values that several elements share once.
  Callback<HostOperations(const void* problem)> host_operations;
  /// Optional: the result for unrounded inputs, with which the error columns compare.
  Callback<Steps(const void* problem, const void* data, const std::vector<ReferenceView>&)>
      accuracy_reference;
  /// Tolerance of outputs whose Buffer::tolerance is empty.
  Callback<Tolerance(const void* problem)> tolerance;

  const Variant* find(std::string_view variant_id) const;
  const Parameter* find_parameter(std::string_view name) const;
  Values defaults() const;
  /// Whether the parameter applies to these values. False if a value names a file that determines
  /// the parameter (Parameter::unless_file).
  bool holds(const Parameter& parameter, const Values& values) const;
  Values shown_at(const Variant& variant, Values values) const;
  int gpus_of(const void* problem) const { return gpus ? gpus(problem) : 1; }
};

}  // namespace gpuexp
