// Attention's forward and backward passes for a training step, with the kernels of the families
// attention and attention_backward.
#pragma once

#include "kernels/common/attention_family.cuh"
#include "kernels/common/attention_gradient_rows.cuh"

namespace gpuexp::attention {

/// Head dimension of the fp32 kernels. The attention families do not have fp32.
inline constexpr int kFp32HeadDim = 64;

/// Computes O and the log-sum-exps, without dropout: in 16 bits with the kernels of
/// attention/lazy_rescale, in fp32 with the kernels of attention/scalar_tile.
Steps launch_attention_forward(const Problem& p, const Data& d);

}  // namespace gpuexp::attention

namespace gpuexp::attention_backward {

struct Data {
  void* q;
  void* k;
  void* v;
  void* o;         // output of the forward pass
  float* log_sum;  // log Σ e^s per row
  void* p;         // P of the forward pass, only for the variant `stored`; see stored_weights()
  void* d_o;
  void* dq;
  void* dk;
  void* dv;
  void* dq_stored;  // outputs of the variant `stored`, which loads rounded P
  void* dk_stored;
};

/// Computes dQ, dK and dV in 16 bits, without dropout, with the kernels of
/// attention_backward/two_pass. No sum depends on the order of blocks. `workspace` has
/// attention::row_bytes(p) bytes.
Steps launch_two_pass_gradients(const attention::Problem& p, const Data& d, void* workspace);

}  // namespace gpuexp::attention_backward
