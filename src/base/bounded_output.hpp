// Text of unknown length, of which only the beginning is written.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string_view>

namespace gpuexp {

struct OutputLimits {
  std::size_t lines = 1000;
  std::size_t bytes = std::size_t{1} << 18;
};

class BoundedOutput {
 public:
  using Write = std::function<void(std::string_view text)>;

  /// `who` writes the text, as the note at its end says: "kernels".
  BoundedOutput(Write write, std::string_view who, const OutputLimits& limits = {});

  /// Writes the text, or its part within the limits and a note. Several threads may call it.
  void add(std::string_view text);

 private:
  Write write_;
  std::string_view who_;
  OutputLimits limits_;
  std::mutex mutex_;
  std::size_t lines_ = 0;
  std::size_t bytes_ = 0;
  bool is_full_ = false;
};

}  // namespace gpuexp
