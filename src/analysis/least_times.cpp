#include "analysis/least_times.hpp"

#include <algorithm>
#include <cmath>

#include "family/counters.hpp"

namespace gpuexp {

namespace {

constexpr double kMicro = 1e6;
constexpr double kWavefrontBytes = 128;
constexpr double kSectorsPerWavefront = kWavefrontBytes / kSectorBytes;

// Time that each kernel after the first adds to a launch, as in predictions; less in a graph.
double further_kernel_us(const ResultRecord& row, const Ceilings& ceilings) {
  constexpr double kNanosPerMicro = 1e3;
  const bool is_graph = row.mode && is_captured(*row.mode);
  return is_graph || !ceilings.kernel_latency_ns ? ceilings.floor_graph_us.value_or(0)
                                                 : *ceilings.kernel_latency_ns / kNanosPerMicro;
}

// Wavefronts with which cp.async writes shared memory, one per four sectors. No counter contains
// them: they are assumed if a kernel reads from shared memory what it has loaded from global
// memory, but has stored less than half of it there. 0 otherwise.
double copied_wavefronts(const ResultRecord& row) {
  const double loaded = count_of(row, "global_load_sectors").value_or(0) / kSectorsPerWavefront;
  const double stored = count_of(row, "shared_store_wavefronts").value_or(0);
  const double read = count_of(row, "shared_load_wavefronts").value_or(0);
  const double copied = loaded - stored;
  constexpr double kMajority = 0.5;
  return copied > kMajority * loaded && read >= copied ? copied : 0;
}

// Counted wavefronts, or the wavefronts of shared memory and cp.async if their sum is larger.
std::optional<double> l1_data_wavefronts_of(const ResultRecord& row) {
  const auto counted = count_of(row, "l1_data_wavefronts");
  const double copied = copied_wavefronts(row);
  if (!counted || copied <= 0) return counted;
  const double least = count_of(row, "shared_load_wavefronts").value_or(0) +
                       count_of(row, "shared_store_wavefronts").value_or(0) + copied;
  return std::max(*counted, least);
}

// The pipe that limits the row by measured ceilings, else by the datasheet; empty if neither limit
// is a pipe.
std::optional<Pipe> pipe_of(const ResultRecord& row) {
  for (const std::string& limit : {row.measured_limit_by, row.limit_by}) {
    for (int i = 0; i < kPipeCount; ++i) {
      if (limit == name_of(static_cast<Pipe>(i))) return static_cast<Pipe>(i);
    }
  }
  return std::nullopt;
}

// The largest mma.sync is m16n8k32, so instructions with more operations are wgmma.
TensorPath path_of(double operations, double tensor_instructions) {
  constexpr double kMaxOfMmaSync = 2.0 * 16 * 8 * 32;
  return operations > kMaxOfMmaSync * tensor_instructions ? TensorPath::wgmma
                                                          : TensorPath::mma_sync;
}

std::optional<double> share_from_grid(const ResultRecord& row, const DeviceRates& rates) {
  if (!row.grid_blocks || *row.grid_blocks <= 0 || !rates.sm_count) return std::nullopt;
  const double per_sm = static_cast<double>(*row.grid_blocks) / *rates.sm_count;
  return per_sm / std::ceil(per_sm);
}

std::optional<double> share_from_cycles(const ResultRecord& row, const DeviceRates&) {
  constexpr double kWhole = 100;
  const auto balance = count_of(row, "sm_balance_pct");
  return balance ? std::optional(*balance / kWhole) : std::nullopt;
}

class LeastTimesOf {
 public:
  LeastTimesOf(const ResultRecord& row, const DeviceRates& rates, const LeastTimesOptions& options)
      : row_(row), rates_(rates), options_(options) {
    times_.sm_share = options.sm_share;
    times_.sm_share_from = options.sm_share_from;
    times_.sm_count = rates.sm_count;
  }

  LeastTimes all() {
    if (!options_.without_dram) add_dram();
    add_l2();
    add_l1();
    if (rates_.sm_rates) add_instructions(*rates_.sm_rates);
    add_operations();
    add(Resource::blocks, row_.grid_blocks, rates_.ceilings.blocks_per_s);
    return std::move(times_);
  }

 private:
  // `rate` is work per second of the whole device.
  void add(Resource resource, const std::optional<double>& amount,
           const std::optional<double>& rate) {
    if (amount && rate && *rate > 0) add_seconds(resource, *amount, *amount / *rate);
  }

  void add_seconds(Resource resource, double amount, double seconds) {
    const double share = is_of_sms(resource) ? times_.sm_share : 1;
    if (share > 0) times_.of_resources.push_back({resource, amount, kMicro * seconds / share});
  }

  void add_dram() {
    const auto read = count_of(row_, "dram_read_bytes");
    const auto written = count_of(row_, "dram_write_bytes");
    const auto seconds =
        read && written ? dram_seconds(rates_.ceilings, *read, *written) : std::optional<double>();
    if (seconds) add_seconds(Resource::dram, *read + *written, *seconds);
  }

  // Number of stored sectors that reach L2. It is at most L1's number of stored sectors, because L1
  // merges stores, and at most the number of L2's sectors without the sectors that DRAM reads for
  // loads. DRAM reads above the number of loaded sectors are for partial writes and are not
  // subtracted.
  double sectors_stored_in_l2(double sectors) const {
    const double loaded = std::min(count_of(row_, "dram_read_bytes").value_or(0) / kSectorBytes,
                                   count_of(row_, "global_load_sectors").value_or(0));
    return std::min(count_of(row_, "global_store_sectors").value_or(0),
                    std::max(0.0, sectors - loaded));
  }

  void add_l2() {
    const Ceilings& c = rates_.ceilings;
    const auto sectors = count_of(row_, "l2_sectors");
    if (!sectors || !c.l2_read_bytes_per_s || !c.l2_write_bytes_per_s) return;
    const double stored = sectors_stored_in_l2(*sectors);
    add_seconds(Resource::l2, *sectors,
                kSectorBytes * ((*sectors - stored) / *c.l2_read_bytes_per_s +
                                stored / *c.l2_write_bytes_per_s));
  }

  // The rate of all SMs per second, if each SM handles `per_clock` per cycle.
  std::optional<double> per_second(double per_clock) const {
    const auto clock_hz = clock_of(row_, rates_);
    if (!rates_.sm_count || !clock_hz) return std::nullopt;
    return per_clock * *rates_.sm_count * *clock_hz;
  }

  // The ceiling was measured at the ceilings' clock, so it is scaled to the row's clock.
  std::optional<double> shared_wavefronts_per_s() const {
    const auto& shared = rates_.ceilings.shared_bytes_per_s;
    const auto& full_hz = rates_.ceilings.sm_clock_hz;
    if (!shared) return per_second(1);
    const double share = full_hz ? *clock_of(row_, rates_) / *full_hz : 1;
    return share * *shared / kWavefrontBytes;
  }

  void add_l1() {
    add(Resource::l1_data, l1_data_wavefronts_of(row_), shared_wavefronts_per_s());
    add(Resource::l1_tags, count_of(row_, "l1_tag_wavefronts"), per_second(1));
  }

  void add_instructions(const SmRates& rates) {
    add(Resource::issue, count_of(row_, "warp_instructions"), per_second(rates.issue));
    add(Resource::fma, count_of(row_, "fma_instructions"), per_second(rates.fma));
    add(Resource::alu, count_of(row_, "alu_instructions"), per_second(rates.alu));
    add(Resource::fp64, count_of(row_, "fp64_instructions"), per_second(rates.fp64));
    add(Resource::xu, count_of(row_, "xu_instructions"), per_second(rates.xu));
  }

  void add_operations() {
    const auto operations = row_.operations;
    const auto pipe = pipe_of(row_);
    const auto instructions = count_of(row_, "tensor_instructions");
    if (!operations || !pipe || !instructions) return;
    const TensorPath path = path_of(*operations, *instructions);
    add(Resource::operations, operations, rates_.ceilings.ops(*pipe, path));
    times_.operations_on = name_of(*pipe);
    if (times_.operations_on.starts_with("tensor"))
      times_.operations_on += path == TensorPath::wgmma ? " by wgmma" : " by mma.sync";
  }

  const ResultRecord& row_;
  const DeviceRates& rates_;
  const LeastTimesOptions& options_;
  LeastTimes times_;
};

// A record for one kernel of a launch. The kernel's share of the declared operations is its share
// of the tensor instructions. Other pipes need no operations, because the kernel's own instructions
// were counted.
ResultRecord record_of_kernel(const ResultRecord& row, const NamedValues& counters) {
  ResultRecord kernel;
  kernel.counters = counters;
  kernel.sm_clock_mhz = row.sm_clock_mhz;
  const auto own = counters.number("tensor_instructions");
  const auto all = count_of(row, "tensor_instructions");
  if (row.operations && own && all && *all > 0 && *own > 0) {
    kernel.operations = *row.operations * *own / *all;
    kernel.limit_by = row.limit_by;
    kernel.measured_limit_by = row.measured_limit_by;
  }
  return kernel;
}

void add_to_chain(std::vector<LeastTime>& chain, const LeastTime& longest) {
  const auto known = std::ranges::find(chain, longest.resource, &LeastTime::resource);
  if (known == chain.end()) {
    chain.push_back(longest);
  } else {
    known->amount += longest.amount;
    known->time_us += longest.time_us;
  }
}

std::vector<LeastTime> chain_of(const ResultRecord& row, const DeviceRates& rates,
                                const LeastTimesOptions& options) {
  std::vector<LeastTime> chain;
  const auto kernels = rates.counters_of_kernels.find(row.key);
  const bool is_one_after_another = row.timeline.empty();
  if (kernels == rates.counters_of_kernels.end() || !is_one_after_another) return chain;
  const auto counted = static_cast<std::int64_t>(kernels->second.size());
  if (counted < row.kernel_launches.value_or(1)) return chain;
  for (const NamedValues& counters : kernels->second) {
    const ResultRecord kernel = record_of_kernel(row, counters);
    const auto longest = LeastTimesOf(kernel, rates, options).all().longest();
    if (longest) add_to_chain(chain, *longest);
  }
  return chain;
}

}  // namespace

std::optional<double> count_of(const ResultRecord& row, std::string_view counter) {
  if (counter.starts_with(kMetricMark))
    return row.metrics.number(counter.substr(kMetricMark.size()));
  if (counter == kTimeColumn) return row.time_us();
  return row.counters.number(counter);
}

std::optional<double> clock_of(const ResultRecord& row, const DeviceRates& rates) {
  constexpr double kMega = 1e6;
  if (!row.sm_clock_mhz) return rates.ceilings.sm_clock_hz;
  return kMega * *row.sm_clock_mhz;
}

bool is_counted(const ResultRecord& row) {
  return std::ranges::any_of(kCounters,
                             [&](const Counter& c) { return count_of(row, c.id).has_value(); });
}

std::string_view name_of(Resource resource) {
  switch (resource) {
    case Resource::dram: return "dram";
    case Resource::l2: return "l2";
    case Resource::l1_data: return "l1_data";
    case Resource::l1_tags: return "l1_tags";
    case Resource::issue: return "issue";
    case Resource::fma: return "fma";
    case Resource::alu: return "alu";
    case Resource::fp64: return "fp64";
    case Resource::xu: return "xu";
    case Resource::operations: return "operations";
    case Resource::blocks: return "blocks";
  }
  return "";
}

bool is_of_sms(Resource resource) {
  return resource != Resource::dram && resource != Resource::l2 && resource != Resource::blocks;
}

std::optional<LeastTime> LeastTimes::longest() const {
  const auto& times = of_chain.empty() ? of_resources : of_chain;
  const auto longest = std::ranges::max_element(times, {}, &LeastTime::time_us);
  if (longest == times.end()) return std::nullopt;
  // Tensor instructions read their operands through L1's data stage, so similar times mean that the
  // tensor cores bind.
  constexpr double kSimilar = 1.05;
  const auto operations = std::ranges::find(times, Resource::operations, &LeastTime::resource);
  const bool are_operands = longest->resource == Resource::l1_data && operations != times.end() &&
                            kSimilar * operations->time_us >= longest->time_us;
  return are_operands ? *operations : *longest;
}

bool LeastTimes::is_shared() const {
  constexpr double kMore = 1.05;
  return !of_chain.empty() && needed_us() > kMore * longest()->time_us;
}

double LeastTimes::needed_us() const {
  double longest_us = 0;
  double chain_us = 0;
  for (const LeastTime& time : of_resources)
    longest_us = std::max(longest_us, time.time_us);
  for (const LeastTime& time : of_chain)
    chain_us += time.time_us;
  return std::max(longest_us, chain_us);
}

SmShares sm_shares(const ResultRecord& reference, const ResultRecord& row,
                   const DeviceRates& rates) {
  using ShareOf = std::optional<double> (*)(const ResultRecord&, const DeviceRates&);
  const std::pair<ShareOf, SmShareFrom> sources[] = {{share_from_grid, SmShareFrom::grid},
                                                     {share_from_cycles, SmShareFrom::cycles}};
  for (const auto& [share, from] : sources) {
    const auto of_reference = share(reference, rates);
    const auto of_row = share(row, rates);
    if (of_reference && of_row) return {*of_reference, *of_row, from};
  }
  return {};
}

LeastTimes least_times(const ResultRecord& row, const DeviceRates& rates,
                       const LeastTimesOptions& options) {
  LeastTimes times = LeastTimesOf(row, rates, options).all();
  auto floor_us = row.floor_us;
  if (!floor_us && row.mode) floor_us = rates.ceilings.floor_us(*row.mode);
  times.kernels = kernels_of(row, rates);
  // The time of the fill itself is negligible; its launch is not.
  const double fills = fills_of(row, rates);
  times.further_us = (times.kernels - fills - 1) * further_kernel_us(row, rates.ceilings) +
                     fills * rates.ceilings.floor_graph_us.value_or(0);
  times.launch_us = std::max(0.0, floor_us.value_or(0)) + times.further_us;
  if (!options.as_chain) return times;
  const double longest_us = times.needed_us();
  times.of_chain = chain_of(row, rates, options);
  if (times.needed_us() <= longest_us) times.of_chain.clear();
  return times;
}

bool says_what_binds(const ResultRecord& row, const LeastTimes& times,
                     const LeastTimesOptions& options) {
  const auto has = [&](Resource resource) {
    return std::ranges::any_of(times.of_resources,
                               [&](const LeastTime& t) { return t.resource == resource; });
  };
  return (options.without_dram || has(Resource::dram)) && has(Resource::l1_data) &&
         has(Resource::issue) && count_of(row, "tensor_instructions").has_value();
}

bool has_uncounted_copies(const ResultRecord& row) {
  return copied_wavefronts(row) > 0;
}

}  // namespace gpuexp
