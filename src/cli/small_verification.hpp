// Verification of kernel files at sizes that the CPU executes in a fraction of a second.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/app.hpp"
#include "plan/plan.hpp"
#include "run/row.hpp"

namespace gpuexp {
class Executor;
}

namespace gpuexp::cli {

/// The cells of a plan, each verified once at a small problem (run/small_problem.hpp).
class SmallVerification {
 public:
  /// The arguments must outlive this object.
  SmallVerification(const Context& context, const Plan& plan);

  /// Verifies all cells on the CPU. `executor` is of simulated_executor().
  void run(Executor& executor);

  /// The verified row of a cell; null if the cell was skipped. Valid as long as this object.
  const Row* row_of(const Group& group, const Cell& cell) const;
  /// "n=512", the sizes at which the group was verified; "" if they are its own.
  std::string other_sizes(const Group& group) const;

 private:
  Config small_config();

  const Context& context_;
  const Plan& plan_;
  std::map<const Group*, Values> small_;
  Config config_;
  std::unique_ptr<Plan> verified_;  ///< the rows refer to it
  std::vector<Row> rows_;
};

}  // namespace gpuexp::cli
