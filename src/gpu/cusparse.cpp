#include "gpu/cusparse.hpp"

#if __has_include(<cusparse.h>)
#include <map>
#include <memory>
#include <mutex>

#include <cusparse.h>

#include "gpu/cuda_check.hpp"
#include "gpu/current_device.hpp"
#include "gpu/resources.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp::cusparse {
namespace {

struct SparseApi {
  decltype(&cusparseCreate) create = nullptr;
  decltype(&cusparseSetStream) set_stream = nullptr;
  decltype(&cusparseGetErrorString) error_string = nullptr;
  decltype(&cusparseCreateCsr) create_csr = nullptr;
  decltype(&cusparseDestroySpMat) destroy_matrix = nullptr;
  decltype(&cusparseCreateDnVec) create_vector = nullptr;
  decltype(&cusparseDestroyDnVec) destroy_vector = nullptr;
  decltype(&cusparseSpMV_bufferSize) buffer_size = nullptr;
  decltype(&cusparseSpMV_preprocess) preprocess = nullptr;
  decltype(&cusparseSpMV) spmv = nullptr;
};

struct SparseLibrary {
  // cuSPARSE needs nvJitLink, which lies in another folder of site-packages: the loader takes the
  // one that is loaded already.
  LoadedLibrary jit_link{"nvJitLink", {"libnvJitLink.so.13", "libnvJitLink.so.12"}};
  LoadedLibrary loaded{"cuSPARSE", {"libcusparse.so.12", "libcusparse.so"}};
  SparseApi api;

  SparseLibrary() {
    loaded.resolve(api.create, "cusparseCreate");
    loaded.resolve(api.set_stream, "cusparseSetStream");
    loaded.resolve(api.error_string, "cusparseGetErrorString");
    loaded.resolve(api.create_csr, "cusparseCreateCsr");
    loaded.resolve(api.destroy_matrix, "cusparseDestroySpMat");
    loaded.resolve(api.create_vector, "cusparseCreateDnVec");
    loaded.resolve(api.destroy_vector, "cusparseDestroyDnVec");
    loaded.resolve(api.buffer_size, "cusparseSpMV_bufferSize");
    loaded.resolve(api.preprocess, "cusparseSpMV_preprocess");
    loaded.resolve(api.spmv, "cusparseSpMV");
  }
};

const SparseLibrary& sparse_library() {
  static const SparseLibrary kLoaded;
  return kLoaded;
}

std::optional<std::string> sparse_missing() {
  return sparse_library().loaded.missing();
}

void check_sparse(cusparseStatus_t status, const char* call) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  throw DeviceError(std::string(call) + ": " + sparse_library().api.error_string(status),
                    DeviceFault::refused);
}

/// The device's handle, created on first use on the current device. Never destroyed: at static
/// destruction the driver may be gone already.
cusparseHandle_t sparse_handle_of(int device) {
  static std::map<int, cusparseHandle_t> handles;
  const auto found = handles.find(device);
  if (found != handles.end()) return found->second;
  cusparseHandle_t handle = nullptr;
  check_sparse(sparse_library().api.create(&handle), "cusparseCreate");
  handles.emplace(device, handle);
  return handle;
}

// A handle carries its stream, so two threads must not share it at once.
std::mutex sparse_handle_mutex;

cusparseSpMVAlg_t algorithm_of(Algorithm algorithm) {
  return algorithm == Algorithm::csr_alg1 ? CUSPARSE_SPMV_CSR_ALG1 : CUSPARSE_SPMV_CSR_ALG2;
}

/// What stays of a product between two calls.
class PreparedSpMV {
 public:
  explicit PreparedSpMV(const SpMV& s) : algorithm_(algorithm_of(s.algorithm)) {
    const SparseApi& api = sparse_library().api;
    check_sparse(api.create_csr(&matrix_, s.rows, s.columns, s.nonzeros, s.row_offsets,
                                s.column_indices, s.values, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F),
                 "cusparseCreateCsr");
    check_sparse(api.create_vector(&x_, s.columns, s.x, CUDA_R_32F), "cusparseCreateDnVec");
    check_sparse(api.create_vector(&y_, s.rows, s.y, CUDA_R_32F), "cusparseCreateDnVec");
  }
  ~PreparedSpMV() {
    const SparseApi& api = sparse_library().api;
    if (matrix_) api.destroy_matrix(matrix_);
    if (x_) api.destroy_vector(x_);
    if (y_) api.destroy_vector(y_);
  }
  PreparedSpMV(const PreparedSpMV&) = delete;
  PreparedSpMV& operator=(const PreparedSpMV&) = delete;

  /// On a stream of its own, which a capture of the step's does not see.
  void preprocess(cusparseHandle_t handle) {
    const SparseApi& api = sparse_library().api;
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
    const SparseApi& api = sparse_library().api;
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
  static const std::optional<std::string> kMissing = found_without_loading(&sparse_missing);
  return kMissing;
}

Steps step_of(const SpMV& spmv) {
  const auto prepared = std::make_shared<std::unique_ptr<PreparedSpMV>>();
  return OpaqueStep{"cuSPARSE SpMV", [spmv, prepared](Stream stream, int device) {
                      if (sparse_missing())
                        throw DeviceError(*sparse_missing(), DeviceFault::refused);
                      const std::lock_guard lock(sparse_handle_mutex);
                      const CurrentDevice current(device);
                      const cusparseHandle_t handle = sparse_handle_of(device);
                      if (!*prepared) {
                        auto made = std::make_unique<PreparedSpMV>(spmv);
                        made->preprocess(handle);
                        *prepared = std::move(made);
                      }
                      (*prepared)->enqueue(handle, stream);
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
