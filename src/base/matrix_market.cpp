#include "base/matrix_market.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <istream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "base/input_file.hpp"
#include "base/names.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

constexpr std::size_t kMaxLine = 1024;  // maximum line length of the format
constexpr const char* kByteOrderMark = "\xEF\xBB\xBF";

std::string in_quotes(std::string_view text) {
  return fmt::format("'{}'", shorten(printable(text)));
}

class Lines {
 public:
  Lines(std::istream& in, std::string name) : in_(*in.rdbuf()), name_(std::move(name)) {}

  bool next() {
    using Traits = std::streambuf::traits_type;
    line_.clear();
    auto c = in_.sbumpc();
    if (c == Traits::eof()) return false;
    ++number_;
    for (; c != Traits::eof() && c != '\n'; c = in_.sbumpc()) {
      if (line_.size() == kMaxLine) {
        fail(fmt::format(
            "the line begins with {} and has more than {} characters, the format's limit",
            in_quotes(line_), kMaxLine));
      }
      line_.push_back(Traits::to_char_type(c));
    }
    rest_ = line_;
    return true;
  }
  bool next_with_content() {
    while (next()) {
      const std::size_t first = line_.find_first_not_of(" \t\r");
      if (first != std::string::npos && line_[first] != '%') return true;
    }
    return false;
  }
  void skip(std::string_view prefix) {
    if (rest_.starts_with(prefix)) rest_.remove_prefix(prefix.size());
  }
  const std::string& line() const { return line_; }
  std::string_view word() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r"), rest_.size()));
    const std::size_t length = std::min(rest_.find_first_of(" \t\r"), rest_.size());
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }
  std::int64_t integer(std::int64_t min, std::int64_t max, const char* what) {
    const std::string_view text = word();
    const auto value = parsed<std::int64_t>(text);
    if (value && *value >= min && *value <= max) return *value;
    fail_at(what, text, fmt::format("a whole number from {} to {}", min, max));
  }
  /// The next word as a value, rounded to fp32. Values that are too small become zero.
  float value(bool is_integer) {
    const std::string_view text = word();
    const auto value = number(text);
    if (!value) fail_at("the value", text, is_integer ? "a whole number" : "a number");
    const bool has_sign = text.starts_with('+') || text.starts_with('-');
    if (is_integer && text.find_first_not_of("0123456789", has_sign ? 1 : 0) != text.npos)
      fail_at("the value", text, "a whole number, since the header's field is 'integer'");
    const auto rounded = static_cast<float>(*value);
    if (!std::isfinite(rounded)) {
      fail_at("the value", text,
              fmt::format("a number of at most {:.4g} in magnitude, the maximum of fp32",
                          std::numeric_limits<float>::max()));
    }
    return rounded;
  }
  void expect_end(const char* what) {
    const std::string_view text = word();
    if (!text.empty())
      fail(fmt::format("found {} after {}; expected the end of the line", in_quotes(text), what));
  }
  [[noreturn]] void fail(const std::string& what) const {
    throw InputError(fmt::format("{}:{}: {}", name_, number_, what));
  }

 private:
  [[noreturn]] void fail_at(const char* what, std::string_view text,
                            const std::string& expected) const {
    if (text.empty()) fail(fmt::format("{} is missing; expected {}", what, expected));
    fail(fmt::format("{} is {}; expected {}", what, in_quotes(text), expected));
  }
  // Accepts Fortran's 1.0D+00. Numbers beyond the range of fp64 become infinite or zero.
  static std::optional<double> number(std::string_view text) {
    std::string spelt(text.substr(text.size() > 1 && text.front() == '+' ? 1 : 0));
    std::replace_if(
        spelt.begin(), spelt.end(), [](char c) { return c == 'd' || c == 'D'; }, 'e');
    double value = 0;
    const char* const end = spelt.data() + spelt.size();
    const auto [stopped_at, error] = std::from_chars(spelt.data(), end, value);
    if (error == std::errc::invalid_argument || stopped_at != end || std::isnan(value))
      return std::nullopt;
    return error == std::errc::result_out_of_range ? std::strtod(spelt.c_str(), nullptr) : value;
  }

  std::streambuf& in_;
  std::string name_;
  std::string line_;
  std::string_view rest_;
  std::int64_t number_ = 0;
};

Symmetry read_symmetry(const std::string& name) {
  if (name == "general") return Symmetry::general;
  return name == "symmetric" ? Symmetry::symmetric : Symmetry::skew;
}

void read_banner(Lines& lines, const std::string& name, MatrixMarketHeader& header) {
  constexpr const char* kExample = "'%%MatrixMarket matrix coordinate real general'";
  if (!lines.next())
    throw InputError(
        fmt::format("{}: the file is empty; expected a first line such as {}", name, kExample));
  lines.skip(kByteOrderMark);
  if (lines.word() != "%%MatrixMarket") {
    lines.fail(fmt::format("the first line is {}; expected one such as {}", in_quotes(lines.line()),
                           kExample));
  }
  const auto expect = [&](const char* what, std::initializer_list<const char*> allowed) {
    const std::string found = lower_case(lines.word());
    std::string all;
    for (const char* one : allowed) {
      if (found == one) return found;
      all += (all.empty() ? "" : ", ") + std::string(one);
    }
    lines.fail(fmt::format("the {} is {}; allowed: {}", what,
                           found.empty() ? "missing" : in_quotes(found), all));
  };
  expect("object", {"matrix"});
  expect("format", {"coordinate"});
  const std::string field = expect("field", {"real", "integer", "pattern"});
  header.is_pattern = field == "pattern";
  header.is_integer = field == "integer";
  header.symmetry = read_symmetry(expect("symmetry", {"general", "symmetric", "skew-symmetric"}));
  lines.expect_end("the symmetry");
  if (header.is_pattern && header.symmetry == Symmetry::skew)
    lines.fail("the field is 'pattern'; allowed for a skew-symmetric matrix: real, integer");
}

MatrixMarketHeader read_header(Lines& lines, const std::string& name) {
  MatrixMarketHeader header;
  read_banner(lines, name, header);
  if (!lines.next_with_content())
    lines.fail("the file ends here; expected the numbers of rows, columns and entries");
  header.rows = lines.integer(1, kMaxMatrixMarketRows, "the number of rows");
  header.columns = lines.integer(1, kMaxMatrixMarketRows, "the number of columns");
  const bool is_mirrored = header.symmetry != Symmetry::general;
  header.entries =
      lines.integer(1, kMaxMatrixMarketNonzeros / (is_mirrored ? 2 : 1), "the number of entries");
  lines.expect_end("the numbers of rows, columns and entries");
  if (is_mirrored && header.rows != header.columns) {
    lines.fail(
        fmt::format("found {} and {}; expected as many columns as rows, since the matrix is "
                    "symmetric or skew-symmetric",
                    counted(header.rows, "row"), counted(header.columns, "column")));
  }
  return header;
}

// Ignores invalid entries, which read_entry() reports later.
void count_diagonal(Lines& lines, MatrixMarketHeader& header) {
  if (header.symmetry != Symmetry::symmetric) return;
  for (std::int64_t i = 0; i < header.entries && lines.next_with_content(); ++i) {
    const std::string_view row = lines.word();
    header.on_diagonal += parsed<std::int64_t>(row) == parsed<std::int64_t>(lines.word());
  }
}

struct Entry {
  std::int32_t row;
  std::int32_t column;
  float value;
};

Entry read_entry(Lines& lines, const MatrixMarketHeader& header) {
  Entry entry;
  entry.row = static_cast<std::int32_t>(lines.integer(1, header.rows, "the row") - 1);
  entry.column = static_cast<std::int32_t>(lines.integer(1, header.columns, "the column") - 1);
  entry.value = header.is_pattern ? 1.0f : lines.value(header.is_integer);
  lines.expect_end(header.is_pattern ? "the row and the column of an entry"
                                     : "the row, the column and the value of an entry");
  if (header.symmetry == Symmetry::symmetric && entry.row < entry.column)
    lines.fail(
        "the entry is above the diagonal; expected the lower triangle only, since the matrix is "
        "symmetric");
  if (header.symmetry == Symmetry::skew && entry.row <= entry.column)
    lines.fail(
        "the entry is not below the diagonal; expected the strictly lower triangle only, since the "
        "matrix is skew-symmetric");
  return entry;
}

std::vector<Entry> read_entries(Lines& lines, MatrixMarketHeader& header) {
  std::vector<Entry> entries;
  // The header may declare more entries than the file contains.
  constexpr std::int64_t kMaxReserved = 1 << 20;
  entries.reserve(static_cast<std::size_t>(std::min(header.nonzeros(), kMaxReserved)));
  for (std::int64_t i = 0; i < header.entries; ++i) {
    if (!lines.next_with_content())
      lines.fail(fmt::format("the file ends after {}; the header has {}",
                             counted(i, "entry", "entries"),
                             counted(header.entries, "entry", "entries")));
    const Entry entry = read_entry(lines, header);
    entries.push_back(entry);
    if (header.symmetry == Symmetry::general) continue;
    if (entry.row == entry.column) {
      ++header.on_diagonal;
    } else {
      const float mirrored = header.symmetry == Symmetry::skew ? -entry.value : entry.value;
      entries.push_back({entry.column, entry.row, mirrored});
    }
  }
  if (lines.next_with_content())
    lines.fail(fmt::format("found {} after the last entry; the header has {}",
                           in_quotes(lines.line()), counted(header.entries, "entry", "entries")));
  return entries;
}

// A row's absolute values must sum to at most the maximum of fp32, so that the row's product with
// inputs in [-1, 1] cannot overflow.
void check_row_sums(const MatrixMarket& m, const std::string& name) {
  for (std::size_t row = 0; row + 1 < m.offsets.size(); ++row) {
    double sum = 0;
    for (std::int32_t i = m.offsets[row]; i < m.offsets[row + 1]; ++i)
      sum += std::abs(static_cast<double>(m.values[static_cast<std::size_t>(i)]));
    if (sum <= std::numeric_limits<float>::max()) continue;
    throw InputError(
        fmt::format("{}: the absolute values of row {} sum to {:.4g}; allowed: at most {:.4g}, the "
                    "maximum of fp32",
                    name, row + 1, sum, std::numeric_limits<float>::max()));
  }
}

MatrixMarketHeader refused(const InputError& error) {
  MatrixMarketHeader header;
  header.error = error.what();
  return header;
}

MatrixMarketHeader header_of(const std::string& file) {
  try {
    InputFile in(path_to_read(file));
    return read_matrix_market_header(in, file);
  } catch (const InputError& error) {
    return refused(error);
  }
}

}  // namespace

MatrixMarketHeader read_matrix_market_header(std::istream& in, const std::string& name) {
  try {
    Lines lines(in, name);
    MatrixMarketHeader header = read_header(lines, name);
    count_diagonal(lines, header);
    return header;
  } catch (const InputError& error) {
    return refused(error);
  }
}

MatrixMarket read_matrix_market(std::istream& in, const std::string& name) {
  Lines lines(in, name);
  MatrixMarket m;
  m.header = read_header(lines, name);
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

namespace {

// Throws if the sizes differ from the sizes in the header from which buffers were allocated.
void check_header(const MatrixMarketHeader& read, const std::string& file) {
  const MatrixMarketHeader& planned = matrix_market_header(file);
  if (read.nonzeros() == planned.nonzeros() && read.rows == planned.rows &&
      read.columns == planned.columns)
    return;
  throw InputError(
      fmt::format("{} has changed since its header was read: it has {} × {} and {}, and had "
                  "{} × {} and {}",
                  file, read.rows, read.columns, counted(read.nonzeros(), "nonzero"), planned.rows,
                  planned.columns, counted(planned.nonzeros(), "nonzero")));
}

}  // namespace

std::shared_ptr<const MatrixMarket> matrix_market(const std::string& file) {
  struct Kept {
    std::string file;
    FileIdentity identity;
    std::shared_ptr<const MatrixMarket> matrix;
  };
  static std::mutex mutex;
  static Kept kept;
  const std::lock_guard lock(mutex);
  if (kept.matrix && kept.file == file && is_as_planned(file, kept.identity)) return kept.matrix;
  kept = {};  // frees the cached matrix first: two large matrices may not fit in memory
  InputFile in(path_to_read(file));
  auto matrix = std::make_shared<const MatrixMarket>(read_matrix_market(in, file));
  FileIdentity identity = in.identity();
  check_as_planned(file, identity);
  check_header(matrix->header, file);
  kept = {file, std::move(identity), std::move(matrix)};
  return kept.matrix;
}

}  // namespace gpuexp
