// Kernels that read and write words. The CPU's results are compared with the host's, and a GPU's
// bit by bit with the CPU's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "family/step.hpp"
#include "sim/execution.hpp"
#include "sim/fault.hpp"

namespace gpuexp::test {

using DeviceWords = std::vector<unsigned>;

struct DeviceCase {
  std::string name;
  std::size_t words = 0;  ///< output size; poisoned before the launch
  std::function<Steps(const unsigned* in, unsigned* out)> steps;
  /// Fills in the output words that it can compute.
  std::function<void(const DeviceWords& in, DeviceWords& out)> expect;
};

/// Output words before a launch.
inline constexpr unsigned kPoison = 0xdeadbeef;

/// Random words. No 16-bit half is NaN or infinite in any floating-point format.
DeviceWords device_input(std::size_t words);

/// Executes machine code for 9.0, and for 10.0 compiled from PTX, with all memory checks.
void check_on_cpu(const DeviceCase& c, const DeviceWords& in);
/// Compares the GPU with the CPU. Skipped without a GPU of compute capability 9.0.
void check_on_gpu(const std::vector<DeviceCase>& cases, const DeviceWords& in);

/// The fault of a kernel that writes 256 words, if it has one.
std::optional<sim::Fault> fault_of(const std::function<Steps(unsigned* out)>& steps);
/// File and line ("tests/sim/cluster_kernels.cu:18") that ends in "// fault: " and this name.
std::string fault_line(const std::string& file, const std::string& name);

}  // namespace gpuexp::test
