#include "infer/declaration_text.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace gpuexp::infer {

namespace {

constexpr std::size_t kLineWidth = 100;

std::string statement(const std::string& text) {
  return "// gpuexp: " + text + "\n";
}

std::string comment(const std::string& text) {
  std::string lines;
  constexpr std::string_view kBegin = "// ";
  for (const std::string& line : wrap(printable(text), kLineWidth - kBegin.size()))
    lines += fmt::format("{}{}\n", kBegin, line);
  return lines;
}

/// "2^20" for a large power of two.
std::string text_of_value(const Value& value) {
  constexpr int kMinExponent = 13;
  if (const auto* const real = std::get_if<double>(&value)) {
    const std::string text = fmt::format("{}", *real);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
  }
  const std::int64_t whole = std::get<std::int64_t>(value);
  for (int exponent = kMinExponent; exponent < 62; ++exponent)
    if (whole == std::int64_t{1} << exponent) return fmt::format("2^{}", exponent);
  return fmt::format("{}", whole);
}

std::string dimensions_text(const std::vector<own::Expression>& sizes) {
  if (sizes.size() == 1) return sizes.front().text();
  std::vector<std::string> texts;
  for (const own::Expression& size : sizes)
    texts.push_back(size.text());
  return fmt::format("({})", fmt::join(texts, ", "));
}

const char* role_text(BufferRole role) {
  switch (role) {
    case BufferRole::input: return "in";
    case BufferRole::output: return "out";
    case BufferRole::workspace: return "workspace";
    default: return "in_out";
  }
}

std::string buffer_text(const InferredBuffer& buffer) {
  std::string text = fmt::format("{} {}{}{}", role_text(buffer.role), buffer.declared_type,
                                 buffer.declared_type.empty() ? "" : " ", buffer.name);
  for (const std::string& extent : buffer.extents)
    text += fmt::format("[{}]", extent);
  return buffer.fill.empty() ? text : fmt::format("{} = {}", text, buffer.fill);
}

/// Whether one buffer can be both: a kernel may treat a matrix as one row of elements.
bool are_compatible(const InferredBuffer& a, const InferredBuffer& b) {
  const bool have_equal_shapes =
      a.extents == b.extents || a.extents.size() == 1 || b.extents.size() == 1;
  return a.type == b.type && a.role == b.role && a.fill == b.fill && have_equal_shapes &&
         have_equal_sizes(a, b);
}

/// "C[i][j] = EXPRESSION".
std::string check_text(const InferredBuffer& output) {
  std::string text = "check " + output.name;
  for (std::size_t d = 0; d < output.extents.size(); ++d)
    text += fmt::format("[{}]", "ijkl"[d]);
  return text + " = EXPRESSION";
}

class DeclarationWriter {
 public:
  explicit DeclarationWriter(const DeclarationParts& parts) : parts_(parts) {
    for (const InferredVariant& variant : parts.variants) {
      std::vector<Arguments> arguments;
      for (const InferredStep& step : variant.steps) {
        Arguments& texts = arguments.emplace_back();
        for (const own::Expression& argument : step.launch.arguments)
          texts.push_back(argument.text());
      }
      if (!variant.has_sizes) {
        add_incomplete(variant, arguments);
        continue;
      }
      add_parameters(variant);
      add_buffers(variant, arguments);
      add_variant(variant, arguments);
    }
  }

  std::string text() const {
    std::string text = comment(
        "gpuexp init found these launches in the text, and the sizes and roles of buffers by "
        "executing the kernels. Check them, in particular what is assumed.");
    for (const std::string& option : parts_.options)
      text += statement("option " + option);
    for (const InferredParameter& parameter : parameters_)
      text += statement(fmt::format("{} = {}", parameter.name, text_of_value(parameter.value)));
    for (const InferredParameter& parameter : parameters_) {
      if (parameter.multiple_of > 1)
        text +=
            statement(fmt::format("require {} % {} == 0", parameter.name, parameter.multiple_of));
    }
    for (const InferredVariant& variant : parts_.variants)
      for (const std::string& requirement : variant.requirements)
        text += statement("require " + requirement);
    for (const auto* buffers : {&parts_.variables, &buffers_})
      for (const InferredBuffer& buffer : *buffers)
        text += statement(buffer_text(buffer));
    for (const std::string& variant : variants_)
      text += variant;
    for (const std::string& note : parts_.notes)
      text += comment(note);
    return text + checks();
  }

 private:
  using Arguments = std::vector<std::string>;  ///< arguments of one launch

  void add_parameters(const InferredVariant& variant) {
    for (const InferredParameter& parameter : variant.parameters) {
      const auto known = std::ranges::find(parameters_, parameter.name, &InferredParameter::name);
      if (known == parameters_.end()) {
        parameters_.push_back(parameter);
        continue;
      }
      add_multiple(*known, parameter.multiple_of);
    }
  }

  bool is_parameter(const std::string& name) const {
    return std::ranges::any_of(parts_.variants, [&](const InferredVariant& variant) {
      return std::ranges::find(variant.parameters, name, &InferredParameter::name) !=
             variant.parameters.end();
    });
  }

  bool is_variable(const std::string& name) const {
    return std::ranges::find(parts_.variables, name, &InferredBuffer::name) !=
           parts_.variables.end();
  }

  /// Renames buffers that differ from an earlier one of their name, also in the arguments.
  void add_buffers(const InferredVariant& variant, std::vector<Arguments>& arguments) {
    for (InferredBuffer buffer : variant.buffers) {
      const std::string name = buffer.name;
      const auto find_known = [&] {
        return std::ranges::find(buffers_, buffer.name, &InferredBuffer::name);
      };
      auto known = find_known();
      const bool is_taken = known != buffers_.end() && !are_compatible(*known, buffer);
      if (is_taken || is_parameter(buffer.name) || is_variable(buffer.name)) {
        buffer.name += "_" + variant.id;
        known = find_known();
        for (Arguments& of_launch : arguments)
          std::ranges::replace(of_launch, name, buffer.name);
      }
      if (known == buffers_.end()) {
        buffers_.push_back(buffer);
        continue;
      }
      if (buffer.extents.size() > known->extents.size()) known->extents = buffer.extents;
      if (known->declared_type.empty()) known->declared_type = buffer.declared_type;
    }
  }

  /// Whether parameters receive the buffers and numbers that have their names.
  bool has_names(const InferredStep& step, const Arguments& arguments) const {
    if (parts_.has_arguments) return false;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i] != step.signature.parameters[i].name) return false;
    return true;
  }

  std::string step_text(const InferredStep& step, const Arguments& arguments) const {
    const ResolvedLaunch& launch = step.launch;
    const std::string& of_template = step.signature.template_arguments;
    std::string text;
    for (const LaunchMemset& memset : launch.memsets)
      text += fmt::format("memset({}, {}); ", arguments[memset.argument], memset.byte);
    text += fmt::format("{}{}<<<{}, {}", step.signature.name,
                        of_template.empty() ? "" : "<" + of_template + ">",
                        dimensions_text(launch.grid), dimensions_text(launch.block));
    if (launch.shared_bytes) text += ", " + launch.shared_bytes->text();
    text += ">>>";
    if (!has_names(step, arguments)) text += fmt::format("({})", fmt::join(arguments, ", "));
    return text;
  }

  void add_variant(const InferredVariant& variant, const std::vector<Arguments>& arguments) {
    std::vector<std::string> steps;
    std::set<std::string> used;
    for (std::size_t i = 0; i < variant.steps.size(); ++i) {
      steps.push_back(step_text(variant.steps[i], arguments[i]));
      used.insert(arguments[i].begin(), arguments[i].end());
    }
    const bool is_named_by_kernel =
        steps.size() == 1 && variant.id == variant.steps.front().signature.name;
    std::string text =
        fmt::format("{}{}", is_named_by_kernel ? "" : variant.id + " = ", fmt::join(steps, "; "));
    if (ids_.empty()) {
      first_arguments_ = used;
    } else if (used == first_arguments_) {
      text += " vs " + ids_.front();
    }
    ids_.push_back(variant.id);
    std::string lines;
    for (const std::string& note : variant.notes)
      lines += comment(note);
    variants_.push_back(lines + statement(text));
  }

  /// Statements to complete, which are no part of the declaration.
  void add_incomplete(const InferredVariant& variant, const std::vector<Arguments>& arguments) {
    std::string lines;
    for (const std::string& note : variant.notes)
      lines += comment(note);
    for (const InferredParameter& parameter : variant.parameters)
      lines += fmt::format("//   {} = {}\n", parameter.name, text_of_value(parameter.value));
    for (const InferredBuffer& buffer : variant.buffers)
      lines += fmt::format("//   {}\n", buffer_text(buffer));
    for (std::size_t i = 0; i < variant.steps.size(); ++i)
      lines += fmt::format("//   {}\n", step_text(variant.steps[i], arguments[i]));
    variants_.push_back(lines);
  }

  std::string checks() const {
    std::string text;
    for (const InferredBuffer& buffer : buffers_) {
      if (!is_output(buffer.role)) continue;
      if (text.empty())
        text = comment(
            "To verify results, state each element in lines that begin with '// gpuexp:' "
            "(docs/own_kernel.md, Checks):");
      text += fmt::format("//   {}\n", check_text(buffer));
    }
    return text;
  }

  const DeclarationParts& parts_;
  std::vector<InferredParameter> parameters_;
  std::vector<InferredBuffer> buffers_;
  std::vector<std::string> variants_;  ///< statements, with comments above
  std::vector<std::string> ids_;
  std::set<std::string> first_arguments_;
};

}  // namespace

std::string declaration_text(const DeclarationParts& parts) {
  return DeclarationWriter(parts).text();
}

}  // namespace gpuexp::infer
