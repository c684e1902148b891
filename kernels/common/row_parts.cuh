// Rows whose parts are in one to eight blocks, 64 KiB in each at most: in the registers of their
// threads as they are stored, or in shared memory, where the copy engine brings the next ones while
// one is worked on.
#pragma once

#include "kernels/common/pushed_row.cuh"
#include "kernels/common/row_family.cuh"
#include "kernels/common/stored_part.cuh"

namespace gpuexp {

constexpr int kPartThreads = 512;
constexpr int kPartVectors = 8;  // of a thread
constexpr std::int64_t kPartBytes = kPartThreads * kPartVectors * kWidestAccess;

/// A thread's vectors of a row, as they are stored; those outside of it have `outside` throughout.
template <class T, int kVectors>
struct StoredRow {
  static constexpr int kW = kRowWidth<T>;
  RowPart<T, kW, kVectors, Edges::whole> place;
  StoredPart<T, kW, kVectors> part;

  template <class Group>
  __device__ StoredRow(const Group& group, int columns) : place(group, nullptr, columns) {}
  __device__ void load(const T* row, float outside) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      part.vectors[k].fill(from_float<T>(outside));
    part.load(place, row);
  }

  /// Calls `use` with each vector's place in the row and its elements, which become fp32 anew: kept
  /// from one call to the next, they would take twice the registers.
  template <class Use>
  __device__ __forceinline__ void each(Use use) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (!place.is_inside(k)) continue;
      float v[kW];
      part.vectors[k].renew();
      part.vectors[k].widen_to(v);
      use(place.at(k), v);
    }
  }
  /// And with those of the other row at the same place.
  template <class Use>
  __device__ __forceinline__ void each_with(StoredRow& other, Use use) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (!place.is_inside(k)) continue;
      float v[kW], w[kW];
      part.vectors[k].renew();
      part.vectors[k].widen_to(v);
      other.part.vectors[k].renew();
      other.part.vectors[k].widen_to(w);
      use(place.at(k), v, w);
    }
  }
};

/// Writes the softmax of the row that the group's threads hold to a row that begins at `to`: a pass
/// for the maximum, one for the sum, and one for the results, from whose exponents the
/// logarithm of the sum is subtracted.
template <class Group, class T, int kVectors>
__device__ void store_softmax(const Group& group, StoredRow<T, kVectors>& row, T* to) {
  MaxSum found = Joined::none();
  row.each([&](int, auto& v) {
    for (const float score : v)
      found.max = fmaxf(found.max, score);
  });
  row.each([&](int, auto& v) {
    for (const float score : v)
      found.sum += fast_exp(score - found.max);
  });
  found = group.template all<0>(found, Joined());
  const float logarithm = __log2f(found.sum);
  row.each([&](int at, auto& v) {
    for (float& score : v)
      score = fast_exp2(fmaf(score - found.max, kLog2E, -logarithm));
    store_floats(to + at, v);
  });
}

/// Room for parts of rows in a block's shared memory.
struct RingRoom {
  int part;    ///< elements of one
  int stages;  ///< a part of each array in every one of them
};
constexpr int kMostRingStages = 3;

/// A block's parts of its rows, of which as many as there are stages are on their way or there.
template <class T, int kArrays>
struct RowRing {
  const T* arrays[kArrays];
  std::int64_t row;  ///< the one that is worked on
  std::int64_t rows;
  std::int64_t row_step;
  std::int64_t columns;
  int first;  ///< element of the row that is the part's
  int held;   ///< elements of the part
  RingRoom room;
  T* stages;
  Barrier* arrivals;  ///< of each array in each stage
  int stage = 0;
  unsigned parity = 0;

  /// All threads of the block make it.
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

  __device__ T* at(int of_stage, int array) const {
    return stages + (of_stage * kArrays + array) * room.part;
  }
  __device__ void start(std::int64_t of_row, int to_stage) const {
    if (of_row >= rows) return;
#pragma unroll
    for (int a = 0; a < kArrays; ++a)
      start_bulk_load(at(to_stage, a), arrays[a] + of_row * columns, held * sizeof(T),
                      arrivals + to_stage * kArrays + a);
  }
  /// The array's part of the row, once it is there.
  __device__ const T* arrived(int array) const {
    wait_for_phase(arrivals + stage * kArrays + array, parity);
    return at(stage, array);
  }
  /// Behind a barrier that all threads reach when they have read the row's parts.
  __device__ void free() const {
    if (threadIdx.x == 0) start(row + room.stages * row_step, stage);
  }
  /// Calls `use` for one row after the other, with slots for what its threads find together: two in
  /// turn, so that none is written while some thread still reads it.
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

/// The shape of as few blocks, a power of two from `blocks` on, as hold a row in so many vectors of
/// each thread; and of as few warps.
template <int kVectors, class Group, class M>
Shape stored_shape(const M& m, int blocks) {
  const std::int64_t vectors = m.columns / kRowWidth<typename M::Element>;
  while (blocks < kMostClusterBlocks && vectors > std::int64_t{blocks} * kPartThreads * kVectors)
    blocks *= 2;
  const std::int64_t warps = ceil_div(vectors, std::int64_t{blocks} * kVectors * kWarp);
  const int threads = static_cast<int>(warps) * kWarp;
  if constexpr (std::is_same<Group, BlockRow>::value)
    return Group::shape(m.rows, m.columns, threads);
  else
    return Group::shape(m.rows, m.columns, threads, blocks);
}

/// Of kernels for a row in one block and for a row in a cluster, the one whose threads hold it.
template <class Kernel, class M>
Steps launch_in_parts(Kernel of_block, Kernel of_cluster, const M& m) {
  constexpr std::int64_t kBytes = sizeof(typename M::Element);
  return m.columns * kBytes <= kPartBytes
             ? launch(of_block, stored_shape<kPartVectors, BlockRow>(m, 1), m)
             : launch(of_cluster, stored_shape<kPartVectors, PushedRow>(m, 2), m);
}

/// How many blocks have a row of so many bytes in each array, in shared memory, and bytes of a
/// part.
struct RingShape {
  int blocks;
  std::int64_t part_bytes;
  int stages;
};
/// As few as have room for two rows, up to eight.
inline RingShape ring_shape(std::int64_t row_bytes, int arrays, const DeviceSpec& device) {
  constexpr std::int64_t kOther = 1024;  // for barriers, and what threads find together
  const std::int64_t room = device.sm.shared_bytes_per_block - kOther;
  for (int blocks = 1;; blocks *= 2) {
    const std::int64_t part = ceil_div(row_bytes / kWidestAccess, blocks) * kWidestAccess;
    const auto stages =
        static_cast<int>(std::min<std::int64_t>(room / (part * arrays), kMostRingStages));
    if ((part <= kPartBytes && stages > 1) || blocks == kMostClusterBlocks)
      return {blocks, part, stages};
  }
}

/// As many blocks as are resident, one on each SM. The blocks of a cluster have SMs of one GPC, of
/// which Hopper's have 18 at most; which SMs a device lacks, nobody tells. So clusters are no more
/// than there are where all GPCs but one are whole: one too many would start when the others end.
inline std::int64_t resident_rows(const DeviceSpec& device, int blocks) {
  constexpr std::int64_t kMostOfGpc = 18;
  return std::max<std::int64_t>(1, device.sm_count / kMostOfGpc * (kMostOfGpc / blocks) +
                                       device.sm_count % kMostOfGpc / blocks);
}

/// What `launch_of` gives for the arguments, and for the device where it takes one as well.
template <class LaunchOf, class... Arguments>
Steps launch_on(const DeviceSpec& device, const LaunchOf& launch_of,
                const Arguments&... arguments) {
  if constexpr (std::is_invocable<const LaunchOf&, Arguments..., const DeviceSpec&>::value)
    return launch_of(arguments..., device);
  else
    return launch_of(arguments...);
}

/// Of kernels for a row in one block and for a row in a cluster, the one that has it in a ring.
template <int kArrays, class Kernel, class M, class... Arguments>
Steps launch_ring(Kernel of_block, Kernel of_cluster, const DeviceSpec& device, const M& m,
                  const Arguments&... arguments) {
  constexpr std::int64_t kBytes = sizeof(typename M::Element);
  const RingShape ring = ring_shape(m.columns * kBytes, kArrays, device);
  Shape s;
  s.block.x = kPartThreads;
  if (ring.blocks > 1) s.cluster = {ring.blocks, 1, 1};
  s.grid.x = std::min(m.rows, resident_rows(device, ring.blocks)) * ring.blocks;
  s.tile.x = ceil_div(m.rows * m.columns, s.grid.x);
  s.dynamic_shared_bytes = ring.part_bytes * kArrays * ring.stages;
  return launch(ring.blocks == 1 ? of_block : of_cluster, s, m, arguments...,
                RingRoom{static_cast<int>(ring.part_bytes / kBytes), ring.stages});
}

/// The variant, for whole rows of which eight blocks hold 64 KiB each.
template <class Variant>
Variant held_in_parts(Variant v) {
  v.unsupported = [](const RowProblem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (edges_of(p.columns, p.dtype) == Edges::peeled)
      return "rows are multiples of 16 bytes in this variant";
    if (p.columns * element_bytes(p) <= kMostClusterBlocks * kPartBytes) return std::nullopt;
    return "eight blocks hold " + std::to_string(kPartBytes >> 10) +
           " KiB of a row each, less than there are";
  };
  return needs_capability(std::move(v), kClustersFrom);
}
/// And in shared memory, as they arrive.
template <int kArrays, class Variant>
Variant held_in_ring(Variant v) {
  v = held_in_parts(std::move(v));
  v.unsupported = [other = v.unsupported](const auto& p,
                                          const DeviceSpec& device) -> std::optional<std::string> {
    if (const auto reason = other(p, device)) return reason;
    if (ring_shape(p.columns * element_bytes(p), kArrays, device).stages > 0) return std::nullopt;
    return "an eighth of a row is more than a block's shared memory holds";
  };
  return v;
}

}  // namespace gpuexp
