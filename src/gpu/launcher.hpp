// The one place that starts kernels: steps of launches, enqueued on CUDA streams.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "family/step.hpp"
#include "gpu/resources.hpp"
#include "gpu/tensor_map_encoding.hpp"

namespace gpuexp {

/// Steps with everything looked up that enqueueing them takes, so that none of it falls between two
/// events.
class PreparedSteps {
 public:
  /// For steps on the current device, whose first stream is `stream`, which outlives this. Throws
  /// CudaError where a kernel cannot have what its shape asks for.
  PreparedSteps(Steps steps, const CudaStream& stream);

  /// May be captured into a graph, unless a step is opaque and waits for the GPU. Throws CudaError
  /// where a launch is refused, and what an opaque step throws.
  /// `before` is called with each step that is enqueued.
  void enqueue(const std::function<void(const Step&)>& before = {}) const;

  /// Whether lines that a launch touches persist in L2.
  bool has_window() const;

 private:
  struct Kernel {
    std::vector<void*> parameters;
    std::vector<CUtensorMap> tensor_maps;  ///< that some of the parameters point to
    std::vector<cudaLaunchAttribute> attributes;
    cudaLaunchConfig_t config{};
  };

  void prepare(const KernelStep& step, Kernel& kernel) const;
  void enqueue(std::size_t place) const;
  cudaStream_t stream_of(std::size_t place) const;

  Steps steps_;
  const CudaStream* first_;
  int device_ = 0;
  std::vector<Kernel> kernels_;              ///< by the place of the step; empty for others
  std::map<int, CudaStream> other_streams_;  ///< by Step::stream
  std::map<std::size_t, CudaEvent> done_;    ///< of steps that others wait for, by place
  std::unique_ptr<CudaEvent> start_;         ///< where there are other streams
};

/// Prepares and enqueues.
void enqueue(const Steps& steps, const CudaStream& stream);

}  // namespace gpuexp
