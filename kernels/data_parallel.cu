// data_parallel: a step of training in which every GPU has the whole model and a part of the batch.
//
// The question: how much of the exchange of gradients can hide behind the backward pass? Each GPU
// computes a gradient of all weights from its own samples. What updates the weights is the mean
// over all GPUs: an all-reduce of as many bytes as the model has, in every step. The backward pass
// makes gradients layer by layer, so that those of the last layer can be on their way while it goes
// on: in buckets, which are long enough for the links and short enough that little is left at the
// end.
#include <algorithm>

#include "gpu/nccl.hpp"
#include "kernels/common/family.cuh"
#include "kernels/common/rank_sums.cuh"
#include "kernels/common/repeat.cuh"
#include "kernels/common/vectors.cuh"

namespace gpuexp::data_parallel {

struct Problem {
  std::int64_t n;  // weights
  int buckets;
  int cost;        // multiply-adds per weight in the backward pass
  DataType dtype;  // of gradients: fp32 or bf16
  int gpus;
};

struct Data {
  int rank;
  // n: what the backward pass makes gradients of, of each rank its own.
  Ranks<const float> samples;
  Ranks<std::uint8_t> gradient;  // n elements of the gradients' type, of the rank's samples
  Ranks<std::uint8_t> sum;       // likewise, over all ranks
  Ranks<float> weights;          // n, equal on all ranks
  float* momentum;               // n, likewise; in sharded variants of the rank's part alone
  Ranks<unsigned> signals;       // RankSignals
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- after_backward
//
// The whole backward pass, then one all-reduce of all gradients, then the update of all weights:
// while one works, the other waits. The links do nothing for most of the step.

constexpr int kBlock = 256;

// Stands for a layer's backward pass: `cost` multiply-adds per weight, one after another.
template <class T>
__global__ void __launch_bounds__(kBlock)
    backward_kernel(const float* samples, T* gradient, std::int64_t first, std::int64_t end,
                    int cost, float one) {
  const std::int64_t i = first + static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= end) return;
  float value = samples[i];
  // One register to read: with three, two of them in one bank, half of the rate is left.
  repeat<32>(cost, [&] { value = fmaf(value, one, 0.0f); });
  gradient[i] = from_float<T>(value);
}

// Stochastic gradient descent with momentum, of the weights that a rank updates: all, or its part,
// which then goes to all.
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
    for (int r = 0; r < kMostRanks; ++r) {
      if (update.is_sharded ? r < update.ranks : r == update.rank) update.weights.of[r][i] = weight;
    }
  }
}

// ---- how the variants are launched

std::int64_t element_bytes(const Problem& p) {
  return static_cast<std::int64_t>(size_of(p.dtype));
}

/// Where the first of `parts` equal parts of [first, end) begins that is behind `part` others: at a
/// multiple of 16 bytes from `first`.
std::int64_t part_begin(std::int64_t first, std::int64_t end, std::int64_t part,
                        std::int64_t parts) {
  constexpr std::int64_t kElements = 8;
  return part == parts ? end : first + (end - first) / kElements * part / parts * kElements;
}

/// Of the buckets, in the order in which the backward pass makes them: from the last layer on.
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

/// How the exchange is made.
struct Way {
  bool in_buckets;  ///< each bucket's behind its backward pass, in a stream of its own
  bool is_urgent;   ///< whose blocks go first
  bool is_sharded;  ///< a rank has its part of sums alone, and updates that
  bool by_nccl;
  bool has_few_blocks = false;  ///< enough for the links
};

/// At most. Each thread of them waits for one pack of 16 bytes of each other rank at a time: half a
/// MiB of each is on its way, more than a link delivers in the time that a load takes.
std::int64_t exchange_blocks(const Way& way, const DeviceSpec& device) {
  constexpr std::int64_t kFew = 64;
  return way.has_few_blocks ? kFew : blocks_beside_nothing(device);
}

/// The steps of one launch, of whom each knows what T is.
template <class T>
class StepOf {
 public:
  StepOf(const Problem& p, const Data& d, const LaunchContext& x) : p_(p), d_(d), x_(x) {}

  Steps backward(const Bucket& b) const {
    const Shape shape = shape_of_shares({ceil_div(b.end - b.first, kBlock)}, {p_.n}, kBlock);
    return launch(backward_kernel<T>, shape, d_.samples.of[d_.rank], gradient(d_.rank), b.first,
                  b.end, p_.cost, 1.0f);
  }

  /// The rank's part of a bucket's sum: to all ranks, or to itself.
  Steps sum(const Bucket& b, const Way& way) const {
    return way.is_sharded ? sum<SumWaits::around>(b, way) : sum<SumWaits::around_pushed>(b, way);
  }

  /// By NCCL: all of a bucket's sum on all ranks.
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
        most_of_ranks(p_.gpus, [&](int r) { return first(r + 1) - first(r); });
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
    if (way.in_buckets) last = add(exchange(b), way.is_urgent ? kFirstUrgentStream : 1, {backward});
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

// What each rank sends at least: its part of each other's sum, and of what is made of it to all.
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

/// Of a phase each, of shapes alone.
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

/// Of the busiest rank, in the order of the steps.
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
  // Without priority the two take turns.
  if (way.is_urgent)
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
  // Momentum is a rank's own where updates are sharded: of the other parts there is none.
  v.writes = {"weights"};
  if (!way.is_sharded) v.writes.emplace_back("momentum");
  v.launch = [way](const Problem& p, const Data& d, const LaunchContext& x) {
    return p.dtype == DataType::bf16 ? steps_of<__nv_bfloat16>(p, d, x, way)
                                     : steps_of<float>(p, d, x, way);
  };
  return v;
}

/// Changes of the time of long gradients whose backward pass takes about as long as the exchange,
/// in buckets whose waits do not count yet.
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

// ---- overlapped
//
// Each bucket is exchanged while the backward pass of the next ones runs, in a stream of its own,
// and the update comes when all have come. But the backward pass of the next bucket has begun by
// then, and its blocks wait for places on the SMs before those of the exchange: these get theirs
// when the last of the former have begun. The two take turns.

Variant overlapped() {
  return variant("overlapped", "after_backward", {true, false, false, false})
      .expecting(time(Direction::unchanged, 1.25));
}

// ---- prioritized
//
// The stream of the exchange has a higher priority: its blocks are next whenever one of the
// backward pass ends, and both run at once. But a kernel that has as many blocks as fit on all SMs
// then holds a part of their places while it waits for its links, and the backward pass takes as
// much longer.

Variant prioritized() {
  return variant("prioritized", "overlapped", {true, true, false, false})
      .expecting(time(Direction::unchanged, 1.25));
}

// ---- few_blocks
//
// Both are needed: priority, and no more blocks than fill the links. Those wait for their links on
// a part of the SMs' places, and the backward pass keeps the rest.

Variant few_blocks() {
  return variant("few_blocks", "prioritized", {true, true, false, false, true})
      .expecting(time(Direction::decreases, 1.1));
}

// ---- sharded
//
// The first part of the exchange, a reduce-scatter: each GPU gets its part of the sum alone,
// updates its part of the weights, and stores these to all. The update is divided among the GPUs,
// too, and with it what an optimizer keeps beside the weights: here the momentum, of which each GPU
// has a part (ZeRO, Rajbhandari et al., SC20). Weights go out in fp32, so that with gradients in
// bf16 more bytes cross the links than in an all-reduce.

Variant sharded() {
  return variant("sharded", "after_backward", {false, false, true, false})
      .expecting(time(Direction::unchanged, 1.5));
}

// ---- sharded_prioritized
//
// Both: each bucket's sum, update and gathering while the backward pass goes on, at the price that
// prioritized pays. In a real step the weights of a layer may change as soon as its own backward
// pass is done.

Variant sharded_prioritized() {
  return variant("sharded_prioritized", "sharded", {true, true, true, false})
      .expecting(time(Direction::unchanged, 1.25));
}

// ---- nccl
//
// after_backward with NCCL's all-reduce.

Variant nccl_after_backward() {
  return variant("nccl", "after_backward", {false, false, false, true});
}

// ---- nccl_prioritized
//
// few_blocks with NCCL's, as frameworks do it (Li et al., PyTorch Distributed, VLDB 2020): its
// kernel has some dozens of blocks, enough for the links, and leaves the SMs to the backward pass.

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
  bool is_rounded;  // gradients, to bf16

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
    // What is never rounded to bf16 counts as much less.
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
           "How much of the exchange of gradients can hide behind the backward pass?");
  f.physics =
      "Each GPU has all weights and its own samples; the update takes the mean of all gradients, "
      "so that in each step an all-reduce carries 2 (ranks - 1) / ranks times the model's size "
      "over each GPU's links. The backward pass needs SMs and the exchange links, but the kernels "
      "that exchange need SMs, too. What is made last cannot hide: the smaller the last bucket, "
      "the shorter the end, and the more often the exchange waits for the way over the link.";
  f.extent("n", &Problem::n, 1 << 24, std::int64_t{1} << 30, "weights")
      .integer("buckets", &Problem::buckets, 8, 1, 128, "",
               "parts of the gradients, exchanged by themselves")
      .integer("cost", &Problem::cost, 256, 0, 1 << 20, "",
               "multiply-adds per weight, which the backward pass makes")
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
      .told_from(kToldWord);
  f.inputs = inputs;
  f.reset = reset;
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int output) {
    return Expected{static_cast<Output>(output), d.samples, p.gpus, p.dtype == DataType::bf16};
  });
  f.tolerance_derivation =
      "Gradients are rounded to their type once, and their sum at each of at most r - 1 additions, "
      "r being the ranks: r u of the mean of magnitudes, u being 2^-8 in bf16. In fp32, where u is "
      "2^-24, the mean, the momentum and the weight are rounded as well, each of which errs by u "
      "of what it adds up: (r + 4) u of all magnitudes (Higham, Accuracy and Stability of "
      "Numerical Algorithms, section 4.2). With gradients in bf16 these count with 2^-14 of their "
      "magnitude, which covers them: 2^-8 2^-14 is 4 u. The RMS error is that of a random walk's "
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
