// What the outputs of one problem should be, by loops of the host: what executes the kernels has no
// part in what they are held to.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "family/family.hpp"
#include "run/output_comparison.hpp"
#include "sim/simulator.hpp"
#include "simulated/host_memory.hpp"

namespace gpuexp {

/// Elements [first, end) of an output.
struct ElementRange {
  std::int64_t first;
  std::int64_t end;
};

/// References are made from what the buffers hold: before a launch changes it.
class HostReferences {
 public:
  /// All of it outlives the references. The simulator's threads make them.
  HostReferences(const Family& family, const void* problem, const void* data,
                 sim::Simulator& simulator);

  /// What was made is made anew when it is asked for again.
  void forget();

  /// Makes those of all elements of these outputs, where they are not there.
  void make(const std::vector<std::size_t>& outputs);
  /// Makes those of some elements of an output. False where that takes all of them: some are made
  /// from others.
  bool make(std::size_t output, const std::vector<ElementRange>& ranges);

  /// What an output is compared with; `got` and `tolerance` are for the caller to set.
  Comparison comparison(std::size_t output) const;

 private:
  struct Reference {
    HostMemory value;
    HostMemory magnitude;
    std::optional<HostMemory> accurate;  ///< of inputs that were never rounded; none: it is `value`
    bool is_whole = false;
  };

  Reference& reference(std::size_t output);
  /// One per output of the family; empty of those that are not asked for.
  std::vector<ReferenceView> views(const std::vector<std::size_t>& outputs, bool is_accurate);
  void run_registered(const std::vector<std::size_t>& outputs);
  bool run_ranges(const Steps& steps, const double* values,
                  const std::vector<ElementRange>& ranges);

  const Family& family_;
  const void* problem_;
  const void* data_;
  sim::Simulator& simulator_;
  std::vector<std::optional<Reference>> references_;  ///< by buffer
  std::optional<HostMemory> scratch_;                 ///< for the magnitudes of accurate references
};

}  // namespace gpuexp
