// Random programs in the simulator, compared with a GPU if there is one, and with results recorded
// on an H200.
//   GPUEXP_RANDOM_ROUNDS=N      inputs per program (default: 4)
//   GPUEXP_RANDOM_REPORT=FILE   writes differences and counts by opcode
//   GPUEXP_RANDOM_RECORD=FILE   writes a hash of the results per program, of the GPU or the
//   simulator GPUEXP_RANDOM_RESULTS=FILE  results that the GPU test writes and test [results] reads
//   GPUEXP_RANDOM_DUMP=FILE     writes results for tests/scripts/random_kernels.py check: the
//                               simulator's, or the GPU's for programs that differ
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <set>

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "gpu/cuda_check.hpp"
#include "gpu/device_query.hpp"
#include "gpu/launcher.hpp"
#include "gpu/resources.hpp"
#include "sim/execution.hpp"
#include "sim/random_tolerance.hpp"
#include "sim/simulator.hpp"
#include "compile/ptx_compiler.hpp"
#include "support/catch.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

unsigned rounds() {
  const std::string text = variable("GPUEXP_RANDOM_ROUNDS");
  return text.empty() ? 4 : static_cast<unsigned>(std::stoul(text));
}

bool is_approximate(const RandomProgram& program) {
  return program.name[0] == 'a';
}

constexpr int kRecorded = 90;  ///< the H200's compute capability, whose code the binary contains

/// Throws sim::Fault, or std::runtime_error if an instruction is not supported. Compiles PTX for
/// other compute capabilities.
void simulate(const RandomProgram& program, RandomLaunch& launch,
              int compute_capability = kRecorded) {
  sim::Simulator simulator(kernels(), compute_capability);
  simulator.threads = 1;
  simulator.find_code = compiled_from_ptx;
  const auto add = [&](auto& of, const char* name) {
    simulator.memory().add(of.data(), of.size() * sizeof of[0], name);
  };
  add(launch.inputs, "inputs");
  add(launch.results, "results");
  add(launch.memory, "memory");
  simulator.run(
      launch.steps(program, launch.inputs.data(), launch.results.data(), launch.memory.data()));
}

void run_on_gpu(const RandomProgram& program, RandomLaunch& launch, const CudaStream& stream) {
  const auto bytes = [](const auto& of) { return of.size() * sizeof of[0]; };
  const std::size_t sizes[3] = {bytes(launch.inputs), bytes(launch.results), bytes(launch.memory)};
  void* const from[3] = {launch.inputs.data(), launch.results.data(), launch.memory.data()};
  void* on_device[3];
  for (int i = 0; i < 3; ++i) {
    GPUEXP_CUDA(cudaMalloc(&on_device[i], sizes[i]));
    GPUEXP_CUDA(cudaMemcpy(on_device[i], from[i], sizes[i], cudaMemcpyDefault));
  }
  enqueue(launch.steps(program, on_device[0], on_device[1], on_device[2]), stream);
  stream.synchronize();
  for (int i = 0; i < 3; ++i) {
    GPUEXP_CUDA(cudaMemcpy(from[i], on_device[i], sizes[i], cudaMemcpyDefault));
    GPUEXP_CUDA(cudaFree(on_device[i]));
  }
}

struct OfOpcode {
  std::set<std::string> programs;
  std::size_t lanes = 0;
  std::size_t differ = 0;
  std::vector<std::string> first;
};

/// Results of the comparison by PTX opcode.
class Comparison {
 public:
  void compare(const RandomProgram& program, const RandomLaunch& gpu, const RandomLaunch& cpu) {
    const std::vector<RandomResult> results = results_of(program);
    std::vector<bool> differs(kRandomThreads, false);
    for (const RandomResult& result : results) {
      if (!result.is_slot()) continue;
      OfOpcode& of = opcodes_[result.opcode()];
      of.programs.insert(program.name);
      of.lanes += kRandomThreads;
      unsigned shown = 0;
      for (unsigned t = 0; t < kRandomThreads; ++t) {
        const std::uint64_t got = value_of(cpu, result, t);
        const std::uint64_t expected = value_of(gpu, result, t);
        if (got == expected) continue;
        if (is_approximate(program) && is_near(result, cpu, results, t, got, expected)) continue;
        const bool is_first = !differs[t];
        differs[t] = true;
        if (!is_first && !is_own_difference(results, cpu, gpu, result, t)) continue;
        ++of.differ;
        if (of.first.size() < kMaxShown && shown++ < kMaxShownOfProgram)
          of.first.push_back(
              fmt::format("{}: {}", program.name, explained(results, cpu, gpu, result, t)));
      }
    }
    is_equal_ &= std::find(differs.begin(), differs.end(), true) == differs.end();
    if (!is_approximate(program) && cpu.memory != gpu.memory) {
      is_equal_ = false;
      const auto [got, expected] =
          std::mismatch(cpu.memory.begin(), cpu.memory.end(), gpu.memory.begin());
      const auto byte = (got - cpu.memory.begin()) * static_cast<std::ptrdiff_t>(sizeof *got);
      notes_ +=
          fmt::format("{}: global memory differs: thread {}, byte {}; got {:x}, expected {:x}\n",
                      program.name, byte / kMemoryBytes, byte % kMemoryBytes, *got, *expected);
    }
  }

  void note(const std::string& text) { notes_ += text + "\n"; }
  bool is_equal() const { return is_equal_; }

  std::string text(bool with_equal) const {
    std::string all = notes_;
    for (const auto& [opcode, of] : opcodes_) {
      if (of.differ == 0 && !with_equal) continue;
      all += fmt::format("{}: {} programs, {} lanes, {} differ\n", opcode, of.programs.size(),
                         of.lanes, of.differ);
      for (const std::string& line : of.first)
        all += "    " + line + "\n";
    }
    return all;
  }

 private:
  static constexpr std::size_t kMaxShown = 12;
  static constexpr unsigned kMaxShownOfProgram = 3;

  // Results of branches, loops and memory accesses name no operands.
  static bool is_own_difference(const std::vector<RandomResult>& results, const RandomLaunch& cpu,
                                const RandomLaunch& gpu, const RandomResult& result, unsigned t) {
    const std::string opcode = result.opcode();
    for (const char* hidden : {"if", "loop", "ld.", "ldmatrix", "atom.", "vote", "match", "redux",
                               "shfl", "barrier", "addc", "subc", "madc"}) {
      if (opcode.starts_with(hidden)) return false;
    }
    return is_root(results, cpu, gpu, result, t);
  }

  std::map<std::string, OfOpcode> opcodes_;
  std::string notes_;
  bool is_equal_ = true;
};

void write_text(const std::string& file, const std::string& text) {
  if (file.empty()) return;
  std::ofstream out(file);
  out << text;
}

/// Bytes per stored result.
unsigned width_of(const RandomResult& result) {
  return result.name[0] == 'l' ? 8 : result.name[0] == 'h' ? 2 : 4;
}

/// Calls move(data, bytes) for each result and for the memory, without the poisoned rest of slots.
template <class Move>
void for_each_part(const RandomProgram& program, RandomLaunch& launch, const Move& move) {
  for (const RandomResult& result : results_of(program)) {
    for (unsigned t = 0; result.is_slot() && t < kRandomThreads; ++t)
      move(&launch.results[result.slot() * kRandomThreads + t], width_of(result));
  }
  move(launch.memory.data(), launch.memory.size() * sizeof launch.memory[0]);
}

/// Writes the format that tests/scripts/random_programs/oracle.py reads.
void dump(std::ofstream& to, const RandomProgram& program, const RandomLaunch& launch) {
  const std::string results = program.results;
  to << program.name << " " << program.slots << " " << results.size() << "\n" << results;
  const auto write = [&](const void* of, std::size_t bytes) {
    to.write(static_cast<const char*>(of), static_cast<std::streamsize>(bytes));
  };
  write(launch.uniform, sizeof launch.uniform);
  write(launch.inputs.data(), launch.inputs.size() * sizeof launch.inputs[0]);
  write(launch.results.data(), launch.results.size() * sizeof launch.results[0]);
}

TEST_CASE("random programs compute the same on GPU and CPU", "[gpu]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  if (const auto reason = no_device_reason()) return skip(Tier::gpu, "no GPU: " + *reason);
  if (query_device(0, {}).spec.compute_capability() != 90)
    return skip(Tier::hardware, "results are those of compute capability 9.0");
  const CudaStream stream;
  Comparison comparison;
  std::string record;
  std::ofstream all(variable("GPUEXP_RANDOM_RESULTS"), std::ios::binary);
  std::ofstream different(variable("GPUEXP_RANDOM_DUMP"), std::ios::binary);
  for (const RandomProgram& program : random_programs()) {
    for (unsigned round = 0; round < rounds(); ++round) {
      RandomLaunch gpu(program, round);
      RandomLaunch cpu(program, round);
      run_on_gpu(program, gpu, stream);
      if (round == 0 && !is_approximate(program))
        record += fmt::format("{} {:016x}\n", program.name, hash_of(gpu));
      if (round == 0 && all.is_open()) {
        for_each_part(program, gpu, [&](const void* data, std::size_t bytes) {
          all.write(static_cast<const char*>(data), static_cast<std::streamsize>(bytes));
        });
      }
      try {
        simulate(program, cpu);
      } catch (const std::exception& why) {
        comparison.note(fmt::format("{}: not executed: {}", program.name, why.what()));
        break;
      }
      comparison.compare(program, gpu, cpu);
      const bool differs = gpu.results != cpu.results || gpu.memory != cpu.memory;
      if (different.is_open() && differs && !is_approximate(program)) dump(different, program, gpu);
    }
  }
  write_text(variable("GPUEXP_RANDOM_RECORD"), record);
  write_text(variable("GPUEXP_RANDOM_REPORT"), comparison.text(true));
  INFO(comparison.text(false));
  CHECK(comparison.is_equal());
}

TEST_CASE("random programs match a file of a GPU's results", "[results]") {
  std::ifstream all(variable("GPUEXP_RANDOM_RESULTS"), std::ios::binary);
  if (!all.is_open()) return;
  Comparison comparison;
  for (const RandomProgram& program : random_programs()) {
    RandomLaunch gpu(program, 0);
    RandomLaunch cpu(program, 0);
    for_each_part(program, gpu, [&](void* data, std::size_t bytes) {
      all.read(static_cast<char*>(data), static_cast<std::streamsize>(bytes));
    });
    try {
      simulate(program, cpu);
    } catch (const std::exception& why) {
      comparison.note(fmt::format("{}: not executed: {}", program.name, why.what()));
      continue;
    }
    comparison.compare(program, gpu, cpu);
  }
  write_text(variable("GPUEXP_RANDOM_REPORT"), comparison.text(true));
  INFO(comparison.text(false));
  CHECK(comparison.is_equal());
}

TEST_CASE("the simulator executes random programs", "[simulate]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  std::ofstream all(variable("GPUEXP_RANDOM_DUMP"), std::ios::binary);
  std::string record;
  std::size_t refused = 0;
  for (const RandomProgram& program : random_programs()) {
    RandomLaunch launch(program, 0);
    try {
      simulate(program, launch);
    } catch (const std::exception& why) {
      ++refused;
      std::cout << program.name << ": " << why.what() << "\n";
      continue;
    }
    if (!is_approximate(program))
      record += fmt::format("{} {:016x}\n", program.name, hash_of(launch));
    if (all.is_open()) dump(all, program, launch);
  }
  write_text(variable("GPUEXP_RANDOM_RECORD"), record);
  CHECK(refused == 0);
}

std::map<std::string, std::string> recorded_hashes() {
  std::ifstream file(std::string(GPUEXP_SOURCE_DIR) + "/tests/sim/data/random_programs.txt");
  std::map<std::string, std::string> recorded;
  for (std::string name, hash; file >> name >> hash;)
    recorded[name] = hash;
  return recorded;
}

TEST_CASE("random programs match results of an H200", "[recorded]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  std::map<std::string, std::string> recorded = recorded_hashes();
  std::size_t compared = 0;
  for (const RandomProgram& program : random_programs()) {
    if (is_approximate(program)) continue;
    INFO(program.name);
    REQUIRE(recorded.count(program.name) == 1);
    RandomLaunch launch(program, 0);
    REQUIRE_NOTHROW(simulate(program, launch));
    CHECK(fmt::format("{:016x}", hash_of(launch)) == recorded[program.name]);
    ++compared;
  }
  CHECK(compared == recorded.size());
}

// Half of the programs on each GPU, chosen by file: a module is compiled as a whole.
TEST_CASE("random programs compiled for another GPU match results of an H200", "[other_gpu]") {
  if (kernels().empty())
    return skip(Tier::machine_code, "built without cuobjdump: the binary keeps no machine code");
  std::map<std::string, std::string> recorded = recorded_hashes();
  const std::vector<RandomProgram> programs = random_programs();
  std::size_t compared = 0;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const RandomProgram& program = programs[i];
    if (is_approximate(program)) continue;
    const int compute_capability = i < programs.size() / 2 ? 100 : 120;
    INFO(program.name << " on " << compute_capability);
    RandomLaunch launch(program, 0);
    REQUIRE_NOTHROW(simulate(program, launch, compute_capability));
    CHECK(fmt::format("{:016x}", hash_of(launch)) == recorded.at(program.name));
    ++compared;
  }
  CHECK(compared == recorded.size());
}

// ptxas generates other instructions for another GPU, with the same results.
TEST_CASE("random programs compute the same when compiled for another GPU", "[.][other_gpus]") {
  Comparison comparison;
  for (const int compute_capability : {100, 120}) {
    for (const RandomProgram& program : random_programs()) {
      RandomLaunch expected(program, 0);
      RandomLaunch got(program, 0);
      simulate(program, expected);
      try {
        simulate(program, got, compute_capability);
      } catch (const std::exception& why) {
        comparison.note(fmt::format("{} on {}: {}", program.name, compute_capability, why.what()));
        continue;
      }
      comparison.compare(program, expected, got);
    }
  }
  write_text(variable("GPUEXP_RANDOM_REPORT"), comparison.text(true));
  INFO(comparison.text(false));
  CHECK(comparison.is_equal());
}

}  // namespace
}  // namespace gpuexp::test
