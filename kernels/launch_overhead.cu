// launch_overhead: y = step(… step(x)), a chain of small kernels, handed to the GPU in each way
// that CUDA has.
//
// The question: what does it cost to start a kernel, and does the host pay it or the GPU? A call of
// the host puts a launch into a queue of the GPU. The GPU takes it out, waits for the kernel ahead
// in the stream, and starts blocks. A chain takes what the slower of the two takes. A graph hands
// over many launches by one call; a kernel that launches the next one needs one call of the host
// for all of them, and a kernel that goes on by itself needs no further launch. What launches
// kernels stands in launch_overhead/device_launched.cu.
//
// Each step of the chain needs what other blocks wrote in the step before, so that no thread can
// run ahead. Times are of the host's clock, from before the first call until the host knows that
// the last kernel has ended; variants named queued_* are timed by events instead, with all launches
// in the queue before the first may start: what the GPU takes alone.
#include <algorithm>

#include "kernels/common/compiled_for.cuh"
#include "kernels/common/grid_barrier.cuh"
#include "kernels/launch_overhead/chain.cuh"

namespace gpuexp::launch_overhead {

// ---- streamed
//
// A launch per step, in one stream, and the host waits at the end. The host calls
// while the GPU works, so that a chain takes what the slower of the two takes per launch; a single
// kernel takes a call, the way to the GPU, its run and the way back.

/// `Place` makes a kernel of its own of it.
template <int Place = 0>
__global__ void __launch_bounds__(kBlock) step_kernel(Chain chain, std::int64_t step) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < chain.n) make_element(chain, step, i);
}

using StepKernel = void (*)(Chain, std::int64_t);

Steps step_of(StepKernel kernel, const Problem& p, const Chain& chain, std::int64_t step) {
  return launch(kernel, step_shape(p), chain, step);
}

/// What the time of long chains does, of as many instructions.
ExpectedChangesOf<Problem> time(Direction direction, double factor) {
  return {{std::string(kTimeColumn), direction, factor, is_long},
          {"warp_instructions", Direction::unchanged}};
}

/// A chain of launches of `kernel`.
Variant chain_variant(std::string id, std::string compare_to, StepKernel kernel) {
  Variant v = chain_variant(std::move(id), std::move(compare_to));
  v.launch = [kernel](const Problem& p, const Data& d, const LaunchContext& x) {
    const Chain chain = chain_of(p, d, x);
    Steps steps;
    for (std::int64_t step = 0; step < p.kernels; ++step)
      steps += step_of(kernel, p, chain, step);
    return steps;
  };
  return v;
}

Variant streamed() {
  return chain_variant("streamed", "", step_kernel<>);
}

// ---- waited
//
// The host waits for each kernel before it launches the next, as a program does that looks at every
// result. Nothing of host and GPU overlaps: each step takes what a single kernel takes.

Variant waited() {
  Variant v =
      chain_variant("waited", "streamed", step_kernel<>).expecting(time(Direction::increases, 1.3));
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const Chain chain = chain_of(p, d, x);
    Steps steps;
    for (std::int64_t step = 0; step < p.kernels; ++step)
      steps += step_of(step_kernel<>, p, chain, step) + HostReadStep{};
    return steps;
  };
  return v;
}

// ---- queued
//
// The same launches as streamed, but the GPU may begin when all of them are in its queue, and
// events take the time: what a kernel behind another costs the GPU, however slow the host is. A
// queue holds about a thousand launches; the host would wait for the GPU, and the GPU for the host.

constexpr std::int64_t kMostQueued = 500;

std::optional<std::string> fills_the_queue(const Problem& p, const DeviceSpec&) {
  if (p.kernels <= kMostQueued) return std::nullopt;
  return "needs kernels <= " + std::to_string(kMostQueued) + ": longer chains fill the queue";
}

Variant queued_by(Variant v) {
  v.timing = Timing::gated;
  v.unsupported = fills_the_queue;
  return v;
}

Variant queued() {
  return queued_by(chain_variant("queued", "streamed", step_kernel<>))
      .expecting(time(Direction::decreases, 1.2));
}

// ---- programmatic
//
// Programmatic dependent launch: a kernel says at its start that the next may start, too, and that
// one waits for the results where it needs them (griddepcontrol). Its blocks are then in place when
// the last kernel's results are. It relieves the GPU of the time between two kernels, not the host
// of its calls.

__global__ void __launch_bounds__(kBlock) programmatic_kernel(Chain chain, std::int64_t step) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < chain.n) make_element(chain, step, i);
}

constexpr int kProgrammatic = 90;

/// `id` with programmatic dependent launches, from the second kernel on.
Variant programmatic_variant(std::string id, std::string compare_to) {
  Variant v = chain_variant(std::move(id), std::move(compare_to), programmatic_kernel);
  // Two instructions more, of about thirty.
  v.expected_changes = {{"warp_instructions", Direction::unchanged, 1.2}};
  v.without_time = "how kernels overlap by programmatic dependent launch is not modelled";
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    const Chain chain = chain_of(p, d, x);
    Steps steps;
    for (std::int64_t step = 0; step < p.kernels; ++step) {
      Steps next = step_of(programmatic_kernel, p, chain, step);
      std::get<KernelStep>(next.all().front().action).programmatic = step > 0;
      steps += std::move(next);
    }
    return steps;
  };
  return needs_capability(std::move(v), kProgrammatic);
}

Variant programmatic() {
  return programmatic_variant("programmatic", "streamed");
}

// ---- queued_programmatic
//
// The same by events, with all launches in the queue: the time between two kernels is what is left
// of it on the GPU.

Variant queued_programmatic() {
  return needs_capability(
      queued_by(programmatic_variant("queued_programmatic", "queued"))
          .expecting({{std::string(kTimeColumn), Direction::decreases, 1.2, is_long}}),
      kProgrammatic);
}

// ---- graph
//
// The chain as a CUDA graph, captured and instantiated once: a launch of the whole chain is one
// call of the host. What is left is what the GPU takes from node to node.

Variant graph() {
  Variant v =
      chain_variant("graph", "streamed", step_kernel<>).expecting(time(Direction::decreases, 1.2));
  v.submission = Submission::graph;
  return v;
}

// ---- updated_graph
//
// The same graph, each of whose kernels gets its arguments anew before the launch
// (cudaGraphExecKernelNodeSetParams), as a program does whose buffers change: a call per kernel
// again, though a cheaper one than a launch.

Variant updated_graph() {
  Variant v = chain_variant("updated_graph", "graph", step_kernel<>)
                  .expecting(time(Direction::increases, 1.1));
  v.submission = Submission::updated_graph;
  v.without_time = "what the host takes to update a graph is not measured";
  return v;
}

// ---- grid_barrier
//
// One cooperative kernel that makes all steps, with a barrier of the grid between them: one call,
// and blocks that stay. A step costs an atomic addition per block in L2 and the wait until the last
// has come, instead of a launch. All blocks must be resident at once.

__global__ void __launch_bounds__(kBlock) grid_barrier_kernel(Chain chain, unsigned* arrived) {
  for (std::int64_t step = 0; step < chain.kernels; ++step) {
    if (step > 0) wait_for_grid(arrived);
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < chain.n;
         i += static_cast<std::int64_t>(gridDim.x) * kBlock)
      make_element(chain, step, i);
  }
}

/// A block per SM, or fewer where there is no work for them.
Shape resident_shape(const Problem& p, const DeviceSpec& device) {
  Shape s = step_shape(p);
  s.grid.x = std::min<std::int64_t>(s.grid.x, device.sm_count);
  s.tile.x = ceil_div(p.n, s.grid.x);
  return s;
}

Variant grid_barrier() {
  Variant v = chain_variant("grid_barrier", "streamed")
                  .expecting({{std::string(kTimeColumn), Direction::decreases, 1.2, is_long},
                              {"global_store_sectors", Direction::unchanged, 1.01}});
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return other_bytes(p) + std::int64_t{sizeof(unsigned)};
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const arrived =
        reinterpret_cast<unsigned*>(static_cast<std::byte*>(x.workspace) + other_bytes(p));
    Steps kernel =
        launch(grid_barrier_kernel, resident_shape(p, x.device), chain_of(p, d, x), arrived);
    std::get<KernelStep>(kernel.all().front().action).cooperative = true;
    return Steps(MemsetStep{arrived, 0, sizeof *arrived}) + std::move(kernel);
  };
  return v;
}

// ---- work_queue
//
// A persistent kernel: blocks take tiles of 256 elements out of a queue, step after step, by an
// atomic addition each, and a tile waits until all of the step before are done. No barrier and no
// cooperative launch is needed, since a tile waits only for tiles that somebody has taken before.
// It costs two atomic additions per tile, all of them to few addresses.

/// The queue counts tiles that were taken, of all steps, and behind it those of each step that are
/// done.
__global__ void __launch_bounds__(kBlock) work_queue_kernel(Chain chain, unsigned* queue) {
  __shared__ unsigned task;
  const auto tiles = static_cast<unsigned>((chain.n + kBlock - 1) / kBlock);
  for (;;) {
    if (threadIdx.x == 0) {
      task = atomicAdd(queue, 1);
      const unsigned before = task / tiles;
      if (before > 0 && before < chain.kernels) wait_until_at_least(queue + before, tiles);
    }
    __syncthreads();
    const std::int64_t step = task / tiles;
    if (step >= chain.kernels) return;
    const std::int64_t i = static_cast<std::int64_t>(task % tiles) * kBlock + threadIdx.x;
    if (i < chain.n) make_element(chain, step, i);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(queue + 1 + step, 1);
  }
}

std::int64_t queue_bytes(const Problem& p) {
  return (p.kernels + 1) * std::int64_t{sizeof(unsigned)};
}

Variant work_queue() {
  Variant v = chain_variant("work_queue", "grid_barrier")
                  .expecting({{"global_store_sectors", Direction::unchanged, 1.01}});
  v.without_time = "which block takes which tile is decided while they run";
  v.workspace_bytes = [](const Problem& p, const DeviceSpec&) {
    return other_bytes(p) + queue_bytes(p);
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    auto* const queue =
        reinterpret_cast<unsigned*>(static_cast<std::byte*>(x.workspace) + other_bytes(p));
    return Steps(MemsetStep{queue, 0, queue_bytes(p)}) +
           launch(work_queue_kernel, resident_shape(p, x.device), chain_of(p, d, x), queue);
  };
  return v;
}

// ---- first_launch
//
// The first launch of a process, each in a process of its own: the driver loads the kernel's code
// into the GPU, which later launches find there.

Variant first_launch() {
  Variant v = chain_variant("first_launch", "streamed", step_kernel<1>);
  v.timing = Timing::fresh_process;
  v.without_time = "what loading a kernel takes is not modelled";
  return v;
}

// ---- from_first
//
// The launches of one process from the first on: how soon they take what all later ones take.

Variant from_first() {
  Variant v = chain_variant("from_first", "first_launch", step_kernel<2>);
  v.timing = Timing::from_first;
  v.without_time = "what loading a kernel takes is not modelled";
  return v;
}

// ---- the plain reference

struct Reference {
  Problem p;
  const std::uint32_t* x;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    std::uint32_t v = x[(i + p.kernels * kBlock) % p.n];
    for (std::int64_t step = 0; step < p.kernels; ++step)
      v = next(v);
    return {static_cast<double>(v), 0.0};
  }
};

// ---- declaration

Family declare() {
  Family f("launch_overhead", Topic::execution,
           "What does it cost to start a kernel, and does the host pay it or the GPU?");
  f.physics =
      "A launch is a call of the driver, which writes the kernel's address, shape and arguments "
      "into a queue and rings the GPU's doorbell. That takes the host microseconds; so does the "
      "GPU, from the end of one kernel in a stream to the start of the next, while it waits for "
      "the last block and for what that has written. Small kernels take as long as the slower of "
      "the two. What hands over many kernels by one call relieves the host; what lets kernels "
      "overlap, or does without them, relieves the GPU.";
  f.extent("kernels", &Problem::kernels, 100, 1000, "steps of the chain")
      .extent("n", &Problem::n, 1 << 15, 1 << 20, "elements that each of them makes");
  f.input("x", &Data::x, &Problem::n).output("y", &Data::y, &Problem::n);
  f.figure("launch_overhead", "per_item", "A chain of small kernels: time per kernel",
           {{"param.kernels", "kernels in the chain"}})
      .figure("timeline_launch_overhead", "timelines",
              "Ten small kernels: calls of the host, and kernels");
  f.ceilings = {CeilingRows::latency("host_call", {"streamed"}, Mode::warm, "param.kernels")
                    .where("kernels", "1000"),
                CeilingRows::latency("host_launch", {"streamed"}, Mode::warm, "param.kernels")
                    .where("kernels", "1")};
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_bits(const_cast<std::uint32_t*>(d.x), p.n, seed);
  };
  set_references(f, &Problem::n, [](const Problem& p, const Data& d, int) {
    return Reference{p, d.x};
  });
  f.reference_operations = [](const Problem& p) {
    return 2.0 * static_cast<double>(p.kernels) * static_cast<double>(p.n);
  };
  f.tolerance_derivation = "Zero: arithmetic modulo 2^32, and whole numbers below it are exact.";
  f.variants(streamed(), waited(), queued(), programmatic(), queued_programmatic(), graph(),
             updated_graph(), tail_launched(), device_stream(), grid_barrier(), work_queue(),
             first_launch(), from_first());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::launch_overhead
