#include "cli/provenance.hpp"

#include <cstring>

#include <elf.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>

#include "base/host_name.hpp"
#include "base/input_file.hpp"
#include "base/sha256.hpp"
#include "base/utf8.hpp"
#include "build_info.hpp"
#include "config/config_files.hpp"
#include "config/config_keys.hpp"
#include "device/numa.hpp"
#include "gpu/nvml_state.hpp"
#include "render/ceilings_text.hpp"

namespace gpuexp::cli {

namespace {

template <class To, class From>
std::optional<To> converted(const std::optional<From>& value) {
  if (!value) return std::nullopt;
  return static_cast<To>(*value);
}

DeviceProvenance provenance_of(const DeviceInfo& device) {
  DeviceProvenance p;
  p.name = device.spec.name;
  p.executed_on = device.spec.simulated ? kSimulated : kOnGpu;
  if (!device.spec.simulated) {
    p.uuid = device.uuid;
    p.pci_bus_id = device.pci_bus_id;
  }
  p.compute_capability = fmt::format("{}.{}", device.spec.cc_major, device.spec.cc_minor);
  p.sm_count = device.spec.sm_count;
  p.driver_version = device.driver_version;
  p.runtime_version = runtime_version();
  const DeviceState now = read_device_state(device.uuid);
  p.sm_clock_mhz = converted<std::int64_t>(now.sm_clock_mhz);
  p.sm_clock_max_mhz = static_cast<std::int64_t>(device.spec.sm_clock_max_mhz);
  p.memory_clock_mhz = converted<std::int64_t>(now.memory_clock_mhz);
  p.power_limit_w = now.power_limit_w;
  p.temperature_c = converted<std::int64_t>(now.temperature_c);
  p.ecc_enabled = now.ecc_on;
  p.memory_total_bytes = device.spec.memory_bytes;
  if (device.spec.memory_bytes_per_s > 0) p.memory_bytes_per_s = device.spec.memory_bytes_per_s;
  p.memory_free_bytes = device.free_bytes;
  if (device.spec.simulated) return p;
  p.pcie_generation = converted<std::int64_t>(now.pcie_generation);
  p.pcie_width = converted<std::int64_t>(now.pcie_width);
  p.numa_node = numa_node_of(device.pci_bus_id);
  p.process_numa_nodes = numa_nodes_of_process();
  return p;
}

/// Describes the text that was compiled; the file may have changed since.
InputProvenance provenance_of_source(const std::string& file, const std::string& text,
                                     bool keeps_text) {
  InputProvenance input{file, file, static_cast<std::int64_t>(text.size()), sha256(text),
                        std::nullopt};
  if (keeps_text && is_utf8(text)) input.text = text;  // JSON would replace other bytes
  return input;
}

/// Appends the build ID of the first object to *found, for dl_iterate_phdr(). The dynamic linker
/// lists the executable first.
int find_build_id(dl_phdr_info* object, std::size_t, void* found) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE) continue;
    const auto* note = reinterpret_cast<const unsigned char*>(object->dlpi_addr + segment.p_vaddr);
    const unsigned char* const end = note + segment.p_memsz;
    const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) header;
      std::memcpy(&header, note, sizeof header);
      const unsigned char* const name = note + sizeof header;
      const unsigned char* const content = name + padded(header.n_namesz);
      if (header.n_type == NT_GNU_BUILD_ID) {
        for (std::size_t b = 0; b < header.n_descsz; ++b)
          *static_cast<std::string*>(found) += fmt::format("{:02x}", content[b]);
        return 1;
      }
      note = content + padded(header.n_descsz);
    }
  }
  return 1;
}

}  // namespace

Provenance provenance_of(const Context& context, const Plan& plan, const DeviceInfo& device,
                         std::time_t started, bool keeps_source) {
  const Config& config = *plan.config;
  Provenance p;
  p.gpuexp_version = build_info::version;
  p.git_commit = build_info::git_commit;
  p.git_dirty = build_info::git_dirty;
  p.compiler = build_info::compiler;
  p.cuda_toolkit = build_info::cuda_compiler_version;
  p.utc = utc_text(started);
  p.host = host_name();
  p.argv = context.argv;
  p.config.path = config.path;
  p.config.name = config.name;
  p.config.sha256 = config.hash;
  p.config.text = config.text;
  for (const auto& [file, text] : context.kernel_files.sources())
    p.inputs.push_back(provenance_of_source(file, text, keeps_source));
  std::vector<std::string> files = context.kernel_files.other_inputs();
  for (std::string& file : files_of(config))
    files.push_back(std::move(file));
  for (const std::string& file : files) {
    const FileIdentity input = planned_identity(file);
    p.inputs.push_back({input.name, input.path, input.bytes, input.sha256, std::nullopt});
  }
  p.settings.emplace_back("seed", std::to_string(config.seed));
  for (const Experiment& e : config.experiments) {
    for (const MeasureKey& key : kMeasureKeys) {
      p.settings.emplace_back(
          fmt::format("{}.{}", e.name, key.name),
          std::visit([&](auto member) { return Field(e.measure.*member); }, key.member));
    }
    if (!e.counters.empty())
      p.settings.emplace_back(e.name + ".counters", fmt::format("{}", fmt::join(e.counters, ",")));
  }
  p.device = provenance_of(device);
  p.ceilings = ceilings_in_force(plan.ceiling_source, device.spec);
  return p;
}

std::string build_id() {
  std::string id;
  ::dl_iterate_phdr(find_build_id, &id);
  return id;
}

}  // namespace gpuexp::cli
