// An executor without a device: scripted times, results and faults, and a record of what it was
// asked.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/executor.hpp"

namespace gpuexp::test {

class FakeExecutor : public Executor {
 public:
  std::vector<std::string> calls;
  /// Time of the n-th sample (from 0) of a variant; 10 µs where none is scripted.
  std::function<double(const std::string& variant, int n)> time_us = [](const std::string&, int) {
    return 10.0;
  };
  /// Result of the n-th verification (from 0) of a variant; passes where none is scripted.
  std::function<Verification(const std::string& variant, int n)> verification =
      [](const std::string&, int) { return Verification{}; };

  void set_up(const Family&, const void*, std::uint64_t seed) override {
    calls.push_back("set_up " + std::to_string(seed));
  }
  void poison(const Variant& v) override { calls.push_back("poison " + v.id); }
  void launch(const Variant& v, Mode) override { calls.push_back("launch " + v.id); }
  Verification check(const Variant& v) override {
    calls.push_back("check " + v.id);
    return verification(v.id, checked_[v.id]++);
  }
  void warm_up(const Variant& v, Mode mode, int launches) override {
    calls.push_back("warm_up " + v.id + " " + std::string(name_of(mode)) + " " +
                    std::to_string(launches));
  }
  double sample_us(const Variant& v, Mode) override {
    if (sampled_[v.id] == 0) calls.push_back("sample " + v.id);
    return time_us(v.id, sampled_[v.id]++);
  }
  MetricValues measured_metrics(const Variant&) override { return {}; }
  std::int64_t flush_bytes() const override { return 1 << 20; }
  void start_profiler() override { calls.push_back("start_profiler"); }
  void stop_profiler() override { calls.push_back("stop_profiler"); }

  int samples_of(const std::string& variant) { return sampled_[variant]; }

 private:
  std::map<std::string, int> checked_;
  std::map<std::string, int> sampled_;
};

/// Keeps the ranges as "push name" and "pop".
class RecordingTracer : public Tracer {
 public:
  std::vector<std::string> events;
  void push(const std::string& name) override { events.push_back("push " + name); }
  void pop() override { events.push_back("pop"); }
};

}  // namespace gpuexp::test
