// softmax: each row of a matrix becomes e^x over the row's sum of e^x.
//
// The question: how often must a softmax read its input? e^x overflows for x above 88, so that the
// row's maximum is subtracted first, and quotients need the sum: by the definition a row is read
// for its maximum, its sum and its results. But both can be found in one go, since a sum that
// belongs to a smaller maximum is put right by a factor; and where the threads of a row have it all
// in their registers, it is read once. What is left is a copy's traffic, some instructions per
// element, and threads that wait for each other: lanes, warps or blocks, by how long rows are.
#include <algorithm>
#include <cmath>

#include "kernels/common/cudnn_softmax_variant.cuh"
#include "kernels/common/row_parts.cuh"
#include "kernels/softmax/reference.cuh"

namespace gpuexp::softmax {

constexpr int kBlock = 256;

// ---- naive: without the maximum
//
// A block per row adds up e^x, and reads the row once more for the quotients. That is the formula
// as it is written, one pass less than three_pass, and wrong where scores are large: e^89 is
// infinite in fp32, and infinite sums make zeros and NaNs. Rows whose sum may overflow are skipped.

template <class T>
__global__ void __launch_bounds__(kBlock) naive_kernel(RowMatrix<T> m) {
  const BlockRow group;
  const T* x = m.in(group.row);
  float sum = 0.0f;
  for (int i = group.thread; i < m.columns; i += kBlock)
    sum += fast_exp(static_cast<float>(x[i]));
  sum = group.all<0>(sum, Sum());
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

// `launch_of` gives the launch for a RowMatrix, where it takes one, on that device.
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

// ---- copy: the limit
//
// The same bytes in their order, one 16-byte load and store per thread. It computes nothing; its
// time is what a softmax can reach at best.

Variant copy() {
  return copy_variant<Problem>(&Data::x, &Data::copied, work);
}

Variant naive() {
  Variant v =
      variant("naive", "copy", {{"global_load_requests", Direction::increases, 4, is_large}},
              [](auto m) { return block_per_row(naive_kernel, kBlock, m); });
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.scale + std::log(static_cast<double>(p.columns)) < kExpRange) return std::nullopt;
    return "without the maximum subtracted, the sum of e^x overflows at these scores: results "
           "would be zeros and NaNs";
  };
  return v;
}

// ---- three_pass: the maximum, the sum, the quotients
//
// A block per row finds the maximum first, which makes every exponent at most 0: no score is too
// large. It costs one more pass: global_load_sectors grows from two reads of the input to three.
// L2 serves what it still has of a row; DRAM reads rows again that are longer than that.

template <class Group, class T>
__global__ void __launch_bounds__(kBlock) three_pass_kernel(RowMatrix<T> m) {
  const Group group;
  if (group.row >= m.rows) return;
  const T* x = m.in(group.row);
  float max = kLeast;
  for (int i = group.thread; i < m.columns; i += group.threads)
    max = fmaxf(max, static_cast<float>(x[i]));
  max = group.template all<0>(max, Larger());
  float sum = 0.0f;
  for (int i = group.thread; i < m.columns; i += group.threads)
    sum += fast_exp(static_cast<float>(x[i]) - max);
  const float factor = 1.0f / group.template all<1>(sum, Sum());
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

// ---- warp_per_row: lanes, and no barriers
//
// A warp has a row, and shuffles are all that its lanes need: no warp waits at a barrier, and
// shared memory has no part in it. A row of 256 elements is eight loads per lane where a block has
// one, and leaves seven of a block's eight warps less to wait for. It costs that long rows have few
// lanes: the 32 lanes of a warp go through all of the row, in each of three passes.

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
// A thread keeps the largest score so far, and the sum that belongs to it: a larger one multiplies
// the sum by e^(old - new) (Milakov and Gimelshein, "Online normalizer calculation for softmax",
// 2018). Two such pairs are joined likewise. Two passes read the input in place of three:
// global_load_sectors falls to two thirds. It costs a branch per element, and exponentials where
// pairs are joined.
// held: global_load_sectors = 2/3 × three_pass within 2 %

template <class T>
__global__ void __launch_bounds__(kBlock) online_kernel(RowMatrix<T> m) {
  const BlockRow group;
  const T* x = m.in(group.row);
  MaxSum found = Joined::none();
  for (int i = group.thread; i < m.columns; i += kBlock) {
    const auto score = static_cast<float>(x[i]);
    raise(found, score);
    found.sum += fast_exp(score - found.max);
  }
  found = group.all<0>(found, Joined());
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
// A thread takes 16 bytes at a time, and looks for a larger score once for all of them:
// global_load_requests falls to a quarter (bf16: an eighth), and instructions with it. Rows that
// are no multiple of 16 bytes begin within a vector: elements before the first whole vector and
// behind the last one go one by one.
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
// The threads of a block hold the row as fp32 in their registers, up to 32 elements each, with all
// loads in flight at once. The maximum, the sum and the results are made of what is there:
// global_load_requests halves, and what moves is what a copy moves. It costs registers, which leave
// an SM 1024 threads, and limits rows to 32 elements for each of 1024 threads. Accesses are as wide
// as the row's length divides: a row of 257 elements has 2 or 4 bytes for each.

// How the threads of a row make results of its scores: they wait for the maximum, and for the sum.
struct TwoWaits {
  template <class Group, class Part>
  __device__ static void finish(const Group& group, Part& part) {
    const float max = group.template all<0>(part.combined(Larger()), Larger());
    part.each([&](float score) { return fast_exp(score - max); });
    const float factor = 1.0f / group.template all<1>(part.combined(Sum()), Sum());
    part.each([&](float power) { return power * factor; });
  }
};

template <class Group, class Waits, class T, int kW, int kElements, Edges kEdges>
__global__ void __launch_bounds__(kMostRowThreads) registers_kernel(RowMatrix<T> m) {
  const Group group;
  const T* x = m.in(group.row);
  RowPart<T, kW, kElements / kW, kEdges> part(group, x, group.row < m.rows ? m.columns : 0);
  part.load(x, -INFINITY);
  Waits::finish(group, part);
  part.store(m.out(group.row));
  group.leave();
}

// By accesses of up to kW elements that divide the row.
template <int kW, class M>
Steps launch_divided(const M& m) {
  using T = typename M::Element;
  if constexpr (kW > 1) {
    if (m.columns % kW != 0) return launch_divided<kW / 2>(m);
  }
  const RowShape shape = row_shape(m.columns, Edges::whole);
  return with_part(shape.elements, Edges::whole, [&](auto count, auto) {
    return block_per_row(registers_kernel<BlockRow, TwoWaits, T, kW, count, Edges::whole>,
                         shape.threads, m);
  });
}

Variant registers() {
  return held_by(
      variant("registers", "vectors",
              {{"global_load_requests", Direction::decreases, 1.9, is_large_and_whole},
               {"global_load_sectors", Direction::decreases, 1.9, is_large_and_whole}},
              [](auto m) { return launch_divided<kRowWidth<typename decltype(m)::Element>>(m); }),
      kMostRowThreads, Edges::whole);
}

// ---- peeled: vectors wherever rows begin
//
// A row is covered by aligned vectors of 16 bytes, the first and the last of which it may share
// with its neighbours: those are taken element by element, and what is not the row's counts as a
// score of minus infinity. x and y begin alike, so that results lie in registers as they will in
// memory. Where rows are multiples of 16 bytes nothing is left over; where they are not,
// global_load_requests falls, by up to the width of a vector where rows are long. It costs
// comparisons per vector, whose outcomes take registers, so that a thread holds 16 elements; and
// two of a row's threads go through their elements one by one.

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
  return held_by(variant("peeled", "registers",
                         {{"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole},
                          {"global_load_requests", Direction::decreases, 1.9, is_odd_and_long}},
                         [](auto m) { return launch_blocks<TwoWaits>(m, Edges::peeled); }),
                 kMostRowThreads, Edges::peeled);
}

// ---- one_wait: the maximum and the sum in one reduction
//
// Each thread takes exponentials beside its own largest score, and the pair of it and their sum is
// what the row's threads join: they wait for each other once in place of twice, and shared memory
// has one access of 8 bytes in place of two (shared_store_wavefronts). A factor per thread puts its
// elements right. It costs two exponentials in each step of the reduction, and one at its end. Rows
// that are multiples of 16 bytes go without the comparisons for edges, here and below.

struct OneWait {
  template <class Group, class Part>
  __device__ static void finish(const Group& group, Part& part) {
    make_softmax(group, part);
  }
};

Variant one_wait() {
  return held_by(variant("one_wait", "peeled",
                         {{"shared_store_wavefronts", Direction::decreases, 1.8, is_large},
                          {"global_load_requests", Direction::unchanged, 1.05, is_large}},
                         [](auto m) { return launch_blocks<OneWait>(m, edges_of(m)); }),
                 kMostRowThreads);
}

// ---- warp_registers: a warp has the row in its registers
//
// A warp per row, and eight rows per block. Lanes combine what they found by shuffles alone: shared
// memory has no part in it, and no warp waits for another. A short row takes no block of its own,
// of which an SM holds 32 at most and starts but few at a time. It costs that a row has 32 elements
// for each of 32 lanes at most.

Variant warp_registers() {
  const auto launch_of = [](auto m) {
    const int elements = row_shape(covered(m), edges_of(m), kWarp).elements;
    return launch_held<WarpRow, TwoWaits>(m, elements, edges_of(m),
                                          WarpRow::shape(m.rows, m.columns));
  };
  return held_by(variant("warp_registers", "peeled",
                         {{"shared_load_wavefronts", Direction::decreases, 10, is_large},
                          {"stalled_barrier", Direction::decreases, 10, is_large},
                          {"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole}},
                         launch_of),
                 kWarp);
}

// ---- lane_groups: several rows per warp
//
// Four to 32 lanes have a row, with 8, 16 or 24 elements each: the shape that leaves the fewest
// without work. Rows that are no whole vectors have up to 16 lanes, with 8. Lanes combine what they
// found in fewer steps of shuffles, and more of them have elements: warp_instructions falls, which
// are what short rows wait for. It costs registers.

Variant lane_groups() {
  const auto has_short_rows = [](const Problem& p) { return p.rows >= 4096 && p.columns <= 128; };
  const auto launch_of = [](auto m) {
    return with_lanes(covered(m), edges_of(m), [&](auto lanes, auto elements, auto edges) {
      using Group = LaneRow<lanes>;
      return launch_held<Group, TwoWaits, elements, edges>(m, Group::shape(m.rows, m.columns));
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

// ---- cluster: blocks of several SMs share a row
//
// Two to eight blocks hold a row in their registers, a part of 8192 elements each, or of up to
// 32768 where eight are not enough. They join what they found by reading each other's shared memory
// (distributed shared memory), in one reduction as in one_wait. A row of 512 KiB is read once:
// dram_read_bytes is half of what two passes read, whose rows leave L2 before they are read again.
// It costs barriers of the cluster, and that all of its blocks start and end at one time.
// held: dram_read_bytes = 1/2 × vectors at rows=512, columns=262144, dtype=bf16

Variant cluster() {
  const auto launch_of = [](auto m) {
    const RowShape shape = cluster_shape(covered(m), edges_of(m));
    return launch_held<ClusterRow, OneWait>(
        m, shape.elements, edges_of(m),
        ClusterRow::shape(m.rows, m.columns, shape.threads, shape.blocks));
  };
  return held_by_cluster(
      variant("cluster", "vectors",
              {{"global_load_requests", Direction::decreases, 1.9, is_large_and_whole},
               {"dram_read_bytes", Direction::decreases, 1.5, leaves_l2}},
              launch_of));
}

// ---- cluster_shared: the parts in shared memory
//
// One thread of each block asks the copy engine for the block's part of the row, up to 128 KiB, and
// all go through it where it is, for the maximum and the sum, and again for the results. No
// register holds a score for long, so that parts of more rows fit on an SM: some are on the way
// while others are computed. global_load_requests falls to none. It costs a second exponential.

template <class T>
__global__ void __launch_bounds__(kPartThreads) cluster_shared_kernel(RowMatrix<T> m, int part) {
  extern __shared__ uint4 held[];
  __shared__ Barrier arrived;
  const ClusterRow group;
  const BlockRow block;
  const int first = group.rank * part;
  const int columns = min(part, m.columns - first);  // at least a vector
  const T* scores = reinterpret_cast<const T*>(held);
  if (threadIdx.x == 0) {
    init_barriers(&arrived, 1);
    start_bulk_load(held, m.in(group.row) + first, columns * sizeof(T), &arrived);
  }
  __syncthreads();  // all see the barrier
  wait_for_phase(&arrived, 0);
  MaxSum found = Joined::none();
  for_parts<kRowWidth<T>, 2, Edges::whole>(block, scores, columns, -INFINITY,
                                           [&](auto& part) { add_scores(found, part); });
  found = group.all<0>(found, Joined());
  const float factor = 1.0f / found.sum;
  RowPart<T, kRowWidth<T>, 2, Edges::whole> results(block, scores, columns);
#pragma unroll 1
  for (int left = part; left > 0; left -= 2 * kPartThreads * kRowWidth<T>) {
    results.load(scores, -INFINITY);
    results.each([&](float score) { return fast_exp(score - found.max) * factor; });
    results.store(m.out(group.row) + first);
    results.own += 2 * kPartThreads;
  }
  group.leave();
}

Variant cluster_shared() {
  const auto launch_of = [](auto m) {
    using T = typename decltype(m)::Element;
    constexpr std::int64_t kFewBytes = kPartBytes / 2, kW = kRowWidth<T>;
    int blocks = 2;
    while (blocks < kMostClusterBlocks && m.columns * std::int64_t{sizeof(T)} > blocks * kFewBytes)
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
      return "bulk copies take rows that are multiples of 16 bytes";
    const std::int64_t bytes = p.columns * element_bytes(p);
    if (bytes < 2 * kWidestAccess) return "each of two blocks takes 16 bytes";
    const auto part = ceil_div(bytes, kMostClusterBlocks) + 1024;
    if (part <= device.sm.shared_bytes_per_block) return std::nullopt;
    return "an eighth of a row is more than a block's shared memory holds";
  };
  return needs_capability(std::move(v), kClustersFrom);
}

// ---- stored_registers: the row in registers as it is stored
//
// A register holds two bf16 where it holds one fp32: 512 threads hold 64 KiB, a row or a part of
// one, and an SM has two such blocks. While one waits, for its row or for other blocks, the other
// one computes. Blocks of a cluster push what they found to each other: none waits until stores are
// done, as at cluster's barriers. It costs that each pass makes fp32 anew, and a second
// exponential.

template <class Group, class T>
__global__ void __launch_bounds__(kPartThreads, 2) stored_registers_kernel(RowMatrix<T> m) {
  const Group group;
  StoredRow<T, kPartVectors> row(group, m.columns);
  row.load(m.in(group.row), -INFINITY);
  meet(group);
  store_softmax(group, row, m.out(group.row));
}

Variant stored_registers() {
  const auto launch_of = [](auto m) {
    using T = typename decltype(m)::Element;
    return launch_in_parts(stored_registers_kernel<BlockRow, T>,
                           stored_registers_kernel<PushedRow, T>, m);
  };
  return held_in_parts(variant(
      "stored_registers", "cluster",
      {{"global_load_requests", Direction::unchanged, 1.05, is_large_and_whole}}, launch_of));
}

// ---- bulk_ring: rows arrive while others are computed
//
// A block per SM stays, or a cluster where rows have over 64 KiB, and goes from row to row. The
// copy engine brings up to three rows to shared memory while threads work on another in registers:
// DRAM always has something to deliver. global_load_requests falls to none. It costs shared memory.

template <class Group, class T>
__global__ void __launch_bounds__(kPartThreads, 1) bulk_ring_kernel(RowMatrix<T> m, RingRoom room) {
  extern __shared__ uint4 stages[];
  __shared__ Barrier arrivals[kMostRingStages];
  const Group group;
  RowRing<T, 1> ring(group, m, {m.x}, room, stages, arrivals);
  StoredRow<T, kPartVectors> row(BlockRow(), ring.held);
  meet(group);
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
  return held_in_ring<1>(variant("bulk_ring", "stored_registers",
                                 {{"global_load_requests", Direction::decreases, 10, is_large}},
                                 launch_of));
}

// ---- cudnn: what a library makes of it
//
// In bf16 some elements are off by more than their rounding (cuDNN 9, H200).

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
      "A softmax does some ten instructions per element, so that time is bytes over bandwidth, and "
      "a copy of the same bytes is the limit. Each element's result needs the maximum and the sum "
      "of its row: pass by pass, the row is read three times, from L2 or from DRAM. Threads that "
      "hold the row in their registers read it once. Then it counts how they wait for each other: "
      "lanes by shuffles, warps at a barrier, blocks of a cluster by shared memory.";
  declare_rows(f, {131072, "rows, each with a softmax of its own", 1024, "elements of a row",
                   kFp32First, "type of x and y; arithmetic is in fp32"})
      .real("scale", &Problem::scale, 8, 0, 1000, "", "scores are spread evenly over ± this")
      .input("x", &Data::x, matrix_type, elements)
      .output("y", &Data::y, matrix_type, elements);
  declare_copied(f, &Data::copied);
  f.figure("softmax", "share_of_copy", "Softmax beside a copy", {{"param.dtype", "type"}});
  f.inputs = inputs;
  f.reference = reference;
  f.reference_operations = [](const Problem& p) {
    return kExactExpOperations * 2 * static_cast<double>(elements(p));
  };
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "u = 2^-24 of fp32, U of the stored type, r the range of a row's scores up to 88: e^-88 is "
      "below 2^-126. An exponential is off by 3u·r + 2^-22: a difference, log2(e) "
      "and their product are rounded, and ex2.approx is within 2^-22 (PTX ISA). Each of the sum's "
      "terms, which are positive, passes at most columns/32 + 13 additions of u (Higham, Accuracy "
      "and Stability of Numerical Algorithms, 2nd ed., section 4.2) and online columns/256 + 13 "
      "products by an exponential, whose exponents add up to r. A result is an exponential, times "
      "one more over the sum, in three roundings, and that of U; below 2^-124 it may be 0. The RMS "
      "error is that of storing, 0.42·U (Knuth), of the sum (max_sum_rms of row_group.cuh) and of "
      "two exponentials, spread evenly up to their bounds. Twice that is allowed.";
  f.variants(copy(), naive(), three_pass(), three_pass_by_warps(), online(), vectors(), registers(),
             peeled(), one_wait(), warp_registers(), lane_groups(), cluster(), cluster_shared(),
             stored_registers(), bulk_ring(), library());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::softmax
