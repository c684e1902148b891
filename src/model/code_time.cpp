#include "model/code_time.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random_bits.hpp"
#include "device/hardware_sizes.hpp"
#include "model/back_to_back.hpp"
#include "model/kernel_parameters.hpp"
#include "sass/tensor_shape.hpp"
#include "timing/schedule.hpp"
#include "timing/sm_time.hpp"

namespace gpuexp {

namespace {

constexpr const char* kLaunch = "launch";
constexpr double kNsPerUs = 1e3;

/// Instruction limit of a warp whose loops depend on data. It exceeds kMaxInstructionsPerWarp,
/// because the timed blocks of the kernel have ended, so its blocks do not wait for other blocks.
constexpr std::uint64_t kMaxInstructionsOfLongest = 1 << 26;

// Tensor instructions other than fp64 lower the clock of the whole SM.
double clock_of(const sim::Program& program, const DeviceSpec& device, const Ceilings& ceilings) {
  const bool slows = device.sm_clock_tensor_mhz > 0 &&
                     std::any_of(program.listed.begin(), program.listed.end(), [](const auto& i) {
                       const auto pipe = tensor_pipe(i.opcode);
                       return pipe && *pipe != Pipe::tensor_fp64;
                     });
  return *ceilings.sm_clock_hz *
         (slows ? std::min(1.0, device.sm_clock_tensor_mhz / device.sm_clock_max_mhz) : 1);
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Expected maximum of `of` normally distributed values, from the mean and standard deviation of
// `some` of them (extreme value theory).
double expected_largest(const std::vector<double>& some, std::int64_t of) {
  if (static_cast<std::int64_t>(some.size()) >= of)
    return *std::max_element(some.begin(), some.end());
  constexpr double kEuler = 0.5772156649;
  constexpr double kFourPi = 12.566370614;
  const double mean = mean_of(some);
  double squares = 0;
  for (const double value : some)
    squares += (value - mean) * (value - mean);
  const double deviation = std::sqrt(squares / static_cast<double>(some.size() - 1));
  const double log_of = std::log(static_cast<double>(of));
  const double root = std::sqrt(2 * log_of);
  return mean + deviation * (root + (kEuler - std::log(kFourPi * log_of) / 2) / root);
}

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
                     [](const std::optional<double>& ceiling) { return ceiling.has_value(); });
}

// Number of clusters that the GPU holds at once, with one block per SM. The SMs of a cluster are in
// one GPC, and GPCs differ in size: 132 SMs hold 30 clusters of four, 15 of eight, or 7 of sixteen
// (cudaOccupancyMaxActiveClusters on an H200 and an H100).
std::int64_t places_at_once(const DeviceSpec& device, std::int64_t cluster) {
  constexpr std::int64_t kSms = 132;
  constexpr std::int64_t kUsableSms[] = {132, 132, 120, 120, 112};
  std::size_t size = 0;
  while ((std::int64_t{1} << size) < cluster && size + 1 < std::size(kUsableSms))
    ++size;
  return std::max<std::int64_t>(1, device.sm_count * kUsableSms[size] / kSms / cluster);
}

class KernelRun {
 public:
  KernelRun(sim::Simulator& simulator, const ResidentKernel& kernel, const KernelTraffic& traffic,
            const DeviceSpec& device, const Ceilings& ceilings)
      : launch_(simulator.approximate_launch_of(*kernel.step, kernel.keeps_global)),
        stop_(simulator.stop),
        kernel_(kernel),
        device_(device),
        ceilings_(ceilings),
        clock_hz_(clock_of(*launch_.program, device, ceilings)),
        reads_by_sms_(traffic.reads_by_sms),
        blocks_(kernel.step->shape.grid.count()),
        cluster_(launch_.cluster.count()),
        places_(places_at_once(device, cluster_)),
        active_sms_(static_cast<double>(std::min(blocks_, places_ * cluster_))),
        loops_over_data_(cluster_ == 1 &&
                         simulator.has_loops_decided_by_global(*kernel.step)) {
    launch_.checks.max_instructions = kMaxInstructionsPerWarp;
    const bool uses_shared =
        static_cast<std::int64_t>(launch_.shared_bytes) > device.sm.reserved_shared_bytes;
    parameters_ = kernel_parameters({device, ceilings, clock_hz_, active_sms_}, kernel.memory,
                                    uses_shared, traffic);
    schedule_ = schedule_of(*launch_.program, parameters_);
  }

  std::string refusal() const {
    if (kernel_.step->cooperative) return "waits between blocks are not modelled";
    return schedule_.refusal;
  }

  KernelCodeTime time() {
    BlocksOfSm blocks;
    blocks.count = (clusters() + places_ - 1) / places_;
    blocks.step = places_;
    blocks.resident = kernel_.blocks_per_sm;
    if (cluster_ == 1) blocks.columns = kernel_.step->shape.grid.x;
    blocks.stops_if_uneven = cluster_ == 1;
    SmTime sm = time_on_sm(launch_, schedule_, parameters_, blocks, stop_);
    blocks.stops_if_uneven = false;
    const bool is_even =
        cluster_ > 1 || sm.is_even() || static_cast<std::int64_t>(sm.starts.size()) == blocks.count;
    if (!is_even) {
      blocks.order = spread_order(blocks.count);
      sm = time_on_sm(launch_, schedule_, parameters_, blocks, stop_);
    }
    // Waves that were not executed take as long as the last whole wave that was executed.
    const std::size_t wave = static_cast<std::size_t>(blocks.resident);
    const std::size_t executed = sm.starts.size();
    const double left = static_cast<double>(blocks.count) - static_cast<double>(executed);
    double skipped = 0;
    for (std::size_t i = executed - wave; left > 0 && i < executed; ++i)
      skipped += (sm.starts[i] - sm.starts[i - wave]) * left / static_cast<double>(wave * wave);
    double clocks =
        is_even ? skipped + std::max(sm.clocks + clocks_of_slowest(blocks, sm),
                                     sm.starts.back() + clocks_of_last_block(blocks, sm))
                : clocks_of_uneven(blocks, sm);
    if (loops_over_data_) clocks = with_longest_block(clocks, sm);
    constexpr double kMicro = 1e6;
    KernelCodeTime time{launch_.program, (clocks + clocks_to_last_sm()) / clock_hz_ * kMicro,
                        sm.places,       sm.lookups,
                        l1_counts(sm),   {}};
    const double repeats = static_cast<double>(blocks.count) / static_cast<double>(executed);
    for (std::size_t i = 0; i < kSmParts; ++i) {
      const auto part = static_cast<SmPart>(i);
      if (sm.busy[part] > 0)
        time.isolated_us[std::string(name_of(part))] = sm.busy[part] * repeats / clock_hz_ * kMicro;
    }
    time.isolated_us["blocks"] = static_cast<double>(blocks_) / *ceilings_.blocks_per_s * kMicro;
    double warp_clocks = 0;
    for (const WarpClocks& place : time.places_us)
      warp_clocks += place.sum();
    for (WarpClocks& place : time.places_us)
      place *= time.time_us / warp_clocks;
    return time;
  }

 private:
  std::int64_t clusters() const { return blocks_ / cluster_; }

  // The distributor starts one block after another, so the last SM starts later than the first one.
  double clocks_to_last_sm() const {
    return parameters_.block_interval * (active_sms_ - 1) / active_sms_;
  }

  // If blocks differ in work, as rows of a triangle do, the first blocks may not have the mean
  // work. Takes blocks from all parts of the grid, each followed by the block at the same distance
  // from the other end.
  static std::vector<std::int64_t> spread_order(std::int64_t count) {
    constexpr double kGolden = 0.618;
    const std::int64_t half = count / 2;
    std::int64_t stride =
        std::max<std::int64_t>(1, std::llround(kGolden * static_cast<double>(half)));
    while (std::gcd(stride, half) > 1)
      ++stride;
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < half; ++i) {
      const std::int64_t at = (half / 2 + i * stride) % half;
      order.push_back(at);
      order.push_back(count - 1 - at);
    }
    if (count % 2 != 0) order.push_back(half);
    return order;
  }

  // A free slot gets the next block, so slots are busy with blocks of the mean time until the end.
  // Blocks that end at the same time wait for the distributor.
  double clocks_of_uneven(const BlocksOfSm& blocks, const SmTime& sm) const {
    const auto count = static_cast<double>(blocks.count);
    const double waves = std::max(1.0, count / blocks.resident);
    return std::max(waves * sm.block_clocks / static_cast<double>(sm.starts.size()),
                    count * parameters_.block_interval);
  }

  // If loops depend on data, some blocks may have far more instructions than the executed ones: the
  // block with the longest row of a sparse matrix. `clocks` is the launch's time if all blocks are
  // like the executed ones. Returns it, increased by the ratio of the mean numbers of instructions,
  // or the cycle in which the longest block ends, whichever is later.
  double with_longest_block(double clocks, const SmTime& sm) {
    const double executed_mean =
        static_cast<double>(sm.instructions) / static_cast<double>(sm.starts.size());
    const std::vector<std::uint64_t> all = instructions_of_all(executed_mean);
    const auto longest = std::max_element(all.begin(), all.end());
    constexpr std::uint64_t kFarLonger = 4;
    if (longest == all.end() || *longest <= kFarLonger * sm.max_instructions) return clocks;
    const auto blocks = static_cast<double>(blocks_);
    const double mean = (std::accumulate(all.begin(), all.end(), 0.0) -
                         static_cast<double>(*longest)) /
                        (blocks - 1);
    clocks *= std::max(1.0, mean / executed_mean);
    const std::int64_t number = longest - all.begin();
    // The block starts when enough earlier blocks have ended.
    const auto ended =
        static_cast<double>(std::max<std::int64_t>(0, number - places_ * kernel_.blocks_per_sm));
    return std::max(clocks, clocks * ended / blocks + clocks_alone(number));
  }

  // Warp instructions of each of the blocks. Empty if they have more than `most` together.
  std::vector<std::uint64_t> instructions_of(const std::vector<std::int64_t>& numbers,
                                             double most) const {
    std::vector<std::uint64_t> each;
    for (const std::int64_t number : numbers) {
      if (stop_()) throw sim::Stopped("the run was ended");
      each.push_back(instructions_of(number));
      most -= static_cast<double>(each.back());
      if (most < 0) return {};
    }
    return each;
  }

  // Warp instructions of each block. Empty if no block of a sample has more than twice the mean of
  // the sample, or if all blocks together have more than 2^28. `mean` is that of the timed blocks.
  std::vector<std::uint64_t> instructions_of_all(double mean) {
    constexpr double kMostOfSample = 1 << 23;
    constexpr double kMost = 1 << 28;
    constexpr std::int64_t kSampled = 1024;
    constexpr std::uint64_t kSeed = 59;
    if (mean * static_cast<double>(blocks_) > kMost) return {};
    launch_.checks.max_instructions = kMaxInstructionsOfLongest;
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(
        std::min(kSampled, static_cast<std::int64_t>(kMostOfSample / std::max(mean, 1.0)))));
    if (std::ssize(numbers) < blocks_) {
      for (std::size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = static_cast<std::int64_t>(random_bits(kSeed, i) %
                                               static_cast<std::uint64_t>(blocks_));
      const std::vector<std::uint64_t> sample = instructions_of(numbers, kMost);
      if (sample.empty()) return {};
      const double sum = std::accumulate(sample.begin(), sample.end(), 0.0);
      const auto most = static_cast<double>(*std::max_element(sample.begin(), sample.end()));
      if (most * static_cast<double>(sample.size()) <= 2 * sum) return {};
    }
    numbers.resize(static_cast<std::size_t>(blocks_));
    std::iota(numbers.begin(), numbers.end(), 0);
    return instructions_of(numbers, kMost);
  }

  double clocks_alone(std::int64_t block) const {
    return time_on_sm(launch_, schedule_, parameters_, {1, 1, 1, block}, stop_).clocks;
  }

  // Cycles of the grid's last block, which may execute other code, such as a loop over elements
  // outside full tiles. It starts among the last blocks and then has its SM to itself. Returns 0 if
  // this SM executes the block, or if it has no more instructions than the executed blocks.
  double clocks_of_last_block(const BlocksOfSm& executed, const SmTime& sm) const {
    const std::int64_t last = clusters() - 1;
    if (executed.number(executed.count - 1) >= last) return 0;
    if (instructions_of(last) <= sm.max_instructions) return 0;
    return clocks_alone(last);
  }

  std::uint64_t instructions_of(std::int64_t number) const {
    const Extent grid{launch_.grid.x / launch_.cluster.x, launch_.grid.y / launch_.cluster.y,
                      launch_.grid.z / launch_.cluster.z};
    sim::Cluster cluster(launch_,
                         {number % grid.x, number / grid.x % grid.y, number / (grid.x * grid.y)});
    cluster.run();
    std::uint64_t instructions = 0;
    for (const auto& block : cluster.blocks()) {
      for (const sim::OpCount& count : block->counts)
        instructions += count.warps;
    }
    return instructions;
  }

  // Additional cycles of the slowest SM, with which the launch ends. If there are several waves, a
  // free SM gets the next block, so the ends of SMs differ by at most one wave. Returns 0 if a wave
  // has too many instructions to time it on several SMs.
  double clocks_of_slowest(const BlocksOfSm& first, const SmTime& executed) const {
    constexpr double kMaxInstructions = 100'000;
    constexpr double kEnoughInstructions = 40'000;
    constexpr std::int64_t kMinSms = 8;
    BlocksOfSm wave = first;
    wave.count = std::min<std::int64_t>(first.count, first.resident);
    const double instructions = static_cast<double>(executed.instructions) *
                                static_cast<double>(wave.count) /
                                static_cast<double>(executed.starts.size());
    // Number of SMs with wave.count blocks.
    const auto full = std::min<std::int64_t>(places_, clusters() - (wave.count - 1) * places_);
    const auto within = [&](double most) {
      return std::min(full, static_cast<std::int64_t>(most / std::max(1.0, instructions)));
    };
    const std::int64_t least = std::min(full, kMinSms);
    if (within(kMaxInstructions) < least) return 0;
    const std::int64_t sms = std::max(least, within(kEnoughInstructions));
    std::vector<double> clocks;
    for (std::int64_t i = 0; i < sms; ++i) {
      wave.first = i * full / sms;
      wave.draws = static_cast<std::uint64_t>(i + 2);
      clocks.push_back(time_on_sm(launch_, schedule_, parameters_, wave, stop_).clocks);
    }
    return expected_largest(clocks, full) -
           (first.count == wave.count ? executed.clocks : mean_of(clocks));
  }

  CacheCounts l1_counts(const SmTime& sm) const {
    SectorLookups sum;
    for (const SectorLookups& place : sm.lookups)
      sum += place;
    const double times = static_cast<double>(clusters()) / static_cast<double>(sm.starts.size());
    CacheCounts counts;
    counts.l1_sectors = sum.all * times;
    counts.l1_hits = sum.hits * times;
    counts.extra_wavefronts = sum.extra_wavefronts * times;
    counts.shared_load_repeats = sm.repeats.loads * times;
    counts.shared_store_repeats = sm.repeats.stores * times;
    counts.l2_sectors = (sm.l2_reads * share_that_reaches_l2(sm) + sm.l2_writes) * times;
    return counts;
  }

  // Reads of one sector by SMs of a GPC can reach L2 as one read if they are close in time. Blocks
  // that share an SM delay each other, so their reads are spread over a step, the time between two
  // barriers. Blocks with their own SM differ only in their first loads.
  double share_that_reaches_l2(const SmTime& sm) const {
    constexpr int kMeasuredComputeCapability = 9;
    if (device_.cc_major != kMeasuredComputeCapability) return 1;
    const double step = sm.block_clocks / std::max(sm.steps, static_cast<double>(sm.starts.size()));
    const bool has_own_sm = kernel_.blocks_per_sm == 1 || blocks_ <= device_.sm_count;
    const double spread = has_own_sm ? std::min(step, parameters_.dram_latency) : step;
    constexpr double kNano = 1e-9;
    return share_to_l2(reads_by_sms_, spread / clock_hz_ / kNano,
                       parameters_.behind.dram_read_share);
  }

  sim::LaunchState launch_;
  const std::function<bool()>& stop_;
  const ResidentKernel& kernel_;
  const DeviceSpec& device_;
  const Ceilings& ceilings_;
  double clock_hz_;
  ReadsBySms reads_by_sms_;
  std::int64_t blocks_;
  std::int64_t cluster_;
  std::int64_t places_;
  double active_sms_;
  bool loops_over_data_;
  SmParameters parameters_;
  Schedule schedule_;
};

/// Kernels of a launch with the same code, shape and number of buffers.
struct SameKernels {
  const ResidentKernel* first = nullptr;
  double count = 0;
  std::vector<std::size_t> places;  ///< indices of the kernels in the launch
  KernelTraffic traffic;
};

std::vector<SameKernels> same_kernels(const std::vector<ResidentKernel>& kernels,
                                      const std::vector<KernelTraffic>& traffic) {
  std::vector<SameKernels> found;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const Shape& shape = kernels[i].step->shape;
    const auto same = std::find_if(found.begin(), found.end(), [&](const SameKernels& s) {
      const Shape& other = s.first->step->shape;
      return s.traffic.buffers == traffic[i].buffers && other.kernel == shape.kernel &&
             other.grid == shape.grid && other.block == shape.block &&
             other.cluster == shape.cluster &&
             other.dynamic_shared_bytes == shape.dynamic_shared_bytes;
    });
    SameKernels& of =
        same == found.end() ? found.emplace_back(SameKernels{&kernels[i], 0, {}, {}}) : *same;
    of.traffic.buffers = traffic[i].buffers;
    of.count += 1;
    of.places.push_back(i);
    of.traffic += traffic[i];
  }
  for (SameKernels& same : found)
    same.traffic *= 1 / same.count;
  return found;
}

// DRAM traffic differs between modes and between kernels with equal code. L2 misses read from DRAM.
void set_dram(std::vector<CacheCounts>& caches, const std::vector<KernelTraffic>& traffic) {
  for (std::size_t i = 0; i < caches.size(); ++i) {
    const DramBytes& dram = traffic[i].dram;
    caches[i].l2_hits = caches[i].l2_sectors - std::min(dram.read_sectors, caches[i].l2_sectors);
    caches[i].dram_read_bytes = dram.read;
    caches[i].dram_written_bytes = dram.written;
  }
}

}  // namespace

CodeTimeModel::CodeTimeModel(const DeviceSpec& device, const Ceilings& ceilings, Mode mode)
    : device_(device), ceilings_(ceilings), mode_(mode) {}

double CodeTimeModel::kernel_latency_us() const {
  return ceilings_.kernel_latency_ns ? *ceilings_.kernel_latency_ns / kNsPerUs
                                     : *ceilings_.floor_graph_us;
}

double CodeTimeModel::further_us() const {
  return *next_kernel_us(mode_, ceilings_);
}

std::optional<double> CodeTimeModel::first_us() const {
  return is_back_to_back(mode_) ? next_kernel_us(mode_, ceilings_) : ceilings_.floor_us(mode_);
}

// A fill takes about as long as a kernel with a store in a stream. In an H200's graphs, a fill
// delays the next kernel by 1.8 µs (docs/studies/kernel_start/fills.csv).
double CodeTimeModel::launch_us(double launches, double fills) const {
  return *first_us() + (launches - 1) * further_us() + fills * kernel_latency_us();
}

CodeTime CodeTimeModel::launch_time(sim::Simulator& simulator,
                                    const std::vector<ResidentKernel>& kernels,
                                    const std::vector<KernelTraffic>& traffic, KernelTimes* known,
                                    double fills) const {
  CodeTime result;
  if (!first_us() || !is_complete(ceilings_)) {
    result.refusal = "ceilings that a time needs are not known for this device";
    return result;
  }
  result.launches = static_cast<double>(kernels.size());
  result.caches.resize(kernels.size());
  result.each_us.resize(kernels.size());
  std::map<std::string, double> isolated_us;
  for (const SameKernels& same : same_kernels(kernels, traffic)) {
    const KernelCodeTime* const timed = known ? known->find(*same.first, same.traffic) : nullptr;
    if (timed) {
      result.kernels.push_back(*timed);
    } else {
      KernelRun run(simulator, *same.first, same.traffic, device_, ceilings_);
      result.refusal = run.refusal();
      if (!result.refusal.empty()) return result;
      result.kernels.push_back(run.time());
      if (known) known->keep(*same.first, same.traffic, result.kernels.back());
    }
    result.total_us += same.count * result.kernels.back().time_us;
    for (const std::size_t place : same.places) {
      result.caches[place] = result.kernels.back().caches;
      result.each_us[place] = result.kernels.back().time_us;
    }
    for (const auto& [name, time_us] : result.kernels.back().isolated_us)
      isolated_us[name] += same.count * time_us;
  }
  set_dram(result.caches, traffic);
  result.launch_us = launch_us(result.launches, fills);
  result.further_us = further_us();
  result.total_us += result.launch_us;
  isolated_us[kLaunch] = result.launch_us;
  if (is_back_to_back(mode_)) {
    const auto total_us =
        back_to_back_us(mode_, result.total_us, result.launches + fills, ceilings_);
    if (!total_us) {
      result.refusal = "the host's time for a launch is not known for this device";
      return result;
    }
    if (*total_us > result.total_us) isolated_us["host"] = *total_us;
    result.total_us = *total_us;
  }
  result.terms = longest_first(isolated_us);
  return result;
}

}  // namespace gpuexp
