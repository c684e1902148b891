// launch_overhead, continued: kernels that launch kernels (CUDA dynamic parallelism).
//
// The device runtime performs the launches: the calling thread writes the grid's shape and
// arguments into a buffer in global memory, and the GPU's scheduler reads them from there. This
// file is compiled as relocatable device code (-rdc) and device-linked separately, so that the code
// of all other kernels is unchanged (../CMakeLists.txt).
#include "kernels/launch_overhead/chain.cuh"

namespace gpuexp::launch_overhead {

// ---- tail_launched: each kernel launches the next one
//
// The host launches the first kernel, and one thread of each kernel launches the next one into its
// grid's tail launch stream (cudaStreamTailLaunch). A tail launch starts when its grid has ended,
// together with everything else that the grid launched, so it sees the stores of all blocks. In any
// other stream, each grid would wait for its child, and the chain would nest one level per step.
// Each kernel decides at run time what comes next. The cost is the device runtime's code, which one
// warp of each kernel executes.

__global__ void __launch_bounds__(kBlock) tail_launched_kernel(Chain chain, std::int64_t step) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i == 0 && step + 1 < chain.kernels)
    tail_launched_kernel<<<gridDim.x, kBlock, 0, cudaStreamTailLaunch>>>(chain, step + 1);
  if (i < chain.n) make_element(chain, step, i);
}

/// Returns a variant whose kernels launch kernels.
Variant device_variant(std::string id) {
  Variant v = chain_variant(std::move(id), "graph");
  // Graph nodes start without any thread that writes a launch.
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

// ---- device_stream: one thread launches all kernels
//
// A kernel of one thread launches all steps, one after the other, into its block's NULL stream,
// which keeps them in order. Like the host in streamed, the thread continues to launch while
// kernels run. The device runtime has room for all launches to be pending at once (2048,
// cudaLimitDevRuntimePendingLaunchCount). In the fire-and-forget stream (cudaStreamFireAndForget),
// which keeps no order, the steps would run concurrently.

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
