#include "gpu/tensor_map_encoding.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "device/device_error.hpp"
#include "gpu/shared_library.hpp"

namespace gpuexp {

namespace {

static_assert(sizeof(CUtensorMap) == kTensorMapBytes &&
              alignof(CUtensorMap) >= kMinTensorMapAlignment);

CUtensorMapDataType type_of(DataType type) {
  switch (type) {
    case DataType::fp64: return CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
    case DataType::fp32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
    case DataType::tf32: return CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    case DataType::fp16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DataType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DataType::int32: return CU_TENSOR_MAP_DATA_TYPE_INT32;
    case DataType::uint8: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case DataType::uint16: return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case DataType::uint32: return CU_TENSOR_MAP_DATA_TYPE_UINT32;
    case DataType::uint64: break;
    case DataType::int8:  // tensor maps have no signed types of 8 and 16 bits; copies keep the bits
    case DataType::boolean: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case DataType::int16: return CU_TENSOR_MAP_DATA_TYPE_UINT16;
    case DataType::int64: return CU_TENSOR_MAP_DATA_TYPE_INT64;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT64;
}

CUtensorMapSwizzle swizzle_of(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: break;
    case Swizzle::bytes_32: return CU_TENSOR_MAP_SWIZZLE_32B;
    case Swizzle::bytes_64: return CU_TENSOR_MAP_SWIZZLE_64B;
    case Swizzle::bytes_128: return CU_TENSOR_MAP_SWIZZLE_128B;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

int swizzle_bytes(Swizzle swizzle) {
  switch (swizzle) {
    case Swizzle::none: break;
    case Swizzle::bytes_32: return 32;
    case Swizzle::bytes_64: return 64;
    case Swizzle::bytes_128: return 128;
  }
  return 0;
}

[[noreturn]] void refuse(const TensorMap& map, const std::string& why) {
  throw DeviceError(
      fmt::format("a tensor map of {} at {} (extents {}, strides {} B, box {}, swizzle {} B): {}",
                  name_of(map.type), map.base, fmt::join(map.extents, " x "),
                  fmt::join(map.strides, ", "), fmt::join(map.box, " x "),
                  swizzle_bytes(map.swizzle), why),
      DeviceFault::refused);
}

template <class To>
std::vector<To> as(const std::vector<std::int64_t>& values) {
  std::vector<To> converted;
  for (const std::int64_t value : values)
    converted.push_back(static_cast<To>(value));
  return converted;
}

}  // namespace

CUtensorMap encoded(const TensorMap& map) {
  const auto encode =
      driver_function_as<decltype(&cuTensorMapEncodeTiled)>("cuTensorMapEncodeTiled");
  if (!encode) refuse(map, "this driver has no tensor maps");
  const std::size_t rank = map.extents.size();
  if (rank == 0 || map.strides.size() + 1 != rank || map.box.size() != rank)
    refuse(map, "expected one stride fewer than extents, and as many box extents as extents");
  const bool is_negative =
      std::any_of(map.box.begin(), map.box.end(), [](auto b) { return b < 1; });
  if (is_negative) refuse(map, "the box is empty");
  CUtensorMap result;
  const std::vector<cuuint32_t> every_element(rank, 1);
  // The driver refuses a null pointer even for a map without strides.
  std::vector<cuuint64_t> strides = as<cuuint64_t>(map.strides);
  strides.push_back(0);
  const CUresult status =
      encode(&result, type_of(map.type), static_cast<cuuint32_t>(rank), const_cast<void*>(map.base),
             as<cuuint64_t>(map.extents).data(), strides.data(), as<cuuint32_t>(map.box).data(),
             every_element.data(), CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle_of(map.swizzle),
             CU_TENSOR_MAP_L2_PROMOTION_NONE,
             map.fill == OutOfBoundsFill::nan ? CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA
                                              : CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (status != CUDA_SUCCESS)
    refuse(map, fmt::format("the driver refuses it (CUresult {})", static_cast<int>(status)));
  return result;
}

}  // namespace gpuexp
