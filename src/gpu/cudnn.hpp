// cuDNN's attention, loaded when first needed: a reference variant where the library is found and
// the program was built with its headers, a skip elsewhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "family/family.hpp"

namespace gpuexp::cudnn {

/// A reason when cuDNN cannot be called on this machine. Loads it on the first call; touches no
/// GPU.
std::optional<std::string> unavailable();

/// O = softmax(scale·Q·Kᵀ)·V, of fp16 or bf16, sums in fp32. Q and O are [batch][heads][queries]
/// [head_dim], K and V [batch][key_heads][keys][head_dim], without gaps.
struct Attention {
  DataType type;
  std::int64_t batch, heads, key_heads, queries, keys, head_dim;
  bool is_causal;       ///< the last query sees the last key, each one before a key less
  std::int64_t window;  ///< of these, the last so many; 0: all
  float scale;
  const void* q;
  const void* k;
  const void* v;
  void* o;
  float* log_sum;  ///< [batch][heads][queries]: log Σ e^s of each row
};

/// Its gradients, of the same layout: of the forward pass o and log_sum are inputs here.
struct AttentionBackward {
  Attention forward;
  const void* d_o;
  void* dq;
  void* dk;
  void* dv;
};

/// One step that enqueues it. Its first call on a device chooses an engine and makes a plan, which
/// takes a second, and is kept with the memory that it works in. It throws DeviceError naming what
/// cuDNN says when it refuses.
Steps step_of(const Attention& attention);
Steps step_of(const AttentionBackward& backward);

}  // namespace gpuexp::cudnn
