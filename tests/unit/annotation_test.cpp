// Executed counts by source line, and what is drawn of them.
#include "analysis/annotation.hpp"

#include <fmt/format.h>

#include "analysis/warp_picture.hpp"
#include "render/annotation_text.hpp"
#include "render/warp_picture_text.hpp"
#include "sim/decoder.hpp"
#include "support/catch.hpp"

namespace gpuexp::test {
namespace {

/// A listing executed by one block of a warp, observed place by place and traced.
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

  /// Where lane 0 finds word 0 of a buffer of 8 KiB that begins a line.
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

// Line 4 loads one word of each 64 bytes, line 2 of another file, which line 5 inlines, stores it
// to 32 words of one bank, with half of the lanes.
std::string small_kernel() {
  return "//a.cu\n//b.cuh\n#0:3\nS2R R1, SR_LANEID;0\nISETP.LT.AND P0, PT, R1, 0x10, PT;0\n" +
         ObservedRun::address() +
         "#0:4\nIMAD.WIDE.U32 R2, R1, 0x40, R2;0\nLDG.E R0, desc[UR4][R2.64];0\n"
         "#1:2<0:5\nSHF.L.U32 R4, R1, 0x7, RZ;0\n@P0 STS [R4], R0;0\n#0:6\nEXIT;0\n";
}

Annotation annotated(const std::vector<sim::KernelExecution>& executions,
                     const LineShare& share = {}) {
  Shape shape;
  shape.block = {32, 1, 1};
  return annotate(executions, {shape}, share, [](std::uint64_t) { return std::string("x"); });
}

LineShare by_data_stage() {
  LineShare share;
  share.resource = "l1";
  share.by = LineShare::By::data_stage;
  return share;
}

TEST_CASE("counts belong to the line that an instruction was written at", "[annotation]") {
  ObservedRun run(small_kernel());
  const Annotation annotation = annotated(run.executed(), by_data_stage());
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

  const AnnotatedLine& store = kernel.lines[3];  // another file than the kernel's comes last
  CHECK(to_text(store.at) == "b.cuh:2");
  REQUIRE(store.from.size() == 1);
  CHECK(to_text(store.from[0]) == "a.cu:5");
  CHECK(store.counts.warps == 2);
  CHECK(store.counts.lanes == 64);
  CHECK(store.counts.lanes_on == 48);
  CHECK(store.counts.shared_requests == 1);
  CHECK(store.counts.shared_wavefronts == 16);
  CHECK(store.counts.ideal_shared_wavefronts == 1);
  CHECK(store.accesses.at(0).access == "store to shared");

  // 32 words in two banks of L1's data, then 16 in one of shared memory.
  CHECK(load.counts.demand == 16);
  CHECK(store.counts.demand == 16);
  CHECK(annotation.counts.demand == 32);
}

TEST_CASE("an instruction that no lane executes is executed, and accesses nothing",
          "[annotation]") {
  ObservedRun run("//a.cu\n#0:1\nISETP.LT.AND P0, PT, RZ, 0x0, PT;0\n@P0 LDS R0, [RZ];0\nEXIT;0\n");
  const auto executions = run.executed();
  const Annotation annotation = annotated(executions);
  const ExecutedCounts& counts = annotation.kernels.at(0).lines.at(0).counts;
  CHECK(counts.warps == 3);
  CHECK(counts.lanes_on == 64);
  CHECK(counts.shared_requests == 0);
  CHECK(annotation.kernels[0].lines[0].accesses.empty());
  CHECK(traced_lines(annotation, executions).empty());
}

TEST_CASE("ideal sectors hold the distinct bytes that lanes ask for", "[annotation]") {
  const auto ideal = [](unsigned width, unsigned step, sim::LaneMask lanes = sim::kAllLanes) {
    sim::Lanes64 address;
    for (unsigned l = 0; l < sim::kLanes; ++l)
      address[l] = 1024 + std::uint64_t{l} * step;
    return sim::ideal_sectors({sim::Space::global, sim::Access::load, width, lanes, address});
  };
  CHECK(ideal(4, 4) == 4);
  CHECK(ideal(4, 128) == 4);
  CHECK(ideal(4, 0) == 1);
  CHECK(ideal(16, 16) == 16);
  CHECK(ideal(2, 2) == 2);
  CHECK(ideal(1, 1, 0xff) == 1);
  CHECK(ideal(4, 4, 0x1ff) == 2);
}

TEST_CASE("multiply-adds of tensor instructions are those of their shapes", "[annotation]") {
  CHECK(tensor_multiply_adds("HMMA.16816.F32.BF16") == 2048);
  CHECK(tensor_multiply_adds("DMMA.884") == 256);
  CHECK(tensor_multiply_adds("HGMMA.64x256x16.F32.BF16") == 65536);
  CHECK(tensor_multiply_adds("HFMA2.MMA") == 0);
  CHECK(tensor_multiply_adds("FFMA") == 0);
}

Prediction predicted(const std::vector<Term>& terms) {
  Prediction prediction;
  prediction.time_us = 1;
  prediction.terms = terms;
  if (!terms.empty()) prediction.bound_by = terms.front().resource;
  return prediction;
}

TEST_CASE("lines share the longest resource that they ask for", "[annotation]") {
  ObservedRun run(small_kernel());
  const auto executions = run.executed();
  const auto share_of = [&](const std::vector<Term>& terms) {
    return line_share(predicted(terms), {}, executions);
  };
  const LineShare pipe = share_of({{"latency", 9}, {"launch", 5}, {"alu", 2}, {"l1", 1}});
  CHECK(pipe.resource == "alu");
  CHECK(pipe.time_us == 2);
  CHECK(pipe.by == LineShare::By::pipe);
  // ISETP, two MOV and SHF.
  CHECK(annotated(executions, pipe).counts.demand == 4);
  CHECK(share_of({{"issue", 2}}).by == LineShare::By::instructions);
  CHECK(annotated(executions, share_of({{"issue", 2}})).counts.demand == 9);
  CHECK(share_of({{"shared", 2}}).by == LineShare::By::data_stage);
  CHECK(share_of({{"tensor", 2}}).by == LineShare::By::tensor);
  const LineShare none = share_of({{"latency", 9}, {"launch", 5}, {"blocks", 2}});
  CHECK(none.resource.empty());
  CHECK_FALSE(none.why_empty.empty());
  CHECK_FALSE(share_of({}).why_empty.empty());
}

TEST_CASE("sectors of L2 and DRAM have shares where no cache before them is in doubt",
          "[annotation]") {
  const std::string one_line = "//a.cu\n#0:1\nS2R R1, SR_LANEID;0\n" + ObservedRun::address() +
                               "IMAD.WIDE.U32 R2, R1, 0x40, R2;0\n"
                               "#0:2\nLDG.E R0, desc[UR4][R2.64];0\n";
  const auto share_of = [](const std::string& code, double l2_sectors) {
    ObservedRun run(code + "EXIT;0\n");
    Prediction prediction = predicted({{"l2", 9}});
    Traffic traffic;
    traffic.l2_read_sectors = l2_sectors;
    prediction.traffic = {traffic};
    Ceilings ceilings;
    ceilings.l2_read_bytes_per_s = 1e12;
    ceilings.l2_write_bytes_per_s = 1e12;
    return line_share(prediction, ceilings, run.executed());
  };
  const std::string two_lines = one_line + "#0:3\nLDG.E R5, desc[UR4][R2.64+0x20];0\n";
  CHECK(share_of(one_line, 32).by == LineShare::By::sectors);
  CHECK(share_of(one_line, 16).by == LineShare::By::sectors);  // L1 holds half, all of one line
  CHECK(share_of(two_lines, 64).by == LineShare::By::sectors);
  const LineShare doubtful = share_of(two_lines, 32);
  CHECK(doubtful.by == LineShare::By::nothing);
  CHECK_THAT(doubtful.why_empty, contains_text("caches before l2 serve part"));
  // More than loads ask for: what copy engines and atomics move.
  CHECK_FALSE(share_of(one_line, 64).why_empty.empty());
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
      contains_text("--execution 2: warp 0 of block 0 comes to a.cu:4 1 times; allowed: 1 to 1"));
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
  CHECK_THAT(load, contains_text("1 request: 32 sectors (4 would hold the bytes asked for)"));
  CHECK_THAT(load,
             contains_text("  x+0     [█.......] 0" + std::string(18, ' ') + "[█.......] 1\n"));
  CHECK_THAT(load, contains_text("  x+1920  [█.......] 30"));
  const std::string store = drawn({"b.cuh", 2});
  CHECK_THAT(store, contains_text("16 wavefronts (1 without bank conflicts)"));
  CHECK_THAT(store, contains_text("each of the lanes 0-15"));
  CHECK_THAT(store, contains_text("\n  shared+128   1  .  .  ."));
  CHECK_THAT(store, contains_text("\n  words       16  .  .  ."));
}

TEST_CASE("sets of lanes are named by their runs", "[annotation]") {
  CHECK(lanes_text(sim::kAllLanes) == "0-31");
  CHECK(lanes_text(0x80000001u) == "0,31");
  CHECK(lanes_text(0x16) == "1-2,4");
  CHECK(lanes_text(0).empty());
}

TEST_CASE("sources that are not there leave lines without text", "[annotation]") {
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
  CHECK_THAT(shown, contains_text("b.cuh, whose text this binary does not hold"));
  CHECK_THAT(shown, contains_text("16.0 (1.0)"));
}

}  // namespace
}  // namespace gpuexp::test
