// Verdicts on other people's kernels, executed on the CPU. Sources in the declarations of
// data/foreign are relative to a folder of clones.
#include "sim/foreign_clone.hpp"
#include "sim/kernel_folder.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

/// Family of a declaration in data/foreign.
class ForeignFamily {
 public:
  ForeignFamily(const fs::path& clone, const std::string& declaration) {
    const std::string name = declaration + ".gpuexp.json";
    const fs::path place = fs::path(folder_.folder());
    fs::create_directory_symlink(fs::absolute(clone), place / clone.filename());
    fs::copy_file(fs::path(GPUEXP_SOURCE_DIR) / "tests/sim/data/foreign" / name, place / name);
    family_ = &folder_.files().load(place / name);
  }
  const Family& operator*() const { return *family_; }
  const Family* operator->() const { return family_; }

 private:
  KernelFolder folder_;
  const Family* family_ = nullptr;
};

/// Variants of a declaration, and parts of the message about each; none if they are right.
struct ForeignVerdict {
  std::string declaration;
  std::vector<std::string> variants;
  Changed changed;
  std::vector<std::string> parts;
};

void check_verdicts(const std::string& clone, const std::vector<ForeignVerdict>& verdicts) {
  REQUIRE_TOOLKIT();
  const fs::path folder = foreign_clone(clone);
  if (folder.empty()) return;
  std::map<std::string, ForeignFamily> families;
  for (const ForeignVerdict& verdict : verdicts) {
    const ForeignFamily& family =
        families.try_emplace(verdict.declaration, folder, verdict.declaration).first->second;
    for (const std::string& variant : verdict.variants) {
      INFO(verdict.declaration << " " << variant);
      const std::string message = failure(*family, variant, values_with(*family, verdict.changed));
      if (verdict.parts.empty()) CHECK(message == "");
      for (const std::string& part : verdict.parts)
        CHECK_THAT(message, contains_text(part));
    }
  }
}

Changed square(std::int64_t n) {
  return {{"M", n}, {"N", n}, {"K", n}};
}

// siboehm/SGEMM_CUDA, commit 60cba6f
TEST_CASE("matrix products of SGEMM_CUDA have their verdicts", "[foreign]") {
  std::vector<ForeignVerdict> verdicts;
  for (int i = 1; i <= 12; ++i)
    verdicts.push_back({"sgemm_" + std::to_string(i), {"sgemm"}, square(256), {}});
  verdicts.push_back({"sgemm_3",
                      {"sgemm"},
                      {{"K", std::int64_t{48}}},
                      {"outside of every buffer", "3_kernel_shared_mem_blocking.cuh:39"}});
  verdicts.push_back({"sgemm_11",
                      {"sgemm"},
                      square(384),
                      {"outside of every buffer", "11_kernel_double_buffering.cuh:34"}});
  verdicts.push_back({"sgemm_12", {"sgemm"}, square(384), {}});
  check_verdicts("siboehm+SGEMM_CUDA", verdicts);
}

/// Checks the products with all given tiles on GPUs of four compute capabilities.
void check_tiles(const fs::path& clone, const std::string& declaration,
                 const std::vector<Changed>& tiles) {
  const ForeignFamily family(clone, declaration);
  for (const char* gpu : {"a100_sxm4_80gb", "rtx_4090", "h200", "rtx_5090"}) {
    for (Changed changed : tiles) {
      INFO(declaration << " " << gpu);
      changed.merge(
          Changed{{"M", std::int64_t{128}}, {"N", std::int64_t{256}}, {"K", std::int64_t{32}}});
      CHECK(failure(*family, "sgemm", values_with(*family, changed), device_of(gpu)) == "");
    }
  }
}

TEST_CASE("tile sizes of SGEMM_CUDA are axes on four architectures", "[foreign]") {
  REQUIRE_TOOLKIT();
  const fs::path clone = foreign_clone("siboehm+SGEMM_CUDA");
  if (clone.empty()) return;
  std::vector<Changed> tiles;
  for (const std::int64_t rows : {64, 128})
    for (const std::int64_t columns : {64, 128})
      tiles.push_back({{"BM", rows}, {"BN", columns}});
  check_tiles(clone, "sgemm_5", tiles);
  const Changed of_a100{{"BM", std::int64_t{64}},
                        {"WM", std::int64_t{32}},
                        {"WNITER", std::int64_t{1}},
                        {"TM", std::int64_t{4}}};
  check_tiles(clone, "sgemm_10", {{}, of_a100});
}

// karpathy/llm.c, commit f1e2ace
TEST_CASE("normalization of llm.c is right, and a softmax has a race", "[foreign]") {
  check_verdicts(
      "karpathy+llm.c",
      {{"layernorm", {"kernel1", "kernel2", "kernel3", "kernel4", "kernel5", "kernel6"}, {}, {}},
       {"softmax",
        {"kernel4"},
        {},
        {"with no barrier since", "softmax_forward.cu:268", "softmax_forward.cu:288"}}});
}

// NVIDIA/cuda-samples, commit c94ff36
TEST_CASE("samples of the toolkit have their verdicts", "[foreign]") {
  check_verdicts(
      "NVIDIA+cuda-samples",
      {{"reduction",
        {"reduce0", "reduce1", "reduce2", "reduce3", "reduce4", "reduce5", "reduce6", "reduce7"},
        {},
        {}},
       {"async_copy", {"Naive", "SingleStage", "SharedState"}, {}, {}},
       // With four stages or fewer, no stage is overwritten.
       {"async_copy", {"MultiStage"}, {{"wA", std::int64_t{64}}}, {}},
       {"async_copy",
        {"MultiStage"},
        {},
        {"nothing has waited for it", "globalToShmemAsyncCopy.cu:467"}},
       {"async_copy",
        {"LargeChunk", "LargeChunkAWBarrier", "NaiveLargeChunk"},
        {},
        {"are wrong", "expected"}}});
}

}  // namespace
}  // namespace gpuexp::test
