#include "family/family_of.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "base/parallel.hpp"
#include "family/registry.hpp"

namespace gpuexp {

namespace {

void run_on_host(const Steps& steps) {
  constexpr std::int64_t kMaxItems = 1 << 16;
  for (const Step& step : steps.all()) {
    const auto* const kernel = std::get_if<KernelStep>(&step.action);
    if (const auto* const fill = std::get_if<MemsetStep>(&step.action)) {
      std::memset(fill->to, fill->value, static_cast<std::size_t>(fill->bytes));
    } else if (kernel && kernel->on_host.run) {
      const HostLoop& loop = kernel->on_host;
      for_parts(host_threads(), loop.items, kMaxItems,
                [&](std::int64_t first, std::int64_t end) { loop.run(first, end); });
    } else {
      throw std::logic_error(
          "a step of the reference has no host loop: expected kernels with host loops, or a "
          "host_reference of the family");
    }
  }
}

}  // namespace

FamilyDeclaration::FamilyDeclaration(std::string id, Topic topic, std::string question) {
  family_.id = std::move(id);
  family_.topic = topic;
  family_.question = std::move(question);
}
FamilyDeclaration::FamilyDeclaration(const FamilyDeclaration&) = default;
FamilyDeclaration::~FamilyDeclaration() = default;

void FamilyDeclaration::add_extent(std::string name, std::int64_t default_value, std::int64_t max,
                                   std::string doc, SetMember set) {
  add_number(std::move(name), default_value, 1, static_cast<double>(max), "", std::move(doc),
             std::move(set));
  family_.parameters.back().is_extent = true;
}

void FamilyDeclaration::add_number(std::string name, Value default_value, double min, double max,
                                   std::string unit, std::string doc, SetMember set) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.default_value = std::move(default_value);
  parameter.unit = std::move(unit);
  parameter.doc = std::move(doc);
  parameter.min = min;
  parameter.max = max;
  family_.parameters.push_back(std::move(parameter));
  setters_.push_back(std::move(set));
}

void FamilyDeclaration::add_choice(std::string name, std::vector<std::string> choices,
                                   std::string doc, SetMember set) {
  Parameter parameter;
  parameter.name = std::move(name);
  parameter.default_value = choices.front();
  parameter.doc = std::move(doc);
  parameter.choices = std::move(choices);
  family_.parameters.push_back(std::move(parameter));
  setters_.push_back(std::move(set));
}

void FamilyDeclaration::set_file(Callback<std::string(const std::string&)> file_error,
                                 std::vector<std::string> unless_file) {
  family_.parameters.back().file_error = std::move(file_error);
  family_.parameters.back().unless_file = std::move(unless_file);
}

void FamilyDeclaration::add_buffer(std::string name, BufferRole role,
                                   Callback<DataType(const void*)> type,
                                   Callback<std::int64_t(const void*)> count,
                                   Callback<Tolerance(const void*)> own_tolerance,
                                   BindMember bind) {
  family_.buffers.push_back(
      {std::move(name), role, std::move(type), std::move(count), std::move(own_tolerance)});
  binders_.push_back(std::move(bind));
}

void FamilyDeclaration::set_residence(Residence residence) {
  family_.buffers.back().residence = residence;
}

void FamilyDeclaration::set_told_from(std::int64_t word) {
  family_.buffers.back().flags_from = word;
}

void FamilyDeclaration::set_span(Callback<int(const void*)> gpus, BindRank bind) {
  family_.gpus = std::move(gpus);
  bind_rank_ = std::move(bind);
}

Callback<DataType(const void*)> FamilyDeclaration::always(DataType type) {
  return [type](const void*) { return type; };
}

void FamilyDeclaration::add_metric(std::string name, std::string unit, std::string doc) {
  family_.metrics.push_back({std::move(name), std::move(unit), std::move(doc)});
}

void FamilyDeclaration::add_plot(Plot plot) {
  family_.plots.push_back(std::move(plot));
}

void FamilyDeclaration::add_variant(Variant variant) {
  family_.variants.push_back(std::move(variant));
}

Family FamilyDeclaration::declared(MakeStruct make_problem, MakeStruct make_data) const {
  Family family = family_;
  family.physics = physics;
  family.tolerance_derivation = tolerance_derivation;
  family.ceilings = ceilings;
  family.refers_to_results = refers_to_results;
  family.repeats_without_reset = repeats_without_reset;
  family.make_problem = [setters = setters_,
                         make_problem](const Values& values) -> std::shared_ptr<const void> {
    std::shared_ptr<void> problem = make_problem();
    for (std::size_t i = 0; i < setters.size(); ++i)
      setters[i](problem.get(), values.at(i));
    return problem;
  };
  family.make_data = [binders = binders_, bind_rank = bind_rank_,
                      make_data](const RankBuffers& buffers) -> std::shared_ptr<const void> {
    std::shared_ptr<void> data = make_data();
    for (std::size_t i = 0; i < binders.size(); ++i) {
      std::vector<void*> of_ranks;
      for (const std::vector<void*>& of_rank : buffers.of_ranks)
        of_ranks.push_back(of_rank.at(i));
      binders[i](data.get(), of_ranks, buffers.rank);
    }
    if (bind_rank) bind_rank(data.get(), buffers.rank);
    return data;
  };
  const auto unbound = family.make_data(std::vector<void*>(binders_.size(), nullptr));
  for (Variant& variant : family.variants)
    variant.unbound_data = unbound;
  return family;
}

void FamilyDeclaration::set_defaults(Family& family) {
  const auto output = std::find_if(family.buffers.begin(), family.buffers.end(),
                                   [](const Buffer& buffer) { return is_output(buffer.role); });
  if (!family.outputs && output != family.buffers.end()) {
    family.outputs = [count = output->count](const void* problem) {
      return Extent{count(problem), 1, 1};
    };
  }
  if (!family.host_reference && family.reference) {
    family.host_reference = [reference = family.reference](const void* problem, const void* data,
                                                           const std::vector<ReferenceView>& out) {
      run_on_host(reference(problem, data, out));
    };
  }
  const bool lacks_tolerance =
      std::any_of(family.buffers.begin(), family.buffers.end(),
                  [](const Buffer& buffer) { return is_output(buffer.role) && !buffer.tolerance; });
  if (!family.tolerance && lacks_tolerance)
    family.tolerance = [](const void*) { return Tolerance{}; };
}

Registration::Registration(Family family) {
  Registry::global().add(std::move(family));
}

}  // namespace gpuexp
