// Product of a part by persistent blocks. One warp of each block sends a tile's results to all GPUs
// while the other warps compute the next tile. Each block first computes the same number of whole
// tiles. Pairs of blocks divide each of the remaining tiles along k, so that few results remain to
// be sent after the last multiplication.
#pragma once

#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/compiled_for.cuh"
#include "kernels/common/pushed_stores.cuh"
#include "kernels/common/registers.cuh"
#include "kernels/tensor_parallel/phases.cuh"
#include "kernels/tensor_parallel/tile_product.cuh"

namespace gpuexp::tensor_parallel {

using PacedTiles = WithOtherThreads<LargeTiles>;
using PacedSums = TileSums<PacedTiles>;
constexpr int kWarpgroup = 128;
constexpr int kPacedThreads = PacedTiles::kThreads + kWarpgroup;
constexpr int kStagingThreads = PacedTiles::kThreads + 32;
// Three warpgroups start with 168 registers per thread, the maximum that fits on an SM.
constexpr int kSendingRegisters = 24;
constexpr int kMultiplyingRegisters = (3 * 168 - kSendingRegisters) / 2;

/// Blocks of a cluster. They share the sums of a tile, and each stores half of its rows.
constexpr unsigned kPair = 2;
constexpr int kHalfRows = PacedTiles::kBlockM / kPair;
static_assert(kHalfRows == PacedTiles::kWarpM,
              "some warps have one half, and the others the other");
constexpr int kWarpsPerHalf = PacedTiles::kWarpsN;

/// Shared memory: the ring of input tiles, used later for slabs and for the other block's partial
/// sums, and two staging areas for results, of a whole tile and of a half tile.
constexpr int kSlabBytes = PacedTiles::kWarps * PacedSums::S::kBytes;
constexpr int kPartialSumBytes = kHalfRows * PacedTiles::kBlockN * int{sizeof(float)};
constexpr int kRingBytes = std::max(PacedTiles::kSharedBytes, kSlabBytes + kPartialSumBytes);
constexpr int kStagedBytes = PacedTiles::kBlockM * PacedTiles::kBlockN * int{sizeof(T)};
constexpr int kPacedSharedBytes = kRingBytes + kStagedBytes + kStagedBytes / int{kPair};

/// The tiles and half tiles of the part that a block computes, one after another.
struct PacedPieces {
  unsigned rows;     // in tiles
  unsigned columns;  // in tiles
  unsigned blocks;
  int cycles_per_row;

  __host__ __device__ unsigned tiles() const { return rows * columns; }
  /// Number of whole tiles per block. They are its first pieces.
  __host__ __device__ unsigned whole() const { return tiles() / blocks; }
  /// Number of half tiles of this pair of blocks, after the whole tiles: at most two, since fewer
  /// tiles than blocks remain.
  __host__ __device__ unsigned halves(unsigned pair) const {
    const unsigned pairs = blocks / kPair;
    return (tiles() % blocks + pairs - 1 - pair) / pairs;
  }
  __device__ unsigned pieces() const { return whole() + halves(blockIdx.x / kPair); }
  __device__ bool is_half(unsigned piece) const { return piece >= whole(); }
  __device__ Corner corner(unsigned piece) const {
    const unsigned tile = is_half(piece) ? whole() * blocks + (piece - whole()) * (blocks / kPair) +
                                               blockIdx.x / kPair
                                         : piece * blocks + blockIdx.x;
    return corner_of<PacedTiles>(grouped_tile<kGroupRows>(tile, rows, columns));
  }
  /// True for the first half tile, which has a separate staging area: the last whole tile then has
  /// as much time to be sent as earlier tiles. All other pieces use the shared area.
  __device__ bool is_separate(unsigned piece) const { return piece == whole(); }
  /// Whether a later piece uses the same staging area.
  __device__ bool is_followed(unsigned piece) const {
    return !is_separate(piece) && piece + 1 < pieces() &&
           (!is_separate(piece + 1) || piece + 2 < pieces());
  }
  __device__ bool follows(unsigned piece) const {
    return !is_separate(piece) && piece > 0 && whole() > 0;
  }
};

/// Named barriers (PTX ISA, barrier) between the multiplying warps and the sending warp: results
/// are staged in the shared area, or in the separate one; the shared area is free again.
enum StagingBarrier : int { kStaged = 2, kStagedSeparately = 3, kSent = 4 };
__device__ inline void arrive_at_barrier(int barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kStagingThreads) : "memory");
}
__device__ inline void wait_at_barrier(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kStagingThreads) : "memory");
}

struct PacedShared {
  char* ring;
  T* staged;
  T* staged_separately;
  Barrier* area_awaited;  // the multiplying warps wait for the shared staging area
  Barrier* room;          // the other block has room for partial sums
  Barrier* partial_sums;  // the other block's partial sums have arrived
  unsigned* room_word;    // the word that signals `room`
  __device__ T* place(bool separate) const { return separate ? staged_separately : staged; }
};

// Sends rows by one warp, a row per lane. If all SMs together send more than the links accept,
// waiting stores delay the loads of the same SMs (docs/lessons/tensor_parallel.md). Pauses between
// the rows of a tile prevent this. The last piece, and rows whose staging area the block waits for,
// are sent without pauses, because the block has no loads to delay.
template <class AreaAwaited>
__device__ inline void send_rows(const T* staged, const Corner& at, int staged_rows,
                                 const Operands& x, const Targets& targets, int cycles_per_row,
                                 AreaAwaited&& area_is_awaited) {
  using P = PacedTiles;
  const auto rows = static_cast<int>(min(x.rows - at.row, static_cast<std::int64_t>(staged_rows)));
  const auto bytes = static_cast<unsigned>(
      min(x.columns - at.col, static_cast<std::int64_t>(P::kBlockN)) * sizeof(T));
  const auto now = [] { return static_cast<unsigned>(clock()); };
  const unsigned begun = now();
  for (int row = static_cast<int>(threadIdx.x % 32); __any_sync(kAllLanes, row < rows);) {
    if (row >= rows) continue;
    if (now() - begun < static_cast<unsigned>(row * cycles_per_row) && !area_is_awaited()) {
      __nanosleep(40);
      continue;
    }
    const auto [first, end] = targets.of_row(at.row + row);
#pragma unroll 1
    for (int r = first; r < end; ++r)
      start_bulk_store(targets.c.of[r] + (at.row + row) * targets.pitch + at.col,
                       staged + row * P::kBlockN, bytes);
    row += 32;
  }
  wait_bulk_store_reads<0>();
  __syncwarp();
}

__device__ inline void send_pieces(const PacedPieces& pieces, const PacedShared& shared,
                                   const Operands& x, const Targets& targets) {
  unsigned parity = 0;  // phase of `area_awaited`
#pragma unroll 1
  for (unsigned piece = 0; piece < pieces.pieces(); ++piece) {
    const bool separate = pieces.is_separate(piece);
    const bool is_followed = pieces.is_followed(piece);
    const bool is_half = pieces.is_half(piece);
    Corner at = pieces.corner(piece);
    if (is_half) at.row += cluster_rank() * kHalfRows;
    wait_at_barrier(separate ? kStagedSeparately : kStaged);
    send_rows(shared.place(separate), at, is_half ? kHalfRows : PacedTiles::kBlockM, x, targets,
              piece + 1 == pieces.pieces() ? 0 : pieces.cycles_per_row,
              [&] { return is_followed && test_phase(shared.area_awaited, parity); });
    if (!is_followed) continue;
    arrive_at_barrier(kSent);
    parity ^= 1;
  }
  wait_bulk_stores();
}

/// The operands of the block's half of k.
__device__ inline Operands half_along_k(Operands x) {
  constexpr std::int64_t kDepth = PacedTiles::kDepth<T>;
  const std::int64_t first = min(ceil_div(x.depth, kPair * kDepth) * kDepth, x.depth);
  if (cluster_rank() == 0) {
    x.depth = first;
  } else {
    x.a += first;
    x.b += first * x.b_pitch;
    x.depth -= first;
  }
  return x;
}

// Each block of the pair has sums of all rows over its half of k. It sends the sums of the other
// block's rows from registers to that block's shared memory, and adds the received sums to its own.
__device__ inline void add_partial_sums(PacedSums& sums, const PacedShared& shared, bool is_mine,
                                        unsigned parity) {
  char* const partial_sums = shared.ring + kSlabBytes;
  const unsigned other = cluster_rank() ^ 1;
  const auto of_other = [&](const void* p) { return map_shared_rank(shared_address(p), other); };
  const int first = PacedTiles::warp() % kWarpsPerHalf * PacedSums::kFragments;
  const auto place = [&](int fragment) {
    return partial_sums + ((first + fragment) * 32 + threadIdx.x % 32) * sizeof(float4);
  };
  if (threadIdx.x == 0) {
    arrive_expect_tx(shared.partial_sums, kPartialSumBytes);
    arrive_expect_tx(shared.room, sizeof *shared.room_word);
    push_word(true, of_other(shared.room_word), 0, of_other(shared.room));
  }
  if (is_mine) {
    wait_for_phase(shared.partial_sums, parity);
    sums.for_each_fragment([&](int i, MmaSums<float>& fragment) {
      const float4 given = *reinterpret_cast<const float4*>(place(i));
      fragment.x[0] += given.x;
      fragment.x[1] += given.y;
      fragment.x[2] += given.z;
      fragment.x[3] += given.w;
    });
  } else {
    wait_for_phase(shared.room, parity);
    const unsigned arrives = of_other(shared.partial_sums);
    sums.for_each_fragment([&](int i, const MmaSums<float>& fragment) {
      push_words(of_other(place(i)), fragment.x, arrives);
    });
  }
}

__device__ inline void multiply_pieces(const PacedPieces& pieces, const PacedShared& shared,
                                       const Operands& x) {
  using P = PacedTiles;
  using S = PacedSums::S;
  constexpr int kPack = 16 / sizeof(T);
  const int lane = static_cast<int>(threadIdx.x % 32);
  unsigned parity = 0;  // phase of the barriers of half tiles
#pragma unroll 1
  for (unsigned piece = 0; piece < pieces.pieces(); ++piece) {
    const bool is_half = pieces.is_half(piece);
    const bool separate = pieces.is_separate(piece);
    const bool is_mine = !is_half || P::warp_row() / kHalfRows == static_cast<int>(cluster_rank());
    PacedSums sums =
        tile_sums<P, 16>(shared.ring, pieces.corner(piece), is_half ? half_along_k(x) : x);
    if (is_half) {
      add_partial_sums(sums, shared, is_mine, parity);
      parity ^= 1;
    }
    if (pieces.follows(piece)) {
      if (threadIdx.x == 0) arrive_expect_tx(shared.area_awaited, 0);
      wait_at_barrier(kSent);
    }
    if (is_mine) {
      T* const staged = shared.place(separate);
      sums.store(shared.ring, Corner{is_half ? -P::warp_row() : 0, 0},
                 [&](const float* slab, const Corner& at) {
#pragma unroll
                   for (int i = lane * kPack; i < S::kRows * P::kWarpN; i += 32 * kPack)
                     store_pack(
                         staged + (at.row + i / P::kWarpN) * P::kBlockN + at.col + i % P::kWarpN,
                         rounded_sums<T, kPack>(slab + i / P::kWarpN * S::kPitch + i % P::kWarpN));
                 });
    }
    fence_proxy_async();
    arrive_at_barrier(separate ? kStagedSeparately : kStaged);
    P::sync_multipliers();  // the next tiles overwrite slabs and partial sums
  }
}

// One warp sends, with few registers; the other warps of its warpgroup exit.
__global__ void __launch_bounds__(kPacedThreads, 1)
    paced_product_kernel(PacedPieces pieces, Operands x, Targets targets) {
  using P = PacedTiles;
  extern __shared__ __align__(128) char memory[];
  enum { kAreaAwaited, kRoom, kPartialSums, kBarriers };
  __shared__ Barrier barriers[kBarriers];
  __shared__ unsigned room_word;
  T* const staged = reinterpret_cast<T*>(memory + kRingBytes);
  const PacedShared shared{memory,
                           staged,
                           staged + kStagedBytes / sizeof(T),
                           barriers + kAreaAwaited,
                           barriers + kRoom,
                           barriers + kPartialSums,
                           &room_word};
  if (threadIdx.x == 0) init_barriers(barriers, kBarriers);
  __syncthreads();
  arrive_in_cluster();
  wait_for_cluster();
  if (threadIdx.x >= P::kThreads) {
    release_registers<kSendingRegisters>();
    if (threadIdx.x < kStagingThreads) send_pieces(pieces, shared, x, targets);
  } else {
    acquire_registers<kMultiplyingRegisters>();
    multiply_pieces(pieces, shared, x);
  }
}

// ---- the launch

/// Cycles in which the links accept a row of a tile from each of `blocks` SMs. At three quarters of
/// the links' rate, no store waits (docs/studies/links/paced_shares.csv).
inline int cycles_per_row(const Targets& targets, const DeviceSpec& device, std::int64_t blocks) {
  constexpr double kShare = 0.75;
  constexpr double kMega = 1e6;
  const double rate = kShare * device.machine.link_bytes_per_s;
  const int peers = targets.by_rows ? 1 : targets.count - 1;
  const double bytes = static_cast<double>(kBytes * PacedTiles::kBlockN * peers * blocks);
  return rate > 0 ? static_cast<int>(bytes / rate * device.sm_clock_max_mhz * kMega) : 0;
}

/// The pieces of a part of this size, without pauses between rows.
inline PacedPieces pieces_of(std::int64_t rows, std::int64_t columns, const DeviceSpec& device) {
  PacedPieces pieces{};
  pieces.rows = static_cast<unsigned>(ceil_div(rows, PacedTiles::kBlockM));
  pieces.columns = static_cast<unsigned>(ceil_div(columns, PacedTiles::kBlockN));
  const unsigned most = static_cast<unsigned>(device.sm_count) / kPair;
  pieces.blocks = kPair * std::clamp(pieces.tiles(), 1u, std::max(most, 1u));
  return pieces;
}

/// Maximum number of tiles that a block multiplies, where a half tile counts as half.
inline double max_tiles_per_block(const PacedPieces& pieces) {
  return pieces.whole() + static_cast<double>(pieces.halves(0)) / kPair;
}

/// The share of the part's results that blocks send after all their multiplications.
inline double last_share(const PacedPieces& pieces) {
  return last_share(pieces.tiles(),
                    pieces.tiles() % pieces.blocks == 0 ? pieces.blocks : pieces.blocks / kPair);
}

inline Steps paced_product(const Problem& p, const Operands& x, const Targets& targets,
                           const DeviceSpec& device) {
  PacedPieces pieces = pieces_of(x.rows, x.columns, device);
  Shape shape = shape_of_shares({pieces.blocks}, {p.m, p.n}, kPacedThreads, kPacedSharedBytes);
  shape.cluster.x = kPair;
  pieces.cycles_per_row = cycles_per_row(targets, device, shape.grid.x);
  return launch(paced_product_kernel, shape, pieces, x, targets);
}

}  // namespace gpuexp::tensor_parallel
