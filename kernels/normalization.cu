// normalization: LayerNorm and RMSNorm. Both scale each row of a matrix to a variance, or a mean
// square, of one, and multiply each column by a weight.
//
// The question: how often must a norm read its input, and where are the weights kept? Sums of x and
// of x² need one pass for mean and variance, but cancel if the mean is large; Welford's update does
// not cancel.
#include <algorithm>
#include <cmath>

#include "kernels/common/moments.cuh"
#include "kernels/common/row_norm.cuh"

namespace gpuexp::normalization {

using Problem = NormProblem;

struct Data {
  void* x;
  void* gamma;
  void* beta;
  void* y;
  void* copied;  // output of variant `copy`
};

constexpr int kBlock = 256;

template <Norm kNorm, class T>
__device__ T apply_weights(float x, const NormStatistics& s, const NormWeights<T>& w, int column) {
  const float normed = (x - s.mean) * s.rstd * static_cast<float>(w.gamma[column]);
  return from_float<T>(kNorm == Norm::layer ? normed + static_cast<float>(w.beta[column]) : normed);
}

// ---- two_pass: the mean, then the variance
//
// A block per row computes the mean, then the mean squared deviation from it, and then the results,
// as LayerNorm is defined. Each of these steps loads the row, and the last one two weights per
// element: five loads. RMSNorm has no mean and one weight: three loads. Each load has one element,
// where copy loads 16 bytes. So global_load_requests is 5 × 4 = 20 times that of copy (bf16: 5 × 8
// = 40; RMSNorm: 12 and 24).

template <Norm kNorm, class T>
__global__ void __launch_bounds__(kBlock) two_pass_kernel(RowMatrix<T> m, NormWeights<T> w) {
  const BlockRow group;
  const T* x = m.in(group.row);
  NormStatistics s{0.0f, 0.0f};
  if (kNorm == Norm::layer) {
    float sum = 0.0f;
    for (int i = group.thread; i < m.columns; i += kBlock)
      sum += static_cast<float>(x[i]);
    s.mean = group.all_reduce<0>(sum, Sum()) / m.columns;
  }
  float squares = 0.0f;
  for (int i = group.thread; i < m.columns; i += kBlock) {
    const float deviation = static_cast<float>(x[i]) - s.mean;
    squares += deviation * deviation;
  }
  s.rstd = rsqrtf(group.all_reduce<1>(squares, Sum()) / m.columns + kNormEpsilon);
  T* y = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += kBlock)
    y[i] = apply_weights<kNorm>(static_cast<float>(x[i]), s, w, i);
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

Work work(const Problem& p) {
  return norm_work(p, 1, 1);
}

// `launch_of` returns the launch for a norm, a RowMatrix, the weights and the device.
template <class LaunchOf>
Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
                LaunchOf launch_of) {
  Variant v =
      row_variant<Variant>(std::move(id), std::move(compare_to), {"y"}, std::move(expected));
  v.work = work;
  v.launch = [launch_of](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_row_matrix(p, d.x, d.y, [&](auto m) {
      const auto w = norm_weights<typename decltype(m)::Element>(d);
      return with_norm(p.norm, [&](auto norm) { return launch_of(norm, m, w, context.device); });
    });
  };
  return v;
}

// ---- copy: the lower bound
//
// The kernel copies the matrix, 16 bytes per thread. Its time is a lower bound on a norm's time.

Variant copy() {
  return copy_variant<Problem>(&Data::x, &Data::copied, work);
}

Variant two_pass() {
  return variant("two_pass", "copy",
                 {{"global_load_requests", Direction::increases, 6, is_large_and_whole}},
                 [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                   using T = typename decltype(m)::Element;
                   return block_per_row(two_pass_kernel<norm, T>, kBlock, m, w);
                 });
}

Variant of_layernorm(Variant v) {
  v.unsupported = [other = v.unsupported](const Problem& p,
                                          const DeviceSpec& device) -> std::optional<std::string> {
    if (p.norm == Norm::rms)
      return "needs norm=layernorm: an RMSNorm has no mean, and its single sum does not cancel";
    return other ? other(p, device) : std::nullopt;
  };
  return v;
}

// ---- sums: x and x² in one pass
//
// The variance is the mean of squares minus the square of the mean, so one pass computes both sums:
// two passes read the input instead of three (global_load_sectors). It costs precision. If the mean
// is many deviations from zero, the kernel subtracts two nearly equal numbers, and mostly their
// rounding errors remain. Problems with a mean above 1 are skipped.

template <class T>
__global__ void __launch_bounds__(kBlock) sums_kernel(RowMatrix<T> m, NormWeights<T> w) {
  const BlockRow group;
  const T* x = m.in(group.row);
  TwoSums sums{0.0f, 0.0f};
  for (int i = group.thread; i < m.columns; i += kBlock) {
    const float value = static_cast<float>(x[i]);
    sums.a += value;
    sums.b += value * value;
  }
  const NormStatistics s =
      statistics_of<Norm::layer>(group.all_reduce<0>(sums, SumPairs()), 0.0f, m.columns);
  T* y = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += kBlock)
    y[i] = apply_weights<Norm::layer>(static_cast<float>(x[i]), s, w, i);
}

Variant sums() {
  Variant v = variant(
      "sums", "two_pass", {{"global_load_sectors", Direction::decreases, 1.2, is_large_and_whole}},
      [](auto, auto m, const auto& w, const DeviceSpec&) {
        return block_per_row(sums_kernel<typename decltype(m)::Element>, kBlock, m, w);
      });
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.offset <= kMaxSumsOffset) return std::nullopt;
    return "needs offset <= 1: with a larger mean, the difference between the mean of squares and "
           "the square of the mean loses more digits than the tolerance allows";
  };
  return of_layernorm(v);
}

// ---- welford: mean and deviations in one pass
//
// Each thread keeps a running mean and the sum of squared deviations from it (Welford 1962), and
// the reduction merges the threads' values (Chan, Golub and LeVeque 1983). This takes one pass, as
// in sums, but loses no digits for any mean. It costs a division per element, which is several
// instructions (warp_instructions), and three numbers instead of two in each reduction step.

struct Merged {
  __device__ static Moments identity() { return {}; }
  __device__ Moments operator()(const Moments& a, const Moments& b) const { return merged(a, b); }
};

template <class T>
__global__ void __launch_bounds__(kBlock) welford_kernel(RowMatrix<T> m, NormWeights<T> w) {
  const BlockRow group;
  const T* x = m.in(group.row);
  Moments own;
  for (int i = group.thread; i < m.columns; i += kBlock)
    add_value(own, static_cast<float>(x[i]));
  own = group.all_reduce<0>(own, Merged());
  const NormStatistics s{own.mean, rsqrtf(own.m2 / m.columns + kNormEpsilon)};
  T* y = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += kBlock)
    y[i] = apply_weights<Norm::layer>(static_cast<float>(x[i]), s, w, i);
}

Variant welford() {
  return of_layernorm(variant("welford", "sums",
                              {{"warp_instructions", Direction::increases, 1.5, is_large},
                               {"global_load_sectors", Direction::unchanged, 1.05, is_large}},
                              [](auto, auto m, const auto& w, const DeviceSpec&) {
                                return block_per_row(welford_kernel<typename decltype(m)::Element>,
                                                     kBlock, m, w);
                              }));
}

// ---- vectors: sums about the row's first element, 16-byte accesses
//
// One pass sums deviations from the row's first element and their squares. If that element is
// within some deviations of the mean, as most elements are, the sums do not cancel; if it is an
// outlier, they lose digits, as in sums. Accesses of 16 bytes divide global_load_requests by four
// (bf16: by eight), for the weights as well. Here and below, rows that are not multiples of 16
// bytes are accessed element by element.

template <Norm kNorm, int kW, class T>
__global__ void __launch_bounds__(kBlock) vectors_kernel(RowMatrix<T> m, NormWeights<T> w) {
  const BlockRow group;
  const T* x = m.in(group.row);
  const auto shift = static_cast<float>(*x);
  TwoSums own{0.0f, 0.0f};
  for_parts<kW, 1, Edges::whole>(group, x, m.columns, 0.0f,
                                 [&](auto& part) { add_part<kNorm>(own, part, shift); });
  const NormStatistics s = joined<kNorm>(group, own, shift, m.columns);
  for_parts<kW, 1, Edges::whole>(group, x, m.columns, 0.0f, [&](auto& part) {
    apply_norm<kNorm>(part, s, w);
    part.store(m.out(group.row));
  });
}

bool is_large_layernorm(const Problem& p) {
  return is_large_and_whole(p) && p.norm == Norm::layer;
}

Variant vectors() {
  return variant("vectors", "two_pass",
                 {{"global_load_requests", Direction::decreases, 3, is_large_and_whole},
                  {"global_load_sectors", Direction::decreases, 1.2, is_large_layernorm}},
                 [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                   using T = typename decltype(m)::Element;
                   return by_width(m, [&](auto width) {
                     return block_per_row(vectors_kernel<norm, width, T>, kBlock, m, w);
                   });
                 });
}

// ---- registers: the row is read once
//
// The threads of a block hold the row as fp32 in registers, up to 32 elements each. They compute
// the mean, then the deviations from it, without a second load of the row. It loads the row and its
// weights once, so global_load_sectors falls by a quarter (RMSNorm: by a third). It costs
// registers, and the row's threads wait for each other a second time.

template <Norm kNorm, class Group, class Waits, class T, int kW, int kElements>
__global__ void __launch_bounds__(kMaxRowThreads)
    registers_kernel(RowMatrix<T> m, NormWeights<T> w) {
  const Group group;
  const T* x = m.in(group.row);
  RowPart<T, kW, kElements / kW, Edges::whole> part(group, x, group.row < m.rows ? m.columns : 0);
  const float shift = Waits::shift_of(x, part.columns);
  part.load(x, 0.0f);
  apply_norm<kNorm>(part, Waits::template find<kNorm>(group, part, shift), w);
  part.store(m.out(group.row));
  group.sync_before_exit();
}

template <class Group, class Waits, class NormOf, class M, class Weights>
Steps launch_held(NormOf norm, const M& m, const Weights& w, int elements, const Shape& shape) {
  using T = typename M::Element;
  return by_width(m, [&](auto width) {
    return with_part(elements, Edges::whole, [&](auto count, auto) {
      return launch(registers_kernel<norm, Group, Waits, T, width, count>, shape, m, w);
    });
  });
}
template <class Waits, class NormOf, class M, class Weights>
Steps launch_blocks(NormOf norm, const M& m, const Weights& w) {
  const RowShape shape = row_shape(m.columns, Edges::whole);
  return launch_held<BlockRow, Waits>(norm, m, w, shape.elements,
                                      BlockRow::shape(m.rows, m.columns, shape.threads));
}

Variant registers() {
  return fits_registers(
      variant("registers", "vectors",
              {{"global_load_sectors", Direction::decreases, 1.25, is_large_and_whole},
               {"global_load_requests", Direction::decreases, 1.25, is_large_and_whole}},
              [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                return launch_blocks<TwoReductions>(norm, m, w);
              }),
      kMaxRowThreads, Edges::whole);
}

// ---- one_wait: both sums in one reduction
//
// The threads hold the row in registers and sum deviations from its first element, as in vectors.
// They wait for each other once instead of twice, and shared memory has one access of 8 bytes
// instead of two (shared_store_wavefronts). All threads load the first element, and digits are lost
// if it is an outlier.

Variant one_wait() {
  return of_layernorm(
      fits_registers(variant("one_wait", "registers",
                             {{"shared_store_wavefronts", Direction::decreases, 1.8, is_large}},
                             [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                               return launch_blocks<OneReduction>(norm, m, w);
                             }),
                     kMaxRowThreads, Edges::whole));
}

// ---- warp_registers: one warp holds a row in registers
//
// Each warp processes a row, and a block eight rows: lanes reduce with shuffles only, without
// shared memory or barriers. A short row no longer needs its own block, of which an SM holds 32.
// The cost is a limit on rows: 32 elements for each of 32 lanes.

Variant warp_registers() {
  return fits_registers(
      variant("warp_registers", "registers",
              {{"shared_load_wavefronts", Direction::decreases, 10, is_large},
               {"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole}},
              [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                const int elements = row_shape(m.columns, Edges::whole, kWarp).elements;
                return launch_held<WarpRow, TwoReductions>(norm, m, w, elements,
                                                           WarpRow::shape(m.rows, m.columns));
              }),
      kWarp, Edges::whole);
}

// ---- persistent: persistent blocks that keep the weights in registers
//
// Only as many blocks as can be resident are launched, and each iterates over rows. A thread has
// the same columns in each row, so it loads their weights once: global_load_sectors decreases to a
// third (RMSNorm: half). A thread also loads the first element of each LayerNorm row. With two
// vectors it issues 2 + 1 = 3 loads per row instead of 2 × 3 = 6, so global_load_requests decreases
// to half. Each block loads its next row while it reduces the current one. The cost is registers
// for both rows and the weights, and on an H200 only short rows are faster than with registers.
// held: global_load_sectors = 1/3 × registers within 7 % at norm=layernorm
// held: global_load_sectors = 1/2 × registers within 7 % at norm=rmsnorm
// held: global_load_requests = 1/2 × registers within 3 % at norm=layernorm

template <Norm kNorm, class T, int kVectors>
__global__ void __launch_bounds__(kMaxRowThreads)
    persistent_kernel(RowMatrix<T> m, NormWeights<T> w) {
  constexpr int kW = kRowWidth<T>;
  const BlockRow group;
  RowPart<T, kW, kVectors, Edges::whole> part(group, m.x, m.columns);
  StoredPart<T, kW, kVectors> gamma, beta, next;
  gamma.load(part, w.gamma);
  if (kNorm == Norm::layer) beta.load(part, w.beta);
  next.load(part, m.in(group.row));
  T first = *m.in(group.row);
#pragma unroll 1
  for (std::int64_t row = group.row; row < m.rows; row += gridDim.x) {
    next.widen_to(part.v);
    const auto shift = static_cast<float>(first);
    if (row + gridDim.x < m.rows) {
      next.load(part, m.in(row + gridDim.x));
      first = *m.in(row + gridDim.x);
    }
    const NormStatistics s = OneReduction::find<kNorm>(group, part, shift);
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      float scale[kW], above[kW];
      gamma.vectors[k].widen_to(scale);
      beta.vectors[k].widen_to(above);
#pragma unroll
      for (int i = 0; i < kW; ++i) {
        const float normed = (part.v[k][i] - s.mean) * s.rstd;
        part.v[k][i] = kNorm == Norm::layer ? fmaf(normed, scale[i], above[i]) : normed * scale[i];
      }
    }
    part.store(m.out(row));
    group.sync_before_reuse();
  }
}

constexpr int kMaxVectors = 2;  // per thread

// Problems in which each block has several rows, on any GPU.
bool has_rows_for_all(const Problem& p) {
  constexpr std::int64_t kManyRows = 1 << 15;
  return is_large_and_whole(p) && p.rows >= kManyRows;
}

Variant persistent() {
  Variant v = variant("persistent", "registers",
                      {{"global_load_requests", Direction::decreases, 1.3, has_rows_for_all},
                       {"global_load_sectors", Direction::decreases, 1.3, has_rows_for_all}},
                      [](auto norm, auto m, const auto& w, const DeviceSpec& device) {
                        using T = typename decltype(m)::Element;
                        const std::int64_t vectors = m.columns / kRowWidth<T>;
                        const int held = vectors <= kWarp ? 1 : kMaxVectors;
                        Shape s;
                        s.block.x = ceil_div(ceil_div(vectors, held), kWarp) * kWarp;
                        s.grid.x = std::min<std::int64_t>(
                            m.rows, device.sm_count * (kMaxRowThreads / s.block.x));
                        s.tile.x = ceil_div(m.rows * m.columns, s.grid.x);
                        return held == 1 ? launch(persistent_kernel<norm, T, 1>, s, m, w)
                                         : launch(persistent_kernel<norm, T, kMaxVectors>, s, m, w);
                      });
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (const auto reason = needs_whole_rows(p)) return reason;
    if (p.columns * element_bytes(p) <= kMaxRowThreads * kMaxVectors * kWidestAccess)
      return std::nullopt;
    return "a block's 1024 threads hold two 16-byte vectors each, less than a row";
  };
  return v;
}

// ---- cluster: a cluster of blocks per row
//
// Two to eight blocks hold a row in registers, as softmax/cluster does, and combine their sums
// through distributed shared memory. A row of 512 KB is read once: dram_read_bytes is half of what
// vectors reads, because rows leave L2 before the second pass. It costs cluster barriers, and all
// blocks of a cluster must start at the same time.
// held: dram_read_bytes = 1/2 × vectors at rows=1024, columns=262144, dtype=bf16

Variant cluster() {
  return fits_cluster(
      variant("cluster", "vectors",
              {{"global_load_sectors", Direction::decreases, 1.25, is_large_and_whole},
               {"dram_read_bytes", Direction::decreases, 1.5, exceeds_l2}},
              [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                const RowShape shape = cluster_shape(m.columns, Edges::whole);
                return launch_held<ClusterRow, OneReduction>(
                    norm, m, w, shape.elements,
                    ClusterRow::shape(m.rows, m.columns, shape.threads, shape.blocks));
              }),
      Edges::whole);
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_norm(p, d, seed);
}

// ---- the plain reference

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_exact_norm(p, d, nullptr, [&](const auto& rows) {
    return evaluate_rows(out[0], p.rows, rows) + reference_of_copy(p, d.x, out[1]);
  });
}

// ---- declaration

Family declare() {
  Family f("normalization", Topic::patterns,
           "How often must a norm read its input, and where are the weights kept?");
  f.physics =
      "LayerNorm and RMSNorm execute about ten instructions per element. Their time is therefore "
      "bytes divided by bandwidth, and a copy of the same bytes is the lower bound. Each result "
      "needs the mean and the variance of its row. With one pass for each, the row is read three "
      "times, from L2 or from DRAM. Threads that hold the row in registers read it once. All rows "
      "use the same weights: these cost no DRAM bandwidth, but one or two loads from L1 for each "
      "load of the row, unless persistent blocks keep them in registers.";
  declare_norm(f).output("y", &Data::y, matrix_type, elements);
  declare_copied(f, &Data::copied);
  f.plot("normalization", "share_of_copy", "Layer and RMS norm: throughput relative to a copy",
         {{"param.dtype", "type"}});
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = norm_tolerance;
  f.tolerance_derivation = kNormDerivation;
  f.variants(copy(), two_pass(), sums(), welford(), vectors(), registers(), one_wait(),
             warp_registers(), persistent(), cluster());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::normalization
