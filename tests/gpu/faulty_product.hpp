// Matrix products with faults that no bound per element detects: each error is below the worst
// error of millions of correct elements.
#pragma once

#include "family/family.hpp"

namespace gpuexp::test {

/// C = A·B in fp32. `right` computes it; `tf32_inputs` rounds A and B to tf32 first.
Family faulty_fp32_product();

/// C = A·B in fp16, rounded to fp16 after every 16 products. `right` sums all products;
/// `drops_slice` omits 32.
Family faulty_fp16_product();

}  // namespace gpuexp::test
