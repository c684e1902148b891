#include "model/kernel_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "device/hardware_sizes.hpp"
#include "device/l2_cache.hpp"

namespace gpuexp {

namespace {

// With wgmma, tensor cores reach the datasheet's rate at the datasheet's clock (in a chain, each
// m64n256 takes 128 cycles on one SM of an H200), unless the board's power limits them. The rate
// measured on all SMs includes this limit.
std::optional<double> wgmma_rate(const ActiveSms& of, Pipe pipe) {
  const auto& peak = of.device.peak_ops_per_s[static_cast<std::size_t>(pipe)];
  const auto all = of.ceilings.ops(pipe, TensorPath::wgmma);
  std::optional<double> rate;
  if (all) rate = *all / of.count / of.clock_hz;
  if (!peak || of.device.sm_clock_tensor_mhz <= 0) return rate;
  constexpr double kMega = 1e6;
  const double own = *peak / of.device.sm_count / (of.device.sm_clock_tensor_mhz * kMega);
  return std::min(rate.value_or(own), own);
}

BehindL1 behind_l1(const ActiveSms& of, const KernelTraffic& traffic) {
  BehindL1 behind;
  const double per_sm = kSectorBytes * of.count * of.clock_hz;
  // The maximum of one SM, 64 bytes per cycle, is an assumption; it affects only launches of few
  // blocks. The copy engine has its own rates.
  constexpr double kMinSectorClocks = kSectorBytes / 64;
  behind.l2_read_clocks = std::max(kMinSectorClocks, per_sm / *of.ceilings.l2_read_bytes_per_s);
  behind.l2_write_clocks = std::max(kMinSectorClocks, per_sm / *of.ceilings.l2_write_bytes_per_s);
  // The L2 port serves first writes at least at the DRAM write rate, which streaming stores
  // reach.
  behind.l2_first_write_clocks = std::max(
      kMinSectorClocks,
      per_sm / std::max(*of.ceilings.l2_write_bytes_per_s, *of.ceilings.dram_write_bytes_per_s));
  const auto share = [](double bytes, double sectors) {
    return sectors > 0 ? std::min(1.0, bytes / kSectorBytes / sectors) : 0;
  };
  const auto share_clocks = [&](const std::optional<double>& per_s) {
    return per_s ? of.count * of.clock_hz / *per_s : 0;
  };
  behind.atomics = {share_clocks(of.ceilings.atomics_of_address_per_s),
                    share_clocks(of.ceilings.atomic_sectors_per_s)};
  behind.l2_sectors = kept_l2_sectors(of.device) / of.count;
  const DramBytes& dram = traffic.dram;
  behind.dram_read_share = share(dram.read, traffic.read_sectors);
  behind.dram_write_share = share(dram.written, traffic.written_sectors);
  const double requested_bytes = kSectorBytes * behind.dram_read_share * traffic.read_sectors;
  behind.l2_fill_clocks = behind.l2_first_write_clocks *
                          (requested_bytes > 0 ? std::max(1.0, dram.read / requested_bytes) : 1);
  const double seconds =
      dram.read_scattered / *of.ceilings.dram_random_bytes_per_s +
      dram_seconds(of.ceilings, dram.read - dram.read_scattered, dram.written).value();
  // Distributes the DRAM time, which includes bytes that were not requested, over all DRAM
  // sectors.
  const double sectors = behind.dram_read_share * traffic.read_sectors +
                         behind.dram_write_share * traffic.written_sectors;
  if (sectors > 0)
    behind.dram_read_clocks = behind.dram_write_clocks =
        seconds / sectors * of.count * of.clock_hz;
  return behind;
}

}  // namespace

SmParameters kernel_parameters(const ActiveSms& of, const UnifiedMemory& memory, bool uses_shared,
                               const KernelTraffic& traffic) {
  SmParameters parameters;
  constexpr double kNano = 1e-9;
  const double full_clock_hz = *of.ceilings.sm_clock_hz;
  const auto clocks_of = [&](double nanoseconds) { return nanoseconds * kNano * of.clock_hz; };
  // While `count` SMs issue loads, interpolated between one SM and all SMs.
  const auto loaded = [&](double alone_ns, const std::optional<double>& on_all_sms_ns) {
    return std::lerp(alone_ns, on_all_sms_ns.value_or(alone_ns), of.count / of.device.sm_count);
  };
  // Latencies inside the SM are the same number of cycles at any clock.
  const auto own_clocks = [&](double nanoseconds) { return nanoseconds * kNano * full_clock_hz; };
  parameters.clock_hz = of.clock_hz;
  parameters.rates = sm_rates(of.device.cc_major, of.device.cc_minor);
  const double sms = of.device.sm_count;
  for (int i = 0; i < kPipeCount; ++i) {
    const auto rate = of.ceilings.ops(static_cast<Pipe>(i), TensorPath::mma_sync);
    if (rate)
      parameters.tensor_operations[static_cast<std::size_t>(i)] = *rate / sms / of.clock_hz;
    parameters.wgmma_operations[static_cast<std::size_t>(i)] = wgmma_rate(of, static_cast<Pipe>(i));
  }
  parameters.l1_latency = own_clocks(*of.ceilings.l1_latency_ns);
  parameters.shared_latency = own_clocks(*of.ceilings.shared_latency_ns);
  parameters.barrier_latency = own_clocks(*of.ceilings.barrier_latency_ns);
  parameters.l2_latency =
      clocks_of(loaded(*of.ceilings.l2_latency_ns, of.ceilings.l2_all_sms_latency_ns));
  parameters.dram_latency =
      clocks_of(loaded(*of.ceilings.dram_latency_ns, of.ceilings.dram_all_sms_latency_ns));
  // From the time per load at five utilizations of an H200's DRAM (docs/prediction.md, "Queues in
  // front of DRAM"). Other GPUs are assumed to be similar.
  constexpr double kDramQueueNs = 144;
  parameters.dram_queue = clocks_of(kDramQueueNs);
  // On an H200, the first load of a kernel on an SM takes 92 to 130 cycles longer than a load
  // after it (docs/studies/kernel_start/first_access.csv). The SM probably looks up the page.
  constexpr double kFirstLoad = 90;
  parameters.first_load = kFirstLoad;
  parameters.l2_spread = kL2Spread;
  parameters.dram_spread = kDramSpread;
  parameters.data_stage_clocks =
      kWavefrontBytes * sms * full_clock_hz / *of.ceilings.shared_bytes_per_s;
  parameters.block_gap = clocks_of(*of.ceilings.block_latency_ns);
  parameters.block_interval = of.count / *of.ceilings.blocks_per_s * of.clock_hz;
  parameters.l1_bytes = memory.l1;
  if (uses_shared) parameters.repeats = sector_repeats(of.device, memory);
  parameters.behind = behind_l1(of, traffic);
  return parameters;
}

}  // namespace gpuexp
