// What the runner needs of a device. The CUDA executor implements it; tests implement it without
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/config.hpp"
#include "core/device_error.hpp"
#include "core/family.hpp"

namespace gpuexp {

/// One element that failed verification.
struct Mismatch {
  std::string buffer;
  std::int64_t index;
  double expected;
  double got;
  double allowed;  ///< largest |got - expected| that passes
};

struct Verification {
  std::int64_t checked = 0;  ///< elements compared, over all outputs
  std::int64_t wrong = 0;
  std::optional<Mismatch> first;  ///< the wrong element with the lowest index
  std::string overrun;            ///< names a buffer whose guards were written; empty when none was
  std::string changed_input;      ///< names an input that was written to; empty when none was
  double worst_over_allowed = 0;  ///< largest |got - expected| / allowed; at most 1 when all pass
  /// Root-mean-square error over the root-mean-square result, against the exact result of unrounded
  /// inputs.
  double error_rms_rel = 0;
  /// Largest absolute error over the root-mean-square result, likewise.
  double error_max_rel = 0;

  bool passed() const { return wrong == 0 && overrun.empty() && changed_input.empty(); }
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// Allocates a problem's buffers, fills its inputs from the seed and computes its references.
  /// What an earlier problem held is released first.
  virtual void set_up(const Family& family, const void* problem, std::uint64_t seed) = 0;

  /// Fills the variant's outputs with what no result may keep, and has its references at hand.
  virtual void poison(const Variant& variant) = 0;

  /// One untimed launch, through the path that timing uses.
  virtual void launch(const Variant& variant, Mode mode) = 0;

  /// Compares every element that the last launch should have written, the guards and the inputs,
  /// which are as set_up() left them afterwards.
  virtual Verification check(const Variant& variant) = 0;

  Verification verify(const Variant& variant) {
    poison(variant);
    launch(variant, Mode::warm);
    return check(variant);
  }

  /// Untimed launches in the given mode.
  virtual void warm_up(const Variant& variant, Mode mode, int launches) = 0;

  /// One timed launch, in microseconds.
  virtual double sample_us(const Variant& variant, Mode mode) = 0;

  /// Step of the clock behind sample_us; 0 where unknown.
  virtual double time_quantum_us() const { return 0; }

  /// The variant's measured metrics, read from what its last launch wrote.
  virtual MetricValues measured_metrics(const Variant& variant) = 0;

  /// Bytes that a flush reads before a cold sample.
  virtual std::int64_t flush_bytes() const = 0;

  virtual void start_profiler() = 0;
  virtual void stop_profiler() = 0;
};

/// Where named ranges go while the runner works: NVTX, or a recorder in tests.
class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual void push(const std::string& name) = 0;
  virtual void pop() = 0;
};

/// A range that ends with its scope.
class TraceRange {
 public:
  TraceRange(Tracer& tracer, const std::string& name) : tracer_(tracer) { tracer_.push(name); }
  ~TraceRange() { tracer_.pop(); }
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

 private:
  Tracer& tracer_;
};

}  // namespace gpuexp
