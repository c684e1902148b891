#include "gpu/cublas_lt.hpp"

#if __has_include(<cublasLt.h>)
#include <algorithm>
#include <memory>

#include <cublasLt.h>

#include "gpu/column_major.hpp"
#include "gpu/current_device.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp::cublas_lt {
namespace {

// The entry points used here have had one signature since cuBLAS 11.4.
struct Library : LoadedLibrary {
  Library()
      : LoadedLibrary("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}) {}

  GPUEXP_LIBRARY_FUNCTION(create, cublasLtCreate);
  GPUEXP_LIBRARY_FUNCTION(status_name, cublasLtGetStatusName);
  GPUEXP_LIBRARY_FUNCTION(status_string, cublasLtGetStatusString);
  GPUEXP_LIBRARY_FUNCTION(create_layout, cublasLtMatrixLayoutCreate);
  GPUEXP_LIBRARY_FUNCTION(destroy_layout, cublasLtMatrixLayoutDestroy);
  GPUEXP_LIBRARY_FUNCTION(create_operation, cublasLtMatmulDescCreate);
  GPUEXP_LIBRARY_FUNCTION(destroy_operation, cublasLtMatmulDescDestroy);
  GPUEXP_LIBRARY_FUNCTION(set_operation, cublasLtMatmulDescSetAttribute);
  GPUEXP_LIBRARY_FUNCTION(create_preference, cublasLtMatmulPreferenceCreate);
  GPUEXP_LIBRARY_FUNCTION(destroy_preference, cublasLtMatmulPreferenceDestroy);
  GPUEXP_LIBRARY_FUNCTION(set_preference, cublasLtMatmulPreferenceSetAttribute);
  GPUEXP_LIBRARY_FUNCTION(heuristic, cublasLtMatmulAlgoGetHeuristic);
  GPUEXP_LIBRARY_FUNCTION(matmul, cublasLtMatmul);
};

const Library& api() {
  return loaded<Library>();
}

[[noreturn]] void refuse(const std::string& what) {
  throw DeviceError(what, DeviceFault::refused);
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  refuse(std::string(call) + ": " + api().status_name(status) + " (" + api().status_string(status) +
         ")");
}

cudaDataType cuda_type(DataType type) {
  switch (type) {
    case DataType::fp16: return CUDA_R_16F;
    case DataType::bf16: return CUDA_R_16BF;
    default:
      refuse("cublasLtMatmul: " + std::string(name_of(type)) +
             " is not supported; expected fp16 or bf16");
  }
}

/// Alignment passed to the heuristics: the largest power of two that divides the address, at
/// most 256 bytes. The heuristics ignore larger alignments.
std::uint32_t alignment_of(const void* pointer) {
  constexpr std::uintptr_t kMax = 256;
  const auto address = reinterpret_cast<std::uintptr_t>(pointer) | kMax;
  return static_cast<std::uint32_t>(address & (~address + 1));
}

template <class Opaque>
using Descriptor = std::unique_ptr<Opaque, cublasStatus_t (*)(Opaque*)>;
using Layout = Descriptor<cublasLtMatrixLayoutOpaque_t>;
using Operation = Descriptor<cublasLtMatmulDescOpaque_t>;
using Preference = Descriptor<cublasLtMatmulPreferenceOpaque_t>;

Layout make_layout(DataType type, std::int64_t rows, std::int64_t columns) {
  cublasLtMatrixLayout_t layout = nullptr;
  check(api().create_layout(&layout, cuda_type(type), static_cast<std::uint64_t>(rows),
                            static_cast<std::uint64_t>(columns), rows),
        "cublasLtMatrixLayoutCreate");
  return {layout, api().destroy_layout};
}

Operation make_operation(const GemmBiasGelu& g) {
  cublasLtMatmulDesc_t operation = nullptr;
  check(api().create_operation(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
        "cublasLtMatmulDescCreate");
  Operation owned{operation, api().destroy_operation};
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check(api().set_operation(operation, attribute, &value, sizeof(value)),
          "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_GELU_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, g.bias);
  return owned;
}

Preference make_preference(const GemmBiasGelu& g) {
  cublasLtMatmulPreference_t preference = nullptr;
  check(api().create_preference(&preference), "cublasLtMatmulPreferenceCreate");
  Preference owned{preference, api().destroy_preference};
  const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    check(api().set_preference(preference, attribute, &value, sizeof(value)),
          "cublasLtMatmulPreferenceSetAttribute");
  };
  set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(g.workspace_bytes));
  // Without this mask, cuBLASLt may sum partial products of a split depth in the output type, fp16
  // or bf16.
  set(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
  const std::uint32_t of_result = std::min(alignment_of(g.d), alignment_of(g.bias));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(g.b));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(g.a));
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, of_result);
  set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, of_result);
  return owned;
}

class Plan {
 public:
  Plan(const GemmBiasGelu& product, cublasLtHandle_t handle)
      : Plan(product, column_major(product.m, product.n, product.k), handle) {}

  void enqueue(Stream stream) const {
    const float one = 1.0f;
    const float zero = 0.0f;
    check(api().matmul(handle_, operation_.get(), &one, product_.b, first_.get(), product_.a,
                       second_.get(), &zero, product_.d, result_.get(), product_.d, result_.get(),
                       &algorithm_, product_.workspace,
                       static_cast<std::size_t>(product_.workspace_bytes), stream),
          "cublasLtMatmul");
  }

 private:
  Plan(const GemmBiasGelu& g, const ColumnMajorProduct& by_columns, cublasLtHandle_t handle)
      : product_(g),
        handle_(handle),
        operation_(make_operation(g)),
        first_(make_layout(g.type, by_columns.rows, by_columns.depth)),
        second_(make_layout(g.type, by_columns.depth, by_columns.columns)),
        result_(make_layout(g.type, by_columns.rows, by_columns.columns)) {
    const Preference preference = make_preference(g);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    check(api().heuristic(handle, operation_.get(), first_.get(), second_.get(), result_.get(),
                          result_.get(), preference.get(), 1, &found, &count),
          "cublasLtMatmulAlgoGetHeuristic");
    if (count == 0) refuse("cublasLtMatmulAlgoGetHeuristic: no kernel for this product");
    check(found.state, "cublasLtMatmulAlgoGetHeuristic");
    algorithm_ = found.algo;
  }

  GemmBiasGelu product_;
  cublasLtHandle_t handle_;
  Operation operation_;
  Layout first_, second_, result_;
  cublasLtMatmulAlgo_t algorithm_{};
};

}  // namespace

std::optional<std::string> unavailable() {
  return missing_without_loading<Library>();
}

Steps step_of(const GemmBiasGelu& product) {
  return OpaqueStep{"cuBLASLt matmul", [product, plan = std::make_shared<std::optional<Plan>>()](
                                           Stream stream, int device) {
                      static DeviceHandles<cublasLtHandle_t> handles;
                      api().require();
                      const auto create = [](cublasLtHandle_t* handle) {
                        check(api().create(handle), "cublasLtCreate");
                      };
                      handles.use(device, create, [&](cublasLtHandle_t handle) {
                        if (!*plan) plan->emplace(product, handle);
                        (*plan)->enqueue(stream);
                      });
                    }};
}

}  // namespace gpuexp::cublas_lt

#else

#include <stdexcept>

namespace gpuexp::cublas_lt {

std::optional<std::string> unavailable() {
  return "built without cublasLt.h";
}

Steps step_of(const GemmBiasGelu&) {
  throw std::runtime_error(*unavailable());
}

}  // namespace gpuexp::cublas_lt

#endif
