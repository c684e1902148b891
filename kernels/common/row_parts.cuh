// Rows that are divided among one to eight blocks, at most 64 KiB per block. A block keeps its
// part of a row in registers, in the stored type, or in shared memory. In shared memory, bulk
// copies load the next rows while the block computes on the current row.
#pragma once

#include "kernels/common/pushed_row.cuh"
#include "kernels/common/row_family.cuh"
#include "kernels/common/stored_part.cuh"

namespace gpuexp {

constexpr int kPartThreads = 512;
constexpr int kPartVectors = 8;  // 16-byte vectors per thread
constexpr std::int64_t kPartBytes = kPartThreads * kPartVectors * kWidestAccess;

template <class T, int kVectors>
struct StoredRow {
  static constexpr int kW = kRowWidth<T>;
  RowPart<T, kW, kVectors, Edges::whole> place;
  StoredPart<T, kW, kVectors> part;

  template <class Group>
  __device__ StoredRow(const Group& group, int columns) : place(group, nullptr, columns) {}
  /// Loads the row. Elements of vectors outside the row become `fill_value`.
  __device__ void load(const T* row, float fill_value) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      part.vectors[k].fill(from_float<T>(fill_value));
    part.load(place, row);
  }

  /// Calls `use` with the index in the row and the fp32 elements of each vector inside the row.
  /// Each call of each() converts the elements again, because fp32 copies of bf16 elements would
  /// need twice the registers of the bf16 elements.
  template <class Use>
  __device__ __forceinline__ void each(Use use) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (!place.is_inside(k)) continue;
      float v[kW];
      part.vectors[k].make_opaque();
      part.vectors[k].widen_to(v);
      use(place.at(k), v);
    }
  }
  template <class Use>
  __device__ __forceinline__ void each_with(StoredRow& other, Use use) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (!place.is_inside(k)) continue;
      float v[kW], w[kW];
      part.vectors[k].make_opaque();
      part.vectors[k].widen_to(v);
      other.part.vectors[k].make_opaque();
      other.part.vectors[k].widen_to(w);
      use(place.at(k), v, w);
    }
  }
};

/// Stores the softmax of the group's row to the row that starts at `to`. Three passes over the
/// registers compute the maximum, the sum and the results. The last pass subtracts the logarithm
/// of the sum from the exponents, which replaces a division per element.
template <class Group, class T, int kVectors>
__device__ void store_softmax(const Group& group, StoredRow<T, kVectors>& row, T* to) {
  MaxSum found = MergeMaxSum::identity();
  row.each([&](int, auto& v) {
    for (const float score : v)
      found.max = fmaxf(found.max, score);
  });
  row.each([&](int, auto& v) {
    for (const float score : v)
      found.sum += fast_exp(score - found.max);
  });
  found = group.template all_reduce<0>(found, MergeMaxSum());
  const float logarithm = __log2f(found.sum);
  row.each([&](int at, auto& v) {
    for (float& score : v)
      score = fast_exp2(fmaf(score - found.max, kLog2E, -logarithm));
    store_floats(to + at, v);
  });
}

struct RingRoom {
  int part;    ///< number of elements of a part of a row
  int stages;  ///< number of stages; each stage has one part of every array
};
constexpr int kMaxRingStages = 3;

/// A ring of stages in shared memory, with the block's part of one row of every array per stage.
/// The copies for the current and the next rows are complete or in flight.
template <class T, int kArrays>
struct RowRing {
  const T* arrays[kArrays];
  std::int64_t row;
  std::int64_t rows;
  std::int64_t row_step;
  std::int64_t columns;
  int first;
  int held;
  RingRoom room;
  T* stages;
  Barrier* arrivals;  ///< one barrier per array and stage
  int stage = 0;
  unsigned parity = 0;

  /// Synchronizes the block; all its threads must call it.
  template <class Group>
  __device__ RowRing(const Group& group, const RowMatrix<T>& m, const T* const (&from)[kArrays],
                     RingRoom room, void* shared, Barrier* barriers)
      : row(blockIdx.x / group.blocks),
        rows(m.rows),
        row_step(gridDim.x / group.blocks),
        columns(m.columns),
        first(group.rank * room.part),
        held(min(room.part, m.columns - first)),
        room(room),
        stages(static_cast<T*>(shared)),
        arrivals(barriers) {
#pragma unroll
    for (int a = 0; a < kArrays; ++a)
      arrays[a] = from[a] + first;
    if (threadIdx.x == 0) {
      init_barriers(arrivals, room.stages * kArrays);
      for (int s = 0; s < room.stages; ++s)
        start(row + s * row_step, s);
    }
    __syncthreads();
  }

  __device__ T* at(int stage_index, int array) const {
    return stages + (stage_index * kArrays + array) * room.part;
  }
  __device__ void start(std::int64_t of_row, int to_stage) const {
    if (of_row >= rows) return;
#pragma unroll
    for (int a = 0; a < kArrays; ++a)
      start_bulk_load(at(to_stage, a), arrays[a] + of_row * columns, held * sizeof(T),
                      arrivals + to_stage * kArrays + a);
  }
  /// Waits for the array's part of the current row, and returns its address in shared memory.
  __device__ const T* arrived(int array) const {
    wait_for_phase(arrivals + stage * kArrays + array, parity);
    return at(stage, array);
  }
  /// Starts the load of a later row into the current stage. The caller must synchronize the block
  /// before this call, after all threads have read the stage.
  __device__ void free() const {
    if (threadIdx.x == 0) start(row + room.stages * row_step, stage);
  }
  /// Calls `use` once per row, with the slot for reductions as a constant. Slots 0 and 1
  /// alternate, so that no thread overwrites values that another thread still reads.
  template <class Use>
  __device__ __forceinline__ void for_rows(Use use) {
#pragma unroll 1
    while (row < rows) {
      use(std::integral_constant<int, 0>{});
      next();
      if (row >= rows) break;
      use(std::integral_constant<int, 1>{});
      next();
    }
  }
  __device__ void next() {
    row += row_step;
    if (++stage < room.stages) return;
    stage = 0;
    parity ^= 1;
  }
};

/// The launch shape with the fewest blocks per row, and then the fewest warps per block, whose
/// threads hold the row in kVectors vectors each. The number of blocks is `blocks` times a power
/// of two.
template <int kVectors, class Group, class M>
Shape stored_shape(const M& m, int blocks) {
  const std::int64_t vectors = m.columns / kRowWidth<typename M::Element>;
  while (blocks < kMaxClusterBlocks && vectors > std::int64_t{blocks} * kPartThreads * kVectors)
    blocks *= 2;
  const std::int64_t warps = ceil_div(vectors, std::int64_t{blocks} * kVectors * kWarp);
  const int threads = static_cast<int>(warps) * kWarp;
  if constexpr (std::is_same<Group, BlockRow>::value)
    return Group::shape(m.rows, m.columns, threads);
  else
    return Group::shape(m.rows, m.columns, threads, blocks);
}

/// Launches `block_kernel` with one block per row if the registers of one block hold a row,
/// otherwise `cluster_kernel` with one cluster per row.
template <class Kernel, class M>
Steps launch_in_parts(Kernel block_kernel, Kernel cluster_kernel, const M& m) {
  constexpr std::int64_t kBytes = sizeof(typename M::Element);
  return m.columns * kBytes <= kPartBytes
             ? launch(block_kernel, stored_shape<kPartVectors, BlockRow>(m, 1), m)
             : launch(cluster_kernel, stored_shape<kPartVectors, PushedRow>(m, 2), m);
}

struct RingShape {
  int blocks;
  std::int64_t part_bytes;  ///< bytes of one array's part
  int stages;               ///< number of stages, at most kMaxRingStages; 0 if not even one fits
};
/// The shape with the fewest blocks, 1, 2, 4 or 8, with parts of at most kPartBytes and two or more
/// stages per block. If no number of blocks suffices, the shape has 8 blocks.
inline RingShape ring_shape(std::int64_t row_bytes, int arrays, const DeviceSpec& device) {
  constexpr std::int64_t kOther = 1024;  // for barriers and reductions
  const std::int64_t room = device.sm.shared_bytes_per_block - kOther;
  for (int blocks = 1;; blocks *= 2) {
    const std::int64_t part = ceil_div(row_bytes / kWidestAccess, blocks) * kWidestAccess;
    const auto stages =
        static_cast<int>(std::min<std::int64_t>(room / (part * arrays), kMaxRingStages));
    if ((part <= kPartBytes && stages > 1) || blocks == kMaxClusterBlocks)
      return {blocks, part, stages};
  }
}

/// Number of rows that resident blocks process at the same time, with one block per SM and
/// `blocks` blocks per row. A cluster runs on one GPC, which has at most 18 SMs on Hopper, and
/// device properties do not show the SMs of each GPC. The result assumes that all GPCs but one
/// have 18 SMs. If more clusters were launched than fit, the last clusters would start only when
/// other clusters end.
inline std::int64_t resident_rows(const DeviceSpec& device, int blocks) {
  constexpr std::int64_t kMaxSmsPerGpc = 18;
  return std::max<std::int64_t>(1, device.sm_count / kMaxSmsPerGpc * (kMaxSmsPerGpc / blocks) +
                                       device.sm_count % kMaxSmsPerGpc / blocks);
}

/// Calls launch_of(arguments..., device) if launch_of accepts a device, otherwise
/// launch_of(arguments...).
template <class LaunchOf, class... Arguments>
Steps launch_on(const DeviceSpec& device, const LaunchOf& launch_of,
                const Arguments&... arguments) {
  if constexpr (std::is_invocable<const LaunchOf&, Arguments..., const DeviceSpec&>::value)
    return launch_of(arguments..., device);
  else
    return launch_of(arguments...);
}

/// Launches `block_kernel` if one block has shared memory for a ring of whole rows, otherwise
/// `cluster_kernel`. All blocks are resident and iterate over the rows.
template <int kArrays, class Kernel, class M, class... Arguments>
Steps launch_ring(Kernel block_kernel, Kernel cluster_kernel, const DeviceSpec& device, const M& m,
                  const Arguments&... arguments) {
  constexpr std::int64_t kBytes = sizeof(typename M::Element);
  const RingShape ring = ring_shape(m.columns * kBytes, kArrays, device);
  Shape s;
  s.block.x = kPartThreads;
  if (ring.blocks > 1) s.cluster = {ring.blocks, 1, 1};
  s.grid.x = std::min(m.rows, resident_rows(device, ring.blocks)) * ring.blocks;
  s.tile.x = ceil_div(m.rows * m.columns, s.grid.x);
  s.dynamic_shared_bytes = ring.part_bytes * kArrays * ring.stages;
  return launch(ring.blocks == 1 ? block_kernel : cluster_kernel, s, m, arguments...,
                RingRoom{static_cast<int>(ring.part_bytes / kBytes), ring.stages});
}

/// Returns `v`, unsupported on devices without clusters, and for rows that are not multiples of 16
/// bytes or exceed 8 × 64 KiB.
template <class Variant>
Variant fits_parts(Variant v) {
  v.unsupported = [](const RowProblem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (edges_of(p.columns, p.dtype) == Edges::peeled)
      return "needs rows that are multiples of 16 bytes";
    if (p.columns * element_bytes(p) <= kMaxClusterBlocks * kPartBytes) return std::nullopt;
    return "a row exceeds the " + std::to_string(kPartBytes >> 10) +
           " KiB per block that a cluster of eight blocks can hold";
  };
  return needs_capability(std::move(v), kClusterComputeCapability);
}
/// fits_parts(), and unsupported for rows that do not fit in the shared memory of eight blocks.
template <int kArrays, class Variant>
Variant fits_ring(Variant v) {
  v = fits_parts(std::move(v));
  v.unsupported = [other = v.unsupported](const auto& p,
                                          const DeviceSpec& device) -> std::optional<std::string> {
    if (const auto reason = other(p, device)) return reason;
    if (ring_shape(p.columns * element_bytes(p), kArrays, device).stages > 0) return std::nullopt;
    return "an eighth of a row does not fit in a block's shared memory";
  };
  return v;
}

}  // namespace gpuexp
