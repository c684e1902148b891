// Evaluation of a check for many elements, on the host.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "family/family.hpp"
#include "own/check_expression.hpp"
#include "own/shared_sums.hpp"

namespace gpuexp::own {

/// Several threads may evaluate elements at the same time. Each uses kept values of shared sums of
/// its own, which are the values of earlier calls, too: the check's inputs must not change.
class HostEvaluation {
 public:
  explicit HostEvaluation(const CompiledCheck& check);

  /// Stores values and magnitudes of the elements from `first` to before `end`.
  void evaluate(const ReferenceView& to, std::int64_t first, std::int64_t end);

 private:
  std::unique_ptr<SumValues> take_values();

  CheckProgram program_;
  std::vector<SharedSum> sums_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SumValues>> idle_;  ///< not used by a thread at present
};

}  // namespace gpuexp::own
