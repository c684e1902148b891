#include "analysis/least_times.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "family/counters.hpp"

namespace gpuexp {

namespace {

constexpr double kMicro = 1e6;
constexpr double kWavefrontBytes = 128;
constexpr double kSectorsPerWavefront = kWavefrontBytes / kSectorBytes;

std::optional<SmRates> rates_for(const std::optional<std::string>& compute_capability) {
  if (!compute_capability) return std::nullopt;
  const auto point = compute_capability->find('.');
  if (point == std::string::npos) return std::nullopt;
  try {
    return sm_rates(std::stoi(compute_capability->substr(0, point)),
                    std::stoi(compute_capability->substr(point + 1)));
  } catch (const std::logic_error&) {  // not a number, or not a known one
    return std::nullopt;
  }
}

Ceilings ceilings_of(const Provenance& provenance) {
  Ceilings ceilings;
  if (provenance.ceilings) {
    for (const CeilingProvenance& c : provenance.ceilings->values) {
      const CeilingTerm* term = find_ceiling_term(c.id);
      const auto& figure = c.value ? c.value : c.datasheet;
      if (term && figure && *figure > 0) term->of(ceilings) = term->scale * *figure;
    }
  }
  DeviceSpec device;
  device.memory_bytes_per_s = provenance.device.memory_bytes_per_s.value_or(0);
  device.sm_clock_max_mhz = static_cast<double>(provenance.device.sm_clock_max_mhz.value_or(0));
  return completed(ceilings, datasheet_ceilings(device));
}

double launch_us(const ResultRecord& row, const DeviceRates& rates) {
  auto floor_us = row.floor_us;
  if (!floor_us && row.mode) floor_us = rates.ceilings.floor_us(*row.mode);
  // Those that were counted have fills among them, and a library's; of hundreds, the first alone.
  const auto counted = rates.kernels.find(row.key);
  const double kernels = std::max(counted == rates.kernels.end() ? 1.0 : counted->second,
                                  static_cast<double>(row.kernel_launches.value_or(1)));
  const double more = kernels - 1;
  return std::max(0.0, floor_us.value_or(0)) + more * rates.ceilings.floor_graph_us.value_or(0);
}

// A wavefront per four sectors that cp.async copied into shared memory. What is missing shows them:
// the kernel reads from shared memory what it has loaded, and has stored little of it there. 0
// where it has stored it, or reads too little.
double copied_wavefronts(const ResultRecord& row) {
  const double loaded = count_of(row, "global_load_sectors").value_or(0) / kSectorsPerWavefront;
  const double stored = count_of(row, "shared_store_wavefronts").value_or(0);
  const double read = count_of(row, "shared_load_wavefronts").value_or(0);
  const double copied = loaded - stored;
  constexpr double kMost = 0.5;
  return copied > kMost * loaded && read >= copied ? copied : 0;
}

// Counted ones, or at least those of shared memory and of the copies.
std::optional<double> l1_data_wavefronts_of(const ResultRecord& row) {
  const auto counted = count_of(row, "l1_data_wavefronts");
  const double copied = copied_wavefronts(row);
  if (!counted || copied <= 0) return counted;
  const double least = count_of(row, "shared_load_wavefronts").value_or(0) +
                       count_of(row, "shared_store_wavefronts").value_or(0) + copied;
  return std::max(*counted, least);
}

// The pipe on which the declared work takes longest, where that is what limits the row.
std::optional<Pipe> pipe_of(const ResultRecord& row) {
  for (const std::string& limit : {row.measured_limit_by, row.limit_by}) {
    for (int i = 0; i < kPipeCount; ++i) {
      if (limit == name_of(static_cast<Pipe>(i))) return static_cast<Pipe>(i);
    }
  }
  return std::nullopt;
}

// No mma.sync does more than m16n8k32; what does is wgmma.
TensorPath path_of(double operations, double tensor_instructions) {
  constexpr double kMostOfMmaSync = 2.0 * 16 * 8 * 32;
  return operations > kMostOfMmaSync * tensor_instructions ? TensorPath::wgmma
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
  LeastTimesOf(const ResultRecord& row, const DeviceRates& rates, double sm_share)
      : row_(row), rates_(rates) {
    times_.launch_us = launch_us(row, rates);
    times_.sm_share = sm_share;
    times_.sm_count = rates.sm_count;
  }

  LeastTimes all() {
    add_memory();
    add_l1();
    if (rates_.sm_rates) add_instructions(*rates_.sm_rates);
    add_operations();
    add(Resource::blocks, row_.grid_blocks, rates_.ceilings.blocks_per_s);
    return std::move(times_);
  }

 private:
  // `rate`: of the whole device, per second.
  void add(Resource resource, const std::optional<double>& amount,
           const std::optional<double>& rate) {
    if (amount && rate && *rate > 0) add_seconds(resource, *amount, *amount / *rate);
  }

  void add_seconds(Resource resource, double amount, double seconds) {
    const double share = is_of_sms(resource) ? times_.sm_share : 1;
    if (share > 0) times_.of_resources.push_back({resource, amount, kMicro * seconds / share});
  }

  void add_memory() {
    const Ceilings& c = rates_.ceilings;
    const auto read = count_of(row_, "dram_read_bytes");
    const auto written = count_of(row_, "dram_write_bytes");
    const auto dram = read && written ? dram_seconds(c, *read, *written) : std::optional<double>();
    if (dram) add_seconds(Resource::dram, *read + *written, *dram);
    const auto sectors = count_of(row_, "l2_sectors");
    const double stored =
        std::min(count_of(row_, "global_store_sectors").value_or(0), sectors.value_or(0));
    if (!sectors || !c.l2_read_bytes_per_s || !c.l2_write_bytes_per_s) return;
    add_seconds(Resource::l2, *sectors,
                kSectorBytes * ((*sectors - stored) / *c.l2_read_bytes_per_s +
                                stored / *c.l2_write_bytes_per_s));
  }

  // Over all SMs, of so many per clock and SM.
  std::optional<double> per_second(double per_clock) const {
    if (!rates_.sm_count || !rates_.ceilings.sm_clock_hz) return std::nullopt;
    return per_clock * *rates_.sm_count * *rates_.ceilings.sm_clock_hz;
  }

  void add_l1() {
    const auto& shared = rates_.ceilings.shared_bytes_per_s;
    add(Resource::l1_data, l1_data_wavefronts_of(row_),
        shared ? std::optional(*shared / kWavefrontBytes) : per_second(1));
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
  LeastTimes times_;
};

}  // namespace

std::optional<double> count_of(const ResultRecord& row, std::string_view counter) {
  if (counter.starts_with(kMetricMark))
    return row.metrics.number(counter.substr(kMetricMark.size()));
  if (counter == kTimeColumn) return row.time_us();
  return row.counters.number(counter);
}

bool is_counted(const ResultRecord& row) {
  return std::ranges::any_of(kCounters,
                             [&](const Counter& c) { return count_of(row, c.id).has_value(); });
}

DeviceRates device_rates(const Report& report) {
  const DeviceProvenance& device = report.provenance.device;
  DeviceRates rates;
  rates.ceilings = ceilings_of(report.provenance);
  if (device.sm_count) rates.sm_count = static_cast<double>(*device.sm_count);
  rates.sm_rates = rates_for(device.compute_capability);
  const auto key = report.kernels.column("key");
  // Merged runs of several GPUs have a launch's kernels once for each.
  const auto gpu = report.kernels.column(fixed_column(&ResultRecord::gpu_uuid).name);
  std::map<std::string, Field> gpu_of;
  for (const auto& kernel : report.kernels.rows) {
    const auto* row = key ? std::get_if<std::string>(&kernel[*key]) : nullptr;
    if (!row) continue;
    const Field own = gpu ? kernel[*gpu] : Field();
    if (gpu_of.try_emplace(*row, own).first->second == own) rates.kernels[*row] += 1;
  }
  return rates;
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
  const auto longest = std::ranges::max_element(of_resources, {}, &LeastTime::time_us);
  return longest == of_resources.end() ? std::nullopt : std::optional(*longest);
}

SmShares sm_shares(const ResultRecord& reference, const ResultRecord& row,
                   const DeviceRates& rates) {
  for (const auto share : {share_from_grid, share_from_cycles}) {
    const auto of_reference = share(reference, rates);
    const auto of_row = share(row, rates);
    if (of_reference && of_row) return {*of_reference, *of_row};
  }
  return {};
}

LeastTimes least_times(const ResultRecord& row, const DeviceRates& rates, double sm_share) {
  return LeastTimesOf(row, rates, sm_share).all();
}

bool says_what_binds(const ResultRecord& row, const LeastTimes& times) {
  const auto has = [&](Resource resource) {
    return std::ranges::any_of(times.of_resources,
                               [&](const LeastTime& t) { return t.resource == resource; });
  };
  return has(Resource::dram) && has(Resource::l1_data) && has(Resource::issue) &&
         count_of(row, "tensor_instructions").has_value();
}

bool has_uncounted_copies(const ResultRecord& row) {
  return copied_wavefronts(row) > 0;
}

}  // namespace gpuexp
