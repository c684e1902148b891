#pragma once

#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace gpuexp {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view part);
  /// The hash of all parts as 64 lower-case hexadecimal digits; call it once.
  std::string digest();

 private:
  evp_md_ctx_st* context_;
};

/// The hash of `bytes`, as `sha256sum` prints it. Results record the hash of their config.
std::string sha256(std::string_view bytes);

}  // namespace gpuexp
