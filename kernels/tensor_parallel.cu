// tensor_parallel: C = A·B on several GPUs, each of which computes a part of the product.
//
// The question: how much faster do several GPUs compute one product, and what do they wait for?
// With 2 GPUs, each computes one of these results and exchanges it, until both have C:
//
//   split       each GPU multiplies    each GPU's result            bytes per GPU, of C's
//   rows        half of A's rows       half of C's rows             1/2 in, 1/2 out
//   columns     half of B's columns    half of C's columns          1/2 in, 1/2 out, pieces of rows
//   k           half of the terms      a partial sum of all of C    1 in, 1 out
//
// With 4 GPUs, `grid` multiplies half of A's rows by half of B's columns: a quarter of C.
#include "gpu/nccl.hpp"
#include "kernels/tensor_parallel/paced_product.cuh"
#include "kernels/tensor_parallel/phases.cuh"

namespace gpuexp::tensor_parallel {

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// 4-byte copies need registers for addresses: warps and blocks compute half as many elements of C.
template <int kUnitBytes>
using Tiles =
    std::conditional_t<kUnitBytes == 16, LargeTiles, Pipeline<Tiling<128, 128, 64, 64, 32>, 4>>;

template <int kColumns>
__device__ void store_tile(const float* slab, const Corner& at, const Operands& x, const Targets&);

// ---- the product: one tile of C per block, stored to one GPU's memory or to several

template <int kUnitBytes>
__global__ void __launch_bounds__(Tiles<kUnitBytes>::kThreads, 1)
    product_kernel(Operands x, Targets targets) {
  using P = Tiles<kUnitBytes>;
  extern __shared__ __align__(128) char shared[];
  const Corner tile = corner_of<P>(grouped_tile<kGroupRows>());
  tile_sums<P, kUnitBytes>(shared, tile, x)
      .store(shared, tile, [&](const float* slab, const Corner& at) {
        store_tile<P::kWarpN>(slab, at, x, targets);
      });
}

// Each pack of sums is rounded once, and stored once for each GPU that needs it. Stores are posted:
// a warp waits for them only when it needs their registers again.
template <int kColumns>
__device__ void store_tile(const float* slab, const Corner& at, const Operands& x,
                           const Targets& targets) {
  using S = Slab<float, kColumns>;
  constexpr int kPack = 16 / sizeof(T);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const bool has_packs = targets.pitch % kPack == 0;
  const int step = has_packs ? kPack : 1;
  for (int i = lane * step; i < S::kRows * kColumns; i += 32 * step) {
    const std::int64_t row = at.row + i / kColumns;
    const std::int64_t column = at.col + i % kColumns;
    if (row >= x.rows || column >= x.columns) continue;
    const float* const sums = slab + i / kColumns * S::kPitch + i % kColumns;
    const auto [first, end] = targets.of_row(row);
    const std::int64_t place = row * targets.pitch + column;
    Pack<T, kPack> pack;
    if (has_packs) pack = rounded_sums<T, kPack>(sums);
#pragma unroll
    for (int r = 0; r < kMaxRanks; ++r) {
      if (r < first || r >= end) continue;
      if (has_packs) {
        store_pack(targets.c.of[r] + place, pack);
      } else {
        targets.c.of[r][place] = from_float<T>(*sums);
      }
    }
  }
}

// ---- how the variants are launched

template <int kUnitBytes>
Steps own_product_of(const Problem& p, const Operands& x, const Targets& targets) {
  using P = Tiles<kUnitBytes>;
  const Extent blocks{std::max<std::int64_t>(1, ceil_div(x.rows, P::kBlockM)),
                      std::max<std::int64_t>(1, ceil_div(x.columns, P::kBlockN))};
  return launch(product_kernel<kUnitBytes>,
                shape_of_shares(blocks, {p.m, p.n}, P::kThreads, P::kSharedBytes), x, targets);
}

/// The launch of product_kernel, with 16-byte copies if n and k allow them.
Steps own_product(const Problem& p, const Operands& x, const Targets& targets) {
  return (p.n | p.k) % kUnit == 0 ? own_product_of<16>(p, x, targets)
                                  : own_product_of<4>(p, x, targets);
}

Phase own_product_phase(const Problem& p) {
  Phase phase = product_phase(work(p));
  phase.tensor_path = TensorPath::mma_sync;
  phase.by_library = false;
  const Part part = part_of(p, p.gpus - 1);  // the last rank's part contains the remainder
  Operands sizes{};
  sizes.rows = part.rows.size();
  sizes.columns = part.columns.size();
  sizes.depth = part.depth.size();
  name_kernel(phase, own_product(p, sizes, {}));
  return phase;
}

// ---- properties of all variants

bool is_large(const Problem& p) {
  constexpr std::int64_t kLarge = 4096;
  return std::min({p.m, p.n, p.k}) >= kLarge && is_everywhere(p) && !is_split_k(p);
}
constexpr std::int64_t kVeryLarge = 8192;
bool is_very_large(const Problem& p) {
  return is_large(p) && std::min({p.m, p.n, p.k}) >= kVeryLarge;
}

ExpectedChangesOf<Problem> time(Direction direction, double factor, bool (*when)(const Problem&)) {
  return {{std::string(kTimeColumn), direction, factor, when}};
}
/// Times of very large products decrease. Smaller products gain on two GPUs and lose on four.
ExpectedChangesOf<Problem> faster_once_very_large(double factor) {
  const auto is_smaller = [](const Problem& p) { return is_large(p) && !is_very_large(p); };
  return {{std::string(kTimeColumn), Direction::decreases, factor, is_very_large},
          {std::string(kTimeColumn), Direction::unchanged, 1.2, is_smaller}};
}

using Reason = std::optional<std::string>;

Variant variant(std::string id, std::string compare_to) {
  Variant v(std::move(id), std::move(compare_to));
  v.work = work;
  return v;
}

Variant with_cublas(std::string id, std::string compare_to) {
  Variant v = variant(std::move(id), std::move(compare_to));
  v.is_vendor = true;
  v.unavailable = cublas::unavailable;
  return v;
}

/// Workspace for one partial sum of C.
void needs_partial_sum(Variant& v) {
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return is_split_k(p) ? kBytes * p.m * p.n : std::int64_t{kUnit};
  };
}

Reason nothing_to_gather(const Problem& p, const DeviceSpec&) {
  if (is_everywhere(p) || is_split_k(p)) return std::nullopt;
  return "no results are gathered: each GPU keeps its part";
}

// ---- one_gpu: no division
//
// Each GPU computes the whole product. No bytes cross the links.

Variant one_gpu() {
  Variant v = with_cublas("one_gpu", "");
  v.work = whole_product;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> Reason {
    if (is_everywhere(p)) return std::nullopt;
    return "computes all of C on each GPU, not a part";
  };
  v.phases = [](const Problem& p, const DeviceSpec&) {
    return std::vector<Phase>{product_phase(whole_product(p))};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return multiplied(p, resident(p, d, {{0, p.m}, {0, p.n}, {0, p.k}}), d.c.of[d.rank]);
  };
  return v;
}

// ---- copied_parts: inputs copied from GPU 0
//
// A and B are on GPU 0, as in tutorials. The other GPUs copy their parts of A and B from GPU 0 and
// multiply them. Each GPU then copies its part of C to all others. The steps run one after another,
// so links and tensor cores wait for each other, and all copies from GPU 0 share its links. If k is
// split, each GPU loads the whole partial sums of all others and adds them.

Variant copied_parts() {
  Variant v = with_cublas("copied_parts", "one_gpu");
  const auto result = [](const Problem& p) {
    return is_split_k(p) ? all_partial_sums(p) : gathered(p);
  };
  v.work = [result](const Problem& p) { return work_with(p, copied_inputs(p) + result(p)); };
  v.phases = [result](const Problem& p, const DeviceSpec&) {
    Phase inputs = move_phase("inputs", LinkUse::copy_engine, copied_inputs(p));
    inputs.both_ways = false;
    std::vector<Phase> phases{inputs, product_phase(work(p))};
    if (is_split_k(p)) {
      phases.push_back(sum_phase(p, LinkUse::loads, result(p)));
    } else if (is_everywhere(p)) {
      phases.push_back(move_phase("copies", LinkUse::copy_engine, result(p)));
    }
    return phases;
  };
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return kBytes * (copied_a(p) + copied_b(p));
  };
  v.launch = copied_parts_steps;
  return v;
}

// ---- product_then_copies: inputs in place, results copied
//
// A and B are on all GPUs already, as weights and activations of a previous layer are. Each GPU
// computes its part in place in its own C. A copy engine then copies the part to the C of the other
// GPUs: as one piece if it consists of whole rows, otherwise a piece of each row. The links are
// idle during the product, and the tensor cores during the copies. If k is split, the rows of a
// partial sum are copied to the GPU that sums them, and the sums to all.

Steps product_then_copies_steps(const Problem& p, const Data& d, const LaunchContext& x) {
  const Part part = part_of(p, d.rank);
  if (!is_split_k(p)) {
    return multiplied(p, resident(p, d, part), d.c.of[d.rank] + place_of(p, part)) +
           copied(to_peers(p, d, part));
  }
  auto* const partial_sum = static_cast<T*>(x.workspace);
  Steps steps = multiplied(p, resident(p, d, part), partial_sum);
  for (const int owner : peers_from(d.rank, p.gpus))
    steps += copied(to_inbox(p, d, partial_sum, owner));
  return steps + inbox_summed(p, d, x, false, partial_sum) +
         copied(to_peers(p, d, own_result(p, d.rank)));
}

Variant product_then_copies() {
  Variant v = with_cublas("product_then_copies", "copied_parts");
  needs_partial_sum(v);
  v.expected_changes = time(Direction::decreases, 1.2, is_large);
  v.phases = [](const Problem& p, const DeviceSpec&) {
    std::vector<Phase> phases{product_phase(work(p))};
    if (is_split_k(p)) {
      phases.push_back(move_phase("copies", LinkUse::copy_engine, scattered(p)));
      phases.push_back(sum_phase(p, LinkUse::stores, {}));
    }
    if (is_everywhere(p)) phases.push_back(move_phase("copies", LinkUse::copy_engine, gathered(p)));
    return phases;
  };
  v.launch = product_then_copies_steps;
  return v;
}

// ---- product_then_nccl: NCCL's collectives
//
// NCCL's all-gather replaces the copies. If k is split, NCCL's all-reduce or reduce-scatter
// replaces copies and sums. The all-gather needs equal, contiguous parts: rows, not columns. Sums
// are rounded to bf16 at every step around a ring.

Variant product_then_nccl() {
  Variant v = with_cublas("product_then_nccl", "product_then_copies");
  v.unavailable = []() -> Reason {
    if (const Reason missing = cublas::unavailable()) return missing;
    return nccl::unavailable();
  };
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> Reason {
    if (const Reason nothing = nothing_to_gather(p, device)) return nothing;
    if (p.split == Split::columns || p.split == Split::grid)
      return "NCCL gathers contiguous parts, not columns";
    const bool has_parts = !(is_split_k(p) && is_everywhere(p));
    if (has_parts && p.m % (kUnit * p.gpus) != 0)
      return "NCCL needs equal parts: m must be a multiple of " + std::to_string(kUnit * p.gpus);
    return std::nullopt;
  };
  needs_partial_sum(v);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const Part part = part_of(p, d.rank);
    T* const c = d.c.of[d.rank];
    T* const product = is_split_k(p) ? static_cast<T*>(x.workspace) : c;
    const auto operation = !is_split_k(p)     ? nccl::Operation::all_gather
                           : is_everywhere(p) ? nccl::Operation::all_reduce
                                              : nccl::Operation::reduce_scatter;
    return multiplied(p, resident(p, d, part), product + place_of(p, part)) +
           nccl::step_of({operation, nccl::Buffers::plain, DataType::bf16, p.m * p.n, product, c,
                          d.rank, p.gpus});
  };
  return v;
}

// ---- partial_sums: all-reduce of partial sums by a kernel
//
// k is split, and a kernel of this family does the all-reduce in two steps: each GPU loads its rows
// of all partial sums over the links, adds them in fp32, and stores the sums to all GPUs. Partial
// sums are rounded to bf16 as well; in fp32 they would be 4 bytes instead of 2. More bytes cross
// the links than if rows are gathered. A split of k is useful for products with small results.

Reason only_k(const Problem& p, const DeviceSpec&) {
  if (is_split_k(p)) return std::nullopt;
  return "needs split=k: other splits have no partial sums";
}

Variant partial_sums() {
  Variant v = with_cublas("partial_sums", "product_then_copies");
  v.unsupported = only_k;
  v.phases = [](const Problem& p, const DeviceSpec&) {
    return std::vector<Phase>{product_phase(work(p)), sum_phase(p, LinkUse::loads, min_traffic(p))};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return multiplied(p, resident(p, d, part_of(p, d.rank)), d.partial.of[d.rank]) +
           peers_summed(p, d, x);
  };
  return v;
}

// ---- chunks_copy_engine: copies overlapped with products
//
// The part is multiplied in chunks of rows. Each finished chunk is copied in another stream while
// the next one is multiplied; copies need no SM. The copies of the last chunk do not overlap, and
// SMs are idle at the end of each product. The last chunk is therefore only large enough to fill
// the SMs once; each other chunk can be copied while the next one is multiplied. If k is split, a
// chunk is the rows that one GPU sums, with the GPU's own rows last.

Steps carried(const Problem& p, Carrier by, const Move<T>& move) {
  return by == Carrier::copy_engine ? copied(move) : stored(p, move, kStoringBlocks);
}

Steps chunks_steps(const Problem& p, const Data& d, const LaunchContext& x, Carrier by) {
  constexpr int kCopyStream = 1;
  const int sm_count = by == Carrier::stores ? std::max(1, x.device.sm_count - kStoringSms) : 0;
  const Part part = part_of(p, d.rank);
  Steps steps;
  const auto add = [&](const Part& chunk, T* c, const Move<T>& move) {
    steps += multiplied(p, resident(p, d, chunk), c + place_of(p, chunk), sm_count);
    if (steps.all().empty()) return;
    const std::size_t product = steps.all().size() - 1;
    if (move.rows > 0) append(steps, carried(p, by, move), kCopyStream, product);
  };
  if (!is_split_k(p)) {
    for (const Part& chunk : chunks_of(p, part, x.device))
      add(chunk, d.c.of[d.rank], to_peers(p, d, chunk));
    return steps;
  }
  auto* const partial_sum = static_cast<T*>(x.workspace);
  std::vector<int> owners = peers_from(d.rank, p.gpus);
  owners.push_back(d.rank);
  for (const int owner : owners) {
    Part chunk = part;
    chunk.rows = even_part(p.m, p.gpus, owner);
    add(chunk, partial_sum, owner == d.rank ? Move<T>{} : to_inbox(p, d, partial_sum, owner));
  }
  Steps sums = inbox_summed(p, d, x, true, partial_sum);
  for (std::size_t i = steps.all().size(); i-- > 0;) {
    if (steps.all()[i].stream != kCopyStream) continue;
    sums.all().front().after = {i};
    break;
  }
  for (Step& step : sums.all())
    steps.add(std::move(step));
  return steps;
}

Variant chunks(std::string id, std::string compare_to, Carrier by) {
  Variant v = with_cublas(std::move(id), std::move(compare_to));
  needs_partial_sum(v);
  v.unsupported = nothing_to_gather;
  v.phases = [by](const Problem& p, const DeviceSpec& device) {
    return chunks_phases(p, device, by);
  };
  v.launch = [by](const Problem& p, const Data& d, const LaunchContext& x) {
    return chunks_steps(p, d, x, by);
  };
  return v;
}

Variant chunks_copy_engine() {
  return chunks("chunks_copy_engine", "product_then_copies", Carrier::copy_engine)
      .expecting(faster_once_very_large(1.1));
}

// ---- chunks_stores: chunks stored by a kernel
//
// A kernel of few blocks sends the same chunks: it loads each chunk once and stores it to all other
// GPUs. A product that occupies all SMs would leave no SM for this kernel, so cuBLAS is limited to
// fewer SMs (cublasSetSmCountTarget). The cost is that the SMs that send do not multiply.

Variant chunks_stores() {
  return chunks("chunks_stores", "chunks_copy_engine", Carrier::stores);
}

// ---- product_then_stores: this family's kernel instead of cuBLAS
//
// A kernel of this family, product_kernel, replaces cuBLAS, so its code can be read and changed. It
// multiplies by mma.sync, which does not reach the tensor cores' peak on Hopper, and the time
// increases. A second kernel stores the part to the other GPUs or, if k is split, sums it.

Reason lacks_room(const Problem&, const DeviceSpec& device) {
  return lacks_shared_memory(device, Tiles<16>::kSharedBytes);
}

Variant with_own_product(std::string id, std::string compare_to) {
  Variant v = variant(std::move(id), std::move(compare_to));
  v.deterministic = true;
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.unsupported = lacks_room;
  return v;
}

Variant product_then_stores() {
  Variant v = with_own_product("product_then_stores", "product_then_copies")
                  .expecting(time(Direction::increases, 1.1, is_large));
  v.phases = [](const Problem& p, const DeviceSpec&) {
    std::vector<Phase> phases{own_product_phase(p)};
    if (is_split_k(p)) {
      phases.push_back(sum_phase(p, LinkUse::loads, min_traffic(p)));
    } else if (is_everywhere(p)) {
      phases.push_back(move_phase("stores", LinkUse::stores, gathered(p)));
    }
    return phases;
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    constexpr std::int64_t kBlocksPerSm = 4;
    const Part part = part_of(p, d.rank);
    const Operands operands = resident(p, d, part);
    if (is_split_k(p))
      return own_product(p, operands, to_one(p, d.partial.of[d.rank])) + peers_summed(p, d, x);
    return own_product(p, operands, to_one(p, d.c.of[d.rank] + place_of(p, part))) +
           stored(p, to_peers(p, d, part), kBlocksPerSm * x.device.sm_count);
  };
  return v;
}

// ---- one_kernel: each tile stored to all GPUs
//
// The kernel has the addresses of all GPUs' C, and the block that computes a tile stores it to all
// GPUs. No second kernel loads the tile again. Only the transfer of the last tiles does not overlap
// with computation. If k is split, the rows of a tile are stored to the inbox of the GPU that sums
// them, and only the sum remains.

Variant one_kernel() {
  Variant v =
      with_own_product("one_kernel", "product_then_stores").expecting(faster_once_very_large(1.05));
  v.phases = [](const Problem& p, const DeviceSpec& device) {
    const Phase product = own_product_phase(p);
    return sending_phases(p, product, last_share(product.grid.count(), device.sm_count));
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    Steps steps = own_product(p, resident(p, d, part_of(p, d.rank)), to_all(p, d));
    return is_split_k(p) ? steps + inbox_summed(p, d, x, true, nullptr) : steps;
  };
  return v;
}

// ---- one_kernel_paced: persistent blocks with a warp that sends
//
// Persistent blocks compute the tiles, one block per SM, and a separate warp of each block sends
// results. Bulk copies send staged results from shared memory to all GPUs while the block
// multiplies its next tile, no faster than the links accept them: stores that wait for a link delay
// the SM's loads. Only the transfer of the last results does not overlap. To keep these few, two
// blocks share each of the last tiles: each sums a part of k, and they exchange sums through
// distributed shared memory.

Variant one_kernel_paced() {
  Variant v = with_own_product("one_kernel_paced", "one_kernel");
  v.min_compute_capability = kBulkCopyComputeCapability;
  const auto over_many = [](const Problem& p) { return is_large(p) && p.gpus > 2; };
  const auto over_two = [](const Problem& p) { return is_large(p) && p.gpus == 2; };
  v.expected_changes = {{std::string(kTimeColumn), Direction::decreases, 1.1, over_many},
                        {std::string(kTimeColumn), Direction::decreases, 1.01, over_two}};
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> Reason {
    if ((p.n | p.k) % kUnit != 0)
      return "bulk copies need multiples of " + std::to_string(kBulkCopyAlignment) +
             " bytes: n and k must be multiples of " + std::to_string(kUnit);
    if (const Reason lacks = lacks_specific_code(device)) return lacks;
    return lacks_shared_memory(device, kPacedSharedBytes);
  };
  v.phases = [](const Problem& p, const DeviceSpec& device) {
    const Part part = part_of(p, p.gpus - 1);
    const PacedPieces pieces = pieces_of(part.rows.size(), part.columns.size(), device);
    // The time of the kernel's own blocks depends on pauses and on other blocks. Their tiles count
    // as tiles of product_then_stores, which stores them once, in waves over all SMs. A half tile
    // takes half as long.
    Phase product = own_product_phase(p);
    product.kernel_of = "product_then_stores";
    product.kernel_time_factor =
        max_tiles_per_block(pieces) /
        static_cast<double>(ceil_div(product.grid.count(), device.sm_count));
    return sending_phases(p, product, last_share(pieces));
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    Steps steps = paced_product(p, resident(p, d, part_of(p, d.rank)), to_all(p, d), x.device);
    return is_split_k(p) ? steps + inbox_summed(p, d, x, true, nullptr) : steps;
  };
  return v;
}

// ---- declaration

Family declare() {
  Family f("tensor_parallel", Topic::links,
           "How much faster do several GPUs compute one product, and what do they wait for?");
  f.physics =
      "A product of two N×N matrices has 2N³ operations and N² results. Each of g GPUs takes a "
      "g-th of the operations, while (g - 1) / g of the results must reach each GPU over its "
      "links. If rows or columns are split, results are only moved. If k is split, each GPU has a "
      "partial sum of all results, and their sum moves twice the bytes. Links and tensor cores "
      "work at the same time: results that are sent while others are computed cost no time, and "
      "only the transfer of the last piece remains.";
  declare_extents(f, 4096);
  f.choice(
       "split", &Problem::split,
       {{"rows", Split::rows}, {"columns", Split::columns}, {"k", Split::k}, {"grid", Split::grid}},
       "what is divided among the GPUs: rows of A, columns of B, the sum over k, or rows and "
       "columns")
      .choice("result", &Problem::result,
              {{"everywhere", Result::everywhere}, {"parts", Result::parts}},
              "what each GPU has at the end: all of C, or its part")
      .spans(&Problem::gpus, &Data::rank);
  f.input("a", &Data::a, elements_of_a<Problem>)
      .input("b", &Data::b, elements_of_b<Problem>)
      .in_out("c", &Data::c, elements_of_c<Problem>)
      .state("partial", &Data::partial,
             [](const Problem& p) {
               return is_split_k(p) ? p.gpus * slot_rows(p) * p.n : std::int64_t{kUnit};
             })
      .state("signals", &Data::signals, [](const Problem&) { return kSignalWords; })
      .flags_from(kFlagsWord);
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> Reason {
    constexpr int kGrid = 4;
    if (p.split != Split::grid || p.gpus == kGrid) return std::nullopt;
    return "split=grid needs 2×2 GPUs: gpus must be 4";
  };
  f.inputs = inputs;
  f.reset = reset;
  set_references(
      f, [](const Problem& p) { return p.m * p.n; },
      [](const Problem& p, const Data& d, int) { return expected(p, d); });
  f.reference_operations = [](const Problem& p) { return operation_count(whole_product(p)); };
  f.tolerance_derivation = std::string(kTensorCoreBoundDerivation) + kPartialSumDerivation;
  f.tolerance = [](const Problem& p) { return error_bound(p).tolerance(); };
  f.variants(one_gpu(), copied_parts(), product_then_copies(), product_then_nccl(), partial_sums(),
             chunks_copy_engine(), chunks_stores(), product_then_stores(), one_kernel(),
             one_kernel_paced());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::tensor_parallel
