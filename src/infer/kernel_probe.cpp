#include "infer/kernel_probe.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "own/parameter_types.hpp"

namespace gpuexp::infer {

namespace {

std::int64_t size_of_launch(const own::Expression& expression, const own::Names& values) {
  try {
    return expression.integer(values);
  } catch (const own::ExpressionError& error) {
    throw ImpossibleLaunch(fmt::format("'{}': {}", expression.text(), error.what()));
  }
}

Extent extent_of(const std::vector<own::Expression>& expressions, const own::Names& values) {
  Extent extent{1, 1, 1};
  const std::array<std::int64_t*, 3> sides{&extent.x, &extent.y, &extent.z};
  for (std::size_t d = 0; d < expressions.size() && d < sides.size(); ++d)
    *sides[d] = size_of_launch(expressions[d], values);
  return extent;
}

bool is_between(const Extent& extent, const Extent& max) {
  return extent.x >= 1 && extent.y >= 1 && extent.z >= 1 && extent.x <= max.x &&
         extent.y <= max.y && extent.z <= max.z;
}

}  // namespace

KernelProbe::KernelProbe(const KernelSignature& kernel, const void* address, ResolvedLaunch launch,
                         sim::Simulator& simulator, ProbeBudget& budget)
    : kernel_(kernel),
      address_(address),
      launch_(std::move(launch)),
      simulator_(simulator),
      budget_(budget) {
  for (const LaunchParameter& parameter : launch_.parameters)
    if (!parameter.is_real && !parameter.is_fixed) sized_.push_back(parameter.name);
}

own::Names KernelProbe::values(const Sizes& sizes) const {
  own::Names values;
  std::size_t next = 0;
  for (const LaunchParameter& parameter : launch_.parameters) {
    if (parameter.is_real) {
      values[parameter.name] = parameter.value.value_or(Value(1.0));
    } else if (parameter.is_fixed) {
      values[parameter.name] = parameter.value.value_or(Value(std::int64_t{1}));
    } else {
      values[parameter.name] = sizes[next++];
    }
  }
  return values;
}

Shape KernelProbe::shape(const own::Names& values) const {
  constexpr std::int64_t kMaxThreads = 1024;
  // More blocks would take long to execute.
  constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 18;
  Shape shape;
  shape.kernel = address_;
  shape.grid = extent_of(launch_.grid, values);
  shape.block = extent_of(launch_.block, values);
  if (launch_.shared_bytes)
    shape.dynamic_shared_bytes = size_of_launch(*launch_.shared_bytes, values);
  const bool is_possible = is_between(shape.grid, {kMaxBlocks, kMaxBlocks, kMaxBlocks}) &&
                           shape.grid.count() <= kMaxBlocks &&
                           is_between(shape.block, {kMaxThreads, kMaxThreads, 64}) &&
                           shape.block.count() <= kMaxThreads && shape.dynamic_shared_bytes >= 0;
  if (is_possible) return shape;
  throw ImpossibleLaunch(
      fmt::format("a grid of {} blocks of {} threads", shape.grid.count(), shape.block.count()));
}

ProbeRun KernelProbe::run(const Sizes& sizes, const std::vector<Contents>& contents) const {
  const own::Names of = values(sizes);
  return run(sizes, of, shape(of), contents);
}

bool KernelProbe::takes_reserve() const {
  if (budget_.warp_instructions > 0 || budget_.reserve == 0) return false;
  budget_.warp_instructions = std::exchange(budget_.reserve, 0);
  return true;
}

ProbeRun KernelProbe::run_with_grid(const Sizes& sizes, const Extent& grid) const {
  const own::Names of = values(sizes);
  Shape with_grid = shape(of);
  with_grid.grid = grid;
  return run(sizes, of, with_grid, {});
}

ProbeRun KernelProbe::run(const Sizes& sizes, const own::Names& values, const Shape& shape,
                          const std::vector<Contents>& contents) const {
  ProbedLaunch probed;
  probed.shape = shape;
  std::size_t pointers = 0;
  for (std::size_t i = 0; i < kernel_.parameters.size(); ++i) {
    const KernelParameter& parameter = kernel_.parameters[i];
    const own::Expression& argument = launch_.arguments[i];
    ProbedArgument added;
    if (parameter.is_pointer) {
      added.pointer =
          ProbedPointer{argument.text(), own::lane_element_type(parameter.type).value()};
      if (pointers < contents.size() && contents[pointers]) {
        added.pointer->contents = [&values, of = contents[pointers]](std::int64_t element) {
          return of(values, element);
        };
      }
      ++pointers;
    } else {
      added.add_number = [&](PackedArguments& packed) {
        const std::string error = own::add_number(argument, parameter.type, values, packed);
        if (!error.empty()) throw ImpossibleLaunch(fmt::format("{} {}", argument.text(), error));
      };
    }
    probed.arguments.push_back(std::move(added));
  }
  return {sizes, shape, touched_elements(simulator_, probed, budget_)};
}

}  // namespace gpuexp::infer
