// cross_entropy: the loss of a classifier over a large vocabulary, log Σ e^x - x[label] per row of
// logits, and its gradient, softmax(x) - 1 at the label.
//
// The question: how often must logits be read and written for a loss and its gradient? A language
// model's logits are its largest array: a row of 50257 for each token. The loss needs one number
// of a row besides the label's logit, log Σ e^x, which one pass finds. The gradient needs it, too,
// and is as large as the logits. A framework that executes operations one by one writes the
// log-probabilities of all classes on the way, reads them for the loss, and again for the gradient.
// With log Σ e^x kept, nothing is written but the gradient. And where the mean of all losses is
// what is differentiated, its gradient is known before the loss is: one kernel has the row already,
// in L2 or in registers.
#include <algorithm>
#include <cmath>

#include "kernels/common/row_family.cuh"
#include "kernels/common/row_reference.cuh"

namespace gpuexp::cross_entropy {

using Problem = RowProblem;  // of tokens and classes

struct Data {
  void* logits;
  std::int32_t* labels;
  float* given_lse;  // what a backward pass by itself is given for log Σ e^x: any numbers
  float* loss;
  float* lse;
  void* dlogits;        // of the mean of all losses
  void* dlogits_given;  // the same with given_lse
  void* copied;         // of `copy` alone
};

// What a row has besides its logits.
struct Rows {
  const std::int32_t* labels;
  float* loss;
  float* lse;  // read or written
  float mean;  // 1 / rows: what each row's loss counts
};

constexpr int kBlock = 256;

// ---- ops: log-probabilities in memory
//
// Each operation is a kernel. Log-softmax loads the logits for their sum and once more to store
// log-probabilities in fp32, as autocast keeps them. The second kernel picks the label's
// log-probability, one thread per row. The third kernel loads all log-probabilities and stores the
// gradient, e^(log p), less 1 at the label. copy loads and stores the logits' bytes once, so
// dram_write_bytes increases: in fp32 two stores and three loads replace one of each, in bf16 three
// and four, since a log-probability has 4 bytes and a logit 2.
// held: dram_write_bytes = 2 × copy within 3 % at dtype=fp32
// held: dram_read_bytes = 3 × copy within 2 % at dtype=fp32
// held: dram_write_bytes = 3 × copy within 6 % at dtype=bf16
// held: dram_read_bytes = 4 × copy within 2 % at dtype=bf16

constexpr int kInFlight = 4;  // vectors of a thread
constexpr int kFloats = 4;    // elements where 16 bytes of fp32 are read or written

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

// The gradient, of probabilities that were multiplied by what each row counts.
template <class Part>
__device__ void take_label(Part& part, int label, float mean) {
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
                                  take_label(part, label, r.mean);
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
  constexpr double kOperations = 4;  // of each pass: difference, e^x, and a sum or a product
  return row_work(p, 1, pass == Pass::forward ? 0 : 1, (pass == Pass::both ? 2 : 1) * kOperations) +
         reads<std::int32_t>(p.rows) +
         (pass == Pass::backward ? reads<float>(p.rows) : writes<float>(p.rows));
}

std::vector<std::string> outputs_of(Pass pass) {
  if (pass == Pass::forward) return {"loss", "lse"};
  if (pass == Pass::backward) return {"dlogits_given"};
  return {"loss", "dlogits"};
}

// `launch_of` gives the launch for a RowMatrix and what the rows have besides.
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

// ---- copy: the limit of both passes
//
// The logits in and as many bytes out, one 16-byte load and store per thread: what a loss and its
// gradient can reach at best.

Variant copy() {
  return copy_variant<Problem>(&Data::logits, &Data::copied,
                               [](const Problem& p) { return work(p, Pass::both); });
}

// Where a row has a vector for most threads.
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

// ---- forward_scalar: one pass, an element per load
//
// The loss alone. A block per row keeps the largest logit and the sum of e^(x - max) as it goes
// (online, as softmax/online does), and stores log Σ e^x and the loss: the logits are read once,
// and nothing else of their size exists. A thread has one load in flight.

// What a row's first thread stores of it. The label's logit is asked for first: it is there when
// the row has been read.
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
  MaxSum found = Joined::none();
  for (int i = group.thread; i < m.columns; i += kBlock) {
    const auto logit = static_cast<float>(x[i]);
    raise(found, logit);
    found.sum += fast_exp(logit - found.max);
  }
  loss.store(group, group.all<0>(found, Joined()), r);
}

Variant forward_scalar() {
  return variant("forward_scalar", "", Pass::forward, {}, [](auto m, const Rows& r, void*) {
    return block_per_row(forward_scalar_kernel, kBlock, m, r);
  });
}

// ---- forward: vectors wherever rows begin
//
// A thread has four vectors of 16 bytes in flight, and looks for a larger logit once for all of
// them: global_load_requests falls to a quarter (bf16: an eighth), and instructions with it. Rows
// of 50257 elements begin within a vector; the elements at their ends go one by one. Padded to
// 50304, 393 times 128, they would not.
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
// The gradient alone: e^(x - lse) is the probability, and each element is by itself, so that a
// block per row streams through it, 16 bytes per access, as a copy does. What the forward pass kept
// is one number per row.

template <class T, class Group>
__device__ void store_gradient(const Group& group, const RowMatrix<T>& m, float lse,
                               const Rows& r) {
  const int label = r.labels[group.row];
  for_parts<kRowWidth<T>, kInFlight / 2>(
      group, m.in(group.row), m.columns, -INFINITY, [&](auto& part) {
        part.each([&](float logit) { return fast_exp(logit - lse) * r.mean; });
        take_label(part, label, r.mean);
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
// Both kernels, one after the other. Of what ops writes, the gradient is left: dram_write_bytes
// falls to a half (bf16: to a third), and the logits are read by both kernels, since L2 has long
// lost their first rows when the second kernel starts.
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

// ---- fused_reread: the second read comes from a cache
//
// The loss that is differentiated is the mean of all rows', so that each row's gradient is known as
// soon as its sum is: one kernel makes both. A block of 1024 threads goes through its row, and once
// more for the gradient. An SM has one or two such blocks. As long as rows are of some 100 KB, they
// are still in L1 or L2 when they are read again, and dram_read_bytes falls to one read. Loads are
// as many as before. It costs a wait per row between the two.

constexpr int kWideBlock = 1024;

template <class T>
__global__ void __launch_bounds__(kWideBlock) fused_reread_kernel(RowMatrix<T> m, Rows r) {
  const BlockRow group;
  const T* x = m.in(group.row);
  const Loss<T, BlockRow> loss(group, x, r);
  const float lse = loss.store(group, max_sum_of_row<kInFlight / 2>(group, x, m.columns), r);
  store_gradient(group, m, lse, r);
}

// Where two rows for each SM and what is written of them are a part of L2.
bool has_rows_in_l2(const Problem& p) {
  constexpr std::int64_t kMostBytes = 1 << 17;
  return beyond_caches(p) && p.columns * element_bytes(p) <= kMostBytes;
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
// Two to eight blocks of a cluster hold the row in their registers, as softmax/cluster does, and
// join their sums through distributed shared memory. The logits are read once, by anyone:
// global_load_sectors halves, and what moves is what a copy moves, whatever caches hold. It costs
// registers, and barriers of the cluster.

template <class T, int kElements, Edges kEdges>
__global__ void __launch_bounds__(kMostRowThreads) fused_registers_kernel(RowMatrix<T> m, Rows r) {
  const ClusterRow group;
  const T* x = m.in(group.row);
  RowPart<T, kRowWidth<T>, kElements / kRowWidth<T>, kEdges> part(group, x, m.columns);
  const Loss<T, ClusterRow> loss(group, x, r);
  part.load(x, -INFINITY);
  const int label = r.labels[group.row];
  loss.store(group, make_softmax(group, part, r.mean), r);
  take_label(part, label, r.mean);
  part.store(m.out(group.row));
  group.leave();
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
  return held_by_cluster(std::move(v));
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

// About what log Σ e^x is.
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

// Of a row: its loss, or log Σ e^x.
template <class T>
struct ExactLoss {
  using Common = ExactMaxSum;
  const T* x;
  const std::int32_t* labels;
  std::int64_t row_columns;
  std::int64_t columns;  // outputs of a row
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

// The gradient; by the given log Σ e^x where there is one.
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

// The derivation that tolerance_derivation states in words.
constexpr double kU = 0x1p-24;
constexpr double kRange = 2 * kScale;

Tolerance loss_tolerance(const Problem& p) {
  const double sum = max_sum_error(p.columns, kRange);
  return {6 * kU, sum, kRmsSafety * 2 * kU,
          kRmsSafety * (max_sum_rms(p.columns, kRange) + fast_exp_error(kRange))};
}

Tolerance gradient_tolerance(const Problem& p) {
  const double stored = unit_roundoff(p.dtype);
  // Differences from log Σ e^x are at most the range and the logarithm.
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
      "The loss of a row of logits is log Σ e^x - x[label], and its gradient e^x / Σ e^x, less 1 "
      "at the label: some instructions per element, so that time is bytes over bandwidth. The loss "
      "reads the logits once; the gradient is as large as they are. Log-probabilities in memory "
      "write and read that much again; with log Σ e^x kept, two kernels read the logits twice, and "
      "one kernel reads them once from DRAM, if the row's second read finds it in L2, or if its "
      "threads hold it in their registers.";
  const auto rows = [](const Problem& p) { return p.rows; };
  declare_rows(
      f, {4096, "tokens, each with a label", 50257,
          "classes: 50257 as GPT-2's vocabulary has, 50304 with padding to a multiple of 128",
          kBf16First, "type of logits and gradients; arithmetic, losses and sums are in fp32"})
      .input("logits", &Data::logits, matrix_type, elements)
      .input("labels", &Data::labels, rows)
      .input("given_lse", &Data::given_lse, rows)
      .output("loss", &Data::loss, rows, loss_tolerance)
      .output("lse", &Data::lse, rows, loss_tolerance)
      .output("dlogits", &Data::dlogits, matrix_type, elements)
      .output("dlogits_given", &Data::dlogits_given, matrix_type, elements);
  declare_copied(f, &Data::copied);
  f.figure("cross_entropy", "share_of_copy", "Cross entropy beside a copy of the logits",
           {{"param.dtype", "type"}});
  f.inputs = inputs;
  f.reference = reference;
  f.reference_operations = [](const Problem& p) {
    return kExactExpOperations * 2 * static_cast<double>(elements(p));
  };
  f.tolerance = gradient_tolerance;
  f.tolerance_derivation =
      "u = 2^-24 of fp32, U of the stored type. Of log Σ e^x the sum's relative error counts as it "
      "is: its terms are exponentials, off by 3u·r + 2^-22 for logits that are r = 16 apart (a "
      "difference, log2(e) and their product are rounded; ex2.approx is within 2^-22, PTX ISA), "
      "and pass at most columns/32 + 13 additions of u (Higham, Accuracy and Stability of "
      "Numerical Algorithms, 2nd ed., section 4.2), online columns/256 + 13 products by an "
      "exponential. logf is within 1 ulp (CUDA C++ Programming Guide), 2u of the logarithm, and "
      "the sum with the maximum and the difference to the label's logit are rounded: 6u of all "
      "three's absolute values. A probability is e^x by what log Σ e^x is off, by two "
      "exponentials' errors and by four roundings; the gradient is that, less 1, over the rows, "
      "rounded to U. The RMS errors: a sum's as max_sum_rms of row_group.cuh has it, an "
      "exponential's bound, and U, because the gradients at the labels are nearly the same number "
      "and are rounded alike. Twice that is allowed.";
  f.variants(copy(), ops(), separate(), fused_reread(), fused_registers(), forward_scalar(),
             forward(), backward());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::cross_entropy
