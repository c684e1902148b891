// cp.async.bulk: copies between global and shared memory of contiguous bytes, or of a box of a
// tensor. One thread starts a copy, and the SM's copy engine executes it without registers or L1.
// Compute capability 9.0.
//
// An mbarrier in shared memory counts the arriving bytes. A phase ends when its single arrival has
// been made and all bytes that the arrival announced have been copied. Phases are identified by
// their parity; the first phase has parity 0.
#pragma once

#include <cstdint>

#include <cuda.h>
#include <cuda_runtime.h>

#include "family/family_of.hpp"

namespace gpuexp {

/// Minimum compute capability of variants that use the functions below (see needs_capability in
/// compiled_for.cuh). On older GPUs the functions trap.
constexpr int kBulkCopyComputeCapability = 90;

/// Addresses and sizes of bulk copies are multiples of 16 bytes.
constexpr int kBulkCopyAlignment = 16;

using Barrier = std::uint64_t;

__device__ inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/// Initializes barriers with one arrival per phase. One thread calls this before a
/// __syncthreads() of all threads that use the barriers.
__device__ inline void init_barriers(Barrier* barriers, int count) {
#if __CUDA_ARCH__ >= 900
  for (int i = 0; i < count; ++i)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barriers + i))
                 : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
  __trap();
#endif
}

/// Makes the single arrival of the barrier's phase, and announces `bytes` bytes of copies.
__device__ inline void arrive_expect_tx(Barrier* barrier, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
#else
  __trap();
#endif
}

/// Starts a copy of `bytes` bytes to shared memory, and announces them at `barrier`.
__device__ inline void start_bulk_load(void* to_shared, const void* from_global, unsigned bytes,
                                       Barrier* barrier) {
  arrive_expect_tx(barrier, bytes);
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to_shared)),
      "l"(__cvta_generic_to_global(from_global)), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
#else
  __trap();
#endif
}

/// Starts a copy to shared memory of the box at column x, row y of a 2D tensor; elements outside
/// the tensor become zeros. `barrier` counts the bytes of a whole box, which the caller
/// announces.
__device__ inline void start_box_load(void* to_shared, const CUtensorMap& from, int x, int y,
                                      Barrier* barrier) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%2, %3}], [%4];" ::"r"(shared_address(to_shared)),
      "l"(&from), "r"(x), "r"(y), "r"(shared_address(barrier))
      : "memory");
#else
  __trap();
#endif
}

/// Waits for the end of the phase with this parity. Its bytes are then visible to this thread.
__device__ inline void wait_for_phase(Barrier* barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "{\n"
      ".reg .pred ended;\n"
      "WAIT:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 ended, [%0], %1;\n"
      "@!ended bra WAIT;\n"
      "}" ::"r"(shared_address(barrier)),
      "r"(parity)
      : "memory");
#else
  __trap();
#endif
}

__device__ inline bool test_phase(Barrier* barrier, unsigned parity) {
#if __CUDA_ARCH__ >= 900
  unsigned ended;
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n"
      "}"
      : "=r"(ended)
      : "r"(shared_address(barrier)), "r"(parity)
      : "memory");
  return ended != 0;
#else
  __trap();
#endif
}

/// Orders this thread's stores to shared memory before the copy engine's reads. A barrier of all
/// threads that made such stores must follow.
__device__ inline void fence_proxy_async() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  __trap();
#endif
}

/// Commits the stores that this thread has started since the last commit, as one group.
__device__ inline void commit_bulk_stores() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#else
  __trap();
#endif
}

__device__ inline void start_bulk_store(void* to_global, const void* from_shared, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to_global)),
               "r"(shared_address(from_shared)), "r"(bytes)
               : "memory");
#endif
  commit_bulk_stores();
}

/// Starts a copy from shared memory to the box at column x, row y of a 2D tensor, without
/// elements outside the tensor. The caller commits it.
__device__ inline void start_box_store(const CUtensorMap& to, int x, int y,
                                       const void* from_shared) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&to),
      "r"(x), "r"(y), "r"(shared_address(from_shared))
      : "memory");
#else
  __trap();
#endif
}

/// Waits until all but the newest `pending` groups of this thread have read their shared memory,
/// so that it can be overwritten.
template <int pending>
__device__ inline void wait_bulk_store_reads() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
#else
  __trap();
#endif
}

__device__ inline void wait_bulk_stores() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#else
  __trap();
#endif
}

/// Bytes per row of a box that is swizzled in shared memory (CUDA C++ Programming Guide, swizzle
/// mode of 128 bytes). In boxes aligned to 1024 bytes, 16-byte unit u of row r is stored at unit u
/// xor (r mod 8) of the row. The same unit of eight consecutive rows is then in different banks.
constexpr int kSwizzleRowBytes = 128;
constexpr int kSwizzleUnitsPerRow = kSwizzleRowBytes / kBulkCopyAlignment;
constexpr int kSwizzleAlignment = 1024;

__device__ inline int swizzled_unit(int row, int unit) {
  return row * kSwizzleUnitsPerRow + (unit ^ row % kSwizzleUnitsPerRow);
}

/// The tensor map of a row-major matrix with swizzled boxes of `box_rows` rows.
template <class T>
TensorMap swizzled_boxes(const T* base, std::int64_t rows, std::int64_t columns,
                         std::int64_t box_rows) {
  constexpr std::int64_t kBytes = sizeof(T);
  TensorMap map;
  map.base = base;
  map.type = DataTypeOf<T>::value;
  map.extents = {columns, rows};
  map.strides = {columns * kBytes};
  map.box = {kSwizzleRowBytes / kBytes, box_rows};
  map.swizzle = Swizzle::bytes_128;
  return map;
}

}  // namespace gpuexp
