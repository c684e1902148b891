#include "gpu/cuda_graph.hpp"

#include <utility>

namespace gpuexp {

namespace {

class Capture {
 public:
  // Relaxed, because a library may allocate memory during its first capture.
  explicit Capture(const CudaStream& stream) : stream_(stream) {
    GPUEXP_CUDA(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeRelaxed));
  }
  ~Capture() {
    if (!ended_) GPUEXP_CUDA_NOEXCEPT(cudaStreamEndCapture(stream_.get(), &graph_));
    if (graph_) GPUEXP_CUDA_NOEXCEPT(cudaGraphDestroy(graph_));
  }
  Capture(const Capture&) = delete;
  Capture& operator=(const Capture&) = delete;

  cudaGraph_t end() {
    ended_ = true;
    GPUEXP_CUDA(cudaStreamEndCapture(stream_.get(), &graph_));
    return std::exchange(graph_, nullptr);
  }

 private:
  const CudaStream& stream_;
  cudaGraph_t graph_ = nullptr;
  bool ended_ = false;
};

std::vector<cudaGraphNode_t> kernels_of(cudaGraph_t graph) {
  std::size_t count = 0;
  GPUEXP_CUDA(cudaGraphGetNodes(graph, nullptr, &count));
  std::vector<cudaGraphNode_t> nodes(count);
  GPUEXP_CUDA(cudaGraphGetNodes(graph, nodes.data(), &count));
  std::vector<cudaGraphNode_t> kernels;
  for (cudaGraphNode_t node : nodes) {
    cudaGraphNodeType type{};
    GPUEXP_CUDA(cudaGraphNodeGetType(node, &type));
    if (type == cudaGraphNodeTypeKernel) kernels.push_back(node);
  }
  return kernels;
}

}  // namespace

CapturedLaunches::CapturedLaunches(const CudaStream& stream, const std::function<void()>& queue) {
  Capture capture(stream);
  queue();
  graph_ = capture.end();
  kernels_ = kernels_of(graph_);
  GPUEXP_CUDA(cudaGraphInstantiate(&executable_, graph_, 0));
  GPUEXP_CUDA(cudaGraphUpload(executable_, stream.get()));
}

CapturedLaunches::~CapturedLaunches() {
  if (executable_) GPUEXP_CUDA_NOEXCEPT(cudaGraphExecDestroy(executable_));
  if (graph_) GPUEXP_CUDA_NOEXCEPT(cudaGraphDestroy(graph_));
}

void CapturedLaunches::update_kernel(std::size_t i, const cudaKernelNodeParams& parameters) const {
  GPUEXP_CUDA(cudaGraphExecKernelNodeSetParams(executable_, kernels_.at(i), &parameters));
}

void CapturedLaunches::replay(const CudaStream& stream) const {
  GPUEXP_CUDA(cudaGraphLaunch(executable_, stream.get()));
}

}  // namespace gpuexp
