// Consecutive training steps with a family's own launches, on any executor, and checks of their
// losses.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/small_problems.hpp"

namespace gpuexp::test {

/// Memory of a device, or host memory instead.
struct TrainingMemory {
  std::function<void*(std::int64_t bytes)> allocate;
  std::function<void(const Steps&)> run;
  std::function<void(void* to, const void* from, std::int64_t bytes)> read;
};

class TrainingRun {
 public:
  TrainingRun(const Family& family, const std::map<std::string, Value>& changed,
              const char* variant, const DeviceSpec& device, TrainingMemory memory)
      : family_(family),
        variant_(*family.find(variant)),
        device_(device),
        memory_(std::move(memory)),
        problem_(family.make_problem(values_with(family, changed))) {
    REQUIRE_FALSE((family.unsupported && family.unsupported(problem_.get(), device)));
    REQUIRE_FALSE((variant_.unsupported && variant_.unsupported(problem_.get(), device)));
    std::vector<void*> pointers;
    for (const Buffer& b : family.buffers) {
      bytes_.push_back(b.count(problem_.get()) *
                       static_cast<std::int64_t>(size_of(b.type(problem_.get()))));
      pointers.push_back(memory_.allocate(std::max<std::int64_t>(bytes_.back(), 1)));
    }
    buffers_ = pointers;
    data_ = family.make_data(pointers);
    workspace_ = memory_.allocate(variant_.workspace_bytes(problem_.get(), device));
  }

  /// Initial weights, and zero moments.
  void begin(std::uint64_t seed) {
    memory_.run(family_.inputs(problem_.get(), data_.get(), seed));
    memory_.run(family_.reset(problem_.get(), data_.get()));
  }

  /// The loss of a batch before its step.
  double step(std::uint64_t batch) {
    memory_.run(family_.inputs(problem_.get(), data_.get(), batch));
    memory_.run(variant_.launch(problem_.get(), data_.get(), {device_, workspace_}));
    return contents<float>("loss").front();
  }

  /// Losses of a whole run. Batches differ between seeds.
  std::vector<double> losses(std::uint64_t seed, int steps) {
    constexpr std::uint64_t kFurther = 1'000'003;
    begin(seed);
    std::vector<double> all;
    for (int i = 0; i < steps; ++i)
      all.push_back(step(seed * kFurther + static_cast<std::uint64_t>(i) + 1));
    return all;
  }

  template <class T>
  std::vector<T> contents(const std::string& buffer) const {
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if (family_.buffers[i].name != buffer) continue;
      std::vector<T> copied(static_cast<std::size_t>(bytes_[i]) / sizeof(T));
      memory_.read(copied.data(), buffers_[i], bytes_[i]);
      return copied;
    }
    FAIL("no buffer " << buffer);
    return {};
  }

 private:
  const Family& family_;
  const Variant& variant_;
  const DeviceSpec& device_;
  TrainingMemory memory_;
  std::shared_ptr<const void> problem_;
  std::vector<std::int64_t> bytes_;
  std::vector<void*> buffers_;
  std::shared_ptr<const void> data_;
  void* workspace_ = nullptr;
};

using Losses = std::vector<double>;

/// Means over windows of `window` steps: a loss differs more between batches than from one step to
/// the next.
inline Losses smoothed(const Losses& losses, std::size_t window) {
  Losses means;
  for (std::size_t first = 0; first + window <= losses.size(); first += window) {
    double sum = 0;
    for (std::size_t i = first; i < first + window; ++i)
      sum += losses[i];
    means.push_back(sum / static_cast<double>(window));
  }
  return means;
}

/// Range, mean and deviation of the losses of several runs, per window.
struct Spread {
  Losses least, mean, most, deviation;

  explicit Spread(const std::vector<Losses>& runs) {
    for (std::size_t w = 0; w < runs.front().size(); ++w) {
      double low = HUGE_VAL, high = 0, sum = 0, squares = 0;
      for (const Losses& run : runs) {
        low = std::min(low, run[w]);
        high = std::max(high, run[w]);
        sum += run[w];
      }
      const double n = static_cast<double>(runs.size());
      for (const Losses& run : runs)
        squares += (run[w] - sum / n) * (run[w] - sum / n);
      least.push_back(low);
      mean.push_back(sum / n);
      most.push_back(high);
      deviation.push_back(std::sqrt(squares / (n - 1)));
    }
  }
};

/// Checks that runs in other arithmetic learn like the fp32 runs. In each window, the mean of
/// `runs` must lie within the fp32 range. Each run must lie within the 99.9 % prediction interval
/// of one more run after ten fp32 runs: Student's t with 9 degrees of freedom, times √(1 + 1/10).
inline void check_within(const Spread& fp32, const std::vector<Losses>& runs) {
  constexpr double kStudent = 4.781 * 1.0488;
  const Spread own(runs);
  for (std::size_t w = 0; w < own.mean.size(); ++w) {
    INFO("window " << w << ": fp32 " << fp32.least[w] << " to " << fp32.most[w] << ", here "
                   << own.least[w] << " to " << own.most[w]);
    CHECK(own.mean[w] >= fp32.least[w]);
    CHECK(own.mean[w] <= fp32.most[w]);
    CHECK(own.least[w] >= fp32.mean[w] - kStudent * fp32.deviation[w]);
    CHECK(own.most[w] <= fp32.mean[w] + kStudent * fp32.deviation[w]);
  }
}

/// Checks that a step with overflowing gradients changes only the state, and that the step without
/// overflow updates the weights.
inline void check_overflow(const std::function<TrainingRun(bool planted)>& make) {
  TrainingRun run = make(true);
  run.begin(1);
  const auto of = [&](const char* buffer) { return run.contents<unsigned char>(buffer); };
  const char* const kept[] = {"weights", "m", "v", "copy"};
  std::map<std::string, std::vector<unsigned char>> before;
  for (const char* buffer : kept)
    before[buffer] = of(buffer);
  const auto state_before = run.contents<std::int32_t>("state");
  CHECK(std::isfinite(run.step(2)));
  for (const char* buffer : kept) {
    INFO(buffer);
    CHECK((of(buffer) == before[buffer]));
  }
  const auto state = run.contents<std::int32_t>("state");  // scale, good steps, steps, overflow
  CHECK(state[0] == state_before[0] - 1);
  CHECK(state[1] == 0);
  CHECK(state[2] == state_before[2]);
  CHECK(state[3] == 1);
  TrainingRun good = make(false);
  good.begin(1);
  good.step(2);
  const auto next = good.contents<std::int32_t>("state");
  CHECK(next[0] == state_before[0]);
  CHECK(next[2] == state_before[2] + 1);
  CHECK(next[3] == 0);
  CHECK((good.contents<unsigned char>("weights") != before["weights"]));
}

}  // namespace gpuexp::test
