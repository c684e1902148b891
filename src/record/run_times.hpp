// Where the time of a run went.
#pragma once

#include <array>
#include <string>
#include <vector>

namespace gpuexp {

/// Seconds that a run, or one of its groups, spent on each of its parts.
struct RunTimes {
  double set_up = 0;
  double reference = 0;
  double verify = 0;
  double warm_up = 0;
  double sustain = 0;
  double sample = 0;
  double clock = 0;
  double restart = 0;
  double counters = 0;
  double prediction = 0;
  double total = 0;
  double sample_gpu = 0;

  bool operator==(const RunTimes&) const = default;
};

struct RunTimesMember {
  const char* name;  ///< in files
  double RunTimes::*seconds;
  const char* doc;
};

/// The parts of the time, in the order in which a run comes to them; they do not overlap.
inline constexpr std::array<RunTimesMember, 10> kRunTimesParts{{
    {"set_up", &RunTimes::set_up, "allocating buffers and filling inputs"},
    {"reference", &RunTimes::reference,
     "computing fp64 references, unless already computed, and filling outputs with a pattern"},
    {"verify", &RunTimes::verify, "launches whose results are checked, and their comparison"},
    {"warm_up", &RunTimes::warm_up, "launches before the samples, and capturing graphs"},
    {"sustain", &RunTimes::sustain,
     "launches back to back, before samples and to measure what a longer run settles at"},
    {"sample", &RunTimes::sample, "taking samples, with the flushes and launches before each"},
    {"clock", &RunTimes::clock, "reading the SM clock"},
    {"restart", &RunTimes::restart, "starting processes for samples of first launches"},
    {"counters", &RunTimes::counters, "reading hardware counters, replays included"},
    {"prediction", &RunTimes::prediction,
     "waiting for predictions from machine code when nothing was left to measure"},
}};

/// All of them, with the sum and what is a part of another one.
inline constexpr auto kRunTimesMembers = [] {
  std::array<RunTimesMember, kRunTimesParts.size() + 2> members{};
  std::size_t count = 0;
  for (const RunTimesMember& part : kRunTimesParts)
    members[count++] = part;
  members[count++] = {"total", &RunTimes::total, "from beginning to end"};
  members[count++] = {"sample_gpu", &RunTimes::sample_gpu,
                      "of sample: the GPU's own time, in timed launches, flushes and priming"};
  return members;
}();

inline RunTimes& operator+=(RunTimes& sum, const RunTimes& times) {
  for (const RunTimesMember& member : kRunTimesMembers)
    sum.*member.seconds += times.*member.seconds;
  return sum;
}

/// Times of the cells of one experiment that share a problem and a mode.
struct GroupTimes {
  std::string experiment;
  std::string parameters;  ///< "m=64,n=64,k=64"
  std::string mode;
  double began_s = 0;  ///< seconds after the run began, or after it was resumed
  RunTimes times;

  bool operator==(const GroupTimes&) const = default;
};

}  // namespace gpuexp
