// A problem on the device, and what launches of its variants need.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "gpu/cuda_graph.hpp"
#include "gpu/launcher.hpp"
#include "gpu/problem_copy.hpp"

namespace gpuexp {

/// In one replay of a graph.
inline constexpr std::int64_t kMostGraphLaunches = 1000;

/// What launches of one variant need.
struct PreparedVariant {
  DeviceMemory workspace;
  /// On each copy of the buffers that they take in turn. A deque: more copies move none of them.
  std::deque<PreparedSteps> launches;
  std::unique_ptr<CapturedLaunches> graph;
  std::unique_ptr<CapturedLaunches> back_to_back;  ///< kBackToBackLaunches on the first copy
  int back_to_back_replays = 1;
  int graph_launches = 1;
  std::size_t graph_copies = 1;  ///< that its launches take in turn
  double last_us = 0;            ///< what its last sample took in all; 0 before the first
};

class ProblemLaunches {
 public:
  /// Makes one copy of the buffers, and fills its inputs. The family, the device and the stream
  /// outlive this.
  /// With `peers`, of one rank.
  ProblemLaunches(const Family& family, const Values& values, std::uint64_t seed,
                  const DeviceSpec& device, const CudaStream& stream, PeerGroup* peers = nullptr);

  const Family& family() const { return family_; }
  const void* problem() const { return problem_.get(); }
  ProblemCopy& copy(std::size_t i = 0) { return copies_[i]; }

  /// With its workspace; its launches are prepared on their first use.
  PreparedVariant& allocate(const Variant& variant);
  PreparedVariant& prepare(const Variant& variant);
  LaunchContext context(const PreparedVariant& prepared) const;

  /// Copies that launches in the mode write to.
  std::size_t copies_of(const Variant& variant, Mode mode);
  /// Restores what launches in the mode find, on each copy that they take.
  void reset(const Variant& variant, Mode mode);
  /// What a sample in the mode times: a launch, several, or a replay of those captured.
  void enqueue(const Variant& variant, Mode mode);

  /// Whether lines that launches so far have touched persist in L2.
  bool persists() const { return persists_; }
  /// What launches of the variant want of L2.
  std::int64_t set_aside_bytes(const Variant& variant) {
    return prepare(variant).launches.front().set_aside_bytes();
  }

  /// Captures as many launches as fill a replay, over enough copies to leave nothing of one in L2
  /// when its turn comes again; where a copy has to be reset before each launch, each has one.
  /// `launch_us` is about what a launch takes.
  void capture(const Variant& variant, double launch_us);
  /// Captures those of Mode::back_to_back_graph, to be replayed so often.
  void capture_back_to_back(const Variant& variant, int replays);

 private:
  const PreparedSteps* launch_to_reset(const Variant& variant, std::size_t copy);
  void prepare_launches(const Variant& variant, PreparedVariant& prepared, std::size_t copies);

  const Family& family_;
  const DeviceSpec& device_;
  const CudaStream& stream_;
  PeerGroup* peers_;
  std::shared_ptr<const void> problem_;
  std::uint64_t seed_;
  std::deque<ProblemCopy> copies_;  ///< the first is what every mode but graph uses
  std::map<const Variant*, PreparedVariant> prepared_;
  bool persists_ = false;
};

}  // namespace gpuexp
