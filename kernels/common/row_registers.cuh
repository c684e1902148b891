// A row of a matrix in the registers of the threads that share it (row_group.cuh), as fp32: it is
// read once, and written once, by accesses of 16 bytes wherever it begins.
#pragma once

#include "kernels/common/float_vector.cuh"
#include "kernels/common/row_group.cuh"
#include "kernels/common/types.cuh"
#include "kernels/common/vectors.cuh"

namespace gpuexp {

constexpr int kMostRowElements = 32;  // of a thread: as fp32, half of its registers

/// How rows lie to vectors of kWidth elements.
enum class Edges {
  whole,  ///< each row begins and ends with a vector
  peeled  ///< a row may begin within a vector that is the row's before, and end likewise
};

/// The elements from `at` on, of which those outside of the row are `outside`.
template <int kWidth, class T>
__device__ void load_elements(const T* row, int at, int columns, float outside,
                              float (&v)[kWidth]) {
#pragma unroll
  for (int i = 0; i < kWidth; ++i)
    v[i] = at + i >= 0 && at + i < columns ? static_cast<float>(row[at + i]) : outside;
}

/// kVectors vectors of kWidth elements of a row: those of a thread, in turn with the others'.
template <class T, int kWidth, int kVectors, Edges kEdges>
struct RowPart {
  using Element = T;
  static constexpr int kElements = kWidth;  ///< of a vector
  static constexpr int kHeld = kVectors;
  float v[kVectors][kWidth];
  int first;    ///< element of vector 0 of the row; below 0, it begins in the row before
  int own;      ///< this thread's first vector
  int step;     ///< from one of its vectors to the next
  int columns;  ///< elements of the row

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
  /// Part of it is.
  __device__ bool is_cut(int k) const {
    return kEdges == Edges::peeled && !is_inside(k) && at(k) + kWidth > 0 && at(k) < columns;
  }

  /// Whole vectors first, all of them in flight at a time; then what is left of the row's ends.
  __device__ void load(const T* row, float outside) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        v[k][i] = outside;
      if (is_inside(k)) load_floats(row + at(k), v[k]);
    }
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
      if (is_cut(k)) load_elements(row, at(k), columns, outside, v[k]);
  }

  /// To a row of any type that begins at as many elements behind a vector as the one read.
  template <class Out>
  __device__ void store(Out* row) const {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      if (is_inside(k)) {
        store_floats(row + at(k), v[k]);
      } else if (is_cut(k)) {
#pragma unroll
        for (int i = 0; i < kWidth; ++i)
          if (at(k) + i >= 0 && at(k) + i < columns) row[at(k) + i] = from_float<Out>(v[k][i]);
      }
    }
  }

  /// v = f(v).
  template <class Function>
  __device__ void each(Function f) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        v[k][i] = f(v[k][i]);
  }
  /// v = f(v) of the row's element `place`, where this thread has it.
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
  /// v = f(v, other's v).
  template <class Function>
  __device__ void join(const RowPart& other, Function f) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        v[k][i] = f(v[k][i], other.v[k][i]);
  }
  /// Σ of the products of both parts' elements.
  __device__ float dot(const RowPart& other) const {
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        sum = fmaf(v[k][i], other.v[k][i], sum);
    return sum;
  }
  /// Of all elements, by the operation.
  template <class Operation>
  __device__ float combined(Operation operation) const {
    float result = Operation::none();
#pragma unroll
    for (int k = 0; k < kVectors; ++k)
#pragma unroll
      for (int i = 0; i < kWidth; ++i)
        result = operation(result, v[k][i]);
    return result;
  }
};

/// Calls `use` with the place in the row of each vector that is all inside of it, and its elements.
template <class Part, class Use>
__device__ __forceinline__ void for_inside(Part& part, Use use) {
#pragma unroll
  for (int k = 0; k < Part::kHeld; ++k)
    if (part.is_inside(k)) use(part.at(k), part.v[k]);
}

/// As the maximum becomes `max` or larger.
__device__ __forceinline__ void raise(MaxSum& found, float max) {
  if (max <= found.max) return;
  found.sum *= fast_exp(found.max - max);
  found.max = max;
}
/// Adds the part's elements, of which e^(x - max) is left.
template <class Part>
__device__ __forceinline__ void add_scores(MaxSum& found, Part& part) {
  raise(found, part.combined(Larger()));
  part.each([&](float score) { return fast_exp(score - found.max); });
  found.sum += part.combined(Sum());
}

/// Calls `use` with one part of the row after the other: kVectors vectors of a thread at a time.
template <int kWidth, int kVectors, Edges kEdges = Edges::peeled, class T, class Group, class Use>
__device__ __forceinline__ void for_parts(const Group& group, const T* row, int columns,
                                          float outside, Use use) {
  RowPart<T, kWidth, kVectors, kEdges> part(group, row, columns);
#pragma unroll 1
  for (; part.at(0) < columns; part.own += kVectors * part.step) {
    part.load(row, outside);
    use(part);
  }
}

/// Of a row that its threads go through, with so many vectors of 16 bytes in flight each.
template <int kVectors, class T, class Group>
__device__ MaxSum max_sum_of_row(const Group& group, const T* row, int columns) {
  MaxSum found = Joined::none();
  for_parts<static_cast<int>(kWidestAccess / sizeof(T)), kVectors>(
      group, row, columns, -INFINITY, [&](auto& part) { add_scores(found, part); });
  return group.template all<0>(found, Joined());
}

/// Of the row whose parts its threads hold, of which its softmax times `gain` is left, by one
/// reduction: each thread takes exponentials beside its own largest score, and a factor puts them
/// right.
template <int kSlot = 0, class Group, class Part>
__device__ MaxSum make_softmax(const Group& group, Part& part, float gain = 1.0f) {
  MaxSum own = Joined::none();
  add_scores(own, part);
  const MaxSum row = group.template all<kSlot>(own, Joined());
  const float factor = gain * fast_exp(own.max - row.max) / row.sum;
  part.each([&](float power) { return power * factor; });
  return row;
}

/// Elements of a vector of 16 bytes.
template <class T>
constexpr int kRowWidth = static_cast<int>(kWidestAccess / sizeof(T));

inline Edges edges_of(std::int64_t columns, DataType type) {
  const auto bytes = columns * static_cast<std::int64_t>(size_of(type));
  return bytes % kWidestAccess == 0 ? Edges::whole : Edges::peeled;
}
/// Elements that vectors hold which cover a row, wherever it begins.
inline std::int64_t covered_columns(std::int64_t columns, DataType type) {
  if (edges_of(columns, type) == Edges::whole) return columns;
  return columns + kWidestAccess / static_cast<std::int64_t>(size_of(type)) - 1;
}
/// Elements that a thread can hold: what tells edges apart takes registers, too.
constexpr int most_elements(Edges edges) {
  return edges == Edges::whole ? kMostRowElements : kMostRowElements / 2;
}

/// Which threads hold a row.
struct RowShape {
  int elements;  ///< that a thread holds: 8, 16 or 32
  int threads;   ///< of a block
  int blocks;    ///< of a cluster
};

/// Threads up to which each holds as few elements as it can, and from which on there are more.
constexpr int kFewRowThreads = 256;

/// As few elements per thread as `threads` of each block can hold, and then as few warps as do.
constexpr RowShape row_shape(std::int64_t covered, Edges edges, int threads = kFewRowThreads,
                             int blocks = 1) {
  const std::int64_t part = ceil_div(covered, blocks);
  int elements = 8;
  while (elements < most_elements(edges) && part > elements * threads)
    elements *= 2;
  const auto warps = ceil_div(ceil_div(part, elements), kWarp);
  return {elements, static_cast<int>(warps) * kWarp, blocks};
}
/// In two to eight blocks of 256 threads, as far as these are enough.
constexpr RowShape cluster_shape(std::int64_t covered, Edges edges) {
  int blocks = 2;
  while (blocks < kMostClusterBlocks && covered > blocks * kFewRowThreads * most_elements(edges))
    blocks *= 2;
  return row_shape(covered, edges, kFewRowThreads, blocks);
}

/// A reason where so many threads cannot hold a row.
inline std::optional<std::string> too_long_to_hold(std::int64_t columns, DataType type, Edges edges,
                                                   std::int64_t threads) {
  const int most = most_elements(edges);
  if (covered_columns(columns, type) <= threads * most) return std::nullopt;
  return "the registers of " + std::to_string(threads) + " threads hold " + std::to_string(most) +
         " elements each, less than the vectors that cover a row";
}

/// Calls `use` with the elements of a thread, of which there are kMost at most, and with how rows
/// lie to vectors, as constants.
template <int kMost = kMostRowElements, class Use>
Steps with_part(int elements, Edges edges, Use use) {
  const auto with_elements = [&](auto constant) {
    constexpr int kLeast = 8, kOfEdges = most_elements(constant);
    if (elements == kLeast) return use(std::integral_constant<int, kLeast>{}, constant);
    if (elements == 2 * kLeast) return use(std::integral_constant<int, 2 * kLeast>{}, constant);
    return use(std::integral_constant<int, (kMost < kOfEdges ? kMost : kOfEdges)>{}, constant);
  };
  return edges == Edges::whole ? with_elements(std::integral_constant<Edges, Edges::whole>{})
                               : with_elements(std::integral_constant<Edges, Edges::peeled>{});
}

/// So many lanes share a row, with so many elements each.
template <int kLanes, int kElements>
struct LaneShape {
  static constexpr int kHeld = kLanes * kElements;
};

/// Calls `use` with the lanes, the elements of each and the edges, as constants, of the first shape
/// that holds a row, or of the last one.
template <Edges kEdges, class Use, int kLanes, int kElements, class... Rest>
Steps with_shape(std::int64_t covered, Use use, LaneShape<kLanes, kElements> shape, Rest... rest) {
  if constexpr (sizeof...(rest) > 0) {
    if (covered > shape.kHeld) return with_shape<kEdges>(covered, use, rest...);
  }
  return use(std::integral_constant<int, kLanes>{}, std::integral_constant<int, kElements>{},
             std::integral_constant<Edges, kEdges>{});
}
/// Of rows of whole vectors, hardly more than a third of what lanes hold lies behind their ends.
template <class Use>
Steps with_lanes(std::int64_t covered, Edges edges, Use use) {
  if (edges == Edges::peeled)
    return with_shape<Edges::peeled>(covered, use, LaneShape<4, 8>{}, LaneShape<8, 8>{},
                                     LaneShape<16, 8>{});
  return with_shape<Edges::whole>(covered, use, LaneShape<4, 8>{}, LaneShape<4, 16>{},
                                  LaneShape<4, 24>{}, LaneShape<16, 8>{}, LaneShape<8, 24>{},
                                  LaneShape<32, 8>{}, LaneShape<16, 24>{}, LaneShape<32, 24>{});
}
/// A reason where that has none.
inline std::optional<std::string> too_long_for_lanes(std::int64_t columns, DataType type) {
  const bool is_whole = edges_of(columns, type) == Edges::whole;
  const int most = is_whole ? LaneShape<32, 24>::kHeld : LaneShape<16, 8>::kHeld;
  if (covered_columns(columns, type) <= most) return std::nullopt;
  return "rows of more than " + std::to_string(most) + " elements " +
         (is_whole ? "are too long for a warp's lanes" : "that are no whole vectors have a warp");
}

}  // namespace gpuexp
