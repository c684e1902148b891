// The memory of a module: its __device__ and __constant__ variables, and the addresses by which its
// code refers to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

/// A place that holds the address of a variable. The loader of the module fills it in.
struct VariableAddress {
  std::uint64_t offset = 0;  ///< offset of the place: bytes from the start of its bank or variable
  std::size_t variable = 0;  ///< index in ModuleData::variables
  std::uint64_t addend = 0;  ///< bytes from the variable's start to the address

  bool operator==(const VariableAddress&) const = default;
};

struct ModuleVariable {
  std::string lowered_name;       ///< "coefficients", or "_ZN5space5tableE" in a namespace
  bool is_constant = false;       ///< in constant bank 3 instead of global memory
  std::uint64_t bank_offset = 0;  ///< in bytes; only of constants
  std::uint64_t bytes = 0;
  std::vector<std::byte> contents;         ///< before the first launch; empty: zeros
  std::vector<VariableAddress> addresses;  ///< places in the variable

  bool operator==(const ModuleVariable&) const = default;
};

/// A place in bank 4 that holds the address of a function outside of the module.
struct FunctionAddress {
  std::uint64_t offset = 0;  ///< in bytes
  std::string lowered_name;

  bool operator==(const FunctionAddress&) const = default;
};

struct ModuleData {
  std::vector<ModuleVariable> variables;
  std::vector<std::byte> constants;        ///< bank 3: the contents of all constants
  std::size_t address_bank_bytes = 0;      ///< size of bank 4
  std::vector<VariableAddress> addresses;  ///< places in bank 4, except those of functions
  std::vector<FunctionAddress> functions;

  /// The variable with the name; null if there is none.
  const ModuleVariable* find(std::string_view lowered_name) const;

  bool operator==(const ModuleData&) const = default;
};

/// Parses the output of `cuobjdump -elf` for a cubin. Throws std::runtime_error for other text.
ModuleData read_module_data(std::string_view dump);

}  // namespace gpuexp
