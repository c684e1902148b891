#include "cli/source_measurement.hpp"

#include <fmt/format.h>

#include "cli/worker.hpp"

namespace gpuexp::cli {

SourceWorkers::SourceWorkers(const std::array<const own::OwnFiles*, 2>& files, int device)
    : files_(files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    DeviceOptions options;
    options.device = device;
    use_kernel_files(options, *files[i]);
    std::string no_device;
    auto opened = open_device(options, no_device);
    if (!opened) throw DeviceError(no_device, DeviceFault::refused);
    executors_[i] = std::move(opened->executor);
  }
}

SourceWorkers::~SourceWorkers() = default;

SideBySide SourceWorkers::measure(const std::array<MeasuredVariant, 2>& variants) {
  const auto side = [&](std::size_t i) {
    const MeasuredVariant& measured = variants[i];
    return Side{*executors_[i], measured.family, measured.values, measured.variant,
                [&, i](const std::string& buffer, std::int64_t element) {
                  return files_[i]->element_name(measured.family, measured.values, buffer, element);
                }};
  };
  MeasureSettings settings;
  settings.target_relative_ci = settings.fine_relative_ci;
  try {
    return measure_side_by_side({side(0), side(1)}, Mode::cold, Config().seed, settings,
                                interrupted);
  } catch (const DeviceError& error) {
    for (const auto& executor : executors_)
      executor->recover();
    return {error.what()};
  }
}

}  // namespace gpuexp::cli
