// Extents and roles of a kernel's buffers, found by executing the kernel at several sizes.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "family/family.hpp"
#include "infer/launch_resolution.hpp"
#include "infer/size_search.hpp"
#include "sim/simulator.hpp"

namespace gpuexp::infer {

struct InferredParameter {
  std::string name;
  Value value;                   ///< for the declaration
  std::int64_t multiple_of = 1;  ///< sizes that the kernel's accesses need
};

struct InferredBuffer {
  std::string name;
  DataType type = DataType::fp32;
  BufferRole role = BufferRole::input;
  std::vector<std::string> extents;  ///< one to four
  std::string fill;                  ///< contents as declared; empty: the default
  std::string declared_type;         ///< empty if the kernel's parameter shows the type
  bool is_read = true;               ///< in_out buffers may be stored to only in part
};

struct InferredKernel {
  KernelSignature signature;
  ResolvedLaunch launch;
  std::vector<InferredParameter> parameters;
  std::vector<InferredBuffer> buffers;  ///< one per pointer, in the order of the parameters
  std::vector<std::string> notes;       ///< what was assumed or not found
  /// Whether the extents are known. If not, the kernel could not be executed.
  bool has_sizes = true;
  /// Parameters on which only the grid depends, and that are no sizes: no buffer's size follows
  /// from them, or the kernel leaves out elements unless they suit the other sizes.
  std::set<std::string> cutting_parameters;
};

/// A kernel of a loaded module; `address` is its Shape::kernel.
struct ProbedKernel {
  KernelSignature signature;
  const void* address = nullptr;
  bool has_block_y = false;  ///< whether the machine code reads threadIdx.y
  bool has_grid_y = false;   ///< whether the machine code reads blockIdx.y
};

/// Executes the kernel with the launch. Without a launch, the block is assumed; without a grid, the
/// grid has the blocks that store something. If the kernel cannot be executed, or not in a few
/// seconds, a note says why the sizes of its buffers are missing.
InferredKernel inferred_kernel(const ProbedKernel& kernel,
                               const std::optional<ResolvedLaunch>& launch,
                               sim::Simulator& simulator, ProbeBudget budget);

}  // namespace gpuexp::infer
