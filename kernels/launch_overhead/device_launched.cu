// launch_overhead, continued: kernels that launch kernels (CUDA dynamic parallelism).
//
// The device runtime makes a launch that a kernel asks for: the calling thread writes the grid's
// shape and arguments into a buffer in global memory, and the GPU's scheduler takes it from there.
// Such code refers to the device runtime's functions, so that it is compiled as relocatable device
// code (-rdc) and linked for the device, apart from all other kernels, whose code stays as it is
// (../CMakeLists.txt).
#include "kernels/launch_overhead/chain.cuh"

namespace gpuexp::launch_overhead {

// ---- tail_launched
//
// Dynamic parallelism: the host launches the first kernel, and a thread of each launches the next
// one, into its grid's tail launch stream (cudaStreamTailLaunch). What is there starts when the
// grid has ended, and all else that it launched, so that it sees what all blocks wrote. No grid
// waits for a child; in any other stream it would, and the chain would nest, one level per step.
// As with a graph, the host calls once, but each kernel decides what comes next when it runs. It
// costs the device runtime's code, which a warp of each kernel executes, and a launch that was not
// prepared beforehand.

__global__ void __launch_bounds__(kBlock) tail_launched_kernel(Chain chain, std::int64_t step) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i == 0 && step + 1 < chain.kernels)
    tail_launched_kernel<<<gridDim.x, kBlock, 0, cudaStreamTailLaunch>>>(chain, step + 1);
  if (i < chain.n) make_element(chain, step, i);
}

/// A variant whose kernels launch kernels.
Variant device_variant(std::string id) {
  Variant v = chain_variant(std::move(id), "graph");
  // From node to node of a graph, no thread has a launch to write.
  v.expected_changes = {{std::string(kTimeColumn), Direction::increases, 1.2, is_long}};
  return v;
}

Variant tail_launched() {
  Variant v = device_variant("tail_launched");
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(tail_launched_kernel, step_shape(p), chain_of(p, d, x), 0);
  };
  return v;
}

// ---- device_stream
//
// A kernel of one thread launches all steps, one after the other, into its block's NULL stream,
// which keeps them in order: what the host does in streamed, done by a thread of the GPU. Launches
// go on while kernels run. All of them may be pending at once, for which the device runtime has
// room (2048, cudaLimitDevRuntimePendingLaunchCount). In the fire-and-forget stream
// (cudaStreamFireAndForget), which keeps no order, the steps would run side by side.

__global__ void __launch_bounds__(kBlock) device_step_kernel(Chain chain, std::int64_t step) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < chain.n) make_element(chain, step, i);
}

__global__ void device_stream_kernel(Chain chain, unsigned blocks) {
  for (std::int64_t step = 0; step < chain.kernels; ++step)
    device_step_kernel<<<blocks, kBlock>>>(chain, step);
}

Variant device_stream() {
  Variant v = device_variant("device_stream");
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return launch(device_stream_kernel, shape_of_shares({1}, {p.n}, 1), chain_of(p, d, x),
                  ceil_div(p.n, kBlock));
  };
  return v;
}

}  // namespace gpuexp::launch_overhead
