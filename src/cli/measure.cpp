#include "cli/measure.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/ceilings_run.hpp"
#include "cli/interrupts.hpp"
#include "render/ceilings_text.hpp"
#include "render/terminal.hpp"

namespace gpuexp::cli {

namespace {

std::string text_of(const CeilingsRun& run, const DeviceInfo& device) {
  return fmt::format("device {}: {}  ({}), measured in {:.1f} s\n\n{}", device.index,
                     device.spec.name, device.uuid, run.took_s,
                     ceilings_text(run.file.measured, run.vendor, device.spec));
}

}  // namespace

ExitCode measure(const Context& context, const MeasureOptions& options) {
  auto device = open_to_measure(options.device);
  if (!device) return ExitCode::no_device;
  const std::filesystem::path path = ceilings_output(options.out, device->info);
  catch_interrupts();
  const CeilingsRun run = run_ceilings(context, *device);
  report_missing(run);
  if (run.code == ExitCode::interrupted) return run.code;
  if (options.json) {
    fmt::print("{}", to_json(run.file));
    fmt::print(stderr, "{}", vendor_warnings(run.file.measured, run.vendor));
  } else {
    const std::string text = text_of(run, device->info);
    fmt::print("{}", terminal_options(stdout).unicode ? text : to_ascii(text));
  }
  keep_ceilings(run, path);
  return run.code;
}

}  // namespace gpuexp::cli
