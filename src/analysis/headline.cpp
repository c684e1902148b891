#include "analysis/headline.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace gpuexp {

namespace {

// Adds a full stop. Capitalises the first letter, unless the text starts with a name.
std::string sentence(const ExperimentResults& e, std::string text) {
  auto names = e.values(&ResultRecord::variant);
  for (const ResultAxis& axis : e.axes)
    names.push_back(axis.label);
  const std::string first_word = text.substr(0, text.find_first_of(" :,"));
  const bool is_name = std::find(names.begin(), names.end(), first_word) != names.end();
  if (!is_name && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

}  // namespace

std::string headline_of(const ExperimentResults& experiment) {
  if (std::ranges::none_of(experiment.rows, &ResultRecord::passed)) {
    const bool has_unverified = std::ranges::any_of(experiment.rows, &ResultRecord::has_values);
    return has_unverified ? "Unverified rows are not compared." : "No row passed.";
  }
  if (std::string text = latency_headline(experiment); !text.empty())
    return sentence(experiment, std::move(text));
  const ResultAxis* axis = swept_axis(experiment);
  const std::size_t variants = experiment.values(&ResultRecord::variant).size();
  constexpr std::size_t kMinValues = 5;
  const bool is_sweep =
      axis && experiment.values(axis->column).size() >= std::max(kMinValues, variants + 1);
  std::string text = is_sweep ? sweep_headline(experiment) : comparison_headline(experiment);
  if (text.empty()) text = is_sweep ? comparison_headline(experiment) : sweep_headline(experiment);
  if (text.empty()) text = single_headline(experiment);
  if (text.empty()) return "";
  std::string headline = sentence(experiment, std::move(text));
  if (is_sweep && variants > 1) {
    if (std::string more = comparison_headline(experiment); !more.empty())
      headline += fmt::format(" {}", sentence(experiment, std::move(more)));
  }
  const auto above = std::ranges::count_if(experiment.rows, [](const ResultRecord& row) {
    return row.passed() && row.is_above_limit();
  });
  if (above > 0) {
    headline += fmt::format(" Excluded: {} above the limit.",
                            above == 1 ? "a row" : fmt::format("{} rows", above));
  }
  return headline;
}

}  // namespace gpuexp
