// References of one problem's outputs. Host loops compute them, except for accuracy references and
// references of kernel files that are kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "family/family.hpp"
#include "run/output_comparison.hpp"
#include "sim/host_memory.hpp"
#include "sim/simulator.hpp"

namespace gpuexp {

/// Elements [first, end) of an output.
struct ElementRange {
  std::int64_t first;
  std::int64_t end;
};

/// Computes references from the contents that the buffers have when make() is called.
class HostReferences {
 public:
  /// All arguments must outlive this object. The simulator's host threads compute the references.
  HostReferences(const Family& family, const void* problem, const void* data,
                 sim::Simulator& simulator);

  void forget();

  /// Computes missing references of all elements of these outputs.
  void make(const std::vector<std::size_t>& outputs);
  /// Computes references of ranges of one output. Returns false if the reference cannot be computed
  /// element by element.
  bool make(std::size_t output, const std::vector<ElementRange>& ranges);

  /// Comparison of an output, in which the caller must set `got` and `tolerance`.
  Comparison comparison(std::size_t output) const;

 private:
  struct Reference {
    HostMemory value;
    HostMemory magnitude;
    std::optional<HostMemory> accurate;  ///< for unrounded inputs; empty: same as `value`
    bool is_whole = false;
  };

  Reference& reference(std::size_t output);
  /// One view per output of the family; empty for outputs that are not in `outputs`.
  std::vector<ReferenceView> views(const std::vector<std::size_t>& outputs, bool is_accurate);
  void run(const Steps& steps);
  void run_on_registered_memory(const std::vector<std::size_t>& outputs);
  bool run_ranges(const Steps& steps, const double* values,
                  const std::vector<ElementRange>& ranges);

  const Family& family_;
  const void* problem_;
  const void* data_;
  sim::Simulator& simulator_;
  std::vector<std::optional<Reference>> references_;
  /// Receives the magnitudes of the accurate references, which are not used.
  std::optional<HostMemory> scratch_;
};

}  // namespace gpuexp
