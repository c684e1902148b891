#include "sim/device_cases.hpp"

#include <fstream>
#include <random>

#include <cuda_runtime_api.h>

#include "gpu/cuda_check.hpp"
#include "gpu/device_query.hpp"
#include "gpu/launcher.hpp"
#include "gpu/resources.hpp"
#include "sim/execution.hpp"
#include "sim/simulator.hpp"
#include "compile/ptx_compiler.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {

namespace {

constexpr int kHopper = 90;
constexpr int kBlackwell = 100;

DeviceWords executed_on_cpu(const DeviceCase& c, const DeviceWords& in,
                            int compute_capability = kHopper) {
  DeviceWords out(c.words, kPoison);
  sim::Simulator simulator(kernels(), compute_capability);
  simulator.find_code = compiled_from_ptx;
  auto* const from = const_cast<unsigned*>(in.data());
  simulator.memory().add(from, in.size() * sizeof(unsigned), "in");
  simulator.memory().add(out.data(), out.size() * sizeof(unsigned), "out", sim::Contents::poison);
  simulator.run(c.steps(in.data(), out.data()));
  return out;
}

DeviceWords executed_on_gpu(const DeviceCase& c, const DeviceWords& in) {
  const CudaStream stream;
  const DeviceMemory d_in(static_cast<std::int64_t>(in.size() * sizeof(unsigned)));
  const DeviceMemory d_out(static_cast<std::int64_t>(c.words * sizeof(unsigned)));
  DeviceWords out(c.words, kPoison);
  const auto bytes = c.words * sizeof(unsigned);
  GPUEXP_CUDA(cudaMemcpy(d_in.get(), in.data(), in.size() * sizeof(unsigned), cudaMemcpyDefault));
  GPUEXP_CUDA(cudaMemcpy(d_out.get(), out.data(), bytes, cudaMemcpyDefault));
  enqueue(c.steps(d_in.as<unsigned>(), d_out.as<unsigned>()), stream);
  stream.synchronize();
  GPUEXP_CUDA(cudaMemcpy(out.data(), d_out.get(), bytes, cudaMemcpyDefault));
  return out;
}

void compare(const DeviceWords& got, const DeviceWords& wanted) {
  std::size_t differ = 0;
  std::size_t first = 0;
  for (std::size_t i = wanted.size(); i-- > 0;) {
    if (got[i] == wanted[i]) continue;
    ++differ;
    first = i;
  }
  INFO(differ << " of " << wanted.size() << " words differ, the first is " << first << ": "
              << got[first] << " instead of " << wanted[first]);
  CHECK(differ == 0);
}

}  // namespace

DeviceWords device_input(std::size_t words) {
  constexpr unsigned kNoSpecial = 0xdfffdfff;  // clears an exponent bit: no NaN or infinity
  std::mt19937 random(5);
  DeviceWords in(words);
  for (unsigned& word : in)
    word = static_cast<unsigned>(random()) & kNoSpecial;
  return in;
}

void check_on_cpu(const DeviceCase& c, const DeviceWords& in) {
  INFO(c.name);
  DeviceWords wanted(c.words, kPoison);
  c.expect(in, wanted);
  compare(executed_on_cpu(c, in), wanted);
  INFO("as compiled for compute capability 10.0");
  compare(executed_on_cpu(c, in, kBlackwell), wanted);
}

void check_on_gpu(const std::vector<DeviceCase>& cases, const DeviceWords& in) {
  if (!has_machine_code()) return;
  if (const auto reason = no_device_reason()) return skip(Tier::gpu, "no GPU: " + *reason);
  if (query_device(0, {}).spec.compute_capability() != kHopper)
    return skip(Tier::hardware, "the kernels' machine code is of compute capability 9.0");
  // One section per case: a case that ends the CUDA context can be run by itself with -c NAME.
  for (const DeviceCase& c : cases) {
    DYNAMIC_SECTION(c.name) {
      try {
        compare(executed_on_cpu(c, in), executed_on_gpu(c, in));
      } catch (const std::exception& why) {
        FAIL_CHECK(why.what());
      }
    }
  }
}

std::optional<sim::Fault> fault_of(const std::function<Steps(unsigned* out)>& steps) {
  DeviceWords out(256, kPoison);
  sim::Simulator simulator(kernels(), kHopper);
  simulator.memory().add(out.data(), out.size() * sizeof(unsigned), "out", sim::Contents::poison);
  try {
    simulator.run(steps(out.data()));
  } catch (const sim::Fault& fault) {
    return fault;
  }
  return std::nullopt;
}

std::string fault_line(const std::string& file, const std::string& name) {
  std::ifstream in(std::string(GPUEXP_SOURCE_DIR) + "/" + file);
  int number = 1;
  for (std::string line; std::getline(in, line); ++number) {
    if (line.ends_with("// fault: " + name)) return file + ":" + std::to_string(number);
  }
  return "nowhere";
}

}  // namespace gpuexp::test
