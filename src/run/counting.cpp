#include "run/counting.hpp"

#include <algorithm>

namespace gpuexp {

namespace {

/// Rows that are counted together, in the order of the plan.
struct Batch {
  std::vector<Row*> rows;
  std::int64_t bytes = 0;  ///< of device memory
};

bool is_same_problem(const Plan& plan, const Row& a, const Row& b) {
  return plan.experiment(*a.group).family == plan.experiment(*b.group).family &&
         a.group->values == b.group->values;
}

std::vector<Batch> batches_of(const Plan& plan, const std::vector<Row*>& rows) {
  // A fault costs its batch a second try, one by one, and an interrupt waits for one to end.
  constexpr std::size_t kMostRows = 32;
  constexpr std::int64_t kShareOfMemory = 16;
  const std::int64_t most_bytes = plan.device.memory_bytes / kShareOfMemory;
  std::vector<Batch> batches;
  for (Row* row : rows) {
    const Row* last = batches.empty() ? nullptr : batches.back().rows.back();
    const std::int64_t bytes =
        last && is_same_problem(plan, *last, *row) ? 0 : row->group->device_bytes;
    const bool joins =
        last && batches.back().rows.size() < kMostRows &&
        batches.back().bytes + bytes <= most_bytes &&
        plan.experiment(*last->group).counters == plan.experiment(*row->group).counters;
    if (!joins) batches.emplace_back();
    batches.back().rows.push_back(row);
    batches.back().bytes += joins ? bytes : row->group->device_bytes;
  }
  return batches;
}

std::vector<std::string> metrics_for(const Experiment& experiment, const RunOptions& options) {
  std::vector<std::string> metrics = metrics_of(select_counters(experiment.counters));
  std::erase_if(metrics, [&](const std::string& metric) {
    return options.missing_metrics.count(metric) > 0;
  });
  return metrics;
}

void count(Session& session, const Plan& plan, const std::vector<Row*>& rows) {
  std::vector<CountedLaunch> launches;
  for (const Row* row : rows) {
    launches.push_back({plan.experiment(*row->group).family, row->group->values, row->cell->variant,
                        row->group->mode});
    session.observer().count_started(*row);
  }
  const TraceRange range(session.tracer(), "count");
  try {
    const Experiment& experiment = plan.experiment(*rows.front()->group);
    const auto counts = session.count(launches, metrics_for(experiment, session.options()));
    const auto& add_counts = session.options().add_counts;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i]->counts = counts.at(i);
      if (add_counts) add_counts(*rows[i]->cell, *rows[i]->counts);
    }
  } catch (const DeviceError& error) {
    session.failed(error);
    if (rows.size() == 1) return session.observer().uncounted(*rows.front(), error.what());
    for (Row* row : rows) {
      if (session.end_reason().empty()) count(session, plan, {row});
    }
  }
}

}  // namespace

void count_rows(Session& session, const Plan& plan, const std::vector<Row*>& rows,
                const std::function<void(Row&)>& ended) {
  for (const Batch& batch : batches_of(plan, rows)) {
    if (session.end_reason().empty()) count(session, plan, batch.rows);
    for (Row* row : batch.rows)
      ended(*row);
  }
}

}  // namespace gpuexp
