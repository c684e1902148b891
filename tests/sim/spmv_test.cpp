// What small problems of spmv have not: rows that take several blocks, blocks that take several
// rounds, and matrices of files, with empty rows and more columns than rows.
#include <fstream>
#include <numeric>
#include <random>

#include "sim/execution.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

namespace gpuexp::test {
namespace {

std::size_t check_spmv(const Changed& changed) {
  return check_variants(family_of("spmv"), changed);
}

TEST_CASE("rows of several blocks and blocks of several rounds are right", "[spmv]") {
  if (!has_machine_code()) return;
  CHECK(check_spmv({{"rows", std::int64_t{250007}}, {"matrix", "power_law"}}) == 7);
  CHECK(check_spmv(
            {{"rows", std::int64_t{30011}}, {"mean", std::int64_t{64}}, {"matrix", "power_law"}}) ==
        7);
  CHECK(check_spmv({{"rows", std::int64_t{20011}}, {"matrix", "banded"}}) == 8);
}

/// Entries anywhere in a file, most of them in few rows.
void write_matrix(const std::string& file, std::int64_t rows, std::int64_t columns,
                  std::int64_t entries, const char* field, bool is_symmetric) {
  std::mt19937_64 random(static_cast<std::uint64_t>(entries));
  std::ofstream out(file);
  out << "%%MatrixMarket matrix coordinate " << field << ' '
      << (is_symmetric ? "symmetric" : "general") << '\n'
      << rows << ' ' << columns << ' ' << entries << '\n';
  const auto any = [&](std::int64_t of) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(of));
  };
  for (std::int64_t i = 0; i < entries; ++i) {
    std::int64_t row = i % 4 == 0 ? any(rows) : any(rows / 100 + 1);
    std::int64_t column = any(columns);
    if (is_symmetric && row < column) std::swap(row, column);
    out << row + 1 << ' ' << column + 1;
    if (std::string(field) == "real") out << ' ' << static_cast<double>(any(2001) - 1000) / 1000;
    if (std::string(field) == "integer") out << ' ' << any(19) - 9;
    out << '\n';
  }
}

TEST_CASE("matrices of files are right", "[spmv]") {
  if (!has_machine_code()) return;
  const ScratchFolder folder;
  const auto check = [&](std::int64_t rows, std::int64_t columns, std::int64_t entries,
                         const char* field, bool is_symmetric) {
    const std::string file = (folder.path() / (std::to_string(entries) + field + ".mtx")).string();
    write_matrix(file, rows, columns, entries, field, is_symmetric);
    return check_spmv({{"matrix", file}});
  };
  CHECK(check(1, 1, 1, "real", false) == 7);
  CHECK(check(1009, 257, 5003, "real", false) == 7);
  CHECK(check(3, 70001, 40009, "integer", false) == 7);    // rows of several shares
  CHECK(check(40009, 40009, 3001, "pattern", true) == 7);  // most rows are empty
  CHECK(check(5003, 5003, 60013, "real", true) == 7);
}

TEST_CASE("values of any size that fp32 has are right", "[spmv]") {
  if (!has_machine_code()) return;
  const ScratchFolder folder;
  for (const std::string value : {"2e-38", "1e-45", "3e-39", "3e38"}) {
    INFO(value);
    const std::string file = (folder.path() / (value + ".mtx")).string();
    std::ofstream(file) << "%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 " << value
                        << '\n';
    CHECK(check_spmv({{"matrix", file}}) == 7);
  }
  const std::string rows = (folder.path() / "rows.mtx").string();
  std::ofstream out(rows);
  out << "%%MatrixMarket matrix coordinate real general\n300 300 9000\n";
  for (int i = 0; i < 9000; ++i)
    out << i % 300 + 1 << ' ' << i / 30 + 1 << ' ' << (i % 7 - 3) << "e-38\n";
  out.close();
  CHECK(check_spmv({{"matrix", rows}}) == 7);
}

TEST_CASE("an error of 1e-36 is seen in rows of at most 64 entries", "[spmv]") {
  constexpr int kEntries = 64;
  const Family& family = family_of("spmv");
  const ScratchFolder folder;
  const std::string file = (folder.path() / "m.mtx").string();
  std::ofstream out(file);
  out << "%%MatrixMarket matrix coordinate real general\n1 64 64\n";
  for (int i = 1; i <= kEntries; ++i)
    out << "1 " << i << " 1e-38\n";
  out.close();
  const auto problem = family.make_problem(values_with(family, {{"matrix", file}}));
  std::vector<float> values(kEntries, 1e-38f), x(kEntries, 1.0f), y(1);
  std::vector<std::int32_t> columns(kEntries), offsets{0, kEntries}, row_of(kEntries), shares(2);
  std::iota(columns.begin(), columns.end(), 0);
  const auto data = family.make_data(
      std::vector<void*>{values.data(), columns.data(), offsets.data(), row_of.data(),
                         shares.data(), nullptr, nullptr, x.data(), y.data()});
  double value = 0, magnitude = 0;
  family.host_reference(problem.get(), data.get(), {{&value, &magnitude}});
  const Tolerance tolerance = family.tolerance(problem.get());
  const double allowed = tolerance.absolute + tolerance.relative * magnitude;
  CHECK(allowed > kEntries * 0x1p-126);
  CHECK(allowed < 1e-36);
  CHECK(rms_allowed(tolerance, value, allowed, 1) > kEntries * 0x1p-126);
  CHECK(tolerance.rms_absolute < 1e-36);
}

TEST_CASE("steps own the matrix of the file that they copy", "[spmv]") {
  const Family& family = family_of("spmv");
  const ScratchFolder folder;
  const std::string file = (folder.path() / "m.mtx").string();
  write_matrix(file, 5, 5, 9, "real", false);
  const auto problem = family.make_problem(values_with(family, {{"matrix", file}}));
  const Steps steps = family.inputs(problem.get(), family.variants.front().unbound_data.get(), 7);
  std::size_t copies = 0;
  for (const Step& step : steps.all()) {
    const auto* const copy = std::get_if<CopyStep>(&step.action);
    if (!copy) continue;
    CHECK(copy->owner);
    ++copies;
  }
  CHECK(copies == 4);
}

TEST_CASE("a file that is no matrix is refused", "[spmv]") {
  const Parameter& matrix = *family_of("spmv").find_parameter("matrix");
  CHECK(matrix.names_file(Value{std::string("absent.mtx")}));
  CHECK(matrix.names_file(Value{std::string("*.mtx")}));
  CHECK(matrix.file_error("absent.mtx") == "absent.mtx: cannot be read: No such file or directory");
  CHECK_FALSE(matrix.names_file(Value{std::string("banded")}));
}

}  // namespace
}  // namespace gpuexp::test
