#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "family/family.hpp"
#include "family/step.hpp"
#include "family/step_time.hpp"
#include "gpu/cuda_graph.hpp"
#include "gpu/resources.hpp"
#include "gpu/tensor_map_encoding.hpp"
#include "gpu/texture_object.hpp"

namespace gpuexp {

/// Steps of a launch. The constructor prepares them, so that no preparation occurs in a timed
/// interval.
class PreparedSteps {
 public:
  /// Prepares steps for the current device. `stream`, which must outlive this object, is stream 0
  /// of the steps. Throws CudaError if a kernel cannot have the resources of its shape.
  PreparedSteps(Steps steps, const CudaStream& stream,
                Submission submission = Submission::one_by_one);

  /// Enqueues the steps as `submission` specifies. Throws CudaError if a launch fails, and any
  /// exception of opaque steps.
  void enqueue() const;
  /// Enqueues the steps one by one, regardless of `submission`. A graph can capture the calls
  /// unless a step waits for the GPU. Calls `before` and `after` around the enqueueing of each
  /// step.
  using StepHook = std::function<void(const Step&)>;
  void enqueue_each(const StepHook& before = {}, const StepHook& after = {}) const;
  /// Enqueues the steps one by one, waits for them, and returns their start and end times.
  std::vector<StepTime> timeline() const;

  /// True if a step may access this memory. Libraries, textures and tensor maps are assumed to
  /// access it, because their addresses are not analyzed.
  bool reach(const void* memory, std::int64_t bytes) const;

  bool has_window() const;
  /// Maximum L2 set-aside, in bytes, of the launches' access policy windows.
  std::int64_t set_aside_bytes() const;
  bool overlap() const { return steps_.overlap(); }
  bool launches_kernels() const;
  std::size_t size() const { return kernels_.size(); }

 private:
  struct Kernel {
    std::vector<void*> parameters;
    std::vector<CUtensorMap> tensor_maps;  ///< parameters point to these
    std::vector<TextureObject> textures;   ///< parameters point to these
    std::vector<cudaLaunchAttribute> attributes;
    cudaLaunchConfig_t config{};
    const void* function = nullptr;  ///< launchable() of the step's kernel
  };

  void add_stream(int number);
  void prepare(const KernelStep& step, Kernel& kernel) const;
  void enqueue_step(std::size_t place) const;
  cudaStream_t stream_of(std::size_t place) const;
  cudaStream_t stream_numbered(int number) const;
  /// Sets the arguments of all kernels in the graph, as an application does when its arguments
  /// change.
  void update_graph() const;

  Steps steps_;
  const CudaStream* first_;
  int device_ = 0;
  std::vector<Kernel> kernels_;  ///< by index of the step; empty for steps that are no kernel
  std::map<int, CudaStream>
      other_streams_;               ///< by Step::stream, except for the legacy default stream
  std::vector<int> other_numbers_;  ///< all streams except the first, as Step::stream
  std::map<std::size_t, CudaEvent> done_;  ///< by index of a step that other streams wait for
  std::unique_ptr<CudaEvent> start_;       ///< only if there are other streams
  Submission submission_;
  std::unique_ptr<CapturedLaunches> graph_;  ///< only if the steps are submitted as one graph
};

void enqueue(const Steps& steps, const CudaStream& stream);

}  // namespace gpuexp
