#pragma once

#include <utility>

#include <cuda_runtime_api.h>

#include "family/texture.hpp"

namespace gpuexp {

class TextureObject {
 public:
  /// Throws CudaError if the runtime refuses the texture.
  explicit TextureObject(const Texture& texture);
  ~TextureObject();
  TextureObject(const TextureObject&) = delete;
  TextureObject& operator=(const TextureObject&) = delete;
  TextureObject(TextureObject&& other) noexcept : object_(std::exchange(other.object_, 0)) {}

  void* parameter() { return &object_; }

 private:
  cudaTextureObject_t object_ = 0;
};

}  // namespace gpuexp
