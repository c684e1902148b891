#include "cli/measure.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/ceilings_run.hpp"
#include "cli/interrupts.hpp"
#include "cli/links.hpp"
#include "render/ceilings_text.hpp"
#include "render/terminal.hpp"

namespace gpuexp::cli {

namespace {

std::string text_of(const CeilingsRun& run, const DeviceInfo& device) {
  return fmt::format("device {}: {}  ({}), measured in {:.1f} s\n\n{}", device.index,
                     device.spec.name, device.uuid, run.took_s,
                     ceilings_text(run.file.measured, run.vendor, device.spec));
}

std::string text_of(const LinkRun& link, const DeviceInfo& device) {
  const std::string title = fmt::format("\nlinks to device {}: {}  ({}), {}", link.peer.index,
                                        link.peer.spec.name, link.peer.uuid, link.way);
  if (link.run.file.measured.empty())
    return fmt::format("{}: neither reaches the other's memory\n", title);
  return fmt::format("{}, measured in {:.1f} s\n\n{}", title, link.run.took_s,
                     link_ceilings_text(link.run.file.measured, device.spec));
}

ExitCode worst_of(ExitCode code, const std::vector<LinkRun>& links) {
  for (const LinkRun& link : links) {
    if (code == ExitCode::ok) code = link.run.code;
  }
  return code;
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
  const auto show = [](const std::string& text) {
    fmt::print("{}", terminal_options(stdout).unicode ? text : to_ascii(text));
    std::fflush(stdout);
  };
  if (options.json) {
    fmt::print("{}", to_json(run.file));
    fmt::print(stderr, "{}", vendor_warnings(run.file.measured, run.vendor));
  } else {
    show(text_of(run, device->info));
  }
  keep_ceilings(run, path);
  // A file that was named has the device's alone.
  if (!options.out.empty() || options.json) return run.code;
  device->executor.reset();  // its process owns a GPU that the pairs need
  const std::vector<LinkRun> links = measure_links(context, device->info);
  for (const LinkRun& link : links)
    show(text_of(link, device->info));
  keep_links(links, device->info.uuid);
  return interrupted() ? ExitCode::interrupted : worst_of(run.code, links);
}

}  // namespace gpuexp::cli
