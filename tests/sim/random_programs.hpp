// Compiled random PTX programs (tests/scripts/random_kernels.py), and their inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <vector>

#include "family/step.hpp"

namespace gpuexp::test {

struct RandomProgram {
  const char* name;
  const void* kernel;
  std::size_t slots;
  /// Values that a thread reads and stores, one per line: "s3|r17|add.s32 r17, r3, r5" is its
  /// fourth result, "w5:8|l0|input" words 5 and 6 of its inputs, "w5.1|h0|input" the upper half of
  /// word 5.
  const char* results;
};

/// Registers the programs of one file.
struct RandomProgramsOfFile {
  RandomProgramsOfFile(int number, const RandomProgram* programs, std::size_t count);
};

/// Programs of all files, in the order of generation.
std::vector<RandomProgram> random_programs();

inline constexpr unsigned kRandomThreads = 128;
inline constexpr unsigned kRandomBlockThreads = 64;
inline constexpr unsigned kInputWords = 32;
inline constexpr unsigned kMemoryBytes = 64;  ///< global memory per thread

/// Inputs and outputs of one launch of a program.
struct RandomLaunch {
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint64_t> results;  ///< [slot][thread]; poisoned before the launch
  std::vector<std::uint64_t> memory;
  std::uint32_t uniform[4];

  /// Inputs of a round are the same on every machine.
  RandomLaunch(const RandomProgram& program, unsigned round);
  Steps steps(const RandomProgram& program, const void* from, void* to, void* of_memory) const;
};

/// Hash of the results and the memory after a launch.
std::uint64_t hash_of(const RandomLaunch& launch);

/// A result or input of a program, one line of RandomProgram::results.
struct RandomResult {
  std::string place;
  std::string name;
  std::string text;
  bool is_slot() const { return place[0] == 's'; }
  std::size_t slot() const { return std::stoul(place.substr(1)); }
  /// "add.sat.s32" of "@!p3(r5) add.sat.s32 r17, r3, r5".
  std::string opcode() const;
};
std::vector<RandomResult> results_of(const RandomProgram& program);

/// Results and inputs that an instruction's text names.
std::vector<const RandomResult*> operands_of(const std::vector<RandomResult>& results,
                                             const RandomResult& of);
std::uint64_t value_of(const RandomLaunch& launch, const RandomResult& result, unsigned thread);

/// Whether the instruction had the same operands in both executions.
bool is_root(const std::vector<RandomResult>& results, const RandomLaunch& got,
             const RandomLaunch& expected, const RandomResult& result, unsigned thread);

/// The instruction, its operands in this thread and both results.
std::string explained(const std::vector<RandomResult>& results, const RandomLaunch& got,
                      const RandomLaunch& expected, const RandomResult& result, unsigned thread);

}  // namespace gpuexp::test
