#include "own/declaration_reader.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/config_error.hpp"
#include "base/names.hpp"
#include "base/text_parts.hpp"
#include "compile/compile_options.hpp"
#include "compile/kernel_input.hpp"
#include "compile/kernel_symbols.hpp"
#include "own/declared_type.hpp"
#include "own/parameter_types.hpp"
#include "own/parameter_values.hpp"
#include "own/statement.hpp"
#include "own/statement_parts.hpp"
#include "own/variant_whys.hpp"
#include "own/work_amounts.hpp"

namespace gpuexp::own {

namespace {

constexpr std::string_view kMark = "gpuexp:";
constexpr std::size_t kMaxStatements = 1000;

const std::vector<std::string>& keywords() {
  static const std::vector<std::string> words{"in",        "out",       "in_out",  "workspace",
                                              "check",     "reference", "require", "work",
                                              "tolerance", "option",    "define"};
  return words;
}

/// The keyword that a word of other declarations means; "" if there is none.
std::string_view keyword_meant_by(std::string_view word) {
  constexpr std::pair<std::string_view, std::string_view> kMeant[] = {
      {"input", "in"},          {"inputs", "in"},     {"output", "out"},
      {"outputs", "out"},       {"inout", "in_out"},  {"input_output", "in_out"},
      {"scratch", "workspace"}, {"temp", "workspace"}};
  for (const auto& [other, keyword] : kMeant) {
    if (word == other) return keyword;
  }
  return "";
}

class Reader {
 public:
  explicit Reader(const std::string& file) { declaration_.file = file; }

  void read(Statement s) {
    const Place place = s.place();
    if (++statements_ > kMaxStatements)
      s.fail(fmt::format("a declaration has at most {} statements", kMaxStatements));
    if (s.takes_keyword("check")) return read_check(s);
    if (s.takes_keyword("reference")) return read_reference(s, place);
    if (s.takes_keyword("require")) return read_requirement(s);
    if (s.takes_keyword("work")) return read_work(s, place);
    if (s.takes_keyword("tolerance")) return read_tolerance_once(s, place);
    if (s.takes_keyword("option")) return read_options(s);
    if (s.takes_keyword("define")) return read_macro(s);
    if (s.takes_keyword("in")) return read_buffers(s, BufferRole::input);
    if (s.takes_keyword("out")) return read_buffers(s, BufferRole::output);
    if (s.takes_keyword("in_out")) return read_buffers(s, BufferRole::in_out);
    if (s.takes_keyword("workspace")) return read_buffers(s, BufferRole::workspace);
    const Statement whole = s;
    const std::optional<CType> type = take_type(s);
    if (type) return read_typed(s, whole, *type);
    std::string name = s.name("a statement");
    if (s.rest().starts_with('[')) {
      Statement again = whole;
      return read_buffers(again, std::nullopt);
    }
    if (s.rest().starts_with('<') || begins_memset(whole.rest())) {
      Statement again = whole;
      return read_variant(again, "", place);
    }
    if (!s.takes("=")) refuse(whole, name);
    read_definition(s, std::move(name), place);
  }

  Declaration finished() {
    check_macros();
    check_first();
    return std::move(declaration_);
  }

 private:
  /// A parameter or buffer with the name, and what it is.
  using Named = std::map<std::string, std::pair<std::string, Place>>;

  void add_name(Named& names, const std::string& name, const std::string& what,
                const Place& place) const {
    const auto [other, is_new] = names.emplace(name, std::pair(what, place));
    if (is_new) return;
    const auto& [first, at] = other->second;
    own::fail(declaration_.file, place,
              first == what
                  ? fmt::format("{} '{}' is declared twice, first in {}", what, name, text_of(at))
                  : fmt::format("{} '{}' has the name of the {} in {}; rename one of them", what,
                                name, first, text_of(at)));
  }

  /// Fails if the statement begins with a word that is meant as a type, such as float64 in
  /// `float64 x[n]`.
  static void refuse_unknown_type(const Statement& s) {
    Statement after_type = s;
    if (!after_type.takes_name()) return;
    const std::string word = Statement(s).name("a type");
    Statement after_name = after_type;
    const bool names_more = after_name.takes_name();
    const char next = after_name.is_empty() ? '\0' : after_name.rest().front();
    const auto nearest = nearest_type(word);
    if (!names_more || (next != '[' && next != '=') || !nearest) return;
    s.fail(fmt::format("'{}' is not a type; did you mean '{} {}'? expected {}", shorten(word),
                       *nearest, shorten(after_type.rest()), element_types_text()));
  }

  [[noreturn]] static void refuse(const Statement& s, const std::string& first_word) {
    Statement after_word = s;
    after_word.takes_name();
    if (const std::string_view meant = keyword_meant_by(first_word); !meant.empty())
      s.fail(fmt::format("{} is not a statement; did you mean '{} {}'?", s.found(), meant,
                         shorten(after_word.rest())));
    refuse_unknown_type(s);
    const auto nearest = nearest_name(first_word, keywords());
    if (!nearest && s.rest().find('[') != std::string_view::npos) {
      Statement buffer = s;
      read_buffer(buffer, std::nullopt);  // fails, because the first name has no extent
    }
    s.fail(
        fmt::format("{} is not a statement{} expected NAME = VALUES, BUFFER[EXTENT], [NAME =] "
                    "KERNEL<<<GRID, BLOCK>>>, in, out, in_out, workspace, check, reference, "
                    "require, work, tolerance, option or define",
                    s.found(), nearest ? fmt::format("; did you mean '{}'?", *nearest) : ";"));
  }

  void read_options(Statement& s) {
    const Place place = s.place();
    std::string_view rest = s.take_rest();
    std::vector<std::string> words;
    while (!rest.empty())
      words.emplace_back(take_word(rest));
    if (words.empty()) s.fail("expected an option of the compiler, such as -DTILE=32");
    declaration_.options.insert(declaration_.options.end(), words.begin(), words.end());
    try {
      parsed_options(declaration_.options);
    } catch (const ConfigError& error) {
      s.fail_at(place, error.what());
    }
  }

  /// `float x[n]` or `int n = 1024`; `whole` starts with the type.
  void read_typed(Statement& s, Statement whole, const CType& type) {
    const Place place = s.place();
    std::string name = s.name("the name of a buffer or a parameter");
    if (s.rest().starts_with('[')) return read_buffers(whole, std::nullopt);
    s.expect("=", fmt::format("{} {}", type.text, name));
    add_name(names_, name, "parameter", place);
    std::vector<Value> values = typed_values(s, type, whole.place(), read_values(s, name));
    declaration_.parameters.push_back({std::move(name), std::move(values), type, place, false});
  }

  /// `reference first` needs a variant to compare with the first one.
  void check_first() const {
    const auto& reference = declaration_.reference;
    if (!reference || !reference->is_first || declaration_.variants.size() != 1) return;
    own::fail(declaration_.file, reference->place,
              fmt::format("'reference first' compares other variants with the first, but {} is the "
                          "only variant; declare another one, a check, or 'reference "
                          "KERNEL<<<GRID, BLOCK>>>'",
                          declaration_.variants.front().id));
  }

  void check_macros() const {
    for (const std::string& macro : parsed_options(declaration_.options).defines) {
      const auto parameter = std::ranges::find(
          declaration_.parameters, macro.substr(0, macro.find('=')), &DeclaredParameter::name);
      if (parameter != declaration_.parameters.end() && parameter->is_macro)
        own::fail(
            declaration_.file, parameter->place,
            fmt::format("the macro {} is defined twice, also by 'option -D{}'; remove one of them",
                        parameter->name, macro));
    }
  }

  /// `define TILE = 16, 32`.
  void read_macro(Statement& s) {
    const Place place = s.place();
    std::string name = s.name("the name of a macro");
    s.expect("=", "the macro's name");
    add_parameter(s, std::move(name), place, true);
  }

  void add_parameter(Statement& s, std::string name, const Place& place, bool is_macro) {
    add_name(names_, name, "parameter", place);
    std::vector<Value> values = read_values(s, name);
    declaration_.parameters.push_back(
        {std::move(name), std::move(values), std::nullopt, place, is_macro});
  }

  /// `x[n] y[n]`, with a fill after `=` if there is one buffer.
  void read_buffers(Statement& s, std::optional<BufferRole> role) {
    const std::size_t before = declaration_.buffers.size();
    const Place at = s.place();
    const std::optional<CType> type = take_type(s);
    if (type) {
      require_element_type(s, *type, at);
    } else {
      refuse_unknown_type(s);
    }
    do {
      DeclaredBuffer buffer = read_buffer(s, role);
      buffer.type = type;
      add_name(names_, buffer.name, "buffer", buffer.place);
      declaration_.buffers.push_back(std::move(buffer));
    } while (!s.is_empty() && !s.rest().starts_with('='));
    if (s.is_empty()) return;
    if (declaration_.buffers.size() > before + 1)
      s.fail(
          "a statement with a fill declares one buffer; declare each buffer in a line of its "
          "own");
    s.takes("=");
    DeclaredBuffer& buffer = declaration_.buffers.back();
    buffer.array = read_array(s);
    if (!buffer.array) buffer.fill = read_fill(s);
    s.expect_end();
  }

  /// NAME = … is a variant if a launch or memset follows, otherwise a parameter.
  void read_definition(Statement& s, std::string name, Place place) {
    if (s.rest().find("<<<") != std::string_view::npos || begins_memset(s.rest()))
      return read_variant(s, std::move(name), place);
    add_parameter(s, std::move(name), place, false);
  }

  /// A variant without an id is named after its kernel.
  void read_variant(Statement& s, std::string id, Place place) {
    DeclaredVariant variant;
    variant.place = place;
    variant.steps = read_steps(s);
    if (s.takes_word("vs")) {
      const Place compared = s.place();
      variant.compare_to = s.name("the name of a variant");
      require_variant(variant.compare_to, compared);
    }
    s.expect_end();
    if (kernels_of(variant).empty())
      s.fail_at(place,
                "the variant launches no kernel; expected one after memset, such as in "
                "'memset(y, 0); KERNEL<<<GRID, BLOCK>>>'");
    variant.id = id.empty() ? name_of_kernel(variant) : std::move(id);
    add_name(variant_names_, variant.id, "variant", place);
    declaration_.variants.push_back(std::move(variant));
  }

  std::string name_of_kernel(const DeclaredVariant& variant) const {
    const std::vector<std::string> kernels = kernels_of(variant);
    if (kernels.size() == 1) return kernels.front();
    own::fail(declaration_.file, variant.place,
              fmt::format("the variant launches several kernels, {}; give it a name, such as in "
                          "'NAME = {}<<<GRID, BLOCK>>>; …'",
                          fmt::join(kernels, " and "), kernels.front()));
  }

  void require_variant(const std::string& name, const Place& place) const {
    std::vector<std::string> earlier;
    for (const DeclaredVariant& variant : declaration_.variants)
      earlier.push_back(variant.id);
    if (std::ranges::find(earlier, name) != earlier.end()) return;
    own::fail(declaration_.file, place,
              fmt::format("'{}' is not a variant declared above{}", shorten(name),
                          earlier.empty() ? "" : allowed_names(name, earlier)));
  }

  /// `y[i] = EXPRESSION`, or `y = FILE.npy`.
  void read_check(Statement& s) {
    Statement values = s;
    if (values.takes_name() && values.takes("=")) return read_expected_file(s);
    DeclaredCheck check = s.check();
    add_name(checked_, check.check.output(), "the check of", check.place);
    declaration_.checks.push_back(std::move(check));
  }

  void read_expected_file(Statement& s) {
    DeclaredValues values;
    values.place = s.place();
    values.output = s.name("the name of an output");
    s.takes("=");
    const std::optional<DeclaredArray> array = read_array(s);
    if (!array)
      s.fail(
          fmt::format("expected a .npy file after '{0} =', found {1}; an expression needs an "
                      "index for each extent of {0}, such as in {0}[i] = 0",
                      shorten(values.output), s.found()));
    values.array = *array;
    add_name(checked_, values.output, "the check of", values.place);
    declaration_.expected_files.push_back(std::move(values));
  }

  void read_reference(Statement& s, const Place& place) {
    if (declaration_.reference)
      s.fail_at(place, fmt::format("the reference is declared twice, first in {}",
                                   text_of(declaration_.reference->place)));
    declaration_.reference.emplace().place = s.place();
    if (s.rest() == "first") {
      declaration_.reference->is_first = true;
      return;
    }
    DeclaredVariant& variant = declaration_.reference->launch;
    variant.place = s.place();
    variant.steps = read_steps(s);
    s.expect_end();
    const std::vector<std::string> kernels = kernels_of(variant);
    if (kernels.empty()) s.fail_at(variant.place, "the reference launches no kernel");
    variant.id = fmt::format("{}", fmt::join(kernels, ", "));
  }

  void read_requirement(Statement& s) { declaration_.requirements.push_back(s.last_expression()); }

  void read_work(Statement& s, const Place& place) {
    std::string variant;
    Place at = s.place();
    std::string quantity = s.name("a quantity of work, such as fp32");
    if (!s.is_empty() && !s.rest().starts_with('=')) {
      variant = std::exchange(quantity, "");
      at = s.place();
      quantity = s.name("a quantity of work, such as fp32");
    }
    const std::vector<std::string> known = work_quantities();
    if (std::ranges::find(known, quantity) == known.end())
      s.fail_at(at, fmt::format("unknown quantity of work '{}'{}", shorten(quantity),
                                allowed_names(quantity, known)));
    s.expect("=", "the quantity");
    add_name(work_, variant.empty() ? quantity : variant + " " + quantity, "work", place);
    declaration_.work.push_back({std::move(variant), std::move(quantity), s.last_expression(), at});
  }

  void read_tolerance_once(Statement& s, const Place& place) {
    if (declaration_.tolerance) s.fail_at(place, "the tolerance is declared twice");
    declaration_.tolerance = read_tolerance(s);
  }

  Declaration declaration_;
  std::size_t statements_ = 0;
  Named names_;  // parameters and buffers
  Named variant_names_;
  Named checked_;
  Named work_;
};

/// The text before a comment, which begins with `//` after a blank: -IA//B is an option.
std::string_view without_comment(std::string_view text) {
  std::size_t at = text.find("//");
  while (at != std::string_view::npos && at > 0 && kBlanks.find(text[at - 1]) == kBlanks.npos)
    at = text.find("//", at + 1);
  return text.substr(0, at);
}

}  // namespace

namespace {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Whether the text is a statement, apart from the mark that it lacks.
bool resembles_statement(std::string_view text) {
  const auto end = std::ranges::find_if_not(text, is_name_character);
  const std::string_view word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  const std::string_view next = trimmed(text.substr(word.size()));
  return std::ranges::find(keywords(), word) != keywords().end() ||
         text.find("<<<") != std::string_view::npos ||
         (!word.empty() && (next.starts_with('=') || next.starts_with('[')));
}

/// A statement that is not read would change a verdict without a message.
void refuse_misspelt_mark(const std::string& file, const Place& place, std::string_view comment) {
  const auto end = std::ranges::find_if_not(comment, is_name_character);
  const std::string word(comment.begin(), end);
  const std::string_view rest = trimmed(comment.substr(word.size()));
  const std::string name(kMark.substr(0, kMark.size() - 1));
  std::string lower = word;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const bool has_colon = rest.starts_with(':');
  const bool is_close = lower == name || (has_colon && nearest_name(lower, {name}));
  if (!is_close || (!has_colon && !resembles_statement(rest))) return;
  fail(file, place,
       fmt::format("found '{}'; a statement begins with '// {}'", shorten(comment), kMark));
}

}  // namespace

std::vector<Statement> statements_in(const std::string& file, std::string_view source) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::vector<Statement> statements;
  std::string_view rest = source;
  if (rest.starts_with(kByteOrderMark)) rest.remove_prefix(kByteOrderMark.size());
  for (int line = 1; !rest.empty(); ++line) {
    const std::string_view whole = take_until(rest, "\n");
    std::string_view text = trimmed(whole);
    if (!text.starts_with("//")) continue;
    text = trimmed(text.substr(2));
    if (!text.starts_with(kMark)) {
      refuse_misspelt_mark(file, {line, static_cast<int>(text.data() - whole.data()) + 1}, text);
      continue;
    }
    text.remove_prefix(kMark.size());
    const std::string_view statement = without_comment(text);
    const bool is_comment = trimmed(statement).empty() && statement.size() < text.size();
    if (!is_comment) statements.emplace_back(file, line, whole, statement);
  }
  return statements;
}

Declaration declaration_of(const std::string& file, const std::vector<Statement>& statements) {
  Reader reader(file);
  for (const Statement& statement : statements)
    reader.read(statement);
  return reader.finished();
}

Declaration read_declaration(const std::string& file, std::string_view source) {
  const std::vector<Statement> statements = statements_in(file, source);
  if (!statements.empty()) {
    Declaration declaration = declaration_of(file, statements);
    set_whys(declaration, source);
    return declaration;
  }
  const bool is_ptx = kind_of(file) == KernelFileKind::ptx;
  const std::vector<std::string> kernels = is_ptx ? kernels_in_ptx(source) : kernels_in(source);
  if (kernels.empty())
    fail(file, {1, 1},
         fmt::format("the file has neither a declaration nor a kernel; expected comment lines that "
                     "begin with '// gpuexp:' and a {} that they launch",
                     is_ptx ? ".visible .entry" : "__global__ function"));
  fail(file, {1, 1},
       fmt::format("the file has no declaration; expected comment lines that begin with '// "
                   "gpuexp:' and launch one of its kernels: {}; {}",
                   fmt::join(kernels, ", "),
                   is_ptx ? fmt::format("or the same statements in {}", json_name_of(file))
                          : fmt::format("'gpuexp init {}' prints such lines, and --write inserts "
                                        "them",
                                        file)));
}

}  // namespace gpuexp::own
