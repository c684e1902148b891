// Faults of threads that wait forever.
#include <bit>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "sim/block.hpp"

namespace gpuexp::sim {

namespace {

template <class Groups>
void add_waiters(std::map<std::string, unsigned>& waiters, const Program& program,
                 const Groups& groups) {
  for (const auto& group : groups)
    waiters[source_line(program, group.next - 1)] +=
        static_cast<unsigned>(std::popcount(group.lanes));
}

std::string describe(const std::map<std::string, unsigned>& waiters) {
  std::string text;
  for (const auto& [line, threads] : waiters)
    text += fmt::format("{}{}{}{}", text.empty() ? "" : ", ", threads, line.empty() ? "" : " at ",
                        line);
  return text.empty() ? "0" : text;
}

/// "lane 3", "lanes 0 to 15, 17".
std::string lanes_text(LaneMask lanes) {
  std::string text = std::popcount(lanes) == 1 ? "lane " : "lanes ";
  for (LaneMask rest = lanes; rest != 0;) {
    const unsigned first = first_lane(rest);
    const auto count = static_cast<unsigned>(std::countr_one(rest >> first));
    if (rest != lanes) text += ", ";
    text += fmt::format("{}", first);
    if (count > 1) text += fmt::format(" to {}", first + count - 1);
    rest = first + count < kLanes ? rest & ~LaneMask{0} << (first + count) : 0;
  }
  return text;
}

/// Names the lanes that wait for lanes of a mask, of the first warp that has such lanes.
std::string describe_masks(const Program& program,
                           const std::vector<std::unique_ptr<Warp>>& warps) {
  std::string text;
  unsigned others = 0;
  for (const auto& warp : warps) {
    std::string of_warp;
    for (const WaitingLanes& waiting : warp->divergence.warp_waiters()) {
      if (!waiting.has_mask || waiting.missing == 0) continue;
      const bool is_one = std::popcount(waiting.lanes) == 1;
      of_warp += fmt::format(
          "; {} of warp {} {}{} for {} of the mask, which never {}", lanes_text(waiting.lanes),
          warp->index, is_one ? "waits" : "wait", source_line(program, waiting.next - 1, " at "),
          lanes_text(waiting.missing), std::popcount(waiting.missing) == 1 ? "arrives" : "arrive");
    }
    if (of_warp.empty()) continue;
    if (text.empty()) {
      text = of_warp;
    } else {
      ++others;
    }
  }
  return others == 0 ? text
                     : text + fmt::format("; so do lanes of {}", counted(others, "other warp"));
}

}  // namespace

std::string Block::describe_barriers() const {
  std::string text;
  for (unsigned i = 0; i < barriers_.size(); ++i) {
    const Barrier& b = barriers_[i];
    if (b.arrived == 0) continue;
    std::int64_t left = 0;
    for (const auto& warp : warps_)
      left += std::popcount(~warp->divergence.exited());
    text +=
        fmt::format("barrier {} is never reached by all of its threads: {} of {} have arrived; ", i,
                    b.threads > 0 ? b.arrived : b.votes.all, b.threads > 0 ? b.threads : left);
  }
  return text;
}

void Block::report_barrier() const {
  std::map<std::string, unsigned> at_barrier;
  std::map<std::string, unsigned> at_others;
  std::int64_t left = 0;
  for (const auto& warp : warps_) {
    const Divergence& divergence = warp->divergence;
    for (unsigned barrier = 0; barrier < barriers_.size(); ++barrier)
      add_waiters(at_barrier, *launch.program, divergence.block_waiters(barrier));
    add_waiters(at_others, *launch.program, divergence.warp_waiters());
    left += std::popcount(~divergence.exited());
  }
  std::string words = describe_barriers();
  if (!at_barrier.empty())
    words += fmt::format("threads waiting there: {}; ", describe(at_barrier));
  words += fmt::format("threads waiting for other lanes of their warps: {}{}; exited threads: {}",
                       describe(at_others), describe_masks(*launch.program, warps_),
                       launch.block.count() - left);
  Fault fault(FaultKind::barrier, words);
  const auto& named = at_barrier.empty() ? at_others : at_barrier;
  fault.set_place(place, std::nullopt, named.empty() ? std::string{} : named.begin()->first);
  throw fault;
}

}  // namespace gpuexp::sim
