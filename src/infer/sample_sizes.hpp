// Sizes at which a kernel is executed: the numbers of accessed elements then show of which
// parameters they are products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpuexp::infer {

/// One value for each parameter.
using Sizes = std::vector<std::int64_t>;

/// Several samples for `parameters` parameters. Values are multiples of `multiple_of`: if that is
/// 1, primes of the order of `scale`, otherwise small multiples. The values of one sample differ
/// from each other, and no product of parameters is the same in all samples.
std::vector<Sizes> sample_sizes(std::size_t parameters, std::int64_t multiple_of,
                                std::int64_t scale);

/// The order of sizes without a multiple: large enough for several blocks, small enough to execute.
std::int64_t scale_for(std::size_t parameters);

}  // namespace gpuexp::infer
