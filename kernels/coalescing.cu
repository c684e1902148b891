// coalescing: the same n values read from four layouts; only the addresses of a warp's lanes
// differ.
//
// The question: what does DRAM have to move for a read, given which addresses the 32 lanes of a
// warp ask for together? The load unit merges the lanes' addresses into 32-byte sectors, the unit
// in which L1, L2 and DRAM exchange data. What counts is the set of sectors, not which lane asks
// for which word. Lanes 4 bytes apart fill 4 sectors; lanes s words apart touch min(4·s, 32) of
// them, and each comes whole: at stride 8 and beyond, 28 of every 32 bytes moved are thrown away.
//
// Every kernel writes out contiguously and issues the same four 4-byte loads per thread before its
// first store, 32 KB of useful bytes in flight on a full SM, so that bandwidth and not latency
// binds.
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

// The values of `packed` lie in each of the other inputs too, elsewhere; what is around them there
// is other random numbers. Every variant brings the n values to `out` in order.
struct Data {
  float* packed;    ///< n: value i at i
  float* reversed;  ///< n rounded up to whole warps: at i ^ 31, each group of 32 back to front
  float* shifted;   ///< n + 32: at offset + i
  float* spread;    ///< n × stride: at i × stride
  float* out;       ///< n
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Where a layout keeps the values of the tile that starts at value `begin` (a multiple of kTile),
// where within it value begin + j, for j < kTile, and which value it keeps at a place: none of
// [0, n) where it keeps none.
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

// ---- the kernel, the same for all layouts

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

// `stride` and `offset` say where the layout keeps its values, in elements.
Work work(const Problem& p, std::int64_t stride, std::int64_t offset) {
  return reads<float>(p.n, stride, offset) + writes<float>(p.n);
}

// ---- read_contiguous
//
// Neighbouring lanes read neighbouring words: a warp's 128 bytes are one line and exactly four
// sectors, every byte of which is used. global_load_sectors_per_request is 4.
// held: global_load_sectors_per_request = 4

Variant read_contiguous() {
  Variant v("read_contiguous");
  v.work = [](const Problem& p) { return work(p, 1, 0); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(read_kernel<Packed>, shape(p), d.packed, d.out, p.n, Packed{});
  };
  return v;
}

// ---- read_reversed
//
// Lane 0 reads the last of a warp's 32 words and lane 31 the first. The order of lanes within a
// line costs nothing: the request still covers the same four sectors, and
// global_load_sectors_per_request stays 4. It mattered before compute capability 1.2.
// held: global_load_sectors_per_request = 4

// Where DRAM serves every launch, whatever the caches kept of the one before.
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

// ---- read_misaligned
//
// The values start `offset` words into the buffer, so a warp's 128 bytes straddle two lines and,
// unless the offset is a multiple of 8, five sectors. The next warp needs the fifth one too and
// finds it in L1 or L2: global_load_sectors_per_request rises to 5, but dram_read_bytes hardly
// moves. The dearer loss is not here: 16-byte loads need 16-byte alignment (see vector_width).
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

// ---- read_strided
//
// Lanes read `stride` words apart, as a column of a row-major matrix or one field of an array of
// structures is read. DRAM moves min(stride, 8) times the useful bytes, and nothing in the launch
// needs the rest. global_load_sectors_per_request grows as 4·stride up to 32, one sector per lane,
// and stays there beyond stride 8. Where L2 fetches two sectors per miss, as on an H200,
// dram_read_bytes doubles once more from stride 8 to 16.

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
struct LaidOut {
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
                LaidOut<decltype(layout)>{layout, p.n, values, {stream_seed(seed, others)}});
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
           "What does DRAM move for the addresses that a warp asks for together?");
  f.physics =
      "The 32 addresses of a warp's load become a set of 32-byte sectors, and each sector is moved "
      "whole. Useful bytes over sector bytes bounds the share of the bandwidth that a kernel can "
      "use: all of it at stride 1, an eighth at stride 8 and beyond. moved_bytes counts these "
      "sectors. L2 may fetch more than the sector that missed: an H200, whose "
      "cudaLimitMaxL2FetchGranularity is 64 bytes, reads exactly 64 per value at strides of 16 and "
      "more (dram__bytes_read, docs/results/README.md), so that they cost twice what stride 8 "
      "does. At strides of 32 and 64 the bytes stay and time still grows: each row that DRAM opens "
      "then serves fewer of them.";
  f.extent("n", &Problem::n, std::int64_t{1} << 26, std::int64_t{1} << 32, "fp32 values read")
      .integer("stride", &Problem::stride, 8, 1, 64, "elements",
               "distance of neighbouring values in read_strided")
      .integer("offset", &Problem::offset, 1, 0, kMaxOffset, "elements",
               "where the values start in read_misaligned");
  f.input("packed", &Data::packed, &Problem::n)
      .input("reversed", &Data::reversed, reversed_count)
      .input("shifted", &Data::shifted, shifted_count)
      .input("spread", &Data::spread, spread_count)
      .output("out", &Data::out, &Problem::n);
  f.figure("coalescing", "traffic", "Coalescing: which addresses a warp asks for");
  f.inputs = inputs;
  set_references(f, &Problem::n,
                 [](const Problem&, const Data& d, int) { return SameElement<float>{d.packed}; });
  f.tolerance_derivation = "Zero: every variant copies values, bit for bit.";
  f.variants(read_contiguous(), read_reversed(), read_misaligned(), read_strided());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::coalescing
