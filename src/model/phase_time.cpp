#include "model/phase_time.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include "model/back_to_back.hpp"

namespace gpuexp {

namespace {

constexpr double kMicrosPerSecond = 1e6;
constexpr double kNanosInMicro = 1e3;
constexpr double kNotYet = std::numeric_limits<double>::infinity();

enum Resource : std::size_t { kLinks, kMemory, kSms, kResources };

using Optional = std::optional<double>;

// Loads or stores in both directions at once slow down as copies do, unless a measurement exists.
Optional link_rate(const Phase& phase, const Ceilings& c) {
  const auto both = [&](const Optional& one_way, const Optional& measured) {
    if (!phase.both_ways || !one_way) return one_way;
    if (measured) return measured;
    if (!c.link_both_bytes_per_s || !c.link_copy_bytes_per_s) return Optional();
    return Optional(*one_way * *c.link_both_bytes_per_s / *c.link_copy_bytes_per_s);
  };
  switch (phase.by) {
    case LinkUse::copy_engine: return both(c.link_copy_bytes_per_s, c.link_both_bytes_per_s);
    case LinkUse::loads: return both(c.link_read_bytes_per_s, c.link_both_read_bytes_per_s);
    case LinkUse::stores: return both(c.link_write_bytes_per_s, c.link_both_write_bytes_per_s);
  }
  return std::nullopt;
}

bool is_copy(const Phase& phase) {
  return phase.by == LinkUse::copy_engine;
}

struct IsolatedCost {
  double waits_us = 0;  ///< before and between transfers and operations
  std::array<double, kResources> busy_us = {};
  std::map<std::string, double> pipes_us;
  double work_us() const { return *std::max_element(busy_us.begin(), busy_us.end()); }
};

class PhaseCosts {
 public:
  PhaseCosts(Mode mode, const DeviceSpec& device, const Ceilings& ceilings)
      : mode_(mode), device_(device), c_(ceilings) {}

  IsolatedCost alone(const Phase& phase) {
    IsolatedCost a;
    // The kernel's own time already includes one load from its own memory per signal and link load.
    const double own_load_ns = c_.l2_latency_ns.value_or(0);
    const int own_loads =
        phase.kernel_us ? -(phase.signals + phase.link_loads) : phase.memory_loads;
    a.waits_us = (phase.signals * known(c_.link_signal_ns, phase.signals, "a signal takes") +
                  phase.link_loads * known(c_.link_load_ns, phase.link_loads, "a load takes") +
                  phase.fences * known(c_.link_fence_ns, phase.fences, "a fence takes") +
                  own_loads * own_load_ns) /
                 kNanosInMicro;
    // A kernel that waits has further latencies before and after the links deliver data.
    const double latency_us = phase.signals > 0 ? phase.kernel_latency_us : 0;
    a.waits_us += latency_us;
    a.busy_us[kLinks] = seconds(phase.link_bytes, link_rate(phase, c_), "deliver");
    // L2 holds data of the previous launch if the data fit.
    const bool in_l2 =
        mode_ != Mode::cold && phase.memory_bytes <= static_cast<double>(device_.l2_bytes);
    const Optional memory =
        in_l2 && c_.l2_read_bytes_per_s ? c_.l2_read_bytes_per_s : c_.dram_copy_bytes_per_s;
    if (memory) a.busy_us[kMemory] = phase.memory_bytes / *memory * kMicrosPerSecond;
    compute(phase, a);
    if (phase.kernel_us) a.busy_us[kSms] = phase.sm_share * (*phase.kernel_us - latency_us);
    if (!is_copy(phase)) a.busy_us[kSms] = std::max(a.busy_us[kSms], phase.sm_share * a.work_us());
    return a;
  }

  /// Time from the first event, or from the end of the previous phase, until the phase does work.
  double start_us(const Phase& phase, bool is_first) {
    const double floor_us = c_.floor_us(mode_ == Mode::profile ? Mode::warm : mode_).value_or(0);
    const double copy_us = known(c_.link_copy_ns, is_copy(phase), "a copy takes") / kNanosInMicro;
    if (is_first && is_back_to_back(mode_))
      return is_copy(phase) ? copy_us : next_kernel_us(mode_, c_).value_or(0);
    if (is_first) return is_copy(phase) ? copy_us : floor_us + more_than_empty_us();
    // An event signals the end of a step in another stream.
    if (!phase.after.empty()) return change_us();
    if (is_copy(phase)) return std::max(0.0, copy_us - floor_us);
    return c_.kernel_latency_ns.value_or(0) / kNanosInMicro;
  }

  double change_us() const { return c_.unit_change_ns.value_or(0) / kNanosInMicro; }

  const std::string& refusal() const { return refusal_; }

 private:
  /// Sets the times of the pipes and of the SMs from the operations. If the kernel's own time is
  /// known, scales the times of the pipes so that the slowest pipe takes the kernel's time.
  void compute(const Phase& phase, IsolatedCost& a) {
    for (const Operations& operations : phase.operations) {
      const Optional library = c_.library_ops_per_s[static_cast<std::size_t>(operations.pipe)];
      const Optional rate =
          phase.by_library && library ? library : c_.ops(operations.pipe, phase.tensor_path);
      if (!rate) continue;
      const double us = operations.count / *rate * kMicrosPerSecond;
      a.pipes_us[std::string(name_of(operations.pipe))] += us;
      a.busy_us[kSms] = std::max(a.busy_us[kSms], us);
    }
    if (!phase.kernel_us) return;
    for (auto& [pipe, us] : a.pipes_us)
      us *= *phase.kernel_us / a.busy_us[kSms];
  }

  double known(const Optional& ceiling, bool is_needed, const char* what) {
    if (is_needed && !ceiling)
      refusal_ = std::string("how long ") + what + " between GPUs is not known for this device";
    return ceiling.value_or(0);
  }
  double seconds(double bytes, const Optional& rate, const char* what) {
    if (bytes <= 0) return 0;
    if (!rate)
      refusal_ = std::string("the bandwidth that links ") + what + " is not known for this device";
    return rate ? bytes / *rate * kMicrosPerSecond : 0;
  }

  /// Time by which a kernel with one load takes longer than an empty kernel and the load, to fetch
  /// its code and parameters.
  double more_than_empty_us() const {
    if (!c_.link_kernel_ns || !c_.floor_warm_us || !c_.l2_latency_ns) return 0;
    const double us = (*c_.link_kernel_ns - *c_.l2_latency_ns) / kNanosInMicro;
    return std::max(0.0, us - *c_.floor_warm_us);
  }

  Mode mode_;
  const DeviceSpec& device_;
  const Ceilings& c_;
  std::string refusal_;
};

class PhaseSchedule {
 public:
  PhaseSchedule(const std::vector<Phase>& phases, std::vector<IsolatedCost> alone,
                std::vector<double> starts_us)
      : phases_(phases), alone_(std::move(alone)), starts_us_(std::move(starts_us)) {
    states_.resize(phases_.size());
  }

  std::vector<StepTime> run() {
    for (double now_us = 0; now_us < kNotYet;) {
      begin(now_us);
      const std::vector<double> speeds = speeds_at(now_us);
      double next_us = kNotYet;
      for (std::size_t i = 0; i < states_.size(); ++i) {
        const State& s = states_[i];
        if (s.work_start_us > now_us && s.work_start_us < kNotYet)
          next_us = std::min(next_us, s.work_start_us);
        if (speeds[i] > 0) next_us = std::min(next_us, now_us + s.left / speeds[i]);
      }
      for (std::size_t i = 0; i < states_.size(); ++i) {
        State& s = states_[i];
        if (speeds[i] > 0 && next_us < kNotYet) s.left -= speeds[i] * (next_us - now_us);
      }
      now_us = next_us;
      end(now_us);
    }
    std::vector<StepTime> timeline;
    for (std::size_t i = 0; i < phases_.size(); ++i)
      timeline.push_back(
          {phases_[i].what, phases_[i].stream, states_[i].begin_us, states_[i].end_us});
    return timeline;
  }

 private:
  struct State {
    double begin_us = kNotYet;  ///< when the phases that the phase waits for have ended
    double work_start_us = kNotYet;
    double end_us = kNotYet;
    double left = 1;
  };

  std::optional<std::size_t> before(std::size_t place) const {
    for (std::size_t i = place; i-- > 0;) {
      if (phases_[i].stream == phases_[place].stream) return i;
    }
    return std::nullopt;
  }

  void begin(double now_us) {
    for (std::size_t i = 0; i < phases_.size(); ++i) {
      State& s = states_[i];
      if (s.begin_us < kNotYet) continue;
      double ready_us = 0;
      for (const std::size_t other : phases_[i].after)
        ready_us = std::max(ready_us, states_[other].end_us);
      if (const auto last = before(i)) ready_us = std::max(ready_us, states_[*last].end_us);
      if (ready_us > now_us) continue;
      s.begin_us = now_us;
      s.work_start_us = now_us + starts_us_[i] + alone_[i].waits_us;
    }
    end(now_us);
  }

  void end(double now_us) {
    constexpr double kRounding = 1e-9;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      State& s = states_[i];
      if (s.end_us < kNotYet || s.work_start_us > now_us) continue;
      // The remaining work may be too short to advance the clock.
      if (s.left <= kRounding || s.left * alone_[i].work_us() <= kRounding) s.end_us = now_us;
    }
  }

  /// Share of its work that each phase completes per µs.
  std::vector<double> speeds_at(double now_us) const {
    std::vector<double> speeds(phases_.size(), 0);
    for (std::size_t i = 0; i < states_.size(); ++i) {
      if (states_[i].work_start_us <= now_us && states_[i].end_us == kNotYet)
        speeds[i] = 1 / alone_[i].work_us();
    }
    // Phases that use an overloaded resource slow down in proportion: once per resource, starting
    // with the most overloaded resource.
    for (std::size_t round = 0; round < kResources; ++round) {
      std::array<double, kResources> demand{};
      for (std::size_t i = 0; i < speeds.size(); ++i) {
        for (std::size_t r = 0; r < kResources; ++r)
          demand[r] += speeds[i] * alone_[i].busy_us[r];
      }
      const auto most =
          static_cast<std::size_t>(std::max_element(demand.begin(), demand.end()) - demand.begin());
      if (demand[most] <= 1) break;
      for (std::size_t i = 0; i < speeds.size(); ++i) {
        if (alone_[i].busy_us[most] > 0) speeds[i] /= demand[most];
      }
    }
    return speeds;
  }

  const std::vector<Phase>& phases_;
  std::vector<IsolatedCost> alone_;
  std::vector<double> starts_us_;
  std::vector<State> states_;
};

void add_host_time(PhaseTime& time, Mode mode, double calls, const Ceilings& ceilings) {
  const auto total_us = back_to_back_us(mode, time.total_us, calls, ceilings);
  if (!total_us) {
    time.refusal = "the host's time for a launch is not known for this device";
    return;
  }
  if (*total_us > time.total_us) {
    time.terms.push_back({"host", *total_us});
    std::ranges::stable_sort(time.terms, std::ranges::greater(), &Term::time_us);
  }
  time.total_us = *total_us;
}

}  // namespace

PhaseTime phase_time(const std::vector<Phase>& phases, Mode mode, const DeviceSpec& device,
                     const Ceilings& ceilings) {
  PhaseCosts costs(mode, device, ceilings);
  std::vector<IsolatedCost> alone;
  std::vector<double> starts_us;
  std::map<std::string, double> by_resource;
  for (const Phase& phase : phases) {
    const IsolatedCost& a = alone.emplace_back(costs.alone(phase));
    starts_us.push_back(costs.start_us(phase, phase.after.empty() && alone.size() == 1));
    by_resource["launch"] += starts_us.back();
    by_resource["latency"] += a.waits_us;
    by_resource["links"] += a.busy_us[kLinks];
    by_resource["dram"] += a.busy_us[kMemory];
    for (const auto& [pipe, us] : a.pipes_us)
      by_resource[pipe == "fp32" ? "fma" : pipe.substr(0, pipe.find('_'))] += us;
  }
  PhaseTime time;
  time.refusal = costs.refusal();
  if (!time.refusal.empty() || phases.empty()) return time;
  std::erase_if(by_resource, [](const auto& term) { return term.second == 0; });
  time.terms = longest_first(by_resource);
  time.timeline = PhaseSchedule(phases, std::move(alone), std::move(starts_us)).run();
  // Work after the launch waits for all streams of the launch.
  for (const StepTime& phase : time.timeline)
    time.total_us =
        std::max(time.total_us, phase.end_us + (phase.stream == 0 ? 0 : costs.change_us()));
  if (is_back_to_back(mode)) add_host_time(time, mode, static_cast<double>(phases.size()), ceilings);
  return time;
}

}  // namespace gpuexp
