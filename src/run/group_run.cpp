#include "run/group_run.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "run/host_refusal.hpp"
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
    Turn turn;
    turn.row = &row;
    turn.ended = row.status == Status::skipped;
    round_ = std::max(round_, static_cast<int>(row.samples_us.size()));
    turns_.push_back(turn);
  }
}

void GroupRun::run() {
  for (Turn& turn : turns_) {
    if (turn.ended) continue;
    if (const std::string reason = session_.end_reason(); !reason.empty()) {
      end(turn, Status::not_run, reason);
    } else if (group_.mode == Mode::profile && session_.options().kind == RunKind::measure) {
      profile(turn);
    } else {
      verify(turn, Mode::warm, "");
    }
  }
  if (session_.options().kind == RunKind::verify || group_.mode == Mode::profile ||
      !session_.executor().timer())
    return;
  since_s_ = session_.now_s();
  sample();
  for (Turn& turn : turns_) {
    if (!turn.ended && times_first_launches(variant(turn).timing)) sample_first_launches(turn);
  }
  if (session_.options().telemetry)
    telemetry_ = session_.options().telemetry(since_s_, session_.now_s());
  // Backwards: the references of what the last variant writes are at hand.
  for (auto turn = turns_.rbegin(); turn != turns_.rend(); ++turn)
    verify_again(*turn);
}

/// Runs a step on the problem as set up; false when it ended the cell.
template <class Step>
bool GroupRun::attempt(Turn& turn, Step&& step) {
  for (bool again = true; again;) {
    again = false;
    try {
      with_host_refusals([&] {
        session_.set_up(*experiment_.family, group_.values);
        step();
      });
    } catch (const DeviceGone& gone) {
      end(turn, Status::not_run, gone.what());
    } catch (const DeviceError& error) {
      again = fail(turn, error);
    }
  }
  return !turn.ended;
}

/// Ends the cell by its fault; true when it has another try instead.
bool GroupRun::fail(Turn& turn, const DeviceError& error) {
  session_.failed(error);
  // No kernel kills its process so; the system, short of memory, or somebody does. Once.
  if (error.fault() == DeviceFault::killed && !turn.killed) {
    turn.killed = true;
    return true;
  }
  end(turn, status_of(error.fault()), error.what());
  return false;
}

void GroupRun::end(Turn& turn, Status status, const std::string& reason) {
  turn.ended = true;
  turn.row->status = status;
  turn.row->reason = reason;
  turn.row->samples_us.clear();
  turn.row->skews_us.clear();
  turn.row->time_us.reset();
  turn.row->stop_reason = StopReason::none;
}

bool GroupRun::accept(Turn& turn, const Verification& verification, const char* when) {
  turn.row->verification = verification;
  if (verification.passed()) return true;
  end(turn, Status::incorrect, failure_of(verification) + when);
  return false;
}

void GroupRun::pass(Turn& turn) {
  const Verification& verified = *turn.row->verification;
  turn.row->status = verified.checked < verified.elements ? Status::sampled : Status::passed;
  turn.row->reason.clear();
  for (auto& metric : session_.executor().measured_metrics(variant(turn)))
    turn.row->metrics.push_back(std::move(metric));
}

void GroupRun::verify(Turn& turn, Mode mode, const char* when) {
  const PhaseRange range(session_.tracer(), turn.row->key, "verify");
  attempt(turn, [&] {
    Executor& executor = session_.executor();
    Verification verification;
    session_.timed(&RunTimes::reference, [&] { executor.poison(variant(turn), mode); });
    session_.timed(&RunTimes::verify, [&] {
      executor.launch(variant(turn), mode);
      verification = executor.check(variant(turn), mode);
    });
    if (accept(turn, verification, when) && !has_passed(turn.row->status)) pass(turn);
  });
}

// The launch that is profiled is the one that is verified: there is no other.
void GroupRun::profile(Turn& turn) {
  const TraceRange range(session_.tracer(), turn.row->key);
  attempt(turn, [&] {
    Executor& executor = session_.executor();
    const auto in_range = [&](const char* phase, auto&& step) {
      const TraceRange phase_range(session_.tracer(), phase);
      step();
    };
    in_range("verify", [&] { executor.poison(variant(turn), Mode::profile); });
    in_range("measure", [&] { executor.launch(variant(turn), Mode::profile); });
    in_range("verify", [&] {
      if (accept(turn, executor.check(variant(turn), Mode::profile), "")) pass(turn);
    });
  });
}

void GroupRun::sample() {
  for (std::vector<Turn*> turns = wanting(); !turns.empty(); turns = wanting()) {
    if (!session_.end_reason().empty()) {
      for (Turn* turn : turns) {
        if (turn->row->stop_reason == StopReason::none)
          turn->row->stop_reason = StopReason::interrupted;
      }
      return;
    }
    if (warm_up(turns)) take(turns);
  }
}

// After all other samples: a process that has launched nothing has nothing warmed up, either.
void GroupRun::sample_first_launches(Turn& turn) {
  Row& row = *turn.row;
  const bool one_each = variant(turn).timing == Timing::fresh_process;
  if (!one_each) row.samples_us.clear();  // of a run that ended in between
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
    turn.before = row.samples_us.size();
    try {
      if (!session_.restart()) {
        end(turn, Status::skipped,
            "times first launches in a separate process, which --no-isolate rules out");
      }
    } catch (const DeviceError& error) {
      fail(turn, error);
    }
    if (turn.ended) return;
    attempt(turn, [&] {
      session_.timed(&RunTimes::sample, [&] {
        row.traits = session_.timer().sample_from_first(
            variant(turn), group_.mode, one_each ? 1 : settings().min_samples, keep);
      });
    });
    turn.elapsed_s += session_.now_s() - start_s;
    if (one_each && !turn.ended) judge(turn);
  } while (one_each && !turn.ended && row.stop_reason == StopReason::none);
}

// A sample of several launches is their mean.
double GroupRun::quantum_us(const Turn& turn) const {
  const int launches = turn.row->traits ? turn.row->traits->launches : 1;
  return session_.quantum_us(group_.mode, launches);
}

/// Those who take their turns in the next rounds: all who are below their caps, until the last has
/// converged. Whoever left would change the others' times, who share clock, power and caches with
/// their neighbours in the round.
std::vector<GroupRun::Turn*> GroupRun::wanting() {
  std::vector<Turn*> turns;
  bool is_done = true;
  for (Turn& turn : turns_) {
    if (turn.ended || times_first_launches(variant(turn).timing)) continue;
    is_done = is_done && turn.row->stop_reason != StopReason::none;
    if (!turn.capped) turns.push_back(&turn);
  }
  if (is_done) turns.clear();
  return turns;
}

/// True when all are warm on what is set up; a loss on the way takes that from those before.
bool GroupRun::warm_up(const std::vector<Turn*>& turns) {
  for (Turn* turn : turns) {
    if (turn->warm_epoch == session_.epoch()) continue;
    const PhaseRange range(session_.tracer(), turn->row->key, "warm-up");
    attempt(*turn, [&] {
      session_.timed(&RunTimes::warm_up, [&] {
        turn->row->traits =
            session_.timer().warm_up(variant(*turn), group_.mode, warm_up_of(settings()));
      });
      turn->warm_epoch = session_.epoch();
    });
  }
  return std::all_of(turns.begin(), turns.end(), [&](const Turn* turn) {
    return !turn->ended && turn->warm_epoch == session_.epoch();
  });
}

/// As many rounds as fill a slice of time, each in its own order. Slices are equally long from the
/// first samples to the last: the clock recovers in the pause after one, by some percent under
/// tensor load, so that short slices would show a faster kernel than long ones do.
std::vector<GroupRun::Turn*> GroupRun::next_rounds(const std::vector<Turn*>& turns) {
  constexpr double kSliceS = 0.005;
  int rounds = round_s_ > 0 ? static_cast<int>(std::min(kSliceS / round_s_, 1e6)) : 1;
  for (const Turn* turn : turns) {
    const auto samples = static_cast<int>(turn->row->samples_us.size());
    rounds = std::min(rounds, settings().max_samples - samples);
  }
  std::vector<Turn*> sequence;
  for (int i = 0; i < std::max(1, rounds); ++i) {
    for (const std::size_t place :
         round_order(turns.size(), session_.options().seed, index_, round_ + i))
      sequence.push_back(turns[place]);
  }
  return sequence;
}

void GroupRun::take(const std::vector<Turn*>& turns) {
  const std::vector<Turn*> sequence = next_rounds(turns);
  const auto rounds = static_cast<int>(sequence.size() / turns.size());
  const int first_round = round_;
  round_ += rounds;
  for (Turn* turn : turns)
    turn->before = turn->row->samples_us.size();
  std::size_t taken = 0;
  try {
    if (std::exchange(sustained_epoch_, session_.epoch()) != session_.epoch()) {
      sustain(turns);
      if (first_round == 0) since_s_ = session_.now_s();
    }
    start_clock(first_round);
    const double start_s = session_.now_s();
    session_.timed(&RunTimes::sample,
                   [&] { sample_in_turn(sequence, first_round, turns.size(), taken); });
    round_s_ = (session_.now_s() - start_s) / rounds;
    read_clock();
  } catch (const DeviceError& error) {
    fail(*sequence[std::min(taken, sequence.size() - 1)], error);
  }
  for (Turn* turn : turns) {
    if (!turn->ended) judge(*turn);
  }
}

/// Whether there are samples enough, after new ones.
void GroupRun::judge(Turn& turn) {
  Row& row = *turn.row;
  const std::size_t count = row.samples_us.size();
  if (is_look(settings(), turn.before, count) && turn.elapsed_s >= settings().min_seconds &&
      settings().target_relative_ci > 0) {
    const Statistics statistics = summarize(row.samples_us, quantum_us(turn));
    const bool converged =
        is_converged(statistics, settings().target_relative_ci, quantum_us(turn)) &&
        is_fine(turn, statistics);
    row.stop_reason = converged ? StopReason::converged : StopReason::none;
  }
  const StopReason cap = cap_reached(settings(), count, turn.elapsed_s);
  turn.capped = cap != StopReason::none;
  if (row.stop_reason == StopReason::none) row.stop_reason = cap;
}

/// Whether what has reached its target may end: an interval within one tick of the timer gets no
/// narrower, and precision beyond the target is worth a limited time.
bool GroupRun::is_fine(const Turn& turn, const Statistics& statistics) const {
  constexpr double kHalfTick = 0.501;  // a tick is known to the rounding of its differences
  return elapsed_s() >= settings().fine_seconds ||
         is_converged(statistics, settings().fine_relative_ci, kHalfTick * quantum_us(turn));
}

double GroupRun::elapsed_s() const {
  double seconds = 0;
  for (const Turn& turn : turns_)
    seconds += turn.elapsed_s;
  return seconds;
}

// Before the first samples on what is set up, in the order of the group.
void GroupRun::sustain(const std::vector<Turn*>& turns) {
  std::vector<const Variant*> variants;
  for (const Turn* turn : turns)
    variants.push_back(&variant(*turn));
  try {
    session_.run_back_to_back(variants, group_.mode, settings().sustain_seconds);
  } catch (const DeviceError& error) {
    // The cell that ends by it may not be the one whose launch it was.
    throw DeviceError(fmt::format("while the group's launches ran back to back: {}", error.what()),
                      error.fault());
  }
}

// The first reading is to cover the rounds alone.
void GroupRun::start_clock(int round) {
  if (clock_epoch_ == session_.epoch()) return;
  session_.timed(&RunTimes::clock, [&] { session_.timer().start_clock(); });
  for (Turn& turn : turns_)
    turn.unread = turn.row->samples_us.size();
  unread_round_ = round;
  clock_epoch_ = session_.epoch();
}

/// Gives the samples since the last reading their clock. Those of a stretch that is too short wait
/// for the next one, which covers it as well.
void GroupRun::read_clock() {
  std::optional<ClockReading> reading;
  session_.timed(&RunTimes::clock, [&] { reading = session_.timer().sm_clock(); });
  if (!reading) return;
  const bool counts = covers_load(*reading);
  for (Turn& turn : turns_) {
    for (; turn.unread < turn.clocks_mhz.size(); ++turn.unread) {
      auto& mhz = turn.clocks_mhz[turn.unread];
      if (!mhz && counts) mhz = reading->mhz;
    }
  }
  const int first_round = std::exchange(unread_round_, round_);
  if (counts) session_.observer().clock_read(group_, first_round, round_ - 1, reading->mhz);
}

/// `taken` counts the samples, also when one of them throws.
void GroupRun::sample_in_turn(const std::vector<Turn*>& sequence, int first_round,
                              std::size_t per_round, std::size_t& taken) {
  std::vector<const Variant*> variants;
  for (const Turn* turn : sequence)
    variants.push_back(&variant(*turn));
  double last_s = session_.now_s();
  std::optional<PhaseRange> range;
  const auto enter = [&](std::size_t place) {
    range.reset();
    if (place < sequence.size())
      range.emplace(session_.tracer(), sequence[place]->row->key, "measure");
  };
  enter(0);
  session_.timer().sample(variants, group_.mode, [&](std::size_t place, const Sample& sample) {
    Turn& turn = *sequence[place];
    const double now_s = session_.now_s();
    turn.elapsed_s += now_s - std::exchange(last_s, now_s);
    turn.clocks_mhz.resize(turn.row->samples_us.size());
    turn.clocks_mhz.push_back(sample.sm_clock_mhz);
    turn.row->samples_us.push_back(sample.time_us);
    if (sample.skew_us) turn.row->skews_us.push_back(*sample.skew_us);
    session_.add_time(&RunTimes::sample_gpu, 1e-6 * turn.row->traits->gpu_us(sample.time_us));
    taken = place + 1;
    enter(taken);
    session_.observer().sample_taken(*turn.row->cell,
                                     first_round + static_cast<int>(place / per_round), sample);
  });
}

void GroupRun::verify_again(Turn& turn) {
  if (turn.ended) return;
  Row& row = *turn.row;
  if (row.samples_us.empty()) {
    end(turn, Status::not_run, session_.end_reason());
    return;
  }
  row.clocks = clocks_of(turn.clocks_mhz);
  row.telemetry = telemetry_;
  row.floor_us = session_.floor_us(group_.mode);
  // After a loss nothing is captured, and a replay needs what was.
  const bool warm = turn.warm_epoch == session_.epoch();
  // Launches back to back find each other's results, which a reference does not.
  const bool as_timed = warm && !is_back_to_back(group_.mode);
  verify(turn, as_timed ? group_.mode : Mode::warm, " (after timing)");
  if (!turn.ended) row.time_us = summarize(row.samples_us, quantum_us(turn));
}

}  // namespace gpuexp
