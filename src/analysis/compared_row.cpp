#include "analysis/compared_row.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

std::string text_or_none(const Field& field) {
  return std::holds_alternative<std::monostate>(field) ? "none" : text_of(field);
}

std::string commit_of(const Provenance& p) {
  constexpr std::size_t kShort = 12;
  if (!p.git_commit) return "unknown";
  return p.git_commit->substr(0, kShort) +
         (p.git_dirty.value_or(false) ? " with local changes" : "");
}

Field setting(const Provenance& p, const std::string& name) {
  for (const auto& [known, value] : p.settings) {
    if (known == name) return value;
  }
  return {};
}

// Settings that differ, except the seed, which is compared separately. A setting that only one run
// has belongs to an experiment that only this run has, and is not compared.
std::vector<std::string> differing_settings(const Provenance& a, const Provenance& b) {
  std::vector<std::string> texts;
  for (const auto& [name, in_a] : a.settings) {
    const Field in_b = setting(b, name);
    if (name == "seed" || in_b == Field() || in_a == in_b) continue;
    texts.push_back(fmt::format("{} {} → {}", name, text_or_none(in_a), text_or_none(in_b)));
  }
  return texts;
}

}  // namespace

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::slower: return "slower";
    case Outcome::faster: return "faster";
    case Outcome::same: return "same";
    case Outcome::inconclusive: return "inconclusive";
    case Outcome::missing: return "missing";
    case Outcome::added: return "added";
    case Outcome::broken: return "broken";
    case Outcome::repaired: return "repaired";
    case Outcome::untested: return "untested";
  }
  return "unknown";
}

Interval ComparedRow::beyond_circumstances() const {
  Interval left = ratio->ci95;
  if (clock_ratio) left = confirmed_in_cycles(left, *clock_ratio);
  if (floor_shift_us)
    left = beyond(left, std::abs(*floor_shift_us) / std::min(a->median, b->median));
  return left;
}

Verdict ComparedRow::verdict() const {
  const Verdict beyond_all = verdict_of(beyond_circumstances(), *effect);
  if (beyond_all != Verdict::inconclusive || !floor_shift_us) return beyond_all;
  const double share = *floor_shift_us / a->median;
  const Interval without_shift{ratio->ci95.low - share, ratio->ci95.high - share};
  return verdict_of(without_shift, *effect) == Verdict::same ? Verdict::same : beyond_all;
}

RowStatistics statistics_of(const Report& report, std::size_t row, const std::string& which) {
  constexpr std::size_t kMinSamples = 6;  // for an interval of the median
  static const std::vector<double> kNone;
  const auto& samples = row < report.samples_us.size() ? report.samples_us[row] : kNone;
  if (samples.empty()) return {{}, fmt::format("no samples in {}", which)};
  const double resolution_us = report.table.rows[row].timer_resolution_us.value_or(0);
  try {
    RowStatistics of_row{summarize(samples, std::max(resolution_us, 0.0)), ""};
    if (samples.size() < kMinSamples) {
      of_row.problem = fmt::format("{} in {}, {} are needed", counted(samples.size(), "sample"),
                                   which, kMinSamples);
    } else if (!(of_row.statistics->median_ci95->low > 0)) {
      of_row.problem = fmt::format("times in {} are not above the timer resolution", which);
    }
    return of_row;
  } catch (const std::invalid_argument& e) {
    return {{}, fmt::format("{} in {}", e.what(), which)};
  }
}

std::vector<std::string> differences(const Provenance& a, const Provenance& b) {
  std::vector<std::string> notes;
  const auto differ = [&](const char* what, const std::string& in_a, const std::string& in_b) {
    if (in_a != in_b) notes.push_back(printable(fmt::format("{}: {} → {}", what, in_a, in_b)));
  };
  const auto known = [](const std::optional<std::string>& text) {
    return text.value_or("unknown");
  };
  differ("GPU", known(a.device.name), known(b.device.name));
  if (a.device.name == b.device.name && a.device.uuid && b.device.uuid)
    differ("another GPU of this model", *a.device.uuid, *b.device.uuid);
  differ("driver", known(a.device.driver_version), known(b.device.driver_version));
  differ("CUDA runtime", known(a.device.runtime_version), known(b.device.runtime_version));
  differ("toolkit", known(a.cuda_toolkit), known(b.cuda_toolkit));
  differ("commit", commit_of(a), commit_of(b));
  differ("seed", text_or_none(setting(a, "seed")), text_or_none(setting(b, "seed")));
  constexpr std::size_t kShown = 3;
  auto settings = differing_settings(a, b);
  const std::size_t more = settings.size() > kShown ? settings.size() - kShown : 0;
  settings.resize(settings.size() - more);
  if (!settings.empty()) {
    notes.push_back(printable(fmt::format("settings: {}{}", fmt::join(settings, ", "),
                                          more ? fmt::format(" and {} more", more) : "")));
  }
  return notes;
}

}  // namespace gpuexp
