#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "gpu/cuda_graph.hpp"
#include "gpu/launcher.hpp"
#include "gpu/problem_copy.hpp"

namespace gpuexp {

inline constexpr std::int64_t kMaxGraphLaunches = 1000;
inline constexpr int kMaxReplays = 50;  ///< per sample in Mode::back_to_back_graph

struct PreparedVariant {
  DeviceMemory workspace;
  /// One per copy of the buffers, in rotation. A deque, because adding to it moves no element.
  std::deque<PreparedSteps> launches;
  std::unique_ptr<CapturedLaunches> graph;
  std::unique_ptr<CapturedLaunches> back_to_back;  ///< graph of kBackToBackLaunches launches
  int back_to_back_replays = 1;
  int graph_launches = 1;
  std::size_t graph_copies = 1;  ///< number of copies that the graph uses in rotation
  double last_us = 0;  ///< duration of the last sample, in microseconds; 0 before the first
};

/// The number of launches of one sample in the mode.
int launches_of(const PreparedVariant& prepared, Mode mode);

class ProblemLaunches {
 public:
  /// Creates one copy of the buffers with inputs. Family, device and stream must outlive this
  /// object. With `peers`, the copy has the buffers of one rank.
  ProblemLaunches(const Family& family, const Values& values, std::uint64_t seed,
                  const DeviceSpec& device, const CudaStream& stream, PeerGroup* peers = nullptr);

  const Family& family() const { return family_; }
  const void* problem() const { return problem_.get(); }
  ProblemCopy& copy(std::size_t i = 0) { return copies_[i]; }

  PreparedVariant& allocate(const Variant& variant);
  PreparedVariant& prepare(const Variant& variant);
  LaunchContext context(const PreparedVariant& prepared) const;

  std::size_t copies_of(const Variant& variant, Mode mode);
  /// Restores the inputs of all copies that launches in the mode use.
  void reset(const Variant& variant, Mode mode);
  /// Enqueues the work of one sample in the mode: one launch, several launches, or replays of a
  /// graph.
  void enqueue(const Variant& variant, Mode mode);

  bool persists() const { return persists_; }
  /// Bytes of L2 that the variant's launches need set aside.
  std::int64_t set_aside_bytes(const Variant& variant) {
    return prepare(variant).launches.front().set_aside_bytes();
  }

  /// Captures launches that take about 1 ms in total, at least one per copy. The copies are
  /// together twice as large as L2, unless that requires more than 256, so that each copy is
  /// evicted before its next use. If each launch needs a reset, each copy has one launch.
  /// `launch_us` is the approximate duration of a launch.
  void capture(const Variant& variant, double launch_us);
  /// Captures the launches of Mode::back_to_back_graph; a sample replays them `replays` times.
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
  std::deque<ProblemCopy> copies_;  ///< every mode except graph uses only the first
  std::map<const Variant*, PreparedVariant> prepared_;
  bool persists_ = false;
};

}  // namespace gpuexp
