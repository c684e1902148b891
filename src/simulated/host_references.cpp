#include "simulated/host_references.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "run/compared_elements.hpp"

namespace gpuexp {

namespace {

bool has_only_host_loops(const Steps& steps) {
  return std::all_of(steps.all().begin(), steps.all().end(), [](const Step& step) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    return kernel && kernel->on_host.run;
  });
}

}  // namespace

HostReferences::HostReferences(const Family& family, const void* problem, const void* data,
                               sim::Simulator& simulator)
    : family_(family),
      problem_(problem),
      data_(data),
      simulator_(simulator),
      references_(family.buffers.size()) {}

void HostReferences::forget() {
  for (std::optional<Reference>& r : references_) {
    if (r) r->is_whole = false;
  }
}

void HostReferences::make(const std::vector<std::size_t>& outputs) {
  if (std::all_of(outputs.begin(), outputs.end(),
                  [&](std::size_t output) { return reference(output).is_whole; }))
    return;
  const std::vector<ReferenceView> exact = views(outputs, false);
  const Steps steps = family_.reference(problem_, data_, exact);
  const bool can_loop = simulator_.uses_host_loops && has_only_host_loops(steps);
  if (can_loop || !family_.host_reference) {
    run(steps);
  } else {
    family_.host_reference(problem_, data_, exact);
  }
  if (family_.accuracy_reference) run_on_registered_memory(outputs);
  for (const std::size_t output : outputs)
    reference(output).is_whole = true;
}

// A fault of a variant must not be confused with a fault of the reference.
void HostReferences::run(const Steps& steps) {
  try {
    simulator_.run(steps);
  } catch (const sim::Fault& fault) {
    throw std::runtime_error(fmt::format("the reference: {}", fault.what()));
  }
}

// Some accuracy references are kernels, which may write only to registered memory.
void HostReferences::run_on_registered_memory(const std::vector<std::size_t>& outputs) {
  const Steps accurate = family_.accuracy_reference(problem_, data_, views(outputs, true));
  const auto for_arrays = [&](const auto& function) {
    for (const std::size_t output : outputs)
      function(*reference(output).accurate);
    function(*scratch_);
  };
  for_arrays([&](const HostMemory& m) { simulator_.memory().add(m.data(), m.bytes()); });
  simulator_.run(accurate);
  for_arrays([&](const HostMemory& m) { simulator_.memory().remove(m.data()); });
}

bool HostReferences::make(std::size_t output, const std::vector<ElementRange>& ranges) {
  Reference& r = reference(output);
  if (r.is_whole) return true;
  if (!run_ranges(family_.reference(problem_, data_, views({output}, false)),
                  r.value.data<double>(), ranges))
    return false;
  return !family_.accuracy_reference ||
         run_ranges(family_.accuracy_reference(problem_, data_, views({output}, true)),
                    r.accurate->data<double>(), ranges);
}

// `values` is the address of element 0 of the output.
bool HostReferences::run_ranges(const Steps& steps, const double* values,
                                const std::vector<ElementRange>& ranges) {
  if (!is_elementwise(steps, {values})) return false;
  const HostLoop& loop = std::get<KernelStep>(steps.all().front().action).on_host;
  for_parts(simulator_.threads, static_cast<std::int64_t>(ranges.size()), 1,
            [&](std::int64_t i, std::int64_t) {
              if (simulator_.stop()) throw sim::Stopped("the run was ended");
              const ElementRange& range = ranges[static_cast<std::size_t>(i)];
              loop.run(range.first, range.end);
            });
  return true;
}

Comparison HostReferences::comparison(std::size_t output) const {
  const Reference& r = *references_[output];
  Comparison c{};
  c.type = family_.buffers[output].type(problem_);
  c.count = family_.buffers[output].count(problem_);
  c.value = r.value.data<double>();
  c.magnitude = r.magnitude.data<double>();
  c.accurate = r.accurate ? r.accurate->data<double>() : c.value;
  return c;
}

HostReferences::Reference& HostReferences::reference(std::size_t output) {
  std::optional<Reference>& r = references_[output];
  if (r) return *r;
  const auto bytes =
      static_cast<std::size_t>(family_.buffers[output].count(problem_)) * sizeof(double);
  r.emplace(Reference{HostMemory(bytes), HostMemory(bytes), std::nullopt});
  if (family_.accuracy_reference) {
    r->accurate.emplace(bytes);
    if (!scratch_ || scratch_->bytes() < bytes) scratch_.emplace(bytes);
  }
  return *r;
}

std::vector<ReferenceView> HostReferences::views(const std::vector<std::size_t>& outputs,
                                                 bool is_accurate) {
  std::vector<ReferenceView> views;
  for (const std::size_t output : outputs)
    reference(output);  // may enlarge the scratch memory
  for (std::size_t i = 0; i < family_.buffers.size(); ++i) {
    if (!is_output(family_.buffers[i].role)) continue;
    ReferenceView& view = views.emplace_back();
    if (std::count(outputs.begin(), outputs.end(), i) == 0) continue;
    const Reference& r = *references_[i];
    view = is_accurate ? ReferenceView{r.accurate->data<double>(), scratch_->data<double>()}
                       : ReferenceView{r.value.data<double>(), r.magnitude.data<double>()};
  }
  return views;
}

}  // namespace gpuexp
