#include "lesson/lesson_page.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/config_error.hpp"
#include "base/names.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

constexpr std::string_view kStart = "<!-- gpuexp: ";
constexpr std::string_view kStartEnd = " -->";
constexpr std::string_view kEnd = "<!-- /gpuexp -->";
constexpr std::string_view kValues = "<!-- gpuexp: values";
constexpr std::string_view kValuesEnd = "-->";
constexpr std::string_view kIs = " = ";  // between the text of a value and its row

constexpr std::string_view kFamilySubject = "a family";

struct Form {
  LessonPartKind kind;
  std::string_view name;
  std::string_view subject;  ///< what the word after the name is; "" if there is no such word
  std::vector<std::string> keys;
};

const std::vector<Form>& forms() {
  static const std::vector<Form> kForms{
      {LessonPartKind::results, "results", "a file", {}},
      {LessonPartKind::provenance, "provenance", "", {}},
      {LessonPartKind::question, "question", kFamilySubject, {}},
      {LessonPartKind::variants, "variants", kFamilySubject, {}},
      {LessonPartKind::code, "code", kFamilySubject, {"function"}},
      {LessonPartKind::prediction, "prediction", kFamilySubject, {"problem", "mode", "variants"}},
      {LessonPartKind::measurement, "measurement", kFamilySubject, {"problem", "mode", "variants"}},
      {LessonPartKind::sweep,
       "sweep",
       kFamilySubject,
       {"problem", "mode", "variants", "axis", "values", "around", "show"}},
      {LessonPartKind::counters, "counters", kFamilySubject, {"problem", "mode", "variants"}},
      {LessonPartKind::explanation, "explanation", kFamilySubject, {"problem", "mode", "variants"}},
      {LessonPartKind::table, "table", "a file", {}},
      {LessonPartKind::declared, "declared", "a table", {}},
      {LessonPartKind::figures, "figures", "a file", {}},
      {LessonPartKind::value,
       "value",
       "a row",
       {"file", "column", "over", "over_column", "take", "where", "as", "digits"}},
  };
  return kForms;
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = line.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kSpace) + 1 - begin);
}

// True if a comment names the program: it is then meant as a marker, even if misspelt.
bool is_meant_as_marker(std::string_view line) {
  for (std::size_t at = line.find("<!--"); at != std::string_view::npos;
       at = line.find("<!--", at + 1)) {
    const std::size_t word = line.find_first_not_of(" \t/", at + 4);
    if (word != std::string_view::npos && line.substr(word, 6) == "gpuexp") return true;
  }
  return false;
}

// The words of a marker. A word may contain quoted spaces; the quotes are removed.
class Words {
 public:
  Words(std::string_view text, const std::string& place) : text_(text), place_(place) {}

  std::vector<std::string> all() {
    std::vector<std::string> words;
    while (skip_spaces())
      words.push_back(word());
    return words;
  }

 private:
  bool skip_spaces() {
    at_ = std::min(text_.find_first_not_of(' ', at_), text_.size());
    return at_ < text_.size();
  }

  std::string word() {
    std::string word;
    bool is_quoted = false;
    for (; at_ < text_.size() && (is_quoted || text_[at_] != ' '); ++at_) {
      if (text_[at_] == '"') {
        is_quoted = !is_quoted;
      } else {
        word += text_[at_];
      }
    }
    if (is_quoted)
      throw ConfigError(fmt::format("{}: a quote of '{}' is not closed", place_, in_message(word)));
    return word;
  }

  std::string_view text_;
  const std::string& place_;
  std::size_t at_ = 0;
};

const Form& find_form(const std::string& name, const std::string& place) {
  std::vector<std::string> names;
  for (const Form& form : forms()) {
    if (form.name == name) return form;
    names.emplace_back(form.name);
  }
  throw ConfigError(fmt::format("{}: '{}' is not a part of a lesson{}", place, in_message(name),
                                allowed_names(name, names)));
}

void add_option(LessonPart& part, const Form& form, const std::string& word) {
  const std::size_t equals = word.find('=');
  const std::string key = word.substr(0, equals);
  if (std::find(form.keys.begin(), form.keys.end(), key) == form.keys.end()) {
    throw ConfigError(fmt::format("{}: unknown option '{}' of '{}'{}", part.place, in_message(key),
                                  form.name, allowed_names(key, form.keys)));
  }
  if (equals == std::string::npos || equals + 1 == word.size())
    throw ConfigError(fmt::format("{}: {}: expected {}=VALUE", part.place, key, key));
  if (!part.option(key).empty())
    throw ConfigError(fmt::format("{}: '{}' is given twice", part.place, key));
  part.options.emplace_back(key, word.substr(equals + 1));
}

// Parses the text between "<!-- gpuexp: " and " -->".
LessonPart part_of(std::string_view text, const std::string& place) {
  std::vector<std::string> words = Words(text, place).all();
  if (words.empty()) throw ConfigError(fmt::format("{}: the marker names no part", place));
  const Form& form = find_form(words.front(), place);
  LessonPart part{form.kind, place, {}, {}};
  std::size_t next = 1;
  if (!form.subject.empty()) {
    const bool is_family = form.subject == kFamilySubject;
    if (words.size() < 2 || words[1].empty() ||
        (is_family && words[1].find('=') != std::string::npos)) {
      throw ConfigError(fmt::format("{}: expected {} after '{}'", place, form.subject, form.name));
    }
    part.subject = words[1];
    next = 2;
  }
  for (; next < words.size(); ++next)
    add_option(part, form, words[next]);
  return part;
}

struct ListedValue {
  std::string text;   ///< text in the paragraph
  std::string words;  ///< "ROW column=NAME"
  std::string place;
};

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

// The paragraph, in which code in backticks and link targets are blanked, so that the search for a
// value skips them.
std::string searched_prose(std::string_view paragraph) {
  std::string prose(paragraph);
  bool is_code = false, is_target = false;
  for (std::size_t i = 0; i < prose.size(); ++i) {
    const char c = paragraph[i];
    if (!is_target && c == '`') is_code = !is_code;
    if (!is_code && c == '(' && i > 0 && paragraph[i - 1] == ']') is_target = true;
    if (is_target && c == ')') is_target = false;
    if (is_code || is_target) prose[i] = '\0';
  }
  return prose;
}

// The first position of `text` in the prose, at or after `from`, at which it is not part of a
// longer word or number.
std::size_t find_value(std::string_view prose, std::string_view text, std::size_t from) {
  const auto begins_inside = [&](std::size_t at) {
    return at > 0 &&
           (is_word(prose[at - 1]) || (at > 1 && prose[at - 1] == '.' && is_word(prose[at - 2])));
  };
  const auto ends_inside = [&](std::size_t end) {
    if (end >= prose.size() || !is_word(text.back())) return false;
    const bool is_point = prose[end] == '.' || prose[end] == ',';
    return is_word(prose[end]) || (is_point && end + 1 < prose.size() && is_word(prose[end + 1]));
  };
  std::size_t at = prose.find(text, from);
  while (at != std::string_view::npos && (begins_inside(at) || ends_inside(at + text.size())))
    at = prose.find(text, at + 1);
  return at;
}

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  LessonPage parse(std::string_view text) {
    while (!text.empty()) {
      const std::size_t length = std::min(text.find('\n'), text.size() - 1) + 1;
      read_line(text.substr(0, length));
      text.remove_prefix(length);
    }
    if (is_open_) fail_open("has no end");
    page_.pieces.push_back({std::move(text_), {}});
    return std::move(page_);
  }

 private:
  void read_line(std::string_view line) {
    ++line_;
    if (is_in_values_) {
      read_value(line);
    } else if (is_meant_as_marker(line)) {
      read_marker(line);
    } else if (!is_open_) {
      text_ += line;
    }
  }

  void read_marker(std::string_view line) {
    const std::string_view marker = trimmed(line);
    if (marker == kEnd) return end_part(line);
    if (is_open_) fail_open(fmt::format("has no end before line {}", line_));
    if (marker == kValues) return start_values();
    const bool is_start = marker.size() >= kStart.size() + kStartEnd.size() &&
                          marker.starts_with(kStart) && marker.ends_with(kStartEnd);
    if (!is_start) {
      throw ConfigError(
          fmt::format("{}: '{}' is not a marker; expected '{}PART …{}', '{}' or '{}' on a line of "
                      "its own",
                      place(), in_message(marker), kStart, kStartEnd, kValues, kEnd));
    }
    marker_ = marker.substr(0, marker.size() - kStartEnd.size()).substr(kStart.size());
    LessonPart part = part_of(marker_, place());
    if (part.kind == LessonPartKind::value)
      throw ConfigError(fmt::format("{}: a value is listed below its paragraph; expected '{}'",
                                    place(), kValues));
    start_part(std::move(part), line);
  }

  void start_values() {
    is_open_ = is_in_values_ = true;
    open_place_ = place();
    marker_ = "values";
    values_.clear();
  }

  void read_value(std::string_view line) {
    const std::string_view entry = trimmed(line);
    if (entry == kValuesEnd) return end_values();
    const std::size_t is = entry.rfind(kIs);
    if (is == std::string_view::npos || is == 0 || entry.find(kValuesEnd) != std::string_view::npos)
      throw ConfigError(fmt::format("{}: '{}' is not a value; expected 'TEXT{}ROW …' or '{}'",
                                    place(), in_message(entry), kIs, kValuesEnd));
    values_.push_back(
        {std::string(entry.substr(0, is)), std::string(entry.substr(is + kIs.size())), place()});
  }

  void end_values() {
    is_open_ = is_in_values_ = false;
    const std::size_t blank = text_.rfind("\n\n");
    const std::size_t start = blank == std::string::npos ? 0 : blank + 2;
    const std::string prose = searched_prose(std::string_view(text_).substr(start));
    const std::string paragraph = text_.substr(start);
    std::string unnamed = prose;
    std::string before = text_.substr(0, start);
    std::size_t end = 0;
    for (const ListedValue& value : values_) {
      const std::size_t at = find_value(prose, value.text, end);
      if (at == std::string::npos)
        throw ConfigError(
            fmt::format("{}: the paragraph above has no '{}'; expected the texts of "
                        "its values, in their order",
                        value.place, in_message(value.text)));
      add_value(before + paragraph.substr(end, at - end), value);
      before.clear();
      end = at + value.text.size();
      unnamed.replace(at, value.text.size(), value.text.size(), '\0');
    }
    for (const ListedValue& value : values_) {
      if (find_value(unnamed, value.text, 0) != std::string::npos)
        throw ConfigError(
            fmt::format("{}: '{}' occurs more often in the paragraph above than in the "
                        "list; expected one line per occurrence",
                        value.place, in_message(value.text)));
    }
    text_ = before + paragraph.substr(end) + std::string(kValues) + "\n";
    for (const ListedValue& value : values_) {
      add_value(std::move(text_), value);
      text_ = std::string(kIs) + value.words + "\n";
    }
    text_ += std::string(kValuesEnd) + "\n";
  }

  void add_value(std::string text, const ListedValue& value) {
    const std::string words = fmt::format("{} {}", name_of(LessonPartKind::value), value.words);
    page_.pieces.push_back({std::move(text), part_of(words, value.place)});
  }

  void start_part(LessonPart part, std::string_view line) {
    if (part.kind == LessonPartKind::results) {
      if (!page_.results.empty())
        throw ConfigError(fmt::format("{}: the page names its results twice", place()));
      page_.results = part.subject;
    } else {
      text_ += line;
      is_open_ = true;
      open_place_ = place();
    }
    page_.pieces.push_back({std::move(text_), std::move(part)});
    text_.clear();
  }

  void end_part(std::string_view line) {
    if (!is_open_) throw ConfigError(fmt::format("{}: '{}' without a part", place(), kEnd));
    is_open_ = false;
    text_ = line;
    if (!line.ends_with('\n')) text_ += '\n';
  }

  [[noreturn]] void fail_open(const std::string& what) const {
    throw ConfigError(fmt::format("{}: '{}' {}; expected '{}' below it", open_place_, marker_, what,
                                  is_in_values_ ? kValuesEnd : kEnd));
  }

  std::string place() const { return fmt::format("{}:{}", name_, line_); }

  const std::string& name_;
  LessonPage page_;
  std::string text_;
  std::size_t line_ = 0;
  bool is_open_ = false;
  bool is_in_values_ = false;  ///< implies is_open_
  std::vector<ListedValue> values_;
  std::string open_place_;
  std::string marker_;  ///< the last marker that started a part
};

}  // namespace

std::string_view name_of(LessonPartKind kind) {
  return std::find_if(forms().begin(), forms().end(),
                      [&](const Form& form) { return form.kind == kind; })
      ->name;
}

std::string LessonPart::option(std::string_view key) const {
  for (const auto& [name, value] : options) {
    if (name == key) return value;
  }
  return "";
}

std::string LessonPart::file() const {
  const bool is_of_file = kind == LessonPartKind::table || kind == LessonPartKind::figures;
  return is_of_file ? subject : option("file");
}

std::vector<std::string> LessonPart::option_list(std::string_view key, char separator) const {
  return split(option(key), separator);
}

std::string in_message(std::string_view text) {
  return printable(shorten(text));
}

bool needs_results(const LessonPage& page) {
  return std::ranges::any_of(page.pieces, [](const LessonPiece& piece) {
    return piece.part && piece.part->kind != LessonPartKind::declared &&
           piece.part->kind != LessonPartKind::code && piece.part->file().empty();
  });
}

std::vector<std::string> families_of(const LessonPage& page) {
  std::vector<std::string> families;
  for (const LessonPiece& piece : page.pieces) {
    if (!piece.part || piece.part->kind == LessonPartKind::code) continue;
    const auto form = std::ranges::find(forms(), piece.part->kind, &Form::kind);
    const std::string& family = piece.part->subject;
    if (form->subject == kFamilySubject && std::ranges::find(families, family) == families.end())
      families.push_back(family);
  }
  return families;
}

LessonPage parse_lesson(std::string_view text, const std::string& name) {
  return Parser(name).parse(text);
}

}  // namespace gpuexp
