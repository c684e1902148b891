#include "infer/inferred_variant.hpp"

#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "infer/monomial.hpp"

namespace gpuexp::infer {

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

void add_multiple(InferredParameter& parameter, std::int64_t multiple_of) {
  parameter.multiple_of = std::lcm(parameter.multiple_of, multiple_of);
  auto* const value = std::get_if<std::int64_t>(&parameter.value);
  if (value) *value = ceil_div(*value, parameter.multiple_of) * parameter.multiple_of;
}

bool have_equal_sizes(const InferredBuffer& a, const InferredBuffer& b) {
  return monomial_of(a.extents) == monomial_of(b.extents);
}

}  // namespace gpuexp::infer
