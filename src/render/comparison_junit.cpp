#include "render/comparison_junit.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "base/utf8.hpp"
#include "render/comparison_page.hpp"
#include "render/page.hpp"

namespace gpuexp {

namespace {

enum class JunitResult { passed, failure, skipped };

JunitResult result_of(Outcome outcome, const std::vector<std::string>& fail_on) {
  const bool gated = std::find(fail_on.begin(), fail_on.end(), name_of(outcome)) != fail_on.end();
  if (gated) return JunitResult::failure;
  switch (outcome) {
    case Outcome::slower:
    case Outcome::broken: return JunitResult::failure;
    case Outcome::faster:
    case Outcome::same:
    case Outcome::repaired: return JunitResult::passed;
    case Outcome::inconclusive:
    case Outcome::missing:
    case Outcome::added:
    case Outcome::untested: return JunitResult::skipped;
  }
  return JunitResult::skipped;
}

// Escapes text and attributes. Replaces control characters, U+FFFE and U+FFFF, which XML 1.0
// forbids.
std::string xml(std::string_view text) {
  const std::string line = printable(text);
  std::string escaped;
  for (std::string_view rest = line; !rest.empty();) {
    const CodePoint c = decode_utf8(rest);
    switch (c.value.value_or(U'?')) {
      case U'&': escaped += "&amp;"; break;
      case U'<': escaped += "&lt;"; break;
      case U'>': escaped += "&gt;"; break;
      case U'"': escaped += "&quot;"; break;
      case U'\uFFFE':
      case U'\uFFFF': escaped += '?'; break;
      default: escaped += rest.substr(0, c.bytes);
    }
    rest.remove_prefix(c.bytes);
  }
  return escaped;
}

std::optional<double> seconds_of(const ComparedRow& row) {
  constexpr double kMicrosecondsPerSecond = 1e6;
  if (!row.b) return std::nullopt;
  return row.b->median / kMicrosecondsPerSecond;
}

// Decimal digits down to nanoseconds, without exponent, which some readers do not parse.
std::string seconds_text(double seconds) {
  return fmt::format("{:.9f}", seconds);
}

std::string message_of(const ComparedRow& row) {
  if (!row.ratio) return row.reason;
  const std::string numbers =
      fmt::format("B/A {} ({}), min. effect {:.1f} %: {} → {}", ratio_text(row.ratio->value),
                  interval_text(row.ratio->ci95), 100 * *row.effect, time_text(row.a->median),
                  time_text(row.b->median));
  return row.reason.empty() ? numbers : row.reason + "; " + numbers;
}

// The key without experiment and family, which the class name contains.
std::string name_in_suite(const ResultRecord& record) {
  const std::string prefix = fmt::format("{}/{}/", record.experiment, record.family);
  return record.key.starts_with(prefix) ? record.key.substr(prefix.size()) : record.key;
}

std::string test_case(const ComparedRow& row, JunitResult result) {
  const ResultRecord& record = *row.record;
  const std::optional<double> seconds = seconds_of(row);
  const std::string head =
      fmt::format(R"(    <testcase classname="{}.{}" name="{}"{})", xml(record.experiment),
                  xml(record.family), xml(name_in_suite(record)),
                  seconds ? fmt::format(R"( time="{}")", seconds_text(*seconds)) : "");
  if (result == JunitResult::passed) return head + "/>\n";
  const std::string message = xml(message_of(row));
  if (result == JunitResult::skipped) {
    return fmt::format("{}>\n      <skipped message=\"{}: {}\"/>\n    </testcase>\n", head,
                       name_of(row.outcome), message);
  }
  return fmt::format(
      "{}>\n      <failure type=\"{}\" message=\"{}\">{}: {}: {}</failure>\n"
      "    </testcase>\n",
      head, name_of(row.outcome), message, xml(record.key), name_of(row.outcome), message);
}

std::string properties(const ComparisonContext& context) {
  std::string text = "    <properties>\n";
  const auto add = [&](std::string_view name, std::string_view value) {
    text += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml(value));
  };
  const auto add_run = [&](std::string_view name, const ComparedRun& run) {
    add(name, fmt::format("{} · {}", run.file, fmt::join(provenance_facts(run.provenance), " · ")));
  };
  add_run("A", context.a);
  add_run("B", context.b);
  add("min. effect from", context.effect_source);
  for (const std::string& note : context.notes)
    add("note", note);
  return text + "    </properties>\n";
}

struct JunitCounts {
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t skipped = 0;
  double seconds = 0;

  void add(const JunitCounts& other) {
    tests += other.tests;
    failures += other.failures;
    skipped += other.skipped;
    seconds += other.seconds;
  }
  std::string attributes() const {
    return fmt::format(R"(tests="{}" failures="{}" errors="0" skipped="{}" time="{}")", tests,
                       failures, skipped, seconds_text(seconds));
  }
};

}  // namespace

std::string to_junit(const RunComparison& comparison, const ComparisonContext& context) {
  JunitCounts all;
  std::string suites;
  for (const Tally& experiment : comparison.experiments) {
    JunitCounts counts;
    std::string cases;
    for (const ComparedRow& row : comparison.rows) {
      if (row.record->experiment != experiment.experiment) continue;
      const JunitResult result = result_of(row.outcome, context.fail_on);
      counts.add({1, result == JunitResult::failure ? std::size_t{1} : 0,
                  result == JunitResult::skipped ? std::size_t{1} : 0,
                  seconds_of(row).value_or(0)});
      cases += test_case(row, result);
    }
    all.add(counts);
    suites +=
        fmt::format("  <testsuite name=\"{}\" {}>\n{}{}  </testsuite>\n",
                    xml(experiment.experiment), counts.attributes(), properties(context), cases);
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"gpuexp compare\" {}>\n{}</testsuites>\n",
      all.attributes(), suites);
}

}  // namespace gpuexp
