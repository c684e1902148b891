// coalescing: the same n values read from four layouts, which differ only in the addresses of a
// warp's lanes.
//
// The question: how many bytes must DRAM move for a load, depending on the addresses of the 32
// lanes of a warp? L1, L2 and DRAM exchange 32-byte sectors. Lanes s words apart touch min(4·s, 32)
// sectors: at stride 8 and above, 28 of every 32 bytes moved are unused.
//
// Each thread issues four 4-byte loads before its first store, 32 KB per full SM, so that bandwidth
// and not latency is the limit.
#include "kernels/common/family.cuh"

namespace gpuexp::coalescing {

constexpr int kBlock = 256;
constexpr int kLoads = 4;
constexpr int kTile = kBlock * kLoads;
constexpr int kMaxOffset = kWarp - 1;

struct Problem {
  std::int64_t n;
  int stride;
  int offset;
};

// Each input contains the n values of `packed`, at different positions, and random numbers
// elsewhere. Every variant copies these values to `out` in order.
struct Data {
  float* packed;    ///< n elements: value i at index i
  float* reversed;  ///< n rounded up to whole warps: value i at index i ^ 31
  float* shifted;   ///< n + 32 elements: value i at index offset + i
  float* spread;    ///< n × stride elements: value i at index i × stride
  float* out;       ///< n elements
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Layouts. tile() returns the index of value `begin`, a multiple of kTile. Value begin + j is
// within(j) elements after it, for j < kTile. value_at() returns the value at an index, or a number
// outside [0, n) if there is none.
struct Packed {
  __host__ __device__ std::int64_t tile(std::int64_t begin) const { return begin; }
  __host__ __device__ int within(int j) const { return j; }
};
struct Reversed {
  __host__ __device__ std::int64_t tile(std::int64_t begin) const { return begin; }
  __host__ __device__ int within(int j) const { return j ^ (kWarp - 1); }
  __host__ __device__ std::int64_t value_at(std::int64_t place) const {
    return place ^ (kWarp - 1);
  }
};
struct Shifted {
  int offset;
  __host__ __device__ std::int64_t tile(std::int64_t begin) const { return begin + offset; }
  __host__ __device__ int within(int j) const { return j; }
  __host__ __device__ std::int64_t value_at(std::int64_t place) const { return place - offset; }
};
struct Spread {
  int stride;
  __host__ __device__ std::int64_t tile(std::int64_t begin) const { return begin * stride; }
  __host__ __device__ int within(int j) const { return j * stride; }
  __host__ __device__ std::int64_t value_at(std::int64_t place) const {
    return place % stride == 0 ? place / stride : -1;
  }
};

// ---- the kernel of all layouts

template <class Layout>
__global__ void __launch_bounds__(kBlock)
    read_kernel(const float* in, float* out, std::int64_t n, Layout layout) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int count = static_cast<int>(min(n - begin, static_cast<std::int64_t>(kTile)));
  const int thread = threadIdx.x;
  in += layout.tile(begin);
  out += begin;
  float v[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int j = thread + k * kBlock;
    if (j < count) v[k] = in[layout.within(j)];
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    const int j = thread + k * kBlock;
    if (j < count) out[j] = v[k];
  }
}

Shape shape(const Problem& p) {
  return shape_of_tiles(p.n, kTile, kBlock);
}

// `stride` and `offset` are the layout's, in elements.
Work work(const Problem& p, std::int64_t stride, std::int64_t offset) {
  return reads<float>(p.n, stride, offset) + writes<float>(p.n);
}

// ---- read_contiguous: neighbouring lanes, neighbouring words
//
// Neighbouring lanes load neighbouring words: the 128 bytes of a warp are one line and exactly four
// sectors, all of whose bytes are used. global_load_sectors_per_request is 4.
// held: global_load_sectors_per_request = 4

Variant read_contiguous() {
  Variant v("read_contiguous");
  v.work = [](const Problem& p) { return work(p, 1, 0); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(read_kernel<Packed>, shape(p), d.packed, d.out, p.n, Packed{});
  };
  return v;
}

// ---- read_reversed: lanes in reversed order
//
// Lane 0 loads the last of a warp's 32 words and lane 31 the first. The order of lanes within a
// line costs nothing: the request covers the same four sectors, and global_load_sectors_per_request
// stays 4. Before compute capability 1.2 the order mattered.
// held: global_load_sectors_per_request = 4

// True if DRAM serves every launch, regardless of the caches' contents.
bool beyond_caches(const Problem& p) {
  constexpr std::int64_t kManyBytes = std::int64_t{1} << 28;
  return p.n * static_cast<std::int64_t>(sizeof(float)) >= kManyBytes;
}

Variant read_reversed() {
  Variant v("read_reversed", "read_contiguous",
            {{"global_load_sectors_per_request", Direction::unchanged},
             {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
  v.work = [](const Problem& p) { return work(p, 1, 0); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(read_kernel<Reversed>, shape(p), d.reversed, d.out, p.n, Reversed{});
  };
  return v;
}

// ---- read_misaligned: warps that cross a line boundary
//
// The values start `offset` words into the buffer. The 128 bytes of a warp therefore span two lines
// and, unless the offset is a multiple of 8, five sectors. The next warp also loads the fifth
// sector and hits it in L1 or L2: global_load_sectors_per_request increases to 5, but
// dram_read_bytes is nearly unchanged. Misalignment costs more time if it prevents 16-byte loads
// (see vector_width).
// held: global_load_sectors_per_request = 5

Variant read_misaligned() {
  Variant v("read_misaligned", "read_contiguous",
            {{"global_load_sectors_per_request", Direction::increases, 1.2,
              [](const Problem& p) { return p.n >= kTile && p.offset % 8 != 0; }},
             {"global_load_sectors_per_request", Direction::unchanged, 1.05,
              [](const Problem& p) { return p.offset % 8 == 0; }},
             {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
  v.work = [](const Problem& p) { return work(p, 1, p.offset); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(read_kernel<Shifted>, shape(p), d.shifted, d.out, p.n, Shifted{p.offset});
  };
  return v;
}

// ---- read_strided: lanes `stride` words apart
//
// Lanes load words at a distance of `stride`, like a column of a row-major matrix or one field of
// an array of structures. DRAM moves min(stride, 8) times the useful bytes, and the launch uses no
// other bytes of these sectors. global_load_sectors_per_request increases as 4·stride up to 32, one
// sector per lane, and is constant beyond stride 8. If L2 fetches two sectors per miss, as on an
// H200, dram_read_bytes doubles once more from stride 8 to 16.

Variant read_strided() {
  Variant v("read_strided", "read_contiguous",
            {{"global_load_sectors_per_request", Direction::increases, 1.9,
              [](const Problem& p) { return p.n >= kTile && p.stride > 1; }},
             {"dram_read_bytes", Direction::increases, 1.9,
              [](const Problem& p) { return beyond_caches(p) && p.stride > 1; }},
             {"global_load_sectors_per_request", Direction::unchanged, 1.05,
              [](const Problem& p) { return p.stride == 1; }}});
  v.work = [](const Problem& p) { return work(p, p.stride, 0); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(read_kernel<Spread>, shape(p), d.spread, d.out, p.n, Spread{p.stride});
  };
  return v;
}

// ---- inputs

std::int64_t reversed_count(const Problem& p) {
  return ceil_div(p.n, kWarp) * kWarp;
}
std::int64_t shifted_count(const Problem& p) {
  return p.n + kMaxOffset + 1;
}
std::int64_t spread_count(const Problem& p) {
  return p.n * p.stride;
}

template <class Layout>
struct LaidOutValue {
  Layout layout;
  std::int64_t n;
  Uniform<float> values;
  Uniform<float> others;
  __host__ __device__ float operator()(std::int64_t place) const {
    const std::int64_t i = layout.value_at(place);
    return i >= 0 && i < n ? values(i) : others(place);
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const Uniform<float> values{stream_seed(seed, 0)};
  const auto lay_out = [&](float* to, std::int64_t count, auto layout, std::uint64_t others) {
    return fill(to, count,
                LaidOutValue<decltype(layout)>{layout, p.n, values, {stream_seed(seed, others)}});
  };
  Steps steps;
  steps += fill(d.packed, p.n, values);
  steps += lay_out(d.reversed, reversed_count(p), Reversed{}, 1);
  steps += lay_out(d.shifted, shifted_count(p), Shifted{p.offset}, 2);
  steps += lay_out(d.spread, spread_count(p), Spread{p.stride}, 3);
  return steps;
}

// ---- declaration

Family declare() {
  Family f("coalescing", Topic::memory,
           "How many bytes must DRAM move for the addresses of a warp's lanes?");
  f.physics =
      "The SM merges the 32 addresses of a warp's load into a set of 32-byte sectors, and each "
      "sector is moved whole. Useful bytes divided by sector bytes is the maximum share of the "
      "bandwidth that a kernel can use: all of it at stride 1, an eighth at stride 8 and above. "
      "moved_bytes counts these sectors. L2 may fetch more than the missing sector. An H200, whose "
      "cudaLimitMaxL2FetchGranularity is 64 bytes, reads exactly 64 bytes per value at strides of "
      "16 and above (dram__bytes_read, docs/results/README.md), which cost twice as many bytes as "
      "stride 8. At strides of 32 and 64 the bytes are the same and the time still increases, "
      "because each row that DRAM opens serves fewer of them.";
  f.extent("n", &Problem::n, std::int64_t{1} << 26, std::int64_t{1} << 32, "fp32 values read")
      .integer("stride", &Problem::stride, 8, 1, 64, "elements",
               "distance between neighbouring values in read_strided")
      .integer("offset", &Problem::offset, 1, 0, kMaxOffset, "elements",
               "position of the first value in read_misaligned");
  f.input("packed", &Data::packed, &Problem::n)
      .input("reversed", &Data::reversed, reversed_count)
      .input("shifted", &Data::shifted, shifted_count)
      .input("spread", &Data::spread, spread_count)
      .output("out", &Data::out, &Problem::n);
  f.plot("coalescing", "traffic", "Coalescing: useful bandwidth by access pattern");
  f.inputs = inputs;
  set_references(f, &Problem::n,
                 [](const Problem&, const Data& d, int) { return SameElement<float>{d.packed}; });
  f.tolerance_derivation = "Zero: every variant copies values bit for bit.";
  f.variants(read_contiguous(), read_reversed(), read_misaligned(), read_strided());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::coalescing
