// residual_norm: a sum of two matrices and its LayerNorm or RMSNorm, row by row.
//
// The question: what does it cost to add by a kernel of its own? In a transformer a layer's result
// is added to its input, the sum is kept for the next layer, and its norm is what goes on. Two
// kernels write the sum and read it again; one kernel has it in registers when it writes it. Both
// are bound by bytes, so that the answer is a count of passes over memory: five, or four.
#include "kernels/common/pairwise.cuh"
#include "kernels/common/row_norm.cuh"

namespace gpuexp::residual_norm {

using Problem = NormProblem;

struct Data {
  void* x;
  void* residual;
  void* gamma;
  void* beta;
  void* sum;         // x + residual, rounded as it is stored
  void* normed;      // the norm of that
  void* copied;      // of `copies` alone
  void* copied_too;  // the residual
};

// ---- add_then_norm: two kernels
//
// The sum is written by one kernel and read by the other one, from DRAM where it is larger than L2:
// three reads and two writes of a matrix. The second kernel holds each row in the registers of a
// block, as normalization/registers does.

// With x, the sum in place of it where kAdds is false.
template <Norm kNorm, bool kAdds, class T, int kW, int kElements>
__global__ void __launch_bounds__(kMostRowThreads)
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
  weigh<kNorm>(part, TwoWaits::find<kNorm>(group, part, 0.0f), w);
  part.store(m.out(group.row));
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

Work work(const Problem& p) {
  return norm_work(p, 2, 2);
}

// Two rows are held for a while, of which a thread has room for half as many elements.
constexpr Edges kHalf = Edges::peeled;

template <bool kAdds, class NormOf, class T>
Steps launch_norm(NormOf norm, const RowMatrix<T>& m, const NormWeights<T>& w, const T* residual,
                  T* sum) {
  const RowShape shape = row_shape(m.columns, kHalf);
  return by_width(m, [&](auto width) {
    return with_part<most_elements(kHalf)>(shape.elements, Edges::whole, [&](auto count, auto) {
      return block_per_row(norm_kernel<norm, kAdds, T, width, count>, shape.threads, m, w, residual,
                           sum);
    });
  });
}

// `launch_of` gives the launch for which norm it is, a RowMatrix of x and of the norm, the weights,
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
  return held_by(v, kMostRowThreads, kHalf);
}

// ---- copies: the limit
//
// Both operands to two other matrices, 16 bytes per thread, by two kernels: as many bytes as one
// kernel has to read and to write.

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
                   auto of_sum = m;
                   of_sum.x = sum;
                   return pairwise<Plus>(m.x, residual, sum, m.rows * m.columns) +
                          launch_norm<false>(norm, of_sum, w, residual, sum);
                 });
}

// ---- fused: added on the way
//
// One kernel reads both, rounds their sum as it is stored, and goes on with it in registers: of
// three reads one is gone (dram_read_bytes falls by a third), and of two starts of a kernel one.
// Each result has the bits that two kernels give. It costs registers while both rows are there,
// which the two waits for sums have no need of.

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

constexpr int kStream = 3;  // behind those of x and the weights

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
           "What does it cost to add a residual by a kernel of its own, before a norm?");
  f.physics =
      "A sum and its norm are bound by bytes: two matrices are read, and two are written, the sum "
      "for the next layer and the norm for this one. Two kernels read the sum once more, from DRAM "
      "where it is larger than L2: five passes in place of four. One kernel keeps each row's sum "
      "in registers from its load to its norm.";
  const auto exact = [](const Problem&) { return Tolerance{}; };
  declare_norm(f)
      .input("residual", &Data::residual, matrix_type, elements)
      .output("sum", &Data::sum, matrix_type, elements, exact)
      .output("normed", &Data::normed, matrix_type, elements)
      .output("copied", &Data::copied, matrix_type, elements, exact)
      .output("copied_too", &Data::copied_too, matrix_type, elements, exact);
  f.figure("residual_norm", "share_of_copy", "A residual and its norm beside two copies",
           {{"param.norm", "norm"}});
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = norm_tolerance;
  f.tolerance_derivation = std::string(kNormDerivation) +
                           " The sum is rounded to fp32 and then as it is stored, which has one "
                           "result: it is compared bit by bit, and the norm is of that.";
  f.variants(copies(), add_then_norm(), fused());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::residual_norm
