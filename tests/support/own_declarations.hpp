// Declarations of the kernels of one file, bound without a compiler.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compile/kernel_symbols.hpp"
#include "own/declaration_reader.hpp"
#include "own/own_family.hpp"
#include "own/own_problem.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {

inline constexpr const char* kKernels = R"(
extern "C" __global__ void add(const float* x, const float* y, float* z, int n) {}
extern "C" __global__ void scale(float* z, const float* x, float a) {}
extern "C" __global__ void bytes(unsigned char* z, const __half* h, signed char c, bool b) {}
extern "C" __global__ void nameless(float*, int) {}
extern "C" __global__ void pointers(float** z) {}
extern "C" __global__ void structure(float* z, float4 v) {}
extern "C" __global__ void whole(int* z, const int* x, unsigned n) {}
extern "C" __global__ void fetch(float* z, cudaTextureObject_t t) {}
extern "C" __global__ void vectors(float4* z, const __half2* h) {}
extern "C" __global__ void letters(char* z) {}
struct Pair { float a, b; };
extern "C" __global__ void structures(Pair* z) {}
)";

/// The declaration's statements come first, so that line 1 is the first statement.
inline std::string source_of(const std::string& statements) {
  std::string source = "// gpuexp: ";
  for (const char c : statements)
    source += c == '\n' ? "\n// gpuexp: " : std::string(1, c);
  return source + "\n" + kKernels;
}

inline std::vector<OwnKernel> kernels_of(const std::vector<std::string>& lowered,
                                         const std::string& source) {
  static const char addresses[16] = {};
  std::vector<OwnKernel> kernels;
  for (KernelSignature& signature : signatures(lowered, source))
    kernels.push_back(
        {std::move(signature), [at = &addresses[kernels.size()]](const Names&) { return at; }});
  return kernels;
}

inline Family family(const std::string& statements) {
  const std::string source = source_of(statements);
  return family_of("k.cu", read_declaration("k.cu", source),
                   kernels_of(kernels_in(source), source));
}

inline SharedBound bound(const std::string& statements) {
  const std::string source = source_of(statements);
  return bound_to(read_declaration("k.cu", source), kernels_of(kernels_in(source), source));
}

/// The error of the declaration, or else of its default problem.
inline std::string error_of(const std::string& statements) {
  try {
    const Family f = family(statements);
    f.make_problem(f.defaults());
  } catch (const DeclarationError& error) {
    return error.what();
  }
  return "";
}

struct Case {
  std::string statements;
  std::string error;
};

inline void check_cases(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    INFO(c.statements);
    CHECK(error_of(c.statements) == (c.error.empty() ? "" : "k.cu:" + c.error));
  }
}

// Six lines.
inline const std::string kAdd =
    "n = 1000\nx[n]\ny[n]\nz[n]\nadd<<<ceil_div(n, 256), 256>>>\ncheck z[i] = x[i] + y[i]";

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

inline std::string add_with(const std::string& from, const std::string& to) {
  return replaced(kAdd, from, to);
}

/// With arguments in parentheses.
inline std::string launched(const std::string& arguments) {
  return add_with("256>>>", "256>>>" + arguments);
}

// Seven lines; the variant is in the sixth.
inline const std::string kChain =
    "a = 2\nn = 64\nx[n]\nz[n]\nw[n]\n"
    "both = memset(w, n + 3); scale<<<1, 64>>>(z, x, a); add<<<1, 64>>>(x, z, w, n)\n"
    "check z[i] = a*x[i]\ncheck w[i] = x[i] + a*x[i]";

inline std::string chain_with(const std::string& from, const std::string& to) {
  return replaced(kChain, from, to);
}

}  // namespace gpuexp::own
