// Random programs in PTX (tests/scripts/random_kernels.py), compiled, and the inputs that they are given.
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
  /// What a thread reads and stores, a line each: "s3|r17|add.s32 r17, r3, r5" is its fourth
  /// result, "w5:8|l0|input" the words 5 and 6 of its inputs, "w5.1|h0|input" the upper half of
  /// word 5.
  const char* results;
};

/// Registers the programs of one file.
struct RandomProgramsOfFile {
  RandomProgramsOfFile(int number, const RandomProgram* programs, std::size_t count);
};

/// Of all files, in the order in which they were made.
std::vector<RandomProgram> random_programs();

inline constexpr unsigned kRandomThreads = 128;
inline constexpr unsigned kRandomBlockThreads = 64;
inline constexpr unsigned kInputWords = 32;
inline constexpr unsigned kMemoryBytes = 64;  ///< of global memory, for each thread

/// What one launch of a program reads and writes.
struct RandomLaunch {
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint64_t> results;  ///< slot by slot, of each thread; poisoned
  std::vector<std::uint64_t> memory;
  std::uint32_t uniform[4];

  /// The inputs of a round are the same on every machine.
  RandomLaunch(const RandomProgram& program, unsigned round);
  Steps steps(const RandomProgram& program, const void* from, void* to, void* of_memory) const;
};

/// Of the results and the memory behind a launch.
std::uint64_t hash_of(const RandomLaunch& launch);

/// What a program's results are made of.
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

/// The results and inputs that an instruction's text names.
std::vector<const RandomResult*> operands_of(const std::vector<RandomResult>& results,
                                             const RandomResult& of);
std::uint64_t value_of(const RandomLaunch& launch, const RandomResult& result, unsigned thread);

/// Whether both executions gave the instruction the same operands.
bool is_root(const std::vector<RandomResult>& results, const RandomLaunch& got,
             const RandomLaunch& expected, const RandomResult& result, unsigned thread);

/// The instruction, what it read in this thread and what both made of it.
std::string explained(const std::vector<RandomResult>& results, const RandomLaunch& got,
                      const RandomLaunch& expected, const RandomResult& result, unsigned thread);

}  // namespace gpuexp::test
