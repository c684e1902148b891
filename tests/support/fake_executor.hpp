// An executor without a device: scripted times, results, clocks and faults, and a record of its
// calls.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "run/executor.hpp"
#include "run/tracer.hpp"

namespace gpuexp::test {

class FakeExecutor : public Executor,
                     public LaunchTimer,
                     public CounterReader,
                     public SourceCounterReader,
                     public ProfilerControl {
 public:
  std::vector<std::string> calls;
  /// Time of the n-th sample (from 0) of a variant; 10 µs by default.
  std::function<double(const std::string& variant, int n)> time_us = [](const std::string&, int) {
    return 10.0;
  };
  /// Result of the n-th verification (from 0) of a variant; passes by default.
  std::function<Verification(const std::string& variant, int n)> verification =
      [](const std::string&, int) { return Verification{}; };
  /// The n-th reading (from 0) of the clock; 1000 MHz under load by default.
  std::function<std::optional<ClockReading>(int n)> clock = [](int) {
    return ClockReading{1000, 1};
  };
  /// SM clock of the n-th sample of a variant; none by default.
  std::function<std::optional<double>(const std::string& variant, int n)> sample_clock_mhz =
      [](const std::string&, int) { return std::nullopt; };
  /// Called before each call with its text, such as "launch first"; may throw.
  std::function<void(const std::string& call)> fault = [](const std::string&) {};
  /// Whether a lost device recovers.
  bool recovers = false;
  /// Whether a new process can start.
  bool restarts = true;
  bool times = true;   ///< whether there is a timer
  bool counts = true;  ///< whether there is a counter reader
  std::vector<double> floor_us = {2.0, 2.5};
  CounterSupport counters;
  /// Kernels of each launch, and the value of every metric of each.
  std::vector<std::pair<std::string, double>> kernels = {{"kernel", 8.0}};

  void set_up(const Family&, const Values&, std::uint64_t seed) override {
    record("set_up " + std::to_string(seed));
  }
  void poison(const Variant& v, Mode) override { record("poison " + v.id); }
  void launch(const Variant& v, Mode mode) override {
    record("launch " + v.id + " " + std::string(name_of(mode)));
  }
  Verification check(const Variant& v, Mode) override {
    record("check " + v.id);
    return verification(v.id, checked_[v.id]++);
  }
  SampleTraits warm_up(const Variant& v, Mode mode, const WarmUp& most) override {
    record("warm_up " + v.id + " " + std::string(name_of(mode)) + " " +
           std::to_string(most.launches));
    return {1, mode == Mode::cold ? 1 << 20 : 0, 0, true, 0.0};
  }
  void sample(const std::vector<const Variant*>& sequence, Mode,
              const SampleTaken& taken) override {
    for (std::size_t i = 0; i < sequence.size(); ++i) {
      const std::string& id = sequence[i]->id;
      fault("sample " + id + " " + std::to_string(sampled_[id]));
      if (sampled_[id] == 0) calls.push_back("sample " + id);
      order.push_back(id);
      const int n = sampled_[id]++;
      taken(i, {time_us(id, n), sample_clock_mhz(id, n)});
    }
  }
  SampleTraits sample_from_first(const Variant& v, Mode mode, int launches,
                                 const SampleTaken& taken) override {
    record("sample_from_first " + v.id + " " + std::string(name_of(mode)) + " " +
           std::to_string(launches));
    for (int i = 0; i < launches; ++i)
      taken(static_cast<std::size_t>(i), {time_us(v.id, sampled_[v.id]++)});
    return {1, 0, 0, false, 0.0};
  }
  std::vector<double> sample_floor(Mode mode, int) override {
    record("floor " + std::string(name_of(mode)));
    return floor_us;
  }
  void sustain(const std::vector<const Variant*>& sequence, Mode mode, double seconds) override {
    std::string call = "sustain";
    for (const Variant* v : sequence)
      call += " " + v->id;
    record(call + " " + std::string(name_of(mode)));
    sustained_s += seconds;
  }
  void start_clock() override {}
  std::optional<ClockReading> sm_clock() override { return clock(clock_reads_++); }
  gpuexp::MetricValues measured_metrics(const Variant&) override { return {}; }
  CounterSupport counter_support(const std::vector<std::string>&) override {
    record("counter_support");
    return counters;
  }
  std::vector<LaunchCounts> count(const std::vector<CountedLaunch>& launches, std::uint64_t,
                                  const std::vector<std::string>& metrics) override {
    std::string call = "count";
    for (const CountedLaunch& launch : launches)
      call += " " + launch.variant->id + " " + std::string(name_of(launch.mode));
    record(call);
    LaunchCounts result{metrics, {}, 1};
    for (const auto& [name, value] : kernels)
      result.kernels.push_back({name, std::vector<double>(metrics.size(), value)});
    return std::vector<LaunchCounts>(launches.size(), result);
  }
  /// Returns one instruction, executed by one warp, at the kernel's index as address.
  std::vector<CountedInstruction> count_source(const CountedLaunch& launch, std::uint64_t,
                                               std::size_t kernel) override {
    record("count_source " + launch.variant->id + " " + std::to_string(kernel));
    return {{"kernel", static_cast<std::uint32_t>(kernel), {1, 32, 31, 8, 4, 2, 1}}};
  }
  bool recover() override {
    record("recover");
    return recovers;
  }
  bool restart() override {
    record("restart");
    return restarts;
  }
  LaunchTimer* timer() override { return times ? this : nullptr; }
  CounterReader* counter_reader() override { return counts ? this : nullptr; }
  SourceCounterReader* source_counter_reader() override { return counts ? this : nullptr; }
  ProfilerControl* profiler() override { return this; }
  void start_profiler() override { record("start_profiler"); }
  void stop_profiler() override { record("stop_profiler"); }

  int samples_of(const std::string& variant) { return sampled_[variant]; }
  std::vector<std::string> order;  ///< the variant of every sample taken
  double sustained_s = 0;          ///< seconds of back-to-back launches

 private:
  void record(const std::string& call) {
    calls.push_back(call);
    fault(call);
  }

  std::map<std::string, int> checked_;
  std::map<std::string, int> sampled_;
  int clock_reads_ = 0;
};

/// Records ranges as "push name" and "pop".
class RecordingTracer : public Tracer {
 public:
  std::vector<std::string> events;
  void push(const std::string& name) override { events.push_back("push " + name); }
  void pop() override { events.push_back("pop"); }
};

}  // namespace gpuexp::test
