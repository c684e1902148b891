// A part's product by blocks that stay and have a warp that sends: it carries a tile's results to
// all GPUs while the others multiply the next one. Of what is left behind whole tiles for every
// block, pairs of blocks halve the tiles along k: behind the last results nothing is multiplied, so
// that there have to be few.
#pragma once

#include "kernels/common/bulk_copy.cuh"
#include "kernels/common/compiled_for.cuh"
#include "kernels/common/pushed_stores.cuh"
#include "kernels/common/registers.cuh"
#include "kernels/tensor_parallel/phases.cuh"
#include "kernels/tensor_parallel/tile_product.cuh"

namespace gpuexp::tensor_parallel {

using PacedTiles = BesideOthers<LargeTiles>;
using PacedSums = TileSums<PacedTiles>;
constexpr int kWarpgroup = 128;
constexpr int kPacedThreads = PacedTiles::kThreads + kWarpgroup;
constexpr int kHandingThreads = PacedTiles::kThreads + 32;
// Three warpgroups start with 168 registers per thread, the most that an SM has for them.
constexpr int kSendingRegisters = 24;
constexpr int kMultiplyingRegisters = (3 * 168 - kSendingRegisters) / 2;

/// Blocks of a cluster, which share the sums of a tile and have as many of its rows each.
constexpr unsigned kPair = 2;
constexpr int kHalfRows = PacedTiles::kBlockM / kPair;
static_assert(kHalfRows == PacedTiles::kWarpM,
              "some warps have one half, and the others the other");
constexpr int kGivingWarps = PacedTiles::kWarpsN;

/// Shared memory: the ring of tiles, where slabs and summands of the other block lie later; two
/// places where results wait to be sent, of a tile and of half of one.
constexpr int kSlabBytes = PacedTiles::kWarps * PacedSums::S::kBytes;
constexpr int kSummandBytes = kHalfRows * PacedTiles::kBlockN * int{sizeof(float)};
constexpr int kRingBytes = std::max(PacedTiles::kSharedBytes, kSlabBytes + kSummandBytes);
constexpr int kStagedBytes = PacedTiles::kBlockM * PacedTiles::kBlockN * int{sizeof(T)};
constexpr int kPacedSharedBytes = kRingBytes + kStagedBytes + kStagedBytes / int{kPair};

/// What a block has to do for the part, one piece after the other.
struct PacedPieces {
  unsigned rows;     // of tiles
  unsigned columns;  // likewise
  unsigned blocks;
  int clocks_per_row;

  __host__ __device__ unsigned tiles() const { return rows * columns; }
  /// The first pieces of every block are whole tiles, so many.
  __host__ __device__ unsigned whole() const { return tiles() / blocks; }
  /// Those that follow are halves, of this pair of blocks so many: two at most, since fewer tiles
  /// than blocks are left.
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
  /// Results of the first half wait in a place of their own, so that those of the last whole tile
  /// have as long to leave as others; all other pieces share the other place.
  __device__ bool waits_apart(unsigned piece) const { return piece == whole(); }
  /// Whether a later piece needs the same place.
  __device__ bool is_followed(unsigned piece) const {
    return !waits_apart(piece) && piece + 1 < pieces() &&
           (!waits_apart(piece + 1) || piece + 2 < pieces());
  }
  __device__ bool follows(unsigned piece) const {
    return !waits_apart(piece) && piece > 0 && whole() > 0;
  }
};

/// Named barriers (PTX ISA, barrier) of those who multiply and of the warp that sends: results are
/// in their place, of either kind; the shared place is free again.
enum Handing : int { kStaged = 2, kStagedApart = 3, kSent = 4 };
__device__ inline void hand_over(int barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(kHandingThreads) : "memory");
}
__device__ inline void receive(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(kHandingThreads) : "memory");
}

struct PacedShared {
  char* ring;
  T* staged;
  T* staged_apart;
  Barrier* hurry;     // who multiplies waits for the shared place
  Barrier* room;      // the other block has room for summands
  Barrier* summands;  // the other block's have come
  unsigned* no_word;  // comes with `room`
  __device__ T* place(bool apart) const { return apart ? staged_apart : staged; }
};

// By one warp, whose lanes have a row each. A GPU's links take less than its SMs send, and what
// they have no room for holds back the loads of the SMs that send, as if both left by one queue
// (docs/lessons/tensor_parallel.md). So a tile's rows leave one by one, and all SMs together send
// less than the links take. Nothing is behind the last piece, and a block that waits for its tile
// to be gone has no loads to hold back.
template <class Hurries>
__device__ inline void send_rows(const T* staged, const Corner& at, int staged_rows,
                                 const Operands& x, const Targets& targets, int clocks_per_row,
                                 Hurries&& hurries) {
  using P = PacedTiles;
  const auto rows = static_cast<int>(min(x.rows - at.row, static_cast<std::int64_t>(staged_rows)));
  const auto bytes = static_cast<unsigned>(
      min(x.columns - at.col, static_cast<std::int64_t>(P::kBlockN)) * sizeof(T));
  const auto now = [] { return static_cast<unsigned>(clock()); };
  const unsigned begun = now();
  for (int row = static_cast<int>(threadIdx.x % 32); __any_sync(kAllLanes, row < rows);) {
    if (row >= rows) continue;
    if (now() - begun < static_cast<unsigned>(row * clocks_per_row) && !hurries()) {
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
  wait_for_stores_to_read<0>();
  __syncwarp();
}

__device__ inline void send_pieces(const PacedPieces& pieces, const PacedShared& shared,
                                   const Operands& x, const Targets& targets) {
  unsigned parity = 0;  // of `hurry`
#pragma unroll 1
  for (unsigned piece = 0; piece < pieces.pieces(); ++piece) {
    const bool apart = pieces.waits_apart(piece);
    const bool is_followed = pieces.is_followed(piece);
    const bool is_half = pieces.is_half(piece);
    Corner at = pieces.corner(piece);
    if (is_half) at.row += cluster_rank() * kHalfRows;
    receive(apart ? kStagedApart : kStaged);
    send_rows(shared.place(apart), at, is_half ? kHalfRows : PacedTiles::kBlockM, x, targets,
              piece + 1 == pieces.pieces() ? 0 : pieces.clocks_per_row,
              [&] { return is_followed && has_ended(shared.hurry, parity); });
    if (!is_followed) continue;
    hand_over(kSent);
    parity ^= 1;
  }
  wait_for_stores();
}

/// The block's half of the sums' terms.
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

// Each block of the pair has the terms of all rows from its half of k. It gives away those of the
// rows that are the other's, from registers to the other's shared memory, and adds those that it
// gets to its own.
__device__ inline void add_summands(PacedSums& sums, const PacedShared& shared, bool is_mine,
                                    unsigned parity) {
  char* const summands = shared.ring + kSlabBytes;
  const unsigned other = cluster_rank() ^ 1;
  const auto of_other = [&](const void* p) { return mapped_shared(shared_address(p), other); };
  const int first = PacedTiles::warp() % kGivingWarps * PacedSums::kFragments;
  const auto place = [&](int fragment) {
    return summands + ((first + fragment) * 32 + threadIdx.x % 32) * sizeof(float4);
  };
  if (threadIdx.x == 0) {
    expect_bytes(shared.summands, kSummandBytes);
    expect_bytes(shared.room, sizeof *shared.no_word);
    push_word(true, of_other(shared.no_word), 0, of_other(shared.room));
  }
  if (is_mine) {
    wait_for_phase(shared.summands, parity);
    sums.for_each_fragment([&](int i, MmaSums<float>& fragment) {
      const float4 given = *reinterpret_cast<const float4*>(place(i));
      fragment.x[0] += given.x;
      fragment.x[1] += given.y;
      fragment.x[2] += given.z;
      fragment.x[3] += given.w;
    });
  } else {
    wait_for_phase(shared.room, parity);
    const unsigned arrives = of_other(shared.summands);
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
  unsigned parity = 0;  // of the barriers of halves
#pragma unroll 1
  for (unsigned piece = 0; piece < pieces.pieces(); ++piece) {
    const bool is_half = pieces.is_half(piece);
    const bool apart = pieces.waits_apart(piece);
    const bool is_mine = !is_half || P::warp_row() / kHalfRows == static_cast<int>(cluster_rank());
    PacedSums sums =
        tile_sums<P, 16>(shared.ring, pieces.corner(piece), is_half ? half_along_k(x) : x);
    if (is_half) {
      add_summands(sums, shared, is_mine, parity);
      parity ^= 1;
    }
    if (pieces.follows(piece)) {
      if (threadIdx.x == 0) expect_bytes(shared.hurry, 0);
      receive(kSent);
    }
    if (is_mine) {
      T* const staged = shared.place(apart);
      sums.store(shared.ring, Corner{is_half ? -P::warp_row() : 0, 0},
                 [&](const float* slab, const Corner& at) {
#pragma unroll
                   for (int i = lane * kPack; i < S::kRows * P::kWarpN; i += 32 * kPack)
                     store_pack(
                         staged + (at.row + i / P::kWarpN) * P::kBlockN + at.col + i % P::kWarpN,
                         rounded_sums<T, kPack>(slab + i / P::kWarpN * S::kPitch + i % P::kWarpN));
                 });
    }
    publish_to_copies();
    hand_over(apart ? kStagedApart : kStaged);
    P::wait_for_all();  // slabs and summands lie where the next tiles arrive
  }
}

// One warp sends, with the few registers that it needs; the rest of its warpgroup ends.
__global__ void __launch_bounds__(kPacedThreads, 1)
    paced_product_kernel(PacedPieces pieces, Operands x, Targets targets) {
  using P = PacedTiles;
  extern __shared__ __align__(128) char memory[];
  enum { kHurry, kRoom, kSummands, kBarriers };
  __shared__ Barrier barriers[kBarriers];
  __shared__ unsigned no_word;
  T* const staged = reinterpret_cast<T*>(memory + kRingBytes);
  const PacedShared shared{memory,
                           staged,
                           staged + kStagedBytes / sizeof(T),
                           barriers + kHurry,
                           barriers + kRoom,
                           barriers + kSummands,
                           &no_word};
  if (threadIdx.x == 0) init_barriers(barriers, kBarriers);
  __syncthreads();
  arrive_in_cluster();
  wait_for_cluster();
  if (threadIdx.x >= P::kThreads) {
    keep_registers<kSendingRegisters>();
    if (threadIdx.x < kHandingThreads) send_pieces(pieces, shared, x, targets);
  } else {
    take_registers<kMultiplyingRegisters>();
    multiply_pieces(pieces, shared, x);
  }
}

// ---- its launch

/// The clocks in which the links take a row of a tile from each of so many SMs. The SMs' stores get
/// some four fifths of the links' own rate (peer_copy); at three quarters nothing waits yet
/// (docs/studies/links/paced_shares.csv).
inline int clocks_per_row(const Targets& targets, const DeviceSpec& device, std::int64_t blocks) {
  constexpr double kShare = 0.75;
  constexpr double kMega = 1e6;
  const double rate = kShare * device.machine.link_bytes_per_s;
  const int peers = targets.by_rows ? 1 : targets.count - 1;
  const double bytes = static_cast<double>(kBytes * PacedTiles::kBlockN * peers * blocks);
  return rate > 0 ? static_cast<int>(bytes / rate * device.sm_clock_max_mhz * kMega) : 0;
}

/// Of a part of so many rows and columns; without pauses.
inline PacedPieces pieces_of(std::int64_t rows, std::int64_t columns, const DeviceSpec& device) {
  PacedPieces pieces{};
  pieces.rows = static_cast<unsigned>(ceil_div(rows, PacedTiles::kBlockM));
  pieces.columns = static_cast<unsigned>(ceil_div(columns, PacedTiles::kBlockN));
  const unsigned most = static_cast<unsigned>(device.sm_count) / kPair;
  pieces.blocks = kPair * std::clamp(pieces.tiles(), 1u, std::max(most, 1u));
  return pieces;
}

/// So many whole tiles a block has to multiply, at most.
inline double turns(const PacedPieces& pieces) {
  return pieces.whole() + static_cast<double>(pieces.halves(0)) / kPair;
}

/// Of the part's results, what blocks send behind all that they multiply.
inline double last_share(const PacedPieces& pieces) {
  return last_share(pieces.tiles(),
                    pieces.tiles() % pieces.blocks == 0 ? pieces.blocks : pieces.blocks / kPair);
}

inline Steps paced_product(const Problem& p, const Operands& x, const Targets& targets,
                           const DeviceSpec& device) {
  PacedPieces pieces = pieces_of(x.rows, x.columns, device);
  Shape shape = shape_of_shares({pieces.blocks}, {p.m, p.n}, kPacedThreads, kPacedSharedBytes);
  shape.cluster.x = kPair;
  pieces.clocks_per_row = clocks_per_row(targets, device, shape.grid.x);
  return launch(paced_product_kernel, shape, pieces, x, targets);
}

}  // namespace gpuexp::tensor_parallel
