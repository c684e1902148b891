#include "gpu/texture_object.hpp"

#include "gpu/cuda_check.hpp"

namespace gpuexp {

TextureObject::TextureObject(const Texture& texture) {
  constexpr int kWordBits = 32;
  const auto bits_of = [&](int word) { return texture.words > word ? kWordBits : 0; };
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear.devPtr = const_cast<void*>(texture.base);
  resource.res.linear.desc = cudaCreateChannelDesc(bits_of(0), bits_of(1), bits_of(2), bits_of(3),
                                                   cudaChannelFormatKindUnsigned);
  resource.res.linear.sizeInBytes =
      static_cast<std::size_t>(texture.count * texture.words * (kWordBits / 8));
  cudaTextureDesc description{};
  description.readMode = cudaReadModeElementType;
  GPUEXP_CUDA(cudaCreateTextureObject(&object_, &resource, &description, nullptr));
}

TextureObject::~TextureObject() {
  if (object_) GPUEXP_CUDA_NOEXCEPT(cudaDestroyTextureObject(object_));
}

}  // namespace gpuexp
