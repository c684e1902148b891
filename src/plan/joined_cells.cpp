// join_cells() and stands_for() of plan.hpp.
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "plan/plan.hpp"
#include "plan/skip_reason.hpp"
#include "sass/kernel_resource.hpp"
#include "sass/loaded_kernels.hpp"
#include "sass/module_data.hpp"

namespace gpuexp {

namespace {

/// The values with 0 at these positions.
Values without(Values values, const std::vector<std::size_t>& positions) {
  for (const std::size_t position : positions)
    values[position] = std::int64_t{0};
  return values;
}

/// Whether two loaded kernels execute the same machine code with the same resources and variables.
/// False if one of them does not compile or is no loaded kernel.
bool have_same_code(const void* a, const void* b, int compute_capability) {
  if (a == b) return true;
  const LoadedKernel* const loaded_a = LoadedKernels::global().find(a);
  const LoadedKernel* const loaded_b = LoadedKernels::global().find(b);
  if (!loaded_a || !loaded_b) return false;
  try {
    const LoadedCode code_a = loaded_a->code(compute_capability);
    const LoadedCode code_b = loaded_b->code(compute_capability);
    const KernelResource& x = *code_a.resource;
    const KernelResource& y = *code_b.resource;
    const bool have_equal_variables =
        x.module_data == y.module_data ||
        (x.module_data && y.module_data && *x.module_data == *y.module_data);
    return !x.code.empty() && x.code.text() == y.code.text() && x.registers == y.registers &&
           x.static_shared_bytes == y.static_shared_bytes && x.local_bytes == y.local_bytes &&
           x.stack_bytes == y.stack_bytes && have_equal_variables;
  } catch (const std::exception&) {
    return false;
  }
}

struct CellPlace {
  std::size_t group = 0;
  std::size_t cell = 0;
};

class CellJoiner {
 public:
  CellJoiner(Plan& plan, std::size_t first_group, const KernelResources& resources)
      : plan_(plan), first_group_(first_group), resources_(resources) {}

  void join(const Variant& variant, std::size_t parameter) {
    const std::optional<std::vector<CellPlace>> kept = joined(places_without(variant, parameter));
    if (!kept) return;
    for (const CellPlace& place : *kept)
      plan_.groups[place.group].cells[place.cell].unused_parameters.push_back(parameter);
    for (std::size_t g = first_group_; g < plan_.groups.size(); ++g) {
      std::erase_if(plan_.groups[g].cells, [&](const Cell& cell) {
        const auto& unused = cell.unused_parameters;
        return cell.variant == &variant && (unused.empty() || unused.back() != parameter);
      });
    }
  }

  void remove_empty_groups() {
    const auto first = plan_.groups.begin() + static_cast<std::ptrdiff_t>(first_group_);
    plan_.groups.erase(std::remove_if(first, plan_.groups.end(),
                                      [](const Group& group) { return group.cells.empty(); }),
                       plan_.groups.end());
    std::size_t next = 0;
    for (Group& group : plan_.groups) {
      for (Cell& cell : group.cells)
        cell.index = next++;
    }
  }

 private:
  using PlacesByProblem = std::map<std::pair<Mode, Values>, std::vector<CellPlace>>;

  const Group& group_of(const CellPlace& place) const { return plan_.groups[place.group]; }
  const Cell& at(const CellPlace& place) const { return group_of(place).cells[place.cell]; }

  /// The variant's cells by mode and by the values of all other parameters.
  PlacesByProblem places_without(const Variant& variant, std::size_t parameter) const {
    PlacesByProblem places;
    for (std::size_t g = first_group_; g < plan_.groups.size(); ++g) {
      const Group& group = plan_.groups[g];
      for (std::size_t c = 0; c < group.cells.size(); ++c) {
        if (group.cells[c].variant != &variant) continue;
        std::vector<std::size_t> unused = group.cells[c].unused_parameters;
        unused.push_back(parameter);
        places[{group.mode, without(group.values, unused)}].push_back({g, c});
      }
    }
    return places;
  }

  bool can_run(const CellPlace& place) const {
    return at(place).skip_reason.empty() &&
           !code_reason(*plan_.experiment(group_of(place)).family, *at(place).variant,
                        group_of(place).problem.get(), plan_.device, resources_);
  }

  std::vector<Shape> shapes(const CellPlace& place) const {
    return at(place).variant->shapes(group_of(place).problem.get(), plan_.device);
  }

  bool have_same_kernels(const CellPlace& a, const CellPlace& b) const {
    return std::ranges::equal(shapes(a), shapes(b), [&](const Shape& x, const Shape& y) {
      return have_same_code(x.kernel, y.kernel, plan_.device.compute_capability());
    });
  }

  /// Whether the kernels are compiled once for both: the parameter is no macro.
  bool have_one_compilation(const CellPlace& a, const CellPlace& b) const {
    return std::ranges::equal(shapes(a), shapes(b), {}, &Shape::kernel, &Shape::kernel);
  }

  /// One cell for each problem, which can run if any can. Empty if the kernels of some cells
  /// differ, or if no problem has two cells that can run, so that it is not known.
  std::optional<std::vector<CellPlace>> joined(const PlacesByProblem& problems) const {
    bool is_macro = false;
    std::vector<CellPlace> kept;
    std::vector<CellPlace> compared;  ///< with another cell of the problem
    std::vector<CellPlace> alone;     ///< the only cell of the problem that can run
    for (const auto& [values, places] : problems) {
      std::vector<CellPlace> runnable;
      std::ranges::copy_if(places, std::back_inserter(runnable),
                           [&](const CellPlace& place) { return can_run(place); });
      kept.push_back(runnable.empty() ? places.front() : runnable.front());
      if (runnable.empty()) continue;
      (runnable.size() > 1 ? compared : alone).push_back(runnable.front());
      for (const CellPlace& other : runnable) {
        if (!have_same_kernels(runnable.front(), other)) return std::nullopt;
        is_macro |= !have_one_compilation(runnable.front(), other);
      }
    }
    const bool are_known = !is_macro || std::ranges::all_of(alone, [&](const CellPlace& place) {
      return std::ranges::any_of(
          compared, [&](const CellPlace& other) { return have_same_kernels(place, other); });
    });
    return are_known && !compared.empty() ? std::optional(kept) : std::nullopt;
  }

  Plan& plan_;
  std::size_t first_group_;
  const KernelResources& resources_;
};

}  // namespace

void join_cells(Plan& plan, std::size_t first_group, const KernelResources& resources) {
  if (first_group == plan.groups.size()) return;
  const Experiment& experiment = plan.experiment(plan.groups[first_group]);
  CellJoiner joiner(plan, first_group, resources);
  for (const Variant* variant : experiment.variants) {
    const auto unused = experiment.unused_parameters.find(variant);
    if (unused == experiment.unused_parameters.end()) continue;
    for (const std::size_t parameter : unused->second)
      joiner.join(*variant, parameter);
  }
  joiner.remove_empty_groups();
}

bool stands_for(const Group& group, const Cell& cell, const Values& values) {
  return without(group.values, cell.unused_parameters) == without(values, cell.unused_parameters);
}

}  // namespace gpuexp
