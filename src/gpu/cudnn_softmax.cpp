#include "gpu/cudnn_softmax.hpp"

#include <limits>
#include <utility>

#include "gpu/current_device.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp::cudnn {
namespace {

// Declarations from cudnn_graph.h and cudnn_ops.h, unchanged since cuDNN 8 (bf16: since 8.1) and
// part of cuDNN 9.
using DnnHandle = struct cudnnContext*;
using DnnTensor = struct cudnnTensorStruct*;
enum class DnnStatus : int { success = 0 };
enum class DnnType : int { fp32 = 0, fp16 = 2, bf16 = 9 };
enum class DnnFormat : int { nchw = 0 };
enum class DnnSoftmaxAlgorithm : int { accurate = 1 };  // the maximum is subtracted
enum class DnnSoftmaxMode : int { instance = 0 };       // over C, H and W of each N

struct SoftmaxLibrary : LoadedLibrary {
  SoftmaxLibrary() : LoadedLibrary("cuDNN", {"libcudnn.so.9"}) {}

  LibraryFunction<DnnStatus (*)(DnnHandle*)> create{*this, "cudnnCreate"};
  LibraryFunction<DnnStatus (*)(DnnHandle, Stream)> set_stream{*this, "cudnnSetStream"};
  LibraryFunction<const char* (*)(DnnStatus)> error_string{*this, "cudnnGetErrorString"};
  LibraryFunction<DnnStatus (*)(DnnTensor*)> create_tensor{*this, "cudnnCreateTensorDescriptor"};
  LibraryFunction<DnnStatus (*)(DnnTensor)> destroy_tensor{*this, "cudnnDestroyTensorDescriptor"};
  LibraryFunction<DnnStatus (*)(DnnTensor, DnnFormat, DnnType, int n, int c, int h, int w)>
      set_tensor{*this, "cudnnSetTensor4dDescriptor"};
  LibraryFunction<DnnStatus (*)(DnnHandle, DnnSoftmaxAlgorithm, DnnSoftmaxMode, const void* alpha,
                                DnnTensor, const void* x, const void* beta, DnnTensor, void* y)>
      forward{*this, "cudnnSoftmaxForward"};
  LibraryFunction<DnnStatus (*)(DnnHandle, DnnSoftmaxAlgorithm, DnnSoftmaxMode, const void* alpha,
                                DnnTensor, const void* y, DnnTensor, const void* dy,
                                const void* beta, DnnTensor, void* dx)>
      backward{*this, "cudnnSoftmaxBackward"};
};

const SoftmaxLibrary& softmax_library() {
  return loaded<SoftmaxLibrary>();
}

void check_softmax(DnnStatus status, const char* call) {
  if (status == DnnStatus::success) return;
  throw DeviceError(std::string(call) + ": " + softmax_library().error_string(status),
                    DeviceFault::refused);
}

void create_softmax(DnnHandle* handle) {
  check_softmax(softmax_library().create(handle), "cudnnCreate");
}

DnnType softmax_type(DataType type) {
  switch (type) {
    case DataType::fp32: return DnnType::fp32;
    case DataType::fp16: return DnnType::fp16;
    case DataType::bf16: return DnnType::bf16;
    default:
      throw DeviceError(
          "cuDNN: " + std::string(name_of(type)) + " is not supported; expected fp32, fp16 or bf16",
          DeviceFault::refused);
  }
}

/// A tensor whose rows are cuDNN's images, with one channel per column.
class RowTensor {
 public:
  RowTensor(DataType type, std::int64_t rows, std::int64_t columns) {
    const SoftmaxLibrary& api = softmax_library();
    check_softmax(api.create_tensor(&tensor_), "cudnnCreateTensorDescriptor");
    check_softmax(api.set_tensor(tensor_, DnnFormat::nchw, softmax_type(type),
                                 static_cast<int>(rows), static_cast<int>(columns), 1, 1),
                  "cudnnSetTensor4dDescriptor");
  }
  ~RowTensor() {
    if (tensor_) softmax_library().destroy_tensor(tensor_);
  }
  RowTensor(const RowTensor&) = delete;
  RowTensor& operator=(const RowTensor&) = delete;
  DnnTensor get() const { return tensor_; }

 private:
  DnnTensor tensor_ = nullptr;
};

constexpr float kWhole = 1.0f;
constexpr float kNothing = 0.0f;

DeviceHandles<DnnHandle> softmax_handles;

/// Calls cuDNN with a handle for the stream and one tensor descriptor, which all arrays share.
template <class Operation, class Call>
void enqueue_softmax(const Operation& of, Stream stream, int device, const char* name, Call call) {
  softmax_library().require();
  softmax_handles.use(device, create_softmax, [&](DnnHandle handle) {
    check_softmax(softmax_library().set_stream(handle, stream), "cudnnSetStream");
    const RowTensor tensor(of.type, of.rows, of.columns);
    check_softmax(call(handle, tensor.get()), name);
  });
}

}  // namespace

std::optional<std::string> softmax_unavailable() {
  return missing_without_loading<SoftmaxLibrary>();
}

std::optional<std::string> softmax_refuses(std::int64_t rows, std::int64_t columns) {
  if (rows * columns <= std::numeric_limits<int>::max()) return std::nullopt;
  return "cuDNN supports only tensors of fewer than 2^31 elements";
}

Steps step_of(const Softmax& softmax) {
  return OpaqueStep{"cuDNN softmax", [softmax](Stream stream, int device) {
                      enqueue_softmax(softmax, stream, device, "cudnnSoftmaxForward",
                                      [&](DnnHandle handle, DnnTensor tensor) {
                                        return softmax_library().forward(
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
                                        return softmax_library().backward(
                                            handle, DnnSoftmaxAlgorithm::accurate,
                                            DnnSoftmaxMode::instance, &kWhole, tensor, backward.y,
                                            tensor, backward.dy, &kNothing, tensor, backward.dx);
                                      });
                    }};
}

}  // namespace gpuexp::cudnn
