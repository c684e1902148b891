// collectives: an operation that several GPUs do together, each with a vector of its own.
//
// The question: what does it cost to bring several GPUs' results together, and what decides it?
// With two GPUs whose vectors are x = [1 2] and [3 4]:
//
//   all_reduce       each has the sum of all:            [4 6]  [4 6]
//   reduce_scatter   each has its part of the sum:       [4 .]  [. 6]
//   all_gather       each has the parts of all:          [1 4]  [1 4]
//   broadcast        each has what GPU 0 has:            [1 2]  [1 2]
//   all_to_all       each has its part from each:        [1 3]  [2 4]
//   shift            each has what the next one has:     [3 4]  [1 2]
//
// An all-reduce is a reduce-scatter and then an all-gather: whoever sums a part brings it to all.
// Small vectors cost latency, of starting and of waiting for each other; long ones the bytes that
// the links carry, of which each algorithm moves another number.
#include <algorithm>

#include "kernels/collectives/problem.cuh"
#include "kernels/common/rank_signals.cuh"

namespace gpuexp::collectives {

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Elements [first, end) that one rank makes, from the other ranks' x.
template <class T>
struct Share {
  Ranks<const T> x;
  Ranks<T> y;
  std::int64_t first;
  std::int64_t end;
};

// ---- one_shot: every rank reads what it needs from all others
//
// Whoever wants a sum adds up the vectors of all ranks where they lie. It takes one step, and the
// ranks wait for each other twice: before, so that the vectors are there, and after, so that nobody
// changes what another still reads. Of an all-reduce every rank then reads the whole vector of each
// other: (ranks - 1) times its bytes come in over the links.

constexpr int kBlock = 512;

// In the order of the ranks, whoever adds: all have equal bits.
template <class T, bool kPushed>
__global__ void __launch_bounds__(kBlock) sum_kernel(Share<T> share, RankPeers peers) {
  constexpr int kElements = 16 / sizeof(T);
  const unsigned epoch = epoch_of(peers);
  wait_for_ranks<Before::loads>(peers, epoch, 0);
  const std::int64_t packs = (share.end - share.first) / kElements;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < packs;
       i += stride) {
    const std::int64_t at = share.first + i * kElements;
    Pack<T, kElements> of_rank[kMostRanks];
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r < peers.ranks) of_rank[r] = load_pack<kElements>(share.x.of[r] + at);
    }
    float2 sum[kElements / 2] = {};
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r >= peers.ranks) continue;
#pragma unroll
      for (int j = 0; j < kElements / 2; ++j) {
        const float2 more = widen(of_rank[r].pairs[j]);
        sum[j] = {sum[j].x + more.x, sum[j].y + more.y};
      }
    }
    Pack<T, kElements> total;
#pragma unroll
    for (int j = 0; j < kElements / 2; ++j)
      total.pairs[j] = narrow<T>(sum[j]);
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (kPushed ? r < peers.ranks : r == peers.rank) store_pack(share.y.of[r] + at, total);
    }
  }
  // What is left of a pack.
  const std::int64_t rest = share.first + packs * kElements + threadIdx.x;
  if (blockIdx.x == 0 && rest < share.end) {
    float sum = 0;
    for (int r = 0; r < peers.ranks; ++r)
      sum += static_cast<float>(share.x.of[r][rest]);
    for (int r = 0; r < peers.ranks; ++r) {
      if (kPushed || r == peers.rank) share.y.of[r][rest] = from_float<T>(sum);
    }
  }
  wait_for_ranks<kPushed ? Before::stores : Before::loads>(peers, epoch, 1);
  end_epoch(peers, epoch);
}

// One rank's parts of an operation that only copies, by their source.
struct Copies {
  const char* from[kMostRanks];
  char* to[kMostRanks];
  std::int64_t bytes[kMostRanks];
  int count;
};

__global__ void __launch_bounds__(kBlock) copies_kernel(Copies copies, RankPeers peers) {
  const unsigned epoch = epoch_of(peers);
  wait_for_ranks<Before::loads>(peers, epoch, 0);
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (int part = 0; part < copies.count; ++part) {
    const auto* const from = reinterpret_cast<const uint4*>(copies.from[part]);
    auto* const to = reinterpret_cast<uint4*>(copies.to[part]);
    const std::int64_t units = copies.bytes[part] / 16;
    for (std::int64_t i = thread; i < units; i += stride)
      to[i] = from[i];
    const std::int64_t rest = units * 16 + thread;
    if (rest < copies.bytes[part]) copies.to[part][rest] = copies.from[part][rest];
  }
  wait_for_ranks<Before::loads>(peers, epoch, 1);
  end_epoch(peers, epoch);
}

// ---- how the variants are launched

// Bytes as nccl-tests counts them for its bus bandwidth (PERFORMANCE.md there): what a link of each
// GPU has to carry at least, whatever the algorithm.
Work work(const Problem& p) {
  const double bytes = static_cast<double>(p.n * element_bytes(p));
  const double ranks = p.gpus;
  double link = bytes;
  if (p.operation == Operation::all_reduce) link = 2 * (ranks - 1) / ranks * bytes;
  if (p.operation == Operation::reduce_scatter || p.operation == Operation::all_gather ||
      p.operation == Operation::all_to_all)
    link = (ranks - 1) / ranks * bytes;
  Work w;
  w.to_peers = w.from_peers = link;
  w.bytes_read = w.bytes_written = bytes;
  w.moved_read = w.moved_written = bytes;
  if (is_sum(p)) w.operations = {{Pipe::fp32, (ranks - 1) * static_cast<double>(p.n)}};
  return w;
}

RankPeers peers_of(const Problem& p, const Data& d, const LaunchContext& x) {
  return {d.signals, d.rank, p.gpus, x.report};
}

/// As many blocks as there is work for, and no more than are resident at once: they wait for
/// others.
Shape blocks(std::int64_t bytes, const LaunchContext& x) {
  constexpr std::int64_t kBlocksPerSm = 2;
  constexpr std::int64_t kWarp = 32;
  Shape shape;
  // A small block starts sooner.
  shape.block = {std::clamp(ceil_div(bytes, 16 * kWarp) * kWarp, kWarp, std::int64_t{kBlock}), 1,
                 1};
  shape.grid = {std::clamp<std::int64_t>(
                    ceil_div(bytes, 16 * kBlock), 1,
                    std::min<std::int64_t>(kMostSignalBlocks, kBlocksPerSm * x.device.sm_count)),
                1, 1};
  return shape;
}

// Of the whole vectors, or of the rank's part.
template <class T, bool kPushed>
Steps sums_of(const Problem& p, const Data& d, const LaunchContext& x, bool whole) {
  Share<T> share{};
  std::int64_t longest = 0;
  for (int r = 0; r < p.gpus; ++r) {
    share.x.of[r] = static_cast<const T*>(d.x.of[r]);
    share.y.of[r] = static_cast<T*>(d.y.of[r]);
    longest = std::max(longest, part_begin(p, r + 1) - part_begin(p, r));
  }
  share.first = whole ? 0 : part_begin(p, d.rank);
  share.end = whole ? p.n : part_begin(p, d.rank + 1);
  Shape shape = blocks((whole ? p.n : longest) * element_bytes(p), x);
  shape.tile = {ceil_div(p.n, shape.grid.x), 1, 1};
  return launch(sum_kernel<T, kPushed>, shape, share, peers_of(p, d, x));
}

template <bool kPushed>
Steps sums(const Problem& p, const Data& d, const LaunchContext& x, bool whole) {
  return p.dtype == DataType::bf16 ? sums_of<__nv_bfloat16, kPushed>(p, d, x, whole)
                                   : sums_of<float, kPushed>(p, d, x, whole);
}

Steps copies(const Problem& p, const Data& d, const LaunchContext& x) {
  Copies parts{};
  std::int64_t longest = 0;
  for (int r = 0; r < p.gpus; ++r) {
    for (const Brought& b : brought(p, r))
      longest = std::max(longest, b.count * element_bytes(p));
  }
  for (const Brought& b : brought(p, d.rank)) {
    const std::int64_t size = element_bytes(p);
    parts.from[parts.count] = static_cast<const char*>(d.x.of[b.source]) + b.first * size;
    parts.to[parts.count] = static_cast<char*>(d.y.of[d.rank]) + b.to * size;
    parts.bytes[parts.count++] = b.count * size;
  }
  Shape shape = blocks(longest, x);
  shape.tile = {ceil_div(p.n, shape.grid.x), 1, 1};
  return launch(copies_kernel, shape, parts, peers_of(p, d, x));
}

Variant variant(std::string id, std::string compare_to) {
  Variant v;
  v.id = std::move(id);
  v.compare_to = std::move(compare_to);
  v.work = work;
  v.without_time = "what links take is not modelled";
  return v;
}

/// Changes of the time, under a condition.
ExpectedChangesOf<Problem> time(Direction direction, double factor, bool (*when)(const Problem&)) {
  return {{std::string(kTimeColumn), direction, factor, when}};
}

Variant one_shot() {
  Variant v = variant("one_shot", "");
  v.deterministic = true;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return is_sum(p) ? sums<false>(p, d, x, p.operation == Operation::all_reduce) : copies(p, d, x);
  };
  return v;
}

// ---- two_shot
//
// A reduce-scatter and an all-gather in one kernel: each rank sums its part alone, and stores the
// sum into the y of all. Over the links of a GPU come the part of each other rank's vector, and
// then the other parts of the sum: 2 (ranks - 1) / ranks times the vector, as around a ring.

bool is_long(const Problem& p) {
  constexpr std::int64_t kLong = 16 << 20;
  return p.n * element_bytes(p) >= kLong;
}

Variant two_shot() {
  Variant v = variant("two_shot", "one_shot");
  v.deterministic = true;
  v.expected_changes = {{std::string(kTimeColumn), Direction::decreases, 1.2,
                         [](const Problem& p) { return is_long(p) && p.gpus > 2; }},
                        {std::string(kTimeColumn), Direction::unchanged, 1.25,
                         [](const Problem& p) { return is_long(p) && p.gpus == 2; }}};
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.operation == Operation::all_reduce) return std::nullopt;
    return "it is an all_reduce in two steps";
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return sums<true>(p, d, x, false);
  };
  return v;
}

// ---- low_latency
//
// Data that say themselves that they have come: each rank stores its vector into an inbox of each
// other, every 4 bytes beside the number of the launch, and reads its own inbox until the numbers
// are there. Nobody waits for anything else: what is left is one way over the link. NCCL calls the
// protocol LL. It moves twice the bytes, which small vectors do not notice. Inboxes take turns: a
// rank that stores for the next launch but one has seen the last one's data of all others.

constexpr std::int64_t kMostInboxBytes = 1 << 20;  // of a vector

// Four bytes of data and the number of the launch: written and read at once, which of a vector's
// elements each is (PTX ISA, memory consistency model).
struct Flagged {
  std::uint64_t of[2];
};

__device__ inline std::uint64_t flagged(unsigned data, unsigned epoch) {
  return static_cast<std::uint64_t>(epoch) << 32 | data;
}
__device__ inline bool has_come(const Flagged& f, unsigned epoch) {
  return f.of[0] >> 32 == epoch && f.of[1] >> 32 == epoch;
}

__device__ inline void store_flagged(Flagged* to, uint2 data, unsigned epoch) {
  asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(to)),
               "l"(flagged(data.x, epoch)), "l"(flagged(data.y, epoch))
               : "memory");
}
__device__ inline Flagged load_flagged(const Flagged* from) {
  Flagged f;
  asm volatile("ld.volatile.global.v2.u64 {%0, %1}, [%2];"
               : "=l"(f.of[0]), "=l"(f.of[1])
               : "l"(__cvta_generic_to_global(from))
               : "memory");
  return f;
}

// Blocks are small, so that they start soon, and there are many.
constexpr int kSmallBlock = 128;

// Two elements of fp32, or four of bf16.
template <class T>
using Unit = Pack<T, 8 / sizeof(T)>;

template <class T>
__device__ Unit<T> unit_at(const T* x, std::int64_t i, std::int64_t n) {
  constexpr int kElements = 8 / sizeof(T);
  if ((i + 1) * kElements <= n) return load_pack<kElements>(x + i * kElements);
  T some[kElements] = {};
#pragma unroll
  for (int j = 0; j < kElements; ++j) {
    if (i * kElements + j < n) some[j] = x[i * kElements + j];
  }
  Unit<T> unit;
  memcpy(&unit, some, sizeof unit);
  return unit;
}

template <class T>
__global__ void __launch_bounds__(kSmallBlock)
    low_latency_kernel(const T* x, T* y, std::int64_t n, Ranks<std::uint32_t> inboxes,
                       RankPeers peers) {
  constexpr int kElements = 8 / sizeof(T);
  const std::int64_t units = (n + kElements - 1) / kElements;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kSmallBlock;
  std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kSmallBlock + threadIdx.x;
  Unit<T> own{};
  if (i < units) own = unit_at(x, i, n);  // on its way while the epoch is
  const unsigned epoch = epoch_of(peers);
  const std::int64_t turn = static_cast<std::int64_t>(epoch % 2) * peers.ranks;
  for (; i < units; i += stride) {
    if (i >= stride) own = unit_at(x, i, n);
    uint2 data;
    memcpy(&data, &own, sizeof data);
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r < peers.ranks && r != peers.rank)
        store_flagged(reinterpret_cast<Flagged*>(inboxes.of[r]) + (turn + peers.rank) * units + i,
                      data, epoch);
    }
    const auto* const inbox =
        reinterpret_cast<const Flagged*>(inboxes.of[peers.rank]) + turn * units + i;
    Flagged come[kMostRanks];
    int missing = 0;
    for (unsigned looks = 0; missing >= 0; ++looks) {
      missing = -1;
#pragma unroll
      for (int r = 0; r < kMostRanks; ++r) {
        if (r >= peers.ranks || r == peers.rank) continue;
        come[r] = load_flagged(inbox + r * units);
        if (!has_come(come[r], epoch)) missing = r;
      }
      if (looks > kMostLooks) give_up_waiting(peers, missing, 0);
    }
    float2 sum[kElements / 2] = {};
#pragma unroll
    for (int r = 0; r < kMostRanks; ++r) {
      if (r >= peers.ranks) continue;
      Unit<T> of_rank = own;
      if (r != peers.rank) {
        data = {static_cast<unsigned>(come[r].of[0]), static_cast<unsigned>(come[r].of[1])};
        memcpy(&of_rank, &data, sizeof data);
      }
#pragma unroll
      for (int j = 0; j < kElements / 2; ++j) {
        const float2 more = widen(of_rank.pairs[j]);
        sum[j] = {sum[j].x + more.x, sum[j].y + more.y};
      }
    }
    Unit<T> total;
#pragma unroll
    for (int j = 0; j < kElements / 2; ++j)
      total.pairs[j] = narrow<T>(sum[j]);
    if ((i + 1) * kElements <= n) {
      store_pack(y + i * kElements, total);
    } else {
      T some[kElements];
      memcpy(some, &total, sizeof some);
#pragma unroll
      for (int j = 0; j < kElements; ++j) {
        if (i * kElements + j < n) y[i * kElements + j] = some[j];
      }
    }
  }
  __syncthreads();
  end_epoch(peers, epoch);
}

bool is_short_all_reduce(const Problem& p) {
  constexpr std::int64_t kShort = 64 << 10;
  return p.n * element_bytes(p) <= kShort;
}

std::optional<std::string> too_long(const Problem& p, const DeviceSpec&) {
  if (p.operation != Operation::all_reduce) return "it is written for all_reduce alone";
  if (p.n * element_bytes(p) > kMostInboxBytes) return "its inboxes hold vectors of 1 MiB";
  return std::nullopt;
}

template <class T>
Steps low_latency_steps(const Problem& p, const Data& d, const LaunchContext& x) {
  Shape shape;
  shape.block = {kSmallBlock, 1, 1};
  shape.grid = {std::min<std::int64_t>(ceil_div(p.n * element_bytes(p), 8 * kSmallBlock),
                                       2 * x.device.sm_count),
                1, 1};
  shape.tile = {ceil_div(p.n, shape.grid.x), 1, 1};
  return launch(low_latency_kernel<T>, shape, static_cast<const T*>(d.x.of[d.rank]),
                static_cast<T*>(d.y.of[d.rank]), p.n, d.inbox, peers_of(p, d, x));
}

Variant low_latency() {
  Variant v = variant("low_latency", "one_shot");
  v.deterministic = true;
  v.expected_changes = time(Direction::decreases, 1.1, is_short_all_reduce);
  v.shown_at = {{"n", std::int64_t{2048}}};
  v.unsupported = too_long;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return p.dtype == DataType::bf16 ? low_latency_steps<__nv_bfloat16>(p, d, x)
                                     : low_latency_steps<float>(p, d, x);
  };
  return v;
}

// ---- nccl
//
// The vendor's library, which knows rings, trees and protocols and takes what suits the size. It
// may be given any buffers, and brings data over by way of its own.

Variant of_nccl(std::string id, nccl::Buffers buffers) {
  Variant v = variant(std::move(id), "one_shot");
  v.is_vendor = true;
  v.unavailable = nccl::unavailable;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    const bool has_parts = p.operation == Operation::all_gather ||
                           p.operation == Operation::reduce_scatter ||
                           p.operation == Operation::all_to_all;
    const std::int64_t unit = p.gpus * (16 / element_bytes(p));
    if (has_parts && p.n % unit != 0)
      return "parts of NCCL's are equal: n has to be a multiple of " + std::to_string(unit);
    return std::nullopt;
  };
  v.launch = [buffers](const Problem& p, const Data& d, const LaunchContext&) {
    return nccl::step_of(
        {p.operation, buffers, p.dtype, p.n, d.x.of[d.rank], d.y.of[d.rank], d.rank, p.gpus});
  };
  return v;
}

Variant plain_nccl() {
  return of_nccl("nccl", nccl::Buffers::plain);
}

// ---- nccl_registered
//
// The buffers are registered with the communicator before: ranks may reach each other's in place of
// copies to NCCL's own buffers.

Variant nccl_registered() {
  return of_nccl("nccl_registered", nccl::Buffers::registered);
}

// ---- nccl_windows
//
// The buffers are symmetric windows: NCCL's kernels read and write those of all ranks, as the
// variants above do.

Variant nccl_windows() {
  return of_nccl("nccl_windows", nccl::Buffers::windows);
}

// ---- declaration

Family declare() {
  Family f("collectives", Topic::links,
           "What does it cost to bring several GPUs' results together?");
  f.physics =
      "GPUs that work on one problem have to exchange results. Each step between them costs the "
      "way "
      "over the link and a wait for the slowest; beyond some hundred kilobytes the bytes decide. A "
      "sum over all GPUs brings each at least 2 (ranks - 1) / ranks times its vector over its "
      "links: once to be summed, once as the result. Algorithms differ in steps and in bytes.";
  f.extent("n", &Problem::n, 1 << 22, std::int64_t{1} << 30, "elements of each GPU's vector")
      .choice("operation", &Problem::operation,
              {{"all_reduce", Operation::all_reduce},
               {"all_gather", Operation::all_gather},
               {"reduce_scatter", Operation::reduce_scatter},
               {"broadcast", Operation::broadcast},
               {"all_to_all", Operation::all_to_all},
               {"shift", Operation::shift}},
              "what they do together")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of the elements; sums are made in fp32")
      .spans(&Problem::gpus, &Data::rank);
  const auto type = [](const Problem& p) { return p.dtype; };
  const auto count = [](const Problem& p) { return p.n; };
  f.input("x", &Data::x, type, count)
      .in_out("y", &Data::y, type, count)
      .state("signals", &Data::signals, [](const Problem&) { return kSignalWords; })
      .state("inbox", &Data::inbox, [](const Problem& p) {
        const std::int64_t bytes = p.n * element_bytes(p);
        constexpr std::int64_t kTurns = 2;
        return bytes > kMostInboxBytes ? std::int64_t{4} : kTurns * p.gpus * 4 * ceil_div(bytes, 8);
      });
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.operation != Operation::all_to_all || part_begin(p, 1) * p.gpus == p.n)
      return std::nullopt;
    return "parts that change places are equal: n has to be a multiple of " +
           std::to_string(p.gpus * (16 / element_bytes(p)));
  };
  f.outputs = [](const Problem& p) { return Extent{p.n, 1, 1}; };
  f.inputs = inputs;
  f.reset = reset;
  f.reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    if (p.dtype == DataType::bf16)
      return evaluate_references(out, p.n, [&](int) { return expected<__nv_bfloat16>(p, d); });
    return evaluate_references(out, p.n, [&](int) { return expected<float>(p, d); });
  };
  f.host_reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    if (p.dtype == DataType::bf16) {
      evaluate_references_on_host(out, p.n, [&](int) { return expected<__nv_bfloat16>(p, d); });
    } else {
      evaluate_references_on_host(out, p.n, [&](int) { return expected<float>(p, d); });
    }
  };
  f.tolerance_derivation =
      "A sum of r terms in any order rounds at most r - 1 times, each time by half a unit in the "
      "last place of a partial sum, which no sum of magnitudes is below: (r - 1) u of it, u being "
      "2^-24 in fp32. Who passes partial sums on in bf16, as NCCL's rings do, rounds to u = 2^-8 "
      "at "
      "each of r - 1 steps (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). "
      "Copies have equal bits: their magnitude is 0. The RMS error is that of a random walk's "
      "roundings (sum_rms of as many terms as ranks), doubled (kRmsSafety).";
  f.tolerance = [](const Problem& p) {
    const double u = p.dtype == DataType::bf16 ? 0x1p-8 : 0x1p-24;
    const double steps = p.dtype == DataType::bf16 ? p.gpus - 1 + 0x1p-8 : p.gpus - 1;
    return Tolerance{u * steps, 0.0, kRmsSafety * sum_rms(p.gpus, p.dtype), 0.0};
  };
  f.variant(one_shot()).variant(two_shot()).variant(low_latency());
  f.variant(plain_nccl()).variant(nccl_registered()).variant(nccl_windows());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::collectives
