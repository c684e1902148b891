// Inputs and fp64 reference of attention's gradients, in a translation unit of their own: nvcc
// compiles their kernels in parallel with the family's.
#include "kernels/attention_backward/gradient_reference.cuh"

#include "kernels/common/attention_gradient_inputs.cuh"
#include "kernels/common/attention_gradient_reference.cuh"

namespace gpuexp::attention_backward {

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return with_type_and_dim(p, [&](auto in, auto) {
    using In = decltype(in);
    constexpr int kOfO = 3, kOfGradient = 4;  // streams 0 to 2 fill Q, K and V
    const auto log_sum = log_sum_of<In>(p, seed);
    return fill_operands(p, static_cast<In*>(d.q), static_cast<In*>(d.k), static_cast<In*>(d.v),
                         seed) +
           fill(static_cast<In*>(d.o), p.query_elements(),
                Uniform<In>{stream_seed(seed, kOfO), output_range(p)}) +
           fill(d.log_sum, p.rows(), log_sum) +
           fill_weights(
               static_cast<In*>(d.p), stored_weights(p),
               Weight<In>{log_sum, key_values<In>(seed), stored_pitch(p), static_cast<int>(p.group),
                          static_cast<float>(p.scale()) * kLog2E}) +
           fill_uniform(static_cast<In*>(d.d_o), p.query_elements(),
                        stream_seed(seed, kOfGradient));
  });
}

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  Steps steps;
  with_type_and_dim(p, [&](auto in, auto dim) {
    using In = decltype(in);
    const auto from = [](const void* x) { return static_cast<const In*>(x); };
    const auto evaluate = [&](Gradient of, std::size_t output, bool is_stored) {
      if (!out[output]) return;
      const ReferenceRows<In> forward{
          {from(d.q), from(d.k), from(d.v)}, heads_of(p), dim, output_bound(p, false)};
      steps +=
          evaluate_gradient(GradientRows<In>{forward, from(d.o), from(d.d_o), d.log_sum,
                                             gradient_bound(p, gradient_terms(p, of), is_stored)},
                            of, out[output]);
    };
    evaluate(Gradient::of_q, 0, false);
    evaluate(Gradient::of_k, 1, false);
    evaluate(Gradient::of_v, 2, false);
    evaluate(Gradient::of_q, 3, true);
    evaluate(Gradient::of_k, 4, true);
  });
  return steps;
}

}  // namespace gpuexp::attention_backward
