#pragma once

#include <functional>
#include <vector>

#include "gpu/resources.hpp"

namespace gpuexp {

/// Launches captured in a CUDA graph, which one call enqueues together. Throws CudaError if a
/// launch cannot be captured, for example because it waits for the GPU.
class CapturedLaunches {
 public:
  CapturedLaunches(const CudaStream& stream, const std::function<void()>& queue);
  ~CapturedLaunches();
  CapturedLaunches(const CapturedLaunches&) = delete;
  CapturedLaunches& operator=(const CapturedLaunches&) = delete;

  void replay(const CudaStream& stream) const;
  void update_kernel(std::size_t i, const cudaKernelNodeParams& parameters) const;

 private:
  cudaGraph_t graph_ = nullptr;
  std::vector<cudaGraphNode_t> kernels_;
  cudaGraphExec_t executable_ = nullptr;
};

}  // namespace gpuexp
