#include "gpu/cublas.hpp"

#if __has_include(<cublas_v2.h>)
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string_view>

#include <cublas_v2.h>
#include <cuda_fp16.h>

#include "gpu/column_major.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/current_device.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp::cublas {
namespace {

// The header declares two overloads of cublasGemmEx, so its type cannot be taken with decltype.
using GemmEx = cublasStatus_t(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n,
                              int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                              const void* b, cudaDataType b_type, int ldb, const void* beta,
                              void* c, cudaDataType c_type, int ldc, cublasComputeType_t,
                              cublasGemmAlgo_t);

// The entry points used here have had one signature since cuBLAS 11.4.
struct Library : LoadedLibrary {
  Library() : LoadedLibrary("cuBLAS", {"libcublas.so.13", "libcublas.so.12", "libcublas.so"}) {}

  GPUEXP_LIBRARY_FUNCTION(create, cublasCreate_v2);
  GPUEXP_LIBRARY_FUNCTION(set_stream, cublasSetStream_v2);
  GPUEXP_LIBRARY_FUNCTION(set_math_mode, cublasSetMathMode);
  GPUEXP_LIBRARY_FUNCTION(set_sm_count, cublasSetSmCountTarget);
  GPUEXP_LIBRARY_FUNCTION(status_name, cublasGetStatusName);
  GPUEXP_LIBRARY_FUNCTION(status_string, cublasGetStatusString);
  LibraryFunction<GemmEx*> gemm_ex{*this, "cublasGemmEx"};
  GPUEXP_LIBRARY_FUNCTION(sgeam, cublasSgeam);
  GPUEXP_LIBRARY_FUNCTION(sgemv, cublasSgemv_v2);
};

const Library& library() {
  return loaded<Library>();
}

[[noreturn]] void refuse(const std::string& what) {
  throw DeviceError(what, DeviceFault::refused);
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  refuse(std::string(call) + ": " + library().status_name(status) + " (" +
         library().status_string(status) + ")");
}

void create(cublasHandle_t* handle) {
  check(library().create(handle), "cublasCreate");
  // Without this mode, cuBLAS may sum the partial products of a split depth in fp16 or bf16,
  // although Compute::fp32 means accumulation in fp32.
  const int mode = CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  check(library().set_math_mode(*handle, static_cast<cublasMath_t>(mode)), "cublasSetMathMode");
}

cudaDataType cuda_type(DataType type) {
  switch (type) {
    case DataType::fp32: return CUDA_R_32F;
    case DataType::fp16: return CUDA_R_16F;
    case DataType::bf16: return CUDA_R_16BF;
    default:
      refuse("cublasGemmEx: " + std::string(name_of(type)) +
             " is not supported; expected fp32, fp16 or bf16");
  }
}

cublasComputeType_t compute_type(Compute compute) {
  switch (compute) {
    case Compute::fp32: return CUBLAS_COMPUTE_32F;  // without TF32 in the default math mode
    case Compute::tf32: return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Compute::fp16: return CUBLAS_COMPUTE_16F;
  }
  throw std::logic_error("a cublas::Compute without a name");
}

/// Throws DeviceError if an environment variable changes the precision of a product of fp32 inputs.
void require_requested_precision(const Gemm& gemm) {
  const auto refuse_unless = [](const char* variable, std::string_view allowed) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0' || value == allowed) return;
    refuse(std::string(variable) + "=" + value +
           " changes the precision of this product; unset it or set it to " + std::string(allowed));
  };
  if (gemm.input != DataType::fp32) return;
  refuse_unless("NVIDIA_TF32_OVERRIDE", gemm.compute == Compute::tf32 ? "1" : "0");
  if (gemm.compute == Compute::fp32) refuse_unless("CUBLAS_EMULATE_SINGLE_PRECISION", "0");
}

int to_int(std::int64_t value, const char* name) {
  if (value < 1 || value > std::numeric_limits<int>::max()) {
    refuse(std::string("cuBLAS: ") + name + " = " + std::to_string(value) +
           " is outside 1 to 2147483647");
  }
  return static_cast<int>(value);
}

DeviceHandles<cublasHandle_t> handles;

/// Calls `call` with the device's handle, bound to the stream.
template <class Call>
void with_handle(int device, Stream stream, Call call) {
  library().require();
  handles.use(device, create, [&](cublasHandle_t handle) {
    check(library().set_stream(handle, stream), "cublasSetStream");
    call(handle);
  });
}

void enqueue(const Gemm& g, int device, Stream stream) {
  require_requested_precision(g);
  const ColumnMajorProduct by_columns = column_major(g.m, g.n, g.k);
  const int rows = to_int(by_columns.rows, "n");
  const int columns = to_int(by_columns.columns, "m");
  const int depth = to_int(by_columns.depth, "k");
  const auto pitch = [](std::int64_t given, int row_length) {
    return given == 0 ? row_length : to_int(given, "a pitch");
  };
  const cudaDataType input = cuda_type(g.input);
  const cudaDataType output = cuda_type(g.output);

  // cuBLAS reads alpha and beta in the compute type.
  const float one = 1.0f;
  const float zero = 0.0f;
  const __half half_one = __float2half(one);
  const __half half_zero = __float2half(zero);
  const bool half = g.compute == Compute::fp16;
  const void* alpha = half ? static_cast<const void*>(&half_one) : &one;
  const void* beta = half ? static_cast<const void*>(&half_zero) : &zero;

  with_handle(device, stream, [&](cublasHandle_t handle) {
    check(library().set_sm_count(handle, g.sm_count), "cublasSetSmCountTarget");
    const auto of_b = g.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    const auto of_a = g.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
    check(library().gemm_ex(handle, of_b, of_a, rows, columns, depth, alpha, g.b, input,
                            pitch(g.b_pitch, g.b_transposed ? depth : rows), g.a, input,
                            pitch(g.a_pitch, g.a_transposed ? columns : depth), beta, g.c, output,
                            pitch(g.c_pitch, rows), compute_type(g.compute), CUBLAS_GEMM_DEFAULT),
          "cublasGemmEx");
  });
}

void enqueue(const Transpose& t, int device, Stream stream) {
  const int rows = to_int(t.rows, "rows");
  const int columns = to_int(t.columns, "columns");
  const float one = 1.0f;
  const float zero = 0.0f;
  auto* const out = static_cast<float*>(t.out);
  with_handle(device, stream, [&](cublasHandle_t handle) {
    // In column-major order, `in` is columns × rows and `out` is rows × columns. cuBLAS does not
    // read the second operand, whose factor is 0; passing `out` there is geam's in-place mode.
    check(library().sgeam(handle, CUBLAS_OP_T, CUBLAS_OP_N, rows, columns, &one,
                          static_cast<const float*>(t.in), columns, &zero, out, rows, out, rows),
          "cublasSgeam");
  });
}

void enqueue(const Gemv& g, int device, Stream stream) {
  const int rows = to_int(g.rows, "rows");
  const int columns = to_int(g.columns, "columns");
  const float one = 1.0f;
  const float zero = 0.0f;
  with_handle(device, stream, [&](cublasHandle_t handle) {
    // In column-major order, the row-major A is its transpose.
    check(library().sgemv(handle, CUBLAS_OP_N, columns, rows, &one, g.a, columns, g.x, 1, &zero,
                          g.out, 1),
          "cublasSgemv");
  });
}

}  // namespace

std::optional<std::string> unavailable() {
  return missing_without_loading<Library>();
}

Steps step_of(const Gemm& gemm) {
  return OpaqueStep{"cuBLAS gemm",
                    [gemm](Stream stream, int device) { enqueue(gemm, device, stream); }};
}

Steps step_of(const Transpose& transpose) {
  return OpaqueStep{"cuBLAS geam",
                    [transpose](Stream stream, int device) { enqueue(transpose, device, stream); }};
}

Steps step_of(const Gemv& gemv) {
  return OpaqueStep{"cuBLAS gemv",
                    [gemv](Stream stream, int device) { enqueue(gemv, device, stream); }};
}

}  // namespace gpuexp::cublas

#else

#include <stdexcept>

namespace gpuexp::cublas {

std::optional<std::string> unavailable() {
  return "built without cublas_v2.h";
}

Steps step_of(const Gemm&) {
  throw std::runtime_error(*unavailable());
}

Steps step_of(const Transpose&) {
  throw std::runtime_error(*unavailable());
}

Steps step_of(const Gemv&) {
  throw std::runtime_error(*unavailable());
}

}  // namespace gpuexp::cublas

#endif
