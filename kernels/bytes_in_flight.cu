// bytes_in_flight: memory bandwidth of a kernel as a function of the bytes that it has in flight.
//
// The question: how many bytes must an SM have in flight to use the full bandwidth of L2 or DRAM?
// By Little's law the minimum is bandwidth × latency. An idle H200 answers a DRAM load after 0.34
// µs (hierarchy), in which 4.8 TB/s deliver 1.6 MB, or 12 KB for each of 132 SMs. Near full
// bandwidth, latency grows with the load.
//
// The bytes in flight of an SM are warps × loads per thread × 512 bytes (16 bytes × 32 lanes): one
// block per SM reads a slice of the array in batches of loads. Loads bypass L1.
#include "kernels/common/checksum.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/load_past_l1.cuh"
#include "kernels/common/powers_of_two.cuh"
#include "kernels/common/texture_fetch.cuh"

namespace gpuexp::bytes_in_flight {

constexpr int kMaxWarps = 16;
constexpr int kVector = 4;  // elements per load

struct Problem {
  std::int64_t n;
  int blocks;
  int warps;
  int loads_per_thread;
  int passes;
};

struct Data {
  float* in;
  std::uint32_t* sums;    // checksum of each block's slice, over all passes
  std::uint32_t* shared;  // checksum of the first slice, which all blocks read
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- own_slices: one slice per SM
//
// Each SM reads its own slice, so L2 delivers every byte once. The bandwidth is
// bytes_per_sm_in_flight divided by the latency of the memory that serves the loads, up to the full
// bandwidth of this memory.

/// Returns the checksum of `vectors` vectors. Each thread issues kLoads loads before it uses a
/// value; load(i) returns vector i.
template <int kLoads, int kThreads, class Load>
__device__ std::uint32_t sum_of_slice(std::int64_t vectors, Load load) {
  std::uint32_t sum = 0;
  std::int64_t i = threadIdx.x;
#pragma unroll 1
  for (; i + (kLoads - 1) * kThreads < vectors; i += kLoads * kThreads) {
    decltype(load(i)) v[kLoads];
#pragma unroll
    for (int j = 0; j < kLoads; ++j)
      v[j] = load(i + j * kThreads);
#pragma unroll
    for (int j = 0; j < kLoads; ++j)
      sum += bits_sum(v[j]);
  }
#pragma unroll 1
  for (; i < vectors; i += kThreads)
    sum += bits_sum(load(i));
  return sum;
}

// With a launch bound of one block per SM, ptxas keeps eight loads in flight. With more blocks it
// saves registers and issues only four loads before a thread waits.
template <int kLoads, int kThreads>
__global__ void __launch_bounds__(kThreads, 1)
    read_kernel(const float* in, std::uint32_t* sums, std::int64_t slice, bool is_shared,
                int passes) {
  const auto* const from =
      reinterpret_cast<const float4*>(in + (is_shared ? 0 : blockIdx.x * slice));
  std::uint32_t sum = 0;
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass)
    sum += sum_of_slice<kLoads, kThreads>(slice / kVector,
                                          [&](std::int64_t i) { return load_cg(from + i); });
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// Elements per slice: equally many whole 128-byte lines for each block.
std::int64_t slice(const Problem& p) {
  constexpr std::int64_t kLine = 32;
  return std::max<std::int64_t>(1, p.n / kLine / p.blocks) * kLine;
}
std::int64_t elements(const Problem& p) {
  return slice(p) * p.blocks;
}

using ReadKernel = void (*)(const float*, std::uint32_t*, std::int64_t, bool, int);
template <int kLoads>
constexpr ReadKernel kByWarps[] = {read_kernel<kLoads, kWarp>, read_kernel<kLoads, 2 * kWarp>,
                                   read_kernel<kLoads, 4 * kWarp>, read_kernel<kLoads, 8 * kWarp>,
                                   read_kernel<kLoads, 16 * kWarp>};

ReadKernel kernel_for(const Problem& p) {
  constexpr const ReadKernel* kByLoads[] = {kByWarps<1>, kByWarps<2>, kByWarps<4>, kByWarps<8>};
  return kByLoads[logarithm(p.loads_per_thread)][logarithm(p.warps)];
}

Shape shape(const Problem& p) {
  return shape_of_blocks(p.blocks, p.warps * kWarp);
}

Variant reading(std::string id, bool is_shared) {
  Variant v(std::move(id));
  v.writes = {is_shared ? "shared" : "sums"};
  v.work = [is_shared](const Problem& p) {
    const std::int64_t read = is_shared ? slice(p) : elements(p);
    return streaming_work<float, std::uint32_t>(read, p.blocks);
  };
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    const double per_thread = static_cast<double>(p.loads_per_thread * sizeof(float4));
    return MetricValues{
        {kBytesInFlightMetric, per_thread},
        {"bytes_per_sm_in_flight", per_thread * kWarp * p.warps},
        {"delivered_bytes", static_cast<double>(elements(p) * sizeof(float)) * p.passes}};
  };
  v.launch = [is_shared](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(kernel_for(p), shape(p), d.in, is_shared ? d.shared : d.sums, slice(p), is_shared,
                  p.passes);
  };
  return v;
}

Variant own_slices() {
  return reading("own_slices", false);
}

// ---- texture: texture fetches
//
// Blocks read the slices of own_slices by fetches of a texture object with texels of 16 bytes. A
// fetch has a higher latency than a load, so the same bytes in flight achieve less bandwidth, by
// the ratio of the latencies. With many bytes in flight, the limit is DRAM or the texture pipe,
// which transfers fewer bytes per cycle than loads get from L1. global_load_requests decreases to
// zero. L1 caches fetches, so if a slice fits in L1, L1 serves all passes but the first.

template <int kLoads, int kThreads>
__global__ void __launch_bounds__(kThreads, 1)
    fetch_kernel(cudaTextureObject_t in, std::uint32_t* sums, unsigned slice_texels, int passes) {
  const unsigned from = blockIdx.x * slice_texels;
  std::uint32_t sum = 0;
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass)
    sum += sum_of_slice<kLoads, kThreads>(
        slice_texels, [&](std::int64_t i) { return fetch_texel(in, from + i); });
  sum = block_sum<kThreads>(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

using FetchKernel = void (*)(cudaTextureObject_t, std::uint32_t*, unsigned, int);
template <int kLoads>
constexpr FetchKernel kFetchByWarps[] = {
    fetch_kernel<kLoads, kWarp>, fetch_kernel<kLoads, 2 * kWarp>, fetch_kernel<kLoads, 4 * kWarp>,
    fetch_kernel<kLoads, 8 * kWarp>, fetch_kernel<kLoads, 16 * kWarp>};

Steps fetches(const Problem& p, const Data& d, const LaunchContext&) {
  constexpr const FetchKernel* kByLoads[] = {kFetchByWarps<1>, kFetchByWarps<2>, kFetchByWarps<4>,
                                             kFetchByWarps<8>};
  return launch(kByLoads[logarithm(p.loads_per_thread)][logarithm(p.warps)], shape(p),
                Texture{d.in, kVector, elements(p) / kVector}, d.sums,
                static_cast<unsigned>(slice(p) / kVector), p.passes);
}

Variant texture() {
  Variant v = reading("texture", false)
                  .against("own_slices", {{"global_load_requests", Direction::decreases, 4},
                                          {"texture_requests", Direction::increases, 4}});
  v.launch = fetches;
  v.unsupported = [](const Problem& p, const DeviceSpec&) {
    return too_many_texels(elements(p) / kVector);
  };
  return v;
}

// ---- one_slice: one slice for all SMs
//
// All SMs read the same slice at about the same time. A request joins an earlier request for the
// same sector that is still in flight, so L2 receives fewer requests than the SMs issue: l2_sectors
// decreases, and the SMs receive more bytes than L2 could deliver.

Variant one_slice() {
  return reading("one_slice", true)
      .against("own_slices", {{"global_load_sectors", Direction::unchanged, 1.01},
                              {"dram_read_bytes", Direction::decreases, 8, [](const Problem& p) {
                                 constexpr std::int64_t kMany = 1 << 22;
                                 return p.n >= kMany && p.passes == 1;
                               }}});
}

// ---- the plain reference

struct Expected {
  const float* in;
  std::int64_t slice;
  bool is_shared;
  int passes;
  __host__ __device__ ReferenceElement operator()(std::int64_t block) const {
    std::uint32_t sum = 0;
    for (std::int64_t i = 0; i < slice; ++i)
      sum += bits_sum(in[(is_shared ? 0 : block * slice) + i]);
    return {static_cast<double>(sum * static_cast<std::uint32_t>(passes)), 0.0};
  }
};

Expected expected(const Problem& p, const Data& d, bool is_shared) {
  return {d.in, slice(p), is_shared, p.passes};
}

// ---- declaration

Family declare() {
  Family f("bytes_in_flight", Topic::memory,
           "How many bytes must an SM have in flight to use the full bandwidth of L2 or DRAM?");
  f.physics =
      "By Little's law, bandwidth is bytes in flight divided by latency. An SM that waits for each "
      "load before it issues the next uses a small share of the bandwidth of L2 or DRAM. More "
      "warps, more loads per warp and wider loads all increase the bytes in flight. Beyond "
      "bandwidth × latency, more bytes in flight only increase the latency.";
  f.extent("n", &Problem::n, 1 << 22, std::int64_t{1} << 36, "elements that all SMs read")
      .integer("blocks", &Problem::blocks, 132, 1, 1024, "",
               "blocks, one per SM, that each read n / blocks elements in whole 128-byte lines")
      .integer("warps", &Problem::warps, 8, 1, kMaxWarps, "", "warps per block: 1, 2, 4, 8 or 16")
      .integer("loads_per_thread", &Problem::loads_per_thread, 4, 1, 8, "",
               "16-byte loads that a thread issues before it waits: 1, 2, 4 or 8")
      .integer("passes", &Problem::passes, 1, 1, 1024, "",
               "number of times that each slice is read");
  f.input("in", &Data::in, elements)
      .output("sums", &Data::sums, &Problem::blocks)
      .output("shared", &Data::shared, &Problem::blocks);
  f.metric(kBytesInFlightMetric, "B", "bytes that a thread requests before it waits")
      .metric("bytes_per_sm_in_flight", "B", "bytes that all warps of an SM have in flight")
      .metric("delivered_bytes", "B", "bytes that reach the SMs, over all passes");
  f.plot("bytes_in_flight", "little", "Bandwidth by bytes in flight per SM",
         {{"metric.bytes_per_sm_in_flight", "bytes in flight per SM"}});
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (is_power_of_two(p.loads_per_thread) && is_power_of_two(p.warps)) return std::nullopt;
    return "needs loads_per_thread and warps to be powers of two: kernels exist only for these";
  };
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.in, elements(p), stream_seed(seed, 0));
  };
  set_references(f, &Problem::blocks,
                 [](const Problem& p, const Data& d, int o) { return expected(p, d, o == 1); });
  f.tolerance_derivation = "Zero: checksums are sums of bit patterns modulo 2^32.";
  f.variants(own_slices(), texture(), one_slice());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::bytes_in_flight
