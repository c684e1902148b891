// Sparse matrices in files of the Matrix Market exchange format (Boisvert, Pozo, Remington, NISTIR
// 5935, 1996): coordinate matrices of real, integer or pattern entries, general, symmetric or
// skew-symmetric. C++17 and free of CUDA, included by .cu files.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

namespace gpuexp {

enum class Symmetry {
  general,
  symmetric,  ///< an entry below the diagonal stands for its mirror image, too
  skew,       ///< likewise, with the other sign; the diagonal is zero
};

/// What the first lines of a file say.
struct MatrixMarketHeader {
  std::string error;  ///< why the file is refused; else empty
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;  ///< in the file
  bool is_pattern = false;   ///< entries have no value, which stands for 1
  bool is_integer = false;   ///< values are whole numbers
  Symmetry symmetry = Symmetry::general;
  /// Entries on the diagonal of a symmetric matrix, which have no mirror image. They are counted in
  /// the rest of the file: no line of it says how many there are.
  std::int64_t on_diagonal = 0;

  /// Nonzeros of the matrix.
  std::int64_t nonzeros() const {
    return symmetry == Symmetry::general ? entries : 2 * entries - on_diagonal;
  }
};

/// Row by row, columns ascending, in fp32. Entries of the same place stay apart.
struct MatrixMarket {
  MatrixMarketHeader header;
  std::vector<std::int32_t> offsets;  ///< rows + 1
  std::vector<std::int32_t> columns;
  std::vector<std::int32_t> row_of;
  std::vector<float> values;
};

constexpr std::int64_t kMostMatrixMarketRows = std::int64_t{1} << 27;  ///< and columns
constexpr std::int64_t kMostMatrixMarketNonzeros = std::int64_t{1} << 30;

/// `name` stands for the source in errors.
MatrixMarketHeader read_matrix_market_header(std::istream& in, const std::string& name);
/// Reads to the end. Throws InputError with the line where the file is not what its header says,
/// and if fp32 does not hold the sum of a row's absolute values.
MatrixMarket read_matrix_market(std::istream& in, const std::string& name);

/// Header of a file, read on the first call.
const MatrixMarketHeader& matrix_market_header(const std::string& file);
/// Matrix of a file. The last one is kept for further calls; a caller owns its matrix also while
/// another thread reads another file. Throws as above, and if the bytes that were read are not
/// those of the plan (input_file.hpp) or of the header.
std::shared_ptr<const MatrixMarket> matrix_market(const std::string& file);

}  // namespace gpuexp
