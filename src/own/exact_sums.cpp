#include "own/exact_sums.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "own/check_ranges.hpp"
#include "own/check_tolerance.hpp"

namespace gpuexp::own {

namespace {

/// Share of an average term that the bound of an output may reach without a second verification.
constexpr double kMaxHiddenShare = 1.0 / 16;

ErrorTerms error_terms(const Bound& bound, std::size_t output, const OwnProblem& problem) {
  return bound.check_of(output)->check.terms(problem.names, problem.extents[output]);
}

/// Whether a kernel that omits an average term of a sum could pass.
bool hides_terms(const Bound& bound, std::size_t output, const OwnProblem& problem) {
  if (is_integer(bound.buffers[output].type)) return false;
  const double summed = error_terms(bound, output, problem).summed;
  return tolerance_of(bound, output, problem).relative * summed > kMaxHiddenShare;
}

/// The range of a buffer's contents; empty if they are not whole numbers.
std::optional<Range> whole_range(const Bound& bound, std::size_t buffer,
                                 const OwnProblem& problem) {
  constexpr std::uint64_t kAnySeed = 0;
  if (bound.buffers[buffer].declared.array) return std::nullopt;
  const FillProgram fill = fill_of(bound, buffer, problem, kAnySeed);
  switch (fill.kind) {
    case FillKind::integers:
      return Range{static_cast<double>(fill.low), static_cast<double>(fill.high) - 1};
    case FillKind::nonzero:
      return Range{-static_cast<double>(fill.high), static_cast<double>(fill.high)};
    case FillKind::iota: return Range{0, static_cast<double>(problem.count(buffer) - 1)};
    case FillKind::zeros: return Range{0, 0};
    case FillKind::constant:
      if (fill.from == std::floor(fill.from)) return Range{fill.from, fill.from};
      break;
    case FillKind::uniform:
    case FillKind::normal: break;
  }
  return std::nullopt;
}

/// The sums of an output's check, for contents of a problem.
class SumsOfCheck {
 public:
  SumsOfCheck(const Bound& bound, std::size_t output, const OwnProblem& problem)
      : bound_(bound),
        output_(output),
        problem_(problem),
        ranges_(problem.names, [this](const Node& node) { return range_of(node); }) {
    const Check& check = bound.check_of(output)->check;
    for (std::size_t d = 0; d < check.indices().size(); ++d)
      ranges_.push_index(check.indices()[d], static_cast<double>(problem.extents[output][d]) - 1);
  }

  /// Whether all elements that the check reads are whole, and no operation rounds.
  bool are_exact() {
    const Check& check = bound_.check_of(output_)->check;
    const Node& root = check.expression().root();
    for (const std::string& name : check.names()) {
      const auto buffer = bound_.buffer_named(name);
      if (buffer && !whole_range(bound_, *buffer, problem_)) return false;
    }
    const double unit = ranges_.unit(root);
    const double roundoff = unit_roundoff(computing_type(bound_.buffers[output_].type));
    return unit > 0 && ranges_.magnitude(root) <= unit / roundoff;
  }

 private:
  Range range_of(const Node& node) const {
    const auto buffer = bound_.buffer_named(node.name);
    if (!buffer) return all_numbers();
    return whole_range(bound_, *buffer, problem_).value_or(all_numbers());
  }

  const Bound& bound_;
  std::size_t output_;
  const OwnProblem& problem_;
  CheckRanges ranges_;
};

/// Results of 16-bit types have few bits. With signs, sums are small enough to show a single term.
bool needs_signs(const Bound& bound, const std::vector<std::size_t>& outputs) {
  return std::ranges::any_of(outputs,
                             [&](std::size_t i) { return size_of(bound.buffers[i].type) == 2; });
}

}  // namespace

ExactSums exact_sums_of(const Bound& bound, const OwnProblem& problem) {
  ExactSums sums;
  if (!problem.unmet.empty()) return sums;
  std::vector<std::size_t> outputs;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    if (is_output(bound.buffers[i].role) && bound.check_of(i) && hides_terms(bound, i, problem))
      outputs.push_back(i);
  }
  sums.are_needed = !outputs.empty();
  if (!sums.are_needed) return sums;
  if (bound.tolerance) {
    sums.why_not = fmt::format("the file declares a tolerance of {}", *bound.tolerance);
    return sums;
  }
  if (!bound.expected_files.empty()) {
    sums.why_not = fmt::format("the expected values of {} are those of a file",
                               bound.expected_files.front().output);
    return sums;
  }
  // The largest numbers first: they show more mistakes, such as an element that is read twice.
  for (const std::int64_t largest : {16, 8, 4, 3, 2, 1}) {
    OwnProblem exact = problem;
    exact.contents = {largest, needs_signs(bound, outputs)};
    const bool are_exact = std::ranges::all_of(
        outputs, [&](std::size_t i) { return SumsOfCheck(bound, i, exact).are_exact(); });
    if (!are_exact) continue;
    sums.contents = exact.contents;
    return sums;
  }
  sums.why_not = "no contents of the inputs make the sums exact";
  return sums;
}

}  // namespace gpuexp::own
