// CSV and JSON of reports: written text, reading it back, and errors.

#include "results/report.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include <sys/stat.h>

#include "base/csv.hpp"
#include "base/output.hpp"
#include "results/csv_write.hpp"
#include "results/json_read.hpp"
#include "results/json_write.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"
#include "support/small_report.hpp"

namespace {

using namespace gpuexp;

constexpr FieldType kText = FieldType::text;
constexpr FieldType kInteger = FieldType::integer;
constexpr FieldType kReal = FieldType::real;

class TemporaryDirectory : public test::ScratchFolder {
 public:
  std::string file(const std::string& name) const { return (path() / name).string(); }
  std::size_t entries() const {
    const std::filesystem::directory_iterator begin(path());
    return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator{}));
  }
};

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Report one_field_report(const Field& field, FieldType type) {
  Report report;
  report.table = test::record_table({{{"x", "", type, ""}}, {{field}}});
  report.samples_us = {{}};
  return report;
}

std::string error_of(const std::string& text) {
  try {
    parse_report(text, "r.json");
  } catch (const ReportError& e) {
    return e.what();
  }
  return "no error";
}

// A small valid report with one part of its text replaced.
std::string with(const std::string& part, const std::string& replacement) {
  std::string text = to_json(one_field_report(1.5, kReal));
  const std::size_t begin = text.find(part);
  REQUIRE(begin != std::string::npos);
  return text.replace(begin, part.size(), replacement);
}

}  // namespace

// ---- CSV

TEST_CASE("CSV quotes only if necessary and ends lines with CRLF", "[report][csv]") {
  CHECK(csv_line({"plain", "a,b", "say \"x\"", "two\nlines", "cr\r", " space ", "é"}) ==
        "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\"cr\r\", space ,é\r\n");
}

TEST_CASE("CSV numbers are the shortest that read back exactly", "[report][csv]") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(csv_line({0.1, 1.0, 1e-9, 1.0 / 3, std::int64_t{-7}, 0.0}) ==
        "0.1,1,1e-09,0.3333333333333333,-7,0\r\n");
  CHECK(csv_line({kMissing, std::nan(""), inf, -inf, "x"}) == ",,,,x\r\n");
}

TEST_CASE("CSV of a small report", "[report][csv][golden]") {
  RecordTable table = small_report().table;
  table.rows = {table.rows[1], table.rows[5], table.rows[6]};
  CHECK(
      to_csv(table) ==
      "experiment,family,variant,mode,status,reason,flags,time_median_us,time_ci95_low_us,"
      "time_ci95_high_us,baseline,speedup,useful_bytes,operations,useful_gb_per_s,tflops,limit_by,"
      "limit_pct,param.m,param.n,param.k,metric.reuse,implementation\r\n"
      "ladder,matmul,smem_tile,cold,passed,,few_samples,430,425.7,434.3,naive,10,12582912,"
      "2147483648,,4.994148018604651,fp32,9.988296037209302,1024,1024,64,4.5,kernel\r\n"
      "ladder,matmul,\"a,b\",cold,incorrect,\"expected \"\"1\"\", got nan\",,,,,naive,,,,,,,,2048,"
      "2048,64,,\r\n"
      "ladder,matmul,tensor×,cold,skipped,\"needs compute capability 9.0\nor later\",,,,,naive,,,,,"
      ",,,2048,2048,64,,\r\n");
}

TEST_CASE("CSV rows are in the file once written", "[report][csv]") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("r.csv");
  Output output(path);
  CsvWriter writer(output, {{"a", "", kText, ""}, {"b", "us", kReal, ""}});
  CHECK(content_of(path) == "a,b\r\n");
  writer.write_row({"x", 2.5});
  CHECK(content_of(path) == "a,b\r\nx,2.5\r\n");
  CHECK_THROWS_AS(writer.write_row({"x"}), std::invalid_argument);
}

// ---- errors of the system

TEST_CASE("A full disk gives an error with the file name", "[report][errors]") {
  REQUIRE(std::filesystem::exists("/dev/full"));
  Output output("/dev/full");
  CHECK_THROWS_WITH(CsvWriter(output, small_columns()),
                    contains_text("/dev/full") && contains_text("No space left"));
  CHECK_THROWS_WITH(write_json(small_report(), "/dev/full"),
                    contains_text("/dev/full") && contains_text("No space left"));
}

TEST_CASE("An unwritable path gives an error that names it", "[report][errors]") {
  CHECK_THROWS_WITH(Output("/no/such/directory/r.csv"), contains_text("/no/such/directory/r.csv"));
  CHECK_THROWS_WITH(write_json(small_report(), "/no/such/directory/r.json"),
                    contains_text("/no/such/directory/r.json") && contains_text("No such file"));
  CHECK_THROWS_WITH(read_report("/no/such/r.json"),
                    contains_text("/no/such/r.json: cannot read") && contains_text("No such file"));
  const TemporaryDirectory directory;
  CHECK_THROWS_WITH(read_report(directory.file("")), contains_text("cannot read"));
}

// ---- JSON

TEST_CASE("JSON is read back", "[report][json]") {
  Report report = small_report();
  report.provenance.inputs = {{"m.mtx", "/data/m.mtx", 9, "e3b0c442", "text"},
                              {"n.mtx", {}, {}, {}, {}}};
  const Report read = parse_report(to_json(report), "r.json");
  CHECK(read.provenance == report.provenance);
  CHECK(read.complete == report.complete);
  CHECK(read.samples_us == report.samples_us);
  CHECK(read.table.rows == report.table.rows);
  REQUIRE(read.table.columns.size() == report.table.columns.size());
  for (std::size_t i = 0; i < read.table.columns.size(); ++i) {
    CHECK(read.table.columns[i].name == report.table.columns[i].name);
    CHECK(read.table.columns[i].unit == report.table.columns[i].unit);
    CHECK(read.table.columns[i].type == report.table.columns[i].type);
    CHECK(read.table.columns[i].doc == report.table.columns[i].doc);
  }
  CHECK(to_json(read) == to_json(report));
}

TEST_CASE("Kernels with counters are read back", "[report][json][counters]") {
  Report report = small_report();
  CHECK(to_json(report).find("\"kernels\"") == std::string::npos);
  report.kernels = small_kernels();
  const std::string text = to_json(report);
  const Report read = parse_report(text, "r.json");
  CHECK(read.kernels == report.kernels);
  CHECK(read.table == report.table);
  CHECK(to_json(read) == text);
  // A run may end before it counts kernels.
  report.kernels.rows.clear();
  CHECK(parse_report(to_json(report), "r.json").kernels == report.kernels);
}

TEST_CASE("JSON keeps every number exactly and has null for missing ones", "[report][json]") {
  for (const double value : {0.1, 1e300, 5e-324, -0.0, 1.0 / 3, 123456789012345680.0}) {
    const Report read = parse_report(to_json(one_field_report(value, kReal)), "r.json");
    CHECK(std::get<double>(test::field_in(read.table, 0, "x")) == value);
  }
  const std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const Report read = parse_report(to_json(one_field_report(largest, kInteger)), "r.json");
  CHECK(test::field_in(read.table, 0, "x") == Field{largest});
  for (const Field& field : {kMissing, Field{std::nan("")}, Field{HUGE_VAL}})
    CHECK_THAT(to_json(one_field_report(field, kReal)), contains_text("{\"x\":null,"));
}

TEST_CASE("JSON has a row per line", "[report][json]") {
  const std::string text = to_json(small_report());
  CHECK_THAT(text, contains_text("\n    {\"experiment\":\"ladder\",\"family\":\"matmul\","));
  CHECK_THAT(text, contains_text("\"samples_us\":[4300.0,4299.5,4300.25]},\n"));
  CHECK_THAT(text, contains_text("{\n  \"schema_version\": 3,\n"));
}

TEST_CASE("Invalid UTF-8 bytes are replaced, and the rest is kept", "[report][json]") {
  const Report read = parse_report(to_json(one_field_report("a\xff", kText)), "r.json");
  CHECK(test::field_in(read.table, 0, "x") == Field{"a\uFFFD"});
}

TEST_CASE("Writing JSON replaces a file atomically and leaves no temporary file",
          "[report][json]") {
  const TemporaryDirectory directory;
  const std::string path = directory.file("r.json");
  std::ofstream(path) << "old";
  write_json(small_report(), path);
  CHECK(content_of(path) == to_json(small_report()));
  CHECK(directory.entries() == 1);
  CHECK(read_report(path).table.rows == small_report().table.rows);

  struct stat plain {};
  struct stat written {};
  std::ofstream(directory.file("plain")) << "x";
  write_json(small_report(), directory.file("fresh.json"));
  REQUIRE(::stat(directory.file("plain").c_str(), &plain) == 0);
  REQUIRE(::stat(directory.file("fresh.json").c_str(), &written) == 0);
  CHECK(written.st_mode == plain.st_mode);
}

TEST_CASE("Writing JSON to a symbolic link keeps the link", "[report][json]") {
  const TemporaryDirectory directory;
  std::ofstream(directory.file("real.json")) << "old";
  std::filesystem::create_symlink("real.json", directory.file("link.json"));
  write_json(small_report(), directory.file("link.json"));
  CHECK(std::filesystem::is_symlink(directory.file("link.json")));
  CHECK(content_of(directory.file("real.json")) == to_json(small_report()));
}

TEST_CASE("Unknown members are ignored anywhere", "[report][json]") {
  const std::string unknown = "\"colour\": {\"a\": [1, {}, \"colour\"]}, ";
  const Report expected = parse_report(to_json(one_field_report(1.5, kReal)), "r");
  for (const std::string before : {"\"schema_version\"", "\"gpuexp_version\"", "\"path\"",
                                   "\"uuid\"", "\"unit\"", "{\"x\":", "\"samples_us\""}) {
    INFO(before);
    const std::string in = before[0] == '{' ? "{" + unknown + before.substr(1) : unknown + before;
    CHECK(parse_report(with(before, in), "r") == expected);
  }
}

TEST_CASE("Members may have any order and spacing", "[report][json]") {
  const Report read = parse_report(R"( {
    "rows" : [ { "samples_us":[ 2 ],"y":"t",
                 "x" : 1 } ],
    "columns":[{"doc":"","name":"x","type":"real","unit":"us"},
               {"doc":"","name":"y","type":"text","unit":""}],
    "complete":true,"provenance":{"device":{},"settings":{},"config":{},"argv":[]},
    "schema_version":3
  } )",
                                   "r.json");
  CHECK(table_of(read.table).rows == std::vector<std::vector<Field>>{{1.0, "t"}});
  CHECK(read.samples_us == std::vector<std::vector<double>>{{2}});
}

TEST_CASE("A report may omit samples", "[report][json]") {
  const Report report = small_report();
  const std::string text = to_json(report, {false});
  CHECK(text.find("samples_us") == std::string::npos);
  const Report read = parse_report(text, "r.json");
  CHECK(read.samples_us.empty());
  CHECK(read.table == report.table);
  CHECK(read.provenance == report.provenance);
  // It does not later claim that none were taken.
  CHECK(to_json(read) == text);

  const TemporaryDirectory directory;
  write_json(report, directory.file("r.json"), {false});
  CHECK(content_of(directory.file("r.json")) == text);
}

TEST_CASE("Rows with and without samples stay as they are", "[report][json]") {
  Report report = one_field_report(1.5, kReal);
  report.table.rows.emplace_back(report.table.rows.front());
  report.samples_us = {{}, {3.5}};
  CHECK(parse_report(to_json(report), "r.json") == report);
  CHECK(parse_report(with("\"samples_us\":[]", "\"samples_us\":null"), "r").samples_us.empty());
}

TEST_CASE("Invalid reports are rejected with file and place", "[report][json][errors]") {
  CHECK_THAT(error_of(""),
             contains_text("r.json:1:1: not a report: expected a value, found the end of"));
  CHECK_THAT(error_of("{\"schema_version\": 3,"),
             contains_text("r.json:1:22: not a report: expected a member's name"));
  CHECK(error_of("[]") == "r.json: expected an object, found array");
  CHECK(error_of("{}") == "r.json: no member 'schema_version'");
  CHECK(error_of(R"({"name": "a", "experiments": []})") ==
        "r.json: is an experiment config; expected results, which gpuexp run r.json writes");
  for (const char* version : {"0", "1", "2", "4"}) {
    CHECK(error_of(with("\"schema_version\": 3", fmt::format("\"schema_version\": {}", version))) ==
          fmt::format(
              "r.json: has schema_version {}; this version of gpuexp reads 3: use the version "
              "that wrote the file (gpuexp_version in its provenance), or record the results "
              "again",
              version));
  }
  CHECK(error_of(with("\"schema_version\": 3", "\"schema_version\": \"1\"")) ==
        "r.json: schema_version: expected a 64-bit integer, found \"1\"");
  CHECK(error_of(with("\"complete\": false", "\"complete\": 1")) ==
        "r.json: complete: expected true or false, found 1");
  CHECK(error_of(with("\"real\"", "\"float\"")) ==
        "r.json: columns[0].type: expected \"text\", \"integer\" or \"real\", found \"float\"");
  CHECK(error_of(with("{\"x\":1.5", "{\"x\":\"fast\"")) ==
        "r.json: rows[0].x: expected a number, found \"fast\"");
  CHECK(error_of(with("{\"x\":1.5", "{\"y\":1.5")) == "r.json: rows[0]: no member 'x'");
  CHECK(error_of(with("\"samples_us\":[]", "\"samples_us\":[1,null]")) ==
        "r.json: rows[0].samples_us[1]: expected a number, found null");
  CHECK(error_of(with("\"name\":\"x\"", "\"name\":\"samples_us\"")) ==
        "r.json: columns[0]: the column name 'samples_us' is reserved");
  CHECK(error_of(with("\"argv\": []", "\"argv\": [[]]")) ==
        "r.json: provenance.argv[0]: expected a text, found array");
  CHECK(error_of(with("\"sm_count\": null", "\"sm_count\": 1.5")) ==
        "r.json: provenance.device.sm_count: expected a 64-bit integer, found 1.5");
  const auto with_ceilings = [](const std::string& ceilings) {
    return with("\"argv\": []", "\"argv\": [], \"ceilings\": " + ceilings);
  };
  CHECK(error_of(with_ceilings("{}")) == "r.json: provenance.ceilings: no member 'source'");
  CHECK(error_of(with_ceilings(R"({"source": "", "values": []})")) ==
        "r.json: provenance.ceilings.values: expected an object, found array");
  CHECK(error_of(with_ceilings(R"({"source": "", "values": {"fp32": {"low": "1"}}})")) ==
        "r.json: provenance.ceilings.values.fp32.low: expected a number, found \"1\"");
  CHECK(error_of(with("{\"x\":1.5", "{\"x\":1.5,\"x\":1.5")) ==
        "r.json: rows[0]: 'x' is given twice");
  CHECK(error_of(with("\"samples_us\":[]", "\"samples_us\":[],\"samples_us\":[]")) ==
        "r.json: rows[0]: 'samples_us' is given twice");
  CHECK(error_of(with("\"complete\": false", "\"complete\": false, \"complete\": true")) ==
        "r.json: 'complete' is given twice");
  CHECK(error_of(with("\"argv\": []", "\"argv\": [], \"argv\": []")) ==
        "r.json: provenance: 'argv' is given twice");
  CHECK(error_of(with("\"argv\": [],", "")) == "r.json: provenance: no member 'argv'");
  CHECK(error_of(with(",\"doc\":\"\"", "")) == "r.json: columns[0]: no member 'doc'");
  CHECK(error_of(with("\"settings\": {}", "\"settings\": {\"a b\": true}")) ==
        "r.json: provenance.settings.a b: expected a number, a text or null, found true");
  CHECK(error_of(with("\"settings\": {}", "\"settings\": {\"a\": 9223372036854775808}")) ==
        "r.json: provenance.settings.a: expected a 64-bit integer, found "
        "9223372036854775808");
  CHECK_THAT(error_of(to_json(one_field_report(1.5, kReal)) + std::string(1, '\0')),
             contains_text("not a report: expected nothing after the value, found byte 0x00"));
  CHECK(error_of(with("{\"x\":1.5", "{\"x\":NaN")) != "no error");
  CHECK(error_of(with("{\"x\":1.5", "{\"x\":1e999")) != "no error");
}

TEST_CASE("Truncated reports are rejected", "[report][json][errors]") {
  const std::string text = to_json(one_field_report(1.5, kReal));
  for (std::size_t length = 0; length + 2 < text.size(); ++length) {
    INFO(length);
    CHECK(error_of(text.substr(0, length)) != "no error");
  }
}

TEST_CASE("A parameter may have another type in each family", "[report][json]") {
  Report report;
  report.table = test::record_table(
      {{{"param.width", "", kInteger, ""}}, {{std::int64_t{4}}, {"wide"}, {0.5}}});
  CHECK(parse_report(to_json(report), "r.json").table.rows == report.table.rows);
}
