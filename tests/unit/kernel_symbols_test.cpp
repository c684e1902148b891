// Signatures of kernels, from lowered names and source text.
#include "compile/kernel_symbols.hpp"

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

using Names = std::vector<std::string>;

KernelSignature signature(const std::string& lowered_name, std::string_view source = "") {
  return signatures(Names{lowered_name}, source).at(0);
}

Names names_of(const KernelSignature& signature) {
  Names names;
  for (const KernelParameter& parameter : signature.parameters)
    names.push_back(parameter.name);
  return names;
}

/// "in float*" for const float*, "float*" for float*, "int", "fp32 x 4" would be "float4".
Names types_of(const KernelSignature& signature) {
  Names types;
  for (const KernelParameter& parameter : signature.parameters)
    types.push_back((parameter.is_const ? "in " : "") +
                    std::string(c_name_of(parameter.type.element)) +
                    (parameter.type.lanes > 1 ? " x " + std::to_string(parameter.type.lanes) : "") +
                    (parameter.is_pointer ? "*" : ""));
  return types;
}

/// The one parameter of an extern "C" kernel.
KernelParameter parameter(const std::string& text) {
  const std::string source = "extern \"C\" __global__ void k(" + text + ") {}";
  const KernelSignature found = signature("k", source);
  INFO(source);
  REQUIRE(found.parameters.size() == 1);
  return found.parameters[0];
}

TEST_CASE("a kernel's types come from its lowered name, its names from the source", "[symbols]") {
  const KernelSignature add =
      signature("_Z3addPKfS0_Pfi",
                "// __global__ void add(int x);\n"
                "\n"
                "__global__ void add(const float* __restrict__ a,\n"
                "                    float const *b, float c[], int n = 4)\n"
                "{ }\n");
  CHECK(add.name == "add");
  CHECK(add.template_arguments.empty());
  CHECK(add.lowered_name == "_Z3addPKfS0_Pfi");
  CHECK(add.line == 3);
  CHECK(names_of(add) == Names{"a", "b", "c", "n"});
  CHECK(types_of(add) == Names{"in float*", "in float*", "float*", "int"});
  CHECK(add.parameters[0].spelled == "const float* __restrict__ a");
  CHECK(add.parameters[3].spelled == "int n");
  CHECK(add.parameters[3].type.text == "int");
}

TEST_CASE("a kernel that the source does not declare has no parameter names", "[symbols]") {
  const KernelSignature add = signature("_Z3addPKfS0_Pfi", "__global__ void add(float* a) {}");
  CHECK(add.line == 0);
  CHECK(names_of(add) == Names{"", "", "", ""});
  CHECK(add.parameters[0].spelled == "float const*");
  CHECK(signature("other").parameters.empty());
  CHECK(signature("_Z").name == "_Z");
  CHECK(signature("_Z4noneRK").name == "_Z4noneRK");
}

TEST_CASE("all types of parameters are known", "[symbols]") {
  // void k(bool, char, signed char, unsigned char, short, unsigned short, int, unsigned, long,
  //        unsigned long, long long, unsigned long long, float, double)
  CHECK(types_of(signature("_Z1kbcahstijlmxyfd")) ==
        Names{"bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int",
              "unsigned int", "long", "unsigned long", "long", "unsigned long", "float", "double"});
  CHECK(types_of(signature("_Z1kP6__halfPK13__nv_bfloat167__half214__nv_bfloat162")) ==
        Names{"__half*", "in __nv_bfloat16*", "__half x 2", "__nv_bfloat16 x 2"});
  CHECK(types_of(signature("_Z1kPK6float4P5uint2P6uchar4P10ulonglong27double3")) ==
        Names{"in float x 4*", "unsigned int x 2*", "unsigned char x 4*", "unsigned long x 2*",
              "double x 3"});
  const KernelSignature structure = signature("_Z1k6ParamsPPfPFvvEPA32_fN2ns1TIfEE",
                                              "__global__ void k(const Params p, float** rows, "
                                              "void (*f)(), float (*tile)[32], ns::T<float> t);");
  CHECK(names_of(structure) == Names{"p", "rows", "f", "tile", "t"});
  CHECK(types_of(structure) == Names{"", "*", "*", "float*", ""});
  CHECK(structure.parameters[0].type.text == "Params");
  CHECK(structure.parameters[1].type.text == "float*");
  CHECK(structure.parameters[3].spelled == "float (*tile)[32]");
  CHECK(structure.parameters[4].type.text == "ns::T<float>");
  CHECK(type_named("float3").lanes == 3);
  CHECK(type_named("__half2").element == CElement::fp16);
  CHECK(type_named("Params").element == CElement::unknown);
}

TEST_CASE("template arguments and namespaces of a kernel are separate", "[symbols]") {
  // void ns::(anonymous namespace)::tile<float, 32>(float const*, float*)
  const KernelSignature tile = signature("_ZN2ns12_GLOBAL__N_14tileIfLi32EEEvPKT_PS2_",
                                         "template <typename T, int N = (3 > 2)>\n"
                                         "__global__ void __launch_bounds__(256, 2)\n"
                                         "    tile(const T* in, T* out) {}\n");
  CHECK(tile.name == "tile");
  CHECK(tile.template_arguments == "float, 32");
  CHECK(tile.line == 3);
  CHECK(names_of(tile) == Names{"in", "out"});
  CHECK(types_of(tile) == Names{"in float*", "float*"});
}

TEST_CASE("a lambda may be a template argument", "[symbols]") {
  const KernelSignature apply = signature(
      "_Z5applyIZ4mainEUlfE_EvT_Pf", "template <class F> __global__ void apply(F op, float* x) {}");
  CHECK(apply.name == "apply");
  CHECK(apply.template_arguments == "main::{lambda(float)#1}");
  CHECK(names_of(apply) == Names{"op", "x"});
}

TEST_CASE("the overload with equal types gives the names", "[symbols]") {
  const std::string source =
      "__global__ void k(float*, int);\n"
      "__global__ void k(float* x, int n) {}\n"
      "__global__ void k(int* y, int m) {}\n"
      "__global__ void k(int* z) {}\n";
  CHECK(names_of(signature("_Z1kPfi", source)) == Names{"x", "n"});
  CHECK(names_of(signature("_Z1kPii", source)) == Names{"y", "m"});
  CHECK(names_of(signature("_Z1kPi", source)) == Names{"z"});
  // void fill<double>(double*, double)
  CHECK(names_of(signature("_Z4fillIdEvPT_S0_",
                           "template __global__ void fill<double>(double*, double);\n"
                           "template <class T> __global__ void fill(T* to, T value) {}\n")) ==
        Names{"to", "value"});
}

TEST_CASE("the types of an extern \"C\" kernel come from the source", "[symbols]") {
  struct Case {
    const char* text;
    const char* name;
    CElement element;
    int lanes;
    bool is_pointer;
    bool is_const;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"const float* __restrict__ a", "a", CElement::fp32, 1, true, true},
           {"float const * const a", "a", CElement::fp32, 1, true, true},
           {"float* const __restrict__ a", "a", CElement::fp32, 1, true, false},
           {"unsigned n", "n", CElement::uint32, 1, false, false},
           {"const unsigned long long int n", "n", CElement::uint64, 1, false, false},
           {"long unsigned n", "n", CElement::uint64, 1, false, false},
           {"std::size_t n", "n", CElement::uint64, 1, false, false},
           {"uint8_t* bytes", "bytes", CElement::uint8, 1, true, false},
           {"::std::int64_t n", "n", CElement::int64, 1, false, false},
           {"half *__restrict__ h", "h", CElement::fp16, 1, true, false},
           {"const __nv_bfloat162* h", "h", CElement::bf16, 2, true, true},
           {"float4 v", "v", CElement::fp32, 4, false, false},
           {"float a[]", "a", CElement::fp32, 1, true, false},
           {"const float a[32][32]", "a", CElement::fp32, 1, true, true},
           {"float (&a)", "", CElement::unknown, 1, false, false},
           {"float a = f(1, 2) < 3", "a", CElement::fp32, 1, false, false},
           {"[[maybe_unused]] int n", "n", CElement::int32, 1, false, false},
           {"const __grid_constant__ CUtensorMap map", "map", CElement::unknown, 1, false, false},
           {"struct Params p", "p", CElement::unknown, 1, false, false},
           {"int", "", CElement::int32, 1, false, false},
           {"const float*", "", CElement::fp32, 1, true, true},
           {"const Params", "", CElement::unknown, 1, false, false},
           {"ns::Params", "", CElement::unknown, 1, false, false},
           {"char /* a name */ c // here\n", "c", CElement::character, 1, false, false},
       }) {
    INFO(c.text);
    const KernelParameter found = parameter(c.text);
    CHECK(found.name == c.name);
    CHECK(found.type.element == c.element);
    CHECK(found.type.lanes == c.lanes);
    CHECK(found.is_pointer == c.is_pointer);
    CHECK(found.is_const == c.is_const);
  }
  CHECK(signature("k", "extern \"C\" __global__ void k(void) {}").parameters.empty());
  CHECK(signature("k", "extern \"C\" { __global__ void k(int a) {} }").parameters.size() == 1);
}

TEST_CASE("kernels are found in all forms of declarations", "[symbols]") {
  for (const char* source : {
           "__global__ void k(int a) {}",
           "static __global__ void k(int a) {}",
           "void __global__ k(int a) {}",
           "__global__ static inline void k(int a);",
           "__global__\nvoid\nk\n(\nint a\n)\n{\n}",
           "__global__ void __launch_bounds__(256) k(int a) {}",
           "__global__ __launch_bounds__(kThreads * (2 + 1), 1) void k(int a) {}",
           "__global__ void __launch_bounds__(256) __cluster_dims__(2, 1, 1) k(int a) {}",
           "__global__ void BOUNDS(256) k(int a) {}",
           "__attribute__((noinline)) __global__ void k(int a) {}",
           "__global__ void k(int a) __attribute__((used));",
           "[[nodiscard]] __global__ [[a::b(1)]] void k(int a) {}",
           "template <int N> __global__ void k(int a) {}",
           "template <> __global__ void k<4>(int a) {}",
           "template __global__ void k<float, f<(1 > 2)>()>(int a);",
           "__global__ auto k(int a) -> void {}",
           "namespace n { __global__ void k(int a) {} }",
           "__global__ void n::k(int a) {}",
           "#define K \\\n __global__ void x(int b) {}\n__global__ void k(int a) {}",
           "#ifdef A /* a\n __global__ void x(); */\n__global__ void k(int a) {}",
           "/* __global__ void x(); */ // __global__ void y();\n__global__ void k(int a) {}",
           "const char* s = \"__global__ void x() {}\\\"\"; __global__ void k(int a) {}",
           "auto s = R\"x(__global__ \"void\" x() {})\" )x\"; __global__ void k(int a) {}",
           "const int million = 1'000'000; const char q = '\\''; __global__ void k(int a) {}",
           "\xef\xbb\xbf__global__ void k(int a) {}",
       }) {
    INFO(source);
    CHECK(kernels_in(source) == Names{"k"});
    CHECK(names_of(signature("_Z1ki", source)) == Names{"a"});
  }
}

TEST_CASE("each kernel of a source is named once, in order", "[symbols]") {
  CHECK(kernels_in("__global__ void b(); __global__ void a(int); __device__ void d() {}\n"
                   "__global__ void b() { a(3); }") == Names{"b", "a"});
  CHECK(kernels_in("").empty());
  CHECK(kernels_in("int main() { f(__global__); }").empty());
}

TEST_CASE("damaged sources are read", "[symbols]") {
  for (const char* source : {"__global__",
                             "__global__ void",
                             "__global__ void k(",
                             "__global__ void k<",
                             "/*",
                             "\"",
                             "'",
                             "R\"",
                             "R\"x(",
                             "__global__ void k(int a",
                             "__global__ void k(int a[) {}",
                             "__global__ void k(]) {}",
                             "__global__ void k(=) {}",
                             "__global__ void k(,,) {}",
                             "__global__ void k(float (*) {}",
                             "__global__ void k(<) {}",
                             "#",
                             "\\",
                             "__global__ [[ void",
                             "__global__ void k(a<b c) {}",
                             "__global__ void k(*) {}",
                             "__global__ (",
                             "\xff\xfe"}) {
    INFO(source);
    CHECK_NOTHROW(kernels_in(source));
    CHECK_NOTHROW(signature("k", source));
    CHECK_NOTHROW(signature("_Z1ki", source));
  }
  std::string nested;
  for (int i = 0; i < 2000; ++i)
    nested += "__global__ k<(";
  CHECK(kernels_in(nested).empty());
}

TEST_CASE("a kernel is found with its namespaces", "[symbols]") {
  constexpr const char* kSource =
      "namespace linear::blas { namespace { struct S { int a; };\n"
      "template <int N> __global__ void gemm(float* a) { if (N) { a[0] = 1; } }\n"
      "} inline namespace v2 { __global__ void axpy(float* a); } }\n"
      "namespace lb = linear::blas; using namespace lb;\n"
      "template <class T> struct Not {}; __global__ void plain(float* a) {}\n"
      "template __global__ void later<4>(float* a);\n";
  const auto found = [&](const char* name) {
    const auto kernel = kernel_in(kSource, name);
    return kernel ? kernel->qualified_name + (kernel->is_template ? "<>" : "") : "";
  };
  CHECK(found("gemm") == "linear::blas::gemm<>");
  CHECK(found("axpy") == "linear::blas::v2::axpy");
  CHECK(found("plain") == "plain");
  CHECK(found("later") == "later<>");
  CHECK(found("none").empty());
}

}  // namespace
}  // namespace gpuexp::test
