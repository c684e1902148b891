// Compares the outputs of launches with fp64 references, element by element, on the device.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "gpu/device_ops.hpp"
#include "gpu/problem_copy.hpp"
#include "run/executor.hpp"

namespace gpuexp {

/// The references of one problem. References of earlier variants' outputs are kept while at least
/// half of the device's memory is free. If variants store different outputs, references may need
/// several times the memory of the family's buffers.
class Verifier {
 public:
  /// If the references of all output elements need more than `max_operations`, only elements drawn
  /// by the seed are compared: about as many as `max_operations` permits, or about 4096 per output
  /// if that is more.
  Verifier(const Family& family, const void* problem, std::uint64_t seed, double max_operations);

  /// Computes the references of the variant's outputs from the copy's inputs. Skips references that
  /// exist and references that are computed from the results. A variant always draws the same
  /// elements.
  void prepare(const Variant& variant, const ProblemCopy& copy, const CudaStream& stream);

  /// Adds the verification of the variant's last launch, which enqueued `steps` on the copy, to
  /// `result`.
  void check(const Variant& variant, const PreparedSteps& steps, ProblemCopy& copy,
             const CudaStream& stream, Verification& result);

 private:
  struct Reference {
    Reference(std::int64_t count, const ElementDraw& draw);
    ReferenceView view() const { return {value.as<double>(), magnitude.as<double>(), draw}; }
    DeviceMemory value;
    DeviceMemory magnitude;
    ElementDraw draw;
  };
  /// By index of the output; only for requested outputs.
  using References = std::map<std::size_t, Reference>;
  using Draws = std::map<std::size_t, ElementDraw>;

  struct Passed {
    Draws draws;                              ///< drawn elements of the launch's outputs
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
  /// Views of these outputs; null for others.
  std::vector<ReferenceView> views(const References& references,
                                   const std::vector<std::size_t>& outputs) const;
  Comparison comparison_of(std::size_t output, const ProblemCopy& copy) const;
  ComparisonSums compare(const Comparison& comparison, const CudaStream& stream);

  const Family& family_;
  const void* problem_;
  std::uint64_t seed_;
  double max_operations_;
  Draws referenced_;  ///< elements requested when each reference below was computed
  References references_;
  References accuracy_references_;  ///< for unrounded inputs; empty if the family has none
  std::vector<Passed> passed_;      ///< for families whose references refer to results
  DeviceMemory comparison_space_;
};

}  // namespace gpuexp
