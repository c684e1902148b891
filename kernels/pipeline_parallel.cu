// pipeline_parallel: consecutive layers of a model on several GPUs.
//
// The question: how long do GPUs wait for each other if each has some of a model's layers? The
// layers of one GPU are a stage, and each GPU passes the result of its stage to the next GPU. With
// 4 GPUs and the batch in 4 micro-batches:
//
//   whole batch             micro-batches    two stages on each GPU, of half the length
//
//   GPU 0  0000............  GPU 0  0123...   GPU 0  01230123...
//   GPU 1  ....0000........  GPU 1  .0123..   GPU 1  .01230123..
//   GPU 2  ........0000....  GPU 2  ..0123.   GPU 2  ..01230123.
//   GPU 3  ............0000  GPU 3  ...0123   GPU 3  ...01230123
//
// The idle time at the beginning and at the end is the bubble. With m micro-batches, at least as
// many as GPUs, and s stages on each of g GPUs, it is (g - 1) / (s·m + g - 1) of the time (Huang et
// al., "GPipe", arXiv:1811.06965; Narayanan et al., "Efficient Large-Scale Language Model Training
// on GPU Clusters", arXiv:2104.04473). More micro-batches make the bubble smaller, but also the
// products, until these no longer fill the SMs.
#include <algorithm>

#include "kernels/common/mma_pipeline.cuh"
#include "kernels/common/tile_order.cuh"
#include "kernels/pipeline_parallel/problem.cuh"

namespace gpuexp::pipeline_parallel {

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- a layer: gelu(A·W), one tile per block, stored to this GPU's memory or to the next GPU's

struct Operands {
  const T* a;
  const T* w;
  T* to;
  std::int64_t rows;
  std::int64_t width;
};

// 4-byte copies need registers for addresses: warps and blocks compute half as many results.
template <int kUnitBytes>
using Tiles = std::conditional_t<kUnitBytes == 16, Pipeline<Tiling<128, 256, 64, 64, 64>, 4>,
                                 Pipeline<Tiling<128, 128, 64, 64, 32>, 4>>;

template <int kColumns>
__device__ void store_activations(const float* slab, const Corner& at, const Operands& x);

template <int kUnitBytes>
__global__ void __launch_bounds__(Tiles<kUnitBytes>::kThreads, 1) layer_kernel(Operands x) {
  using P = Tiles<kUnitBytes>;
  extern __shared__ __align__(128) char shared[];
  constexpr unsigned kGroupRows = 16;  // tile rows; makes a group of results about as wide as high
  const auto tile = grouped_tile<kGroupRows>();
  const Corner corner{static_cast<std::int64_t>(tile.row) * P::kBlockM,
                      static_cast<std::int64_t>(tile.column) * P::kBlockN};
  const Matrix<const T> a{x.a, x.rows, x.width};
  const Matrix<const T> w{x.w, x.width, x.width};
  mma_pipeline<T, float, P, kUnitBytes>(
      shared, a.window(corner.row, 0), w.window(0, corner.col), static_cast<int>(x.width), corner,
      [&](const float* slab, const Corner& at) { store_activations<P::kWarpN>(slab, at, x); });
}

template <int kCount>
__device__ Pack<T, kCount> activations(const float* sums) {
  constexpr int kPart = 16 / sizeof(float);
  Pack<T, kCount> out;
#pragma unroll
  for (int first = 0; first < kCount; first += kPart) {
    const auto part = load_pack<kPart>(sums + first);
#pragma unroll
    for (int pair = 0; pair < part.kPairs; ++pair) {
      const float2 z = widen(part.pairs[pair]);
      out.pairs[first / 2 + pair] = narrow<T>({gelu_tanh(z.x), gelu_tanh(z.y)});
    }
  }
  return out;
}

template <int kColumns>
__device__ void store_activations(const float* slab, const Corner& at, const Operands& x) {
  using S = Slab<float, kColumns>;
  constexpr int kPack = 16 / sizeof(T);
  const int lane = static_cast<int>(threadIdx.x % 32);
  const bool has_packs = x.width % kPack == 0;
  const int step = has_packs ? kPack : 1;
  for (int i = lane * step; i < S::kRows * kColumns; i += 32 * step) {
    const std::int64_t row = at.row + i / kColumns;
    const std::int64_t column = at.col + i % kColumns;
    if (row >= x.rows || column >= x.width) continue;
    const float* const sums = slab + i / kColumns * S::kPitch + i % kColumns;
    T* const to = x.to + row * x.width + column;
    if (has_packs) {
      store_pack(to, activations<kPack>(sums));
    } else {
      *to = from_float<T>(gelu_tanh(*sums));
    }
  }
}

// ---- signals between stages

/// RankSignals has a flag for each stage of a rank and each micro-batch. At the first step of a
/// launch, all ranks wait for each other, so that no rank stores into the inbox of a rank that is
/// still in the previous launch.
constexpr int kFirstStep = 0;

__global__ void __launch_bounds__(32) begin_kernel(RankPeers peers) {
  const unsigned epoch = epoch_of(peers);
  wait_for_ranks<Before::loads>(peers, epoch, kFirstStep);
  end_epoch(peers, epoch);
}

struct Place {
  int stage;
  int batch;
};

__device__ inline unsigned* signal_of(const RankPeers& peers, int to, int from,
                                      const Place& place) {
  return &signals_of(peers, to).flags[kFirstStep + 1 + place.stage][place.batch][from];
}

// Signals that the earlier stores and copies in this stream have arrived.
__global__ void __launch_bounds__(32) tell_kernel(RankPeers peers, int to, Place place) {
  if (threadIdx.x != 0) return;
  store_release_sys(signal_of(peers, to, peers.rank, place),
                    signals_of(peers, peers.rank).epoch[0]);
}

__global__ void __launch_bounds__(32) receive_kernel(RankPeers peers, int from, Place place) {
  if (threadIdx.x != 0) return;
  const unsigned* const word = signal_of(peers, peers.rank, from, place);
  const unsigned epoch = signals_of(peers, peers.rank).epoch[0];
  for (unsigned polls = 0; static_cast<int>(load_acquire_sys(word) - epoch) < 0; ++polls) {
    if (polls > kMaxPolls)
      give_up_waiting(peers, from, static_cast<unsigned>(kFirstStep + 1 + place.stage));
  }
}

// ---- how the variants are launched

template <int kUnitBytes>
Steps layer_of(const Problem& p, const Operands& x) {
  using P = Tiles<kUnitBytes>;
  const Extent blocks{ceil_div(x.rows, P::kBlockM), ceil_div(x.width, P::kBlockN)};
  return launch(layer_kernel<kUnitBytes>,
                shape_of_shares(blocks, {p.tokens, p.width}, P::kThreads, P::kSharedBytes), x);
}

Steps layer(const Problem& p, const Operands& x) {
  return p.width % kPartUnit == 0 ? layer_of<16>(p, x) : layer_of<4>(p, x);
}

template <class... Parameters, class... Arguments>
Steps by_one_warp(const Problem& p, void (*kernel)(Parameters...), const Arguments&... arguments) {
  return launch(kernel, shape_of_shares({1}, {p.tokens, p.width}, 32), arguments...);
}

/// How the layers are divided among the GPUs.
struct Way {
  int stages = 1;          ///< per GPU
  bool in_batches = true;  ///< false: the whole batch at once
  bool is_stored = false;  ///< the layer's kernel stores to the next GPU; false: a copy follows it
};

int batches_of(const Problem& p, const Way& way) {
  return way.in_batches ? p.batches : 1;
}

/// Number of GPUs minus number of micro-batches, or 0. A GPU that has finished all micro-batches of
/// a stage waits for this many stage times until the first micro-batch returns to it.
int missing_batches(const Problem& p, int batches) {
  return std::max(0, p.gpus - batches);
}

class Schedule {
 public:
  Schedule(const Problem& p, const Data& d, const LaunchContext& x, const Way& way)
      : p_(p), d_(d), way_(way), workspace_(static_cast<T*>(x.workspace)) {
    p_.batches = batches_of(p, way);
    peers_ = peers_of(p, d, x);
  }

  /// All micro-batches pass through a stage before the first one enters the GPU's next stage. If
  /// groups of as many micro-batches as GPUs passed through all stages, as in training, each group
  /// would wait for the transfers between all GPUs.
  Steps steps() {
    steps_ += by_one_warp(p_, begin_kernel, peers_);
    for (int stage = 0; stage < way_.stages; ++stage) {
      for (int batch = 0; batch < p_.batches; ++batch)
        add({stage, batch});
    }
    return std::move(steps_);
  }

 private:
  static constexpr int kCopyStream = 1;

  void add(const Place& place) {
    const Range tokens = batch_of(p_, place.batch);
    if (tokens.size() == 0) return;
    const bool is_first = place.stage == 0 && d_.rank == 0;
    if (!is_first) steps_ += by_one_warp(p_, receive_kernel, peers_, previous(), place);
    const int count = p_.layers / way_.stages;
    const int first_layer = (place.stage * p_.gpus + d_.rank) * count;
    const T* from = is_first ? d_.x.of[d_.rank] + tokens.first * p_.width : inbox(d_.rank, place);
    for (int i = 0; i < count; ++i) {
      T* const to = i == count - 1 ? target(place) : between(i);
      steps_ += layer(p_, {from, d_.weights.of[d_.rank] + (first_layer + i) * layer_weights(p_), to,
                           tokens.size(), p_.width});
      from = to;
    }
    if (is_last(place)) return;
    const std::size_t made = steps_.all().size() - 1;
    Steps leaving;
    if (!way_.is_stored) {
      const std::int64_t bytes = kBytes * tokens.size() * p_.width;
      leaving += CopyStep{inbox(next(), next_place(place)), from, bytes, 1, bytes, bytes};
    }
    leaving += by_one_warp(p_, tell_kernel, peers_, next(), next_place(place));
    append(steps_, leaving, kCopyStream, made);
  }

  int next() const { return (d_.rank + 1) % p_.gpus; }
  int previous() const { return (d_.rank + p_.gpus - 1) % p_.gpus; }
  bool is_last(const Place& place) const {
    return place.stage == way_.stages - 1 && d_.rank == p_.gpus - 1;
  }
  /// The stage after the last GPU's is the next stage of the first GPU.
  Place next_place(const Place& place) const {
    return {place.stage + (d_.rank == p_.gpus - 1 ? 1 : 0), place.batch};
  }
  std::int64_t first_of(const Place& place) const {
    return place.stage * room(elements(p_)) + batch_of(p_, place.batch).first * p_.width;
  }
  T* inbox(int rank, const Place& place) const { return d_.inbox.of[rank] + first_of(place); }
  /// Destination of a stage's last layer. If a copy follows, the data stay there until then.
  T* target(const Place& place) const {
    if (is_last(place)) return d_.y.of[d_.rank] + batch_of(p_, place.batch).first * p_.width;
    return way_.is_stored ? inbox(next(), next_place(place)) : workspace_ + first_of(place);
  }
  /// Result of the other layers of a stage, in two alternating buffers.
  T* between(int i) const {
    return workspace_ + kMaxStages * room(elements(p_)) +
           i % 2 * room(max_batch_tokens(p_) * p_.width);
  }

  Problem p_;
  const Data& d_;
  Way way_;
  T* workspace_;
  RankPeers peers_;
  Steps steps_;
};

// ---- properties of all variants

double operations_of(const Problem& p, std::int64_t tokens, int layers) {
  const auto width = static_cast<double>(p.width);
  return 2.0 * layers * static_cast<double>(tokens) * width * width;
}

double bytes_of(const Problem& p, std::int64_t tokens) {
  return static_cast<double>(kBytes * tokens * p.width);
}

Work work_of(const Problem& p, int layers, int sent) {
  const double tokens = bytes_of(p, p.tokens);
  Work w = moves_bytes(tokens + bytes_of(p, p.width) * layers, tokens) +
           computes(Pipe::tensor_bf16_fp32, operations_of(p, p.tokens, layers));
  w.to_peers = w.from_peers = sent * tokens;
  return w;
}

/// A layer of `tokens` tokens. In the last wave, SMs without a tile wait for the others.
Phase layer_phase(const Problem& p, std::int64_t tokens, const DeviceSpec& device) {
  using P = Tiles<16>;
  const std::int64_t tiles = ceil_div(tokens, P::kBlockM) * ceil_div(p.width, P::kBlockN);
  const std::int64_t waves = ceil_div(tiles, device.sm_count);
  const double of_tile = operations_of(p, 1, 1) / static_cast<double>(p.width) *
                         static_cast<double>(P::kBlockM) * P::kBlockN;
  Phase phase;
  phase.what = "layer";
  phase.tensor_path = TensorPath::mma_sync;
  phase.operations = {
      {Pipe::tensor_bf16_fp32, of_tile * static_cast<double>(waves * device.sm_count)}};
  phase.memory_bytes = 2 * bytes_of(p, tokens) + bytes_of(p, p.width);
  Operands sizes{};
  sizes.rows = tokens;
  sizes.width = p.width;
  name_kernel(phase, layer(p, sizes));
  return phase;
}

/// The phases of the last GPU. Its first micro-batch first passes through all other GPUs.
/// Afterwards the GPU waits only if there are fewer micro-batches than GPUs.
std::vector<Phase> phases(const Problem& given, const DeviceSpec& device, const Way& way) {
  Problem p = given;
  p.batches = batches_of(p, way);
  const std::int64_t tokens = max_batch_tokens(p);
  std::vector<Phase> all{waiting_phase("begin", 1, 1)};
  const auto stage = [&](int layers) {
    for (int i = 0; i < layers; ++i)
      all.push_back(layer_phase(p, tokens, device));
  };
  const auto receive = [&](bool is_awaited) {
    all.push_back(waiting_phase("receive", is_awaited ? 1 : 0, 2));
  };
  const int layers = p.layers / way.stages;
  for (int rank = 0; rank + 1 < p.gpus; ++rank) {
    stage(layers);
    if (!way.is_stored) {
      all.push_back(link_phase("copy", LinkUse::copy_engine, bytes_of(p, tokens)));
      all.back().both_ways = false;
    }
    receive(true);
  }
  for (int of_gpu = 0; of_gpu < way.stages; ++of_gpu) {
    // With fewer micro-batches than GPUs, the GPU waits one stage time per missing micro-batch.
    for (int i = 0; of_gpu > 0 && i < missing_batches(p, p.batches); ++i)
      stage(layers);
    for (int batch = 0; batch < p.batches; ++batch) {
      if (of_gpu > 0 || batch > 0) receive(false);
      stage(layers);
    }
  }
  return all;
}

Variant variant(std::string id, std::string compare_to, Way way) {
  Variant v(std::move(id), std::move(compare_to));
  v.deterministic = true;
  v.min_compute_capability = kMmaBf16ComputeCapability;
  v.unsupported = [way](const Problem& p, const DeviceSpec& device) -> std::optional<std::string> {
    if (p.layers % way.stages != 0)
      return "a GPU has " + std::to_string(way.stages) +
             " stages: layers must be a multiple of that number";
    return lacks_shared_memory(device, Tiles<16>::kSharedBytes);
  };
  v.work = [way](const Problem& p) { return work_of(p, p.layers, way.stages); };
  v.metrics = [way](const Problem& p, const DeviceSpec&) {
    const int batches = batches_of(p, way);
    const int missing = missing_batches(p, batches);
    const int idle = p.gpus - 1 + (way.stages - 1) * missing;
    return MetricValues{
        {"bubble_share", static_cast<double>(idle) / (way.stages * batches + idle)}};
  };
  v.phases = [way](const Problem& p, const DeviceSpec& device) { return phases(p, device, way); };
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    constexpr int kBetween = 2;
    return kBytes * (kMaxStages + kBetween) * room(elements(p));
  };
  v.launch = [way](const Problem& p, const Data& d, const LaunchContext& x) {
    return Schedule(p, d, x, way).steps();
  };
  return v;
}

bool has_bubble(const Problem& p) {
  constexpr std::int64_t kTokens = 8192;
  constexpr std::int64_t kWidth = 4096;
  return p.tokens >= kTokens && p.width >= kWidth && p.batches == 8 && p.layers >= 2;
}

void expects(Variant& v, Direction direction, double factor) {
  v.expected_changes = {{std::string(kTimeColumn), direction, factor, has_bubble}};
}

// ---- one_gpu: all layers on the last GPU
//
// The last GPU computes all layers, which is possible only if the model fits on one GPU. The ideal
// time of a division is this time divided by the number of GPUs.

Variant one_gpu() {
  Variant v = variant("one_gpu", "", {});
  v.work = [](const Problem& p) { return work_of(p, all_layers(p), 0); };
  v.metrics = {};
  v.phases = [](const Problem& p, const DeviceSpec& device) {
    return std::vector<Phase>(static_cast<std::size_t>(all_layers(p)),
                              layer_phase(p, p.tokens, device));
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) -> Steps {
    if (d.rank != p.gpus - 1) return {};
    auto* const workspace = static_cast<T*>(x.workspace);
    const T* from = d.x.of[d.rank];
    Steps steps;
    for (int l = 0; l < all_layers(p); ++l) {
      const bool is_last = l == all_layers(p) - 1;
      T* const to = is_last ? d.y.of[d.rank] : workspace + l % 2 * room(elements(p));
      steps += layer(p, {from, d.weights.of[d.rank] + l * layer_weights(p), to, p.tokens, p.width});
      from = to;
    }
    return steps;
  };
  return v;
}

// ---- whole_batch: layers divided, batch undivided
//
// The layers are divided, and the batch passes through the GPUs as a whole. At any time one GPU
// works and the others wait. This takes as long as all layers on one GPU, plus the copies between
// GPUs.

Variant whole_batch() {
  Variant v = variant("whole_batch", "one_gpu", {1, false, false});
  expects(v, Direction::unchanged, 1.15);
  return v;
}

// ---- micro_batches: GPUs that work at the same time
//
// A GPU passes on each micro-batch when it has finished it, and continues with the next one. A copy
// engine transfers the result in another stream, and a kernel after the copy sets a flag that the
// next GPU polls. A GPU waits only until the first micro-batch arrives, so the time decreases.

Variant micro_batches() {
  Variant v = variant("micro_batches", "whole_batch", {});
  expects(v, Direction::decreases, 1.2);
  return v;
}

// ---- stored_batches: results stored to the next GPU
//
// The last layer of a stage stores its results directly to the next GPU's memory. No copy follows,
// and finished tiles cross the link while others are computed. The time is unchanged.

Variant stored_batches() {
  Variant v = variant("stored_batches", "micro_batches", {1, true, true});
  expects(v, Direction::unchanged, 1.15);
  return v;
}

// ---- two_stages: shorter stages
//
// Each GPU has two stages of fewer layers, and batches pass around the GPUs once per stage. The
// bubble consists of stage times, which are shorter, so it shrinks. Twice as many bytes cross the
// links.
// held: bytes_to_peers = 2 × micro_batches

Variant two_stages() {
  Variant v = variant("two_stages", "micro_batches", {kMaxStages, true, false});
  expects(v, Direction::decreases, 1.02);
  return v;
}

// ---- declaration

Family declare() {
  Family f("pipeline_parallel", Topic::links,
           "How long do GPUs wait for each other if each has some of a model's layers?");
  f.physics =
      "Each layer needs the result of the previous one. If each GPU has some of the layers, only "
      "one GPU can work on one input at a time. Several inputs, or parts of one, keep several "
      "GPUs busy. The first part reaches the last GPU after it has passed through all others, and "
      "the first GPU is idle once the last part has left it: each GPU waits for as long as the g "
      "- 1 others take for one micro-batch. More and smaller micro-batches shorten this wait, "
      "until a product has too few tiles for all SMs and loads its weights too often.";
  f.extent("tokens", &Problem::tokens, 8192, 1 << 16, "rows of the activations")
      .extent("width", &Problem::width, 4096, 1 << 14,
              "columns of the activations, rows of weights")
      .integer("layers", &Problem::layers, 2, 1, 16, "", "layers per GPU")
      .integer("batches", &Problem::batches, 8, 1, kMaxSignalBlocks, "",
               "number of micro-batches into which the tokens are divided")
      .spans(&Problem::gpus, &Data::rank);
  f.plot("timeline_pipeline_parallel", "rank_timelines",
         "Pipeline parallelism: timeline of each GPU")
      .plot("pipeline_parallel", "lines", "Pipeline parallelism: throughput by micro-batches");
  f.metric(
      "bubble_share", "",
      "share of the time that a GPU waits for its first micro-batch or after its last one, if all "
      "stages take equally long");
  const auto of_weights = [](const Problem& p) { return all_layers(p) * layer_weights(p); };
  f.input("x", &Data::x, elements)
      .input("weights", &Data::weights, of_weights)
      .input("even_exact", &Data::even_exact, elements)
      .input("even_error", &Data::even_error, elements)
      .input("odd_exact", &Data::odd_exact, elements)
      .input("odd_error", &Data::odd_error, elements)
      .in_out("y", &Data::y, elements)
      .state("inbox", &Data::inbox, [](const Problem& p) { return kMaxStages * room(elements(p)); })
      .state("signals", &Data::signals, [](const Problem&) { return kSignalWords; })
      .flags_from(kFlagsWord);
  f.outputs = [](const Problem& p) { return Extent{p.tokens, p.width, 1}; };
  f.inputs = inputs;
  f.reset = reset;
  set_references(
      f, [](const Problem& p) { return elements(p); },
      [](const Problem& p, const Data& d, int) { return expected(p, d); });
  f.tolerance_derivation = std::string(kToleranceDerivation) + kTensorCoreBoundDerivation;
  f.tolerance = tolerance;
  f.variants(one_gpu(), whole_batch(), micro_batches(), stored_batches(), two_stages());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::pipeline_parallel
