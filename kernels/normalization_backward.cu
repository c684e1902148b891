// normalization_backward: the gradients of LayerNorm and RMSNorm, of their input and their weights.
//
// The question: which method sums the weights' gradients fastest? With x̂ = (x - mean)·rstd from
// the forward pass, t = γ·dy, and means over a row's n elements,
//   dx = rstd·(t - mean(t) - x̂·mean(t·x̂)),  dγ = Σ dy·x̂,  dβ = Σ dy,
// where the sums of dγ and dβ run over all rows. With one atomic addition per element, L2's atomic
// units limit the time, not DRAM.
#include <algorithm>

#include "kernels/common/column_sums.cuh"
#include "kernels/common/row_norm_gradient.cuh"

namespace gpuexp::normalization_backward {

using Problem = NormProblem;

struct Data {
  void* x;
  void* dy;
  void* gamma;
  void* beta;   // unused by the gradients
  float* mean;  // per-row means of the forward pass
  float* rstd;  // per-row 1/√(variance + ε) of the forward pass
  void* dx;
  float* dweights;  // gradient of γ, followed by the gradient of β
  void* products;   // output of variant `product`
};

// Operands of a row's gradient other than x.
template <class T>
struct GradientInputs {
  const T* dy;
  const T* gamma;
  const float* mean;
  const float* rstd;
  const T* residual;  // only for Makes::sums_and_added
  __device__ NormStatistics of(Norm norm, std::int64_t row) const {
    return {norm == Norm::layer ? mean[row] : 0.0f, rstd[row]};
  }
};

// Replaces x by x̂ and dy by t, and adds t and t·x̂ to the sums.
template <Norm kNorm, int kCount>
__device__ void add_products(TwoSums& sums, float (&x)[kCount], float (&dy)[kCount],
                             const float (&gamma)[kCount], const NormStatistics& s) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    x[i] = (x[i] - s.mean) * s.rstd;
    dy[i] *= gamma[i];
    if (kNorm == Norm::layer) sums.a += dy[i];
    sums.b = fmaf(dy[i], x[i], sums.b);
  }
}
// Means of t and t·x̂ over the row, from each thread's partial sums.
template <Norm kNorm, class Group>
__device__ TwoSums row_means(const Group& group, TwoSums own, int columns) {
  if (kNorm == Norm::layer) {
    own = group.template all_reduce<0>(own, SumPairs());
    own.a /= columns;
  } else {
    own.b = group.template all_reduce<0>(own.b, Sum());
  }
  own.b /= columns;
  return own;
}

// ---- element_atomics: one atomic addition per element
//
// Each block holds the x and dy of a row in registers and computes dx from them. Each thread then
// adds its elements' terms to the column sums in L2 with atomics. L2 executes two atomic additions
// per element (RMSNorm: one), and its rate of atomics is far below the rate at which DRAM delivers
// elements. Sums differ in their last bits between launches.

template <Norm kNorm, bool kAdds, class T, int kW, int kElements>
__global__ void __launch_bounds__(kMaxRowThreads)
    rows_kernel(RowMatrix<T> m, GradientInputs<T> g, float* dweights) {
  const BlockRow group;
  const NormStatistics s = g.of(kNorm, group.row);
  RowPart<T, kW, kElements / kW, Edges::whole> x(group, m.x, m.columns);
  auto dy = x;
  x.load(m.in(group.row), 0.0f);
  dy.load(g.dy + group.row * m.columns, 0.0f);
  TwoSums own{0.0f, 0.0f};
#pragma unroll
  for (int k = 0; k < dy.kHeld; ++k) {
    if (!x.is_inside(k)) continue;
    if (kAdds) {
#pragma unroll
      for (int i = 0; i < kW; ++i) {
        const int column = x.at(k) + i;
        atomicAdd(dweights + column, dy.v[k][i] * ((x.v[k][i] - s.mean) * s.rstd));
        if (kNorm == Norm::layer) atomicAdd(dweights + m.columns + column, dy.v[k][i]);
      }
    }
    float gamma[kW];
    load_floats(g.gamma + x.at(k), gamma);
    add_products<kNorm>(own, x.v[k], dy.v[k], gamma, s);
  }
  const TwoSums mean = row_means<kNorm>(group, own, m.columns);
  dy.join(x, [&](float t, float normed) { return s.rstd * (t - mean.a - normed * mean.b); });
  dy.store(m.out(group.row));
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Number of column sums: columns of γ, and of β for LayerNorm.
std::int64_t sum_columns(const Problem& p) {
  return p.columns * (p.norm == Norm::layer ? 2 : 1);
}

Work work(const Problem& p) {
  const bool is_layer = p.norm == Norm::layer;
  return row_work(p, 2, 1, is_layer ? 12 : 8) + reads<char>(p.columns * element_bytes(p)) +
         reads<float>(p.rows * (is_layer ? 2 : 1)) + writes<float>(sum_columns(p));
}

struct Call {
  const Problem& p;
  float* dweights;
  const LaunchContext& context;
};

// `launch_of` returns the launch for a norm, a RowMatrix of x and dx, the other operands, and a
// Call.
template <class LaunchOf>
Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
                LaunchOf launch_of) {
  Variant v = row_variant<Variant>(std::move(id), std::move(compare_to), {"dx", "dweights"},
                                   std::move(expected));
  v.work = work;
  v.launch = [launch_of](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_row_matrix(p, d.x, d.dx, [&](auto m) {
      using T = typename decltype(m)::Element;
      const GradientInputs<T> g{static_cast<const T*>(d.dy), static_cast<const T*>(d.gamma), d.mean,
                                d.rstd, nullptr};
      return with_norm(p.norm, [&](auto norm) {
        return launch_of(norm, m, g, Call{p, d.dweights, context});
      });
    });
  };
  return v;
}
Variant nondeterministic(Variant v) {
  v.deterministic = false;
  return v;
}

Steps zeros(const Call& call) {
  return MemsetStep{call.dweights, 0, sum_columns(call.p) * std::int64_t{sizeof(float)}};
}

// A thread holds elements of x and of dy, so it has registers for half as many elements of each.
constexpr Edges kHalf = Edges::peeled;

template <bool kAdds, class NormOf, class T>
Steps launch_rows(NormOf norm, const RowMatrix<T>& m, const GradientInputs<T>& g, float* dweights) {
  const RowShape shape = row_shape(m.columns, kHalf);
  return by_width(m, [&](auto width) {
    return with_part<max_elements_per_thread(kHalf)>(
        shape.elements, Edges::whole, [&](auto count, auto) {
          return block_per_row(rows_kernel<norm, kAdds, T, width, count>, shape.threads, m, g,
                               dweights);
        });
  });
}

// ---- product: elementwise product, the lower bound
//
// The kernel computes x·dy element by element with 16-byte accesses. It reads and writes the same
// bytes as the computation of dx, but no thread waits for a row or column sum.

Variant product() {
  return product_variant<Problem>(&Data::x, &Data::dy, &Data::products, work);
}

Variant element_atomics() {
  Variant v = variant("element_atomics", "product",
                      {{"global_reduction_requests", Direction::increases, 10}},
                      [](auto norm, auto m, const auto& g, const Call& call) {
                        return zeros(call) + launch_rows<true>(norm, m, g, call.dweights);
                      });
  return nondeterministic(fits_registers(v, kMaxRowThreads, kHalf));
}

// ---- separate: a second kernel for the column sums
//
// One kernel computes dx. A second kernel reads x and dy again: its resident blocks loop over the
// rows. A thread processes the same columns of each row and accumulates their sums in registers.
// Each block stores its partial sums, and further kernels sum them in a fixed order:
// global_reduction_requests decreases to zero, and results are bitwise identical for equal inputs.
// It costs the second read of the operands: dram_read_bytes doubles.

constexpr int kKeptThreads = 512;  // threads per SM, with 128 registers each

// Destination of a block's column sums.
struct AddAtomically {
  float* to;
  __device__ void operator()(std::int64_t column, std::int64_t, std::int64_t, float sum) const {
    atomicAdd(to + column, sum);
  }
};
struct StorePartials {
  float* to;
  __device__ void operator()(std::int64_t column, std::int64_t part, std::int64_t columns,
                             float sum) const {
    to[part * columns + column] = sum;
  }
};

enum class Makes { sums, sums_and_dx, sums_and_added };  // sums_and_added stores dx + residual

template <Makes kMakes, Norm kNorm, class Group, class Put, class T, int kW, int kVectors>
__global__ void __launch_bounds__(kKeptThreads, 1)
    kept_kernel(RowMatrix<T> m, GradientInputs<T> g, int parts, Put put) {
  const Group group;  // its index among all groups is its first row
  RowPart<T, kW, kVectors, Edges::whole> x(group, m.x, m.columns);
  auto dy = x;
  StoredPart<T, kW, kVectors> gamma, next_x, next_dy;
  if (kMakes != Makes::sums) gamma.load(x, g.gamma);
  next_x.load(x, m.in(group.row));
  next_dy.load(x, g.dy + group.row * m.columns);
  NormStatistics next = g.of(kNorm, group.row);
  float dgamma[kVectors][kW] = {}, dbeta[kVectors][kW] = {};
#pragma unroll 1
  for (std::int64_t row = group.row; row < m.rows; row += parts) {
    next_x.widen_to(x.v);
    next_dy.widen_to(dy.v);
    const NormStatistics s = next;
    if (row + parts < m.rows) {
      next_x.load(x, m.in(row + parts));
      next_dy.load(x, g.dy + (row + parts) * m.columns);
      next = g.of(kNorm, row + parts);
    }
    TwoSums own{0.0f, 0.0f};
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
      float scale[kW];
      gamma.vectors[k].widen_to(scale);
#pragma unroll
      for (int i = 0; i < kW; ++i) {
        dgamma[k][i] = fmaf(dy.v[k][i], (x.v[k][i] - s.mean) * s.rstd, dgamma[k][i]);
        if (kNorm == Norm::layer) dbeta[k][i] += dy.v[k][i];
      }
      add_products<kNorm>(own, x.v[k], dy.v[k], scale, s);
    }
    if (kMakes == Makes::sums) continue;
    const TwoSums mean = row_means<kNorm>(group, own, m.columns);
    dy.join(x, [&](float t, float normed) { return s.rstd * (t - mean.a - normed * mean.b); });
    if (kMakes == Makes::sums_and_added) {
      for_inside(dy, [&](int at, float(&vector)[kW]) {
        float other[kW];
        load_floats(g.residual + row * m.columns + at, other);
#pragma unroll
        for (int i = 0; i < kW; ++i)
          vector[i] += other[i];
      });
    }
    dy.store(m.out(row));
    group.sync_before_reuse();
  }
  constexpr int kSums = kNorm == Norm::layer ? 2 : 1;
#pragma unroll
  for (int k = 0; k < kVectors; ++k) {
    if (!x.is_inside(k)) continue;
#pragma unroll
    for (int i = 0; i < kW; ++i) {
      put(x.at(k) + i, group.row, kSums * m.columns, dgamma[k][i]);
      if (kNorm == Norm::layer)
        put(m.columns + x.at(k) + i, group.row, kSums * m.columns, dbeta[k][i]);
    }
  }
}

// Threads that process one row at a time and keep its columns' sums in registers.
enum class Share { block, cluster };
struct Kept {
  int accesses;        // per thread: 16-byte vectors, or single elements
  int threads;         // per block
  int blocks;          // per cluster
  std::int64_t parts;  // rows processed at the same time
};

constexpr int kMaxVectors = 2, kMaxSingles = 8;  // maximum number of accesses per thread

std::int64_t width_of(const Problem& p) {
  return edges_of(p.columns, p.dtype) == Edges::whole ? kWidestAccess / element_bytes(p) : 1;
}
std::int64_t max_kept_columns(const Problem& p, int blocks) {
  const std::int64_t width = width_of(p);
  return blocks * kKeptThreads * width * (width > 1 ? kMaxVectors : kMaxSingles);
}

Kept kept_of(const Problem& p, const DeviceSpec& device, Share share) {
  int blocks = share == Share::block ? 1 : 2;
  while (share == Share::cluster && blocks < kMaxClusterBlocks &&
         p.columns > max_kept_columns(p, blocks))
    blocks *= 2;
  const std::int64_t vectors_per_block = ceil_div(p.columns, width_of(p) * blocks);
  const int accesses = width_of(p) == 1                            ? kMaxSingles
                       : blocks == 1 && vectors_per_block <= kWarp ? 1
                                                                   : kMaxVectors;
  const auto warps = static_cast<int>(ceil_div(ceil_div(vectors_per_block, accesses), kWarp));
  // Number of resident clusters: a cluster runs in one GPC, and a GPC has at least 16 SMs.
  constexpr int kSmsPerGpc = 16;
  const int resident = blocks == 1
                           ? device.sm_count
                           : std::max(1, device.sm_count / kSmsPerGpc) * (kSmsPerGpc / blocks);
  const std::int64_t parts = resident * std::max(1, kKeptThreads / (warps * kWarp));
  return {accesses, warps * kWarp, blocks, std::min(parts, p.rows)};
}

template <Makes kMakes, class Group, class Put, class NormOf, class T>
Steps launch_kept(NormOf norm, const RowMatrix<T>& m, const GradientInputs<T>& g, const Kept& kept,
                  Put put) {
  Shape s;
  s.block.x = kept.threads;
  s.grid.x = kept.parts * kept.blocks;
  s.tile.x = ceil_div(m.columns, kept.blocks);
  if (kept.blocks > 1) s.cluster.x = kept.blocks;
  const auto launch_of = [&](auto kernel) {
    return launch(kernel, s, m, g, static_cast<int>(kept.parts), put);
  };
  constexpr int kW = kRowWidth<T>;
  if (kept.accesses == kMaxSingles)
    return launch_of(kept_kernel<kMakes, norm, Group, Put, T, 1, kMaxSingles>);
  if (kept.accesses == kMaxVectors)
    return launch_of(kept_kernel<kMakes, norm, Group, Put, T, kW, kMaxVectors>);
  return launch_of(kept_kernel<kMakes, norm, Group, Put, T, kW, 1>);
}

// Restricts the variant to rows whose column sums fit in the registers of a block or a cluster.
Variant kept_by(Variant v, Share share) {
  const int blocks = share == Share::block ? 1 : kMaxClusterBlocks;
  v.unsupported = [=](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.columns <= max_kept_columns(p, blocks)) return std::nullopt;
    return "each of a block's 512 threads keeps the sums of at most 8 or 16 columns; a row has "
           "more";
  };
  return v;
}

Slices slices_of_parts(const Problem& p, const Kept& kept, const DeviceSpec& device) {
  const std::int64_t columns = sum_columns(p);
  return slices_of(kept.parts, columns, columns_per_block(columns, DataType::fp32), kTilesPerSm,
                   device);
}

// Workspace: one row of partial sums per part, followed by the sums of each slice of parts.
std::int64_t stored_bytes(const Problem& p, const DeviceSpec& device, Share share) {
  const Kept kept = kept_of(p, device, share);
  return kept.parts * sum_columns(p) * std::int64_t{sizeof(float)} +
         slices_of_parts(p, kept, device).partial_bytes();
}
Variant stored_by(Variant v, Share share) {
  v.workspace_bytes = [=](const Problem& p, const DeviceSpec& device) {
    return stored_bytes(p, device, share);
  };
  return kept_by(std::move(v), share);
}

template <Makes kMakes, class Group, class NormOf, class M, class G>
Steps launch_partials(NormOf norm, const M& m, const G& g, const Call& call) {
  constexpr bool kIsBlock = std::is_same<Group, BlockRow>::value;
  const Kept kept = kept_of(call.p, call.context.device, kIsBlock ? Share::block : Share::cluster);
  auto* const partials = static_cast<float*>(call.context.workspace);
  const Slices slices = slices_of_parts(call.p, kept, call.context.device);
  const ElementTerms<float> terms{partials};
  const Steps rows = launch_kept<kMakes, Group>(norm, m, g, kept, StorePartials{partials});
  if (slices.count() == 1) return rows + tile_sums(slices, terms, StoreSums{call.dweights});
  return rows + launch_stored_tile_sums(slices, terms, partials + kept.parts * slices.columns,
                                        call.dweights);
}

Variant separate() {
  return stored_by(variant("separate", "element_atomics",
                           {{"global_reduction_requests", Direction::decreases, 10},
                            {"dram_read_bytes", Direction::increases, 1.8, beyond_caches}},
                           [](auto norm, auto m, const auto& g, const Call& call) {
                             return launch_rows<false>(norm, m, g, call.dweights) +
                                    launch_partials<Makes::sums, BlockRow>(norm, m, g, call);
                           }),
                   Share::block);
}

// ---- block_atomics: register sums, then one atomic per block and column
//
// The persistent blocks also compute dx, and keep γ in registers. Each operand is read once, so
// dram_read_bytes halves. Threads load the next row while they wait for the means of the current
// row. At the end, L2 executes one atomic addition per block and column. The registers hold x and
// dy of two rows and the column sums, which limits an SM to 512 threads.

Variant block_atomics() {
  const auto launch_of = [](auto norm, auto m, const auto& g, const Call& call) {
    const Kept kept = kept_of(call.p, call.context.device, Share::block);
    return zeros(call) + launch_kept<Makes::sums_and_dx, BlockRow>(norm, m, g, kept,
                                                                   AddAtomically{call.dweights});
  };
  return nondeterministic(
      kept_by(variant("block_atomics", "separate",
                      {{"dram_read_bytes", Direction::decreases, 1.8, beyond_caches}}, launch_of),
              Share::block));
}

// ---- block_partials: one row of partial sums per block, and a second kernel
//
// Each block stores its column sums, and further kernels sum them in a fixed order: results are
// bitwise identical for equal inputs, and global_reduction_requests decreases to zero. The partial
// sums of all blocks form a small matrix that fits in L2, so dram_read_bytes is unchanged. It costs
// the launch of one or two kernels.

Variant block_partials() {
  return stored_by(variant("block_partials", "block_atomics",
                           {{"global_reduction_requests", Direction::decreases, 10},
                            {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}},
                           [](auto norm, auto m, const auto& g, const Call& call) {
                             return launch_partials<Makes::sums_and_dx, BlockRow>(norm, m, g, call);
                           }),
                   Share::block);
}

// Launch for the LayerNorm gradient of a training step (kernels/common/row_norm_gradient.cuh).
template <class T>
Steps launch_gradient(const LayerNormGradient<T>& x, const Call& call) {
  constexpr NormConstant<Norm::layer> kLayer{};
  const RowMatrix<T> m{x.x, x.dx, call.p.rows, static_cast<int>(call.p.columns)};
  const GradientInputs<T> g{x.dy, x.gamma, x.mean, x.rstd, x.residual};
  if (!x.dx) return launch_partials<Makes::sums, BlockRow>(kLayer, m, g, call);
  if (x.residual) return launch_partials<Makes::sums_and_added, BlockRow>(kLayer, m, g, call);
  return launch_partials<Makes::sums_and_dx, BlockRow>(kLayer, m, g, call);
}

// ---- cluster_partials: a cluster of blocks per row
//
// Each of the two to eight blocks of a cluster keeps the sums of its share of the columns. The
// blocks compute a row's means together through distributed shared memory, so rows of up to 128 KB
// are read once, although their sums do not fit in the registers of one block. It costs cluster
// barriers in each row. It also leaves SMs of a GPC idle if their number is not a multiple of the
// cluster size.

Variant cluster_partials() {
  return needs_capability(
      stored_by(variant("cluster_partials", "separate",
                        {{"dram_read_bytes", Direction::decreases, 1.8, beyond_caches}},
                        [](auto norm, auto m, const auto& g, const Call& call) {
                          return launch_partials<Makes::sums_and_dx, ClusterRow>(norm, m, g, call);
                        }),
                Share::cluster),
      kClusterComputeCapability);
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  // Approximate statistics of x, which is uniform within ±1 of the offset; exact values are not
  // needed.
  constexpr float kRstd = 1.73f, kSpread = 0.125f;
  constexpr int kStream = 3;  // after the streams of x and the weights
  const auto mean = static_cast<float>(p.offset);
  return fill_norm(p, d, seed) + fill_scores(p, d.dy, 1.0, stream_seed(seed, kStream)) +
         fill_uniform(d.mean, p.rows, stream_seed(seed, kStream + 1), kSpread, mean) +
         fill_uniform(d.rstd, p.rows, stream_seed(seed, kStream + 2), kSpread, kRstd);
}

// ---- the plain reference

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_row_matrix(p, d.x, nullptr, [&](auto m) {
    using T = typename decltype(m)::Element;
    const auto *dy = static_cast<const T*>(d.dy), *gamma = static_cast<const T*>(d.gamma);
    const ExactNormGradient<T> exact{m.x, dy, gamma, d.mean, d.rstd, p.rows, p.columns, p.norm};
    return evaluate_rows(out[0], p.rows, exact) +
           evaluate_reference(out[1], sum_columns(p), NormWeightSum<T>{exact}) +
           evaluate_reference(out[2], elements(p), ExactProduct<T>{m.x, dy});
  });
}

// Bounds derived in tolerance_derivation.

Tolerance tolerance(const Problem& p) {
  const double rms = std::hypot(rounding_rms(p.dtype), 4 * kNormRoundoff);
  return {norm_gradient_error(p), 0x1p-124, kRmsSafety * rms, 0.0};
}
Tolerance sums_tolerance(const Problem& p) {
  const double rms = std::hypot(sum_rms(p.rows, DataType::fp32), 2 * kNormRoundoff);
  return {(static_cast<double>(p.rows) + 4) * kNormRoundoff, 0.0, kRmsSafety * rms, 0.0};
}

// ---- declaration

Family declare() {
  Family f("normalization_backward", Topic::patterns,
           "Which method sums the gradients of a norm's weights fastest?");
  f.physics =
      "dx needs two sums per row. It costs two reads and a write if a row's threads hold both "
      "operands in registers. The weights' gradients are column sums of the same operands: a "
      "second kernel for them reads all operands again, and atomics in L2 cost one addition per "
      "element. Persistent blocks that loop over rows process the same columns in each row. They "
      "accumulate the sums in registers and leave one row of partial sums per block, which a short "
      "kernel sums.";
  declare_norm(f)
      .input("dy", &Data::dy, matrix_type, elements)
      .input("mean", &Data::mean, &Problem::rows)
      .input("rstd", &Data::rstd, &Problem::rows)
      .output("dx", &Data::dx, matrix_type, elements)
      .output("dweights", &Data::dweights, sum_columns, sums_tolerance);
  declare_products(f, &Data::products);
  f.plot("normalization_backward", "share_of_copy",
         "Gradients of norms: throughput relative to an elementwise product",
         {{"param.dtype", "type"}});
  f.outputs = [](const Problem& p) { return Extent{p.columns, 1, 1}; };  // for the last kernel
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "u = 2^-24 (fp32), U = unit roundoff of the stored type. In a row's sums, each term passes "
      "through at most columns/32 + 13 additions with relative error u (Higham, Accuracy and "
      "Stability of Numerical Algorithms, 2nd ed., section 4.2). x̂, t, their product, the means "
      "and the result cost ten more roundings, and the result is rounded to U. All errors are "
      "relative to rstd·(|t| + mean|t| + |x̂|·mean|t·x̂|). The RMS error is 0.42·U of the result "
      "(Knuth) and a few roundings of u; means of terms of either sign are small compared with t. "
      "A sum of m rows is within m·u of the sum of absolute values in any order, and each term has "
      "four more roundings, RMS error sum_rms (family/tolerance.hpp). Twice the RMS is allowed.";
  f.variants(product(), element_atomics(), separate(), block_atomics(), block_partials(),
             cluster_partials());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::normalization_backward

namespace gpuexp {

std::int64_t norm_gradient_bytes(const NormProblem& p, const DeviceSpec& device) {
  using namespace normalization_backward;
  return stored_bytes(p, device, Share::block);
}

template <class T>
Steps layer_norm_gradient(const NormProblem& p, const LayerNormGradient<T>& x,
                          const LaunchContext& context) {
  return normalization_backward::launch_gradient(x, {p, x.dweights, context});
}
template Steps layer_norm_gradient(const NormProblem&, const LayerNormGradient<float>&,
                                   const LaunchContext&);
template Steps layer_norm_gradient(const NormProblem&, const LayerNormGradient<__half>&,
                                   const LaunchContext&);
template Steps layer_norm_gradient(const NormProblem&, const LayerNormGradient<__nv_bfloat16>&,
                                   const LaunchContext&);

}  // namespace gpuexp
