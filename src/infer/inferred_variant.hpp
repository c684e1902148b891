// Variants of an inferred declaration: one launch, or several that follow each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "infer/kernel_inference.hpp"

namespace gpuexp::infer {

struct InferredStep {
  KernelSignature signature;
  ResolvedLaunch launch;  ///< in terms of the variant's parameters and buffers
};

struct InferredVariant {
  std::string id;
  std::vector<InferredStep> steps;            ///< at least one
  std::vector<InferredParameter> parameters;  ///< each name once
  std::vector<std::string> requirements;      ///< besides the parameters' multiples
  std::vector<InferredBuffer> buffers;        ///< each name once
  std::vector<std::string> notes;             ///< sentences for comments
  bool has_sizes = true;                      ///< whether the buffers' extents are known
};

/// A variant of one launch.
InferredVariant variant_of(std::string id, InferredKernel kernel);

/// Makes the parameter a multiple of one more number; rounds its value up.
void add_multiple(InferredParameter& parameter, std::int64_t multiple_of);

/// Whether the extents have equal products, as far as the texts show.
bool have_equal_sizes(const InferredBuffer& a, const InferredBuffer& b);

}  // namespace gpuexp::infer
