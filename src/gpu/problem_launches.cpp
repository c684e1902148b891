#include "gpu/problem_launches.hpp"

#include <algorithm>
#include <cmath>

#include "device/l2_cache.hpp"
#include "gpu/cache_flush.hpp"

namespace gpuexp {

int launches_of(const PreparedVariant& prepared, Mode mode) {
  if (mode == Mode::graph) return prepared.graph_launches;
  if (mode == Mode::back_to_back) return kBackToBackLaunches;
  if (mode == Mode::back_to_back_graph) return kBackToBackLaunches * prepared.back_to_back_replays;
  return 1;
}

namespace {

// Target duration of a replay, in microseconds: long compared with its start and end, short enough
// for many samples.
constexpr double kReplayUs = 1e3;
constexpr double kLongestReplayUs = 1e5;

}  // namespace

ProblemLaunches::ProblemLaunches(const Family& family, const Values& values, std::uint64_t seed,
                                 const DeviceSpec& device, const CudaStream& stream,
                                 PeerGroup* peers)
    : family_(family),
      device_(device),
      stream_(stream),
      peers_(peers),
      problem_(family.make_problem(values)),
      seed_(seed) {
  copies_.emplace_back(family_, problem_.get(), seed_, stream_, peers_);
}

PreparedVariant& ProblemLaunches::allocate(const Variant& variant) {
  const auto [entry, is_new] = prepared_.try_emplace(&variant);
  if (is_new && variant.workspace_bytes)
    entry->second.workspace = DeviceMemory(variant.workspace_bytes(problem_.get(), device_));
  return entry->second;
}

// Prepares shapes and workspace once, outside the timed interval.
PreparedVariant& ProblemLaunches::prepare(const Variant& variant) {
  PreparedVariant& prepared = allocate(variant);
  if (prepared.launches.empty()) prepare_launches(variant, prepared, 1);
  return prepared;
}

LaunchContext ProblemLaunches::context(const PreparedVariant& prepared) const {
  return {device_, prepared.workspace.get(), peers_ ? peers_->launch_report() : nullptr};
}

void ProblemLaunches::prepare_launches(const Variant& variant, PreparedVariant& prepared,
                                       std::size_t copies) {
  for (std::size_t i = prepared.launches.size(); i < copies; ++i) {
    prepared.launches.emplace_back(
        variant.launch(problem_.get(), copies_[i].data(), context(prepared)), stream_,
        variant.submission);
    persists_ = persists_ || prepared.launches.back().has_window();
  }
}

std::size_t ProblemLaunches::copies_of(const Variant& variant, Mode mode) {
  return mode == Mode::graph ? prepare(variant).graph_copies : 1;
}

void ProblemLaunches::reset(const Variant& variant, Mode mode) {
  for (std::size_t i = 0; i < copies_of(variant, mode); ++i)
    copies_[i].reset(launch_to_reset(variant, i), stream_);
}

// The launch whose managed memory a reset transfers; null if a reset transfers none, and for
// variants that time first launches, which are prepared during the timing.
const PreparedSteps* ProblemLaunches::launch_to_reset(const Variant& variant, std::size_t copy) {
  if (times_first_launches(variant.timing) || !copies_[copy].resets_managed_memory())
    return nullptr;
  return &prepare(variant).launches[copy];
}

void ProblemLaunches::enqueue(const Variant& variant, Mode mode) {
  const PreparedVariant& prepared = prepare(variant);
  switch (mode) {
    case Mode::graph: return prepared.graph->replay(stream_);
    case Mode::back_to_back_graph:
      for (int i = 0; i < prepared.back_to_back_replays; ++i)
        prepared.back_to_back->replay(stream_);
      return;
    case Mode::back_to_back:
      for (int i = 0; i < kBackToBackLaunches; ++i)
        prepared.launches.front().enqueue();
      return;
    case Mode::cold:
    case Mode::warm:
    case Mode::profile: return prepared.launches.front().enqueue();
  }
}

void ProblemLaunches::capture_back_to_back(const Variant& variant, int replays) {
  PreparedVariant& prepared = prepare(variant);
  prepared.back_to_back_replays = replays;
  prepared.back_to_back = std::make_unique<CapturedLaunches>(stream_, [&] {
    for (int i = 0; i < kBackToBackLaunches; ++i)
      prepared.launches.front().enqueue_each();
  });
}

void ProblemLaunches::capture(const Variant& variant, double launch_us) {
  PreparedVariant& prepared = prepare(variant);
  const double each_us = std::max(0.1, launch_us);
  const std::int64_t bytes = std::max<std::int64_t>(1, copies_.front().bytes());
  const std::int64_t max_launches = std::clamp<std::int64_t>(
      static_cast<std::int64_t>(kLongestReplayUs / each_us), 1, kMaxGraphLaunches);
  const std::int64_t copies =
      std::min({ceil_div(kFlushL2Sizes * device_.l2_bytes, bytes), kMaxGraphCopies, max_launches});
  const auto wanted = static_cast<std::int64_t>(std::ceil(kReplayUs / each_us));
  const std::int64_t rounds = family_.reset ? 1 : ceil_div(std::min(wanted, max_launches), copies);
  while (copies_.size() < static_cast<std::size_t>(copies))
    copies_.emplace_back(family_, problem_.get(), seed_, stream_, peers_);
  prepare_launches(variant, prepared, static_cast<std::size_t>(copies));
  prepared.graph_copies = static_cast<std::size_t>(copies);
  prepared.graph_launches = static_cast<int>(rounds * copies);
  prepared.graph = std::make_unique<CapturedLaunches>(stream_, [&] {
    for (int i = 0; i < prepared.graph_launches; ++i)
      prepared.launches[static_cast<std::size_t>(i) % prepared.graph_copies].enqueue_each();
  });
}

}  // namespace gpuexp
