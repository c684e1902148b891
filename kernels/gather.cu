// gather: out[i] = table[index[i]] with sequential indices, ascending indices one sector apart, and
// random indices.
//
// The question: what does indirection cost, and which part of this cost is due to random order? The
// load of a value must wait for the load of its index. Indices in different sectors waste the rest
// of each sector.
//
// The table has one sector of 8 floats per value. A random gather from a table far larger than L2
// moves as many bytes, because L2 evicts a sector before another of its values is loaded.
#include "device/l2_cache.hpp"
#include "kernels/common/family.cuh"
#include "kernels/common/permutation.cuh"

namespace gpuexp::gather {

constexpr int kBlock = 256;
constexpr int kLoads = 4;
constexpr int kTile = kBlock * kLoads;
constexpr std::int64_t kSectorFloats = kSectorBytes / static_cast<std::int64_t>(sizeof(float));
/// 2^28 sectors of 8 floats: the last index of this table is the largest int32.
constexpr std::int64_t kMaxValues = std::int64_t{1} << 28;

struct Problem {
  std::int64_t n;
};

// table[index[i]] is value i of `packed`, for each table and its index.
struct Data {
  float* packed;                ///< n elements
  float* ordered_table;         ///< 8 × n elements: value i in sector i
  float* shuffled_table;        ///< 8 × n elements: value i in a random sector
  std::int32_t* packed_index;   ///< n indices: 0, 1, 2, …
  std::int32_t* ordered_index;  ///< n indices: one per sector, sectors in order
  std::int32_t* random_index;   ///< n indices: one per sector, sectors in random order
  float* out;                   ///< n elements
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the kernel of all variants

// Each thread has four index loads in flight, and then four value loads.
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

// `stride` is 1 if values share sectors, and the number of floats per sector if each value has its
// own sector.
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

// ---- gather_sequential: sequential indices
//
// With indices 0, 1, 2, … the addresses are the same as in a copy, but loaded from memory. The cost
// is 4 bytes of index per value and a second latency, which other warps hide. Each of the two loads
// touches 4 sectors per request.
// held: global_load_sectors_per_request = 4

Variant gather_sequential() {
  Variant v = gather("gather_sequential", &Data::packed, &Data::packed_index, 1);
  return v;
}

// True if the table is larger than any L2.
constexpr auto beyond_caches = at_least(&Problem::n, 1 << 23);

// ---- gather_strided: ascending indices, one value per sector
//
// Indices ascend by one sector: neighbouring lanes load 4 bytes from neighbouring sectors. This
// isolates the cost of the unused parts of sectors: the loads move 32 / 4 = 8 times the values'
// bytes, as in read_strided of coalescing at stride 8. A request for values touches 32 sectors and
// a request for indices 4: global_load_sectors_per_request is (32 + 4) / 2 = 18.
// held: global_load_sectors_per_request = 18

Variant gather_strided() {
  return gather("gather_strided", &Data::ordered_table, &Data::ordered_index, kSectorFloats)
      .against("gather_sequential", {{"global_load_sectors_per_request", Direction::increases, 4,
                                      [](const Problem& p) { return p.n >= kTile; }},
                                     {"dram_read_bytes", Direction::increases, 4, beyond_caches}});
}

// ---- gather_random: random indices, one value per sector
//
// Each sector is loaded once, as in gather_strided, but in random order. The minimum number of
// bytes that DRAM must move is equal, so the difference is the cost of the order. Each sector opens
// a DRAM row, fetches of 64 bytes waste one sector, and TLBs miss. The wasted sectors increase
// dram_read_bytes; the other two effects only increase the time.

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

/// A random element of sector i of a table.
struct OrderedIndex {
  std::uint64_t seed;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const {
    const std::uint64_t within = random_bits(seed, static_cast<std::uint64_t>(i)) % kSectorFloats;
    return static_cast<std::int32_t>(i * kSectorFloats + static_cast<std::int64_t>(within));
  }
};

/// A random element of the i-th sector in random order.
struct RandomIndex {
  Permutation sector;
  OrderedIndex place;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const { return place(sector(i)); }
};

struct InOrder {
  __host__ __device__ std::int64_t inverse(std::int64_t sector) const { return sector; }
};

// A table with one value per sector, in this order, and random numbers elsewhere.
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
           "What does indirection cost, and which part of this cost is due to random order?");
  f.physics =
      "A gather loads an index and then the value at this index. In order, it moves 12 bytes per "
      "value including the result; a copy moves 8. With one value per sector it moves 4 + 32 + 4 "
      "bytes. In random order the same sectors are loaded, but if L2 fetches two sectors from "
      "DRAM, the second is wasted: 4 + 64 + 4 bytes. These sectors are in closed DRAM rows: DRAM "
      "must open a row of 1 KB or 2 KB for each of them, and a bank can open a row only about "
      "every 45 ns. DRAM then delivers less than its bandwidth, unless the table fits in L2.";
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
  // A sequential gather moves 12 bytes per value. A random gather also moves 8 of these, the index
  // and the result (2/3 of 12), but fetches the value from its own sector.
  f.ceilings = {
      CeilingRows::rate("dram_random", {"gather_random"}, Mode::cold, "param.n")
          .times([](const DeviceSpec& d) { return static_cast<double>(l2_fetch_bytes(d)); })
          .without("gather_sequential", 2.0 / 3.0)};
  f.plot("gather", "traffic", "Gather: useful bandwidth by order of indices");
  f.inputs = inputs;
  set_references(f, &Problem::n,
                 [](const Problem&, const Data& d, int) { return SameElement<float>{d.packed}; });
  f.tolerance_derivation = "Zero: every variant copies values bit for bit.";
  f.variants(gather_sequential(), gather_strided(), gather_random());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::gather
