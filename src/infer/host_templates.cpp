// Templates of host functions: copies of their text for the arguments of their calls.
#include <algorithm>
#include <set>
#include <utility>

#include "infer/host_code.hpp"

namespace gpuexp::infer {

namespace {

/// The argument instead of one name: sums and products need parentheses.
Tokens as_operand(const Tokens& argument, std::size_t line) {
  constexpr std::string_view kOperators = "+-*/%?";
  // A type of a pointer ends with *.
  const bool needs_brackets =
      !argument.empty() &&
      std::any_of(argument.begin(), argument.end() - 1, [&](const SourceToken& token) {
        return token.text.size() == 1 && kOperators.find(token.text) != std::string_view::npos;
      });
  Tokens tokens;
  if (needs_brackets) tokens.push_back({"(", line});
  for (SourceToken token : argument) {
    token.line = line;
    tokens.push_back(token);
  }
  if (needs_brackets) tokens.push_back({")", line});
  return tokens;
}

/// "_16" or "_32_float".
std::string instance_suffix(const std::vector<std::string>& parameters,
                            const std::map<std::string, Tokens, std::less<>>& arguments) {
  std::string suffix;
  for (const std::string& parameter : parameters) {
    const auto argument = arguments.find(parameter);
    if (argument == arguments.end()) continue;
    for (const SourceToken& token : argument->second)
      if (token.is_word()) suffix += "_" + std::string(token.text);
  }
  return suffix;
}

}  // namespace

/// The template at this token; empty if it is none of a host function or structure.
std::optional<HostCode::HostTemplate> HostCode::template_at(std::size_t at, std::size_t end) const {
  if (!is(at, "template") || !is(at + 1, "<")) return std::nullopt;
  HostTemplate found;
  found.begin = at;
  found.after = after_bracket(tokens_, at + 1);
  if (found.after <= at + 3 || found.after >= end) return std::nullopt;
  for (const Tokens& parameter : comma_parts(part(at + 2, found.after - 1))) {
    const auto equals = std::ranges::find_if(parameter, [](const auto& t) { return t.is("="); });
    const auto is_pack = std::ranges::any_of(parameter, [](const auto& t) { return t.is("."); });
    if (is_pack) break;
    const bool has_name = equals - parameter.begin() > 1 && (equals - 1)->is_word();
    found.parameters.emplace_back(has_name ? (equals - 1)->text : std::string_view{});
    found.defaults.emplace_back(equals == parameter.end() ? equals : equals + 1, parameter.end());
  }
  for (std::size_t i = found.after; i < end && !is(i, ";"); ++i) {
    if (is(i, "__global__") || is(i, "__device__")) return std::nullopt;
    const bool is_type = (is(i, "struct") || is(i, "class")) && found.name.empty();
    const bool is_function = tokens_[i].is_word() && is(i + 1, "(") && found.name.empty();
    if (is_type || is_function) {
      found.name_at = is_type ? i + 1 : i;
      if (found.name_at >= end) return std::nullopt;
      found.name = tokens_[found.name_at].text;
      found.is_function = is_function;
    }
    if (is(i, "(")) i = after_bracket(tokens_, i) - 1;
    if (!is(i, "{")) continue;
    found.end = after_bracket(tokens_, i);
    const bool is_whole = found.end <= end && is(found.end - 1, "}");
    return is_whole && !found.name.empty() ? std::optional(std::move(found)) : std::nullopt;
  }
  return std::nullopt;
}

std::vector<HostCode::HostTemplate> HostCode::host_templates() const {
  std::vector<HostTemplate> templates;
  for (const File& file : files_) {
    if (file.template_at) continue;
    for (std::size_t i = file.begin; i < file.end; ++i) {
      auto found = template_at(i, file.end);
      if (!found) continue;
      i = found->end - 1;
      templates.push_back(std::move(*found));
    }
  }
  return templates;
}

/// The tokens with the values that variables have at token `at`.
Tokens HostCode::with_values(const Tokens& tokens, std::size_t at) const {
  Tokens result;
  for (const SourceToken& token : tokens) {
    const auto known = token.is_word() ? value(token.text, at) : std::nullopt;
    const Tokens replaced = known && !known->is_constructed && !known->tokens.empty()
                                ? as_operand(known->tokens, token.line)
                                : Tokens{token};
    result.insert(result.end(), replaced.begin(), replaced.end());
  }
  return result;
}

/// The arguments with which token i uses the template; empty if it does not, if some are deduced,
/// or if they are parameters of the template around it.
std::optional<HostCode::TemplateArguments> HostCode::arguments_at(
    std::size_t i, HostTemplate& of, const std::vector<HostTemplate>& all) const {
  const bool is_use = tokens_[i].is(of.name) && i != of.name_at && !names_of_copies_.contains(i);
  if (!is_use) return std::nullopt;
  std::size_t end = i + 1;
  std::vector<Tokens> given;
  if (is(end, "<")) {
    end = after_bracket(tokens_, i + 1);
    if (end <= i + 2 || end >= tokens_.size()) return std::nullopt;
    given = comma_parts(part(i + 2, end - 1));
  }
  if (of.is_function && !is(end, "(")) return std::nullopt;
  if (given.size() > of.parameters.size()) return std::nullopt;
  TemplateArguments arguments;
  for (std::size_t p = 0; p < of.parameters.size(); ++p) {
    const Tokens& argument = p < given.size() ? given[p] : of.defaults[p];
    if (argument.empty()) {
      of.has_deduced_call = true;
      return std::nullopt;
    }
    arguments[of.parameters[p]] = with_values(argument, i);
  }
  for (const HostTemplate& around : all) {
    if (!around.contains(i)) continue;
    for (const auto& [name, argument] : arguments)
      for (const SourceToken& token : argument)
        if (std::ranges::find(around.parameters, token.text) != around.parameters.end())
          return std::nullopt;
  }
  return arguments.empty() ? std::nullopt : std::optional(std::move(arguments));
}

void HostCode::add_instance(const HostTemplate& of, const TemplateArguments& arguments) {
  const auto file = std::ranges::find_if(
      files_, [&](const File& f) { return of.begin >= f.begin && of.begin < f.end; });
  File added{file->name, tokens_.size(), 0, of.begin, instance_suffix(of.parameters, arguments)};
  Tokens copied;
  for (std::size_t i = of.after; i < of.end; ++i) {
    if (i == of.name_at) names_of_copies_.insert(tokens_.size() + copied.size());
    const auto argument = arguments.find(tokens_[i].text);
    const bool is_member = is(i - 1, ".") || is(i - 1, ":") || (is(i - 2, "-") && is(i - 1, ">"));
    const Tokens replaced = argument == arguments.end() || is_member
                                ? Tokens{tokens_[i]}
                                : as_operand(argument->second, tokens_[i].line);
    copied.insert(copied.end(), replaced.begin(), replaced.end());
  }
  tokens_.insert(tokens_.end(), copied.begin(), copied.end());
  added.end = tokens_.size();
  files_.push_back(added);
  read_launches(added);
}

std::size_t HostCode::required_template_arguments(std::string_view kernel) const {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (!is(i, "template") || !is(i + 1, "<")) continue;
    const std::size_t after = after_bracket(tokens_, i + 1);
    std::size_t name = after;
    while (name < tokens_.size() && !is(name, "{") && !is(name, ";") && !is(name, kernel))
      ++name;
    if (!is(name, kernel) || !is(name + 1, "(")) continue;
    const std::vector<Tokens> parameters = comma_parts(part(i + 2, after - 1));
    const auto is_optional = std::ranges::find_if(parameters, [](const Tokens& parameter) {
      return std::ranges::any_of(parameter, [](const auto& t) { return t.is("=") || t.is("."); });
    });
    return static_cast<std::size_t>(is_optional - parameters.begin());
  }
  return 0;
}

void HostCode::instantiate_templates() {
  constexpr std::size_t kMaxInstances = 64;
  std::vector<HostTemplate> templates = host_templates();
  std::set<std::pair<std::string, std::string>> known;
  // Copies call other templates.
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    for (HostTemplate& used : templates) {
      const auto arguments = arguments_at(i, used, templates);
      if (!arguments || known.size() == kMaxInstances) continue;
      std::string text;
      for (const auto& [name, argument] : *arguments)
        text += name + "=" + joined(argument, 0, argument.size()) + ";";
      if (!known.emplace(used.name, text).second) continue;
      used.has_instance = true;
      add_instance(used, *arguments);
    }
  }
  std::erase_if(launches_, [&](const TextLaunch& launch) {
    return std::ranges::any_of(templates, [&](const HostTemplate& of) {
      return of.has_instance && !of.has_deduced_call && of.contains(launch.at);
    });
  });
}

std::vector<const TextLaunch*> HostCode::launches_of_instance(
    const TextLaunch& launch, const std::map<std::string, std::string>& arguments) {
  const std::vector<HostTemplate> templates = host_templates();
  const auto around = std::ranges::find_if(
      templates, [&](const HostTemplate& of) { return of.contains(launch.at); });
  if (around == templates.end()) return {};
  TemplateArguments tokens;
  for (const auto& [name, argument] : arguments) {
    if (std::ranges::find(around->parameters, name) == around->parameters.end()) return {};
    tokens[name] = tokens_of(texts_.emplace_back(argument));
  }
  const std::size_t before = launches_.size();
  add_instance(*around, tokens);
  std::vector<const TextLaunch*> added;
  for (std::size_t i = before; i < launches_.size(); ++i)
    added.push_back(&launches_[i]);
  return added;
}

}  // namespace gpuexp::infer
