// Attention's two passes as a step of training asks for them, by kernels of the families attention
// and attention_backward.
#pragma once

#include "kernels/common/attention_family.cuh"
#include "kernels/common/attention_gradient_rows.cuh"

namespace gpuexp::attention {

/// Elements of a head in fp32, which no other family has.
inline constexpr int kFp32Dim = 64;

/// O and the log-sum-exps, without dropout: in 16 bits as attention/lazy_rescale, in fp32 as
/// attention/scalar_tile, which tensor cores have no part in.
Steps forward_by_tiles(const Problem& p, const Data& d);

}  // namespace gpuexp::attention

namespace gpuexp::attention_backward {

struct Data {
  void* q;
  void* k;
  void* v;
  void* o;         // the forward pass's result
  float* log_sum;  // log Σ e^s of each row
  void* p;         // its weights, for `stored` alone, where they are not too many
  void* d_o;       // the gradient of O
  void* dq;
  void* dk;
  void* dv;
  void* dq_stored;  // of a P that was rounded on its way
  void* dk_stored;
};

/// dQ, dK and dV in 16 bits, without dropout, as attention_backward/two_pass: no sum depends on the
/// order of blocks. It works in attention::row_bytes.
Steps gradients_in_two_passes(const attention::Problem& p, const Data& d, void* workspace);

}  // namespace gpuexp::attention_backward
