// shared_bandwidth: how many bytes per second the SMs read from their shared memory at most.
//
// The question: what is the ceiling of a kernel that keeps its data in shared memory? It has 32
// banks of 4 bytes, so an SM gets at most 128 bytes per clock, provided that the lanes of each
// request meet every bank equally often. A warp that loads 16 bytes per lane takes four clocks, in
// which its eight lanes at a time read 128 consecutive bytes.
//
// Every block copies its own 32 KiB of the input to shared memory once and reads them `passes`
// times; each thread adds up what it read. DRAM's share in that is next to nothing, so the bytes
// that count have a column of their own, metric.shared_bytes.
#include "kernels/common/checksum.cuh"
#include "kernels/common/family.cuh"

namespace gpuexp::shared_bandwidth {

constexpr int kBlock = 256;
constexpr int kVectors = 8;  // of 16 bytes, that a thread reads in each pass
constexpr int kVector = 4;   // elements of one
constexpr int kBlockElements = kBlock * kVectors * kVector;

struct Problem {
  std::int64_t blocks;
  int passes;
};

struct Data {
  float* in;
  std::uint32_t* sums;  // one per thread, of the bit patterns that it read (checksum.cuh)
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t threads(const Problem& p) {
  return p.blocks * kBlock;
}
std::int64_t elements(const Problem& p) {
  return p.blocks * kBlockElements;
}

// ---- read_16b
//
// 16 bytes per lane and load, consecutive over the warp: every request is 32 × 16 / 128 = 4
// wavefronts of 128 bytes without a bank conflict, and takes 1 issue slot of 4 × 4 = 16. Four
// additions per load leave the schedulers idle most of the time, and 32 warps or more with eight
// loads in flight each hide the latency of some 30 clocks. It saturates shared memory's data banks:
// l1tex__data_pipe_lsu_wavefronts_mem_shared is one per clock and SM.
// held: bank_conflict = 1

// Volatile for both compilers: nvcc would move an asm that is not, and ptxas reads once for two
// passes in a row what no ld.volatile reads (the counter of wavefronts shows it).
__device__ float4 load_shared(unsigned address) {
  float4 v;
  asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address));
  return v;
}

// At least four blocks of 32 KiB and 256 threads per SM: 32 warps with eight loads in flight each.
__global__ void __launch_bounds__(kBlock, 4)
    read_16b_kernel(const float* in, std::uint32_t* sums, int passes) {
  __shared__ float4 tile[kBlock * kVectors];
  const int thread = threadIdx.x;
  const float4* const from =
      reinterpret_cast<const float4*>(in + static_cast<std::int64_t>(blockIdx.x) * kBlockElements);
#pragma unroll
  for (int i = 0; i < kVectors; ++i)
    tile[i * kBlock + thread] = from[i * kBlock + thread];
  __syncthreads();
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(tile + thread));
  std::uint32_t sum = 0;
#pragma unroll 2
  for (int pass = 0; pass < passes; ++pass) {
    float4 v[kVectors];
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      v[i] = load_shared(address + i * kBlock * static_cast<int>(sizeof(float4)));
#pragma unroll
    for (int i = 0; i < kVectors; ++i)
      sum += bits_sum(v[i]);
  }
  sums[static_cast<std::int64_t>(blockIdx.x) * kBlock + thread] = sum;
}

Variant read_16b() {
  Variant v("read_16b");
  v.work = [](const Problem& p) {
    return streaming_work<float, std::uint32_t>(elements(p), threads(p));
  };
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    const double pass_bytes = static_cast<double>(elements(p) * sizeof(float));
    return MetricValues{{"shared_bytes", p.passes * pass_bytes}};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(read_16b_kernel, shape_of_tiles(p.blocks * kBlock, kBlock, kBlock), d.in, d.sums,
                  p.passes);
  };
  return v;
}

// ---- the plain reference

// Where element e of a thread's 32 stands: vectors of a block go around its threads.
__host__ __device__ std::int64_t element_of(std::int64_t thread, int e) {
  const std::int64_t vector = e / kVector * kBlock + thread % kBlock;
  return thread / kBlock * kBlockElements + vector * kVector + e % kVector;
}

struct ReferenceSum {
  Problem p;
  Data d;
  __host__ __device__ ReferenceElement operator()(std::int64_t thread) const {
    std::uint32_t sum = 0;
    for (int e = 0; e < kVectors * kVector; ++e)
      sum += bits_sum(d.in[element_of(thread, e)]);
    return {static_cast<double>(sum * static_cast<std::uint32_t>(p.passes)), 0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("shared_bandwidth", Topic::limits,
           "How many bytes per second do SMs read from shared memory at most?");
  f.physics =
      "Shared memory is 32 banks that give 4 bytes each per clock: 128 bytes times SMs times "
      "clock, several times what L2 delivers. A request is served in as many clocks as the fullest "
      "bank has words to give, so that only loads whose lanes meet all banks equally often come "
      "near it; wide ones do with the fewest instructions.";
  f.extent("blocks", &Problem::blocks, 7920, 1 << 17,
           "blocks of 256 threads that read 32 KiB each; the default gives each of up to 170 SMs "
           "46 and more")
      .integer("passes", &Problem::passes, 512, 1, 1 << 16, "",
               "times that a block reads its share");
  f.input("in", &Data::in, elements).output("sums", &Data::sums, threads);
  f.metric("shared_bytes", "B", "bytes read from shared memory over all passes");
  f.ceilings = {CeilingRows::rate("shared", {"read_16b"}, Mode::warm, "metric.shared_bytes")};
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.in, elements(p), stream_seed(seed, 0));
  };
  set_references(f, threads, [](const Problem& p, const Data& d, int) {
    return ReferenceSum{p, d};
  });
  f.tolerance_derivation =
      "Zero: checksums are integers added modulo 2^32, which is exact in any order.";
  f.variant(read_16b());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::shared_bandwidth
