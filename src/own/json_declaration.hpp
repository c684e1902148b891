// Declarations in a JSON file, for a source file that must not change.
#pragma once

#include <array>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/json_node.hpp"
#include "own/declaration.hpp"

namespace gpuexp::own {

/// The keys of such a file. The reader, its error messages and the JSON Schema use them.
inline constexpr std::array kDeclarationKeys{
    Key{"$schema", "Path or address of this schema, for editors."},
    Key{"source",
        "File with the kernels, relative to the folder of this file: .cu, .cuh, .ptx or .cubin."},
    Key{"include", "Include folders, relative to the folder of this file."},
    Key{"define",
        "Macros: an object with their values, or a list of NAME and NAME=VALUE. A list of values "
        "in "
        "the object is an axis."},
    Key{"option", "Options of nvcc, such as -std=c++20 or --use_fast_math."},
    Key{"parameters",
        "Parameters and their values: a number, a list of numbers, text such as "
        "\"2^20..2^26\", or an object with a type and values."},
    Key{"require", "Conditions, such as \"n % 32 == 0\"; cells where one is 0 are skipped."},
    Key{"buffers",
        "Buffers, such as \"x\": \"in [n] = normal\": role, extents and contents; role and "
        "contents "
        "may be absent."},
    Key{"variants",
        "Launches, such as \"tile\": \"kernel<<<n/256, 256>>>(x, y, n) vs naive\"; arguments and "
        "vs "
        "may be absent."},
    Key{"check", "Expected values, such as \"y[i] = 2*x[i]\" or \"y = expected.npy\"."},
    Key{"reference",
        "Launch whose outputs are the expected values of outputs without a check, or \"first\" for "
        "the first variant."},
    Key{"tolerance", "Tolerance of the outputs, relative to the magnitude."},
    Key{"work", "Work of a launch, such as \"fp32 = 2*m*n*k\" or \"VARIANT fp32 = 2*m*n*k\"."},
};

/// The keys of a parameter with a declared type.
inline constexpr std::array kTypedParameterKeys{
    Key{"type", "Type of C++ with which launches pass the parameter, such as \"unsigned int\"."},
    Key{"values", "A number, a list of numbers, or text such as \"2^20..2^26\"."},
};

struct JsonDeclaration {
  Declaration declaration;
  std::filesystem::path source;  ///< the source file; relative if `file` is
};

/// Reads the text of the JSON file `file`. Each entry becomes a statement. Throws ConfigError if
/// the text is not JSON or an entry has another kind, and DeclarationError for a statement.
JsonDeclaration read_json_declaration(const std::string& file, std::string_view text);

}  // namespace gpuexp::own
