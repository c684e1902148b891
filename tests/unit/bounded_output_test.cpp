#include "base/bounded_output.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

std::string written(const std::vector<std::string>& texts, const OutputLimits& limits) {
  std::string all;
  BoundedOutput output([&](std::string_view text) { all += text; }, "kernels", limits);
  for (const std::string& text : texts)
    output.add(text);
  return all;
}

TEST_CASE("an output stops at its limits, with a note", "[text]") {
  const OutputLimits limits{2, 2048};
  const std::string note =
      "gpuexp: kernels printed more than 2 lines or 2 KiB; the rest is left out\n";
  CHECK(written({"a\n", "b\n"}, limits) == "a\nb\n");
  CHECK(written({"a\n", "b\nc\n", "d\n"}, limits) == "a\nb\n" + note);
  CHECK(written({"a\nb\n", "c"}, limits) == "a\nb\n" + note);
  CHECK(written({std::string(2048, 'x')}, limits) == std::string(2048, 'x'));
  CHECK(written({std::string(2047, 'x'), "yz", "z"}, limits) ==
        std::string(2047, 'x') + "y\n" + note);
}

}  // namespace
}  // namespace gpuexp::test
