// A block's tile of a matrix product by mma.sync, with a pipeline of cp.async copies. Tiles of A
// and B are copied to a ring in shared memory while earlier tiles are multiplied. Each warp loads
// its next fragments while it multiplies the current fragments.
#pragma once

#include "kernels/common/launch.cuh"
#include "kernels/common/warp_product.cuh"

namespace gpuexp {

/// A Tiling with kStages tiles in shared memory: one tile is multiplied while the other tiles are
/// in flight.
template <class T, int kStages_>
struct Pipeline : T {
  static constexpr int kStages = kStages_;
  static constexpr int kStageBytes = T::kDepthBytes * (T::kBlockM + T::kBlockN);
  static constexpr int kSharedBytes = kStages * kStageBytes;
  __device__ static void sync_multipliers() { __syncthreads(); }
};

/// For blocks with additional threads that do not multiply. Only the multiplying threads use
/// barrier 1.
template <class P>
struct WithOtherThreads : P {
  __device__ static void sync_multipliers() {
    asm volatile("bar.sync 1, %0;" ::"n"(P::kThreads) : "memory");
  }
};

/// Launch shape with one tile of P per block for an m×n C; neighbouring blocks compute tiles of
/// the same column of C. Only one block fits on an SM, for any number of registers and threads:
/// its dynamic shared memory has the size of the ring, or slightly more than half of the SM's
/// shared memory if the ring is smaller.
template <class P>
Shape one_block_per_sm(std::int64_t m, std::int64_t n, const DeviceSpec& device) {
  constexpr std::int64_t kOverHalf = 1024;
  return shape_of_tiles(
      {m, n}, {P::kBlockM, P::kBlockN}, P::kThreads,
      std::max<std::int64_t>(P::kSharedBytes, device.sm.shared_bytes / 2 + kOverHalf));
}

/// Accumulates one tile over a depth of k elements of In. Its rows of A start at `a`, its columns
/// of B at `b`. Each copy has kUnitBytes (see TileWalk). All of P's threads call this. `shared`
/// has P::kSharedBytes bytes, aligned to 128 bytes, and is free for other use at the end. Product
/// is WarpProduct or a class with its members.
template <class Product, class In, class P, int kUnitBytes>
__device__ __forceinline__ Product pipelined_sums(char* shared, Window a, Window b, int k) {
  using A = typename Product::A;
  using B = typename Product::B;
  constexpr int kStage = P::kStageBytes;
  static_assert(A::kBytes + B::kBytes == kStage, "tiles without padding");
  // The last step of a tile waits for the next tile, so copies start in the earlier steps.
  constexpr int kSlices = P::kSteps - 1;
  static_assert(P::kSteps % 2 == 0, "each tile's first fragments are in buffer 0");
  static_assert(P::kStages >= 3, "2-byte copies arrive one tile late");
  static_assert(P::kSharedBytes >= P::kWarps * Product::S::kBytes, "slabs fit in the ring");
  AsyncCopy<A, P::kThreads, kUnitBytes, kSlices> a_copy;
  AsyncCopy<B, P::kThreads, kUnitBytes, kSlices> b_copy;
  const auto begin = [&](char* stage, int slice) {
    a_copy.begin(stage, a, slice);
    b_copy.begin(stage + A::kBytes, b, slice);
  };
  const auto end = [&](char* stage, int slice) {
    a_copy.end(stage, slice);
    b_copy.end(stage + A::kBytes, slice);
  };
  const auto next_tile = [&] {
    cp_async_commit();
    Product::advance(a, b);
  };
  const auto after = [&](char* stage) {
    return stage == shared + (P::kStages - 1) * kStage ? shared : stage + kStage;
  };

#pragma unroll 1
  for (int stage = 0; stage < P::kStages - 1; ++stage) {
#pragma unroll
    for (int slice = 0; slice < kSlices; ++slice) {
      begin(shared + stage * kStage, slice);
      end(shared + stage * kStage, slice);
    }
    next_tile();
  }
  cp_async_wait<P::kStages - 2>();
  P::sync_multipliers();

  Product product;
  typename Product::Fragments fragments[2];
  char* read = shared;
  char* write = shared + (P::kStages - 1) * kStage;
  char* written = write;
  Product::load(fragments[0], read, read + A::kBytes, 0);
  const int tiles = (k - 1) / P::template kDepth<In> + 1;
#pragma unroll 1
  for (int tile = 0; tile < tiles; ++tile) {
#pragma unroll
    for (int step = 0; step < P::kSteps; ++step) {
      const bool last = step == P::kSteps - 1;
      if (last) {
        next_tile();
        // All groups but the newest kStages - 2 have arrived, including the next tile. After the
        // barrier, the copies of all threads have arrived, and no thread reads the current tile any
        // more.
        cp_async_wait<P::kStages - 2>();
        P::sync_multipliers();
        read = after(read);
      }
      Product::load(fragments[(step + 1) % 2], read, read + A::kBytes, (step + 1) % P::kSteps);
      if (!last) {
        end(written, step);
        begin(write, step);
      }
      product.multiply(fragments[step % 2]);
    }
    written = write;
    write = after(write);
  }
  cp_async_wait<0>();
  P::sync_multipliers();
  return product;
}

/// Calls pipelined_sums(), and passes the tile, whose corner in C is `corner`, to `store` by
/// Product::store().
template <class Product, class In, class P, int kUnitBytes, class Store>
__device__ __forceinline__ void run_pipeline(char* shared, Window a, Window b, int k,
                                             const Corner& corner, Store&& store) {
  pipelined_sums<Product, In, P, kUnitBytes>(shared, a, b, k).store(shared, corner, store);
}

template <class In, class Acc, class P, int kUnitBytes, class Store>
__device__ __forceinline__ void mma_pipeline(char* shared, Window a, Window b, int k,
                                             const Corner& corner, Store&& store) {
  run_pipeline<WarpProduct<In, Acc, P>, In, P, kUnitBytes>(shared, a, b, k, corner, store);
}

}  // namespace gpuexp
