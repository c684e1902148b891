#include <array>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "base/config_error.hpp"
#include "base/names.hpp"
#include "config/config_keys.hpp"
#include "family/counters.hpp"
#include "lesson/lesson_tables.hpp"
#include "lesson/recorded_table.hpp"
#include "record/fixed_columns.hpp"
#include "record/flags.hpp"

namespace gpuexp {

namespace {

std::string prose(std::string_view text) {
  return escape_but_code(std::string(text));
}

// ---- columns and flags of rows

const char* presence_text(Presence presence) {
  switch (presence) {
    case Presence::all: return "every";
    case Presence::passed: return "passed";
    case Presence::some: return "if known";
    case Presence::merged: return "merged";
  }
  return "";
}

std::string columns_table() {
  std::string text = "| column | unit | type | rows | meaning |\n|---|---|---|---|---|\n";
  for (const FixedColumn& c : fixed_columns()) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", c.name, prose(c.unit), name_of(c.type),
                        presence_text(c.presence), prose(c.doc));
  }
  return text;
}

std::string flags_table() {
  std::string text = "| flag | meaning | what to do |\n|---|---|---|\n";
  for (const Flag& flag : kFlags)
    text += fmt::format("| `{}` | {} | {} |\n", flag.id, prose(flag.meaning), prose(flag.remedy));
  return text;
}

// ---- hardware counters

// "100 × `a` / `b`", or the equivalent metric of Nsight Compute.
std::string metrics_text(const Counter& counter) {
  if (!counter.nsight_name.empty()) return fmt::format("`{}`", counter.nsight_name);
  const std::string scale = counter.scale == 1 ? "" : fmt::format("{} × ", counter.scale);
  const std::string divisor =
      counter.denominator.empty() ? "" : fmt::format(" / `{}`", counter.denominator);
  return fmt::format("{}`{}`{}", scale, counter.numerator, divisor);
}

std::string counters_table() {
  std::string text =
      "| counter | group | unit | meaning | in Nsight Compute |\n|---|---|---|---|---|\n";
  for (const Counter& counter : kCounters) {
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", counter.id, counter.group,
                        prose(counter.unit), prose(counter.doc), metrics_text(counter));
  }
  return text;
}

// ---- keys of configs

std::string default_of(const Key&) {
  return "";
}
std::string default_of(const MeasureKey& key) {
  const MeasureSettings settings;
  return std::visit([&](auto member) { return fmt::format("{}", settings.*member); }, key.member);
}

std::string config_keys_table() {
  std::string text;
  const auto add_keys = [&](const auto& keys) {
    for (const auto& key : keys)
      text += fmt::format("| `{}` | {} | {} |\n", key.name, default_of(key), prose(key.doc));
  };
  const auto add = [&](const char* title, const auto&... lists) {
    text += fmt::format("{}| {} | default | meaning |\n|---|---:|---|\n", text.empty() ? "" : "\n",
                        title);
    (add_keys(lists), ...);
  };
  add("config", kConfigKeys);
  add("experiment", kExperimentKeys);
  add("mode", kModes);
  add("measure", kMeasureKeys);
  add("value of an axis", kRangeKeys, kPow2Keys, kWaveEdgesKeys);
  add("figure", kFigureKeys);
  add("source of a figure", kSourceKeys);
  add("claim of a figure", kClaimKeys);
  add("row of a claim", kClaimedRowKeys);
  return text;
}

using MakeTable = std::string (*)();
constexpr std::array<std::pair<std::string_view, MakeTable>, 4> kTables{
    {{"columns", columns_table},
     {"flags", flags_table},
     {"counters", counters_table},
     {"config_keys", config_keys_table}}};

}  // namespace

std::string declared_table(const LessonPart& part) {
  std::vector<std::string> names;
  for (const auto& [name, make] : kTables) {
    if (name == part.subject) return make();
    names.emplace_back(name);
  }
  throw ConfigError(fmt::format("{}: unknown declared table '{}'{}", part.place,
                                in_message(part.subject), allowed_names(part.subject, names)));
}

}  // namespace gpuexp
