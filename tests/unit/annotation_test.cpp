// Executed counts per source line, and drawings of accesses.
#include "analysis/annotation.hpp"

#include <fmt/format.h>

#include "analysis/warp_picture.hpp"
#include "render/annotation_text.hpp"
#include "render/warp_picture_text.hpp"
#include "sim/decoder.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// A listing executed by one block of one warp, observed per instruction and traced.
class ObservedRun {
 public:
  explicit ObservedRun(const std::string& code, std::uint64_t execution = 0) : text_(code) {
    program_ = sim::decode(read_code_text(text_));
    program_.name = "kernel";
    observation_.places = true;
    observation_.warp = {0, 0, execution};
    launch_.program = &program_;
    launch_.global = &memory_;
    launch_.block = {sim::kLanes, 1, 1};
    launch_.shared_bytes = 4096;
    launch_.constants.resize(0x400);
    launch_.checks.memory = false;
    launch_.observation = &observation_;
  }

  std::vector<sim::KernelExecution> executed() {
    memory_.add(data_.data(), sizeof data_, "x");
    sim::Block block(launch_, {0, 0, 0});
    block.run();
    sim::KernelExecution execution{&program_, block.counts, block.memory};
    execution.places = block.observed->places;
    execution.trace = block.observed->trace;
    return {execution};
  }

  /// Loads the address of a line-aligned buffer of 8 KiB into R2 and R3.
  static std::string address() {
    const auto at = reinterpret_cast<std::uint64_t>(data_.data());
    return fmt::format("MOV R2, {:#x};0\nMOV R3, {:#x};0\n", at & 0xffffffff, at >> 32);
  }
  static std::pair<std::string, std::uint64_t> buffer_of(std::uint64_t) {
    return {"x", reinterpret_cast<std::uint64_t>(data_.data())};
  }

 private:
  alignas(128) static inline std::array<std::uint32_t, 2048> data_{};
  std::string text_;
  sim::Program program_;
  sim::GlobalMemory memory_;
  sim::Observation observation_;
  sim::LaunchState launch_;
};

// a.cu:4 loads one word per 64 bytes. Half of the lanes store it to 16 words of one bank at
// b.cuh:2, inlined at a.cu:5.
std::string small_kernel() {
  return "//a.cu\n//b.cuh\n#0:3\nS2R R1, SR_LANEID;0\nISETP.LT.AND P0, PT, R1, 0x10, PT;0\n" +
         ObservedRun::address() +
         "#0:4\nIMAD.WIDE.U32 R2, R1, 0x40, R2;0\nLDG.E R0, desc[UR4][R2.64];0\n"
         "#1:2<0:5\nSHF.L.U32 R4, R1, 0x7, RZ;0\n@P0 STS [R4], R0;0\n#0:6\nEXIT;0\n";
}

Annotation annotated(const std::vector<sim::KernelExecution>& executions,
                     const std::vector<KernelCodeTime>& times = {},
                     const std::vector<CountedInstruction>& counted = {}) {
  Shape shape;
  shape.block = {32, 1, 1};
  return annotate(executions, {shape}, times, counted,
                  [](std::uint64_t) { return std::string("x"); });
}

// Times of 1 µs per instruction, during which warps wait for memory.
KernelCodeTime one_us_per_instruction(const sim::KernelExecution& execution) {
  KernelCodeTime time;
  time.program = execution.program;
  time.places_us.resize(execution.counts.size());
  for (WarpClocks& place : time.places_us)
    place[WarpState::long_scoreboard] = 1;
  return time;
}

TEST_CASE("counts belong to the source line of their instruction", "[annotation]") {
  ObservedRun run(small_kernel());
  const auto executions = run.executed();
  const Annotation annotation = annotated(executions, {one_us_per_instruction(executions[0])});
  REQUIRE(annotation.kernels.size() == 1);
  const AnnotatedKernel& kernel = annotation.kernels[0];
  CHECK(kernel.counts.warps == 9);
  REQUIRE(kernel.lines.size() == 4);
  CHECK(to_text(kernel.lines[0].at) == "a.cu:3");
  CHECK(kernel.lines[0].counts.warps == 4);
  CHECK(kernel.lines[0].accesses.empty());

  const AnnotatedLine& load = kernel.lines[1];
  CHECK(to_text(load.at) == "a.cu:4");
  CHECK(load.counts.warps == 2);
  CHECK(load.counts.load_requests == 1);
  CHECK(load.counts.load_sectors == 32);
  CHECK(load.counts.ideal_load_sectors == 4);
  CHECK(load.from.empty());
  REQUIRE(load.accesses.size() == 1);
  CHECK(load.accesses[0].access == "load of x");
  CHECK(load.accesses[0].counts.warps == 1);

  const AnnotatedLine& store = kernel.lines[3];  // lines of other files come last
  CHECK(to_text(store.at) == "b.cuh:2");
  REQUIRE(store.from.size() == 1);
  CHECK(to_text(store.from[0]) == "a.cu:5");
  CHECK(store.counts.warps == 2);
  CHECK(store.counts.lanes == 64);
  CHECK(store.counts.predicated_lanes == 48);
  CHECK(store.counts.shared_requests == 1);
  CHECK(store.counts.shared_wavefronts == 16);
  CHECK(store.counts.ideal_shared_wavefronts == 1);
  CHECK(store.accesses.at(0).access == "store to shared");

  // 32 words in two banks of L1's data, then 16 words in one bank of shared memory.
  CHECK(load.counts.data_wavefronts == 16);
  CHECK(store.counts.data_wavefronts == 16);
  CHECK(load.counts.time_us[WarpState::long_scoreboard] == 2);
  CHECK(annotation.counts.time_us.sum() == 9);
}

TEST_CASE("an instruction that is predicated off in all lanes accesses nothing", "[annotation]") {
  ObservedRun run("//a.cu\n#0:1\nISETP.LT.AND P0, PT, RZ, 0x0, PT;0\n@P0 LDS R0, [RZ];0\nEXIT;0\n");
  const auto executions = run.executed();
  const Annotation annotation = annotated(executions);
  const ExecutedCounts& counts = annotation.kernels.at(0).lines.at(0).counts;
  CHECK(counts.warps == 3);
  CHECK(counts.predicated_lanes == 64);
  CHECK(counts.shared_requests == 0);
  CHECK(annotation.kernels[0].lines[0].accesses.empty());
  CHECK(traced_lines(annotation, executions).empty());
}

TEST_CASE("ideal sectors are the minimum for the requested bytes and at most those accessed",
          "[annotation]") {
  const auto ideal_from = [](std::uint64_t first, unsigned width, unsigned step,
                             sim::LaneMask lanes, unsigned group) {
    sim::Lanes64 address;
    for (unsigned l = 0; l < sim::kLanes; ++l)
      address[l] = first + std::uint64_t{l / group} * step;
    sim::PlaceCounts counts;
    count(counts, {sim::Space::global, sim::Access::load, width, lanes, address});
    return counts.ideal_load_sectors;
  };
  const auto ideal = [&](unsigned width, unsigned step, sim::LaneMask lanes = sim::kAllLanes) {
    return ideal_from(1024, width, step, lanes, 1);
  };
  CHECK(ideal(4, 4) == 4);
  CHECK(ideal(4, 128) == 4);
  CHECK(ideal(4, 0) == 1);
  CHECK(ideal(16, 16) == 16);
  CHECK(ideal(2, 2) == 2);
  CHECK(ideal(1, 1, 0xff) == 1);
  CHECK(ideal(4, 4, 0x1ff) == 2);
  // Eight words, each loaded by four lanes, in one sector and across two.
  CHECK(ideal_from(1024, 4, 4, sim::kAllLanes, 4) == 1);
  CHECK(ideal_from(1040, 4, 4, sim::kAllLanes, 4) == 2);
}

// GPU counts equal to the CPU's counts.
std::vector<CountedInstruction> equal_counts(const std::vector<sim::KernelExecution>& executions) {
  std::vector<CountedInstruction> counted;
  const Annotation annotation = annotated(executions);
  for (const AnnotatedInstruction& i : annotation.kernels.at(0).instructions) {
    const ExecutedCounts& c = i.counts;
    counted.push_back({"kernel",
                       i.address,
                       {c.warps, c.lanes, c.predicated_lanes, c.sectors(), c.ideal_sectors(),
                        c.shared_wavefronts, c.ideal_shared_wavefronts}});
  }
  return counted;
}

AnnotatedLaunch small_launch(const Annotation& annotation) {
  static const Family family = [] {
    Family f;
    f.id = "family";
    return f;
  }();
  static const Variant variant = [] {
    Variant v;
    v.id = "variant";
    return v;
  }();
  AnnotatedLaunch launch;
  launch.family = &family;
  launch.variant = &variant;
  launch.annotation = annotation;
  launch.blocks = launch.blocks_executed = 1;
  return launch;
}

std::string text_of(const AnnotatedLaunch& launch) {
  TerminalOptions options;
  options.width = 0;
  return annotation_head(launch, options) + annotation_text(launch, {}, options);
}

TEST_CASE("GPU counts are shown next to CPU counts", "[annotation]") {
  ObservedRun run(small_kernel());
  const auto executions = run.executed();
  std::vector<CountedInstruction> counted = equal_counts(executions);
  const Annotation annotation = annotated(executions, {}, counted);
  const AnnotatedLine& load = annotation.kernels.at(0).lines.at(1);
  CHECK(load.counts.gpu.warps == 2);
  CHECK(load.counts.gpu.sectors == 32);
  CHECK(load.accesses.at(0).counts.gpu.warps == 1);
  CHECK(annotation.counts.gpu.warps == annotation.counts.warps);

  AnnotatedLaunch launch = small_launch(annotation);
  launch.counted_on = "a GPU";
  CHECK_THAT(text_of(launch), contains_text("GPU: instr."));
  CHECK_THAT(text_of(launch), contains_text("block. All counts of 9 instructions agree"));

  SECTION("an instruction with different counts is reported") {
    ++counted.front().counts.predicated_lanes;
    launch.annotation = annotated(executions, {}, counted);
    CHECK_THAT(text_of(launch),
               contains_text("The simulation executed 9 instructions; 1 has other counts"));
  }
  SECTION("if only some blocks executed, counts are not compared and requests are scaled") {
    launch.blocks = 2;
    for (CountedInstruction& c : counted)
      c.counts += SourceCounts(c.counts);
    launch.annotation = annotated(executions, {}, counted);
    CHECK_THAT(text_of(launch), !contains_text("instructions agree"));
    CHECK_THAT(text_of(launch), !contains_text("other counts"));
    CHECK_THAT(text_of(launch), contains_text("32.0 (4.0)"));
    CHECK_THAT(text_of(launch), !contains_text("64.0"));
  }
  SECTION("without GPU counts there is no GPU column") {
    launch.counted_on.clear();
    CHECK_THAT(text_of(launch), !contains_text("GPU"));
    launch.why_not_counted = "no permission";
    CHECK_THAT(text_of(launch), contains_text("Not counted on the GPU: no permission"));
    CHECK_THAT(text_of(launch), !contains_text("GPU: instr."));
  }
}

TEST_CASE("GPU counts of other kernels, or between instructions, belong to no line",
          "[annotation]") {
  ObservedRun run(small_kernel());
  const auto executions = run.executed();
  const std::vector<CountedInstruction> counted{{"another", 0, {1, 32, 32, 0, 0, 0, 0}},
                                                {"kernel", 1, {1, 32, 32, 0, 0, 0, 0}}};
  CHECK(annotated(executions, {}, counted).counts.gpu == SourceCounts{});
}

TEST_CASE("times of another kernel belong to no line", "[annotation]") {
  ObservedRun run(small_kernel());
  ObservedRun other(small_kernel());
  const auto executions = run.executed();
  const Annotation annotation =
      annotated(executions, {one_us_per_instruction(other.executed()[0])});
  CHECK(annotation.counts.time_us.sum() == 0);
}

TEST_CASE("a traced warp's line is chosen among those that access memory", "[annotation]") {
  ObservedRun run(small_kernel());
  const auto executions = run.executed();
  const Annotation annotation = annotated(executions);
  const auto lines = traced_lines(annotation, executions);
  REQUIRE(lines.size() == 2);
  CHECK(to_text(lines[0].line) == "a.cu:4");
  CHECK(lines[0].accesses == "load of x");
  CHECK(lines[1].accesses == "store to shared");
  const WarpPicture picture =
      picture_of(annotation, executions, {0, 0, 1}, {"b.cuh", 2}, ObservedRun::buffer_of);
  REQUIRE(picture.accesses.size() == 1);
  CHECK(picture.executions == 1);
  CHECK(picture.accesses[0].buffer == "shared");
  ObservedRun second(small_kernel(), 1);
  const auto once = second.executed();
  CHECK_THROWS_WITH(
      picture_of(annotated(once), once, {0, 0, 2}, {"a.cu", 4}, ObservedRun::buffer_of),
      contains_text("--execution 2: warp 0 of block 0 executes a.cu:4 1 times; allowed: 1 to 1"));
}

TEST_CASE("accesses are drawn by sectors and by banks", "[annotation]") {
  ObservedRun run(small_kernel());
  const auto executions = run.executed();
  const Annotation annotation = annotated(executions);
  TerminalOptions options;
  options.width = 0;
  const auto drawn = [&](const SourceLine& line) {
    return warp_picture_text(
        picture_of(annotation, executions, {0, 0, 1}, line, ObservedRun::buffer_of), {}, options);
  };
  const std::string load = drawn({"a.cu", 4});
  CHECK_THAT(load, contains_text("1 request: 32 sectors (4 would hold the requested bytes)"));
  CHECK_THAT(load,
             contains_text("  x+0     [█.......] 0" + std::string(18, ' ') + "[█.......] 1\n"));
  CHECK_THAT(load, contains_text("  x+1920  [█.......] 30"));
  const std::string store = drawn({"b.cuh", 2});
  CHECK_THAT(store, contains_text("16 wavefronts (1 without bank conflicts)"));
  CHECK_THAT(store, contains_text("each of the lanes 0-15"));
  CHECK_THAT(store, contains_text("\n  shared+128   1  .  .  ."));
  CHECK_THAT(store, contains_text("\n  words       16  .  .  ."));
}

TEST_CASE("sets of lanes are written as ranges", "[annotation]") {
  CHECK(lanes_text(sim::kAllLanes) == "0-31");
  CHECK(lanes_text(0x80000001u) == "0,31");
  CHECK(lanes_text(0x16) == "1-2,4");
  CHECK(lanes_text(0).empty());
}

TEST_CASE("lines without a source have no text", "[annotation]") {
  ObservedRun run(small_kernel());
  const std::string text = "one\ntwo\nthree\nfour\n\nsix";
  const SourceText table{"a.cu", text};
  const SourceFiles sources(&table, 1);
  CHECK(sources.line("a.cu", 1) == "one");
  CHECK(sources.line("a.cu", 5) == "");
  CHECK(sources.line("a.cu", 6) == "six");
  CHECK(!sources.line("a.cu", 7));
  CHECK(!sources.line("a.cu", 0));
  CHECK(!sources.line("b.cuh", 1));
  AnnotatedLaunch launch;
  launch.annotation = annotated(run.executed());
  TerminalOptions options;
  options.width = 0;
  const std::string shown = annotation_text(launch, sources, options);
  CHECK_THAT(shown, contains_text("| four\n"));
  CHECK_THAT(shown, contains_text("b.cuh (source text not available)"));
  CHECK_THAT(shown, contains_text("16.0 (1.0)"));
}

}  // namespace
}  // namespace gpuexp::test
