#include <sstream>

#include "base/matrix_market.hpp"
#include "fuzz/promises.hpp"

namespace gpuexp::fuzz {

namespace {

constexpr const char* kName = "fuzz.mtx";
constexpr std::int64_t kMaxRows = 1 << 16;  // a header may declare gigabytes

template <class T>
bool in_range(const std::vector<T>& values, std::int64_t end) {
  for (const T value : values) {
    if (value < 0 || value >= end) return false;
  }
  return true;
}

void check_rows(const MatrixMarket& m) {
  require(m.offsets.size() == static_cast<std::size_t>(m.header.rows) + 1,
          "each row has an offset");
  require(m.offsets.front() == 0 && m.offsets.back() == m.header.nonzeros(),
          "the rows contain all nonzeros");
  for (std::size_t row = 0; row + 1 < m.offsets.size(); ++row) {
    require(m.offsets[row] <= m.offsets[row + 1], "rows follow each other");
    for (auto i = static_cast<std::size_t>(m.offsets[row]);
         i < static_cast<std::size_t>(m.offsets[row + 1]); ++i) {
      require(static_cast<std::size_t>(m.row_of[i]) == row, "a nonzero knows its row");
      require(i == static_cast<std::size_t>(m.offsets[row]) || m.columns[i - 1] <= m.columns[i],
              "columns ascend");
    }
  }
}

}  // namespace

void fuzz_matrix(std::string_view text) {
  std::istringstream header_in{std::string(text)};
  const MatrixMarketHeader header = read_matrix_market_header(header_in, kName);
  if (header.rows > kMaxRows || header.columns > kMaxRows) return;
  std::istringstream in{std::string(text)};
  try {
    const MatrixMarket m = read_matrix_market(in, kName);
    require(header.error.empty() && m.header.nonzeros() == header.nonzeros(),
            "the header gives the size of the matrix");
    require(m.columns.size() == static_cast<std::size_t>(header.nonzeros()) &&
                m.values.size() == m.columns.size() && m.row_of.size() == m.columns.size(),
            "each nonzero has a row, a column and a value");
    require(in_range(m.columns, header.columns), "columns are those of the matrix");
    check_rows(m);
  } catch (const std::runtime_error& error) {
    check_message(error, kName);
  }
}

}  // namespace gpuexp::fuzz
