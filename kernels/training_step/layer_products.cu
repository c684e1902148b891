// The products of layers, for training_step and training_block. nvcc needs two thirds of either
// family's compile time for them; in their own file, they are compiled only when they change.
#include "kernels/common/training_family.cuh"

namespace gpuexp::training {

template <class T>
Steps LayerProducts<T>::forward(const Extents& x, const T* a, const T* b,
                                const LayerEpilogue<T>& tail, bool rows_aligned) {
  return product<OperandLayout::row_major, OperandLayout::row_major>(x, a, b, tail, rows_aligned);
}
template <class T>
Steps LayerProducts<T>::input_gradients(const Extents& x, const T* a, const T* b,
                                        const LayerEpilogue<T>& tail, bool rows_aligned) {
  return product<OperandLayout::row_major, OperandLayout::transposed>(x, a, b, tail, rows_aligned);
}
template <class T>
Steps LayerProducts<T>::of_weights(const Extents& x, const T* a, const T* b,
                                   const GradientEpilogue& tail, bool rows_aligned) {
  return product<OperandLayout::transposed, OperandLayout::row_major>(x, a, b, tail, rows_aligned);
}

template struct LayerProducts<float>;
template struct LayerProducts<__half>;
template struct LayerProducts<__nv_bfloat16>;

}  // namespace gpuexp::training
