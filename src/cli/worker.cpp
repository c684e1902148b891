#include "cli/worker.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "base/host_name.hpp"
#include "base/json.hpp"
#include "cli/app.hpp"
#include "device/numa.hpp"
#include "gpu/cuda_executor.hpp"
#include "gpu/nvtx_tracer.hpp"
#include "worker/job_ranks.hpp"
#include "worker/machine_executor.hpp"
#include "base/process.hpp"
#include "worker/serve.hpp"

namespace gpuexp::cli {

namespace {

template <class Info, class Visit>
void visit_device(Info& info, const Visit& visit) {
  const auto each = [&](auto&... members) { (visit(members), ...); };
  each(info.index, info.uuid, info.pci_bus_id, info.free_bytes, info.driver_version, info.spec_id);
  // The bindings name every member, so that a new member causes a compile error here.
  auto& [id, name, chip, cc_major, cc_minor, sm_count, sm_clock_max_mhz, sm_clock_tensor_mhz,
         memory_bytes, memory_bytes_per_s, l2_bytes, power_limit_w, pcie_bytes_per_s, sm,
         peak_ops_per_s, measured_here, simulated, machine] = info.spec;
  each(id, name, chip, cc_major, cc_minor, sm_count, sm_clock_max_mhz, sm_clock_tensor_mhz,
       memory_bytes, memory_bytes_per_s, l2_bytes, power_limit_w, pcie_bytes_per_s, measured_here,
       simulated);
  auto& [gpus, link, layout, link_bytes_per_s] = machine;
  each(gpus, link, layout, link_bytes_per_s);
  auto& [max_threads, max_blocks, registers, shared_bytes, shared_bytes_per_block,
         reserved_shared_bytes] = sm;
  each(max_threads, max_blocks, registers, shared_bytes, shared_bytes_per_block,
       reserved_shared_bytes);
  for (auto& peak : peak_ops_per_s)
    visit(peak);
}

/// The values as a list, which device_from() of the same program reads.
Json json_of_device(const DeviceInfo& info) {
  Json list = Json::array();
  visit_device(info, [&](const auto& member) {
    if constexpr (std::is_enum_v<std::decay_t<decltype(member)>>) {
      list.push_back(static_cast<int>(member));
    } else {
      list.push_back(member);
    }
  });
  return list;
}

template <class T>
void read_member(const Json& json, T& value) {
  if constexpr (std::is_enum_v<T>) {
    value = static_cast<T>(json.get<int>());
  } else {
    value = json.get<T>();
  }
}
template <class T>
void read_member(const Json& json, std::optional<T>& value) {
  if (!json.is_null()) value = json.get<T>();
}

DeviceInfo device_from(const Json& json) {
  DeviceInfo info;
  std::size_t next = 0;
  visit_device(info, [&](auto& member) { read_member(json.at(next++), member); });
  return info;
}

/// GPU `first + further`, or GPU `first` if this process sees only one GPU, which the launcher has
/// then chosen.
int ordinal_of(int first, int further) {
  return device_count() == 1 ? first : first + further;
}

/// The greeting of the worker for the GPU ordinal_of(). It is {"device": […], "host": name,
/// "processors": CPUs that this process uses from now on}, {"no_device": reason} or {"usage": error
/// in the request}.
Json greeting_of(int first, int further) try {
  if (const auto reason = no_device_reason()) return {{"no_device", *reason}};
  const int index = ordinal_of(first, further);
  if (index < 0 || index >= device_count()) {
    return {{"usage", fmt::format("--device {}: this machine has devices 0 to {}", index,
                                  device_count() - 1)}};
  }
  const DeviceInfo info = query_device(index, device_specs());
  pin_to_local_processors(info.pci_bus_id);
  return {{"device", json_of_device(info)},
          {"host", host_name()},
          {"processors", processors_of_thread()}};
} catch (const DeviceError& error) {
  return {{"no_device", error.what()}};
}

std::optional<OpenDevice> device_of(const Json& greeting, std::string& no_device) {
  if (greeting.contains("usage")) throw ConfigError(greeting.at("usage").get<std::string>());
  if (greeting.contains("no_device")) {
    no_device = greeting.at("no_device").get<std::string>();
    return std::nullopt;
  }
  return OpenDevice{device_from(greeting.at("device")), nullptr};
}

std::vector<std::string> worker_arguments(const DeviceOptions& options, int device,
                                          const Environment& variables) {
  std::vector<std::string> arguments{"--device", std::to_string(device)};
  if (!options.gated) arguments.emplace_back("--no-gate");
  for (const auto& [name, value] : variables)
    arguments.insert(arguments.end(), {"--environment", fmt::format("{}={}", name, value)});
  for (const std::string& file : options.kernel_files)
    arguments.insert(arguments.end(), {"--kernel-file", file});
  for (const std::filesystem::path& folder : options.module_folders)
    arguments.insert(arguments.end(), {"--modules", folder.string()});
  return arguments;
}
std::unique_ptr<WorkerProcess> child_worker(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "worker");
  return std::make_unique<ChildProcess>(arguments);
}

/// The ordinal of a rank's GPU: options.device for rank 0; for other ranks, options.peer if given,
/// else the machine's other GPUs in order.
int device_of_rank(int rank, const DeviceOptions& options) {
  if (rank == 0) return options.device;
  return options.peer.value_or(rank <= options.device ? rank - 1 : rank);
}

std::unique_ptr<WorkerProcess> worker_of_rank(const DeviceOptions& options, int rank,
                                              const Environment& variables) {
  JobRanks* const others = options.others;
  if (!others)
    return child_worker(worker_arguments(options, device_of_rank(rank, options), variables));
  std::vector<std::string> arguments = worker_arguments(options, options.device, variables);
  arguments.insert(arguments.end(), {"--further", std::to_string(others->local_rank(rank))});
  return rank == 0 ? child_worker(arguments) : others->start(rank, arguments);
}

/// The GPU and host in a rank's greeting. Throws DeviceError if the rank has no GPU.
RankProvenance rank_of(int rank, const std::string& text) {
  std::string no_gpu;
  try {
    const Json greeting = Json::parse(text);
    if (const auto device = device_of(greeting, no_gpu)) {
      const DeviceInfo& gpu = device->info;
      return {rank,
              greeting.at("host").get<std::string>(),
              gpu.spec.name,
              gpu.uuid,
              gpu.pci_bus_id,
              numa_node_of(gpu.pci_bus_id),
              greeting.at("processors").get<std::string>()};
    }
  } catch (const ConfigError& error) {
    no_gpu = error.what();
  }
  throw DeviceError(no_gpu, DeviceFault::refused);
}

std::optional<OpenDevice> open_remote(const DeviceOptions& options, std::string& no_device) {
  const auto owners = std::make_shared<GpuOwners>();
  MachineOptions machine;
  machine.start = [options](int rank, const Environment& variables) {
    return worker_of_rank(options, rank, variables);
  };
  machine.greeted = [owners, options](int rank, const std::string& greeting) {
    const RankProvenance place = rank_of(rank, greeting);
    owners->take(rank, *place.gpu_uuid);
    options.joined(place);
  };
  machine.launch_timeout_s = options.launch_timeout_s;
  machine.interrupted = [options] {
    if (options.others) options.others->check();
    return interrupted();
  };
  auto executor = std::make_unique<MachineExecutor>(machine);
  auto device = device_of(Json::parse(executor->greeting()), no_device);
  if (!device) return device;
  machine.greeted(0, executor->greeting());
  int& gpus = device->info.spec.machine.gpus;
  constexpr int kPair = 2;
  if (options.peer) gpus = std::min(kPair, gpus);
  // Access between the ranks' memories is checked when their first problem is set up.
  if (options.others) gpus = std::min(options.others->ranks(), kMaxRanks);
  device->executor = std::move(executor);
  return device;
}

struct WorkerArguments {
  int device = 0;
  int further = 0;
  bool no_gate = false;
  std::vector<std::string> environment;  ///< NAME=VALUE
  std::vector<std::string> kernel_files;
  std::vector<std::filesystem::path> module_folders;
};

ExitCode work(const Context& context, const WorkerArguments& arguments) {
  // Set before any library that reads these variables is loaded.
  for (const std::string& variable : arguments.environment) {
    const std::size_t end = variable.find('=');
    if (end == std::string::npos)
      throw ConfigError(fmt::format("--environment {}: expected NAME=VALUE", variable));
    setenv(variable.substr(0, end).c_str(), variable.c_str() + end + 1, 1);
  }
  context.kernel_files.use_only_modules_of(arguments.module_folders);
  if (!arguments.kernel_files.empty())
    compile_first_for_device(context, ordinal_of(arguments.device, arguments.further));
  for (const std::string& file : arguments.kernel_files)
    context.kernel_files.load(file);
  Channel channel(ChildProcess::kChannelDescriptor);
  const Json greeting = greeting_of(arguments.device, arguments.further);
  try {
    channel.send(greeting.dump());
  } catch (const ChannelClosed& e) {
    throw ConfigError(fmt::format("worker: only run and verify start this command: {}", e.what()));
  }
  if (!greeting.contains("device")) return ExitCode::no_device;
  const DeviceInfo info = device_from(greeting.at("device"));
  const auto tracer = make_nvtx_tracer();
  serve(
      channel, context.registry,
      [&] { return make_cuda_executor(info.index, info.spec, {!arguments.no_gate}); }, *tracer);
  // Skips destructors, which can block on a broken context or a kernel that never ends.
  std::_Exit(0);
}

constexpr const char* kDebugger = "a debugger";

bool is_debugged() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    constexpr std::string_view kTracer = "TracerPid:";
    if (line.rfind(kTracer, 0) == 0) return std::atoi(line.c_str() + kTracer.size()) != 0;
  }
  return false;
}

}  // namespace

void use_kernel_files(DeviceOptions& options, const own::OwnFiles& files) {
  options.kernel_files = files.paths();
  options.module_folders = files.module_folders();
}

std::optional<OpenDevice> open_device(const DeviceOptions& options, std::string& no_device) {
  if (options.isolated) return open_remote(options, no_device);
  auto device = device_of(greeting_of(options.device, 0), no_device);
  if (device) {
    device->executor = make_cuda_executor(options.device, device->info.spec, {options.gated});
    device->info.spec.machine.gpus = 1;  // without isolation, this process cannot use other GPUs
  }
  return device;
}

std::string attached_tool() {
  // Environment variables that CUDA 13.0's tools set in the processes that they start.
  constexpr std::array<std::pair<const char*, const char*>, 5> kMarks{
      {{"NV_COMPUTE_PROFILER_PERFWORKS_DIR", "Nsight Compute"},
       {"NSYS_PROFILING_SESSION_ID", "Nsight Systems"},
       {"NV_SANITIZER_INJECTION_TRANSPORT_TYPE", "Compute Sanitizer"},
       {"CUDA_INJECTION64_PATH", "an injected library"},
       {"NVTX_INJECTION64_PATH", "an injected library"}}};
  for (const auto& [variable, tool] : kMarks) {
    if (const char* value = std::getenv(variable); value && *value) return tool;
  }
  return is_debugged() ? kDebugger : "";
}

void adapt_to_attached_tool(DeviceOptions& options, bool spans_gpus, bool quiet) {
  const std::string tool = attached_tool();
  if (tool.empty()) return;
  if (!spans_gpus || tool == kDebugger) options.isolated = false;
  options.gated = false;
  if (quiet) return;
  fmt::print(stderr, "gpuexp: {} is attached: running with {}--no-gate\n", tool,
             options.isolated ? "" : "--no-isolate and ");
}

void add_worker(Command& app, Context& context) {
  Command* command = app.add_subcommand("worker", "owns the GPU for run and verify");
  command->group("");
  auto arguments = std::make_shared<WorkerArguments>();
  command->add_option("--device", arguments->device, "ordinal of the GPU");
  command->add_option("--further", arguments->further,
                      "offset added to --device, if this process sees several GPUs");
  command->add_flag("--no-gate", arguments->no_gate, "the same as for run");
  command->add_option("--environment", arguments->environment,
                      "NAME=VALUE to set before libraries are loaded");
  command->add_option("--kernel-file", arguments->kernel_files, "file with a user's kernels");
  command->add_option("--modules", arguments->module_folders,
                      "folder with the machine code of these files");
  on_chosen(*command, context, [&context, arguments] { return work(context, *arguments); });
}

}  // namespace gpuexp::cli
