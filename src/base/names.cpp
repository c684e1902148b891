#include "base/names.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

constexpr std::size_t kMaxGuessedWord = 64;
constexpr std::size_t kMinPrefix = 3;
constexpr std::size_t kMaxQuote = 80;

// Optimal string alignment: Levenshtein distance in which a transposition of neighbours is one
// edit.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
    previous[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({substituted, previous[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(previous);
    previous.swap(row);
  }
  return previous[b.size()];
}

}  // namespace

bool glob_match(std::string_view pattern, std::string_view text) {
  return ::fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), FNM_NOESCAPE) == 0;
}

bool is_glob(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool is_one_of(std::string_view text, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == text || (is_glob(name) && ::fnmatch(name.c_str(), std::string(text).c_str(),
                                                       FNM_NOESCAPE | FNM_CASEFOLD) == 0);
  });
}

std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& candidates) {
  if (word.size() > kMaxGuessedWord) return std::nullopt;
  const std::string typed = lower_case(word);
  const std::string* nearest = nullptr;
  for (const std::string& candidate : candidates) {
    if (typed.size() < kMinPrefix || !lower_case(candidate).starts_with(typed)) continue;
    if (!nearest || candidate.size() < nearest->size()) nearest = &candidate;
  }
  if (nearest) return *nearest;
  std::size_t best = std::max<std::size_t>(word.size() / 3, word.size() > 1 ? 1 : 0) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kMaxGuessedWord) continue;
    const std::size_t distance = edit_distance(typed, lower_case(candidate));
    if (distance >= best) continue;
    best = distance;
    nearest = &candidate;
  }
  return nearest ? std::optional(*nearest) : std::nullopt;
}

std::string allowed_names(std::string_view word, const std::vector<std::string>& candidates) {
  const std::optional<std::string> nearest = nearest_name(word, candidates);
  const std::string guess = nearest ? fmt::format(" did you mean '{}'?", *nearest) : "";
  if (candidates.empty()) return "; none is allowed";
  return fmt::format(";{} allowed: {}", guess, fmt::join(candidates, ", "));
}

void add_name(std::vector<NamedText>& texts, const std::string& text, const std::string& name) {
  auto known = std::ranges::find(texts, text, &NamedText::text);
  if (known == texts.end()) known = texts.insert(known, NamedText{text, {}});
  if (std::ranges::find(known->names, name) == known->names.end()) known->names.push_back(name);
}

std::string shorten(std::string_view text) {
  if (text.size() <= kMaxQuote) return std::string(text);
  std::size_t end = kMaxQuote;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace gpuexp
