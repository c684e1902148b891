#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "analysis/sentence_fragments.hpp"
#include "base/config_error.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "lesson/lesson_tables.hpp"
#include "render/markdown.hpp"
#include "stats/statistics.hpp"

namespace gpuexp {

namespace {

// Thrown if a file lacks a value that it may lack.
struct NotRecorded {};

class Query {
 public:
  Query(const LessonPart& part, const RecordedTable& file, bool may_lack)
      : part_(part), table_(*file.table), name_(file.name), may_lack_(may_lack) {}

  std::string text() const {
    const std::string take = checked("take", {"count", "min", "median", "max"});
    if (take == "count") return fmt::format("{}", rows(part_.subject).size());
    const std::string as = unit_or_ratio();
    const std::size_t column = this->column("column", part_.option("column"));
    if (as == "text") {
      const std::string text =
          escape_markdown(printable(text_of(table_.rows[one_row(part_.subject)][column])));
      if (text.find_first_not_of(' ') == std::string::npos)
        fail(fmt::format("{} is empty; expected a text", part_.option("column")));
      return text;
    }
    return format(as, taken(take, column), is_quotient() ? "" : table_.columns[column].unit);
  }

 private:
  bool is_quotient() const {
    return !part_.option("over").empty() || !part_.option("over_column").empty();
  }

  std::string unit_or_ratio() const {
    const std::string as =
        checked("as", {"unit", "number", "quantity", "ratio", "percent", "less", "more", "text"});
    if (as.empty()) return is_quotient() ? "ratio" : "unit";
    if (is_quotient() && (as == "unit" || as == "text"))
      fail(fmt::format(
          "as={} is not allowed for a ratio; allowed: number, ratio, percent, less, more", as));
    return as;
  }

  double taken(const std::string& take, std::size_t column) const {
    if (take.empty()) return value_at(one_row(part_.subject), column);
    std::vector<double> values;
    for (const std::size_t row : rows(part_.subject))
      values.push_back(value_at(row, column));
    if (values.empty()) fail_rows(part_.subject, 0);
    if (take == "median") return median_of(std::move(values)).value();
    const auto [least, most] = std::ranges::minmax_element(values);
    return take == "min" ? *least : *most;
  }

  // The row's number, divided by the divisor if the part has one.
  double value_at(std::size_t row, std::size_t column) const {
    const double value = number_at(row, column);
    if (!is_quotient()) return value;
    const std::string over = part_.option("over");
    const std::string over_column = part_.option("over_column");
    const double divisor =
        number_at(over.empty() ? row : one_row(over),
                  over_column.empty() ? column : this->column("over_column", over_column));
    if (divisor == 0) fail("the divisor is 0");
    return value / divisor;
  }

  double number_at(std::size_t row, std::size_t column) const {
    const Field& field = table_.rows[row][column];
    if (const auto number = number_of(field)) return *number;
    const std::string text = text_of(field);
    if (text.empty() && may_lack_) throw NotRecorded{};
    fail(fmt::format("{} of '{}' is {}; expected a number", table_.columns[column].name,
                     in_message(row_name(table_, row)),
                     text.empty() ? "empty" : "'" + in_message(text) + "'"));
  }

  std::string format(const std::string& as, double value, const std::string& unit) const {
    constexpr double kPercent = 100.0;
    if (as == "ratio") return digits(value) + "×";
    if (as == "number") return digits(value);
    if (as == "quantity") return quantity_fragment(value, unit == "B" ? unit : "");
    if (as == "percent") return digits(kPercent * value) + " %";
    if (as == "less") return digits(kPercent * (1 - value)) + " %";
    if (as == "more") return digits(kPercent * (value - 1)) + " %";
    if (unit == "us") return time_text(value);
    if (unit == "B") return quantity_fragment(value, unit);
    return unit.empty() ? digits(value) : digits(value) + " " + unit;
  }

  std::string digits(double value) const {
    constexpr int kMaxDigits = 9;
    const std::string option = part_.option("digits");
    if (option.empty()) return number_fragment(value);
    if (option.size() != 1 || option[0] < '1' || option[0] > '0' + kMaxDigits)
      fail(
          fmt::format("digits={}; expected a number from 1 to {}", in_message(option), kMaxDigits));
    return significant(value, option[0] - '0');
  }

  // ---- rows and columns

  std::size_t column(const char* option, const std::string& name) const {
    if (name.empty()) fail(fmt::format("expected {}=COLUMN", option));
    if (const auto found = table_.column(name)) return *found;
    if (may_lack_) throw NotRecorded{};
    std::vector<std::string> names;
    for (const ColumnInfo& info : table_.columns)
      names.push_back(info.name);
    constexpr std::size_t kMaxListed = 20;
    const auto nearest = nearest_name(name, names);
    const std::string allowed =
        names.size() <= kMaxListed
            ? allowed_names(name, names)
            : fmt::format("{}; allowed: its {} columns",
                          nearest ? "; did you mean '" + *nearest + "'?" : "", names.size());
    fail(fmt::format("{}: unknown column '{}' of {}{}", option, in_message(name), in_message(name_),
                     allowed));
  }

  std::vector<std::size_t> rows(const std::string& glob) const {
    std::vector<std::pair<std::size_t, std::string>> conditions;
    for (const std::string& condition : part_.option_list("where", ' ')) {
      const std::size_t equals = std::min(condition.find('='), condition.size() - 1);
      if (condition[equals] != '=')
        fail(fmt::format("where: expected COLUMN=GLOB instead of '{}'", in_message(condition)));
      conditions.emplace_back(column("where", condition.substr(0, equals)),
                              condition.substr(equals + 1));
    }
    std::vector<std::size_t> found;
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      const auto holds = [&](const auto& condition) {
        return glob_match(condition.second, text_of(table_.rows[row][condition.first]));
      };
      if (glob_match(glob, row_name(table_, row)) && std::ranges::all_of(conditions, holds))
        found.push_back(row);
    }
    return found;
  }

  std::size_t one_row(const std::string& glob) const {
    const std::vector<std::size_t> found = rows(glob);
    if (found.size() != 1) fail_rows(glob, found.size());
    return found.front();
  }

  [[noreturn]] void fail_rows(const std::string& glob, std::size_t count) const {
    if (count == 0 && may_lack_) throw NotRecorded{};
    std::vector<std::string> names;
    for (std::size_t row = 0; row < table_.rows.size(); ++row)
      names.push_back(row_name(table_, row));
    const auto nearest = count == 0 ? nearest_name(glob, names) : std::nullopt;
    fail(fmt::format("'{}' matches {} of {} rows of {}; expected one{}{}", in_message(glob), count,
                     names.size(), in_message(name_),
                     part_.option("take").empty() ? "" : " or more",
                     nearest ? "; did you mean '" + in_message(*nearest) + "'?" : ""));
  }

  /// The value of the option: "" or one of `allowed`. Throws for other values.
  std::string checked(const char* name, const std::vector<std::string>& allowed) const {
    const std::string value = part_.option(name);
    if (!value.empty() && std::find(allowed.begin(), allowed.end(), value) == allowed.end())
      fail(fmt::format("{}={}{}", name, in_message(value), allowed_names(value, allowed)));
    return value;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw ConfigError(fmt::format("{}: {}", part_.place, what));
  }

  const LessonPart& part_;
  const Table& table_;
  const std::string& name_;
  bool may_lack_;
};

}  // namespace

std::string value_text(const LessonPart& part, const RecordedTable& file, bool may_lack) {
  try {
    return Query(part, file, may_lack).text();
  } catch (const NotRecorded&) {
    return kNotRecorded;
  }
}

}  // namespace gpuexp
