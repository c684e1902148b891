#include "own/bound.hpp"

#include <algorithm>

namespace gpuexp::own {

namespace {

bool has_pointer(const BoundLaunch& launch, std::size_t buffer, bool is_const) {
  return std::ranges::any_of(launch.arguments, [&](const BoundArgument& argument) {
    return argument.buffer == buffer && argument.parameter.is_const == is_const;
  });
}

bool are_equal(const BoundArgument& a, const BoundArgument& b) {
  if (a.number && b.number) return a.number->expression.text() == b.number->expression.text();
  return !a.number && !b.number && a.buffer == b.buffer;
}

/// Whether the launches differ at most in grid, block and shared memory.
bool launch_equally(const BoundLaunch* a, const BoundLaunch* b) {
  return a->declared.kernel == b->declared.kernel &&
         a->declared.template_text() == b->declared.template_text() &&
         std::ranges::equal(a->arguments, b->arguments, are_equal);
}

}  // namespace

bool BoundLaunch::writes(std::size_t buffer) const {
  return has_pointer(*this, buffer, false);
}
bool BoundLaunch::reads(std::size_t buffer) const {
  return has_pointer(*this, buffer, true);
}

bool writes(const BoundStep& step, std::size_t buffer) {
  const auto* const launch = std::get_if<BoundLaunch>(&step);
  return launch ? launch->writes(buffer) : std::get<BoundMemset>(step).buffer == buffer;
}

std::vector<const BoundLaunch*> BoundVariant::launches() const {
  std::vector<const BoundLaunch*> kernels;
  for (const BoundStep& step : steps) {
    if (const auto* const launch = std::get_if<BoundLaunch>(&step)) kernels.push_back(launch);
  }
  return kernels;
}

bool BoundVariant::has_code() const {
  return std::ranges::all_of(launches(), &BoundLaunch::has_code);
}

bool BoundVariant::passes(std::size_t buffer) const {
  return std::ranges::any_of(launches(), [&](const BoundLaunch* launch) {
    return launch->reads(buffer) || launch->writes(buffer);
  });
}

bool BoundVariant::writes(std::size_t buffer) const {
  return std::ranges::find(written_variables, buffer) != written_variables.end() ||
         std::ranges::any_of(steps,
                             [&](const BoundStep& step) { return own::writes(step, buffer); });
}

std::optional<std::size_t> Bound::buffer_named(std::string_view name) const {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].declared.name == name) return i;
  }
  return std::nullopt;
}

bool Bound::has_code() const {
  return std::ranges::all_of(variants, &BoundVariant::has_code);
}

const DeclaredCheck* Bound::check_of(std::size_t buffer) const {
  const auto found = std::ranges::find_if(checks, [&](const DeclaredCheck& c) {
    return c.check.output() == buffers[buffer].declared.name;
  });
  return found == checks.end() ? nullptr : &*found;
}

std::vector<std::size_t> Bound::checked_outputs() const {
  std::vector<std::size_t> checked;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (check_of(i)) checked.push_back(i);
  }
  return checked;
}

const DeclaredValues* Bound::file_of(std::size_t buffer) const {
  const auto found =
      std::ranges::find(expected_files, buffers[buffer].declared.name, &DeclaredValues::output);
  return found == expected_files.end() ? nullptr : &*found;
}

ExpectedBy Bound::expected_by(std::size_t buffer) const {
  // A reference may pass an input to a pointer that is not const.
  if (!is_output(buffers[buffer].role)) return ExpectedBy::nothing;
  if (check_of(buffer)) return ExpectedBy::check;
  if (file_of(buffer)) return ExpectedBy::file;
  return reference && reference->writes(buffer) ? ExpectedBy::reference : ExpectedBy::nothing;
}

bool Bound::is_reference(std::string_view variant) const {
  if (!reference) return false;
  const auto own = std::ranges::find(variants, variant, &BoundVariant::id);
  return own != variants.end() &&
         std::ranges::equal(own->launches(), reference->launches(), launch_equally);
}

std::vector<std::string> Bound::compared_with_itself(std::string_view variant) const {
  std::vector<std::string> outputs;
  if (!is_reference(variant)) return outputs;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (expected_by(i) == ExpectedBy::reference) outputs.push_back(buffers[i].declared.name);
  }
  return outputs;
}

}  // namespace gpuexp::own
