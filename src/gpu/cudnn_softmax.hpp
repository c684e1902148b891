// cuDNN's row-wise softmax and its gradient as reference variants, loaded on first use; the
// variants are skipped if the library is missing. Unlike attention (cudnn.hpp), they need none of
// cuDNN's headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cudnn {

/// Why cuDNN cannot be called on this machine; empty if it can. Loads it on the first call; uses no
/// GPU.
std::optional<std::string> softmax_unavailable();

/// y = softmax(x), row by row; row-major and without padding.
struct Softmax {
  DataType type;  ///< fp32, fp16 or bf16; arithmetic is in fp32
  std::int64_t rows, columns;
  const void* x;
  void* y;
};

/// dx = y·(dy - Σ y·dy).
struct SoftmaxBackward {
  DataType type;
  std::int64_t rows, columns;
  const void* y;
  const void* dy;
  void* dx;
};

/// Why the tensor is too large for cuDNN; empty if it is not.
std::optional<std::string> softmax_refuses(std::int64_t rows, std::int64_t columns);

/// A step that enqueues the operation. It throws DeviceError with cuDNN's message on failure.
Steps step_of(const Softmax& softmax);
Steps step_of(const SoftmaxBackward& backward);

}  // namespace gpuexp::cudnn
