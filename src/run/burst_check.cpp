#include "run/burst_check.hpp"

#include <algorithm>
#include <vector>

#include "run/rounds.hpp"
#include "run/sample_clocks.hpp"

namespace gpuexp {

namespace {

double sampled_s(const Row& row) {
  double seconds = 0;
  for (const double time_us : row.samples_us)
    seconds += 1e-6 * row.traits->gpu_us(time_us);
  return seconds;
}

bool is_sustainable(const Row& row) {
  return row.time_us && !times_first_launches(row.cell->variant->timing);
}

/// Sets up a group again, warms up its variants, and samples them under sustained load.
class Check {
 public:
  Check(Session& session, const Plan& plan, std::size_t group, std::span<Row> rows)
      : session_(session),
        index_(group),
        group_(plan.groups[group]),
        experiment_(plan.experiment(group_)) {
    for (Row& row : rows) {
      if (is_sustainable(row)) rows_.push_back(&row);
    }
  }

  void run() {
    session_.set_up(*experiment_.family, group_.values);
    for (const Row* row : rows_)
      traits_.push_back(warm_up(*row->cell->variant));
    Sustained sustained = run_sustained();
    const auto samples_us = sample();
    if (!session_.end_reason().empty()) return;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      const double quantum_us = session_.quantum_us(group_.mode, traits_[i].launches);
      sustained.time_us = summarize(samples_us[i], quantum_us);
      rows_[i]->sustained = sustained;
      session_.observer().sustained(*rows_[i]->cell, samples_us[i]);
    }
  }

 private:
  SampleTraits warm_up(const Variant& variant) {
    SampleTraits traits;
    session_.timed(&RunTimes::warm_up, [&] {
      traits = session_.timer().warm_up(variant, group_.mode, warm_up_of(experiment_.measure));
    });
    return traits;
  }

  // Reads clock and power during the second half only; they settle during the first half.
  Sustained run_sustained() {
    std::vector<const Variant*> variants;
    for (const Row* row : rows_)
      variants.push_back(row->cell->variant);
    const double half_s = experiment_.measure.burst_check_seconds / 2;
    session_.run_back_to_back(variants, group_.mode, half_s);
    session_.timer().start_clock();
    const double middle_s = session_.now_s();
    session_.run_back_to_back(variants, group_.mode, half_s);
    const auto reading = session_.timer().sm_clock();
    Sustained sustained;
    if (reading && covers_load(*reading)) sustained.sm_clock_mhz = reading->mhz;
    if (session_.options().telemetry)
      sustained.power_w = session_.options().telemetry(middle_s, session_.now_s()).power_w;
    return sustained;
  }

  std::vector<std::vector<double>> sample() {
    constexpr int kRounds = 10;
    std::vector<const Variant*> variants;
    std::vector<std::size_t> places;
    for (int round = 0; round < kRounds; ++round) {
      for (const std::size_t place :
           round_order(rows_.size(), session_.options().seed, index_, round)) {
        places.push_back(place);
        variants.push_back(rows_[place]->cell->variant);
      }
    }
    std::vector<std::vector<double>> samples_us(rows_.size());
    session_.timed(&RunTimes::sustain, [&] {
      session_.timer().sample(variants, group_.mode, [&](std::size_t i, const Sample& sample) {
        samples_us[places[i]].push_back(sample.time_us);
      });
    });
    return samples_us;
  }

  Session& session_;
  std::size_t index_;
  const Group& group_;
  const Experiment& experiment_;
  std::vector<Row*> rows_;
  std::vector<SampleTraits> traits_;
};

}  // namespace

bool wants_burst_check(const MeasureSettings& settings, std::span<const Row> rows,
                       double highest_mhz) {
  double ran_s = 0;
  bool is_near = false;
  for (const Row& row : rows) {
    if (!is_sustainable(row)) continue;
    ran_s += sampled_s(row);
    is_near = is_near || nears_power_cap(row.telemetry, row.clocks, highest_mhz);
  }
  return is_near && std::max(ran_s, settings.sustain_seconds) < settings.burst_check_seconds;
}

void check_burst(Session& session, const Plan& plan, std::size_t group, std::span<Row> rows) {
  if (!session.end_reason().empty()) return;
  const TraceRange range(session.tracer(), "sustain");
  try {
    Check(session, plan, group, rows).run();
  } catch (const DeviceError& error) {
    session.failed(error);
  }
}

bool is_burst(const Row& row) {
  if (!row.time_us || !row.sustained) return false;
  const auto& own = row.time_us->median_ci95;
  const auto& longer = row.sustained->time_us.median_ci95;
  return own && longer && (own->high < longer->low || longer->high < own->low);
}

}  // namespace gpuexp
