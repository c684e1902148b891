#include "cli/program.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/wait.h>

#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {

namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(GPUEXP_SOURCE_DIR) / "tests" / "cli" / "golden";

// Releases of CLI11 place blank lines differently in help texts.
std::string without_blank_lines(std::string text) {
  const auto same = [](char a, char b) { return a == '\n' && b == '\n'; };
  text.erase(std::unique(text.begin(), text.end(), same), text.end());
  return text;
}

}  // namespace

Outcome gpuexp(const std::string& arguments, const std::string& environment) {
  const std::string command = std::string("cd '") + GPUEXP_SOURCE_DIR + "' && LC_ALL=C.UTF-8 " +
                              environment + " '" + GPUEXP_BINARY + "' " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  Outcome outcome{0, ""};
  std::array<char, 4096> part{};
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), pipe))
    outcome.output.append(part.data(), n);
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

bool knows_machine_code(const std::string& description) {
  if (description.find("unknown: ") == std::string::npos) return true;
  skip(Tier::machine_code, "built without cuobjdump or nvdisasm: no machine code to show");
  return false;
}

bool has_compiler() {
  const std::string described = gpuexp("describe docs/examples/vector_add.cu").output;
  const std::size_t missing = described.find("there is no ");
  if (missing == std::string::npos) return knows_machine_code(gpuexp("describe matmul").output);
  skip(Tier::machine_code, described.substr(missing, described.find('\n', missing) - missing));
  return false;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void check_text(const std::string& name, const std::string& arguments, const Outcome& outcome,
                int exit_code) {
  INFO("gpuexp " << arguments);
  INFO(outcome.output);
  CHECK(outcome.exit_code == exit_code);
  const std::string text = "$ gpuexp " + arguments + "\n" + outcome.output;
  const fs::path path = kGolden / (name + ".txt");
  if (std::getenv("GPUEXP_UPDATE_GOLDEN")) {
    std::ofstream(path) << text;
    return;
  }
  const std::string golden = read_file(path);
  if (name.starts_with("help")) {
    CHECK(without_blank_lines(text) == without_blank_lines(golden));
  } else {
    CHECK(text == golden);
  }
}

void check_golden(const std::string& name, const std::string& arguments, int exit_code) {
  check_text(name, arguments, gpuexp(arguments), exit_code);
}

}  // namespace gpuexp::test
