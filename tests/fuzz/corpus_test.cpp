// Replays inputs that fuzzers found.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "fuzz/fuzz.hpp"
#include "support/catch.hpp"

namespace {

namespace fs = std::filesystem;

void replay(const std::string& corpus, void (*feed)(std::string_view)) {
  constexpr std::size_t kFewest = 20;
  std::size_t count = 0;
  for (const auto& entry :
       fs::directory_iterator(fs::path(GPUEXP_SOURCE_DIR) / "tests" / "fuzz" / "corpus" / corpus)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    INFO(entry.path().string());
    CHECK_NOTHROW(feed(text.str()));
    ++count;
  }
  CHECK(count >= kFewest);
}

}  // namespace

TEST_CASE("the corpus of machine code breaks no promise", "[fuzz]") {
  replay("code", gpuexp::fuzz::fuzz_code);
}

TEST_CASE("the corpus of programs breaks no promise", "[fuzz]") {
  replay("execution", gpuexp::fuzz::fuzz_execution);
}

TEST_CASE("the corpus of cubins breaks no promise", "[fuzz]") {
  replay("cubin", gpuexp::fuzz::fuzz_cubin);
}

TEST_CASE("the corpus of configs breaks no promise", "[fuzz]") {
  replay("config", gpuexp::fuzz::fuzz_config);
}

TEST_CASE("the corpus of declarations breaks no promise", "[fuzz]") {
  replay("declaration", gpuexp::fuzz::fuzz_declaration);
}

TEST_CASE("the corpus of results breaks no promise", "[fuzz]") {
  replay("results", gpuexp::fuzz::fuzz_results);
}

TEST_CASE("the corpus of lessons breaks no promise", "[fuzz]") {
  replay("lesson", gpuexp::fuzz::fuzz_lesson);
}

TEST_CASE("the corpus of logs breaks no promise", "[fuzz]") {
  replay("log", gpuexp::fuzz::fuzz_log);
}

TEST_CASE("the corpus of matrices breaks no promise", "[fuzz]") {
  replay("matrix", gpuexp::fuzz::fuzz_matrix);
}

TEST_CASE("the corpus of arrays breaks no promise", "[fuzz]") {
  replay("npy", gpuexp::fuzz::fuzz_npy);
}
