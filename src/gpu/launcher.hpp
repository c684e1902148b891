// Enqueues the steps of variants on CUDA streams. Kernels of the harness itself (flush, guards,
// clock, barrier of ranks) are launched in device_ops.cu and peer_barrier.cu.
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

/// Steps with everything looked up that enqueueing them takes, so that none of it falls between two
/// events.
class PreparedSteps {
 public:
  /// For steps on the current device, whose first stream is `stream`, which outlives this. Throws
  /// CudaError where a kernel cannot have what its shape asks for.
  PreparedSteps(Steps steps, const CudaStream& stream,
                Submission submission = Submission::one_by_one);

  /// As they are submitted. Throws CudaError where a launch is refused, and what an opaque step
  /// throws.
  void enqueue() const;
  /// One by one, however they are submitted. May be captured into a graph, unless a step waits for
  /// the GPU. `before` and `behind` are called with each step as it is enqueued.
  using StepHook = std::function<void(const Step&)>;
  void enqueue_each(const StepHook& before = {}, const StepHook& behind = {}) const;
  /// Enqueues them one by one and waits: when each began and ended.
  std::vector<StepTime> timeline() const;

  /// Whether a step has an address in this memory, or may have one: what a library, a texture or a
  /// tensor map reaches is not looked up.
  bool reach(const void* memory, std::int64_t bytes) const;

  /// Whether lines that a launch touches persist in L2.
  bool has_window() const;
  /// What its windows want of L2 at most.
  std::int64_t set_aside_bytes() const;
  bool overlap() const { return steps_.overlap(); }
  /// Whether one of its kernels launches kernels, as far as the binary knows its code.
  bool launches_kernels() const;
  std::size_t size() const { return kernels_.size(); }

 private:
  struct Kernel {
    std::vector<void*> parameters;
    std::vector<CUtensorMap> tensor_maps;  ///< that some of the parameters point to
    std::vector<TextureObject> textures;   ///< likewise
    std::vector<cudaLaunchAttribute> attributes;
    cudaLaunchConfig_t config{};
  };

  void add_stream(int number);
  void prepare(const KernelStep& step, Kernel& kernel) const;
  void enqueue_step(std::size_t place) const;
  cudaStream_t stream_of(std::size_t place) const;
  cudaStream_t stream_numbered(int number) const;
  /// The arguments of all kernels of the graph, as if they had changed.
  void update_graph() const;

  Steps steps_;
  const CudaStream* first_;
  int device_ = 0;
  std::vector<Kernel> kernels_;              ///< by the place of the step; empty for others
  std::map<int, CudaStream> other_streams_;  ///< by Step::stream, but for the legacy default stream
  std::vector<int> other_numbers_;           ///< of all streams but the first, as Step::stream
  std::map<std::size_t, CudaEvent> done_;    ///< of steps that others wait for, by place
  std::unique_ptr<CudaEvent> start_;         ///< where there are other streams
  Submission submission_;
  std::unique_ptr<CapturedLaunches> graph_;  ///< where they are submitted as one
};

/// Prepares and enqueues.
void enqueue(const Steps& steps, const CudaStream& stream);

}  // namespace gpuexp
