// A block's tile of a matrix product by mma.sync, fed by a pipeline of cp.async copies. Tiles of A
// and B arrive in a ring in shared memory while earlier tiles are multiplied, and each warp loads
// its next fragments while it multiplies the current ones.
#pragma once

#include "kernels/common/launch.cuh"
#include "kernels/common/warp_product.cuh"

namespace gpuexp {

/// A Tiling with kStages tiles in shared memory: one is multiplied while the others arrive.
template <class T, int kStages_>
struct Pipeline : T {
  static constexpr int kStages = kStages_;
  /// Tiles of A and B have the same number of bytes for all types.
  static constexpr int kStageBytes = T::kDepthBytes * (T::kBlockM + T::kBlockN);
  static constexpr int kSharedBytes = kStages * kStageBytes;
  /// Barrier of the threads that multiply.
  __device__ static void sync_multipliers() { __syncthreads(); }
};

/// For blocks that also have threads that do not multiply: barrier 1 is only for the multiplying
/// threads.
template <class P>
struct WithOtherThreads : P {
  __device__ static void sync_multipliers() {
    asm volatile("bar.sync 1, %0;" ::"n"(P::kThreads) : "memory");
  }
};

/// Grid of tiles of P that covers an m×n C; neighbouring blocks have tiles of the same column of C.
/// Only one block fits on an SM, regardless of registers and threads: its dynamic shared memory is
/// the size of the ring or, if this is larger, slightly more than half of the SM's shared memory.
template <class P>
Shape one_block_per_sm(std::int64_t m, std::int64_t n, const DeviceSpec& device) {
  constexpr std::int64_t kOverHalf = 1024;
  return shape_of_tiles(
      {m, n}, {P::kBlockM, P::kBlockN}, P::kThreads,
      std::max<std::int64_t>(P::kSharedBytes, device.sm.shared_bytes / 2 + kOverHalf));
}

/// Accumulates the tile whose part of A starts at `a` and whose part of B starts at `b`, over a
/// depth of k elements of In. Copies move kUnitBytes (see TileWalk) of A and B at a time. All of
/// P's threads call this. `shared` has P::kSharedBytes bytes, is aligned to 128 bytes and is free
/// for other use at the end. Product is a WarpProduct or has its members.
template <class Product, class In, class P, int kUnitBytes>
__device__ __forceinline__ Product pipelined_sums(char* shared, Window a, Window b, int k) {
  using A = typename Product::A;
  using B = typename Product::B;
  constexpr int kStage = P::kStageBytes;
  static_assert(A::kBytes + B::kBytes == kStage, "tiles without padding");
  // The last step of a tile waits for the next tile, so copies start in the steps before it.
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
        // All but the newest groups have arrived, the next tile's among them. After the barrier,
        // this is true for all threads' copies, and no thread loads from the current tile any more.
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

/// Calls pipelined_sums() and passes the tile, whose corner in C is `corner`, to store(slab,
/// Corner) as Product::store does.
template <class Product, class In, class P, int kUnitBytes, class Store>
__device__ __forceinline__ void run_pipeline(char* shared, Window a, Window b, int k,
                                             const Corner& corner, Store&& store) {
  pipelined_sums<Product, In, P, kUnitBytes>(shared, a, b, k).store(shared, corner, store);
}

/// run_pipeline() for row-major A and B.
template <class In, class Acc, class P, int kUnitBytes, class Store>
__device__ __forceinline__ void mma_pipeline(char* shared, Window a, Window b, int k,
                                             const Corner& corner, Store&& store) {
  run_pipeline<WarpProduct<In, Acc, P>, In, P, kUnitBytes>(shared, a, b, k, corner, store);
}

}  // namespace gpuexp
