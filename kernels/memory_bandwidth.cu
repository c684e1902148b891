// memory_bandwidth: maximum bandwidth of DRAM and L2, for loads and for stores.
//
// The question: what bandwidth can a memory-bound kernel reach on this device? The kernels keep as
// many bytes in flight as possible: wide accesses, work for every SM, and several times bandwidth ×
// latency of an idle DRAM (bytes_in_flight).
//
// DRAM serves arrays of many times the capacity of L2. L2 serves arrays that fit in it and were
// accessed before (mode warm). One pass over such a small array would take less time than the
// launch, so `passes` repeats it. All loads bypass L1, which would otherwise serve the later
// passes.
#include <algorithm>

#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/checksum.cuh"
#include "kernels/common/compiled_for.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/load_past_l1.cuh"

namespace gpuexp::memory_bandwidth {

/// Elements per checksum: 16 KiB read for 4 bytes written.
constexpr int kChunk = 4096;
constexpr int kVector = 4;  // elements per load or store of a lane, 16 bytes

struct Problem {
  std::int64_t n;
  int passes;
};

struct Data {
  float* in;
  float* out;           // output of copies
  float* filled;        // output of writes
  std::uint32_t* sums;  // output of reads: checksum of each chunk of `in`, over all passes
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t chunks(const Problem& p) {
  return ceil_div(p.n, kChunk);
}

// ---- read: 16-byte loads
//
// Each thread issues eight 16-byte loads before it uses the first one. A full SM has 160 KB in
// flight, several times the bytes that the latency of DRAM requires. The kernel writes only 4 bytes
// per 16 KiB. It saturates DRAM, or L2 if the array is in L2: nearly all bytes are dram_read_bytes
// or lts__t_sectors_op_read.

constexpr int kReadBlock = 128;

// Launch bounds of eight resident blocks leave enough registers for eight loads in flight.
__global__ void __launch_bounds__(kReadBlock, 8)
    read_kernel(const float* in, std::uint32_t* sums, std::int64_t n, int passes) {
  constexpr int kLoads = kChunk / kVector / kReadBlock;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kChunk;
  const int count = static_cast<int>(min(n - begin, static_cast<std::int64_t>(kChunk)));
  const int thread = threadIdx.x;
  in += begin;
  std::uint32_t sum = 0;
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    if (count == kChunk) {
      float4 v[kLoads];
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        v[i] = load_cg(reinterpret_cast<const float4*>(in) + thread + i * kReadBlock);
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        sum += bits_sum(v[i]);
    } else {
      for (int i = thread; i < count; i += kReadBlock)
        sum += bits_sum(load_cg(in + i));
    }
  }
  sum = block_sum<kReadBlock>(sum);
  if (thread == 0) sums[blockIdx.x] = sum;
}

enum class Moves { reads, writes, copies };

template <Moves moves>
Work work(const Problem& p) {
  static_assert(sizeof(float) == sizeof(std::uint32_t),
                "float and std::uint32_t must have the same size");
  return streaming_work<std::uint32_t>(moves == Moves::writes ? 0 : p.n,
                                       moves == Moves::reads ? chunks(p) : p.n);
}

// Problems in which DRAM serves every pass, regardless of the caches' contents.
constexpr auto beyond_caches = at_least(&Problem::n, 1 << 26);

// Problems in which the copy engine copies nearly all of the array, and lanes only its end.
constexpr auto has_whole_chunks = at_least(&Problem::n, 1 << 20);

template <Moves moves>
Variant moving(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected = {}) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {moves == Moves::reads ? "sums" : moves == Moves::writes ? "filled" : "out"};
  v.work = work<moves>;
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    constexpr int kDirections = moves == Moves::copies ? 2 : 1;
    const double array_bytes = static_cast<double>(p.n * sizeof(float));
    return MetricValues{{"passed_bytes", kDirections * array_bytes * p.passes}};
  };
  return v;
}

Variant read() {
  Variant v = moving<Moves::reads>("read", "");
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(read_kernel, shape_of_tiles(p.n, kChunk, kReadBlock), d.in, d.sums, p.n,
                  p.passes);
  };
  return v;
}

// ---- write, copy: one vector per thread

// More vectors per thread would make a block write longer runs between its reads, which is slower:
// vector_width measures 4.29 TB/s for one load per thread and 4.03 for eight on an H200.
constexpr int kCopyBlock = 256;

// Processes up to kVector elements, starting at `first`: as one vector if all are within n.
template <class Move>
__device__ void move_vector(std::int64_t first, std::int64_t n, int passes, Move move) {
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    if (first + kVector <= n) {
      move.vector(first);
    } else {
      for (std::int64_t i = first; i < n; ++i)
        move.element(i);
    }
  }
}

// The value that write stores in element i: a number in [1, 2) that differs from its neighbours.
__host__ __device__ float pattern(std::int64_t i) {
  constexpr unsigned kPeriod = 1u << 23;
  return 1.0f + 0x1p-23f * static_cast<float>(static_cast<unsigned>(i) % kPeriod);
}

struct Fill {
  float* out;
  __device__ void element(std::int64_t i) const { out[i] = pattern(i); }
  __device__ void vector(std::int64_t i) const {
    *reinterpret_cast<float4*>(out + i) =
        make_float4(pattern(i), pattern(i + 1), pattern(i + 2), pattern(i + 3));
  }
};

struct Copy {
  const float* in;
  float* out;
  __device__ void element(std::int64_t i) const { out[i] = load_cg(in + i); }
  __device__ void vector(std::int64_t i) const {
    *reinterpret_cast<float4*>(out + i) = load_cg(reinterpret_cast<const float4*>(in + i));
  }
};

template <class Move>
__global__ void __launch_bounds__(kCopyBlock) move_kernel(Move move, std::int64_t n, int passes) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kCopyBlock + threadIdx.x;
  move_vector(thread * kVector, n, passes, move);
}

template <class Move>
Steps launch_move(const Problem& p, const Move& move) {
  return launch(move_kernel<Move>, shape_of_tiles(p.n, kCopyBlock * kVector, kCopyBlock), move, p.n,
                p.passes);
}

// ---- write: 16-byte stores
//
// Each thread issues one 16-byte store and no load, so DRAM never turns its bus around for reads.
// Whole lines are overwritten, so L2 loads none of them first: dram_read_bytes decreases. When the
// kernel ends, L2 may still hold stores, up to its capacity. The kernel saturates the write
// bandwidth of DRAM or of L2.

Variant write() {
  Variant v = moving<Moves::writes>("write", "read",
                                    {{"global_load_requests", Direction::decreases, 10},
                                     {"dram_read_bytes", Direction::decreases, 10, beyond_caches}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch_move(p, Fill{d.filled});
  };
  return v;
}

// ---- copy: one 16-byte load and store per thread
//
// Each thread issues one 16-byte load in addition to the 16-byte store of write:
// global_load_requests increases. A full SM has 32 KB of loads in flight, and at any time some
// blocks load while others store. The kernel saturates DRAM with equal amounts of reads and writes.
// It takes longer per byte than read, because DRAM turns its bus around between reads and writes.

Variant copy() {
  Variant v = moving<Moves::copies>("copy", "write",
                                    {{"global_load_requests", Direction::increases, 10},
                                     {"dram_read_bytes", Direction::increases, 10, beyond_caches}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch_move(p, Copy{d.in, d.out});
  };
  return v;
}

// ---- read_bulk, copy_bulk: one block per SM, whose copy engine copies 16 KiB at a time

constexpr int kBulkWarps = 4;
constexpr int kBulkBlock = kBulkWarps * kWarp;
constexpr int kStages = 3;  // per warp; 12 of 16 KiB fill an SM's shared memory
constexpr int kChunkBytes = kChunk * static_cast<int>(sizeof(float));
constexpr std::int64_t kBulkSharedBytes =
    kBulkWarps * kStages * (kChunkBytes + static_cast<std::int64_t>(sizeof(Barrier)));

// The iterations of one warp: all passes over its first chunk, then all passes over its next one, …
// Iteration t uses stage t mod kStages, for the (t / kStages)-th time.
struct Ring {
  char* stages;  // kStages × kChunkBytes
  Barrier* barriers;
  const float* in;
  std::int64_t n;
  int passes;
  std::int64_t first_chunk;
  std::int64_t chunk_step;
  int iterations;

  __device__ Ring(char* shared, const float* in, std::int64_t n, int passes)
      : in(in), n(n), passes(passes) {
    const int warp = threadIdx.x / kWarp;
    stages = shared + warp * kStages * kChunkBytes;
    barriers =
        reinterpret_cast<Barrier*>(shared + kBulkWarps * kStages * kChunkBytes) + warp * kStages;
    first_chunk = static_cast<std::int64_t>(blockIdx.x) * kBulkWarps + warp;
    chunk_step = static_cast<std::int64_t>(gridDim.x) * kBulkWarps;
    const std::int64_t left = (n + kChunk - 1) / kChunk - first_chunk;
    iterations = left <= 0 ? 0 : static_cast<int>((left + chunk_step - 1) / chunk_step) * passes;
  }
  __device__ std::int64_t chunk(int iteration) const {
    return first_chunk + iteration / passes * chunk_step;
  }
  __device__ char* stage(int iteration) const { return stages + iteration % kStages * kChunkBytes; }
  __device__ int elements(int iteration) const {
    return static_cast<int>(min(n - chunk(iteration) * kChunk, static_cast<std::int64_t>(kChunk)));
  }
  // Bytes of the chunk that the copy engine moves: whole units of 16 bytes. Only the last chunk of
  // the array can have less than one unit, and it is the last chunk of its warp.
  __device__ unsigned bytes(int iteration) const {
    return elements(iteration) / kVector * kBulkCopyAlignment;
  }
  __device__ void start(int iteration) const {
    if (iteration >= iterations || bytes(iteration) == 0) return;
    start_bulk_load(stage(iteration), in + chunk(iteration) * kChunk, bytes(iteration),
                    barriers + iteration % kStages);
  }
  __device__ void wait(int iteration) const {
    if (bytes(iteration) > 0)
      wait_for_phase(barriers + iteration % kStages, iteration / kStages % 2);
  }
  __device__ void start_first() const {
    init_barriers(barriers, kStages);
    for (int iteration = 0; iteration < kStages; ++iteration)
      start(iteration);
  }
};

__device__ std::uint32_t stage_sum(const float* stage, int elements, int lane) {
  std::uint32_t sum = 0;
  const float4* const vectors = reinterpret_cast<const float4*>(stage);
#pragma unroll 8
  for (int i = lane; i < elements / kVector; i += kWarp)
    sum += bits_sum(vectors[i]);
  return sum;
}

__global__ void __launch_bounds__(kBulkBlock)
    read_bulk_kernel(const float* in, std::uint32_t* sums, std::int64_t n, int passes) {
  extern __shared__ __align__(128) char shared[];
  const Ring ring(shared, in, n, passes);
  const int lane = threadIdx.x % kWarp;
  if (lane == 0) ring.start_first();
  __syncwarp();
  std::uint32_t sum = 0;
#pragma unroll 1
  for (int iteration = 0; iteration < ring.iterations; ++iteration) {
    const int elements = ring.elements(iteration);
    ring.wait(iteration);
    sum += stage_sum(reinterpret_cast<const float*>(ring.stage(iteration)), elements, lane);
    const int tail = elements / kVector * kVector + lane;
    if (tail < elements) sum += bits_sum(load_cg(in + ring.chunk(iteration) * kChunk + tail));
    __syncwarp();  // all lanes have read the stage
    if (lane == 0) ring.start(iteration + kStages);
    if ((iteration + 1) % passes == 0) {
      sum = warp_sum(sum);
      if (lane == 0) sums[ring.chunk(iteration)] = sum;
      sum = 0;
    }
  }
}

// A stage is loaded again one iteration after the start of its store: by then the store has read
// it, so the wait is short.
__global__ void __launch_bounds__(kBulkBlock)
    copy_bulk_kernel(const float* in, float* out, std::int64_t n, int passes) {
  extern __shared__ __align__(128) char shared[];
  const Ring ring(shared, in, n, passes);
  const std::int64_t tail = n / kVector * kVector + threadIdx.x;
  if (blockIdx.x == 0 && tail < n) out[tail] = in[tail];
  if (threadIdx.x % kWarp != 0) return;
  ring.start_first();
#pragma unroll 1
  for (int iteration = 0; iteration < ring.iterations && ring.bytes(iteration) > 0; ++iteration) {
    ring.wait(iteration);
    start_bulk_store(out + ring.chunk(iteration) * kChunk, ring.stage(iteration),
                     ring.bytes(iteration));
    if (iteration == 0) continue;
    wait_bulk_store_reads<1>();
    ring.start(iteration - 1 + kStages);
  }
  wait_bulk_stores();
}

Shape bulk_shape(const Problem& p, const DeviceSpec& device) {
  const std::int64_t blocks =
      std::min<std::int64_t>(device.sm_count, ceil_div(chunks(p), kBulkWarps));
  return shape_of_shares({blocks}, {p.n}, kBulkBlock, kBulkSharedBytes);
}

Variant bulk(Variant v) {
  return needs_capability(std::move(v), kBulkCopyComputeCapability);
}

// ---- read_bulk: bulk copies to shared memory
//
// One lane requests 16 KiB at a time (cp.async.bulk), and the SM's copy engine writes them to
// shared memory. With one persistent block per SM, 192 KiB per SM are in flight, independent of
// registers and occupancy. The cost is capacity and bandwidth of shared memory. The traffic to L2
// is unchanged (l2_sectors), so any gain shows bandwidth that read did not use.

Variant read_bulk() {
  Variant v = bulk(
      moving<Moves::reads>("read_bulk", "read",
                           {{"global_load_requests", Direction::decreases, 10, has_whole_chunks},
                            {"l2_sectors", Direction::unchanged, 1.05, has_whole_chunks}}));
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(read_bulk_kernel, bulk_shape(p, x.device), d.in, d.sums, p.n, p.passes);
  };
  return v;
}

// ---- copy_bulk: bulk copies in both directions
//
// The copy engine loads 16 KiB into shared memory and stores them from there. Four lanes per SM
// only start the copies, and no byte passes through a register: global_load_requests decreases.
// DRAM alternates between reads and writes of 16 KiB, which may be slower than shorter ones.

Variant copy_bulk() {
  Variant v = bulk(
      moving<Moves::copies>("copy_bulk", "copy",
                            {{"global_load_requests", Direction::decreases, 10, has_whole_chunks},
                             {"l2_sectors", Direction::unchanged, 1.05, has_whole_chunks}}));
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(copy_bulk_kernel, bulk_shape(p, x.device), d.in, d.out, p.n, p.passes);
  };
  return v;
}

// ---- memcpy: cudaMemcpyAsync
//
// The host calls cudaMemcpyAsync from device to device, once per pass. The driver chooses the
// kernel. This copy is the reference for the other copies.

Variant vendor_memcpy() {
  Variant v = moving<Moves::copies>("memcpy", "copy");
  v.is_vendor = true;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    Steps steps;
    for (int pass = 0; pass < p.passes; ++pass)
      steps += CopyStep{d.out, d.in, p.n * static_cast<std::int64_t>(sizeof(float))};
    return steps;
  };
  return v;
}

// ---- the plain reference

struct ReferenceFill {
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return {pattern(i), 0.0};
  }
};

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return evaluate_reference(out[0], p.n, SameElement<float>{d.in}) +
         evaluate_reference(out[1], p.n, ReferenceFill{}) +
         evaluate_reference(out[2], chunks(p), ChunkChecksum{d.in, p.n, kChunk, p.passes});
}

// ---- declaration

Family declare() {
  Family f("memory_bandwidth", Topic::limits, "What is the maximum bandwidth of DRAM and L2?");
  f.physics =
      "DRAM delivers its datasheet bandwidth only between refreshes, within open rows and in one "
      "direction. On an H200 about 97 % of it remain for reads and 89 % for copies "
      "(configs/ceilings/h200.json), if every SM has enough bytes in flight. Arrays that fit in L2 "
      "show the bandwidth of L2, which its slices and the crossbar limit, not the SMs.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, std::int64_t{1} << 34, "fp32 elements")
      .integer("passes", &Problem::passes, 1, 1, 1024, "",
               "number of times that the array is moved; above 1 for arrays that fit in L2");
  f.input("in", &Data::in, &Problem::n)
      .output("out", &Data::out, &Problem::n)
      .output("filled", &Data::filled, &Problem::n)
      .output("sums", &Data::sums, chunks);
  f.metric("passed_bytes", "B", "bytes read and written over all passes, bypassing L1, through L2");
  // DRAM is read cold, L2 in several passes over an array that fits in it. A kernel that waits for
  // memory runs at full clock.
  using Source = CeilingRows;
  f.ceilings = {Source::rate("dram_read", {"read", "read_bulk"}, Mode::cold, "useful_bytes"),
                Source::rate("dram_write", {"write"}, Mode::cold, "useful_bytes"),
                Source::rate("dram_copy", {"copy", "copy_bulk"}, Mode::cold, "useful_bytes"),
                Source::rate("dram_copy", {"memcpy"}, Mode::cold, "useful_bytes"),
                Source::rate("l2_read", {"read", "read_bulk"}, Mode::warm, "metric.passed_bytes"),
                Source::rate("l2_write", {"write"}, Mode::warm, "metric.passed_bytes"),
                Source::sm_clock("copy", Mode::cold)};
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.in, p.n, stream_seed(seed, 0));
  };
  f.reference = reference;
  f.tolerance_derivation =
      "Zero: a copy preserves every bit, each written value is an exact fp32 number, and checksums "
      "are integers added modulo 2^32, which is exact in any order.";
  f.variants(read(), write(), copy(), read_bulk(), copy_bulk(), vendor_memcpy());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::memory_bandwidth
