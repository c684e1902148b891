// hierarchy: latency of a load, by the memory that holds its data and the size of the working set.
//
// The question: how large is each memory that serves a load, and what is its latency? In a chain,
// each load needs the address that the previous load returned. If the chain's `bytes` exceed the
// capacity of a memory, the mean latency rises. Nodes are `stride` bytes apart and visited in
// random order, so that no prefetcher, cache set or open DRAM row can predict the next step.
//
// The kernel reads the clock around `steps` steps. Before these steps, all SMs touch the whole set
// to fill L2, and untimed steps over at most 4096 nodes fill L1.
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
  std::uint64_t* chain;    // per node: next node's address, own address, next node's texel
  std::uint32_t* arrived;  // output of walks, per lane: the node that the last step reaches
  std::uint32_t* visited;  // output of l2_by_line, per lane: the last node loaded
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

/// A random order that contains each node once.
struct Order {
  Permutation permutation;

  explicit Order(const Problem& p)
      : permutation(0, std::max<std::int64_t>(1, p.bytes / p.stride)) {}

  __host__ __device__ std::int64_t nodes() const { return permutation.n; }
  /// Returns the node that step i leaves, for i modulo the number of nodes.
  __host__ __device__ std::int64_t at(std::int64_t i) const { return permutation(i % nodes()); }
  __host__ __device__ std::int64_t next_after(std::int64_t node) const {
    return at(permutation.inverse(node) + 1);
  }
};

struct Task {
  std::uint64_t* chain;
  std::int64_t stride;
  std::int64_t first;  // node at which the walk starts
  int untimed;         // steps before the clock is read
  int steps;
  std::uint32_t* arrived;
  Clocks* clocks;
};

__device__ void leave(const Task& t, std::uint32_t node, const Clocks& clocks) {
  t.arrived[threadIdx.x] = node;
  if (threadIdx.x == 0) *t.clocks = clocks;
}

// ---- shared: dependent loads from shared memory
//
// LDS loads from memory that the program fills itself: shared memory has no tags, needs no address
// translation and cannot miss. The working set is limited to the shared memory of one block.

extern __shared__ unsigned shared_nodes[];

__global__ void __launch_bounds__(kWarp) shared_kernel(Order order, Task t) {
  const auto begin = static_cast<unsigned>(__cvta_generic_to_shared(shared_nodes));
  const auto stride = static_cast<unsigned>(t.stride);
  for (unsigned node = threadIdx.x; node < order.nodes(); node += kWarp)
    shared_nodes[node * stride / sizeof(unsigned)] =
        begin + static_cast<unsigned>(order.next_after(node)) * stride;
  __syncwarp();
  unsigned at = begin + static_cast<unsigned>(t.first) * stride;
  const Clocks clocks = timed_steps(t.untimed, t.steps, [&] {
    asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
  });
  leave(t, (at - begin) / stride, clocks);
}

// ---- how walks are launched

// One lap, up to more nodes than any L1 has lines.
constexpr std::int64_t kMaxUntimed = 4096;
std::int64_t untimed_steps(const Problem& p) {
  return std::min(Order(p).nodes(), kMaxUntimed);
}

/// Useful bytes: one 8-byte word per visited node, and one 4-byte word per lane.
Work work(const Problem& p) {
  constexpr std::int64_t kWord = sizeof(std::uint64_t);
  const std::int64_t nodes = std::min<std::int64_t>(Order(p).nodes(), p.steps);
  return reads<std::uint64_t>(nodes, p.stride / kWord) + writes<std::uint32_t>(kWarp);
}

Task task(const Problem& p, const Data& d, Clocks* clocks) {
  return {d.chain, p.stride,  Order(p).at(0), static_cast<int>(untimed_steps(p)),
          p.steps, d.arrived, clocks};
}

/// A variant with one warp on one SM; `walk` returns its launch.
template <class Walk>
Variant walking(std::string id, Walk walk) {
  Variant v(std::move(id));
  v.writes = {"arrived"};
  v.work = work;
  v.unsupported = [](const Problem& p, const DeviceSpec&) {
    return lacks_unique_end(Order(p).nodes(), untimed_steps(p) + p.steps);
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
  if (bytes <= most) return lacks_unique_end(Order(p).nodes(), untimed_steps(p) + p.steps);
  return "needs " + std::to_string(bytes) + " bytes of shared memory per block; the maximum of " +
         device.name + " is " + std::to_string(most);
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

// ---- distributed_shared: dependent loads from other SMs of the cluster
//
// The nodes are distributed round-robin over the shared memory of the seven other blocks of a
// cluster of eight, and loads reach them through the network between the cluster's SMs. The latency
// is between the latencies of L1 and L2. The capacity is the shared memory of seven blocks.

constexpr int kOthers = kMaxClusterBlocks - 1;

// Node i is in block 1 + i % kOthers: the address of the next node, and then the node's number i.
__global__ void __launch_bounds__(kWarp) distributed_shared_kernel(Order order, Task t) {
  constexpr unsigned kWord = sizeof(unsigned);
  const auto begin = static_cast<unsigned>(__cvta_generic_to_shared(shared_nodes));
  const auto address = [&](std::int64_t node) {
    const auto place = static_cast<unsigned>(node / kOthers * t.stride);
    return map_shared_rank(begin + place, static_cast<unsigned>(1 + node % kOthers));
  };
  const unsigned rank = cluster_rank();
  if (rank > 0) {
    for (std::int64_t node = rank - 1 + threadIdx.x * kOthers; node < order.nodes();
         node += kWarp * kOthers) {
      unsigned* const words = shared_nodes + node / kOthers * t.stride / kWord;
      words[0] = address(order.next_after(node));
      words[1] = static_cast<unsigned>(node);
    }
  }
  sync_cluster();
  if (rank == 0) {
    unsigned at = address(t.first);
    const Clocks clocks = timed_steps(t.untimed, t.steps, [&] { at = load_cluster_shared(at); });
    leave(t, load_cluster_shared(at + kWord), clocks);
  }
  sync_cluster();  // a block's shared memory is valid only until the block ends
}

Variant distributed_shared() {
  const auto bytes = [](const Problem& p) {
    return ceil_div(Order(p).nodes(), kOthers) * p.stride;
  };
  Variant v = walking("distributed_shared", [bytes](const Problem& p, const Data& d,
                                                    const LaunchContext&, Clocks* clocks) {
    Shape s = one_warp(bytes(p));
    s.grid = {kMaxClusterBlocks, 1, 1};
    s.cluster = s.grid;
    return launch(distributed_shared_kernel, s, Order(p), task(p, d, clocks));
  });
  v.unsupported = [bytes](const Problem& p, const DeviceSpec& device) {
    return not_in_shared(p, bytes(p), device);
  };
  return needs_capability(std::move(v), kClusterComputeCapability);
}

// ---- global, past_l1: chains in global memory

// Touches the first sector of each node, so that L2 holds as many nodes as it can.
__global__ void touch_kernel(const std::uint64_t* chain, std::int64_t nodes, std::int64_t stride) {
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < nodes;
       i += threads) {
    std::uint64_t next = __cvta_generic_to_global(chain) + i * stride;
    LoadCg::step(next);
    if (next == 0) __trap();  // never true: keeps the compiler from removing the load
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

// True if the nodes fit in the smallest L1 and the walk is most of the launch.
bool walks_in_l1(const Problem& p) {
  constexpr std::int64_t kBytes = 16 * 1024;
  constexpr int kSteps = 4096;
  return p.bytes <= kBytes && p.steps >= kSteps;
}

// ---- global: dependent loads through L1
//
// LDG, the default load, hits L1 while the set fits there, then L2, then DRAM. L1 is indexed by
// virtual addresses, so a hit needs no translation. Addresses are translated between L1 and L2.

Variant global() {
  return global_walk<DefaultLoad>("global").against(
      "shared", {{"shared_load_wavefronts", Direction::decreases, 2},
                 {"global_load_requests", Direction::increases, 2}});
}

// ---- past_l1: dependent loads that bypass L1
//
// ld.global.cg bypasses L1, so a walk has the latency of L2 even for sets that L1 would hold. With
// a stride of one page, it shows the cost of address translation and the reach of the TLBs.

Variant past_l1() {
  return global_walk<LoadCg>("past_l1").against(
      "global", {{"l1_hit_pct", Direction::decreases, 2, walks_in_l1}});
}

// ---- texture: dependent texture fetches
//
// tex1Dfetch (TLD) fetches from a texture object in linear memory. The texture pipe looks up the
// same L1 as LDG. Before the lookup, the texture unit loads the texture's descriptor through a
// cache, computes an address from the index and checks it against the bounds. After the lookup, the
// data pass the stages for conversion and filtering. step_cycles therefore increases by about the
// same amount at every level, and global_load_requests decreases to the loads that touch the set.

constexpr std::int64_t kTexelBytes = sizeof(unsigned);
// index of the node's third word
constexpr std::int64_t kLinkTexel = 2 * sizeof(std::uint64_t) / kTexelBytes;

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
    return too_many ? too_many : lacks_unique_end(Order(p).nodes(), untimed_steps(p) + p.steps);
  };
  v.expected_changes = {{"metric.step_cycles", Direction::increases, 1.5, walks_in_l1},
                        {"global_load_requests", Direction::decreases, 4, walks_in_l1}};
  return v;
}

// ---- l2_by_line: latency of each line of L2
//
// The kernel measures the latency from one SM to each line of L2. It loads each node several times
// in a row, by dependent loads, and stores a latency per node. The slices of L2 are in two
// partitions, and each address belongs to one partition: near_cycles is the 10th percentile over
// the nodes, far_cycles the 90th.

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
    // Both reads of the clock follow a load that is still in flight.
    LoadCg::step(at);
    const long long start = clock64();
#pragma unroll
    for (int i = 0; i < kStepsPerLine; ++i)
      LoadCg::step(at);
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
  /// Returns word i of the chain.
  __host__ __device__ std::uint64_t operator()(std::int64_t i) const {
    const std::int64_t node = i / node_words;
    const std::int64_t within = i % node_words;
    if (within > 2) return 0;
    const std::int64_t word = within == 1 ? i : order.next_after(node) * node_words;
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

/// The node at which each lane ends.
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
           "How large is each memory that serves a load, and what is its latency?");
  f.physics =
      "A load is served by the nearest memory that holds its data: the SM's own shared memory and "
      "L1, the shared memory of other SMs of its cluster, L2 with a near and a far partition, or "
      "DRAM. Each of these is larger and has a higher latency than the previous one. A random "
      "walk over a working set has the latency of the memory that holds the set. If the set is "
      "larger than this memory, a share of the steps accesses the next one. Addresses are "
      "translated after L1, so beyond the reach of a TLB a step takes longer even though its data "
      "are in the same memory.";
  f.extent("steps", &Problem::steps, (1 << 15) + 1, 1 << 20, "dependent steps that are timed")
      .integer("bytes", &Problem::bytes, 16 * 1024, 1024, std::int64_t{1} << 36, "B",
               "size of the working set")
      .integer("stride", &Problem::stride, 128, 32, 2 << 20, "B",
               "distance between neighbouring nodes in memory; a multiple of 32");
  f.input("chain", &Data::chain, [](const Problem& p) { return Order(p).nodes() * node_words(p); })
      .output("arrived", &Data::arrived, [](const Problem&) { return kWarp; })
      .output("visited", &Data::visited, [](const Problem&) { return kWarp; });
  f.metric(kStepCyclesMetric, "", kStepCyclesDoc)
      .metric("step_ns", "ns", kStepNsDoc)
      .metric("near_cycles", "", "SM cycles per load of a line, 10th percentile over the lines")
      .metric("far_cycles", "", "SM cycles per load of a line, 90th percentile over the lines");
  f.plot("hierarchy", "working_sets", "Latency of a dependent load by working set",
         {{"param.bytes", "working set"}});
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.stride % kSectorBytes == 0) return std::nullopt;
    return "needs stride to be a multiple of " + std::to_string(kSectorBytes);
  };
  f.outputs = [](const Problem&) { return Extent{1, 1, 1}; };
  f.inputs = inputs;
  set_references(
      f, [](const Problem&) { return kWarp; },
      [](const Problem& p, const Data&, int o) { return expected(p, o == 0); });
  f.tolerance_derivation = "Zero: nodes are integers below 2^31.";
  f.variants(shared(), distributed_shared(), global(), past_l1(), texture(), l2_by_line());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::hierarchy
