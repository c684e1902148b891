// transpose: transposes a row-major matrix.
//
// The question: what does a transpose cost compared with a copy of the same bytes? Lanes that load
// contiguous elements store them with a stride of one row, or the reverse. A strided request
// accesses 32 sectors, a contiguous one four. A tile in shared memory transposes the elements
// between load and store.
#include <algorithm>

#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/compiled_for.cuh"
#include "kernels/common/copy_limit.cuh"
#include "kernels/common/cublas_variant.cuh"
#include "kernels/common/sectors.cuh"
#include "kernels/common/tile_order.cuh"
#include "kernels/common/turned_patch.cuh"
#include "kernels/common/vectors.cuh"
#include "kernels/transpose/matrix.cuh"

namespace gpuexp::transpose {

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- read_columns: loads with a stride of one row
//
// Each thread copies one element, and lanes are neighbours along the rows of `out`. Stores are
// contiguous, but the 32 lanes of a load access 32 rows of `in`, each in a different sector:
// global_load_sectors_per_request is 32. Other warps of the block use the rest of each sector. If
// L1 still holds these sectors, the kernel reads no more from DRAM than a copy, and the load unit
// is the limit.
// held: global_load_sectors_per_request = 32

constexpr int kTile = 32;  // rows and columns of a block's tile

template <class T>
__global__ void __launch_bounds__(kTile* kTile) read_columns_kernel(Matrix<T> m) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kTile + threadIdx.x;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.y;
  if (row < m.rows && column < m.columns)
    m.out[column * m.rows + row] = m.in[row * m.columns + column];
}

// ---- how the variants are launched

Work work(const Problem& p) {
  const std::int64_t bytes = elements(p) * element_bytes(p);
  return streaming_work<char>(bytes, bytes);
}

// One block per tile of the input matrix.
template <class T>
Shape tiles(const Matrix<T>& m, int side, Extent block) {
  return shape_of_tiles({m.columns, m.rows}, {side, side}, block);
}

// A variant that launches `launch_of(matrix)`, whose output is the member `to` of Data.
template <class LaunchOf>
Variant variant(std::string id, std::string compare_to, LaunchOf launch_of,
                ExpectedChangesOf<Problem> expected, void* Data::*to = &Data::out) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {to == &Data::out ? "out" : "copied"};
  v.work = work;
  v.launch = [launch_of, to](const Problem& p, const Data& d, const LaunchContext&) {
    return of_matrix(p, d.in, d.*to, launch_of);
  };
  return v;
}

// ---- copy: the same bytes in order, the lower bound on time
//
// Each thread loads 16 bytes and stores them at the same offset of the output. A transpose takes at
// least this time. A request has 32 × 16 / 32 = 16 sectors.
// held: global_load_sectors_per_request = 16

Variant copy() {
  const auto launch_of = [](auto m) {
    const std::int64_t element = sizeof *m.in;
    return copy_limit(m.in, m.out, m.rows * m.columns * element,
                      {kCopyBlockBytes / element, m.rows, 1});  // contiguous across rows
  };
  return variant("copy", "", launch_of, {}, &Data::copied);
}

// True if most of the matrix consists of whole tiles.
bool is_large(const Problem& p) {
  constexpr std::int64_t kLargeExtent = 1024;
  return std::min(p.rows, p.columns) >= kLargeExtent;
}

Variant read_columns() {
  const auto launch_of = [](auto m) {
    return launch(read_columns_kernel<WordOf<decltype(m)>>, tiles(m, kTile, {kTile, kTile, 1}), m);
  };
  return variant("read_columns", "copy", launch_of,
                 {{"global_load_sectors_per_request", Direction::increases, 1.9, is_large}});
}

// ---- write_columns: stores with a stride of one row
//
// Lanes are neighbours along the rows of `in`: loads are contiguous, and the 32 lanes of a store
// access 32 rows of `out`. global_store_sectors_per_request increases to 32, and
// global_load_sectors_per_request decreases to 4 (bf16: 2). L1 does not combine stores of different
// requests: each sector goes to L2 with one element in it, and l2_sectors increases.
// held: global_store_sectors_per_request = 32; global_load_sectors_per_request = 4 at dtype=fp32
// held: global_load_sectors_per_request = 2 at dtype=bf16

template <class T>
__global__ void __launch_bounds__(kTile* kTile) write_columns_kernel(Matrix<T> m) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kTile + threadIdx.y;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  if (row < m.rows && column < m.columns)
    m.out[column * m.rows + row] = m.in[row * m.columns + column];
}

Variant write_columns() {
  const auto launch_of = [](auto m) {
    return launch(write_columns_kernel<WordOf<decltype(m)>>, tiles(m, kTile, {kTile, kTile, 1}), m);
  };
  return variant("write_columns", "read_columns", launch_of,
                 {{"global_store_sectors_per_request", Direction::increases, 4, is_large},
                  {"global_load_sectors_per_request", Direction::decreases, 4, is_large},
                  {"l2_sectors", Direction::increases, 3, is_large}});
}

// ---- tile: 32×32 elements through shared memory
//
// A block loads its tile by rows, stores it in shared memory, and writes it by columns, with
// contiguous loads and stores: global_load_sectors_per_request and global_store_sectors_per_request
// are 4 (bf16: 2), and l2_sectors decreases. The cost is shared memory, a barrier, and bank
// conflicts. Rows of the tile are 32 words long (bf16: 16), so a column is in one bank of 32 (bf16:
// in two), and a load takes 32 wavefronts (bf16: 16) instead of one.
// held: bank_conflict = 32 at dtype=fp32; bank_conflict = 16 at dtype=bf16

// Returns the index in shared memory of element (row, column) of a tile.
template <class T>
struct Plain {
  static constexpr int kElements = kTile * kTile;
  __device__ static int at(int row, int column) { return row * kTile + column; }
};

// First row and column of a block's tile, and the number of its rows and columns that are inside
// the input matrix.
template <int kSide, TileOrder kOrder = TileOrder::by_rows>
struct Place {
  TilePlace<unsigned> tile = ordered_tile<kOrder>();
  std::int64_t row = static_cast<std::int64_t>(tile.row) * kSide;
  std::int64_t column = static_cast<std::int64_t>(tile.column) * kSide;
  int rows;
  int columns;
  template <class T>
  __device__ explicit Place(const Matrix<T>& m)
      : rows(min(m.rows - row, std::int64_t{kSide})),
        columns(min(m.columns - column, std::int64_t{kSide})) {}
  __device__ bool holds(int r, int c) const { return r < rows && c < columns; }
};

// Each thread copies kElements elements with a stride of kTile / kElements rows.
template <class T, template <class> class Layout, int kElements>
__global__ void __launch_bounds__(kTile* kTile / kElements) tile_kernel(Matrix<T> m) {
  constexpr int kStep = kTile / kElements;
  __shared__ T tile[Layout<T>::kElements];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const Place<kTile> place(m);
  const T* from = m.in + (place.row + y) * m.columns + place.column + x;
  T v[kElements];
#pragma unroll
  for (int i = 0; i < kElements; ++i, from += kStep * m.columns)
    v[i] = place.holds(y + i * kStep, x) ? *from : T{0};
#pragma unroll
  for (int i = 0; i < kElements; ++i)
    tile[Layout<T>::at(y + i * kStep, x)] = v[i];
  __syncthreads();
  T* to = m.out + (place.column + y) * m.rows + place.row + x;
#pragma unroll
  for (int i = 0; i < kElements; ++i, to += kStep * m.rows)
    if (place.holds(x, y + i * kStep)) *to = tile[Layout<T>::at(x, y + i * kStep)];
}

template <template <class> class Layout, int kBytesPerThread>
Variant tiled(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  const auto launch_of = [](auto m) {
    using T = WordOf<decltype(m)>;
    constexpr int kEach = std::max(1, kBytesPerThread / static_cast<int>(sizeof(T)));
    return launch(tile_kernel<T, Layout, kEach>, tiles(m, kTile, {kTile, kTile / kEach, 1}), m);
  };
  return variant(std::move(id), std::move(compare_to), launch_of, std::move(expected));
}

Variant tile() {
  return tiled<Plain, 1>("tile", "write_columns",
                         {{"global_store_sectors_per_request", Direction::decreases, 4, is_large},
                          {"global_load_sectors_per_request", Direction::unchanged, 1.05, is_large},
                          {"l2_sectors", Direction::decreases, 3, is_large}});
}

// ---- tile_padded: one padding word per row of the tile
//
// Rows of the tile have 33 words (bf16: 17), so the elements of a column are in 32 different banks.
// A load takes one wavefront: shared_load_wavefronts and shared_bank_conflicts decrease. The cost
// is a word of shared memory per row.
// held: bank_conflict = 1 at dtype=fp32

template <class T>
struct Padded {
  static constexpr int kPitch = kTile + 4 / static_cast<int>(sizeof(T));
  static constexpr int kElements = kTile * kPitch;
  __device__ static int at(int row, int column) { return row * kPitch + column; }
};

Variant tile_padded() {
  return tiled<Padded, 1>("tile_padded", "tile",
                          {{"shared_load_wavefronts", Direction::decreases, 8, is_large},
                           {"shared_bank_conflicts", Direction::decreases, 8, is_large}});
}

// ---- tile_swizzled: words permuted within each row instead of padding
//
// The element of column c is stored at column c XOR row. Each row has its own permutation, so the
// elements of a column are in 32 different banks: shared_load_wavefronts is the same as in
// tile_padded. The tile has no padding. The cost is an XOR per access.
// held: bank_conflict = 1

template <class T>
struct Swizzled {
  static constexpr int kElements = kTile * kTile;
  // The elements of a word stay together; the rows in one 128-byte line share a permutation.
  static constexpr int kPerWord = 4 / static_cast<int>(sizeof(T));
  __device__ static int at(int row, int column) {
    return row * kTile + (column ^ row / kPerWord * kPerWord);
  }
};

Variant tile_swizzled() {
  return tiled<Swizzled, 1>("tile_swizzled", "tile_padded",
                            {{"shared_load_wavefronts", Direction::unchanged, 1.2, is_large}});
}

// ---- coarsened: 16 bytes per thread
//
// Each thread copies four elements of a column (bf16: eight) and issues all loads before the first
// use. A fully occupied SM has 32 KB in flight; the 8 KB (bf16: 4 KB) of tile_swizzled are too few
// to hide the latency of DRAM. warp_instructions decreases. global_load_sectors_per_request is
// unchanged. The cost is registers.

Variant coarsened() {
  return tiled<Swizzled, kCopyAccess>(
      "coarsened", "tile_swizzled",
      {{"warp_instructions", Direction::decreases, 1.2, is_large},
       {"global_load_sectors_per_request", Direction::unchanged, 1.05, is_large}});
}

// ---- tile64_vectors: 16-byte accesses, patches transposed in registers
//
// A tile is 64 words of 4 bytes wide (fp32: 64×64 elements, bf16: 128×128), and a lane accesses 16
// bytes of a row at a time: global_load_requests decreases to a quarter (bf16: an eighth), and
// warp_instructions decreases. A thread transposes a patch of 4×4 elements (bf16: 8×8) in
// registers. It stores the columns to shared memory as vectors, permuted so that no access has a
// bank conflict. If extents are not multiples of 4 (bf16: 8), patches and accesses are narrower
// (access_width_bits).
// held: global_load_requests = 1/4 × coarsened at dtype=fp32
// held: global_load_requests = 1/8 × coarsened at dtype=bf16
// held: bank_conflict = 1 at dtype=fp32; bank_conflict = 1 at dtype=bf16

constexpr int kVectorThreads = 256;

template <class T, int kWidth>
struct VectorTile {
  // Narrow accesses use smaller tiles, so that a thread has at most 16 accesses in flight.
  static constexpr int kSide = kWidth * sizeof(T) >= 8 ? 256 / sizeof(T) : 64;
  static constexpr int kUnits = kSide / kWidth;           // units of kWidth elements per side
  static constexpr int kLines = kVectorThreads / kUnits;  // rows of units per step of the block
  static constexpr int kPatches = kUnits / kLines;        // per thread
  // Index of unit i of the tile's column c. Lanes store one unit each, to columns with a stride of
  // kWidth, and load neighbouring units of one column.
  __device__ static int at(int c, int i) {
    constexpr int kPerWord = std::max(1, 4 / (kWidth * static_cast<int>(sizeof(T))));
    return c * kUnits + (i ^ c / kWidth * kPerWord % kUnits);
  }
};

template <class T, int kWidth, TileOrder kOrder>
__global__ void __launch_bounds__(kVectorThreads) tile64_vectors_kernel(Matrix<T> m) {
  using Tile = VectorTile<T, kWidth>;
  using Vector = VectorOf<T, kWidth>;
  __shared__ Vector tile[Tile::kSide * Tile::kUnits];
  const int x = static_cast<int>(threadIdx.x) % Tile::kUnits;
  const int y = static_cast<int>(threadIdx.x) / Tile::kUnits;
  const Place<Tile::kSide, kOrder> place(m);
  // kWidth divides both extents, so a patch is either entirely inside or entirely outside.
  const T* from = m.in + (place.row + y * kWidth) * m.columns + place.column + x * kWidth;
  Vector patches[Tile::kPatches][kWidth];
#pragma unroll
  for (int p = 0; p < Tile::kPatches; ++p, from += Tile::kLines * kWidth * m.columns)
#pragma unroll
    for (int k = 0; k < kWidth; ++k)
      patches[p][k] = place.holds((y + p * Tile::kLines) * kWidth, x * kWidth)
                          ? *reinterpret_cast<const Vector*>(from + k * m.columns)
                          : Vector{};
#pragma unroll
  for (int p = 0; p < Tile::kPatches; ++p) {
    turn<T, kWidth>(patches[p]);
#pragma unroll
    for (int k = 0; k < kWidth; ++k)
      tile[Tile::at(x * kWidth + k, y + p * Tile::kLines)] = patches[p][k];
  }
  __syncthreads();
  T* to = m.out + (place.column + y) * m.rows + place.row + x * kWidth;
#pragma unroll
  for (int c = y; c < y + Tile::kSide; c += Tile::kLines, to += Tile::kLines * m.rows)
    if (place.holds(x * kWidth, c)) *reinterpret_cast<Vector*>(to) = tile[Tile::at(c, x)];
}

// Returns the widest access in bytes that is aligned in the rows of both matrices.
template <class Extents>
std::int64_t access_bytes(const Extents& e, std::int64_t element) {
  return widest_access((e.rows | e.columns) * element);
}

bool has_widest_access(const Problem& p) {
  return is_large(p) && access_bytes(p, element_bytes(p)) == kCopyAccess;
}

template <TileOrder kOrder, class T, int kWidth = kCopyAccess / sizeof(T)>
Steps launch_vectors(const Matrix<T>& m) {
  if constexpr (kWidth > 1) {
    if (access_bytes(m, sizeof(T)) < static_cast<int>(kWidth * sizeof(T)))
      return launch_vectors<kOrder, T, kWidth / 2>(m);
  }
  return launch(tile64_vectors_kernel<T, kWidth, kOrder>,
                tiles(m, VectorTile<T, kWidth>::kSide, {kVectorThreads, 1, 1}), m);
}

template <TileOrder kOrder>
Variant vectors(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected) {
  const auto launch_of = [](auto m) { return launch_vectors<kOrder>(m); };
  Variant v = variant(std::move(id), std::move(compare_to), launch_of, std::move(expected));
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    return MetricValues{
        {"access_width_bits", 8.0 * static_cast<double>(access_bytes(p, element_bytes(p)))}};
  };
  return v;
}

Variant tile64_vectors() {
  return vectors<TileOrder::by_rows>(
      "tile64_vectors", "coarsened",
      {{"global_load_requests", Direction::decreases, 3.5, has_widest_access},
       {"warp_instructions", Direction::decreases, 1.5, has_widest_access},
       {"shared_load_wavefronts", Direction::unchanged, 1.2,
        [](const Problem& p) { return is_large(p) && p.dtype == DataType::fp32; }}});
}

// ---- output_order: blocks in the order of the rows of `out`
//
// Consecutive blocks have tiles that are neighbours in `out` instead of in `in`. They store whole
// rows of `out` at about the same time, and their loads jump from row to row. All counters are
// unchanged, such as l2_sectors and global_store_sectors_per_request. The cost is a division per
// thread.

Variant output_order() {
  return vectors<TileOrder::by_columns>(
      "output_order", "tile64_vectors",
      {{"l2_sectors", Direction::unchanged, 1.05, has_widest_access},
       {"global_store_sectors_per_request", Direction::unchanged, 1.05, has_widest_access}});
}

// ---- tma_tile: tensor copies of swizzled tiles
//
// One thread starts tensor copies of a tile to shared memory and back, in boxes of 128 bytes'
// width. Between the copies, each thread transposes a patch, as in tile64_vectors, within the same
// tile. The copies permute the 16-byte units of a row (128-byte swizzle), and threads process
// patches along diagonals, so no access has a bank conflict. No lane loads from global memory or
// computes its addresses: global_load_requests decreases to zero, and warp_instructions decreases.
// l2_sectors is unchanged. The cost is the shared memory accesses of the copies and of the threads,
// three barriers, and row pitches of multiples of 16 bytes.
// held: barriers_per_block = 3; bank_conflict = 1

template <class T>
struct BoxTile {
  static constexpr int kWidth = kCopyAccess / sizeof(T);
  static constexpr int kSide = VectorTile<T, kWidth>::kSide;
  static constexpr int kBoxWidth = kSwizzleRowBytes / sizeof(T);
  static constexpr int kBoxes = kSide / kBoxWidth;  // side by side
  static constexpr int kBoxUnits = kSwizzleUnitsPerRow * kSide;
  __device__ static int at(int row, int unit) {
    return unit / kSwizzleUnitsPerRow * kBoxUnits + swizzled_unit(row, unit % kSwizzleUnitsPerRow);
  }
};

template <class T>
__global__ void __launch_bounds__(kVectorThreads)
    tma_tile_kernel(const __grid_constant__ CUtensorMap in,
                    const __grid_constant__ CUtensorMap out) {
  using Tile = BoxTile<T>;
  __shared__ alignas(kSwizzleAlignment) uint4 tile[Tile::kBoxes * Tile::kBoxUnits];
  __shared__ Barrier arrived;
  const auto place = ordered_tile<TileOrder::by_columns>();
  const int row0 = place.row * Tile::kSide;
  const int column0 = place.column * Tile::kSide;
  const int thread = threadIdx.x;
  if (thread == 0) {
    init_barriers(&arrived, 1);
    arrive_expect_tx(&arrived, sizeof tile);
    for (int b = 0; b < Tile::kBoxes; ++b)
      start_box_load(tile + b * Tile::kBoxUnits, in, column0 + b * Tile::kBoxWidth, row0, &arrived);
  }
  // Patch (i, j) of the tile. Eight lanes that share a wavefront have eight different i and eight
  // different j, so their units are in different banks in the tile and in the transposed tile.
  const int j = thread % 8 + thread / 64 % 2 * 8;
  const int i = (thread % 8 ^ thread / 8 % 8) + thread / 128 * 8;
  __syncthreads();  // all threads see the initialized barrier
  wait_for_phase(&arrived, 0);
  uint4 patch[Tile::kWidth];
#pragma unroll
  for (int k = 0; k < Tile::kWidth; ++k)
    patch[k] = tile[Tile::at(i * Tile::kWidth + k, j)];
  turn<T, Tile::kWidth>(patch);
  __syncthreads();  // all threads have read their patch
#pragma unroll
  for (int k = 0; k < Tile::kWidth; ++k)
    tile[Tile::at(j * Tile::kWidth + k, i)] = patch[k];
  fence_proxy_async();
  __syncthreads();
  if (thread != 0) return;
  for (int b = 0; b < Tile::kBoxes; ++b)
    start_box_store(out, row0 + b * Tile::kBoxWidth, column0, tile + b * Tile::kBoxUnits);
  commit_bulk_stores();
  wait_bulk_store_reads<0>();
}

// warp_instructions has the default factor, because slower memory causes more polling instructions.
Variant tma_tile() {
  const auto launch_of = [](auto m) {
    using T = WordOf<decltype(m)>;
    return launch(tma_tile_kernel<T>, tiles(m, BoxTile<T>::kSide, {kVectorThreads, 1, 1}),
                  swizzled_boxes(m.in, m.rows, m.columns, BoxTile<T>::kSide),
                  swizzled_boxes(m.out, m.columns, m.rows, BoxTile<T>::kSide));
  };
  Variant v = variant("tma_tile", "output_order", launch_of,
                      {{"global_load_requests", Direction::decreases, 10, is_large},
                       {"warp_instructions", Direction::decreases, kUnchangedFactor, is_large},
                       {"l2_sectors", Direction::unchanged, 1.15, is_large}});
  v.unsupported =
      needs([](const Problem& p) { return access_bytes(p, element_bytes(p)) >= kCopyAccess; },
            "a tensor copy needs rows of both matrices that are multiples of 16 bytes");
  return needs_capability(std::move(v), kBulkCopyComputeCapability);
}

// ---- cublas: geam
//
// cublasSgeam computes 1·Aᵀ + 0·B. Its arithmetic may change the payload of a NaN, but the fp32
// inputs here have no NaNs. There is no geam for bf16.

Variant cublas_geam() {
  Variant v = cublas_variant<Variant>("output_order", work, [](const Problem& p, const Data& d) {
    return cublas::Transpose{p.rows, p.columns, d.in, d.out};
  });
  v.writes = {"out"};
  v.unsupported = [](const Problem& p, const DeviceSpec&) {
    const std::string reason = "cuBLAS has geam for fp32, fp64 and complex numbers only";
    return p.dtype == DataType::bf16 ? std::optional(reason) : std::nullopt;
  };
  return v;
}

// ---- declaration

DataType word_type(const Problem& p) {
  return p.dtype == DataType::bf16 ? DataType::uint16 : DataType::uint32;
}

Family declare() {
  Family f("transpose", Topic::memory, "What does a matrix transpose cost compared with a copy?");
  f.physics =
      "A transpose loads each element once and stores it once, as a copy does, so the time of a "
      "copy is its lower bound. But elements of a column are a row apart, so lanes that access a "
      "column touch one sector each. A tile in shared memory makes loads and stores contiguous, "
      "and its columns must be spread over all 32 banks. Then full sectors and enough bytes in "
      "flight determine the time.";
  constexpr std::int64_t kMost = 65535 * kTile;  // tiles along the y axis of a grid
  f.extent("rows", &Problem::rows, 16384, kMost, "rows of the input matrix")
      .extent("columns", &Problem::columns, 16384, kMost, "columns of the input matrix")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of the elements, which are copied and compared as integers of this size");
  f.input("in", &Data::in, word_type, elements)
      .output("out", &Data::out, word_type, elements)
      .output("copied", &Data::copied, word_type, elements);
  f.metric("access_width_bits", "bit",
           "widest access of a lane to global memory, by the divisibility of both extents");
  f.plot("transpose", "share_of_copy", "Transpose: throughput relative to a copy",
           {{"param.dtype", "type"}});
  f.outputs = [](const Problem& p) { return Extent{p.columns, p.rows, 1}; };
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance_derivation = "Zero: elements are copied as words and compared as integers.";
  f.variants(copy(), read_columns(), write_columns(), tile(), tile_padded(), tile_swizzled(),
             coarsened(), tile64_vectors(), output_order(), tma_tile(), cublas_geam());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::transpose
