// Launches that a host function makes one after another on the same buffers.
#pragma once

#include <optional>
#include <vector>

#include "infer/host_code.hpp"
#include "infer/inferred_variant.hpp"

namespace gpuexp::infer {

/// A launch in the text, and what its kernel does.
struct InferredLaunch {
  const TextLaunch* text = nullptr;
  InferredKernel kernel;
};

/// Whether `next` reads a buffer that one of the launches writes, as the next launch in the same
/// block of host code, which does not mention the buffer between them.
bool continues(const std::vector<const InferredLaunch*>& launches, const InferredLaunch& next,
               const HostCode& code);

/// One variant of these launches, which has the names of the host code and the id of its function.
/// Buffers that a later launch reads last are workspaces. Empty if the text does not say how the
/// launches' arguments follow from each other.
std::optional<InferredVariant> sequence_of(const std::vector<const InferredLaunch*>& launches,
                                           const HostCode& code);

}  // namespace gpuexp::infer
