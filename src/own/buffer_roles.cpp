#include "own/buffer_roles.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"

namespace gpuexp::own {

namespace {

/// Whether the buffer has no contents before a launch.
bool has_no_contents(const BoundBuffer& buffer) {
  return buffer.role == BufferRole::output || buffer.role == BufferRole::workspace;
}

std::string role_text(const BoundBuffer& buffer) {
  return buffer.role == BufferRole::workspace ? "a workspace" : "an output";
}

void set_role(Bound& bound, std::size_t index) {
  BoundBuffer& buffer = bound.buffers[index];
  if (buffer.variable) return;  // bind_variables() has set its role
  const DeclaredBuffer& declared = buffer.declared;
  const auto any_variant = [&](const auto& condition) {
    return std::ranges::any_of(bound.variants, condition);
  };
  const bool is_written = any_variant([&](const BoundVariant& v) { return v.writes(index); });
  const bool is_passed = any_variant([&](const BoundVariant& v) { return v.passes(index); });
  if (!is_passed && !bound.has_code()) return;  // a check reads it as an input
  if (!is_passed)
    fail(
        bound.file, declared.place,
        fmt::format("no launch uses the buffer '{}', and no kernel a variable of this name; remove "
                    "it, or pass it to a kernel",
                    declared.name));
  buffer.role = declared.role.value_or(is_written ? BufferRole::output : BufferRole::input);
  if (buffer.role == BufferRole::workspace && !is_written)
    fail(
        bound.file, declared.place,
        fmt::format("no launch writes the workspace '{0}'; declare it as 'in {0}'", declared.name));
  if (is_output(buffer.role) && !is_written)
    fail(bound.file, declared.place,
         fmt::format("no launch writes '{0}', because it is passed only to const pointers; declare "
                     "it as 'in {0}'",
                     declared.name));
  if (has_no_contents(buffer) && (declared.fill || declared.array))
    fail(bound.file, declared.fill ? declared.fill->place : declared.array->place,
         fmt::format("'{0}' is {1}, so it has no contents before the launch; if the kernel "
                     "reads them, declare it as 'in_out {0}'",
                     declared.name, role_text(buffer)));
}

/// A step can read a buffer without contents only if an earlier step of the variant wrote it.
void check_reads(const Bound& bound, const BoundLaunch& launch,
                 const std::set<std::size_t>& written) {
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const BoundBuffer& buffer = bound.buffers[i];
    if (!has_no_contents(buffer) || !launch.reads(i) || written.contains(i)) continue;
    fail(bound.file, launch.declared.place,
         fmt::format("{1} reads '{0}' through a const pointer, but '{0}' is {2} without "
                     "contents before the launch; declare it as 'in_out {0}', or write it in an "
                     "earlier step",
                     buffer.declared.name, launch.declared.kernel, role_text(buffer)));
  }
}

void check_memset(const Bound& bound, const BoundMemset& memset) {
  if (bound.buffers[memset.buffer].role != BufferRole::input) return;
  fail(bound.file, memset.declared.place,
       fmt::format("memset writes '{0}', which is declared as an input; declare it as 'out {0}', "
                   "or 'in_out {0}' if its contents before the launch matter",
                   memset.declared.buffer));
}

void check_steps(const Bound& bound, const BoundVariant& variant) {
  std::set<std::size_t> written(variant.written_variables.begin(), variant.written_variables.end());
  for (const BoundStep& step : variant.steps) {
    if (const auto* const launch = std::get_if<BoundLaunch>(&step))
      check_reads(bound, *launch, written);
    else
      check_memset(bound, std::get<BoundMemset>(step));
    for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
      if (writes(step, i)) written.insert(i);
    }
  }
  const bool has_output =
      std::ranges::any_of(written, [&](std::size_t i) { return is_output(bound.buffers[i].role); });
  if (!has_output)
    fail(bound.file, variant.place,
         fmt::format("{} has no output: it passes no 'out' or 'in_out' buffer to a pointer "
                     "that is not const",
                     variant.id));
}

/// Why a buffer that a check states is an input, and how to declare it otherwise.
std::string input_text(const BoundBuffer& buffer) {
  const std::string declared = text_of(buffer.declared);
  if (buffer.declared.role)
    return fmt::format("it is declared as 'in {0}'; if a kernel writes it, declare 'in_out {0}'",
                       declared);
  if (buffer.variable)
    return fmt::format(
        "a variable without a role is an input; if a kernel writes it, declare 'in_out {}'",
        declared);
  return fmt::format(
      "launches pass it only to const pointers; if a kernel writes it, remove const from its "
      "parameter, and declare 'in_out {}'",
      declared);
}

}  // namespace

void check_is_output(const Bound& bound, const std::string& name, const Place& place) {
  std::vector<std::string> outputs;
  for (const BoundBuffer& buffer : bound.buffers) {
    if (is_output(buffer.role)) outputs.push_back(buffer.declared.name);
  }
  if (std::ranges::find(outputs, name) != outputs.end()) return;
  const auto index = bound.buffer_named(name);
  if (index && bound.buffers[*index].role == BufferRole::input)
    fail(bound.file, place,
         fmt::format("'{}' is an input, and not an output, because {}; outputs: {}", name,
                     input_text(bound.buffers[*index]), fmt::join(outputs, ", ")));
  fail(bound.file, place,
       fmt::format("'{}' is not an output{}", shorten(name), allowed_names(name, outputs)));
}

void set_roles(Bound& bound) {
  for (std::size_t i = 0; i < bound.buffers.size(); ++i)
    set_role(bound, i);
  for (const BoundVariant& variant : bound.variants)
    if (variant.has_code()) check_steps(bound, variant);
  if (bound.reference) check_steps(bound, *bound.reference);
}

}  // namespace gpuexp::own
