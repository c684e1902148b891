// attention_backward: gradients of Q, K and V from the gradient of O = softmax(Q·Kᵀ)·V.
//
// The question: is it faster to store P for the backward pass, or to recompute it? The gradients
// take four products if P = softmax(S) is stored. Otherwise a fifth product recomputes S = Q·Kᵀ,
// and P = e^(S - L), where L is one number per row from the forward pass. With D = rowsum(dO∘O): dP
// = dO·Vᵀ, dS = P∘(dP - D), dV = Pᵀ·dO, dQ = dS·K, dK = dSᵀ·Q. dV and dK are sums over queries, and
// dQ is a sum over keys. A kernel that accumulates dV and dK in registers must sum dQ in memory, or
// a second kernel must recompute S and dP (Dao, "FlashAttention-2", 2023).
#include "kernels/attention_backward/gradient_reference.cuh"
#include "kernels/attention_backward/keys.cuh"
#include "kernels/common/attention_gradient_reference.cuh"
#include "kernels/common/attention_score_product.cuh"

namespace gpuexp::attention_backward {

// ---- stored: attention weights from memory
//
// The forward pass has stored P, 16 bits for each query and key. One kernel loads P, computes dP =
// dO·Vᵀ on tensor cores and stores dS = P∘(dP - D), a matrix of the size of P. Three products
// follow, Pᵀ·dO, dSᵀ·Q and dS·K. Each of them loads P or dS, so dram_read_bytes and
// dram_write_bytes grow with queries times keys. metric.peak_bytes grows too, since P is kept
// between the forward and the backward pass.

constexpr int kScoreKeys = 64;

template <class In, int kDim>
__global__ void __launch_bounds__(kBlock)
    score_gradients_kernel(Heads heads, const In* v, const In* d_o, const float* delta, const In* p,
                           In* ds, std::int64_t pitch) {
  using Tile = RowTile<kDim>;
  constexpr int kRowTiles = kQueries / (16 * kWarps);
  using Warp = WarpAttention<In, kDim, kRowTiles, kScoreKeys>;
  extern __shared__ __align__(16) char shared[];
  char* const v_tile = shared + kQueries * Tile::kPitch;
  const AttendedKeys& allowed = heads.allowed;
  const std::int64_t head = blockIdx.z;
  const int query = blockIdx.y * kQueries;
  const int key = blockIdx.x * kScoreKeys;
  const int warp_row = threadIdx.x / 32 * Warp::kRows;
  const int left = allowed.queries - query;
  const std::int64_t first_row = heads.first_query(head) + query;
  load_rows<kDim, kQueries>(shared, d_o + first_row * kDim, left);
  load_rows<kDim, kScoreKeys>(v_tile, v + (heads.first_key(head) + key) * kDim, allowed.keys - key);
  __syncthreads();
  char* const own = shared + warp_row * Tile::kPitch;
  typename Warp::Scores d;
  Warp::multiply(d, own, v_tile);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < kRowTiles; ++i) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = warp_row + accumulator_row(i, half);
      const bool in_bounds = row < left;
      const float of_row =
          in_bounds ? delta[head * padded_rows(allowed.queries) + query + row] : 0.0f;
#pragma unroll
      for (int j = 0; j < kScoreKeys / 8; ++j) {
        const int column = accumulator_column(j, 0);
        float2 weights = make_float2(0.0f, 0.0f);
        if (in_bounds && key + column < pitch)
          weights = widen(load_pack<2>(p + (first_row + row) * pitch + key + column).pairs[0]);
        const float2 pair = d[i][j].pair(half);
        *reinterpret_cast<unsigned*>(own + Tile::offset(accumulator_row(i, half), 2 * column)) =
            round_to_pair<In>(weights.x * (pair.x - of_row), weights.y * (pair.y - of_row));
      }
    }
  }
  __syncwarp();
  store_rows<kScoreKeys, Warp::kRows, Tile::kPitch>(own, ds + (first_row + warp_row) * pitch + key,
                                                    pitch, left - warp_row,
                                                    static_cast<int>(pitch) - key);
}

std::optional<std::string> has_no_dropout(const Problem& p) {
  if (p.dropout == 0) return std::nullopt;
  return "does not implement dropout; attention_backward/tiles_ahead and two_pass do";
}

template <class In, int kDim>
Steps launch_stored(const Problem& p, const Data& d, const RowWorkspace& at) {
  const std::int64_t pitch = stored_pitch(p);
  In* const ds = static_cast<In*>(at.own);
  const auto scale = static_cast<float>(p.scale());
  const Extent blocks{ceil_div(p.keys, kScoreKeys), ceil_div(p.queries, kQueries),
                      p.batch * p.heads};
  const ScoreProduct<In> dv{in<In>(d.p), pitch, in<In>(d.d_o), static_cast<In*>(d.dv), 1.0f};
  const ScoreProduct<In> dk{ds, pitch, in<In>(d.q), static_cast<In*>(d.dk_stored), scale};
  const ScoreProduct<In> dq{ds, pitch, in<In>(d.k), static_cast<In*>(d.dq_stored), scale};
  return launch_rows<In>(p, d, at) +
         launch(score_gradients_kernel<In, kDim>,
                shape_of(p, kBlock, blocks, (kQueries + kScoreKeys) * RowTile<kDim>::kPitch),
                heads_of(p), in<In>(d.v), in<In>(d.d_o), at.delta, in<In>(d.p), ds, pitch) +
         launch_score_product<kDim, true>(p, dv) + launch_score_product<kDim, true>(p, dk) +
         launch_score_product<kDim, false>(p, dq);
}

Variant stored() {
  Variant v = variant("stored", "", {});
  v.writes = {"dv", "dq_stored", "dk_stored"};
  v.deterministic = true;
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (const auto why = has_no_dropout(p)) return why;
    if (stored_weights(p) == 0) return "needs more stored weights than the family keeps";
    return lacks_shared_memory_for_product(device);
  };
  set_workspace(v, matrix_bytes, matrix_bytes);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_type_and_dim(p, [&](auto in, auto dim) {
      return launch_stored<decltype(in), dim()>(p, d, row_workspace(p, context.workspace));
    });
  };
  return v;
}

// ---- recompute_atomics: recomputed attention weights, atomic sums for dQ
//
// A block has 128 keys, 16 per warp, and iterates over the queries that attend to them, 64 at a
// time. It recomputes P instead of loading it, so five products replace four: without a mask
// tensor_instructions increases. No score and no gradient of a score is stored to DRAM:
// dram_read_bytes and metric.peak_bytes decrease. Blocks of different keys sum dQ in fp32 by atomic
// operations, in no fixed order, so dQ may differ bitwise between launches. A memset clears these
// fp32 sums before the kernel, and a further kernel rounds them, which costs additional DRAM bytes.

// keys_kernel is in attention_backward/keys.cuh.
Variant recompute_atomics() {
  Variant v = variant("recompute_atomics", "stored",
                      {{"dram_read_bytes", Direction::decreases, 4, is_large},
                       {"metric.peak_bytes", Direction::decreases, 1.5, is_large},
                       {"tensor_instructions", Direction::increases, 1.2,
                        [](const Problem& p) { return is_large(p) && p.mask == Mask::full; }}});
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (const auto why = has_no_dropout(p)) return why;
    return lacks_shared_memory_for_tiles(p, device, 1);
  };
  set_workspace(v, sum_bytes, no_bytes);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_type_and_dim(p, [&](auto in, auto dim) {
      return launch_atomics<decltype(in), dim(), 1, false>(p, d,
                                                           row_workspace(p, context.workspace));
    });
  };
  return v;
}

// ---- cudnn: the library's backward pass
//
// On Hopper, cuDNN issues wgmma, whose operands stay in shared memory, where the four warps of a
// warpgroup share them; mma.sync needs its operands in the registers of each warp. The order in
// which cuDNN sums dQ is not specified.

Variant cudnn_backward() {
  Variant v = variant("cudnn", "", {});
  v.is_vendor = true;
  v.unavailable = cudnn::unavailable;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (const auto why = lacks_cudnn_mask(p)) return why;
    if (p.queries == 1 && p.keys == 1) return "cuDNN has no engine for one query and one key";
    return has_no_dropout(p);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return cudnn::step_of(cudnn::AttentionBackward{cudnn_attention(p, d), d.d_o, d.dq, d.dk, d.dv});
  };
  return v;
}

// ---- declaration

Family declare() {
  Family f("attention_backward", Topic::patterns,
           "Is attention's backward pass faster with stored or with recomputed weights?");
  f.physics =
      "The gradients of attention need four matrix products if the weights P are stored, and five "
      "if P is recomputed from Q, K and one number per row. Stored weights are read twice from "
      "DRAM, and their gradient, which has the same size, is written once and read twice. "
      "Recomputed tile by tile, neither leaves the SM, and the tensor cores are the limit. dK and "
      "dV are sums over queries, dQ is a sum over keys. A block that accumulates dK and dV in "
      "registers adds its part of dQ to memory by atomic operations, whose order is not fixed; "
      "otherwise a second kernel recomputes the weights.";
  declare_parameters(f, {4, 1, 8192, 8192});
  const auto query_elements = [](const Problem& p) { return p.query_elements(); };
  const auto key_elements = [](const Problem& p) { return p.key_elements(); };
  const auto within = [](Gradient of, bool is_stored) {
    return [=](const Problem& p) { return gradient_tolerance(p, of, is_stored); };
  };
  f.input("q", &Data::q, &Problem::dtype, query_elements)
      .input("k", &Data::k, &Problem::dtype, key_elements)
      .input("v", &Data::v, &Problem::dtype, key_elements)
      .input("o", &Data::o, &Problem::dtype, query_elements)
      .input("log_sum", &Data::log_sum, [](const Problem& p) { return p.rows(); })
      .input("p", &Data::p, &Problem::dtype, stored_weights)
      .input("d_o", &Data::d_o, &Problem::dtype, query_elements)
      .output("dq", &Data::dq, &Problem::dtype, query_elements, within(Gradient::of_q, false))
      .output("dk", &Data::dk, &Problem::dtype, key_elements, within(Gradient::of_k, false))
      .output("dv", &Data::dv, &Problem::dtype, key_elements, within(Gradient::of_v, false))
      .output("dq_stored", &Data::dq_stored, &Problem::dtype, query_elements,
              within(Gradient::of_q, true))
      .output("dk_stored", &Data::dk_stored, &Problem::dtype, key_elements,
              within(Gradient::of_k, true));
  f.metric("peak_bytes", "B", "device memory of operands, gradients, stored weights and workspace");
  f.outputs = [](const Problem& p) { return Extent{p.queries, p.batch * p.heads, 1}; };
  f.unsupported = [](const Problem& p, const DeviceSpec&) { return unsupported(p); };
  f.inputs = inputs;
  f.reference = reference;
  f.reference_operations = gradient_operations;
  f.tolerance_derivation = kGradientDerivation;
  f.plot("attention_backward", "rates", "Attention backward pass: throughput by variant",
         {{"param.keys", "keys"}, {"param.mask", "mask"}});
  f.variants(stored(), recompute_atomics(), tiles_ahead(), two_pass(), cudnn_backward());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::attention_backward
