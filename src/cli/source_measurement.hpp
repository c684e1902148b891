// Measured times of two kernel files in `gpuexp compare OLD.cu NEW.cu`.
#pragma once

#include <array>
#include <memory>

#include "cli/app.hpp"
#include "run/side_by_side.hpp"

namespace gpuexp::cli {

/// A variant on one problem.
struct MeasuredVariant {
  const Family& family;
  const Variant& variant;
  const Values& values;
};

/// The workers of two kernel files on one GPU. Versions of a file have the same name, which a
/// worker can have only once.
class SourceWorkers {
 public:
  /// Starts a worker for the files that each of the two has loaded, whose machine code for this GPU
  /// must have been compiled. Throws DeviceError.
  SourceWorkers(const std::array<const own::OwnFiles*, 2>& files, int device);
  ~SourceWorkers();

  /// Measures launches from cold caches. If a launch fails, SideBySide::why_not is the reason, and
  /// later measurements use new workers.
  SideBySide measure(const std::array<MeasuredVariant, 2>& variants);

 private:
  std::array<const own::OwnFiles*, 2> files_;
  std::array<std::unique_ptr<Executor>, 2> executors_;
};

}  // namespace gpuexp::cli
