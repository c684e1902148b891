// A launch that host code writes, or one that is assumed, in terms of a declaration's parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compile/kernel_symbols.hpp"
#include "infer/host_expression.hpp"
#include "own/expression.hpp"

namespace gpuexp::infer {

struct LaunchParameter {
  std::string name;
  bool is_real = false;
  /// Constant value in the text; empty if the text does not give one.
  std::optional<Value> value;
  /// Whether the value does not vary with sizes: a flag, a type of less than 16 bits, or the
  /// number of threads in a block. Without a value it is 1.
  bool is_fixed = false;
  /// Whether only the grid depends on it: a variable of the host code that is no argument. It has a
  /// value if the text gives a constant one.
  bool is_of_grid = false;
};

/// A byte that host code stores to a whole buffer before the launch.
struct LaunchMemset {
  std::size_t argument = 0;  ///< position of the buffer among the arguments
  std::int64_t byte = 0;     ///< 0 to 255
};

/// A constant number of bytes that host code allocates for a buffer.
struct LaunchAllocation {
  std::size_t argument = 0;  ///< position of the buffer among the arguments
  std::int64_t bytes = 0;
};

struct ResolvedLaunch {
  std::vector<own::Expression> grid;   ///< one to three; empty: not known
  std::vector<own::Expression> block;  ///< one to three
  std::optional<own::Expression> shared_bytes;
  /// One for each parameter of the kernel: the name of a buffer, or an expression.
  std::vector<own::Expression> arguments;
  /// The names in all expressions, in the order of the kernel's parameters.
  std::vector<LaunchParameter> parameters;
  std::vector<LaunchMemset> memsets;
  std::vector<LaunchAllocation> allocations;
  /// What was assumed, or where the launch was found: sentences for comments.
  std::vector<std::string> notes;
};

/// The name that the declaration gives to parameter `index`: its own, unless expressions cannot use
/// it.
std::string declared_name(const KernelParameter& parameter, std::size_t index);

/// Why a declaration cannot launch the kernel: a parameter of a type that buffers and numbers do
/// not have. Empty if it can.
std::string unsupported_parameter(const KernelSignature& kernel);

/// A launch with the kernel's own names as arguments, and without grid and block.
ResolvedLaunch launch_by_names(const KernelSignature& kernel);

/// The launch in the text. Throws HostExpressionError if the declaration cannot state it.
ResolvedLaunch resolved_launch(const KernelSignature& kernel, const TextLaunch& launch,
                               const HostCode& code);

/// Says that the text computes the grid from `cause`, which is no argument of the kernel.
std::string unknown_grid_note(const std::string& cause);

/// The launch without these of the parameters on which only its grid depends: their constant values
/// replace them. If one has no value, the launch has no grid, and no parameters of the grid.
ResolvedLaunch without_sizes_of_grid(ResolvedLaunch launch, const std::set<std::string>& names);

/// The template arguments as C++: "32, float". Throws HostExpressionError if one is not a constant
/// or the name of a type or function.
std::string resolved_template_arguments(const TextLaunch& launch, const HostCode& code);

}  // namespace gpuexp::infer
