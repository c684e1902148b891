// A CUDA graph captured from launches on a stream.
#pragma once

#include <functional>
#include <vector>

#include "gpu/resources.hpp"

namespace gpuexp {

/// Launches that one call queues together. Throws CudaError where a launch cannot be captured, such
/// as one that waits for the GPU.
class CapturedLaunches {
 public:
  /// Captures what `queue` queues on the stream.
  CapturedLaunches(const CudaStream& stream, const std::function<void()>& queue);
  ~CapturedLaunches();
  CapturedLaunches(const CapturedLaunches&) = delete;
  CapturedLaunches& operator=(const CapturedLaunches&) = delete;

  void replay(const CudaStream& stream) const;
  /// Gives the i-th of its kernels, in the order in which they were queued, other arguments.
  void update_kernel(std::size_t i, const cudaKernelNodeParams& parameters) const;

 private:
  cudaGraph_t graph_ = nullptr;
  std::vector<cudaGraphNode_t> kernels_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace gpuexp
