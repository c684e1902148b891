// Matrix products with faults that no bound per element finds: each element is a little off, by
// less than the worst of millions of right ones may be.
#pragma once

#include "family/family.hpp"

namespace gpuexp::test {

/// C = A·B in fp32. `right` computes it; `tf32_inputs` rounds A and B to tf32 first.
Family faulty_fp32_product();

/// C = A·B of fp16, summed in fp16 after every 16 products. `right` sums them all; `drops_slice`
/// leaves out 32 of them.
Family faulty_fp16_product();

}  // namespace gpuexp::test
