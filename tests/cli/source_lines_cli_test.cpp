// `annotate` and `compare` of users' kernel files.
#include <filesystem>
#include <string>
#include <utility>

#include "cli/add_kernels.hpp"
#include "cli/program.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

TEST_CASE("annotate shows the source of a variant of a kernel file", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.path("add.cu");
  for (const std::string& name : {file, file + ":add"}) {
    const Outcome outcome = gpuexp("annotate " + name + " --set n=2000");
    INFO(outcome.output);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.output, contains_text("add.cu/add on NVIDIA H200"));
    CHECK_THAT(outcome.output, contains_text("n=2000"));
    CHECK_THAT(outcome.output, contains_text("|   if (i < n) z[i] = x[i] + y[i];\n"));
    CHECK_THAT(outcome.output, contains_text("→ load of x\n"));
  }
  check_refuses("annotate " + kExamples + "transpose.cu",
                "does not name a variant; expected " + kExamples +
                    "transpose.cu:VARIANT with one of: naive, tile, padded");
  check_refuses("annotate " + kExamples + "transpose.cu:til",
                "family 'transpose.cu' has no variant 'til'; did you mean 'tile'?");
}

TEST_CASE("compare shows which lines of two kernel files differ in time", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  fs::create_directory(folder.path("new"));
  const std::string strided = folder.write(
      "new/add.cu", KernelFolder::declared("z[i] = x[i] + y[i];", "z[i] = x[i * 7 % n] + y[i];"));
  const Outcome outcome =
      gpuexp("compare " + folder.path("add.cu") + " " + strided + " --set n=2097152");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.output, contains_text("simulated and predicted, not measured"));
  CHECK_THAT(outcome.output, contains_text("The predicted time changes by +"));
  CHECK_THAT(outcome.output, contains_text(" ± "));  // the band of each predicted time
  CHECK_THAT(outcome.output, contains_text("| if (i < n) z[i] = x[i * 7 % n] + y[i];\n"));

  // All of 1000 blocks, or a sample of many: counts are those of all blocks.
  const std::string twice = "compare " + folder.path("add.cu") + " " + folder.path("add.cu");
  for (const auto& [n, sectors] : {std::pair{"256000", " 96000 "}, {"16777216", " 6291456 "}}) {
    const Outcome counted = gpuexp(twice + " --set n=" + n);
    INFO(counted.output);
    CHECK_THAT(counted.output, contains_text(sectors));
  }

  const Outcome sizes =
      gpuexp("compare " + folder.path("add.cu") + " " +
             folder.write("new/other.cu", KernelFolder::declared("n = 1000", "n = 500")));
  INFO(sizes.output);
  CHECK(sizes.exit_code == 0);
  CHECK_THAT(sizes.output, contains_text("different problems, n=1000 and n=500 (--set gives both "
                                         "the same values), NVIDIA H200 SXM"));

  const Outcome same = gpuexp(twice);
  INFO(same.output);
  CHECK_THAT(same.output, !contains_text("different problems"));
  CHECK(same.exit_code == 0);
  CHECK_THAT(same.output, contains_text("The predicted time does not change."));
  CHECK_THAT(same.output, contains_text("No line changed; "));
  CHECK_THAT(same.output, !contains_text("changed:"));
}

TEST_CASE("compare refuses kernel files that cannot be compared", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.path("add.cu");
  const std::string transpose = kExamples + "transpose.cu";
  check_refuses("compare " + file + " results.json", "expected two results, or two kernel files");
  check_refuses("compare " + file, "expected two results, or two kernel files");
  check_refuses("compare " + file + " " + file + " --format html",
                "with kernel files, only --gpu, --device, --set and --all apply");
  check_refuses("compare a.json b.json --gpu h200",
                "--gpu, --device and --set need two kernel files");
  check_refuses("compare " + file + " " + transpose,
                "have no variant of the same name; choose one of each, as FILE:VARIANT: add; and "
                "naive, tile, padded");
}

TEST_CASE("compare without a GPU names versions that are wrong before its figures",
          "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  fs::create_directory(folder.path("new"));
  const std::string old = folder.path("add.cu");
  const auto output_with = [&](const std::string& after) {
    const Outcome outcome = gpuexp("compare " + old + " " + after + " --gpu h200 --set n=2097152");
    INFO(outcome.output);
    CHECK(outcome.exit_code == 0);
    CHECK_THAT(outcome.output, contains_text("The predicted time "));
    return outcome.output;
  };
  const std::string wrong = folder.write(
      "new/add.cu", KernelFolder::declared("z[i] = x[i] + y[i];", "z[i] = x[i] - y[i];"));
  for (const std::string& name : {wrong, wrong + ":add"}) {
    const std::string output = output_with(name);
    const std::size_t failure = output.find("\n" + wrong + ":add is incorrect at n=");
    REQUIRE(failure != std::string::npos);
    CHECK(failure < output.find("predicted time"));
    CHECK_THAT(output,
               contains_text("elements are wrong; first z[") && !contains_text(old + ":add "));
  }
  const std::string beyond = folder.write(
      "new/add.cu",
      KernelFolder::declared("z[i] = x[i] + y[i];", "z[i] = x[i] + y[i]; __syncthreads();"));
  CHECK_THAT(output_with(beyond),
             !contains_text(":add is incorrect") && !contains_text(":add fails"));
  // Without a check, nothing is known to be wrong.
  const std::string unchecked = folder.write(
      "new/add.cu", KernelFolder::declared("// gpuexp: check z[i] = x[i] + y[i]", "//"));
  CHECK_THAT(output_with(unchecked),
             !contains_text(":add is incorrect") && !contains_text(":add fails"));
}

TEST_CASE("annotate ends a kernel that hangs at the time limit of launches", "[machine_code]") {
  if (!has_compiler()) return;
  const KernelFolder folder;
  const std::string file = folder.write("hangs.cu", R"(// gpuexp: x[256]
// gpuexp: hangs<<<1, 256>>>
__global__ void hangs(float* x) {
  x[threadIdx.x] = 1;
  volatile float* flag = x;
  while (*flag != 2) x[threadIdx.x] = 1;
}
)");
  const Outcome outcome = gpuexp("annotate " + file + " --launch-timeout 0.5");
  INFO(outcome.output);
  CHECK(outcome.exit_code == 4);
  CHECK_THAT(outcome.output,
             contains_text("hangs.cu: did not end within 0.5 s of simulation (--launch-timeout); a "
                           "warp was at hangs.cu:6"));
  CHECK(gpuexp("annotate " + folder.path("add.cu") + " --launch-timeout 20").exit_code == 0);
}

}  // namespace
}  // namespace gpuexp::test
