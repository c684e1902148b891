#include "compile/source_tokens.hpp"

#include <algorithm>
#include <cctype>

namespace gpuexp {

namespace {

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

class SourceReader {
 public:
  explicit SourceReader(std::string_view source) : source_(source) {
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    if (source.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  std::vector<SourceToken> read() {
    while (at_ < source_.size())
      read_next();
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const {
    return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0';
  }
  bool starts(std::string_view text) const { return source_.substr(at_).starts_with(text); }

  void advance(std::size_t end) {
    end = std::min(end, source_.size());
    const std::string_view passed = source_.substr(at_, end - at_);
    line_ += static_cast<std::size_t>(std::count(passed.begin(), passed.end(), '\n'));
    at_ = end;
  }

  // The position after the first `text` that starts at `begin` or later.
  std::size_t after(std::string_view text, std::size_t begin) const {
    const std::size_t found = source_.find(text, begin);
    return found == std::string_view::npos ? source_.size() : found + text.size();
  }

  void add(std::size_t end) {
    end = std::min(end, source_.size());
    tokens_.push_back({source_.substr(at_, end - at_), line_});
    advance(end);
    is_line_start_ = false;
  }

  void read_next() {
    const char c = peek();
    if (c == '\n') {
      is_line_start_ = true;
      advance(at_ + 1);
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || c == '\\') {
      advance(at_ + (c == '\\' && peek(1) == '\n' ? 2 : 1));
    } else if (starts("//")) {
      skip_line();
    } else if (starts("/*")) {
      advance(after("*/", at_ + 2));
    } else if (c == '#' && is_line_start_) {
      skip_line();
    } else if (c == '"' || c == '\'') {
      add(end_of_literal(at_));
    } else if (is_word_character(c)) {
      read_word();
    } else {
      add(at_ + 1);
    }
  }

  // To the end of the line; a backslash continues it, and so does a comment in a directive.
  void skip_line() {
    const bool is_directive = peek() == '#';
    while (at_ < source_.size() && peek() != '\n') {
      if (peek() == '\\' && peek(1) == '\n') {
        advance(at_ + 2);
      } else if (peek() == '\\' && peek(1) == '\r' && peek(2) == '\n') {
        advance(at_ + 3);
      } else if (is_directive && starts("/*")) {
        advance(after("*/", at_ + 2));
      } else {
        advance(at_ + 1);
      }
    }
  }

  std::size_t end_of_literal(std::size_t begin) const {
    const char quote = source_[begin];
    for (std::size_t i = begin + 1; i < source_.size(); ++i) {
      if (source_[i] == '\\') {
        ++i;
      } else if (source_[i] == quote || source_[i] == '\n') {
        return i + 1;
      }
    }
    return source_.size();
  }

  // A number includes digit separators, as in 1'000; a word before a quote is a literal's prefix.
  void read_word() {
    const bool is_number = std::isdigit(static_cast<unsigned char>(peek())) != 0;
    std::size_t end = at_;
    while (end < source_.size() &&
           (is_word_character(source_[end]) ||
            (is_number && source_[end] == '\'' && end + 1 < source_.size() &&
             is_word_character(source_[end + 1]))))
      ++end;
    const bool has_quote = end < source_.size() && source_[end] == '"';
    if (has_quote && source_[end - 1] == 'R' && !is_number && end - at_ <= 3) {
      const std::size_t open = std::min(source_.find('(', end), source_.size() - 1);
      const std::string close = ")" + std::string(source_.substr(end + 1, open - end - 1)) + "\"";
      end = after(close, open);
    }
    add(end);
  }

  std::string_view source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  bool is_line_start_ = true;
  std::vector<SourceToken> tokens_;
};

}  // namespace

bool SourceToken::is_word() const {
  return !text.empty() && is_word_character(text[0]);
}

std::vector<SourceToken> tokens_of(std::string_view source) {
  return SourceReader(source).read();
}

std::size_t after_bracket(const std::vector<SourceToken>& tokens, std::size_t open) {
  const auto closing = [](const SourceToken& token) {
    constexpr std::string_view kOpening = "([{<";
    const std::size_t kind = token.text.size() == 1 ? kOpening.find(token.text) : kOpening.npos;
    return kind == kOpening.npos ? '\0' : ")]}>"[kind];
  };
  const bool is_template = tokens[open].is("<");
  const std::size_t end = std::min(tokens.size(), open + kMaxBracketTokens);
  std::vector<char> awaited;
  for (std::size_t i = open; i < end; ++i) {
    const SourceToken& token = tokens[i];
    if (is_template && token.is(";")) break;
    const char close = closing(token);
    // Outside of template arguments, < may mean "less than".
    const bool opens = close != '\0' && (close != '>' || i == open || awaited.back() == '>');
    if (opens) {
      awaited.push_back(close);
    } else if (token.text.size() == 1 && token.text[0] == awaited.back()) {
      awaited.pop_back();
      if (awaited.empty()) return i + 1;
    }
  }
  return tokens.size();
}

std::string joined(const std::vector<SourceToken>& tokens, std::size_t begin, std::size_t end) {
  const auto is = [&](std::size_t i, std::string_view mark) {
    return i >= begin && i < end && tokens[i].is(mark);
  };
  std::string text;
  for (std::size_t i = begin; i < end; ++i) {
    const bool after_word = i > begin && tokens[i - 1].is_word();
    const bool after_mark =
        i > begin && !is(i - 2, "(") && (is(i - 1, "*") || is(i - 1, "&") || is(i - 1, ">"));
    const bool is_separate = tokens[i].is_word() && (after_word || after_mark);
    // "float (*a)[32]".
    const bool is_declarator = after_word && is(i, "(") && is(i + 1, "*");
    if (is_separate || is_declarator || is(i - 1, ",")) text += ' ';
    text += tokens[i].text;
  }
  return text;
}

}  // namespace gpuexp
