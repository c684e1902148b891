// Matrix Market files: accepted and rejected contents.
#include "base/matrix_market.hpp"

#include <atomic>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "base/input_error.hpp"
#include "base/input_file.hpp"
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

/// Why the text is rejected.
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

TEST_CASE("a general matrix is read by rows, with ascending columns") {
  const MatrixMarket m = matrix_of_text(kGeneral);
  CHECK(m.header.rows == 3);
  CHECK(m.header.columns == 4);
  CHECK(m.header.nonzeros() == 5);
  CHECK(m.offsets == Indices{0, 3, 3, 5});  // the second row is empty
  CHECK(m.row_of == Indices{0, 0, 0, 2, 2});
  CHECK(m.columns == Indices{1, 1, 3, 0, 2});
  CHECK(m.values == Numbers{4, 8, -1e-3f, 2.5f, 0.5f});  // duplicate entries keep their order
}

TEST_CASE("a symmetric matrix has both triangles and one diagonal") {
  const MatrixMarket m = matrix_of_text(
      "%%MatrixMarket matrix coordinate integer symmetric\n3 3 3\n1 1 7\n2 1 5\n3 3 -2\n");
  CHECK(m.header.nonzeros() == 4);
  CHECK(m.offsets == Indices{0, 2, 3, 4});
  CHECK(m.columns == Indices{0, 1, 0, 2});
  CHECK(m.values == Numbers{7, 5, 5, -2});
}

TEST_CASE("a skew-symmetric matrix has both triangles, with opposite signs") {
  const MatrixMarket m = matrix_of_text(
      "%%MatrixMarket matrix coordinate real skew-symmetric\n3 3 2\n2 1 5\n3 2 -2\n");
  CHECK(m.header.nonzeros() == 4);
  CHECK(m.columns == Indices{1, 0, 2, 1});
  CHECK(m.values == Numbers{-5, 5, 2, -2});
}

TEST_CASE("values may have Fortran exponents, and those below fp32 are zero") {
  const auto value_of = [](const std::string& value) {
    return matrix_of_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " + value +
                          "\n")
        .values.at(0);
  };
  CHECK(value_of("1.5D+01") == 15.0f);
  CHECK(value_of("-2.5d-1") == -0.25f);
  CHECK(value_of("+1E+2") == 100.0f);
  CHECK(value_of("1e-310") == 0.0f);
  CHECK(value_of("1e-400") == 0.0f);
  CHECK(value_of("1e-45") > 0.0f);
}

TEST_CASE("pattern entries are 1; case and carriage returns are ignored") {
  const MatrixMarket m =
      matrix_of_text("%%MatrixMarket MATRIX Coordinate Pattern General\r\n2 2 2\r\n2 2\r\n1 1\r\n");
  CHECK(m.header.is_pattern);
  CHECK(m.columns == Indices{0, 1});
  CHECK(m.values == Numbers{1, 1});
  CHECK(matrix_of_text("\xEF\xBB\xBF" + kGeneral).columns.size() == 5);  // a byte order mark
}

const std::string kBegin = "%%MatrixMarket matrix coordinate ";

/// Rejected by the header.
void check_refused(const std::string& text, const std::string& expected) {
  INFO(text);
  CHECK(header_of_text(text).error == expected);
}

TEST_CASE("a header gives the size of a matrix, or an error") {
  const MatrixMarketHeader header = header_of_text(
      "%%MatrixMarket matrix coordinate real symmetric\n9 9 3\n1 1 7\n2 1 0\n9 9 1\n");
  CHECK(header.error.empty());
  CHECK(header.nonzeros() == 4);
  CHECK(header_of_text("%%MatrixMarket matrix coordinate real symmetric\n9 9 1\n1 1\n2 2\n3 3\n")
            .nonzeros() == 1);

  const std::string example = "'%%MatrixMarket matrix coordinate real general'";
  check_refused("", "m: the file is empty; expected a first line such as " + example);
  check_refused("3 3 1\n", "m:1: the first line is '3 3 1'; expected one such as " + example);
  check_refused("%%MatrixMarket matrix array real general\n2 2\n",
                "m:1: the format is 'array'; allowed: coordinate");
  check_refused("%%MatrixMarket matrix\n2 2\n", "m:1: the format is missing; allowed: coordinate");
  check_refused(kBegin + "complex general\n2 2 1\n",
                "m:1: the field is 'complex'; allowed: real, integer, pattern");
  check_refused(kBegin + "real hermitian\n2 2 1\n",
                "m:1: the symmetry is 'hermitian'; allowed: general, symmetric, skew-symmetric");
  check_refused(kBegin + "pattern skew-symmetric\n2 2 1\n",
                "m:1: the field is 'pattern'; allowed for a skew-symmetric matrix: real, integer");
  check_refused(kBegin + "real general rest\n2 2 1\n",
                "m:1: found 'rest' after the symmetry; expected the end of the line");
  check_refused(kBegin + "real general\n% only\n",
                "m:2: the file ends here; expected the numbers of rows, columns and entries");
  check_refused(kBegin + "real symmetric\n1 3 1\n",
                "m:2: found 1 row and 3 columns; expected as many columns as rows, since the "
                "matrix is symmetric or skew-symmetric");
  check_refused(kBegin + "real general\n0 3 1\n",
                "m:2: the number of rows is '0'; expected a whole number from 1 to 134217728");
  check_refused(
      kBegin + "real general\n3 3 2000000000\n",
      "m:2: the number of entries is '2000000000'; expected a whole number from 1 to 1073741824");
  check_refused(
      kBegin + "real symmetric\n3 3 1000000000\n",
      "m:2: the number of entries is '1000000000'; expected a whole number from 1 to 536870912");
  check_refused(kBegin + "real general\n3 3 1" + std::string(2000, ' ') + "\n",
                "m:2: the line begins with '3 3 1" + std::string(75, ' ') +
                    "…' and has more than 1024 characters, the format's limit");
}

TEST_CASE("a fractional value is rejected in an integer field") {
  const auto of_value = [](const std::string& value) {
    return refusal_of(kBegin + "integer general\n1 1 1\n1 1 " + value + "\n");
  };
  for (const char* value : {"5.5", "5.0", "5.", ".5", "-.5", "5e0", "inf"}) {
    CHECK(of_value(value) ==
          "m:3: the value is '" + std::string(value) +
              "'; expected a whole number, since the header's field is 'integer'");
  }
  CHECK(of_value("x") == "m:3: the value is 'x'; expected a whole number");
  for (const char* value : {"5", "+5", "-5", "123456789012345678901234567890"})
    CHECK(of_value(value).empty());
}

TEST_CASE("a file that contradicts its header is rejected with the line") {
  const std::string begin = "%%MatrixMarket matrix coordinate real general\n2 2 2\n";
  CHECK(refusal_of(begin + "1 1 1\n") ==
        "m:3: the file ends after 1 entry; the header has 2 entries");
  CHECK(refusal_of(begin + "1 1 1\n2 2 2\n2 1 3\n") ==
        "m:5: found '2 1 3' after the last entry; the header has 2 entries");
  CHECK(refusal_of(kBegin + "real general\n2 2 1\n1 1 1\n2 2 2\n") ==
        "m:4: found '2 2 2' after the last entry; the header has 1 entry");
  CHECK(refusal_of(begin + "1 3 1\n2 2 2\n") ==
        "m:3: the column is '3'; expected a whole number from 1 to 2");
  CHECK(refusal_of(begin + "0 1 1\n2 2 2\n") ==
        "m:3: the row is '0'; expected a whole number from 1 to 2");
  CHECK(refusal_of(begin + "1 1\n2 2 2\n") == "m:3: the value is missing; expected a number");
  CHECK(
      refusal_of(begin + "1 1 1e99\n2 2 2\n") ==
      "m:3: the value is '1e99'; expected a number of at most 3.403e+38 in magnitude, the maximum "
      "of fp32");
  CHECK_THAT(refusal_of(begin + "1 1 1e999\n2 2 2\n"),
             contains_text("the value is '1e999'; expected a number of at most"));
  CHECK(refusal_of(begin + "1 1 nan\n2 2 2\n") == "m:3: the value is 'nan'; expected a number");
  CHECK(refusal_of(begin + "1 1 1 0\n2 2 2\n") ==
        "m:3: found '0' after the row, the column and the value of an entry; expected the end of "
        "the line");
  CHECK(refusal_of("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 3\n") ==
        "m:3: the entry is above the diagonal; expected the lower triangle only, since the matrix "
        "is symmetric");
  CHECK(
      refusal_of("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 3\n") ==
      "m:3: the entry is not below the diagonal; expected the strictly lower triangle only, since "
      "the matrix is skew-symmetric");
}

TEST_CASE("a matrix with row sums beyond fp32 is rejected with the row") {
  const std::string begin = "%%MatrixMarket matrix coordinate real general\n2 2 2\n";
  CHECK(refusal_of(begin + "2 1 3e38\n2 2 -3e38\n") ==
        "m: the absolute values of row 2 sum to 6e+38; allowed: at most 3.403e+38, the maximum of "
        "fp32");
  CHECK(refusal_of(begin + "1 1 3e38\n2 2 -3e38\n") == "");
}

TEST_CASE("a file is read from disk after its header") {
  const test::ScratchFolder folder;
  const std::string file = (folder.path() / "m.mtx").string();
  std::ofstream(file) << kGeneral;
  CHECK(matrix_market_header(file).nonzeros() == 5);
  CHECK(matrix_market(file)->columns.size() == 5);
  const std::string absent = (folder.path() / "absent.mtx").string();
  const std::string error = absent + ": cannot be read: No such file or directory";
  CHECK(matrix_market_header(absent).error == error);
  CHECK_THROWS_WITH(matrix_market(absent), error);
}

/// Why the file is rejected.
std::string refusal_of_file(const std::string& file) {
  try {
    matrix_market(file);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("a file that is replaced after planning is rejected, even if its size is equal") {
  const test::ScratchFolder folder;
  const auto path_of = [&](const char* name) { return (folder.path() / name).string(); };
  const std::string begin = kBegin + "real general\n1 1 1\n1 1 ";
  const std::string planned = path_of("planned.mtx");
  std::ofstream(planned) << begin << "1\n";
  REQUIRE(matrix_market_header(planned).error.empty());
  const std::string sha256 = planned_identity(planned).sha256;
  std::ofstream(planned) << begin << "2\n";
  CHECK(planned_identity(planned).sha256 == sha256);
  CHECK_THAT(refusal_of_file(planned),
             contains_text(planned +
                           " has changed since the run was planned: its SHA-256 begins "
                           "with " +
                           identity_of(planned).sha256.substr(0, 12) + ", and began with " +
                           sha256.substr(0, 12)));
  std::ofstream(planned) << begin << "1\n";
  CHECK(matrix_market(planned)->values == Numbers{1});

  const std::string kept = path_of("kept.mtx");
  std::ofstream(kept) << begin << "1\n";
  REQUIRE(matrix_market(kept)->values == Numbers{1});
  std::ofstream(kept) << begin << "2\n";
  planned_identity(kept);
  CHECK(matrix_market(kept)->values == Numbers{2});

  const std::string resized = path_of("resized.mtx");
  std::ofstream(resized) << begin << "1\n";
  REQUIRE(matrix_market_header(resized).error.empty());
  std::ofstream(resized) << kBegin << "real general\n2 3 2\n1 1 1\n2 3 1\n";
  CHECK(refusal_of_file(resized) ==
        resized +
            " has changed since its header was read: it has 2 × 3 and 2 nonzeros, and had "
            "1 × 1 and 1 nonzero");
}

TEST_CASE("a planned file is read from its planned path") {
  const test::ScratchFolder folder;
  const std::string path = (folder.path() / "m.mtx").string();
  std::ofstream(path) << kGeneral;
  FileIdentity identity = identity_of(path);
  identity.name = "in_another_folder/m.mtx";
  plan_file(identity);
  CHECK(matrix_market_header(identity.name).nonzeros() == 5);
  CHECK(matrix_market(identity.name)->columns.size() == 5);
}

// The sanitizers detect uses after free.
TEST_CASE("a matrix in use remains valid while another thread reads a file") {
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
