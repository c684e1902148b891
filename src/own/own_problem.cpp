#include "own/own_problem.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace gpuexp::own {

namespace {

std::int64_t integer(const Bound& bound, const PlacedExpression& number, const Names& names) {
  return at_place(bound.file, number.place, [&] { return number.expression.integer(names); });
}

std::int64_t positive(const Bound& bound, const PlacedExpression& number, const Names& names,
                      std::string_view what) {
  const std::int64_t value = integer(bound, number, names);
  if (value > 0) return value;
  fail(bound.file, number.place,
       fmt::format("{} '{}' is {}; expected at least 1", what, number.expression.text(), value));
}

/// The first requirement that does not hold; null if all hold.
const PlacedExpression* unmet_requirement(const Bound& bound, const Names& names) {
  for (const PlacedExpression& requirement : bound.requirements) {
    const bool holds = at_place(bound.file, requirement.place,
                                [&] { return requirement.expression.holds(names); });
    if (!holds) return &requirement;
  }
  return nullptr;
}

std::vector<std::int64_t> extents_of(const Bound& bound, const BoundBuffer& buffer,
                                     const Names& names) {
  // The reference of an output needs 16 bytes per element. The sum over all buffers must not
  // overflow.
  constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
  std::vector<std::int64_t> extents;
  std::int64_t count = 1;
  for (const PlacedExpression& extent : buffer.declared.extents) {
    const std::int64_t size =
        positive(bound, extent, names, "the extent of " + buffer.declared.name);
    extents.push_back(size);
    if (__builtin_mul_overflow(count, size, &count) || count > kMaxElements)
      fail(bound.file, buffer.declared.place,
           fmt::format("{} has more than 2^48 elements; expected fewer", buffer.declared.name));
  }
  return extents;
}

/// Sides beyond the limit are the limit, so that their product does not overflow; no launch has
/// them, because beyond_limits() refuses it.
Extent dimensions(const Bound& bound, const std::vector<PlacedExpression>& given,
                  const Names& names, std::string_view what, const Extent& allowed) {
  const std::int64_t limits[] = {allowed.x, allowed.y, allowed.z};
  Extent extent{1, 1, 1};
  std::int64_t* const sides[] = {&extent.x, &extent.y, &extent.z};
  for (std::size_t i = 0; i < given.size(); ++i)
    *sides[i] = std::min(positive(bound, given[i], names, what), limits[i]);
  return extent;
}

void add_argument(const Bound& bound, const BoundLaunch& launch, const BoundArgument& argument,
                  const Names& names, const OwnData& data, PackedArguments& packed) {
  if (argument.buffer) return packed.add(data.buffers[*argument.buffer]);
  if (!argument.number) return packed.add(static_cast<const void*>(nullptr));
  const PlacedExpression& number = *argument.number;
  const std::string error = at_place(bound.file, number.place, [&] {
    return add_number(number.expression, argument.parameter.type, names, packed);
  });
  if (!error.empty())
    fail(bound.file, number.place,
         fmt::format("'{}', for the parameter {} of {} of type {}, {}", number.expression.text(),
                     argument.parameter.name, launch.declared.kernel, argument.parameter.type.text,
                     error));
}

KernelStep kernel_step(const Bound& bound, const BoundLaunch& launch, const OwnProblem& problem,
                       const OwnData& data) {
  KernelStep step;
  step.shape = shape_of(bound, launch, problem.names);
  for (const BoundArgument& argument : launch.arguments)
    add_argument(bound, launch, argument, problem.names, data, step.arguments);
  return step;
}

MemsetStep memset_step(const Bound& bound, const BoundMemset& memset, const OwnProblem& problem,
                       const OwnData& data) {
  const PlacedExpression& declared = memset.declared.value;
  const std::int64_t value = integer(bound, declared, problem.names);
  if (value < 0 || value > UINT8_MAX)
    fail(bound.file, declared.place,
         fmt::format("memset stores a byte, and '{}' is {}; expected 0 to 255",
                     declared.expression.text(), value));
  MemsetStep step;
  step.to = data.buffers[memset.buffer];
  step.value = static_cast<unsigned char>(value);
  step.bytes = problem.count(memset.buffer) *
               static_cast<std::int64_t>(size_of(bound.buffers[memset.buffer].type));
  return step;
}

// ---- contents

void check_fill(const Bound& bound, const BoundBuffer& buffer, const FillProgram& program,
                std::int64_t count) {
  const WholeNumbers range = whole_numbers(buffer.type);
  const auto fail_at_fill = [&](const std::string& what) {
    fail(bound.file, buffer.declared.fill->place,
         fmt::format("{}, but elements of type {} represent the whole numbers from {} to {}", what,
                     name_of(buffer.type), range.low, range.high));
  };
  if (program.kind == FillKind::iota && count - 1 > range.high)
    fail_at_fill(fmt::format("iota stores 0 to {} in {}", count - 1, buffer.declared.name));
  if (program.kind == FillKind::constant && is_integer(buffer.type) &&
      !(program.from >= static_cast<double>(range.low) &&
        program.from <= static_cast<double>(range.high) &&
        program.from == std::floor(program.from)))
    fail_at_fill(fmt::format("the contents are {}", program.from));
  if (program.kind == FillKind::integers &&
      (program.low < range.low || program.high - 1 > range.high))
    fail_at_fill(fmt::format("integers({}, {}) has numbers from {} to {}", program.low,
                             program.high, program.low, program.high - 1));
}

void set_integers(const Bound& bound, const DeclaredFill& fill, const Names& names,
                  FillProgram& program) {
  program.low = integer(bound, *fill.low, names);
  program.high = integer(bound, *fill.high, names);
  if (program.high <= program.low)
    fail(bound.file, fill.place,
         fmt::format("integers({}, {}) has no numbers; expected a second value above the first",
                     program.low, program.high));
  std::int64_t range = 0;
  if (__builtin_sub_overflow(program.high, program.low, &range))
    fail(bound.file, fill.place,
         fmt::format("integers({}, {}) has too many numbers; expected fewer than 2^63", program.low,
                     program.high));
}

double real(const Bound& bound, const PlacedExpression& number, const Names& names) {
  return at_place(bound.file, number.place, [&] { return number.expression.real(names); });
}

void set_reals(const Bound& bound, const DeclaredFill& fill, const Names& names,
               FillProgram& program) {
  program.from = real(bound, *fill.low, names);
  if (!fill.high) return;
  program.to = real(bound, *fill.high, names);
  if (!(program.to > program.from))
    fail(bound.file, fill.place,
         fmt::format("uniform({}, {}) has no numbers; expected a second value above the first",
                     program.from, program.to));
}

/// Replaces random contents.
void make_exact(const ExactContents& contents, FillProgram& program) {
  const bool is_random = program.kind == FillKind::uniform || program.kind == FillKind::normal ||
                         program.kind == FillKind::integers;
  if (contents.largest == 0 || is_integer(program.type) || !is_random) return;
  const bool is_negative = program.kind == FillKind::normal ||
                           (program.kind == FillKind::uniform && program.from < 0) ||
                           (program.kind == FillKind::integers && program.low < 0);
  program.kind = contents.have_signs && is_negative ? FillKind::nonzero : FillKind::integers;
  program.low = 1;
  program.high = contents.largest + (program.kind == FillKind::integers ? 1 : 0);
}

}  // namespace

std::int64_t OwnProblem::count(std::size_t buffer) const {
  std::int64_t count = 1;
  for (const std::int64_t extent : extents[buffer])
    count *= extent;
  return count;
}

OwnProblem problem_of(const Bound& bound, const Values& values) {
  OwnProblem problem;
  for (std::size_t i = 0; i < bound.parameters.size(); ++i)
    problem.names[bound.parameters[i].name] = values[i];
  const PlacedExpression* const unmet = unmet_requirement(bound, problem.names);
  if (unmet) problem.unmet = unmet->expression.text();
  for (const BoundBuffer& buffer : bound.buffers)
    problem.extents.push_back(unmet ? std::vector<std::int64_t>(buffer.declared.extents.size(), 1)
                                    : extents_of(bound, buffer, problem.names));
  return problem;
}

// ---- launches

Shape shape_of(const Bound& bound, const BoundLaunch& launch, const Names& names) {
  const DeclaredLaunch& declared = launch.declared;
  Shape shape;
  shape.kernel = launch.kernel(names);
  shape.grid = dimensions(bound, declared.grid, names, "the grid", kMaxGrid);
  shape.block = dimensions(bound, declared.block, names, "the block", kMaxBlock);
  if (!declared.shared_bytes) return shape;
  shape.dynamic_shared_bytes = integer(bound, *declared.shared_bytes, names);
  if (shape.dynamic_shared_bytes < 0)
    fail(bound.file, declared.shared_bytes->place,
         fmt::format("the bytes of shared memory '{}' are {}; expected at least 0",
                     declared.shared_bytes->expression.text(), shape.dynamic_shared_bytes));
  return shape;
}

Steps steps_of(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
               const OwnData& data) {
  Steps steps;
  for (const BoundStep& step : variant.steps) {
    if (const auto* const launch = std::get_if<BoundLaunch>(&step))
      steps.add(kernel_step(bound, *launch, problem, data));
    else
      steps.add(memset_step(bound, std::get<BoundMemset>(step), problem, data));
  }
  return steps;
}

// ---- contents and checks

FillProgram fill_of(const Bound& bound, std::size_t index, const OwnProblem& problem,
                    std::uint64_t seed) {
  constexpr std::int64_t kLargestDefault = 99;
  const BoundBuffer& buffer = bound.buffers[index];
  FillProgram program;
  program.type = buffer.type;
  program.seed = random_bits(seed, index);
  program.high = std::min(kLargestDefault, whole_numbers(buffer.type).high) + 1;
  if (!buffer.declared.fill) {
    program.kind = is_integer(buffer.type) ? FillKind::integers : FillKind::uniform;
    make_exact(problem.contents, program);
    return program;
  }
  const DeclaredFill& fill = *buffer.declared.fill;
  program.kind = fill.kind;
  const bool is_fraction = fill.kind == FillKind::uniform || fill.kind == FillKind::normal;
  if (is_fraction && is_integer(buffer.type))
    fail(bound.file, fill.place,
         fmt::format("{} has elements of type {}; expected integers(low, high), iota or zeros",
                     buffer.declared.name, name_of(buffer.type)));
  if (fill.kind == FillKind::integers) {
    set_integers(bound, fill, problem.names, program);
  } else if (fill.low) {
    set_reals(bound, fill, problem.names, program);
  }
  check_fill(bound, buffer, program, problem.count(index));
  make_exact(problem.contents, program);
  return program;
}

}  // namespace gpuexp::own
