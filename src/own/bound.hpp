// A declaration whose names are resolved: which argument is which buffer, and which type its
// elements have.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "compile/kernel_symbols.hpp"
#include "compile/triton_metadata.hpp"
#include "own/declaration.hpp"
#include "own/parameter_types.hpp"

namespace gpuexp::own {

/// A kernel of the file.
struct OwnKernel {
  KernelSignature signature;
  /// The Shape::kernel for values of the parameters. Throws DeclarationError.
  std::function<const void*(const Names&)> address;
  /// DeclaredLaunch::template_text() of the launches of this kernel.
  std::optional<std::string> template_text = std::nullopt;
  std::optional<TritonMetadata> triton = std::nullopt;  ///< only for Triton's kernels
  /// Whether any of the tried values compiles. Otherwise the parameters are unknown.
  bool has_code = true;
  bool launches_kernels = false;
  bool has_clusters = false;
};

/// The argument that is a pointer to nothing.
inline constexpr std::string_view kNullPointer = "nullptr";

/// A __constant__ or __device__ variable of the file.
struct OwnVariable {
  std::string name;  ///< without namespaces
  std::string lowered_name;
  bool is_constant = false;
  std::int64_t bytes = 0;
  std::optional<CType> type;  ///< element type; empty if the text of the file does not show it
};

struct BoundBuffer {
  DeclaredBuffer declared;
  BufferRole role = BufferRole::input;
  DataType type = DataType::fp32;
  /// The variable that has the buffer's contents; empty if launches pass the buffer to kernels.
  std::optional<OwnVariable> variable = std::nullopt;
};

/// One argument of a launch: a buffer or a number, or a null pointer if it is neither.
struct BoundArgument {
  std::optional<std::size_t> buffer;
  std::optional<PlacedExpression> number;
  KernelParameter parameter;
};

struct BoundLaunch {
  DeclaredLaunch declared;
  std::function<const void*(const Names&)> kernel;  ///< as OwnKernel::address
  std::vector<BoundArgument> arguments;             ///< none without code
  bool has_code = true;                             ///< as OwnKernel::has_code

  /// Whether the launch passes the buffer to a pointer that is not const.
  bool writes(std::size_t buffer) const;
  /// Whether the launch passes the buffer to a const pointer.
  bool reads(std::size_t buffer) const;
};

struct BoundMemset {
  DeclaredMemset declared;
  std::size_t buffer = 0;
};

using BoundStep = std::variant<BoundLaunch, BoundMemset>;

/// Whether the step may write to the buffer.
bool writes(const BoundStep& step, std::size_t buffer);

struct BoundVariant {
  std::string id;
  std::string compare_to;  ///< may be empty
  std::vector<BoundStep> steps;
  Place place;
  std::string why = {};  ///< comments about the variant; may be empty
  /// Output buffers that are variables. Any kernel may write them.
  std::vector<std::size_t> written_variables;

  /// The kernels among the steps, in order.
  std::vector<const BoundLaunch*> launches() const;
  /// Whether all its kernels have code. Otherwise none of its cells runs, and which buffers it uses
  /// is unknown.
  bool has_code() const;
  /// Whether a launch passes the buffer to a kernel.
  bool passes(std::size_t buffer) const;
  /// Whether a step may write to the buffer or its variable.
  bool writes(std::size_t buffer) const;
};

class ArrayFiles;

/// Origin of the expected values of an output. A check or a file precedes the reference.
enum class ExpectedBy { check, file, reference, nothing };

/// The family's callbacks share it.
struct Bound {
  std::string file;
  std::vector<DeclaredParameter> parameters;
  std::vector<BoundBuffer> buffers;
  std::vector<BoundVariant> variants;
  std::vector<DeclaredCheck> checks;
  std::vector<DeclaredValues> expected_files;
  std::optional<BoundVariant> reference;  ///< its id names its kernels
  bool reference_is_first = false;        ///< it is the first variant, with that variant's id
  std::shared_ptr<ArrayFiles> arrays;
  std::vector<PlacedExpression> requirements;
  std::vector<DeclaredWork> work;
  std::optional<double> tolerance;
  bool flushes_subnormals = false;  ///< compiled with --use_fast_math
  /// Parameters that launches pass only as float. Checks compute with their values in fp32.
  std::set<std::string, std::less<>> fp32_parameters;

  std::optional<std::size_t> buffer_named(std::string_view name) const;
  /// Whether all variants have code.
  bool has_code() const;
  /// Null if the buffer has no check.
  const DeclaredCheck* check_of(std::size_t buffer) const;
  /// The outputs that have a check.
  std::vector<std::size_t> checked_outputs() const;
  /// Null if no file has the buffer's expected values.
  const DeclaredValues* file_of(std::size_t buffer) const;
  /// `nothing` for inputs.
  ExpectedBy expected_by(std::size_t buffer) const;
  /// Whether the reference launches the variant's kernels, with the same arguments.
  bool is_reference(std::string_view variant) const;
  /// Names of the outputs whose expected values are results of the variant's own kernels.
  std::vector<std::string> compared_with_itself(std::string_view variant) const;
};
using SharedBound = std::shared_ptr<const Bound>;

}  // namespace gpuexp::own
