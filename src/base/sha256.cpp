#include "base/sha256.hpp"

#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

namespace gpuexp {

namespace {

void check(int done) {
  if (done != 1) throw std::runtime_error("libcrypto cannot compute SHA-256");
}

}  // namespace

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  check(context_ && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr));
}
Sha256::~Sha256() {
  EVP_MD_CTX_free(context_);
}

void Sha256::add(std::string_view part) {
  check(EVP_DigestUpdate(context_, part.data(), part.size()));
}

std::string Sha256::digest() {
  std::array<unsigned char, 32> digest;
  check(EVP_DigestFinal_ex(context_, digest.data(), nullptr));
  return fmt::format("{:02x}", fmt::join(digest, ""));
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digest();
}

}  // namespace gpuexp
