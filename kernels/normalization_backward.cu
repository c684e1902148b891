// normalization_backward: the gradients of LayerNorm and RMSNorm, of their input and their weights.
//
// The question: who adds up the gradients of the weights? With x̂ = (x - mean)·rstd as the forward
// pass had it, t = γ·dy, and means over a row's n elements,
//   dx = rstd·(t - mean(t) - x̂·mean(t·x̂)),  dγ = Σ dy·x̂,  dβ = Σ dy,
// where the latter two are sums over all rows. dx is a matter of rows, as in softmax_backward: two
// reads and a write. The weights' sums run down the columns of the same operands. An atomic
// addition for each element asks L2 for more than DRAM gives; a second kernel reads both operands
// again; blocks that stay add up what they have in their registers on the way.
#include <algorithm>

#include "kernels/common/bound_by_atomics.cuh"
#include "kernels/common/column_sums.cuh"
#include "kernels/common/row_norm_gradient.cuh"

namespace gpuexp::normalization_backward {

using Problem = NormProblem;

struct Data {
  void* x;
  void* dy;
  void* gamma;
  void* beta;   // which no gradient needs
  float* mean;  // of each row, as the forward pass kept it
  float* rstd;  // 1/√(variance + ε), likewise
  void* dx;
  float* dweights;  // of γ, and behind them those of β
  void* products;   // of `product` alone
};

// What a row's gradient is made of besides x, which a RowMatrix has.
template <class T>
struct Given {
  const T* dy;
  const T* gamma;
  const float* mean;
  const float* rstd;
  const T* residual;  // of Makes::sums_and_added alone
  __device__ NormStatistics of(Norm norm, std::int64_t row) const {
    return {norm == Norm::layer ? mean[row] : 0.0f, rstd[row]};
  }
};

// x̂ and t in place of x and dy, and the sums of t and of t·x̂.
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
// Of what each thread of the row found: both means.
template <Norm kNorm, class Group>
__device__ TwoSums means_of(const Group& group, TwoSums own, int columns) {
  if (kNorm == Norm::layer) {
    own = group.template all<0>(own, BothSums());
    own.a /= columns;
  } else {
    own.b = group.template all<0>(own.b, Sum());
  }
  own.b /= columns;
  return own;
}

// ---- element_atomics: an atomic addition for each element of each row
//
// A block holds its row's x and dy in registers, makes dx of them, and adds what each element gives
// to its column's sums in L2: one kernel, which reads each operand once, and a fill before. L2 has
// two additions per element to make (RMSNorm: one), of which it makes far fewer in a given time
// than DRAM delivers elements. Sums differ in their last bits from launch to launch.

template <Norm kNorm, bool kAdds, class T, int kW, int kElements>
__global__ void __launch_bounds__(kMostRowThreads)
    rows_kernel(RowMatrix<T> m, Given<T> g, float* dweights) {
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
  const TwoSums mean = means_of<kNorm>(group, own, m.columns);
  dy.join(x, [&](float t, float normed) { return s.rstd * (t - mean.a - normed * mean.b); });
  dy.store(m.out(group.row));
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Sums: of γ, and of β where there is one.
std::int64_t sum_columns(const Problem& p) {
  return p.columns * (p.norm == Norm::layer ? 2 : 1);
}

Work work(const Problem& p) {
  const bool is_layer = p.norm == Norm::layer;
  return row_work(p, 2, 1, is_layer ? 12 : 8) + reads<char>(p.columns * element_bytes(p)) +
         reads<float>(p.rows * (is_layer ? 2 : 1)) + writes<float>(sum_columns(p));
}

// What a launch needs besides its operands.
struct Call {
  const Problem& p;
  float* dweights;
  const LaunchContext& context;
};

// `launch_of` gives the launch for which norm it is, a RowMatrix of x and dx, and what else is
// given.
template <class LaunchOf>
Variant variant(std::string id, std::string compare_to, ExpectedChangesOf<Problem> expected,
                LaunchOf launch_of) {
  Variant v = row_variant<Variant>(std::move(id), std::move(compare_to), {"dx", "dweights"},
                                   std::move(expected));
  v.work = work;
  v.launch = [launch_of](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_row_matrix(p, d.x, d.dx, [&](auto m) {
      using T = typename decltype(m)::Element;
      const Given<T> g{static_cast<const T*>(d.dy), static_cast<const T*>(d.gamma), d.mean, d.rstd,
                       nullptr};
      return with_norm(p.norm, [&](auto norm) {
        return launch_of(norm, m, g, Call{p, d.dweights, context});
      });
    });
  };
  return v;
}
Variant in_any_order(Variant v) {
  v.deterministic = false;
  return bound_by_atomics(v);
}

Steps zeros(const Call& call) {
  return MemsetStep{call.dweights, 0, sum_columns(call.p) * std::int64_t{sizeof(float)}};
}

// Two rows leave a thread room for half as many elements of each.
constexpr Edges kHalf = Edges::peeled;

template <bool kAdds, class NormOf, class T>
Steps launch_rows(NormOf norm, const RowMatrix<T>& m, const Given<T>& g, float* dweights) {
  const RowShape shape = row_shape(m.columns, kHalf);
  return by_width(m, [&](auto width) {
    return with_part<most_elements(kHalf)>(shape.elements, Edges::whole, [&](auto count, auto) {
      return block_per_row(rows_kernel<norm, kAdds, T, width, count>, shape.threads, m, g,
                           dweights);
    });
  });
}

// ---- product: the limit
//
// x·dy, element by element: the same bytes in and out as dx alone, 16 at a time, and neither a row
// nor a column to wait for.

Variant product() {
  return product_variant<Problem>(&Data::x, &Data::dy, &Data::products, work);
}

Variant element_atomics() {
  Variant v = variant("element_atomics", "product",
                      {{"global_reduction_requests", Direction::increases, 10}},
                      [](auto norm, auto m, const auto& g, const Call& call) {
                        return zeros(call) + launch_rows<true>(norm, m, g, call.dweights);
                      });
  return in_any_order(held_by(v, kMostRowThreads, kHalf));
}

// ---- separate: columns by a kernel of their own
//
// One kernel makes dx, as before. Another one reads x and dy again: as many blocks as are resident
// go from row to row, and since a thread has the same columns in each, it adds up their sums in
// registers. Each block stores its own, which further kernels add up in an order that the code
// fixes: global_reduction_requests falls to none, and equal inputs give equal bits. It costs the
// operands' second read: dram_read_bytes doubles.

constexpr int kKeptThreads = 512;  // of an SM: 128 registers each

// Where a block's sums go.
struct AddToAll {
  float* to;
  __device__ void operator()(std::int64_t column, std::int64_t, std::int64_t, float sum) const {
    atomicAdd(to + column, sum);
  }
};
struct StoreApart {
  float* to;
  __device__ void operator()(std::int64_t column, std::int64_t part, std::int64_t columns,
                             float sum) const {
    to[part * columns + column] = sum;
  }
};

enum class Makes { sums, sums_and_dx, sums_and_added };  // dx by itself, or a residual and dx

template <Makes kMakes, Norm kNorm, class Group, class Put, class T, int kW, int kVectors>
__global__ void __launch_bounds__(kKeptThreads, 1)
    kept_kernel(RowMatrix<T> m, Given<T> g, int parts, Put put) {
  const Group group;  // of its first row, which is its number among all
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
    const TwoSums mean = means_of<kNorm>(group, own, m.columns);
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
    group.again();
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

// Which threads keep a row's sums: those of a block, or of as many blocks of a cluster as it takes.
enum class Share { block, cluster };
struct Kept {
  int accesses;        // of a thread: vectors of 16 bytes, or elements
  int threads;         // of a block
  int blocks;          // of a cluster
  std::int64_t parts;  // rows at a time
};

constexpr int kMostVectors = 2, kMostSingles = 8;  // accesses of a thread

std::int64_t width_of(const Problem& p) {
  return edges_of(p.columns, p.dtype) == Edges::whole ? kWidestAccess / element_bytes(p) : 1;
}
std::int64_t most_kept(const Problem& p, int blocks) {
  const std::int64_t width = width_of(p);
  return blocks * kKeptThreads * width * (width > 1 ? kMostVectors : kMostSingles);
}

Kept kept_of(const Problem& p, const DeviceSpec& device, Share share) {
  int blocks = share == Share::block ? 1 : 2;
  while (share == Share::cluster && blocks < kMostClusterBlocks && p.columns > most_kept(p, blocks))
    blocks *= 2;
  const std::int64_t of_block = ceil_div(p.columns, width_of(p) * blocks);
  const int accesses = width_of(p) == 1                   ? kMostSingles
                       : blocks == 1 && of_block <= kWarp ? 1
                                                          : kMostVectors;
  const auto warps = static_cast<int>(ceil_div(ceil_div(of_block, accesses), kWarp));
  // Clusters that are resident: a GPC, which each is in, has 16 SMs or more.
  constexpr int kOfGpc = 16;
  const int places =
      blocks == 1 ? device.sm_count : std::max(1, device.sm_count / kOfGpc) * (kOfGpc / blocks);
  const std::int64_t parts = places * std::max(1, kKeptThreads / (warps * kWarp));
  return {accesses, warps * kWarp, blocks, std::min(parts, p.rows)};
}

template <Makes kMakes, class Group, class Put, class NormOf, class T>
Steps launch_kept(NormOf norm, const RowMatrix<T>& m, const Given<T>& g, const Kept& kept,
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
  if (kept.accesses == kMostSingles)
    return launch_of(kept_kernel<kMakes, norm, Group, Put, T, 1, kMostSingles>);
  if (kept.accesses == kMostVectors)
    return launch_of(kept_kernel<kMakes, norm, Group, Put, T, kW, kMostVectors>);
  return launch_of(kept_kernel<kMakes, norm, Group, Put, T, kW, 1>);
}

// The variant, for rows that those threads can keep.
Variant kept_by(Variant v, Share share) {
  const int blocks = share == Share::block ? 1 : kMostClusterBlocks;
  v.unsupported = [=](const Problem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.columns <= most_kept(p, blocks)) return std::nullopt;
    return "512 threads of each block keep 8 or 16 columns each, fewer than a row has";
  };
  return v;
}

Slices slices_of_parts(const Problem& p, const Kept& kept, const DeviceSpec& device) {
  const std::int64_t columns = sum_columns(p);
  return slices_of(kept.parts, columns, tile_columns(columns, DataType::fp32), kTilesPerSm, device);
}

// Of which each part stores its sums apart; behind them are those of slices of parts.
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
Steps launch_apart(NormOf norm, const M& m, const G& g, const Call& call) {
  constexpr bool kIsBlock = std::is_same<Group, BlockRow>::value;
  const Kept kept = kept_of(call.p, call.context.device, kIsBlock ? Share::block : Share::cluster);
  auto* const apart = static_cast<float*>(call.context.workspace);
  const Slices slices = slices_of_parts(call.p, kept, call.context.device);
  const ElementTerms<float> terms{apart};
  const Steps rows = launch_kept<kMakes, Group>(norm, m, g, kept, StoreApart{apart});
  if (slices.count() == 1) return rows + tile_sums(slices, terms, StoreSums{call.dweights});
  return rows + stored_tile_sums(slices, terms, apart + kept.parts * slices.columns, call.dweights);
}

Variant separate() {
  return stored_by(variant("separate", "element_atomics",
                           {{"global_reduction_requests", Direction::decreases, 10},
                            {"dram_read_bytes", Direction::increases, 1.8, beyond_caches}},
                           [](auto norm, auto m, const auto& g, const Call& call) {
                             return launch_rows<false>(norm, m, g, call.dweights) +
                                    launch_apart<Makes::sums, BlockRow>(norm, m, g, call);
                           }),
                   Share::block);
}

// ---- block_atomics: sums in registers, and atomics at the end
//
// The blocks that go from row to row make dx as well, and keep γ: each operand is read once, so
// that dram_read_bytes halves. The next row is on its way while the row's threads wait for this
// one's means. In the end L2 has an addition per block and column. It costs registers for two rows,
// the next two and the sums, which leave an SM 512 threads.

Variant block_atomics() {
  const auto launch_of = [](auto norm, auto m, const auto& g, const Call& call) {
    const Kept kept = kept_of(call.p, call.context.device, Share::block);
    return zeros(call) +
           launch_kept<Makes::sums_and_dx, BlockRow>(norm, m, g, kept, AddToAll{call.dweights});
  };
  return in_any_order(
      kept_by(variant("block_atomics", "separate",
                      {{"dram_read_bytes", Direction::decreases, 1.8, beyond_caches}}, launch_of),
              Share::block));
}

// ---- block_partials: a row of sums per block, and a second kernel
//
// Blocks store their sums, and further kernels add them up in an order that the code fixes: equal
// inputs give equal bits, and global_reduction_requests falls to none. The sums of all blocks are a
// small matrix, which L2 has: dram_read_bytes stays. It costs the start of a kernel or two, which
// wait for the last block.

Variant block_partials() {
  return stored_by(variant("block_partials", "block_atomics",
                           {{"global_reduction_requests", Direction::decreases, 10},
                            {"dram_read_bytes", Direction::unchanged, 1.05, beyond_caches}},
                           [](auto norm, auto m, const auto& g, const Call& call) {
                             return launch_apart<Makes::sums_and_dx, BlockRow>(norm, m, g, call);
                           }),
                   Share::block);
}

// A block's rows of a step of training (kernels/common/row_norm_gradient.cuh).
template <class T>
Steps launch_gradient(const LayerNormGradient<T>& x, const Call& call) {
  constexpr NormConstant<Norm::layer> kLayer{};
  const RowMatrix<T> m{x.x, x.dx, call.p.rows, static_cast<int>(call.p.columns)};
  const Given<T> g{x.dy, x.gamma, x.mean, x.rstd, x.residual};
  if (!x.dx) return launch_apart<Makes::sums, BlockRow>(kLayer, m, g, call);
  if (x.residual) return launch_apart<Makes::sums_and_added, BlockRow>(kLayer, m, g, call);
  return launch_apart<Makes::sums_and_dx, BlockRow>(kLayer, m, g, call);
}

// ---- cluster_partials: blocks of several SMs share a row
//
// Two to eight blocks of a cluster keep a part of the columns each, and find a row's means together
// through distributed shared memory: rows of up to 64 KB (bf16: 128 KB) are read once, where one
// block's registers have no room for their sums. It costs barriers of the cluster in each row, and
// the SMs that a GPC has beyond a multiple of the cluster's blocks.

Variant cluster_partials() {
  return needs_capability(
      stored_by(variant("cluster_partials", "separate",
                        {{"dram_read_bytes", Direction::decreases, 1.8, beyond_caches}},
                        [](auto norm, auto m, const auto& g, const Call& call) {
                          return launch_apart<Makes::sums_and_dx, ClusterRow>(norm, m, g, call);
                        }),
                Share::cluster),
      kClustersFrom);
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  // About those of x, which is spread evenly over ± 1 from the offset: any numbers will do.
  constexpr float kRstd = 1.73f, kSpread = 0.125f;
  constexpr int kStream = 3;  // behind those of x and the weights
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

// The derivations that tolerance_derivation states in words.

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
           "Who adds up the gradients of a norm's weights?");
  f.physics =
      "dx needs two sums per row, and is two reads and a write where a row's threads hold both "
      "operands. The weights' gradients are sums of columns of the same operands: a second kernel "
      "for them reads all of it again, and atomics of L2 take one addition per element. Blocks "
      "that go from row to row have the same columns each time: they add up in registers, and "
      "leave a row of sums per block, which is little to add up.";
  declare_norm(f)
      .input("dy", &Data::dy, matrix_type, elements)
      .input("mean", &Data::mean, &Problem::rows)
      .input("rstd", &Data::rstd, &Problem::rows)
      .output("dx", &Data::dx, matrix_type, elements)
      .output("dweights", &Data::dweights, sum_columns, sums_tolerance);
  declare_products(f, &Data::products);
  f.figure("normalization_backward", "share_of_copy",
           "The gradients of norms beside a product of their operands", {{"param.dtype", "type"}});
  f.outputs = [](const Problem& p) { return Extent{p.columns, 1, 1}; };  // of the last kernel
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = tolerance;
  f.tolerance_derivation =
      "u = 2^-24 of fp32, U of the stored type. A row's sums pass each term through at most "
      "columns/32 + 13 additions of u (Higham, Accuracy and Stability of Numerical Algorithms, 2nd "
      "ed., section 4.2); x̂, t, their product, the means and the result take ten roundings more, "
      "and that to U: all relative to rstd·(|t| + mean|t| + |x̂|·mean|t·x̂|). The RMS error is "
      "0.42·U of the result (Knuth) and a few roundings of u; means of terms of either sign are "
      "small beside t. A sum of m rows is within m·u of the sum of absolute values, whatever the "
      "order, and each term has four roundings of its own; their RMS error is that of a random "
      "walk's roundings (sum_rms of family/tolerance.hpp). Twice the RMS errors are allowed.";
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
