#include "run/group_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "family/registry.hpp"
#include "run/compared_elements.hpp"
#include "run/host_refusal.hpp"
#include "run/kernel_file_checks.hpp"
#include "run/rounds.hpp"

namespace gpuexp {

namespace {

Status status_of(DeviceFault fault) {
  switch (fault) {
    case DeviceFault::timed_out: return Status::timeout;
    case DeviceFault::interrupted: return Status::not_run;
    case DeviceFault::refused:
    case DeviceFault::lost:
    case DeviceFault::peer_lost:
    case DeviceFault::killed: break;
  }
  return Status::failed;
}

}  // namespace

GroupRun::GroupRun(Session& session, const Plan& plan, std::size_t group, std::vector<Row>& rows)
    : session_(session),
      group_(plan.groups[group]),
      index_(group),
      experiment_(plan.experiment(group_)) {
  for (Row& row : rows) {
    CellState cell;
    cell.row = &row;
    cell.ended = row.status == Status::skipped;
    round_ = std::max(round_, static_cast<int>(row.samples_us.size()));
    cells_.push_back(cell);
  }
}

void GroupRun::run() {
  const bool is_profiled =
      group_.mode == Mode::profile && session_.options().kind == RunKind::measure;
  if (!is_profiled) verify_exact_sums();
  for (CellState& cell : cells_) {
    if (cell.ended) continue;
    if (const std::string reason = session_.end_reason(); !reason.empty()) {
      end(cell, Status::not_run, reason);
    } else if (is_profiled) {
      profile(cell);
    } else {
      verify(cell, Mode::warm, "");
    }
  }
  if (session_.options().kind == RunKind::verify || group_.mode == Mode::profile ||
      !session_.executor().timer())
    return;
  since_s_ = session_.now_s();
  sample();
  for (CellState& cell : cells_) {
    if (!cell.ended && times_first_launches(variant(cell).timing)) sample_first_launches(cell);
  }
  if (session_.options().telemetry)
    telemetry_ = session_.options().telemetry(since_s_, session_.now_s());
  // In reverse order, because the references of the last variant's outputs still exist.
  for (auto cell = cells_.rbegin(); cell != cells_.rend(); ++cell)
    verify_again(*cell);
}

/// Runs a step on the set-up problem; false if an error of the step ended the cell.
template <class Step>
bool GroupRun::attempt(CellState& cell, const Family& family, Step&& step) {
  for (bool again = true; again;) {
    again = false;
    try {
      with_host_refusals([&] {
        session_.set_up(family, group_.values);
        step();
      });
    } catch (const DeviceGone& gone) {
      end(cell, Status::not_run, gone.what());
    } catch (const DeviceError& error) {
      again = fail(cell, error);
    }
  }
  return !cell.ended;
}

template <class Step>
bool GroupRun::attempt(CellState& cell, Step&& step) {
  return attempt(cell, *experiment_.family, std::forward<Step>(step));
}

/// Handles a fault; false if it ends the cell, true if the cell is retried.
bool GroupRun::fail(CellState& cell, const DeviceError& error) {
  session_.failed(error);
  // A kernel cannot send SIGKILL to its process; the system (out of memory) or a user did. The
  // cell is retried once.
  if (error.fault() == DeviceFault::killed && !cell.killed) {
    cell.killed = true;
    return true;
  }
  end(cell, status_of(error.fault()), error.what());
  return false;
}

void GroupRun::end(CellState& cell, Status status, const std::string& reason) {
  cell.ended = true;
  cell.row->status = status;
  cell.row->reason = reason;
  cell.row->samples_us.clear();
  cell.row->skews_us.clear();
  cell.row->time_us.reset();
  cell.row->stop_reason = StopReason::none;
}

/// Verifies all cells with the inputs for which the sums are exact, if the family has such inputs
/// and needs them.
void GroupRun::verify_exact_sums() {
  const ExactVerification exact =
      exact_verification(session_.options().kernel_files, *experiment_.family, group_.values);
  for (CellState& cell : cells_) {
    if (cell.ended || !session_.end_reason().empty()) continue;
    cell.row->hidden_terms = exact.why_not;
    if (!exact.family) continue;
    const Variant& same = *exact.family->find(variant(cell).id);
    const PhaseRange range(session_.tracer(), cell.row->key, "verify");
    session_.observer().verification_started(*cell.row);
    attempt(cell, *exact.family, [&] {
      Verification verification;
      session_.timed(&RunTimes::verify,
                     [&] { verification = session_.executor().verify(same, Mode::warm); });
      if (verification.passed()) {
        cell.row->exact_verification = std::move(verification);
        return;
      }
      if (refuse_check(cell, *exact.family, verification)) return;
      cell.row->verification = verification;
      end(cell, Status::incorrect,
          failure_text(verification) +
              " (with small whole numbers as inputs, whose sums are exact)");
    });
  }
}

std::string GroupRun::failure_text(const Verification& verification) const {
  return failure_of(verification, element_names(session_.options().kernel_files,
                                                *experiment_.family, group_.values));
}

/// Ends the cell if its check, and not its kernel, is wrong.
bool GroupRun::refuse_check(CellState& cell, const Family& family,
                            const Verification& verification) {
  const RunOptions& options = session_.options();
  if (!is_kernel_file(experiment_.family->id)) return false;
  const std::string error =
      check_error(options.kernel_files, family, group_.values, options.seed, verification);
  if (!error.empty()) end(cell, Status::failed, error);
  return !error.empty();
}

bool GroupRun::accept(CellState& cell, const Verification& verification, const char* when) {
  const KernelFiles* const files = session_.options().kernel_files;
  cell.row->verification = verification;
  if (verification.passed()) {
    // That two launches of a variant have equal results says nothing about its errors.
    if (has_only_own_results(files, *experiment_.family, variant(cell)))
      cell.row->verification.reset();
    return true;
  }
  if (refuse_check(cell, *experiment_.family, verification)) return false;
  std::string reason = failure_text(verification) + when;
  if (!verification.changed_input.empty() && is_kernel_file(experiment_.family->id))
    reason += fmt::format("; declare it as 'in_out {}' if the kernel is to write it",
                          verification.changed_input);
  reason += input_hint(*experiment_.family, variant(cell), verification);
  end(cell, Status::incorrect, reason);
  return false;
}

void GroupRun::pass(CellState& cell, const Verification& verified) {
  cell.row->reason =
      unverified_reason(session_.options().kernel_files, *experiment_.family, variant(cell));
  cell.row->status = !cell.row->reason.empty()              ? Status::unverified
                     : verified.checked < verified.elements ? Status::sampled
                                                            : Status::passed;
  for (auto& metric : session_.executor().measured_metrics(variant(cell)))
    cell.row->metrics.push_back(std::move(metric));
}

void GroupRun::verify(CellState& cell, Mode mode, const char* when) {
  const PhaseRange range(session_.tracer(), cell.row->key, "verify");
  session_.observer().verification_started(*cell.row);
  attempt(cell, [&] {
    Executor& executor = session_.executor();
    Verification verification;
    session_.timed(&RunTimes::reference, [&] { executor.poison(variant(cell), mode); });
    session_.timed(&RunTimes::verify, [&] {
      executor.launch(variant(cell), mode);
      verification = executor.check(variant(cell), mode);
    });
    if (accept(cell, verification, when) && !has_values(cell.row->status)) pass(cell, verification);
  });
}

// The profiled launch is also the verified launch; no other launch runs.
void GroupRun::profile(CellState& cell) {
  const TraceRange range(session_.tracer(), cell.row->key);
  attempt(cell, [&] {
    Executor& executor = session_.executor();
    const auto in_range = [&](const char* phase, auto&& step) {
      const TraceRange phase_range(session_.tracer(), phase);
      step();
    };
    in_range("verify", [&] { executor.poison(variant(cell), Mode::profile); });
    in_range("measure", [&] { executor.launch(variant(cell), Mode::profile); });
    in_range("verify", [&] {
      const Verification verification = executor.check(variant(cell), Mode::profile);
      if (accept(cell, verification, "")) pass(cell, verification);
    });
  });
}

void GroupRun::sample() {
  for (std::vector<CellState*> cells = wanting(); !cells.empty(); cells = wanting()) {
    if (!session_.end_reason().empty()) {
      for (CellState* cell : cells) {
        if (cell->row->stop_reason == StopReason::none)
          cell->row->stop_reason = StopReason::interrupted;
      }
      return;
    }
    if (warm_up(cells)) take(cells);
  }
}

// Runs after all other samples of the group, because restarting the process discards every
// warm-up.
void GroupRun::sample_first_launches(CellState& cell) {
  Row& row = *cell.row;
  const bool one_each = variant(cell).timing == Timing::fresh_process;
  if (!one_each) row.samples_us.clear();  // samples of an interrupted run
  const auto keep = [&](std::size_t, const Sample& sample) {
    const auto round = static_cast<int>(row.samples_us.size());
    row.samples_us.push_back(sample.time_us);
    session_.observer().sample_taken(*row.cell, round, sample);
  };
  do {
    if (!session_.end_reason().empty()) {
      row.stop_reason = StopReason::interrupted;
      return;
    }
    const PhaseRange range(session_.tracer(), row.key, "measure");
    const double start_s = session_.now_s();
    cell.before = row.samples_us.size();
    try {
      if (!session_.restart()) {
        end(cell, Status::skipped,
            "times first launches in a separate process, which --no-isolate rules out");
      }
    } catch (const DeviceError& error) {
      fail(cell, error);
    }
    if (cell.ended) return;
    attempt(cell, [&] {
      session_.timed(&RunTimes::sample, [&] {
        row.traits = session_.timer().sample_from_first(
            variant(cell), group_.mode, one_each ? 1 : settings().min_samples, keep);
      });
    });
    cell.elapsed_s += session_.now_s() - start_s;
    if (one_each && !cell.ended) judge(cell);
  } while (one_each && !cell.ended && row.stop_reason == StopReason::none);
}

// A sample is the mean over its launches, so the timer's step is divided by their number.
double GroupRun::quantum_us(const CellState& cell) const {
  const int launches = cell.row->traits ? cell.row->traits->launches : 1;
  return session_.quantum_us(group_.mode, launches);
}

/// Returns the cells to sample: all below their caps, or none once every cell has converged or
/// reached a cap. Converged cells are sampled until then, because they affect clock, power and
/// cache state of the other cells.
std::vector<GroupRun::CellState*> GroupRun::wanting() {
  std::vector<CellState*> cells;
  bool is_done = true;
  for (CellState& cell : cells_) {
    if (cell.ended || times_first_launches(variant(cell).timing)) continue;
    is_done = is_done && cell.row->stop_reason != StopReason::none;
    if (!cell.capped) cells.push_back(&cell);
  }
  if (is_done) cells.clear();
  return cells;
}

/// Warms up the cells that are not warm on the current set-up. True if all cells are warm
/// afterwards: a device loss invalidates earlier warm-ups.
bool GroupRun::warm_up(const std::vector<CellState*>& cells) {
  for (CellState* cell : cells) {
    if (cell->warm_epoch == session_.epoch()) continue;
    const PhaseRange range(session_.tracer(), cell->row->key, "warm-up");
    attempt(*cell, [&] {
      session_.timed(&RunTimes::warm_up, [&] {
        cell->row->traits =
            session_.timer().warm_up(variant(*cell), group_.mode, warm_up_of(settings()));
      });
      cell->warm_epoch = session_.epoch();
    });
  }
  return std::all_of(cells.begin(), cells.end(), [&](const CellState* cell) {
    return !cell->ended && cell->warm_epoch == session_.epoch();
  });
}

/// The cells to sample in the next time slice of 5 ms: as many rounds as fit, at least one, each in
/// a random order. Slices have equal lengths, because under tensor load the clock rises by some
/// percent in the pause after each slice: shorter slices would contain faster kernels.
std::vector<GroupRun::CellState*> GroupRun::next_rounds(const std::vector<CellState*>& cells) {
  constexpr double kSliceS = 0.005;
  int rounds = round_s_ > 0 ? static_cast<int>(std::min(kSliceS / round_s_, 1e6)) : 1;
  for (const CellState* cell : cells) {
    const auto samples = static_cast<int>(cell->row->samples_us.size());
    rounds = std::min(rounds, settings().max_samples - samples);
  }
  std::vector<CellState*> sequence;
  for (int i = 0; i < std::max(1, rounds); ++i) {
    for (const std::size_t place :
         round_order(cells.size(), session_.options().seed, index_, round_ + i))
      sequence.push_back(cells[place]);
  }
  return sequence;
}

void GroupRun::take(const std::vector<CellState*>& cells) {
  const std::vector<CellState*> sequence = next_rounds(cells);
  const auto rounds = static_cast<int>(sequence.size() / cells.size());
  const int first_round = round_;
  round_ += rounds;
  for (CellState* cell : cells)
    cell->before = cell->row->samples_us.size();
  std::size_t taken = 0;
  try {
    if (std::exchange(sustained_epoch_, session_.epoch()) != session_.epoch()) {
      sustain(cells);
      if (first_round == 0) since_s_ = session_.now_s();
    }
    start_clock(first_round);
    const double start_s = session_.now_s();
    session_.timed(&RunTimes::sample,
                   [&] { sample_sequence(sequence, first_round, cells.size(), taken); });
    round_s_ = (session_.now_s() - start_s) / rounds;
    read_clock();
  } catch (const DeviceError& error) {
    fail(*sequence[std::min(taken, sequence.size() - 1)], error);
  }
  for (CellState* cell : cells) {
    if (!cell->ended) judge(*cell);
  }
}

/// Decides after new samples whether to stop sampling the cell.
void GroupRun::judge(CellState& cell) {
  Row& row = *cell.row;
  const std::size_t count = row.samples_us.size();
  if (is_look(settings(), cell.before, count) && cell.elapsed_s >= settings().min_seconds &&
      settings().target_relative_ci > 0) {
    const Statistics statistics = summarize(row.samples_us, quantum_us(cell));
    const bool converged =
        is_converged(statistics, settings().target_relative_ci, quantum_us(cell)) &&
        is_precise_enough(cell, statistics);
    row.stop_reason = converged ? StopReason::converged : StopReason::none;
  }
  const StopReason cap = cap_reached(settings(), count, cell.elapsed_s);
  cell.capped = cap != StopReason::none;
  if (row.stop_reason == StopReason::none) row.stop_reason = cap;
}

/// True if a converged cell may stop: the half-width of its interval is at most `fine_relative_ci`
/// of the median or half a tick of the timer, or the group has been sampled for `fine_seconds`.
bool GroupRun::is_precise_enough(const CellState& cell, const Statistics& statistics) const {
  constexpr double kHalfTick = 0.501;  // the tick itself is known only to rounding
  return elapsed_s() >= settings().fine_seconds ||
         is_converged(statistics, settings().fine_relative_ci, kHalfTick * quantum_us(cell));
}

double GroupRun::elapsed_s() const {
  double seconds = 0;
  for (const CellState& cell : cells_)
    seconds += cell.elapsed_s;
  return seconds;
}

// Runs before the first samples on a new set-up.
void GroupRun::sustain(const std::vector<CellState*>& cells) {
  std::vector<const Variant*> variants;
  for (const CellState* cell : cells)
    variants.push_back(&variant(*cell));
  try {
    session_.run_back_to_back(variants, group_.mode, settings().sustain_seconds);
  } catch (const DeviceError& error) {
    // The launch that failed may belong to another cell than the one that is ended.
    throw DeviceError(fmt::format("while the group's launches ran back to back: {}", error.what()),
                      error.fault());
  }
}

// Starts the clock once per set-up, so that the first reading covers only rounds.
void GroupRun::start_clock(int round) {
  if (clock_epoch_ == session_.epoch()) return;
  session_.timed(&RunTimes::clock, [&] { session_.timer().start_clock(); });
  for (CellState& cell : cells_)
    cell.unread = cell.row->samples_us.size();
  unread_round_ = round;
  clock_epoch_ = session_.epoch();
}

/// Assigns a clock reading to the samples since the last reading that have none of their own,
/// unless the GPU was mostly idle. If the interval is too short, the next reading covers these
/// samples as well.
void GroupRun::read_clock() {
  std::optional<ClockReading> reading;
  session_.timed(&RunTimes::clock, [&] { reading = session_.timer().sm_clock(); });
  if (!reading) return;
  const bool counts = covers_load(*reading);
  for (CellState& cell : cells_) {
    for (; cell.unread < cell.clocks_mhz.size(); ++cell.unread) {
      auto& mhz = cell.clocks_mhz[cell.unread];
      if (!mhz && counts) mhz = reading->mhz;
    }
  }
  const int first_round = std::exchange(unread_round_, round_);
  if (counts) session_.observer().clock_read(group_, first_round, round_ - 1, reading->mhz);
}

/// Increments `taken` after each sample, so that the count is right even if a sample throws.
void GroupRun::sample_sequence(const std::vector<CellState*>& sequence, int first_round,
                               std::size_t per_round, std::size_t& taken) {
  std::vector<const Variant*> variants;
  for (const CellState* cell : sequence)
    variants.push_back(&variant(*cell));
  double last_s = session_.now_s();
  std::optional<PhaseRange> range;
  const auto enter = [&](std::size_t place) {
    range.reset();
    if (place < sequence.size())
      range.emplace(session_.tracer(), sequence[place]->row->key, "measure");
  };
  enter(0);
  session_.timer().sample(variants, group_.mode, [&](std::size_t place, const Sample& sample) {
    CellState& cell = *sequence[place];
    const double now_s = session_.now_s();
    cell.elapsed_s += now_s - std::exchange(last_s, now_s);
    cell.clocks_mhz.resize(cell.row->samples_us.size());
    cell.clocks_mhz.push_back(sample.sm_clock_mhz);
    cell.row->samples_us.push_back(sample.time_us);
    if (sample.skew_us) cell.row->skews_us.push_back(*sample.skew_us);
    session_.add_time(&RunTimes::sample_gpu, 1e-6 * cell.row->traits->gpu_us(sample.time_us));
    taken = place + 1;
    enter(taken);
    session_.observer().sample_taken(*cell.row->cell,
                                     first_round + static_cast<int>(place / per_round), sample);
  });
}

void GroupRun::verify_again(CellState& cell) {
  if (cell.ended) return;
  Row& row = *cell.row;
  if (row.samples_us.empty()) {
    end(cell, Status::not_run, session_.end_reason());
    return;
  }
  row.clocks = clocks_of(cell.clocks_mhz);
  row.telemetry = telemetry_;
  row.floor_us = session_.floor_us(group_.mode);
  // After a device loss there is no captured graph to replay.
  const bool warm = cell.warm_epoch == session_.epoch();
  // Back-to-back launches overwrite each other's results, so the reference does not apply to them.
  const bool as_timed = warm && !is_back_to_back(group_.mode);
  verify(cell, as_timed ? group_.mode : Mode::warm, " (after timing)");
  if (!cell.ended) row.time_us = summarize(row.samples_us, quantum_us(cell));
}

}  // namespace gpuexp
