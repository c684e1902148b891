#include "compile/instantiation.hpp"

#include <fmt/format.h>

#include "base/demangled_name.hpp"

namespace gpuexp {

namespace {

constexpr const char* kMarker = "gpuexp_instantiation";

}  // namespace

// The address of a function template's instantiation instantiates it. #line attributes errors to
// the line that requests the instantiation.
std::string instantiating_text(const Instantiation& instantiation,
                               const std::filesystem::path& source) {
  return fmt::format(
      "#include \"{0}\"\n"
      "template <class GpuexpKernel, GpuexpKernel kGpuexpKernel> __global__ void {1}() {{}}\n"
      "#line {2} \"{0}\"\n"
      "template __global__ void {1}<decltype(&{3}), &{3}>();\n",
      source.string(), kMarker, instantiation.line, instantiation.text());
}

// Names are compared after demangling: in lowered names, abbreviations of repeated parts depend on
// what precedes them. The marker's name ends in ", &(void sgemm<64>(float const*))>()".
const KernelResource* instantiated_kernel(const CubinKernels& kernels) {
  std::string marker;
  for (const auto& [lowered_name, row] : kernels.rows()) {
    if (lowered_name.starts_with("_Z") && lowered_name.find(kMarker) != std::string::npos)
      marker = demangled_name(lowered_name);
  }
  for (const auto& [lowered_name, row] : kernels.rows()) {
    if (marker.ends_with(fmt::format(", &({})>()", demangled_name(lowered_name)))) return &row;
  }
  return nullptr;
}

}  // namespace gpuexp
