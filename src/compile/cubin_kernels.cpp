#include "compile/cubin_kernels.hpp"

#include <fmt/format.h>

#include "sass/code_listing.hpp"

namespace gpuexp {

ObjectDump dump_cubin(const std::string& cubin, const std::string& architecture,
                      const std::string& name, const ToolkitTools& tools,
                      const TemporaryFolder& folder, const ToolLimits& limits) {
  const auto dumped = [&](const char* option) {
    tools.run("cuobjdump", {option, cubin}, folder, "dump", limits);
    return text_of_file(folder / "dump");
  };
  // cuobjdump prints a cubin's architecture only in the listing, which distinguishes sm_90 and
  // sm_90a.
  ObjectDump dump{name, {}, {}, {}, {}};
  dump.sass = dumped("--dump-sass");
  const std::vector<KernelCode> listed = read_code(dump.sass);
  const std::string head =
      fmt::format("arch = {}\n", listed.empty() ? architecture : listed.front().architecture);
  dump.resource_usage = head + dumped("--dump-resource-usage");
  dump.elf = head + dumped("--dump-elf");
  return dump;
}

CubinKernels::CubinKernels(const ObjectDump& dump, const std::string& source_root)
    : owned_(read_kernels(dump, source_root.empty() ? GPUEXP_SOURCE_ROOT : source_root)),
      data_(std::make_unique<const ModuleData>(read_module_data(dump.elf))),
      attributes_(kernel_attributes(dump.elf)) {
  for (const CompiledKernel& kernel : owned_) {
    KernelResource& row = rows_[kernel.lowered_name];
    row.lowered_name = kernel.lowered_name.c_str();
    row.architecture = kernel.compute_capability();
    row.registers = kernel.registers;
    row.static_shared_bytes = kernel.static_shared_bytes;
    row.local_bytes = kernel.local_bytes;
    row.stack_bytes = kernel.stack_bytes;
    row.launches_kernels = kernel.launches_kernels;
    row.instructions = kernel.instructions.c_str();
    row.code = kernel.code;
    row.module_data = data_.get();
  }
}

const KernelResource* CubinKernels::find(const std::string& lowered_name) const {
  const auto found = rows_.find(lowered_name);
  return found == rows_.end() ? nullptr : &found->second;
}

const KernelAttributes& CubinKernels::attributes(const std::string& lowered_name) const {
  static const KernelAttributes none;
  const auto found = attributes_.find(lowered_name);
  return found == attributes_.end() ? none : found->second;
}

}  // namespace gpuexp
