#include "cli/kernel_files.hpp"

#include "cli/figure_models.hpp"

namespace gpuexp::cli {

SourceCompiler kernel_compiler() {
  SourceCompiler compiler(ToolkitTools::found(), cache_folder("modules"));
  compiler.use_nvrtc("/proc/self/exe");
  return compiler;
}

}  // namespace gpuexp::cli
