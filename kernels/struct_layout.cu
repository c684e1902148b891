// struct_layout: records of 8 floats, of which a kernel uses the first 1 to 8, stored as an array
// of structures (AoS) or as one array per field, a structure of arrays (SoA).
//
// The question: array of structures or structure of arrays for a kernel that loads single fields? A
// record of 8 floats is 32 bytes, exactly one sector. If all fields are used, both layouts transfer
// the same bytes, but each load of a warp touches 8 lines of 128 bytes in AoS and one in SoA.
//
// In all kernels, each thread loads every used field of four records before it adds the fields, in
// the same order.
#include "kernels/common/family.cuh"

namespace gpuexp::struct_layout {

constexpr int kFields = 8;
constexpr int kBlock = 256;
constexpr int kRecords = 4;  ///< records per thread
constexpr int kTile = kBlock * kRecords;

struct Problem {
  std::int64_t n;
  int fields;
};

struct Data {
  float* aos;  ///< n × 8: field f of record i at 8·i + f
  float* soa;  ///< 8 × n: field f of record i at f·n + i
  float* out;  ///< n: the sum of a record's first `fields` fields
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

struct AosValue {
  std::uint64_t seed;
  __host__ __device__ float operator()(std::int64_t j) const {
    return random_signed(seed, static_cast<std::uint64_t>(j));
  }
};
struct SoaValue {
  std::uint64_t seed;
  std::int64_t n;
  __host__ __device__ float operator()(std::int64_t j) const {
    return AosValue{seed}(j % n * kFields + j / n);
  }
};

// ---- the kernel of all layouts

// The fields of a thread's records, in registers. A thread's records have a stride of kBlock
// records, so neighbouring lanes have neighbouring records.
using Records = float[kRecords][kFields];

// A layout's load() loads at least the first `fields` fields of the records first + r·kBlock with
// r·kBlock < left. Its outer loop iterates over the fields: all threads use the same fields, so an
// unused field costs one uniform branch.
template <class Layout>
__global__ void __launch_bounds__(kBlock) sum_kernel(Problem p, Layout in, float* out) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  const int left = static_cast<int>(min(p.n - first, static_cast<std::int64_t>(kTile)));
  Records v;
  in.load(first, left, p.fields, v);
#pragma unroll
  for (int r = 0; r < kRecords; ++r) {
    float sum = v[r][0];
#pragma unroll
    for (int f = 1; f < kFields; ++f) {
      if (f < p.fields) sum += v[r][f];
    }
    if (r * kBlock < left) out[first + r * kBlock] = sum;
  }
}

Shape shape(const Problem& p) {
  return shape_of_tiles(p.n, kTile, kBlock);
}

Work work(const Problem& p, double moved_read) {
  Work w = streaming_work<float>(p.n * p.fields, p.n,
                                 {{Pipe::fp32, static_cast<double>(p.n * (p.fields - 1))}});
  w.moved_read = moved_read;
  return w;
}

// Every record is one sector, regardless of the used fields.
Work aos_work(const Problem& p) {
  return work(p, sector_bytes<float>(p.n, kFields));
}

// ---- aos: array of structures
//
// Each thread issues one 4-byte load per used field of a record. The lanes of a load are 32 bytes
// apart, so each request touches 32 sectors in 8 lines: global_load_sectors_per_request is 32, and
// DRAM transfers whole records. Loads of the other fields hit the record's sector in L1, but each
// of them looks up the 8 lines again, so L1 may be the limit when all fields are used.
// held: global_load_sectors_per_request = 32

struct Aos {
  const float* data;
  __device__ void load(std::int64_t first, int left, int fields, Records& v) const {
    const float* record = data + first * kFields;
#pragma unroll
    for (int f = 0; f < kFields; ++f) {
      if (f >= fields) continue;
#pragma unroll
      for (int r = 0; r < kRecords; ++r) {
        if (r * kBlock < left) v[r][f] = record[r * kBlock * kFields + f];
      }
    }
  }
};

Variant aos() {
  Variant v("aos");
  v.work = aos_work;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(sum_kernel<Aos>, shape(p), p, Aos{d.aos}, d.out);
  };
  return v;
}

// ---- aos_16b: array of structures, 16-byte loads
//
// Each thread loads a record with one 16-byte load for up to four fields and two for more, instead
// of one load per field. This relieves L1 when many fields are used: with eight fields
// global_load_requests decreases to a quarter. DRAM transfers the same records, so dram_read_bytes
// is unchanged and kernels that use few fields gain nothing. The cost is 16-byte alignment of
// records.
// held: global_load_requests = 1/4 × aos at fields=8

struct AosVector {
  const float* data;
  __device__ void load(std::int64_t first, int left, int fields, Records& v) const {
    constexpr int kPerLoad = 4;
    const float* record = data + first * kFields;
#pragma unroll
    for (int f = 0; f < kFields; f += kPerLoad) {
      if (f >= fields) continue;
#pragma unroll
      for (int r = 0; r < kRecords; ++r) {
        if (r * kBlock >= left) continue;
        const float4 x = *reinterpret_cast<const float4*>(record + r * kBlock * kFields + f);
        v[r][f] = x.x;
        v[r][f + 1] = x.y;
        v[r][f + 2] = x.z;
        v[r][f + 3] = x.w;
      }
    }
  }
};

// Problems in which DRAM serves every launch, regardless of the caches' contents.
constexpr auto beyond_caches = at_least(&Problem::n, 1 << 25);

Variant aos_16b() {
  Variant v("aos_16b", "aos",
            {{"global_load_requests", Direction::decreases, 1.4,
              [](const Problem& p) { return p.n >= kTile && p.fields > 2; }},
             {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}});
  v.work = aos_work;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(sum_kernel<AosVector>, shape(p), p, AosVector{d.aos}, d.out);
  };
  return v;
}

// ---- soa: structure of arrays
//
// Each field has its own array, and neighbouring lanes load neighbouring elements: a request is
// four full sectors (global_load_sectors_per_request). DRAM transfers only used fields, and
// dram_read_bytes equals the useful bytes. The cost: if a kernel loads single records at random
// positions, each of the eight fields is in a different sector.
// held: global_load_sectors_per_request = 4

struct Soa {
  const float* data;
  std::int64_t n;
  __device__ void load(std::int64_t first, int left, int fields, Records& v) const {
    const float* field = data + first;
#pragma unroll
    for (int f = 0; f < kFields; ++f, field += n) {
      if (f >= fields) continue;
#pragma unroll
      for (int r = 0; r < kRecords; ++r) {
        if (r * kBlock < left) v[r][f] = field[r * kBlock];
      }
    }
  }
};

Variant soa() {
  Variant v("soa", "aos",
            {{"global_load_sectors_per_request", Direction::decreases, 4,
              [](const Problem& p) { return p.n >= kTile; }},
             {"dram_read_bytes", Direction::decreases, 1.1,
              [](const Problem& p) { return beyond_caches(p) && p.fields < kFields; }}});
  // The arrays of the used fields are contiguous.
  v.work = [](const Problem& p) { return work(p, sector_bytes<float>(p.n * p.fields)); };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(sum_kernel<Soa>, shape(p), p, Soa{d.soa, p.n}, d.out);
  };
  return v;
}

// ---- the plain reference

struct Reference {
  Problem p;
  Data d;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    ReferenceElement sum{0.0, 0.0};
    for (int f = 0; f < p.fields; ++f) {
      const double x = d.aos[i * kFields + f];
      sum.value += x;
      sum.magnitude += fabs(x);
    }
    return sum;
  }
};

// ---- declaration

Family declare() {
  Family f("struct_layout", Topic::memory,
           "Array of structures or structure of arrays for a kernel that loads single fields?");
  f.physics =
      "DRAM transfers sectors of 32 bytes. An array of structures moves all fields of a record if "
      "one of them is used; a structure of arrays moves only the used fields. With u of 8 fields "
      "used, the array of structures moves 8/u times the useful bytes. At u = 8 both move the same "
      "bytes, and the remaining difference is the number of lines per request in L1.";
  f.extent("n", &Problem::n, std::int64_t{1} << 25, std::int64_t{1} << 31, "records of 8 floats")
      .integer("fields", &Problem::fields, 1, 1, kFields, "",
               "number of fields of each record that the kernel uses, starting with the first");
  const auto inputs = [](const Problem& p) { return p.n * kFields; };
  f.input("aos", &Data::aos, inputs)
      .input("soa", &Data::soa, inputs)
      .output("out", &Data::out, &Problem::n);
  f.plot("struct_layout", "traffic", "Arrays and structures: useful bandwidth by layout");
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    Steps steps;
    steps += fill(d.aos, p.n * kFields, AosValue{stream_seed(seed, 0)});
    steps += fill(d.soa, p.n * kFields, SoaValue{stream_seed(seed, 0), p.n});
    return steps;
  };
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int) {
    return Reference{p, d};
  });
  f.tolerance_derivation =
      "A sum of k terms in sequence in fp32 errs by at most (k - 1)·u/(1 - (k - 1)·u)·Σ|x| "
      "(u = 2^-24; Higham, Accuracy and Stability of Numerical Algorithms, section 4.2); k·u "
      "covers it for k up to 8. With one field the sum is a copy and must be exact. The RMS error "
      "over all elements is relative to the RMS sum: terms of random sign make partial sums of RMS "
      "√i, each rounded with an RMS error of 0.42·u, which gives 0.42·u·√(k/2 + 1) (section 4.5). "
      "The tolerance is 2 times this value plus, for chance, the bound per element times "
      "√(32/elements) (Bernstein's inequality, probability 1e-14).";
  f.tolerance = [](const Problem& p) {
    if (p.fields == 1) return Tolerance{};
    return Tolerance{p.fields * unit_roundoff(DataType::fp32), 0.0,
                     kRmsSafety * sum_rms(p.fields, DataType::fp32), 0.0};
  };
  f.variants(aos(), aos_16b(), soa());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::struct_layout
