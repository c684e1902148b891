#include "core/time_model.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/l2_cache.hpp"
#include "core/queueing.hpp"

namespace gpuexp {

namespace {

constexpr double kSectorBytes = 32;
constexpr double kWavefrontBytes = 128;
constexpr double kWarp = 32;
constexpr double kMicro = 1e6;
constexpr double kNano = 1e-9;

/// A station of an SM, or its share of one that all SMs have in common.
struct Station {
  const char* name;
  double seconds;  ///< of the whole grid, were one SM to serve it alone
  bool is_shared;  ///< among SMs: those that are idle leave their share to the others
};

/// What one kernel asks of a device whose figures are all known.
class KernelTime {
 public:
  KernelTime(const KernelOnDevice& kernel, const DeviceSpec& device, const Ceilings& ceilings,
             double dram_share)
      : traffic_(kernel.traffic),
        device_(device),
        ceilings_(ceilings),
        blocks_(static_cast<double>(kernel.shape.grid.count())),
        resident_(kernel.blocks_per_sm),
        warps_(std::ceil(static_cast<double>(kernel.shape.block.count()) / kWarp)) {
    add("blocks", device.sm_count * blocks_ / *ceilings.blocks_per_s, true);
    add_memory(dram_share);
    add_instructions();
    set_delay(dram_share);
  }

  /// Seconds, in waves.
  double total() const {
    const double sms = device_.sm_count;
    const double wave = sms * resident_;
    const double whole = std::floor(blocks_ / wave);
    double seconds = whole > 0 ? whole * wave_time(wave) : 0;
    const double rest = blocks_ - whole * wave;
    if (rest > 0) seconds += wave_time(rest);
    // The first block's start is part of what an empty kernel takes.
    return seconds - *ceilings_.block_latency_ns * kNano;
  }

  /// Seconds that each resource is busy, were it the only one.
  std::map<std::string, double> busy() const {
    std::map<std::string, double> busy;
    const double sms = device_.sm_count;
    const double imbalance = std::ceil(blocks_ / sms) * sms / blocks_;
    for (const Station& s : stations_)
      busy[s.name] += s.seconds / sms * (s.is_shared ? 1 : imbalance);
    const double rounds = std::ceil(blocks_ / (sms * resident_));
    busy["latency"] = rounds * delay_ - *ceilings_.block_latency_ns * kNano;
    return busy;
  }

 private:
  void add(const char* name, double seconds, bool is_shared = false) {
    if (seconds > 0) stations_.push_back({name, seconds, is_shared});
  }

  void add_memory(double dram_share) {
    const double sms = device_.sm_count;
    const double random = traffic_.dram_random_bytes * dram_share;
    const double read = traffic_.dram_read_bytes * dram_share - random;
    const double written = traffic_.dram_write_bytes * dram_share;
    double dram = random / *ceilings_.dram_random_bytes_per_s;
    if (read + written > 0) {
      // The bus turns between reading and writing: how often, a copy shows.
      const double mixed = 4 * read * written / ((read + written) * (read + written));
      const double pure =
          read / *ceilings_.dram_read_bytes_per_s + written / *ceilings_.dram_write_bytes_per_s;
      const double copied = (read + written) / *ceilings_.dram_copy_bytes_per_s;
      dram += std::lerp(pure, std::max(pure, copied), mixed);
    }
    add("dram", sms * dram, true);
    add("l2",
        sms * kSectorBytes *
            (traffic_.l2_read_sectors / *ceilings_.l2_read_bytes_per_s +
             traffic_.l2_write_sectors / *ceilings_.l2_write_bytes_per_s),
        true);
    // L1 and shared memory are one memory with one data stage; it has the name of who asks for
    // more.
    const double global = traffic_.global_load.wavefronts + traffic_.global_store.wavefronts;
    const double shared = traffic_.shared_load.wavefronts + traffic_.shared_store.wavefronts;
    const double per_wavefront = sms * kWavefrontBytes / *ceilings_.shared_bytes_per_s;
    add(global > shared ? "l1" : "shared", (global + shared) * per_wavefront);
  }

  void add_instructions() {
    const double clock = *ceilings_.sm_clock_hz;
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

  // What a warp waits for, from its first instruction to its last, while others are served.
  void set_delay(double dram_share) {
    const Chain& chain = traffic_.chain;
    const double dram = std::lerp(*ceilings_.l2_latency_ns, *ceilings_.dram_latency_ns, dram_share);
    const double memory_ns = chain.dram * dram + chain.l2 * *ceilings_.l2_latency_ns +
                             chain.l1 * *ceilings_.l1_latency_ns +
                             chain.shared * *ceilings_.shared_latency_ns +
                             chain.barriers * *ceilings_.barrier_latency_ns;
    const double issued = traffic_.instructions / (blocks_ * warps_);
    const double cycles = std::max(chain.cycles, issued);
    delay_ = (memory_ns + *ceilings_.block_latency_ns) * kNano + cycles / *ceilings_.sm_clock_hz;
  }

  // Of so many blocks that start together.
  double wave_time(double blocks) const {
    const double per_sm = std::ceil(blocks / device_.sm_count);
    const double customers_per_block = traffic_.in_step ? 1 : warps_;
    const double customers = per_sm * customers_per_block;
    std::vector<double> demands;
    for (const Station& s : stations_) {
      const double of_one = s.seconds / (blocks_ * customers_per_block);
      // SMs without a block leave their share to the others.
      const double idle = blocks / per_sm / device_.sm_count;
      demands.push_back(s.is_shared ? of_one * idle : of_one);
    }
    return customers * time_per_customer(customers, demands, delay_);
  }

  const Traffic& traffic_;
  const DeviceSpec& device_;
  const Ceilings& ceilings_;
  double blocks_;
  double resident_;
  double warps_;
  std::vector<Station> stations_;
  double delay_ = 0;
};

bool is_complete(const Ceilings& c) {
  const std::optional<double> needed[] = {
      c.sm_clock_hz,           c.dram_read_bytes_per_s, c.dram_write_bytes_per_s,
      c.dram_copy_bytes_per_s, c.l2_read_bytes_per_s,   c.l2_write_bytes_per_s,
      c.shared_bytes_per_s,    c.dram_latency_ns,       c.l2_latency_ns,
      c.l1_latency_ns,         c.shared_latency_ns,     c.barrier_latency_ns,
      c.floor_cold_us,         c.floor_warm_us,         c.floor_graph_us};
  return std::all_of(std::begin(needed), std::end(needed),
                     [](const std::optional<double>& figure) { return figure.has_value(); });
}

}  // namespace

const std::vector<std::string>& resource_names() {
  static const std::vector<std::string> kNames{"dram", "l2",   "l1", "shared", "issue",   "fma",
                                               "alu",  "fp64", "xu", "tensor", "latency", "launch"};
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
  std::map<std::string, double> busy;
  double seconds = 0;
  double launches = 0;
  for (const KernelOnDevice& kernel : kernels) {
    const KernelTime time(kernel, device_, ceilings_, dram_share);
    seconds += kernel.traffic.launches * time.total();
    launches += kernel.traffic.launches;
    for (const auto& [name, value] : time.busy())
      busy[name] += kernel.traffic.launches * value;
  }
  LaunchTime result;
  const double launch_us = *floor_us + (launches - 1) * *ceilings_.floor_graph_us;
  result.total_us = launch_us + seconds * kMicro;
  busy["launch"] = launch_us / kMicro;
  for (const auto& [name, value] : busy)
    result.terms.push_back({name, value * kMicro});
  std::stable_sort(result.terms.begin(), result.terms.end(),
                   [](const Term& a, const Term& b) { return a.time_us > b.time_us; });
  return result;
}

}  // namespace gpuexp
