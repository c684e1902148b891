// collectives: operations in which several GPUs combine or exchange their vectors.
//
// The question: how long do collective operations between GPUs take, and what limits them? With two
// GPUs whose vectors are x = [1 2] and [3 4]:
//
//   all_reduce       each has the sum of all vectors:     [4 6]  [4 6]
//   reduce_scatter   each has its part of the sum:        [4 .]  [. 6]
//   all_gather       each has the parts of all GPUs:      [1 4]  [1 4]
//   broadcast        each has the vector of GPU 0:        [1 2]  [1 2]
//   all_to_all       each has its part of each vector:    [1 3]  [2 4]
//   shift            each has the vector of the next:     [3 4]  [1 2]
#include <algorithm>

#include "kernels/collectives/low_latency.cuh"
#include "kernels/collectives/problem.cuh"
#include "kernels/collectives/ring.cuh"
#include "kernels/common/rank_signals.cuh"
#include "kernels/common/rank_sums.cuh"

namespace gpuexp::collectives {

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- one_shot: loads from the memory of all ranks
//
// Each rank loads the vectors or parts that it needs from the memory of the other ranks, and sums
// them if the operation has sums. The ranks wait for each other before the loads, until the vectors
// are complete, and after the loads, so that no rank changes elements that another rank still
// reads. In an all-reduce, (ranks - 1) times the bytes of a vector arrive at every rank over the
// links.

// Parts that one rank copies in an operation without sums, and their sources and destinations.
struct Copies {
  const char* from[kMaxRanks];
  char* to[kMaxRanks];
  std::int64_t bytes[kMaxRanks];
  /// Index of each part's first 16-byte unit, counted over all parts; the last entry is the total.
  std::int64_t begins[kMaxRanks + 1];
  int count;
};

__global__ void __launch_bounds__(kSumBlock) copies_kernel(Copies copies, RankPeers peers) {
  constexpr int kUnroll = 4;
  const unsigned epoch = epoch_of(peers);
  wait_for_ranks<Before::loads>(peers, epoch, 0);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t units = copies.begins[kMaxRanks];
  // Consecutive loads of a thread may have different source ranks, so all links are in use.
  for (std::int64_t i = thread; i < units; i += kUnroll * stride) {
    uint4 v[kUnroll];
    uint4* to[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      const std::int64_t unit = i + j * stride;
      if (unit >= units) continue;
      int part = 0;
#pragma unroll
      for (int p = 1; p < kMaxRanks; ++p)
        part += unit >= copies.begins[p] ? 1 : 0;
      const std::int64_t at = unit - copies.begins[part];
      to[j] = reinterpret_cast<uint4*>(copies.to[part]) + at;
      v[j] = reinterpret_cast<const uint4*>(copies.from[part])[at];
    }
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      if (i + j * stride < units) *to[j] = v[j];
    }
  }
  for (int part = 0; part < copies.count; ++part) {
    const std::int64_t rest = copies.bytes[part] / 16 * 16 + thread;
    if (rest < copies.bytes[part]) copies.to[part][rest] = copies.from[part][rest];
  }
  wait_for_ranks<Before::loads>(peers, epoch, 1);
  end_epoch(peers, epoch);
}

// ---- how the variants are launched

// Link bytes as in the bus bandwidth of nccl-tests (its PERFORMANCE.md): the minimum that each
// GPU's links carry with any algorithm.
Work work(const Problem& p) {
  const double bytes = static_cast<double>(p.n * element_bytes(p));
  const double ranks = p.gpus;
  double link = bytes;
  if (p.operation == Operation::all_reduce) link = 2 * (ranks - 1) / ranks * bytes;
  if (p.operation == Operation::reduce_scatter || p.operation == Operation::all_gather ||
      p.operation == Operation::all_to_all)
    link = (ranks - 1) / ranks * bytes;
  Work w = moves_bytes(bytes, bytes);
  w.to_peers = w.from_peers = link;
  if (is_sum(p)) w.operations = {{Pipe::fp32, (ranks - 1) * static_cast<double>(p.n)}};
  return w;
}

// Sums of the whole vectors if `whole`, otherwise of the rank's part.
template <class T, bool kPushed>
Steps sums_of(const Problem& p, const Data& d, const LaunchContext& x, bool whole) {
  const std::int64_t first = whole ? 0 : part_begin(p, d.rank);
  Summed<T> sums{};
  for (int r = 0; r < p.gpus; ++r)
    sums.from.of[r] = static_cast<const T*>(taken(p, d).of[r]) + first;
  add_targets(sums, d.rank, p.gpus, kPushed,
              [&](int r) { return static_cast<T*>(d.y.of[r]) + first; });
  sums.count = (whole ? p.n : part_begin(p, d.rank + 1)) - first;
  constexpr SumWaits kWaits = kPushed ? SumWaits::around_pushed : SumWaits::around;
  return summed_by_ranks<kWaits>(sums, peers_of(p, d, x), whole ? p.n : longest_part(p), x.device,
                                 max_blocks_on_idle_device(x.device), {p.n, 1, 1});
}

template <bool kPushed>
Steps sums(const Problem& p, const Data& d, const LaunchContext& x, bool whole) {
  return p.dtype == DataType::bf16 ? sums_of<__nv_bfloat16, kPushed>(p, d, x, whole)
                                   : sums_of<float, kPushed>(p, d, x, whole);
}

Steps copies(const Problem& p, const Data& d, const LaunchContext& x) {
  Copies parts{};
  const std::int64_t size = element_bytes(p);
  const std::int64_t most = max_of_ranks(p.gpus, [&](int r) {
    std::int64_t bytes = 0;
    for (const RankCopy& b : rank_copies(p, r))
      bytes += b.count * size;
    return bytes;
  });
  for (const RankCopy& b : rank_copies(p, d.rank)) {
    parts.from[parts.count] = static_cast<const char*>(taken(p, d).of[b.source]) + b.first * size;
    parts.to[parts.count] = static_cast<char*>(d.y.of[d.rank]) + b.to * size;
    parts.bytes[parts.count++] = b.count * size;
  }
  for (int part = 0; part < kMaxRanks; ++part)
    parts.begins[part + 1] = parts.begins[part] + parts.bytes[part] / 16;
  Shape shape = waiting_blocks(most, x.device, max_blocks_on_idle_device(x.device));
  shape.tile = {ceil_div(p.n, shape.grid.x), 1, 1};
  return launch(copies_kernel, shape, parts, peers_of(p, d, x));
}

Variant variant(std::string id, std::string compare_to) {
  Variant v(std::move(id), std::move(compare_to));
  v.work = work;
  return v;
}

/// A kernel that waits for all ranks at its start and at its end, and transfers `link_bytes` in
/// between.
template <class Launch>
Phase between_waits(const Problem& p, const DeviceSpec& device, Launch launch, double link_bytes) {
  Phase phase;
  name_kernel(phase, launch(p, Data{}, LaunchContext{device, nullptr}));
  phase.what = "kernel";
  phase.link_bytes = link_bytes;
  phase.both_ways = p.operation != Operation::broadcast;
  phase.signals = 2;
  phase.link_loads = 1;
  phase.memory_loads = 1;  // load of the epoch
  phase.memory_bytes = 2 * static_cast<double>(p.n * element_bytes(p));
  return phase;
}

ExpectedChangesOf<Problem> time(Direction direction, double factor, bool (*when)(const Problem&)) {
  return {{std::string(kTimeColumn), direction, factor, when}};
}

std::optional<std::string> rejects_nccl_settings(const Problem& p, const DeviceSpec&) {
  if (environment(p).empty()) return std::nullopt;
  return "NCCL settings have no effect on this variant";
}

constexpr const char* kStillRead =
    "in place, ranks would overwrite elements that others still read";

Variant one_shot() {
  Variant v = variant("one_shot", "");
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (p.in_place && p.operation == Operation::all_reduce) return kStillRead;
    return rejects_nccl_settings(p, device);
  };
  v.deterministic = true;
  const auto launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return is_sum(p) ? sums<false>(p, d, x, p.operation == Operation::all_reduce) : copies(p, d, x);
  };
  v.phases = [launch](const Problem& p, const DeviceSpec& device) {
    const double vector = static_cast<double>(p.n * element_bytes(p));
    // In an all-reduce, a rank loads the vectors of all other ranks. In a broadcast, each other
    // rank loads the source's vector.
    const bool whole = p.operation == Operation::all_reduce || p.operation == Operation::broadcast;
    return std::vector<Phase>{
        between_waits(p, device, launch, whole ? (p.gpus - 1) * vector : work(p).from_peers)};
  };
  v.launch = launch;
  return v;
}

// ---- two_shot: reduce-scatter and all-gather in one kernel
//
// Each rank sums only its part of the vectors, and stores the sum to the y of all ranks. The links
// of a GPU first carry its part of each other rank's vector, and then the other ranks' parts of the
// sum: 2 (ranks - 1) / ranks times the vector, as in a ring. The cost is that the ranks also wait
// for each other's stores at the end.

bool is_long(const Problem& p) {
  constexpr std::int64_t kLong = 16 << 20;
  return p.n * element_bytes(p) >= kLong;
}

std::optional<std::string> only_all_reduce(const Problem& p, const DeviceSpec& device) {
  if (const auto other = rejects_nccl_settings(p, device)) return other;
  if (p.operation == Operation::all_reduce) return std::nullopt;
  return "implements only all_reduce";
}

Variant two_shot() {
  Variant v = variant("two_shot", "one_shot");
  v.deterministic = true;
  const auto launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return sums<true>(p, d, x, false);
  };
  v.phases = [launch](const Problem& p, const DeviceSpec& device) {
    Phase phase = between_waits(p, device, launch, work(p).from_peers);
    phase.fences = 1;
    return std::vector<Phase>{phase};
  };
  v.expected_changes = {{std::string(kTimeColumn), Direction::decreases, 1.2,
                         [](const Problem& p) { return is_long(p) && p.gpus > 2; }},
                        {std::string(kTimeColumn), Direction::unchanged, 1.25,
                         [](const Problem& p) { return is_long(p) && p.gpus == 2; }}};
  v.unsupported = only_all_reduce;
  v.launch = launch;
  return v;
}

// ---- ring: stores only to the next rank
//
// Each rank first stores its own part of the vector to the next rank. In each later step it adds
// its own elements to the received part, and stores the sum to the next rank. After as many steps
// as there are other ranks, the sums are complete. As many bytes cross the links as in two_shot,
// but only between neighbours. The cost is a chain of 2 (ranks - 1) steps, each of which waits for
// the previous one.

template <class T>
Steps ring_steps(const Problem& p, const Data& d, const LaunchContext& x) {
  Ring<T> ring{};
  ring.x = static_cast<const T*>(d.x.of[d.rank]);
  ring.y = static_cast<T*>(d.y.of[d.rank]);
  ring.next = static_cast<T*>(d.y.of[(d.rank + 1) % p.gpus]);
  for (int r = 0; r <= p.gpus; ++r)
    ring.begins[r] = part_begin(p, r);
  Shape shape = waiting_blocks(longest_part(p) * element_bytes(p), x.device,
                               max_blocks_on_idle_device(x.device));
  constexpr std::int64_t kLine = 128 / sizeof(T);
  ring.slice = ceil_div(ceil_div(longest_part(p), kLine), shape.grid.x) * kLine;
  const bool is_short = shape.block.x <= kShortRingBlock;
  shape.block.x = is_short ? kShortRingBlock : kLongRingBlock;
  shape.tile = {ceil_div(p.n, shape.grid.x), 1, 1};
  return launch(is_short ? ring_kernel<T, kShortRingBlock> : ring_kernel<T, kLongRingBlock>, shape,
                ring, peers_of(p, d, x));
}

Variant ring() {
  Variant v = variant("ring", "two_shot");
  v.deterministic = true;
  const auto launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return p.dtype == DataType::bf16 ? ring_steps<__nv_bfloat16>(p, d, x)
                                     : ring_steps<float>(p, d, x);
  };
  v.phases = [launch](const Problem& p, const DeviceSpec& device) {
    Phase phase = between_waits(p, device, launch, work(p).from_peers);
    phase.by = LinkUse::stores;
    phase.signals = 1 + 2 * (p.gpus - 1);
    phase.fences = 2 * (p.gpus - 1);
    phase.memory_loads = 1 + 2 * (p.gpus - 1);
    phase.link_loads = 0;
    return std::vector<Phase>{phase};
  };
  v.expected_changes = {{std::string(kTimeColumn), Direction::unchanged, 1.25, is_long}};
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (p.in_place) return kStillRead;
    return only_all_reduce(p, device);
  };
  v.launch = launch;
  return v;
}

// ---- low_latency: data and launch number in one store
//
// Each rank stores its vector into an inbox of each rank, including its own. Every 12 bytes of data
// travel in one store with the number of the launch, and a rank polls its inbox until the numbers
// have arrived. No rank waits for anything else, so the latency is one transfer over the link.
// NCCL's protocol LL does this with 4 bytes of data per number. The cost is 12 + 4 = 16 bytes on
// the links for each 12 bytes of data. Launches alternate between two inboxes: before a rank
// overwrites an inbox, the data of the previous launch have arrived from all ranks, so all ranks
// have read that inbox.

bool is_short_all_reduce(const Problem& p) {
  constexpr std::int64_t kShort = 64 << 10;
  return p.n * element_bytes(p) <= kShort;
}

std::optional<std::string> too_long(const Problem& p, const DeviceSpec& device) {
  if (const auto other = only_all_reduce(p, device)) return other;
  if (p.n * element_bytes(p) > kMaxInboxBytes) return "its inboxes hold vectors of at most 1 MiB";
  return std::nullopt;
}

std::int64_t units_of(const Problem& p) {
  return ceil_div(p.n * element_bytes(p), kUnitBytes);
}

Shape low_latency_shape(const Problem& p, const DeviceSpec& device) {
  const int warps = 8 * device.sm_count;  // all of them run at the same time
  const bool has_a_thread_each = units_of(p) <= kWarpBlock * std::min(warps, kMaxSignalBlocks);
  const std::int64_t threads = has_a_thread_each ? kWarpBlock : kSmallBlock;
  return shape_of_shares({std::min(ceil_div(units_of(p), threads), warps * kWarpBlock / threads)},
                         {p.n}, threads);
}

template <class T>
Steps low_latency_steps(const Problem& p, const Data& d, const LaunchContext& x) {
  const auto units = static_cast<int>(units_of(p));
  LowLatency<T> vectors{static_cast<const T*>(taken(p, d).of[d.rank]),
                        static_cast<T*>(d.y.of[d.rank]),
                        static_cast<int>(p.n),
                        units,
                        {},
                        reinterpret_cast<const Flagged*>(d.inbox.of[d.rank])};
  for (int r = 0; r < p.gpus; ++r)
    vectors.into.of[r] = reinterpret_cast<Flagged*>(d.inbox.of[r]) + d.rank * units;
  const Shape shape = low_latency_shape(p, x.device);
  const auto kernel = for_ranks(p.gpus, [&shape](auto ranks) {
    return shape.block.x == kWarpBlock ? &low_latency_kernel<T, ranks(), kWarpBlock>
                                       : &low_latency_kernel<T, ranks(), kSmallBlock>;
  });
  return launch(kernel, shape, vectors, peers_of(p, d, x));
}

Variant low_latency() {
  Variant v = variant("low_latency", "one_shot");
  v.deterministic = true;
  const auto launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return p.dtype == DataType::bf16 ? low_latency_steps<__nv_bfloat16>(p, d, x)
                                     : low_latency_steps<float>(p, d, x);
  };
  v.phases = [launch](const Problem& p, const DeviceSpec& device) {
    const std::int64_t bytes = p.n * element_bytes(p);
    constexpr double kFlaggedPerData = static_cast<double>(sizeof(Flagged)) / kUnitBytes;
    Phase phase = between_waits(p, device, launch,
                                kFlaggedPerData * (p.gpus - 1) * static_cast<double>(bytes));
    phase.by = LinkUse::stores;
    // A thread's iterations wait for their data one after another.
    const Shape shape = low_latency_shape(p, device);
    phase.signals = static_cast<int>(ceil_div(units_of(p), shape.block.x * shape.grid.x));
    phase.memory_loads = 2 * phase.signals;
    phase.link_loads = 0;
    return std::vector<Phase>{phase};
  };
  v.expected_changes = time(Direction::decreases, 1.1, is_short_all_reduce);
  v.shown_at = {{"n", std::int64_t{2048}}};
  v.unsupported = too_long;
  v.launch = launch;
  return v;
}

// ---- nccl: NCCL with ordinary buffers
//
// NCCL chooses among rings, trees and protocols according to the size. It accepts any buffers, and
// transfers the data through its own buffers.

Variant nccl_variant(std::string id, nccl::Buffers buffers) {
  Variant v = variant(std::move(id), "one_shot");
  v.is_vendor = true;
  v.unavailable = nccl::unavailable;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const bool has_parts = p.operation == Operation::all_gather ||
                           p.operation == Operation::reduce_scatter ||
                           p.operation == Operation::all_to_all;
    const std::int64_t unit = p.gpus * (16 / element_bytes(p));
    if (has_parts && p.n % unit != 0)
      return "NCCL needs equal parts: n must be a multiple of " + std::to_string(unit);
    return std::nullopt;
  };
  v.launch = [buffers](const Problem& p, const Data& d, const LaunchContext&) {
    return nccl::step_of({p.operation, buffers, p.dtype, p.n, taken(p, d).of[d.rank],
                          d.y.of[d.rank], d.rank, p.gpus});
  };
  return v;
}

Variant plain_nccl() {
  return nccl_variant("nccl", nccl::Buffers::plain);
}

// ---- nccl_registered: registered buffers
//
// The buffers are registered with the communicator in advance. Ranks may then access each other's
// buffers directly, without copies to NCCL's own buffers.

Variant nccl_registered() {
  return nccl_variant("nccl_registered", nccl::Buffers::registered);
}

// ---- nccl_windows: symmetric memory
//
// The buffers are symmetric windows. NCCL's kernels load from and store to the windows of all
// ranks, as one_shot and two_shot do.

Variant nccl_windows() {
  return nccl_variant("nccl_windows", nccl::Buffers::windows);
}

// ---- declaration

Family declare() {
  Family f("collectives", Topic::links,
           "How long do collective operations between GPUs take, and what limits them?");
  f.physics =
      "GPUs that work on one problem must exchange results. Each step between them costs the "
      "latency of the link and a wait for the slowest GPU. Beyond some hundred kilobytes, the "
      "number of bytes decides. For a sum over all GPUs, the links of each GPU carry at least 2 "
      "(ranks - 1) / ranks times its vector: once before the sum, and once as the result. "
      "Algorithms differ in the numbers of steps and bytes.";
  f.extent("n", &Problem::n, 1 << 22, std::int64_t{1} << 30, "elements of each GPU's vector")
      .choice("operation", &Problem::operation,
              {{"all_reduce", Operation::all_reduce},
               {"all_gather", Operation::all_gather},
               {"reduce_scatter", Operation::reduce_scatter},
               {"broadcast", Operation::broadcast},
               {"all_to_all", Operation::all_to_all},
               {"shift", Operation::shift}},
              "collective operation")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of the elements; sums are accumulated in fp32")
      .spans(&Problem::gpus, &Data::rank)
      .choice("in_place", &Problem::in_place, {{"no", false}, {"yes", true}},
              "whether the result overwrites the input vector")
      .choice("nccl_algorithm", &Problem::nccl_algorithm,
              {{"chosen", nullptr}, {"ring", "Ring"}, {"tree", "Tree"}},
              "algorithm of NCCL (NCCL_ALGO); chosen: NCCL decides")
      .choice("nccl_protocol", &Problem::nccl_protocol,
              {{"chosen", nullptr}, {"ll", "LL"}, {"ll128", "LL128"}, {"simple", "Simple"}},
              "protocol of NCCL (NCCL_PROTO); chosen: NCCL decides")
      .choice("nccl_p2p", &Problem::nccl_p2p_disable, {{"on", nullptr}, {"off", "1"}},
              "whether NCCL's kernels access other GPUs' memory directly; off: through host "
              "memory (NCCL_P2P_DISABLE)");
  f.input("x", &Data::x, &Problem::dtype, &Problem::n)
      .in_out("y", &Data::y, &Problem::dtype, &Problem::n)
      .state("signals", &Data::signals, [](const Problem&) { return kSignalWords; })
      .flags_from(kFlagsWord)
      .state("inbox", &Data::inbox,
             [](const Problem& p) {
               const std::int64_t bytes = p.n * element_bytes(p);
               constexpr std::int64_t kTurns = 2;
               constexpr std::int64_t kWords = sizeof(Flagged) / 4;
               return bytes > kMaxInboxBytes
                          ? kWords
                          : kTurns * p.gpus * kWords * ceil_div(bytes, kUnitBytes);
             })
      .flags_from(0);
  f.repeats_without_reset = true;
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const bool overwrites_others =
        p.operation == Operation::all_to_all || p.operation == Operation::shift;
    if (p.in_place && overwrites_others) return kStillRead;
    if (p.operation != Operation::all_to_all || part_begin(p, 1) * p.gpus == p.n)
      return std::nullopt;
    return "all_to_all needs equal parts: n must be a multiple of " +
           std::to_string(p.gpus * (16 / element_bytes(p)));
  };
  f.environment = environment;
  f.inputs = inputs;
  f.reset = reset;
  f.reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    return of_float_type(p.dtype, [&](auto zero) {
      return evaluate_reference(out[0], p.n, expected<decltype(zero)>(p, d));
    });
  };
  f.tolerance_derivation =
      "A sum of r terms in any order rounds at most r - 1 times. Each rounding errs by at most "
      "half a unit in the last place of a partial sum, and no partial sum exceeds the sum of "
      "magnitudes: (r - 1) u of this sum, u being 2^-24 in fp32. Algorithms that pass on partial "
      "sums in bf16, as NCCL's rings do, round to u = 2^-8 at each of r - 1 steps (Higham, "
      "Accuracy and Stability of Numerical Algorithms, section 4.2). Copies are bitwise "
      "identical: their magnitude is 0. The RMS error is that of a random walk of roundings "
      "(sum_rms of as many terms as ranks), doubled (kRmsSafety).";
  f.tolerance = [](const Problem& p) {
    const double u = p.dtype == DataType::bf16 ? 0x1p-8 : 0x1p-24;
    const double steps = p.dtype == DataType::bf16 ? p.gpus - 1 + 0x1p-8 : p.gpus - 1;
    return Tolerance{u * steps, 0.0, kRmsSafety * sum_rms(p.gpus, p.dtype), 0.0};
  };
  f.variants(one_shot(), two_shot(), ring(), low_latency(), plain_nccl(), nccl_registered(),
             nccl_windows());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::collectives
