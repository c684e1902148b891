#include "compile/variable_symbols.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using Names = std::vector<std::string>;

/// "float c", for each variable.
Names declared_in(std::string_view source) {
  Names names;
  for (const DeclaredVariable& variable : variables_in(source))
    names.push_back(variable.type.text + " " + variable.name);
  return names;
}

TEST_CASE("variables in device memory are found in a source with their types",
          "[variable_symbols]") {
  CHECK(declared_in("__constant__ float c[5];") == Names{"float c"});
  CHECK(declared_in("static __device__ const unsigned int a = 3, b[2] = {1, 2};") ==
        Names{"unsigned int a", "unsigned int b"});
  CHECK(declared_in("namespace n { __device__ __align__(16) float4 v[2][3]; }") ==
        Names{"float4 v"});
  CHECK(declared_in("float __constant__ weights[3];\n__managed__ double d;") ==
        Names{"float weights", "double d"});
  CHECK(declared_in("extern __device__ std::uint8_t bytes[3], more;") ==
        Names{"std::uint8_t bytes", "std::uint8_t more"});
  CHECK(declared_in("__constant__ Pair<float, int> pairs[4];") == Names{"Pair<float, int> pairs"});
  CHECK(variables_in("__constant__ float4 v[2];").front().type.lanes == 4);
}

TEST_CASE("functions and other variables are not variables in device memory",
          "[variable_symbols]") {
  CHECK(declared_in("__device__ float f(float x) { return x; }").empty());
  CHECK(declared_in("__device__ __forceinline__ int g();").empty());
  CHECK(
      declared_in("__host__ __device__ inline float h(int a[3]) { __shared__ int s[2]; }").empty());
  CHECK(declared_in("// __constant__ float c[5];\nconst float d[5] = {};").empty());
  CHECK(declared_in("__constant__").empty());
  CHECK(declared_in("__device__ struct").empty());
  CHECK(declared_in("__constant__ float f(").empty());
}

TEST_CASE("variables of machine code have the names of the source", "[variable_symbols]") {
  CHECK(variable_name("coefficients") == "coefficients");
  CHECK(variable_name("_ZN6filter12coefficientsE") == "coefficients");
  CHECK(variable_name("_ZN35_INTERNAL_ba6eb2a1_6_var_cu_counter5space6hiddenE") == "hidden");
  CHECK(variable_name("_ZN12_GLOBAL__N_11aE") == "a");
  for (const char* of_compiler : {"$str$1", "__unnamed_1", "__cudart_i2opi_f"})
    CHECK(variable_name(of_compiler).empty());
  CHECK(variable_name("_ZZ1pPiE12local_static").empty());  // p(int*)::local_static
  CHECK(variable_name("_Z2tvILi5EE").empty());             // tv<5>
}

}  // namespace
}  // namespace gpuexp::test
