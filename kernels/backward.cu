// backward: the gradient of a bias, which is the sum of each column of a matrix.
//
// The question: which method sums the columns of a matrix fastest? A bias is added to each row of a
// result, so its gradient is the sum over all rows of the result's gradient, dy.
#include "kernels/common/column_sums.cuh"
#include "kernels/common/cublas_variant.cuh"
#include "kernels/common/family.cuh"

namespace gpuexp::backward {

struct Problem {
  std::int64_t rows;
  std::int64_t columns;
  DataType dtype;  // type of the matrix, fp32 or bf16; sums are fp32
};

struct Data {
  void* dy;    // row-major without padding
  void* ones;  // vector with one element per row, for cuBLAS
  float* dbias;
};

// ---- thread_per_column: one thread sums one column
//
// Lanes sum neighbouring columns: a warp loads 128 contiguous bytes of a row (bf16: 64), and uses
// all of them. There are only as many threads as columns. 8192 columns are 32 blocks, so most SMs
// have no block: sm_balance_pct is low, and far fewer bytes are in flight than the latency of DRAM
// requires.

constexpr int kBlock = 256;

// Sums the columns over the rows of slice blockIdx.y. `put` stores each sum or adds it to memory.
template <class T, class Put>
__global__ void __launch_bounds__(kBlock) column_kernel(Slices s, const T* dy, Put put) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (column >= s.columns) return;
  const std::int64_t first = blockIdx.y * s.slice;
  const std::int64_t end = min(s.rows, first + s.slice);
  dy += first * s.columns + column;
  float sum = 0.0f;
#pragma unroll 8
  for (std::int64_t row = first; row < end; ++row) {
    sum += static_cast<float>(*dy);
    dy += s.columns;
  }
  put(s, column, sum);
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Returns make(dy), where dy is a typed pointer.
template <class Make>
auto with_dy(const Problem& p, const Data& d, Make make) {
  return p.dtype == DataType::bf16 ? make(static_cast<const __nv_bfloat16*>(d.dy))
                                   : make(static_cast<const float*>(d.dy));
}

std::int64_t elements(const Problem& p) {
  return p.rows * p.columns;
}
std::int64_t bytes(const Problem& p) {
  return elements(p) * static_cast<std::int64_t>(size_of(p.dtype));
}
std::int64_t columns(const Problem& p) {
  return p.columns;
}

template <class Put>
Steps launch_columns(const Problem& p, const Data& d, const Slices& s, Put put) {
  return with_dy(p, d, [&](auto* dy) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(dy)>>;
    return launch(column_kernel<T, Put>,
                  shape_of_tiles({p.columns, s.count()}, {kBlock, 1}, kBlock), s, dy, put);
  });
}

Work work(const Problem& p) {
  return reads<char>(bytes(p)) + writes<float>(p.columns) +
         computes(Pipe::fp32, static_cast<double>(elements(p)));
}

using SlicesOf = Slices (*)(const Problem&, const DeviceSpec&);
using Launch = Steps (*)(const Problem&, const Data&, const Slices&, float* partial);
enum class Kernels { one, two };  // the second kernel sums the partial sums of the slices

Variant variant(std::string id, std::string compare_to, SlicesOf slices, Kernels kernels,
                ExpectedChangesOf<Problem> expected, Launch launch) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.work = work;
  v.metrics = [slices](const Problem& p, const DeviceSpec& device) {
    return MetricValues{{"slices", static_cast<double>(slices(p, device).count())}};
  };
  v.workspace_bytes = [slices, kernels](const Problem& p, const DeviceSpec& device) {
    return kernels == Kernels::two ? slices(p, device).partial_bytes() : 0;
  };
  v.launch = [slices, launch](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(p, d, slices(p, x.device), static_cast<float*>(x.workspace));
  };
  return v;
}

Variant deterministic(Variant v) {
  v.deterministic = true;
  return v;
}

Variant thread_per_column() {
  return deterministic(variant(
      "thread_per_column", "",
      [](const Problem& p, const DeviceSpec&) {
        return Slices{p.rows, p.columns, p.rows};
      },
      Kernels::one, {},
      [](const Problem& p, const Data& d, const Slices& s, float*) {
        return launch_columns(p, d, s, StoreSums{d.dbias});
      }));
}

// True if there are many rows, and too few columns for one thread per column to fill a GPU.
bool is_tall(const Problem& p) {
  constexpr std::int64_t kManyRows = 4096, kFewColumns = 8192;
  return p.rows >= kManyRows && p.columns >= kBlock && p.columns <= kFewColumns;
}

constexpr auto beyond_caches = at_least(bytes, 1 << 28);

// ---- slices_atomic: row slices, combined with atomics
//
// The rows are divided into slices, enough to give every SM eight blocks. A block sums the columns
// of its slice and adds its partial sums to the result in L2: global_reduction_requests increases.
// All SMs have work, so sm_balance_pct and the bytes in flight increase. global_load_requests is
// unchanged. The cost is one atomic addition per column and slice, and a memset of the result.
// Blocks add in any order, so the last bits of the float sums differ between launches.

constexpr int kBlocksPerSm = 8;  // resident blocks

Slices of_blocks(const Problem& p, const DeviceSpec& device) {
  return slices_of(p.rows, p.columns, kBlock, kBlocksPerSm, device);
}

Steps zeros(const Problem& p, const Data& d) {
  return MemsetStep{d.dbias, 0, p.columns * std::int64_t{sizeof(float)}};
}

Variant slices_atomic() {
  return variant("slices_atomic", "thread_per_column", of_blocks, Kernels::one,
                 {{"sm_balance_pct", Direction::increases, 1.5, is_tall},
                  {"global_reduction_requests", Direction::increases, 2},
                  {"global_load_requests", Direction::unchanged}},
                 [](const Problem& p, const Data& d, const Slices& s, float*) {
                   return zeros(p, d) + launch_columns(p, d, s, AddSums{d.dbias});
                 });
}

// ---- slices_stored: row slices, combined by a second kernel
//
// Blocks store their partial sums, one row per slice: global_reduction_requests decreases to zero.
// A second kernel with one thread per column sums these rows, which are still in L2. Results are
// bitwise identical in every launch. dram_read_bytes is unchanged. The cost is the launch of a
// second kernel, which waits for the last block of the first.

Variant slices_stored() {
  return deterministic(variant(
      "slices_stored", "slices_atomic", of_blocks, Kernels::two,
      {{"global_reduction_requests", Direction::decreases, 2},
       {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}},
      [](const Problem& p, const Data& d, const Slices& s, float* partial) {
        return launch_columns(p, d, s, StoreSums{partial}) + sum_slices(s, partial, d.dbias);
      }));
}

// ---- shared_sums: partial sums combined in shared memory first
//
// A block sums 32 columns instead of 256, and its eight warps process rows in turn. The block sums
// the warps' partial sums in shared memory and stores one row of partial sums for all eight warps.
// The second kernel loads fewer rows, and global_store_requests, which includes the results,
// decreases to a seventh. global_load_requests is unchanged. The cost is a barrier at the end.
// held: global_store_requests = 1/7 × slices_stored within 5 %

Slices lane_slices(const Problem& p, const DeviceSpec& device) {
  return slices_of(p.rows, p.columns, kColumnLanes, kBlocksPerSm, device);
}

template <class T>
ElementTerms<T> terms_of(const T* dy) {
  return {dy};
}

// True if the slices of shared_sums and slices_stored are longer than the minimum.
bool has_many_slices(const Problem& p) {
  constexpr std::int64_t kManyRows = 16384, kManyColumns = 2048;
  return is_tall(p) && p.rows >= kManyRows && p.columns >= kManyColumns;
}

Variant shared_sums() {
  return deterministic(
      variant("shared_sums", "slices_stored", lane_slices, Kernels::two,
              {{"global_store_requests", Direction::decreases, 3, has_many_slices},
               {"global_load_requests", Direction::unchanged, 1.05, is_tall}},
              [](const Problem& p, const Data& d, const Slices& s, float* partial) {
                return with_dy(p, d, [&](auto* dy) {
                  return launch_tile_sums<1>(s, terms_of(dy), StoreSums{partial}) +
                         sum_slices(s, partial, d.dbias);
                });
              }));
}

// ---- vectors: 16-byte loads
//
// A lane loads four neighbouring columns at a time (bf16: eight), so global_load_requests decreases
// to a quarter (bf16: an eighth). warp_instructions decreases by a smaller factor, because the
// number of conversions and additions is unchanged, as is dram_read_bytes. The cost is registers: a
// lane has four rows in flight. If the row length is not a multiple of 16 bytes, lanes load single
// elements, as in shared_sums.
// held: global_load_requests = 1/4 × shared_sums
// held: global_load_requests = 1/8 × shared_sums at dtype=bf16

Slices of_tiles(const Problem& p, const DeviceSpec& device) {
  return slices_of(p.rows, p.columns, columns_per_block(p.columns, p.dtype), kTilesPerSm, device);
}

bool is_tall_with_vectors(const Problem& p) {
  return is_tall(p) && columns_per_block(p.columns, p.dtype) > kColumnLanes;
}

Variant vectors() {
  return deterministic(
      variant("vectors", "shared_sums", of_tiles, Kernels::two,
              {{"global_load_requests", Direction::decreases, 3.5, is_tall_with_vectors},
               {"warp_instructions", Direction::decreases, 1.5, is_tall_with_vectors},
               {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}},
              [](const Problem& p, const Data& d, const Slices& s, float* partial) {
                return with_dy(p, d, [&](auto* dy) {
                  return launch_stored_tile_sums(s, terms_of(dy), partial, d.dbias);
                });
              }));
}

// ---- vectors_atomic: atomics instead of the second kernel
//
// A memset and one kernel replace two kernels: blocks add their partial sums to the result with
// atomic additions (global_reduction_requests increases). This saves the start of a kernel and its
// wait for the last block, which matters for small matrices. dram_read_bytes is unchanged. The cost
// is that the last bits of results differ between launches.

Variant vectors_atomic() {
  return variant("vectors_atomic", "vectors", of_tiles, Kernels::one,
                 {{"global_reduction_requests", Direction::increases, 2},
                  {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}},
                 [](const Problem& p, const Data& d, const Slices& s, float*) {
                   return with_dy(p, d, [&](auto* dy) {
                     return zeros(p, d) + tile_sums(s, terms_of(dy), AddSums{d.dbias});
                   });
                 });
}

// ---- cublas_gemv
//
// cublasSgemv, the product of the transpose of dy and a vector of ones: the library call for column
// sums. It also loads the ones and multiplies by them. cublasSgemv does not support bf16.

Variant cublas_gemv() {
  Variant v = cublas_variant<Variant>("vectors", work, [](const Problem& p, const Data& d) {
    return cublas::Gemv{p.rows, p.columns, static_cast<const float*>(d.dy),
                        static_cast<const float*>(d.ones), d.dbias};
  });
  v.id = "cublas_gemv";
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.dtype == DataType::fp32) return std::nullopt;
    return "needs dtype = fp32: cuBLAS has no product of a bf16 matrix and a vector";
  };
  return v;
}

// ---- cublas_gemm
//
// cublasGemmEx with a row of ones for A supports fp32 and bf16, with sums in fp32.

Variant cublas_gemm() {
  Variant v = cublas_variant<Variant>("vectors", work, [](const Problem& p, const Data& d) {
    return cublas::Gemm{cublas::Compute::fp32,
                        p.dtype,
                        DataType::fp32,
                        1,
                        p.columns,
                        p.rows,
                        d.ones,
                        d.dy,
                        d.dbias};
  });
  v.id = "cublas_gemm";
  return v;
}

// ---- inputs

template <class T>
struct One {
  __host__ __device__ T operator()(std::int64_t) const { return from_float<T>(1.0f); }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return with_dy(p, d, [&](auto* dy) {
    using T = std::remove_const_t<std::remove_pointer_t<decltype(dy)>>;
    return fill_uniform(static_cast<T*>(d.dy), elements(p), stream_seed(seed, 0)) +
           fill(static_cast<T*>(d.ones), p.rows, One<T>{});
  });
}

// ---- the plain reference

struct ColumnSum {
  Problem p;
  const void* dy;
  __host__ __device__ ReferenceElement operator()(std::int64_t column) const {
    ReferenceElement sum{0.0, 0.0};
    for (std::int64_t row = 0; row < p.rows; ++row) {
      const double term = element_of(dy, p.dtype, row * p.columns + column);
      sum.value += term;
      sum.magnitude += fabs(term);
    }
    return sum;
  }
};

// ---- declaration

Family declare() {
  Family f("backward", Topic::fusion, "Which method sums the columns of a matrix fastest?");
  f.physics =
      "The gradient of a bias is the sum of each column of a matrix that is loaded once. The time "
      "is bytes over bandwidth if enough threads have loads in flight. Lanes must load "
      "neighbouring columns, or most of each sector is wasted. One thread per column gives too few "
      "threads, so threads share the rows of a column. Their partial sums are combined in L2 by "
      "atomics, in shared memory, or by a second kernel in an order that is the same each time.";
  constexpr std::int64_t kMost = 1 << 26;
  f.extent("rows", &Problem::rows, 16384, kMost, "rows of dy: number of terms per sum")
      .extent("columns", &Problem::columns, 8192, kMost, "columns of dy: number of sums")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of dy; sums are fp32");
  f.input("dy", &Data::dy, &Problem::dtype, elements)
      .input("ones", &Data::ones, &Problem::dtype, [](const Problem& p) { return p.rows; })
      .output("dbias", &Data::dbias, columns);
  f.metric("slices", "", "number of slices of rows with partial sums of their own");
  f.plot("backward", "traffic", "Column sums: useful bandwidth");
  f.inputs = inputs;
  set_references(f, columns, [](const Problem& p, const Data& d, int) {
    return ColumnSum{p, d.dy};
  });
  f.tolerance = [](const Problem& p) {
    return Tolerance{static_cast<double>(p.rows) * unit_roundoff(DataType::fp32), 0.0,
                     kRmsSafety * sum_rms(p.rows, DataType::fp32), 0.0};
  };
  f.tolerance_derivation =
      "u = 2^-24. A sum of m terms, in any order, differs from the exact sum by at most (m - 1)·u "
      "times the sum of their absolute values (Higham, Accuracy and Stability of Numerical "
      "Algorithms, 2nd ed., section 4.2). The RMS error is the one of a random walk's roundings "
      "(sum_rms of family/tolerance.hpp). Twice this error is allowed; sums in slices err by less.";
  f.variants(thread_per_column(), slices_atomic(), slices_stored(), shared_sums(), vectors(),
             vectors_atomic(), cublas_gemv(), cublas_gemm());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::backward
