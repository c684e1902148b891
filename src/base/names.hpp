// Names that people type: globs over them, and the one that was probably meant.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// Matches the whole of `text`: '*' any run, '?' any one character, "[a-c_]" one of a set, "[!x]"
/// one that is not in it. A '[' that is never closed stands for itself.
bool glob_match(std::string_view pattern, std::string_view text);

/// Whether `text` holds a character that glob_match treats specially.
bool is_glob(std::string_view text);

/// Whether it is one of the names, or matches, in upper or lower case, one that is a glob
/// ("*.mtx").
bool is_one_of(std::string_view text, const std::vector<std::string>& names);

/// What `word` was probably meant to be; case is ignored. The shortest candidate that begins with
/// it, if it has three letters or more; else the one with the smallest edit distance (insertions,
/// deletions, substitutions and swaps of neighbours), when that is at most a third of the word, or
/// one edit of a word of two or three letters. The first of equals.
std::optional<std::string> nearest_name(std::string_view word,
                                        const std::vector<std::string>& candidates);

/// The tail of an error about an unknown name: "; did you mean 'cold'? allowed: cold, warm".
std::string allowed_names(std::string_view word, const std::vector<std::string>& candidates);

/// `text` cut to what fits in a message, never inside a UTF-8 character.
std::string shorten(std::string_view text);

}  // namespace gpuexp
