// A unit that serves one request after another.
#pragma once

namespace gpuexp {

class Server {
 public:
  /// Returns the end of a request that arrives at `when` and occupies the server for `clocks`
  /// cycles.
  double serve(double when, double clocks) {
    free_at_ = (when > free_at_ ? when : free_at_) + clocks;
    busy_ += clocks;
    return free_at_;
  }
  double free_at() const { return free_at_; }
  double busy() const { return busy_; }

 private:
  double free_at_ = 0;
  double busy_ = 0;
};

}  // namespace gpuexp
