#include "base/sha256.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

namespace gpuexp {

std::string sha256(std::string_view bytes) {
  std::array<unsigned char, 32> digest;
  if (!EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr))
    throw std::runtime_error("libcrypto computes no SHA-256");
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

}  // namespace gpuexp
