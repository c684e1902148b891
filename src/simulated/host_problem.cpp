#include "simulated/host_problem.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <string_view>

#include "run/output_comparison.hpp"

namespace gpuexp {

namespace {

// All bits set is NaN in every floating-point format, so an element that nobody wrote cannot pass.
constexpr int kPoison = 0xff;

std::vector<double> elements(const void* array, DataType type, std::int64_t first,
                             std::int64_t count) {
  const std::size_t size = size_of(type);
  const auto* at =
      static_cast<const unsigned char*>(array) + static_cast<std::size_t>(first) * size;
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i, at += size)
    values.push_back(to_double(at, type));
  return values;
}

ComparisonSums sums_of(const Comparison& c) {
  const auto* at = static_cast<const unsigned char*>(c.got);
  ComparisonSums sums;
  for (std::int64_t i = 0; i < c.count; ++i, at += size_of(c.type))
    sums = combined(sums, compared(to_double(at, c.type), c, i));
  return sums;
}

}  // namespace

// Aligned as the driver's pages are: banks of L1's tags are chosen by a line's whole number, so
// that counts would depend on where the host has put a buffer.
HostProblem::Memory::Memory(std::size_t bytes) : begin_(nullptr, std::free), bytes_(bytes) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  begin_.reset(std::aligned_alloc(kPage, (bytes / kPage + 1) * kPage));
  if (!begin_) throw std::bad_alloc();
}

HostProblem::HostProblem(const Family& family, const Values& values, std::uint64_t seed,
                         const DeviceSpec& device, sim::Simulator& simulator)
    : family_(family),
      seed_(seed),
      device_(device),
      simulator_(simulator),
      problem_(family.make_problem(values)) {
  simulator_.memory().clear();
  std::vector<void*> pointers;
  for (const Buffer& buffer : family.buffers) {
    const auto count = static_cast<std::size_t>(buffer.count(problem_.get()));
    const Memory& memory = buffers_.emplace_back(count * size_of(buffer.type(problem_.get())));
    simulator_.memory().add(memory.data(), memory.bytes(), buffer.name, sim::Contents::poison);
    pointers.push_back(memory.data());
  }
  data_ = family.make_data(pointers);
  make_inputs();
  fingerprints_ = fingerprints();
}

void HostProblem::poison(const Variant& variant) {
  if (family_.reset) simulator_.run(family_.reset(problem_.get(), data_.get()));
  if (references_.empty()) make_references();  // which read what launches find
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!is_written(i, variant)) continue;
    std::memset(buffers_[i].data(), kPoison, buffers_[i].bytes());
    simulator_.memory().poison(buffers_[i].data(), buffers_[i].bytes());
  }
}

std::vector<sim::KernelExecution> HostProblem::launch(const Variant& variant) {
  if (family_.reset) simulator_.run(family_.reset(problem_.get(), data_.get()));
  return simulator_.run(variant.launch(problem_.get(), data_.get(), context(variant)));
}

Verification HostProblem::check(const Variant& variant) {
  Verification result;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!is_written(i, variant)) continue;
    const Buffer& buffer = family_.buffers[i];
    const Reference& reference = references_[i];
    Comparison c{};
    c.got = buffers_[i].data();
    c.type = buffer.type(problem_.get());
    c.count = buffer.count(problem_.get());
    c.value = reference.value.data();
    c.magnitude = reference.magnitude.data();
    c.accurate = reference.accurate.empty() ? c.value : reference.accurate.data();
    c.tolerance =
        buffer.tolerance ? buffer.tolerance(problem_.get()) : family_.tolerance(problem_.get());
    if (c.count > 0) add_output(buffer.name, c, sums_of(c), elements, result);
  }
  const std::vector<std::size_t> now = fingerprints();
  const auto [was, is] = std::mismatch(fingerprints_.begin(), fingerprints_.end(), now.begin());
  if (was != fingerprints_.end()) {
    result.changed_input =
        family_.buffers[static_cast<std::size_t>(was - fingerprints_.begin())].name;
    make_inputs();
  }
  return result;
}

MetricValues HostProblem::measured_metrics(const Variant& variant) {
  if (!variant.measured_metrics) return {};
  const Measurement measurement =
      variant.measured_metrics(problem_.get(), data_.get(), context(variant));
  simulator_.run(measurement.steps);
  return measurement.values(measurement.from);
}

void HostProblem::make_inputs() {
  simulator_.run(family_.inputs(problem_.get(), data_.get(), seed_));
}

// By the host's loops: what executes the kernels has no part in what they are held to. The exact
// result of unrounded inputs is there on devices alone; nothing is held to it.
void HostProblem::make_references() {
  std::vector<Reference> references(buffers_.size());
  std::vector<ReferenceView> values;
  std::vector<ReferenceView> accurate;
  std::vector<double> no_magnitudes;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (!is_output(family_.buffers[i].role)) continue;
    const auto count = static_cast<std::size_t>(family_.buffers[i].count(problem_.get()));
    Reference& r = references[i];
    r.value.assign(count, std::nan(""));
    r.magnitude.assign(count, std::nan(""));
    values.push_back({r.value.data(), r.magnitude.data()});
    if (!family_.accuracy_reference) continue;
    r.accurate.assign(count, std::nan(""));
    no_magnitudes.resize(std::max(no_magnitudes.size(), count));
    simulator_.memory().add(r.accurate.data(), count * sizeof(double));
    accurate.push_back({r.accurate.data(), nullptr});
  }
  family_.host_reference(problem_.get(), data_.get(), values);
  if (family_.accuracy_reference) {
    simulator_.memory().add(no_magnitudes.data(), no_magnitudes.size() * sizeof(double));
    for (ReferenceView& view : accurate)
      view.magnitude = no_magnitudes.data();
    simulator_.run(family_.accuracy_reference(problem_.get(), data_.get(), accurate));
    simulator_.memory().remove(no_magnitudes.data());
  }
  references_ = std::move(references);
}

std::vector<std::size_t> HostProblem::fingerprints() const {
  std::vector<std::size_t> of_buffers(buffers_.size(), 0);
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (family_.buffers[i].role == BufferRole::input)
      of_buffers[i] = std::hash<std::string_view>{}(
          {static_cast<const char*>(buffers_[i].data()), buffers_[i].bytes()});
  }
  return of_buffers;
}

LaunchContext HostProblem::context(const Variant& variant) {
  if (!variant.workspace_bytes) return {device_, nullptr};
  const auto found = std::find_if(workspaces_.begin(), workspaces_.end(),
                                  [&](const auto& entry) { return entry.first == &variant; });
  if (found != workspaces_.end()) return {device_, found->second.data()};
  const auto bytes = static_cast<std::size_t>(variant.workspace_bytes(problem_.get(), device_));
  const Memory& memory = workspaces_.emplace_back(&variant, Memory(bytes)).second;
  simulator_.memory().add(memory.data(), memory.bytes(), "workspace", sim::Contents::poison);
  return {device_, memory.data()};
}

bool HostProblem::is_written(std::size_t buffer, const Variant& variant) const {
  const Buffer& b = family_.buffers[buffer];
  return is_output(b.role) && variant.fills(b.name);
}

}  // namespace gpuexp
