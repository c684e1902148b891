#pragma once

#include <string>

namespace gpuexp {

/// Receives named ranges: NVTX, or a recorder in tests.
class Tracer {
 public:
  virtual ~Tracer() = default;
  virtual void push(const std::string& name) = 0;
  virtual void pop() = 0;
};

class TraceRange {
 public:
  TraceRange(Tracer& tracer, const std::string& name) : tracer_(tracer) { tracer_.push(name); }
  ~TraceRange() { tracer_.pop(); }
  TraceRange(const TraceRange&) = delete;
  TraceRange& operator=(const TraceRange&) = delete;

 private:
  Tracer& tracer_;
};

/// Two nested ranges: a launch, and one phase of its measurement.
class PhaseRange {
 public:
  PhaseRange(Tracer& tracer, const std::string& launch, const char* phase)
      : launch_(tracer, launch), phase_(tracer, phase) {}

 private:
  TraceRange launch_;
  TraceRange phase_;
};

}  // namespace gpuexp
