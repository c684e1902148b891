// vector_width: reading and copying an array with loads of 4, 8 and 16 bytes per lane.
//
// The question: does the width of a load determine how much bandwidth a kernel gets? An idle H200
// answers a DRAM load after 0.34 µs (hierarchy), in which 4.8 TB/s deliver 1.6 MB, or 12 KB for
// each of 132 SMs. A busy DRAM answers later. An SM full of threads (2048) with one 4-byte load
// each has 8 KB in flight; with 16-byte loads, or with four 4-byte loads per thread, it has 32 KB.
// Only wider loads also save instructions and cache requests.
//
// In all variants, a thread issues the same number of loads before it uses the first one
// (loads_per_thread). Every load of a warp covers whole 32-byte sectors, so all variants transfer
// the same bytes.
#include "kernels/common/checksum.cuh"
#include "kernels/common/family.cuh"

namespace gpuexp::vector_width {

constexpr int kBlock = 256;
/// Elements per checksum of a reading kernel's block: 64 KB read for 4 bytes written.
constexpr int kChunk = 16384;

struct Problem {
  std::int64_t n;
  int loads_per_thread;
};

// Copies fill `out`; reading kernels fill `sums`, one checksum (checksum.cuh) per chunk of `in`.
struct Data {
  float* in;
  float* out;
  std::uint32_t* sums;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t chunks(const Problem& p) {
  return ceil_div(p.n, kChunk);
}

// Vectors are 4, 8 or 16 bytes wide. A lane loads at most 16 bytes per instruction (32 on compute
// capability 10.0 and later).
template <class Vector>
constexpr int kFloats = static_cast<int>(sizeof(Vector) / sizeof(float));

// ---- copy_4b, copy_8b, copy_16b: one batch of loads per thread, then the same number of stores

// A block copies kLoads × kBlock consecutive vectors; neighbouring lanes access neighbouring
// vectors in every request. If the last block ends with less than a vector, its first lanes copy
// these elements one by one.
template <class Vector, int kLoads>
__global__ void __launch_bounds__(kBlock) copy_kernel(const float* in, float* out, std::int64_t n) {
  constexpr int kPerBlock = kLoads * kBlock * kFloats<Vector>;
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kPerBlock;
  const int count = static_cast<int>(min(n - begin, static_cast<std::int64_t>(kPerBlock)));
  const int vectors = count / kFloats<Vector>;
  in += begin;
  out += begin;
  const int thread = threadIdx.x;
  Vector v[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    if (thread + i * kBlock < vectors)
      v[i] = reinterpret_cast<const Vector*>(in)[thread + i * kBlock];
  }
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    if (thread + i * kBlock < vectors) reinterpret_cast<Vector*>(out)[thread + i * kBlock] = v[i];
  }
  const int tail = vectors * kFloats<Vector> + thread;
  if (kFloats<Vector> != 1 && tail < count) out[tail] = in[tail];
}

template <class Vector>
MetricValues metrics(const Problem& p, const DeviceSpec&) {
  return {{kBytesInFlightMetric,
           static_cast<double>(p.loads_per_thread) * static_cast<double>(sizeof(Vector))}};
}

// Returns one of four instantiations for the number of loads; `unsupported` rejects other numbers.
template <class Kernel>
Kernel by_loads(const Problem& p, Kernel one, Kernel two, Kernel four, Kernel eight) {
  switch (p.loads_per_thread) {
    case 1: return one;
    case 2: return two;
    case 4: return four;
    case 8: return eight;
  }
  throw std::logic_error("loads_per_thread was not checked before the launch");
}

template <class Vector>
auto copy_kernel_for(const Problem& p) {
  return by_loads(p, copy_kernel<Vector, 1>, copy_kernel<Vector, 2>, copy_kernel<Vector, 4>,
                  copy_kernel<Vector, 8>);
}

// Problems in which DRAM serves every launch, regardless of the caches' contents.
constexpr auto beyond_caches = at_least(&Problem::n, 1 << 26);

// Expected changes of a warp's requests with wider loads; DRAM transfers the same bytes.
ExpectedChangesOf<Problem> wider_loads() {
  return {{"global_load_sectors_per_request", Direction::increases, 1.8, beyond_caches},
          {"global_load_requests", Direction::decreases, 1.8, beyond_caches},
          {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}};
}

template <class Vector>
Variant copy(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected = {}) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"out"};
  v.work = [](const Problem& p) { return streaming_work<float>(p.n, p.n); };
  v.metrics = metrics<Vector>;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const std::int64_t per_block =
        static_cast<std::int64_t>(p.loads_per_thread) * kBlock * kFloats<Vector>;
    return launch(copy_kernel_for<Vector>(p), shape_of_tiles(p.n, per_block, kBlock), d.in, d.out,
                  p.n);
  };
  return v;
}

// ---- copy_4b: 4-byte loads
//
// Each lane loads and stores 4 bytes at a time: a warp's request has 128 consecutive bytes, and
// global_load_sectors_per_request is 4. With one load per thread a full SM has 2048 × 4 bytes in
// flight. These 8 KB are too few to hide DRAM's latency at full bandwidth.
// held: global_load_sectors_per_request = 4

Variant copy_4b() {
  return copy<float>("copy_4b", "");
}

// ---- copy_8b: 8-byte loads
//
// Each lane loads and stores 8 bytes at a time. With as many threads and loads as copy_4b, this is
// twice the bytes in flight, and half the load instructions per byte (global_load_requests). The
// cost is 8-byte alignment, registers for the data in flight, and code for the tail.
// global_load_sectors_per_request is 8.
// held: metric.bytes_in_flight_per_thread = 2 × copy_4b; global_load_requests = 1/2 × copy_4b
// held: global_load_sectors_per_request = 8

Variant copy_8b() {
  return copy<float2>("copy_8b", "copy_4b", wider_loads());
}

// ---- copy_16b: 16-byte loads
//
// Each lane loads and stores 16 bytes at a time, the maximum up to Hopper. With one load per thread
// a full SM has 32 KB in flight, enough to keep DRAM busy. The cost is 16-byte alignment.
// global_load_sectors_per_request is 16.
// held: global_load_sectors_per_request = 16

Variant copy_16b() {
  return copy<float4>("copy_16b", "copy_8b", wider_loads());
}

// ---- read_4b, read_8b, read_16b: batches of loads in a loop, and only checksums written

// A thread waits for a batch of kLoads loads before it issues the next one, so only one batch is in
// flight. Launch bounds of four resident blocks leave enough registers for eight 16-byte loads.
// Without them, the compiler saves registers by adding the first vectors before it issues the last
// loads.
template <class Vector, int kLoads>
__global__ void __launch_bounds__(kBlock, 4)
    checksum_kernel(const float* in, std::uint32_t* sums, std::int64_t n) {
  constexpr int kBatch = kLoads * kBlock;
  static_assert(kChunk % (kBatch * kFloats<Vector>) == 0, "a whole chunk is whole batches");
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kChunk;
  const int count = static_cast<int>(min(n - begin, static_cast<std::int64_t>(kChunk)));
  const int thread = threadIdx.x;
  in += begin;
  std::uint32_t sum = 0;
  int done = 0;
#pragma unroll 1
  for (; done + kBatch * kFloats<Vector> <= count; done += kBatch * kFloats<Vector>) {
    Vector v[kLoads];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      v[i] = reinterpret_cast<const Vector*>(in + done)[thread + i * kBlock];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      sum += bits_sum(v[i]);
  }
  // The elements of the last chunk that fill no whole batch.
#pragma unroll 8
  for (int i = done + thread; i < count; i += kBlock)
    sum += bits_sum(in[i]);
  sum = block_sum<kBlock>(sum);
  if (thread == 0) sums[blockIdx.x] = sum;
}

template <class Vector>
auto checksum_kernel_for(const Problem& p) {
  return by_loads(p, checksum_kernel<Vector, 1>, checksum_kernel<Vector, 2>,
                  checksum_kernel<Vector, 4>, checksum_kernel<Vector, 8>);
}

template <class Vector>
Variant read(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected = {}) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"sums"};
  v.work = [](const Problem& p) { return streaming_work<float, std::uint32_t>(p.n, chunks(p)); };
  v.metrics = metrics<Vector>;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(checksum_kernel_for<Vector>(p), shape_of_tiles(p.n, kChunk, kBlock), d.in, d.sums,
                  p.n);
  };
  return v;
}

// ---- read_4b: 4-byte loads without stores
//
// Each block sums 64 KB and writes only 4 bytes, so dram_write_bytes decreases to nearly zero. DRAM
// need not turn its bus around between reads and writes, and reads have its whole bandwidth. The
// bytes in flight limit the bandwidth as in copy_4b.

Variant read_4b() {
  return read<float>("read_4b", "copy_4b",
                     {{"dram_write_bytes", Direction::decreases, 10, beyond_caches},
                      {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
}

// ---- read_8b: 8-byte loads without stores
//
// Each lane loads 8 bytes at a time: twice the bytes in flight of read_4b, and half its load
// instructions per byte (global_load_requests).
// held: metric.bytes_in_flight_per_thread = 2 × read_4b; global_load_requests = 1/2 × read_4b

Variant read_8b() {
  return read<float2>("read_8b", "read_4b", wider_loads());
}

// ---- read_16b: 16-byte loads without stores
//
// Each lane loads 16 bytes at a time. One load per thread now hides the latency of DRAM, and more
// loads gain little. global_load_requests decreases. Refresh and row changes of DRAM cause the
// difference from the datasheet's bandwidth.

Variant read_16b() {
  return read<float4>("read_16b", "read_8b", wider_loads());
}

// ---- the plain reference

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return evaluate_reference(out[0], p.n, SameElement<float>{d.in}) +
         evaluate_reference(out[1], chunks(p), ChunkChecksum{d.in, p.n, kChunk, 1});
}

// ---- declaration

std::optional<std::string> unsupported(const Problem& p, const DeviceSpec&) {
  const int loads = p.loads_per_thread;
  if (loads == 1 || loads == 2 || loads == 4 || loads == 8) return std::nullopt;
  return "loads_per_thread is " + std::to_string(loads) + "; expected 1, 2, 4 or 8";
}

Family declare() {
  Family f("vector_width", Topic::memory,
           "Does the width of a load determine how much bandwidth a kernel gets?");
  f.physics =
      "Bandwidth is bytes in flight divided by latency. Wider loads and more independent loads per "
      "thread both increase the bytes in flight. Once bytes in flight reach latency × bandwidth, "
      "latency increases with the load, and neither helps any more. Plot bandwidth against "
      "bytes_in_flight_per_thread times the resident threads: all widths fall on one curve until "
      "instruction issue limits it.";
  f.extent("n", &Problem::n, std::int64_t{1} << 26, std::int64_t{1} << 34, "fp32 elements")
      .integer("loads_per_thread", &Problem::loads_per_thread, 1, 1, 8, "",
               "independent loads that a thread issues before it uses the first: 1, 2, 4 or 8");
  f.input("in", &Data::in, &Problem::n)
      .output("out", &Data::out, &Problem::n)
      .output("sums", &Data::sums, chunks);
  f.metric(kBytesInFlightMetric, "B", "bytes of the loads that a thread issues before it waits");
  f.plot("vector_width", "traffic", "Vector width: useful bandwidth by bytes per load");
  f.unsupported = unsupported;
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.in, p.n, stream_seed(seed, 0));
  };
  f.reference = reference;
  f.tolerance_derivation =
      "Zero: a copy preserves every bit, and checksums are integers added modulo 2^32, which is "
      "exact in any order.";
  f.variants(copy_4b(), copy_8b(), copy_16b(), read_4b(), read_8b(), read_16b());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::vector_width
