#include "own/expected_values.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "own/array_files.hpp"
#include "own/buffer_contents.hpp"
#include "own/buffer_roles.hpp"
#include "own/device_kernels.hpp"
#include "own/module_variables.hpp"
#include "own/output_checks.hpp"

namespace gpuexp::own {

namespace {

// ---- steps

/// Stores a pattern to the outputs that the reference launch writes, so that an element that it
/// leaves unwritten is equal to no result: NaN in floating-point types, and in integers another
/// pattern than that of unwritten results.
Steps poisoned_outputs(const Bound& bound, const OwnProblem& problem, const OwnData& data) {
  constexpr unsigned char kNaN = 0xff;
  constexpr unsigned char kNoResult = 0xa5;
  Steps steps;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const BoundBuffer& buffer = bound.buffers[i];
    if (buffer.role != BufferRole::output || !bound.reference->writes(i)) continue;
    const auto bytes = problem.count(i) * static_cast<std::int64_t>(size_of(buffer.type));
    steps += MemsetStep{data.buffers[i], is_integer(buffer.type) ? kNoResult : kNaN, bytes};
  }
  return steps;
}

Steps file_values(const ReferenceView& to, std::shared_ptr<const std::vector<double>> numbers) {
  const auto count = static_cast<std::int64_t>(numbers->size());
  CopyStep copy;
  copy.to = to.value;
  copy.from = numbers->data();
  copy.bytes = count * static_cast<std::int64_t>(sizeof(double));
  copy.owner = std::move(numbers);
  Steps steps(std::move(copy));
  steps += values_step(to, count, to.value, DataType::fp64);
  return steps;
}

// ---- errors

void require_tolerance(const Bound& bound, std::size_t output, const Place& place) {
  if (bound.tolerance || is_integer(bound.buffers[output].type)) return;
  fail(bound.file, place,
       fmt::format(
           "the expected values of {} have rounding errors that are not known; declare a "
           "tolerance, such as 'tolerance 1e-5', relative to the largest expected magnitude, "
           "or 'tolerance 0' if they are exact",
           bound.buffers[output].declared.name));
}

void check_reference(const Bound& bound) {
  const Place& place = bound.reference->place;
  bool is_used = false;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    if (bound.expected_by(i) != ExpectedBy::reference) continue;
    is_used = true;
    require_tolerance(bound, i, place);
  }
  if (is_used) return;
  fail(
      bound.file, place,
      fmt::format("the reference gives no expected values, because every output that it writes has "
                  "a check; remove the reference or a check"));
}

// ---- operations

/// Instructions of the reference launch. Assumed, not measured: a launch executes 60 instructions
/// for 4 bytes of each buffer that it uses, as the simulator assumes of variants.
double launched_operations(const Bound& bound, const OwnProblem& problem) {
  constexpr double kPerElement = 60;
  double operations = 0;
  if (!problem.unmet.empty() || !bound.reference) return operations;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    if (bound.reference->passes(i))
      operations += kPerElement * static_cast<double>(problem.count(i)) *
                    static_cast<double>(size_of(bound.buffers[i].type)) / 4;
  }
  return operations;
}

}  // namespace

void check_expected_values(const Bound& bound) {
  for (const DeclaredValues& values : bound.expected_files) {
    check_is_output(bound, values.output, values.place);
    require_tolerance(bound, *bound.buffer_named(values.output), values.array.place);
  }
  if (bound.reference) check_reference(bound);
}

void check_expected_values(const Bound& bound, const OwnProblem& problem) {
  const auto check_array = [&](const auto& check, const DeclaredArray& array, std::size_t i) {
    const BoundBuffer& buffer = bound.buffers[i];
    check(bound.file, array, bound.arrays->header(array), buffer.declared.name, buffer.type,
          problem.extents[i]);
  };
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    if (bound.buffers[i].declared.array)
      check_array(check_contents, *bound.buffers[i].declared.array, i);
    if (const DeclaredValues* const values = bound.file_of(i))
      check_array(check_expected, values->array, i);
  }
  const OwnData no_data{std::vector<void*>(bound.buffers.size(), nullptr)};
  if (bound.reference) steps_of(bound, *bound.reference, problem, no_data);
}

Steps expected_values(const Bound& bound, const OwnProblem& problem, const OwnData& data,
                      const std::vector<ReferenceView>& views) {
  Steps steps;
  Steps from_launch;
  std::size_t next = 0;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    if (!is_output(bound.buffers[i].role)) continue;
    const ReferenceView& view = views[next++];
    if (!view) continue;
    switch (bound.expected_by(i)) {
      case ExpectedBy::check:
        steps += check_step(view, problem.count(i), compiled_check(bound, i, problem, data));
        break;
      case ExpectedBy::file:
        steps += file_values(view, bound.arrays->numbers(bound.file_of(i)->array));
        break;
      case ExpectedBy::reference:
        from_launch += values_step(view, problem.count(i), data.buffers[i], bound.buffers[i].type);
        break;
      case ExpectedBy::nothing: break;
    }
  }
  if (from_launch.all().empty()) return steps;
  // The contents of in_out buffers are restored before the launch, for the launch, and after it,
  // for later checks that read them.
  const Steps restored = stored_contents(bound, problem, data, BufferRole::in_out, kInOutSeed);
  steps += restored;
  steps += poisoned_outputs(bound, problem, data);
  steps += launch_steps(bound, *bound.reference, problem, data);
  steps += std::move(from_launch);
  steps += restored;
  return steps;
}

bool has_only_checks(const Bound& bound) {
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const ExpectedBy expected = bound.expected_by(i);
    if (expected == ExpectedBy::file || expected == ExpectedBy::reference) return false;
  }
  return true;
}

double expected_values_operations(const Bound& bound, const OwnProblem& problem) {
  return reference_operations(bound, problem) + launched_operations(bound, problem);
}

HostOperations expected_values_on_host(const Bound& bound, const OwnProblem& problem) {
  const double launched = launched_operations(bound, problem);
  const HostOperations checks = host_check_operations(bound, problem);
  return {checks.of_all + launched, checks.of_drawn + launched};
}

std::string expected_values_text(const Bound& bound) {
  std::vector<std::string> origins;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const std::string& name = bound.buffers[i].declared.name;
    if (const DeclaredValues* const values = bound.file_of(i))
      origins.push_back(fmt::format("{} from {}", name, values->array.file));
    if (bound.expected_by(i) == ExpectedBy::reference)
      origins.push_back(fmt::format("{} from the {} {}", name,
                                    bound.reference_is_first ? "first variant," : "reference",
                                    bound.reference->id));
  }
  if (origins.empty()) return "";
  return fmt::format(" Expected values: {}; their magnitude is the largest of the output.",
                     fmt::join(origins, ", "));
}

}  // namespace gpuexp::own
