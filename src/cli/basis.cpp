#include "cli/basis.hpp"

#include <fmt/format.h>

#include "cli/app.hpp"
#include "core/ceilings_file.hpp"

namespace gpuexp::cli {

namespace {

namespace fs = std::filesystem;

// The GPU whose ceilings stand in for those of others.
constexpr const char* kReference = "h200";

}  // namespace

PredictionBasis basis_of(const DeviceSpec& device, const std::string& spec_id) {
  const Ceilings datasheet = datasheet_ceilings(device);
  const auto directory = find_config_dir();
  const auto path_of = [&](const std::string& id) {
    return directory.value_or(".") / "ceilings" / (id + ".json");
  };
  if (!directory || !fs::exists(path_of(kReference))) return {datasheet, false, "datasheet"};
  const auto specs = read_device_specs(*directory / "devices");
  const DeviceSpec& reference = find_device_spec(specs, kReference).spec;
  const CeilingsFile reference_file = read_ceilings_file(path_of(kReference));
  const Ceilings scaled = scaled_ceilings(reference_file.ceilings(), reference, device);
  if (spec_id.empty() || !fs::exists(path_of(spec_id))) {
    return {completed(scaled, datasheet), false,
            fmt::format("ceilings measured on {}, in proportion to both datasheets",
                        reference_file.device)};
  }
  const CeilingsFile own = read_ceilings_file(path_of(spec_id));
  return {completed(completed(own.ceilings(), scaled), datasheet), true,
          fmt::format("ceilings measured on {}", own.device)};
}

}  // namespace gpuexp::cli
