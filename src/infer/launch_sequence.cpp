#include "infer/launch_sequence.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "infer/host_expression.hpp"

namespace gpuexp::infer {

using own::Expression;
using own::Node;
using own::NodeKind;
using own::NodePointer;

namespace {

/// The variable that an argument is; empty if it is another expression.
std::string variable_of(const Tokens& argument) {
  const bool is_variable = argument.size() == 1 && argument[0].is_word() &&
                           argument[0].text.find_first_of("0123456789") != 0;
  return is_variable ? std::string(argument[0].text) : "";
}

/// The kernel's buffers by the host variables that point to them. A variable that is passed for
/// several parameters has several.
std::multimap<std::string, const InferredBuffer*> buffers_of(const InferredLaunch& launch) {
  std::multimap<std::string, const InferredBuffer*> buffers;
  std::size_t next = 0;
  for (std::size_t i = 0; i < launch.kernel.signature.parameters.size(); ++i) {
    if (!launch.kernel.signature.parameters[i].is_pointer) continue;
    buffers.emplace(variable_of(launch.text->arguments[i]), &launch.kernel.buffers[next++]);
  }
  buffers.erase("");
  return buffers;
}

bool reads(const InferredBuffer& buffer) {
  return buffer.is_read && buffer.role != BufferRole::output;
}

class Sequence {
 public:
  Sequence(const std::vector<const InferredLaunch*>& launches, const HostCode& code)
      : launches_(launches), code_(code) {}

  InferredVariant variant() {
    variant_.id = code_.place_of(launches_.front()->text->at).function;
    find_parameters();
    for (const InferredLaunch* launch : launches_)
      add(*launch);
    for (InferredBuffer& buffer : variant_.buffers)
      if (is_workspace(buffer)) make_workspace(buffer);
    return std::move(variant_);
  }

 private:
  NodePointer host_value(const InferredLaunch& launch, std::size_t argument) const {
    return HostExpressions(code_, launch.text->at, parameters_)
        .expression(launch.text->arguments[argument]);
  }

  /// Calls function(launch, argument, variable) for numbers whose arguments are variables.
  template <class Function>
  void for_variables(const Function& function) {
    for (const InferredLaunch* launch : launches_) {
      for (std::size_t i = 0; i < launch->text->arguments.size(); ++i) {
        const std::string name = variable_of(launch->text->arguments[i]);
        const bool is_pointer = launch->kernel.signature.parameters[i].is_pointer;
        if (!is_pointer && !name.empty() && !parameters_.contains(name)) function(*launch, i, name);
      }
    }
  }

  /// Variables with a constant value, or without a known value, are parameters, and so are those
  /// that are not computed from parameters.
  void find_parameters() {
    for_variables([&](const InferredLaunch& launch, std::size_t i, const std::string& name) {
      const NodePointer value = host_value(launch, i);
      const bool is_constant = value->kind == NodeKind::integer || value->kind == NodeKind::real;
      if (is_constant || value->kind == NodeKind::name) parameters_.emplace(name, name);
    });
    for_variables([&](const InferredLaunch& launch, std::size_t i, const std::string& name) {
      const std::set<std::string> names =
          Expression::parse(text_of(*host_value(launch, i))).names();
      const bool is_computed = std::ranges::all_of(
          names, [&](const std::string& other) { return parameters_.contains(other); });
      if (!is_computed) parameters_.emplace(name, name);
    });
  }

  /// The sequence's names for those of the launch.
  Replacements replacements_for(const InferredLaunch& launch) const {
    const std::vector<KernelParameter>& parameters = launch.kernel.signature.parameters;
    Replacements by;
    std::size_t next = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (parameters[i].is_pointer) {
        const std::string variable = variable_of(launch.text->arguments[i]);
        if (variable.empty()) throw HostExpressionError("a pointer that is computed");
        by[launch.kernel.buffers[next++].name] = name_node(variable);
        continue;
      }
      const std::string name = declared_name(parameters[i], i);
      if (launch.kernel.launch.arguments[i].text() == name) by[name] = host_value(launch, i);
    }
    return by;
  }

  void add(const InferredLaunch& launch) {
    const Replacements by = replacements_for(launch);
    const ResolvedLaunch& own = launch.kernel.launch;
    InferredStep step{launch.kernel.signature, own};
    step.launch.grid = replaced(own.grid, by);
    step.launch.block = replaced(own.block, by);
    step.launch.arguments = replaced(own.arguments, by);
    if (own.shared_bytes) step.launch.shared_bytes = replaced(*own.shared_bytes, by);
    variant_.steps.push_back(std::move(step));
    for (const InferredParameter& parameter : launch.kernel.parameters)
      add_parameter(parameter, by);
    for (const InferredBuffer& buffer : launch.kernel.buffers)
      add_buffer(buffer, by);
    for (const std::string& note : launch.kernel.notes)
      variant_.notes.push_back(fmt::format("{}: {}", launch.kernel.signature.name, note));
  }

  void add_parameter(InferredParameter parameter, const Replacements& by) {
    const auto found = by.find(parameter.name);
    if (found != by.end() && found->second->kind != NodeKind::name) {
      const bool is_computed =
          found->second->kind != NodeKind::integer && found->second->kind != NodeKind::real;
      if (is_computed && parameter.multiple_of > 1)
        variant_.requirements.push_back(
            fmt::format("({}) % {} == 0", text_of(*found->second), parameter.multiple_of));
      return;
    }
    if (found != by.end()) parameter.name = found->second->name;
    const auto known =
        std::ranges::find(variant_.parameters, parameter.name, &InferredParameter::name);
    if (known == variant_.parameters.end()) {
      variant_.parameters.push_back(std::move(parameter));
    } else {
      add_multiple(*known, parameter.multiple_of);
    }
  }

  void add_buffer(InferredBuffer buffer, const Replacements& by) {
    buffer.name = by.at(buffer.name)->name;
    for (std::string& extent : buffer.extents)
      extent = replaced(Expression::parse(extent), by).text();
    const auto known = std::ranges::find(variant_.buffers, buffer.name, &InferredBuffer::name);
    if (known == variant_.buffers.end()) {
      is_read_last_[buffer.name] = false;
      is_produced_[buffer.name] = buffer.role == BufferRole::output;
      variant_.buffers.push_back(std::move(buffer));
      return;
    }
    is_read_last_[buffer.name] = buffer.role == BufferRole::input;
    if (known->declared_type.empty()) known->declared_type = buffer.declared_type;
    if (known->role == BufferRole::input && buffer.role != BufferRole::input)
      known->role = BufferRole::in_out;
    if (!have_equal_sizes(*known, buffer)) {
      variant_.notes.push_back(
          fmt::format("assumed: {0} has the elements that the first kernel accesses; a later one "
                      "accesses {0}[{1}]",
                      buffer.name, fmt::join(buffer.extents, "][")));
    } else if (buffer.extents.size() > known->extents.size()) {
      known->extents = buffer.extents;
    }
  }

  bool is_workspace(const InferredBuffer& buffer) const {
    return is_produced_.at(buffer.name) && is_read_last_.at(buffer.name);
  }
  void make_workspace(InferredBuffer& buffer) {
    buffer.role = BufferRole::workspace;
    variant_.notes.push_back(fmt::format(
        "assumed: {} is a workspace, because a later kernel reads what an earlier one stores",
        buffer.name));
  }

  const std::vector<const InferredLaunch*>& launches_;
  const HostCode& code_;
  Aliases parameters_;  ///< host variables that are parameters, by their own names
  InferredVariant variant_;
  std::map<std::string, bool> is_produced_;   ///< the first kernel stores all elements
  std::map<std::string, bool> is_read_last_;  ///< the last kernel that uses it only reads it
};

}  // namespace

bool continues(const std::vector<const InferredLaunch*>& launches, const InferredLaunch& next,
               const HostCode& code) {
  const TextLaunch& before = *launches.back()->text;
  const HostPlace place = code.place_of(next.text->at);
  const bool is_in_block = !place.function.empty() && next.text->at > before.end &&
                           code.place_of(before.at).block == place.block;
  if (!is_in_block) return false;
  for (const auto& [variable, buffer] : buffers_of(next)) {
    if (!reads(*buffer) || code.mentions(variable, before.end, next.text->at)) continue;
    for (const InferredLaunch* launch : launches) {
      const auto buffers = buffers_of(*launch);
      const auto [first, last] = buffers.equal_range(variable);
      if (std::any_of(first, last, [](const auto& b) { return is_output(b.second->role); }))
        return true;
    }
  }
  return false;
}

std::optional<InferredVariant> sequence_of(const std::vector<const InferredLaunch*>& launches,
                                           const HostCode& code) {
  try {
    return Sequence(launches, code).variant();
  } catch (const HostExpressionError&) {
    return std::nullopt;
  } catch (const own::ExpressionError&) {
    return std::nullopt;
  }
}

}  // namespace gpuexp::infer
