#include "own/declaration.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::own {

namespace {

std::string begin_of_message(const std::string& file, const Place& place) {
  if (!place.entry) return fmt::format("{}:{}:{}", file, place.line, place.column);
  const std::string entry = fmt::format("{}: {}", file, place.entry->path);
  if (place.column == 0) return entry;
  return fmt::format("{}: '{}': column {}", entry, shorten(place.entry->value), place.column);
}

}  // namespace

std::string json_name_of(const std::filesystem::path& source) {
  return std::filesystem::path(source).replace_extension(kJsonSuffix).string();
}

Place after(Place place, std::size_t columns) {
  const bool is_whole_entry = place.entry && place.column == 0;
  if (!is_whole_entry) place.column += static_cast<int>(columns);
  return place;
}

void fail(const std::string& file, const Place& place, const std::string& message) {
  // Names and types in the source may be long.
  constexpr std::size_t kMaxMessage = 2000;
  std::size_t size = std::min(message.size(), kMaxMessage);
  while (size < message.size() && (static_cast<unsigned char>(message[size]) & 0xC0) == 0x80)
    --size;
  throw DeclarationError(fmt::format("{}: {}{}", begin_of_message(file, place),
                                     message.substr(0, size), size < message.size() ? "…" : ""));
}

std::string text_of(const Place& place) {
  return place.entry ? place.entry->path : fmt::format("line {}", place.line);
}

std::string text_of(const std::string& file, const Place& place) {
  return place.entry ? fmt::format("{}: {}", file, place.entry->path)
                     : fmt::format("{}:{}", file, place.line);
}

std::string text_of(const DeclaredBuffer& buffer) {
  std::string text = buffer.name;
  for (const PlacedExpression& extent : buffer.extents)
    text += "[" + extent.expression.text() + "]";
  return text;
}

std::string with_more_elements(const DeclaredBuffer& buffer, const std::string& factor) {
  const PlacedExpression& last = buffer.extents.back();
  const NodeKind kind = last.expression.root().kind;
  const bool is_simple = kind == NodeKind::name || kind == NodeKind::integer;
  const std::string extent = last.expression.text();
  std::string text = text_of(buffer);
  text.resize(text.size() - extent.size() - 1);
  return text + fmt::format("{}*{}]", factor, is_simple ? extent : "(" + extent + ")");
}

const DeclaredBuffer* Declaration::find_buffer(std::string_view name) const {
  const auto found = std::ranges::find(buffers, name, &DeclaredBuffer::name);
  return found == buffers.end() ? nullptr : &*found;
}

std::vector<const DeclaredLaunch*> Declaration::launches() const {
  std::vector<const DeclaredLaunch*> all;
  const auto add = [&](const DeclaredVariant& variant) {
    for (const DeclaredStep& step : variant.steps)
      if (const auto* const launch = std::get_if<DeclaredLaunch>(&step)) all.push_back(launch);
  };
  std::ranges::for_each(variants, add);
  if (reference) add(reference->launch);
  return all;
}

std::optional<std::string> DeclaredLaunch::template_text() const {
  if (!template_arguments) return std::nullopt;
  std::vector<std::string> texts;
  for (const DeclaredTemplateArgument& argument : *template_arguments)
    texts.push_back(argument.text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

const PlacedExpression* DeclaredTemplateArgument::number(
    const std::vector<DeclaredParameter>& parameters) const {
  if (!expression) return nullptr;
  const bool is_name = expression->expression.root().kind == NodeKind::name;
  const bool is_parameter =
      std::ranges::find(parameters, text, &DeclaredParameter::name) != parameters.end();
  return !is_name || is_parameter ? &*expression : nullptr;
}

}  // namespace gpuexp::own
