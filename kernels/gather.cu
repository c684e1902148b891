// gather: out[i] = table[index[i]] with indices in order, in order but a sector apart, and random.
//
// The question: what does indirection cost, and which part of it is the randomness? Reading through
// an index adds 4 bytes of index per value and makes the second load wait for the first; that is
// all while the indices are in order. Indices that leave their sectors cost the rest of each
// sector. Indices in random order also cost DRAM its open rows and the TLBs their reach.
//
// The table has 8 floats, one sector, per value, and no two indices share a sector. A random gather
// from any table far larger than L2 behaves so, because a sector is gone before another of its
// values is asked for; here it holds at every size, so the bytes that move are known exactly.
#include "device/l2_cache.hpp"
#include "kernels/common/family.cuh"
#include "kernels/common/permutation.cuh"

namespace gpuexp::gather {

constexpr int kBlock = 256;
constexpr int kLoads = 4;
constexpr int kTile = kBlock * kLoads;
constexpr std::int64_t kSectorFloats = kSectorBytes / static_cast<std::int64_t>(sizeof(float));
/// The last index of the largest table, 2^28 sectors of 8 floats, is the largest int32.
constexpr std::int64_t kMaxValues = std::int64_t{1} << 28;

struct Problem {
  std::int64_t n;
};

// Through its index, each table yields the values of `packed` in order.
struct Data {
  float* packed;                ///< n
  float* ordered_table;         ///< 8 × n: value i in sector i
  float* shuffled_table;        ///< 8 × n: value i in a random sector
  std::int32_t* packed_index;   ///< n: 0, 1, 2, …
  std::int32_t* ordered_index;  ///< n: one place in each sector of the table, sectors in order
  std::int32_t*
      random_index;  ///< n: one place in each sector of the table, sectors in random order
  float* out;        ///< n
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the kernel, the same for all indices

// Each thread has four indices, then four values in flight; the second loads wait for the first.
__global__ void __launch_bounds__(kBlock)
    gather_kernel(const float* table, const std::int32_t* index, float* out, std::int64_t n) {
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.x) * kTile;
  const int count = static_cast<int>(min(n - begin, static_cast<std::int64_t>(kTile)));
  const int thread = threadIdx.x;
  index += begin;
  out += begin;
  std::int32_t at[kLoads];
  float v[kLoads];
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    if (thread + k * kBlock < count) at[k] = index[thread + k * kBlock];
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    if (thread + k * kBlock < count) v[k] = table[at[k]];
  }
#pragma unroll
  for (int k = 0; k < kLoads; ++k) {
    if (thread + k * kBlock < count) out[thread + k * kBlock] = v[k];
  }
}

// `table` and `index` say which of the inputs a variant reads; `stride` is 1 when its values share
// sectors, and the floats of a sector when each has its own.
Variant gather(std::string id, float* Data::*table, std::int32_t* Data::*index,
               std::int64_t stride) {
  Variant v(std::move(id));
  v.work = [stride](const Problem& p) {
    return reads<std::int32_t>(p.n) + reads<float>(p.n, stride) + writes<float>(p.n);
  };
  v.launch = [table, index](const Problem& p, const Data& d, const LaunchContext&) {
    const Shape s = shape_of_tiles(p.n, kTile, kBlock);
    return launch(gather_kernel, s, d.*table, d.*index, d.out, p.n);
  };
  return v;
}

// ---- gather_sequential
//
// Indices 0, 1, 2, …: the addresses of a plain copy, computed from memory. Costs 4 bytes of index
// per value and a second latency, which other warps hide. Each of the two loads touches 4 sectors
// per request.
// held: global_load_sectors_per_request = 4

Variant gather_sequential() {
  Variant v = gather("gather_sequential", &Data::packed, &Data::packed_index, 1);
  return v;
}

// Where the table is larger than any L2.
constexpr auto beyond_caches = at_least(&Problem::n, 1 << 23);

// ---- gather_strided
//
// Indices ascend by one sector: neighbouring lanes read neighbouring sectors, 4 bytes of each.
// Isolates what unused parts of sectors cost: the values move 32 / 4 = 8 times their bytes, as in
// coalescing's read_strided at stride 8. The requests for values touch 32 sectors and those for
// indices 4: global_load_sectors_per_request is (32 + 4) / 2 = 18.
// held: global_load_sectors_per_request = 18

Variant gather_strided() {
  return gather("gather_strided", &Data::ordered_table, &Data::ordered_index, kSectorFloats)
      .against("gather_sequential", {{"global_load_sectors_per_request", Direction::increases, 4,
                                      [](const Problem& p) { return p.n >= kTile; }},
                                     {"dram_read_bytes", Direction::increases, 4, beyond_caches}});
}

// ---- gather_random
//
// The same number of sectors, one per value and each once, in random order. Isolates order: the
// least bytes that DRAM must move are equal, but neighbouring sectors are no longer asked for
// together, so each opens a DRAM row for itself, fetches of 64 bytes waste one sector, and TLBs
// miss. dram_read_bytes shows the second of these, time the others.

Variant gather_random() {
  return gather("gather_random", &Data::shuffled_table, &Data::random_index, kSectorFloats)
      .against("gather_strided", {{"dram_read_bytes", Direction::increases, 1.3, beyond_caches},
                                  {"global_load_sectors_per_request", Direction::unchanged}});
}

// ---- indices

struct PackedIndex {
  __host__ __device__ std::int32_t operator()(std::int64_t i) const {
    return static_cast<std::int32_t>(i);
  }
};

/// A random place in sector i of a table.
struct OrderedIndex {
  std::uint64_t seed;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const {
    const std::uint64_t within = random_bits(seed, static_cast<std::uint64_t>(i)) % kSectorFloats;
    return static_cast<std::int32_t>(i * kSectorFloats + static_cast<std::int64_t>(within));
  }
};

/// A random place in the i-th of the sectors in random order.
struct RandomIndex {
  Permutation sector;
  OrderedIndex place;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const { return place(sector(i)); }
};

struct InOrder {
  __host__ __device__ std::int64_t inverse(std::int64_t sector) const { return sector; }
};

// A table whose sectors keep the values in this order, one each.
template <class Order>
struct Table {
  Order order;
  OrderedIndex place;
  Uniform<float> values;
  Uniform<float> others;
  __host__ __device__ float operator()(std::int64_t i) const {
    const std::int64_t sector = i / kSectorFloats;
    return i == place(sector) ? values(order.inverse(sector)) : others(i);
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  Steps steps;
  const OrderedIndex ordered{stream_seed(seed, 3)};
  const Permutation shuffled(stream_seed(seed, 4), p.n);
  const Uniform<float> values{stream_seed(seed, 0)};
  const std::int64_t places = p.n * kSectorFloats;
  steps += fill(d.packed, p.n, values);
  steps +=
      fill(d.ordered_table, places, Table<InOrder>{{}, ordered, values, {stream_seed(seed, 1)}});
  steps += fill(d.shuffled_table, places,
                Table<Permutation>{shuffled, ordered, values, {stream_seed(seed, 2)}});
  steps += fill(d.packed_index, p.n, PackedIndex{});
  steps += fill(d.ordered_index, p.n, ordered);
  steps += fill(d.random_index, p.n, RandomIndex{shuffled, ordered});
  return steps;
}

// ---- declaration

Family declare() {
  Family f("gather", Topic::memory,
           "What does indirection cost, and which part of it is the randomness?");
  f.physics =
      "A gather loads an index and then the value it names. In order it moves 12 bytes per value "
      "with the result, and a copy 8. One value per sector makes that 4 + 32 + 4 bytes. In random "
      "order the same sectors are loaded, but if L2 fetches two sectors from DRAM, the second is "
      "wasted: 4 + 64 + 4 bytes. They come from closed DRAM rows: a row of 1 KB or 2 KB is opened "
      "for each of them, and a bank can open one only every 45 ns or so. DRAM delivers less than "
      "its bandwidth unless the table fits in L2.";
  f.extent("n", &Problem::n, std::int64_t{1} << 25, kMaxValues, "values gathered");
  const auto values = [](const Problem& p) { return p.n; };
  const auto table = [](const Problem& p) { return p.n * kSectorFloats; };
  f.input("packed", &Data::packed, values)
      .input("ordered_table", &Data::ordered_table, table)
      .input("shuffled_table", &Data::shuffled_table, table)
      .input("packed_index", &Data::packed_index, values)
      .input("ordered_index", &Data::ordered_index, values)
      .input("random_index", &Data::random_index, values)
      .output("out", &Data::out, values);
  // The sequential gather reads an index and a value and writes a value, of 4 bytes each; the
  // random one does the first and the last likewise, and fetches a value each from its own line.
  f.ceilings = {
      CeilingRows::rate("dram_random", {"gather_random"}, Mode::cold, "param.n")
          .times([](const DeviceSpec& d) { return static_cast<double>(l2_fetch_bytes(d)); })
          .without("gather_sequential", 2.0 / 3.0)};
  f.figure("gather", "traffic", "Gather: indirection and randomness");
  f.inputs = inputs;
  set_references(f, &Problem::n,
                 [](const Problem&, const Data& d, int) { return SameElement<float>{d.packed}; });
  f.tolerance_derivation = "Zero: every variant copies values, bit for bit.";
  f.variants(gather_sequential(), gather_strided(), gather_random());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::gather
