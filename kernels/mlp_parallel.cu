// mlp_parallel: Y = gelu(X·W1)·W2 on several GPUs, the two products of a transformer's MLP.
//
// The question: which division of the two products needs the least communication? Each product by
// itself can be split by columns, and its results gathered. The two divisions of both products, on
// 2 GPUs with H = gelu(X·W1):
//
//   split by                 GPU 0's H   exchange    GPU 0's product             exchange
//   W1 columns, W2 columns   [h0 .]      gather H    [h0 h1]·W2's left columns   gather Y
//   W1 columns, W2 rows      [h0 .]                  h0·W2's upper rows          sum Y
//
// A column of H (a hidden unit) is computed from one column of W1 and multiplied only by the row of
// W2 with the same index. Only one sum of Y remains, whose rows are a fourth as long as the rows of
// H (Shoeybi et al., "Megatron-LM", arXiv:1909.08053, section 3).
#include "gpu/nccl.hpp"
#include "kernels/common/rank_product.cuh"
#include "kernels/common/rank_sums.cuh"
#include "kernels/mlp_parallel/problem.cuh"

namespace gpuexp::mlp_parallel {

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the activation between the products, in place, of rows × columns of a matrix

constexpr int kBlock = 256;

template <int kPack>
__global__ void __launch_bounds__(kBlock)
    gelu_kernel(T* z, std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
  const std::int64_t packs = columns / kPack;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
       i < rows * packs; i += stride) {
    T* const at = z + i / packs * pitch + i % packs * kPack;
    if constexpr (kPack == 1) {
      *at = from_float<T>(gelu_tanh(static_cast<float>(*at)));
    } else {
      auto pack = load_pack<kPack>(at);
#pragma unroll
      for (auto& pair : pack.pairs) {
        const float2 wide = widen(pair);
        pair = narrow<T>({gelu_tanh(wide.x), gelu_tanh(wide.y)});
      }
      store_pack(at, pack);
    }
  }
}

/// Waits for all ranks; data that they have stored to this rank are then visible.
__global__ void __launch_bounds__(32) wait_kernel(RankPeers peers) {
  const unsigned epoch = epoch_of(peers);
  wait_for_ranks<Before::stores>(peers, epoch, 0);
  end_epoch(peers, epoch);
}

// ---- how the variants are launched

Steps activated(T* z, std::int64_t rows, std::int64_t columns, std::int64_t pitch,
                const LaunchContext& x) {
  constexpr std::int64_t kBlocksPerSm = 8;
  if (rows == 0 || columns == 0) return {};
  const bool has_packs = pitch % kPartUnit == 0 && columns % kPartUnit == 0;
  const std::int64_t items = rows * columns / (has_packs ? kPartUnit : 1);
  const Shape shape =
      shape_of_shares({std::min(ceil_div(items, kBlock), kBlocksPerSm * x.device.sm_count)},
                      {rows, columns}, kBlock);
  return has_packs ? launch(gelu_kernel<kPartUnit>, shape, z, rows, columns, pitch)
                   : launch(gelu_kernel<1>, shape, z, rows, columns, pitch);
}

Range units_of(const Problem& p, int rank) {
  return even_part(p.hidden, p.gpus, rank);
}

/// Hidden units of `tokens`: gelu(X·W1) for columns `units`, stored at `to` with this pitch.
Steps hidden_units(const Problem& p, const Data& d, const LaunchContext& x, Range tokens,
                   Range units, T* to, std::int64_t pitch, int sm_count = 0) {
  return part_product(tokens.size(), units.size(), p.width, d.x.of[d.rank] + tokens.first * p.width,
                      p.width, d.w1.of[d.rank] + units.first, p.hidden, to, pitch, sm_count) +
         activated(to, tokens.size(), units.size(), pitch, x);
}

/// Copies the rank's columns of a matrix to the same position in the matrices of all others.
Steps gathered(const Problem& p, int rank, const Ranks<T>& matrices, std::int64_t columns) {
  const Range own = even_part(columns, p.gpus, rank);
  Move<T> move{matrices.of[rank] + own.first, {}, p.tokens, own.size(), columns};
  for (const int peer : peers_from(rank, p.gpus))
    move.to.push_back(matrices.of[peer] + own.first);
  return copied(move);
}

/// Y of `tokens`: each rank sums its part of all ranks' partial sums and stores it to all ranks.
Steps summed(const Problem& p, const Data& d, const LaunchContext& x, Range tokens,
             std::int64_t most_blocks) {
  const auto part = [&](int r) { return even_part(tokens.size(), p.gpus, r); };
  const std::int64_t first = (tokens.first + part(d.rank).first) * p.width;
  Summed<T> sums{};
  for (int r = 0; r < p.gpus; ++r)
    sums.from.of[r] = d.partial.of[r] + first;
  add_targets(sums, d.rank, p.gpus, true, [&](int r) { return d.y.of[r] + first; });
  sums.count = part(d.rank).size() * p.width;
  const std::int64_t most = p.width * max_of_ranks(p.gpus, [&](int r) { return part(r).size(); });
  return summed_by_ranks<SumWaits::begin>(sums, peers_of(p, d, x), most, x.device, most_blocks,
                                          {p.tokens, p.width, 1});
}

/// The rank's partial sum of Y for `tokens`; its hidden units are in the workspace.
Steps partial_sum(const Problem& p, const Data& d, const LaunchContext& x, Range tokens, T* to,
                  int sm_count = 0) {
  const Range units = units_of(p, d.rank);
  auto* const hidden = static_cast<T*>(x.workspace) + tokens.first * units.size();
  return hidden_units(p, d, x, tokens, units, hidden, units.size(), sm_count) +
         part_product(tokens.size(), p.width, units.size(), hidden, units.size(),
                      d.w2.of[d.rank] + units.first * p.width, p.width, to + tokens.first * p.width,
                      p.width, sm_count);
}

// ---- properties of all variants

double bytes_of(std::int64_t elements) {
  return static_cast<double>(kBytes * elements);
}

std::int64_t max_units(const Problem& p) {
  return max_of_ranks(p.gpus, [&](int r) { return units_of(p, r).size(); });
}

double operations_of(const Problem& p, std::int64_t units) {
  return 2.0 * 2.0 * static_cast<double>(p.tokens * p.width) * static_cast<double>(units);
}

Work work_of(const Problem& p, std::int64_t units, double link_bytes) {
  Work w =
      moves_bytes(bytes_of(p.tokens * p.width + 2 * p.width * units), bytes_of(elements_of_y(p))) +
      computes(Pipe::tensor_bf16_fp32, operations_of(p, units));
  w.to_peers = w.from_peers = link_bytes;
  return w;
}

/// Bytes that the rank with the most columns of a tokens × columns matrix sends.
double gathered_bytes(const Problem& p, std::int64_t columns) {
  return bytes_of((p.gpus - 1) * p.tokens * max_of_ranks(p.gpus, [&](int r) {
                    return even_part(columns, p.gpus, r).size();
                  }));
}

/// Bytes that a rank sends, or receives: partial sums of other ranks' parts, then sums for all.
double summed_bytes(const Problem& p) {
  const std::int64_t most =
      max_of_ranks(p.gpus, [&](int r) { return even_part(p.tokens, p.gpus, r).size(); });
  return bytes_of(2 * (p.gpus - 1) * most * p.width);
}

Phase products_phase(const Problem& p, std::int64_t units, double share) {
  Phase phase;
  phase.what = "products";
  phase.by_library = true;
  phase.operations = {{Pipe::tensor_bf16_fp32, share * operations_of(p, units)}};
  return phase;
}

/// The activation loads each hidden unit once and stores it once.
Phase gelu_phase(const Problem& p, std::int64_t units, double share) {
  Phase phase;
  phase.what = "gelu";
  phase.memory_bytes = share * 2 * bytes_of(p.tokens * units);
  return phase;
}

std::vector<Phase> units_phases(const Problem& p, std::int64_t units, double share = 1) {
  return {products_phase(p, units, share / 2), gelu_phase(p, units, share),
          products_phase(p, units, share / 2)};
}

Phase sums_phase(double link_bytes) {
  Phase phase = link_phase("sums", LinkUse::loads, link_bytes);
  phase.signals = 1;
  phase.fences = 1;
  phase.link_loads = 1;
  phase.memory_loads = 1;  // load of the epoch
  return phase;
}

bool is_large(const Problem& p) {
  constexpr std::int64_t kTokens = 4096;
  constexpr std::int64_t kWidth = 4096;
  return p.tokens >= kTokens && p.width >= kWidth && p.hidden >= 4 * kWidth;
}

ExpectedChangesOf<Problem> faster(double factor) {
  return {{std::string(kTimeColumn), Direction::decreases, factor, is_large}};
}

Variant variant(std::string id, std::string compare_to) {
  Variant v(std::move(id), std::move(compare_to));
  v.is_vendor = true;
  v.unavailable = cublas::unavailable;
  v.work = [](const Problem& p) { return work_of(p, max_units(p), summed_bytes(p)); };
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return kBytes * p.tokens * max_units(p);
  };
  return v;
}

// ---- one_gpu: no division
//
// Each GPU computes both products completely. No bytes cross the links.

Variant one_gpu() {
  Variant v = variant("one_gpu", "");
  v.work = [](const Problem& p) { return work_of(p, p.hidden, 0); };
  v.phases = [](const Problem& p, const DeviceSpec&) { return units_phases(p, p.hidden); };
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return kBytes * elements_of_hidden(p);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const hidden = static_cast<T*>(x.workspace);
    return hidden_units(p, d, x, {0, p.tokens}, {0, p.hidden}, hidden, p.hidden) +
           part_product(p.tokens, p.width, p.hidden, hidden, p.hidden, d.w2.of[d.rank], p.width,
                        d.y.of[d.rank], p.width);
  };
  return v;
}

// ---- two_gathers: both products split by columns
//
// Each product is split by columns. The second product needs all hidden units of a token, so each
// GPU copies its units to all others and waits for the units of the others. It then computes its
// columns of Y, and copies these to all others. Hidden units are most of the bytes on the links,
// and the tensor cores are idle while they are copied.

Variant two_gathers() {
  Variant v = variant("two_gathers", "one_gpu");
  const auto link_bytes = [](const Problem& p) {
    return gathered_bytes(p, p.hidden) + gathered_bytes(p, p.width);
  };
  v.work = [link_bytes](const Problem& p) { return work_of(p, max_units(p), link_bytes(p)); };
  v.phases = [](const Problem& p, const DeviceSpec&) {
    const std::int64_t units = max_units(p);
    return std::vector<Phase>{
        products_phase(p, units, 0.5),
        gelu_phase(p, units, 1),
        link_phase("copies", LinkUse::copy_engine, gathered_bytes(p, p.hidden)),
        waiting_phase("wait", 1, 1),
        products_phase(p, units, 0.5),
        link_phase("copies", LinkUse::copy_engine, gathered_bytes(p, p.width))};
  };
  v.workspace_bytes = {};
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const Range units = units_of(p, d.rank);
    const Range columns = even_part(p.width, p.gpus, d.rank);
    T* const hidden = d.gathered.of[d.rank];
    return hidden_units(p, d, x, {0, p.tokens}, units, hidden + units.first, p.hidden) +
           gathered(p, d.rank, d.gathered, p.hidden) +
           launch(wait_kernel, shape_of_blocks(1, 32), peers_of(p, d, x)) +
           part_product(p.tokens, columns.size(), p.hidden, hidden, p.hidden,
                        d.w2.of[d.rank] + columns.first, p.width, d.y.of[d.rank] + columns.first,
                        p.width) +
           gathered(p, d.rank, d.y, p.width);
  };
  return v;
}

// ---- columns_then_rows: W1 split by columns, W2 by rows
//
// A GPU that computes a hidden unit also multiplies it by the unit's row of W2, so nothing crosses
// the links between the products. Each GPU then has a partial sum of all of Y. A kernel loads the
// rank's tokens from the partial sums of all GPUs, adds them in fp32, and stores the sums to all
// GPUs: one all-reduce instead of two gathers. The time decreases.

Variant columns_then_rows() {
  Variant v = variant("columns_then_rows", "two_gathers").expecting(faster(1.05));
  v.phases = [](const Problem& p, const DeviceSpec&) {
    std::vector<Phase> phases = units_phases(p, max_units(p));
    phases.push_back(sums_phase(summed_bytes(p)));
    return phases;
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return partial_sum(p, d, x, {0, p.tokens}, d.partial.of[d.rank]) +
           summed(p, d, x, {0, p.tokens}, max_blocks_on_idle_device(x.device));
  };
  return v;
}

// ---- columns_then_rows_nccl: NCCL's all-reduce
//
// NCCL's all-reduce replaces the summing kernel, as in frameworks. Around a ring, it rounds partial
// sums to bf16 at every step.

Variant columns_then_rows_nccl() {
  Variant v = variant("columns_then_rows_nccl", "columns_then_rows");
  v.unavailable = []() -> std::optional<std::string> {
    if (const auto missing = cublas::unavailable()) return missing;
    return nccl::unavailable();
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    T* const partial = d.partial.of[d.rank];
    return partial_sum(p, d, x, {0, p.tokens}, partial) +
           nccl::step_of({nccl::Operation::all_reduce, nccl::Buffers::plain, DataType::bf16,
                          elements_of_y(p), partial, d.y.of[d.rank], d.rank, p.gpus});
  };
  return v;
}

// ---- chunks_of_tokens: sums overlapped with products
//
// The tokens are divided into chunks, since their results are independent. Few blocks sum one chunk
// in another stream, on SMs that cuBLAS leaves free, while the other SMs multiply the next chunk.
// The sum of the last chunk does not overlap.

/// Tokens per chunk: whole waves of 128×256 tiles of Y, for four chunks if there are enough waves.
std::int64_t chunk_tokens(const Problem& p, const DeviceSpec& device) {
  constexpr std::int64_t kTileRows = 128;
  constexpr std::int64_t kTileColumns = 256;
  constexpr std::int64_t kChunks = 4;
  const std::int64_t wide = ceil_div(p.width, kTileColumns);
  const std::int64_t wave = kTileRows * std::max<std::int64_t>(1, device.sm_count / wide);
  return std::max(wave, ceil_div(ceil_div(p.tokens, kChunks), wave) * wave);
}

Variant chunks_of_tokens() {
  // The registers of the summing kernel allow two blocks per SM.
  constexpr int kSummingSms = 8;
  constexpr std::int64_t kSummingBlocks = 2 * kSummingSms;
  Variant v = variant("chunks_of_tokens", "columns_then_rows");
  v.phases = [](const Problem& p, const DeviceSpec& device) {
    std::vector<Phase> phases;
    const std::int64_t size = chunk_tokens(p, device);
    for (std::int64_t first = 0; first < p.tokens; first += size) {
      const double share =
          static_cast<double>(std::min(size, p.tokens - first)) / static_cast<double>(p.tokens);
      for (const Phase& phase : units_phases(p, max_units(p), share))
        phases.push_back(phase);
      Phase sums = sums_phase(share * summed_bytes(p));
      sums.stream = 1;
      sums.after = {phases.size() - 1};
      sums.sm_share = static_cast<double>(kSummingSms) / device.sm_count;
      phases.push_back(sums);
    }
    return phases;
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    constexpr int kSumStream = 1;
    const int sm_count = std::max(1, x.device.sm_count - kSummingSms);
    Steps steps;
    const std::int64_t size = chunk_tokens(p, x.device);
    for (std::int64_t first = 0; first < p.tokens; first += size) {
      const Range tokens{first, std::min(first + size, p.tokens)};
      steps += partial_sum(p, d, x, tokens, d.partial.of[d.rank], sm_count);
      append(steps, summed(p, d, x, tokens, kSummingBlocks), kSumStream, steps.all().size() - 1);
    }
    return steps;
  };
  return v;
}

// ---- declaration

Family declare() {
  Family f("mlp_parallel", Topic::links,
           "Which division of an MLP's two products needs the least communication between GPUs?");
  f.physics =
      "The two products of an MLP have an element-wise function between them. If the first "
      "product is split by columns and the second by rows, each GPU needs only the hidden units "
      "that it computes. The links are idle until the end, and then carry sums of the shorter "
      "rows. If both products are split by columns, the results of both must reach all GPUs. The "
      "longer rows of the first product are sent between the two, while all GPUs wait.";
  f.extent("tokens", &Problem::tokens, 4096, 1 << 16, "rows of X and Y")
      .extent("width", &Problem::width, 4096, 1 << 15, "columns of X and Y")
      .extent("hidden", &Problem::hidden, 16384, 1 << 16, "columns of W1, rows of W2")
      .spans(&Problem::gpus, &Data::rank);
  f.input("x", &Data::x, elements_of_y)
      .input("w1", &Data::w1, [](const Problem& p) { return p.width * p.hidden; })
      .input("w2", &Data::w2, [](const Problem& p) { return p.hidden * p.width; })
      .input("exact_hidden", &Data::exact_hidden, elements_of_hidden)
      .input("hidden_error", &Data::hidden_error, elements_of_hidden)
      .in_out("y", &Data::y, elements_of_y)
      .state("gathered", &Data::gathered, elements_of_hidden)
      .state("partial", &Data::partial, elements_of_y)
      .state("signals", &Data::signals, [](const Problem&) { return kSignalWords; })
      .flags_from(kFlagsWord);
  f.outputs = [](const Problem& p) { return Extent{p.tokens, p.width, 1}; };
  f.inputs = inputs;
  f.reset = reset;
  set_references(
      f, [](const Problem& p) { return elements_of_y(p); },
      [](const Problem& p, const Data& d, int) { return expected(p, d); });
  // The reference also sums the squared errors of the hidden units, as many products as for Y.
  f.reference_operations = [](const Problem& p) { return operations_of(p, p.hidden); };
  f.tolerance_derivation = std::string(kToleranceDerivation) + kTensorCoreBoundDerivation;
  f.tolerance = [](const Problem& p) { return error_bound(p).tolerance(); };
  f.variants(one_gpu(), two_gathers(), columns_then_rows(), columns_then_rows_nccl(),
             chunks_of_tokens());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::mlp_parallel
