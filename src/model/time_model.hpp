// The time that a launch is likely to take, from what it moves and executes and from what the
// device can do: no figure here belongs to a kernel.
//
// An SM holds as many blocks as fit. Their warps go round between stations that serve one at a
// time, each with a demand: the issue slots and pipes of their scheduler, its share of the data
// stage of L1 and shared memory, of L2 and of DRAM; and between them wait for latencies, during
// which others are served. How fast such a network turns follows from mean value analysis
// (queueing.hpp): the slowest station binds where many are resident (a roofline), latency over the
// number of resident ones where few are (Little's law), and in between what the network says.
//
// Where barriers hold the warps of a block together, blocks go round, on the whole SM, each for as
// long as its slowest station takes. Warps that work ahead are customers of the whole SM, too: with
// work for several stations at once, each fills in as four do that wait at every step.
//
// Blocks come in waves; the last one, which does not fill the device, has fewer to hide latency
// with and more of the shared bandwidth for each. Before the first wave turns, its places have to
// be filled and its first loads to come back.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/mode.hpp"
#include "device/ceilings.hpp"
#include "device/device_spec.hpp"
#include "family/family.hpp"

namespace gpuexp {

struct KernelOnDevice {
  Traffic traffic;
  Shape shape;
  int blocks_per_sm = 0;  ///< resident
};

/// The time that a launch would take if one resource alone were used.
struct Term {
  std::string resource;
  double time_us = 0;
};

/// Of times by resource.
std::vector<Term> longest_first(const std::map<std::string, double>& times_us);

struct LaunchTime {
  double total_us = 0;
  std::vector<Term> terms;  ///< longest first; never empty
};

/// What a launch can be bound by: "dram", "l2", "l1", "shared", "blocks" (how fast they start),
/// "issue", the pipes, "latency", "launch".
const std::vector<std::string>& resource_names();

/// Whether the ceilings that times are predicted from are known, but those of pipes.
bool is_complete(const Ceilings& ceilings);

class TimeModel {
 public:
  /// `mode` says what the caches hold at the start.
  TimeModel(const DeviceSpec& device, const Ceilings& ceilings, Mode mode);

  /// Of all kernels of a launch, one after the other; `work` says how much memory it needs. Empty
  /// where a ceiling that it takes is unknown.
  std::optional<LaunchTime> launch_time(const std::vector<KernelOnDevice>& kernels,
                                        const Work& work) const;

 private:
  DeviceSpec device_;
  Ceilings ceilings_;
  Mode mode_;
};

}  // namespace gpuexp
