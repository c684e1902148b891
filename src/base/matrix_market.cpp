#include "base/matrix_market.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

constexpr std::size_t kMostLine = 1024;  // the format's own limit

// Lines of a source, numbered.
class Lines {
 public:
  Lines(std::istream& in, std::string name) : in_(in), name_(std::move(name)) {}

  bool next() {
    if (!std::getline(in_, line_)) return false;
    ++number_;
    if (line_.size() > kMostLine) fail("is longer than 1024 characters");
    rest_ = line_;
    return true;
  }
  /// The next line that is neither empty nor a comment.
  bool next_with_content() {
    while (next()) {
      const std::size_t first = line_.find_first_not_of(" \t\r");
      if (first != std::string::npos && line_[first] != '%') return true;
    }
    return false;
  }
  /// The next word of the line; empty behind the last.
  std::string_view word() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
    const std::size_t length = std::min(rest_.find_first_of(" \t\r"), rest_.size());
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }
  std::int64_t integer(std::int64_t least, std::int64_t most, const char* what) {
    const std::string_view text = word();
    const auto value = parsed<std::int64_t>(text);
    if (!value || *value < least || *value > most)
      fail(std::string(what) + " is '" + std::string(text) + "', not a whole number from " +
           std::to_string(least) + " to " + std::to_string(most));
    return *value;
  }
  float real() {
    std::string_view text = word();
    if (text.size() > 1 && text.front() == '+') text.remove_prefix(1);
    const auto value = parsed<double>(text);
    const auto rounded = static_cast<float>(value.value_or(HUGE_VAL));
    if (!std::isfinite(rounded))
      fail("the value is '" + std::string(text) + "', not a number that fp32 has");
    return rounded;
  }
  void expect_end() {
    if (!word().empty()) fail("has more than it should");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(name_ + ":" + std::to_string(number_) + ": " + what);
  }

 private:
  std::istream& in_;
  std::string name_;
  std::string line_;
  std::string_view rest_;
  std::int64_t number_ = 0;
};

MatrixMarketHeader read_header(Lines& lines) {
  if (!lines.next() || lines.word() != "%%MatrixMarket")
    lines.fail("does not begin with %%MatrixMarket");
  const auto expect = [&](const char* what, std::initializer_list<const char*> allowed) {
    const std::string found = lower_case(lines.word());
    std::string all;
    for (const char* one : allowed) {
      if (found == one) return found;
      all += (all.empty() ? "" : ", ") + std::string(one);
    }
    lines.fail("the " + std::string(what) + " is '" + found + "'; read are: " + all);
  };
  MatrixMarketHeader header;
  expect("object", {"matrix"});
  expect("format", {"coordinate"});
  header.is_pattern = expect("field", {"real", "integer", "pattern"}) == "pattern";
  header.is_symmetric = expect("symmetry", {"general", "symmetric"}) == "symmetric";
  lines.expect_end();
  if (!lines.next_with_content()) lines.fail("ends before the line of sizes");
  header.rows = lines.integer(1, kMostMatrixMarketRows, "the number of rows");
  header.columns = lines.integer(1, kMostMatrixMarketRows, "the number of columns");
  const std::int64_t most = kMostMatrixMarketNonzeros / (header.is_symmetric ? 2 : 1);
  header.entries = lines.integer(1, most, "the number of entries");
  lines.expect_end();
  if (header.is_symmetric && header.rows != header.columns)
    lines.fail("a symmetric matrix has as many columns as rows");
  return header;
}

struct Entry {
  std::int32_t row;
  std::int32_t column;
  float value;
};

std::vector<Entry> read_entries(Lines& lines, const MatrixMarketHeader& header) {
  std::vector<Entry> entries;
  entries.reserve(static_cast<std::size_t>(header.nonzeros()));
  for (std::int64_t i = 0; i < header.entries; ++i) {
    if (!lines.next_with_content())
      lines.fail("the file ends after " + std::to_string(i) + " of " +
                 std::to_string(header.entries) + " entries");
    const auto row = static_cast<std::int32_t>(lines.integer(1, header.rows, "the row") - 1);
    const auto column =
        static_cast<std::int32_t>(lines.integer(1, header.columns, "the column") - 1);
    const float value = header.is_pattern ? 1.0f : lines.real();
    lines.expect_end();
    entries.push_back({row, column, value});
    if (!header.is_symmetric) continue;
    if (row < column) lines.fail("a symmetric matrix has its lower triangle in the file");
    entries.push_back({column, row, row == column ? 0.0f : value});
  }
  if (lines.next_with_content()) lines.fail("has more entries than the header says");
  return entries;
}

// Partial sums of a row's products with numbers in [-1, 1] have to be finite.
void check_row_sums(const MatrixMarket& m, const std::string& name) {
  for (std::size_t row = 0; row + 1 < m.offsets.size(); ++row) {
    double sum = 0;
    for (std::int32_t i = m.offsets[row]; i < m.offsets[row + 1]; ++i)
      sum += std::abs(static_cast<double>(m.values[static_cast<std::size_t>(i)]));
    if (sum <= std::numeric_limits<float>::max()) continue;
    throw InputError(
        fmt::format("{}: the absolute values of row {} add up to {:.4g}; fp32 holds "
                    "at most {:.4g}",
                    name, row + 1, sum, std::numeric_limits<float>::max()));
  }
}

MatrixMarketHeader header_of(const std::string& file) {
  std::ifstream in(file);
  if (in) return read_matrix_market_header(in, file);
  MatrixMarketHeader refused;
  refused.error = file.empty() ? "names no file" : file + ": cannot be read";
  return refused;
}

}  // namespace

MatrixMarketHeader read_matrix_market_header(std::istream& in, const std::string& name) {
  try {
    Lines lines(in, name);
    return read_header(lines);
  } catch (const InputError& error) {
    MatrixMarketHeader refused;
    refused.error = error.what();
    return refused;
  }
}

MatrixMarket read_matrix_market(std::istream& in, const std::string& name) {
  Lines lines(in, name);
  MatrixMarket m;
  m.header = read_header(lines);
  std::vector<Entry> entries = read_entries(lines, m.header);
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.row, a.column) < std::tie(b.row, b.column);
  });
  m.offsets.assign(static_cast<std::size_t>(m.header.rows) + 1, 0);
  for (const Entry& entry : entries) {
    ++m.offsets[static_cast<std::size_t>(entry.row) + 1];
    m.columns.push_back(entry.column);
    m.row_of.push_back(entry.row);
    m.values.push_back(entry.value);
  }
  std::partial_sum(m.offsets.begin(), m.offsets.end(), m.offsets.begin());
  check_row_sums(m, name);
  return m;
}

const MatrixMarketHeader& matrix_market_header(const std::string& file) {
  static std::mutex mutex;
  static std::map<std::string, MatrixMarketHeader> headers;
  const std::lock_guard lock(mutex);
  const auto found = headers.find(file);
  return found != headers.end() ? found->second
                                : headers.emplace(file, header_of(file)).first->second;
}

std::shared_ptr<const MatrixMarket> matrix_market(const std::string& file) {
  static std::mutex mutex;
  static std::string kept_file;
  static std::shared_ptr<const MatrixMarket> kept;
  const std::lock_guard lock(mutex);
  if (kept && kept_file == file) return kept;
  kept.reset();  // two large matrices may not fit in memory
  std::ifstream in(file);
  if (!in) throw InputError(file + ": cannot be read");
  auto matrix = std::make_shared<const MatrixMarket>(read_matrix_market(in, file));
  const MatrixMarketHeader& planned = matrix_market_header(file);
  if (matrix->header.nonzeros() != planned.nonzeros() || matrix->header.rows != planned.rows ||
      matrix->header.columns != planned.columns) {
    throw InputError(file + " has changed since its header was read");
  }
  kept_file = file;
  kept = std::move(matrix);
  return kept;
}

}  // namespace gpuexp
