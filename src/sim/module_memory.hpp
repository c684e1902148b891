// The variables of one module in simulated memory.
#pragma once

#include <cstddef>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "sass/module_data.hpp"
#include "sim/global_memory.hpp"
#include "sim/host_memory.hpp"

namespace gpuexp::sim {

class ModuleMemory {
 public:
  /// Places the module's __device__ variables in `global`, one buffer each, with their initial
  /// contents. Both arguments must outlive this object.
  ModuleMemory(const ModuleData& data, GlobalMemory& global);

  /// Constant bank 3: the __constant__ variables.
  std::span<const std::byte> constants() const { return constants_; }
  /// Constant bank 4: the addresses of the __device__ variables.
  std::span<const std::byte> addresses() const { return addresses_; }

  /// Memory of a variable that a step copies `bytes` bytes to or from. restore() leaves it as it
  /// is. Throws std::runtime_error if the module has no such variable of this size.
  std::byte* copied(std::string_view lowered_name, std::uint64_t bytes);
  /// Gives all variables their initial contents, except for those that steps store to.
  void restore();

 private:
  std::byte* begin_of(std::size_t variable);
  void store_addresses(const std::vector<VariableAddress>& addresses, std::byte* to);
  void initialize(std::size_t variable);

  const ModuleData& data_;
  GlobalMemory& global_;
  std::vector<std::size_t> offsets_;  ///< in memory_, by variable; unused for constants
  HostMemory memory_;
  std::vector<std::byte> constants_;
  std::vector<std::byte> addresses_;
  std::set<std::size_t> copied_;
};

}  // namespace gpuexp::sim
