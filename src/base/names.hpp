// Globs, suggestions for misspelt names, and shortened text for messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// Matches all of `text`: '*' is any sequence, '?' any character, "[a-c_]" one character of a set,
/// "[!x]" one outside it. An unclosed '[' is literal.
bool glob_match(std::string_view pattern, std::string_view text);

/// Whether `text` contains a special character of glob_match.
bool is_glob(std::string_view text);

/// Whether `text` equals one of the names or matches a glob among them ("*.mtx"). Globs ignore
/// case.
bool is_one_of(std::string_view text, const std::vector<std::string>& names);

/// The candidate that `word` probably means, ignoring case; the first of equal candidates. If
/// `word` has three letters or more, it is the shortest candidate that starts with it. Otherwise it
/// is the candidate with the smallest edit distance (insertions, deletions, substitutions,
/// transpositions): at most a third of the word's length, and one edit for two or three letters.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& candidates);

/// The tail of an error message: "; did you mean 'cold'? allowed: cold, warm".
std::string allowed_names(std::string_view word, const std::vector<std::string>& candidates);

/// `text` truncated for a message, at a UTF-8 character boundary.
std::string shorten(std::string_view text);

}  // namespace gpuexp
