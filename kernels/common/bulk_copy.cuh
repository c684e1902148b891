// cp.async.bulk: copies of kilobytes between global and shared memory, at a stretch or a box of a
// tensor, that one thread starts and the copy engine of the SM carries out, past registers and L1.
// Compute capability 9.0.
//
// Arriving bytes are counted by an mbarrier in shared memory. Its phase ends when the one arrival
// and the bytes that this arrival announced have come; phases are told apart by their parity, 0
// first.
#pragma once

#include <cstdint>

#include <cuda.h>
#include <cuda_runtime.h>

#include "family/family_of.hpp"

namespace gpuexp {

/// Variants that use the functions below need this capability (needs_capability in
/// compiled_for.cuh); in older code they trap.
constexpr int kBulkCopyComputeCapability = 90;

/// Addresses and sizes of bulk copies are multiples of this many bytes.
constexpr int kBulkCopyUnit = 16;

using Barrier = std::uint64_t;

__device__ inline unsigned shared_address(const void* p) {
  return static_cast<unsigned>(__cvta_generic_to_shared(p));
}

/// Makes the barriers ready, each for one arrival per phase; by one thread, before a barrier of all
/// threads that will use them.
__device__ inline void init_barriers(Barrier* barriers, int count) {
#if __CUDA_ARCH__ >= 900
  for (int i = 0; i < count; ++i)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(barriers + i))
                 : "memory");
  // The copy engine has to see them too.
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#else
  __trap();
#endif
}

/// The one arrival of the barrier's phase, which announces `bytes` bytes that copies will bring.
__device__ inline void expect_bytes(Barrier* barrier, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
      "r"(bytes)
      : "memory");
#else
  __trap();
#endif
}

/// Starts copying `bytes` bytes to shared memory; they arrive at `barrier`, as the one arrival of
/// its phase.
__device__ inline void start_bulk_load(void* to_shared, const void* from_global, unsigned bytes,
                                       Barrier* barrier) {
  expect_bytes(barrier, bytes);
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

/// Starts copying the box at column x, row y of a tensor of two dimensions to shared memory; the
/// bytes of a whole box arrive at `barrier`, zeros for what lies outside of the tensor.
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

/// Waits until the phase of that parity has ended; what arrived in it is then visible.
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

/// Whether the phase of that parity has ended; does not wait.
__device__ inline bool has_ended(Barrier* barrier, unsigned parity) {
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

/// Orders what this thread has stored to shared memory before copies that read it; a barrier of all
/// threads that stored has to follow.
__device__ inline void publish_to_copies() {
#if __CUDA_ARCH__ >= 900
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#else
  __trap();
#endif
}

/// Closes the group of the stores that this thread has started.
__device__ inline void commit_stores() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
#else
  __trap();
#endif
}

/// Starts copying `bytes` bytes from shared memory, as a group of its own of this thread.
__device__ inline void start_bulk_store(void* to_global, const void* from_shared, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(to_global)),
               "r"(shared_address(from_shared)), "r"(bytes)
               : "memory");
#endif
  commit_stores();
}

/// Starts copying a box from shared memory to column x, row y of a tensor of two dimensions; what
/// lies outside of it stays behind.
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

/// Waits until all but the `pending` newest stores of this thread have read their shared memory,
/// which may then be overwritten.
template <int pending>
__device__ inline void wait_for_stores_to_read() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(pending) : "memory");
#else
  __trap();
#endif
}

/// Waits until all stores of this thread are complete.
__device__ inline void wait_for_stores() {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
#else
  __trap();
#endif
}

/// Rows of a box that is permuted in shared memory: 16-byte unit u of row r lies where unit
/// u xor (r mod 8) would, in boxes that begin at a multiple of 1024 bytes (CUDA C++ Programming
/// Guide, swizzle mode of 128 bytes). Units of eight rows then lie in different banks.
constexpr int kSwizzledRow = 128;
constexpr int kSwizzledUnits = kSwizzledRow / kBulkCopyUnit;
constexpr int kSwizzleAlignment = 1024;

__device__ inline int swizzled_unit(int row, int unit) {
  return row * kSwizzledUnits + (unit ^ row % kSwizzledUnits);
}

/// A row-major matrix in such boxes of `box_rows` rows.
template <class T>
TensorMap swizzled_boxes(const T* base, std::int64_t rows, std::int64_t columns,
                         std::int64_t box_rows) {
  constexpr std::int64_t kBytes = sizeof(T);
  TensorMap map;
  map.base = base;
  map.type = DataTypeOf<T>::value;
  map.extents = {columns, rows};
  map.strides = {columns * kBytes};
  map.box = {kSwizzledRow / kBytes, box_rows};
  map.swizzle = Swizzle::bytes_128;
  return map;
}

}  // namespace gpuexp
