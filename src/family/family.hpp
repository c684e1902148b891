// The one abstraction: a Family of kernel variants that answer one question, as plain data and
// callbacks. Everything else (list, describe, plan, predict, run, the config schema, the tests, the
// docs) iterates families.
//
// Kernel files declare families through the typed FamilyOf<Problem, Data> (family_of.hpp); this
// header is the type-erased form that the rest of the program sees. Problems and data are opaque
// here.
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
#include "family/figure.hpp"
#include "family/phase.hpp"
#include "family/ranks.hpp"
#include "family/step.hpp"
#include "family/tolerance.hpp"
#include "family/topic.hpp"

namespace gpuexp {

/// A parameter of a family: an axis that configs may sweep.
struct Parameter {
  std::string name;
  Value default_value;
  std::string unit;  ///< empty for counts and names
  std::string doc;
  double min = 0;  ///< numbers only, inclusive
  double max = 0;
  std::vector<std::string> choices;  ///< text only; one that is a glob ("*.mtx") stands for files
  /// Why a file cannot be a value; empty: it can. Set if values may name files.
  Callback<std::string(const std::string& file)> file_error = nullptr;
  /// Other parameters, which do not hold if the value names a file: the file says what they would.
  std::vector<std::string> unless_file = {};
  /// The parameter is a size of the problem: tests sweep it over 1, odd, prime and tail sizes.
  bool is_extent = false;

  /// Whether the value is the name of a file.
  bool names_file(const Value& value) const;
};

/// Values in the order of Family::parameters.
using Values = std::vector<Value>;

/// What the variant has to do at least, whatever the hardware.
struct Work {
  double bytes_read = 0;     ///< useful: each input element that the result needs, once
  double bytes_written = 0;  ///< useful: each output element, once
  /// Bytes that DRAM has to move when nothing is cached before the launch and every line is fetched
  /// once: useful bytes rounded up to 32-byte sectors as the access pattern touches them.
  double moved_read = 0;
  double moved_written = 0;
  // Bytes that cross the bus between host and device.
  double to_device = 0;
  double to_host = 0;
  // Bytes that cross the links between GPUs: out of the rank that sends most, into the one that
  // receives most.
  double to_peers = 0;
  double from_peers = 0;
  std::vector<Operations> operations;
};
/// Of all pipes.
double operation_count(const Work& work);

/// A number of the variant's own, in the column `metric.<name>`; names are declared in
/// Family::metrics.
using MetricValues = std::vector<std::pair<std::string, double>>;

struct Metric {
  std::string name;
  std::string unit;
  std::string doc;
};

/// The metric by which explanations know how many bytes of loads a thread has in flight (B): a
/// family that knows them declares it under this name.
inline constexpr const char* kBytesInFlightMetric = "bytes_in_flight_per_thread";

/// The metric by which headlines know what a dependent step takes, in SM clocks.
inline constexpr const char* kStepCyclesMetric = "step_cycles";

/// What a launch is made for, besides the problem and its buffers.
struct LaunchContext {
  const DeviceSpec& device;
  void* workspace;  ///< Variant::workspace_bytes of uninitialised device memory, 256-byte aligned
  WaitReport* report = nullptr;  ///< in host memory that kernels write; of problems that span GPUs
};

/// Numbers read from a variant's results: steps that leave `bytes` bytes in device memory from
/// `from` on, and what these say.
struct Measurement {
  Steps steps;
  const void* from = nullptr;
  std::int64_t bytes = 0;
  Callback<MetricValues(const void* copied)> values;
  /// The numbers are a GPU's clocks: who executes kernels without one has none.
  bool reads_clocks = false;
};

/// How launches are timed.
enum class Timing {
  gated,    ///< events; the stream is blocked until the launch is enqueued, so that no host latency
            ///< is in the time
  ungated,  ///< events, for a launch that waits for the GPU: it can be neither gated nor captured
            ///< into a graph
  host_clock,  ///< the host's clock, from before the launch is enqueued until the GPU has done it
  fresh_process,  ///< the host's clock; each sample is the first launch of a process, from before
                  ///< the launch is prepared: with all that is loaded on first use
  from_first,     ///< the host's clock; the samples are the launches of one process, the first as
                  ///< above
};
/// Whether launches are timed that nothing has warmed up.
constexpr bool times_first_launches(Timing timing) {
  return timing == Timing::fresh_process || timing == Timing::from_first;
}

/// How the host hands a launch's steps to the GPU.
enum class Submission {
  one_by_one,
  graph,          ///< as a graph, captured once: a launch is one call
  updated_graph,  ///< likewise, but each launch first gives all of its kernels their arguments anew
};

/// What a variant says of itself in words and figures.
struct VariantFacts {
  std::string id;  ///< the mechanism, unique in the family
  /// What changed, what it relieves, what it costs, which counter should change. Left empty, it is
  /// the comment over the variant (variant_comments.hpp).
  std::string why;
  std::string compare_to;  ///< the variant that differs by this mechanism alone; empty for the
                           ///< first variant
  bool is_vendor = false;  ///< a library call: shapes are not known
  int min_compute_capability = 0;  ///< 80 for 8.0
  Timing timing = Timing::gated;
  Submission submission = Submission::one_by_one;
  /// Equal inputs give equal bits, launch after launch, in whatever order blocks, warps and atomics
  /// come: sums of integers, and of floats in one order that the code fixes. A test launches each
  /// such variant ten times.
  bool deterministic = false;
  /// Why no time is predicted; empty: one is, from its phases or from its machine code.
  std::string without_time;
  /// Parameters, with their values, of a problem that shows what the variant does, where it does
  /// not support the defaults. `annotate` and the tests of expected_changes take them in place of
  /// these.
  std::vector<std::pair<std::string, Value>> shown_at;
  /// Names of the output buffers that a launch fills; empty: all of them. Verification and error
  /// columns of this variant look at these alone. For families whose variants differ in what they
  /// store, such as its type.
  std::vector<std::string> writes;
  /// A reason when a library this variant needs is absent on this machine. Touches no GPU.
  Callback<std::optional<std::string>()> unavailable;

  // Defined once, in family.cpp: every family file would compile them again.
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

  /// What counters should do against compare_to: `why` in a form that tests hold against a GPU.
  /// The first is the one that the mechanism is about. Every variant with a compare_to has some,
  /// unless it is a vendor's.
  std::vector<ExpectedChange> expected_changes;
  /// A reason when this variant cannot run this problem on this device ("needs k divisible by 8").
  Callback<std::optional<std::string>(const void* problem, const DeviceSpec&)> unsupported;
  Callback<Work(const void* problem)> work;
  Callback<std::int64_t(const void* problem, const DeviceSpec&)> workspace_bytes;
  /// Host-pure facts about how this problem is run (load width, number of tiles).
  Callback<MetricValues(const void* problem, const DeviceSpec&)> metrics;
  /// Of problems that span GPUs: the parts of one launch, from which its time is predicted. A
  /// vendor's may have them, too.
  Callback<std::vector<Phase>(const void* problem, const DeviceSpec&)> phases;
  /// What one launch consists of. Host-pure. A vendor's is one opaque step. What it must clear for
  /// each launch is a step of it.
  Callback<Steps(const void* problem, const void* data, const LaunchContext&)> launch;
  /// Optional: numbers read from this variant's results after a verified launch, outside any timed
  /// region. Its steps may use the workspace.
  Callback<Measurement(const void* problem, const void* data, const LaunchContext&)>
      measured_metrics;
  /// The family's data without buffers: for the shapes of launches that nobody makes.
  std::shared_ptr<const void> unbound_data;

  /// Of the kernels of a launch, in order; none for a vendor's.
  std::vector<Shape> shapes(const void* problem, const DeviceSpec& device) const;
};

/// Where a reference writes one output: the exact value and the magnitude that the tolerance scales
/// with (the sum of absolute terms for a sum of products). Null pointers: this output is not asked
/// for; all outputs that one variant writes are asked for together.
struct ReferenceView {
  double* value = nullptr;
  double* magnitude = nullptr;
  ElementDraw draw = {};  ///< the elements that are asked for; others may be left as they are
  explicit operator bool() const { return value != nullptr; }
};

enum class BufferRole {
  input,
  output,
  in_out,  ///< an output whose contents before the launch are an input, too
  /// What launches tell each other: zero when the problem is set up, and as the last launch left it
  /// since.
  state,
};
constexpr bool is_output(BufferRole role) {
  return role == BufferRole::output || role == BufferRole::in_out;
}

/// Where a buffer lives (CUDA C++ Programming Guide, chapters on page-locked and unified memory).
enum class Residence {
  device,
  pinned,  ///< page-locked host memory
  /// Likewise, which the host's caches pass by: to be written by the host in order, never read.
  write_combined,
  pageable,  ///< host memory as malloc gives it, which kernels may not reach
  mapped,    ///< page-locked host memory that kernels read and write in place
  managed,   ///< unified memory, which moves to whoever touches it
};

struct Buffer {
  std::string name;
  BufferRole role;
  Callback<DataType(const void* problem)> type;
  Callback<std::int64_t(const void* problem)> count;  ///< elements
  /// Outputs only: overrides Family::tolerance, for families whose outputs differ in type.
  Callback<Tolerance(const void* problem)> tolerance;
  Residence residence = Residence::device;
  /// State of problems that span GPUs: the 32-bit word from which on other ranks write the number
  /// of the launch, 1 of the first. The rank waits for that number or a later one, as whoever
  /// executes it by itself puts there.
  std::optional<std::int64_t> flags_from = {};
};

/// Variables that a process is started with, by name.
using Environment = std::vector<std::pair<std::string, std::string>>;

struct Family {
  Family();
  Family(const Family&);
  Family(Family&&) noexcept;
  Family& operator=(const Family&);
  Family& operator=(Family&&) noexcept;
  ~Family();

  std::string id;  ///< equals the stem of its file in kernels/
  Topic topic = Topic::memory;
  std::string question;  ///< the one question that the family answers
  std::string physics;   ///< a paragraph: why the hardware behaves so
  std::vector<Parameter> parameters;
  std::vector<Buffer> buffers;
  std::vector<Metric> metrics;
  std::vector<Variant> variants;
  std::vector<CeilingRows> ceilings;  ///< that its rows show
  std::vector<Figure> figures;        ///< none: one that suits any family
  std::string tolerance_derivation;

  Callback<std::shared_ptr<const void>(const Values&)> make_problem;
  /// Binds the pointers of one rank. Launches get buffers where they live; inputs, reset and the
  /// references get them in device memory, host_reference in host memory.
  Callback<std::shared_ptr<const void>(const RankBuffers&)> make_data;
  /// GPUs that a problem spans, each with a rank from 0 and with buffers of its own, all of equal
  /// sizes; empty: one. What is said of a launch, of inputs and of references holds for each rank.
  Callback<int(const void* problem)> gpus;

  /// Environment variables, with their values, of the processes that run the problem: what a
  /// library reads once, when it is loaded. Empty: none.
  Callback<Environment(const void* problem)> environment;

  /// Extents of the output grid that shapes must cover.
  Callback<Extent(const void* problem)> outputs;
  Callback<std::optional<std::string>(const void* problem, const DeviceSpec&)> unsupported;
  /// Fills the inputs; equal seeds give equal inputs.
  Callback<Steps(const void* problem, const void* data, std::uint64_t seed)> inputs;
  /// Untimed, before every launch: restores what BufferRole::in_out buffers hold before it. Of
  /// families that have such.
  Callback<Steps(const void* problem, const void* data)> reset;
  /// Launches may also follow each other without: no launch is led by what reset restores, which
  /// is there for results to be compared.
  bool repeats_without_reset = false;
  /// The plain fp64 reference on the device, one view per output buffer in declaration order.
  Callback<Steps(const void* problem, const void* data, const std::vector<ReferenceView>&)>
      reference;
  /// References are made after each launch, and may read outputs: what a chain of operations wrote
  /// is held, operation by operation, to what it found. Otherwise they are made once, before
  /// launches, from the inputs alone.
  bool refers_to_results = false;
  /// The same by plain host loops, on host pointers; tests hold `reference` against it at small
  /// sizes.
  Callback<void(const void* problem, const void* data, const std::vector<ReferenceView>&)>
      host_reference;
  /// Optional: operations of the reference, where it has what variants compute by fewer of them.
  Callback<double(const void* problem)> reference_operations;
  /// Optional: what the result would be had the inputs never been rounded; the error columns refer
  /// to it.
  Callback<Steps(const void* problem, const void* data, const std::vector<ReferenceView>&)>
      accuracy_reference;
  /// For every output that has no tolerance of its own.
  Callback<Tolerance(const void* problem)> tolerance;

  const Variant* find(std::string_view variant_id) const;
  const Parameter* find_parameter(std::string_view name) const;
  Values defaults() const;
  /// Whether the value of this parameter holds among these (Parameter::unless_file).
  bool holds(const Parameter& parameter, const Values& values) const;
  /// Values with what the variant is shown at in them.
  Values shown_at(const Variant& variant, Values values) const;
  /// GPUs that the problem spans.
  int gpus_of(const void* problem) const { return gpus ? gpus(problem) : 1; }
};

}  // namespace gpuexp
