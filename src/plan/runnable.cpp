#include "plan/runnable.hpp"

#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/names.hpp"
#include "family/registry.hpp"

namespace gpuexp {

namespace {

/// The cells of an experiment, or of one of its variants.
struct Cells {
  bool can_run = false;
  const Cell* no_code = nullptr;        ///< the first one without code
  const Cell* beyond_limits = nullptr;  ///< the first one that exceeds a limit

  void add(const Cell& cell) {
    can_run = can_run || cell.skip_reason.empty();
    if (!no_code && cell.skip_cause == SkipCause::no_code) no_code = &cell;
    if (!beyond_limits && cell.skip_cause == SkipCause::beyond_limits) beyond_limits = &cell;
  }
};

/// By what key(cell) returns.
template <class Key, class KeyOf>
std::map<Key, Cells> cells_by(const Plan& plan, const KeyOf& key_of) {
  std::map<Key, Cells> found;
  for (const Group& group : plan.groups)
    for (const Cell& cell : group.cells)
      found[key_of(cell)].add(cell);
  return found;
}

using VariantKey = std::pair<std::size_t, const Variant*>;

std::map<VariantKey, Cells> cells_by_variant(const Plan& plan) {
  return cells_by<VariantKey>(
      plan, [](const Cell& cell) { return VariantKey(cell.experiment, cell.variant); });
}

[[noreturn]] void fail(const Plan& plan, std::size_t experiment, const std::string& message) {
  const std::string& path = plan.config->path;
  // The config of a kernel file is derived from it.
  throw ConfigError(is_kernel_file(path)
                        ? message
                        : fmt::format("{}: $.experiments[{}]: {}", path, experiment, message));
}

}  // namespace

void check_runnable(const Plan& plan) {
  for (const auto& [experiment, cells] :
       cells_by<std::size_t>(plan, [](const Cell& cell) { return cell.experiment; })) {
    if (!cells.can_run && cells.no_code)
      fail(plan, experiment,
           fmt::format("no cell of {} has code for {}: {}",
                       plan.config->experiments[experiment].family->id, plan.device.name,
                       cells.no_code->skip_reason));
  }
  for (const auto& [variant, cells] : cells_by_variant(plan)) {
    if (!cells.can_run && cells.beyond_limits)
      fail(plan, variant.first, cells.beyond_limits->skip_reason);
  }
}

Plan make_plan(const Config& config, const DeviceSpec& device, const KernelResources& resources,
               std::int64_t free_bytes) {
  Plan plan = plan_of(config, device, resources, free_bytes);
  check_runnable(plan);
  return plan;
}

std::vector<Cell> without_code(const Plan& plan) {
  std::vector<Cell> found;
  for (const auto& [variant, cells] : cells_by_variant(plan)) {
    if (!cells.can_run && cells.no_code) found.push_back(*cells.no_code);
  }
  return found;
}

std::vector<std::string> messages_without_code(const std::vector<Cell>& cells) {
  std::vector<NamedText> reasons;
  for (const Cell& cell : cells)
    add_name(reasons, cell.skip_reason, cell.variant->id);
  std::vector<std::string> messages;
  for (const auto& [reason, variants] : reasons)
    messages.push_back(
        fmt::format("no cell of {} has code: {}", fmt::join(variants, ", "), reason));
  return messages;
}

}  // namespace gpuexp
