// tensor_parallel: C = A·B on several GPUs, each of which multiplies a part.
//
// The question: who multiplies what, and what do the others wait for? Of 2 GPUs each has
//
//   rows        half of A's rows:     half of C's rows        to be gathered:   M·N/2 in, M·N/2 out
//   columns     half of B's columns:  half of C's columns     likewise, a piece of each row
//   k           half of the products: a summand of all of C   to be summed:     twice that
//   grid        of 4 GPUs: half of A's rows by half of B's columns, a quarter of C
//
// A product's operations grow with the third power of its size and the bytes of C with the second:
// there is a size from which on the links have time enough. They use it where results leave while
// others are still being multiplied.
#include "gpu/nccl.hpp"
#include "kernels/tensor_parallel/paced_product.cuh"
#include "kernels/tensor_parallel/phases.cuh"

namespace gpuexp::tensor_parallel {

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// Narrow copies need registers for addresses: their warps and blocks sum half as much.
template <int kUnitBytes>
using Tiles =
    std::conditional_t<kUnitBytes == 16, LargeTiles, Pipeline<Tiling<128, 128, 64, 64, 32>, 4>>;

template <int kColumns>
__device__ void store_tile(const float* slab, const Corner& at, const Operands& x, const Targets&);

// ---- the product: a tile of C per block, stored to one GPU's memory or to several

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

// A pack of sums is rounded once, and stored as often as there are GPUs that want it: posted
// writes, for which no warp waits before it needs its registers again.
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
    for (int r = 0; r < kMostRanks; ++r) {
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

/// By the kernel above.
Steps own_product(const Problem& p, const Operands& x, const Targets& targets) {
  return (p.n | p.k) % kUnit == 0 ? own_product_of<16>(p, x, targets)
                                  : own_product_of<4>(p, x, targets);
}

/// Its product, by itself.
Phase own_product_phase(const Problem& p) {
  Phase phase = product_phase(work(p));
  phase.tensor_path = TensorPath::mma_sync;
  phase.by_library = false;
  const Part part = part_of(p, p.gpus - 1);  // which has what is left of the division
  Operands sizes{};
  sizes.rows = part.rows.size();
  sizes.columns = part.columns.size();
  sizes.depth = part.depth.size();
  name_kernel(phase, own_product(p, sizes, {}));
  return phase;
}

// ---- what is said of all variants

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
/// Of very large products; smaller ones gain on two GPUs what they lose on four.
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

/// Whose product is cuBLAS's.
Variant with_cublas(std::string id, std::string compare_to) {
  Variant v = variant(std::move(id), std::move(compare_to));
  v.is_vendor = true;
  v.unavailable = cublas::unavailable;
  return v;
}

/// Room for one summand of C.
void needs_summand(Variant& v) {
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return is_split_k(p) ? kBytes * p.m * p.n : std::int64_t{kUnit};
  };
}

Reason nothing_to_gather(const Problem& p, const DeviceSpec&) {
  if (is_everywhere(p) || is_split_k(p)) return std::nullopt;
  return "each GPU keeps its part: there is nothing to gather";
}

// ---- one_gpu
//
// Each GPU multiplies everything by itself: no byte crosses a link, and no GPU helps another. It is
// what the others have to beat.

Variant one_gpu() {
  Variant v = with_cublas("one_gpu", "");
  v.work = whole_product;
  v.unsupported = [](const Problem& p, const DeviceSpec&) -> Reason {
    if (is_everywhere(p)) return std::nullopt;
    return "it leaves all of C on each GPU, not a part";
  };
  v.phases = [](const Problem& p, const DeviceSpec&) {
    return std::vector<Phase>{product_phase(whole_product(p))};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return multiplied(p, resident(p, d, {{0, p.m}, {0, p.n}, {0, p.k}}), d.c.of[d.rank]);
  };
  return v;
}

// ---- copied_parts
//
// As tutorials do it: A and B lie on GPU 0, the others copy their parts of them from there,
// multiply, and everybody copies his part of C to all others, one step after the other. Links wait
// for tensor cores and tensor cores for links, and what leaves GPU 0 for all others shares its
// links. Where k is split, each GPU reads the whole summands of all others and adds them up.

Variant copied_parts() {
  Variant v = with_cublas("copied_parts", "one_gpu");
  const auto result = [](const Problem& p) {
    return is_split_k(p) ? all_summands(p) : gathered(p);
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

// ---- product_then_copies
//
// A and B are there already, as weights and activations are that a layer before left. Each GPU
// multiplies its part, in place in its C, and a copy engine then writes it into the others' C: one
// copy of rows that follow each other, or of a piece of each row. The links idle during the product
// and the tensor cores during the copies. A summand's rows go to whoever sums them, and the sums to
// all. Where each GPU keeps its part, there is only the product.

Steps product_then_copies_steps(const Problem& p, const Data& d, const LaunchContext& x) {
  const Part part = part_of(p, d.rank);
  if (!is_split_k(p)) {
    return multiplied(p, resident(p, d, part), d.c.of[d.rank] + place_of(p, part)) +
           copied(to_peers(p, d, part));
  }
  auto* const summand = static_cast<T*>(x.workspace);
  Steps steps = multiplied(p, resident(p, d, part), summand);
  for (const int owner : peers_from(d.rank, p.gpus))
    steps += copied(to_inbox(p, d, summand, owner));
  return steps + inbox_summed(p, d, x, false, summand) +
         copied(to_peers(p, d, own_result(p, d.rank)));
}

Variant product_then_copies() {
  Variant v = with_cublas("product_then_copies", "copied_parts");
  needs_summand(v);
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

// ---- product_then_nccl
//
// NCCL's all-gather in place of the copies or, where k is split, its all-reduce or reduce-scatter.
// It gathers parts that are equal and lie in one piece each: rows, and no columns. Its sums are
// rounded to bf16 at every step around a ring.

Variant product_then_nccl() {
  Variant v = with_cublas("product_then_nccl", "product_then_copies");
  v.unavailable = []() -> Reason {
    if (const Reason missing = cublas::unavailable()) return missing;
    return nccl::unavailable();
  };
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> Reason {
    if (const Reason nothing = nothing_to_gather(p, device)) return nothing;
    if (p.split == Split::columns || p.split == Split::grid)
      return "NCCL gathers parts that lie in one piece, not columns";
    const bool has_parts = !(is_split_k(p) && is_everywhere(p));
    if (has_parts && p.m % (kUnit * p.gpus) != 0)
      return "parts of NCCL's are equal: m has to be a multiple of " +
             std::to_string(kUnit * p.gpus);
    return std::nullopt;
  };
  needs_summand(v);
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

// ---- partial_sums
//
// K split, and an all-reduce in two steps by a kernel of one's own: each GPU reads its rows of all
// summands where they lie, adds them up in fp32, and stores the sums to all. A summand is rounded
// to bf16 once more than a result; in fp32 it would be 4 bytes in place of 2. More bytes cross the
// links than gathering rows takes: a split of k is for products whose results are small, or whose A
// and B lie so.

Reason only_k(const Problem& p, const DeviceSpec&) {
  if (is_split_k(p)) return std::nullopt;
  return "there are no summands: k is not split";
}

Variant partial_sums() {
  Variant v = with_cublas("partial_sums", "product_then_copies");
  v.unsupported = only_k;
  v.phases = [](const Problem& p, const DeviceSpec&) {
    return std::vector<Phase>{product_phase(work(p)),
                              sum_phase(p, LinkUse::loads, least_traffic(p))};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return multiplied(p, resident(p, d, part_of(p, d.rank)), d.partial.of[d.rank]) +
           peers_summed(p, d, x);
  };
  return v;
}

// ---- chunks_copy_engine
//
// The part is multiplied in chunks of rows, one after the other, and each leaves as soon as it is
// done, in another stream, while the next is multiplied: copies need no SM. One stream of copies
// suffices, since one copy fills the links; GPUs begin with different peers. What is not hidden is
// the last chunk's copies, and each end of a product leaves SMs idle. So the last chunk is as small
// as fills them once, and the others are as large as can be copied while the next is multiplied.
// Where k is split, a chunk is what one GPU sums of the rows, one's own last: it need not leave.

Steps carried(const Problem& p, Carrier by, const Move<T>& move) {
  return by == Carrier::copy_engine ? copied(move) : stored(p, move, kStoringBlocks);
}

Steps chunks_steps(const Problem& p, const Data& d, const LaunchContext& x, Carrier by) {
  constexpr int kOfCopies = 1;
  const int sm_count = by == Carrier::stores ? std::max(1, x.device.sm_count - kStoringSms) : 0;
  const Part part = part_of(p, d.rank);
  Steps steps;
  const auto add = [&](const Part& chunk, T* c, const Move<T>& move) {
    steps += multiplied(p, resident(p, d, chunk), c + place_of(p, chunk), sm_count);
    if (steps.all().empty()) return;
    const std::size_t product = steps.all().size() - 1;
    if (move.rows > 0) append(steps, carried(p, by, move), kOfCopies, product);
  };
  if (!is_split_k(p)) {
    for (const Part& chunk : chunks_of(p, part, x.device))
      add(chunk, d.c.of[d.rank], to_peers(p, d, chunk));
    return steps;
  }
  auto* const summand = static_cast<T*>(x.workspace);
  std::vector<int> owners = peers_from(d.rank, p.gpus);
  owners.push_back(d.rank);
  for (const int owner : owners) {
    Part chunk = part;
    chunk.rows = even_part(p.m, p.gpus, owner);
    add(chunk, summand, owner == d.rank ? Move<T>{} : to_inbox(p, d, summand, owner));
  }
  Steps sums = inbox_summed(p, d, x, true, summand);
  for (std::size_t i = steps.all().size(); i-- > 0;) {
    if (steps.all()[i].stream != kOfCopies) continue;
    sums.all().front().after = {i};
    break;
  }
  for (Step& step : sums.all())
    steps.add(std::move(step));
  return steps;
}

Variant chunks(std::string id, std::string compare_to, Carrier by) {
  Variant v = with_cublas(std::move(id), std::move(compare_to));
  needs_summand(v);
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

// ---- chunks_stores
//
// The same chunks, carried by a kernel of few blocks: SMs read them and store them to all others,
// each chunk read once. A product that holds all SMs leaves it none before it ends, so cuBLAS is
// told to take a few less (cublasSetSmCountTarget): what carries does not multiply.

Variant chunks_stores() {
  return chunks("chunks_stores", "chunks_copy_engine", Carrier::stores);
}

// ---- product_then_stores
//
// The kernel at the top of this file in place of the library's: a product that one can open. It
// multiplies by mma.sync, which does not reach the tensor cores' peak on Hopper. A second kernel
// stores the part to the others or, where k is split, sums it up. Where each GPU keeps its part, it
// is the product alone.

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
      phases.push_back(sum_phase(p, LinkUse::loads, least_traffic(p)));
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

// ---- one_kernel
//
// The same kernel with the addresses of all GPUs' C: whoever has summed a tile stores it to all of
// them. No second kernel reads it again, nobody waits for a whole part or chunk, and the links
// carry what has been summed while other tiles are. What is not hidden is the last tiles' way.
// Where k is split, a tile's rows go to the inbox of whoever sums them, and what remains is the
// sum.

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

// ---- one_kernel_paced
//
// Tiles by blocks that stay, one per SM, each with a warp that sends. Results wait in shared memory
// of their own, from where bulk copies carry them to all GPUs while the block multiplies its next
// tile, and no faster than the links take them: stores that wait for a link hold back the SM's
// loads. What is left to wait for is the way of the last results. So that there are few, two blocks
// share each of the last tiles: each sums a part of k for it, and they exchange sums by way of each
// other's shared memory.

Variant one_kernel_paced() {
  Variant v = with_own_product("one_kernel_paced", "one_kernel");
  v.min_compute_capability = kBulkCopyComputeCapability;
  const auto over_many = [](const Problem& p) { return is_large(p) && p.gpus > 2; };
  const auto over_two = [](const Problem& p) { return is_large(p) && p.gpus == 2; };
  v.expected_changes = {{std::string(kTimeColumn), Direction::decreases, 1.1, over_many},
                        {std::string(kTimeColumn), Direction::decreases, 1.01, over_two}};
  v.unsupported = [](const Problem& p, const DeviceSpec& device) -> Reason {
    if ((p.n | p.k) % kUnit != 0)
      return "bulk copies are of " + std::to_string(kBulkCopyUnit) +
             " bytes: n and k have to be multiples of " + std::to_string(kUnit);
    if (const Reason lacks = lacks_specific_code(device)) return lacks;
    return lacks_shared_memory(device, kPacedSharedBytes);
  };
  v.phases = [](const Problem& p, const DeviceSpec& device) {
    const Part part = part_of(p, p.gpus - 1);
    const PacedPieces pieces = pieces_of(part.rows.size(), part.columns.size(), device);
    // How long its own blocks take depends on pauses and on each other. Their tiles are multiplied
    // as those of a kernel that stores them once, in turns of all SMs, of which halves take half as
    // long.
    Phase product = own_product_phase(p);
    product.kernel_of = "product_then_stores";
    product.kernel_times =
        turns(pieces) / static_cast<double>(ceil_div(product.grid.count(), device.sm_count));
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
           "What do several GPUs gain on one product, and what do they wait for?");
  f.physics =
      "A product of N³ has 2N³ operations and N² results: shared by g GPUs each takes a g-th of "
      "the operations, while (g - 1) / g of the results have to come to each over its links. Split "
      "by rows or by columns, results only move; split along k, each GPU has a summand of all of "
      "them, and the sum takes twice the bytes. Links work beside tensor cores: what leaves while "
      "other results are still being made costs no time, and what is left of the way is the last "
      "piece's.";
  declare_extents(f, 4096);
  f.choice(
       "split", &Problem::split,
       {{"rows", Split::rows}, {"columns", Split::columns}, {"k", Split::k}, {"grid", Split::grid}},
       "what the GPUs share: rows of A, columns of B, the sum over k, or rows and columns")
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
      .told_from(kToldWord);
  f.unsupported = [](const Problem& p, const DeviceSpec&) -> Reason {
    constexpr int kGrid = 4;
    if (p.split != Split::grid || p.gpus == kGrid) return std::nullopt;
    return "a grid is of 2×2 GPUs: gpus has to be 4";
  };
  f.inputs = inputs;
  f.reset = reset;
  set_references(
      f, [](const Problem& p) { return p.m * p.n; },
      [](const Problem& p, const Data& d, int) { return expected(p, d); });
  f.reference_operations = [](const Problem& p) { return operation_count(whole_product(p)); };
  f.tolerance_derivation = std::string(kTensorCoreBoundDerivation) + kSummandDerivation;
  f.tolerance = [](const Problem& p) { return error_bound(p).tolerance(); };
  f.variants(one_gpu(), copied_parts(), product_then_copies(), product_then_nccl(), partial_sums(),
             chunks_copy_engine(), chunks_stores(), product_then_stores(), one_kernel(),
             one_kernel_paced());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::tensor_parallel
