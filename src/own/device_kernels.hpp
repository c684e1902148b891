// Steps that fill buffers and evaluate checks: as kernels of this program on a GPU, as host loops
// in the simulator.
#pragma once

#include "family/family.hpp"
#include "own/check_program.hpp"
#include "own/fill_program.hpp"

namespace gpuexp::own {

struct CompiledCheck;

/// Host stubs of the kernels, which gpu/own_kernels.cu sets. Null in a build without CUDA, where no
/// GPU launches them.
struct DeviceKernels {
  const void* fill = nullptr;   ///< (void* to, std::int64_t count, FillProgram)
  const void* check = nullptr;  ///< (double* value, double* magnitude, std::int64_t count,
                                ///< ElementDraw, CheckProgram)
  const void* check_by_block =
      nullptr;  ///< the same, with a block of kSumParts threads per element
  /// (const void* data, DataType, std::int64_t count, double* largest): raises *largest, a number
  /// of at least 0, to the largest finite magnitude of an element
  const void* largest = nullptr;
  /// (const void* data, DataType, std::int64_t count, double* value, double* magnitude): converts
  /// the elements, and copies magnitude[0] to the other magnitudes
  const void* values = nullptr;
};
DeviceKernels& device_kernels();

/// Fills `count` elements of the type at `to`.
Steps fill_step(void* to, std::int64_t count, const FillProgram& fill);

/// The expected values are the `count` elements of the type at `data`, which may be `to.value`. All
/// have one magnitude: the largest finite magnitude of an element.
Steps values_step(const ReferenceView& to, std::int64_t count, const void* data, DataType type);

/// Computes the drawn elements of an output with `count` elements, and their magnitudes. The host
/// loop keeps values of shared sums (own/host_evaluation.hpp), so the check's inputs must not
/// change between its calls.
Steps check_step(const ReferenceView& to, std::int64_t count, const CompiledCheck& check);

}  // namespace gpuexp::own
