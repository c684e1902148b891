#include "record/result_record.hpp"

#include <algorithm>

namespace gpuexp {

bool ResultRecord::has_flag(std::string_view flag) const {
  return std::find(flags.begin(), flags.end(), flag) != flags.end();
}

std::optional<double> ResultRecord::time_us() const {
  return passed() && time_median_us && *time_median_us > 0 ? time_median_us : std::nullopt;
}

std::optional<double> ResultRecord::half_interval_us() const {
  if (!time_ci95_low_us || !time_ci95_high_us) return std::nullopt;
  return (*time_ci95_high_us - *time_ci95_low_us) / 2;
}

std::string mode_text(const ResultRecord& record) {
  return record.mode ? std::string(name_of(*record.mode)) : "";
}

std::string status_text(const ResultRecord& record) {
  return record.status ? std::string(name_of(*record.status)) : "";
}

// Without an interval, a row with few samples must not seem more certain than a row with many, so
// the range of its samples replaces the interval.
bool clearly_faster(const ResultRecord& a, const ResultRecord& b) {
  const auto a_time = a.time_us();
  const auto b_time = b.time_us();
  if (!a_time || !b_time) return false;
  return a.time_ci95_high_us.value_or(a.time_p95_us.value_or(*a_time)) <
         b.time_ci95_low_us.value_or(b.time_min_us.value_or(*b_time));
}

std::optional<Ratio> ratio_of(const ResultRecord& fast, const ResultRecord& slow) {
  const auto statistics = [](const ResultRecord& record) -> std::optional<Statistics> {
    const auto time_us = record.time_us();
    if (!time_us || !record.time_ci95_low_us || !record.time_ci95_high_us) return std::nullopt;
    Statistics s;
    s.median = *time_us;
    s.median_ci95 = Interval{*record.time_ci95_low_us, *record.time_ci95_high_us};
    return s;
  };
  const auto a = statistics(fast);
  const auto b = statistics(slow);
  return a && b ? ratio_of(*a, *b) : std::nullopt;
}

}  // namespace gpuexp
