// Basic types of kernels, plans and reports. C++17 without CUDA headers, so that .cu files can
// include them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace gpuexp {

using Value = std::variant<std::int64_t, double, std::string>;

/// Shortest text that parses as the same value: 1024, 0.25, bf16.
std::string to_string(const Value& value);

/// Element types of buffers. tf32 is stored as fp32; the multiplier uses only 10 mantissa bits.
/// `boolean` is C++'s bool, a byte that is 0 or 1.
enum class DataType {
  fp64,
  fp32,
  tf32,
  fp16,
  bf16,
  int32,
  uint8,
  uint16,
  uint32,
  uint64,
  int8,
  int16,
  int64,
  boolean,
};

std::size_t size_of(DataType type);
std::string_view name_of(DataType type);

/// Unit roundoff of round-to-nearest: half the distance from 1 to the next larger number (fp32:
/// 2^-24); 0 for integers.
double unit_roundoff(DataType type);

/// The number in size_of(type) little-endian bytes. 64-bit integers are rounded to fp64.
double to_double(const unsigned char* bytes, DataType type);

/// Pipes with peak rates in datasheets. Names equal the keys of peak_tflops in
/// configs/devices/*.json. A multiply-add counts as two operations, also for int32.
enum class Pipe {
  fp64,
  fp32,
  fp16,
  int32,
  tensor_fp64,
  tensor_tf32,
  tensor_fp16_fp32,
  tensor_fp16_fp16,
  tensor_bf16_fp32,
  tensor_fp8_fp32,
  tensor_int8_int32,
};
inline constexpr int kPipeCount = 11;

std::string_view name_of(Pipe pipe);

/// Operands of tensor cores: mma.sync reads A and B from registers; wgmma reads B, and usually A,
/// from shared memory.
enum class TensorPath { mma_sync, wgmma };

struct Extent {
  std::int64_t x = 1;
  std::int64_t y = 1;
  std::int64_t z = 1;
  constexpr std::int64_t count() const { return x * y * z; }
  friend constexpr bool operator==(const Extent& a, const Extent& b) {
    return a.x == b.x && a.y == b.y && a.z == b.z;
  }
};

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace gpuexp
