// streams: an array that is copied to the device, processed by a kernel, and copied back.
//
// The question: which copies and kernels can overlap, and what prevents it? A GPU has a copy engine
// for each direction of the bus, and its SMs. With many chunks, the time approaches the time of the
// slowest of these three units plus the time of one chunk in the other two.
//
// Times are from the host's clock and include the time to enqueue hundreds of small steps.
#include <algorithm>

#include "kernels/common/family.cuh"
#include "kernels/common/fma_way.cuh"

namespace gpuexp::streams {

struct Problem {
  std::int64_t n;
  std::int64_t chunks;
  std::int64_t streams;
  int cost;
};

struct Data {
  const float* x;           ///< n, pinned
  const float* x_pageable;  ///< n
  float* y;                 ///< n, pinned
  float* y_pageable;        ///< n
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

constexpr int kBlock = 256;
constexpr unsigned kWay = 5;

__global__ void __launch_bounds__(kBlock)
    compute_kernel(const float* x, float* y, std::int64_t n, int cost) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < n) y[i] = fma_way::run<kWay>(x[i], cost);
}

struct Chunk {
  float* d_x;  ///< device memory for the chunk's elements of x
  float* d_y;  ///< device memory for the chunk's elements of y
  std::int64_t begin;
  std::int64_t count;
  int cost;

  std::int64_t bytes() const { return count * std::int64_t{sizeof(float)}; }
  CopyStep in(const float* x) const { return {d_x, x + begin, bytes()}; }
  CopyStep out(float* y) const { return {y + begin, d_y, bytes()}; }
  Steps compute() const {
    const Shape s = shape_of_shares({ceil_div(count, kBlock)}, {count}, kBlock);
    return launch(compute_kernel, s, d_x, d_y, count, cost);
  }
};

std::vector<Chunk> chunks_of(const Problem& p, std::int64_t chunks, const LaunchContext& x) {
  const std::int64_t size = ceil_div(p.n, chunks);
  auto* const d_x = static_cast<float*>(x.workspace);
  std::vector<Chunk> cut;
  for (std::int64_t begin = 0; begin < p.n; begin += size)
    cut.push_back({d_x + begin, d_x + p.n + begin, begin, std::min(size, p.n - begin), p.cost});
  return cut;
}

Step in_stream(Steps steps, std::int64_t stream) {
  Step step = steps.all().front();
  step.stream = static_cast<int>(stream);
  return step;
}

Variant variant(std::string id, std::string compare_to, std::string writes,
                ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.writes = {std::move(writes)};
  v.timing = Timing::host_clock;
  v.deterministic = true;
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return 2 * p.n * std::int64_t{sizeof(float)};
  };
  v.work = [](const Problem& p) {
    Work w = streaming_work<float>(p.n, p.n);
    w.to_device = w.to_host = w.bytes_read;
    w.operations = {{Pipe::fp32, fma_way::operations(p.cost) * static_cast<double>(p.n)}};
    return w;
  };
  return v;
}

// Problems with long copies, several chunks, and streams for all three units.
bool overlaps(const Problem& p) {
  constexpr std::int64_t kLarge = 1 << 22;
  constexpr std::int64_t kUnits = 3;
  return p.n >= kLarge && p.chunks >= 2 * kUnits && p.chunks <= 64 && p.streams >= kUnits;
}

ExpectedChangesOf<Problem> time(Direction direction, double factor) {
  return {{std::string(kTimeColumn), direction, factor, overlaps}};
}

// ---- one_stream: one chunk in one stream
//
// One stream copies the whole array to the device, runs the kernel and copies the whole array back.
// Only one of the three units works at a time, so the time is the sum of the three.

Variant one_stream() {
  Variant v = variant("one_stream", "", "y", {});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const Chunk whole = chunks_of(p, 1, x).front();
    return Steps(whole.in(d.x)) + whole.compute() + whole.out(d.y);
  };
  return v;
}

// ---- depth_first: chunk after chunk, in several streams
//
// The host enqueues all steps of one chunk (copy in, kernel, copy out) before the next chunk, and
// assigns the chunks to the streams in turn. The three units work concurrently on different chunks,
// so the time decreases. The cost is one call per step, the latency of each copy, and, with many
// chunks, kernels that are too small to fill the GPU.

/// Enqueues all chunks; chunk i uses stream(i mod p.streams).
template <class StreamOf>
Steps chunk_by_chunk(const Problem& p, const LaunchContext& context, const float* x, float* y,
                     const StreamOf& stream) {
  Steps steps;
  std::int64_t turn = 0;
  for (const Chunk& chunk : chunks_of(p, p.chunks, context)) {
    const std::int64_t number = turn++ % p.streams;
    steps += in_stream(chunk.in(x), stream(number));
    steps += in_stream(chunk.compute(), stream(number));
    steps += in_stream(chunk.out(y), stream(number));
  }
  return steps;
}

std::int64_t own_stream(std::int64_t number) {
  return 1 + number;
}

Variant depth_first() {
  Variant v = variant("depth_first", "one_stream", "y", time(Direction::decreases, 1.3));
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return chunk_by_chunk(p, x, d.x, d.y, own_stream);
  };
  return v;
}

// ---- breadth_first: all copies in, then all kernels, then all copies out
//
// The steps and streams are the same as in depth_first, but the host enqueues all copies in first,
// then all kernels, then all copies out. If a stream has several chunks, its first kernel waits for
// all of its copies in, and its first copy out for all of its kernels. Kernels and copies out start
// later and overlap fewer copies in, so the time increases.

Variant breadth_first() {
  Variant v = variant("breadth_first", "depth_first", "y", time(Direction::increases, 1.1));
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const std::vector<Chunk> chunks = chunks_of(p, p.chunks, x);
    Steps steps;
    const auto each = [&](const auto& step_of) {
      for (std::size_t i = 0; i < chunks.size(); ++i) {
        steps +=
            in_stream(step_of(chunks[i]), own_stream(static_cast<std::int64_t>(i) % p.streams));
      }
    };
    each([&](const Chunk& chunk) { return Steps(chunk.in(d.x)); });
    each([&](const Chunk& chunk) { return chunk.compute(); });
    each([&](const Chunk& chunk) { return Steps(chunk.out(d.y)); });
    return steps;
  };
  return v;
}

// ---- default_stream: kernels in the legacy default stream
//
// The copies are in streams, as in depth_first, but the kernels run in the legacy default stream. A
// kernel there waits for all work enqueued before in any stream, and all work enqueued later waits
// for the kernel. No copy overlaps a kernel any more; only the copy out of one chunk overlaps the
// copy in of the next. The time increases. Streams created with cudaStreamNonBlocking do not wait
// for the default stream.

Variant default_stream() {
  Variant v = variant("default_stream", "depth_first", "y", time(Direction::increases, 1.3));
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    Steps steps = chunk_by_chunk(p, x, d.x, d.y,
                                 [](std::int64_t number) { return kFirstBlockingStream - number; });
    for (Step& step : steps.all()) {
      if (std::holds_alternative<KernelStep>(step.action)) step.stream = kDefaultStream;
    }
    return steps;
  };
  return v;
}

// ---- pageable: chunks in pageable memory
//
// The steps are the same as in depth_first, with memory from malloc. A copy blocks the host until
// its data are in pinned memory of the driver, so the next step is enqueued late. Little overlap
// remains, and the time increases.

Variant pageable() {
  Variant v = variant("pageable", "depth_first", "y_pageable", time(Direction::increases, 1.2));
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return chunk_by_chunk(p, x, d.x_pageable, d.y_pageable, own_stream);
  };
  return v;
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return fill_uniform(const_cast<float*>(d.x), p.n, seed) +
         fill_uniform(const_cast<float*>(d.x_pageable), p.n, seed);
}

// ---- the plain reference

struct Reference {
  const float* x;
  int cost;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    return fma_way::exact(kWay, x[i], cost);
  }
};

// ---- declaration

Family declare() {
  Family f("streams", Topic::execution,
           "Which copies and kernels can overlap, and what prevents it?");
  f.physics =
      "Copies to the device, kernels and copies to the host use different units, which work "
      "concurrently unless their steps are ordered. A stream orders its steps. Chunks in several "
      "streams use all three units at the same time, and the time decreases from the sum of the "
      "three toward the longest one. Smaller chunks shorten the start and the end, until the "
      "latency of copies and the host's calls cost more.";
  f.extent("n", &Problem::n, 1 << 24, std::int64_t{1} << 30, "floats")
      .integer("chunks", &Problem::chunks, 16, 1, 1024, "", "maximum number of chunks")
      .integer("streams", &Problem::streams, 4, 1, 8, "",
               "number of streams, to which chunks are assigned in turn")
      .integer("cost", &Problem::cost, 2048, 1, fma_way::kMaxCost, "",
               "dependent fused multiply-adds per element");
  f.input("x", &Data::x, &Problem::n)
      .lives_in(Residence::pinned)
      .input("x_pageable", &Data::x_pageable, &Problem::n)
      .lives_in(Residence::pageable)
      .output("y", &Data::y, &Problem::n)
      .lives_in(Residence::pinned)
      .output("y_pageable", &Data::y_pageable, &Problem::n)
      .lives_in(Residence::pageable);
  f.plot("timeline_streams", "timelines", "Copy in, compute, copy out: timeline of the steps")
      .plot("streams", "swept_times", "Copy in, compute, copy out: time by streams and chunks");
  // With one stream, each chunk changes units three times; otherwise its time equals one_stream's.
  f.ceilings = {CeilingRows::latency("unit_change", {"depth_first"}, Mode::warm, "param.chunks")
                    .where("streams", "1")
                    .times([](const DeviceSpec&) { return 3.0; })
                    .without("one_stream", 1)};
  f.inputs = inputs;
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int) {
    return Reference{d.x, p.cost};
  });
  f.reference_operations = [](const Problem& p) {
    return fma_way::operations(p.cost) * static_cast<double>(p.n);
  };
  f.tolerance_derivation = fma_way::kToleranceDerivation;
  f.tolerance = [](const Problem& p) { return fma_way::tolerance(p.cost); };
  f.variants(one_stream(), depth_first(), breadth_first(), default_stream(), pageable());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::streams
