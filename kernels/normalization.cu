// normalization: LayerNorm and RMSNorm, which bring each row of a matrix to a variance, or a mean
// square, of one, and weigh its columns.
//
// The question: how often must a norm read its input, and who keeps the weights? A row's first
// result needs its mean and its variance, and the variance by its definition needs the mean: pass
// by pass, a row is read three times. Sums of x and of x² take one pass for both, but cancel where
// the mean is large; Welford's update does not. Where a row's threads hold it in registers it is
// read once, and a copy's traffic is left. Beside it, each row needs the same weights: two more
// arrays of a row's length, which L1 serves again for each row, unless blocks stay and keep them.
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
  void* copied;  // of `copy` alone
};

constexpr int kBlock = 256;

template <Norm kNorm, class T>
__device__ T weighed(float x, const NormStatistics& s, const NormWeights<T>& w, int column) {
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
    s.mean = group.all<0>(sum, Sum()) / m.columns;
  }
  float squares = 0.0f;
  for (int i = group.thread; i < m.columns; i += kBlock) {
    const float apart = static_cast<float>(x[i]) - s.mean;
    squares += apart * apart;
  }
  s.rstd = rsqrtf(group.all<1>(squares, Sum()) / m.columns + kNormEpsilon);
  T* y = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += kBlock)
    y[i] = weighed<kNorm>(static_cast<float>(x[i]), s, w, i);
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

Work work(const Problem& p) {
  return norm_work(p, 1, 1);
}

// `launch_of` gives the launch for which norm it is, a RowMatrix, the weights and the device.
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

// ---- copy: the limit
//
// The matrix in and as many bytes out, 16 of them per thread: what a norm can reach at best.

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

// The variant, for LayerNorm alone.
Variant of_layernorm(Variant v) {
  v.unsupported = [other = v.unsupported](const Problem& p,
                                          const DeviceSpec& device) -> std::optional<std::string> {
    if (p.norm == Norm::rms) return "an RMSNorm has no mean, and its one sum cancels nothing";
    return other ? other(p, device) : std::nullopt;
  };
  return v;
}

// ---- sums: x and x² in one pass
//
// The variance is the mean of squares less the square of the mean, so that one pass finds both: two
// passes read the input in place of three (global_load_sectors). It costs digits: where the mean is
// many deviations from zero, two numbers that are nearly the same are subtracted, and what is left
// is their rounding errors. Rows whose mean may be above 1 are skipped.

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
      statistics_of<Norm::layer>(group.all<0>(sums, BothSums()), 0.0f, m.columns);
  T* y = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += kBlock)
    y[i] = weighed<Norm::layer>(static_cast<float>(x[i]), s, w, i);
}

Variant sums() {
  Variant v = variant(
      "sums", "two_pass", {{"global_load_sectors", Direction::decreases, 1.2, is_large_and_whole}},
      [](auto, auto m, const auto& w, const DeviceSpec&) {
        return block_per_row(sums_kernel<typename decltype(m)::Element>, kBlock, m, w);
      });
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.offset <= kMostSumsOffset) return std::nullopt;
    return "with a mean above 1, the difference of the mean of squares and the square of the mean "
           "loses more digits than the tolerance has";
  };
  return of_layernorm(v);
}

// ---- welford: mean and deviations in one pass
//
// Each thread keeps a mean so far and the squares of deviations from that (Welford 1962), and
// threads join theirs (Chan, Golub and LeVeque 1983): one pass, as in sums, and no digits are lost,
// whatever the mean. It costs a division per element, which is several instructions
// (warp_instructions), and three numbers in place of two in each step of the reduction.

struct Merged {
  __device__ static Moments none() { return {}; }
  __device__ Moments operator()(const Moments& a, const Moments& b) const { return merged(a, b); }
};

template <class T>
__global__ void __launch_bounds__(kBlock) welford_kernel(RowMatrix<T> m, NormWeights<T> w) {
  const BlockRow group;
  const T* x = m.in(group.row);
  Moments own;
  for (int i = group.thread; i < m.columns; i += kBlock)
    add_number(own, static_cast<float>(x[i]));
  own = group.all<0>(own, Merged());
  const NormStatistics s{own.mean, rsqrtf(own.m2 / m.columns + kNormEpsilon)};
  T* y = m.out(group.row);
  for (int i = group.thread; i < m.columns; i += kBlock)
    y[i] = weighed<Norm::layer>(static_cast<float>(x[i]), s, w, i);
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

// ---- vectors: sums about a number of the row, 16 bytes at a time
//
// One pass as in sums, of deviations from the row's first element: where that is some deviations
// from the mean, as most of a row's elements are, nothing cancels, and there is no division.
// Accesses of 16 bytes divide global_load_requests by four (bf16: by eight), those of weights as
// well. It costs that a first element far out makes sums of what it is apart, and loses digits as
// sums does. Rows that are no multiple of 16 bytes go element by element, here and below.

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
    weigh<kNorm>(part, s, w);
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
// The threads of a block hold the row as fp32 in their registers, up to 32 elements each. The mean
// comes first, then deviations from it: the definition, at no further read. What moves is what a
// copy moves; of loads, the row's and its weights' are left, so that global_load_sectors falls by a
// quarter (RMSNorm: by a third). It costs registers, and a second wait for the row's threads.

template <Norm kNorm, class Group, class Waits, class T, int kW, int kElements>
__global__ void __launch_bounds__(kMostRowThreads)
    registers_kernel(RowMatrix<T> m, NormWeights<T> w) {
  const Group group;
  const T* x = m.in(group.row);
  RowPart<T, kW, kElements / kW, Edges::whole> part(group, x, group.row < m.rows ? m.columns : 0);
  const float shift = Waits::shift_of(x, part.columns);
  part.load(x, 0.0f);
  weigh<kNorm>(part, Waits::template find<kNorm>(group, part, shift), w);
  part.store(m.out(group.row));
  group.leave();
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
  return held_by(variant("registers", "vectors",
                         {{"global_load_sectors", Direction::decreases, 1.25, is_large_and_whole},
                          {"global_load_requests", Direction::decreases, 1.25, is_large_and_whole}},
                         [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                           return launch_blocks<TwoWaits>(norm, m, w);
                         }),
                 kMostRowThreads, Edges::whole);
}

// ---- one_wait: both sums in one reduction
//
// Sums about the row's first element, as in vectors, and the row in registers: its threads wait for
// each other once in place of twice, and shared memory has one access of 8 bytes in place of two
// (shared_store_wavefronts). It costs a load of that element by all, and digits where it is far
// out. An RMSNorm has one wait in any case.

Variant one_wait() {
  return of_layernorm(
      held_by(variant("one_wait", "registers",
                      {{"shared_store_wavefronts", Direction::decreases, 1.8, is_large}},
                      [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                        return launch_blocks<OneWait>(norm, m, w);
                      }),
              kMostRowThreads, Edges::whole));
}

// ---- warp_registers: a warp has the row in its registers
//
// A warp per row, and eight rows per block: sums take shuffles alone, and neither shared memory nor
// a barrier. Short rows do not each take a block, of which an SM holds 32 and starts but few at a
// time. It costs that a row has 32 elements for each of 32 lanes at most.

Variant warp_registers() {
  return held_by(variant("warp_registers", "registers",
                         {{"shared_load_wavefronts", Direction::decreases, 10, is_large},
                          {"global_load_sectors", Direction::unchanged, 1.05, is_large_and_whole}},
                         [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                           const int elements = row_shape(m.columns, Edges::whole, kWarp).elements;
                           return launch_held<WarpRow, TwoWaits>(norm, m, w, elements,
                                                                 WarpRow::shape(m.rows, m.columns));
                         }),
                 kWarp, Edges::whole);
}

// ---- persistent: persistent blocks that keep the weights in registers
//
// Only as many blocks as are resident are launched, and each iterates over rows. A thread has the
// same columns in each row, so it loads their weights once: global_load_sectors decreases to a
// third (RMSNorm: half). A thread also loads the first element of each LayerNorm row. With two
// vectors it issues 2 + 1 = 3 loads per row instead of 2 × 3 = 6, so global_load_requests decreases
// to half. Each block loads its next row while it reduces the current one. The cost is registers
// for both rows and the weights, and on an H200 only short rows are faster than with registers.
// held: global_load_sectors = 1/3 × registers within 7 % at norm=layernorm
// held: global_load_sectors = 1/2 × registers within 7 % at norm=rmsnorm
// held: global_load_requests = 1/2 × registers within 3 % at norm=layernorm

template <Norm kNorm, class T, int kVectors>
__global__ void __launch_bounds__(kMostRowThreads)
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
    const NormStatistics s = OneWait::find<kNorm>(group, part, shift);
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
    group.again();
  }
}

constexpr int kMaxVectors = 2;  // of a thread

// Where each block has several rows, on any GPU.
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
                            m.rows, device.sm_count * (kMostRowThreads / s.block.x));
                        s.tile.x = ceil_div(m.rows * m.columns, s.grid.x);
                        return held == 1 ? launch(persistent_kernel<norm, T, 1>, s, m, w)
                                         : launch(persistent_kernel<norm, T, kMaxVectors>, s, m, w);
                      });
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (const auto reason = needs_whole_rows(p)) return reason;
    if (p.columns * element_bytes(p) <= kMostRowThreads * kMaxVectors * kWidestAccess)
      return std::nullopt;
    return "1024 threads hold two vectors of 16 bytes each, less than a row";
  };
  return v;
}

// ---- cluster: blocks of several SMs share a row
//
// Two to eight blocks hold a row in their registers, as softmax/cluster does, and join their sums
// through distributed shared memory. A row of 512 KB is read once: dram_read_bytes is half of what
// vectors reads, whose rows leave L2 before they are read again. It costs barriers of the cluster,
// and that all of its blocks start at one time.
// held: dram_read_bytes = 1/2 × vectors at rows=1024, columns=262144, dtype=bf16

Variant cluster() {
  return held_by_cluster(
      variant("cluster", "vectors",
              {{"global_load_sectors", Direction::decreases, 1.25, is_large_and_whole},
               {"dram_read_bytes", Direction::decreases, 1.5, leaves_l2}},
              [](auto norm, auto m, const auto& w, const DeviceSpec&) {
                const RowShape shape = cluster_shape(m.columns, Edges::whole);
                return launch_held<ClusterRow, OneWait>(
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
           "How often must a norm read its input, and who keeps the weights?");
  f.physics =
      "LayerNorm and RMSNorm do some ten instructions per element, so that time is bytes over "
      "bandwidth, and a copy of the same bytes is the limit. Each result needs the mean and the "
      "variance of its row: pass by pass, the row is read three times, from L2 or from DRAM. "
      "Threads that hold the row in their registers read it once. Weights are the same for all "
      "rows: they cost no bandwidth of DRAM, but loads from L1, one or two beside each of the row, "
      "unless blocks go from row to row and keep them.";
  declare_norm(f).output("y", &Data::y, matrix_type, elements);
  declare_copied(f, &Data::copied);
  f.figure("normalization", "share_of_copy", "Norms beside a copy", {{"param.dtype", "type"}});
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
