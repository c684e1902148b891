// launch_overhead: y = step(… step(x)), a chain of small kernels, submitted in each way that CUDA
// offers.
//
// The question: what does a kernel launch cost the host and the GPU? The variants whose kernels
// launch kernels are in launch_overhead/device_launched.cu.
//
// The host's clock measures the time from before the first call until the host knows that the last
// kernel has ended. Variants named queued_* are timed by events, and all their launches are in the
// queue before the first one may start: their time is only the GPU's part.
#include <algorithm>

#include "kernels/common/compiled_for.cuh"
#include "kernels/common/grid_barrier.cuh"
#include "kernels/launch_overhead/chain.cuh"

namespace gpuexp::launch_overhead {

// ---- streamed: one launch per step
//
// The host launches each step into one stream and waits at the end. Host and GPU work at the same
// time, so a chain takes, per launch, the time of the slower one.

/// Different values of `Place` make separate kernels.
template <int Place = 0>
__global__ void __launch_bounds__(kBlock) step_kernel(Chain chain, std::int64_t step) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < chain.n) make_element(chain, step, i);
}

using StepKernel = void (*)(Chain, std::int64_t);

Steps step_of(StepKernel kernel, const Problem& p, const Chain& chain, std::int64_t step) {
  return launch(kernel, step_shape(p), chain, step);
}

/// Expected change of the time of long chains, with an unchanged number of instructions.
ExpectedChangesOf<Problem> time(Direction direction, double factor) {
  return {{std::string(kTimeColumn), direction, factor, is_long},
          {"warp_instructions", Direction::unchanged}};
}

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

// ---- waited: wait after each kernel
//
// The host waits for each kernel before it launches the next one, as in a program that reads every
// result. Host and GPU never work at the same time: each step takes as long as a single kernel.

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

// ---- queued: all launches queued before the first starts
//
// The launches are the same as in streamed, but the GPU starts only when all of them are in its
// queue, and events measure the time. This is the GPU's cost of consecutive kernels. A queue holds
// about a thousand launches; with more, host and GPU would wait for each other.

constexpr std::int64_t kMaxQueued = 500;

std::optional<std::string> fills_the_queue(const Problem& p, const DeviceSpec&) {
  if (p.kernels <= kMaxQueued) return std::nullopt;
  return "needs kernels <= " + std::to_string(kMaxQueued) + ": longer chains fill the queue";
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

// ---- programmatic: programmatic dependent launch
//
// Each kernel signals at its start that the next one may start as well, and the next one waits for
// the results where it needs them (griddepcontrol). The blocks of the next kernel are therefore
// resident when the previous results are complete. This reduces the GPU's time between two kernels,
// but not the host's time per call.

__global__ void __launch_bounds__(kBlock) programmatic_kernel(Chain chain, std::int64_t step) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < chain.n) make_element(chain, step, i);
}

constexpr int kProgrammatic = 90;

/// Returns `id` with programmatic dependent launches for all kernels except the first.
Variant programmatic_variant(std::string id, std::string compare_to) {
  Variant v = chain_variant(std::move(id), std::move(compare_to), programmatic_kernel);
  // Two additional instructions per about thirty.
  v.expected_changes = {{"warp_instructions", Direction::unchanged, 1.2}};
  v.without_time = "the overlap of kernels by programmatic dependent launch is not modelled";
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

// ---- queued_programmatic: programmatic dependent launch, all launches queued
//
// The launches of programmatic are all in the queue before the first one starts, and events measure
// the time. The time per step is the GPU's remaining time between two kernels.

Variant queued_programmatic() {
  return needs_capability(
      queued_by(programmatic_variant("queued_programmatic", "queued"))
          .expecting({{std::string(kTimeColumn), Direction::decreases, 1.2, is_long}}),
      kProgrammatic);
}

// ---- graph: CUDA graph
//
// The chain is captured and instantiated once as a CUDA graph, so one call of the host launches the
// whole chain. The time per step is the GPU's time from node to node.

Variant graph() {
  Variant v =
      chain_variant("graph", "streamed", step_kernel<>).expecting(time(Direction::decreases, 1.2));
  v.submission = Submission::graph;
  return v;
}

// ---- updated_graph: CUDA graph with updated arguments
//
// The host sets the arguments of each kernel of the graph again before the launch
// (cudaGraphExecKernelNodeSetParams). This costs one call per kernel, which is cheaper than a
// launch.

Variant updated_graph() {
  Variant v = chain_variant("updated_graph", "graph", step_kernel<>)
                  .expecting(time(Direction::increases, 1.1));
  v.submission = Submission::updated_graph;
  v.without_time = "the host's time to update a graph is not measured";
  return v;
}

// ---- grid_barrier: one cooperative kernel with grid barriers
//
// One cooperative kernel executes all steps with persistent blocks, and a barrier of the grid
// between the steps. Instead of a launch, a step costs one atomic addition per block in L2 and the
// wait for the last block. All blocks must be resident at the same time.

__global__ void __launch_bounds__(kBlock) grid_barrier_kernel(Chain chain, unsigned* arrived) {
  for (std::int64_t step = 0; step < chain.kernels; ++step) {
    if (step > 0) sync_grid(arrived);
    for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x; i < chain.n;
         i += static_cast<std::int64_t>(gridDim.x) * kBlock)
      make_element(chain, step, i);
  }
}

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

// ---- work_queue: persistent blocks with a tile queue
//
// The blocks of a persistent kernel get tiles of 256 elements from a queue, step after step, with
// one atomic addition per tile. A tile waits until all tiles of the previous step are complete. It
// needs no barrier and no cooperative launch, because it waits only for tiles that other blocks
// have already started. The cost is two atomic additions per tile, all to a few addresses.

/// queue[0] counts the tiles taken over all steps; queue[1 + step] counts the completed tiles of a
/// step.
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
  v.without_time = "the assignment of tiles to blocks is decided at run time";
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

// ---- first_launch: the first launch of a process
//
// Each sample is the first launch of a new process: the driver loads the kernel's code into the
// GPU.

Variant first_launch() {
  Variant v = chain_variant("first_launch", "streamed", step_kernel<1>);
  v.timing = Timing::fresh_process;
  v.without_time = "the time to load a kernel is not modelled";
  return v;
}

// ---- from_first: the first launches of a process
//
// All launches of one process are timed, starting with the first. Their times show how many
// launches pass before the time is constant.

Variant from_first() {
  Variant v = chain_variant("from_first", "first_launch", step_kernel<2>);
  v.timing = Timing::from_first;
  v.without_time = "the time to load a kernel is not modelled";
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
           "What does a kernel launch cost the host and the GPU?");
  f.physics =
      "For a launch, the driver writes the kernel's address, shape and arguments into a queue and "
      "rings the GPU's doorbell. This takes microseconds of the host. The GPU also takes "
      "microseconds from the end of one kernel in a stream to the start of the next one, because "
      "it waits for the last block and for the block's stores. A chain of small kernels takes the "
      "time of the slower of the two. Submitting many kernels with one call relieves the host; "
      "overlapping kernels, or using one persistent kernel, relieves the GPU.";
  f.extent("kernels", &Problem::kernels, 100, 1000, "steps of the chain")
      .extent("n", &Problem::n, 1 << 15, 1 << 20, "elements that each step computes");
  f.input("x", &Data::x, &Problem::n).output("y", &Data::y, &Problem::n);
  f.plot("launch_overhead", "per_item", "Chain of small kernels: time per kernel",
         {{"param.kernels", "kernels in the chain"}})
      .plot("timeline_launch_overhead", "timelines",
            "Ten small kernels: timeline of host calls and kernels");
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
  f.tolerance_derivation = "Zero: arithmetic is modulo 2^32, and integers below 2^32 are exact.";
  f.variants(streamed(), waited(), queued(), programmatic(), queued_programmatic(), graph(),
             updated_graph(), tail_launched(), device_stream(), grid_barrier(), work_queue(),
             first_launch(), from_first());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::launch_overhead
