// latency: time from the issue of a step to the issue of the next step, which needs its result.
//
// The question: what is the latency of a dependent step, from a multiply-add to a load from DRAM?
// Latencies determine how many warps, loads per thread or bytes per SM a kernel needs to reach a
// ceiling.
//
// One block executes `steps` dependent steps on an otherwise idle GPU, so time divided by steps is
// the latency. The lanes of a warp access the same address: a load is one request of one sector,
// and the warp does not diverge. The loop adds a jump and two or three instructions per 256 steps,
// about 1 % of a chain of multiply-adds and less of the other chains.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "kernels/common/chase.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/permutation.cuh"

namespace gpuexp::latency {

struct Problem {
  int steps;
  std::int64_t bytes;
};

// In a pointer chase, each step loads the address for the next one; no instruction computes
// anything between two loads. All copies of the buffers have the same order of lines, with their
// own addresses.
struct Data {
  // kLineWords per line: address of the next line, number of the step that leaves this line, 0.
  std::uint64_t* chain;
  float* sums;               // output of fma, one per lane
  std::uint32_t* last;       // output of chases: the line that the last step reaches
  std::uint32_t* tokens;     // output of barrier, one per thread
  std::uint32_t* distances;  // output of chases on all SMs: steps from start to end of each
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- what the kernels share

/// Argument of all kernels on one SM.
struct Task {
  Data d;
  int steps;
  std::int64_t lines;
  std::int64_t first;  ///< line from which the first step starts
  float one;           ///< 1, as a value unknown to the compiler
};

// ---- fma: dependent multiply-adds
//
// Each FFMA uses the result of the previous one as a factor, so the time per step is the latency of
// the FMA pipe. A scheduler issues one instruction per cycle. To keep the pipe full it needs as
// many independent instructions as this latency has cycles, from several warps or from one thread.

__global__ void __launch_bounds__(kWarp) fma_kernel(Task t) {
  auto x = static_cast<float>(threadIdx.x);
  repeat<kUnrolledSteps>(t.steps, [&] { x = fmaf(x, t.one, t.one); });
  t.d.sums[threadIdx.x] = x;
}

// ---- the order of lines in all chases

constexpr std::int64_t kLineBytes = 128;
constexpr std::int64_t kLineWords = kLineBytes / static_cast<std::int64_t>(sizeof(std::uint64_t));
/// Fits in every L1: 28 KiB remain on compute capability 9.0 when shared memory is at its maximum.
constexpr std::int64_t kL1Bytes = 16 * 1024;
/// Number of elements of `distances`, several times the number of SMs of any GPU.
constexpr int kDistances = 1024;

// A chase visits 128 lines of a 4 MiB window in random order, then 128 lines of the next window.
// After the last window, it visits 128 other lines of the first one. No line repeats before all
// lines have been visited.
//
// A window has two pages of 2 MiB, so at most two of 128 steps wait for a translation, however few
// entries the first TLB has. It has 4096 DRAM rows of 1 KiB, so one step in sixty accesses a row
// that the same visit has already opened. Random order avoids strides that prefetchers, banks or
// cache sets could exploit.
constexpr std::int64_t kWindowLines = (std::int64_t{4} << 20) / kLineBytes;
constexpr std::int64_t kVisit = 128;
static_assert(kWindowLines % kVisit == 0, "a window is a whole number of visits");

struct Order {
  Permutation within;
  std::int64_t windows;

  explicit Order(const Problem& p)
      : within(0, std::min(p.bytes / kLineBytes, kWindowLines)),
        windows(std::max<std::int64_t>(1, p.bytes / (kWindowLines * kLineBytes))) {}

  __host__ __device__ std::int64_t lines() const { return windows * within.n; }
  /// Returns the line that step i leaves, for i modulo the number of lines.
  __host__ __device__ std::int64_t operator()(std::int64_t i) const {
    i %= lines();
    const std::int64_t visit = i / kVisit;
    return visit % windows * within.n + within(visit / windows * kVisit + i % kVisit);
  }
};

std::int64_t lines(const Problem& p) {
  return Order(p).lines();
}

// ---- how the variants are launched

constexpr int kBarrierBlock = 256;

/// Work that loads `lines` words of the chain and stores `stored` words of 4 bytes.
Work work(std::int64_t lines, std::int64_t stored) {
  return reads<std::uint64_t>(lines, kLineWords) + writes<std::uint32_t>(stored);
}

/// Returns a variant that is complete except for its launch.
Variant chain(std::string id, std::string compare_to, std::string output) {
  Variant v(std::move(id), std::move(compare_to));
  v.writes = {std::move(output)};
  v.work = [](const Problem& p) { return work(std::min<std::int64_t>(lines(p), p.steps), 1); };
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    return MetricValues{{"chain_steps", static_cast<double>(p.steps)}};
  };
  return v;
}

Variant chain(std::string id, std::string compare_to, std::string output, void (*kernel)(Task),
              int threads) {
  Variant v = chain(std::move(id), std::move(compare_to), std::move(output));
  v.launch = [kernel, threads](const Problem& p, const Data& d, const LaunchContext&) {
    const Order order(p);
    return launch(kernel, shape_of_blocks(1, threads),
                  Task{d, p.steps, order.lines(), order(0), 1.0f});
  };
  return v;
}

std::optional<std::string> not_in_l1(const Problem& p, const DeviceSpec&) {
  if (p.bytes <= kL1Bytes) return lacks_unique_end(lines(p), p.steps);
  return "needs bytes <= " + std::to_string(kL1Bytes) + ", which fits in every L1";
}

// If L2 has two partitions, each one caches the lines that its own SMs read. In a chain larger than
// one partition, steps also access the other partition: 265 cycles up to 20 MB and 475 from 35 to
// 45 MB on an H100 PCIe, which has 25 MB in each (gpu-benches, gpu-latency/h100_pcie.txt).
std::optional<std::string> not_in_l2(const Problem& p, const DeviceSpec& device) {
  if (p.bytes <= device.l2_bytes / 2) return lacks_unique_end(lines(p), p.steps);
  return "needs bytes <= " + std::to_string(device.l2_bytes / 2) + ", half of this device's L2";
}

std::optional<std::string> not_in_dram(const Problem& p, const DeviceSpec& device) {
  const std::int64_t least = 4 * device.l2_bytes;
  if (p.bytes < least)
    return "needs bytes >= " + std::to_string(least) + ", four times this device's L2";
  if (p.steps > lines(p))
    return "needs steps <= " + std::to_string(lines(p)) + ", the number of lines";
  return lacks_unique_end(lines(p), p.steps);
}

std::vector<std::pair<std::string, Value>> shown_in_dram() {
  return {{"bytes", std::int64_t{1} << 29}, {"steps", std::int64_t{1} << 14}};
}

Variant fma() {
  Variant v = chain("fma", "", "sums", fma_kernel, kWarp);
  v.work = [](const Problem& p) {
    Work w = work(0, kWarp);
    w.operations = {{Pipe::fp32, 2.0 * kWarp * p.steps}};
    return w;
  };
  return v;
}

// ---- shared: dependent loads from shared memory
//
// Each LDS uses the result of the previous one as its address. Shared memory has no tags and cannot
// miss. All lanes load the same word, so no bank conflict adds a wavefront.

// Word i is the shared memory address of the word for the line that follows line i.
__global__ void __launch_bounds__(kWarp) shared_kernel(Task t) {
  __shared__ unsigned next[kL1Bytes / kLineBytes];
  constexpr auto kWord = static_cast<unsigned>(sizeof(unsigned));
  const auto begin = static_cast<unsigned>(__cvta_generic_to_shared(next));
  const std::uint64_t chain = __cvta_generic_to_global(t.d.chain);
#pragma unroll 1
  for (int line = threadIdx.x; line < t.lines; line += kWarp) {
    const std::uint64_t follower = (t.d.chain[line * kLineWords] - chain) / kLineBytes;
    next[line] = begin + static_cast<unsigned>(follower) * kWord;
  }
  __syncwarp();
  unsigned at = begin + static_cast<unsigned>(t.first) * kWord;
  repeat<kUnrolledSteps>(t.steps, [&] {
    asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
  });
  if (threadIdx.x == 0) *t.d.last = (at - begin) / kWord;
}

Variant shared() {
  Variant v = chain("shared", "", "last", shared_kernel, kWarp);
  v.unsupported = not_in_l1;
  return v;
}

// ---- l1, l2, dram, atomic_l2: chases in global memory

struct AddZero {  // keeps the chain unchanged
  static __device__ void step(std::uint64_t& at) {
    asm volatile("atom.global.add.u64 %0, [%0], %1;" : "+l"(at) : "l"(std::uint64_t{0}) : "memory");
  }
};

template <class Access>
__global__ void __launch_bounds__(kWarp) chase_kernel(Task t) {
  const std::uint64_t begin = __cvta_generic_to_global(t.d.chain);
  std::uint64_t at = begin + t.first * kLineBytes;
  repeat<kUnrolledSteps>(t.steps, [&] { Access::step(at); });
  if (threadIdx.x == 0) *t.d.last = static_cast<std::uint32_t>((at - begin) / kLineBytes);
}

// ---- l1: dependent loads that hit L1
//
// Each LDG uses the result of the previous one as its address. The chain fits in L1, so only the
// first load of each line misses, and l1_hit_pct is near 100. L1 and shared memory are the same
// memory, but a load through L1 must also look up a tag, so it takes longer than in shared.

Variant l1() {
  Variant v = chain("l1", "shared", "last", chase_kernel<DefaultLoad>, kWarp)
                  .expecting({{"shared_load_wavefronts", Direction::decreases, 2},
                              {"global_load_requests", Direction::increases, 2}});
  v.unsupported = not_in_l1;
  return v;
}

// ---- l2: dependent loads that bypass L1
//
// ld.global.cg bypasses L1, so each step is a round trip across the chip to a slice of L2, averaged
// over near and far slices. In mode warm, the previous launch has loaded the whole chain into L2.
// The chain may be at most as large as one of the two partitions of L2, which caches the lines that
// its own SMs read.

Variant l2() {
  Variant v = chain("l2", "l1", "last", chase_kernel<LoadCg>, kWarp)
                  .expecting({{"l2_sectors", Direction::increases, 2}});
  v.unsupported = not_in_l2;
  return v;
}

// ---- dram: dependent loads that miss L2
//
// The loads are the same as in l2, but each one misses: no line repeats, and in mode cold no line
// is in L2. Latency × bandwidth is the number of bytes that must be in flight to use the full
// bandwidth of DRAM. dram_read_bytes is 2 × 32 = 64 per step if L2 fetches two sectors per miss.

Variant dram() {
  Variant v = chain("dram", "l2", "last", chase_kernel<LoadCg>, kWarp)
                  .expecting({{"l2_hit_pct", Direction::decreases, 2}});
  v.unsupported = not_in_dram;
  v.shown_at = shown_in_dram();
  return v;
}

// ---- atomic_l2: dependent atomic operations
//
// Each step of l2's chase becomes an atomic addition of zero, which returns the next address:
// global_load_requests decreases. A ticket, a lock or the head of a queue has this latency. Only
// one lane executes the steps, because L2 would process 32 additions to one word one after another.
// The difference from l2 is the time of the addition and, if L2 has two partitions, of the way to
// the far one.

Variant atomic_l2() {
  Variant v = chain("atomic_l2", "l2", "last", chase_kernel<AddZero>, 1)
                  .expecting({{"global_load_requests", Direction::decreases, 2}});
  v.unsupported = not_in_l2;
  return v;
}

// ---- l2_all_sms, dram_all_sms: the chases of l2 and dram by one warp on each SM

// Each block starts in its own share of the chain, at a random line if the share is longer than the
// chase. With a fixed line, shares that are whole rounds over the windows (128 SMs in 512 MiB)
// would put all SMs in one window at the same time. Each block stores its distance from its start,
// so results do not depend on the number of blocks.
__global__ void __launch_bounds__(kWarp)
    chase_on_all_sms_kernel(Order order, std::uint64_t* chain, std::uint32_t* distances,
                            int steps) {
  const std::int64_t share = order.lines() / gridDim.x;
  const std::int64_t slack = share > steps ? share - steps : 0;
  const std::int64_t within = random_bits(0, blockIdx.x) % static_cast<std::uint64_t>(slack + 1);
  const std::int64_t start = blockIdx.x * share + within;
  std::uint64_t at = __cvta_generic_to_global(chain + order(start) * kLineWords);
  repeat<kUnrolledSteps>(steps, [&] { LoadCg::step(at); });
  unsigned arrived;
  asm volatile("ld.global.u32 %0, [%1+8];" : "=r"(arrived) : "l"(at) : "memory");
  const std::int64_t distance = (arrived + order.lines() - start) % order.lines();
  for (unsigned i = threadIdx.x * gridDim.x + blockIdx.x; i < kDistances; i += kWarp * gridDim.x)
    distances[i] = static_cast<std::uint32_t>(distance);
}

Variant on_all_sms(std::string id, std::string compare_to) {
  Variant v = chain(std::move(id), std::move(compare_to), "distances");
  // Work of one chase: the number of chases depends on the device.
  v.work = [](const Problem& p) {
    return work(std::min<std::int64_t>(lines(p), p.steps), kDistances);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const Shape s = shape_of_blocks(x.device.sm_count, kWarp);
    return launch(chase_on_all_sms_kernel, s, Order(p), d.chain, d.distances, p.steps);
  };
  return v;
}

std::optional<std::string> too_many_sms(const DeviceSpec& device) {
  if (device.sm_count <= kDistances) return std::nullopt;
  return "needs at most " + std::to_string(kDistances) + " SMs, the number of stored results";
}

// ---- l2_all_sms: L2 latency with all SMs loading
//
// One warp on each SM executes the chase of l2. All warps use one chain, because the SMs share L2,
// but they start far apart, so that few requests are for the same line at the same time. Two
// effects add to the latency of l2: contention in the network, and the longer distance of the SM
// whose chase ends last. l2_sectors increases in proportion to the number of SMs.

Variant l2_all_sms() {
  Variant v = on_all_sms("l2_all_sms", "l2").expecting({{"l2_sectors", Direction::increases, 2}});
  v.unsupported = [](const Problem& p, const DeviceSpec& device) {
    const auto far = not_in_l2(p, device);
    return far ? far : too_many_sms(device);
  };
  return v;
}

// ---- dram_all_sms: DRAM latency with all SMs loading
//
// One warp on each SM executes the chase of dram. No two warps access the same line, so every step
// misses L2 as in dram. Two effects add to the latency of dram: contention in the network and in
// DRAM, and the longer distance of the SM whose chase ends last. dram_read_bytes increases in
// proportion to the number of SMs.

Variant dram_all_sms() {
  Variant v =
      on_all_sms("dram_all_sms", "dram").expecting({{"dram_read_bytes", Direction::increases, 2}});
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (const auto near = not_in_dram(p, device)) return near;
    const std::int64_t most = lines(p) / device.sm_count;
    if (p.steps > most)
      return "needs steps <= " + std::to_string(most) + ", an SM's share of the lines";
    return too_many_sms(device);
  };
  v.shown_at = shown_in_dram();
  return v;
}

// ---- barrier: consecutive barriers
//
// Eight warps execute __syncthreads() with no work in between. This is the cost of a barrier at
// which all warps arrive at the same time. In a tiled kernel, stalled_barrier beyond this cost is
// the wait for the last warp.

__global__ void __launch_bounds__(kBarrierBlock) barrier_kernel(Task t) {
  __shared__ unsigned numbers[kBarrierBlock];
  const unsigned thread = threadIdx.x;
  numbers[thread] = thread;
  repeat<kUnrolledSteps>(t.steps, [] { __syncthreads(); });
  t.d.tokens[thread] = numbers[(thread + kWarp) % kBarrierBlock];
}

Variant barrier() {
  Variant v = chain("barrier", "", "tokens", barrier_kernel, kBarrierBlock);
  v.work = [](const Problem&) { return work(0, kBarrierBlock); };
  return v;
}

// ---- inputs: the chain of lines

__global__ void link_kernel(Order order, std::uint64_t* chain) {
  for_items_of_thread(order.lines(), [&](std::int64_t i) {
    std::uint64_t* const line = chain + order(i) * kLineWords;
    line[0] = __cvta_generic_to_global(chain + order(i + 1) * kLineWords);
    line[1] = static_cast<std::uint64_t>(i);
  });
}

Steps inputs(const Problem& p, const Data& d, std::uint64_t) {
  const Order order(p);
  return Steps(MemsetStep{d.chain, 0, order.lines() * kLineBytes}) +
         launch(link_kernel, grid_stride(order.lines(), 65536), order, d.chain);
}

// ---- the plain reference

enum Output { sums, last, tokens, distances };  // order of declaration
constexpr int kCounts[] = {kWarp, 1, kBarrierBlock, kDistances};

struct Expected {
  Output output;
  Order order;
  int steps;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    if (output == sums) return {static_cast<double>(i + steps), 0.0};  // lane i starts at i
    if (output == last) return {static_cast<double>(order(steps)), 0.0};
    if (output == distances) return {static_cast<double>(steps % order.lines()), 0.0};
    return {static_cast<double>((i + kWarp) % kBarrierBlock), 0.0};  // thread i + 32 wrote it
  }
};

Steps reference(const Problem& p, const Data&, const std::vector<ReferenceView>& out) {
  Steps steps;
  for (const Output o : {sums, last, tokens, distances})
    steps += evaluate_reference(out[o], kCounts[o], Expected{o, Order(p), p.steps});
  return steps;
}

// ---- declaration

Family declare() {
  Family f("latency", Topic::limits, "What is the latency of one dependent step?");
  f.physics =
      "A result takes a few cycles through an arithmetic pipe, about thirty from the SM's own "
      "memory, hundreds across the chip to L2, and about as many again to DRAM, whose part of the "
      "latency is constant in nanoseconds and not in cycles. To reach a throughput, throughput "
      "times latency must be in flight (Little's law). One chain on an idle GPU shows the latency "
      "without contention; one chain on every SM adds contention between SMs; several loads per "
      "SM add queueing. A step of dram is an L2 miss, the activation of a DRAM row and, in one "
      "step of 64, the translation of a page. Each chase visits 128 random lines of 4 MiB before "
      "those of the next 4 MiB, so TLBs hit and rows are rarely open. Strides beyond the reach "
      "of the TLBs would add a walk of the page table to every step.";
  f.extent("steps", &Problem::steps, (1 << 15) + 1, 1 << 20, "dependent steps per chain")
      .integer("bytes", &Problem::bytes, kL1Bytes, 4096, std::int64_t{1} << 36, "B",
               "size of the chain, in lines of 128 bytes; above 4 MiB a multiple of 4 MiB");
  f.input("chain", &Data::chain, [](const Problem& p) { return lines(p) * kLineWords; })
      .output("sums", &Data::sums, [](const Problem&) { return kWarp; })
      .output("last", &Data::last, [](const Problem&) { return 1; })
      .output("tokens", &Data::tokens, [](const Problem&) { return kBarrierBlock; })
      .output("distances", &Data::distances, [](const Problem&) { return kDistances; });
  f.metric("chain_steps", "",
           "dependent steps per chain; (time_median_us - floor_us) / chain_steps is the latency of "
           "one step");
  for (const char* id :
       {"dram", "dram_all_sms", "l2", "l2_all_sms", "l1", "shared", "barrier", "fma"}) {
    const std::string variant(id);
    const Mode mode = variant.rfind("dram", 0) == 0 ? Mode::cold : Mode::warm;
    f.ceilings.push_back(
        CeilingRows::latency(variant + "_latency", {variant}, mode, "metric.chain_steps")
            .without_launch());
  }
  f.outputs = [](const Problem&) { return Extent{1, 1, 1}; };
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance_derivation =
      "Zero: lines, distances and tokens are integers. Sums are integers below 2^21 to which each "
      "step adds one, exact in fp32.";
  f.variants(fma(), shared(), l1(), l2(), dram(), l2_all_sms(), dram_all_sms(), atomic_l2(),
             barrier());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::latency
