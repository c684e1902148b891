#include "sass/kernel_resource.hpp"

#include <algorithm>
#include <functional>
#include <tuple>

#include "base/compressed.hpp"
#include "base/demangled_name.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp {

namespace {

void erase_all(std::string& text, const std::string& part) {
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos;)
    text.erase(at, part.size());
}

}  // namespace

std::string kernel_name(const std::string& lowered_name) {
  std::string text = demangled_name(lowered_name);
  erase_all(text, "(anonymous namespace)::");
  erase_all(text, "gpuexp::");
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
    if (depth > 0) continue;
    if (text[i] == '(') return text.substr(begin, i - begin);
    if (text[i] == ' ' || text[i] == ':') begin = i + 1;
  }
  return text.substr(begin);
}

std::string_view CodeFrame::text() const {
  std::call_once(decompressed_,
                 [this] { text_ = decompressed(bytes_, "the program's machine code"); });
  return text_;
}

KernelResources::KernelResources(const KernelResource* table, std::size_t count)
    : sorted_(table, table + count) {
  std::sort(sorted_.begin(), sorted_.end(), [](const KernelResource& a, const KernelResource& b) {
    return std::tie(a.host_function, a.architecture) < std::tie(b.host_function, b.architecture);
  });
}

std::optional<KernelResources::Found> KernelResources::find(const void* kernel,
                                                            int compute_capability) const {
  if (const LoadedKernel* const loaded = LoadedKernels::global().find(kernel)) {
    KernelResource resource = *loaded->code(compute_capability).resource;
    resource.host_function = kernel;
    return Found{resource, true};
  }
  std::optional<KernelResource> best;
  auto row = std::lower_bound(
      sorted_.begin(), sorted_.end(), kernel,
      [](const KernelResource& r, const void* k) { return std::less<>()(r.host_function, k); });
  for (; row != sorted_.end() && row->host_function == kernel; ++row) {
    if (!best || row->architecture <= compute_capability) best = *row;
  }
  if (!best) return std::nullopt;
  const bool exact = best->architecture <= compute_capability &&
                     best->architecture / 10 == compute_capability / 10;
  return Found{*best, exact};
}

}  // namespace gpuexp
