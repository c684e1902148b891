// Compares what launches wrote with fp64 references, element by element, on the device.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "gpu/device_ops.hpp"
#include "gpu/problem_copy.hpp"
#include "run/executor.hpp"

namespace gpuexp {

/// The references of one problem. Those of outputs that earlier variants wrote are kept while at
/// least half of the device's memory is free: the references of a family whose variants differ in
/// what they store may take several times the memory of its buffers.
class Verifier {
 public:
  /// A reference does `most_operations` at most. Of outputs that need more, as many elements are
  /// compared as that allows, drawn by the seed.
  Verifier(const Family& family, const void* problem, std::uint64_t seed, double most_operations);

  /// Computes the references of what the variant writes from the copy's inputs, unless they are
  /// there or refer to results. Equal variants draw equal elements, whenever they are asked for.
  void prepare(const Variant& variant, const ProblemCopy& copy, const CudaStream& stream);

  /// Adds to `result` the comparison of the variant's last launch, of these steps, on the copy.
  void check(const Variant& variant, const PreparedSteps& steps, ProblemCopy& copy,
             const CudaStream& stream, Verification& result);

 private:
  /// The fp64 reference of one output.
  struct Reference {
    Reference(std::int64_t count, const ElementDraw& draw);
    ReferenceView view() const { return {value.as<double>(), magnitude.as<double>(), draw}; }
    DeviceMemory value;
    DeviceMemory magnitude;
    ElementDraw draw;
  };
  /// By the index of their output; an output that is not asked for has none.
  using References = std::map<std::size_t, Reference>;
  using Draws = std::map<std::size_t, ElementDraw>;

  /// Output fingerprints of a launch that passed, and what was found of it.
  struct Passed {
    Draws draws;                              ///< of the outputs that it wrote
    std::vector<unsigned long long> outputs;  ///< ProblemCopy::output_fingerprints
    Verification verification;
  };

  std::optional<Passed> check_by_results(const Variant& variant, ProblemCopy& copy,
                                         const CudaStream& stream, Verification& result);
  void compare_outputs(const Variant& variant, ProblemCopy& copy, const CudaStream& stream,
                       Verification& result);
  Draws draws_of(const Variant& variant) const;
  void forget();
  bool has_room_for(const Draws& draws) const;
  void make(const Draws& draws, const ProblemCopy& copy, const CudaStream& stream);
  template <class Function>
  References evaluate(const Draws& draws, const Function& reference, const ProblemCopy& copy,
                      const CudaStream& stream) const;
  std::vector<ReferenceView> views(const References& references) const;
  Comparison comparison_of(std::size_t output, const ProblemCopy& copy) const;
  ComparisonSums compare(const Comparison& comparison, const CudaStream& stream);

  const Family& family_;
  const void* problem_;
  std::uint64_t seed_;
  double most_operations_;
  Draws referenced_;  ///< what was asked for when each of the references below was made
  References references_;
  References accuracy_references_;  ///< of unrounded inputs; empty where the family has none
  std::vector<Passed> passed_;      ///< where references refer to results
  DeviceMemory comparison_space_;
};

}  // namespace gpuexp
