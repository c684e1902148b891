// Variables in device memory that host code sets before launches.
#pragma once

#include <string>
#include <vector>

#include "compile/compiled_module.hpp"
#include "infer/host_code.hpp"
#include "infer/kernel_inference.hpp"

namespace gpuexp::infer {

struct SetVariables {
  std::vector<InferredBuffer> buffers;  ///< inputs with the names of the variables
  std::vector<std::string> notes;       ///< sentences for comments
};

/// The __constant__ and __device__ variables of the module that the host code sets. Integers have
/// the value that the text shows, or zeros, because they may be sizes or indices.
SetVariables variables_set_by(const HostCode& code, const CompiledModule& module);

}  // namespace gpuexp::infer
