// Reads sparse matrices in the Matrix Market exchange format (Boisvert, Pozo, Remington, NISTIR
// 5935, 1996): coordinate matrices with real, integer or pattern entries that are general,
// symmetric or skew-symmetric. C++17 without CUDA headers, included by .cu files.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace gpuexp {

enum class Symmetry {
  general,
  symmetric,  ///< an entry below the diagonal also defines its mirror image above it
  skew,       ///< as `symmetric`, with the opposite sign in the mirror image and a zero diagonal
};

struct MatrixMarketHeader {
  std::string error;  ///< why the file is rejected; empty if it is valid
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;
  bool is_pattern = false;  ///< entries have no value; each value is 1
  bool is_integer = false;
  Symmetry symmetry = Symmetry::general;
  /// Number of diagonal entries of a symmetric matrix, which have no mirror image. The file's
  /// header lacks this number, so read_matrix_market_header() counts them in the entries.
  std::int64_t on_diagonal = 0;

  std::int64_t nonzeros() const {
    return symmetry == Symmetry::general ? entries : 2 * entries - on_diagonal;
  }
};

/// Entries by row, with ascending columns, in fp32. Duplicate entries are kept.
struct MatrixMarket {
  MatrixMarketHeader header;
  std::vector<std::int32_t> offsets;  ///< rows + 1 elements
  std::vector<std::int32_t> columns;
  std::vector<std::int32_t> row_of;
  std::vector<float> values;
};

constexpr std::int64_t kMaxMatrixMarketRows = std::int64_t{1} << 27;  ///< and columns
constexpr std::int64_t kMaxMatrixMarketNonzeros = std::int64_t{1} << 30;

/// `name` is the file's name for error messages.
MatrixMarketHeader read_matrix_market_header(std::istream& in, const std::string& name);
/// Reads the whole stream. Throws InputError if the file is invalid or contradicts its header, or
/// if the sum of a row's absolute values exceeds the range of fp32.
MatrixMarket read_matrix_market(std::istream& in, const std::string& name);

/// The header of a file; the first call for a file reads it.
const MatrixMarketHeader& matrix_market_header(const std::string& file);
/// The matrix of a file. The last matrix is cached; callers share its ownership, because another
/// thread may read another file meanwhile. Throws like read_matrix_market(), and if the file's
/// bytes differ from the plan (input_file.hpp) or from the header that was read first.
std::shared_ptr<const MatrixMarket> matrix_market(const std::string& file);

}  // namespace gpuexp
