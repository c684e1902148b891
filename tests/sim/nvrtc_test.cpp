// Kernels compiled by NVRTC run in the simulator like those compiled by nvcc. Results are compared
// with the host's.
#include "compile/nvrtc.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>

#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "sim/foreign_kernels.hpp"

namespace gpuexp::test {
namespace {

const std::string kFile = "tests/sim/nvrtc_kernels.cu";
const std::string kHistogram = "counting::histogram<10>";

/// Kernels of kFile, compiled by NVRTC, in a simulator.
class RuntimeKernels {
 public:
  RuntimeKernels(const Nvrtc& nvrtc, const std::string& architecture) {
    const std::string file = std::string(GPUEXP_SOURCE_DIR) + "/" + kFile;
    const Nvrtc::Result cubin =
        nvrtc.compile({text_of_file(file),
                       file,
                       {"--gpu-architecture=" + architecture, "-lineinfo", "--std=c++17",
                        "--include-path=" GPUEXP_CUDA_INCLUDE_DIR},
                       kHistogram});
    INFO(cubin.log);
    REQUIRE(cubin.is_compiled);
    const TemporaryFolder folder;
    const std::string path = folder / "nvrtc.cubin";
    std::ofstream(path, std::ios::binary) << cubin.cubin;
    const std::vector<std::string> plain{"block_sums", "divergent", "convert", "overrun"};
    std::vector<std::string> lowered = plain;
    lowered.push_back(cubin.lowered_name);
    kernels_ = std::make_unique<ForeignKernels>(path, architecture, kFile, lowered);
    for (const std::string& name : plain)
      lowered_[name] = name;
    lowered_[kHistogram] = cubin.lowered_name;
  }

  const KernelResource& row(const std::string& kernel) const {
    return kernels_->row(lowered_.at(kernel));
  }
  sim::Simulator& simulator() { return kernels_->simulator(); }

  template <class... Arguments>
  Steps launch(const std::string& kernel, std::int64_t blocks, std::int64_t threads,
               Arguments... arguments) const {
    KernelStep step;
    step.shape.kernel = row(kernel).host_function;
    step.shape.grid = {blocks, 1, 1};
    step.shape.block = {threads, 1, 1};
    (step.arguments.add(arguments), ...);
    return step;
  }

  template <class T>
  void add(std::vector<T>& buffer, const std::string& name,
           sim::Contents contents = sim::Contents::written) {
    kernels_->add(buffer, name, contents);
  }

 private:
  std::unique_ptr<ForeignKernels> kernels_;
  std::map<std::string, std::string> lowered_;
};

void check_block_sums(RuntimeKernels& kernels) {
  constexpr std::int64_t kBlocks = 3;
  constexpr std::int64_t kThreads = 128;
  // Integers, so the sum does not depend on the order.
  std::vector<float> in(1000);
  std::iota(in.begin(), in.end(), -100.0f);
  std::vector<float> out(kBlocks);
  kernels.add(in, "in");
  kernels.add(out, "out", sim::Contents::poison);
  kernels.simulator().run(kernels.launch("block_sums", kBlocks, kThreads, in.data(), out.data(),
                                         static_cast<int>(in.size())));
  std::vector<float> expected(kBlocks);
  for (std::size_t i = 0; i < in.size(); ++i)
    expected[i / kThreads % kBlocks] += in[i];
  CHECK(out == expected);
}

int divergent_on_host(int value) {
  int steps = 0;
  for (; value != 1; ++steps)
    value = value % 2 == 0 ? value / 2 : 3 * value + 1;
  const auto bits = static_cast<std::uint32_t>(steps);
  switch (steps % 8) {
    case 0: return std::popcount(bits);
    case 1: return steps * 3 + 7;
    case 2: return steps ^ 0x55;
    case 3: return std::countl_zero(bits);
    case 4: {
      std::uint32_t reversed = 0;
      for (unsigned bit = 0; bit < 32; ++bit)
        reversed |= (bits >> bit & 1) << (31 - bit);
      return static_cast<int>(reversed);
    }
    case 5: return -steps;
    case 6: return steps * steps;
    default: return ~steps;
  }
}

void check_divergent(RuntimeKernels& kernels) {
  std::vector<int> in(96);
  std::iota(in.begin(), in.end(), 1);
  std::vector<int> out(in.size());
  kernels.add(in, "in");
  kernels.add(out, "out", sim::Contents::poison);
  kernels.simulator().run(kernels.launch("divergent", 1, static_cast<std::int64_t>(in.size()),
                                         static_cast<const int*>(in.data()), out.data()));
  std::vector<int> expected;
  for (const int value : in)
    expected.push_back(divergent_on_host(value));
  CHECK(out == expected);
}

// Compares with the results of the toolkit's headers on the host.
void check_convert(RuntimeKernels& kernels) {
  std::vector<float> in;
  for (const float value :
       {0.0f, 1.0f, 1.0625f, 1.1875f, 0.001953125f, 0.0009765625f, 447.9f, 464.0f, 465.0f, 1e-8f,
        5.97e-8f, 65504.0f, 65520.0f, 1e30f, 3.14159f, HUGE_VALF}) {
    in.push_back(value);
    in.push_back(-value);
  }
  std::vector<std::uint16_t> half(in.size());
  std::vector<std::uint8_t> fp8(in.size());
  kernels.add(in, "in");
  kernels.add(half, "half", sim::Contents::poison);
  kernels.add(fp8, "fp8", sim::Contents::poison);
  kernels.simulator().run(kernels.launch("convert", 1, static_cast<std::int64_t>(in.size()),
                                         static_cast<const float*>(in.data()), half.data(),
                                         fp8.data()));
  for (std::size_t i = 0; i < in.size(); ++i) {
    INFO(in[i]);
    CHECK(half[i] == std::bit_cast<std::uint16_t>(__half_raw(__float2half_rn(in[i]))));
    CHECK(fp8[i] == __nv_cvt_float_to_fp8(in[i], __NV_SATFINITE, __NV_E4M3));
  }
}

void check_histogram(RuntimeKernels& kernels) {
  std::vector<int> in(300);
  for (std::size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<int>(i * i % 97);
  std::vector<int> bins(10);
  std::vector<int> expected(10);
  for (const int value : in)
    ++expected[static_cast<std::size_t>(value % 10)];
  kernels.add(in, "in");
  kernels.add(bins, "bins");
  kernels.simulator().run(kernels.launch(kHistogram, 5, 64, static_cast<const int*>(in.data()),
                                         bins.data(), static_cast<int>(in.size())));
  CHECK(bins == expected);
}

int fault_line() {
  std::ifstream in(std::string(GPUEXP_SOURCE_DIR) + "/" + kFile);
  int number = 1;
  for (std::string line; std::getline(in, line); ++number) {
    if (line.ends_with("// fault: overrun")) return number;
  }
  return 0;
}

void check_overrun(RuntimeKernels& kernels) {
  std::vector<int> out(40);
  kernels.add(out, "out", sim::Contents::poison);
  const auto launch = [&](int n) { return kernels.launch("overrun", 1, 64, out.data(), n); };
  kernels.simulator().run(launch(39));
  CHECK(out[39] == 39);
  try {
    kernels.simulator().run(launch(40));
    FAIL("the access past the end of the buffer was not found");
  } catch (const sim::Fault& fault) {
    INFO(fault.what());
    CHECK(fault.kind == sim::FaultKind::out_of_bounds);
    CHECK(fault.kernel == "overrun");
    CHECK(fault.place == kFile + ":" + std::to_string(fault_line()));
    CHECK(fault.thread == Extent{40, 0, 0});
    CHECK(fault.address == reinterpret_cast<std::uint64_t>(out.data() + out.size()));
  }
}

TEST_CASE("kernels compiled by NVRTC run, and their faults are reported", "[nvrtc]") {
  const auto library = find_nvrtc();
  if (!library) return skip(Tier::nvrtc, "there is no libnvrtc");
  const Nvrtc nvrtc(*library);
  if (const std::string missing = lacks_code_tools(); !missing.empty())
    return skip(Tier::machine_code, missing);
  for (const char* architecture : {"sm_90a", "sm_80"}) {
    INFO(architecture);
    RuntimeKernels kernels(nvrtc, architecture);
    CHECK(kernels.row("block_sums").static_shared_bytes == 128 * sizeof(float));
    CHECK(kernel_name(kernels.row(kHistogram).lowered_name) == "histogram<10>");
    check_block_sums(kernels);
    check_divergent(kernels);
    check_convert(kernels);
    check_histogram(kernels);
    check_overrun(kernels);
  }
}

}  // namespace
}  // namespace gpuexp::test
