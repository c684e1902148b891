#include "base/matrix_market.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <utility>

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
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least || value > most)
      fail(std::string(what) + " is '" + std::string(text) + "', not a whole number from " +
           std::to_string(least) + " to " + std::to_string(most));
    return value;
  }
  float real() {
    std::string_view text = word();
    if (text.size() > 1 && text.front() == '+') text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const auto rounded = static_cast<float>(value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(rounded))
      fail("the value is '" + std::string(text) + "', not a number that fp32 has");
    return rounded;
  }
  void expect_end() {
    if (!word().empty()) fail("has more than it should");
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(name_ + ":" + std::to_string(number_) + ": " + what);
  }

 private:
  std::istream& in_;
  std::string name_;
  std::string line_;
  std::string_view rest_;
  std::int64_t number_ = 0;
};

std::string lower_case(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

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

struct Entries {
  std::vector<std::int32_t> rows;
  std::vector<std::int32_t> columns;
  std::vector<float> values;

  void add(std::int64_t row, std::int64_t column, float value) {
    rows.push_back(static_cast<std::int32_t>(row));
    columns.push_back(static_cast<std::int32_t>(column));
    values.push_back(value);
  }
};

Entries read_entries(Lines& lines, const MatrixMarketHeader& header) {
  Entries entries;
  for (std::int64_t i = 0; i < header.entries; ++i) {
    if (!lines.next_with_content())
      lines.fail("the file ends after " + std::to_string(i) + " of " +
                 std::to_string(header.entries) + " entries");
    const std::int64_t row = lines.integer(1, header.rows, "the row") - 1;
    const std::int64_t column = lines.integer(1, header.columns, "the column") - 1;
    const float value = header.is_pattern ? 1.0f : lines.real();
    lines.expect_end();
    entries.add(row, column, value);
    if (!header.is_symmetric) continue;
    if (row < column) lines.fail("a symmetric matrix has its lower triangle in the file");
    entries.add(column, row, row == column ? 0.0f : value);
  }
  if (lines.next_with_content()) lines.fail("has more entries than the header says");
  return entries;
}

/// Places of the keys in ascending order; equal ones stay in the order of `places`.
std::vector<std::int32_t> sorted_by(const std::vector<std::int32_t>& keys, std::int64_t most_key,
                                    const std::vector<std::int32_t>& places,
                                    std::vector<std::int32_t>& offsets) {
  offsets.assign(static_cast<std::size_t>(most_key) + 1, 0);
  for (const std::int32_t key : keys)
    ++offsets[static_cast<std::size_t>(key) + 1];
  for (std::size_t key = 0; key + 1 < offsets.size(); ++key)
    offsets[key + 1] += offsets[key];
  std::vector<std::int32_t> next(offsets.begin(), offsets.end() - 1);
  std::vector<std::int32_t> sorted(keys.size());
  for (const std::int32_t place : places) {
    const auto key = static_cast<std::size_t>(keys[static_cast<std::size_t>(place)]);
    sorted[static_cast<std::size_t>(next[key]++)] = place;
  }
  return sorted;
}

template <class T>
std::vector<T> in_order(const std::vector<T>& of, const std::vector<std::int32_t>& places) {
  std::vector<T> result;
  result.reserve(places.size());
  for (const std::int32_t place : places)
    result.push_back(of[static_cast<std::size_t>(place)]);
  return result;
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
  } catch (const std::runtime_error& error) {
    MatrixMarketHeader refused;
    refused.error = error.what();
    return refused;
  }
}

MatrixMarket read_matrix_market(std::istream& in, const std::string& name) {
  Lines lines(in, name);
  MatrixMarket m;
  m.header = read_header(lines);
  const Entries entries = read_entries(lines, m.header);
  std::vector<std::int32_t> places(entries.rows.size());
  for (std::size_t i = 0; i < places.size(); ++i)
    places[i] = static_cast<std::int32_t>(i);
  places = sorted_by(entries.columns, m.header.columns, places, m.offsets);
  places = sorted_by(entries.rows, m.header.rows, places, m.offsets);
  m.columns = in_order(entries.columns, places);
  m.row_of = in_order(entries.rows, places);
  m.values = in_order(entries.values, places);
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

const MatrixMarket& matrix_market(const std::string& file) {
  static std::mutex mutex;
  static std::string kept_file;
  static std::optional<MatrixMarket> kept;
  const std::lock_guard lock(mutex);
  if (kept && kept_file == file) return *kept;
  kept.reset();
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file + ": cannot be read");
  kept = read_matrix_market(in, file);
  kept_file = file;
  const MatrixMarketHeader& planned = matrix_market_header(file);
  if (kept->header.nonzeros() != planned.nonzeros() || kept->header.rows != planned.rows ||
      kept->header.columns != planned.columns) {
    kept.reset();
    throw std::runtime_error(file + " has changed since its header was read");
  }
  return *kept;
}

}  // namespace gpuexp
