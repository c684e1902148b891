// Checks of kernel files: what they may read, their tolerances, and contents for which they are
// exact.
#include <algorithm>
#include <cmath>
#include <set>

#include "own/check_errors.hpp"
#include "own/exact_sums.hpp"
#include "support/own_declarations.hpp"

namespace gpuexp::own {
namespace {

const std::string kInput =
    "'x' is an input, and not an output, because launches pass it only to const pointers; if a "
    "kernel writes it, remove const from its parameter, and declare 'in_out x[n]'; outputs: z";
const std::string kReadsOutput =
    "6:32: 'z' is the output; before(z[...]) is its value before the launch";

TEST_CASE("checks that do not fit the buffers", "[own_checks]") {
  check_cases(
      {{"n = 4\nx[n] y[n] z[n]\nadd<<<1, 4>>>", ""},
       {kAdd + "\ncheck x[i] = 1", "7:18: " + kInput},
       {add_with("z[i] = x[i]", "x[i] = x[i]"), "6:18: " + kInput},
       {add_with("+ y[i]", "+ z[i]"), kReadsOutput + ", if it is declared as 'in_out z[n]'"},
       {add_with("+ y[i]", "+ z"), kReadsOutput + ", if it is declared as 'in_out z[n]'"},
       {replaced(add_with("z[n]", "in_out z[n]"), "+ y[i]", "+ z[i]"), kReadsOutput},
       {"a = 2\nin x[4]\nz[4]\nscale<<<1, 4>>>\ncheck x[i] = 2*x[i]",
        "5:18: 'x' is an input, and not an output, because it is declared as 'in x[4]'; if a "
        "kernel writes it, declare 'in_out x[4]'; outputs: z"},
       {kAdd + "\ncheck zz[i] = 1", "7:18: 'zz' is not an output; did you mean 'z'? allowed: z"},
       {add_with("z[i] =", "z[i][j] ="), "6:18: 'z' has 1 dimension, found 2 indices"},
       {add_with("+ y[i]", "+ y[i][i]"), "6:32: 'y' has 1 dimension, found 2 indices"},
       {add_with("+ y[i]", "+ v[i]"), "6:32: unknown buffer 'v'; allowed: x, y"},
       {add_with("+ y[i]", "+ m"), "6:32: unknown name 'm'; allowed: i, n"},
       {add_with("+ y[i]", "+ before(z[i])"),
        "6:32: before(z[...]) needs the value of 'z' before the launch; declare the buffer as "
        "in_out"},
       {add_with("z[i] = x[i]", "z[n] = x[n]"),
        "6:18: the index 'n' has the name of a parameter; rename the index"},
       {add_with("+ y[i]", "+ sum(k < y[i]: 1)"),
        "6:18: the number of terms of a sum depends on a buffer, so no tolerance can be derived; "
        "declare one, such as 'tolerance 1e-5'"},
       {add_with("+ y[i]", "+ sum(k < y[i]: 1)") + "\ntolerance 0.1", ""},
       {"a = 2\nx[4]\nz[4]\nw[4]\nz1 = scale<<<1, 4>>>\nz2 = scale<<<1, 4>>>(w, x, a)\n"
        "check z[i] = a*x[i]\ncheck w[i] = z[i]",
        "8:25: 'z' is an output; a check can read inputs, and in_out buffers before the launch, as "
        "before(z[...]): write the expression of z instead"},
       {chain_with("w[n]", "workspace w[n]"), "8:18: 'w' is not an output; allowed: z"},
       {replaced(chain_with("z[n]", "workspace z[n]"),
                 "check z[i] = a*x[i]\ncheck w[i] = x[i] + a*x[i]", "check w[i] = x[i] + z[i]"),
        "7:32: 'z' is a workspace, without contents before the launch; a check can read inputs"}});
}

TEST_CASE("outputs without a check have no reference", "[own_checks]") {
  const Family f = family(
      "n = 4\nx[n] y[n] z[n] w[n]\nadd<<<1, 4>>>\nboth = add<<<1, 4>>>; add<<<1, 4>>>(x, z, w, n)\n"
      "check w[i] = 2*x[i] + y[i]");
  CHECK(!f.buffers[2].has_reference);
  CHECK(!f.buffers[2].tolerance);
  CHECK(f.buffers[3].has_reference);
  const auto problem = f.make_problem(f.defaults());
  CHECK(f.reference_operations(problem.get()) > 0);
  std::vector<double> values(8);
  const auto data = f.make_data(RankBuffers(0, {std::vector<void*>(4)}));
  CHECK(f.reference(problem.get(), data.get(), {{}, {values.data(), values.data() + 4}})
            .all()
            .size() == 1);
  CHECK(f.reference(problem.get(), data.get(), {{}, {}}).all().empty());
}

Tolerance tolerance(const std::string& statements) {
  const Family f = family(statements);
  const auto problem = f.make_problem(f.defaults());
  const auto output =
      std::ranges::find_if(f.buffers, [](const Buffer& b) { return is_output(b.role); });
  return output->tolerance(problem.get());
}

TEST_CASE("the reference's operations include the terms of sums", "[own_checks]") {
  const auto operations = [](const std::string& statements) {
    const Family f = family(statements);
    return f.reference_operations(f.make_problem(f.defaults()).get());
  };
  const double of_sum = operations(kAdd);
  CHECK(of_sum >= 1000 * 3);
  CHECK(operations(replaced(kAdd, "+ y[i]", "+ sum(k < n: y[k])")) > 500 * of_sum);
  CHECK(operations(kAdd + "\nrequire n < 4") == 0);
}

TEST_CASE("long sums of random sign need other contents or a tolerance", "[own_checks]") {
  const auto sum = [](const std::string& n, const std::string& x) {
    return "n = " + n + "\n" + x + "\ny[n] z[4]\nadd<<<1, 4>>>\ncheck z[i] = sum(k < n: x[k])";
  };
  check_cases(
      {{sum("2^18", "x[n]"), ""},
       // A second verification with exact sums finds wrong results up to 2^24 terms.
       {sum("2^24", "x[n]"), ""},
       {sum("2^24 + 1", "x[n]"),
        "5:18: a sum has 16777217 terms, and x has contents of random sign: they cancel, so a "
        "wrong "
        "result could be within the bound on rounding errors; declare contents such as 'in x[n] = "
        "uniform(0, 1)', or a tolerance"},
       {sum("2^25", "in x[n] = uniform(0, 1)"), ""},
       {sum("2^25", "x[n]") + "\ntolerance 1e-6", ""}});
}

ExactSums exact_sums(const std::string& statements) {
  const SharedBound b = bound(statements);
  Values values;
  for (const DeclaredParameter& parameter : b->parameters)
    values.push_back(parameter.values.front());
  return exact_sums_of(*b, problem_of(*b, values));
}

TEST_CASE("long sums are verified with contents for which they are exact", "[own_checks]") {
  const auto sum = [](const std::string& n, const std::string& check = "sum(k < n: x[k])",
                      const std::string& x = "in x[n]") {
    return exact_sums("n = " + n + "\n" + x +
                      "\nin y[n]\nz[4]\nadd<<<1, 4>>>\ncheck z[i] = " + check);
  };
  // The bound of 1024 terms is below a sixteenth of a term, that of 4096 is not.
  CHECK_FALSE(sum("1024").are_needed);
  CHECK(sum("4096").are_needed);
  // Below 2^24 fp32 represents each sum of the largest numbers.
  for (const auto& [n, largest] : std::vector<std::pair<std::string, std::int64_t>>{
           {"2^20", 16}, {"2^20 + 1", 8}, {"2^22", 4}, {"2^24", 1}, {"2^24 + 1", 0}}) {
    CAPTURE(n);
    const ExactSums sums = sum(n);
    CHECK(sums.contents.largest == largest);
    CHECK_FALSE(sums.contents.have_signs);
    CHECK(sums.why_not == (largest > 0 ? "" : "no contents of the inputs make the sums exact"));
  }
  CHECK(sum("2^20", "sum(k < n: x[k]*y[k])").contents.largest == 4);
  CHECK(sum("2^12", "sum(k < n: x[k]*y[i])").contents.largest == 16);
  CHECK(sum("2^20", "0.5*sum(k < n: x[k])").contents.largest == 16);
  CHECK(sum("2^20", "0.5*sum(k < n: x[k]) + y[i]").contents.largest == 8);
  // A kernel may multiply or divide each term instead of the sum, which rounds.
  for (const char* check : {"0.1*sum(k < n: x[k])", "sum(k < n: x[k]) / n", "sum(k < n: exp(x[k]))",
                            "sum(k < n: x[k]/3)", "sum(k < n: 0.1*x[k])"}) {
    CAPTURE(check);
    CHECK(sum("2^16", check).are_needed);
    CHECK(sum("2^16", check).contents.largest == 0);
  }
  // Contents that are not random stay.
  CHECK(sum("2^16", "sum(k < n: x[k])", "in x[n] = 3").contents.largest == 16);
  CHECK(sum("2^16", "sum(k < n: x[k])", "in x[n] = 0.5").contents.largest == 0);
  CHECK(sum("2^16", "sum(k < n: x[k])", "in x[n] = iota").contents.largest == 0);
}

TEST_CASE("a declared tolerance has no exact sums", "[own_checks]") {
  const ExactSums sums = exact_sums(
      "n = 2^16\nin x[n]\nin y[n]\nz[4]\nadd<<<1, 4>>>\ncheck z[i] = sum(k < n: x[k])\n"
      "tolerance 1e-5");
  CHECK(sums.are_needed);
  CHECK(sums.contents.largest == 0);
  CHECK(sums.why_not == "the file declares a tolerance of 1e-05");
}

TEST_CASE("exact contents replace random contents of floating-point buffers", "[own_checks]") {
  const SharedBound b = bound(
      "n = 2^16\nx[n]\nin y[n] = uniform(0, 1)\nz[4]\nadd<<<1, 4>>>\n"
      "check z[i] = sum(k < n: x[k]) + y[i]");
  OwnProblem problem = problem_of(*b, {std::int64_t{1} << 16});
  problem.contents = {4, true};
  const FillProgram x = fill_of(*b, 0, problem, 1);
  const FillProgram y = fill_of(*b, 1, problem, 1);
  CHECK(x.kind == FillKind::nonzero);
  CHECK(y.kind == FillKind::integers);
  std::set<double> of_x, of_y;
  for (int i = 0; i < 1000; ++i) {
    of_x.insert(fill_value(x, i));
    of_y.insert(fill_value(y, i));
  }
  CHECK(of_x == std::set<double>{-4, -3, -2, -1, 1, 2, 3, 4});
  CHECK(of_y == std::set<double>{1, 2, 3, 4});
}

/// The error of the check of `whole`, whose output z has 4 integers; empty if there is none.
std::string error_of_check(const std::string& check, std::int64_t element,
                           const std::string& x = "x[2][4] = iota") {
  const SharedBound b = bound(x + "\nz[4]\nwhole<<<1, 4>>>(z, x, 4)\ncheck z[i] = " + check);
  return check_error(*b, problem_of(*b, {}), 7, 1, element);
}

TEST_CASE("errors of a check name its place, and the index or the functions to use",
          "[own_checks]") {
  struct CheckError {
    const char* check;
    std::int64_t element;
    const char* message;  ///< "": none
  };
  const std::vector<CheckError> cases{
      {"x[1][i]", 3, ""},
      {"x[1][i + 1]", 2, ""},
      {"x[1][i + 1]", 3,
       "k.cu:4:25: the check of z[3] reads index 4 of dimension 2 of x, which is out of range; "
       "expected 0 to 3"},
      {"1 + x[i - 1][0]", 0,
       "k.cu:4:29: the check of z[0] reads index -1 of dimension 1 of x, which is out of range; "
       "expected 0 to 1"},
      {"x[1][i] / 2", 0, ""},
      {"x[1][i] / 2", 1,
       "k.cu:4:33: the check of z[1] is 2.5, but elements of type int32 are whole numbers; in a "
       "check, / divides real numbers: write trunc(a / b), which rounds as C does, or "
       "floor_div(a, b)"},
      {"trunc(x[1][i] / 2)", 1, ""},
      {"0.5*x[1][i]", 1,
       "k.cu:4:28: the check of z[1] is 2.5, but elements of type int32 are whole numbers; write "
       "rint(…), trunc(…), floor(…) or ceil(…)"},
      {"2^40 * (2^13 + x[0][i])", 0,
       "k.cu:4:30: the check of z[0] has the result 9007199254740992; checks compute in fp64, "
       "which represents each whole number only below 2^53"},
      {"log(-1)", 0,
       "k.cu:4:25: the check of z[0] is NaN, which no result equals; declare other contents of "
       "its inputs"}};
  for (const CheckError& c : cases) {
    INFO(c.check << " at " << c.element);
    CHECK(error_of_check(c.check, c.element) == c.message);
  }
}

TEST_CASE("the default tolerance counts roundings", "[own_checks]") {
  const double u = 0x1p-24;
  const Tolerance add = tolerance(kAdd);
  CHECK(add.relative == Approx(1.01 * u + u));
  CHECK(add.absolute == Approx(2 * 0x1p-150));
  CHECK(std::isinf(add.rms_absolute));
  const auto sum = [](const std::string& n) {
    return tolerance("n = " + n +
                     "\nin x[n] = iota\ny[n] z[4]\nadd<<<1, 4>>>\ncheck z[i] = sum(k < n: x[k])");
  };
  CHECK(sum("64").relative == Approx(64 * 1.01 * u + u));
  CHECK(sum("2^20").relative == Approx(9.9 * 1024 * 1.01 * u + u));
  CHECK(tolerance(kAdd + "\ntolerance 0.01").relative == 0.01);
  CHECK(tolerance(kAdd + "\ntolerance 0.01").absolute == 0x1p-150);
  CHECK(tolerance(kAdd + "\noption --use_fast_math").absolute == Approx(0x1p-126));
  const Tolerance whole = tolerance("x[4] z[4]\nwhole<<<1, 4>>>(z, x, 4)\ncheck z[i] = x[i] + 1");
  CHECK(whole.relative == 0);
  CHECK(whole.absolute == 0);
  CHECK_THAT(family(kAdd).tolerance_derivation, contains_text("(n + k)·u·magnitude"));
  CHECK(family(kAdd + "\ntolerance 0.01").tolerance_derivation ==
        "The file declares a tolerance of 0.01, relative to the magnitude of the expected value. "
        "Half the smallest number of the output's type is added.");
}

}  // namespace
}  // namespace gpuexp::own
