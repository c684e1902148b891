#include "gpu/cuda_graph.hpp"

namespace gpuexp {

namespace {

class Capture {
 public:
  // Relaxed: a library may allocate while it is captured for the first time.
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
    return graph_;
  }

 private:
  const CudaStream& stream_;
  cudaGraph_t graph_ = nullptr;
  bool ended_ = false;
};

}  // namespace

CapturedLaunches::CapturedLaunches(const CudaStream& stream, const std::function<void()>& queue) {
  Capture capture(stream);
  queue();
  GPUEXP_CUDA(cudaGraphInstantiate(&executable_, capture.end(), 0));
  GPUEXP_CUDA(cudaGraphUpload(executable_, stream.get()));
}

CapturedLaunches::~CapturedLaunches() {
  if (executable_) GPUEXP_CUDA_NOEXCEPT(cudaGraphExecDestroy(executable_));
}

void CapturedLaunches::replay(const CudaStream& stream) const {
  GPUEXP_CUDA(cudaGraphLaunch(executable_, stream.get()));
}

}  // namespace gpuexp
