// Launches of attention's fused kernels, and the problems at which their expected changes hold.
#pragma once

#include <cstdint>

#include "kernels/common/attention_family.cuh"
#include "kernels/common/attention_steps.cuh"
#include "kernels/common/attention_tile.cuh"

namespace gpuexp::attention {

/// Launches a fused kernel with `blocks` blocks per head, which divide the head's queries.
template <class Kernel, class... Arguments>
Steps launch_fused(const Problem& p, const Data& d, Kernel kernel, std::int64_t shared,
                   std::int64_t blocks, Arguments... arguments) {
  return with_type_and_dim(p, [&](auto in, auto dim) {
    using In = decltype(in);
    const Shape s = shape_of_blocks({blocks, p.batch * p.heads}, {kBlock},
                                    {ceil_div(p.queries, blocks)}, shared);
    return launch(kernel(in, dim), s, heads_of(p), operands<In>(d), static_cast<In*>(d.o),
                  d.log_sum, arguments...);
  });
}

/// True if there are enough queries and keys for the expected changes.
inline bool is_large(const Problem& p) {
  constexpr std::int64_t kManyScores = std::int64_t{1} << 25, kManyRows = 8192;
  return p.rows() * p.keys >= kManyScores && p.rows() >= kManyRows && p.queries >= kQueries;
}
/// True if each block also iterates over many tiles of keys; with a window it does not.
inline bool has_many_tiles(const Problem& p) {
  return is_large(p) && p.mask != Mask::window;
}

// Defined in async_tiles.cu.
Variant async_tiles();
Variant lazy_rescale();

/// lazy_rescale's launch for 16-bit types, without dropout.
Steps launch_lazy_rescale(const Problem& p, const Data& d);

}  // namespace gpuexp::attention
