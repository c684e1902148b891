#include "own/host_evaluation.hpp"

#include <utility>

#include "own/check_evaluation.hpp"

namespace gpuexp::own {

HostEvaluation::HostEvaluation(const CompiledCheck& check)
    : program_(check.program), sums_(check.shared_sums) {}

void HostEvaluation::evaluate(const ReferenceView& to, std::int64_t first, std::int64_t end) {
  std::unique_ptr<SumValues> values = take_values();
  for (std::int64_t i = first; i < end; ++i) {
    CheckFault fault;
    const Checked checked = evaluate_with(program_, i, check_detail::StoredElements{}, fault,
                                          check_detail::OneThread{}, *values);
    to.value[i] = checked.value;
    to.magnitude[i] = checked.magnitude;
  }
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(values));
}

std::unique_ptr<SumValues> HostEvaluation::take_values() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<SumValues> values = std::move(idle_.back());
      idle_.pop_back();
      return values;
    }
  }
  return std::make_unique<SumValues>(sums_);
}

}  // namespace gpuexp::own
