#include "compile/instantiation.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/demangled_name.hpp"

namespace gpuexp {

namespace {

constexpr const char* kMarker = "gpuexp_instantiation";

/// Name of the kernel that has the address of an instantiation.
std::string marker_name(std::size_t index) {
  return index == 0 ? kMarker : fmt::format("{}_{}", kMarker, index);
}

}  // namespace

// The address of a function template's instantiation instantiates it. #line attributes errors to
// the line that requests the instantiation.
std::string instantiating_text(const std::vector<Instantiation>& instantiations,
                               const std::filesystem::path& source) {
  std::string text;
  for (std::size_t i = 0; i < instantiations.size(); ++i)
    text += fmt::format(
        "template <class GpuexpKernel, GpuexpKernel kGpuexpKernel> __global__ void {0}() {{}}\n"
        "#line {1} \"{2}\"\n"
        "template __global__ void {0}<decltype(&{3}), &{3}>();\n",
        marker_name(i), instantiations[i].line, source.string(), instantiations[i].text());
  return text;
}

// Names are compared after demangling: in lowered names, abbreviations of repeated parts depend on
// what precedes them. The marker's name ends in ", &(void sgemm<64>(float const*))>()".
const KernelResource* instantiated_kernel(const CubinKernels& kernels, std::size_t index) {
  const std::string begin = fmt::format("void {}<", marker_name(index));
  std::string marker;
  for (const auto& [lowered_name, row] : kernels.rows()) {
    if (!lowered_name.starts_with("_Z")) continue;
    if (std::string name = demangled_name(lowered_name); name.starts_with(begin))
      marker = std::move(name);
  }
  for (const auto& [lowered_name, row] : kernels.rows()) {
    if (marker.ends_with(fmt::format(", &({})>()", demangled_name(lowered_name)))) return &row;
  }
  return nullptr;
}

bool requests_instantiation(const std::string& lowered_name) {
  return lowered_name.starts_with("_Z") &&
         demangled_name(lowered_name).starts_with(fmt::format("void {}", kMarker));
}

}  // namespace gpuexp
