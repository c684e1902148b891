#include "infer/inferred_variant.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace gpuexp::infer {

namespace {

/// The factors of the number of elements, in alphabetical order.
std::vector<std::string> factors_of(const InferredBuffer& buffer) {
  std::vector<std::string> factors = split(fmt::format("{}", fmt::join(buffer.extents, "*")), '*');
  std::ranges::sort(factors);
  return factors;
}

}  // namespace

InferredVariant variant_of(std::string id, InferredKernel kernel) {
  InferredVariant variant;
  for (const std::string& note : kernel.notes)
    variant.notes.push_back(fmt::format("{}: {}", id, note));
  variant.id = std::move(id);
  variant.has_sizes = kernel.has_sizes;
  variant.parameters = std::move(kernel.parameters);
  variant.buffers = std::move(kernel.buffers);
  variant.steps.push_back({std::move(kernel.signature), std::move(kernel.launch)});
  return variant;
}

bool have_equal_sizes(const InferredBuffer& a, const InferredBuffer& b) {
  return factors_of(a) == factors_of(b);
}

}  // namespace gpuexp::infer
