// The products of layers, for training_step and training_block. nvcc needs two thirds of either
// family's compile time for them; in a file of their own, they are compiled only when they change.
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
