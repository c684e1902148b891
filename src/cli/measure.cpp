#include "cli/measure.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "cli/ceilings_run.hpp"
#include "cli/interrupts.hpp"
#include "report/ceilings.hpp"
#include "report/terminal.hpp"
#include "report/text.hpp"

namespace gpuexp::cli {

ExitCode measure(const Context& context, const MeasureOptions& options) {
  auto device = open_to_measure(options.device);
  if (!device) return ExitCode::no_device;
  const std::filesystem::path path = ceilings_output(options.out, device->info);
  catch_interrupts();
  const CeilingsRun run = run_ceilings(context, *device);
  report_missing(run);
  if (run.code == ExitCode::interrupted) return run.code;
  const DeviceInfo& info = device->info;
  const std::string text =
      fmt::format("device {}: {}  ({}), measured in {:.1f} s\n\n{}", info.index, info.spec.name,
                  info.uuid, run.took_s, ceilings_text(run.file.measured, run.vendor, info.spec));
  fmt::print("{}", terminal_options(stdout).unicode ? text : to_ascii(text));
  keep_ceilings(run, path);
  return run.code;
}

}  // namespace gpuexp::cli
