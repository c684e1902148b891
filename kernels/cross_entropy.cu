// cross_entropy: the loss of a classifier over a large vocabulary, log Σ e^x - x[label] per row of
// logits, and its gradient, softmax(x), minus 1 at the label.
//
// The question: how often must logits be read and written for a loss and its gradient? Logits are
// the largest array of a language model. If log Σ e^x is stored, one number per row, only the
// gradient is written. One kernel can compute loss and gradient while the row is in L2 or in
// registers.
#include <algorithm>
#include <cmath>

#include "kernels/common/row_family.cuh"
#include "kernels/common/row_reference.cuh"

namespace gpuexp::cross_entropy {

using Problem = RowProblem;  // rows are tokens, columns are classes

struct Data {
  void* logits;
  std::int32_t* labels;
  float* given_lse;  // log Σ e^x as input of backward: random, not from the logits
  float* loss;
  float* lse;
  void* dlogits;        // gradient of the mean of all losses
  void* dlogits_given;  // the same gradient, computed with given_lse
  void* copied;         // output of variant `copy`
};

// Operands of all rows other than the logits.
struct Rows {
  const std::int32_t* labels;
  float* loss;
  float* lse;  // output, or input of a backward pass
  float mean;  // 1 / rows: the weight of each row's loss
};

constexpr int kBlock = 256;

// ---- ops: log-probabilities in memory
//
// Each operation is a kernel. Log-softmax loads the logits for their sum and once more to store
// log-probabilities in fp32, as autocast keeps them. The second kernel reads the label's
// log-probability of each row. The third kernel loads all log-probabilities and stores the
// gradient, e^(log p), minus 1 at the label. copy loads and stores the logits' bytes once, so
// dram_write_bytes increases: in fp32 two stores and three loads replace one of each, in bf16 three
// and four, since a log-probability has 4 bytes and a logit 2.
// held: dram_write_bytes = 2 × copy within 3 % at dtype=fp32
// held: dram_read_bytes = 3 × copy within 2 % at dtype=fp32
// held: dram_write_bytes = 3 × copy within 6 % at dtype=bf16
// held: dram_read_bytes = 4 × copy within 2 % at dtype=bf16

constexpr int kInFlight = 4;  // vectors per thread
constexpr int kFloats = 4;    // fp32 elements per access of 16 bytes

template <class T>
__global__ void __launch_bounds__(kBlock) log_softmax_kernel(RowMatrix<T> m, float* log_p) {
  const BlockRow group;
  const T* x = m.in(group.row);
  const MaxSum found = max_sum_of_row<kInFlight>(group, x, m.columns);
  const float lse = found.max + logf(found.sum);
  for_parts<kFloats, kInFlight>(group, x, m.columns, -INFINITY, [&](auto& part) {
    part.each([&](float logit) { return logit - lse; });
    part.store(log_p + group.row * m.columns);
  });
}

__global__ void __launch_bounds__(kBlock)
    pick_kernel(const float* log_p, std::int64_t rows, int columns, Rows r) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (row < rows) r.loss[row] = -log_p[row * columns + r.labels[row]];
}

// Subtracts the row's weight at the label from probabilities that are scaled by this weight.
template <class Part>
__device__ void subtract_at_label(Part& part, int label, float mean) {
  part.change(label, [&](float share) { return share - mean; });
}

template <class T>
__global__ void __launch_bounds__(kBlock)
    log_p_gradient_kernel(RowMatrix<T> m, const float* log_p, Rows r) {
  const BlockRow group;
  const int label = r.labels[group.row];
  for_parts<kFloats, kInFlight>(group, log_p + group.row * m.columns, m.columns, -INFINITY,
                                [&](auto& part) {
                                  part.each([&](float log) { return fast_exp(log) * r.mean; });
                                  subtract_at_label(part, label, r.mean);
                                  part.store(m.out(group.row));
                                });
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

float mean_of(const Problem& p) {
  return 1.0f / static_cast<float>(p.rows);
}

enum class Pass { forward, backward, both };

Work work(const Problem& p, Pass pass) {
  constexpr double kOperations = 4;  // per pass: difference, e^x (2), and a sum or a product
  return row_work(p, 1, pass == Pass::forward ? 0 : 1, (pass == Pass::both ? 2 : 1) * kOperations) +
         reads<std::int32_t>(p.rows) +
         (pass == Pass::backward ? reads<float>(p.rows) : writes<float>(p.rows));
}

std::vector<std::string> outputs_of(Pass pass) {
  if (pass == Pass::forward) return {"loss", "lse"};
  if (pass == Pass::backward) return {"dlogits_given"};
  return {"loss", "dlogits"};
}

// `launch_of` returns the launch for a RowMatrix, the rows' other operands and the workspace.
template <class LaunchOf>
Variant variant(std::string id, std::string compare_to, Pass pass,
                ExpectedChangesOf<Problem> expected, LaunchOf launch_of) {
  Variant v = row_variant<Variant>(std::move(id), std::move(compare_to), outputs_of(pass),
                                   std::move(expected));
  v.work = [pass](const Problem& p) { return work(p, pass); };
  v.launch = [=](const Problem& p, const Data& d, const LaunchContext& x) {
    const bool is_given = pass == Pass::backward;
    const Rows rows{d.labels, d.loss, is_given ? d.given_lse : d.lse, mean_of(p)};
    return with_row_matrix(p, d.logits, is_given ? d.dlogits_given : d.dlogits,
                           [&](auto m) { return launch_of(m, rows, x.workspace); });
  };
  return v;
}

// ---- copy: the lower bound of both passes
//
// The kernel copies the logits, with one 16-byte load and store per thread. Its time is a lower
// bound on the time of a loss and its gradient.

Variant copy() {
  return copy_variant<Problem>(&Data::logits, &Data::copied,
                               [](const Problem& p) { return work(p, Pass::both); });
}

// True if rows have a vector for most threads.
bool has_long_rows(const Problem& p) {
  constexpr std::int64_t kManyColumns = 4096;
  return is_large(p) && p.columns >= kManyColumns;
}

Variant ops() {
  Variant v = variant("ops", "copy", Pass::both,
                      {{"dram_write_bytes", Direction::increases, 1.8, beyond_caches}},
                      [](auto m, const Rows& r, void* workspace) {
                        auto* const log_p = static_cast<float*>(workspace);
                        const float* const made = log_p;
                        const Shape s = shape_of_blocks(ceil_div(m.rows, kBlock), kBlock);
                        return block_per_row(log_softmax_kernel, kBlock, m, log_p) +
                               launch(pick_kernel, s, made, m.rows, m.columns, r) +
                               block_per_row(log_p_gradient_kernel, kBlock, m, made, r);
                      });
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return elements(p) * std::int64_t{sizeof(float)};
  };
  return v;
}

// ---- forward_scalar: one pass, one element per load
//
// The kernel computes only the loss. A block per row updates the maximum logit and the sum of e^(x
// - max) in one pass (online, as in softmax/online), and stores log Σ e^x and the loss. It reads
// the logits once and needs no other array of their size. A thread has one load in flight.

// The row's first thread stores log Σ e^x and the loss. It loads the label's logit before the other
// logits, so that this load overlaps with the pass over the row.
template <class T, class Group>
struct Loss {
  float picked = 0.0f;
  __device__ Loss(const Group& group, const T* x, const Rows& r) {
    if (group.thread == 0) picked = static_cast<float>(x[r.labels[group.row]]);
  }
  // Returns log Σ e^x.
  __device__ float store(const Group& group, const MaxSum& found, const Rows& r) const {
    const float lse = found.max + logf(found.sum);
    if (group.thread == 0) {
      r.lse[group.row] = lse;
      r.loss[group.row] = lse - picked;
    }
    return lse;
  }
};

template <class T>
__global__ void __launch_bounds__(kBlock) forward_scalar_kernel(RowMatrix<T> m, Rows r) {
  const BlockRow group;
  const T* x = m.in(group.row);
  const Loss<T, BlockRow> loss(group, x, r);
  MaxSum found = MergeMaxSum::identity();
  for (int i = group.thread; i < m.columns; i += kBlock) {
    const auto logit = static_cast<float>(x[i]);
    rescale(found, logit);
    found.sum += fast_exp(logit - found.max);
  }
  loss.store(group, group.all_reduce<0>(found, MergeMaxSum()), r);
}

Variant forward_scalar() {
  return variant("forward_scalar", "", Pass::forward, {}, [](auto m, const Rows& r, void*) {
    return block_per_row(forward_scalar_kernel, kBlock, m, r);
  });
}

// ---- forward: 16-byte vectors for rows with any alignment
//
// A thread has four vectors of 16 bytes in flight, and updates the maximum once for four vectors:
// global_load_requests falls to a quarter (bf16: an eighth), and the number of instructions
// decreases too. Rows of 50257 elements begin inside a vector, so threads load the elements at the
// ends of a row one by one. Rows padded to 50304, 393 times 128, would begin with a vector.
// held: global_load_requests = 1/4 × forward_scalar within 5 % at dtype=fp32
// held: global_load_requests = 1/8 × forward_scalar within 5 % at dtype=bf16

template <class T>
__global__ void __launch_bounds__(kBlock) forward_kernel(RowMatrix<T> m, Rows r) {
  const BlockRow group;
  const T* x = m.in(group.row);
  const Loss<T, BlockRow> loss(group, x, r);
  loss.store(group, max_sum_of_row<kInFlight>(group, x, m.columns), r);
}

Variant forward() {
  return variant(
      "forward", "forward_scalar", Pass::forward,
      {{"global_load_requests", Direction::decreases, 3, has_long_rows},
       {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}},
      [](auto m, const Rows& r, void*) { return block_per_row(forward_kernel, kBlock, m, r); });
}

// ---- backward: the gradient from log Σ e^x
//
// The kernel computes only the gradient. The probability is e^(x - lse), so elements are
// independent, and a block per row streams through the row with 16 bytes per access, as a copy
// does.

template <class T, class Group>
__device__ void store_gradient(const Group& group, const RowMatrix<T>& m, float lse,
                               const Rows& r) {
  const int label = r.labels[group.row];
  for_parts<kRowWidth<T>, kInFlight / 2>(
      group, m.in(group.row), m.columns, -INFINITY, [&](auto& part) {
        part.each([&](float logit) { return fast_exp(logit - lse) * r.mean; });
        subtract_at_label(part, label, r.mean);
        part.store(m.out(group.row));
      });
}

template <class T>
__global__ void __launch_bounds__(kBlock) backward_kernel(RowMatrix<T> m, Rows r) {
  const BlockRow group;
  store_gradient(group, m, r.lse[group.row], r);
}

Variant backward() {
  return variant("backward", "", Pass::backward, {}, [](auto m, const Rows& r, void*) {
    return block_per_row(backward_kernel, kBlock, m, r);
  });
}

// ---- separate: forward, then backward
//
// forward and backward run one after the other. The gradient is the only large array that they
// write: dram_write_bytes falls to a half (bf16: to a third). Each kernel reads the logits from
// DRAM, because L2 has evicted the first rows when the second kernel starts.
// held: dram_write_bytes = 1/2 × ops within 3 % at dtype=fp32
// held: dram_write_bytes = 1/3 × ops within 6 % at dtype=bf16

Variant separate() {
  Variant v = variant("separate", "ops", Pass::both,
                      {{"dram_write_bytes", Direction::decreases, 1.8, beyond_caches},
                       {"l2_sectors", Direction::decreases, 1.4, has_long_rows}},
                      [](auto m, const Rows& r, void*) {
                        return block_per_row(forward_kernel, kBlock, m, r) +
                               block_per_row(backward_kernel, kBlock, m, r);
                      });
  v.writes = {"loss", "lse", "dlogits"};
  return v;
}

// ---- fused_reread: one kernel; the second read hits a cache
//
// The loss is the mean over all rows, so each row's gradient is known as soon as its sum is. A
// block of 1024 threads reads its row for the sum, and again for the gradient. An SM has one or two
// such blocks. If rows have about 100 KB, they are still in L1 or L2 at the second read, and
// dram_read_bytes decreases to one read. The number of loads is unchanged. The cost is one wait per
// row, between the two reads.

constexpr int kWideBlock = 1024;

template <class T>
__global__ void __launch_bounds__(kWideBlock) fused_reread_kernel(RowMatrix<T> m, Rows r) {
  const BlockRow group;
  const T* x = m.in(group.row);
  const Loss<T, BlockRow> loss(group, x, r);
  const float lse = loss.store(group, max_sum_of_row<kInFlight / 2>(group, x, m.columns), r);
  store_gradient(group, m, lse, r);
}

// True if two rows per SM and their gradients occupy only a part of L2.
bool has_rows_in_l2(const Problem& p) {
  constexpr std::int64_t kMaxBytes = 1 << 17;
  return beyond_caches(p) && p.columns * element_bytes(p) <= kMaxBytes;
}

Variant fused_reread() {
  Variant v = variant("fused_reread", "separate", Pass::both,
                      {{"dram_read_bytes", Direction::decreases, 1.3, has_rows_in_l2},
                       {"global_load_sectors", Direction::unchanged, 1.05, has_long_rows}},
                      [](auto m, const Rows& r, void*) {
                        return block_per_row(fused_reread_kernel, kWideBlock, m, r);
                      });
  v.writes = {"loss", "lse", "dlogits"};
  return v;
}

// ---- fused_registers: the row is read once
//
// Two to eight blocks of a cluster hold a row in registers, as in softmax/cluster, and combine
// their sums through distributed shared memory. The kernel reads the logits once at every cache
// level: global_load_sectors halves, and DRAM moves the bytes of a copy regardless of the caches.
// The cost is registers and cluster barriers.

template <class T, int kElements, Edges kEdges>
__global__ void __launch_bounds__(kMaxRowThreads) fused_registers_kernel(RowMatrix<T> m, Rows r) {
  const ClusterRow group;
  const T* x = m.in(group.row);
  RowPart<T, kRowWidth<T>, kElements / kRowWidth<T>, kEdges> part(group, x, m.columns);
  const Loss<T, ClusterRow> loss(group, x, r);
  part.load(x, -INFINITY);
  const int label = r.labels[group.row];
  loss.store(group, make_softmax(group, part, r.mean), r);
  subtract_at_label(part, label, r.mean);
  part.store(m.out(group.row));
  group.sync_before_exit();
}

Variant fused_registers() {
  Variant v = variant(
      "fused_registers", "fused_reread", Pass::both,
      {{"global_load_sectors", Direction::decreases, 1.8, has_long_rows},
       {"global_load_requests", Direction::decreases, 1.3, has_long_rows}},
      [](auto m, const Rows& r, void*) {
        using T = typename decltype(m)::Element;
        const RowShape shape = cluster_shape(covered(m), edges_of(m));
        return with_part(shape.elements, edges_of(m), [&](auto count, auto edges) {
          return launch(fused_registers_kernel<T, count, edges>,
                        ClusterRow::shape(m.rows, m.columns, shape.threads, shape.blocks), m, r);
        });
      });
  v.writes = {"loss", "lse", "dlogits"};
  return fits_cluster(std::move(v));
}

// ---- inputs

constexpr double kScale = 8;  // logits are in [-8, 8)

struct Label {
  std::uint64_t seed;
  std::int64_t columns;
  __host__ __device__ std::int32_t operator()(std::int64_t i) const {
    const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
    return static_cast<std::int32_t>(bits % static_cast<std::uint64_t>(columns));
  }
};

// Random numbers near the expected log Σ e^x, at most 1 from `centre`.
struct GivenLse {
  std::uint64_t seed;
  float centre;
  __host__ __device__ float operator()(std::int64_t i) const {
    return centre + random_signed(seed, static_cast<std::uint64_t>(i));
  }
};

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const auto centre = static_cast<float>(kScale + std::log(static_cast<double>(p.columns)));
  return fill_scores(p, d.logits, kScale, stream_seed(seed, 0)) +
         fill(d.labels, p.rows, Label{stream_seed(seed, 1), p.columns}) +
         fill(d.given_lse, p.rows, GivenLse{stream_seed(seed, 2), centre});
}

// ---- the plain reference

// Reference of a row's loss or, unless is_loss, of its log Σ e^x.
template <class T>
struct ExactLoss {
  using Common = ExactMaxSum;
  const T* x;
  const std::int32_t* labels;
  std::int64_t row_columns;
  std::int64_t columns;  // number of outputs per row
  bool is_loss;
  __host__ __device__ Common common(std::int64_t row, std::int64_t first, std::int64_t step) const {
    return exact_max_sum(x + row * row_columns, row_columns, first, step);
  }
  __host__ __device__ ReferenceElement element(std::int64_t row, std::int64_t,
                                               const Common& of_row) const {
    const double lse = of_row.max + log(of_row.sum);
    const double picked = is_loss ? to_double(x[row * row_columns + labels[row]]) : 0.0;
    return {lse - picked, fabs(of_row.max) + fabs(lse) + fabs(picked)};
  }
};

// Reference of the gradient, with given_lse unless it is null.
template <class T>
struct ExactGradient {
  using Common = ExactMaxSum;
  const T* x;
  const std::int32_t* labels;
  std::int64_t columns;
  std::int64_t rows;
  const float* given_lse;
  __host__ __device__ Common common(std::int64_t row, std::int64_t first, std::int64_t step) const {
    if (given_lse) return {static_cast<double>(given_lse[row]), first == 0 ? 1.0 : 0.0};
    return ExactSoftmax<T>{x, columns}.common(row, first, step);
  }
  __host__ __device__ ReferenceElement element(std::int64_t row, std::int64_t column,
                                               const Common& of_row) const {
    const double p = ExactSoftmax<T>{x, columns}.element(row, column, of_row).value;
    const double label = labels[row] == column ? 1.0 : 0.0;
    const double mean = 1.0 / static_cast<double>(rows);
    return {(p - label) * mean, (p + label) * mean};
  }
};

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_row_matrix(p, d.logits, nullptr, [&](auto m) {
    using T = typename decltype(m)::Element;
    Steps steps;
    for (int i = 0; i < 2; ++i)
      steps += evaluate_rows(out[i], p.rows,
                             ExactLoss<T>{m.x, d.labels, p.columns, 1, /*is_loss=*/i == 0});
    for (int i = 2; i < 4; ++i)
      steps += evaluate_rows(
          out[i], p.rows,
          ExactGradient<T>{m.x, d.labels, p.columns, p.rows, i == 2 ? nullptr : d.given_lse});
    return steps + reference_of_copy(p, d.logits, out[4]);
  });
}

// Bounds derived in tolerance_derivation.
constexpr double kU = 0x1p-24;
constexpr double kRange = 2 * kScale;

Tolerance loss_tolerance(const Problem& p) {
  const double sum = max_sum_error(p.columns, kRange);
  return {6 * kU, sum, kRmsSafety * 2 * kU,
          kRmsSafety * (max_sum_rms(p.columns, kRange) + fast_exp_error(kRange))};
}

Tolerance gradient_tolerance(const Problem& p) {
  const double stored = unit_roundoff(p.dtype);
  // Differences from log Σ e^x are at most the range plus the logarithm.
  const double range = kRange + std::log(static_cast<double>(p.columns)) + 1;
  const double lse = 6 * kU * (3 * kScale + range) + max_sum_error(p.columns, kRange);
  const double probability = lse + 2 * fast_exp_error(range) + 4 * kU;
  const double rms =
      stored + max_sum_rms(p.columns, kRange) + 2 * fast_exp_error(range) + 2 * kU * range;
  return {probability + stored * (1 + probability), 0x1p-124, kRmsSafety * rms, 0.0};
}

// ---- declaration

Family declare() {
  Family f("cross_entropy", Topic::patterns,
           "How often must logits be read and written for a loss and its gradient?");
  f.physics =
      "The loss of a row of logits is log Σ e^x - x[label]. Its gradient is e^x / Σ e^x, minus 1 "
      "at the label. Both take few instructions per element, so time is bytes divided by "
      "bandwidth. The loss reads the logits once, and the gradient is as large as the logits. "
      "Log-probabilities in memory write and read as many elements again. If log Σ e^x is stored, "
      "two kernels read the logits twice. One kernel reads them once from DRAM, if the second read "
      "of a row hits L2, or if the row's threads hold it in registers.";
  const auto rows = [](const Problem& p) { return p.rows; };
  declare_rows(
      f, {4096, "number of tokens; each has a label", 50257,
          "number of classes: 50257 in GPT-2's vocabulary, 50304 padded to a multiple of 128",
          kBf16First, "type of logits and gradients; arithmetic, losses and sums are in fp32"})
      .input("logits", &Data::logits, matrix_type, elements)
      .input("labels", &Data::labels, rows)
      .input("given_lse", &Data::given_lse, rows)
      .output("loss", &Data::loss, rows, loss_tolerance)
      .output("lse", &Data::lse, rows, loss_tolerance)
      .output("dlogits", &Data::dlogits, matrix_type, elements)
      .output("dlogits_given", &Data::dlogits_given, matrix_type, elements);
  declare_copied(f, &Data::copied);
  f.plot("cross_entropy", "share_of_copy",
         "Cross entropy: throughput relative to a copy of the logits", {{"param.dtype", "type"}});
  f.inputs = inputs;
  f.reference = reference;
  f.reference_operations = [](const Problem& p) {
    return kExactExpOperations * 2 * static_cast<double>(elements(p));
  };
  f.tolerance = gradient_tolerance;
  f.tolerance_derivation =
      "u = 2^-24 (fp32), U = unit roundoff of the stored type. The relative error of the sum is an "
      "absolute error of log Σ e^x. The sum's terms are exponentials with errors of 3u·r + 2^-22 "
      "for logits within a range of r = 16 (a difference, log2(e) and their product are rounded; "
      "ex2.approx is within 2^-22, PTX ISA). Each term passes through at most columns/32 + 13 "
      "additions of u (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section "
      "4.2), and in online variants through columns/256 + 13 products with an exponential. logf is "
      "within 1 ulp (CUDA C++ Programming Guide), 2u of the logarithm. The sum with the maximum "
      "and the difference to the label's logit are rounded: 6u of the three absolute values. A "
      "probability has the error of log Σ e^x, the errors of two exponentials, and four roundings. "
      "The gradient is the probability, minus 1 at the label, divided by the number of rows, and "
      "is rounded to U. The RMS errors: max_sum_rms of row_group.cuh for a sum, the bound of an "
      "exponential, and U, because the gradients at the labels are nearly the same number and "
      "their roundings are equal. The bounds are twice the RMS errors.";
  f.variants(copy(), ops(), separate(), fused_reread(), fused_registers(), forward_scalar(),
             forward(), backward());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::cross_entropy
