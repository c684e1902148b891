// Globs, suggestions for misspelt names, and shortened text for messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// Whether the pattern matches all of `text`: '*' is any sequence, '?' any character, "[a-c_]" a
/// character of a set, "[!x]" a character outside a set. An unclosed '[' is literal.
bool glob_match(std::string_view pattern, std::string_view text);

bool is_glob(std::string_view text);

/// Whether `text` equals one of the names or matches a name that is a glob ("*.mtx"). Globs ignore
/// case.
bool is_one_of(std::string_view text, const std::vector<std::string>& names);

/// The candidate that `word` probably means, ignoring case; the first of equally good candidates.
/// If `word` has three letters or more, the shortest candidate that starts with it. If there is
/// none, the candidate with the smallest edit distance (insertions, deletions, substitutions,
/// transpositions), which must be at most a third of the word's length, or one edit for two or
/// three letters.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& candidates);

/// End of an error message: "; did you mean 'cold'? allowed: cold, warm".
std::string allowed_names(std::string_view word, const std::vector<std::string>& candidates);

/// Names that share a text, such as variants with one reason. A message then has the text once.
struct NamedText {
  std::string text;
  std::vector<std::string> names;
};

/// Adds a name of the text. Texts and names stay in the order in which they were added; a repeated
/// name is added once.
void add_name(std::vector<NamedText>& texts, const std::string& text, const std::string& name);

/// `text` truncated for a message, at a UTF-8 character boundary.
std::string shorten(std::string_view text);

}  // namespace gpuexp
