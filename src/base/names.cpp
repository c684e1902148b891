#include "base/names.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gpuexp {

namespace {

constexpr std::size_t kLongestGuessedWord = 64;
constexpr std::size_t kShortestBeginning = 3;
constexpr std::size_t kLongestQuote = 80;

// One pattern element against one character.
struct SetMatch {
  bool matches;
  std::size_t length;  // pattern characters that the element takes
};

// pattern[0] is '['. A ']' right after the opening (or after '!') is a member, as in POSIX shells.
SetMatch match_set(std::string_view pattern, char c) {
  std::size_t i = 1;
  const bool negated = i < pattern.size() && pattern[i] == '!';
  if (negated) ++i;
  const std::size_t first = i;
  bool found = false;
  for (; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    const char low = pattern[i];
    const bool is_range = i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']';
    if (is_range) i += 2;
    found = found || (low <= c && c <= pattern[i]);
  }
  if (i >= pattern.size()) return {c == '[', 1};
  return {found != negated, i + 1};
}

SetMatch match_one(std::string_view pattern, char c) {
  if (pattern[0] == '?') return {true, 1};
  if (pattern[0] == '[') return match_set(pattern, c);
  return {pattern[0] == c, 1};
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

// Optimal string alignment: Levenshtein's distance with swaps of neighbours as one edit.
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

// On a mismatch only the last '*' can take one more character: earlier ones have nothing to gain,
// so the search is at most |pattern| × |text| steps.
bool glob_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
      continue;
    }
    if (p < pattern.size()) {
      const SetMatch one = match_one(pattern.substr(p), text[t]);
      if (one.matches) {
        p += one.length;
        ++t;
        continue;
      }
    }
    if (star == std::string_view::npos) return false;
    p = star + 1;
    t = ++star_text;
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

bool is_glob(std::string_view text) {
  return text.find_first_of("*?[") != std::string_view::npos;
}

bool is_one_of(std::string_view text, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == text || (is_glob(name) && glob_match(name, text));
  });
}

std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& candidates) {
  if (word.size() > kLongestGuessedWord) return std::nullopt;
  const std::string typed = lower(word);
  const std::string* nearest = nullptr;
  for (const std::string& candidate : candidates) {
    if (typed.size() < kShortestBeginning || !lower(candidate).starts_with(typed)) continue;
    if (!nearest || candidate.size() < nearest->size()) nearest = &candidate;
  }
  if (nearest) return *nearest;
  std::size_t best = std::max<std::size_t>(word.size() / 3, word.size() > 1 ? 1 : 0) + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestGuessedWord) continue;
    const std::size_t distance = edit_distance(typed, lower(candidate));
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

std::string shorten(std::string_view text) {
  if (text.size() <= kLongestQuote) return std::string(text);
  std::size_t end = kLongestQuote;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace gpuexp
