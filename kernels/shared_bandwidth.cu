// shared_bandwidth: maximum bandwidth of loads from shared memory.
//
// The question: what is the bandwidth limit of a kernel that keeps its data in shared memory? A
// warp that loads 16 bytes per lane needs four cycles. In each of them, eight lanes load 128
// consecutive bytes.
//
// Each block copies its own 32 KiB of the input to shared memory once and reads them `passes`
// times. Each thread sums the words that it reads. metric.shared_bytes counts the bytes read from
// shared memory; the time of DRAM is negligible.
#include "kernels/common/checksum.cuh"
#include "kernels/common/family.cuh"

namespace gpuexp::shared_bandwidth {

constexpr int kBlock = 256;
constexpr int kVectors = 8;  // 16-byte vectors that a thread reads per pass
constexpr int kVector = 4;   // elements per vector
constexpr int kBlockElements = kBlock * kVectors * kVector;

struct Problem {
  std::int64_t blocks;
  int passes;
};

struct Data {
  float* in;
  std::uint32_t* sums;  // one checksum per thread (checksum.cuh)
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t threads(const Problem& p) {
  return p.blocks * kBlock;
}
std::int64_t elements(const Problem& p) {
  return p.blocks * kBlockElements;
}

// ---- read_16b: 16-byte loads
//
// Each lane loads 16 bytes, consecutive over the warp. Every request has 32 × 16 / 128 = 4
// wavefronts of 128 bytes without a bank conflict, and uses 1 issue slot of 4 × 4 = 16. Four
// additions per load leave the schedulers idle most of the time. At least 32 warps with eight loads
// in flight each hide the latency of about 30 cycles. This saturates the data banks of shared
// memory: l1tex__data_pipe_lsu_wavefronts_mem_shared is one per cycle and SM.
// held: bank_conflict = 1

// Both the asm and the load are volatile: nvcc would move a non-volatile asm, and ptxas would merge
// the loads of two consecutive passes (the wavefront counter shows it).
__device__ float4 load_shared(unsigned address) {
  float4 v;
  asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "r"(address));
  return v;
}

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

// Index of element e of a thread's 32: consecutive vectors belong to consecutive threads.
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
           "What is the maximum bandwidth of loads from shared memory?");
  f.physics =
      "Shared memory consists of 32 banks that deliver 4 bytes each per cycle: 128 bytes × SMs × "
      "clock frequency, several times the bandwidth of L2. A request takes as many cycles as the "
      "largest number of words that one bank must deliver. Only loads whose lanes access all banks "
      "equally often come near the maximum; wide loads need the fewest instructions for it.";
  f.extent("blocks", &Problem::blocks, 7920, 1 << 17,
           "blocks of 256 threads that read 32 KiB each; default: 46 or more per SM on up to 170 "
           "SMs")
      .integer("passes", &Problem::passes, 512, 1, 1 << 16, "",
               "number of times that a block reads its share");
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
