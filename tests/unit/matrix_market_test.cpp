// Matrix Market files: what is read of them, and what is refused.
#include "base/matrix_market.hpp"

#include <atomic>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp {

namespace {

MatrixMarketHeader header_of_text(const std::string& text) {
  std::istringstream in(text);
  return read_matrix_market_header(in, "m");
}

MatrixMarket matrix_of_text(const std::string& text) {
  std::istringstream in(text);
  return read_matrix_market(in, "m");
}

/// Why it is refused.
std::string refusal_of(const std::string& text) {
  try {
    matrix_of_text(text);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

using Indices = std::vector<std::int32_t>;
using Numbers = std::vector<float>;

const std::string kGeneral =
    "%%MatrixMarket matrix coordinate real general\n"
    "% a comment\n"
    "\n"
    "3 4 5\n"
    "3 1 2.5\n"
    "1 4 -1e-3\n"
    "1 2 +4\n"
    "3 3 0.5\n"
    "1 2 8\n";

TEST_CASE("a general matrix is read row by row, columns ascending") {
  const MatrixMarket m = matrix_of_text(kGeneral);
  CHECK(m.header.rows == 3);
  CHECK(m.header.columns == 4);
  CHECK(m.header.nonzeros() == 5);
  CHECK(m.offsets == Indices{0, 3, 3, 5});  // the second row is empty
  CHECK(m.row_of == Indices{0, 0, 0, 2, 2});
  CHECK(m.columns == Indices{1, 1, 3, 0, 2});
  CHECK(m.values == Numbers{4, 8, -1e-3f, 2.5f, 0.5f});  // entries of one place in their order
}

TEST_CASE("a symmetric matrix has both triangles, and the diagonal once beside a zero") {
  const MatrixMarket m = matrix_of_text(
      "%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 7\n2 1 5\n3 3 -2\n");
  CHECK(m.header.nonzeros() == 6);
  CHECK(m.offsets == Indices{0, 3, 4, 6});
  CHECK(m.columns == Indices{0, 0, 1, 0, 2, 2});
  CHECK(m.values == Numbers{7, 0, 5, 5, -2, 0});
}

TEST_CASE("entries of a pattern are 1; names are read in any case, lines with a carriage return") {
  const MatrixMarket m =
      matrix_of_text("%%MatrixMarket MATRIX Coordinate Pattern General\r\n2 2 2\r\n2 2\r\n1 1\r\n");
  CHECK(m.header.is_pattern);
  CHECK(m.columns == Indices{0, 1});
  CHECK(m.values == Numbers{1, 1});
}

const std::string kBegin = "%%MatrixMarket matrix coordinate ";

/// By its header alone.
void check_refused(const std::string& text, const std::string& expected) {
  INFO(text);
  CHECK(header_of_text(text).error == expected);
}

TEST_CASE("the header alone says how large a matrix is, or why it is refused") {
  const MatrixMarketHeader header =
      header_of_text("%%MatrixMarket matrix coordinate real symmetric\n9 9 20\n");
  CHECK(header.error.empty());
  CHECK(header.nonzeros() == 40);

  check_refused("", "m:0: does not begin with %%MatrixMarket");
  check_refused("3 3 1\n", "m:1: does not begin with %%MatrixMarket");
  check_refused("%%MatrixMarket matrix array real general\n2 2\n",
                "m:1: the format is 'array'; read are: coordinate");
  check_refused(kBegin + "complex general\n2 2 1\n",
                "m:1: the field is 'complex'; read are: real, integer, pattern");
  check_refused(kBegin + "real skew-symmetric\n2 2 1\n",
                "m:1: the symmetry is 'skew-symmetric'; read are: general, symmetric");
  check_refused(kBegin + "real general\n% only\n", "m:2: ends before the line of sizes");
  check_refused(kBegin + "real symmetric\n2 3 1\n",
                "m:2: a symmetric matrix has as many columns as rows");
  check_refused(kBegin + "real general\n0 3 1\n",
                "m:2: the number of rows is '0', not a whole number from 1 to 134217728");
  check_refused(
      kBegin + "real general\n3 3 2000000000\n",
      "m:2: the number of entries is '2000000000', not a whole number from 1 to 1073741824");
  check_refused(
      kBegin + "real symmetric\n3 3 1000000000\n",
      "m:2: the number of entries is '1000000000', not a whole number from 1 to 536870912");
  check_refused(kBegin + "real general\n" + std::string(2000, ' ') + "3 3 1\n",
                "m:2: is longer than 1024 characters");
}

TEST_CASE("a file that is not what its header says is refused with its line") {
  const std::string begin = "%%MatrixMarket matrix coordinate real general\n2 2 2\n";
  CHECK(refusal_of(begin + "1 1 1\n") == "m:3: the file ends after 1 of 2 entries");
  CHECK(refusal_of(begin + "1 1 1\n2 2 2\n2 1 3\n") ==
        "m:5: has more entries than the header says");
  CHECK(refusal_of(begin + "1 3 1\n2 2 2\n") ==
        "m:3: the column is '3', not a whole number from 1 to 2");
  CHECK(refusal_of(begin + "0 1 1\n2 2 2\n") ==
        "m:3: the row is '0', not a whole number from 1 to 2");
  CHECK(refusal_of(begin + "1 1\n2 2 2\n") == "m:3: the value is '', not a number that fp32 has");
  CHECK(refusal_of(begin + "1 1 1e99\n2 2 2\n") ==
        "m:3: the value is '1e99', not a number that fp32 has");
  CHECK(refusal_of(begin + "1 1 nan\n2 2 2\n") ==
        "m:3: the value is 'nan', not a number that fp32 has");
  CHECK(refusal_of(begin + "1 1 1 0\n2 2 2\n") == "m:3: has more than it should");
  CHECK(refusal_of("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 3\n") ==
        "m:3: a symmetric matrix has its lower triangle in the file");
}

TEST_CASE("a matrix whose row sums exceed fp32 is refused with the row") {
  const std::string begin = "%%MatrixMarket matrix coordinate real general\n2 2 2\n";
  CHECK(refusal_of(begin + "2 1 3e38\n2 2 -3e38\n") ==
        "m: the absolute values of row 2 add up to 6e+38; fp32 holds at most 3.403e+38");
  CHECK(refusal_of(begin + "1 1 3e38\n2 2 -3e38\n") == "");
}

TEST_CASE("a file is read from disk, its header first") {
  const test::ScratchFolder folder;
  const std::string file = (folder.path() / "m.mtx").string();
  std::ofstream(file) << kGeneral;
  CHECK(matrix_market_header(file).nonzeros() == 5);
  CHECK(matrix_market(file)->columns.size() == 5);
  const std::string absent = (folder.path() / "absent.mtx").string();
  CHECK(matrix_market_header(absent).error == absent + ": cannot be read");
  CHECK_THROWS_WITH(matrix_market(absent), absent + ": cannot be read");
}

// The sanitizers find what the comparison does not.
TEST_CASE("a matrix in use outlives the reading of another file by another thread") {
  constexpr int kEntries = 2000;
  constexpr int kReads = 50;
  const test::ScratchFolder folder;
  std::atomic<int> wrong{0};
  const auto read_often = [&](float value) {
    const std::string file = (folder.path() / (std::to_string(value) + ".mtx")).string();
    std::ofstream out(file);
    out << "%%MatrixMarket matrix coordinate real general\n1 1 " << kEntries << '\n';
    for (int i = 0; i < kEntries; ++i)
      out << "1 1 " << value << '\n';
    out.close();
    for (int i = 0; i < kReads; ++i) {
      const auto matrix = matrix_market(file);
      std::this_thread::yield();
      wrong += matrix->values != Numbers(kEntries, value);
    }
  };
  std::thread other(read_often, 2.0f);
  read_often(1.0f);
  other.join();
  CHECK(wrong == 0);
}

}  // namespace

}  // namespace gpuexp
