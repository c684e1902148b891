// Common parts of the families of attention's forward pass: buffers, useful work, references and
// the cuDNN variant.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "gpu/cudnn.hpp"
#include "kernels/common/attention_reference.cuh"
#include "kernels/common/mma_sync.cuh"

namespace gpuexp::attention {

struct Data {
  void* q;
  void* k;
  void* v;
  void* o;
  float* log_sum;  // log Σ e^s per row, an input of the backward pass
  void* o_stored;  // output of attention/materialized, which rounds stored scores
};

template <class In>
Operands<In> operands(const Data& d) {
  return {static_cast<const In*>(d.q), static_cast<const In*>(d.k), static_cast<const In*>(d.v)};
}

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

inline std::int64_t element_bytes(const Problem& p) {
  return static_cast<std::int64_t>(size_of(p.dtype));
}

/// Floating-point operations of one matrix product, such as Q·Kᵀ: a multiply-add per element of a
/// head for each pair of a query and a key that the query attends to.
inline double product_operations(const Problem& p) {
  constexpr double kOperations = 2;
  return kOperations * static_cast<double>(p.head_dim * p.heads) *
         static_cast<double>(p.batch * attended_pairs(p));
}
inline Pipe tensor_pipe(const Problem& p) {
  return p.dtype == DataType::bf16 ? Pipe::tensor_bf16_fp32 : Pipe::tensor_fp16_fp32;
}

inline Work work(const Problem& p) {
  const std::int64_t read = (p.query_elements() + 2 * p.key_elements()) * element_bytes(p);
  const std::int64_t written =
      p.query_elements() * element_bytes(p) + p.rows() * static_cast<std::int64_t>(sizeof(float));
  constexpr double kProducts = 2;
  return moves_bytes(static_cast<double>(read), static_cast<double>(written)) +
         computes(tensor_pipe(p), kProducts * product_operations(p));
}

/// Metric peak_bytes: operands, O, log-sum-exps and `workspace` bytes.
inline MetricValues memory_of(const Problem& p, std::int64_t workspace) {
  const std::int64_t operands = 2 * (p.query_elements() + p.key_elements()) * element_bytes(p);
  const std::int64_t log_sums = p.rows() * static_cast<std::int64_t>(sizeof(float));
  return {{"peak_bytes", static_cast<double>(operands + log_sums + workspace)}};
}

inline Variant variant(std::string id, std::string compare_to,
                       ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {"o", "log_sum"};
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.deterministic = true;
  v.work = work;
  v.metrics = [](const Problem& p, const DeviceSpec&) { return memory_of(p, 0); };
  return v;
}

inline std::optional<std::string> has_no_dropout(const Problem& p, const DeviceSpec&) {
  if (p.dropout == 0) return std::nullopt;
  return "does not support dropout: attention/async_tiles and lazy_rescale do";
}

template <class Data>
cudnn::Attention cudnn_attention(const Problem& p, const Data& d) {
  return {p.dtype,
          p.batch,
          p.heads,
          p.key_heads(),
          p.queries,
          p.keys,
          p.head_dim,
          p.mask != Mask::full,
          p.mask == Mask::window ? p.window : 0,
          static_cast<float>(p.scale()),
          d.q,
          d.k,
          d.v,
          d.o,
          d.log_sum};
}

inline std::optional<std::string> lacks_cudnn_mask(const Problem& p) {
  if (p.mask == Mask::full || p.queries <= p.keys) return std::nullopt;
  return "cuDNN has no mask in which the first queries attend to no key";
}

// cuDNN issues wgmma on GPUs that support it.
inline Variant cudnn_variant() {
  Variant v = variant("cudnn", "", {});
  v.is_vendor = true;
  v.deterministic = false;
  v.metrics = {};  // cuDNN's own memory use is unknown
  v.unavailable = cudnn::unavailable;
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (const auto why = lacks_cudnn_mask(p)) return why;
    return has_no_dropout(p, device);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return cudnn::step_of(cudnn_attention(p, d));
  };
  return v;
}

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return with_type_and_dim(p, [&](auto in, auto) {
    using In = decltype(in);
    return fill_operands(p, static_cast<In*>(d.q), static_cast<In*>(d.k), static_cast<In*>(d.v),
                         seed);
  });
}

inline Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_type_and_dim(p, [&](auto in, auto dim) {
    using In = decltype(in);
    const auto rows = [&](bool is_stored) {
      return ReferenceRows<In>{operands<In>(d), heads_of(p), dim, output_bound(p, is_stored)};
    };
    return evaluate_rows(rows(false), out[0], out[1]) + evaluate_rows(rows(true), out[2], {});
  });
}

struct Sizes {
  std::int64_t heads, group, queries, keys;
};

template <class Family>
void declare_parameters(Family& f, const Sizes& sizes) {
  constexpr std::int64_t kMaxTokens = 1 << 20;
  f.integer("batch", &Problem::batch, 1, 1, 1 << 16, "", "number of sequences")
      .integer("heads", &Problem::heads, sizes.heads, 1, 4096, "",
               "number of query heads per sequence")
      .integer("group", &Problem::group, sizes.group, 1, 4096, "",
               "number of query heads that share one head of keys and values")
      .extent("queries", &Problem::queries, sizes.queries, kMaxTokens,
              "query sequence length, in tokens")
      .extent("keys", &Problem::keys, sizes.keys, kMaxTokens,
              "key/value sequence length, in tokens")
      .integer("head_dim", &Problem::head_dim, 128, 64, 128, "",
               "number of elements per head: 64, 96 or 128")
      .choice("dtype", &Problem::dtype, {{"bf16", DataType::bf16}, {"fp16", DataType::fp16}},
              "type of Q, K, V and O; sums are in fp32")
      .choice(
          "mask", &Problem::mask,
          {{"causal", Mask::causal}, {"full", Mask::full}, {"window", Mask::window}},
          "keys that a query attends to: causal, the keys up to its own position, where the last "
          "query is at the last key; full, all keys; window, the causal keys nearest to it")
      .integer("window", &Problem::window, 1024, 1, kMaxTokens, "",
               "number of keys that a query attends to if mask is window")
      .real("dropout", &Problem::dropout, 0, 0, 0.9, "", "probability that a weight becomes 0");
}

inline void declare_attention(Family& f, const Sizes& sizes) {
  declare_parameters(f, sizes);
  const auto query_elements = [](const Problem& p) { return p.query_elements(); };
  const auto key_elements = [](const Problem& p) { return p.key_elements(); };
  f.input("q", &Data::q, &Problem::dtype, query_elements)
      .input("k", &Data::k, &Problem::dtype, key_elements)
      .input("v", &Data::v, &Problem::dtype, key_elements)
      .output("o", &Data::o, &Problem::dtype, query_elements,
              [](const Problem& p) { return output_tolerance(p, false); })
      .output(
          "log_sum", &Data::log_sum, [](const Problem& p) { return p.rows(); }, log_sum_tolerance)
      .output("o_stored", &Data::o_stored, &Problem::dtype, query_elements,
              [](const Problem& p) { return output_tolerance(p, true); });
  f.metric("peak_bytes", "B", "device memory of operands, results and the workspace of a launch");
  f.outputs = [](const Problem& p) { return Extent{p.queries, p.batch * p.heads, 1}; };
  f.unsupported = [](const Problem& p, const DeviceSpec&) { return unsupported(p); };
  f.inputs = inputs;
  f.reference = reference;
  f.reference_operations = reference_operations;
  f.tolerance_derivation = kToleranceDerivation;
}

}  // namespace gpuexp::attention
