#pragma once

#include <array>
#include <string>
#include <vector>

namespace gpuexp {

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
  const char* name;  ///< name in files
  double RunTimes::*seconds;
  const char* doc;
};

/// Phases that do not overlap, in the order in which a run starts them.
inline constexpr std::array<RunTimesMember, 10> kRunTimesParts{{
    {"set_up", &RunTimes::set_up, "allocating buffers and filling inputs"},
    {"reference", &RunTimes::reference,
     "computing fp64 references, unless already computed, and filling outputs with a pattern"},
    {"verify", &RunTimes::verify, "launches for verification, and comparing their results"},
    {"warm_up", &RunTimes::warm_up, "launches before the samples, and capturing graphs"},
    {"sustain", &RunTimes::sustain,
     "back-to-back launches before samples and for the sustained time"},
    {"sample", &RunTimes::sample,
     "taking samples, including the flushes and launches before each sample"},
    {"clock", &RunTimes::clock, "reading the SM clock"},
    {"restart", &RunTimes::restart, "starting processes for samples of first launches"},
    {"counters", &RunTimes::counters, "reading hardware counters, including replays"},
    {"prediction", &RunTimes::prediction,
     "waiting for predictions from machine code after all measurements"},
}};

/// All members: the phases, the total, and `sample_gpu`, which is included in `sample`.
inline constexpr auto kRunTimesMembers = [] {
  std::array<RunTimesMember, kRunTimesParts.size() + 2> members{};
  std::size_t count = 0;
  for (const RunTimesMember& part : kRunTimesParts)
    members[count++] = part;
  members[count++] = {"total", &RunTimes::total, "total from start to end"};
  members[count++] = {"sample_gpu", &RunTimes::sample_gpu,
                      "GPU time within sample: timed launches, flushes and priming launches"};
  return members;
}();

inline RunTimes& operator+=(RunTimes& sum, const RunTimes& times) {
  for (const RunTimesMember& member : kRunTimesMembers)
    sum.*member.seconds += times.*member.seconds;
  return sum;
}

struct GroupTimes {
  std::string experiment;
  std::string parameters;  ///< "m=64,n=64,k=64"
  std::string mode;
  /// Seconds from the start or resumption of the run to the start of the group.
  double began_s = 0;
  RunTimes times;

  bool operator==(const GroupTimes&) const = default;
};

}  // namespace gpuexp
