// data_parallel: a training step in which every GPU has the whole model and a part of the batch.
//
// The question: how much of the gradient exchange can overlap with the backward pass? The backward
// pass computes the gradients of the last layer first, so these can be sent in buckets during the
// rest of the pass. A bucket must be long enough to use the links well, and short enough that
// little remains to be sent at the end.
#include <algorithm>

#include "gpu/nccl.hpp"
#include "kernels/common/family.cuh"
#include "kernels/common/rank_sums.cuh"
#include "kernels/common/repeat.cuh"
#include "kernels/common/vectors.cuh"

namespace gpuexp::data_parallel {

struct Problem {
  std::int64_t n;  // number of weights
  int buckets;
  int cost;        // multiply-adds per weight in the backward pass
  DataType dtype;  // type of the gradients: fp32 or bf16
  int gpus;
};

struct Data {
  int rank;
  // n inputs of the backward pass; each rank has its own.
  Ranks<const float> samples;
  Ranks<std::uint8_t> gradient;  // n elements of type dtype, from the rank's samples
  Ranks<std::uint8_t> sum;       // n elements of type dtype, summed over all ranks
  Ranks<float> weights;          // n, equal on all ranks
  float* momentum;               // n, equal on all ranks; sharded variants use only the rank's part
  Ranks<unsigned> signals;       // RankSignals
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- after_backward: no overlap
//
// The backward pass computes all gradients, one all-reduce sums them, and then all weights are
// updated. The links are idle for most of the step.

constexpr int kBlock = 256;

// Simulates a layer's backward pass: a chain of `cost` dependent multiply-adds per weight.
template <class T>
__global__ void __launch_bounds__(kBlock)
    backward_kernel(const float* samples, T* gradient, std::int64_t first, std::int64_t end,
                    int cost, float one) {
  const std::int64_t i = first + static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= end) return;
  float value = samples[i];
  // This multiply-add reads one register. With three registers, two of them in the same bank, it
  // would issue at half the rate.
  repeat<32>(cost, [&] { value = fmaf(value, one, 0.0f); });
  gradient[i] = from_float<T>(value);
}

// Operands of stochastic gradient descent with momentum. A rank updates all weights or, if
// `is_sharded`, only its part, which it stores to all ranks.
struct Update {
  Ranks<float> weights;
  float* momentum;
  std::int64_t first;
  std::int64_t end;
  int rank;
  int ranks;
  bool is_sharded;
};

constexpr float kRate = 0.125f;
constexpr float kMomentum = 0.875f;

template <class T>
__global__ void __launch_bounds__(kBlock) update_kernel(Update update, const T* sum) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  const float share = 1.0f / static_cast<float>(update.ranks);
  for (std::int64_t i = update.first + static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
       i < update.end; i += stride) {
    const float mean = static_cast<float>(sum[i]) * share;
    const float momentum = fmaf(kMomentum, update.momentum[i], mean);
    update.momentum[i] = momentum;
    const float weight = fmaf(-kRate, momentum, update.weights.of[update.rank][i]);
#pragma unroll
    for (int r = 0; r < kMaxRanks; ++r) {
      if (update.is_sharded ? r < update.ranks : r == update.rank) update.weights.of[r][i] = weight;
    }
  }
}

// ---- how the variants are launched

std::int64_t element_bytes(const Problem& p) {
  return static_cast<std::int64_t>(size_of(p.dtype));
}

/// Returns the first element of part `part` of `parts` nearly equal parts of [first, end). Its
/// distance from `first` is a multiple of 8 elements, at least 16 bytes.
std::int64_t part_begin(std::int64_t first, std::int64_t end, std::int64_t part,
                        std::int64_t parts) {
  constexpr std::int64_t kElements = 8;
  return part == parts ? end : first + (end - first) / kElements * part / parts * kElements;
}

/// Weights whose gradients are exchanged together. buckets() returns them in the order of the
/// backward pass: the last layer first.
struct Bucket {
  std::int64_t first;
  std::int64_t end;
};

std::vector<Bucket> buckets(const Problem& p, std::int64_t count) {
  std::vector<Bucket> all;
  for (std::int64_t b = count - 1; b >= 0; --b)
    all.push_back({part_begin(0, p.n, b, count), part_begin(0, p.n, b + 1, count)});
  return all;
}

/// How gradients are exchanged.
struct Way {
  bool in_buckets;      ///< exchange each bucket after its backward pass, in a second stream
  bool is_prioritized;  ///< give the second stream a higher priority
  bool is_sharded;      ///< each rank receives, and updates, only its part of the sums
  bool by_nccl;
  bool has_few_blocks = false;  ///< limit the exchange to the blocks that the links need
};

/// Maximum number of blocks of the exchange. With one 16-byte load per thread, 64 blocks of 512
/// threads have half a MiB from each other rank in flight, more than a link delivers during the
/// latency of a load.
std::int64_t exchange_blocks(const Way& way, const DeviceSpec& device) {
  constexpr std::int64_t kFew = 64;
  return way.has_few_blocks ? kFew : max_blocks_on_idle_device(device);
}

/// The steps of one launch with gradients of type T.
template <class T>
class StepOf {
 public:
  StepOf(const Problem& p, const Data& d, const LaunchContext& x) : p_(p), d_(d), x_(x) {}

  Steps backward(const Bucket& b) const {
    const Shape shape = shape_of_shares({ceil_div(b.end - b.first, kBlock)}, {p_.n}, kBlock);
    return launch(backward_kernel<T>, shape, d_.samples.of[d_.rank], gradient(d_.rank), b.first,
                  b.end, p_.cost, 1.0f);
  }

  /// Sums the rank's part of a bucket and stores the sums to all ranks or, if sharded, only to
  /// itself.
  Steps sum(const Bucket& b, const Way& way) const {
    return way.is_sharded ? sum<SumWaits::around>(b, way) : sum<SumWaits::around_pushed>(b, way);
  }

  Steps sum_by_nccl(const Bucket& b) const {
    return nccl::step_of({nccl::Operation::all_reduce, nccl::Buffers::plain, p_.dtype,
                          b.end - b.first, gradient(d_.rank) + b.first, sum_of(d_.rank) + b.first,
                          d_.rank, p_.gpus});
  }

  Steps update(const Bucket& b, bool is_sharded) const {
    Update update{d_.weights, d_.momentum, b.first, b.end, d_.rank, p_.gpus, is_sharded};
    if (is_sharded) {
      update.first = part(b, d_.rank);
      update.end = part(b, d_.rank + 1);
    }
    constexpr std::int64_t kBlocksPerSm = 8;
    const auto blocks = std::clamp<std::int64_t>(ceil_div(update.end - update.first, kBlock), 1,
                                                 kBlocksPerSm * x_.device.sm_count);
    return launch(update_kernel<T>, shape_of_shares({blocks}, {p_.n}, kBlock), update,
                  static_cast<const T*>(sum_of(d_.rank)));
  }

 private:
  template <SumWaits kWaits>
  Steps sum(const Bucket& b, const Way& way) const {
    const auto first = [&](int r) { return part(b, r); };
    Summed<T> sums{};
    for (int r = 0; r < p_.gpus; ++r)
      sums.from.of[r] = gradient(r) + first(d_.rank);
    add_targets(sums, d_.rank, p_.gpus, !way.is_sharded,
                [&](int r) { return sum_of(r) + first(d_.rank); });
    sums.count = first(d_.rank + 1) - first(d_.rank);
    const std::int64_t longest =
        max_of_ranks(p_.gpus, [&](int r) { return first(r + 1) - first(r); });
    return summed_by_ranks<kWaits>(sums, peers_of(p_, d_, x_), longest, x_.device,
                                   exchange_blocks(way, x_.device), {p_.n, 1, 1});
  }
  std::int64_t part(const Bucket& b, int rank) const {
    return part_begin(b.first, b.end, rank, p_.gpus);
  }
  T* gradient(int rank) const { return reinterpret_cast<T*>(d_.gradient.of[rank]); }
  T* sum_of(int rank) const { return reinterpret_cast<T*>(d_.sum.of[rank]); }

  const Problem& p_;
  const Data& d_;
  const LaunchContext& x_;
};

template <class T>
Steps steps_of(const Problem& p, const Data& d, const LaunchContext& x, const Way& way) {
  const StepOf<T> step(p, d, x);
  Steps steps;
  const auto add = [&](const Steps& more, int stream, std::vector<std::size_t> after = {}) {
    for (Step one : more.all()) {
      one.stream = stream;
      one.after = std::exchange(after, {});
      steps.add(std::move(one));
    }
    return steps.all().size() - 1;
  };
  const auto exchange = [&](const Bucket& b) {
    if (way.by_nccl) return step.sum_by_nccl(b);
    return way.is_sharded ? step.sum(b, way) + step.update(b, true) : step.sum(b, way);
  };
  const Bucket whole{0, p.n};
  std::size_t last = 0;
  for (const Bucket& b : buckets(p, p.buckets)) {
    if (b.end == b.first) continue;
    const std::size_t backward = add(step.backward(b), 0);
    if (way.in_buckets)
      last = add(exchange(b), way.is_prioritized ? kFirstPriorityStream : 1, {backward});
  }
  if (!way.in_buckets) add(exchange(whole), 0);
  if (way.is_sharded) return steps;
  if (way.in_buckets) {
    add(step.update(whole, false), 0, {last});
  } else {
    add(step.update(whole, false), 0);
  }
  return steps;
}

// A rank sends at least its gradients of the other ranks' parts, and its part of the result to each
// other rank.
Work work(const Problem& p, bool is_sharded) {
  const auto n = static_cast<double>(p.n);
  const double gradients = n * static_cast<double>(element_bytes(p));
  const double others = p.gpus - 1;
  Work w = moves_bytes(n * sizeof(float) * 3, n * sizeof(float) * 2) +
           computes(Pipe::fp32, 2.0 * n * p.cost);
  w.to_peers = w.from_peers =
      others / p.gpus * (gradients + (is_sharded ? n * sizeof(float) : gradients));
  return w;
}

/// Sets the kernels of the phases.
template <class T>
void name_kernels(const Problem& p, const DeviceSpec& device, const Way& way, Phase& backward,
                  Phase& exchange, Phase& update) {
  const Data data{};
  const LaunchContext context{device, nullptr};
  const StepOf<T> step(p, data, context);
  const Bucket all{0, p.n};
  const Bucket one = buckets(p, p.buckets).front();
  name_kernel(backward, step.backward(one));
  name_kernel(exchange, step.sum(way.in_buckets ? one : all, way));
  name_kernel(update, step.update(way.in_buckets && way.is_sharded ? one : all, way.is_sharded));
}

/// Returns the phases of the busiest rank, in the order of the steps.
std::vector<Phase> phases(const Problem& p, const DeviceSpec& device, const Way& way) {
  const auto n = static_cast<double>(p.n);
  const double gradient = static_cast<double>(element_bytes(p));
  const double count = p.buckets;
  Phase backward;
  backward.what = "backward";
  backward.memory_bytes = n / count * (sizeof(float) + gradient);
  backward.operations = {{Pipe::fp32, 2.0 * n / count * p.cost}};
  Phase exchange;
  exchange.what = "exchange";
  const double others = (p.gpus - 1.0) / p.gpus;
  exchange.link_bytes = others * n * gradient * (way.is_sharded ? 1 : 2);
  exchange.both_ways = true;
  exchange.signals = 2;
  exchange.link_loads = 1;
  exchange.fences = way.is_sharded ? 0 : 1;
  exchange.memory_bytes = 2 * n * gradient;
  // Without priority, the exchange does not overlap with the backward pass.
  if (way.is_prioritized)
    exchange.sm_share = static_cast<double>(exchange_blocks(way, device)) * kSumBlock /
                        (device.sm.max_threads * device.sm_count);
  Phase update;
  update.what = "update";
  const double updated = way.is_sharded ? n / p.gpus : n;
  update.memory_bytes = updated * (gradient + 4 * sizeof(float));
  update.by = LinkUse::stores;
  update.link_bytes = way.is_sharded ? others * n * sizeof(float) : 0;
  update.both_ways = true;
  if (p.dtype == DataType::bf16) {
    name_kernels<__nv_bfloat16>(p, device, way, backward, exchange, update);
  } else {
    name_kernels<float>(p, device, way, backward, exchange, update);
  }
  const auto part = [&](Phase phase, std::vector<std::size_t> after) {
    phase.link_bytes /= count;
    phase.memory_bytes /= count;
    phase.stream = 1;
    phase.after = std::move(after);
    return phase;
  };
  std::vector<Phase> all;
  for (int b = 0; b < p.buckets; ++b) {
    all.push_back(backward);
    if (!way.in_buckets) continue;
    all.push_back(part(exchange, {all.size() - 1}));
    if (way.is_sharded) all.push_back(part(update, {}));
  }
  if (!way.in_buckets) all.push_back(exchange);
  if (way.in_buckets && way.is_sharded) return all;
  if (way.in_buckets) update.after = {all.size() - 1};
  all.push_back(update);
  return all;
}

Variant variant(std::string id, std::string compare_to, Way way) {
  Variant v(std::move(id), std::move(compare_to));
  v.work = [way](const Problem& p) { return work(p, way.is_sharded); };
  v.deterministic = !way.by_nccl;
  v.is_vendor = way.by_nccl;
  if (way.by_nccl) v.unavailable = nccl::unavailable;
  if (!way.by_nccl)
    v.phases = [way](const Problem& p, const DeviceSpec& device) { return phases(p, device, way); };
  v.writes = {"weights"};
  if (!way.is_sharded) v.writes.emplace_back("momentum");
  v.launch = [way](const Problem& p, const Data& d, const LaunchContext& x) {
    return p.dtype == DataType::bf16 ? steps_of<__nv_bfloat16>(p, d, x, way)
                                     : steps_of<float>(p, d, x, way);
  };
  return v;
}

/// Expected change of the time for at least 2^24 weights, if the backward pass takes about as long
/// as the exchange.
ExpectedChangesOf<Problem> time(Direction direction, double factor) {
  return {{std::string(kTimeColumn), direction, factor, [](const Problem& p) {
             constexpr std::int64_t kLong = 1 << 24;
             return p.n >= kLong && p.buckets >= 8 && p.buckets <= 32 && p.cost >= 256 &&
                    p.cost <= 1024;
           }}};
}

Variant after_backward() {
  return variant("after_backward", "", {false, false, false, false});
}

// ---- overlapped: exchange in another stream
//
// Each bucket is exchanged in a second stream while the backward pass of the next buckets runs. The
// update runs after the last exchange. But the backward pass of the next bucket starts before the
// exchange, and its blocks are ahead in the queue for block slots. Blocks of the exchange start
// only after all of those blocks have started. The kernels therefore run alternately, and the time
// is unchanged.

Variant overlapped() {
  return variant("overlapped", "after_backward", {true, false, false, false})
      .expecting(time(Direction::unchanged, 1.25));
}

// ---- prioritized: exchange with higher priority
//
// The stream of the exchange has a higher priority: whenever a block of the backward pass ends, a
// block of the exchange starts, so both kernels run at the same time. But the exchange has as many
// blocks as fit on all SMs. They occupy a part of the block slots while they wait for the links,
// and the backward pass takes longer by this share. The time is unchanged.

Variant prioritized() {
  return variant("prioritized", "overlapped", {true, true, false, false})
      .expecting(time(Direction::unchanged, 1.25));
}

// ---- few_blocks: exchange with priority and few blocks
//
// The exchange has priority, and only as many blocks as the links need. These blocks wait for the
// links in a part of the SMs' block slots, and the backward pass keeps the other slots. The time
// decreases.

Variant few_blocks() {
  return variant("few_blocks", "prioritized", {true, true, false, false, true})
      .expecting(time(Direction::decreases, 1.1));
}

// ---- sharded: reduce-scatter and sharded update
//
// A reduce-scatter replaces the all-reduce: each GPU receives only its part of the sum, updates its
// part of the weights, and stores the updated weights to all GPUs. This divides the update among
// the GPUs, and also the state of the optimizer: each GPU has only its part of the momentum (ZeRO,
// Rajbhandari et al., SC20). The cost is that weights cross the links in fp32. With gradients in
// bf16, these are more bytes than in an all-reduce.

Variant sharded() {
  return variant("sharded", "after_backward", {false, false, true, false})
      .expecting(time(Direction::unchanged, 1.5));
}

// ---- sharded_prioritized: sharded update with priority
//
// Each bucket is summed, updated and distributed while the backward pass continues, in a stream of
// higher priority. As in prioritized, the cost is that these blocks occupy block slots of the
// backward pass.

Variant sharded_prioritized() {
  return variant("sharded_prioritized", "sharded", {true, true, true, false})
      .expecting(time(Direction::unchanged, 1.25));
}

// ---- nccl: NCCL's all-reduce, no overlap
//
// This is after_backward with NCCL's all-reduce.

Variant nccl_after_backward() {
  return variant("nccl", "after_backward", {false, false, false, true});
}

// ---- nccl_prioritized: NCCL's all-reduce with priority
//
// This is few_blocks with NCCL's all-reduce per bucket, as in frameworks (Li et al., PyTorch
// Distributed, VLDB 2020). NCCL's kernel has only a few dozen blocks, which are enough for the
// links and leave the SMs to the backward pass.

Variant nccl_prioritized() {
  return variant("nccl_prioritized", "few_blocks", {true, true, false, true});
}

// ---- inputs

constexpr std::uint64_t kWeightsSeed = 11;
constexpr std::uint64_t kMomentumSeed = 12;

Steps reset(const Problem& p, const Data& d) {
  return fill_uniform(d.weights.of[d.rank], p.n, kWeightsSeed) +
         fill_uniform(d.momentum, p.n, kMomentumSeed);
}

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_uniform(const_cast<float*>(d.samples.of[d.rank]), p.n,
                      stream_seed(seed, static_cast<std::uint64_t>(d.rank))) +
         reset(p, d);
}

// ---- the plain reference

enum Output { weights, momentum };  // in the order of their declaration

struct Expected {
  Output output;
  Ranks<const float> samples;
  int ranks;
  bool is_rounded;  // gradients are rounded to bf16

  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    double mean = 0;
    double size = 0;
    for (int r = 0; r < ranks; ++r) {
      const double gradient = samples.of[r][i];
      mean += gradient / ranks;
      size += (gradient < 0 ? -gradient : gradient) / ranks;
    }
    const double before = kMomentum * Uniform<float>{kMomentumSeed}(i);
    const double changed = before + mean;
    // With bf16 gradients, quantities in fp32 contribute 2^-14 of their magnitude (see
    // tolerance_derivation).
    const double exact = is_rounded ? 0x1p-14 : 1;
    const double own = exact * (before < 0 ? -before : before) + size;
    if (output == momentum) return {changed, own};
    const double weight = Uniform<float>{kWeightsSeed}(i);
    return {weight - kRate * changed, exact * (weight < 0 ? -weight : weight) + kRate * own};
  }
};

// ---- declaration

Family declare() {
  Family f("data_parallel", Topic::links,
           "How much of the gradient exchange can overlap with the backward pass?");
  f.physics =
      "Each GPU has all weights and its own samples. The update needs the mean of all gradients, "
      "so in each step an all-reduce carries 2 (ranks - 1) / ranks times the model's size over "
      "each GPU's links. The backward pass needs SMs and the exchange needs links, but the "
      "kernels of the exchange occupy SMs, too. The exchange of the gradients that are computed "
      "last cannot overlap. A smaller last bucket shortens this remainder, but more buckets wait "
      "more often for the latency of the link.";
  f.extent("n", &Problem::n, 1 << 24, std::int64_t{1} << 30, "number of weights")
      .integer("buckets", &Problem::buckets, 8, 1, 128, "",
               "number of parts in which the gradients are exchanged")
      .integer("cost", &Problem::cost, 256, 0, 1 << 20, "",
               "multiply-adds per weight in the backward pass")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of the gradients; weights are fp32")
      .spans(&Problem::gpus, &Data::rank);
  const auto bytes = [](const Problem& p) { return p.n * element_bytes(p); };
  f.input("samples", &Data::samples, &Problem::n)
      .in_out("weights", &Data::weights, &Problem::n)
      .in_out("momentum", &Data::momentum, &Problem::n)
      .state("gradient", &Data::gradient, bytes)
      .state("sum", &Data::sum, bytes)
      .state("signals", &Data::signals, [](const Problem&) { return kSignalWords; })
      .flags_from(kFlagsWord);
  f.inputs = inputs;
  f.reset = reset;
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int output) {
    return Expected{static_cast<Output>(output), d.samples, p.gpus, p.dtype == DataType::bf16};
  });
  f.tolerance_derivation =
      "Gradients are rounded to their type once, and their sum at each of at most r - 1 "
      "additions, r being the number of ranks: r u of the mean of magnitudes, u being 2^-8 in "
      "bf16. In fp32, where u is 2^-24, the mean, the momentum and the weight are rounded as "
      "well. Each of these roundings errs by u of the magnitudes of its terms: (r + 4) u of all "
      "magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2). With "
      "gradients in bf16, the quantities in fp32 count with 2^-14 of their magnitude, which "
      "covers their roundings: 2^-8 2^-14 is 4 u. The RMS error is that of a random walk of "
      "roundings (sum_rms of r + 1 terms, in fp32 of r + 4), doubled (kRmsSafety).";
  f.tolerance = [](const Problem& p) {
    if (p.dtype == DataType::bf16)
      return Tolerance{0x1p-8 * (p.gpus + 1), 0, kRmsSafety * sum_rms(p.gpus + 1, p.dtype), 0};
    return Tolerance{0x1p-24 * (p.gpus + 4), 0, kRmsSafety * sum_rms(p.gpus + 4, p.dtype), 0};
  };
  f.variants(after_backward(), overlapped(), prioritized(), few_blocks(), sharded(),
             sharded_prioritized(), nccl_after_backward(), nccl_prioritized());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::data_parallel
