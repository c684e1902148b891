#include "family/variant_comments.hpp"

#include <algorithm>
#include <optional>

#include "base/text.hpp"

namespace gpuexp {

namespace {

std::string_view next_line(std::string_view& source) {
  const std::size_t end = std::min(source.find('\n'), source.size());
  const std::string_view line = source.substr(0, end);
  source.remove_prefix(std::min(end + 1, source.size()));
  return line;
}

std::optional<std::string_view> comment_text(std::string_view line) {
  constexpr std::string_view kSlashes = "//";
  if (line.substr(0, kSlashes.size()) != kSlashes) return std::nullopt;
  line.remove_prefix(kSlashes.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return line;
}

std::optional<std::string_view> heading(std::string_view line) {
  constexpr std::string_view kDashes = "// ---- ";
  if (line.substr(0, kDashes.size()) != kDashes) return std::nullopt;
  line.remove_prefix(kDashes.size());
  return line.substr(0, line.find(':'));
}

}  // namespace

std::vector<VariantComment> variant_comments(std::string_view source) {
  std::vector<VariantComment> comments;
  while (!source.empty()) {
    const auto name = heading(next_line(source));
    if (!name) continue;
    VariantComment comment{std::string(*name), {}, {}};
    while (const auto text = comment_text(source.substr(0, source.find('\n')))) {
      if (heading(source.substr(0, source.find('\n')))) break;
      next_line(source);
      constexpr std::string_view kHeld = "held: ";
      if (text->substr(0, kHeld.size()) == kHeld) {
        for (const std::string& claim : split(std::string(text->substr(kHeld.size())), ';'))
          comment.held.push_back(
              claim.substr(std::min(claim.find_first_not_of(' '), claim.size())));
        continue;
      }
      if (!text->empty() && !comment.why.empty()) comment.why += ' ';
      comment.why += *text;
    }
    if (!comment.why.empty()) comments.push_back(std::move(comment));
  }
  return comments;
}

}  // namespace gpuexp
