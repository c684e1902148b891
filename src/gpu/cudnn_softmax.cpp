#include "gpu/cudnn_softmax.hpp"

#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "gpu/current_device.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp::cudnn {
namespace {

// Of cudnn_graph.h and cudnn_ops.h, where these have been the same since cuDNN 8; bf16 came with
// 8.1. All of them are part of cuDNN 9.
using DnnHandle = struct cudnnContext*;
using DnnTensor = struct cudnnTensorStruct*;
enum class DnnStatus : int { success = 0 };
enum class DnnType : int { fp32 = 0, fp16 = 2, bf16 = 9 };
enum class DnnFormat : int { nchw = 0 };
enum class DnnSoftmaxAlgorithm : int { accurate = 1 };  // the maximum is subtracted
enum class DnnSoftmaxMode : int { instance = 0 };       // over all of C, H and W for each N

struct SoftmaxApi {
  DnnStatus (*create)(DnnHandle*) = nullptr;
  DnnStatus (*set_stream)(DnnHandle, Stream) = nullptr;
  const char* (*error_string)(DnnStatus) = nullptr;
  DnnStatus (*create_tensor)(DnnTensor*) = nullptr;
  DnnStatus (*destroy_tensor)(DnnTensor) = nullptr;
  DnnStatus (*set_tensor)(DnnTensor, DnnFormat, DnnType, int n, int c, int h, int w) = nullptr;
  DnnStatus (*forward)(DnnHandle, DnnSoftmaxAlgorithm, DnnSoftmaxMode, const void* alpha, DnnTensor,
                       const void* x, const void* beta, DnnTensor, void* y) = nullptr;
  DnnStatus (*backward)(DnnHandle, DnnSoftmaxAlgorithm, DnnSoftmaxMode, const void* alpha,
                        DnnTensor, const void* y, DnnTensor, const void* dy, const void* beta,
                        DnnTensor, void* dx) = nullptr;
};

struct SoftmaxLibrary {
  LoadedLibrary loaded{"cuDNN", {"libcudnn.so.9"}};
  SoftmaxApi api;

  SoftmaxLibrary() {
    loaded.resolve(api.create, "cudnnCreate");
    loaded.resolve(api.set_stream, "cudnnSetStream");
    loaded.resolve(api.error_string, "cudnnGetErrorString");
    loaded.resolve(api.create_tensor, "cudnnCreateTensorDescriptor");
    loaded.resolve(api.destroy_tensor, "cudnnDestroyTensorDescriptor");
    loaded.resolve(api.set_tensor, "cudnnSetTensor4dDescriptor");
    loaded.resolve(api.forward, "cudnnSoftmaxForward");
    loaded.resolve(api.backward, "cudnnSoftmaxBackward");
  }
};

const SoftmaxLibrary& softmax_library() {
  static const SoftmaxLibrary kLoaded;
  return kLoaded;
}

std::optional<std::string> softmax_missing() {
  return softmax_library().loaded.missing();
}

void check_softmax(DnnStatus status, const char* call) {
  if (status == DnnStatus::success) return;
  throw DeviceError(std::string(call) + ": " + softmax_library().api.error_string(status),
                    DeviceFault::refused);
}

/// The device's handle, created on first use on the current device. Never destroyed: at static
/// destruction the driver may be gone already.
DnnHandle softmax_handle_of(int device) {
  static std::map<int, DnnHandle> handles;
  const auto found = handles.find(device);
  if (found != handles.end()) return found->second;
  DnnHandle handle = nullptr;
  check_softmax(softmax_library().api.create(&handle), "cudnnCreate");
  handles.emplace(device, handle);
  return handle;
}

DnnType softmax_type(DataType type) {
  switch (type) {
    case DataType::fp32: return DnnType::fp32;
    case DataType::fp16: return DnnType::fp16;
    case DataType::bf16: return DnnType::bf16;
    default:
      throw DeviceError("cuDNN: " + std::string(name_of(type)) + " is none of fp32, fp16, bf16",
                        DeviceFault::refused);
  }
}

/// Rows as images of one channel for each column.
class RowTensor {
 public:
  RowTensor(DataType type, std::int64_t rows, std::int64_t columns) {
    const SoftmaxApi& api = softmax_library().api;
    check_softmax(api.create_tensor(&tensor_), "cudnnCreateTensorDescriptor");
    check_softmax(api.set_tensor(tensor_, DnnFormat::nchw, softmax_type(type),
                                 static_cast<int>(rows), static_cast<int>(columns), 1, 1),
                  "cudnnSetTensor4dDescriptor");
  }
  ~RowTensor() {
    if (tensor_) softmax_library().api.destroy_tensor(tensor_);
  }
  RowTensor(const RowTensor&) = delete;
  RowTensor& operator=(const RowTensor&) = delete;
  DnnTensor get() const { return tensor_; }

 private:
  DnnTensor tensor_ = nullptr;
};

constexpr float kWhole = 1.0f;
constexpr float kNothing = 0.0f;

/// Calls cuDNN with a handle for the stream and the tensor that all arrays are.
template <class Operation, class Call>
void enqueue_softmax(const Operation& of, Stream stream, int device, const char* name, Call call) {
  // A handle carries its stream, so two threads must not share it at once.
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto missing = softmax_missing()) throw DeviceError(*missing, DeviceFault::refused);
  const CurrentDevice current(device);
  const DnnHandle handle = softmax_handle_of(device);
  check_softmax(softmax_library().api.set_stream(handle, stream), "cudnnSetStream");
  const RowTensor tensor(of.type, of.rows, of.columns);
  check_softmax(call(handle, tensor.get()), name);
}

}  // namespace

std::optional<std::string> softmax_unavailable() {
  static const std::optional<std::string> kMissing = found_without_loading(&softmax_missing);
  return kMissing;
}

std::optional<std::string> softmax_refuses(std::int64_t rows, std::int64_t columns) {
  if (rows * columns <= std::numeric_limits<int>::max()) return std::nullopt;
  return "cuDNN takes tensors of fewer than 2^31 elements";
}

Steps step_of(const Softmax& softmax) {
  return OpaqueStep{"cuDNN softmax", [softmax](Stream stream, int device) {
                      enqueue_softmax(softmax, stream, device, "cudnnSoftmaxForward",
                                      [&](DnnHandle handle, DnnTensor tensor) {
                                        return softmax_library().api.forward(
                                            handle, DnnSoftmaxAlgorithm::accurate,
                                            DnnSoftmaxMode::instance, &kWhole, tensor, softmax.x,
                                            &kNothing, tensor, softmax.y);
                                      });
                    }};
}

Steps step_of(const SoftmaxBackward& backward) {
  return OpaqueStep{"cuDNN softmax backward", [backward](Stream stream, int device) {
                      enqueue_softmax(backward, stream, device, "cudnnSoftmaxBackward",
                                      [&](DnnHandle handle, DnnTensor tensor) {
                                        return softmax_library().api.backward(
                                            handle, DnnSoftmaxAlgorithm::accurate,
                                            DnnSoftmaxMode::instance, &kWhole, tensor, backward.y,
                                            tensor, backward.dy, &kNothing, tensor, backward.dx);
                                      });
                    }};
}

}  // namespace gpuexp::cudnn
