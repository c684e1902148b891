#include "plan/plan.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "base/parallel.hpp"
#include "family/function_text.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp {

std::size_t Plan::cell_count() const {
  return std::accumulate(groups.begin(), groups.end(), std::size_t{0},
                         [](std::size_t n, const Group& g) { return n + g.cells.size(); });
}

std::int64_t buffer_alignment(std::int64_t bytes) {
  constexpr std::uint64_t kMin = 512;
  constexpr std::uint64_t kMax = 2 << 20;
  const auto size = static_cast<std::uint64_t>(std::max(bytes, std::int64_t{1}));
  return static_cast<std::int64_t>(std::clamp(std::bit_ceil(size), kMin, kMax));
}

std::int64_t cell_bytes(const Family& family, const Variant& variant, const void* problem,
                        const DeviceSpec& device) {
  const std::int64_t arrays =
      family.accuracy_reference ? 4 : 2;  // value and magnitude, once or twice
  std::int64_t bytes = variant.workspace_bytes ? variant.workspace_bytes(problem, device) : 0;
  for (const Buffer& b : family.buffers) {
    const std::int64_t count = b.count(problem);
    const std::int64_t size = count * static_cast<std::int64_t>(size_of(b.type(problem)));
    bytes += size + 2 * kGuardBytes + buffer_alignment(size);
    if (is_output(b.role) && variant.fills(b.name) && b.has_reference) {
      bytes += arrays * count * static_cast<std::int64_t>(sizeof(double));
    }
  }
  return bytes;
}

std::vector<std::string> missing_libraries(const Config& config) {
  std::vector<std::string> missing;
  for (const Experiment& experiment : config.experiments) {
    for (const Variant* variant : experiment.variants) {
      const auto reason = variant->unavailable ? variant->unavailable() : std::nullopt;
      if (!reason) continue;
      std::string text = fmt::format("{}/{}: {}", experiment.family->id, variant->id, *reason);
      if (std::find(missing.begin(), missing.end(), text) == missing.end())
        missing.push_back(std::move(text));
    }
  }
  return missing;
}

std::string cell_key(const Plan& plan, const Group& group, const Cell& cell) {
  const Experiment& e = plan.experiment(group);
  return fmt::format("{}/{}/{}/{}/{}", e.name, e.family->id, cell.variant->id,
                     values_text(*e.family, group.values, cell.unused_parameters),
                     name_of(cell.mode));
}

namespace {

std::int64_t wave_count(const Family& family, const Variant& variant, const Values& values,
                        const DeviceSpec& device, const KernelResources& resources) {
  const auto problem = family.make_problem(values);
  const auto shapes = variant.shapes(problem.get(), device);
  const Shape& shape = *std::ranges::max_element(
      shapes, [](const Shape& a, const Shape& b) { return a.grid.count() < b.grid.count(); });
  const auto fit = occupancy(shape, device, resources);
  if (!fit) {
    throw ConfigError(
        fmt::format("wave_edges of {}/{} cannot be resolved: its registers are not in this "
                    "binary's kernel resource table (built without cuobjdump)",
                    family.id, variant.id));
  }
  return ceil_div(shape.grid.count(),
                  static_cast<std::int64_t>(device.sm_count) * fit->blocks_per_sm);
}

}  // namespace

std::vector<std::int64_t> resolve_wave_edges(const WaveEdges& edges, const Family& family,
                                             const Variant& variant, const Values& values,
                                             std::size_t parameter, const DeviceSpec& device,
                                             const KernelResources& resources) {
  if (variant.is_vendor) {
    throw ConfigError(
        fmt::format("wave_edges need the grid of {}/{}, which a vendor library chooses; leave it "
                    "out of \"variants\", or give it plain sizes in an experiment of its own",
                    family.id, variant.id));
  }
  // A device that cannot run the variant has no waves: one size suffices, whose cell is skipped
  // with the reason.
  if (device.compute_capability() < variant.min_compute_capability) return {edges.from};
  const auto count_at = [&](std::int64_t n) {
    Values at = values;
    at[parameter] = n;
    return wave_count(family, variant, at, device, resources);
  };
  std::set<std::int64_t> sizes;
  std::int64_t previous = count_at(edges.from);
  for (std::int64_t n = edges.from + 1; n <= edges.to; ++n) {
    const std::int64_t current = count_at(n);
    if (current > previous) {
      sizes.insert({n - 1, n});
      if (n + 1 <= edges.to) sizes.insert(n + 1);
    }
    previous = current;
  }
  return {sizes.begin(), sizes.end()};
}

namespace {

class ExperimentPlanner {
 public:
  ExperimentPlanner(Plan& plan, std::size_t experiment, const KernelResources& resources,
                    std::int64_t free_bytes)
      : plan_(plan),
        index_(experiment),
        experiment_(plan.config->experiments[experiment]),
        resources_(resources),
        free_bytes_(free_bytes),
        first_group_(plan.groups.size()),
        next_index_(plan.cell_count()) {}

  void run() {
    for (const auto& [values, variants] : problems()) {
      for (const Mode mode : experiment_.modes)
        add_group(values, variants, mode);
    }
    compile_kernels();
    join_cells(plan_, first_group_, resources_);
    for_runnable([&](Cell& cell, Group& group) { skip_beyond_device(cell, group); });
  }

 private:
  /// Calls function(cell, group) for the experiment's cells that are not skipped.
  template <class Function>
  void for_runnable(const Function& function) const {
    for (std::size_t i = first_group_; i < plan_.groups.size(); ++i) {
      Group& group = plan_.groups[i];
      for (Cell& cell : group.cells)
        if (cell.skip_reason.empty()) function(cell, group);
    }
  }

  void compile_kernels() const {
    std::vector<const void*> kernels;
    for_runnable([&](const Cell& cell, const Group& group) {
      if (cell.variant->is_vendor) return;
      for (const Shape& shape : cell.variant->shapes(group.problem.get(), plan_.device))
        kernels.push_back(shape.kernel);
    });
    compile_loaded(kernels, plan_.device.compute_capability(), host_threads());
  }

  using Problems = std::vector<std::pair<Values, std::vector<const Variant*>>>;

  // Returns every problem once, in order of first appearance, with the variants that run it.
  // Variants can have different problems, because wave edges depend on the variant.
  Problems problems() const {
    Problems all;
    std::map<Values, std::size_t> position;
    for (const Variant* variant : baseline_first()) {
      for (const Values& values : values_of(*variant)) {
        const auto [it, is_new] = position.try_emplace(values, all.size());
        if (is_new) all.push_back({values, {}});
        all[it->second].second.push_back(variant);
      }
    }
    return all;
  }

  std::vector<const Variant*> baseline_first() const {
    std::vector<const Variant*> order = experiment_.variants;
    std::stable_partition(order.begin(), order.end(),
                          [&](const Variant* v) { return v == experiment_.baseline; });
    return order;
  }

  // The distinct problems of the variant's axes. Values that differ only in inapplicable parameters
  // are returned once.
  std::vector<Values> values_of(const Variant& variant) const {
    std::vector<Values> result{experiment_.family->defaults()};
    // Axes with wave edges come last, because the edges depend on the other parameters.
    for (const bool edges : {false, true}) {
      for (const auto& axes : experiment_.axis_groups) {
        if (has_edges(axes) == edges) result = expand(result, axes, variant);
      }
    }
    std::set<Values> seen;
    for (Values& values : result)
      set_to_defaults(values);
    std::erase_if(result, [&](const Values& values) { return !seen.insert(values).second; });
    return result;
  }

  void set_to_defaults(Values& values) const {
    const Family& family = *experiment_.family;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!family.holds(family.parameters[i], values))
        values[i] = family.parameters[i].default_value;
    }
  }

  bool has_edges(const std::vector<std::size_t>& axes) const {
    return std::ranges::any_of(axes, [&](std::size_t a) {
      const auto& items = experiment_.axes[a].items;
      return std::ranges::any_of(
          items, [](const AxisItem& i) { return std::holds_alternative<WaveEdges>(i); });
    });
  }

  // Combines each element of `base` with each step of `axes`, whose parameters advance together.
  std::vector<Values> expand(const std::vector<Values>& base, const std::vector<std::size_t>& axes,
                             const Variant& variant) const {
    std::vector<Values> result;
    for (const Values& values : base) {
      const std::size_t steps = experiment_.axes[axes.front()].items.size();
      std::set<Value> seen;
      for (std::size_t step = 0; step < steps; ++step) {
        for (Values& next : advance(values, axes, step, variant)) {
          const Value& first = next[parameter_of(axes.front())];
          if (axes.size() > 1 || seen.insert(first).second) result.push_back(std::move(next));
        }
      }
    }
    return result;
  }

  std::vector<Values> advance(const Values& values, const std::vector<std::size_t>& axes,
                              std::size_t step, const Variant& variant) const {
    Values next = values;
    for (const std::size_t axis : axes) {
      const AxisItem& item = experiment_.axes[axis].items[step];
      const std::size_t parameter = parameter_of(axis);
      if (const auto* edges = std::get_if<WaveEdges>(&item)) {
        std::vector<Values> sizes;
        for (const std::int64_t n : resolve_wave_edges(*edges, *experiment_.family, variant, values,
                                                       parameter, plan_.device, resources_)) {
          next[parameter] = n;
          sizes.push_back(next);
        }
        return sizes;
      }
      next[parameter] = std::get<Value>(item);
    }
    return {next};
  }

  std::size_t parameter_of(std::size_t axis) const {
    const auto& parameters = experiment_.family->parameters;
    return static_cast<std::size_t>(
        experiment_.family->find_parameter(experiment_.axes[axis].parameter) - parameters.data());
  }

  void add_group(const Values& values, const std::vector<const Variant*>& variants, Mode mode) {
    Group group;
    group.experiment = index_;
    group.values = values;
    group.problem = experiment_.family->make_problem(values);
    group.mode = mode;
    for (const Variant* variant : variants) {
      Cell cell;
      cell.index = next_index_++;
      cell.experiment = index_;
      cell.variant = variant;
      cell.mode = mode;
      skip(cell, unsupported_reason(*experiment_.family, *variant, group.problem.get(), mode,
                                    plan_.device));
      group.cells.push_back(std::move(cell));
    }
    plan_.groups.push_back(std::move(group));
  }

  static void skip(Cell& cell, const SkipReason& reason) {
    cell.skip_reason = reason.text;
    cell.skip_cause = reason.cause;
  }

  /// Skips the cell because of its code or its memory, or adds its memory to the group.
  void skip_beyond_device(Cell& cell, Group& group) const {
    SkipReason reason = code_reason(*experiment_.family, *cell.variant, group.problem.get(),
                                    plan_.device, resources_);
    if (!reason) reason.text = beyond_memory(*cell.variant, group);
    skip(cell, reason);
  }

  std::string beyond_memory(const Variant& variant, Group& group) const {
    const std::int64_t needed =
        cell_bytes(*experiment_.family, variant, group.problem.get(), plan_.device);
    if (needed <= free_bytes_) {
      group.device_bytes = std::max(group.device_bytes, needed);
      return "";
    }
    constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
    return fmt::format("needs {:.2f} GiB of device memory, {:.2f} GiB are free",
                       static_cast<double>(needed) / kGiB, static_cast<double>(free_bytes_) / kGiB);
  }

  Plan& plan_;
  std::size_t index_;
  const Experiment& experiment_;
  const KernelResources& resources_;
  std::int64_t free_bytes_;
  std::size_t first_group_;
  std::size_t next_index_;
};

}  // namespace

Plan plan_of(const Config& config, const DeviceSpec& device, const KernelResources& resources,
             std::int64_t free_bytes) {
  Plan plan;
  plan.config = &config;
  plan.device = device;
  plan.ceiling_source = {datasheet_ceilings(device), false, "datasheet"};
  for (std::size_t i = 0; i < config.experiments.size(); ++i) {
    const std::string place = fmt::format("{}: $.experiments[{}]", config.path, i);
    const std::size_t groups_before = plan.groups.size();
    try {
      ExperimentPlanner(plan, i, resources, free_bytes).run();
    } catch (const ConfigError& e) {
      throw ConfigError(fmt::format("{}: {}", place, e.what()));
    }
    if (plan.groups.size() == groups_before) {
      throw ConfigError(
          fmt::format("{}: selects no cell: wave_edges has no edge on {}", place, device.name));
    }
  }
  return plan;
}

std::optional<Prediction> predict_cell(const Plan& plan, const Group& group, const Cell& cell,
                                       const KernelResources& resources) {
  if (!cell.skip_reason.empty()) return std::nullopt;
  const Variant& v = *cell.variant;
  const void* problem = group.problem.get();
  return predict(v.work(problem), v.shapes(problem, plan.device), cell.mode, plan.device,
                 plan.ceiling_source, resources);
}

}  // namespace gpuexp
