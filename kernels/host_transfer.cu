// host_transfer: copies of an array from host to device memory, from device to host, and in both
// directions.
//
// The question: what does a copy between host and GPU cost? A copy engine can read only pinned
// pages, which the operating system does not move. A kernel may read host memory in place over the
// bus, or access managed memory, whose pages then migrate to the device.
//
// The host's clock is read before the first call and when the host knows that the data have
// arrived.
#include <algorithm>

#include "kernels/common/family.cuh"

namespace gpuexp::host_transfer {

struct Problem {
  std::int64_t n;

  std::int64_t bytes() const { return n * std::int64_t{sizeof(std::uint32_t)}; }
};

// All arrays have n elements. Copies to the device read one of the arrays in host memory; copies to
// the host read `source`, which is in device memory.
struct Data {
  const std::uint32_t* source;
  const std::uint32_t* pageable_in;
  const std::uint32_t* pinned_in;
  const std::uint32_t* write_combined_in;
  const std::uint32_t* mapped_in;
  const std::uint32_t* managed_in;
  const std::uint32_t* advised_in;
  const std::uint32_t* mostly_read_in;
  std::uint32_t* on_device;
  std::uint32_t* pageable_out;
  std::uint32_t* pinned_out;
  std::uint32_t* mapped_out;
  std::uint32_t* managed_out;
  std::uint32_t* advised_out;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the kernel of variants without a copy engine

// Each lane has four 16-byte loads in flight, because a transfer over the bus takes microseconds.

constexpr int kBlock = 256;
constexpr int kUnroll = 4;

__global__ void __launch_bounds__(kBlock)
    copy_kernel(const std::uint32_t* from, std::uint32_t* to, std::int64_t n) {
  const auto* const vectors = reinterpret_cast<const uint4*>(from);
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kBlock;
  const std::int64_t count = n / 4;
  for (std::int64_t i = thread; i < count; i += kUnroll * threads) {
    uint4 v[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      if (i + j * threads < count) v[j] = vectors[i + j * threads];
    }
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      if (i + j * threads < count) reinterpret_cast<uint4*>(to)[i + j * threads] = v[j];
    }
  }
  if (thread < n % 4) to[count * 4 + thread] = from[count * 4 + thread];
}

Steps copy_by_kernel(const std::uint32_t* from, std::uint32_t* to, const Problem& p,
                     const DeviceSpec& device) {
  constexpr std::int64_t kBlocksPerSm = 4;
  const std::int64_t blocks =
      std::min(ceil_div(p.n, kBlock * 4 * kUnroll), kBlocksPerSm * device.sm_count);
  return launch(copy_kernel, shape_of_shares({blocks}, {p.n}, kBlock), from, to, p.n);
}

Steps copy_by_engine(const std::uint32_t* from, std::uint32_t* to, const Problem& p) {
  return CopyStep{to, from, p.bytes()};
}

/// Returns a variant that copies one array to each of the outputs `writes`.
template <class Launch>
Variant variant(std::string id, std::string compare_to, std::vector<std::string> writes,
                ExpectedChangesOf<Problem> expected, Launch launch) {
  Variant v(std::move(id), std::move(compare_to));
  const auto arrays = static_cast<double>(writes.size());
  const bool to_device = std::find(writes.begin(), writes.end(), "on_device") != writes.end();
  const bool to_host = writes.size() > (to_device ? 1 : 0);
  v.writes = std::move(writes);
  v.expected_changes = std::move(expected);
  v.launch = launch;
  v.timing = Timing::host_clock;
  v.deterministic = true;
  v.work = [arrays, to_device, to_host](const Problem& p) {
    Work w;
    // Every byte that crosses the bus is read from or written to device memory.
    w.bytes_read = arrays * static_cast<double>(p.bytes());
    w.moved_read = arrays * sector_bytes<std::uint32_t>(p.n);
    w.to_device = to_device ? static_cast<double>(p.bytes()) : 0;
    w.to_host = to_host ? static_cast<double>(p.bytes()) : 0;
    return w;
  };
  return v;
}

using Buffer = const std::uint32_t* Data::*;
using Output = std::uint32_t* Data::*;

constexpr std::int64_t kLarge = 1 << 22;
constexpr auto is_large = at_least(&Problem::n, kLarge);

/// Returns the expected change of the time at large sizes.
ExpectedChangesOf<Problem> time(Direction direction, double factor) {
  return {{std::string(kTimeColumn), direction, factor, is_large}};
}

template <Buffer from>
Steps engine_in(const Problem& p, const Data& d, const LaunchContext&) {
  return copy_by_engine(d.*from, d.on_device, p);
}
template <Output to>
Steps engine_out(const Problem& p, const Data& d, const LaunchContext&) {
  return copy_by_engine(d.source, d.*to, p);
}
/// Marks a variant whose kernel accesses host or managed memory.
Variant over_the_bus(Variant v) {
  v.without_time = "accesses of kernels to host memory are not modelled";
  return v;
}

template <Buffer from>
Steps kernel_in(const Problem& p, const Data& d, const LaunchContext& x) {
  return copy_by_kernel(d.*from, d.on_device, p, x.device);
}
template <Output to>
Steps kernel_out(const Problem& p, const Data& d, const LaunchContext& x) {
  return copy_by_kernel(d.source, d.*to, p, x.device);
}

Steps concurrently(Steps first, Steps second) {
  for (Step& step : second.all())
    step.stream = 1;
  return std::move(first) + std::move(second);
}

// ---- pageable_in: copy from pageable memory
//
// cudaMemcpy reads memory from malloc. The operating system may move its pages, so the driver
// copies one piece after another to pinned memory, from which a copy engine reads. The host's
// processor is busy during the transfer, and the call returns only at its end.

Variant pageable_in() {
  return variant("pageable_in", "", {"on_device"}, {}, engine_in<&Data::pageable_in>);
}

// ---- pinned_in: copy from pinned memory
//
// A copy engine of the GPU reads page-locked memory directly, at the speed of the bus, while the
// host is free to do other work. The cost is that the operating system cannot use these pages for
// anything else.

Variant pinned_in() {
  return variant("pinned_in", "pageable_in", {"on_device"}, time(Direction::decreases, 1.2),
                 engine_in<&Data::pinned_in>);
}

// ---- write_combined_in: copy from write-combined memory
//
// The host's caches do not hold write-combined page-locked memory, so the GPU's reads need not
// query them. The cost is that the host reads this memory slowly; sequential writes are fast.

Variant write_combined_in() {
  return variant("write_combined_in", "pinned_in", {"on_device"}, time(Direction::unchanged, 1.2),
                 engine_in<&Data::write_combined_in>);
}

// ---- mapped_in: kernel that loads mapped memory
//
// A kernel loads page-locked memory in place, over the bus (zero copy), and stores it in device
// memory. The kernel need not wait for a copy to end. Data that the kernel loads again cross the
// bus again.

Variant mapped_in() {
  return variant("mapped_in", "pinned_in", {"on_device"}, time(Direction::unchanged, 1.5),
                 kernel_in<&Data::mapped_in>);
}

// ---- managed_in: kernel that loads managed memory
//
// The pages are on the host until a kernel accesses them. The first access to a page is a page
// fault, upon which the driver migrates a group of pages. The cost is the time of the faults, which
// occur one after the other.

Variant managed_in() {
  return variant("managed_in", "pinned_in", {"on_device"}, time(Direction::increases, 1.2),
                 kernel_in<&Data::managed_in>);
}

// ---- prefetched_in: managed memory, prefetched
//
// cudaMemPrefetchAsync migrates all pages before the kernel starts, so no faults remain. The
// program must know in advance which memory the kernel will access.

Variant prefetched_in() {
  return variant("prefetched_in", "managed_in", {"on_device"}, time(Direction::decreases, 1.2),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return Steps(PrefetchStep{d.managed_in, p.bytes()}) +
                          copy_by_kernel(d.managed_in, d.on_device, p, x.device);
                 });
}

// ---- advised_in: managed memory, mapped for the device
//
// cudaMemAdvise keeps managed memory on the host and maps it for the device. The kernel loads it
// over the bus like mapped memory, and no page migrates.

Variant advised_in() {
  return variant("advised_in", "managed_in", {"on_device"}, time(Direction::decreases, 1.2),
                 kernel_in<&Data::advised_in>);
}

// ---- reread_in: managed memory that the host reads again
//
// A kernel reads managed memory, and then the host reads the same memory. A page is in only one
// memory: it migrates to the device by a fault of the GPU, and back by a fault of the host.

Variant reread_in() {
  return variant("reread_in", "managed_in", {"on_device"}, time(Direction::increases, 1.2),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return copy_by_kernel(d.managed_in, d.on_device, p, x.device) +
                          HostReadStep{d.managed_in, p.bytes()};
                 });
}

// ---- mostly_read_in: managed memory with read-mostly advice
//
// The kernel and the host read the same managed memory as in reread_in, but with read-mostly
// advice: each processor that reads a page gets its own copy, which is valid until a processor
// writes the page. The copies are made before the clock starts, as a program makes them once.
// Neither processor then waits for the bus.

Variant mostly_read_in() {
  Variant v = variant("mostly_read_in", "reread_in", {"on_device"}, time(Direction::decreases, 3),
                      [](const Problem& p, const Data& d, const LaunchContext& x) {
                        return copy_by_kernel(d.mostly_read_in, d.on_device, p, x.device) +
                               HostReadStep{d.mostly_read_in, p.bytes()};
                      });
  v.work = [](const Problem& p) {
    Work w;
    w.bytes_read = static_cast<double>(p.bytes());
    w.moved_read = w.moved_written = sector_bytes<std::uint32_t>(p.n);
    return w;
  };
  return v;
}

// ---- pageable_out: copy to pageable memory
//
// cudaMemcpy writes to memory from malloc, piece by piece through pinned memory of the driver.

Variant pageable_out() {
  return variant("pageable_out", "", {"pageable_out"}, {}, engine_out<&Data::pageable_out>);
}

// ---- pinned_out: copy to pinned memory
//
// A copy engine writes to page-locked memory. Copies to the device use another copy engine.

Variant pinned_out() {
  return variant("pinned_out", "pageable_out", {"pinned_out"}, time(Direction::decreases, 1.2),
                 engine_out<&Data::pinned_out>);
}

// ---- mapped_out: kernel that stores to mapped memory
//
// A kernel stores to page-locked memory in place. Stores need not wait for an answer, so few
// threads are enough to fill the bus.

Variant mapped_out() {
  return variant("mapped_out", "pinned_out", {"mapped_out"}, time(Direction::unchanged, 1.5),
                 kernel_out<&Data::mapped_out>);
}

// ---- managed_out: kernel that stores to managed memory
//
// A kernel stores to managed memory on the device, and then the host reads each page, which
// migrates to the host by a fault of the host's processor.

Variant managed_out() {
  return variant("managed_out", "pinned_out", {"managed_out"}, time(Direction::increases, 1.2),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return copy_by_kernel(d.source, d.managed_out, p, x.device) +
                          HostReadStep{d.managed_out, p.bytes()};
                 });
}

// ---- prefetched_out: managed memory, prefetched to the host
//
// This is managed_out with a prefetch to the host after the kernel, so the host's reads cause no
// faults.

Variant prefetched_out() {
  return variant("prefetched_out", "managed_out", {"managed_out"}, time(Direction::decreases, 1.2),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return copy_by_kernel(d.source, d.managed_out, p, x.device) +
                          PrefetchStep{d.managed_out, p.bytes(), true} +
                          HostReadStep{d.managed_out, p.bytes()};
                 });
}

// ---- advised_out: managed memory that stays on the host
//
// cudaMemAdvise keeps managed memory on the host, and the kernel stores to it over the bus.

Variant advised_out() {
  return variant("advised_out", "managed_out", {"advised_out"}, time(Direction::decreases, 1.2),
                 kernel_out<&Data::advised_out>);
}

// ---- pageable_both: pageable copies in both directions
//
// Two streams copy one array in each direction. A copy of pageable memory blocks the host until it
// is complete, so the second copy starts only after the first.

Variant pageable_both() {
  return variant("pageable_both", "", {"on_device", "pageable_out"}, {},
                 [](const Problem& p, const Data& d, const LaunchContext&) {
                   return concurrently(copy_by_engine(d.pageable_in, d.on_device, p),
                                       copy_by_engine(d.source, d.pageable_out, p));
                 });
}

// ---- pinned_both: pinned copies in both directions
//
// The bus transfers both directions independently, and each direction has a copy engine, so two
// arrays take about as long as one.

Variant pinned_both() {
  return variant("pinned_both", "pageable_both", {"on_device", "pinned_out"},
                 time(Direction::decreases, 1.5),
                 [](const Problem& p, const Data& d, const LaunchContext&) {
                   return concurrently(copy_by_engine(d.pinned_in, d.on_device, p),
                                       copy_by_engine(d.source, d.pinned_out, p));
                 });
}

// ---- mapped_both: kernels in both directions
//
// Two kernels copy concurrently, one in each direction. The load requests of one kernel share a
// direction of the bus with the stored data of the other kernel.

Variant mapped_both() {
  return variant("mapped_both", "pinned_both", {"on_device", "mapped_out"},
                 time(Direction::increases, 1.1),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return concurrently(copy_by_kernel(d.mapped_in, d.on_device, p, x.device),
                                       copy_by_kernel(d.source, d.mapped_out, p, x.device));
                 });
}

// ---- inputs

constexpr Buffer kInputs[] = {
    &Data::source,    &Data::pageable_in, &Data::pinned_in,  &Data::write_combined_in,
    &Data::mapped_in, &Data::managed_in,  &Data::advised_in, &Data::mostly_read_in};

/// Fills `source` with one sequence, and all arrays on the host with another one.
Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  Steps steps;
  for (const Buffer input : kInputs) {
    const std::uint64_t stream = input == &Data::source ? 0 : 1;
    steps += fill_bits(const_cast<std::uint32_t*>(d.*input), p.n, stream_seed(seed, stream));
  }
  return steps;
}

/// Moves managed memory to its location before each launch: inputs to the host; outputs to the
/// device or, with advice, to the host. Read-mostly memory gets a copy in both memories.
Steps reset(const Problem& p, const Data& d) {
  return Steps(AdviseStep{d.mostly_read_in, p.bytes(), Advice::is_mostly_read}) +
         PrefetchStep{d.mostly_read_in, p.bytes(), true} +
         PrefetchStep{d.mostly_read_in, p.bytes()} +
         Steps(AdviseStep{d.advised_in, p.bytes(), Advice::stays_on_host}) +
         AdviseStep{d.advised_out, p.bytes(), Advice::stays_on_host} +
         PrefetchStep{d.managed_in, p.bytes(), true} + PrefetchStep{d.advised_in, p.bytes(), true} +
         PrefetchStep{d.advised_out, p.bytes(), true} + PrefetchStep{d.managed_out, p.bytes()};
}

// ---- the plain reference

/// Reference of an output: output 0 is on_device, and the other outputs are copies of `source`.
SameElement<std::uint32_t> reference_of(const Data& d, int output) {
  return {output == 0 ? d.pinned_in : d.source};
}

// ---- declaration

Family declare() {
  Family f("host_transfer", Topic::memory, "What does a copy between host and GPU cost?");
  f.physics =
      "Host and device are connected by a bus (PCI Express) with two independent directions. A "
      "copy engine of the GPU moves data over it without the SMs, from and to pages that the "
      "operating system does not move. Kernels can do the same word by word, in host memory that "
      "is mapped for them. The driver migrates pages of managed memory to the processor that "
      "accesses them. A transfer takes a latency of microseconds plus its bytes divided by the "
      "bandwidth of the bus, plus any work of the host's processor.";
  f.extent("n", &Problem::n, 1 << 24, std::int64_t{1} << 28, "4-byte words of the array");
  f.input("source", &Data::source, &Problem::n)
      .input("pageable_in", &Data::pageable_in, &Problem::n)
      .lives_in(Residence::pageable)
      .input("pinned_in", &Data::pinned_in, &Problem::n)
      .lives_in(Residence::pinned)
      .input("write_combined_in", &Data::write_combined_in, &Problem::n)
      .lives_in(Residence::write_combined)
      .input("mapped_in", &Data::mapped_in, &Problem::n)
      .lives_in(Residence::mapped)
      .input("managed_in", &Data::managed_in, &Problem::n)
      .lives_in(Residence::managed)
      .input("advised_in", &Data::advised_in, &Problem::n)
      .lives_in(Residence::managed)
      .input("mostly_read_in", &Data::mostly_read_in, &Problem::n)
      .lives_in(Residence::managed)
      .output("on_device", &Data::on_device, &Problem::n)
      .output("pageable_out", &Data::pageable_out, &Problem::n)
      .lives_in(Residence::pageable)
      .output("pinned_out", &Data::pinned_out, &Problem::n)
      .lives_in(Residence::pinned)
      .output("mapped_out", &Data::mapped_out, &Problem::n)
      .lives_in(Residence::mapped)
      .output("managed_out", &Data::managed_out, &Problem::n)
      .lives_in(Residence::managed)
      .output("advised_out", &Data::advised_out, &Problem::n)
      .lives_in(Residence::managed);
  f.plot("host_transfer", "transfer_rates", "Transfers between host and device: bandwidth by size",
         {{"param.n", "4-byte words"}});
  f.ceilings = {CeilingRows::rate("bus_to_device", {"pinned_in"}, Mode::warm, "param.n")
                    .times([](const DeviceSpec&) { return double{sizeof(std::uint32_t)}; }),
                CeilingRows::rate("bus_to_host", {"pinned_out"}, Mode::warm, "param.n")
                    .times([](const DeviceSpec&) { return double{sizeof(std::uint32_t)}; }),
                CeilingRows::rate("bus_both", {"pinned_both"}, Mode::warm, "param.n")
                    .times([](const DeviceSpec&) { return double{sizeof(std::uint32_t)}; })};
  f.inputs = inputs;
  f.reset = reset;
  set_references(f, &Problem::n,
                 [](const Problem&, const Data& d, int o) { return reference_of(d, o); });
  f.tolerance_derivation = "Zero: copies are bitwise identical.";
  f.variants(pageable_in(), pinned_in(), write_combined_in(), over_the_bus(mapped_in()),
             over_the_bus(managed_in()), over_the_bus(prefetched_in()), over_the_bus(advised_in()),
             over_the_bus(reread_in()), over_the_bus(mostly_read_in()), pageable_out(),
             pinned_out(), over_the_bus(mapped_out()), over_the_bus(managed_out()),
             over_the_bus(prefetched_out()), over_the_bus(advised_out()), pageable_both(),
             pinned_both(), over_the_bus(mapped_both()));
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::host_transfer
