// The program's output, messages and exit codes.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "base/output.hpp"
#include "cli/program.hpp"
#include "support/scratch_folder.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

struct Case {
  const char* name;
  const char* arguments;
  int exit_code;
};

TEST_CASE("help of the program and of every subcommand") {
  check_golden("help", "--help", 0);
  for (const char* command :
       {"list", "describe", "annotate", "init", "plan", "predict", "run", "verify", "tune", "watch",
        "info", "merge", "report", "explain", "lesson", "compare", "schema"}) {
    check_golden(std::string("help_") + command, std::string(command) + " --help", 0);
  }
}

TEST_CASE("wrong arguments exit with code 2 and a message that names them") {
  const Case cases[] = {
      {"error_no_subcommand", "", 2},
      {"error_subcommand", "pln quickstart", 2},
      {"error_option", "plan quickstart --gpus h200", 2},
      {"error_family", "describe matmull", 2},
      {"error_describe_set", "describe divergence --set m=3", 2},
      {"error_describe_range", "describe divergence --set fraction=2", 2},
      {"error_config_name", "plan quickstrat", 2},
      {"error_config_path", "plan tests/cli/data/absent.json", 2},
      {"error_gpu", "predict quickstart --gpu h20", 2},
      {"error_gpu_several", "predict quickstart --gpu A100", 2},
      {"error_gpu_missing", "predict quickstart", 2},
      {"error_key", "plan tests/cli/data/unknown_key.json", 2},
      {"error_range", "plan tests/cli/data/out_of_range.json", 2},
      {"error_variant", "plan tests/cli/data/unknown_variant.json", 2},
      {"error_syntax", "plan tests/cli/data/syntax.json", 2},
      {"error_set", "plan tests/cli/data/small.json --set q=1", 2},
      {"error_set_empty", "plan spmv --set 'matrix=\"\"'", 2},
      {"error_set_quote", "plan spmv --set 'matrix=\"a,b.mtx'", 2},
      {"error_file_choice", "plan spmv --set matrix=small.mt", 2},
      {"error_file_absent", "plan spmv --set matrix=banded,absent.mtx", 2},
      {"error_file_header", "verify spmv --set matrix=tests/cli/data/array.mtx --simulate h200", 2},
      {"error_annotate_file", "annotate spmv/ell --set matrix=absent.mtx", 2},
      {"error_filter", "plan tests/cli/data/small.json --filter 'nothing/*'", 2},
      {"error_report", "report tests/cli/data/syntax.json", 2},
      {"error_report_config", "report tests/cli/data/small.json", 2},
      {"error_explain_config", "explain tests/cli/data/small.json", 2},
      {"error_compare_config", "compare tests/cli/data/compare_a.json tests/cli/data/small.json",
       2},
      {"error_report_missing", "report tests/cli/data/absent.json", 2},
      {"error_report_version", "report tests/cli/data/older.json", 2},
      {"error_report_cut", "report tests/cli/data/cut.json.zst", 2},
      {"error_explain_missing", "explain tests/cli/data/absent.json", 2},
      {"error_explain_family", "explain tests/cli/data/counted.json --family matmull", 2},
      {"error_explain_variant", "explain tests/cli/data/counted.json --variant coalesce", 2},
      {"error_lesson_missing", "lesson tests/cli/data/absent.md", 2},
      {"error_lesson_marker", "lesson tests/cli/data/lesson_broken.md", 2},
      {"error_lesson_results", "lesson tests/cli/data/lesson_unknown.md", 2},
      {"error_lesson_family",
       "lesson tests/cli/data/lesson_unknown.md --results tests/cli/data/counted.json", 2},
      {"error_compare_missing", "compare tests/cli/data/compare_a.json tests/cli/data/absent.json",
       2},
      {"error_compare_disjoint",
       "compare tests/cli/data/compare_a.json tests/cli/data/repeated_1.json --fail-on missing", 2},
      {"error_compare_one", "compare tests/cli/data/compare_a.json", 2},
      {"error_compare_variants",
       "compare tests/cli/data/compare_a.json tests/cli/data/compare_b.json --variants "
       "naive=triton",
       2},
      {"error_compare_gate",
       "compare tests/cli/data/compare_a.json tests/cli/data/compare_b.json --fail-on slow", 2},
      {"error_compare_noise",
       "compare tests/cli/data/compare_a.json tests/cli/data/compare_b.json --noise "
       "tests/cli/data/compare_a.json",
       2},
      {"error_calibrate_other",
       "compare --calibrate tests/cli/data/compare_a.json tests/cli/data/compare_b.json --out "
       "/dev/null",
       2},
      {"error_calibrate_same",
       "compare --calibrate tests/cli/data/repeated_1.json tests/cli/data/repeated_1.json --out "
       "/dev/null",
       2},
      {"error_report_samples", "report docs/results/h200/quickstart.json.zst --no-samples", 2},
      {"error_schema", "schema result", 2},
      {"error_info_out", "info --out ceilings.json", 2},
      {"error_info_device", "info --measure --device first", 2},
      {"error_info_device_all", "info --measure --device all", 2},
      {"error_info_device_alone", "info --device 1", 2},
      {"error_info_from", "info --from configs/ceilings/h200.json", 2},
      {"error_info_from_device", "info --check --device 0 --from configs/ceilings/h200.json", 2},
      {"error_info_from_measure", "info --check --measure --from configs/ceilings/h200.json", 2},
  };
  for (const Case& c : cases)
    check_golden(c.name, c.arguments, c.exit_code);
}

TEST_CASE("paths that the system refuses are reported with the reason") {
  const std::string long_name(300, 'x');
  struct Refused {
    std::string arguments;
    int exit_code;
    std::string message;
  };
  const std::vector<Refused> all{
      {"run tests/cli/data/small.json --simulate h200 --out /proc/x", 1,
       "gpuexp: /proc/x: cannot create the folder: No such file or directory\n"},
      {"run tests/cli/data/small.json --simulate h200 --out /dev/null/x", 1,
       "gpuexp: /dev/null/x: cannot create the folder: Not a directory\n"},
      {"schema --out /proc/x/schema.json", 1,
       "gpuexp: /proc/x: cannot create the folder: No such file or directory\n"},
      {"run tests/cli/data/small.json --simulate h200 --csv " + long_name, 1,
       "gpuexp: " + long_name + ": cannot write: File name too long\n"},
      {"plan ./" + long_name, 2,
       "gpuexp: ./" + long_name + ": cannot be read: File name too long\n"},
      {"report " + long_name, 2, "gpuexp: " + long_name + ": cannot read: File name too long\n"},
      {"merge " + long_name + " b", 2,
       "gpuexp: merge: " + long_name + "/log.jsonl: cannot read: File name too long\n"},
      {"run --resume " + long_name, 2,
       "gpuexp: --resume " + long_name + ": " + long_name +
           "/log.jsonl: cannot read: File name too long\n"},
      {"plan quickstart --gpu", 2, "gpuexp: --gpu: 1 required TEXT missing\n"},
  };
  for (const Refused& refused : all) {
    const Outcome outcome = gpuexp(refused.arguments);
    INFO(refused.arguments);
    CHECK(outcome.exit_code == refused.exit_code);
    CHECK(outcome.output.starts_with(refused.message));
  }
}

TEST_CASE("plan") {
  const Case cases[] = {
      {"plan", "plan tests/cli/data/small.json --gpu h200", 0},
      {"plan_set",
       "plan tests/cli/data/small.json --gpu t4 --set m=3,5 --set modes=warm --filter '*/naive'",
       0},
      {"plan_file", "plan tests/cli/data/matrix_files.json --gpu h200", 0},
      {"plan_json", "plan tests/cli/data/small.json --gpu h200 --filter '*/naive' --json", 0},
  };
  for (const Case& c : cases)
    check_golden(c.name, c.arguments, c.exit_code);
}

// Removes the parts of a description that depend on the compiler: numbers and instruction classes.
std::string without_figures(const std::string& description) {
  std::istringstream lines(description);
  std::string kept;
  bool in_code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("static instruction counts")) break;
    in_code = in_code || line.starts_with("machine code ");
    const bool is_figure = in_code && line.starts_with("      ");
    if (!is_figure) kept += line + "\n";
  }
  return kept;
}

TEST_CASE("every family can be described") {
  const auto listed = nlohmann::json::parse(gpuexp("list --json").output);
  for (const auto& family : listed.at("families")) {
    const auto id = family.at("id").get<std::string>();
    INFO(id);
    CHECK(gpuexp("describe " + id).exit_code == 0);
  }
}

TEST_CASE("a family is described", "[machine_code]") {
  const std::string arguments = "describe divergence --gpu h200 --set cost=16";
  const Outcome outcome = gpuexp(arguments);
  if (!knows_machine_code(outcome.output)) return;
  check_text("describe", arguments, {outcome.exit_code, without_figures(outcome.output)}, 0);
}

TEST_CASE("a description skips no variant because of a mode", "[machine_code]") {
  const Outcome outcome = gpuexp("describe launch_overhead --gpu h200");
  CHECK(outcome.exit_code == 0);
  if (!knows_machine_code(outcome.output)) return;
  CHECK_THAT(outcome.output, contains_text("  first_launch: step_kernel"));
  CHECK_THAT(outcome.output, contains_text("  from_first: step_kernel"));
  CHECK_THAT(outcome.output, !contains_text("only mode cold supports"));
}

TEST_CASE("a description lists the instruction classes of each kernel", "[machine_code]") {
  const Outcome outcome = gpuexp("describe divergence --gpu h200");
  CHECK(outcome.exit_code == 0);
  if (!knows_machine_code(outcome.output)) return;
  const std::size_t select = outcome.output.find("  select: select_kernel");
  REQUIRE(select != std::string::npos);
  const std::size_t legend = outcome.output.find("\nstatic instruction counts", select);
  REQUIRE(legend != std::string::npos);
  CHECK_THAT(outcome.output.substr(0, select), contains_text("  BSSY "));
  CHECK(outcome.output.substr(select, legend - select).find("BSSY") == std::string::npos);
  CHECK_THAT(outcome.output.substr(legend), contains_text("  BSSY        starts of a region"));
}

TEST_CASE("a description as JSON has the machine code of each problem", "[machine_code]") {
  const auto json = nlohmann::json::parse(
      gpuexp("describe vector_width --set loads_per_thread=1,4,5 --json").output, nullptr, false);
  REQUIRE(json.is_object());
  const auto& problems = json["machine_code"];
  if (problems.is_null()) {
    return skip(Tier::machine_code, "built without cuobjdump: no machine code to show");
  }
  REQUIRE(problems.size() == 3);
  CHECK(problems[1]["parameters"]["loads_per_thread"] == 4);
  const auto variant = [&](int problem, const std::string& id) -> nlohmann::json {
    for (const auto& v : problems[problem]["variants"]) {
      if (v["id"] == id) return v;
    }
    return nullptr;
  };
  const auto kernel = variant(1, "read_16b")["kernels"][0];
  CHECK(kernel["kernel"] == "checksum_kernel<float4, 4>");
  CHECK(kernel["registers"] > 0);
  CHECK_THAT(variant(2, "read_16b")["skip_reason"].get<std::string>(),
             contains_text("loads_per_thread is 5"));
  CHECK(variant(2, "read_16b")["kernels"].empty());
  if (kernel["classes"].is_null())
    return skip(Tier::machine_code, "built without nvdisasm: no instructions to show");
  CHECK(kernel["classes"]["LDG.128"] > variant(0, "read_16b")["kernels"][0]["classes"]["LDG.128"]);
  CHECK(kernel["opcodes"]["EXIT"] > 0);
}

TEST_CASE("differences are explained from recorded counters") {
  const std::string counted = "explain tests/cli/data/counted.json ";
  check_golden("explain", counted, 0);
  check_golden("explain_all", counted + "--family coalescing --variant read_strided --all", 0);
  check_golden("explain_json", counted + "--variant coalesced --json", 0);
  check_golden("explain_uncounted",
               "explain docs/results/h200/quickstart.json.zst --variant smem_tile", 0);
  check_golden("explain_nothing", "explain tests/cli/data/compare_a.json", 0);
}

TEST_CASE("two runs are compared, and a gate fails with exit code 6") {
  const std::string runs = "compare tests/cli/data/compare_a.json tests/cli/data/compare_b.json ";
  check_golden("compare", runs, 0);
  check_golden("compare_all", runs + "--min-effect 2 --all --format markdown", 0);
  check_golden("compare_csv", runs + "--min-effect 2 --csv -", 0);
  check_golden("compare_json", runs + "--noise tests/cli/data/noise.json --json -", 0);
  check_golden("compare_junit", runs + "--min-effect 2 --format junit", 0);
  check_golden("compare_variants",
               runs + "--min-effect 2 --variants naive=smem_tile,contiguous=tma", 0);
  check_golden("compare_junit_gate",
               runs + "--min-effect 2 --fail-on slower,missing --format junit", 6);
  check_golden("compare_gate", runs + "--min-effect 2 --fail-on slower,missing --csv -", 6);
  check_golden("compare_gate_passed", runs + "--min-effect 20 --fail-on slower,faster --csv -", 0);
}

TEST_CASE("a folder hides a config of the same name only if another folder would") {
  const ScratchFolder scratch;
  fs::create_directory(scratch.path() / "transpose");
  const std::string there = "cd " + scratch.path().string() + " && ";
  const Outcome planned = gpuexp("plan transpose --gpu h200", there);
  INFO(planned.output);
  CHECK(planned.exit_code == 0);
  fs::create_directory(scratch.path() / "mine");
  const Outcome refused = gpuexp("plan mine --gpu h200", there);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.output,
             contains_text("mine: is a folder without a cubin; expected a config, which is a JSON "
                           "file, a kernel file, whose name ends in .cu, "));
}

TEST_CASE("repeated runs are calibrated into a file that compare reads") {
  const std::string runs =
      "tests/cli/data/repeated_1.json tests/cli/data/repeated_2.json "
      "tests/cli/data/repeated_3.json";
  const fs::path out = fs::temp_directory_path() / "gpuexp_cli_noise.json";
  const Outcome outcome = gpuexp("compare --calibrate " + runs + " --out " + out.string());
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK(read_file(out) == read_file(fs::path(GPUEXP_SOURCE_DIR) / "tests/cli/data/noise.json"));
  fs::remove(out);
  check_golden("calibrate", "compare --calibrate " + runs + " --out /dev/null", 0);
}

// Bands of an invented GPU: those of real ones change with every recorded GPU.
TEST_CASE("recorded ceilings are checked against the bands of their GPU model") {
  const std::string folder = "tests/cli/data/health";
  const std::string from = "info --check --from " + folder + "/";
  const auto check = [&](const char* name, const std::string& arguments, int exit_code,
                         const std::string& environment = "") {
    const std::string all = "GPUEXP_CONFIG_DIR=" + folder + " " + environment;
    check_text(name, arguments, gpuexp(arguments, all), exit_code);
  };
  check("check", from + "healthy.json", 0);
  check("check_low", from + "low.json", 6);
  check("check_high", from + "high.json", 6, "LC_ALL=C");
  check("check_unlisted", from + "unlisted.json", 6);
  check("check_json", from + "low.json --json", 6);
  const std::string two = folder + "/healthy.json ";
  check("check_several", "info --check --from " + two + folder + "/low.json", 6);
  check("check_several_healthy", "info --check --from " + two + two, 0);
  const std::string all = "GPUEXP_CONFIG_DIR=" + folder;
  const auto json = nlohmann::json::parse(
      gpuexp("info --check --json --from " + two + folder + "/low.json", all).output);
  REQUIRE(json.size() == 2);
  CHECK(json[0]["verdict"] == "healthy");
  CHECK(json[1]["verdict"] == "off");
  check("error_check_file", from + "devices/example.json", 2);
  check("error_check_missing", from + "absent.json", 2);
}

TEST_CASE("the recorded ceilings of an H200 are healthy") {
  const Outcome outcome = gpuexp("info --check --from configs/ceilings/h200.json");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("\nhealthy: "));
}

TEST_CASE("every shipped config is listed, and can be planned and predicted") {
  const auto listed = nlohmann::json::parse(gpuexp("list --json").output).at("configs");
  const fs::path configs = fs::path(GPUEXP_SOURCE_DIR) / "configs";
  std::size_t shipped = 0;
  for (const char* folder : {"", "figures"}) {
    for (const auto& entry : fs::directory_iterator(configs / folder))
      shipped += entry.path().extension() == ".json";
  }
  CHECK(listed.size() == shipped);
  for (const auto& config : listed) {
    const auto name = config.at("name").get<std::string>();
    for (const std::string command : {"plan ", "predict --limits "}) {
      const Outcome outcome = gpuexp(command + name + " --gpu h200");
      INFO(command << name << "\n" << outcome.output);
      CHECK(outcome.exit_code == 0);
    }
  }
}

TEST_CASE("the schemas in the source tree match the program's, and are JSON") {
  const fs::path configs = fs::path(GPUEXP_SOURCE_DIR) / "configs";
  const auto quickstart = nlohmann::json::parse(read_file(configs / "quickstart.json"));
  const fs::path of_configs = configs / quickstart["$schema"].get<std::string>();
  const std::pair<const char*, fs::path> cases[] = {
      {"schema", of_configs},
      {"schema config", of_configs},
      {"schema results", configs / "schema" / "results.schema.json"},
      {"schema declaration", configs / "schema" / "declaration.schema.json"},
  };
  for (const auto& [command, path] : cases) {
    INFO(command);
    const Outcome outcome = gpuexp(command);
    CHECK(outcome.exit_code == 0);
    CHECK(nlohmann::json::parse(outcome.output, nullptr, false).is_object());
    if (std::getenv("GPUEXP_UPDATE_GOLDEN")) std::ofstream(path) << outcome.output;
    CHECK(outcome.output == read_file(path));
  }
}

TEST_CASE("a machine without a GPU is reported, with exit code 5") {
  const WithoutGpu hidden;
  const Outcome info = gpuexp("info");
  CHECK(info.exit_code == 5);
  CHECK_THAT(info.output, contains_text("no GPU: "));
  const fs::path out = fs::temp_directory_path() / "gpuexp_cli_ceilings.json";
  const Outcome measured = gpuexp("info --measure --out " + out.string());
  CHECK(measured.exit_code == 5);
  CHECK(measured.output == info.output);
  const Outcome checked = gpuexp("info --check --measure --out " + out.string());
  CHECK(checked.exit_code == 5);
  CHECK(checked.output == info.output);
  CHECK(!fs::exists(out));
  for (const char* command : {"info --json", "info --check --json", "info --measure --json"}) {
    const auto json = nlohmann::json::parse(gpuexp(command).output, nullptr, false);
    CHECK(json["no_device_reason"].is_string());
  }
  const Outcome run = gpuexp("run tests/cli/data/small.json");
  CHECK(run.exit_code == 5);
  CHECK_THAT(run.output, contains_text("no GPU: "));
  CHECK_THAT(run.output, contains_text("--simulate h200 executes the kernels on the CPU"));
  CHECK(!fs::exists(fs::path(GPUEXP_SOURCE_DIR) / "results" / "small"));
}

TEST_CASE("a file size limit ends a command like a full disk") {
  const fs::path out = fs::temp_directory_path() / "gpuexp_cli_limited.md";
  fs::remove(out);
  const std::string arguments = "lesson docs/lessons/matmul.md --out " + out.string();
  const Outcome limited = gpuexp(arguments, "ulimit -S -f 8;");
  INFO(limited.output);
  CHECK(limited.exit_code == 1);
  CHECK(limited.output.find("cannot write: File too large") != std::string::npos);
  CHECK(!fs::exists(out));
  CHECK(gpuexp(arguments).exit_code == 0);
  fs::remove(out);
}

TEST_CASE("a full disk at standard output is reported, and standard output named once") {
  const std::string report = "report tests/cli/data/compare_a.json --format csv";
  for (const std::string& command : {std::string("list"), report, std::string("schema results")}) {
    const std::string text = gpuexp(command + " 2>&1 > /dev/full | cat").output;
    INFO(command << "\n" << text);
    CHECK_THAT(text, contains_text("gpuexp: standard output: cannot write"));
    CHECK(text.find("standard output") == text.rfind("standard output"));
  }
}

TEST_CASE("help of a subcommand is also a subcommand") {
  CHECK(gpuexp("help verify").output == gpuexp("verify --help").output);
  CHECK(gpuexp("help list metrics").output == gpuexp("list metrics --help").output);
  const Outcome all = gpuexp("help");
  CHECK(all.exit_code == 0);
  CHECK(all.output == gpuexp("--help").output);
  const Outcome unknown = gpuexp("help verfy");
  CHECK(unknown.exit_code == 2);
  CHECK_THAT(unknown.output, contains_text("unknown subcommand 'verfy'; did you mean 'verify'? "));
}

TEST_CASE("a kernel file is not read from standard input") {
  const Outcome outcome = gpuexp("plan - --gpu h200 < docs/examples/vector_add.cu");
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.output,
             contains_text("gpuexp: standard input: is not a config, which is a JSON object; a "
                           "kernel file is not read from standard input: name the file"));
}

TEST_CASE("families are listed by topic, memory first") {
  const std::string text = gpuexp("list").output;
  const auto at = [&](const std::string& what) {
    INFO(what);
    const std::size_t place = text.find(what);
    REQUIRE(place != std::string::npos);
    return place;
  };
  CHECK(at("\nMemory") < at("\n  coalescing:"));
  CHECK(at("\n  coalescing:") < at("\nExecution"));
  CHECK(at("\nExecution") < at("\n  divergence:"));
  CHECK(at("\n  divergence:") < at("\nMatrix products"));
  const auto listed = nlohmann::json::parse(gpuexp("list --json").output);
  for (const auto& family : listed.at("families")) {
    if (family.at("id") == "coalescing") CHECK(family.at("topic") == "memory");
    if (family.at("id") == "matmul") CHECK(family.at("topic") == "matrix_products");
  }
}

TEST_CASE("list starts quickly") {
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = gpuexp("list");
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("matmul"));
  // The aim is 50 ms, measured separately. A machine that runs tests in parallel may take ten times
  // as long.
  CHECK(elapsed.count() < 0.5);
}

// CUPTI's tables list these metrics without a GPU.
TEST_CASE("counters use metrics that chips of every generation have", "[cupti]") {
  for (const char* gpu : {"h200", "a100_sxm4_80gb", "b200", "l4", "rtx_3090", "t4"}) {
    const auto json = nlohmann::json::parse(
        gpuexp(std::string("list metrics --json --gpu ") + gpu + " 2>/dev/null").output);
    if (json.at("metrics").empty()) {
      return skip(Tier::cupti, "CUPTI cannot be loaded here");
    }
    std::set<std::string> metrics;
    for (const auto& metric : json.at("metrics"))
      metrics.insert(metric.at("name").get<std::string>());
    for (const auto& counter : json.at("counters")) {
      INFO(gpu << ": " << counter.at("name"));
      for (const char* part : {"numerator", "denominator", "nsight_name"}) {
        const auto name = counter.at(part).get<std::string>();
        CHECK((name.empty() || metrics.count(name.substr(0, name.rfind('.'))) == 1));
      }
    }
  }
}

}  // namespace
}  // namespace gpuexp::test
