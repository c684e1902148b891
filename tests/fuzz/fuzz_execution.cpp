// Whole programs, executed by a cluster of two small blocks and then timed on an SM. Like kernels,
// they access parameters in the constant bank, buffers in global memory and a tensor map.
#include <array>
#include <cmath>
#include <stdexcept>

#include "fuzz/promises.hpp"
#include "sass/code_listing.hpp"
#include "sim/cluster.hpp"
#include "sim/constant_bank.hpp"
#include "sim/decoder.hpp"
#include "timing/sm_time.hpp"

namespace gpuexp::fuzz {

namespace {

constexpr int kComputeCapability = 90;
constexpr std::int64_t kFewThreads = sim::kLanes;
constexpr std::int64_t kThreads = 128;  ///< a warpgroup
constexpr std::int64_t kBlocks = 2;
/// Per warp. This number of the widest products takes less than a second under sanitizers.
constexpr std::uint64_t kMaxInstructions = 96;

/// True if execution is refused or has a fault.
template <class Function>
bool is_refused(const Function& function) {
  try {
    function();
  } catch (const std::runtime_error&) {
    return true;
  }
  return false;
}

/// Arguments and memory of a launch, with the same contents for each input.
struct Launch {
  alignas(128) std::array<std::uint32_t, 1024> in{};
  alignas(128) std::array<std::uint32_t, 1024> out{};
  sim::GlobalMemory memory;
  KernelStep step;
  sim::LaunchState state;

  Launch(const sim::Program& program, std::int64_t threads, std::int64_t cluster) {
    for (std::size_t i = 0; i < in.size(); ++i)
      in[i] = static_cast<std::uint32_t>(i * 0x9e3779b9u);
    memory.add(in.data(), sizeof in, "in");
    memory.add(out.data(), sizeof out, "out", sim::Contents::poison);
    constexpr std::int64_t kRow = 32;
    TensorMap map;
    map.base = in.data();
    map.extents = {kRow, kRow};
    map.strides = {kRow * static_cast<std::int64_t>(sizeof(std::uint32_t))};
    map.box = {kRow, 8};
    map.swizzle = Swizzle::bytes_128;
    step.shape.grid = {kBlocks, 1, 1};
    step.shape.block = {threads, 1, 1};
    step.arguments.add<const void*>(in.data());
    step.arguments.add<void*>(out.data());
    step.arguments.add<std::int32_t>(kRow);
    step.arguments.add<std::int32_t>(kRow);
    step.arguments.add(map, kTensorMapBytes);
    step.arguments.add(std::array<std::int32_t, 8>{});
    state.program = &program;
    state.global = &memory;
    state.grid = step.shape.grid;
    state.block = step.shape.block;
    state.cluster = {cluster, 1, 1};
    state.shared_bytes = std::size_t{32} << 10;
    state.checks.max_instructions = kMaxInstructions;
    sim::set_constants(state, step, kComputeCapability);
    if (program.has_constant_operands) state.ops = sim::with_constants(state);
  }
};

void execute_by_cluster(const sim::Program& program) {
  for (const std::int64_t threads : {kFewThreads, kThreads}) {
    Launch launch(program, threads, kBlocks);
    is_refused([&] { sim::Cluster(launch.state, {0, 0, 0}).run(); });
  }
}

// All figures are known and small, so every part of the memory path is used.
SmParameters small_sm() {
  SmParameters f;
  f.clock_hz = 1e9;
  f.tensor_operations.fill(4096);
  f.l1_latency = 34;
  f.shared_latency = 23;
  f.l2_latency = 250;
  f.dram_latency = 600;
  f.barrier_latency = 20;
  f.l1_bytes = 4096;
  f.block_gap = 100;
  f.behind.dram_read_share = f.behind.dram_write_share = 0.5;
  f.behind.l2_sectors = 64;
  f.behind.l2_read_clocks = f.behind.l2_write_clocks = 2;
  f.behind.l2_fill_clocks = f.behind.l2_first_write_clocks = 2;
  f.behind.dram_read_clocks = f.behind.dram_write_clocks = 4;
  return f;
}

void require_time(const SmTime& time) {
  const auto is_amount = [](double clocks) { return std::isfinite(clocks) && clocks >= 0; };
  require(is_amount(time.clocks), "a time is a number of clocks");
  require(!time.starts.empty() && time.starts.size() <= kBlocks, "blocks of the grid start");
  constexpr auto kWarps = static_cast<std::uint64_t>(kBlocks * kThreads / sim::kLanes);
  require(time.instructions <= kWarps * kMaxInstructions, "what is timed is bounded");
  for (const WarpClocks& place : time.places) {
    for (const double clocks : place.in)
      require(is_amount(clocks), "a warp spends a number of clocks in a state");
  }
  for (const SectorLookups& lookups : time.lookups)
    require(lookups.hits <= lookups.all, "what is found was looked up");
}

void time_blocks(const sim::Program& program) {
  const SmParameters sm = small_sm();
  const Schedule schedule = schedule_of(program, sm);
  require(schedule.ops.size() == program.ops.size(), "each instruction has its schedule");
  if (!schedule.refusal.empty()) return;
  for (const std::int64_t cluster : {std::int64_t{1}, kBlocks}) {
    Launch launch(program, cluster == 1 ? kThreads : kFewThreads, cluster);
    launch.state.checks.memory = cluster == 1;
    is_refused([&] {
      const BlocksOfSm blocks{kBlocks / cluster, 1, 1};
      require_time(time_on_sm(launch.state, schedule, sm, blocks, [] { return false; }));
    });
  }
}

}  // namespace

void fuzz_execution(std::string_view text) {
  is_refused([&] {
    const KernelCode code = read_code_text(text);
    const sim::Program program = sim::decode(code);
    execute_by_cluster(program);
    time_blocks(program);
  });
}

}  // namespace gpuexp::fuzz
