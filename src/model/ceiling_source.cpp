#include "model/ceiling_source.hpp"

#include <fmt/format.h>

#include "base/config_error.hpp"
#include "device/device_spec_file.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

// GPU whose ceilings are scaled for GPUs without recorded ceilings.
constexpr const char* kReference = "h200";

// How the conditions of the measurement differ from the present conditions; empty if they are
// equal.
std::string difference(const MeasuringConditions& then, const MeasuringConditions& now) {
  if (then.uuid != now.uuid) return fmt::format("were measured on {}", then.uuid);
  if (then.driver_version != now.driver_version)
    return fmt::format("were measured with driver {}, not {}", then.driver_version,
                       now.driver_version);
  if (then.cuda_toolkit != now.cuda_toolkit)
    return fmt::format("were measured with CUDA {}, not {}", then.cuda_toolkit, now.cuda_toolkit);
  return "";
}

class Choice {
 public:
  explicit Choice(const DeviceSpec& device) : device_(device) {}

  void take_kept(const PresentDevice& present) {
    if (present.kept.empty() || !fs::exists(present.kept)) {
      why_not_kept_ = "gpuexp info --measure measures this GPU";
      return;
    }
    try {
      CeilingsFile kept = read_ceilings_file(present.kept);
      const std::string changed = difference(kept.conditions, present.now);
      if (changed.empty()) {
        add_kept_links(kept, present);
        take(kept, fmt::format("ceilings measured on this GPU at {}", kept.utc));
      } else {
        why_not_kept_ = fmt::format("the kept ceilings {}", changed);
      }
    } catch (const ConfigError& e) {
      why_not_kept_ = fmt::format("the kept ceilings cannot be read: {}", e.what());
    }
  }

  void take_recorded(const fs::path& ceilings, const std::string& spec_id) {
    if (const auto recorded = recorded_of(ceilings, spec_id))
      take(*recorded, fmt::format("ceilings measured on {}", recorded->device));
  }

  void take_scaled(const fs::path& configs) {
    const auto reference = recorded_of(configs / "ceilings", kReference);
    if (!reference) return;
    const auto specs = read_device_specs(configs / "devices");
    fill(scaled_ceilings(reference->ceilings(), find_device_spec(specs, kReference).spec, device_),
         fmt::format("ceilings measured on {}, in proportion to both datasheets",
                     reference->device));
  }

  CeilingSource finish() {
    fill(datasheet_ceilings(device_), "datasheet");
    if (!why_not_kept_.empty()) ceiling_source_.source += "; " + why_not_kept_;
    return std::move(ceiling_source_);
  }

 private:
  // Also reads recorded ceilings of links between two GPUs of this model.
  static std::optional<CeilingsFile> recorded_of(const fs::path& ceilings,
                                                 const std::string& spec_id) {
    const fs::path path = ceilings / (spec_id + ".json");
    if (spec_id.empty() || !fs::exists(path)) return std::nullopt;
    CeilingsFile recorded = read_ceilings_file(path);
    if (const fs::path links = ceilings / (spec_id + ".links.json"); fs::exists(links))
      add_links(recorded.measured, read_ceilings_file(links));
    return recorded;
  }

  // Ignores files that cannot be read or were measured under other conditions.
  static void add_kept_links(CeilingsFile& kept, const PresentDevice& present) {
    for (const fs::path& path : present.kept_links) {
      try {
        const CeilingsFile links = read_ceilings_file(path);
        MeasuringConditions now = present.now;
        now.uuid = links.conditions.uuid;
        if (difference(links.conditions, now).empty()) add_links(kept.measured, links);
      } catch (const ConfigError&) {
        continue;
      }
    }
  }

  void take(const CeilingsFile& file, const std::string& source) {
    for (const CeilingTerm& term : ceiling_terms()) {
      const auto found = file.measured.find(term.id);
      if (found != file.measured.end() && !term.of(ceiling_source_.ceilings))
        ceiling_source_.measured.insert(*found);
    }
    ceiling_source_.is_measured = true;
    fill(with_fp16_sums(file.ceilings(), device_), source);
  }

  void fill(const Ceilings& ceilings, const std::string& source) {
    ceiling_source_.ceilings = completed(ceiling_source_.ceilings, ceilings);
    if (ceiling_source_.source.empty()) ceiling_source_.source = source;
  }

  const DeviceSpec& device_;
  CeilingSource ceiling_source_;
  std::string why_not_kept_;  ///< empty if kept ceilings are used or no device is present
};

}  // namespace

CeilingSource choose_ceiling_source(const DeviceSpec& device, const std::string& spec_id,
                                    const std::optional<fs::path>& configs,
                                    const std::optional<PresentDevice>& present) {
  Choice choice(device);
  if (present) choice.take_kept(*present);
  if (configs) {
    choice.take_recorded(*configs / "ceilings", spec_id);
    choice.take_scaled(*configs);
  }
  return choice.finish();
}

}  // namespace gpuexp
