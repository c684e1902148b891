// partial_write: stores of one 4-byte value in every `stride` words of the output, with zeros
// between.
//
// The question: is it cheaper to store only the values, or also the zeros between them? L2 keeps a
// byte mask of the written bytes. DRAM is written in whole bursts, and with ECC the check bits
// cover the whole burst, so before L2 evicts an incomplete sector, it must load the missing bytes.
// On an H200 (ECC on) the counters show exactly this: 32 bytes read and 32 written per value at
// stride 8 and above (docs/results/README.md).
#include "kernels/common/family.cuh"

namespace gpuexp::partial_write {

constexpr int kBlock = 256;
constexpr int kLoads = 4;
constexpr int kTile = kBlock * kLoads;  ///< values that one block stores

struct Problem {
  std::int64_t n;
  int stride;
};

struct Data {
  float* in;   ///< n
  float* out;  ///< n × stride: value i at i × stride, zeros elsewhere
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t out_count(const Problem& p) {
  return p.n * p.stride;
}

// ---- write_strided: stores of only the values
//
// The kernel stores only the n values, into an output whose other words are zero already. The
// modified sectors have min(stride, 8) times the bytes of the values, and at stride 2 and above no
// sector is complete. With ECC, L2 must load the rest of a sector before it writes the sector to
// DRAM. dram_read_bytes then increases by as much as dram_write_bytes, which counts whole sectors.

__global__ void __launch_bounds__(kBlock) write_strided_kernel(Problem p, Data d) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int count = static_cast<int>(min(p.n - begin, static_cast<std::int64_t>(kTile)));
  const int thread = threadIdx.x;
  const float* in = d.in + begin;
  float* out = d.out + begin * p.stride;
  float v[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    if (thread + k * kBlock < count) v[k] = in[thread + k * kBlock];
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    if (thread + k * kBlock < count) out[(thread + k * kBlock) * p.stride] = v[k];
  }
}

Shape shape(const Problem& p) {
  return shape_of_tiles(p.n * p.stride, std::int64_t{kTile} * p.stride, kBlock);
}

Variant write_strided() {
  Variant v("write_strided");
  // Filling incomplete sectors depends on the memory system and is not part of the minimum bytes.
  v.work = [](const Problem& p) { return reads<float>(p.n) + writes<float>(p.n, p.stride); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(write_strided_kernel, shape(p), p, d);
  };
  return v;
}

// ---- write_whole_sectors: stores of values and zeros
//
// The kernel also stores the zeros: `stride` times the bytes, in complete sectors that DRAM writes
// without a read. Up to stride 8 both variants write the same sectors, so the saving is the reads:
// dram_read_bytes decreases to the bytes of the values. The cost is more store instructions and a
// copy through shared memory.

// Values pass through shared memory (4 KB), so that a warp stores 32 consecutive words at a time.
__global__ void __launch_bounds__(kBlock) write_whole_sectors_kernel(Problem p, Data d) {
  __shared__ float values[kTile];
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int count = static_cast<int>(min(p.n - begin, static_cast<std::int64_t>(kTile)));
  const int thread = threadIdx.x;
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int i = thread + k * kBlock;
    if (i < count) values[i] = d.in[begin + i];
  }
  __syncthreads();
  float* out = d.out + begin * p.stride;
  // Output j is value j / stride if the remainder is 0; both advance without a further division.
  int value = thread / p.stride;
  int remainder = thread % p.stride;
  const int value_step = kBlock / p.stride;
  const int remainder_step = kBlock % p.stride;
  for (int j = thread; j < count * p.stride; j += kBlock) {
    out[j] = remainder == 0 ? values[value] : 0.0f;
    value += value_step;
    remainder += remainder_step;
    if (remainder >= p.stride) {
      remainder -= p.stride;
      ++value;
    }
  }
}

// Problems whose incomplete sectors reach DRAM in every launch.
bool leaves_gaps_in_dram(const Problem& p) {
  constexpr std::int64_t kManyValues = 1 << 25;
  return p.n >= kManyValues && p.stride > 1 && p.stride <= 8;
}

Variant write_whole_sectors() {
  Variant v("write_whole_sectors", "write_strided",
            {{"dram_read_bytes", Direction::decreases, 1.9, leaves_gaps_in_dram},
             {"global_store_sectors_per_request", Direction::decreases, 1.9,
              [](const Problem& p) { return p.n >= kTile && p.stride > 1; }}});
  v.work = [](const Problem& p) {
    Work w = reads<float>(p.n);
    w.bytes_written = static_cast<double>(p.n * sizeof(float));
    w.moved_written = sector_bytes<float>(out_count(p));
    return w;
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(write_whole_sectors_kernel, shape(p), p, d);
  };
  return v;
}

// ---- the plain reference

struct Reference {
  Problem p;
  Data d;
  __host__ __device__ ReferenceElement operator()(std::int64_t j) const {
    return {j % p.stride == 0 ? static_cast<double>(d.in[j / p.stride]) : 0.0, 0.0};
  }
};

// ---- declaration

Steps zeros(const Problem& p, const Data& d) {
  return MemsetStep{d.out, 0, out_count(p) * static_cast<std::int64_t>(sizeof(float))};
}

Family declare() {
  Family f("partial_write", Topic::memory,
           "What does a store that fills only part of a sector cost?");
  f.physics =
      "DRAM is written in bursts of whole sectors. An incomplete sector that leaves L2 must first "
      "be "
      "completed from DRAM, which is one read per write; a complete sector needs no read. Stores "
      "of 4 bytes, 8 words apart, therefore cost 16 times their bytes in traffic, twice as much as "
      "loads with the same pattern. Storing the bytes between them as well can be faster.";
  f.extent("n", &Problem::n, std::int64_t{1} << 25, std::int64_t{1} << 32, "fp32 values written")
      .integer("stride", &Problem::stride, 8, 1, 64, "elements",
               "distance between neighbouring values in the output");
  f.input("in", &Data::in, &Problem::n).in_out("out", &Data::out, out_count);
  f.plot("partial_write", "traffic", "Partial sector stores: useful bandwidth");
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.in, p.n, stream_seed(seed, 0)) + zeros(p, d);
  };
  f.reset = zeros;
  set_references(f, out_count, [](const Problem& p, const Data& d, int) {
    return Reference{p, d};
  });
  f.tolerance_derivation = "Zero: every variant copies values bit for bit.";
  f.variants(write_strided(), write_whole_sectors());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::partial_write
