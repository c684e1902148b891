// Cells of a variant that differ only in parameters on which the variant does not depend.
#pragma once

#include "plan/plan.hpp"

namespace gpuexp {

/// Of the cells of a variant that differ only in a parameter on which it does not depend
/// (Experiment::unused_parameters), keeps the first one that can run, for the groups from
/// `first_group` on, which are those of the last experiment. All cells remain if their kernels'
/// machine code differs, because the parameter is a macro that they use, or if no two of them can
/// run, so that this is not known. Removes empty groups, and numbers the cells again.
void join_cells(Plan& plan, std::size_t first_group, const KernelResources& resources);

/// Whether the cell's variant does the same at `values`: they are those of the cell's group, except
/// for parameters on which the variant does not depend.
bool stands_for(const Group& group, const Cell& cell, const Values& values);

}  // namespace gpuexp
