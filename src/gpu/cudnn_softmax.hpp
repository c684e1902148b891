// cuDNN's row-wise softmax and its gradient as reference variants, loaded on first use. They do not
// need cuDNN's headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cudnn {

/// Why cuDNN cannot be called; empty if it can. Uses no GPU.
std::optional<std::string> softmax_unavailable();

/// y = softmax(x) of each row; row-major and without padding.
struct Softmax {
  DataType type;  ///< fp32, fp16 or bf16; arithmetic is in fp32
  std::int64_t rows, columns;
  const void* x;
  void* y;
};

/// dx = y·(dy - Σ y·dy) of each row, with the types and layout of Softmax.
struct SoftmaxBackward {
  DataType type;
  std::int64_t rows, columns;
  const void* y;
  const void* dy;
  void* dx;
};

/// Why cuDNN does not support a tensor of this size; empty if it does.
std::optional<std::string> softmax_refuses(std::int64_t rows, std::int64_t columns);

/// These steps enqueue the operation. They throw DeviceError with cuDNN's message on failure.
Steps step_of(const Softmax& softmax);
Steps step_of(const SoftmaxBackward& backward);

}  // namespace gpuexp::cudnn
