#include "cli/kernel_files.hpp"

#include "cli/app.hpp"
#include "cli/figure_models.hpp"

namespace gpuexp::cli {

SourceCompiler kernel_compiler() {
  ToolLimits limits;
  limits.interrupted = interrupted;
  SourceCompiler compiler(ToolkitTools::found(), cache_folder("modules"), limits);
  compiler.use_nvrtc("/proc/self/exe");
  return compiler;
}

}  // namespace gpuexp::cli
