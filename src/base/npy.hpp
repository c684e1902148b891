// Reads arrays in NumPy's .npy format (NumPy manual, "numpy.lib.format"), versions 1.0 to 3.0:
// little-endian numbers in C order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "base/types.hpp"

namespace gpuexp {

/// Types of elements. NumPy has no bfloat16: the package ml_dtypes stores it as `raw16`, 2 bytes
/// without a meaning.
enum class NpyType {
  float16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
  raw16,
};

/// "float32 (<f4)".
std::string text_of(NpyType type);

std::size_t size_of(NpyType type);

/// Whether arrays of this type have the bytes of a buffer with these elements. Both uint16 and
/// raw16 may hold bfloat16.
bool has_elements_of(NpyType type, DataType elements);

/// Texts of these types.
std::vector<std::string> npy_types_of(DataType elements);

inline constexpr std::size_t kMaxNpyRank = 32;                       ///< NumPy's limit before 2.0
inline constexpr std::int64_t kMaxNpyBytes = std::int64_t{1} << 36;  ///< bytes of the elements

struct NpyHeader {
  NpyType type = NpyType::float32;
  std::vector<std::int64_t> shape;  ///< each at least 0; empty for one number

  std::int64_t count() const;  ///< number of elements; its bytes are at most kMaxNpyBytes
};

struct NpyArray {
  NpyHeader header;
  std::vector<std::byte> bytes;  ///< elements in C order (row-major)

  /// The elements as numbers. raw16 is bfloat16. 64-bit integers are rounded to fp64.
  std::vector<double> numbers() const;
};

/// `name` is the file's name for error messages. Throws InputError if the text is not a header of
/// this format, or is one of an array that is not supported.
NpyHeader read_npy_header(std::istream& in, const std::string& name);

/// Reads the whole stream. Throws InputError also if there are fewer or more bytes than the header
/// announces.
NpyArray read_npy(std::istream& in, const std::string& name);

}  // namespace gpuexp
