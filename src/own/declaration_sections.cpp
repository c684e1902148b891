#include "own/declaration_sections.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp::own {

namespace {

std::string placed(const Bound& bound, const std::string& text, const Place& place) {
  return fmt::format("{} ({})", text, own::text_of(bound.file, place));
}

std::string range_text(const DeclaredFill& fill) {
  if (!fill.low) return "";
  return fmt::format("({}, {})", fill.low->expression.text(), fill.high->expression.text());
}

std::string text_of(const DeclaredFill& fill) {
  switch (fill.kind) {
    case FillKind::uniform: return "uniform" + range_text(fill);
    case FillKind::normal: return "normal";
    case FillKind::integers: return "integers" + range_text(fill);
    case FillKind::iota: return "iota";
    case FillKind::zeros: return "zeros";
    case FillKind::constant: return fill.low->expression.text();
    case FillKind::nonzero: break;  // no statement declares it
  }
  return "";
}

std::string contents_text(const BoundBuffer& buffer) {
  if (buffer.declared.array) return buffer.declared.array->file;
  if (buffer.declared.fill) return text_of(*buffer.declared.fill);
  if (buffer.type == DataType::boolean) return "integers(0, 2)";
  return is_integer(buffer.type) ? "integers(0, 100)" : "uniform";
}

std::string text_of(const Bound& bound, std::size_t index) {
  const BoundBuffer& buffer = bound.buffers[index];
  std::string text = buffer.declared.name;
  for (const PlacedExpression& extent : buffer.declared.extents)
    text += fmt::format("[{}]", extent.expression.text());
  const bool is_checked = bound.expected_by(index) != ExpectedBy::nothing;
  const std::string contents = contents_text(buffer);
  switch (buffer.role) {
    case BufferRole::input: text += ": input, " + contents; break;
    case BufferRole::output: text += ": output"; break;
    case BufferRole::in_out: text += ": in_out, " + contents; break;
    case BufferRole::workspace: text += ": workspace"; break;
    case BufferRole::state: break;  // no statement declares one
  }
  text += fmt::format(", {}", name_of(buffer.type));
  if (is_output(buffer.role) && !is_checked) text += ", without a check";
  return placed(bound, text, buffer.declared.place);
}

std::string dimensions_text(const std::vector<PlacedExpression>& dimensions) {
  std::vector<std::string> texts;
  for (const PlacedExpression& dimension : dimensions)
    texts.push_back(dimension.expression.text());
  if (texts.size() == 1) return texts.front();
  return fmt::format("({})", fmt::join(texts, ", "));
}

std::string text_of(const BoundLaunch& launch) {
  const DeclaredLaunch& declared = launch.declared;
  std::string shape =
      fmt::format("{}, {}", dimensions_text(declared.grid), dimensions_text(declared.block));
  if (declared.shared_bytes) shape += ", " + declared.shared_bytes->expression.text();
  std::vector<std::string> arguments;
  if (declared.arguments) {
    for (const PlacedExpression& argument : *declared.arguments)
      arguments.push_back(argument.expression.text());
  } else {
    for (const BoundArgument& argument : launch.arguments)
      arguments.push_back(argument.parameter.name);
  }
  const std::optional<std::string> of_template = declared.template_text();
  return fmt::format("{}{}<<<{}>>>({})", declared.kernel,
                     of_template ? "<" + *of_template + ">" : "", shape,
                     fmt::join(arguments, ", "));
}

std::string steps_text(const BoundVariant& variant) {
  std::vector<std::string> steps;
  for (const BoundStep& step : variant.steps) {
    if (const auto* const launch = std::get_if<BoundLaunch>(&step)) {
      steps.push_back(text_of(*launch));
      continue;
    }
    const DeclaredMemset& memset = std::get<BoundMemset>(step).declared;
    steps.push_back(fmt::format("memset({}, {})", memset.buffer, memset.value.expression.text()));
  }
  return fmt::format("{}", fmt::join(steps, "; "));
}

std::vector<std::string> check_lines(const Bound& bound) {
  std::vector<std::string> lines;
  for (const DeclaredCheck& check : bound.checks)
    lines.push_back(placed(bound, check.check.text(), check.place));
  for (const DeclaredValues& values : bound.expected_files)
    lines.push_back(
        placed(bound, fmt::format("{} = {}", values.output, values.array.file), values.place));
  if (bound.reference)
    lines.push_back(
        placed(bound,
               "reference " + (bound.reference_is_first ? "first: " + bound.reference->id
                                                        : steps_text(*bound.reference)),
               bound.reference->place));
  return lines;
}

std::vector<std::string> work_lines(const Bound& bound) {
  std::vector<std::string> lines;
  for (const DeclaredWork& work : bound.work)
    lines.push_back(placed(bound,
                           fmt::format("{}{}{} = {}", work.variant, work.variant.empty() ? "" : " ",
                                       work.quantity, work.amount.expression.text()),
                           work.place));
  if (lines.empty()) lines.emplace_back("assumed: each buffer is read or written once");
  return lines;
}

}  // namespace

std::vector<DeclarationSection> sections_of(const Bound& bound) {
  std::vector<DeclarationSection> all{
      {"buffers", {}}, {"launches", {}}, {"checks", {}}, {"requirements", {}}, {"work", {}}};
  for (std::size_t i = 0; i < bound.buffers.size(); ++i)
    all[0].lines.push_back(text_of(bound, i));
  for (const BoundVariant& variant : bound.variants)
    all[1].lines.push_back(
        placed(bound, fmt::format("{} = {}", variant.id, steps_text(variant)), variant.place));
  all[2].lines = check_lines(bound);
  for (const PlacedExpression& requirement : bound.requirements)
    all[3].lines.push_back(placed(bound, requirement.expression.text(), requirement.place));
  all[4].lines = work_lines(bound);
  std::erase_if(all, [](const DeclarationSection& section) { return section.lines.empty(); });
  return all;
}

}  // namespace gpuexp::own
