#pragma once

#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace gpuexp {

/// SHA-256 (FIPS 180-4) of bytes that come in parts.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view part);
  /// Of all parts, as 64 lower-case hexadecimal digits; called once.
  std::string digest();

 private:
  evp_md_ctx_st* context_;
};

/// The same of `bytes`. For provenance: it says which config a result came from, and what
/// `sha256sum` prints for the same file.
std::string sha256(std::string_view bytes);

}  // namespace gpuexp
