// partial_write: one 4-byte value in every `stride` words of the output, zeros between.
//
// The question: is it cheaper to store only the values, or to store the gaps with them? Stores
// merge into 32-byte sectors as loads do, and L2 keeps a byte mask of what was written. A sector
// that leaves L2 incomplete is the trouble: DRAM is written in whole bursts, and with ECC the check
// bits cover the whole burst, so the missing bytes have to be fetched first. A store of 4 bytes
// then costs a sector read and a sector written; on an H200 (ECC on) the counters show exactly
// that, 32 bytes read and 32 written per value from stride 8 on (docs/results/README.md). Filling
// the gaps makes every sector whole and the read needless: more bytes stored, fewer moved.
#include "kernels/common/family.cuh"

namespace gpuexp::partial_write {

constexpr int kBlock = 256;
constexpr int kLoads = 4;
constexpr int kTile = kBlock * kLoads;  ///< values that one block brings to their places

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

// ---- write_strided: the values alone; the zeros are there before the launch
//
// Stores the n values alone, into an output whose gaps are zero already. The sectors that they
// dirty hold min(stride, 8) times their bytes, and from stride 2 on none is complete: with ECC, L2
// has to fetch the rest before it can write the sector to DRAM. dram_write_bytes counts whole
// sectors, and dram_read_bytes rises by as much where they are filled first.

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

// Both kernels read the values alike: four loads per thread, contiguous over the lanes.
Shape shape(const Problem& p) {
  return shape_of_tiles(p.n * p.stride, std::int64_t{kTile} * p.stride, kBlock);
}

Variant write_strided() {
  Variant v("write_strided");
  // The fill of an incomplete sector is the memory system's choice and no part of the least bytes.
  v.work = [](const Problem& p) { return reads<float>(p.n) + writes<float>(p.n, p.stride); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(write_strided_kernel, shape(p), p, d);
  };
  return v;
}

// ---- write_whole_sectors: values and zeros
//
// Stores the zeros with the values: `stride` times the bytes, in full sectors that DRAM takes
// without being read first. Up to stride 8 both variants write the same sectors, so what is saved
// is the fill: dram_read_bytes falls to the values' own bytes. Costs more store instructions and a
// pass through shared memory; beyond stride 8 it writes sectors that the values do not need.

// Values pass through shared memory (4 KB), so that a warp stores 32 neighbouring words at a time,
// whoever read the values among them.
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
  // Output j holds value j / stride when the remainder is 0; both advance without dividing again.
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

// Where sectors that are not complete reach DRAM in every launch.
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
           "What does a store cost that fills only part of a sector?");
  f.physics =
      "DRAM is written in bursts of whole sectors. A sector that leaves L2 with bytes missing has "
      "to be completed from DRAM first, a read for every write; one that is full has not. Stores "
      "of 4 bytes, 8 words apart, therefore cost 16 times their bytes in traffic, twice what loads "
      "of the same pattern do, and writing the bytes between them as well can be the faster way.";
  f.extent("n", &Problem::n, std::int64_t{1} << 25, std::int64_t{1} << 32, "fp32 values written")
      .integer("stride", &Problem::stride, 8, 1, 64, "elements",
               "distance of neighbouring values in the output");
  f.input("in", &Data::in, &Problem::n).in_out("out", &Data::out, out_count);
  f.figure("partial_write", "traffic", "Stores that fill part of a sector");
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.in, p.n, stream_seed(seed, 0)) + zeros(p, d);
  };
  f.reset = zeros;
  set_references(f, out_count, [](const Problem& p, const Data& d, int) {
    return Reference{p, d};
  });
  f.tolerance_derivation = "Zero: every variant copies values, bit for bit.";
  f.variants(write_strided(), write_whole_sectors());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::partial_write
