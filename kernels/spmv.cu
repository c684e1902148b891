// spmv: y = A·x for a sparse matrix A, which is stored as its nonzeros only.
//
// The question: how should nonzeros be distributed over threads if rows differ in length? Equal
// shares of nonzeros suit all matrices, but threads must find the row of each nonzero.
#include "gpu/cusparse.hpp"
#include "kernels/spmv/matrix.cuh"
#include "kernels/spmv/merge.cuh"
#include "kernels/spmv/share.cuh"

namespace gpuexp::spmv {

// ---- coo_atomics: one thread and one atomic addition per nonzero
//
// The coordinate format (COO) stores the row of each nonzero as well. Neighbouring lanes load
// neighbouring nonzeros, in any rows, and add their products to y in global memory with atomic
// additions, which L2 performs. The cost is 4 more bytes per nonzero and clearing y before each
// launch. L2 performs additions to the same row one after another.

__global__ void __launch_bounds__(kBlock) coo_kernel(Csr m, const std::int32_t* row_of) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (i < m.nonzeros) atomicAdd(m.y + row_of[i], m.product(i));
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

template <class T>
std::int64_t bytes_of(std::int64_t count) {
  return count * static_cast<std::int64_t>(sizeof(T));
}

// Work of loading each nonzero, its column, `places` other indices and x once, and storing y once.
Work work_of(const Problem& p, std::int64_t places) {
  const Sizes s = sizes(p);
  const std::int64_t read =
      bytes_of<float>(s.nonzeros + s.columns) + bytes_of<std::int32_t>(s.nonzeros + places);
  constexpr double kOperations = 2;
  return streaming_work<char, float>(read, s.rows,
                                     {{Pipe::fp32, kOperations * static_cast<double>(s.nonzeros)}});
}
Work csr_work(const Problem& p) {
  return work_of(p, sizes(p).rows + 1);
}
Work coo_work(const Problem& p) {
  return work_of(p, sizes(p).nonzeros);
}
Work ell_work(const Problem& p) {
  return work_of(p, 0);
}

Csr csr(const Problem& p, const Data& d, float* Data::*y = &Data::y) {
  const Sizes s = sizes(p);
  return {d.offsets,
          d.columns,
          d.values,
          d.x,
          d.*y,
          static_cast<std::int32_t>(s.rows),
          static_cast<std::int32_t>(s.nonzeros)};
}

Shape blocks_of_rows(const Problem& p, std::int64_t tile) {
  return shape_of_tiles(sizes(p).rows, tile, kBlock);
}
// `count` blocks, each of which may store to any row.
Shape blocks_of_any(const Problem& p, std::int64_t count) {
  return shape_of_blocks({count}, {kBlock}, {sizes(p).rows});
}

Steps cleared(const Problem& p, float* y) {
  return MemsetStep{y, 0, bytes_of<float>(sizes(p).rows)};
}

Variant variant(std::string id, std::string compare_to, Work (*work)(const Problem&),
                ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"y"};
  v.work = work;
  v.metrics = [](const Problem& p, const DeviceSpec&) -> MetricValues {
    const Sizes s = sizes(p);
    return {{"rows", static_cast<double>(s.rows)},
            {"columns", static_cast<double>(s.columns)},
            {"nonzeros", static_cast<double>(s.nonzeros)}};
  };
  return v;
}

// True if every resident thread has work and rows have at least 8 nonzeros on average.
bool is_large(const Problem& p) {
  constexpr std::int64_t kManyRows = 1 << 16, kSome = 8;
  return p.matrix != Matrix::file && p.rows >= kManyRows && p.mean >= kSome;
}
bool is_large_power_law(const Problem& p) {
  return is_large(p) && p.matrix == Matrix::power_law;
}
bool is_large_and_even(const Problem& p) {
  return is_large(p) && p.matrix != Matrix::power_law;
}

Variant coo_atomics() {
  Variant v = variant("coo_atomics", "", coo_work, {});
  v.writes = {"y_of_products"};
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return cleared(p, d.y_of_products) +
           launch(coo_kernel, blocks_of_any(p, ceil_div(sizes(p).nonzeros, kBlock)),
                  csr(p, d, &Data::y_of_products), d.row_of);
  };
  return v;
}

// ---- coo_segmented: segmented sum within a warp
//
// A warp processes 1024 nonzeros, 32 at a time, and sums the products of each row with a segmented
// scan. In each of five shuffle steps, a lane adds the sum of a lower lane if both have the same
// row. The lane with the last nonzero of a row queues the row's sum in shared memory. When the
// queue has 32 sums, one request adds them to y, and no two lanes of the request add to the same
// word. global_reduction_requests decreases to the number of rows divided by 32. The cost is
// shuffles and votes: warp_instructions increases.

constexpr int kChunks = 32;  // per warp, of 32 nonzeros each
constexpr int kChunksAtOnce = 4;
constexpr int kWarpNonzeros = kChunks * kWarp;

// Finished row sums that a warp has not added to y yet.
struct RowQueue {
  int rows[2 * kWarp];
  float sums[2 * kWarp];
};

__device__ __forceinline__ void add_queued(RowQueue& q, int count, int lane, float* y) {
  if (lane < count) atomicAdd(y + q.rows[lane], q.sums[lane]);
}

__global__ void __launch_bounds__(kBlock) segmented_kernel(Csr m, const std::int32_t* row_of) {
  __shared__ RowQueue queues[kWarps];
  RowQueue& queue = queues[threadIdx.x / kWarp];
  const int lane = threadIdx.x % kWarp;
  const int begin = (blockIdx.x * kWarps + threadIdx.x / kWarp) * kWarpNonzeros;
  const int end = min(m.nonzeros, begin + kWarpNonzeros);
  int queued = 0;
  float open = 0.0f;  // partial sum of the row that continues in the next chunk
#pragma unroll 1
  for (int first = begin; first < end; first += kChunksAtOnce * kWarp) {
    int rows[kChunksAtOnce + 1];
    float products[kChunksAtOnce];
#pragma unroll
    for (int c = 0; c <= kChunksAtOnce; ++c) {
      const int i = first + c * kWarp + lane;
      rows[c] = i < end ? row_of[i] : -1;
      if (c < kChunksAtOnce) products[c] = i < end ? m.product(i) : 0.0f;
    }
#pragma unroll
    for (int c = 0; c < kChunksAtOnce; ++c) {
      const int row = rows[c];
      float sum = products[c] + (lane == 0 ? open : 0.0f);
#pragma unroll
      for (int step = 1; step < kWarp; step *= 2) {
        const int other_row = __shfl_up_sync(kAllLanes, row, step);
        const float other = __shfl_up_sync(kAllLanes, sum, step);
        if (lane >= step && other_row == row) sum += other;
      }
      const int below = __shfl_down_sync(kAllLanes, row, 1);
      const int behind = __shfl_sync(kAllLanes, rows[c + 1], 0);
      const bool ends = row >= 0 && row != (lane == kWarp - 1 ? behind : below);
      const unsigned ending = __ballot_sync(kAllLanes, ends);
      const float last = __shfl_sync(kAllLanes, sum, kWarp - 1);
      open = (ending >> (kWarp - 1) & 1) != 0 ? 0.0f : last;
      if (ends) {
        const int at = queued + __popc(ending & ((1u << lane) - 1));
        queue.rows[at] = row;
        queue.sums[at] = sum;
      }
      queued += __popc(ending);
      __syncwarp();
      if (queued < kWarp) continue;
      add_queued(queue, kWarp, lane, m.y);
      queued -= kWarp;
      if (lane < queued) {
        queue.rows[lane] = queue.rows[lane + kWarp];
        queue.sums[lane] = queue.sums[lane + kWarp];
      }
      __syncwarp();
    }
  }
  add_queued(queue, queued, lane, m.y);
}

Variant coo_segmented() {
  Variant v = variant("coo_segmented", "coo_atomics", coo_work,
                      {{"global_reduction_requests", Direction::decreases, 3, is_large},
                       {"warp_instructions", Direction::increases, 1.2, is_large}});
  v.writes = {"y_of_segments"};
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const std::int64_t count = ceil_div(sizes(p).nonzeros, kWarps * kWarpNonzeros);
    return cleared(p, d.y_of_segments) + launch(segmented_kernel, blocks_of_any(p, count),
                                                csr(p, d, &Data::y_of_segments), d.row_of);
  };
  return v;
}

// ---- csr_thread_per_row: compressed sparse rows, one thread per row
//
// Compressed sparse rows (CSR) store where each row begins instead of the row of each nonzero, 4
// bytes less per nonzero. A thread sums one row and stores it: y need not be cleared, and
// global_reduction_requests decreases to zero. The cost is that neighbouring lanes load nonzeros
// one row length apart, so a request accesses one sector per lane: global_load_sectors_per_request
// increases. A warp loops until its longest row ends; active_lanes_per_instruction shows how many
// of its lanes are active.

__global__ void __launch_bounds__(kBlock) thread_kernel(Csr m) {
  const int row = blockIdx.x * kBlock + threadIdx.x;
  if (row >= m.rows) return;
  const int end = m.offsets[row + 1];
  float sum = 0.0f;
  for (int i = m.offsets[row]; i < end; ++i)
    sum += m.product(i);
  m.y[row] = sum;
}

Variant csr_thread_per_row() {
  Variant v =
      variant("csr_thread_per_row", "coo_segmented", csr_work,
              {{"global_reduction_requests", Direction::decreases, 100, is_large},
               {"global_load_sectors_per_request", Direction::increases, 2, is_large_and_even}});
  v.deterministic = true;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(thread_kernel, blocks_of_rows(p, kBlock), csr(p, d));
  };
  return v;
}

// ---- ell: ELLPACK format, stored by columns
//
// ELLPACK stores the first nonzeros of all rows, then the second ones, and so on. A thread sums one
// row, and neighbouring lanes load neighbouring words of values and columns:
// global_load_sectors_per_request decreases. The cost is padding: all rows use as much memory as
// the longest one. If that is more than four times the nonzeros, as with a power law,
// the variant is skipped.

__global__ void __launch_bounds__(kBlock)
    ell_kernel(Csr m, const std::int32_t* columns, const float* values, std::int32_t width,
               std::int64_t ell_rows) {
  const int row = blockIdx.x * kBlock + threadIdx.x;
  if (row >= m.rows) return;
  float sum = 0.0f;
#pragma unroll 4
  for (int k = 0; k < width; ++k) {
    const int column = columns[k * ell_rows + row];
    if (column != kNoColumn) sum += values[k * ell_rows + row] * m.x[column];
  }
  m.y[row] = sum;
}

Variant ell() {
  Variant v =
      variant("ell", "csr_thread_per_row", ell_work,
              {{"global_load_sectors_per_request", Direction::decreases, 1.8, is_large_and_even}});
  v.deterministic = true;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.matrix == Matrix::file)
      return "needs a generated matrix: a file's header does not state the length of its longest "
             "row";
    if (ell_elements(p) > 0) return std::nullopt;
    return "its arrays would be mostly padding: the longest row has " +
           std::to_string(longest_row(row_lengths(p))) + " nonzeros, all rows have " +
           std::to_string(sizes(p).nonzeros);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(ell_kernel, blocks_of_rows(p, kBlock), csr(p, d), d.ell_columns, d.ell_values,
                  static_cast<std::int32_t>(longest_row(row_lengths(p))), ell_rows(p));
  };
  return v;
}

// ---- csr_warp_per_row: one warp per row
//
// The lanes of a warp load neighbouring nonzeros of one row and sum their products with shuffles. A
// request accesses few sectors: global_load_sectors_per_request decreases. Rows of different length
// no longer share a warp: active_lanes_per_instruction increases with a power law. The cost is idle
// lanes in short rows: with 16 nonzeros 32 - 16 = 16 lanes have no nonzero, and five shuffle steps
// follow one load.

template <int kLanes>
__global__ void __launch_bounds__(kBlock) lanes_kernel(Csr m) {
  const int row = blockIdx.x * (kBlock / kLanes) + threadIdx.x / kLanes;
  const int lane = threadIdx.x % kLanes;
  float sum = 0.0f;
  if (row < m.rows) {
    const int end = m.offsets[row + 1];
    for (int i = m.offsets[row] + lane; i < end; i += kLanes)
      sum += m.product(i);
  }
  sum = sum_of_lanes<kLanes>(sum);
  if (row < m.rows && lane == 0) m.y[row] = sum;
}

Variant csr_warp_per_row() {
  Variant v =
      variant("csr_warp_per_row", "csr_thread_per_row", csr_work,
              {{"global_load_sectors_per_request", Direction::decreases, 3, is_large_and_even},
               {"active_lanes_per_instruction", Direction::increases, 1.5, is_large_power_law}});
  v.deterministic = true;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(lanes_kernel<kWarp>, blocks_of_rows(p, kWarps), csr(p, d));
  };
  return v;
}

// ---- csr_lanes_per_row: lanes per row chosen by the mean row length
//
// The kernel assigns 2, 4, 8, 16 or 32 lanes to each row: the largest of these numbers that is at
// most the mean number of nonzeros per row. With 16 nonzeros per row a warp sums two rows, and no
// lane is idle if all rows are equally long: global_load_requests decreases. With a power law most
// rows are shorter than the mean and leave lanes idle.

struct RowLanes {
  void (*kernel)(Csr);
  int lanes;
};
RowLanes lanes_for(double mean) {
  if (mean < 4) return {lanes_kernel<2>, 2};
  if (mean < 8) return {lanes_kernel<4>, 4};
  if (mean < 16) return {lanes_kernel<8>, 8};
  if (mean < 32) return {lanes_kernel<16>, 16};
  return {lanes_kernel<kWarp>, kWarp};
}
RowLanes lanes_for(const Problem& p) {
  const Sizes s = sizes(p);
  return lanes_for(static_cast<double>(s.nonzeros) / static_cast<double>(s.rows));
}

Variant csr_lanes_per_row() {
  Variant v = variant("csr_lanes_per_row", "csr_warp_per_row", csr_work,
                      {{"global_load_requests", Direction::decreases, 1.5, [](const Problem& p) {
                          constexpr int kHalfWarp = 16;
                          return is_large_and_even(p) && p.mean <= kHalfWarp;
                        }}});
  v.deterministic = true;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const RowLanes with = lanes_for(p);
    return launch(with.kernel, blocks_of_rows(p, kBlock / with.lanes), csr(p, d));
  };
  return v;
}

// ---- csr_adaptive: equal shares of nonzeros, lanes per row chosen per block
//
// A block computes the rows that begin within its share of 2048 nonzeros. It stores their products
// to shared memory, neighbouring lanes with neighbouring nonzeros of any row. Then 2, 4 or 32 lanes
// sum each row from there, depending on the number of rows in the share. If a row is longer than a
// share, each of its blocks sums its part of the row and adds the sum to y atomically, and the
// launch clears y first. With a power law, too, all lanes of a request load nonzeros:
// global_load_requests decreases to a fraction. The cost is a store and a load in shared memory per
// nonzero (shared_load_wavefronts increases), and an array with the first row of each share. This
// array is computed before the timed launches. (After Greathouse and Daga, "Efficient sparse
// matrix-vector multiplication on GPUs using the CSR storage format", SC 2014, where blocks have
// whole rows.)

__global__ void __launch_bounds__(kBlock) adaptive_kernel(Csr m, const std::int32_t* share_rows) {
  __shared__ ShareProducts products;
  const int share_begin = blockIdx.x * kShare;
  const int share_end = min(m.nonzeros, share_begin + kShare);
  const int first = share_rows[blockIdx.x];
  int end_row = share_rows[blockIdx.x + 1];
  // Issued first, because these loads do not depend on the offsets.
#pragma unroll
  for (int i = threadIdx.x; i < kShare + threadIdx.x; i += kBlock)
    if (share_begin + i < share_end) products[i] = m.product(share_begin + i);
  const int begin = m.offsets[first];
  const int end = m.offsets[end_row];
  const int last_begin = m.offsets[max(end_row - 1, 0)];
  const bool ends_long = end_row > first && end - last_begin > kShare;
  if (end_row > first && !ends_long) {
    for (int i = share_end + threadIdx.x; i < end; i += kBlock)
      products[i - share_begin] = m.product(i);
  }
  __syncthreads();
  // Long rows that cross the beginning or the end of the share: this block adds a partial sum.
  if (begin > share_begin && begin - m.offsets[first - 1] > kShare)
    add_part(m.y + first - 1, products, 0, min(begin, share_end) - share_begin);
  if (ends_long)
    add_part(m.y + --end_row, products, last_begin - share_begin, share_end - share_begin);
  const int rows = end_row - first;
  if (rows > kBlock / 4) {
    add_rows<2>(m, first, rows, products, share_begin);
  } else if (rows > kWarps) {
    add_rows<4>(m, first, rows, products, share_begin);
  } else {
    add_rows<kWarp>(m, first, rows, products, share_begin);
  }
}

Variant csr_adaptive() {
  Variant v = variant(
      "csr_adaptive", "csr_lanes_per_row", csr_work,
      {{"global_load_requests", Direction::decreases, 1.5,
        [](const Problem& p) { return is_large_power_law(p) && lanes_for(p).lanes < kWarp; }},
       {"shared_load_wavefronts", Direction::increases, 100, is_large}});
  v.writes = {"y_of_shares"};
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const bool has_long_rows = p.matrix == Matrix::file || longest_row(row_lengths(p)) > kShare;
    return (has_long_rows ? cleared(p, d.y_of_shares) : Steps()) +
           launch(adaptive_kernel, blocks_of_any(p, shares(p)), csr(p, d, &Data::y_of_shares),
                  d.share_rows);
  };
  return v;
}

// ---- merge_path: equal shares of nonzeros and row ends
//
// Nonzeros and row ends are merged into one list: a row's nonzeros, then its end, then the next
// row's. Blocks process equal shares of this list in rounds, and threads equal parts of each
// round's elements in shared memory. All threads therefore have equal work, whether rows are long,
// short or empty: active_lanes_per_instruction is near 32 with a power law, too. The kernel finds
// the beginning of each share with a binary search along a diagonal of the grid of rows and
// nonzeros. A thread that reaches a row end stores the row's sum. The sum of an unfinished row
// passes to the next thread through a scan, and to the next round in a register. Between blocks, a
// second kernel adds the sum of the unfinished row. The cost is the search, the scan, and more
// instructions per nonzero. (Merrill and Garland, "Merge-based parallel sparse matrix-vector
// multiplication", SC 2016.)

// One block per block slot, or fewer if the list has fewer than kPart * kBlock elements per block.
std::int64_t merge_blocks(const Problem& p, const DeviceSpec& device) {
  const Sizes s = sizes(p);
  return std::min(std::int64_t{device.sm_count} * kMergeBlocksPerSm,
                  ceil_div(s.rows + s.nonzeros, kPart * kBlock));
}

Variant merge_path() {
  Variant v =
      variant("merge_path", "csr_thread_per_row", csr_work,
              {{"active_lanes_per_instruction", Direction::increases, 2, is_large_power_law},
               {"global_load_sectors_per_request", Direction::decreases, 1.3, is_large_and_even}});
  v.deterministic = true;
  v.workspace_bytes = [](const Problem& p, const DeviceSpec& device) {
    return bytes_of<Carry>(merge_blocks(p, device));
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const carries = static_cast<Carry*>(x.workspace);
    const std::int64_t count = merge_blocks(p, x.device);
    return launch(merge_kernel, blocks_of_any(p, count), csr(p, d), carries) +
           launch(carry_kernel, blocks_of_any(p, 1), csr(p, d), carries,
                  static_cast<std::int32_t>(count));
  };
  return v;
}

// ---- cusparse_alg1
//
// cusparseSpMV with its default algorithm, CUSPARSE_SPMV_CSR_ALG1. The descriptors, the buffer and
// cusparseSpMV_preprocess are prepared before the timed launches.

// ---- cusparse_alg2
//
// cusparseSpMV with CUSPARSE_SPMV_CSR_ALG2, whose results are bitwise identical in each run,
// prepared as cusparse_alg1 is. The faster of the two algorithms is the library baseline.

Variant vendor(std::string id, std::string compare_to, cusparse::Algorithm algorithm) {
  Variant v = variant(std::move(id), std::move(compare_to), csr_work, {});
  v.is_vendor = true;
  v.unavailable = cusparse::unavailable;
  const bool may_add = algorithm == cusparse::Algorithm::csr_alg1;
  if (may_add) v.writes = {"y_of_products"};
  v.launch = [algorithm, may_add](const Problem& p, const Data& d, const LaunchContext&) {
    const Sizes s = sizes(p);
    float* const y = may_add ? d.y_of_products : d.y;
    return cusparse::step_of(
        {s.rows, s.columns, s.nonzeros, d.offsets, d.columns, d.values, d.x, y, algorithm});
  };
  return v;
}

// ---- declaration

// Atomic additions per row in the variants that store each output.
constexpr RowAtomics kOfProducts{1, 0};
constexpr RowAtomics kOfSegments{kWarpNonzeros, 0};
constexpr RowAtomics kOfShares{kShare, kShare};
constexpr RowAtomics kAtomics[] = {kNoAtomics, kOfProducts, kOfSegments, kOfShares};

Family declare() {
  Family f(
      "spmv", Topic::patterns,
      "How should the nonzeros of a sparse matrix-vector product be distributed over threads?");
  f.physics =
      "A sparse matrix-vector product loads each nonzero's value and column once and multiplies "
      "once. This is a quarter of an operation per byte, so the lower bound on time is bytes over "
      "bandwidth. Kernels reach it only if they distribute the rows well. Lanes with one row each "
      "load from as many places as there are lanes and wait for the longest row of their warp. "
      "Lanes that share a row are idle if it is shorter than a warp. Shares of nonzeros are equal "
      "and contiguous, but rows begin and end within them. The products of a row must then be "
      "combined by atomics, scans or searches. x is loaded at the columns of the nonzeros: "
      "contiguous words in a band, one sector per nonzero if columns are random, most often from "
      "L2.";
  f.extent("rows", &Problem::rows, 1 << 18, kMaxRows, "rows and columns of a generated matrix")
      .integer("mean", &Problem::mean, 16, 1, kMaxMean, "",
               "nonzeros per row of a generated matrix; with a power law, their approximate mean")
      .choice_or_file<Matrix>(
          "matrix", &Problem::matrix,
          {{"regular", Matrix::regular},
           {"power_law", Matrix::power_law},
           {"banded", Matrix::banded}},
          {"*.mtx", "*.mtx.gz"}, Matrix::file, &Problem::file,
          [](const std::string& file) { return matrix_market_header(file).error; },
          {"rows", "mean"},
          "distribution of the nonzeros: rows of equal length with random columns; row lengths "
          "that follow a power law; rows of equal length in a band around the diagonal; or a "
          "Matrix Market file, whose sizes replace rows and mean");
  const auto rows = [](const Problem& p) { return sizes(p).rows; };
  const auto nonzeros = [](const Problem& p) { return sizes(p).nonzeros; };
  const auto tolerance_with = [](const RowAtomics& atomics) {
    return [atomics](const Problem& p) { return tolerance(p, atomics); };
  };
  f.input("values", &Data::values, nonzeros)
      .input("columns", &Data::columns, nonzeros)
      .input("offsets", &Data::offsets, [](const Problem& p) { return sizes(p).rows + 1; })
      .input("row_of", &Data::row_of, nonzeros)
      .input("share_rows", &Data::share_rows, [](const Problem& p) { return shares(p) + 1; })
      .input("ell_values", &Data::ell_values, ell_elements)
      .input("ell_columns", &Data::ell_columns, ell_elements)
      .input("x", &Data::x, [](const Problem& p) { return sizes(p).columns; })
      .output("y", &Data::y, rows)
      .output("y_of_products", &Data::y_of_products, rows, tolerance_with(kOfProducts))
      .output("y_of_segments", &Data::y_of_segments, rows, tolerance_with(kOfSegments))
      .output("y_of_shares", &Data::y_of_shares, rows, tolerance_with(kOfShares));
  f.metric("rows", "", "rows of the matrix")
      .metric("columns", "", "columns of the matrix")
      .metric("nonzeros", "", "stored nonzeros of the matrix");
  f.plot("spmv", "share_of_copy", "Sparse matrix-vector product: throughput relative to cuSPARSE",
         {{"param.matrix", "matrix"}});
  f.inputs = inputs;
  set_references(f, rows, [](const Problem&, const Data& d, int output) {
    return ExactRow{kAtomics[output], d.offsets, d.columns, d.values, d.x};
  });
  f.tolerance = tolerance_with(kNoAtomics);
  f.tolerance_derivation = kToleranceDerivation;
  f.variants(coo_atomics(), coo_segmented(), csr_thread_per_row(), ell(), csr_warp_per_row(),
             csr_lanes_per_row(), csr_adaptive(), merge_path(),
             vendor("cusparse_alg1", "merge_path", cusparse::Algorithm::csr_alg1),
             vendor("cusparse_alg2", "cusparse_alg1", cusparse::Algorithm::csr_alg2));
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::spmv
