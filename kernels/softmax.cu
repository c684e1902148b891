// softmax: each row of a matrix becomes e^x divided by the row's sum of e^x.
//
// The question: how often must a softmax read its input? e^x overflows for x above 88, so the row's
// maximum is subtracted first. One pass can compute both the maximum and the sum if it rescales the
// sum whenever the maximum grows.
#include <algorithm>
#include <cmath>

#include "kernels/common/cudnn_softmax_variant.cuh"
#include "kernels/common/row_parts.cuh"
#include "kernels/softmax/reference.cuh"

namespace gpuexp::softmax {

constexpr int kBlock = 256;

// ---- naive: without the maximum
//
// A block per row sums e^x, and reads the row again to divide by the sum. It takes one pass less
// than three_pass, but fails for large scores: e^89 is infinite in fp32, and infinite sums produce
// zeros and NaNs.

template <class T>
__global__ void __launch_bounds__(kBlock) naive_kernel(RowMatrix<T> m) {
  const BlockRow group;
  const T* x = m.in(group.row);
  float sum = 0.0f;
  for (int i = group.thread; i < m.columns; i += kBlock)
    sum += fast_exp(static_cast<float>(x[i]));
  sum = group.all_reduce<0>(sum, Sum());
  T* y = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += kBlock)
    y[i] = from_float<T>(fast_exp(static_cast<float>(x[i])) / sum);
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

Work work(const Problem& p) {
  return row_work(p, 1, 1, 5);  // max, -, e^x, +, ·
}

// `launch_of` returns the launch for a RowMatrix and, if it accepts one, the device.
template <class LaunchOf>
Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
                LaunchOf launch_of) {
  Variant v =
      row_variant<Variant>(std::move(id), std::move(compare_to), {"y"}, std::move(expected));
  v.work = work;
  v.launch = [launch_of](const Problem& p, const Data& d, const LaunchContext& x) {
    return with_row_matrix(p, d.x, d.y, [&](auto m) { return launch_on(x.device, launch_of, m); });
  };
  return v;
}

// ---- copy: the lower bound
//
// The kernel copies the same bytes, with one 16-byte load and store per thread. Its time is a lower
// bound on a softmax's time.

Variant copy() {
  return copy_variant<Problem>(&Data::x, &Data::copied, work);
}

Variant naive() {
  Variant v =
      variant("naive", "copy", {{"global_load_requests", Direction::increases, 4, is_large}},
              [](auto m) { return block_per_row(naive_kernel, kBlock, m); });
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.scale + std::log(static_cast<double>(p.columns)) < kExpRange) return std::nullopt;
    return "the kernel does not subtract the maximum, and the sum of e^x overflows at these "
           "scores: results would be zeros and NaNs";
  };
  return v;
}

// ---- three_pass: passes for maximum, sum and results
//
// A block per row first computes the row's maximum. All exponents are then at most 0, so no
// exponential overflows. It costs one more pass: global_load_sectors increases from two reads of
// the input to three. L2 serves the part of a row that it still holds; longer rows are read from
// DRAM again.

template <class Group, class T>
__global__ void __launch_bounds__(kBlock) three_pass_kernel(RowMatrix<T> m) {
  const Group group;
  if (group.row >= m.rows) return;
  const T* x = m.in(group.row);
  float max = kLowestFloat;
  for (int i = group.thread; i < m.columns; i += group.threads)
    max = fmaxf(max, static_cast<float>(x[i]));
  max = group.template all_reduce<0>(max, Larger());
  float sum = 0.0f;
  for (int i = group.thread; i < m.columns; i += group.threads)
    sum += fast_exp(static_cast<float>(x[i]) - max);
  const float factor = 1.0f / group.template all_reduce<1>(sum, Sum());
  T* y = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += group.threads)
    y[i] = from_float<T>(fast_exp(static_cast<float>(x[i]) - max) * factor);
}

Variant three_pass() {
  return variant("three_pass", "naive",
                 {{"global_load_sectors", Direction::increases, 1.4, is_large}}, [](auto m) {
                   return block_per_row(three_pass_kernel<BlockRow, typename decltype(m)::Element>,
                                        kBlock, m);
                 });
}

// ---- warp_per_row: one warp per row, without barriers
//
// Each warp processes a row, and its lanes combine their values with shuffles. No warp waits at a
// barrier, and the kernel uses no shared memory. The cost is that 32 lanes process all of a long
// row, in each of three passes.

Variant three_pass_by_warps() {
  return variant("warp_per_row", "three_pass",
                 {{"shared_load_wavefronts", Direction::decreases, 10, is_large},
                  {"stalled_barrier", Direction::decreases, 10, is_large},
                  {"global_load_sectors", Direction::unchanged, 1.05, is_large}},
                 [](auto m) {
                   using T = typename decltype(m)::Element;
                   return launch(three_pass_kernel<WarpRow, T>, WarpRow::shape(m.rows, m.columns),
                                 m);
                 });
}

// ---- online: the maximum and the sum in one pass
//
// Each thread keeps the largest score so far and the sum of exponentials relative to it. A larger
// score rescales the sum by e^(old - new) (Milakov and Gimelshein, "Online normalizer calculation
// for softmax", 2018). The reduction over threads combines such pairs in the same way. Two passes
// read the input instead of three: global_load_sectors falls to two thirds. It costs a branch per
// element, and exponentials in the reduction.
// held: global_load_sectors = 2/3 × three_pass within 2 %

template <class T>
__global__ void __launch_bounds__(kBlock) online_kernel(RowMatrix<T> m) {
  const BlockRow group;
  const T* x = m.in(group.row);
  MaxSum found = MergeMaxSum::identity();
  for (int i = group.thread; i < m.columns; i += kBlock) {
    const auto score = static_cast<float>(x[i]);
    rescale(found, score);
    found.sum += fast_exp(score - found.max);
  }
  found = group.all_reduce<0>(found, MergeMaxSum());
  const float factor = 1.0f / found.sum;
  T* y = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += kBlock)
    y[i] = from_float<T>(fast_exp(static_cast<float>(x[i]) - found.max) * factor);
}

Variant online() {
  return variant("online", "three_pass",
                 {{"global_load_sectors", Direction::decreases, 1.4, is_large}},
                 [](auto m) { return block_per_row(online_kernel, kBlock, m); });
}

// ---- vectors: online with 16-byte accesses
//
// Each thread loads 16 bytes at a time and updates the maximum once per vector.
// global_load_requests falls to a quarter (bf16: an eighth), and the number of instructions
// decreases too. In rows that are not multiples of 16 bytes, threads process the elements before
// the first whole vector and after the last one individually.
// held: global_load_requests = 1/4 × online within 5 % at dtype=fp32
// held: global_load_requests = 1/8 × online within 5 % at dtype=bf16

template <class T>
__global__ void __launch_bounds__(kBlock) vectors_kernel(RowMatrix<T> m) {
  const BlockRow group;
  const T* x = m.in(group.row);
  const MaxSum found = max_sum_of_row<1>(group, x, m.columns);
  const float factor = 1.0f / found.sum;
  for_parts<kRowWidth<T>, 1>(group, x, m.columns, -INFINITY, [&](auto& part) {
    part.each([&](float score) { return fast_exp(score - found.max) * factor; });
    part.store(m.out(group.row));
  });
}

Variant vectors() {
  return variant("vectors", "online",
                 {{"global_load_requests", Direction::decreases, 1.9, is_large_and_whole},
                  {"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole}},
                 [](auto m) { return block_per_row(vectors_kernel, kBlock, m); });
}

// ---- registers: the row is read once
//
// The threads of a block hold the row as fp32 in registers, up to 32 elements each, with all loads
// in flight at once. They compute the maximum, the sum and the results from these registers:
// global_load_requests halves, and the kernel moves the same bytes as a copy. The registers limit
// an SM to 1024 threads, and a row to 32 elements for each of 1024 threads. The access width is the
// largest that divides the row: in a row of 257 elements, each access is 2 or 4 bytes wide.

// Computes a row's results from its scores with two reductions: the maximum and the sum.
struct TwoReductions {
  template <class Group, class Part>
  __device__ static void finish(const Group& group, Part& part) {
    const float max = group.template all_reduce<0>(part.combined(Larger()), Larger());
    part.each([&](float score) { return fast_exp(score - max); });
    const float factor = 1.0f / group.template all_reduce<1>(part.combined(Sum()), Sum());
    part.each([&](float power) { return power * factor; });
  }
};

template <class Group, class Waits, class T, int kW, int kElements, Edges kEdges>
__global__ void __launch_bounds__(kMaxRowThreads) registers_kernel(RowMatrix<T> m) {
  const Group group;
  const T* x = m.in(group.row);
  RowPart<T, kW, kElements / kW, kEdges> part(group, x, group.row < m.rows ? m.columns : 0);
  part.load(x, -INFINITY);
  Waits::finish(group, part);
  part.store(m.out(group.row));
  group.sync_before_exit();
}

// Launches with the widest access of at most kW elements that divides the row.
template <int kW, class M>
Steps launch_divided(const M& m) {
  using T = typename M::Element;
  if constexpr (kW > 1) {
    if (m.columns % kW != 0) return launch_divided<kW / 2>(m);
  }
  const RowShape shape = row_shape(m.columns, Edges::whole);
  return with_part(shape.elements, Edges::whole, [&](auto count, auto) {
    return block_per_row(registers_kernel<BlockRow, TwoReductions, T, kW, count, Edges::whole>,
                         shape.threads, m);
  });
}

Variant registers() {
  return fits_registers(
      variant("registers", "vectors",
              {{"global_load_requests", Direction::decreases, 1.9, is_large_and_whole},
               {"global_load_sectors", Direction::decreases, 1.9, is_large_and_whole}},
              [](auto m) { return launch_divided<kRowWidth<typename decltype(m)::Element>>(m); }),
      kMaxRowThreads, Edges::whole);
}

// ---- peeled: vector accesses for unaligned rows
//
// Aligned 16-byte vectors cover the row; the first and the last one may contain elements of
// neighbouring rows. Threads load these two vectors element by element and set elements outside the
// row to minus infinity. In rows that are not multiples of 16 bytes, global_load_requests
// decreases, for long rows by up to the vector width. The bounds checks of each vector occupy
// registers, so a thread holds 16 elements. Two threads of a row access elements one by one.

template <class Group, class Waits, int kElements, Edges kEdges, class M>
Steps launch_held(const M& m, const Shape& shape) {
  using T = typename M::Element;
  return launch(registers_kernel<Group, Waits, T, kRowWidth<T>, kElements, kEdges>, shape, m);
}
template <class Group, class Waits, class M>
Steps launch_held(const M& m, int elements, Edges of_row, const Shape& shape) {
  return with_part(elements, of_row, [&](auto count, auto edges) {
    return launch_held<Group, Waits, count, edges>(m, shape);
  });
}
template <class Waits, class M>
Steps launch_blocks(const M& m, Edges edges) {
  const RowShape shape = row_shape(covered(m), edges);
  return launch_held<BlockRow, Waits>(m, shape.elements, edges,
                                      BlockRow::shape(m.rows, m.columns, shape.threads));
}

Variant peeled() {
  const auto is_odd_and_long = [](const Problem& p) {
    return is_large(p) && p.columns % 2 != 0 && p.columns >= 4096;
  };
  return fits_registers(
      variant("peeled", "registers",
              {{"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole},
               {"global_load_requests", Direction::decreases, 1.9, is_odd_and_long}},
              [](auto m) { return launch_blocks<TwoReductions>(m, Edges::peeled); }),
      kMaxRowThreads, Edges::peeled);
}

// ---- one_wait: the maximum and the sum in one reduction
//
// Each thread computes exponentials relative to its own maximum, and the threads of a row reduce
// pairs of maximum and sum: they wait for each other once instead of twice, and shared memory has
// one access of 8 bytes instead of two (shared_store_wavefronts). Each reduction step costs two
// exponentials.

struct OneReduction {
  template <class Group, class Part>
  __device__ static void finish(const Group& group, Part& part) {
    make_softmax(group, part);
  }
};

Variant one_wait() {
  return fits_registers(variant("one_wait", "peeled",
                                {{"shared_store_wavefronts", Direction::decreases, 1.8, is_large},
                                 {"global_load_requests", Direction::unchanged, 1.05, is_large}},
                                [](auto m) { return launch_blocks<OneReduction>(m, edges_of(m)); }),
                        kMaxRowThreads);
}

// ---- warp_registers: one warp holds a row in registers
//
// Each warp processes a row, and a block eight rows. Lanes reduce with shuffles only, so the kernel
// uses no shared memory and no warp waits for another. A short row no longer needs its own block,
// of which an SM holds at most 32. The cost is a limit on rows: 32 elements for each of 32 lanes.

Variant warp_registers() {
  const auto launch_of = [](auto m) {
    const int elements = row_shape(covered(m), edges_of(m), kWarp).elements;
    return launch_held<WarpRow, TwoReductions>(m, elements, edges_of(m),
                                               WarpRow::shape(m.rows, m.columns));
  };
  return fits_registers(
      variant("warp_registers", "peeled",
              {{"shared_load_wavefronts", Direction::decreases, 10, is_large},
               {"stalled_barrier", Direction::decreases, 10, is_large},
               {"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole}},
              launch_of),
      kWarp);
}

// ---- lane_groups: several rows per warp
//
// A group of 4 to 32 lanes processes a row, with 8, 16 or 24 elements per lane; the launch selects
// the shape with the fewest idle lanes. Rows that are not multiples of 16 bytes use at most 16
// lanes, with 8 elements. A group needs fewer shuffle steps than a warp, and fewer lanes are idle:
// warp_instructions, the limit for short rows, decreases. It costs registers.

Variant lane_groups() {
  const auto has_short_rows = [](const Problem& p) { return p.rows >= 4096 && p.columns <= 128; };
  const auto launch_of = [](auto m) {
    return with_lanes(covered(m), edges_of(m), [&](auto lanes, auto elements, auto edges) {
      using Group = LaneRow<lanes>;
      return launch_held<Group, TwoReductions, elements, edges>(m, Group::shape(m.rows, m.columns));
    });
  };
  Variant v =
      variant("lane_groups", "warp_registers",
              {{"warp_instructions", Direction::decreases, 1.5, has_short_rows}}, launch_of);
  v.shown_at = {{"columns", std::int64_t{128}}};
  v.unsupported = [](const Problem& p, const DeviceSpec&) {
    return too_long_for_lanes(p.columns, p.dtype);
  };
  return v;
}

// ---- cluster: a cluster of blocks per row
//
// Two to eight blocks hold a row in registers, 8192 elements per block, or up to 32768 if eight
// blocks are too few. They read each other's partial results from distributed shared memory, in one
// reduction as in one_wait. A row of 512 KiB is read once: dram_read_bytes is half of what vectors
// reads in two passes, because rows leave L2 before the second pass. It costs cluster barriers, and
// all blocks of a cluster start and end at the same time.
// held: dram_read_bytes = 1/2 × vectors at rows=512, columns=262144, dtype=bf16

Variant cluster() {
  const auto launch_of = [](auto m) {
    const RowShape shape = cluster_shape(covered(m), edges_of(m));
    return launch_held<ClusterRow, OneReduction>(
        m, shape.elements, edges_of(m),
        ClusterRow::shape(m.rows, m.columns, shape.threads, shape.blocks));
  };
  return fits_cluster(
      variant("cluster", "vectors",
              {{"global_load_requests", Direction::decreases, 1.9, is_large_and_whole},
               {"dram_read_bytes", Direction::decreases, 1.5, exceeds_l2}},
              launch_of));
}

// ---- cluster_shared: each block's share of the row in shared memory
//
// One thread of each block issues a bulk copy of the block's share of the row, up to 128 KiB. The
// threads read the scores from shared memory for the maximum and the sum, and again for the
// results. Scores occupy few registers, so an SM holds shares of more rows: bulk copies load some
// shares while threads process others. global_load_requests decreases to zero. It costs a second
// exponential per element.

template <class T>
__global__ void __launch_bounds__(kPartThreads) cluster_shared_kernel(RowMatrix<T> m, int part) {
  extern __shared__ uint4 held[];
  __shared__ Barrier arrived;
  const ClusterRow group;
  const BlockRow block;
  const int first = group.rank * part;
  const int columns = min(part, m.columns - first);  // at least one vector
  const T* scores = reinterpret_cast<const T*>(held);
  if (threadIdx.x == 0) {
    init_barriers(&arrived, 1);
    start_bulk_load(held, m.in(group.row) + first, columns * sizeof(T), &arrived);
  }
  __syncthreads();  // the barrier is initialized for all threads
  wait_for_phase(&arrived, 0);
  MaxSum found = MergeMaxSum::identity();
  for_parts<kRowWidth<T>, 2, Edges::whole>(block, scores, columns, -INFINITY,
                                           [&](auto& part) { add_scores(found, part); });
  found = group.all_reduce<0>(found, MergeMaxSum());
  const float factor = 1.0f / found.sum;
  RowPart<T, kRowWidth<T>, 2, Edges::whole> results(block, scores, columns);
#pragma unroll 1
  for (int left = part; left > 0; left -= 2 * kPartThreads * kRowWidth<T>) {
    results.load(scores, -INFINITY);
    results.each([&](float score) { return fast_exp(score - found.max) * factor; });
    results.store(m.out(group.row) + first);
    results.own += 2 * kPartThreads;
  }
  group.sync_before_exit();
}

Variant cluster_shared() {
  const auto launch_of = [](auto m) {
    using T = typename decltype(m)::Element;
    constexpr std::int64_t kFewBytes = kPartBytes / 2, kW = kRowWidth<T>;
    int blocks = 2;
    while (blocks < kMaxClusterBlocks && m.columns * std::int64_t{sizeof(T)} > blocks * kFewBytes)
      blocks *= 2;
    const std::int64_t part = ceil_div(ceil_div(m.columns, kW), blocks) * kW;
    Shape s = ClusterRow::shape(m.rows, m.columns, kPartThreads, blocks);
    s.dynamic_shared_bytes = part * sizeof(T);
    return launch(cluster_shared_kernel<T>, s, m, static_cast<int>(part));
  };
  Variant v = variant("cluster_shared", "cluster",
                      {{"global_load_requests", Direction::decreases, 10, is_large}}, launch_of);
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (edges_of(p.columns, p.dtype) == Edges::peeled)
      return "bulk copies need rows that are multiples of 16 bytes";
    const std::int64_t bytes = p.columns * element_bytes(p);
    if (bytes < 2 * kWidestAccess) return "rows need at least 32 bytes: 16 for each of two blocks";
    const auto part = ceil_div(bytes, kMaxClusterBlocks) + 1024;
    if (part <= device.sm.shared_bytes_per_block) return std::nullopt;
    return "an eighth of a row does not fit in a block's shared memory";
  };
  return needs_capability(std::move(v), kClusterComputeCapability);
}

// ---- stored_registers: the row in registers in its stored type
//
// A register holds two bf16 or one fp32: 512 threads hold 64 KiB of a row, and two such blocks fit
// on an SM. One block computes while the other waits. The blocks of a cluster push their partial
// results to each other and do not wait until these stores are complete, as they do at the barriers
// of cluster. The cost: each pass converts the elements to fp32 again, and each element needs a
// second exponential.

template <class Group, class T>
__global__ void __launch_bounds__(kPartThreads, 2) stored_registers_kernel(RowMatrix<T> m) {
  const Group group;
  StoredRow<T, kPartVectors> row(group, m.columns);
  row.load(m.in(group.row), -INFINITY);
  sync_row_group(group);
  store_softmax(group, row, m.out(group.row));
}

Variant stored_registers() {
  const auto launch_of = [](auto m) {
    using T = typename decltype(m)::Element;
    return launch_in_parts(stored_registers_kernel<BlockRow, T>,
                           stored_registers_kernel<PushedRow, T>, m);
  };
  return fits_parts(variant(
      "stored_registers", "cluster",
      {{"global_load_requests", Direction::unchanged, 1.05, is_large_and_whole}}, launch_of));
}

// ---- bulk_ring: persistent blocks and asynchronous copies of rows
//
// One persistent block per SM, or one persistent cluster for rows above 64 KiB, loops over the
// rows. Bulk copies load up to three rows into shared memory while threads process another row in
// registers, so DRAM stays busy. global_load_requests decreases to zero. It costs shared memory.

template <class Group, class T>
__global__ void __launch_bounds__(kPartThreads, 1) bulk_ring_kernel(RowMatrix<T> m, RingRoom room) {
  extern __shared__ uint4 stages[];
  __shared__ Barrier arrivals[kMaxRingStages];
  const Group group;
  RowRing<T, 1> ring(group, m, {m.x}, room, stages, arrivals);
  StoredRow<T, kPartVectors> row(BlockRow(), ring.held);
  sync_row_group(group);
  ring.for_rows([&](auto slot) {
    row.load(ring.arrived(0), -INFINITY);
    auto part = row.place;
    row.part.widen_to(part.v);
    make_softmax<slot>(group, part);
    ring.free();
    part.store(m.out(ring.row) + ring.first);
  });
}

Variant bulk_ring() {
  const auto launch_of = [](auto m, const DeviceSpec& device) {
    using T = typename decltype(m)::Element;
    return launch_ring<1>(bulk_ring_kernel<BlockRow, T>, bulk_ring_kernel<PushedRow, T>, device, m);
  };
  return fits_ring<1>(variant("bulk_ring", "stored_registers",
                              {{"global_load_requests", Direction::decreases, 10, is_large}},
                              launch_of));
}

// ---- cudnn: the cuDNN baseline
//
// cuDNN launches its own kernels. In bf16, some errors exceed the rounding error (cuDNN 9, H200).

Variant library() {
  return cudnn_softmax_variant<Variant>(
      "y", work,
      [](const Problem& p, const Data& d) {
        return cudnn::Softmax{p.dtype, p.rows, p.columns, d.x, d.y};
      },
      DataType::bf16);
}

// ---- declaration

Family declare() {
  Family f("softmax", Topic::patterns, "How often must a softmax read its input?");
  f.physics =
      "A softmax executes about ten instructions per element. Its time is therefore bytes divided "
      "by bandwidth, and a copy of the same bytes is the lower bound. Each result needs the "
      "maximum and the sum of its row. With one pass for each, the row is read three times, from "
      "L2 or from DRAM. Threads that hold the row in registers read it once. The remaining "
      "difference is synchronization: shuffles between lanes, barriers between warps, or "
      "distributed shared memory between blocks of a cluster.";
  declare_rows(f, {131072, "number of rows; each has its own softmax", 1024, "elements per row",
                   kFp32First, "type of x and y; arithmetic is in fp32"})
      .real("scale", &Problem::scale, 8, 0, 1000, "", "scores are uniform in [-scale, scale)")
      .input("x", &Data::x, matrix_type, elements)
      .output("y", &Data::y, matrix_type, elements);
  declare_copied(f, &Data::copied);
  f.plot("softmax", "share_of_copy", "Softmax: relative throughput", {{"param.dtype", "type"}});
  f.inputs = inputs;
  f.reference = reference;
  f.reference_operations = [](const Problem& p) {
    return kExactExpOperations * 2 * static_cast<double>(elements(p));
  };
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "u = 2^-24 (fp32), U = unit roundoff of the stored type, r = range of a row's scores, at "
      "most 88, because e^-88 is below 2^-126. The relative error of an exponential is 3u·r + "
      "2^-22: a difference, log2(e) and their product are rounded, and ex2.approx is within 2^-22 "
      "(PTX ISA). The terms of the sum are positive. Each passes through at most columns/32 + 13 "
      "additions with relative error u (Higham, Accuracy and Stability of Numerical Algorithms, "
      "2nd ed., section 4.2). In online, it also passes through columns/256 + 13 products with an "
      "exponential, whose exponents sum to r. A result is an exponential times the reciprocal of "
      "the sum, with three roundings, and is rounded to U; below 2^-124 it may be 0. The RMS error "
      "combines three parts: the rounding to the stored type, 0.42·U (Knuth); the sum (max_sum_rms "
      "of row_group.cuh); and two exponentials whose errors are uniform up to their bounds. The "
      "bounds are twice the RMS error.";
  f.variants(copy(), naive(), three_pass(), three_pass_by_warps(), online(), vectors(), registers(),
             peeled(), one_wait(), warp_registers(), lane_groups(), cluster(), cluster_shared(),
             stored_registers(), bulk_ring(), library());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::softmax
