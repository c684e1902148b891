#include <cstdio>
#include <ctime>
#include <string>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "build_info.hpp"
#include "cli/app.hpp"
#include "cli/ceilings_lookup.hpp"
#include "cli/ceilings_run.hpp"
#include "cli/check.hpp"
#include "device/ceilings_file.hpp"
#include "gpu/device_query.hpp"
#include "gpu/nvml_state.hpp"
#include "render/ceilings_text.hpp"
#include "render/terminal.hpp"
#include "render/topology_text.hpp"

namespace gpuexp::cli {

namespace {

struct MeasureOptions {
  int device = 0;
  bool json = false;  ///< print the ceilings as JSON
  std::string out;    ///< file to write; empty: the file that ceiling_source_of() reads
};

std::string text_of(const CeilingsRun& run, const DeviceInfo& device) {
  return fmt::format("device {}: {}  ({}), measured in {:.1f} s\n\n{}", device.index,
                     device.spec.name, device.uuid, run.duration_s,
                     ceilings_text(run.file.measured, run.vendor, device.spec));
}

std::string text_of(const LinkRun& link, const DeviceInfo& device) {
  const std::string title = fmt::format("\nlinks to device {}: {}  ({}), {}", link.peer.index,
                                        link.peer.spec.name, link.peer.uuid, link.way);
  if (link.run.file.measured.empty())
    return fmt::format("{}: neither GPU can access the other's memory\n", title);
  return fmt::format("{}, measured in {:.1f} s\n\n{}", title, link.run.duration_s,
                     link_ceilings_text(link.run.file.measured, device.spec));
}

ExitCode worst_of(ExitCode code, const std::vector<LinkRun>& links) {
  for (const LinkRun& link : links) {
    if (code == ExitCode::ok) code = link.run.code;
  }
  return code;
}

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
  // Links are not measured for --out and --json, which contain only the device's own ceilings.
  if (!options.out.empty() || options.json) return run.code;
  device->executor.reset();  // frees the GPU, which measure_links() opens again
  const std::vector<LinkRun> links = measure_links(context, device->info);
  for (const LinkRun& link : links)
    show(text_of(link, device->info));
  keep_links(links, device->info.uuid);
  return interrupted() ? ExitCode::interrupted : worst_of(run.code, links);
}

constexpr double kGiga = 1e9;
constexpr double kTera = 1e12;

namespace fs = std::filesystem;

struct InfoArguments {
  bool json = false;
  bool measure = false;
  bool check = false;
  std::string device = "0";
  std::string out;
  std::vector<std::string> from;
};

struct StoredCeilings {
  fs::path path;
  std::optional<std::string>
      utc;  ///< empty if the file cannot be read; ceiling_source_of() reports the reason
};

std::optional<StoredCeilings> stored_ceilings_of(const DeviceInfo& device) {
  const auto path = ceilings_path(device.uuid);
  if (!path || !fs::exists(*path)) return std::nullopt;
  try {
    return StoredCeilings{*path, read_ceilings_file(*path).utc};
  } catch (const ConfigError&) {
    return StoredCeilings{*path, std::nullopt};
  }
}

// "3 hours ago"; empty if `utc` is not a time or lies in the future.
std::string age_text(const std::string& utc) {
  std::tm parts{};
  if (!strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts)) return "";
  const auto minutes = static_cast<long>(std::difftime(std::time(nullptr), timegm(&parts))) / 60;
  constexpr long kHour = 60;
  constexpr long kDay = 24 * kHour;
  if (minutes < 0) return "";
  if (minutes < 2 * kHour) return fmt::format("{} min ago", minutes);
  if (minutes < 2 * kDay) return fmt::format("{} hours ago", minutes / kHour);
  return fmt::format("{} days ago", minutes / kDay);
}

Json rates_json(const DeviceSpec& spec) {
  Json rates = Json::object();
  for (int pipe = 0; pipe < kPipeCount; ++pipe) {
    if (const auto peak = spec.peak(static_cast<Pipe>(pipe))) {
      rates[std::string(name_of(static_cast<Pipe>(pipe)))] = *peak / kTera;
    }
  }
  return rates;
}

Json ceilings_json(const DeviceInfo& d) {
  const auto kept = stored_ceilings_of(d);
  return {{"source", ceiling_source_of(d).source},
          {"kept", kept ? Json(kept->path.string()) : nullptr},
          {"kept_utc", kept ? Json(kept->utc) : Json()}};
}

Json to_json(const DeviceInfo& d) {
  const DeviceState now = read_device_state(d.uuid);
  return {{"index", d.index},
          {"name", d.spec.name},
          {"uuid", d.uuid},
          {"pci_bus_id", d.pci_bus_id},
          {"compute_capability", fmt::format("{}.{}", d.spec.cc_major, d.spec.cc_minor)},
          {"sm_count", d.spec.sm_count},
          {"memory_bytes", d.spec.memory_bytes},
          {"memory_free_bytes", d.free_bytes},
          {"memory_gb_per_s", d.spec.memory_bytes_per_s / kGiga},
          {"l2_bytes", d.spec.l2_bytes},
          {"shared_bytes_per_sm", d.spec.sm.shared_bytes},
          {"shared_bytes_per_block", d.spec.sm.shared_bytes_per_block},
          {"sm_clock_max_mhz", d.spec.sm_clock_max_mhz},
          {"sm_clock_mhz", now.sm_clock_mhz},
          {"memory_clock_mhz", now.memory_clock_mhz},
          {"power_w", now.power_w},
          {"power_limit_w", now.power_limit_w},
          {"temperature_c", now.temperature_c},
          {"ecc_enabled", now.ecc_on},
          {"driver_version", d.driver_version},
          {"device_spec", d.spec_id.empty() ? Json(nullptr) : Json(d.spec_id)},
          {"peak_tflops", rates_json(d.spec)},
          {"ceilings", ceilings_json(d)}};
}

Json to_json(const Topology& topology) {
  Json gpus = Json::array();
  Json links = Json::array();
  for (std::size_t i = 0; i < topology.gpus.size(); ++i) {
    const GpuPlace& gpu = topology.gpus[i];
    gpus.push_back({{"index", gpu.index},
                    {"uuid", gpu.uuid},
                    {"numa_node", gpu.numa_node},
                    {"pcie_generation", gpu.pcie_generation},
                    {"pcie_width", gpu.pcie_width}});
    for (std::size_t j = 0; j < topology.gpus.size(); ++j) {
      const GpuLink& link = topology.links[i][j];
      if (i == j) continue;
      links.push_back({{"from", gpu.index},
                       {"to", topology.gpus[j].index},
                       {"nvlinks", link.nvlinks},
                       {"nvlink_version", link.nvlink_version},
                       {"through_switches", link.is_switched},
                       {"pcie", link.pcie ? Json(std::string(name_of(*link.pcie))) : Json()},
                       {"peer_access", link.peer_access},
                       {"peer_atomics", link.peer_atomics}});
    }
  }
  return {{"gpus", gpus}, {"links", links}};
}

template <class T>
std::string or_unknown(const std::optional<T>& value, const char* unit) {
  return value ? fmt::format("{}{}", *value, unit) : "unknown";
}

void print_rates(const DeviceInfo& d) {
  if (d.spec_id.empty()) {
    fmt::print("  no device spec in configs/devices matches this name: pipe rates are unknown\n");
    return;
  }
  fmt::print("  datasheet ({}), TFLOP/s:", d.spec_id);
  for (int pipe = 0; pipe < kPipeCount; ++pipe) {
    if (const auto peak = d.spec.peak(static_cast<Pipe>(pipe))) {
      fmt::print(" {} {:.4g}", name_of(static_cast<Pipe>(pipe)), *peak / kTera);
    }
  }
  fmt::print("\n");
}

void print_text(const DeviceInfo& d) {
  const DeviceSpec& s = d.spec;
  const DeviceState now = read_device_state(d.uuid);
  fmt::print("device {}: {}  ({}, PCI {})\n", d.index, s.name, d.uuid, d.pci_bus_id);
  fmt::print(
      "  compute capability {}.{}, {} SMs, {} KiB of shared memory per SM, {} KiB per block\n",
      s.cc_major, s.cc_minor, s.sm_count, s.sm.shared_bytes / 1024,
      s.sm.shared_bytes_per_block / 1024);
  fmt::print("  memory {} ({} free) at {:.0f} GB/s, L2 {}\n",
             bytes_text(static_cast<double>(s.memory_bytes)),
             bytes_text(static_cast<double>(d.free_bytes)), s.memory_bytes_per_s / kGiga,
             bytes_text(static_cast<double>(s.l2_bytes)));
  fmt::print("  now: SM clock {} of {:.0f} MHz, memory clock {}, {} of {}, {}, ECC {}\n",
             or_unknown(now.sm_clock_mhz, ""), s.sm_clock_max_mhz,
             or_unknown(now.memory_clock_mhz, " MHz"), or_unknown(now.power_w, ""),
             or_unknown(now.power_limit_w, " W"), or_unknown(now.temperature_c, " °C"),
             now.ecc_on ? (*now.ecc_on ? "on" : "off") : "unknown");
  fmt::print("  driver {}, CUDA up to {}\n", d.driver_version.value_or("unknown"),
             driver_runtime_version());
  print_rates(d);
  fmt::print("  predictions from {}\n", ceiling_source_of(d).source);
  const auto kept = stored_ceilings_of(d);
  if (!kept || !kept->utc) return;
  const std::string age = age_text(*kept->utc);
  fmt::print("  its own ceilings: measured at {}{}, in {}\n", *kept->utc,
             age.empty() ? "" : fmt::format(" ({})", age), kept->path.string());
}

std::optional<int> device_of(const InfoArguments& options) {
  const std::string& text = options.device;
  if (text == "all") {
    if (!options.check || !options.out.empty())
      throw ConfigError("--device all: needs --check, and excludes --out");
    return std::nullopt;
  }
  const auto device = parsed<int>(text);
  if (device.value_or(-1) < 0)
    throw ConfigError(fmt::format("--device {}: expected an ordinal of at least 0, or all", text));
  return device;
}

CheckOptions check_options(const InfoArguments& o, const std::optional<int>& device) {
  return {device, o.json, o.from, o.measure, o.out};
}

ExitCode run(const Context& context, const InfoArguments& options) {
  const auto device_given = device_of(options);
  if (!options.from.empty()) return check(context, check_options(options, device_given));
  const bool json = options.json;
  const auto reason = no_device_reason();
  Json out{{"gpuexp", build_info::version},
           {"git_commit", build_info::git_commit},
           {"cuda_runtime", runtime_version()},
           {"cuda_driver", driver_runtime_version()},
           {"devices", Json::array()}};
  if (!json) {
    fmt::print("gpuexp {} ({}{}), CUDA runtime {}, code for {}\n", build_info::version,
               build_info::git_commit, build_info::git_dirty ? ", modified" : "", runtime_version(),
               build_info::cuda_architectures);
  }
  if (reason) {
    if (json) out["no_device_reason"] = *reason;
    fmt::print("{}\n", json ? out.dump(2) : "no GPU: " + *reason);
    return ExitCode::no_device;
  }
  if (options.check) return check(context, check_options(options, device_given));
  if (options.measure) return measure(context, {*device_given, json, options.out});
  const auto specs = device_specs();
  for (int i = 0; i < device_count(); ++i) {
    const DeviceInfo device = query_device(i, specs);
    if (json) {
      out["devices"].push_back(to_json(device));
    } else {
      print_text(device);
    }
  }
  const Topology topology = topology_here();
  if (json) {
    out["topology"] = to_json(topology);
    fmt::print("{}\n", out.dump(2));
  } else if (topology.gpus.size() > 1) {
    fmt::print("links:\n{}", topology_text(topology));
  }
  return ExitCode::ok;
}

}  // namespace

void add_info(Command& app, Context& context) {
  Command* command =
      app.add_subcommand("info", "the GPUs of this machine, their properties and current clocks");
  auto options = std::make_shared<InfoArguments>();
  Option* const measure = command->add_flag("--measure", options->measure,
                                            "measure the GPU's ceilings in about 30 s and store "
                                            "them: limits and predictions then use them");
  Option* const check =
      command->add_flag("--check", options->check,
                        "check the GPU's health: measure its ceilings, and compare them and its "
                        "state (clocks, ECC, power, PCIe link) with the values expected for this "
                        "GPU model; exit code 6 if a check fails");
  command->add_flag("--json", options->json, "machine-readable");
  Option* const device = command->add_option(
      "--device", options->device,
      "ordinal of the GPU to measure or check, or all with --check (default: 0)");
  command
      ->add_option(
          "--out", options->out,
          "write the ceilings to this file instead of $GPUEXP_DATA_DIR/ceilings/UUID.json "
          "(default of GPUEXP_DATA_DIR: $XDG_DATA_HOME/gpuexp, else ~/.local/share/gpuexp)")
      ->needs(measure);
  command
      ->add_option("--from", options->from,
                   "check files that --measure wrote, instead of a GPU; for several files, also "
                   "report how many GPUs are healthy")
      ->type_name("FILE")
      ->needs(check)
      ->excludes(measure)
      ->excludes(device);
  command->footer(
      "example: gpuexp info --measure\n"
      "         gpuexp info --check --device all\n"
      "         gpuexp info --check --from ceilings/*.json");
  const auto check_device = [options, device] {
    const bool is_used = options->measure || options->check;
    if (device->count() > 0 && !is_used)
      throw CLI::RequiresError("--device", "--measure or --check");
  };
  command->callback([&context, options, check_device] {
    check_device();
    context.action = [&context, options] { return run(context, *options); };
  });
}

}  // namespace gpuexp::cli
