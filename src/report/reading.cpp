#include "report/reading.hpp"

#include <algorithm>

namespace gpuexp {

namespace {

// Begins with a capital, unless it begins with a name.
std::string sentence(const ExperimentResults& e, std::string text) {
  auto names = e.values("variant");
  for (const ResultAxis& axis : e.axes)
    names.push_back(axis.label);
  const std::string first_word = text.substr(0, text.find_first_of(" :,"));
  const bool is_name = std::find(names.begin(), names.end(), first_word) != names.end();
  if (!is_name && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + ".";
}

}  // namespace

std::string reading_of(const ExperimentResults& experiment) {
  if (std::none_of(experiment.rows.begin(), experiment.rows.end(),
                   [](const ResultRow& row) { return row.passed(); }))
    return "No row passed.";
  const ResultAxis* axis = swept_axis(experiment);
  const auto count = [&](std::string_view column) { return experiment.values(column).size(); };
  // What has more values is what the experiment asks about.
  constexpr std::size_t kFewest = 5;
  const bool is_sweep = axis && count(axis->column) >= std::max(kFewest, count("variant") + 1);
  std::string text = is_sweep ? sweep_reading(experiment) : comparison_reading(experiment);
  if (text.empty()) text = is_sweep ? comparison_reading(experiment) : sweep_reading(experiment);
  if (text.empty()) text = single_reading(experiment);
  return text.empty() ? "" : sentence(experiment, std::move(text));
}

}  // namespace gpuexp
