// residual_norm: the sum of two matrices, and the LayerNorm or RMSNorm of each of its rows.
//
// The question: what does a separate kernel for the residual addition cost? In a transformer, a
// layer's result is added to its input. The sum is kept for the next layer, and its norm is the
// input of this layer's next operation.
#include "kernels/common/pairwise.cuh"
#include "kernels/common/row_norm.cuh"

namespace gpuexp::residual_norm {

using Problem = NormProblem;

struct Data {
  void* x;
  void* residual;
  void* gamma;
  void* beta;
  void* sum;         // x + residual, rounded to the stored type
  void* normed;      // the norm of the rounded sum
  void* copied;      // copy of x by variant `copies`
  void* copied_too;  // copy of the residual
};

// ---- add_then_norm: two kernels
//
// One kernel writes the sum and the other reads it, from DRAM if it is larger than L2: three reads
// and two writes of a matrix.

// If kAdds is set, the kernel adds the residual to x and stores the sum; otherwise m.x is the sum.
template <Norm kNorm, bool kAdds, class T, int kW, int kElements>
__global__ void __launch_bounds__(kMaxRowThreads)
    norm_kernel(RowMatrix<T> m, NormWeights<T> w, const T* residual, T* sum) {
  const BlockRow group;
  RowPart<T, kW, kElements / kW, Edges::whole> part(group, m.x, m.columns);
  auto other = part;
  part.load(m.in(group.row), 0.0f);
  if (kAdds) {
    const std::int64_t first = group.row * m.columns;
    other.load(residual + first, 0.0f);
    part.join(other, [](float a, float b) { return static_cast<float>(from_float<T>(a + b)); });
    part.store(sum + first);
  }
  apply_norm<kNorm>(part, TwoReductions::find<kNorm>(group, part, 0.0f), w);
  part.store(m.out(group.row));
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

Work work(const Problem& p) {
  return norm_work(p, 2, 2);
}

// A thread holds elements of x and of the residual, so it has registers for half as many of each.
constexpr Edges kHalf = Edges::peeled;

template <bool kAdds, class NormOf, class T>
Steps launch_norm(NormOf norm, const RowMatrix<T>& m, const NormWeights<T>& w, const T* residual,
                  T* sum) {
  const RowShape shape = row_shape(m.columns, kHalf);
  return by_width(m, [&](auto width) {
    return with_part<max_elements_per_thread(kHalf)>(
        shape.elements, Edges::whole, [&](auto count, auto) {
          return block_per_row(norm_kernel<norm, kAdds, T, width, count>, shape.threads, m, w,
                               residual, sum);
        });
  });
}

// `launch_of` returns the launch for a norm, a RowMatrix of x and the norm's result, the weights,
// the residual and the sum.
template <class LaunchOf>
Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
                LaunchOf launch_of) {
  Variant v = row_variant<Variant>(std::move(id), std::move(compare_to), {"sum", "normed"},
                                   std::move(expected));
  v.work = work;
  v.launch = [launch_of](const Problem& p, const Data& d, const LaunchContext&) {
    return with_row_matrix(p, d.x, d.normed, [&](auto m) {
      using T = typename decltype(m)::Element;
      return with_norm(p.norm, [&](auto norm) {
        return launch_of(norm, m, norm_weights<T>(d), static_cast<const T*>(d.residual),
                         static_cast<T*>(d.sum));
      });
    });
  };
  return fits_registers(v, kMaxRowThreads, kHalf);
}

// ---- copies: the lower bound
//
// Two kernels copy both operands, 16 bytes per thread. They load and store as many bytes as any
// implementation must.

Variant copies() {
  Variant v =
      row_variant<Variant>("copies", "", {"copied", "copied_too"}, ExpectedChangesOf<Problem>{});
  v.work = work;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const Extent tile{kCopyBlockBytes / element_bytes(p), 1, 1};
    return copy_limit(d.x, d.copied, matrix_bytes(p), tile) +
           copy_limit(d.residual, d.copied_too, matrix_bytes(p), tile);
  };
  return v;
}

Variant add_then_norm() {
  return variant("add_then_norm", "copies",
                 {{"dram_read_bytes", Direction::increases, 1.4, beyond_caches}},
                 [](auto norm, auto m, const auto& w, auto* residual, auto* sum) {
                   auto sum_matrix = m;
                   sum_matrix.x = sum;
                   return pairwise<Plus>(m.x, residual, sum, m.rows * m.columns) +
                          launch_norm<false>(norm, sum_matrix, w, residual, sum);
                 });
}

// ---- fused: addition and norm in one kernel
//
// One kernel reads both operands, rounds their sum to the stored type and keeps it in registers for
// the norm. One of three reads disappears (dram_read_bytes falls by a third), and one of two
// launches. Results are bitwise identical to the results of two kernels. It costs registers while a
// thread holds both operands.

Variant fused() {
  return variant("fused", "add_then_norm",
                 {{"dram_read_bytes", Direction::decreases, 1.4, beyond_caches},
                  {"dram_write_bytes", Direction::unchanged, 1.05, beyond_caches},
                  {"global_load_requests", Direction::decreases, 1.2, is_large_and_whole}},
                 [](auto norm, auto m, const auto& w, auto* residual, auto* sum) {
                   return launch_norm<true>(norm, m, w, residual, sum);
                 });
}

// ---- inputs

constexpr int kStream = 3;  // after the streams of x and the weights

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_norm(p, d, seed) + fill_scores(p, d.residual, 1.0, stream_seed(seed, kStream));
}

// ---- the plain reference

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_exact_norm(p, d, d.residual, [&](const auto& norm) {
    return evaluate_reference(out[0], elements(p), norm.rows) +
           evaluate_rows(out[1], p.rows, norm) + reference_of_copy(p, d.x, out[2]) +
           reference_of_copy(p, d.residual, out[3]);
  });
}

// ---- declaration

Family declare() {
  Family f("residual_norm", Topic::patterns,
           "What does a separate kernel for the residual addition before a norm cost?");
  f.physics =
      "A sum and its norm are limited by bytes: two matrices are read and two are written, the sum "
      "for the next layer and the norm for this one. Two kernels read the sum once more, from DRAM "
      "if it is larger than L2: five passes instead of four. One kernel keeps each row's sum in "
      "registers from the addition to the norm.";
  const auto exact = [](const Problem&) { return Tolerance{}; };
  declare_norm(f)
      .input("residual", &Data::residual, matrix_type, elements)
      .output("sum", &Data::sum, matrix_type, elements, exact)
      .output("normed", &Data::normed, matrix_type, elements)
      .output("copied", &Data::copied, matrix_type, elements, exact)
      .output("copied_too", &Data::copied_too, matrix_type, elements, exact);
  f.plot("residual_norm", "share_of_copy",
         "Residual addition and norm: throughput relative to two copies", {{"param.norm", "norm"}});
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = norm_tolerance;
  f.tolerance_derivation = std::string(kNormDerivation) +
                           " The sum is rounded to fp32 and then to the stored type, which has one "
                           "correct result: it is compared bit by bit, and the norm refers to the "
                           "rounded sum.";
  f.variants(copies(), add_then_norm(), fused());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::residual_norm
