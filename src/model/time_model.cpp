#include "model/time_model.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "device/hardware_sizes.hpp"
#include "model/l2_cache.hpp"
#include "model/queueing.hpp"

namespace gpuexp {

namespace {

constexpr double kMicro = 1e6;
constexpr double kNano = 1e-9;

/// A resource that serves one at a time.
struct Station {
  const char* name;
  double seconds;  ///< of the whole grid, were one SM to serve it alone
  bool is_common;  ///< to all SMs: those that are idle leave their share to the others
};

/// One kernel on a device whose figures are all known.
class KernelTime {
 public:
  /// `dram_share` of what the kernel reads and writes comes from DRAM and goes there; the rest
  /// stays in L2.
  KernelTime(const KernelOnDevice& kernel, const DeviceSpec& device, const Ceilings& ceilings,
             double dram_share)
      : traffic_(kernel.traffic),
        device_(device),
        ceilings_(ceilings),
        dram_share_(dram_share),
        slowdown_(slowdown_of(kernel.traffic, device)),
        blocks_(static_cast<double>(kernel.shape.grid.count())),
        wave_(static_cast<double>(device.sm_count) * kernel.blocks_per_sm),
        warps_(std::ceil(static_cast<double>(kernel.shape.block.count()) / kWarpThreads)) {
    // Warps stay with the scheduler that they start on, and so with a quarter of the SM's pipes.
    units_ = traffic_.in_step || traffic_.works_ahead ? 1 : kSchedulersPerSm;
    customers_per_block_ = traffic_.in_step ? 1 : warps_;
    add_memory();
    add_instructions();
    delay_ = delay();
  }

  /// Seconds beyond those of an empty kernel.
  double total() const {
    const double whole = std::floor(blocks_ / wave_);
    double seconds = whole > 0 ? whole * wave_time(wave_) : 0;
    const double rest = blocks_ - whole * wave_;
    if (rest > 0) seconds += wave_time(rest);
    // An empty kernel has the start of a first block, too.
    seconds -= *ceilings_.block_latency_ns * kNano;
    return std::max(seconds + fill_time(), blocks_ / *ceilings_.blocks_per_s);
  }

  /// Seconds that each resource takes by itself.
  std::map<std::string, double> seconds_alone() const {
    std::map<std::string, double> alone;
    const double sms = device_.sm_count;
    const double imbalance = std::ceil(blocks_ / sms) * sms / blocks_;
    for (const Station& s : stations_)
      alone[s.name] += s.seconds / sms * (s.is_common ? 1 : imbalance);
    alone["blocks"] = blocks_ / *ceilings_.blocks_per_s;
    alone["latency"] = std::ceil(blocks_ / wave_) * delay_ - *ceilings_.block_latency_ns * kNano;
    return alone;
  }

 private:
  // Tensor cores that multiply anything but fp64 hold the whole SM to a clock of their own.
  static double slowdown_of(const Traffic& traffic, const DeviceSpec& device) {
    if (traffic.tensor_operations <= 0 || traffic.tensor_pipe == Pipe::tensor_fp64) return 1;
    if (device.sm_clock_tensor_mhz <= 0) return 1;
    return std::max(1.0, device.sm_clock_max_mhz / device.sm_clock_tensor_mhz);
  }
  double sm_clock() const { return *ceilings_.sm_clock_hz / slowdown_; }

  void add(const char* name, double seconds, bool is_common = false) {
    if (seconds > 0) stations_.push_back({name, seconds, is_common});
  }

  void add_memory() {
    const double sms = device_.sm_count;
    const double random = traffic_.dram_random_bytes * dram_share_;
    const double read = traffic_.dram_read_bytes * dram_share_ - random;
    const double written = traffic_.dram_write_bytes * dram_share_;
    const double dram = random / *ceilings_.dram_random_bytes_per_s +
                        dram_seconds(ceilings_, read, written).value();
    add("dram", sms * dram, true);
    add("l2",
        sms * kSectorBytes *
            (traffic_.l2_read_sectors / *ceilings_.l2_read_bytes_per_s +
             traffic_.l2_write_sectors / *ceilings_.l2_write_bytes_per_s),
        true);
    // L1 and shared memory are one memory with one data stage; it has the name of who asks for
    // more. Tags are looked up ahead of it, a turn per clock: whoever is slower holds up the other.
    const double global = traffic_.global_load.wavefronts + traffic_.global_store.wavefronts;
    const double shared = traffic_.shared_load.wavefronts + traffic_.shared_store.wavefronts;
    const double per_wavefront = slowdown_ * sms * kWavefrontBytes / *ceilings_.shared_bytes_per_s;
    const double data = (global + shared) * per_wavefront;
    const double tags =
        (traffic_.global_load.tag_wavefronts + traffic_.global_store.tag_wavefronts) / sm_clock();
    add(global > shared || tags > data ? "l1" : "shared", std::max(data, tags));
  }

  void add_instructions() {
    const double clock = sm_clock();
    const SmRates rates = sm_rates(device_.cc_major, device_.cc_minor);
    add("issue", traffic_.instructions / (rates.issue * clock));
    add("fma", traffic_.fma / (rates.fma * clock));
    add("alu", traffic_.alu / (rates.alu * clock));
    add("fp64", traffic_.fp64 / (rates.fp64 * clock));
    add("xu", traffic_.xu / (rates.xu * clock));
    if (traffic_.tensor_operations > 0) {
      const auto rate = ceilings_.ops(traffic_.tensor_pipe, traffic_.tensor_path);
      if (rate) add("tensor", traffic_.tensor_operations / *rate * device_.sm_count);
    }
  }

  // Of one customer, at the unit that serves it alone.
  double demand(double seconds) const {
    return seconds * units_ / (blocks_ * customers_per_block_);
  }

  // A load that misses L1.
  double trip() const {
    return kNano * std::lerp(*ceilings_.l2_latency_ns, *ceilings_.dram_latency_ns, dram_share_);
  }

  // What a warp waits for from its first instruction to its last, while others are served.
  double delay() const {
    const Chain& chain = traffic_.chain;
    const double memory_ns = chain.l2 * *ceilings_.l2_latency_ns + *ceilings_.block_latency_ns +
                             slowdown_ * (chain.l1 * *ceilings_.l1_latency_ns +
                                          chain.shared * *ceilings_.shared_latency_ns +
                                          chain.barriers * *ceilings_.barrier_latency_ns);
    const double clock = sm_clock();
    const double issued = demand(traffic_.instructions / (kSchedulersPerSm * clock));
    const double waited = std::max(0.0, chain.cycles / clock - issued);
    return memory_ns * kNano + chain.dram * trip() + waited;
  }

  // Of so many blocks that start together, at the unit that has most.
  double customers_of(double blocks) const {
    return std::max(1.0, std::ceil(blocks / device_.sm_count) * customers_per_block_ / units_);
  }

  // Of so many blocks that start together.
  double wave_time(double blocks) const {
    const double customers = customers_of(blocks);
    return customers * time_per_customer(customers, demands(blocks), delay_);
  }

  // SMs without a block leave their share of what is common to the others.
  std::vector<double> demands(double blocks) const {
    const double per_sm = std::ceil(blocks / device_.sm_count);
    const double share = blocks / per_sm / device_.sm_count;
    std::vector<double> demands;
    for (const Station& s : stations_)
      demands.push_back(demand(s.seconds) * (s.is_common ? share : 1));
    // Between two barriers the warps of a block use all stations together.
    if (traffic_.in_step && !demands.empty())
      demands = {*std::max_element(demands.begin(), demands.end())};
    return demands;
  }

  // Until the slowest station has its first customers, it idles: all places have to be filled, and
  // the first loads to come back.
  double fill_time() const {
    const double first = std::min(blocks_, wave_);
    const std::vector<double> seconds = demands(first);
    const double slowest = seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end());
    const double customers = customers_of(first);
    const double utilization = slowest * customers / wave_time(first);
    const bool loads = traffic_.l2_read_sectors > 0;
    return first / *ceilings_.blocks_per_s + (loads ? utilization * trip() : 0);
  }

  const Traffic& traffic_;
  const DeviceSpec& device_;
  const Ceilings& ceilings_;
  double dram_share_;
  double slowdown_;  // of what takes clocks on an SM
  double blocks_;
  double wave_;   // blocks that are resident at a time
  double warps_;  // of a block
  double units_;  // that an SM is divided into, with customers of their own
  double customers_per_block_;
  std::vector<Station> stations_;
  double delay_ = 0;
};

}  // namespace

bool is_complete(const Ceilings& c) {
  const std::optional<double> needed[] = {c.sm_clock_hz,
                                          c.dram_read_bytes_per_s,
                                          c.dram_write_bytes_per_s,
                                          c.dram_copy_bytes_per_s,
                                          c.l2_read_bytes_per_s,
                                          c.l2_write_bytes_per_s,
                                          c.shared_bytes_per_s,
                                          c.dram_latency_ns,
                                          c.l2_latency_ns,
                                          c.l1_latency_ns,
                                          c.shared_latency_ns,
                                          c.barrier_latency_ns,
                                          c.floor_cold_us,
                                          c.floor_warm_us,
                                          c.floor_graph_us,
                                          c.dram_random_bytes_per_s,
                                          c.block_latency_ns,
                                          c.blocks_per_s};
  return std::all_of(std::begin(needed), std::end(needed),
                     [](const std::optional<double>& figure) { return figure.has_value(); });
}

const std::vector<std::string>& resource_names() {
  static const std::vector<std::string> kNames{"dram",   "l2",      "l1",    "shared", "blocks",
                                               "issue",  "fma",     "alu",   "fp64",   "xu",
                                               "tensor", "latency", "launch"};
  return kNames;
}

TimeModel::TimeModel(const DeviceSpec& device, const Ceilings& ceilings, Mode mode)
    : device_(device), ceilings_(ceilings), mode_(mode) {}

std::optional<LaunchTime> TimeModel::launch_time(const std::vector<KernelOnDevice>& kernels,
                                                 const Work& work) const {
  const auto floor_us = ceilings_.floor_us(mode_);
  if (!floor_us || !is_complete(ceilings_)) return std::nullopt;
  const double footprint = work.moved_read + work.moved_written;
  const double dram_share = mode_ == Mode::warm ? 1 - kept_share(footprint, device_) : 1;
  std::map<std::string, double> alone;
  double seconds = 0;
  double launches = 0;
  for (const KernelOnDevice& kernel : kernels) {
    const KernelTime time(kernel, device_, ceilings_, dram_share);
    seconds += kernel.traffic.launches * time.total();
    launches += kernel.traffic.launches;
    for (const auto& [name, value] : time.seconds_alone())
      alone[name] += kernel.traffic.launches * value;
  }
  LaunchTime result;
  const double launch_us = *floor_us + (launches - 1) * *ceilings_.floor_graph_us;
  result.total_us = launch_us + seconds * kMicro;
  for (auto& [name, value] : alone)
    value *= kMicro;
  alone["launch"] = launch_us;
  result.terms = longest_first(alone);
  return result;
}

std::vector<Term> longest_first(const std::map<std::string, double>& times_us) {
  std::vector<Term> terms;
  for (const auto& [name, time_us] : times_us)
    terms.push_back({name, time_us});
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return a.time_us > b.time_us; });
  return terms;
}

}  // namespace gpuexp
