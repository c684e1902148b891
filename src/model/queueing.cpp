#include "model/queueing.hpp"

#include <algorithm>
#include <cmath>

namespace gpuexp {

namespace {

// Customers beyond so many change the time per customer by less than 1/kMost of it.
constexpr int kMost = 4096;

/// Of one more customer at a time, from the first on.
class MeanValueAnalysis {
 public:
  MeanValueAnalysis(const std::vector<double>& demands, double delay)
      : demands_(demands), queues_(demands.size(), 0.0), delay_(delay) {}

  void add_customer() {
    ++customers_;
    double round = delay_;
    for (std::size_t i = 0; i < demands_.size(); ++i)
      round += demands_[i] * (1 + queues_[i]);
    time_ = round / customers_;
    for (std::size_t i = 0; i < demands_.size(); ++i)
      queues_[i] = demands_[i] * (1 + queues_[i]) / time_;
  }

  double time() const { return time_; }

 private:
  const std::vector<double>& demands_;
  std::vector<double> queues_;  // customers found at each station by one who arrives
  double delay_;
  int customers_ = 0;
  double time_ = 0;
};

}  // namespace

double time_per_customer(double customers, const std::vector<double>& demands, double delay) {
  const double bounded = std::clamp(customers, 1.0, static_cast<double>(kMost));
  const int whole = static_cast<int>(bounded);
  MeanValueAnalysis network(demands, delay);
  for (int i = 0; i < whole; ++i)
    network.add_customer();
  const double below = network.time();
  if (bounded == whole) return below;
  network.add_customer();
  return std::lerp(below, network.time(), bounded - whole);
}

}  // namespace gpuexp
