// The products of layers, for training_step and training_block: two thirds of the time that nvcc
// takes for either, which are spent once and not when another kernel of theirs changes.
#include "kernels/common/training_family.cuh"

namespace gpuexp::training {

template <class T>
Steps LayerProducts<T>::forward(const Extents& x, const T* a, const T* b, const LayerTail<T>& tail,
                                bool in_vectors) {
  return product<Lies::as_it_is, Lies::as_it_is>(x, a, b, tail, in_vectors);
}
template <class T>
Steps LayerProducts<T>::of_inputs(const Extents& x, const T* a, const T* b,
                                  const LayerTail<T>& tail, bool in_vectors) {
  return product<Lies::as_it_is, Lies::transposed>(x, a, b, tail, in_vectors);
}
template <class T>
Steps LayerProducts<T>::of_weights(const Extents& x, const T* a, const T* b,
                                   const GradientTail& tail, bool in_vectors) {
  return product<Lies::transposed, Lies::as_it_is>(x, a, b, tail, in_vectors);
}

template struct LayerProducts<float>;
template struct LayerProducts<__half>;
template struct LayerProducts<__nv_bfloat16>;

}  // namespace gpuexp::training
