// latency: how long a warp waits for the result of one step before it can make the next.
//
// The question: what does a dependent step cost, from a multiply-add to a load that comes from
// DRAM? Latency bounds no kernel that has enough in flight: by Little's law, rate times latency. So
// these are the numbers that say how many warps, loads per thread or bytes per SM a ceiling takes.
//
// One block makes `steps` steps, each of which needs the result of the one before, on a GPU that
// does nothing else: time over steps is the latency. The lanes of a warp do the same at the same
// address, so that a load is one request of one sector, as a single lane's would be, and no branch
// parts them. The loop adds a jump and two or three instructions to 256 steps, about 1 % of a chain
// of multiply-adds and less of the others; floor_us, which the launch itself takes, is to be
// subtracted.
//
// Most kernels wait on a GPU whose other SMs load as well: two variants make the steps of l2 and of
// dram on all SMs at once, a block on each.
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

// A step of a pointer chase loads the address of the next one, so that nothing is computed between
// two loads. Each copy of the problem has addresses of its own; the order of lines is the same.
struct Data {
  // kLineWords per line: the next line's address, the number of the step that leaves this line, 0.
  std::uint64_t* chain;
  float* sums;               // of fma, one per lane
  std::uint32_t* last;       // of chases: the line that the last step arrived at
  std::uint32_t* tokens;     // of barrier, one per thread
  std::uint32_t* distances;  // of chases on all SMs: by how many steps each is past its start
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- what the kernels share

/// What every kernel gets.
struct Task {
  Data d;
  int steps;
  std::int64_t lines;
  std::int64_t first;  ///< line of the first step
  float one;           ///< 1, which the compiler does not know
};

// ---- fma
//
// FFMA, the factor of each the result of the last: the latency of the pipe. A scheduler that issues
// one instruction per clock needs as many independent ones as this has clocks, from its warps or
// from within a thread, to keep the pipe full.

__global__ void __launch_bounds__(kWarp) fma_kernel(Task t) {
  auto x = static_cast<float>(threadIdx.x);
  repeat<kUnrolledSteps>(t.steps, [&] { x = fmaf(x, t.one, t.one); });
  t.d.sums[threadIdx.x] = x;
}

// ---- the order of lines, which all chases share

constexpr std::int64_t kLineBytes = 128;
constexpr std::int64_t kLineWords = kLineBytes / static_cast<std::int64_t>(sizeof(std::uint64_t));
/// Less than any L1 has: 28 KiB are left on compute capability 9.0 when shared memory takes most.
constexpr std::int64_t kNearBytes = 16 * 1024;
/// Blocks on all SMs fill so many between them: several times as many as any GPU has SMs.
constexpr int kDistances = 1024;

// Random within windows of 4 MiB, 128 lines of one before the next has its turn; once all have had
// theirs, 128 others of the first. No line comes twice before every line has come once.
//
// A window is small for the sake of the TLBs: two pages of 2 MiB, so that no more than two steps of
// 128 wait for a translation, too, however few entries the first TLB has. It is large for the sake
// of DRAM: 4096 rows of 1 KiB, so that one step in sixty meets a row which the visit has opened
// before. Random order leaves no stride that prefetchers, banks or cache sets could know.
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
  /// The line that step i leaves, i modulo the number of lines.
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

/// Of loading `lines` words of the chain and storing `stored` words of 4 bytes.
Work work(std::int64_t lines, std::int64_t stored) {
  return reads<std::uint64_t>(lines, kLineWords) + writes<std::uint32_t>(stored);
}

/// All but the launch.
Variant chain(std::string id, std::string compare_to, std::string output) {
  Variant v(std::move(id), std::move(compare_to));
  v.writes = {std::move(output)};
  v.work = [](const Problem& p) { return work(std::min<std::int64_t>(lines(p), p.steps), 1); };
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    return MetricValues{{"chain_steps", static_cast<double>(p.steps)}};
  };
  return v;
}

/// One chain on an idle GPU.
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

std::optional<std::string> not_near(const Problem& p, const DeviceSpec&) {
  if (p.bytes <= kNearBytes) return ends_at_its_start(lines(p), p.steps);
  return "needs bytes <= " + std::to_string(kNearBytes) + ", which any L1 keeps";
}

// Where L2 has two partitions, each keeps what its own SMs read. Beyond that a step goes to the
// other one: 265 clocks up to 20 MB and 475 from 35 to 45 on an H100 PCIe, which has 25 MB in each
// (gpu-benches, gpu-latency/h100_pcie.txt).
std::optional<std::string> not_in_l2(const Problem& p, const DeviceSpec& device) {
  if (p.bytes <= device.l2_bytes / 2) return ends_at_its_start(lines(p), p.steps);
  return "needs bytes <= " + std::to_string(device.l2_bytes / 2) + ", half of this device's L2";
}

std::optional<std::string> not_in_dram(const Problem& p, const DeviceSpec& device) {
  const std::int64_t least = 4 * device.l2_bytes;
  if (p.bytes < least)
    return "needs bytes >= " + std::to_string(least) + ", four times this device's L2";
  if (p.steps > lines(p))
    return "needs steps <= " + std::to_string(lines(p)) + ", the number of lines";
  return ends_at_its_start(lines(p), p.steps);
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

// ---- shared
//
// LDS whose address is the last one's result. No tag is looked up and nothing can miss. All lanes
// name one word, so that no two meet in a bank; a conflict would add a wavefront.

// Word i is the shared address of the word of the line that follows line i.
__global__ void __launch_bounds__(kWarp) shared_kernel(Task t) {
  __shared__ unsigned next[kNearBytes / kLineBytes];
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
  v.unsupported = not_near;
  return v;
}

// ---- l1, l2, dram, atomic_l2: chases in global memory

struct AddZero {  // leaves the chain as it is
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

// ---- l1
//
// LDG whose address is the last one's result, over so few lines that only the first round misses
// and l1_hit_pct is near 100: the same memory as shared's, behind a translation and a tag. The
// difference is the price of a cache against memory that the program fills itself.

Variant l1() {
  Variant v = chain("l1", "shared", "last", chase_kernel<DefaultLoad>, kWarp)
                  .expecting({{"shared_load_wavefronts", Direction::decreases, 2},
                              {"global_load_requests", Direction::increases, 2}});
  v.unsupported = not_near;
  return v;
}

// ---- l2
//
// ld.global.cg, which L1 does not keep: across the chip to a slice of L2 and back, the mean over
// near slices and far ones. In mode warm the chain was walked before, and L2 has all of it. It may
// span as much of L2 as one of its two partitions keeps of what its SMs read.

Variant l2() {
  Variant v = chain("l2", "l1", "last", chase_kernel<LoadPastL1>, kWarp)
                  .expecting({{"l2_sectors", Direction::increases, 2}});
  v.unsupported = not_in_l2;
  return v;
}

// ---- dram
//
// The same loads where each one misses, because no line comes again and mode cold left none of them
// in L2; in other modes this measures what L2 kept of the launch before. Times the bandwidth, it is
// what has to be in flight to use all of DRAM. dram_read_bytes is 2 × 32 = 64 per step where L2
// fetches two sectors.

Variant dram() {
  Variant v = chain("dram", "l2", "last", chase_kernel<LoadPastL1>, kWarp)
                  .expecting({{"l2_hit_pct", Direction::decreases, 2}});
  v.unsupported = not_in_dram;
  v.shown_at = shown_in_dram();
  return v;
}

// ---- atomic_l2
//
// The chase of l2 by atomic additions of zero, which return the next address: what a ticket, a lock
// or the head of a queue waits for. One lane makes them, where 32 would queue for one word. L2 adds
// where the line has its home, so what exceeds l2 is the addition and, where L2 has two partitions,
// the way to the far one.

Variant atomic_l2() {
  Variant v = chain("atomic_l2", "l2", "last", chase_kernel<AddZero>, 1)
                  .expecting({{"global_load_requests", Direction::decreases, 2}});
  v.unsupported = not_in_l2;
  return v;
}

// ---- l2_all_sms, dram_all_sms: the chases of l2 and dram by a warp on every SM

// Each block has a share of the chain, and starts in its own. Where the share is longer than the
// chase, the start within it is random: shares that end with a visit to the last window (those of
// 128 SMs in 512 MiB) would have all SMs in one window at a time, in rows that others have opened.
// How many blocks there are does not show in the results: all come equally far from their starts.
__global__ void __launch_bounds__(kWarp)
    chase_on_all_sms_kernel(Order order, std::uint64_t* chain, std::uint32_t* distances,
                            int steps) {
  const std::int64_t share = order.lines() / gridDim.x;
  const std::int64_t slack = share > steps ? share - steps : 0;
  const std::int64_t within = random_bits(0, blockIdx.x) % static_cast<std::uint64_t>(slack + 1);
  const std::int64_t start = blockIdx.x * share + within;
  std::uint64_t at = __cvta_generic_to_global(chain + order(start) * kLineWords);
  repeat<kUnrolledSteps>(steps, [&] { LoadPastL1::step(at); });
  unsigned arrived;
  asm volatile("ld.global.u32 %0, [%1+8];" : "=r"(arrived) : "l"(at) : "memory");
  const std::int64_t distance = (arrived + order.lines() - start) % order.lines();
  for (unsigned i = threadIdx.x * gridDim.x + blockIdx.x; i < kDistances; i += kWarp * gridDim.x)
    distances[i] = static_cast<std::uint32_t>(distance);
}

Variant on_all_sms(std::string id, std::string compare_to) {
  Variant v = chain(std::move(id), std::move(compare_to), "distances");
  // Of one of the chases: how many there are, the device says.
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
  return "needs at most " + std::to_string(kDistances) + " SMs, whose results it has room for";
}

// ---- l2_all_sms
//
// The chase of l2 by a warp on every SM at once, as loads of a kernel wait that fills the device.
// All walk one chain, because SMs share most of what L2 has for them, from places far apart,
// because they seldom ask for one line at one time. A load per SM is far below L2's bandwidth: what
// exceeds l2 is what requests meet on their way, and the longer way of the SM whose chase ends
// last. l2_sectors is that of l2 times the SMs.

Variant l2_all_sms() {
  Variant v = on_all_sms("l2_all_sms", "l2").expecting({{"l2_sectors", Direction::increases, 2}});
  v.unsupported = [](const Problem& p, const DeviceSpec& device) {
    const auto far = not_in_l2(p, device);
    return far ? far : too_many_sms(device);
  };
  return v;
}

// ---- dram_all_sms
//
// The chase of dram by a warp on every SM at once, each through lines that no other comes to, so
// that every step misses L2 as dram's do; each SM stays in a window for 128 steps, too, and SMs are
// spread over all windows. What exceeds dram is what requests meet on their way and in DRAM, and
// the longer way of the SM whose chase ends last. dram_read_bytes is that of dram times the SMs.

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

// ---- barrier
//
// __syncthreads() of eight warps with nothing in between: what they pay for meeting when all arrive
// together, as at each tile of a tiled kernel. What stalled_barrier shows there beyond it is the
// wait for the last to arrive.

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

enum Output { sums, last, tokens, distances };  // in the order of their declaration
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
  Family f("latency", Topic::limits, "How long does one dependent step take to come back?");
  f.physics =
      "A result takes as long as its way: a few clocks through a pipe, some thirty to the SM's "
      "own memory, hundreds across the chip to L2, and as much again to DRAM, whose share is "
      "nanoseconds and not clocks. What must be in flight to reach a rate is the rate times this "
      "(Little's law). One chain on an idle GPU shows it bare; one on every SM shows what the way "
      "adds when all SMs use it; more loads of each add queues. dram is "
      "a miss of L2, the opening of a row and, in one step of 64, a page's translation: 128 random "
      "lines of 4 MiB come before those of the next 4 MiB, so that TLBs hit and open rows do not. "
      "Strides beyond the reach of the TLBs would add a walk of the page table to every step.";
  f.extent("steps", &Problem::steps, (1 << 15) + 1, 1 << 20, "dependent steps of the chain")
      .integer("bytes", &Problem::bytes, kNearBytes, 4096, std::int64_t{1} << 36, "B",
               "what a chase walks, by lines of 128 bytes; more than 4 MiB in whole 4 MiB");
  f.input("chain", &Data::chain, [](const Problem& p) { return lines(p) * kLineWords; })
      .output("sums", &Data::sums, [](const Problem&) { return kWarp; })
      .output("last", &Data::last, [](const Problem&) { return 1; })
      .output("tokens", &Data::tokens, [](const Problem&) { return kBarrierBlock; })
      .output("distances", &Data::distances, [](const Problem&) { return kDistances; });
  f.metric("chain_steps", "",
           "dependent steps of a chain; time_median_us less floor_us over them is the latency of "
           "one");
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
      "Zero: lines, distances and tokens are whole numbers, and sums are whole numbers below 2^21 "
      "to which each step adds one, exact in fp32.";
  f.variants(fma(), shared(), l1(), l2(), dram(), l2_all_sms(), dram_all_sms(), atomic_l2(),
             barrier());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::latency
