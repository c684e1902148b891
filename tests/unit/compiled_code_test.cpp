#include "device/compiled_code.hpp"

#include "support/catch.hpp"

namespace gpuexp {
namespace {

// Selected code: "90a" if specific to 9.0, "-" if none.
std::string picked(std::string_view architectures, int capability) {
  const auto code = code_for(architectures, capability);
  if (!code) return "-";
  return std::to_string(code->capability) + (code->is_specific ? "a" : "");
}

TEST_CASE("a device runs machine code of its major version, else the newest PTX it can",
          "[compiled_code]") {
  constexpr std::string_view kPortable = "80-real,90a-real,80-virtual";
  CHECK(picked(kPortable, 80) == "80");
  CHECK(picked(kPortable, 86) == "80");
  CHECK(picked(kPortable, 90) == "90a");
  CHECK(picked(kPortable, 100) == "80");
  CHECK(picked(kPortable, 75) == "-");
  CHECK(picked("80;90", 90) == "90");
  CHECK(picked("80;90", 120) == "90");
  CHECK(picked("90a-virtual", 100) == "-");
  CHECK(picked("90,90a", 90) == "90a");
  CHECK(picked("90a,90", 90) == "90a");
  CHECK(picked("89-real", 86) == "-");
  CHECK(picked("native", 90) == "90");
  CHECK(picked("all", 89) == "89");
  CHECK(picked("all-major", 89) == "80");
  CHECK(picked("", 90) == "-");
  CHECK(picked("90a-real", 80) == "-");
}

TEST_CASE("missing code is reported with the architectures to build", "[compiled_code]") {
  CHECK(!lacks_code("90a-real", 90, 90, true));
  CHECK(!lacks_code("90", 90, 90, false));
  CHECK(lacks_code("90", 90, 90, true) ==
        std::string("this binary, built for 90, has no architecture-specific code "
                    "for compute capability 9.0; build with "
                    "-DCMAKE_CUDA_ARCHITECTURES=90a-real"));
  CHECK(lacks_code("80-real,80-virtual", 100, 90, false) ==
        std::string("this binary, built for 80-real,80-virtual, has only the code of 8.0 "
                    "for compute capability 10.0; build with -DCMAKE_CUDA_ARCHITECTURES=100-real"));
  CHECK(lacks_code("90a-real", 80, 80, false) ==
        std::string("this binary, built for 90a-real, has no code for compute capability 8.0; "
                    "build with -DCMAKE_CUDA_ARCHITECTURES=80-real"));
}

}  // namespace
}  // namespace gpuexp
