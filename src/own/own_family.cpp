#include "own/own_family.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "own/binding.hpp"
#include "own/buffer_contents.hpp"
#include "own/check_tolerance.hpp"
#include "own/exact_sums.hpp"
#include "own/expected_values.hpp"
#include "own/host_evaluation.hpp"
#include "own/launch_limits.hpp"
#include "own/module_variables.hpp"
#include "own/output_checks.hpp"
#include "own/own_problem.hpp"
#include "own/parameter_values.hpp"
#include "own/work_amounts.hpp"

namespace gpuexp::own {

namespace {

const OwnProblem& as_problem(const void* problem) {
  return *static_cast<const OwnProblem*>(problem);
}
const OwnData& as_data(const void* data) {
  return *static_cast<const OwnData*>(data);
}

std::shared_ptr<const void> checked_problem(const Bound& bound, const Values& values) {
  auto problem = std::make_shared<OwnProblem>(problem_of(bound, values));
  check_problem(bound, *problem);
  if (problem->unmet.empty()) {
    check_variable_sizes(bound, *problem);
    check_expected_values(bound, *problem);
  }
  return problem;
}

/// The problem with contents for which its sums are exact, or as declared if there are none.
std::shared_ptr<const void> exact_problem(const Bound& bound, const Values& values) {
  auto problem = std::make_shared<OwnProblem>(problem_of(bound, values));
  problem->contents = exact_sums_of(bound, *problem).contents;
  return problem;
}

// ---- references

/// The references of the requested outputs; calls `evaluate` with view, count and check.
template <class Evaluate>
void for_requested(const Bound& bound, const OwnProblem& problem, const OwnData& data,
                   const std::vector<ReferenceView>& views, const Evaluate& evaluate) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    if (!is_output(bound.buffers[i].role)) continue;
    const ReferenceView& view = views[next++];
    if (view) evaluate(view, problem.count(i), compiled_check(bound, i, problem, data));
  }
}

// ---- the family

Parameter parameter_of(const std::string& file, const DeclaredParameter& declared) {
  const bool is_real = std::holds_alternative<double>(declared.values.front());
  const double largest = is_real ? kMaxReal : kMaxInteger;
  Parameter parameter;
  parameter.name = declared.name;
  parameter.default_value = declared.values.front();
  parameter.doc = fmt::format("{}declared in {}", declared.is_macro ? "macro " : "",
                              text_of(file, declared.place));
  parameter.min = -largest;
  parameter.max = largest;
  return parameter;
}

Buffer buffer_of(const SharedBound& bound, std::size_t i) {
  Buffer buffer;
  buffer.name = bound->buffers[i].declared.name;
  buffer.role = bound->buffers[i].role;
  buffer.type = [type = bound->buffers[i].type](const void*) { return type; };
  buffer.count = [i](const void* problem) { return as_problem(problem).count(i); };
  buffer.has_reference = bound->expected_by(i) != ExpectedBy::nothing;
  if (buffer.has_reference) {
    buffer.tolerance = [bound, i](const void* problem) {
      return tolerance_of(*bound, i, as_problem(problem));
    };
  }
  return buffer;
}

std::string launches_text(const Bound& bound, const BoundVariant& variant) {
  std::vector<std::string> steps;
  for (const BoundStep& step : variant.steps) {
    const auto* const launch = std::get_if<BoundLaunch>(&step);
    steps.push_back(launch ? launch->declared.kernel : "memset");
  }
  return fmt::format("Launches {} as declared in {}.", fmt::join(steps, ", "),
                     text_of(bound.file, variant.place));
}

Variant variant_of(const SharedBound& bound, std::size_t index) {
  const BoundVariant& declared = bound->variants[index];
  Variant variant;
  variant.id = declared.id;
  variant.compare_to = declared.compare_to;
  variant.why = declared.why.empty() ? launches_text(*bound, declared) : declared.why;
  for (std::size_t i = 0; i < bound->buffers.size(); ++i) {
    if (is_output(bound->buffers[i].role) && declared.writes(i))
      variant.writes.push_back(bound->buffers[i].declared.name);
  }
  variant.unsupported = [bound, index](const void* problem, const DeviceSpec& device) {
    return beyond_limits(*bound, bound->variants[index], as_problem(problem), device);
  };
  variant.work = [bound, index](const void* problem) {
    return work_of(*bound, bound->variants[index], as_problem(problem));
  };
  variant.launch = [bound, index](const void* problem, const void* data, const LaunchContext&) {
    return launch_steps(*bound, bound->variants[index], as_problem(problem), as_data(data));
  };
  variant.unbound_data =
      std::make_shared<OwnData>(OwnData{std::vector<void*>(bound->buffers.size(), nullptr)});
  return variant;
}

void set_contents(Family& family, const SharedBound& bound) {
  family.inputs = [bound](const void* problem, const void* data, std::uint64_t seed) {
    return stored_contents(*bound, as_problem(problem), as_data(data), BufferRole::input, seed) +
           stored_inputs(*bound, as_problem(problem), as_data(data));
  };
  const bool has_in_out = std::ranges::any_of(
      bound->buffers, [](const BoundBuffer& b) { return b.role == BufferRole::in_out; });
  if (has_in_out) {
    family.reset = [bound](const void* problem, const void* data) {
      return stored_contents(*bound, as_problem(problem), as_data(data), BufferRole::in_out,
                             kInOutSeed);
    };
  }
  family.reference = [bound](const void* problem, const void* data,
                             const std::vector<ReferenceView>& views) {
    return expected_values(*bound, as_problem(problem), as_data(data), views);
  };
  family.reference_operations = [bound](const void* problem) {
    return expected_values_operations(*bound, as_problem(problem));
  };
  family.host_operations = [bound](const void* problem) {
    return expected_values_on_host(*bound, as_problem(problem));
  };
  if (!has_only_checks(*bound)) return;
  family.host_reference = [bound](const void* problem, const void* data,
                                  const std::vector<ReferenceView>& views) {
    for_requested(*bound, as_problem(problem), as_data(data), views,
                  [](const ReferenceView& view, std::int64_t count, const CompiledCheck& check) {
                    HostEvaluation(check).evaluate(view, 0, count);
                  });
  };
}

}  // namespace

Family family_of(std::string id, const SharedBound& bound) {
  check_expected_values(*bound);
  Family family;
  family.id = std::move(id);
  family.question = fmt::format("kernels of {}", bound->file);
  family.physics =
      fmt::format("{} declares {}, {} and {}.", bound->file,
                  counted(bound->variants.size(), "launch", "launches"),
                  counted(bound->buffers.size(), "buffer"), counted(bound->checks.size(), "check"));
  family.tolerance_derivation = tolerance_derivation(*bound) + expected_values_text(*bound);
  for (const DeclaredParameter& parameter : bound->parameters)
    family.parameters.push_back(parameter_of(bound->file, parameter));
  for (std::size_t i = 0; i < bound->buffers.size(); ++i)
    family.buffers.push_back(buffer_of(bound, i));
  for (std::size_t i = 0; i < bound->variants.size(); ++i)
    family.variants.push_back(variant_of(bound, i));
  family.make_problem = [bound](const Values& values) { return checked_problem(*bound, values); };
  family.make_data = [](const RankBuffers& buffers) -> std::shared_ptr<const void> {
    return std::make_shared<OwnData>(OwnData{buffers.of_ranks.front()});
  };
  family.outputs = [](const void*) { return Extent{}; };
  family.unsupported = [](const void* problem, const DeviceSpec&) -> std::optional<std::string> {
    const std::string& unmet = as_problem(problem).unmet;
    return unmet.empty() ? std::nullopt : std::optional("requires " + unmet);
  };
  set_contents(family, bound);
  return family;
}

Family family_of(std::string id, Declaration declaration, std::vector<OwnKernel> kernels,
                 const std::vector<std::string>& in_source) {
  return family_of(std::move(id), bound_to(std::move(declaration), std::move(kernels), in_source));
}

Family exact_family_of(std::string id, const SharedBound& bound) {
  Family family = family_of(std::move(id), bound);
  family.make_problem = [bound](const Values& values) { return exact_problem(*bound, values); };
  return family;
}

}  // namespace gpuexp::own
