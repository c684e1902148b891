// Kernels that read and write words: executed on the CPU against what the host computes, and on a
// GPU against the CPU, bit by bit.
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
  std::size_t words = 0;  ///< of the output; poisoned before
  std::function<Steps(const unsigned* in, unsigned* out)> steps;
  /// Fills in what it knows; the rest stays as it was.
  std::function<void(const DeviceWords& in, DeviceWords& out)> expect;
};

/// What output words are before a kernel writes them.
inline constexpr unsigned kPoison = 0xdeadbeef;

/// Random words, of which no half is NaN or infinite in any floating-point format.
DeviceWords device_input(std::size_t words);

/// On the CPU, all memory checked: by machine code of 9.0, and of 10.0 made from PTX.
void check_on_cpu(const DeviceCase& c, const DeviceWords& in);
/// On both. Skipped without a GPU of compute capability 9.0.
void check_on_gpu(const std::vector<DeviceCase>& cases, const DeviceWords& in);

/// The fault of a kernel that writes 256 words; none: it has none.
std::optional<sim::Fault> fault_of(const std::function<Steps(unsigned* out)>& steps);
/// "tests/sim/cluster_kernels.cu:18" of the line that ends in "// fault: " and the name.
std::string fault_line(const std::string& file, const std::string& name);

}  // namespace gpuexp::test
