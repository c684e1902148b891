// memory_bandwidth: how many bytes per second DRAM and L2 deliver and take at most.
//
// The question: what is the ceiling that a memory-bound kernel can reach on this device? Not the
// datasheet's: DRAM refreshes, opens rows and turns its bus between reads and writes, and what is
// left of the printed bandwidth is found by asking for as much as possible. That needs wide
// accesses, several times as many bytes in flight as bandwidth times the latency of an idle DRAM
// (bytes_in_flight), and no SM without work.
//
// The size decides who serves: arrays of many times L2 come from DRAM; arrays that fit in L2 and
// were there before (mode warm) come from L2. These are small, so that a launch would take longer
// than the transfer: `passes` over the same array make it long enough to be timed. All loads go
// past L1, which would otherwise serve the later passes.
#include <algorithm>

#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/checksum.cuh"
#include "kernels/common/compiled_for.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/load_past_l1.cuh"

namespace gpuexp::memory_bandwidth {

/// Elements of one checksum: 16 KiB read for 4 bytes written.
constexpr int kChunk = 4096;
constexpr int kVector = 4;  // elements that a lane moves with one instruction, 16 bytes

struct Problem {
  std::int64_t n;
  int passes;
};

struct Data {
  float* in;
  float* out;           // of copies
  float* filled;        // of writes
  std::uint32_t* sums;  // of reads, one per chunk of `in`, added up over the passes
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t chunks(const Problem& p) {
  return ceil_div(p.n, kChunk);
}

// ---- read
//
// Eight 16-byte loads per thread before the first is used: 160 KB in flight on an SM full of them,
// several times what DRAM's latency asks for, and nothing written but 4 bytes per 16 KiB. It
// saturates DRAM, or L2 where the array lies there; dram_read_bytes, or lts__t_sectors_op_read, is
// all that moves.

constexpr int kReadBlock = 128;

// Asking for eight resident blocks leaves the compiler the registers that eight loads in flight
// need.
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
        v[i] = load_past_l1(reinterpret_cast<const float4*>(in) + thread + i * kReadBlock);
#pragma unroll
      for (int i = 0; i < kLoads; ++i)
        sum += bits_sum(v[i]);
    } else {
      for (int i = thread; i < count; i += kReadBlock)
        sum += bits_sum(load_past_l1(in + i));
    }
  }
  sum = block_sum<kReadBlock>(sum);
  if (thread == 0) sums[blockIdx.x] = sum;
}

enum class Moves { reads, writes, copies };

template <Moves moves>
Work work(const Problem& p) {
  static_assert(sizeof(float) == sizeof(std::uint32_t), "both have words of 4 bytes");
  return streaming_work<std::uint32_t>(moves == Moves::writes ? 0 : p.n,
                                       moves == Moves::reads ? chunks(p) : p.n);
}

// Where DRAM serves every pass, whatever the caches kept of the one before.
constexpr auto beyond_caches = at_least(&Problem::n, 1 << 26);

// Where what the copy engine leaves to the lanes, the end of the array, is next to nothing.
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

// With more vectors per thread a block would write longer runs between its reads, and DRAM is then
// slower, not faster: vector_width measures 4.29 TB/s for one load per thread and 4.03 for eight
// on an H200.
constexpr int kCopyBlock = 256;

// The `count` elements, up to kVector, from element `first` on: as a vector where all are there.
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

// What write stores in element i: a number in [1, 2) that differs from its neighbours'.
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
  __device__ void element(std::int64_t i) const { out[i] = load_past_l1(in + i); }
  __device__ void vector(std::int64_t i) const {
    *reinterpret_cast<float4*>(out + i) = load_past_l1(reinterpret_cast<const float4*>(in + i));
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

// ---- write
//
// One 16-byte store per thread and no load: what DRAM takes when it never has to turn its bus to
// reads. Whole lines are overwritten, so that none is fetched first; an L2's worth is still on its
// way to DRAM when the kernel ends. It saturates DRAM's writes, or L2's.

Variant write() {
  Variant v = moving<Moves::writes>("write", "read",
                                    {{"global_load_requests", Direction::decreases, 10},
                                     {"dram_read_bytes", Direction::decreases, 10, beyond_caches}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch_move(p, Fill{d.filled});
  };
  return v;
}

// ---- copy
//
// One 16-byte load and store per thread, in blocks that come and go: a full SM has 32 KB in flight,
// and at every moment some blocks read while others write. It saturates DRAM as most kernels can
// use it, reading and writing as much; what is missing to read is the time that DRAM takes to turn
// its bus.

Variant copy() {
  Variant v = moving<Moves::copies>("copy", "write",
                                    {{"global_load_requests", Direction::increases, 10},
                                     {"dram_read_bytes", Direction::increases, 10, beyond_caches}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch_move(p, Copy{d.in, d.out});
  };
  return v;
}

// ---- read_bulk, copy_bulk: one block per SM, whose copy engine moves 16 KiB at a time

constexpr int kBulkWarps = 4;
constexpr int kBulkBlock = kBulkWarps * kWarp;
constexpr int kStages = 3;  // per warp; 12 of 16 KiB fill an SM's shared memory
constexpr int kChunkBytes = kChunk * static_cast<int>(sizeof(float));
constexpr std::int64_t kBulkSharedBytes =
    kBulkWarps * kStages * (kChunkBytes + static_cast<std::int64_t>(sizeof(Barrier)));

// The iterations of one warp: every pass over its first chunk, then over its next one, … Iteration
// t uses stage t mod kStages, for the (t / kStages)-th time.
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
  // What the copy engine moves of the chunk: whole units of 16 bytes. Only the array's last chunk
  // can have less than one, and it is the last of its warp.
  __device__ unsigned bytes(int iteration) const {
    return elements(iteration) / kVector * kBulkCopyUnit;
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
    if (tail < elements) sum += bits_sum(load_past_l1(in + ring.chunk(iteration) * kChunk + tail));
    __syncwarp();  // all lanes have read the stage
    if (lane == 0) ring.start(iteration + kStages);
    if ((iteration + 1) % passes == 0) {
      sum = warp_sum(sum);
      if (lane == 0) sums[ring.chunk(iteration)] = sum;
      sum = 0;
    }
  }
}

// A stage is loaded again one iteration after its store was started: by then the store has read it,
// and nothing waits.
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
    wait_for_stores_to_read<1>();
    ring.start(iteration - 1 + kStages);
  }
  wait_for_stores();
}

// One block per SM that stays.
Shape bulk_shape(const Problem& p, const DeviceSpec& device) {
  const std::int64_t blocks =
      std::min<std::int64_t>(device.sm_count, ceil_div(chunks(p), kBulkWarps));
  return shape_of_shares({blocks}, {p.n}, kBulkBlock, kBulkSharedBytes);
}

Variant bulk(Variant v) {
  return needs_capability(std::move(v), kBulkCopyComputeCapability);
}

// ---- read_bulk
//
// cp.async.bulk: one lane asks for 16 KiB at a time, and the SM's copy engine writes them to shared
// memory. 192 KiB are in flight per SM whatever the registers and the occupancy, with one block per
// SM that stays. Costs the shared memory, and its bandwidth once more; what reaches DRAM is the
// same, so a gain says that read left some.

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

// ---- copy_bulk
//
// The copy engine both ways: what it brought to shared memory it stores from there, and four lanes
// per SM do nothing but start the next 16 KiB. No byte passes a register. DRAM sees runs of 16 KiB
// to read and to write, which it may like less than many short ones.

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

// ---- memcpy
//
// cudaMemcpyAsync from device to device, once per pass: the copy that everybody has, and the figure
// to beat. The driver chooses the kernel.

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
  Family f("memory_bandwidth", Topic::limits,
           "How many bytes per second do DRAM and L2 move at most?");
  f.physics =
      "DRAM delivers its datasheet bandwidth only between refreshes, within open rows and in one "
      "direction. On an H200 some 97 % of it are left to reads and 89 % to copies "
      "(configs/ceilings/h200.json), if every SM has enough bytes in flight. Arrays that fit in L2 "
      "show what L2 delivers instead, which its slices and the crossbar bind, not the SMs.";
  f.extent("n", &Problem::n, std::int64_t{1} << 28, std::int64_t{1} << 34, "fp32 elements")
      .integer("passes", &Problem::passes, 1, 1, 1024, "",
               "times that the array is moved; above 1 for arrays that fit in L2");
  f.input("in", &Data::in, &Problem::n)
      .output("out", &Data::out, &Problem::n)
      .output("filled", &Data::filled, &Problem::n)
      .output("sums", &Data::sums, chunks);
  f.metric("passed_bytes", "B", "bytes read and written over all passes, past L1 and through L2");
  // DRAM is read cold, L2 in passes over what fits in it. What waits for memory runs at full clock.
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
      "Zero: a copy keeps every bit, what is written is an exact fp32 number, and checksums are "
      "integers added modulo 2^32, which is exact in any order.";
  f.variants(read(), write(), copy(), read_bulk(), copy_bulk(), vendor_memcpy());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::memory_bandwidth
