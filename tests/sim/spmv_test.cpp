// Cases that small problems of spmv lack: rows of several blocks, blocks of several rounds, and
// matrices from files, with empty rows and more columns than rows.
#include <fstream>
#include <map>
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

TEST_CASE("rows of several blocks and blocks of several rounds are correct", "[spmv]") {
  if (!has_machine_code()) return;
  CHECK(check_spmv({{"rows", std::int64_t{250007}}, {"matrix", "power_law"}}) == 7);
  CHECK(check_spmv(
            {{"rows", std::int64_t{30011}}, {"mean", std::int64_t{64}}, {"matrix", "power_law"}}) ==
        7);
  CHECK(check_spmv({{"rows", std::int64_t{20011}}, {"matrix", "banded"}}) == 8);
}

/// Writes a matrix with random entries, most of them in a few rows.
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

TEST_CASE("matrices from files are correct", "[spmv]") {
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

TEST_CASE("values of the whole fp32 range are correct", "[spmv]") {
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

/// Allowed error of an output element, and allowed RMS error, for a matrix of one row of equal
/// values and x = 1.
struct Allowed {
  double element;
  double rms;
};
Allowed allowed_of_row(const std::string& output, int nonzeros, float value) {
  const Family& family = family_of("spmv");
  const ScratchFolder folder;
  const std::string file = (folder.path() / "m.mtx").string();
  std::ofstream out(file);
  out << "%%MatrixMarket matrix coordinate real general\n1 " << nonzeros << ' ' << nonzeros << '\n';
  for (int i = 1; i <= nonzeros; ++i)
    out << "1 " << i << ' ' << value << '\n';
  out.close();
  const auto problem = family.make_problem(values_with(family, {{"matrix", file}}));
  const auto size = static_cast<std::size_t>(nonzeros);
  std::vector<float> values(size, value), x(size, 1.0f);
  std::vector<std::int32_t> columns(size), offsets{0, nonzeros};
  std::iota(columns.begin(), columns.end(), 0);
  const std::map<std::string, void*> buffers{{"values", values.data()},
                                             {"columns", columns.data()},
                                             {"offsets", offsets.data()},
                                             {"x", x.data()}};
  std::vector<void*> pointers;
  std::vector<ReferenceView> views;
  Tolerance tolerance;
  double exact = 0, magnitude = 0;
  for (const Buffer& buffer : family.buffers) {
    const auto found = buffers.find(buffer.name);
    pointers.push_back(found == buffers.end() ? nullptr : found->second);
    if (!is_output(buffer.role)) continue;
    const bool is_it = buffer.name == output;
    views.push_back(is_it ? ReferenceView{&exact, &magnitude} : ReferenceView{});
    if (is_it)
      tolerance =
          buffer.tolerance ? buffer.tolerance(problem.get()) : family.tolerance(problem.get());
  }
  const auto data = family.make_data(pointers);
  family.host_reference(problem.get(), data.get(), views);
  const double element = tolerance.absolute + tolerance.relative * magnitude;
  return {element, rms_allowed(tolerance, exact, element, 1)};
}

std::string output_of(const char* variant) {
  return family_of("spmv").find(variant)->writes.front();
}

TEST_CASE("an error of 1e-36 is detected in rows of at most 64 entries", "[spmv]") {
  constexpr int kEntries = 64;
  for (const Variant& variant : family_of("spmv").variants) {
    INFO(variant.id);
    CHECK(allowed_of_row(output_of(variant.id.c_str()), kEntries, 1e-38f).element < 1e-36);
  }
  const Allowed of_products = allowed_of_row(output_of("coo_atomics"), kEntries, 1e-38f);
  CHECK(of_products.element > kEntries * 0x1p-126);
  CHECK(of_products.rms > kEntries * 0x1p-126);
}

TEST_CASE("the tolerance includes L2's flush to zero per atomic addition, and only then",
          "[spmv]") {
  constexpr float kSubnormal = 0x1p-149f;
  const auto flushed = [&](const char* variant, int nonzeros) {
    return allowed_of_row(output_of(variant), nonzeros, kSubnormal).element / 0x1p-126;
  };
  const double lost_without = 0x1p-150 / 0x1p-126;
  for (const int nonzeros : {1, 5, 1000, 5000}) {
    INFO(nonzeros);
    for (const char* without :
         {"csr_thread_per_row", "ell", "csr_warp_per_row", "csr_lanes_per_row", "merge_path"}) {
      INFO(without);
      CHECK(flushed(without, nonzeros) == Approx(nonzeros * lost_without).epsilon(1e-3));
      // Less than the result, so an unwritten element is wrong.
      CHECK(flushed(without, nonzeros) * 0x1p-126 < nonzeros * static_cast<double>(kSubnormal));
    }
    CHECK(flushed("coo_atomics", nonzeros) == Approx(nonzeros).epsilon(1e-3));
  }
  CHECK(flushed("coo_segmented", 1) == Approx(1).epsilon(1e-3));
  CHECK(flushed("coo_segmented", 1000) == Approx(2).epsilon(1e-3));  // two warps
  CHECK(flushed("coo_segmented", 5000) == Approx(6).epsilon(1e-3));
  CHECK(flushed("csr_adaptive", 2048) == Approx(2048 * lost_without).epsilon(1e-3));
  CHECK(flushed("csr_adaptive", 2049) == Approx(3).epsilon(1e-3));
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

TEST_CASE("a file that is not a matrix is refused", "[spmv]") {
  const Parameter& matrix = *family_of("spmv").find_parameter("matrix");
  CHECK(matrix.names_file(Value{std::string("absent.mtx")}));
  CHECK(matrix.names_file(Value{std::string("*.mtx")}));
  CHECK(matrix.file_error("absent.mtx") == "absent.mtx: cannot be read: No such file or directory");
  CHECK_FALSE(matrix.names_file(Value{std::string("banded")}));
}

}  // namespace
}  // namespace gpuexp::test
