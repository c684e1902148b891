// vocab_padding: the last layer of a language model, whose width is the size of the vocabulary.
//
// The question: is it faster to compute additional columns that are not needed? GPT-2's tokenizer
// has 50257 tokens, an odd number. Padding to the next multiple of 64, 50304, adds 0.09 % of work,
// and rows then start at multiples of 128 bytes. A. Karpathy reported about 25 % for the whole
// training step of nanoGPT (3 February 2023). This family times only the product that the padding
// changes, tokens×768 by 768×vocab. Both matrices are row-major, so the vocabulary is the leading
// dimension of the weights and of the logits.
//
// `vocab` counts the needed columns, and columns are stored and computed up to the next multiple of
// `pad_to`.
#include "kernels/common/cublas_variant.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::vocab_padding {

using Element = __nv_bfloat16;

// logits (tokens × columns()) = hidden (tokens × d_model) · weights (d_model × columns()),
// row-major and contiguous; weights past column vocab are zero, and so are their logits.
struct Problem {
  std::int64_t tokens;
  std::int64_t d_model;
  std::int64_t vocab;
  std::int64_t pad_to;
  std::int64_t columns() const { return ceil_div(vocab, pad_to) * pad_to; }
};

struct Data {
  Element* hidden;
  Element* weights;
  Element* logits;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- cublas
//
// cublasGemmEx in bf16 with fp32 accumulation, at the stored shape. With an odd number of columns,
// every second row is not aligned to 4 bytes, and the library uses kernels with narrow loads and
// without the newest tensor-core instructions. With pad_to = 64 it can use faster kernels. The cost
// is the work and the memory of the padding.

// Useful work is vocab columns; the padding is loaded, computed and stored as well.
Work work(const Problem& p) {
  const auto of = [&](std::int64_t columns) {
    return gemm_work(p.tokens, columns, p.d_model, DataType::bf16, DataType::bf16,
                     Pipe::tensor_bf16_fp32);
  };
  return padded_work(of(p.vocab), of(p.columns()));
}

Variant cublas_gemm() {
  Variant v = cublas_variant<Variant>("", work, [](const Problem& p, const Data& d) {
    return cublas::Gemm{cublas::Compute::fp32,
                        DataType::bf16,
                        DataType::bf16,
                        p.tokens,
                        p.columns(),
                        p.d_model,
                        d.hidden,
                        d.weights,
                        d.logits};
  });
  v.metrics = [](const Problem& p, const DeviceSpec&) {
    const std::int64_t columns = p.columns();
    return MetricValues{{"columns", static_cast<double>(columns)},
                        {"divisor_pow2", static_cast<double>(columns & -columns)}};
  };
  return v;
}

// ---- the plain reference

GemmOperands<Element> operands(const Problem& p, const Data& d) {
  return contiguous_operands<Element>(d.hidden, d.weights, p.tokens, p.columns(), p.d_model);
}

NormBound error_bound(const Problem& p) {
  return tensor_core_bound(p.d_model, DataType::fp32, DataType::bf16);
}

// ---- declaration

Family declare() {
  Family f("vocab_padding", Topic::matrix_products,
           "Does padding the vocabulary increase throughput, although it adds work?");
  f.physics =
      "The weights and logits of the last layer have the vocabulary as their contiguous dimension, "
      "so its largest power-of-two divisor is the alignment of every row. Padding adds a fraction "
      "of a percent of work. It increases the possible width of every access up to eightfold, and "
      "the library can choose faster kernels.";
  f.extent("tokens", &Problem::tokens, 4096, 1 << 17, "rows of the logits: batch × sequence")
      .extent("d_model", &Problem::d_model, 768, kTensorCoreBoundMaxK, "width of the model")
      .extent("vocab", &Problem::vocab, 50257, 1 << 18, "needed columns of the logits")
      .integer("pad_to", &Problem::pad_to, 1, 1, 256, "",
               "padding multiple: columns are stored and computed up to the next multiple of it; 1 "
               "for no padding");
  f.input("hidden", &Data::hidden, [](const Problem& p) { return p.tokens * p.d_model; })
      .input("weights", &Data::weights, [](const Problem& p) { return p.d_model * p.columns(); })
      .output("logits", &Data::logits, [](const Problem& p) { return p.tokens * p.columns(); });
  f.metric("columns", "", "number of columns that are stored and computed")
      .metric("divisor_pow2", "", "largest power of two that divides columns");
  f.plot("vocab_padding", "vocab_padding", "Padded vocabulary: time of the output projection");
  f.outputs = [](const Problem& p) { return Extent{p.tokens, p.columns(), 1}; };
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    Steps steps;
    steps += fill_uniform(d.hidden, p.tokens * p.d_model, stream_seed(seed, 0));
    steps += fill_uniform_padded(d.weights, p.d_model * p.columns(), p.d_model, p.vocab,
                                 p.columns(), stream_seed(seed, 1));
    return steps;
  };
  set_tensor_core_reference(f, operands, error_bound);
  f.variant(cublas_gemm());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::vocab_padding
