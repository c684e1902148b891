// Words and punctuation of C++ source text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// A word (identifier, keyword or number), a literal in quotes, or one character of punctuation.
/// The text is a part of the source.
struct SourceToken {
  std::string_view text;
  std::size_t line = 1;

  bool is_word() const;
  bool is(std::string_view other) const { return text == other; }
};

/// The tokens, without comments and preprocessor lines. Both branches of a conditional remain.
std::vector<SourceToken> tokens_of(std::string_view source);

/// Brackets around more tokens count as not closed, so that a damaged file is read in little time.
inline constexpr std::size_t kMaxBracketTokens = 4096;

/// The position after the bracket that closes the one at `open`: (, [, { or <; the number of tokens
/// if it is not closed.
std::size_t after_bracket(const std::vector<SourceToken>& tokens, std::size_t open);

/// The tokens [begin, end) as text, with spaces as in formatted code: "const float* a".
std::string joined(const std::vector<SourceToken>& tokens, std::size_t begin, std::size_t end);

}  // namespace gpuexp
