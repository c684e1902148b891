#include "device/ceilings.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "base/names.hpp"

namespace gpuexp {

namespace {

constexpr double kMega = 1e6;
constexpr double kGiga = 1e9;
constexpr double kTeraOps = 1e12;

using Optional = std::optional<double>;

bool is_tensor(Pipe pipe) {
  return name_of(pipe).starts_with("tensor_");
}

void append_pipes(std::vector<CeilingTerm>& terms, const std::string& prefix,
                  const std::string& doc, bool only_tensor,
                  std::array<Optional, kPipeCount> Ceilings::*rates) {
  for (std::size_t i = 0; i < kPipeCount; ++i) {
    const Pipe pipe = static_cast<Pipe>(i);
    if (only_tensor && !is_tensor(pipe)) continue;
    terms.push_back({prefix + std::string(name_of(pipe)), "TFLOP/s", kTeraOps,
                     fmt::format("{}{}", name_of(pipe), doc),
                     [rates, i](Ceilings& c) -> Optional& { return (c.*rates)[i]; }});
  }
}

// Empty if one of the values is 0, which means unknown.
Optional quotient(double a, double b) {
  return a > 0 && b > 0 ? Optional(a / b) : std::nullopt;
}
Optional product(const Optional& a, const Optional& b) {
  return a && b ? Optional(*a * *b) : std::nullopt;
}

CeilingTerm term(const char* id, const char* unit, double scale, const char* doc,
                 Optional Ceilings::*ceiling) {
  return {id, unit, scale, doc, [ceiling](Ceilings& c) -> Optional& { return c.*ceiling; }};
}

}  // namespace

Optional Ceilings::floor_us(Mode mode) const {
  switch (mode) {
    case Mode::cold: return floor_cold_us;
    case Mode::warm: return floor_warm_us;
    case Mode::graph: return floor_graph_us;
    case Mode::back_to_back:
    case Mode::back_to_back_graph:
    case Mode::profile: return std::nullopt;
  }
  return std::nullopt;
}

Optional Ceilings::ops(Pipe pipe, TensorPath path) const {
  const auto i = static_cast<std::size_t>(pipe);
  return path == TensorPath::mma_sync && is_tensor(pipe) && mma_sync_ops_per_s[i]
             ? mma_sync_ops_per_s[i]
             : ops_per_s[i];
}

const std::vector<CeilingTerm>& ceiling_terms() {
  static const std::vector<CeilingTerm> kTerms = [] {
    std::vector<CeilingTerm> t{
        term("dram_read", "GB/s", kGiga, "read from device memory",
             &Ceilings::dram_read_bytes_per_s),
        term("dram_write", "GB/s", kGiga, "written to device memory",
             &Ceilings::dram_write_bytes_per_s),
        term("dram_copy", "GB/s", kGiga, "copied within device memory, bytes read and written",
             &Ceilings::dram_copy_bytes_per_s),
        term("dram_random", "GB/s", kGiga,
             "read from random addresses of device memory, 64 bytes each",
             &Ceilings::dram_random_bytes_per_s),
        term("l2_read", "GB/s", kGiga, "read from L2", &Ceilings::l2_read_bytes_per_s),
        term("l2_write", "GB/s", kGiga, "written to L2", &Ceilings::l2_write_bytes_per_s),
        term("atomic_address", "1/us", kMega, "atomic additions to one address of global memory",
             &Ceilings::atomics_of_address_per_s),
        term("atomic_sectors", "1/us", kMega,
             "atomic additions to random sectors of global memory that L2 holds",
             &Ceilings::atomic_sectors_per_s),
        term("shared", "GB/s", kGiga, "read from shared memory, over all SMs",
             &Ceilings::shared_bytes_per_s)};
    append_pipes(t, "", "", false, &Ceilings::ops_per_s);
    append_pipes(t, "mma_sync.", " by mma.sync", true, &Ceilings::mma_sync_ops_per_s);
    append_pipes(t, "library.", " in a large product by the vendor's library", true,
                 &Ceilings::library_ops_per_s);
    const std::vector<CeilingTerm> rest{
        term("sm_clock", "MHz", kMega, "SM clock under load", &Ceilings::sm_clock_hz),
        term("dram_latency", "ns", 1, "a load answered by DRAM", &Ceilings::dram_latency_ns),
        term("dram_all_sms_latency", "ns", 1,
             "a load answered by DRAM, while every SM has one in flight",
             &Ceilings::dram_all_sms_latency_ns),
        term("l2_latency", "ns", 1, "a load answered by L2", &Ceilings::l2_latency_ns),
        term("l2_all_sms_latency", "ns", 1,
             "a load answered by L2, while every SM has one in flight",
             &Ceilings::l2_all_sms_latency_ns),
        term("l1_latency", "ns", 1, "a load answered by L1", &Ceilings::l1_latency_ns),
        term("shared_latency", "ns", 1, "a load from shared memory", &Ceilings::shared_latency_ns),
        term("barrier_latency", "ns", 1, "a barrier of a block of 256 threads",
             &Ceilings::barrier_latency_ns),
        term("fma_latency", "ns", 1, "a dependent multiply-add", &Ceilings::fma_latency_ns),
        term("block_latency", "ns", 1,
             "from the end of a block to the start of the next one in its slot",
             &Ceilings::block_latency_ns),
        term("block_rate", "1/us", kMega, "blocks started, over all SMs", &Ceilings::blocks_per_s),
        term("kernel_latency", "ns", 1,
             "from the start of an empty kernel to the start of the next",
             &Ceilings::kernel_latency_ns),
        term("host_call", "ns", 1, "host time per launch call, in a long chain of kernels",
             &Ceilings::host_call_ns),
        term("host_launch", "ns", 1,
             "from before the host launches a small kernel until the host knows that it has ended",
             &Ceilings::host_launch_ns),
        term("bus_to_device", "GB/s", kGiga, "a copy of pinned memory to the device",
             &Ceilings::bus_to_device_bytes_per_s),
        term("bus_to_host", "GB/s", kGiga, "a copy from the device to pinned memory",
             &Ceilings::bus_to_host_bytes_per_s),
        term("bus_both", "GB/s", kGiga, "per direction, two-way copies of pinned memory",
             &Ceilings::bus_both_bytes_per_s),
        term("link_copy", "GB/s", kGiga, "a copy from another GPU by the copy engine",
             &Ceilings::link_copy_bytes_per_s),
        term("link_read", "GB/s", kGiga, "loads of another GPU's memory",
             &Ceilings::link_read_bytes_per_s),
        term("link_write", "GB/s", kGiga, "stores to another GPU's memory",
             &Ceilings::link_write_bytes_per_s),
        term("link_both", "GB/s", kGiga, "per direction, two-way copies between two GPUs",
             &Ceilings::link_both_bytes_per_s),
        term("link_both_read", "GB/s", kGiga, "per direction, two-way loads between two GPUs",
             &Ceilings::link_both_read_bytes_per_s),
        term("link_both_write", "GB/s", kGiga, "per direction, two-way stores between two GPUs",
             &Ceilings::link_both_write_bytes_per_s),
        term("link_all", "GB/s", kGiga,
             "into each GPU, copies between all pairs of several GPUs at once",
             &Ceilings::link_all_bytes_per_s),
        term("link_load_latency", "ns", 1, "a load from another GPU's memory",
             &Ceilings::link_load_ns),
        term("link_atomic_latency", "ns", 1, "an atomic addition to another GPU's memory",
             &Ceilings::link_atomic_ns),
        term("link_signal_latency", "ns", 1,
             "from a store to another GPU's memory until a kernel there has loaded the value",
             &Ceilings::link_signal_ns),
        term("link_fence_latency", "ns", 1,
             "additional latency of a signal that follows a store of data to the same GPU",
             &Ceilings::link_fence_ns),
        term("link_kernel", "ns", 1,
             "a kernel with one load from its own L2, in a launch that spans GPUs, from event to "
             "event",
             &Ceilings::link_kernel_ns),
        term("link_copy_latency", "ns", 1,
             "a copy of four bytes from another GPU, from event to event", &Ceilings::link_copy_ns),
        term("unit_change", "ns", 1,
             "from a step of a stream to its next step on another unit: a copy engine or the SMs",
             &Ceilings::unit_change_ns),
        term("floor_cold", "us", 1, "an empty kernel between two events, caches flushed",
             &Ceilings::floor_cold_us),
        term("floor_warm", "us", 1, "an empty kernel between two events", &Ceilings::floor_warm_us),
        term("floor_graph", "us", 1, "time per kernel in a graph of empty kernels",
             &Ceilings::floor_graph_us)};
    t.insert(t.end(), rest.begin(), rest.end());
    return t;
  }();
  return kTerms;
}

bool is_time(const CeilingTerm& term) {
  return term.unit == "ns" || term.unit == "us";
}

bool is_link_term(const CeilingTerm& term) {
  return term.id.starts_with("link_") && term.id != "link_all";
}

const CeilingTerm* find_ceiling_term(std::string_view id) {
  for (const CeilingTerm& term : ceiling_terms()) {
    if (term.id == id) return &term;
  }
  return nullptr;
}

std::string unknown_ceiling(std::string_view id) {
  std::vector<std::string> ids;
  for (const CeilingTerm& term : ceiling_terms())
    ids.push_back(term.id);
  return "unknown ceiling" + allowed_names(id, ids);
}

Ceilings datasheet_ceilings(const DeviceSpec& device) {
  Ceilings c;
  if (device.sm_clock_max_mhz > 0) c.sm_clock_hz = device.sm_clock_max_mhz * kMega;
  if (device.memory_bytes_per_s > 0) {
    c.dram_read_bytes_per_s = device.memory_bytes_per_s;
    c.dram_write_bytes_per_s = device.memory_bytes_per_s;
    c.dram_copy_bytes_per_s = device.memory_bytes_per_s;
  }
  if (device.pcie_bytes_per_s > 0) {
    c.bus_to_device_bytes_per_s = device.pcie_bytes_per_s;
    c.bus_to_host_bytes_per_s = device.pcie_bytes_per_s;
    c.bus_both_bytes_per_s = device.pcie_bytes_per_s;
  }
  if (device.machine.link_bytes_per_s > 0) {
    c.link_copy_bytes_per_s = c.link_read_bytes_per_s = device.machine.link_bytes_per_s;
    c.link_write_bytes_per_s = c.link_both_bytes_per_s = device.machine.link_bytes_per_s;
    c.link_both_read_bytes_per_s = c.link_both_write_bytes_per_s = device.machine.link_bytes_per_s;
    c.link_all_bytes_per_s = device.machine.link_bytes_per_s;
  }
  c.ops_per_s = device.peak_ops_per_s;
  return c;
}

Optional dram_seconds(const Ceilings& c, double read, double written) {
  if (!c.dram_read_bytes_per_s || !c.dram_write_bytes_per_s || !c.dram_copy_bytes_per_s)
    return std::nullopt;
  const double bytes = read + written;
  if (bytes <= 0) return 0.0;
  const double mixed = 4 * read * written / (bytes * bytes);
  const double pure = read / *c.dram_read_bytes_per_s + written / *c.dram_write_bytes_per_s;
  const double copied = bytes / *c.dram_copy_bytes_per_s;
  return std::lerp(pure, std::max(pure, copied), mixed);
}

Ceilings scaled_ceilings(const Ceilings& measured, const DeviceSpec& from, const DeviceSpec& to) {
  const Optional clock = quotient(to.sm_clock_max_mhz, from.sm_clock_max_mhz);
  const Optional dram = quotient(to.memory_bytes_per_s, from.memory_bytes_per_s);
  const Optional sms = product(clock, quotient(to.sm_count, from.sm_count));
  const Optional clock_period = quotient(from.sm_clock_max_mhz, to.sm_clock_max_mhz);
  Ceilings c = with_fp16_sums(measured, from);
  c.host_call_ns = c.host_launch_ns = std::nullopt;
  c.bus_to_device_bytes_per_s = c.bus_to_host_bytes_per_s = std::nullopt;
  c.bus_both_bytes_per_s = c.unit_change_ns = std::nullopt;
  const auto scale = [&](std::initializer_list<Optional Ceilings::*> ceilings, const Optional& by) {
    for (Optional Ceilings::*ceiling : ceilings)
      c.*ceiling = product(c.*ceiling, by);
  };
  scale({&Ceilings::sm_clock_hz, &Ceilings::blocks_per_s, &Ceilings::atomics_of_address_per_s},
        clock);
  scale({&Ceilings::dram_read_bytes_per_s, &Ceilings::dram_write_bytes_per_s,
         &Ceilings::dram_copy_bytes_per_s, &Ceilings::dram_random_bytes_per_s},
        dram);
  scale({&Ceilings::link_copy_bytes_per_s, &Ceilings::link_read_bytes_per_s,
         &Ceilings::link_write_bytes_per_s, &Ceilings::link_both_bytes_per_s,
         &Ceilings::link_both_read_bytes_per_s, &Ceilings::link_both_write_bytes_per_s,
         &Ceilings::link_all_bytes_per_s},
        quotient(to.machine.link_bytes_per_s, from.machine.link_bytes_per_s));
  scale({&Ceilings::l2_read_bytes_per_s, &Ceilings::l2_write_bytes_per_s,
         &Ceilings::atomic_sectors_per_s, &Ceilings::shared_bytes_per_s},
        sms);
  scale({&Ceilings::l1_latency_ns, &Ceilings::shared_latency_ns, &Ceilings::barrier_latency_ns,
         &Ceilings::fma_latency_ns, &Ceilings::block_latency_ns},
        clock_period);
  for (std::size_t i = 0; i < kPipeCount; ++i) {
    const Optional peak = to.peak_ops_per_s[i];
    const Optional by = quotient(peak.value_or(0), from.peak_ops_per_s[i].value_or(0));
    const Optional reached = product(c.ops_per_s[i], by);
    c.ops_per_s[i] = reached ? reached : peak;
    // Rates of mma.sync scale only within a generation: on a device with faster instructions, such
    // as wgmma, mma.sync does not reach the peak rate.
    const bool has_wgmma = to.cc_major == from.cc_major;
    c.library_ops_per_s[i] = product(c.library_ops_per_s[i], by);
    c.mma_sync_ops_per_s[i] = has_wgmma ? product(c.mma_sync_ops_per_s[i], by) : std::nullopt;
  }
  return c;
}

Ceilings with_fp16_sums(const Ceilings& ceilings, const DeviceSpec& device) {
  constexpr auto kIn32 = static_cast<std::size_t>(Pipe::tensor_fp16_fp32);
  constexpr auto kIn16 = static_cast<std::size_t>(Pipe::tensor_fp16_fp16);
  const Optional by =
      quotient(device.peak_ops_per_s[kIn16].value_or(0), device.peak_ops_per_s[kIn32].value_or(0));
  Ceilings c = ceilings;
  for (auto rates : {&Ceilings::ops_per_s, &Ceilings::mma_sync_ops_per_s}) {
    if (!(c.*rates)[kIn16]) (c.*rates)[kIn16] = product((c.*rates)[kIn32], by.value_or(1));
  }
  return c;
}

Ceilings completed(const Ceilings& ceilings, const Ceilings& others) {
  Ceilings result = ceilings;
  Ceilings filler = others;
  for (const CeilingTerm& t : ceiling_terms()) {
    if (!t.of(result)) t.of(result) = t.of(filler);
  }
  return result;
}

}  // namespace gpuexp
