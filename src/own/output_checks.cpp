#include "own/output_checks.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "family/draw_limits.hpp"
#include "own/check_costs.hpp"
#include "own/check_tolerance.hpp"
#include "own/exact_sums.hpp"
#include "own/work_amounts.hpp"

namespace gpuexp::own {

namespace {

// ---- sums that cancel

/// The first input of the check with contents of random sign; null if there is none.
const BoundBuffer* zero_mean_input(const Bound& bound, const Check& check) {
  const std::set<std::string> names = check.names();
  for (const BoundBuffer& buffer : bound.buffers) {
    const auto& fill = buffer.declared.fill;
    const bool has_signs =
        !fill || fill->kind == FillKind::normal || (fill->kind == FillKind::uniform && !fill->low);
    if (has_signs && !is_integer(buffer.type) && names.contains(buffer.declared.name))
      return &buffer;
  }
  return nullptr;
}

/// Refuses what a second verification with exact sums (exact_sums.hpp) does not find either. Sums
/// of n terms of random sign are about √(n/3), and their bound in fp32 is 9.9·√n·2^-24·n/2. At
/// 2^18 terms the bound is a tenth of the sum, so that 0 passes with a probability of 10 %.
void refuse_cancellation(const Bound& bound, std::size_t output, const OwnProblem& problem) {
  constexpr double kMaxTerms = 0x1p18;
  const DataType type = bound.buffers[output].type;
  if (bound.tolerance || is_integer(type) || type == DataType::fp64) return;
  const DeclaredCheck& check = *bound.check_of(output);
  const double terms = check.check.terms(problem.names, problem.extents[output]).summed;
  const BoundBuffer* const input = zero_mean_input(bound, check.check);
  if (terms <= kMaxTerms || !input || exact_sums_of(bound, problem).contents.largest > 0) return;
  fail(bound.file, check.place,
       fmt::format("a sum has {:.0f} terms, and {} has contents of random sign: they cancel, so a "
                   "wrong result could be within the bound on rounding errors; declare contents "
                   "such as 'in {} = uniform(0, 1)', or a tolerance",
                   terms, input->declared.name, text_of(input->declared)));
}

// ---- costs

// On one core of an AMD EPYC, an interpreted instruction took 4 to 10 ns: 2 to 5 of the 5·10^8
// operations per second that the simulated executor expects. On a GPU it is not measured. An
// estimate that is too high compares fewer elements, but never takes longer than expected.
constexpr double kPerInstruction = 20;

/// "0.5 million", "69 billion".
std::string count_text(double count) {
  return count < 1e9 ? fmt::format("{:.3g} million", count / 1e6)
                     : fmt::format("{:.3g} billion", count / 1e9);
}

/// Refuses checks whose evaluation would take minutes on a GPU, although few elements are
/// evaluated.
void refuse_cost(const Bound& bound, std::size_t output, const OwnProblem& problem) {
  constexpr double kMaxOperations = 0x1p40;  // for the minimum number of drawn elements
  constexpr double kMaxInSequence = 0x1p28;  // a thread of an H200 executes 3·10^6 in a second
  const CheckCost cost = cost_of(bound, output, problem);
  const double elements = std::min(kMinDrawnElements, static_cast<double>(problem.count(output)));
  const bool is_sequence = cost.in_sequence > kMaxInSequence;
  if (!is_sequence && elements * cost.operations <= kMaxOperations) return;
  const DeclaredCheck& check = *bound.check_of(output);
  const std::string limit =
      is_sequence ? fmt::format("at least {} of them one after another; expected at most 2^28",
                                count_text(cost.in_sequence))
                  : fmt::format(
                        "and at least {:.0f} elements are evaluated; expected at most 2^40 "
                        "operations in total",
                        elements);
  fail(bound.file, check.place,
       fmt::format("the check of {0} needs {1} operations for one element, {2}: choose a smaller "
                   "problem, or declare expected values that are computed once, by 'reference "
                   "KERNEL<<<GRID, BLOCK>>>' or 'check {0} = FILE.npy'",
                   bound.buffers[output].declared.name, count_text(cost.operations), limit));
}

}  // namespace

void check_problem(const Bound& bound, const OwnProblem& problem) {
  if (!problem.unmet.empty()) return;
  const OwnData no_data{std::vector<void*>(bound.buffers.size(), nullptr)};
  for (const BoundVariant& variant : bound.variants)
    steps_of(bound, variant, problem, no_data);
  for (const BoundVariant& variant : bound.variants)
    work_of(bound, variant, problem);
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const BufferRole role = bound.buffers[i].role;
    if (role == BufferRole::input || role == BufferRole::in_out) fill_of(bound, i, problem, 0);
  }
  for (const std::size_t output : bound.checked_outputs()) {
    program_of(bound, output, problem, no_data);
    tolerance_of(bound, output, problem);
    refuse_cancellation(bound, output, problem);
    refuse_cost(bound, output, problem);
  }
}

CompiledCheck compiled_check(const Bound& bound, std::size_t output, const OwnProblem& problem,
                             const OwnData& data) {
  CompiledCheck compiled = compiled_without_rounding(bound, output, problem, data);
  set_rounding(bound, output, problem, compiled.program.rounding);
  return compiled;
}

CheckProgram program_of(const Bound& bound, std::size_t output, const OwnProblem& problem,
                        const OwnData& data) {
  return compiled_check(bound, output, problem, data).program;
}

double reference_operations(const Bound& bound, const OwnProblem& problem) {
  if (!problem.unmet.empty()) return 0;
  double operations = 0;
  for (const std::size_t i : bound.checked_outputs())
    operations += static_cast<double>(problem.count(i)) * kPerInstruction *
                  cost_of(bound, i, problem).operations;
  return operations;
}

HostOperations host_check_operations(const Bound& bound, const OwnProblem& problem) {
  HostOperations operations;
  if (!problem.unmet.empty()) return operations;
  for (const std::size_t i : bound.checked_outputs()) {
    const double elements = static_cast<double>(problem.count(i)) * kPerInstruction;
    const SharedCost cost = cost_of(bound, i, problem).on_host;
    operations.of_all += elements * cost.of_all;
    operations.of_drawn += elements * cost.of_drawn;
  }
  return operations;
}

}  // namespace gpuexp::own
