// cuDNN's attention as a reference variant, loaded on first use. It is unavailable if the library
// is missing or the program was built without cuDNN's headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cudnn {

/// Why cuDNN cannot be called; empty if it can. Uses no GPU.
std::optional<std::string> unavailable();

/// O = softmax(scale·Q·Kᵀ)·V in fp16 or bf16, accumulated in fp32. Q and O are
/// [batch][heads][queries][head_dim], K and V [batch][key_heads][keys][head_dim], without padding.
struct Attention {
  DataType type;
  std::int64_t batch, heads, key_heads, queries, keys, head_dim;
  bool is_causal;       ///< query i attends to keys 0 … i + keys - queries
  std::int64_t window;  ///< only the last `window` of these keys; 0: all
  float scale;
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* log_sum;  ///< [batch][heads][queries]: log Σ exp(scaled score) per query
};

/// Gradients of the attention, in the same layout. The inputs include o and log_sum of the forward
/// pass.
struct AttentionBackward {
  Attention forward;
  const void* d_o;
  void* dq;
  void* dk;
  void* dv;
};

/// These steps enqueue the operation. The first call for a problem on a device takes a second to
/// select an engine and build a plan; later calls reuse the plan and its workspace. Throws
/// DeviceError with cuDNN's message on failure.
Steps step_of(const Attention& attention);
Steps step_of(const AttentionBackward& backward);

}  // namespace gpuexp::cudnn
