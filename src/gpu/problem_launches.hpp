// A problem on the device and its prepared launches.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "gpu/cuda_graph.hpp"
#include "gpu/launcher.hpp"
#include "gpu/problem_copy.hpp"

namespace gpuexp {

/// Maximum number of launches in one replay of a graph.
inline constexpr std::int64_t kMaxGraphLaunches = 1000;

struct PreparedVariant {
  DeviceMemory workspace;
  /// One per copy of the buffers, used in rotation. A deque, so that adding copies moves no
  /// element.
  std::deque<PreparedSteps> launches;
  std::unique_ptr<CapturedLaunches> graph;
  std::unique_ptr<CapturedLaunches> back_to_back;  ///< kBackToBackLaunches on the first copy
  int back_to_back_replays = 1;
  int graph_launches = 1;
  std::size_t graph_copies = 1;  ///< number of copies in rotation
  double last_us = 0;            ///< duration of its last sample; 0 before the first
};

class ProblemLaunches {
 public:
  /// Creates one copy of the buffers and fills its inputs. The family, the device and the stream
  /// must outlive this object. With `peers`, it is the copy of one rank.
  ProblemLaunches(const Family& family, const Values& values, std::uint64_t seed,
                  const DeviceSpec& device, const CudaStream& stream, PeerGroup* peers = nullptr);

  const Family& family() const { return family_; }
  const void* problem() const { return problem_.get(); }
  ProblemCopy& copy(std::size_t i = 0) { return copies_[i]; }

  PreparedVariant& allocate(const Variant& variant);
  PreparedVariant& prepare(const Variant& variant);
  LaunchContext context(const PreparedVariant& prepared) const;

  /// Number of copies that launches in the mode write to.
  std::size_t copies_of(const Variant& variant, Mode mode);
  /// Restores the inputs of launches in the mode, on every copy that they use.
  void reset(const Variant& variant, Mode mode);
  /// Enqueues the work of one sample in the mode: one launch, several, or replays of captured
  /// launches.
  void enqueue(const Variant& variant, Mode mode);

  /// True if launches so far may have left persisting lines in L2.
  bool persists() const { return persists_; }
  /// L2 bytes that launches of the variant need set aside.
  std::int64_t set_aside_bytes(const Variant& variant) {
    return prepare(variant).launches.front().set_aside_bytes();
  }

  /// Captures enough launches to fill a replay, over enough copies to evict each copy from L2
  /// before its next use. If a copy must be reset before each launch, each copy has one launch.
  /// `launch_us` is the approximate duration of a launch.
  void capture(const Variant& variant, double launch_us);
  /// Captures the launches of Mode::back_to_back_graph, to be replayed `replays` times per sample.
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
