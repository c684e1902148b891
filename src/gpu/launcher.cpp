#include "gpu/launcher.hpp"

#include <algorithm>
#include <cstring>

#include <unistd.h>

#include "gpu/loaded_module.hpp"
#include "sass/kernel_resource.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp {

namespace {

constexpr cudaMemLocation kHost{cudaMemLocationTypeHost, 0};

cudaMemLocation on_device(int device) {
  return {cudaMemLocationTypeDevice, device};
}

// cudaMemAdviseSetAccessedBy maps the memory for the device: kernels access it over the bus,
// without page faults.
void give_advice(const AdviseStep& step, int device) {
  const auto advise = [&](cudaMemoryAdvise advice, cudaMemLocation location) {
    GPUEXP_CUDA(cudaMemAdvise(step.memory, static_cast<std::size_t>(step.bytes), advice, location));
  };
  switch (step.advice) {
    case Advice::none:
      advise(cudaMemAdviseUnsetPreferredLocation, kHost);
      advise(cudaMemAdviseUnsetAccessedBy, on_device(device));
      advise(cudaMemAdviseUnsetReadMostly, on_device(device));
      break;
    case Advice::stays_on_host:
      advise(cudaMemAdviseSetPreferredLocation, kHost);
      advise(cudaMemAdviseSetAccessedBy, on_device(device));
      break;
    case Advice::is_mostly_read: advise(cudaMemAdviseSetReadMostly, on_device(device)); break;
  }
}

void touch_pages(const HostReadStep& step) {
  static const std::int64_t page = sysconf(_SC_PAGESIZE);
  const auto* const memory = static_cast<const volatile unsigned char*>(step.memory);
  for (std::int64_t at = 0; at < step.bytes; at += page)
    static_cast<void>(memory[at]);
}

bool is_on_device(const void* memory) {
  cudaPointerAttributes attributes{};
  GPUEXP_CUDA(cudaPointerGetAttributes(&attributes, memory));
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

std::string name_of_kernel(const void* host_function) {
  if (const LoadedKernel* const loaded = LoadedKernels::global().find(host_function))
    return loaded->name;
  std::size_t count = 0;
  const KernelResource* const table = kernel_resource_table(count);
  const auto* const found = std::find_if(table, table + count, [&](const KernelResource& kernel) {
    return kernel.host_function == host_function;
  });
  if (found == table + count) return "kernel";
  const std::string name = kernel_name(found->lowered_name);
  return name.substr(0, name.find('<'));
}

std::string kind_of(const Step& step) {
  if (const auto* const kernel = std::get_if<KernelStep>(&step.action))
    return name_of_kernel(kernel->shape.kernel);
  const auto* const copy = std::get_if<CopyStep>(&step.action);
  if (!copy) return "other";
  if (is_on_device(copy->to)) return is_on_device(copy->from) ? "copy" : "copy_to_device";
  return "copy_to_host";
}

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
  if (step.window && step.window->bytes > 0) {
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

PreparedSteps::PreparedSteps(Steps steps, const CudaStream& stream, Submission submission)
    : steps_(std::move(steps)),
      first_(&stream),
      kernels_(steps_.all().size()),
      submission_(submission) {
  GPUEXP_CUDA(cudaGetDevice(&device_));
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const Step& step = steps_.all()[i];
    if (step.stream != 0 && step.stream != kDefaultStream) {
      add_stream(step.stream);
    }
    for (const std::size_t place : step.after)
      done_.try_emplace(place);
    if (const auto* kernel = std::get_if<KernelStep>(&step.action)) prepare(*kernel, kernels_[i]);
    if (auto* copy = std::get_if<CopyStep>(&steps_.all()[i].action)) {
      copy->to = device_memory(copy->to, copy->bytes);
      copy->from = device_memory(copy->from, copy->bytes);
    }
  }
  // Stream 0 waits for the last step of every other stream.
  std::map<int, std::size_t> last;
  for (std::size_t i = 0; i < kernels_.size(); ++i)
    last[steps_.all()[i].stream] = i;
  for (const auto& [number, place] : last) {
    if (number == 0) continue;
    done_.try_emplace(place);
    other_numbers_.push_back(number);
  }
  if (!other_numbers_.empty()) start_ = std::make_unique<CudaEvent>();
  if (submission_ != Submission::one_by_one)
    graph_ = std::make_unique<CapturedLaunches>(stream, [&] { enqueue_each(); });
}

void PreparedSteps::add_stream(int number) {
  if (number < kFirstPriorityStream) {
    other_streams_.try_emplace(
        number, number <= kFirstBlockingStream ? cudaStreamDefault : cudaStreamNonBlocking);
    return;
  }
  int least = 0;
  int greatest = 0;
  GPUEXP_CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  other_streams_.try_emplace(number, cudaStreamNonBlocking, greatest);
}

void PreparedSteps::prepare(const KernelStep& step, Kernel& kernel) const {
  kernel.tensor_maps.reserve(step.arguments.count());  // parameters point into both vectors
  kernel.textures.reserve(step.arguments.count());
  for (std::size_t i = 0; i < step.arguments.count(); ++i) {
    if (const TensorMap* map = step.arguments.tensor_map(i)) {
      kernel.parameters.push_back(&kernel.tensor_maps.emplace_back(encoded(*map)));
    } else if (const Texture* texture = step.arguments.texture(i)) {
      kernel.parameters.push_back(kernel.textures.emplace_back(*texture).parameter());
    } else {
      kernel.parameters.push_back(const_cast<std::byte*>(step.arguments.at(i)));
    }
  }
  kernel.function = launchable(step.shape.kernel);
  kernel.attributes = attributes_of(step);
  kernel.config.gridDim = dim(step.shape.grid);
  kernel.config.blockDim = dim(step.shape.block);
  kernel.config.dynamicSmemBytes = static_cast<std::size_t>(step.shape.dynamic_shared_bytes);
  kernel.config.numAttrs = static_cast<unsigned>(kernel.attributes.size());
  // Dynamic shared memory above 48 KiB per block requires this attribute.
  constexpr std::int64_t kDefaultDynamicShared = 48 * 1024;
  if (step.shape.dynamic_shared_bytes > kDefaultDynamicShared) {
    GPUEXP_CUDA(cudaFuncSetAttribute(kernel.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     static_cast<int>(step.shape.dynamic_shared_bytes)));
  }
}

cudaStream_t PreparedSteps::stream_numbered(int number) const {
  if (number == kDefaultStream) return cudaStreamLegacy;
  return number == 0 ? first_->get() : other_streams_.at(number).get();
}

cudaStream_t PreparedSteps::stream_of(std::size_t place) const {
  return stream_numbered(steps_.all()[place].stream);
}

void PreparedSteps::enqueue_step(std::size_t place) const {
  const Step& step = steps_.all()[place];
  const cudaStream_t stream = stream_of(place);
  if (const auto* kernel = std::get_if<KernelStep>(&step.action)) {
    if (kernel->shape.grid.count() == 0) return;
    const Kernel& prepared = kernels_[place];
    cudaLaunchConfig_t config = prepared.config;
    config.stream = stream;
    config.attrs = const_cast<cudaLaunchAttribute*>(prepared.attributes.data());
    GPUEXP_CUDA(cudaLaunchKernelExC(&config, prepared.function,
                                    const_cast<void**>(prepared.parameters.data())));
  } else if (const auto* memset = std::get_if<MemsetStep>(&step.action)) {
    GPUEXP_CUDA(cudaMemsetAsync(memset->to, memset->value, static_cast<std::size_t>(memset->bytes),
                                stream));
  } else if (const auto* copy = std::get_if<CopyStep>(&step.action)) {
    const auto size = [](std::int64_t bytes) { return static_cast<std::size_t>(bytes); };
    if (copy->rows == 1) {
      GPUEXP_CUDA(
          cudaMemcpyAsync(copy->to, copy->from, size(copy->bytes), cudaMemcpyDefault, stream));
    } else {
      GPUEXP_CUDA(cudaMemcpy2DAsync(copy->to, size(copy->to_pitch), copy->from,
                                    size(copy->from_pitch), size(copy->bytes), size(copy->rows),
                                    cudaMemcpyDefault, stream));
    }
  } else if (const auto* prefetch = std::get_if<PrefetchStep>(&step.action)) {
    GPUEXP_CUDA(cudaMemPrefetchAsync(prefetch->memory, static_cast<std::size_t>(prefetch->bytes),
                                     prefetch->to_host ? kHost : on_device(device_), 0, stream));
  } else if (const auto* advise = std::get_if<AdviseStep>(&step.action)) {
    give_advice(*advise, device_);
  } else if (const auto* read = std::get_if<HostReadStep>(&step.action)) {
    GPUEXP_CUDA(cudaStreamSynchronize(stream));
    touch_pages(*read);
  } else {
    std::get<OpaqueStep>(step.action).call(stream, device_);
  }
}

void PreparedSteps::enqueue() const {
  if (!graph_) return enqueue_each();
  if (submission_ == Submission::updated_graph) update_graph();
  graph_->replay(*first_);
}

void PreparedSteps::update_graph() const {
  std::size_t kernel = 0;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const auto* step = std::get_if<KernelStep>(&steps_.all()[i].action);
    if (!step || step->shape.grid.count() == 0) continue;
    cudaKernelNodeParams parameters{};
    parameters.func = const_cast<void*>(kernels_[i].function);
    parameters.gridDim = kernels_[i].config.gridDim;
    parameters.blockDim = kernels_[i].config.blockDim;
    parameters.sharedMemBytes = static_cast<unsigned>(kernels_[i].config.dynamicSmemBytes);
    parameters.kernelParams = const_cast<void**>(kernels_[i].parameters.data());
    graph_->update_kernel(kernel++, parameters);
  }
}

void PreparedSteps::enqueue_each(const StepHook& before, const StepHook& after) const {
  if (start_) {
    start_->record(*first_);
    for (const int number : other_numbers_)
      GPUEXP_CUDA(cudaStreamWaitEvent(stream_numbered(number), start_->get()));
  }
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    for (const std::size_t place : steps_.all()[i].after)
      GPUEXP_CUDA(cudaStreamWaitEvent(stream_of(i), done_.at(place).get()));
    if (before) before(steps_.all()[i]);
    enqueue_step(i);
    if (after) after(steps_.all()[i]);
    if (const auto done = done_.find(i); done != done_.end())
      GPUEXP_CUDA(cudaEventRecord(done->second.get(), stream_of(i)));
  }
  for (const auto& [place, event] : done_) {
    if (steps_.all()[place].stream != 0)
      GPUEXP_CUDA(cudaStreamWaitEvent(first_->get(), event.get()));
  }
}

std::vector<StepTime> PreparedSteps::timeline() const {
  // The event before a step completes when the preceding step has ended and the step's dependencies
  // are complete. The event after a step completes when the step has ended.
  const CudaEvent start;
  const std::vector<CudaEvent> begun(kernels_.size());
  std::size_t place = 0;
  start.record(*first_);
  const std::vector<CudaEvent> ended(kernels_.size());
  enqueue_each(
      [&](const Step& step) {
        GPUEXP_CUDA(cudaEventRecord(begun[place].get(), stream_numbered(step.stream)));
      },
      [&](const Step& step) {
        GPUEXP_CUDA(cudaEventRecord(ended[place++].get(), stream_numbered(step.stream)));
      });
  first_->synchronize();
  std::vector<StepTime> times;
  for (std::size_t i = 0; i < kernels_.size(); ++i) {
    const Step& step = steps_.all()[i];
    times.push_back(
        {kind_of(step), step.stream, elapsed_us(start, begun[i]), elapsed_us(start, ended[i])});
  }
  return times;
}

bool PreparedSteps::reach(const void* memory, std::int64_t bytes) const {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const auto is_inside = [&](std::uintptr_t address) {
    return address >= begin && address < begin + static_cast<std::uintptr_t>(bytes);
  };
  const auto points_inside = [&](const void* pointer) {
    return is_inside(reinterpret_cast<std::uintptr_t>(pointer));
  };
  // Packed arguments have the layout of kernel parameters, so pointers are aligned.
  const auto has_pointer = [&](const PackedArguments& arguments) {
    const std::vector<std::byte>& packed = arguments.bytes();
    for (std::size_t at = 0; at + sizeof(std::uintptr_t) <= packed.size();
         at += alignof(std::uintptr_t)) {
      std::uintptr_t word = 0;
      std::memcpy(&word, &packed[at], sizeof word);
      if (is_inside(word)) return true;
    }
    return false;
  };
  const auto reaches = [&](const Step& step) {
    if (const auto* const kernel = std::get_if<KernelStep>(&step.action)) {
      const PackedArguments& arguments = kernel->arguments;
      bool has_maps = false;
      for (std::size_t i = 0; i < arguments.count(); ++i)
        has_maps = has_maps || arguments.tensor_map(i);
      return has_maps || arguments.has_textures() || has_pointer(arguments);
    }
    if (const auto* const set = std::get_if<MemsetStep>(&step.action))
      return points_inside(set->to);
    if (const auto* const copy = std::get_if<CopyStep>(&step.action))
      return points_inside(copy->to) || points_inside(copy->from);
    if (const auto* const moved = std::get_if<PrefetchStep>(&step.action))
      return points_inside(moved->memory);
    if (const auto* const advised = std::get_if<AdviseStep>(&step.action))
      return points_inside(advised->memory);
    if (const auto* const read = std::get_if<HostReadStep>(&step.action))
      return points_inside(read->memory);
    return true;
  };
  return std::ranges::any_of(steps_.all(), reaches);
}

bool PreparedSteps::has_window() const {
  return std::any_of(steps_.all().begin(), steps_.all().end(), [](const Step& step) {
    const auto* kernel = std::get_if<KernelStep>(&step.action);
    return kernel && kernel->window;
  });
}

bool PreparedSteps::launches_kernels() const {
  std::size_t count = 0;
  const KernelResource* const table = kernel_resource_table(count);
  const std::vector<Shape> shapes = steps_.shapes();
  return std::any_of(table, table + count, [&](const KernelResource& kernel) {
    const bool is_launched = std::any_of(shapes.begin(), shapes.end(), [&](const Shape& shape) {
      return shape.kernel == kernel.host_function;
    });
    return is_launched && kernel.launches_kernels;
  });
}

std::int64_t PreparedSteps::set_aside_bytes() const {
  std::int64_t max_bytes = 0;
  for (const Step& step : steps_.all()) {
    const auto* kernel = std::get_if<KernelStep>(&step.action);
    if (kernel && kernel->window) max_bytes = std::max(max_bytes, kernel->window->set_aside_bytes);
  }
  return max_bytes;
}

void enqueue(const Steps& steps, const CudaStream& stream) {
  PreparedSteps(steps, stream).enqueue();
}

}  // namespace gpuexp
