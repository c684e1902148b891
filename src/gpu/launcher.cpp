#include "gpu/launcher.hpp"

#include <algorithm>

namespace gpuexp {

namespace {

dim3 dim(const Extent& e) {
  return dim3(static_cast<unsigned>(e.x), static_cast<unsigned>(e.y), static_cast<unsigned>(e.z));
}

std::vector<cudaLaunchAttribute> attributes_of(const KernelStep& step) {
  std::vector<cudaLaunchAttribute> attributes;
  const auto add = [&](cudaLaunchAttributeID id) -> cudaLaunchAttributeValue& {
    cudaLaunchAttribute& attribute = attributes.emplace_back();
    attribute.id = id;
    return attribute.val;
  };
  if (step.shape.cluster.count() > 1) {
    auto& cluster = add(cudaLaunchAttributeClusterDimension).clusterDim;
    cluster.x = static_cast<unsigned>(step.shape.cluster.x);
    cluster.y = static_cast<unsigned>(step.shape.cluster.y);
    cluster.z = static_cast<unsigned>(step.shape.cluster.z);
  }
  if (step.cooperative) add(cudaLaunchAttributeCooperative).cooperative = 1;
  if (step.programmatic)
    add(cudaLaunchAttributeProgrammaticStreamSerialization).programmaticStreamSerializationAllowed =
        1;
  if (step.window) {
    cudaAccessPolicyWindow& window = add(cudaLaunchAttributeAccessPolicyWindow).accessPolicyWindow;
    window.base_ptr = const_cast<void*>(step.window->base);
    window.num_bytes = static_cast<std::size_t>(step.window->bytes);
    window.hitRatio = step.window->hit_ratio;
    window.hitProp = cudaAccessPropertyPersisting;
    window.missProp = cudaAccessPropertyStreaming;
  }
  return attributes;
}

}  // namespace

PreparedSteps::PreparedSteps(Steps steps, const CudaStream& stream)
    : steps_(std::move(steps)), first_(&stream), kernels_(steps_.all().size()) {
  GPUEXP_CUDA(cudaGetDevice(&device_));
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const Step& step = steps_.all()[i];
    if (step.stream != 0) other_streams_.try_emplace(step.stream);
    for (const std::size_t place : step.after)
      done_.try_emplace(place);
    if (const auto* kernel = std::get_if<KernelStep>(&step.action)) prepare(*kernel, kernels_[i]);
  }
  if (other_streams_.empty()) return;
  start_ = std::make_unique<CudaEvent>();
  // The first stream ends after the last step of each other.
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    last[steps_.all()[i].stream] = i;
  for (const auto& [number, place] : last) {
    if (number != 0) done_.try_emplace(place);
  }
}

void PreparedSteps::prepare(const KernelStep& step, Kernel& kernel) const {
  kernel.tensor_maps.reserve(step.arguments.count());  // parameters point into it
  for (std::size_t i = 0; i < step.arguments.count(); ++i) {
    if (const TensorMap* map = step.arguments.tensor_map(i)) {
      kernel.parameters.push_back(&kernel.tensor_maps.emplace_back(encoded(*map)));
    } else {
      kernel.parameters.push_back(const_cast<std::byte*>(step.arguments.at(i)));
    }
  }
  kernel.attributes = attributes_of(step);
  kernel.config.gridDim = dim(step.shape.grid);
  kernel.config.blockDim = dim(step.shape.block);
  kernel.config.dynamicSmemBytes = static_cast<std::size_t>(step.shape.dynamic_shared_bytes);
  kernel.config.numAttrs = static_cast<unsigned>(kernel.attributes.size());
  // Blocks get more than 48 KiB of dynamic shared memory only after this attribute is raised.
  constexpr std::int64_t kDefaultDynamicShared = 48 * 1024;
  if (step.shape.dynamic_shared_bytes > kDefaultDynamicShared) {
    GPUEXP_CUDA(cudaFuncSetAttribute(step.shape.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(step.shape.dynamic_shared_bytes)));
  }
}

cudaStream_t PreparedSteps::stream_of(std::size_t place) const {
  const int number = steps_.all()[place].stream;
  return number == 0 ? first_->get() : other_streams_.at(number).get();
}

void PreparedSteps::enqueue(std::size_t place) const {
  const Step& step = steps_.all()[place];
  const cudaStream_t stream = stream_of(place);
  if (const auto* kernel = std::get_if<KernelStep>(&step.action)) {
    if (kernel->shape.grid.count() == 0) return;
    const Kernel& prepared = kernels_[place];
    cudaLaunchConfig_t config = prepared.config;
    config.stream = stream;
    config.attrs = const_cast<cudaLaunchAttribute*>(prepared.attributes.data());
    GPUEXP_CUDA(cudaLaunchKernelExC(&config, kernel->shape.kernel,
                                    const_cast<void**>(prepared.parameters.data())));
  } else if (const auto* memset = std::get_if<MemsetStep>(&step.action)) {
    GPUEXP_CUDA(cudaMemsetAsync(memset->to, memset->value, static_cast<std::size_t>(memset->bytes),
                                stream));
  } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
    GPUEXP_CUDA(cudaMemcpyAsync(copy->to, copy->from, static_cast<std::size_t>(copy->bytes),
                                cudaMemcpyDefault, stream));
  } else {
    std::get<OpaqueStep>(step.action).call(stream, device_);
  }
}

void PreparedSteps::enqueue(const std::function<void(const Step&)>& before) const {
  if (start_) {
    start_->record(*first_);
    for (const auto& [number, stream] : other_streams_)
      GPUEXP_CUDA(cudaStreamWaitEvent(stream.get(), start_->get()));
  }
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    for (const std::size_t place : steps_.all()[i].after)
      GPUEXP_CUDA(cudaStreamWaitEvent(stream_of(i), done_.at(place).get()));
    if (before) before(steps_.all()[i]);
    enqueue(i);
    if (const auto done = done_.find(i); done != done_.end())
      GPUEXP_CUDA(cudaEventRecord(done->second.get(), stream_of(i)));
  }
  for (const auto& [place, event] : done_) {
    if (steps_.all()[place].stream != 0)
      GPUEXP_CUDA(cudaStreamWaitEvent(first_->get(), event.get()));
  }
}

bool PreparedSteps::has_window() const {
  return std::any_of(steps_.all().begin(), steps_.all().end(), [](const Step& step) {
    const auto* kernel = std::get_if<KernelStep>(&step.action);
    return kernel && kernel->window;
  });
}

void enqueue(const Steps& steps, const CudaStream& stream) {
  PreparedSteps(steps, stream).enqueue();
}

}  // namespace gpuexp
