// The runner's second verification of users' kernels, errors of their checks, and the flags of
// checks that could miss a wrong result.
#include <cmath>

#include "record/flags.hpp"
#include "run/record_of.hpp"
#include "run/runner.hpp"
#include "support/catch.hpp"
#include "support/toy_run.hpp"

namespace gpuexp::test {
namespace {

/// The toy family as a user's kernel file.
struct OwnToyRun : ToyRun {
  Family exact = toy_family();
  ExactVerification answer;
  std::string check_error;
  KernelFiles files;

  OwnToyRun() : ToyRun({"first", "second"}) {
    family.id = "toy.cu";
    exact.id = "toy.cu (exact sums)";
    answer.family = &exact;
    files.exact_verification = [this](const Family& of, const Values&) {
      CHECK(&of == &family);
      return answer;
    };
    files.check_error = [this](const Family&, const Values&, std::uint64_t,
                               const std::string& output, std::int64_t element) {
      return check_error.empty() ? "" : check_error + output + std::to_string(element);
    };
    options.kernel_files = &files;
    options.kind = RunKind::verify;
  }
};

Verification wrong(double expected) {
  Verification v;
  v.elements = v.checked = 8;
  v.wrong = 1;
  v.first_wrong.push_back({"y", 3, expected, 2.0, 0});
  return v;
}

Verification zeros_in(const std::vector<ZeroShare>& shares) {
  Verification v;
  v.zero_shares = shares;
  return v;
}

bool is_flagged(const Row& row, const Flag& flag) {
  return std::ranges::find(row.flags, flag.id) != row.flags.end();
}

TEST_CASE("users' kernels are first verified with exact sums", "[exact_verification]") {
  OwnToyRun run;
  const auto rows = run.run();
  CHECK(run.executor.calls ==
        std::vector<std::string>{"set_up 1", "poison first", "launch first warm", "check first",
                                 "poison second", "launch second warm", "check second", "set_up 1",
                                 "poison first", "launch first warm", "check first",
                                 "poison second", "launch second warm", "check second"});
  for (const Row& row : rows) {
    CHECK(row.status == Status::passed);
    CHECK_FALSE(is_flagged(row, kHiddenTerms));
  }
}

TEST_CASE("a kernel that fails only with exact sums is incorrect", "[exact_verification]") {
  OwnToyRun run;
  run.options.kind = RunKind::measure;
  run.executor.verification = [](const std::string& variant, int n) {
    return variant == "first" && n == 0 ? wrong(1) : Verification{};
  };
  const auto rows = run.run();
  CHECK(rows[0].status == Status::incorrect);
  CHECK(rows[0].reason ==
        "1 of 8 elements is wrong; first y[3]: expected 1, got 2, must be exact (with small whole "
        "numbers as inputs, whose sums are exact)");
  CHECK(run.executor.samples_of("first") == 0);
  CHECK(rows[1].status == Status::passed);
}

TEST_CASE("the variant with which others are compared is unverified", "[exact_verification]") {
  const auto is_first = [](const Family& of, const Variant& variant) {
    return variant.id == "first" ? std::vector<std::string>{of.buffers.back().name}
                                 : std::vector<std::string>();
  };
  OwnToyRun run;
  run.answer.family = nullptr;
  run.files.compared_with_itself = is_first;
  const std::string output = run.family.buffers.back().name;
  const auto rows = run.run();
  CHECK(rows[0].status == Status::unverified);
  CHECK(rows[0].reason ==
        "the expected values of " + output + " come from a launch of the same kernels");
  CHECK(!rows[0].verification);
  CHECK(rows[1].status == Status::passed);
  CHECK(rows[1].verification);
  // Launches of one kernel with different results are wrong.
  OwnToyRun varies;
  varies.answer.family = nullptr;
  varies.files.compared_with_itself = is_first;
  varies.executor.verification = [](const std::string&, int) { return wrong(1); };
  CHECK(varies.run()[0].status == Status::incorrect);
}

TEST_CASE("a NaN may be due to an output that the kernel reads", "[exact_verification]") {
  const auto reason = [](const Mismatch& mismatch, bool has_unchecked) {
    OwnToyRun run;
    run.answer.family = nullptr;
    run.family.buffers.push_back(run.family.buffers.back());
    run.family.buffers.back().name = "w";
    run.family.buffers.back().has_reference = !has_unchecked;
    run.executor.verification = [&](const std::string&, int) {
      Verification v = wrong(1);
      v.first_wrong = {mismatch};
      return v;
    };
    return run.run()[0].reason;
  };
  const std::string hint =
      "; w is an output without contents: declare it as 'in w' if the kernel only reads it";
  CHECK(reason({"y", 3, 1, std::nan(""), 0}, true).ends_with(hint));
  CHECK(!reason({"y", 3, 1, std::nan(""), 0}, false).ends_with(hint));
  CHECK(!reason({"y", 3, 1, std::nan(""), 0, true}, true).ends_with(hint));
  CHECK(!reason({"y", 3, 1, 2, 0}, true).ends_with(hint));
}

TEST_CASE("without exact sums a row says that a term could be missing", "[exact_verification]") {
  OwnToyRun run;
  run.answer = {nullptr, "no contents make the sums exact"};
  const auto rows = run.run();
  CHECK(is_flagged(rows[0], kHiddenTerms));
  CHECK(std::ranges::count(run.executor.calls, "set_up 1") == 1);
  OwnToyRun unneeded;
  unneeded.answer = {nullptr, ""};
  CHECK_FALSE(is_flagged(unneeded.run()[0], kHiddenTerms));
  OwnToyRun built_in;
  built_in.family.id = "toy";
  CHECK_FALSE(is_flagged(built_in.run()[0], kHiddenTerms));
  CHECK(std::ranges::count(built_in.executor.calls, "set_up 1") == 1);
}

TEST_CASE("an error of a check is no error of the kernel", "[exact_verification]") {
  for (const int failing : {0, 1}) {  // with exact sums, and as declared
    CAPTURE(failing);
    OwnToyRun run;
    run.check_error = "k.cu:1:1: the check of ";
    run.executor.verification = [&](const std::string&, int n) {
      return n == failing ? wrong(std::nan("")) : Verification{};
    };
    const auto rows = run.run();
    CHECK(rows[0].status == Status::failed);
    CHECK(rows[0].reason == "k.cu:1:1: the check of y3");
  }
  OwnToyRun right;  // a right check: the kernel is wrong
  right.executor.verification = [](const std::string&, int) { return wrong(std::nan("")); };
  CHECK(right.run()[0].status == Status::incorrect);
}

TEST_CASE("a check that zeros would pass has a flag", "[exact_verification]") {
  const auto flagged = [](double share, const std::string& id) {
    OwnToyRun run;
    run.family.id = id;
    run.executor.verification = [&](const std::string&, int) { return zeros_in({{"y", share}}); };
    return is_flagged(run.run()[0], kZerosPass);
  };
  CHECK(flagged(1, "toy.cu"));
  CHECK(flagged(0.75, "toy.cu"));
  CHECK_FALSE(flagged(0.5, "toy.cu"));  // as of a ReLU
  CHECK_FALSE(flagged(1, "toy"));
}

TEST_CASE("a check whose exact sums refuse zeros has no flag", "[exact_verification]") {
  using Shares = std::vector<ZeroShare>;
  const auto flagged = [](const Shares& exact, const Shares& declared, RunKind kind) {
    OwnToyRun run;
    run.options.kind = kind;
    run.executor.verification = [&](const std::string&, int n) {
      return zeros_in(n == 0 ? exact : declared);
    };
    return is_flagged(run.run()[0], kZerosPass);
  };
  for (const RunKind kind : {RunKind::verify, RunKind::measure}) {
    CHECK_FALSE(flagged({{"y", 0.01}}, {{"y", 1}}, kind));
    CHECK_FALSE(flagged({{"y", 1}}, {{"y", 0.01}}, kind));
    CHECK(flagged({{"y", 1}}, {{"y", 1}}, kind));
    // Each output is refused by one of both verifications.
    CHECK_FALSE(flagged({{"y", 0}, {"z", 1}}, {{"y", 1}, {"z", 0}}, kind));
    CHECK(flagged({{"y", 0}, {"z", 1}}, {{"y", 1}, {"z", 1}}, kind));
  }
}

TEST_CASE("without a bound on the RMS error its ratio is empty", "[exact_verification]") {
  for (const bool has_bound : {true, false}) {
    OwnToyRun run;
    run.executor.verification = [&](const std::string&, int) {
      Verification v;
      v.add_rms({"y", 0.5, has_bound ? 1.0 : INFINITY});
      return v;
    };
    const auto rows = run.run();
    const ResultRecord record = record_of(empty_table(run.plan), run.plan, rows[0]);
    CHECK(record.error_rms_over_allowed.has_value() == has_bound);
  }
}

}  // namespace
}  // namespace gpuexp::test
