// vocab_padding: the last layer of a language model, whose width is an accident of a tokenizer.
//
// The question: does it pay to compute columns that nobody wants? GPT-2's tokenizer has 50257
// tokens, an odd number. Padding to the next multiple of 64, 50304, does 0.09 % more work on rows
// that start at multiples of 128 bytes. A. Karpathy reported about 25 % for the whole training step
// of nanoGPT (3 February 2023); here the product that it changes runs alone: tokens×768 by
// 768×vocab, both row-major, so that the weights as well as the logits have the vocabulary as their
// leading dimension. (nanoGPT's forward pass reads the weights transposed, with leading dimension
// 768; its backward pass reads the gradient of the logits. Its batch is 12 × 1024 tokens.)
//
// `vocab` counts the columns that are wanted and `pad_to` says to which multiple they are stored
// and computed, so that rows at the same vocab have the same useful work: their ratio is the gain.
// The layer is no square product of the family `alignment`: it does work that is not useful, on
// purpose.
#include "kernels/common/cublas_variant.cuh"
#include "kernels/common/gemm.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::vocab_padding {

using Element = __nv_bfloat16;

// logits (tokens × columns()) = hidden (tokens × d_model) · weights (d_model × columns()),
// row-major and contiguous; weights beyond vocab are zero, and so are their logits.
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
// cublasGemmEx in bf16 with fp32 accumulation, at the shape that is stored. With an odd number of
// columns every second row starts off a multiple of 4 bytes, and the library falls back to kernels
// with narrow loads and without the newest tensor-core instructions; with pad_to = 64 it need not.
// What it costs is the padding's work and memory.

// Useful are vocab columns; the padding moves along with them.
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
           "Does padding the vocabulary pay, although it adds work?");
  f.physics =
      "The last layer's weights and logits have the vocabulary as their contiguous dimension, so "
      "its largest power-of-two divisor is the alignment of every row. Work grows with the "
      "padding, a fraction of a percent; the width of every access grows up to eightfold, and with "
      "it the choice of kernels.";
  f.extent("tokens", &Problem::tokens, 4096, 1 << 17, "rows of the logits: batch × sequence")
      .extent("d_model", &Problem::d_model, 768, kTensorCoreBoundMaxK, "width of the model")
      .extent("vocab", &Problem::vocab, 50257, 1 << 18, "columns of the logits that are wanted")
      .integer("pad_to", &Problem::pad_to, 1, 1, 256, "",
               "columns are stored and computed up to the next multiple of this; 1: contiguous");
  f.input("hidden", &Data::hidden, [](const Problem& p) { return p.tokens * p.d_model; })
      .input("weights", &Data::weights, [](const Problem& p) { return p.d_model * p.columns(); })
      .output("logits", &Data::logits, [](const Problem& p) { return p.tokens * p.columns(); });
  f.metric("columns", "", "columns stored and computed")
      .metric("divisor_pow2", "", "largest power of two that divides columns");
  f.figure("vocab_padding", "vocab_padding", "Padding the vocabulary");
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
