// attention_backward/tiles_ahead, in a translation unit of its own: nvcc compiles its kernels in
// parallel with the family's other kernels.
#include "kernels/attention_backward/keys.cuh"

namespace gpuexp::attention_backward {

// ---- tiles_ahead: asynchronous copies during the products
//
// cp.async copies the next tile of queries to a second stage of shared memory while the block
// multiplies the current one. With one stage, all warps of the block wait for each copy, and the SM
// has no other block to run. stalled_long_scoreboard decreases and tensor_active_pct increases.
// This variant also implements dropout: Philox recomputes from the seed and the position of each
// weight whether the forward pass dropped the weight.

Variant tiles_ahead() {
  Variant v = variant("tiles_ahead", "recompute_atomics",
                      {{"stalled_long_scoreboard", Direction::decreases, 1.3, is_large},
                       {"tensor_active_pct", Direction::increases, 1.05,
                        [](const Problem& p) { return is_large(p) && p.mask == Mask::full; }},
                       {"tensor_instructions", Direction::unchanged, 1.01, is_large}});
  v.unsupported = [](const Problem& p, const DeviceSpec& device) {
    return lacks_shared_memory_for_tiles(p, device, 2);
  };
  set_workspace(v, sum_bytes, no_bytes);
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& context) {
    return with_dropout(p, [&](auto in, auto dim, auto drops) {
      return launch_atomics<decltype(in), dim(), 2, drops()>(p, d,
                                                             row_workspace(p, context.workspace));
    });
  };
  return v;
}

}  // namespace gpuexp::attention_backward
