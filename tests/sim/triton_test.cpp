// Kernels compiled by Triton run in the simulator like the program's own. scripts/bench_pytorch.py
// stores their PTX, shape and arguments; ptxas assembles the PTX. Results are compared with the
// host's.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/json.hpp"
#include "base/output.hpp"
#include "base/random_bits.hpp"
#include "sass/code_listing.hpp"
#include "sim/foreign_kernels.hpp"

namespace gpuexp::test {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = GPUEXP_SOURCE_DIR;

// Limits on the grid's executed blocks, starting at block 0, and on bytes of an array.
constexpr std::int64_t kMaxBlocks = 2000;
constexpr std::int64_t kBlocksOfLarge = 24;
constexpr std::int64_t kLargeBytes = std::int64_t{16} << 20;
constexpr std::int64_t kMaxBytes = std::int64_t{128} << 20;

/// Kernels compiled without a GPU for the tests, and those launched in recorded results. The first
/// file was made with Triton 3.6 by
///   scripts/bench_pytorch.py --ptx 90 tests/sim/data/triton_cells.json --out FOLDER
std::vector<fs::path> kept_files() {
  std::vector<fs::path> files{kSource / "tests/sim/data/triton_kernels.json"};
  for (const auto& gpu : fs::directory_iterator(kSource / "docs/results")) {
    const fs::path recorded = gpu.path() / "pytorch/kernels.json.zst";
    if (fs::exists(recorded)) files.push_back(recorded);
  }
  return files;
}

struct Launch {
  std::string key;
  std::string module;
  std::string kernel;
  std::int64_t blocks;
  std::int64_t threads;
  std::int64_t shared_bytes;
  std::map<std::string, double> constants;
  std::vector<Json> arguments;
  std::int64_t null_pointers;

  explicit Launch(const Json& kept)
      : key(kept.at("key").get<std::string>()),
        module(kept.at("module").get<std::string>()),
        kernel(kept.at("kernel").get<std::string>()),
        blocks(kept.at("grid").at(std::size_t{0}).get<std::int64_t>()),
        threads(kept.at("block_threads").get<std::int64_t>()),
        shared_bytes(kept.at("shared_bytes").get<std::int64_t>()),
        arguments(kept.at("arguments").items()),
        null_pointers(kept.at("null_pointers").get<std::int64_t>()) {
    for (const auto& [name, value] : kept.at("constants").members())
      constants[name] = value.get<double>();
  }

  const Json& argument(const std::string& name) const {
    const auto found = std::find_if(arguments.begin(), arguments.end(), [&](const Json& a) {
      return a.at("name").get<std::string>() == name;
    });
    if (found == arguments.end()) throw std::runtime_error(key + " has no argument " + name);
    return *found;
  }
  std::int64_t number(const std::string& name) const {
    return argument(name).at("value").get<std::int64_t>();
  }
  std::int64_t array_bytes() const { return argument("x").at("bytes").get<std::int64_t>(); }
  bool is_bf16() const { return argument("x").at("type").get<std::string>() == "*bf16"; }
};

// ---- elements

using Bf16 = std::uint16_t;

double value_of(float stored) {
  return stored;
}
double value_of(Bf16 stored) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(stored) << 16);
}

template <class T>
T stored(float value) {
  if constexpr (sizeof(T) == sizeof(float)) return value;
  return static_cast<T>(std::bit_cast<std::uint32_t>(value) >> 16);  // truncates
}

template <class T>
constexpr double kRoundoff = sizeof(T) == sizeof(float) ? 0x1p-24 : 0x1p-8;

/// Random bits; values in [-3, 3) if the kernel computes with them.
template <class T>
std::vector<T> inputs(std::int64_t count, bool is_moved) {
  std::vector<T> in(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < in.size(); ++i) {
    const std::uint64_t bits = random_bits(1, i);
    if (!is_moved) {
      in[i] = stored<T>(3.0f * (static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f));
    } else if constexpr (sizeof(T) == sizeof(float)) {
      in[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    } else {
      in[i] = static_cast<T>(bits);
    }
  }
  return in;
}

// ---- a launch

/// Executes the first `blocks` blocks of the stored grid.
template <class T>
void execute(ForeignKernels& kernels, const Launch& launch, std::int64_t blocks,
             const std::vector<T>& x, std::vector<T>& y) {
  KernelStep step;
  step.shape.kernel = kernels.row(launch.kernel).host_function;
  step.shape.grid = {blocks, 1, 1};
  step.shape.block = {launch.threads, 1, 1};
  step.shape.dynamic_shared_bytes = launch.shared_bytes;
  step.arguments.add(x.data());
  step.arguments.add(y.data());
  for (const Json& argument : launch.arguments) {
    const Json* const value = argument.find("value");
    if (!value) continue;
    if (argument.at("type").get<std::string>() == "i32") {
      step.arguments.add(static_cast<std::int32_t>(value->get<std::int64_t>()));
    } else {
      step.arguments.add(value->get<std::int64_t>());
    }
  }
  for (std::int64_t i = 0; i < launch.null_pointers; ++i)
    step.arguments.add(static_cast<const void*>(nullptr));
  kernels.simulator().run(Steps(std::move(step)));
}

/// An element-wise kernel: block i / BLOCK computes element i.
template <class T>
void check_computed(ForeignKernels& kernels, const Launch& launch) {
  const auto per_block = static_cast<std::int64_t>(launch.constants.at("BLOCK"));
  const std::int64_t n = launch.number("n");
  const std::int64_t blocks =
      launch.array_bytes() > kLargeBytes ? kBlocksOfLarge : std::min(launch.blocks, kMaxBlocks);
  const std::int64_t count = std::min(n, blocks * per_block);
  std::vector<T> x = inputs<T>(count, false);
  std::vector<T> y(x.size());
  kernels.add(x, "x");
  kernels.add(y, "y", sim::Contents::poison);
  std::fill(y.begin(), y.end(), stored<T>(NAN));
  execute(kernels, launch, blocks, x, y);

  // Tolerances of kernels/fusion.cu, plus that of ELU's approximate exponential.
  const bool is_elu = launch.kernel == "elu_kernel";
  constexpr double u = 0x1p-24;
  const double growth = std::pow(1 + kRoundoff<T>, 4) * (1 + 10 * u) - 1;
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double in = value_of(x[i]);
    const double alpha = is_elu ? launch.constants.at("ALPHA") : 0;
    const double exact = !is_elu  ? std::sin(in) * std::sin(in) + std::cos(in) * std::cos(in)
                         : in > 0 ? in
                                  : alpha * std::expm1(in);
    const double allowed =
        is_elu ? growth * std::abs(exact) + alpha * (10 * u + kRoundoff<T>)*(1 + growth)
               : (growth + std::pow(1 + 4 * u, 2) - 1) * std::abs(exact);
    if (!(std::abs(value_of(y[i]) - exact) <= allowed)) ++wrong;
  }
  CHECK(count > 0);
  CHECK(wrong == 0);
}

/// One tile per block, down the columns of tiles: `output_order` of kernels/transpose.cu.
template <class T>
void check_moved(ForeignKernels& kernels, const Launch& launch) {
  if (launch.array_bytes() > kMaxBytes) return;
  const std::int64_t rows = launch.number("rows");
  const std::int64_t columns = launch.number("columns");
  const auto high = static_cast<std::int64_t>(launch.constants.at("TILE_ROWS"));
  const auto wide = static_cast<std::int64_t>(launch.constants.at("TILE_COLUMNS"));
  const std::int64_t down = (rows + high - 1) / high;
  const std::int64_t most = launch.array_bytes() > kLargeBytes ? down + kBlocksOfLarge : kMaxBlocks;
  const std::int64_t blocks = std::min({launch.blocks, most, kMaxBlocks});
  std::vector<T> x = inputs<T>(rows * columns, true);
  std::vector<T> y(x.size());
  using Word = std::conditional_t<sizeof(T) == sizeof(float), std::uint32_t, std::uint16_t>;
  constexpr auto kPoison = static_cast<Word>(~Word{0});
  std::fill(y.begin(), y.end(), std::bit_cast<T>(kPoison));
  kernels.add(x, "x");
  kernels.add(y, "y", sim::Contents::poison);
  execute(kernels, launch, blocks, x, y);
  std::int64_t moved = 0;
  std::int64_t wrong = 0;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      const bool is_executed = column / wide * down + row / high < blocks;
      const auto got = std::bit_cast<Word>(y[static_cast<std::size_t>(column * rows + row)]);
      const auto in = std::bit_cast<Word>(x[static_cast<std::size_t>(row * columns + column)]);
      moved += is_executed;
      wrong += got != (is_executed ? in : kPoison);
    }
  }
  CHECK(moved > 0);
  CHECK(wrong == 0);
}

void check_launch(ForeignKernels& kernels, const Launch& launch) {
  if (launch.kernel == "transpose_kernel") {
    launch.is_bf16() ? check_moved<Bf16>(kernels, launch) : check_moved<float>(kernels, launch);
  } else {
    launch.is_bf16() ? check_computed<Bf16>(kernels, launch)
                     : check_computed<float>(kernels, launch);
  }
}

// ---- modules

std::string assembled(const std::string& ptx, const std::string& target,
                      const TemporaryFolder& folder) {
  std::ofstream(folder / "module.ptx", std::ios::binary) << ptx;
  const std::string cubin = folder / "module.cubin";
  ToolkitTools::found().run("ptxas", {"-arch=" + target, folder / "module.ptx", "-o", cubin},
                            folder, "assembled");
  return cubin;
}

bool has(const KernelCode& code, const std::string& opcode) {
  return std::any_of(code.instructions.begin(), code.instructions.end(),
                     [&](const ListedInstruction& i) { return i.opcode.starts_with(opcode); });
}

/// Instructions that the kernel must contain.
void check_code(const KernelResource& row, const std::string& kernel) {
  const KernelCode code = read_code_text(row.code.text());
  std::vector<std::string> opcodes{"LDG", "STG"};
  if (kernel == "transpose_kernel") opcodes.insert(opcodes.end(), {"LDS", "STS", "BAR"});
  if (kernel == "elu_kernel") opcodes.emplace_back("MUFU.EX2");
  for (const std::string& opcode : opcodes) {
    INFO(opcode);
    CHECK(has(code, opcode));
  }
}

TEST_CASE("kernels compiled by Triton run with their stored shape and arguments", "[triton]") {
  if (const std::string missing = lacks_code_tools(); !missing.empty())
    return skip(Tier::machine_code, missing);
  for (const fs::path& file : kept_files()) {
    INFO(file);
    const Json kept = Json::parse(read_text(file.string()));
    std::map<std::string, std::vector<Launch>> launches;
    for (const Json& launch : kept.at("launches")) {
      const Launch read(launch);
      launches[read.module].push_back(read);
    }
    CHECK(launches.size() == kept.at("modules").size());
    for (auto& [name, of_module] : launches) {
      const Json& module = kept.at("modules").at(name);
      const auto target = module.at("target").get<std::string>();
      // All launches run the same code: choose the smallest.
      const Launch& launch = *std::min_element(
          of_module.begin(), of_module.end(),
          [](const Launch& a, const Launch& b) { return a.array_bytes() < b.array_bytes(); });
      INFO(launch.key);
      const TemporaryFolder folder;
      ForeignKernels kernels(assembled(module.at("ptx").get<std::string>(), target, folder), target,
                             "triton " + name, {launch.kernel});
      check_code(kernels.row(launch.kernel), launch.kernel);
      check_launch(kernels, launch);
    }
  }
}

TEST_CASE("arguments of Triton kernels are checked", "[triton]") {
  if (const std::string missing = lacks_code_tools(); !missing.empty())
    return skip(Tier::machine_code, missing);
  const Json kept = Json::parse(read_text(kept_files().front().string()));
  const auto& all = kept.at("launches").items();
  const auto small = std::find_if(all.begin(), all.end(), [](const Json& launch) {
    return Launch(launch).kernel == "elu_kernel" && Launch(launch).blocks == 1;
  });
  REQUIRE(small != all.end());
  const Launch launch(*small);
  const Json& module = kept.at("modules").at(launch.module);
  const auto target = module.at("target").get<std::string>();
  const TemporaryFolder folder;
  ForeignKernels kernels(assembled(module.at("ptx").get<std::string>(), target, folder), target,
                         "triton", {launch.kernel});
  const std::int64_t n = launch.number("n");
  std::vector<float> x = inputs<float>(n - 1, false);  // one too few
  std::vector<float> y(static_cast<std::size_t>(n));
  kernels.add(x, "x");
  kernels.add(y, "y", sim::Contents::poison);
  REQUIRE_FALSE(launch.is_bf16());
  CHECK_THROWS_AS(execute(kernels, launch, launch.blocks, x, y), sim::Fault);
}

}  // namespace
}  // namespace gpuexp::test
