// The simulator's mapping of lines to L1 tag banks, compared with wavefronts that the GPU counts.
#include "sim/tag_bank.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "gpu/counters_unavailable.hpp"
#include "gpu/cuda_check.hpp"
#include "gpu/hardware_counters.hpp"
#include "gpu/line_access.hpp"
#include "gpu/resources.hpp"
#include "support/skip.hpp"

namespace gpuexp::test {
namespace {

constexpr std::int64_t kLineBytes = 128;
constexpr int kLineBits = 20;  // within 128 MiB
constexpr std::int64_t kReach = kLineBytes << kLineBits;

LaneOffsets lines(const std::vector<std::int64_t>& numbers) {
  LaneOffsets offsets{{}, static_cast<int>(numbers.size())};
  std::transform(numbers.begin(), numbers.end(), offsets.of.begin(),
                 [](std::int64_t line) { return line * kLineBytes; });
  return offsets;
}

/// Pairs that distinguish every two bits of a line number, rows of matrices, and random lines.
std::vector<LaneOffsets> sets_of_lines() {
  std::vector<LaneOffsets> sets;
  for (int i = 0; i < kLineBits; ++i)
    for (int j = 0; j < i; ++j)
      sets.push_back(lines({std::int64_t{1} << i, std::int64_t{1} << j}));
  for (const std::int64_t pitch : {1, 2, 3, 31, 32, 33, 64, 127, 256, 1000, 4096})
    for (const std::int64_t rows : {4, 8, 32}) {
      std::vector<std::int64_t> numbers;
      for (std::int64_t row = 0; row < rows; ++row)
        numbers.push_back(row * pitch);
      sets.push_back(lines(numbers));
    }
  std::mt19937_64 random(1);
  for (const int count : {2, 3, 5, 8, 13, 21, 32})
    for (int k = 0; k < 8; ++k) {
      std::vector<std::int64_t> numbers;
      for (int i = 0; i < count; ++i)
        numbers.push_back(static_cast<std::int64_t>(random() % (1 << kLineBits)));
      sets.push_back(lines(numbers));
    }
  return sets;
}

double wavefronts(const unsigned char* begin, const LaneOffsets& offsets) {
  std::set<std::uint64_t> touched;
  for (int lane = 0; lane < offsets.lanes; ++lane)
    touched.insert(
        reinterpret_cast<std::uintptr_t>(begin + offsets.of[static_cast<std::size_t>(lane)]) /
        kLineBytes);
  std::array<int, kTagBanks> in_bank{};
  for (const std::uint64_t line : touched)
    ++in_bank[tag_bank(line)];
  return *std::max_element(in_bank.begin(), in_bank.end());
}

TEST_CASE("tag stage wavefronts match the banks of the accessed lines", "[engine][counters]") {
  const CudaStream stream;
  const DeviceMemory memory(2 * kReach);
  const auto first = reinterpret_cast<std::uintptr_t>(memory.get());
  const std::uintptr_t step = kReach;
  auto* const begin = reinterpret_cast<unsigned char*>((first + step - 1) / step * step);
  GPUEXP_CUDA(cudaMemset(memory.get(), 0, static_cast<std::size_t>(memory.bytes())));
  const std::vector<LaneOffsets> sets = sets_of_lines();
  const std::map<LineAccess, int> further{{LineAccess::load, 0},
                                          {LineAccess::store, 0},
                                          {LineAccess::add, 0},
                                          {LineAccess::copy, 1},
                                          {LineAccess::committed_copy, 2}};
  constexpr std::size_t kTogether = 32;  // launches counted in one pass
  try {
    HardwareCounters counters;
    for (const auto& [kind, more] : further) {
      for (std::size_t at = 0; at < sets.size(); at += kTogether) {
        const std::size_t end = std::min(sets.size(), at + kTogether);
        std::vector<HardwareCounters::Launch> launches;
        for (std::size_t i = at; i < end; ++i)
          launches.push_back({[] {},
                              [&, i, access = kind] {
                                queue_line_access(access, begin, sets[i], stream.get());
                                stream.synchronize();
                              }});
        const std::vector<LaunchCounts> counts =
            counters.count({"l1tex__t_output_wavefronts_pipe_lsu.sum"}, launches);
        for (std::size_t i = at; i < end; ++i) {
          CAPTURE(static_cast<int>(kind), i, sets[i].lanes);
          CHECK(counts[i - at].kernels.front().values.front() == wavefronts(begin, sets[i]) + more);
        }
      }
    }
  } catch (const CountersUnavailable& reason) {
    skip(Tier::gpu, std::string("no hardware counters here: ") + reason.what());
  }
}

}  // namespace
}  // namespace gpuexp::test
