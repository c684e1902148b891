// peer_copy: copies of an array from one GPU's memory to another's.
//
// The question: which method copies an array from another GPU fastest? A kernel accesses the other
// GPU's memory by ordinary loads and stores, and a copy engine copies it without the SMs. The links
// between the GPUs have about a tenth of the bandwidth of device memory in each direction.
#include <algorithm>
#include <map>

#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/compiled_for.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/rank_signals.cuh"

namespace gpuexp::peer_copy {

enum class Pattern {
  one_way,    // GPU 0 receives the array of GPU 1
  ring,       // each GPU receives the array of the next: with two GPUs, both directions at once
  all_pairs,  // each GPU receives an equal part of each GPU's array, at the same position
};

struct Problem {
  std::int64_t n;
  Pattern pattern;
  int gpus;
};

struct Data {
  int rank;
  Ranks<const std::uint32_t> source;  // n words
  Ranks<std::uint32_t> out;           // n words; unchanged on a GPU that receives nothing
  // Used by through_host, in host memory: the data that a GPU sends, and the progress of both GPUs.
  Ranks<std::uint32_t> staging;
  Ranks<std::uint32_t> progress;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

struct Parts {
  const std::uint32_t* from[kMaxRanks];
  std::uint32_t* to[kMaxRanks];
  std::int64_t words[kMaxRanks];
};

// ---- loads: a word per lane
//
// Each lane loads a word from the other GPU's memory and stores it to its own. A warp requests 128
// bytes and waits for the round trip over the link.

constexpr int kBlock = 256;

__global__ void __launch_bounds__(kBlock) words_kernel(Parts parts) {
  const std::uint32_t* const from = parts.from[blockIdx.y];
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < parts.words[blockIdx.y]) parts.to[blockIdx.y][i] = from[i];
}

// ---- how the variants are launched

// A part starts at a multiple of 16 bytes, as vectors and bulk copies need.
__host__ __device__ inline std::int64_t part_begin(const Problem& p, int rank) {
  constexpr std::int64_t kWords = 4;
  return rank == p.gpus ? p.n : p.n / kWords * rank / p.gpus * kWords;
}

/// The rank from which rank `to` receives, or -1 if `to` receives nothing.
__host__ __device__ inline int sender(Pattern pattern, int to, int gpus) {
  if (pattern == Pattern::one_way) return to == 0 ? 1 : -1;
  return (to + 1) % gpus;
}

/// A part to be copied: words [first, end) of both arrays.
struct Move {
  int from;
  int to;
  std::int64_t first;
  std::int64_t end;
};

std::vector<Move> moves(const Problem& p) {
  std::vector<Move> all;
  for (int to = 0; to < p.gpus; ++to) {
    if (p.pattern == Pattern::all_pairs) {
      // Start with the next rank, so that the ranks never all load from the same one.
      for (int k = 1; k <= p.gpus; ++k) {
        const int from = (to + k) % p.gpus;
        all.push_back({from, to, part_begin(p, from), part_begin(p, from + 1)});
      }
    } else if (const int from = sender(p.pattern, to, p.gpus); from >= 0) {
      all.push_back({from, to, 0, p.n});
    }
  }
  return all;
}

/// The copies to a rank or, if `pushed`, from the rank, starting with the next rank as in moves().
std::vector<Move> moves_of(const Problem& p, int rank, bool pushed) {
  std::vector<Move> own;
  for (const Move& move : moves(p)) {
    if ((pushed ? move.from : move.to) == rank) own.push_back(move);
  }
  if (pushed)
    std::stable_partition(own.begin(), own.end(), [&](const Move& m) { return m.to > rank; });
  return own;
}

// Launches at most `most` blocks per part, each for `words_per_block` words.
Steps launch_parts(void (*kernel)(Parts), const Problem& p, const Data& d, bool pushed, int threads,
                   std::int64_t words_per_block, std::int64_t most) {
  const std::vector<Move> own = moves_of(p, d.rank, pushed);
  Parts parts{};
  std::int64_t longest = 0;
  for (std::size_t i = 0; i < own.size(); ++i) {
    const Move& move = own[i];
    parts.from[i] = d.source.of[move.from] + move.first;
    parts.to[i] = d.out.of[move.to] + move.first;
    parts.words[i] = move.end - move.first;
    longest = std::max(longest, parts.words[i]);
  }
  if (longest == 0) return {};
  Shape shape = shape_of_blocks(std::min(ceil_div(longest, words_per_block), most), threads);
  shape.grid.y = static_cast<std::int64_t>(own.size());
  shape.tile = {ceil_div(p.n, shape.grid.x), 1, 1};
  return launch(kernel, shape, parts);
}

Work work(const Problem& p) {
  double in = 0;
  double out = 0;
  for (int rank = 0; rank < p.gpus; ++rank) {
    double to = 0;
    double from = 0;
    for (const Move& move : moves(p)) {
      if (move.from == move.to) continue;
      const double bytes = 4.0 * static_cast<double>(move.end - move.first);
      if (move.to == rank) to += bytes;
      if (move.from == rank) from += bytes;
    }
    in = std::max(in, to);
    out = std::max(out, from);
  }
  // Device memory traffic of the busiest GPU, which reads what it sends and writes what it
  // receives.
  Work w = streaming_work<std::uint32_t>(p.pattern == Pattern::one_way ? 0 : p.n, p.n);
  w.from_peers = in;
  w.to_peers = out;
  return w;
}

constexpr auto is_large = at_least(&Problem::n, 1 << 22);

/// Phases of the rank that sends or receives the maximum number of bytes: a kernel, or a copy per
/// stream.
std::vector<Phase> phases(const Problem& p, LinkUse by) {
  const Work w = work(p);
  Phase phase;
  phase.what = by == LinkUse::copy_engine ? "copy" : "kernel";
  phase.by = by;
  phase.link_bytes = std::max(w.to_peers, w.from_peers);
  phase.both_ways = p.pattern != Pattern::one_way;
  phase.link_loads = by == LinkUse::copy_engine ? 0 : 1;  // a kernel's stores are acknowledged, too
  std::vector<Phase> all{phase};
  if (by != LinkUse::copy_engine || p.pattern != Pattern::all_pairs) return all;
  all[0].link_bytes /= p.gpus;
  for (int part = 1; part < p.gpus; ++part) {
    all.push_back(all[0]);
    all.back().stream = part;
  }
  return all;
}

template <class Launch>
Variant variant(std::string id, std::string compare_to, LinkUse by,
                ExpectedChangesOf<Problem> expected, Launch launch) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.work = work;
  v.launch = launch;
  v.deterministic = true;
  v.phases = [by](const Problem& p, const DeviceSpec&) { return phases(p, by); };
  return v;
}

ExpectedChangesOf<Problem> time(Direction direction, double factor) {
  return {{std::string(kTimeColumn), direction, factor, is_large}};
}

template <bool kPushed>
Steps words(const Problem& p, const Data& d, const LaunchContext&) {
  constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 30;
  return launch_parts(words_kernel, p, d, kPushed, kBlock, kBlock, kMaxBlocks);
}

Variant loads() {
  return variant("loads", "", LinkUse::loads, {}, words<false>);
}

// ---- stores: a word per lane, by the sending GPU
//
// The same kernel runs on the GPU that has the data: it loads from its own memory and stores to the
// other GPU's memory. A store returns no data, so the link is free in the opposite direction, and
// only the end of the kernel waits for the stores. The time is unchanged.

Variant stores() {
  return variant("stores", "loads", LinkUse::stores, time(Direction::unchanged, 1.25), words<true>);
}

// ---- vector_loads: 16-byte loads
//
// Each lane loads 16 bytes and has four such loads in flight, so a warp requests 2 KiB before it
// waits. It needs a quarter of the load instructions of loads (global_load_requests) for the same
// bytes on the link. The time is unchanged: at large sizes the link is the limit of 4-byte loads
// already.
// held: global_load_requests = 1/4 × loads at n=1048576

constexpr int kUnroll = 4;

__global__ void __launch_bounds__(kBlock) vectors_kernel(Parts parts) {
  const std::int64_t words = parts.words[blockIdx.y];
  const auto* const from = reinterpret_cast<const uint4*>(parts.from[blockIdx.y]);
  auto* const to = reinterpret_cast<uint4*>(parts.to[blockIdx.y]);
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * kBlock;
  const std::int64_t count = words / 4;
  for (std::int64_t i = thread; i < count; i += kUnroll * threads) {
    uint4 v[kUnroll];
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      if (i + j * threads < count) v[j] = from[i + j * threads];
    }
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      if (i + j * threads < count) to[i + j * threads] = v[j];
    }
  }
  if (thread < words % 4)
    parts.to[blockIdx.y][count * 4 + thread] = parts.from[blockIdx.y][count * 4 + thread];
}

template <bool kPushed>
Steps vectors(const Problem& p, const Data& d, const LaunchContext& x) {
  constexpr std::int64_t kBlocksPerSm = 4;
  const auto parts = static_cast<std::int64_t>(moves_of(p, d.rank, kPushed).size());
  const std::int64_t most = std::max<std::int64_t>(
      1, kBlocksPerSm * x.device.sm_count / std::max<std::int64_t>(1, parts));
  return launch_parts(vectors_kernel, p, d, kPushed, kBlock, 4 * kUnroll * kBlock, most);
}

Variant vector_loads() {
  return variant("vector_loads", "loads", LinkUse::loads, time(Direction::unchanged, 1.25),
                 vectors<false>);
}

// ---- vector_stores: 16-byte stores
//
// The GPU that has the data stores 16 bytes per lane, four such stores after four loads. It needs a
// quarter of the store instructions of stores (global_store_requests) for the same bytes on the
// link. The time is unchanged: at large sizes the link is the limit of 4-byte stores already.
// held: global_store_requests = 1/4 × stores at pattern=ring, n=1048576

Variant vector_stores() {
  return variant("vector_stores", "stores", LinkUse::stores, time(Direction::unchanged, 1.25),
                 vectors<true>);
}

// ---- bulk_loads: bulk copies through shared memory
//
// One thread per block starts bulk copies of kilobytes from the other GPU to shared memory, and
// from there to its own memory. The copies use no registers, and only this thread waits. Two
// buffers alternate.

constexpr int kPieceBytes = 16384;
constexpr int kPieces = 2;
constexpr std::int64_t kPieceWords = kPieceBytes / 4;

__global__ void __launch_bounds__(32) bulk_kernel(Parts parts) {
  __shared__ alignas(128) unsigned char pieces[kPieces][kPieceBytes];
  __shared__ Barrier arrived[kPieces];
  const std::int64_t words = parts.words[blockIdx.y];
  const std::uint32_t* const from = parts.from[blockIdx.y];
  std::uint32_t* const to = parts.to[blockIdx.y];
  const std::int64_t whole = words / 4 * 4;  // multiple of the unit of bulk copies
  if (threadIdx.x == 0) {
    init_barriers(arrived, kPieces);
    const auto bytes_at = [&](std::int64_t first) {
      return static_cast<unsigned>(4 * min(kPieceWords, whole - first));
    };
    const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kPieceWords;
    const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPieceWords;
    if (begin < whole) start_bulk_load(pieces[0], from + begin, bytes_at(begin), &arrived[0]);
    int turn = 0;
    for (std::int64_t first = begin; first < whole; first += stride, ++turn) {
      const int here = turn % kPieces;
      if (first + stride < whole) {
        // The bulk store that used this buffer last must have read it.
        wait_bulk_store_reads<0>();
        start_bulk_load(pieces[1 - here], from + first + stride, bytes_at(first + stride),
                        &arrived[1 - here]);
      }
      wait_for_phase(&arrived[here], static_cast<unsigned>(turn / kPieces % 2));
      start_bulk_store(to + first, pieces[here], bytes_at(first));
    }
    wait_bulk_stores();
  }
  if (blockIdx.x == 0 && threadIdx.x < words - whole)
    to[whole + threadIdx.x] = from[whole + threadIdx.x];
}

Variant bulk(std::string id, std::string compare_to, bool pushed) {
  Variant v = variant(std::move(id), std::move(compare_to),
                      pushed ? LinkUse::stores : LinkUse::loads, time(Direction::unchanged, 1.25),
                      [pushed](const Problem& p, const Data& d, const LaunchContext& x) {
                        constexpr std::int64_t kBlocksPerSm = 4;
                        return launch_parts(bulk_kernel, p, d, pushed, 32, kPieceWords,
                                            kBlocksPerSm * x.device.sm_count);
                      });
  return needs_capability(std::move(v), kBulkCopyComputeCapability);
}

Variant bulk_loads() {
  return bulk("bulk_loads", "vector_loads", false);
}

// ---- bulk_stores: bulk copies by the sending GPU
//
// The bulk copies load from the GPU's own memory, and store over the link to the other GPU's
// memory.

Variant bulk_stores() {
  return bulk("bulk_stores", "vector_stores", true);
}

// ---- copy_engine: cudaMemcpyAsync
//
// A copy engine, a unit of the GPU outside the SMs, reads the other GPU's memory and writes its
// own. It reaches a larger share of the link's bandwidth than SMs do, and the SMs are free for
// other work. The cost is that it takes longer to start.

Variant copy_engine() {
  return variant(
      "copy_engine", "vector_loads", LinkUse::copy_engine, time(Direction::unchanged, 1.25),
      [](const Problem& p, const Data& d, const LaunchContext&) {
        Steps steps;
        for (const Move& move : moves_of(p, d.rank, false)) {
          if (move.first == move.end) continue;
          Step step(CopyStep{d.out.of[move.to] + move.first, d.source.of[move.from] + move.first,
                             4 * (move.end - move.first)});
          step.stream = static_cast<int>(steps.all().size());
          steps += Steps(step);
        }
        return steps;
      });
}

// ---- through_host: copies through host memory
//
// This is the only method if the GPUs cannot access each other's memory. The sender copies to
// page-locked host memory, and the receiver copies from there. Both copy engines work at the same
// time on consecutive chunks; small kernels between the copies signal the progress to the other
// GPU. The bytes cross two PCI Express links and the host's memory, and the time increases.

constexpr std::int64_t kSlots = 4;  // chunks in flight

/// Words per chunk: enough to hide the kernels between copies, and for a stream to hold all steps.
std::int64_t chunk_words(const Problem& p) {
  constexpr std::int64_t kMinPart = 1 << 18;
  constexpr std::int64_t kMaxChunks = 96;
  return std::max(kMinPart, ceil_div(p.n, kMaxChunks));
}

/// Counters of each GPU in host memory, which the other GPU polls. They count over all launches.
enum Progress { launches_ended, chunks_sent, chunks_received, kProgressWords };

struct Turn {
  std::uint32_t* own;
  std::uint32_t* other;
  Progress tells;  // counter to set to `now`, unless `now` is 0
  std::uint32_t now;
  Progress waits_for;  // the other GPU's counter, awaited until it is `until`, unless `until` is 0
  std::uint32_t until;
  std::uint32_t per_launch;  // chunks per launch
  RankPeers peers;
};

__global__ void turn_kernel(Turn turn) {
  const std::uint32_t before = turn.own[launches_ended] * turn.per_launch;
  if (turn.now != 0) store_release_sys(turn.own + turn.tells, before + turn.now);
  if (turn.until == 0) return;
  for (unsigned polls = 0;
       static_cast<int>(load_acquire_sys(turn.other + turn.waits_for) - before - turn.until) < 0;
       ++polls) {
    if (polls > kMaxPolls) give_up_waiting(turn.peers, 1 - turn.peers.rank, turn.until);
  }
}

__global__ void end_kernel(std::uint32_t* progress) {
  ++progress[launches_ended];
}

Steps through_host_steps(const Problem& p, const Data& d, const LaunchContext& x) {
  const bool sends = !moves_of(p, d.rank, true).empty();
  const bool receives = !moves_of(p, d.rank, false).empty();
  const int other = 1 - d.rank;
  const std::int64_t words = chunk_words(p);
  const std::int64_t chunks = ceil_div(p.n, words);
  Turn turn{d.progress.of[d.rank],
            d.progress.of[other],
            chunks_sent,
            0,
            chunks_received,
            0,
            static_cast<std::uint32_t>(chunks),
            {{}, d.rank, 2, x.report}};
  Shape shape;
  shape.tile = {p.n, 1, 1};
  Steps steps;
  std::map<int, std::size_t> last;  // last step of each stream
  const auto add = [&](Step step, int stream) {
    step.stream = stream;
    last[stream] = steps.add(std::move(step));
  };
  const auto add_turn = [&](Progress tells, std::int64_t now, Progress waits_for,
                            std::int64_t until, int stream) {
    turn.tells = tells;
    turn.now = static_cast<std::uint32_t>(now);
    turn.waits_for = waits_for;
    turn.until = static_cast<std::uint32_t>(std::max<std::int64_t>(until, 0));
    add(launch(turn_kernel, shape, turn).all().front(), stream);
  };
  const auto bytes = [&](std::int64_t chunk) { return 4 * std::min(words, p.n - chunk * words); };
  const auto slot = [&](std::int64_t chunk) { return chunk % kSlots * words; };
  const auto send = [&](std::int64_t c) {
    add_turn(chunks_sent, c, chunks_received, c < chunks ? c + 1 - kSlots : 0, 1);
    if (c == chunks) return;
    add(CopyStep{d.staging.of[d.rank] + slot(c), d.source.of[d.rank] + c * words, bytes(c)}, 1);
  };
  const auto receive = [&](std::int64_t c) {
    add_turn(chunks_received, c, chunks_sent, c < chunks ? c + 1 : 0, 2);
    if (c == chunks) return;
    add(CopyStep{d.out.of[d.rank] + c * words, d.staging.of[other] + slot(c), bytes(c)}, 2);
  };
  // Each chunk is received after the next one is sent: sequential execution cannot deadlock.
  for (std::int64_t c = 0; c <= chunks + 1; ++c) {
    if (sends && c <= chunks) send(c);
    if (receives && c > 0) receive(c - 1);
  }
  Step end = launch(end_kernel, shape, turn.own).all().front();
  for (const auto& [stream, place] : last)
    end.after.push_back(place);
  steps.add(std::move(end));
  return steps;
}

Variant through_host() {
  Variant v = variant("through_host", "copy_engine", LinkUse::copy_engine,
                      time(Direction::increases, 2), through_host_steps);
  v.phases = {};
  v.without_time = "copies between GPUs through host memory are not modelled";
  v.unsupported =
      needs([](const Problem& p) { return p.gpus == 2 && p.pattern != Pattern::all_pairs; },
            "supports only two GPUs, with pattern one_way or ring");
  return v;
}

// ---- inputs

// Initial values of `out`, unchanged on a GPU that receives nothing.
struct Untouched {
  __host__ __device__ std::uint32_t operator()(std::int64_t i) const {
    return 0x5a5a0000u + static_cast<std::uint32_t>(i % 65521);
  }
};

Steps reset(const Problem& p, const Data& d) {
  return fill(d.out.of[d.rank], p.n, Untouched{});
}

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_bits(const_cast<std::uint32_t*>(d.source.of[d.rank]), p.n,
                   stream_seed(seed, static_cast<std::uint64_t>(d.rank))) +
         reset(p, d);
}

// ---- the plain reference

struct Received {
  Problem p;
  Data d;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    int from = 0;
    if (p.pattern == Pattern::all_pairs) {
      while (from + 1 < p.gpus && i >= part_begin(p, from + 1))
        ++from;
    } else {
      from = sender(p.pattern, d.rank, p.gpus);
    }
    return {static_cast<double>(from < 0 ? Untouched{}(i) : d.source.of[from][i]), 0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("peer_copy", Topic::links,
           "Which method copies an array from another GPU's memory fastest?");
  f.physics =
      "GPUs of one host access each other's memory over NVLink or, without NVLink, over PCI "
      "Express. Each link has separate lanes for each direction, and carries packets. For a load, "
      "the request goes out and the data comes back; for a store, the data goes out. A transfer "
      "takes the latency of the link, and then the bytes divided by its bandwidth, of which "
      "headers and requests use a part.";
  f.extent("n", &Problem::n, 1 << 26, std::int64_t{1} << 30, "array length in 4-byte words")
      .choice("pattern", &Problem::pattern,
              {{"one_way", Pattern::one_way},
               {"ring", Pattern::ring},
               {"all_pairs", Pattern::all_pairs}},
              "which GPU receives: GPU 0 from GPU 1; each from the next; each a part from each")
      .spans(&Problem::gpus, &Data::rank);
  f.input("source", &Data::source, &Problem::n).in_out("out", &Data::out, &Problem::n);
  f.state("staging", &Data::staging, [](const Problem& p) {
     return kSlots * std::min(chunk_words(p), p.n);
   }).lives_in(Residence::pinned);
  f.state("progress", &Data::progress, [](const Problem&) {
     return std::int64_t{kProgressWords};
   }).lives_in(Residence::pinned);
  const auto rate = [](const char* ceiling, const char* variant, const char* pattern) {
    return CeilingRows::rate(ceiling, {variant}, Mode::cold, "param.n")
        .where("pattern", pattern)
        .times([](const DeviceSpec&) { return double{sizeof(std::uint32_t)}; });
  };
  f.ceilings = {rate("link_copy", "copy_engine", "one_way"),
                rate("link_read", "vector_loads", "one_way"),
                rate("link_write", "vector_stores", "one_way"),
                rate("link_both", "copy_engine", "ring"),
                rate("link_both_read", "vector_loads", "ring"),
                rate("link_both_write", "vector_stores", "ring"),
                CeilingRows::rate("link_all", {"copy_engine"}, Mode::cold, "link_bytes")
                    .where("pattern", "all_pairs"),
                CeilingRows::latency("link_copy_latency", {"copy_engine"}, Mode::warm, "param.n")
                    .where("n", "1")};
  f.inputs = inputs;
  f.reset = reset;
  f.repeats_without_reset = true;
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int) {
    return Received{p, d};
  });
  f.tolerance_derivation = "Zero: copies are bitwise identical.";
  f.variants(loads(), stores(), vector_loads(), vector_stores(), bulk_loads(), bulk_stores(),
             copy_engine(), through_host());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::peer_copy
