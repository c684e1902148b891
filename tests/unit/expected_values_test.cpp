// Declared expected values: references and files.
#include "own/expected_values.hpp"

#include "compile/kernel_symbols.hpp"
#include "own/declaration_reader.hpp"
#include "own/own_family.hpp"
#include "support/catch.hpp"

namespace gpuexp::own {
namespace {

constexpr const char* kKernels = R"(
extern "C" __global__ void twice(const float* x, float* y, int n);
extern "C" __global__ void serial(float* x, float* y, int n);
extern "C" __global__ void both(const float* x, float* y, int* count);
extern "C" __global__ void counted(const float* x, int* count);
extern "C" __global__ void of_doubles(const double* x, double* y);
)";

std::string source_of(const std::string& statements) {
  std::string source = "// gpuexp: ";
  for (const char c : statements)
    source += c == '\n' ? "\n// gpuexp: " : std::string(1, c);
  return source + "\n" + kKernels;
}

Family family(const std::string& statements) {
  static const char address = 0;
  const std::string source = source_of(statements);
  std::vector<OwnKernel> kernels;
  for (KernelSignature& signature : signatures(kernels_in(source), source))
    kernels.push_back({std::move(signature), [](const Names&) { return &address; }});
  return family_of("k.cu", read_declaration("k.cu", source), std::move(kernels));
}

std::string values_error(const std::string& statements) {
  try {
    family(statements);
  } catch (const DeclarationError& error) {
    return error.what();
  }
  return "";
}

const std::string kTwice = "n = 64\nx[n]\nout y[n]\ntwice<<<1, 64>>>\n";

TEST_CASE("a reference is a launch without a name", "[expected_values]") {
  const Declaration d = read_declaration(
      "k.cu", source_of("reference serial<<<1, 1, 8>>>(x, y, 4)\nx[4] = data/x.npy\n"
                        "check y = y.npy\nreference = 4\nin reference_x[4] = iota"));
  REQUIRE(d.reference);
  CHECK(d.reference->launch.id == "serial");
  CHECK(d.reference->launch.steps.size() == 1);
  CHECK(d.reference->place.column == 22);
  CHECK(d.parameters.at(0).name == "reference");
  CHECK(d.buffers.at(0).array->file == "data/x.npy");
  CHECK(d.buffers.at(0).array->place.column == 19);
  CHECK(!d.buffers.at(0).fill);
  CHECK(d.buffers.at(1).name == "reference_x");
  CHECK(d.expected_files.at(0).output == "y");
  CHECK(d.expected_files.at(0).array.file == "y.npy");
}

TEST_CASE("statements of expected values that are not understood are refused",
          "[expected_values]") {
  CHECK(values_error("reference serial<<<1, 1>>>\nreference twice<<<1, 1>>>") ==
        "k.cu:2:12: the reference is declared twice, first in line 1");
  CHECK(values_error("reference 4")
            .starts_with("k.cu:1:22: expected the name of a kernel, found '4'"));
  CHECK(values_error("check y = y.npy\ncheck y[i] = 4") ==
        "k.cu:2:18: the check of 'y' is declared twice, first in line 1");
  CHECK(values_error("check y = 2*x[i]") ==
        "k.cu:1:22: expected a .npy file after 'y =', found '2*x[i]'; an expression needs an index "
        "for each extent of y, such as in y[i] = 0");
  CHECK(values_error("x[4] = x.npz").starts_with("k.cu:1:19: unknown fill 'x'; "));
  CHECK(values_error("x[4] = x.npz").ends_with(", zeros, FILE.npy, or a number"));
}

TEST_CASE("the first variant may be the reference of the others", "[expected_values]") {
  const std::string two =
      "x[64]\nout y[64]\nout count[1]\nslow = both<<<1, 1>>>\nfast = both<<<1, 64>>> vs slow\n";
  const std::string statement = "reference first\n";
  CHECK(values_error(two + statement + "tolerance 1e-5").empty());
  CHECK(values_error(two + statement + "check y[i] = x[i]").empty());
  CHECK(values_error(statement + two + "check y = y.npy\ntolerance 0").empty());
  const Family of_first = family(two + statement + "tolerance 1e-5");
  CHECK_THAT(of_first.tolerance_derivation,
             contains_text("Expected values: y from the first variant, slow, count from the first "
                           "variant, slow; "));
  CHECK(of_first.buffers.at(1).has_reference);
  // A kernel may be called `first`.
  CHECK(values_error(two + "reference first<<<1, 1>>>")
            .starts_with("k.cu:6:22: the file has no kernel 'first'"));
  struct Case {
    std::string statements;
    std::string error;
  };
  for (const Case& c :
       {Case{two + "reference first",
             "k.cu:6:22: the expected values of y have rounding errors that are "
             "not known; declare a tolerance, such as 'tolerance 1e-5', relative "
             "to the largest expected magnitude, or 'tolerance 0' if they are exact"},
        Case{two + statement + statement,
             "k.cu:7:12: the reference is declared twice, first in line 6"},
        Case{two + statement + "reference counted<<<1, 1>>>",
             "k.cu:7:12: the reference is declared twice, first in line 6"},
        Case{two + "reference counted<<<1, 1>>>\n" + statement,
             "k.cu:7:12: the reference is declared twice, first in line 6"},
        Case{two + statement + "check y[i] = x[i]\ncheck count = c.npy",
             "k.cu:6:22: the reference gives no expected values, because every output that it "
             "writes has a check; remove the reference or a check"},
        Case{kTwice + "reference first",
             "k.cu:5:22: 'reference first' compares other variants with the first, but twice is "
             "the only variant; declare another one, a check, or 'reference KERNEL<<<GRID, "
             "BLOCK>>>'"}}) {
    CAPTURE(c.statements);
    CHECK(values_error(c.statements) == c.error);
  }
}

std::string problem_error(const std::string& statements) {
  const Family declared = family(statements);
  try {
    declared.make_problem(declared.defaults());
  } catch (const DeclarationError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a check of which few elements take minutes is refused before anything runs",
          "[expected_values]") {
  const auto error = [](const std::string& n, const std::string& y, const std::string& check) {
    return problem_error("n = " + n + "\nin x[n]\nout y[" + y + "]\ntwice<<<1, 64>>>\ntolerance " +
                         "1e-5\ncheck " + check);
  };
  // A sum of n terms in each of n elements, and a sum of 2^30 terms in one element.
  CHECK(error("2^20", "n", "y[i] = sum(k < n: x[k]*x[i])").empty());
  CHECK(error("2^30", "1", "y[i] = sum(k < n: x[k])").empty());
  CHECK(error("2^14", "n", "y[i] = sum(k < n: sum(l < n: x[l])*x[k])").empty());
  CHECK(error("2^14", "n", "y[i] = sum(k < n: sum(l < n: x[l] + x[k]))") ==
        "k.cu:6:18: the check of y needs 1.61 billion operations for one element, and at least "
        "1024 elements are evaluated; expected at most 2^40 operations in total: choose a smaller "
        "problem, or declare expected values that are computed once, by 'reference "
        "KERNEL<<<GRID, BLOCK>>>' or 'check y = FILE.npy'");
  CHECK_THAT(error("2^20", "1", "y[i] = sum(k < n: sum(l < n: x[l] + x[k]))"),
             contains_text("operations for one element, at least 25.8 billion of them one after "
                           "another; expected at most 2^28"));
  CHECK_THAT(error("1000", "1", "y[i] = sum(j < n: sum(k < n: sum(l < n: x[l] + x[k] + x[j])))"),
             contains_text("at least 9 billion of them one after another"));
}

TEST_CASE("floating-point values of a reference or a file need a tolerance", "[expected_values]") {
  const std::string missing =
      ": the expected values of y have rounding errors that are not known; declare a tolerance, "
      "such as 'tolerance 1e-5', relative to the largest expected magnitude, or 'tolerance 0' if "
      "they are exact";
  CHECK(values_error(kTwice + "reference serial<<<1, 1>>>") == "k.cu:5:22" + missing);
  CHECK(values_error(kTwice + "check y = y.npy") == "k.cu:5:22" + missing);
  CHECK(values_error(kTwice + "reference serial<<<1, 1>>>\ntolerance 1e-5").empty());
  CHECK(values_error(kTwice + "check y = y.npy\ntolerance 1e-5").empty());
  const std::string counted = "x[64]\nout count[1]\ncounted<<<1, 64>>>\n";
  CHECK(values_error(counted + "reference counted<<<1, 1>>>").empty());
  CHECK(values_error(counted + "check count = count.npy").empty());
}

TEST_CASE("each output has one origin of its expected values", "[expected_values]") {
  const std::string two = "x[64]\nout y[64]\nout count[1]\nboth<<<1, 64>>>\n";
  CHECK(values_error(two + "check y[i] = x[i]\nreference counted<<<1, 1>>>").empty());
  // Without expected values of y, its rows are unverified.
  CHECK(values_error(two + "reference counted<<<1, 1>>>").empty());
  CHECK(values_error(two + "check y[i] = x[i]\ncheck count = c.npy\nreference counted<<<1, 1>>>") ==
        "k.cu:7:22: the reference gives no expected values, because every output that it writes "
        "has a check; remove the reference or a check");
  CHECK(values_error(kTwice + "check x = x.npy\ncheck y = y.npy") ==
        "k.cu:5:18: 'x' is an input, and not an output, because launches pass it only to const "
        "pointers; if a kernel writes it, remove const from its parameter, and declare 'in_out "
        "x[n]'; outputs: y");
}

TEST_CASE("a reference has the buffers of the variants", "[expected_values]") {
  CHECK(values_error(kTwice + "reference seriel<<<1, 1>>>")
            .starts_with("k.cu:5:22: the file has no kernel 'seriel'; did you mean 'serial'?"));
  CHECK(values_error(kTwice + "reference serial<<<m, 1>>>")
            .starts_with("k.cu:5:31: 'm' has no value"));
  CHECK(
      values_error(kTwice + "reference of_doubles<<<1, 1>>>\ntolerance 0")
          .starts_with(
              "k.cu:5:22: x has elements of type fp64 in this launch and fp32 in a launch above"));
  CHECK_THAT(
      values_error("n = 64\nx[n]\nout y[n]\ntwice<<<1, 64>>>\nreference twice<<<1, 1>>>(y, y, n)"),
      contains_text("'y' is an output without contents before the launch"));
  // Parameters that only the reference uses are used.
  CHECK(values_error(kTwice + "m = 1\nreference serial<<<m, 1>>>(x, y, n)\ntolerance 0").empty());
}

}  // namespace
}  // namespace gpuexp::own
