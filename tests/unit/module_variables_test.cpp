// Buffers whose contents are those of variables of a kernel file.
#include "own/module_variables.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "own/declaration_reader.hpp"
#include "own/own_family.hpp"
#include "own/parameter_types.hpp"
#include "own/variable_binding.hpp"
#include "sass/loaded_kernels.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

constexpr const char* kFile = R"(
extern "C" __global__ void f(float* y) {}
namespace filter { __constant__ float c[5]; }
__constant__ float4 v[2];
__device__ int counts[16];
struct Pair { float a, b; };
__constant__ Pair pair;
DECLARE_CONSTANT(float, macro);
namespace a { __device__ int twice; }
namespace b { __device__ int twice; }
)";

ModuleData module_of_file() {
  ModuleData data;
  const auto add = [&](const char* name, bool is_constant, std::uint64_t bytes) {
    ModuleVariable& variable = data.variables.emplace_back();
    variable.lowered_name = name;
    variable.is_constant = is_constant;
    variable.bytes = bytes;
  };
  add("_ZN6filter1cE", true, 20);
  add("v", true, 32);
  add("counts", false, 64);
  add("pair", true, 8);
  add("macro", true, 4);
  add("_ZN1a5twiceE", false, 4);
  add("_ZN1b5twiceE", false, 4);
  add("$str", false, 4);
  return data;
}

/// The declaration's statements come first, so that line 1 is the first statement.
SharedBound bound_variables(const std::string& statements) {
  static const char kernel = 0;
  std::string source;
  for (std::string_view rest = statements; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    source += "// gpuexp: " + std::string(rest.substr(0, end)) + "\n";
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  source +=
      std::string("// gpuexp: y[1]\n// gpuexp: f<<<1, 1>>>\n// gpuexp: check y[i] = 0\n") + kFile;
  std::vector<OwnKernel> kernels;
  for (KernelSignature& signature : signatures(std::vector<std::string>{"f"}, source))
    kernels.push_back({std::move(signature), [](const Names&) { return &kernel; }});
  return bound_to(read_declaration("k.cu", source), std::move(kernels), {},
                  own_variables(module_of_file(), source));
}

std::string error_of_variables(const std::string& statements) {
  try {
    const SharedBound bound = bound_variables(statements);
    check_variable_sizes(*bound, problem_of(*bound, {}));
  } catch (const DeclarationError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a buffer with the name of a variable has its type and is an input",
          "[module_variables]") {
  const SharedBound bound = bound_variables(
      "c[5] = normal\nin v[2][4]\nin_out counts[16]\n"
      "check counts[i] = before(counts[i])");
  const BoundBuffer& c = bound->buffers[0];
  CHECK(c.role == BufferRole::input);
  CHECK(c.type == DataType::fp32);
  REQUIRE(c.variable);
  CHECK(c.variable->lowered_name == "_ZN6filter1cE");
  CHECK(bound->buffers[1].type == DataType::fp32);
  CHECK(bound->buffers[2].type == DataType::int32);
  CHECK(bound->variants.front().writes(2));
  CHECK(!bound->variants.front().writes(0));
  CHECK(!bound->buffers[3].variable);
}

TEST_CASE("contents are copied to variables, and outputs from them", "[module_variables]") {
  const SharedBound bound = bound_variables(
      "in c[5]\nin_out counts[16]\nout twice_[1]\n"
      "check counts[i] = before(counts[i])\n" +
      std::string("f2 = f<<<1, 1>>>(twice_)\n"
                  "check twice_[i] = 0"));
  const OwnProblem problem = problem_of(*bound, {});
  std::vector<float> memory(64);
  const OwnData data{{&memory[0], &memory[8], &memory[32], &memory[40]}};
  const Steps inputs = stored_inputs(*bound, problem, data);
  REQUIRE(inputs.all().size() == 1);
  const auto& store = std::get<CopyStep>(inputs.all()[0].action);
  CHECK(store.from == &memory[0]);
  CHECK(store.bytes == 20);
  const LoadedVariable* const variable = LoadedKernels::global().find_variable(store.to);
  REQUIRE(variable);
  CHECK(variable->lowered_name == "_ZN6filter1cE");
  const Steps before = stored_outputs(*bound, bound->variants[0], problem, data);
  REQUIRE(before.all().size() == 1);
  CHECK(std::get<CopyStep>(before.all()[0].action).from == &memory[8]);
  const Steps outputs = loaded_outputs(*bound, bound->variants[0], problem, data);
  REQUIRE(outputs.all().size() == 1);
  CHECK(std::get<CopyStep>(outputs.all()[0].action).to == &memory[8]);
  CHECK(!LoadedKernels::global().find_variable(&memory[8]));
}

TEST_CASE("a declaration that does not fit a variable is refused", "[module_variables]") {
  const std::string constant = "the __constant__ variable ";
  const std::pair<const char*, std::string> cases[] = {
      {"in c[5]", ""},
      {"in c[4]", "1:15: 'c' has 4 elements of type fp32, 16 bytes, but " + constant +
                      "'c' has 20 bytes; expected 5 elements"},
      {"in_out c[5]\ncheck c[i] = 0",
       "1:19: 'c' is a __constant__ variable, which kernels cannot write; declare it as 'in c'"},
      {"in d[5]",
       "1:15: no launch uses the buffer 'd', and no kernel a variable of this name; remove it, or "
       "pass it to a kernel"},
      {"in pair[2]", "1:15: " + constant +
                         "'pair' has the type 'Pair', which is not supported; expected " +
                         element_types_text()},
      {"in macro[1]", "1:15: the text of the file does not show the type of " + constant +
                          "'macro'; declare it in this file, without a macro"},
      {"in twice[1]",
       "1:15: the file has several variables 'twice' in different namespaces; rename all but one"},
      {"out counts[16] = zeros\ncheck counts[i] = 0",
       "1:29: 'counts' is an output, so it has no contents before the launch; if kernels read "
       "them, declare it as 'in_out counts'"}};
  for (const auto& [statements, error] : cases) {
    INFO(statements);
    CHECK(error_of_variables(statements) == (error.empty() ? "" : "k.cu:" + error));
  }
}

}  // namespace
}  // namespace gpuexp::own
