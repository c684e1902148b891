// The declaration of a user's kernel file: parameters, buffers, launches and checks
// (docs/own_kernel.md).
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/input_error.hpp"
#include "base/types.hpp"
#include "compile/c_type.hpp"
#include "family/family.hpp"
#include "own/check_expression.hpp"
#include "own/expression.hpp"
#include "own/fill_program.hpp"

namespace gpuexp::own {

/// An error in a declaration. The message starts with "FILE:LINE:COLUMN: ", or in a JSON file with
/// "FILE: PATH: 'VALUE': column COLUMN: ".
class DeclarationError : public InputError {
 public:
  using InputError::InputError;
};

/// The end of the name of a JSON file with a declaration.
inline constexpr std::string_view kJsonSuffix = ".gpuexp.json";

/// The JSON file in the folder of a source file that may declare its kernels: "k.gpuexp.json".
std::string json_name_of(const std::filesystem::path& source);

/// An entry of a declaration in a JSON file.
struct JsonEntry {
  std::string path;   ///< "$.buffers.A"
  std::string value;  ///< as text: of a list, its items
};

/// A position in a kernel file or in the value of a JSON entry, from 1.
struct Place {
  int line = 0;    ///< 0 in an entry
  int column = 0;  ///< 0: the whole entry
  std::shared_ptr<const JsonEntry> entry = nullptr;
};

/// The line or the entry for messages: "line 3", "$.buffers.A".
std::string text_of(const Place& place);
/// The same with the file: "k.cu:3", "k.gpuexp.json: $.buffers.A".
std::string text_of(const std::string& file, const Place& place);

/// The place `columns` bytes after `place`; a whole entry itself.
Place after(Place place, std::size_t columns);

[[noreturn]] void fail(const std::string& file, const Place& place, const std::string& message);

struct PlacedExpression {
  Expression expression;
  Place place;  ///< first character
};

struct DeclaredParameter {
  std::string name;
  /// At least one; several are an axis. All are integers, or all are reals.
  std::vector<Value> values;
  std::optional<CType> type;  ///< as declared: "int n = 1024"
  Place place;
  bool is_macro = false;  ///< the compiler gets its value, too: -DNAME=VALUE
};

struct DeclaredFill {
  FillKind kind = FillKind::uniform;
  /// Lowest value of `integers` and of `uniform`, value of `constant`.
  std::optional<PlacedExpression> low;
  std::optional<PlacedExpression> high;  ///< above the highest value of `integers` and `uniform`
  Place place;
};

/// A .npy file.
struct DeclaredArray {
  std::string file;  ///< relative to the folder of the file with the declaration
  Place place;
};

struct DeclaredBuffer {
  std::string name;
  std::optional<BufferRole> role;  ///< empty: const pointers are inputs, others are outputs
  std::optional<CType> type;       ///< type of the elements, as declared: "float x[n]"
  std::vector<PlacedExpression> extents;
  std::optional<DeclaredFill> fill;
  std::optional<DeclaredArray> array;  ///< contents from a file, instead of a fill
  Place place;
};

/// "x[n]".
std::string text_of(const DeclaredBuffer& buffer);
/// The same with `factor` times as many elements: "a[m][4*k]".
std::string with_more_elements(const DeclaredBuffer& buffer, const std::string& factor);

/// An argument of a kernel template: an expression, or C++ code such as the name of a type.
struct DeclaredTemplateArgument {
  std::string text;
  std::optional<PlacedExpression> expression;  ///< empty if the text is no expression

  /// The expression if it is evaluated; null for C++ code, such as a name that is not declared as a
  /// parameter.
  const PlacedExpression* number(const std::vector<DeclaredParameter>& parameters) const;
};

struct DeclaredLaunch {
  std::string kernel;
  /// Empty if the launch names none: the kernel is not a template, or the file instantiates it.
  std::optional<std::vector<DeclaredTemplateArgument>> template_arguments;
  std::vector<PlacedExpression> grid;   ///< one to three
  std::vector<PlacedExpression> block;  ///< one to three; empty if the compiler fixed it
  std::optional<PlacedExpression> shared_bytes;
  /// One per parameter of the kernel; empty if arguments are found by the parameters' names.
  std::optional<std::vector<PlacedExpression>> arguments;
  Place place;

  /// The template arguments as declared: "BM, BN, float".
  std::optional<std::string> template_text() const;
};

/// memset(BUFFER, VALUE): sets each byte of the buffer.
struct DeclaredMemset {
  std::string buffer;
  PlacedExpression value;
  Place place;
};

using DeclaredStep = std::variant<DeclaredLaunch, DeclaredMemset>;

struct DeclaredVariant {
  std::string id;
  std::string compare_to;           ///< may be empty
  std::vector<DeclaredStep> steps;  ///< in order of execution; at least one is a kernel
  Place place;
  std::string why =
      {};  ///< comments about the variant in the file (variant_whys.hpp); may be empty
};

/// work [VARIANT] QUANTITY = AMOUNT: bytes, or operations of a type.
struct DeclaredWork {
  std::string variant;  ///< empty: all variants without a statement of their own
  std::string quantity;
  PlacedExpression amount;
  Place place;
};

struct DeclaredCheck {
  Check check;
  Place place;  ///< first character of the check
};

/// `check OUTPUT = FILE.npy`.
struct DeclaredValues {
  std::string output;
  DeclaredArray array;
  Place place;  ///< first character of the output
};

/// `reference`: the expected values of outputs without a check are those of a launch.
struct DeclaredReference {
  DeclaredVariant launch;  ///< empty for `reference first`
  Place place;
  bool is_first = false;  ///< the launch is the first variant
};

struct Declaration {
  std::string file;
  std::vector<DeclaredParameter> parameters;
  std::vector<DeclaredBuffer> buffers;
  std::vector<DeclaredVariant> variants;
  std::vector<DeclaredCheck> checks;
  std::vector<DeclaredValues> expected_files;
  std::optional<DeclaredReference> reference;
  std::vector<PlacedExpression> requirements;
  std::vector<DeclaredWork> work;
  std::vector<std::string> options;  ///< compiler options
  std::optional<double> tolerance;   ///< relative; empty: derived from the check

  const DeclaredBuffer* find_buffer(std::string_view name) const;
  /// The kernels that the variants and the reference launch.
  std::vector<const DeclaredLaunch*> launches() const;
};

/// Calls `evaluate`. An ExpressionError becomes an error in the text that begins at `place`.
template <class Evaluate>
auto at_place(const std::string& file, const Place& place, const Evaluate& evaluate) {
  try {
    return evaluate();
  } catch (const ExpressionError& error) {
    fail(file, after(place, error.column()), error.what());
  }
}

}  // namespace gpuexp::own
