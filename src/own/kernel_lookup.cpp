#include "own/kernel_lookup.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"

namespace gpuexp::own {

namespace {

/// Adds the names of the step's buffers.
void add_buffers(const DeclaredStep& step, const KernelLookup& kernels,
                 std::set<std::string>& used) {
  const auto* const launch = std::get_if<DeclaredLaunch>(&step);
  if (!launch) {
    used.insert(std::get<DeclaredMemset>(step).buffer);
  } else if (launch->arguments) {
    for (const PlacedExpression& argument : *launch->arguments)
      used.insert(argument.expression.text());
  } else {
    for (const KernelParameter& parameter : kernels.of(*launch).signature.parameters)
      used.insert(parameter.name);
  }
}

/// Names of the buffers of all launches and variables with code.
std::set<std::string> known_buffers(const Declaration& declaration, const KernelLookup& kernels,
                                    const std::vector<OwnVariable>& variables) {
  std::vector<DeclaredVariant> launched = declaration.variants;
  if (declaration.reference) launched.push_back(declaration.reference->launch);
  std::erase_if(launched, [&](const auto& variant) { return !kernels.has_code(variant); });
  std::set<std::string> known;
  for (const DeclaredVariant& variant : launched)
    for (const DeclaredStep& step : variant.steps)
      add_buffers(step, kernels, known);
  for (const OwnVariable& variable : variables)
    known.insert(variable.name);
  return known;
}

}  // namespace

/// "add(const float* x, int n)".
std::string text_of(const KernelSignature& kernel) {
  std::vector<std::string> parameters;
  for (const KernelParameter& parameter : kernel.parameters)
    parameters.push_back(parameter.spelled);
  const std::string& arguments = kernel.template_arguments;
  return fmt::format("{}{}({})", kernel.name, arguments.empty() ? "" : "<" + arguments + ">",
                     fmt::join(parameters, ", "));
}

const OwnKernel& KernelLookup::of(const DeclaredLaunch& launch) const {
  if (!launch.template_arguments) return named(launch.kernel, launch.place);
  const auto found = std::ranges::find_if(kernels_, [&](const OwnKernel& kernel) {
    return kernel.signature.name == launch.kernel && kernel.template_text == launch.template_text();
  });
  if (found != kernels_.end()) return *found;
  fail(file_, launch.place,
       fmt::format("the file has no kernel '{}<{}>'", shorten(launch.kernel),
                   shorten(*launch.template_text())));
}

const OwnKernel& KernelLookup::named(const std::string& name, const Place& place) const {
  std::vector<std::string> names;
  std::vector<std::string> overloads;
  const OwnKernel* found = nullptr;
  for (const OwnKernel& kernel : kernels_) {
    if (kernel.template_text) continue;
    names.push_back(kernel.signature.name);
    if (kernel.signature.name != name) continue;
    found = &kernel;
    overloads.push_back(text_of(kernel.signature));
  }
  if (overloads.size() > 1)
    fail(file_, place,
         fmt::format("the file has {0} kernels '{1}': {2}; a launch cannot select an overload: "
                     "rename one; if they are instantiations of a template, name the "
                     "arguments, as in {1}<64><<<GRID, BLOCK>>>",
                     overloads.size(), shorten(name), fmt::join(overloads, ", ")));
  if (found) return *found;
  if (std::ranges::find(in_source_, name) != in_source_.end())
    fail(file_, place,
         fmt::format("kernel '{0}' is in the source but not in the compiled code; if it is a "
                     "template, name its arguments, as in {0}<64><<<GRID, BLOCK>>>; if it is "
                     "static, remove static",
                     shorten(name)));
  fail(file_, place,
       fmt::format("the file has no kernel '{}'{}", shorten(name),
                   names.empty() ? "" : allowed_names(name, names)));
}

bool KernelLookup::has_code(const DeclaredVariant& variant) const {
  return std::ranges::all_of(variant.steps, [&](const DeclaredStep& step) {
    const auto* const launch = std::get_if<DeclaredLaunch>(&step);
    return !launch || of(*launch).has_code;
  });
}

void remove_unknown_buffers(Declaration& declaration, const KernelLookup& kernels,
                            const std::vector<OwnVariable>& variables) {
  std::set<std::string> known = known_buffers(declaration, kernels, variables);
  std::erase_if(declaration.checks,
                [&](const auto& check) { return !known.contains(check.check.output()); });
  std::erase_if(declaration.expected_files,
                [&](const auto& values) { return !known.contains(values.output); });
  for (const DeclaredCheck& check : declaration.checks)
    known.merge(check.check.names());
  std::erase_if(declaration.buffers,
                [&](const auto& buffer) { return !known.contains(buffer.name); });
}

}  // namespace gpuexp::own
