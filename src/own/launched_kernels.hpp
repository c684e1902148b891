// The kernels that a declaration launches: at which values of the parameters the file is compiled,
// and with which parameters.
#pragma once

#include <memory>
#include <vector>

#include "own/binding.hpp"
#include "own/declaration.hpp"
#include "own/own_modules.hpp"

namespace gpuexp::own {

/// Compiles each launched kernel for the first of the compute capabilities and of the declared
/// values that it compiles for: values that meet the requirements, or the first values if none do.
/// Parameter names and types are those of this compilation. A kernel of which none compiles has no
/// code (OwnKernel::has_code), unless the reference launches it. Throws InputError with the
/// compiler's errors if no kernel compiles, or not that of the reference; DeclarationError; and
/// what OwnModules throws.
std::vector<OwnKernel> launched_kernels(const Declaration& declaration, std::string_view source,
                                        const std::shared_ptr<OwnModules>& modules,
                                        const std::vector<int>& compute_capabilities);

}  // namespace gpuexp::own
