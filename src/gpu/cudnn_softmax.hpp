// cuDNN's softmax of rows and its gradient, loaded when first needed: a reference variant where the
// library is found, a skip elsewhere. It needs none of cuDNN's headers, as attention (cudnn.hpp)
// does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cudnn {

/// A reason when cuDNN cannot be called on this machine. Loads it on the first call; touches no
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

/// A reason where a tensor is larger than cuDNN takes.
std::optional<std::string> softmax_refuses(std::int64_t rows, std::int64_t columns);

/// One step that enqueues it. It throws DeviceError naming what cuDNN says when it refuses.
Steps step_of(const Softmax& softmax);
Steps step_of(const SoftmaxBackward& backward);

}  // namespace gpuexp::cudnn
