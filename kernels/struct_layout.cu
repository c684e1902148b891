// struct_layout: records of 8 floats of which a kernel uses the first 1 to 8, kept as an array of
// structures (AoS) or as one array per field, a structure of arrays (SoA).
//
// The question: which layout should data have that a kernel reads field by field? A record of 8
// floats is 32 bytes, exactly one sector. In AoS, lanes that read the same field of neighbouring
// records touch a sector each, so DRAM moves whole records whatever is used of them. In SoA the
// same load covers four full sectors, and fields that are not used are not moved. When all fields
// are used both layouts move the same bytes; then the number of cache lines per request remains: a
// warp reads 8 lines of 128 bytes with every load of AoS and one with every load of SoA.
//
// All kernels give each thread four records, load every used field of all four before they add, and
// add the fields in the same order.
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

// Both inputs hold the same records.
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

// ---- the kernel, the same for all layouts

// The fields of a thread's records, all in registers. Records lie kBlock apart, so that the lanes
// of a warp have neighbouring ones.
using Records = float[kRecords][kFields];

// A layout's load() fetches the first `fields` fields, and may fetch more, of the records first +
// r·kBlock for which r·kBlock < left. Fields go round the outer loop: which of them are used is the
// same for all threads, so a field that is not costs one branch.
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

// Whichever fields are used, every record is one sector.
Work aos_work(const Problem& p) {
  return work(p, sector_bytes<float>(p.n, kFields));
}

// ---- aos
//
// An array of structures, one 4-byte load per used field. The lanes of a load are 32 bytes apart,
// so each request touches 32 sectors in 8 lines: global_load_sectors_per_request is 32 and DRAM
// moves whole records. The loads of a record's other fields find its sector in L1, but each walks
// the 8 lines again, so L1 may bind when all fields are used.
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

// ---- aos_16b
//
// The same layout read by 16-byte loads, one for up to four fields and two for more: the sector is
// asked for by at most two loads instead of one per field, which relieves L1 when many fields are
// used. DRAM moves the same records, so nothing is gained where only some are. Needs records
// aligned to 16 bytes. With eight fields global_load_requests falls to a quarter.
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

// Where DRAM serves every launch, whatever the caches kept of the one before.
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

// ---- soa
//
// One array per field: the lanes of each load are neighbours, a request is four full sectors
// (global_load_sectors_per_request), and only fields that are used move. dram_read_bytes is the
// useful bytes. Costs an address stream per field, and the eight fields of a record that is read
// alone, at a random place, are then in a sector each.
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
  // The arrays of the used fields follow one another.
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
  Family f("struct_layout", Topic::memory, "Array of structures, or structure of arrays?");
  f.physics =
      "DRAM hands out sectors of 32 bytes. Fields that lie together move together: an array of "
      "structures moves every field of a record for any of them, a structure of arrays only those "
      "that are used. With u of 8 fields used the first moves 8/u times the useful bytes. At u = 8 "
      "the bytes are equal, and what is left is how many lines each request touches in L1.";
  f.extent("n", &Problem::n, std::int64_t{1} << 25, std::int64_t{1} << 31, "records of 8 floats")
      .integer("fields", &Problem::fields, 1, 1, kFields, "",
               "fields of each record that the kernel uses, from the first on");
  const auto inputs = [](const Problem& p) { return p.n * kFields; };
  f.input("aos", &Data::aos, inputs)
      .input("soa", &Data::soa, inputs)
      .output("out", &Data::out, &Problem::n);
  f.figure("struct_layout", "traffic", "Array of structures or structure of arrays");
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
      "A sum of k terms, one after another in fp32, errs by at most (k - 1)·u/(1 - (k - 1)·u)·Σ|x| "
      "(u = 2^-24; Higham, Accuracy and Stability of Numerical Algorithms, section 4.2); k·u "
      "covers it for k up to 8. With one field the sum is a copy and must be exact. The RMS error "
      "over all elements, relative to the RMS sum: terms of random sign make partial sums of RMS "
      "√i, rounded with an RMS error of 0.42·u each, 0.42·u·√(k/2 + 1) in all (the same, section "
      "4.5). Twice that is allowed, and for chance the bound per element times √(32/elements) "
      "(Bernstein's inequality, probability 1e-14).";
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
