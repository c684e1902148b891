#include "gpu/verifier.hpp"

#include <algorithm>

#include "gpu/launcher.hpp"

namespace gpuexp {

namespace {

// Elements of an array on the device that start at `begin`.
std::vector<double> copied(const void* d_array, DataType type, std::int64_t begin,
                           std::int64_t count) {
  const std::size_t size = size_of(type);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(count) * size);
  GPUEXP_CUDA(cudaMemcpy(
      bytes.data(),
      static_cast<const unsigned char*>(d_array) + static_cast<std::size_t>(begin) * size,
      bytes.size(), cudaMemcpyDeviceToHost));
  std::vector<double> values;
  for (std::size_t i = 0; i < bytes.size(); i += size)
    values.push_back(to_double(&bytes[i], type));
  return values;
}

}  // namespace

Verifier::Reference::Reference(std::int64_t count)
    : value(count * static_cast<std::int64_t>(sizeof(double))),
      magnitude(count * static_cast<std::int64_t>(sizeof(double))) {}

Verifier::Verifier(const Family& family, const void* problem)
    : family_(family), problem_(problem), comparison_space_(sizeof(ComparisonSpace)) {}

void Verifier::prepare(const Variant& variant, const ProblemCopy& copy, const CudaStream& stream) {
  const std::vector<std::size_t> outputs = written_by(family_, variant);
  if (outputs == referenced_) return;
  referenced_.clear();
  references_.clear();
  accuracy_references_.clear();
  references_ = evaluate(outputs, family_.reference, copy, stream);
  if (family_.accuracy_reference)
    accuracy_references_ = evaluate(outputs, family_.accuracy_reference, copy, stream);
  stream.synchronize();
  referenced_ = outputs;
}

void Verifier::check(const Variant& variant, ProblemCopy& copy, const CudaStream& stream,
                     Verification& result) {
  copy.pull(stream);
  for (const std::size_t output : written_by(family_, variant)) {
    const Comparison comparison = comparison_of(output, copy);
    if (comparison.count == 0) continue;
    const std::string& name = family_.buffers[output].name;
    add_output(
        name, comparison, comparison.count, compare(comparison, stream),
        [&](std::int64_t first) { return mismatches(name, comparison, first, copied); }, result);
  }
  if (const std::string buffer = copy.overrun(stream); !buffer.empty()) result.overrun = buffer;
  if (const std::string input = copy.changed_input(stream); !input.empty())
    result.changed_input = input;
}

template <class Function>
Verifier::References Verifier::evaluate(const std::vector<std::size_t>& outputs,
                                        const Function& reference, const ProblemCopy& copy,
                                        const CudaStream& stream) const {
  References references;
  std::vector<ReferenceView> views;
  for (std::size_t i = 0; i < family_.buffers.size(); ++i) {
    const Buffer& b = family_.buffers[i];
    if (!is_output(b.role)) continue;
    const bool asked = std::find(outputs.begin(), outputs.end(), i) != outputs.end();
    views.push_back(asked ? references.try_emplace(i, b.count(problem_)).first->second.view()
                          : ReferenceView{});
  }
  enqueue(reference(problem_, copy.image(), views), stream);
  return references;
}

Comparison Verifier::comparison_of(std::size_t output, const ProblemCopy& copy) const {
  const Buffer& buffer = family_.buffers[output];
  const Reference& reference = references_.at(output);
  const auto accurate = accuracy_references_.find(output);
  Comparison comparison{};
  comparison.got = copy.buffers()[output].image();
  comparison.type = buffer.type(problem_);
  comparison.count = buffer.count(problem_);
  comparison.value = reference.value.as<double>();
  comparison.magnitude = reference.magnitude.as<double>();
  comparison.accurate = accurate == accuracy_references_.end()
                            ? comparison.value
                            : accurate->second.value.as<double>();
  comparison.tolerance =
      buffer.tolerance ? buffer.tolerance(problem_) : family_.tolerance(problem_);
  return comparison;
}

ComparisonSums Verifier::compare(const Comparison& comparison, const CudaStream& stream) {
  ComparisonSums sums{};
  auto* const d_space = comparison_space_.as<ComparisonSpace>();
  queue_comparison(comparison, d_space, stream.get());
  GPUEXP_CUDA(
      cudaMemcpyAsync(&sums, &d_space->sums, sizeof sums, cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  return sums;
}

}  // namespace gpuexp
