#include "gpu/cusparse.hpp"

#if __has_include(<cusparse.h>)
#include <memory>

#include <cusparse.h>

#include "gpu/cuda_check.hpp"
#include "gpu/current_device.hpp"
#include "gpu/resources.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp::cusparse {
namespace {

// Loads nvJitLink first, which cuSPARSE needs and which wheels install in another directory: the
// loader then uses the loaded copy.
LoadedLibrary after_jit_link() {
  const LoadedLibrary jit_link("nvJitLink", {"libnvJitLink.so.13", "libnvJitLink.so.12"});
  return {"cuSPARSE", {"libcusparse.so.12", "libcusparse.so"}};
}

struct SparseLibrary : LoadedLibrary {
  SparseLibrary() : LoadedLibrary(after_jit_link()) {}

  GPUEXP_LIBRARY_FUNCTION(create, cusparseCreate);
  GPUEXP_LIBRARY_FUNCTION(set_stream, cusparseSetStream);
  GPUEXP_LIBRARY_FUNCTION(error_string, cusparseGetErrorString);
  GPUEXP_LIBRARY_FUNCTION(create_csr, cusparseCreateCsr);
  GPUEXP_LIBRARY_FUNCTION(destroy_matrix, cusparseDestroySpMat);
  GPUEXP_LIBRARY_FUNCTION(create_vector, cusparseCreateDnVec);
  GPUEXP_LIBRARY_FUNCTION(destroy_vector, cusparseDestroyDnVec);
  GPUEXP_LIBRARY_FUNCTION(buffer_size, cusparseSpMV_bufferSize);
  GPUEXP_LIBRARY_FUNCTION(preprocess, cusparseSpMV_preprocess);
  GPUEXP_LIBRARY_FUNCTION(spmv, cusparseSpMV);
};

const SparseLibrary& sparse_library() {
  return loaded<SparseLibrary>();
}

void check_sparse(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw DeviceError(std::string(call) + ": " + sparse_library().error_string(status),
                    DeviceFault::refused);
}

void create_sparse(cusparseHandle_t* handle) {
  check_sparse(sparse_library().create(handle), "cusparseCreate");
}

cusparseSpMVAlg_t algorithm_of(Algorithm algorithm) {
  return algorithm == Algorithm::csr_alg1 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2;
}

class PreparedSpMV {
 public:
  explicit PreparedSpMV(const SpMV& s) : algorithm_(algorithm_of(s.algorithm)) {
    const SparseLibrary& api = sparse_library();
    check_sparse(api.create_csr(&matrix_, s.rows, s.columns, s.nonzeros, s.row_offsets,
                                s.column_indices, s.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
                 "cusparseCreateCsr");
    check_sparse(api.create_vector(&x_, s.columns, s.x, CUDA_R_32F), "cusparseCreateDnVec");
    check_sparse(api.create_vector(&y_, s.rows, s.y, CUDA_R_32F), "cusparseCreateDnVec");
  }
  ~PreparedSpMV() {
    const SparseLibrary& api = sparse_library();
    if (matrix_) api.destroy_matrix(matrix_);
    if (x_) api.destroy_vector(x_);
    if (y_) api.destroy_vector(y_);
  }
  PreparedSpMV(const PreparedSpMV&) = delete;
  PreparedSpMV& operator=(const PreparedSpMV&) = delete;

  /// Uses a stream of its own, so that a capture of the step's stream does not include this work.
  void preprocess(cusparseHandle_t handle) {
    const SparseLibrary& api = sparse_library();
    std::size_t bytes = 0;
    check_sparse(api.buffer_size(handle, kOperation, &kOne, matrix_, x_, &kZero, y_, CUDA_R_32F,
                                 algorithm_, &bytes),
                 "cusparseSpMV_bufferSize");
    buffer_ = DeviceMemory(static_cast<std::int64_t>(bytes));
    const CudaStream stream;
    check_sparse(api.set_stream(handle, stream.get()), "cusparseSetStream");
    check_sparse(api.preprocess(handle, kOperation, &kOne, matrix_, x_, &kZero, y_, CUDA_R_32F,
                                algorithm_, buffer_.get()),
                 "cusparseSpMV_preprocess");
    stream.synchronize();
  }
  void enqueue(cusparseHandle_t handle, Stream stream) const {
    const SparseLibrary& api = sparse_library();
    check_sparse(api.set_stream(handle, stream), "cusparseSetStream");
    check_sparse(api.spmv(handle, kOperation, &kOne, matrix_, x_, &kZero, y_, CUDA_R_32F,
                          algorithm_, buffer_.get()),
                 "cusparseSpMV");
  }

 private:
  static constexpr cusparseOperation_t kOperation = CUSPARSE_OPERATION_NON_TRANSPOSE;
  static constexpr float kOne = 1.0f;
  static constexpr float kZero = 0.0f;

  cusparseSpMVAlg_t algorithm_;
  cusparseSpMatDescr_t matrix_ = nullptr;
  cusparseDnVecDescr_t x_ = nullptr;
  cusparseDnVecDescr_t y_ = nullptr;
  DeviceMemory buffer_;
};

}  // namespace

std::optional<std::string> unavailable() {
  return missing_without_loading<SparseLibrary>();
}

Steps step_of(const SpMV& spmv) {
  const auto prepared = std::make_shared<std::unique_ptr<PreparedSpMV>>();
  return OpaqueStep{"cuSPARSE SpMV", [spmv, prepared](Stream stream, int device) {
                      static DeviceHandles<cusparseHandle_t> handles;
                      sparse_library().require();
                      handles.use(device, create_sparse, [&](cusparseHandle_t handle) {
                        if (!*prepared) {
                          auto made = std::make_unique<PreparedSpMV>(spmv);
                          made->preprocess(handle);
                          *prepared = std::move(made);
                        }
                        (*prepared)->enqueue(handle, stream);
                      });
                    }};
}

}  // namespace gpuexp::cusparse

#else

#include <stdexcept>

namespace gpuexp::cusparse {

std::optional<std::string> unavailable() {
  return "built without cusparse.h";
}

Steps step_of(const SpMV&) {
  throw std::runtime_error(*unavailable());
}

}  // namespace gpuexp::cusparse

#endif
