#include "compile/compiled_module.hpp"

#include <utility>

namespace gpuexp {

CompiledModule::CompiledModule(Parts parts)
    : parts_(std::move(parts)), kernels_(parts_.dump, parts_.source.parent_path().string()) {}

}  // namespace gpuexp
