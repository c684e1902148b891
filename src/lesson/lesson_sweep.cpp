#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/explanation.hpp"
#include "analysis/sentence_fragments.hpp"
#include "base/config_error.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "config/config_keys.hpp"
#include "config/config_overrides.hpp"
#include "family/counters.hpp"
#include "lesson/lesson_tables.hpp"
#include "render/explanation_text.hpp"
#include "render/markdown.hpp"

namespace gpuexp {

namespace {

using OptionalRow = const ResultRecord*;  // null if not recorded
using OptionalRows = std::vector<OptionalRow>;

struct Quantity {
  std::string heading;
  std::function<std::vector<std::string>(const OptionalRows&)> texts;  ///< cells; "" if missing
};

Quantity one_by_one(const std::string& heading,
                    const std::function<std::string(const ResultRecord&)>& text) {
  return {heading, [text](const OptionalRows& rows) {
            std::vector<std::string> texts;
            for (const OptionalRow& row : rows)
              texts.push_back(row ? text(*row) : "");
            return texts;
          }};
}

Quantity number_column(const std::string& heading, std::optional<double> ResultRecord::*member) {
  return {heading, [member](const OptionalRows& rows) {
            std::vector<std::optional<double>> numbers;
            for (const OptionalRow& row : rows)
              numbers.push_back(row && row->passed() ? row->*member : std::nullopt);
            return number_texts(numbers);
          }};
}

std::string time_of(const ResultRecord& row) {
  return row.time_us() ? time_fragment(row) : "";
}

std::string predicted_of(const ResultRecord& row) {
  const auto time = row.predicted_time_us;
  return time ? time_text(*time) : "";
}

// The rate in the unit of the limiting resource.
Quantity rate_of(const ExperimentResults& results) {
  const bool by_dram = results.constant(&ResultRecord::limit_by) == "dram" ||
                       results.values(&ResultRecord::tflops).empty();
  return by_dram ? number_column("useful GB/s", &ResultRecord::useful_gb_per_s)
                 : number_column("TFLOP/s", &ResultRecord::tflops);
}

class SweepTable {
 public:
  SweepTable(const LessonPart& part, const FamilyRows& rows)
      : part_(part),
        rows_(rows),
        axis_(axis_of_part()),
        shown_(rows.along(axis_.name)),
        quantities_(asked_quantities()) {
    keep_values();
    for (const ResultRecord& row : shown_.results.rows) {
      add_value(value_of_row(row));
      cells_.emplace(row.variant + '\0' + value_of_row(row), row);
    }
  }

  std::string render() const {
    if (shown_.results.rows.empty())
      return unchanged_.empty() ? facts_line(rows_, shown_) : unchanged_ + "\n";
    std::vector<std::string> what;
    if (!shows_several()) what.push_back(quantities_.front().heading);
    const std::string head = facts_line(rows_, shown_, what);
    const bool is_wide = rows_.variants().size() > values_.size();
    return head + "\n" + markdown_table(is_wide && !shows_several() ? by_variant() : by_value());
  }

 private:
  const Parameter& axis_of_part() const {
    const std::string name = part_.option("axis");
    const std::vector<std::string> known = names_of(rows_.family().parameters);
    const Parameter* axis = rows_.family().find_parameter(name);
    if (axis) return *axis;
    throw ConfigError(name.empty()
                          ? fmt::format("{}: 'sweep' needs axis=PARAMETER{}", part_.place,
                                        allowed_names(name, known))
                          : fmt::format("{}: axis: unknown parameter '{}' of family '{}'{}",
                                        part_.place, in_message(name), rows_.family().id,
                                        allowed_names(name, known)));
  }

  void check_one_variant(const char* what) const {
    if (rows_.variants().size() == 1) return;
    throw ConfigError(fmt::format("{}: {} needs one variant; variants= selects {}", part_.place,
                                  what, rows_.variants().size()));
  }

  std::vector<Quantity> asked_quantities() const {
    std::vector<std::string> ids = part_.option_list("show", ',');
    if (ids.empty()) ids.emplace_back("time");
    if (ids.size() > 1) check_one_variant("show: more than one quantity");
    std::vector<Quantity> quantities;
    for (const std::string& id : ids)
      quantities.push_back(quantity(id));
    return quantities;
  }

  Quantity quantity(const std::string& id) const {
    if (id == "time") return one_by_one(id, time_of);
    if (id == "predicted") return one_by_one(id, predicted_of);
    if (id == "rate") return rate_of(shown_.results);
    if (id == "error") {
      return one_by_one("rms error", [](const ResultRecord& row) {
        return metric_text(row, column_of(&ResultRecord::error_rms_rel));
      });
    }
    if (id == "speed-up") {
      return one_by_one(id, [this](const ResultRecord& row) -> std::string {
        const OptionalRow reference = rows_.reference_of(row);
        return reference && row.time_us() ? ratio_fragment(*reference->time_us() / *row.time_us())
                                          : "";
      });
    }
    std::vector<std::string> known{"time", "rate", "speed-up", "predicted", "error"};
    for (const Metric& metric : rows_.family().metrics) {
      if (metric.name == id) {
        return one_by_one(
            id, [id](const ResultRecord& row) { return metric_text(row, metric_column(id)); });
      }
      known.push_back(metric.name);
    }
    for (const Counter& counter : kCounters) {
      if (counter.id == id) return counter_quantity(id);
      known.emplace_back(counter.id);
    }
    throw ConfigError(fmt::format("{}: show: '{}' cannot be shown{}", part_.place, in_message(id),
                                  allowed_names(id, known)));
  }

  static Quantity counter_quantity(const std::string& id) {
    return one_by_one(id, [id](const ResultRecord& row) {
      const auto count = count_of(row, id);
      return count ? counter_fragment(id, *count) : std::string(kNotRecorded);
    });
  }

  bool is_numeric() const { return axis_.choices.empty(); }

  bool is_shown(const std::string& value) const {
    return std::find(values_.begin(), values_.end(), value) != values_.end();
  }
  void add_value(const std::string& value) {
    if (!is_shown(value)) values_.push_back(value);
  }

  // If the option `values` is given, keeps only the values that it names. If `around` is given,
  // then keeps only the values on both sides of each change of this metric.
  void keep_values() {
    std::vector<RecordRef>& rows = shown_.results.rows;
    for (const std::string& text : part_.option_list("values", ',')) {
      const Value value = value_of(text, axis_, part_.place + ": values");
      const auto row = std::ranges::find_if(
          rows, [&](const ResultRecord& r) { return has_value(r, axis_, value); });
      add_value(row == rows.end() ? to_string(value) : value_of_row(*row));
    }
    if (is_numeric()) {
      std::ranges::stable_sort(values_, [](const std::string& a, const std::string& b) {
        return std::strtod(a.c_str(), nullptr) < std::strtod(b.c_str(), nullptr);
      });
    }
    if (!values_.empty()) {
      shown_.asked += fmt::format(", {} = {}", axis_.name, fmt::join(values_, ", "));
      std::erase_if(rows, [&](const ResultRecord& row) { return !is_shown(value_of_row(row)); });
    }
    const std::string around = part_.option("around");
    if (!around.empty()) keep_changes_of(around);
  }

  void keep_changes_of(const std::string& metric) {
    check_one_variant("around");
    const std::vector<std::string> known = names_of(rows_.family().metrics);
    if (std::find(known.begin(), known.end(), metric) == known.end()) {
      throw ConfigError(fmt::format("{}: around: unknown metric '{}' of family '{}'{}", part_.place,
                                    in_message(metric), rows_.family().id,
                                    allowed_names(metric, known)));
    }
    const std::vector<RecordRef> all = shown_.results.rows;
    if (all.empty()) return;
    unchanged_ = escape_markdown(fmt::format("{} is the same at all recorded values of {} ({}).",
                                             metric, axis_.name, shown_.asked));
    const auto differ = [&](std::size_t a, std::size_t b) {
      const ResultRecord& one = all[a];
      const ResultRecord& other = all[b];
      return one.variant == other.variant && one.metrics.text(metric) != other.metrics.text(metric);
    };
    shown_.results.rows.clear();
    for (std::size_t i = 0; i < all.size(); ++i) {
      if ((i > 0 && differ(i - 1, i)) || (i + 1 < all.size() && differ(i, i + 1)))
        shown_.results.rows.push_back(all[i]);
    }
  }

  bool shows_several() const { return quantities_.size() > 1; }

  std::string value_of_row(const ResultRecord& row) const {
    return row.parameters.text(axis_.name);
  }

  // "m = n = k", "stride (elements)": the parameter, with others that have equal values.
  std::string axis_heading() const {
    const ResultAxis* axis = axis_with(shown_.results, axis_.name);
    const std::string label = axis ? axis->label : axis_.name;
    return axis_.unit.empty() ? label : fmt::format("{} ({})", label, axis_.unit);
  }

  // For each variant, its row at each value; null if not recorded.
  OptionalRows all_rows() const {
    OptionalRows rows;
    for (const Variant* variant : rows_.variants()) {
      for (const std::string& value : values_) {
        const auto found = cells_.find(variant->id + '\0' + value);
        rows.push_back(found == cells_.end() ? nullptr : &found->second.get());
      }
    }
    return rows;
  }

  // The cells of all_rows(). A row that did not pass shows its status. A missing row shows "–", or
  // "not recorded" if its variant has no row.
  std::vector<std::string> all_texts(const Quantity& quantity) const {
    const OptionalRows rows = all_rows();
    std::vector<std::string> texts = quantity.texts(rows);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (rows[i] && !rows[i]->passed()) texts[i] = status_text(*rows[i]);
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(i - i % values_.size());
      const bool is_recorded =
          std::any_of(begin, begin + static_cast<std::ptrdiff_t>(values_.size()),
                      [](const OptionalRow& row) { return row != nullptr; });
      if (!rows[i]) texts[i] = is_recorded ? "–" : kNotRecorded;
    }
    return texts;
  }

  ExperimentView by_value() const {
    ExperimentView view;
    view.columns.push_back({axis_heading(), is_numeric()});
    view.rows.resize(values_.size());
    for (std::size_t i = 0; i < values_.size(); ++i)
      view.rows[i].cells.push_back(values_[i]);
    for (const Quantity& quantity : quantities_) {
      const std::vector<std::string> texts = all_texts(quantity);
      for (std::size_t i = 0; i < texts.size(); ++i)
        view.rows[i % values_.size()].cells.push_back(texts[i]);
      for (const Variant* variant : rows_.variants())
        view.columns.push_back({shows_several() ? quantity.heading : variant->id, true});
    }
    return view;
  }

  ExperimentView by_variant() const {
    ExperimentView view;
    view.columns.push_back({axis_heading(), false});
    for (const std::string& value : values_)
      view.columns.push_back({value, true});
    const std::vector<std::string> texts = all_texts(quantities_.front());
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (i % values_.size() == 0)
        view.rows.emplace_back().cells.push_back(rows_.variants()[i / values_.size()]->id);
      view.rows.back().cells.push_back(texts[i]);
    }
    return view;
  }

  const LessonPart& part_;
  const FamilyRows& rows_;
  const Parameter& axis_;
  ShownRows shown_;
  std::vector<Quantity> quantities_;
  std::vector<std::string> values_;         ///< values of the axis, in order
  std::string unchanged_;                   ///< text to show if the metric `around` does not change
  std::map<std::string, RecordRef> cells_;  ///< by variant and value
};

}  // namespace

std::string sweep_table(const LessonPart& part, const FamilyRows& rows) {
  return SweepTable(part, rows).render();
}

}  // namespace gpuexp
