// hierarchy: what a load takes to come back, by where its data lie and how many of them there are.
//
// The question: how large is each memory that serves a load, and how far away is it? A chain of
// loads, each of which needs the address that the last one brought, over a working set of `bytes`
// answers both. As long as the set fits into a memory, each step takes the latency of that memory;
// beyond it some steps go further, and the latency rises: a knee.
//
// A node of the chain lies every `stride` bytes. The order is random over the whole set, so that no
// prefetcher, cache set or open row of DRAM can know the next step. A stride of a page makes few
// nodes touch many pages: L2 then holds the nodes, and what a step takes beyond L2's latency is the
// translation of its address.
//
// The kernel reads the clocks itself, around `steps` steps. Before them all SMs touch the whole
// set, so that L2 holds what it can of it, and a lap of a few thousand nodes fills L1.
#include "kernels/common/chase.cuh"
#include "kernels/common/cluster.cuh"
#include "kernels/common/compiled_for.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/permutation.cuh"
#include "kernels/common/texture_fetch.cuh"

namespace gpuexp::hierarchy {

struct Problem {
  int steps;
  std::int64_t bytes;
  std::int64_t stride;
};

struct Data {
  std::uint64_t* chain;    // words of a node: the next one's address, its own, the next one's texel
  std::uint32_t* arrived;  // of walks, by lane: the node that the last step came to
  std::uint32_t* visited;  // of l2_by_line, by lane: the node that was loaded last
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

/// The nodes in a random order that has each once.
struct Order {
  Permutation permutation;

  explicit Order(const Problem& p)
      : permutation(0, std::max<std::int64_t>(1, p.bytes / p.stride)) {}

  __host__ __device__ std::int64_t nodes() const { return permutation.n; }
  /// The node that step i leaves, i modulo the number of nodes.
  __host__ __device__ std::int64_t at(std::int64_t i) const { return permutation(i % nodes()); }
  __host__ __device__ std::int64_t behind(std::int64_t node) const {
    return at(permutation.inverse(node) + 1);
  }
};

struct Task {
  std::uint64_t* chain;
  std::int64_t stride;
  std::int64_t first;  // node
  int untimed;         // steps
  int steps;
  std::uint32_t* arrived;
  Clocks* clocks;
};

__device__ void leave(const Task& t, std::uint32_t node, const Clocks& clocks) {
  t.arrived[threadIdx.x] = node;
  if (threadIdx.x == 0) *t.clocks = clocks;
}

// ---- shared
//
// LDS, from memory that the program fills itself: no tag, no translation, and nothing to miss. It
// ends where a block can have no more of it.

extern __shared__ unsigned shared_nodes[];

__global__ void __launch_bounds__(kWarp) shared_kernel(Order order, Task t) {
  const auto begin = static_cast<unsigned>(__cvta_generic_to_shared(shared_nodes));
  const auto stride = static_cast<unsigned>(t.stride);
  for (unsigned node = threadIdx.x; node < order.nodes(); node += kWarp)
    shared_nodes[node * stride / sizeof(unsigned)] =
        begin + static_cast<unsigned>(order.behind(node)) * stride;
  __syncwarp();
  unsigned at = begin + static_cast<unsigned>(t.first) * stride;
  const Clocks clocks = timed_steps(t.untimed, t.steps, [&] {
    asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
  });
  leave(t, (at - begin) / stride, clocks);
}

// ---- how walks are launched

// A lap of more nodes than any L1 has lines.
constexpr std::int64_t kMostUntimed = 4096;
std::int64_t untimed_steps(const Problem& p) {
  return std::min(Order(p).nodes(), kMostUntimed);
}

/// Useful bytes: a word of each node that the steps come to, and a word per lane.
Work work(const Problem& p) {
  constexpr std::int64_t kWord = sizeof(std::uint64_t);
  const std::int64_t nodes = std::min<std::int64_t>(Order(p).nodes(), p.steps);
  return reads<std::uint64_t>(nodes, p.stride / kWord) + writes<std::uint32_t>(kWarp);
}

Task task(const Problem& p, const Data& d, Clocks* clocks) {
  return {d.chain, p.stride,  Order(p).at(0), static_cast<int>(untimed_steps(p)),
          p.steps, d.arrived, clocks};
}

/// A warp on one SM, which `walk` makes walk.
template <class Walk>
Variant walking(std::string id, Walk walk) {
  Variant v(std::move(id));
  v.writes = {"arrived"};
  v.work = work;
  v.unsupported = [](const Problem& p, const DeviceSpec&) {
    return ends_at_its_start(Order(p).nodes(), untimed_steps(p) + p.steps);
  };
  measure_walks<Variant, Problem, Data>(v, walk);
  return v;
}

Shape one_warp(std::int64_t dynamic_shared_bytes = 0) {
  return shape_of_shares({1}, {1}, kWarp, dynamic_shared_bytes);
}

std::optional<std::string> not_in_shared(const Problem& p, std::int64_t bytes,
                                         const DeviceSpec& device) {
  const std::int64_t most = device.sm.shared_bytes_per_block;
  if (bytes <= most) return ends_at_its_start(Order(p).nodes(), untimed_steps(p) + p.steps);
  return "needs " + std::to_string(bytes) + " bytes of shared memory in a block, of which " +
         device.name + " gives it " + std::to_string(most);
}

Variant shared() {
  const auto bytes = [](const Problem& p) { return Order(p).nodes() * p.stride; };
  Variant v = walking(
      "shared", [bytes](const Problem& p, const Data& d, const LaunchContext&, Clocks* clocks) {
        return launch(shared_kernel, one_warp(bytes(p)), Order(p), task(p, d, clocks));
      });
  v.unsupported = [bytes](const Problem& p, const DeviceSpec& device) {
    return not_in_shared(p, bytes(p), device);
  };
  return v;
}

// ---- distributed_shared
//
// The same through the network between the SMs of a cluster: the nodes lie in the shared memory of
// the seven other blocks of a cluster of eight, by turns. It is further than L1 and nearer than L2,
// and as large as seven blocks' own.

constexpr int kOthers = kMostClusterBlocks - 1;

// Node i lies in block 1 + i % kOthers, and has its own number beside the next node's address.
__global__ void __launch_bounds__(kWarp) distributed_shared_kernel(Order order, Task t) {
  constexpr unsigned kWord = sizeof(unsigned);
  const auto begin = static_cast<unsigned>(__cvta_generic_to_shared(shared_nodes));
  const auto address = [&](std::int64_t node) {
    const auto place = static_cast<unsigned>(node / kOthers * t.stride);
    return mapped_shared(begin + place, static_cast<unsigned>(1 + node % kOthers));
  };
  const unsigned rank = cluster_rank();
  if (rank > 0) {
    for (std::int64_t node = rank - 1 + threadIdx.x * kOthers; node < order.nodes();
         node += kWarp * kOthers) {
      unsigned* const words = shared_nodes + node / kOthers * t.stride / kWord;
      words[0] = address(order.behind(node));
      words[1] = static_cast<unsigned>(node);
    }
  }
  sync_cluster();
  if (rank == 0) {
    unsigned at = address(t.first);
    const Clocks clocks = timed_steps(t.untimed, t.steps, [&] { at = load_cluster_shared(at); });
    leave(t, load_cluster_shared(at + kWord), clocks);
  }
  sync_cluster();  // a block's memory is there for as long as the block is
}

Variant distributed_shared() {
  const auto bytes = [](const Problem& p) {
    return ceil_div(Order(p).nodes(), kOthers) * p.stride;
  };
  Variant v = walking("distributed_shared", [bytes](const Problem& p, const Data& d,
                                                    const LaunchContext&, Clocks* clocks) {
    Shape s = one_warp(bytes(p));
    s.grid = {kMostClusterBlocks, 1, 1};
    s.cluster = s.grid;
    return launch(distributed_shared_kernel, s, Order(p), task(p, d, clocks));
  });
  v.unsupported = [bytes](const Problem& p, const DeviceSpec& device) {
    return not_in_shared(p, bytes(p), device);
  };
  return needs_capability(std::move(v), kClustersFrom);
}

// ---- global, past_l1: chains in global memory

// All SMs touch the first sector of each node: L2 then holds what it can of them.
__global__ void touch_kernel(const std::uint64_t* chain, std::int64_t nodes, std::int64_t stride) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < nodes;
       i += threads) {
    std::uint64_t next = __cvta_generic_to_global(chain) + i * stride;
    LoadPastL1::step(next);
    if (next == 0) __trap();  // never: but a load whose result nobody needs would be left out
  }
}

template <class Load>
__global__ void __launch_bounds__(kWarp) walk_kernel(Task t) {
  const std::uint64_t begin = __cvta_generic_to_global(t.chain);
  std::uint64_t at = begin + t.first * t.stride;
  const Clocks clocks = timed_steps(t.untimed, t.steps, [&] { Load::step(at); });
  leave(t, static_cast<std::uint32_t>((at - begin) / t.stride), clocks);
}

Steps touched(const Problem& p, const Data& d) {
  constexpr int kBlocks = 1024;  // several for each SM of any GPU
  const std::int64_t nodes = Order(p).nodes();
  return launch(touch_kernel, grid_stride(nodes, kBlocks), d.chain, nodes, p.stride);
}

template <class Load>
Variant global_walk(std::string id) {
  return walking(std::move(id),
                 [](const Problem& p, const Data& d, const LaunchContext&, Clocks* clocks) {
                   return touched(p, d) + launch(walk_kernel<Load>, one_warp(), task(p, d, clocks));
                 });
}

// Where even the smallest L1 has all nodes, and the walk is most of the launch.
bool walks_in_l1(const Problem& p) {
  constexpr std::int64_t kBytes = 16 * 1024;
  constexpr int kSteps = 4096;
  return p.bytes <= kBytes && p.steps >= kSteps;
}

// ---- global
//
// LDG, as kernels load: out of L1 while the set fits there, then out of L2, then out of DRAM. L1 is
// looked up by virtual addresses, so that a hit waits for no translation; beyond it, addresses are
// translated on the way.

Variant global() {
  return global_walk<DefaultLoad>("global").against(
      "shared", {{"shared_load_wavefronts", Direction::decreases, 2},
                 {"global_load_requests", Direction::increases, 2}});
}

// ---- past_l1
//
// ld.global.cg, which L1 does not keep: L2's latency also at sets that L1 would hold. With a stride
// of a page it shows what the translation of addresses costs, and how many pages it reaches.

Variant past_l1() {
  return global_walk<LoadPastL1>("past_l1").against(
      "global", {{"l1_hit_pct", Direction::decreases, 2, walks_in_l1}});
}

// ---- texture
//
// The fetch of a texture object in linear memory, tex1Dfetch (TLD): by the texture pipe, which
// looks up the same L1 as LDG. In front of the lookup the texture's description, itself loaded
// through a cache, makes an address of an index and holds it against the bounds; behind it the data
// pass the stages that convert and filter. So step_cycles rises by about as much at every level,
// and global_load_requests falls to those of the loads that touch the set. What it buys, none of
// which a chase needs: formats, coordinates in two and three dimensions, interpolation, borders.

constexpr std::int64_t kTexelBytes = sizeof(unsigned);
constexpr std::int64_t kLinkTexel = 2 * sizeof(std::uint64_t) / kTexelBytes;  // a node's third word

__global__ void __launch_bounds__(kWarp) texture_kernel(cudaTextureObject_t chain, Task t) {
  const auto node_texels = static_cast<unsigned>(t.stride / kTexelBytes);
  unsigned at = static_cast<unsigned>(t.first) * node_texels + kLinkTexel;
  const Clocks clocks = timed_steps(t.untimed, t.steps, [&] { at = fetch_texel(chain, at).x; });
  leave(t, at / node_texels, clocks);
}

std::int64_t texels(const Problem& p) {
  return Order(p).nodes() * p.stride / kTexelBytes;
}

Variant texture() {
  Variant v =
      walking("texture", [](const Problem& p, const Data& d, const LaunchContext&, Clocks* clocks) {
        return touched(p, d) + launch(texture_kernel, one_warp(), Texture{d.chain, 1, texels(p)},
                                      task(p, d, clocks));
      });
  v.compare_to = "global";
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const auto too_many = too_many_texels(texels(p));
    return too_many ? too_many : ends_at_its_start(Order(p).nodes(), untimed_steps(p) + p.steps);
  };
  v.expected_changes = {{"metric.step_cycles", Direction::increases, 1.5, walks_in_l1},
                        {"global_load_requests", Direction::decreases, 4, walks_in_l1}};
  return v;
}

// ---- l2_by_line
//
// How far each line of L2 is from one SM. Each node is loaded by itself, a few times in a row, by
// loads that each need the one before, and gets a latency of its own. The slices of L2 lie in two
// partitions, and an address belongs to one of them: near_cycles is the 10th percentile over the
// nodes, far_cycles the 90th.

constexpr int kStepsPerLine = 8;

struct Visits {
  std::uint64_t* chain;
  std::int64_t stride;
  std::int64_t nodes;
  std::int64_t visits;
  std::uint32_t* visited;
  unsigned* cycles;
};

__global__ void __launch_bounds__(kWarp) line_kernel(Visits v) {
  const std::uint64_t begin = __cvta_generic_to_global(v.chain) + sizeof(std::uint64_t);
  std::uint64_t at = begin;
#pragma unroll 1
  for (std::int64_t visit = 0; visit < v.visits; ++visit) {
    at = begin + visit % v.nodes * v.stride;
    // The clock is read when this load is on its way, and again when the last one is.
    LoadPastL1::step(at);
    const long long start = clock64();
#pragma unroll
    for (int i = 0; i < kStepsPerLine; ++i)
      LoadPastL1::step(at);
    const long long taken = clock64() - start;
    if (threadIdx.x == 0) v.cycles[visit] = static_cast<unsigned>(taken);
  }
  v.visited[threadIdx.x] = static_cast<std::uint32_t>((at - begin) / v.stride);
}

std::int64_t visits(const Problem& p) {
  return ceil_div(p.steps, kStepsPerLine);
}

Steps lines_visited(const Problem& p, const Data& d, const LaunchContext& x) {
  return touched(p, d) + launch(line_kernel, one_warp(),
                                Visits{d.chain, p.stride, Order(p).nodes(), visits(p), d.visited,
                                       static_cast<unsigned*>(x.workspace)});
}

Variant l2_by_line() {
  Variant v("l2_by_line");
  v.writes = {"visited"};
  v.work = work;
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return visits(p) * static_cast<std::int64_t>(sizeof(unsigned));
  };
  v.launch = lines_visited;
  v.measured_metrics = [](const Problem& p, const Data& d, const LaunchContext& x) {
    Measurement m;
    m.reads_clocks = true;
    m.steps = lines_visited(p, d, x);
    m.from = x.workspace;
    m.bytes = visits(p) * static_cast<std::int64_t>(sizeof(unsigned));
    m.values = [count = visits(p)](const void* copied) {
      const auto* const cycles = static_cast<const unsigned*>(copied);
      std::vector<unsigned> sorted(cycles, cycles + count);
      std::sort(sorted.begin(), sorted.end());
      const auto percentile = [&](std::int64_t pct) {
        return static_cast<double>(sorted[(count - 1) * pct / 100]) / kStepsPerLine;
      };
      return MetricValues{{"near_cycles", percentile(10)},
                          {kStepCyclesMetric, percentile(50)},
                          {"far_cycles", percentile(90)}};
    };
    return m;
  };
  return v;
}

// ---- inputs: the chain

struct Link {
  Order order;
  std::uint64_t* chain;
  std::int64_t node_words;
  /// Word i of the chain.
  __host__ __device__ std::uint64_t operator()(std::int64_t i) const {
    const std::int64_t node = i / node_words;
    const std::int64_t within = i % node_words;
    if (within > 2) return 0;
    const std::int64_t word = within == 1 ? i : order.behind(node) * node_words;
    constexpr std::int64_t kTexels = sizeof(std::uint64_t) / kTexelBytes;
    if (within == 2) return static_cast<std::uint64_t>(word * kTexels + kLinkTexel);
    return reinterpret_cast<std::uint64_t>(chain + word);
  }
};

std::int64_t node_words(const Problem& p) {
  return p.stride / static_cast<std::int64_t>(sizeof(std::uint64_t));
}

Steps inputs(const Problem& p, const Data& d, std::uint64_t) {
  const Order order(p);
  return fill(d.chain, order.nodes() * node_words(p), Link{order, d.chain, node_words(p)});
}

// ---- the plain reference

/// The node that each lane of a walk, or of l2_by_line, is left at.
struct Expected {
  std::int64_t node;
  __host__ __device__ ReferenceElement operator()(std::int64_t) const {
    return {static_cast<double>(node), 0.0};
  }
};

Expected expected(const Problem& p, bool is_walk) {
  const Order order(p);
  return {is_walk ? order.at(untimed_steps(p) + p.steps) : (visits(p) - 1) % order.nodes()};
}

// ---- declaration

Family declare() {
  Family f("hierarchy", Topic::memory,
           "How large is each memory that serves a load, and how far away is it?");
  f.physics =
      "A load is served by the nearest memory that has its data: the SM's own shared memory and "
      "L1, the shared memory of other SMs of its cluster, L2 with a near and a far partition, "
      "DRAM. Each is larger and further than the one before. A random walk over a growing working "
      "set takes the latency of the memory that holds the set; where the set outgrows it, a share "
      "of the steps goes to the next. Addresses are translated behind L1, so that beyond the reach "
      "of a TLB a step takes longer although its data lie where they lay.";
  f.extent("steps", &Problem::steps, (1 << 15) + 1, 1 << 20, "dependent steps under the clock")
      .integer("bytes", &Problem::bytes, 16 * 1024, 1024, std::int64_t{1} << 36, "B",
               "the working set")
      .integer("stride", &Problem::stride, 128, 32, 2 << 20, "B",
               "from one node of the chain to its neighbour in memory; a multiple of 32");
  f.input("chain", &Data::chain, [](const Problem& p) { return Order(p).nodes() * node_words(p); })
      .output("arrived", &Data::arrived, [](const Problem&) { return kWarp; })
      .output("visited", &Data::visited, [](const Problem&) { return kWarp; });
  f.metric(kStepCyclesMetric, "", kStepCyclesDoc)
      .metric("step_ns", "ns", kStepNsDoc)
      .metric("near_cycles", "", "SM clocks that a load of a line takes, 10th percentile of lines")
      .metric("far_cycles", "", "the same, 90th percentile");
  f.figure("hierarchy", "working_sets", "Memory hierarchy: what a dependent load takes",
           {{"param.bytes", "working set"}});
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.stride % kSectorBytes == 0) return std::nullopt;
    return "needs a stride that is a multiple of " + std::to_string(kSectorBytes);
  };
  f.outputs = [](const Problem&) { return Extent{1, 1, 1}; };
  f.inputs = inputs;
  set_references(
      f, [](const Problem&) { return kWarp; },
      [](const Problem& p, const Data&, int o) { return expected(p, o == 0); });
  f.tolerance_derivation = "Zero: nodes are whole numbers below 2^31.";
  f.variants(shared(), distributed_shared(), global(), past_l1(), texture(), l2_by_line());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::hierarchy
