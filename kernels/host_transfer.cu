// host_transfer: an array between the host's memory and the device's, one way, the other, and both.
//
// The question: what does it cost to bring data to the GPU and back? The bus between the two is ten
// to a hundred times slower than either memory. How near a transfer comes to what the bus allows
// depends on where the host keeps the data: a copy engine reads pages that the operating system has
// promised not to move (pinned); others are copied to such ones first. A kernel may read the host's
// memory in place, word by word over the bus, or have pages move to it when it touches them.
//
// Times are of the host's clock, from before the first call until the host knows that the data are
// there: that is what a program waits for, and small transfers are all latency.
#include <algorithm>

#include "kernels/common/family.cuh"

namespace gpuexp::host_transfer {

struct Problem {
  std::int64_t n;

  std::int64_t bytes() const { return n * std::int64_t{sizeof(std::uint32_t)}; }
};

// n elements each. What is copied to the device stands in each kind of the host's memory; what is
// copied to the host comes from `source`.
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

// ---- the kernel of those that need one

// Sixteen bytes per lane and four of them in flight: a transfer over the bus takes microseconds.

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

/// A variant that moves an array for each of the outputs that it writes.
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
    // Device memory reads or writes what crosses the bus.
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

/// Changes of the time at large sizes.
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
/// The variant, whose kernel reads or writes what is not in device memory.
Variant over_the_bus(Variant v) {
  v.without_time = "how kernels reach the host's memory is not modelled";
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

/// The second in a stream of its own, at once with the first.
Steps at_once(Steps first, Steps second) {
  for (Step& step : second.all())
    step.stream = 1;
  return std::move(first) + std::move(second);
}

// ---- pageable_in
//
// cudaMemcpy from memory as malloc gives it. The operating system may move its pages, so the driver
// copies a piece after the other to pinned memory of its own, from where a copy engine takes it:
// the host's processor works as long as the transfer lasts, and the call does not return before.

Variant pageable_in() {
  return variant("pageable_in", "", {"on_device"}, {}, engine_in<&Data::pageable_in>);
}

// ---- pinned_in
//
// From page-locked memory a copy engine of the GPU reads by itself, at the speed of the bus, and
// the host is free. It costs the operating system pages that it can use for nothing else.

Variant pinned_in() {
  return variant("pinned_in", "pageable_in", {"on_device"}, time(Direction::decreases, 1.2),
                 engine_in<&Data::pinned_in>);
}

// ---- write_combined_in
//
// Page-locked memory that the host's caches pass by: the GPU's reads need not ask them. It costs
// the host every read of it, which is slow; writing it in order is not.

Variant write_combined_in() {
  return variant("write_combined_in", "pinned_in", {"on_device"}, time(Direction::unchanged, 1.2),
                 engine_in<&Data::write_combined_in>);
}

// ---- mapped_in
//
// A kernel reads page-locked memory in place, over the bus (zero copy), and writes what it read to
// the device: no copy has to end before a kernel begins. What is read again crosses the bus again.

Variant mapped_in() {
  return variant("mapped_in", "pinned_in", {"on_device"}, time(Direction::unchanged, 1.5),
                 kernel_in<&Data::mapped_in>);
}

// ---- managed_in
//
// The pages are the host's until a kernel touches them: each first touch is a fault, which the
// driver answers by moving a group of pages. It saves the program all copies, and costs the time of
// the faults, which come in sequence.

Variant managed_in() {
  return variant("managed_in", "pinned_in", {"on_device"}, time(Direction::increases, 1.2),
                 kernel_in<&Data::managed_in>);
}

// ---- prefetched_in
//
// The same after cudaMemPrefetchAsync, which moves all pages ahead of the kernel: no faults are
// left. It takes a call that knows what will be touched.

Variant prefetched_in() {
  return variant("prefetched_in", "managed_in", {"on_device"}, time(Direction::decreases, 1.2),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return Steps(PrefetchStep{d.managed_in, p.bytes()}) +
                          copy_by_kernel(d.managed_in, d.on_device, p, x.device);
                 });
}

// ---- advised_in
//
// Managed memory that is advised to stay on the host and to be mapped for the device
// (cudaMemAdvise): the kernel reads it over the bus, as it does mapped memory, and no page moves.

Variant advised_in() {
  return variant("advised_in", "managed_in", {"on_device"}, time(Direction::decreases, 1.2),
                 kernel_in<&Data::advised_in>);
}

// ---- reread_in
//
// The kernel reads managed memory of the host, and the host reads it again after the kernel. A page
// is in one place only: it moves to the device by a fault of the GPU's, and back by one of the
// host's.

Variant reread_in() {
  return variant("reread_in", "managed_in", {"on_device"}, time(Direction::increases, 1.2),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return copy_by_kernel(d.managed_in, d.on_device, p, x.device) +
                          HostReadStep{d.managed_in, p.bytes()};
                 });
}

// ---- mostly_read_in
//
// The same with advice that the memory is mostly read: whoever reads a page gets a copy of its own,
// and keeps it until somebody writes. The copies are made before the clock starts, as they are once
// in a program: after that, neither reader waits for the bus.

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

// ---- pageable_out
//
// The way back, to memory as malloc gives it: through pinned memory of the driver's, piece by
// piece.

Variant pageable_out() {
  return variant("pageable_out", "", {"pageable_out"}, {}, engine_out<&Data::pageable_out>);
}

// ---- pinned_out
//
// A copy engine writes to page-locked memory. The engine is another one than that of the way in.

Variant pinned_out() {
  return variant("pinned_out", "pageable_out", {"pinned_out"}, time(Direction::decreases, 1.2),
                 engine_out<&Data::pinned_out>);
}

// ---- mapped_out
//
// A kernel writes page-locked memory in place. Writes need not wait for an answer, so that few
// threads fill the bus.

Variant mapped_out() {
  return variant("mapped_out", "pinned_out", {"mapped_out"}, time(Direction::unchanged, 1.5),
                 kernel_out<&Data::mapped_out>);
}

// ---- managed_out
//
// A kernel writes managed memory on the device, and the host then touches each page, which moves to
// it by a fault of the host's processor.

Variant managed_out() {
  return variant("managed_out", "pinned_out", {"managed_out"}, time(Direction::increases, 1.2),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return copy_by_kernel(d.source, d.managed_out, p, x.device) +
                          HostReadStep{d.managed_out, p.bytes()};
                 });
}

// ---- prefetched_out
//
// The same with a prefetch to the host behind the kernel.

Variant prefetched_out() {
  return variant("prefetched_out", "managed_out", {"managed_out"}, time(Direction::decreases, 1.2),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return copy_by_kernel(d.source, d.managed_out, p, x.device) +
                          PrefetchStep{d.managed_out, p.bytes(), true} +
                          HostReadStep{d.managed_out, p.bytes()};
                 });
}

// ---- advised_out
//
// Managed memory that stays on the host: the kernel writes it over the bus.

Variant advised_out() {
  return variant("advised_out", "managed_out", {"advised_out"}, time(Direction::decreases, 1.2),
                 kernel_out<&Data::advised_out>);
}

// ---- pageable_both
//
// One array each way, in two streams. A copy of pageable memory keeps the host until it is done, so
// that the second is not even begun.

Variant pageable_both() {
  return variant("pageable_both", "", {"on_device", "pageable_out"}, {},
                 [](const Problem& p, const Data& d, const LaunchContext&) {
                   return at_once(copy_by_engine(d.pageable_in, d.on_device, p),
                                  copy_by_engine(d.source, d.pageable_out, p));
                 });
}

// ---- pinned_both
//
// The two directions of the bus are lanes of their own, and each has a copy engine: both arrays
// take about what one does.

Variant pinned_both() {
  return variant("pinned_both", "pageable_both", {"on_device", "pinned_out"},
                 time(Direction::decreases, 1.5),
                 [](const Problem& p, const Data& d, const LaunchContext&) {
                   return at_once(copy_by_engine(d.pinned_in, d.on_device, p),
                                  copy_by_engine(d.source, d.pinned_out, p));
                 });
}

// ---- mapped_both
//
// The same by two kernels at once. On the bus, the requests of one and the data of the other go the
// same way.

Variant mapped_both() {
  return variant("mapped_both", "pinned_both", {"on_device", "mapped_out"},
                 time(Direction::increases, 1.1),
                 [](const Problem& p, const Data& d, const LaunchContext& x) {
                   return at_once(copy_by_kernel(d.mapped_in, d.on_device, p, x.device),
                                  copy_by_kernel(d.source, d.mapped_out, p, x.device));
                 });
}

// ---- inputs

constexpr Buffer kInputs[] = {
    &Data::source,    &Data::pageable_in, &Data::pinned_in,  &Data::write_combined_in,
    &Data::mapped_in, &Data::managed_in,  &Data::advised_in, &Data::mostly_read_in};

/// Those of `source` differ from those of the host's, which are all the same.
Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  Steps steps;
  for (const Buffer input : kInputs) {
    const std::uint64_t stream = input == &Data::source ? 0 : 1;
    steps += fill_bits(const_cast<std::uint32_t*>(d.*input), p.n, stream_seed(seed, stream));
  }
  return steps;
}

/// Managed memory as launches find it: what they read on the host, what they write on the device
/// or, where advice keeps it there, on the host. What is mostly read has a copy in both places:
/// inputs were written on the device.
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

/// on_device is the first output, and the host's are copies of `source`.
SameElement<std::uint32_t> reference_of(const Data& d, int output) {
  return {output == 0 ? d.pinned_in : d.source};
}

// ---- declaration

Family declare() {
  Family f("host_transfer", Topic::memory, "What does it cost to bring data to the GPU and back?");
  f.physics =
      "Host and device are joined by a bus (PCI Express) whose two directions are apart. A copy "
      "engine of the GPU moves data over it without the SMs, from and to pages that stay where "
      "they are. Kernels can do the same word by word, in the host's memory that is mapped for "
      "them. Of managed memory the driver moves pages to whoever touches them. What a transfer "
      "takes is a latency of microseconds and the bytes over what the bus delivers; whatever the "
      "host's processor has to do comes on top.";
  f.extent("n", &Problem::n, 1 << 24, std::int64_t{1} << 28, "words of 4 bytes");
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
  f.figure("host_transfer", "transfer_rates",
           "Between the host's memory and the device's: bytes per second, each way",
           {{"param.n", "words of 4 bytes"}});
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
  f.tolerance_derivation = "Zero: copies have equal bits.";
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
