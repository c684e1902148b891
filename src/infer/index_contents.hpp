// Contents of buffers of integers that kernels use as indices or offsets.
#pragma once

#include <string>
#include <vector>

#include "infer/kernel_probe.hpp"
#include "infer/size_search.hpp"

namespace gpuexp::infer {

struct IndexContents {
  SizedRuns runs;                  ///< with these contents
  std::vector<std::string> fills;  ///< as declared, one for each pointer, or none; empty: default
};

/// The runs, or those with other contents from which more sizes follow. If buffers of integers
/// decide branches or addresses, tries offsets into another buffer, for buffers with one element
/// more than a size; numbers below a parameter; and numbers below the constant size of what they
/// may index.
IndexContents runs_with_indices(SizedRuns zeros, const KernelProbe& probe,
                                const KernelSignature& kernel);

/// Whether the kernel accesses other elements than in the run with zeros if all its buffers have
/// other contents.
bool differs_with_contents(const ProbeRun& zeros, const KernelProbe& probe);

}  // namespace gpuexp::infer
