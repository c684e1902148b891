// Fragments of nvcuda::wmma, the C++ interface of the tensor cores, for tiles of 16×16 sums.
#pragma once

#include <mma.h>

#include "kernels/common/types.cuh"

namespace nvcuda::wmma::precision {
struct tf32;  // mma.h declares it only for compute capability 8.0 and later
}

namespace gpuexp {

/// Element type of wmma's fragments for an input type, and depth of one product. tf32 is stored
/// as float.
template <class In>
struct WmmaType {
  using Element = In;
  static constexpr int kDepth = 16;
};
template <>
struct WmmaType<float> {
  using Element = nvcuda::wmma::precision::tf32;
  static constexpr int kDepth = 8;
};

template <class Use, class In>
using WmmaInput = nvcuda::wmma::fragment<Use, 16, 16, WmmaType<In>::kDepth,
                                         typename WmmaType<In>::Element, nvcuda::wmma::row_major>;
template <class In, class Acc>
using WmmaSums =
    nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, WmmaType<In>::kDepth, Acc>;

}  // namespace gpuexp
