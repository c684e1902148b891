// A row of a matrix as fp32 in the registers of the threads that share it (row_group.cuh). The
// threads load and store the row once, by 16-byte accesses, for any alignment of the row.
#pragma once

#include "kernels/common/float_vector.cuh"
#include "kernels/common/row_group.cuh"
#include "kernels/common/types.cuh"
#include "kernels/common/vectors.cuh"

namespace gpuexp {

constexpr int kMaxRowElements = 32;  // per thread: half of its registers in a block of 1024 threads

/// Alignment of rows to vectors of kWidth elements.
enum class Edges {
  whole,  ///< each row begins and ends at a vector boundary
  peeled  ///< a row may share its first and its last vector with the neighbouring rows
};

/// Loads kWidth elements from index `at` of the row. Elements outside the row become
/// `fill_value`.
template <int kWidth, class T>
__device__ void load_elements(const T* row, int at, int columns, float fill_value,
                              float (&v)[kWidth]) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    v[i] = at + i >= 0 && at + i < columns ? static_cast<float>(row[at + i]) : fill_value;
}

/// A thread's kVectors vectors of kWidth elements of a row. Neighbouring threads of the group
/// have neighbouring vectors.
template <class T, int kWidth, int kVectors, Edges kEdges>
struct RowPart {
  using Element = T;
  static constexpr int kElements = kWidth;
  static constexpr int kHeld = kVectors;
  float v[kVectors][kWidth];
  int first;  ///< start of vector 0 in the row; negative if it starts in the previous row
  int own;    ///< index of this thread's first vector
  int step;   ///< stride between this thread's vectors, in vectors
  int columns;

  template <class Group>
  __device__ RowPart(const Group& group, const T* row, int row_columns)
      : first(0), own(group.thread), step(group.threads), columns(row_columns) {
    if (kEdges == Edges::peeled)
      first = -static_cast<int>(reinterpret_cast<std::uintptr_t>(row) / sizeof(T) % kWidth);
  }

  __device__ int at(int k) const { return first + (own + k * step) * kWidth; }
  __device__ bool is_inside(int k) const {
    if (kEdges == Edges::whole) return at(k) < columns;
    return at(k) >= 0 && at(k) + kWidth <= columns;
  }
  /// Whether vector k contains elements of the row and of a neighbouring row.
  __device__ bool is_partial(int k) const {
    return kEdges == Edges::peeled && !is_inside(k) && at(k) + kWidth > 0 && at(k) < columns;
  }

  /// Loads first the whole vectors, all in flight at the same time, and then the partial vectors.
  /// Elements outside the row become `fill_value`.
  __device__ void load(const T* row, float fill_value) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        v[k][i] = fill_value;
      if (is_inside(k)) load_floats(row + at(k), v[k]);
    }
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (is_partial(k)) load_elements(row, at(k), columns, fill_value, v[k]);
  }

  /// Stores the elements to a row of any type. That row must have the same offset from a vector
  /// boundary, in elements, as the loaded row.
  template <class Out>
  __device__ void store(Out* row) const {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (is_inside(k)) {
        store_floats(row + at(k), v[k]);
      } else if (is_partial(k)) {
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          if (at(k) + i >= 0 && at(k) + i < columns) row[at(k) + i] = from_float<Out>(v[k][i]);
      }
    }
  }

  template <class Function>
  __device__ void each(Function f) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        v[k][i] = f(v[k][i]);
  }
  /// Sets v = f(v) for the element at index `place` of the row.
  template <class Function>
  __device__ void change(int place, Function f) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (place < at(k) || place >= at(k) + kWidth) continue;
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        if (place == at(k) + i) v[k][i] = f(v[k][i]);
    }
  }
  /// Sets v = f(v, w) for each element v, where w is the same element of `other`.
  template <class Function>
  __device__ void join(const RowPart& other, Function f) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        v[k][i] = f(v[k][i], other.v[k][i]);
  }
  __device__ float dot(const RowPart& other) const {
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        sum = fmaf(v[k][i], other.v[k][i], sum);
    return sum;
  }
  template <class Operation>
  __device__ float combined(Operation operation) const {
    float result = Operation::identity();
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        result = operation(result, v[k][i]);
    return result;
  }
};

/// Calls `use` for each vector inside the row, with its index in the row and its elements.
template <class Part, class Use>
__device__ __forceinline__ void for_inside(Part& part, Use use) {
#pragma unroll
  for (int k = 0; k < Part::kHeld; ++k)
    if (part.is_inside(k)) use(part.at(k), part.v[k]);
}

__device__ __forceinline__ void rescale(MaxSum& found, float max) {
  if (max <= found.max) return;
  found.sum *= fast_exp(found.max - max);
  found.max = max;
}
/// Replaces each element x of `part` by e^(x - max), and adds the results to the sum.
template <class Part>
__device__ __forceinline__ void add_scores(MaxSum& found, Part& part) {
  rescale(found, part.combined(Larger()));
  part.each([&](float score) { return fast_exp(score - found.max); });
  found.sum += part.combined(Sum());
}

/// Iterates over a row of any length: calls `use` with kVectors vectors per thread at a time.
/// Elements outside the row are `fill_value`.
template <int kWidth, int kVectors, Edges kEdges = Edges::peeled, class T, class Group, class Use>
__device__ __forceinline__ void for_parts(const Group& group, const T* row, int columns,
                                          float fill_value, Use use) {
  RowPart<T, kWidth, kVectors, kEdges> part(group, row, columns);
#pragma unroll 1
  for (; part.at(0) < columns; part.own += kVectors * part.step) {
    part.load(row, fill_value);
    use(part);
  }
}

/// Maximum and Σ e^(x - max) of a row; each thread keeps kVectors 16-byte loads in flight.
template <int kVectors, class T, class Group>
__device__ MaxSum max_sum_of_row(const Group& group, const T* row, int columns) {
  MaxSum found = MergeMaxSum::identity();
  for_parts<static_cast<int>(kWidestAccess / sizeof(T)), kVectors>(
      group, row, columns, -INFINITY, [&](auto& part) { add_scores(found, part); });
  return group.template all_reduce<0>(found, MergeMaxSum());
}

/// Replaces the group's row by its softmax times `gain`, and returns the maximum and Σ e^(x - max)
/// of the row. There is only one reduction: each thread computes exponentials relative to its own
/// maximum, and multiplies them by one factor after the reduction.
template <int kSlot = 0, class Group, class Part>
__device__ MaxSum make_softmax(const Group& group, Part& part, float gain = 1.0f) {
  MaxSum own = MergeMaxSum::identity();
  add_scores(own, part);
  const MaxSum row = group.template all_reduce<kSlot>(own, MergeMaxSum());
  const float factor = gain * fast_exp(own.max - row.max) / row.sum;
  part.each([&](float power) { return power * factor; });
  return row;
}

template <class T>
constexpr int kRowWidth = static_cast<int>(kWidestAccess / sizeof(T));

inline Edges edges_of(std::int64_t columns, DataType type) {
  const auto bytes = columns * static_cast<std::int64_t>(size_of(type));
  return bytes % kWidestAccess == 0 ? Edges::whole : Edges::peeled;
}
/// Maximum number of elements from the start of a row's first vector to the end of the row.
inline std::int64_t covered_columns(std::int64_t columns, DataType type) {
  if (edges_of(columns, type) == Edges::whole) return columns;
  return columns + kWidestAccess / static_cast<std::int64_t>(size_of(type)) - 1;
}
/// Maximum number of elements per thread. Peeled rows allow fewer, because bounds checks need
/// registers.
constexpr int max_elements_per_thread(Edges edges) {
  return edges == Edges::whole ? kMaxRowElements : kMaxRowElements / 2;
}

struct RowShape {
  int elements;  ///< elements per thread: 8, 16 or 32
  int threads;
  int blocks;
};

/// Number of threads up to which row_shape() minimizes the elements per thread.
constexpr int kDefaultRowThreads = 256;

/// The shape with the fewest elements per thread, and then the fewest warps, for which at most
/// `threads` threads per block hold the row. If the maximum number of elements per thread is not
/// enough, blocks have more threads.
constexpr RowShape row_shape(std::int64_t covered, Edges edges, int threads = kDefaultRowThreads,
                             int blocks = 1) {
  const std::int64_t part = ceil_div(covered, blocks);
  int elements = 8;
  while (elements < max_elements_per_thread(edges) && part > elements * threads)
    elements *= 2;
  const auto warps = ceil_div(ceil_div(part, elements), kWarp);
  return {elements, static_cast<int>(warps) * kWarp, blocks};
}
/// The shape with the fewest blocks (2, 4 or 8) of at most 256 threads that hold the row. If 8
/// blocks are not enough, they have more threads.
constexpr RowShape cluster_shape(std::int64_t covered, Edges edges) {
  int blocks = 2;
  while (blocks < kMaxClusterBlocks &&
         covered > blocks * kDefaultRowThreads * max_elements_per_thread(edges))
    blocks *= 2;
  return row_shape(covered, edges, kDefaultRowThreads, blocks);
}

inline std::optional<std::string> too_long_to_hold(std::int64_t columns, DataType type, Edges edges,
                                                   std::int64_t threads) {
  const int most = max_elements_per_thread(edges);
  if (covered_columns(columns, type) <= threads * most) return std::nullopt;
  return "a row does not fit in the registers of " + std::to_string(threads) + " threads with " +
         std::to_string(most) + " elements each";
}

/// Calls `use` with the number of elements per thread, at most kMax, and the edges, as
/// compile-time constants.
template <int kMax = kMaxRowElements, class Use>
Steps with_part(int elements, Edges edges, Use use) {
  const auto with_elements = [&](auto constant) {
    constexpr int kMin = 8, kMaxOfEdges = max_elements_per_thread(constant);
    if (elements == kMin) return use(std::integral_constant<int, kMin>{}, constant);
    if (elements == 2 * kMin) return use(std::integral_constant<int, 2 * kMin>{}, constant);
    return use(std::integral_constant<int, (kMax < kMaxOfEdges ? kMax : kMaxOfEdges)>{}, constant);
  };
  return edges == Edges::whole ? with_elements(std::integral_constant<Edges, Edges::whole>{})
                               : with_elements(std::integral_constant<Edges, Edges::peeled>{});
}

/// kLanes lanes share a row, with kElements elements each.
template <int kLanes, int kElements>
struct LaneShape {
  static constexpr int kHeld = kLanes * kElements;
};

/// Calls `use` with lanes, elements per lane and edges of the first shape that holds the row, or
/// of the last shape, as compile-time constants.
template <Edges kEdges, class Use, int kLanes, int kElements, class... Rest>
Steps with_shape(std::int64_t covered, Use use, LaneShape<kLanes, kElements> shape, Rest... rest) {
  if constexpr (sizeof...(rest) > 0) {
    if (covered > shape.kHeld) return with_shape<kEdges>(covered, use, rest...);
  }
  return use(std::integral_constant<int, kLanes>{}, std::integral_constant<int, kElements>{},
             std::integral_constant<Edges, kEdges>{});
}
/// Calls `use` with the smallest shape that holds the row. Shapes with 24 elements per lane exist
/// only for rows of whole vectors. They leave fewer elements unused than powers of two.
template <class Use>
Steps with_lanes(std::int64_t covered, Edges edges, Use use) {
  if (edges == Edges::peeled)
    return with_shape<Edges::peeled>(covered, use, LaneShape<4, 8>{}, LaneShape<8, 8>{},
                                     LaneShape<16, 8>{});
  return with_shape<Edges::whole>(covered, use, LaneShape<4, 8>{}, LaneShape<4, 16>{},
                                  LaneShape<4, 24>{}, LaneShape<16, 8>{}, LaneShape<8, 24>{},
                                  LaneShape<32, 8>{}, LaneShape<16, 24>{}, LaneShape<32, 24>{});
}
/// The reason why no shape of with_lanes holds the row; nullopt if one does.
inline std::optional<std::string> too_long_for_lanes(std::int64_t columns, DataType type) {
  const bool is_whole = edges_of(columns, type) == Edges::whole;
  const int most = is_whole ? LaneShape<32, 24>::kHeld : LaneShape<16, 8>::kHeld;
  if (covered_columns(columns, type) <= most) return std::nullopt;
  return "rows of more than " + std::to_string(most) + " elements " +
         (is_whole ? "do not fit in the registers of a warp"
                   : "that are not multiples of 16 bytes need all lanes of a warp");
}

}  // namespace gpuexp
