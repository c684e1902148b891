// Listings timed on one SM.
#pragma once

#include <array>
#include <numeric>
#include <string>

#include <fmt/format.h>

#include "sim/decoder.hpp"
#include "support/catch.hpp"
#include "timing/memory_path.hpp"
#include "timing/sm_time.hpp"

namespace gpuexp::test {

/// The upper 64 bits of an instruction with only these control bits.
inline std::string encoded(const Control& control) {
  constexpr unsigned kFirst = 105 - 64;
  const std::uint64_t bits =
      std::uint64_t{control.stall} | std::uint64_t{control.stays} << 4 |
      std::uint64_t{control.writes} << 5 | std::uint64_t{control.reads} << 8 |
      std::uint64_t{control.waits} << 11 | std::uint64_t{control.reuse} << 17;
  return fmt::format("{:016x}", bits << kFirst);
}

inline std::string line(const std::string& text, const Control& control) {
  return text + ";" + encoded(control) + "\n";
}

inline Control stall(unsigned clocks) {
  Control control;
  control.stall = clocks;
  control.stays = true;
  return control;
}

inline Control writes(unsigned scoreboard, unsigned clocks = 1) {
  Control control = stall(clocks);
  control.writes = scoreboard;
  return control;
}

inline Control waits(unsigned scoreboard, unsigned clocks = 5) {
  Control control = stall(clocks);
  control.waits = 1u << scoreboard;
  return control;
}

inline std::string repeated(int times, const std::string& text) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += text;
  return all;
}

inline const std::string kExit = line("EXIT", stall(5));

inline SmParameters parameters() {
  SmParameters f;
  f.clock_hz = 1e9;
  f.l1_latency = 34;
  f.shared_latency = 23;
  f.l2_latency = 250;
  f.dram_latency = 600;
  f.barrier_latency = 20;
  f.l1_bytes = 64 * 1024;
  f.behind.dram_read_share = 0;
  return f;
}

/// A listing executed and timed on one SM.
class TimedRun {
 public:
  explicit TimedRun(const std::string& code, unsigned threads = sim::kLanes) : text_(code) {
    program_ = sim::decode(read_code_text(text_));
    program_.name = "kernel";
    launch_.program = &program_;
    launch_.global = &memory_;
    launch_.block = {threads, 1, 1};
    launch_.shared_bytes = 4096;
    launch_.constants.resize(0x400);
    launch_.checks.memory = false;
    memory_.add(data_.data(), sizeof data_, "x");
  }

  SmTime time(const SmParameters& f = parameters(), const BlocksOfSm& blocks = {1, 1, 1}) {
    launch_.grid = {blocks.count * blocks.step * launch_.cluster.count(), 1, 1};
    const Schedule schedule = schedule_of(program_, f);
    REQUIRE(schedule.refusal.empty());
    return time_on_sm(launch_, schedule, f, blocks, [] { return false; });
  }
  double clocks() { return time().clocks; }
  void set_cluster(std::int64_t blocks) { launch_.cluster = {blocks, 1, 1}; }
  void set_max_instructions(std::uint64_t most) { launch_.checks.max_instructions = most; }

  const sim::Program& program() const { return program_; }

  /// Address of a buffer of 64 KiB, aligned to its size. Lines of an aligned KiB share drawn
  /// latencies, so a lower alignment would let times depend on where the linker puts the buffer.
  static std::uint64_t buffer() { return reinterpret_cast<std::uint64_t>(data_.data()); }
  /// Loads the buffer's address into R2 and R3.
  static std::string address() {
    const auto at = reinterpret_cast<std::uint64_t>(data_.data());
    return line(fmt::format("MOV R2, {:#x}", at & 0xffffffff), stall(1)) +
           line(fmt::format("MOV R3, {:#x}", at >> 32), stall(6));
  }

 private:
  alignas(65536) static inline std::array<std::uint32_t, 16384> data_{};
  std::string text_;
  sim::Program program_;
  sim::GlobalMemory memory_;
  sim::LaunchState launch_;
};

inline WarpClocks all_of(const SmTime& time) {
  return std::accumulate(time.places.begin(), time.places.end(), WarpClocks{},
                         [](WarpClocks sum, const WarpClocks& more) { return sum += more; });
}

/// A memory path with its own set of L2 sectors.
struct OwnSectors {
  BlockSectors requested_sectors;
};
struct OwnMemory : private OwnSectors, public MemoryPath {
  explicit OwnMemory(const SmParameters& f)
      : OwnSectors{BlockSectors(f.behind.l2_sectors)}, MemoryPath(f, requested_sectors) {}
};

}  // namespace gpuexp::test
