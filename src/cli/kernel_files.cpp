#include "cli/kernel_files.hpp"

#include "cli/figure_models.hpp"

namespace gpuexp::cli {

SourceCompiler kernel_compiler() {
  return {ToolkitTools::found(), cache_folder("modules")};
}

}  // namespace gpuexp::cli
