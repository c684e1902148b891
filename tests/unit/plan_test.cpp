#include "plan/plan.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "device/topology.hpp"
#include "sass/loaded_kernels.hpp"
#include "support/catch.hpp"
#include "support/toy_family.hpp"

namespace gpuexp::test {
namespace {

struct Bench {
  Family family = toy_family();
  DeviceSpec device = toy_device();
  Config config;
  // The toy kernel's address is the one in its shapes. 32 registers allow 8 blocks of 256 threads
  // per SM.
  KernelResource row{kernel(), "toy", "toy_kernel", 80, 32, 0, 0, 0};
  KernelResources resources{&row, 1};

  Bench() {
    Experiment e;
    e.name = "toy";
    e.family = &family;
    e.variants = {family.find("first")};
    e.modes = {Mode::cold};
    config.experiments.push_back(e);
  }

  const void* kernel() const {
    const auto problem = family.make_problem({std::int64_t{1}, 0.5, std::string("narrow")});
    return family.find("first")->shapes(problem.get(), device).front().kernel;
  }

  Experiment& experiment() { return config.experiments.front(); }
  Plan plan(std::int64_t free_bytes = std::int64_t{1} << 40) {
    return make_plan(config, device, resources, free_bytes);
  }

  std::vector<std::string> keys() {
    const Plan p = plan();
    std::vector<std::string> keys;
    for (const Group& g : p.groups) {
      for (const Cell& c : g.cells)
        keys.push_back(cell_key(p, g, c));
    }
    return keys;
  }

  std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> n;
    for (const Group& g : plan().groups)
      n.push_back(std::get<std::int64_t>(g.values[0]));
    return n;
  }
};

AxisItem number(std::int64_t n) {
  return Value{n};
}

TEST_CASE("parameters that a file sets are not in keys and create no further cells") {
  Bench b;
  Parameter& width = b.family.parameters.at(2);
  width.choices.emplace_back("*.txt");
  width.file_error = [](const std::string&) { return ""; };
  width.unless_file = {"n"};
  b.experiment().axes = {{"n", {number(8), number(16)}},
                         {"width", {Value{std::string("narrow")}, Value{std::string("a.txt")}}}};
  b.experiment().axis_groups = {{0}, {1}};
  CHECK(b.keys() == std::vector<std::string>{"toy/toy/first/n=8,share=0.5,width=narrow/cold",
                                             "toy/toy/first/share=0.5,width=a.txt/cold",
                                             "toy/toy/first/n=16,share=0.5,width=narrow/cold"});
  CHECK(b.sizes() == std::vector<std::int64_t>{8, 1024, 16});  // the default if a file replaces n
}

TEST_CASE("axes multiply, and parameters without an axis keep their defaults") {
  Bench b;
  b.experiment().axes = {{"n", {number(8), number(16)}},
                         {"width", {Value{std::string("narrow")}, Value{std::string("wide")}}}};
  b.experiment().axis_groups = {{0}, {1}};
  b.experiment().modes = {Mode::warm};
  CHECK(b.keys() == std::vector<std::string>{"toy/toy/first/n=8,share=0.5,width=narrow/warm",
                                             "toy/toy/first/n=8,share=0.5,width=wide/warm",
                                             "toy/toy/first/n=16,share=0.5,width=narrow/warm",
                                             "toy/toy/first/n=16,share=0.5,width=wide/warm"});
}

TEST_CASE("a variant has one cell for all values of a parameter on which it does not depend") {
  Bench b;
  const Variant* const first = b.family.find("first");
  b.experiment().variants = {first, b.family.find("second")};
  b.experiment().axes = {{"n", {number(8), number(16)}},
                         {"width", {Value{std::string("narrow")}, Value{std::string("wide")}}}};
  b.experiment().axis_groups = {{0}, {1}};
  b.experiment().unused_parameters[first] = {2};
  CHECK(b.keys() == std::vector<std::string>{"toy/toy/first/n=8,share=0.5/cold",
                                             "toy/toy/second/n=8,share=0.5,width=narrow/cold",
                                             "toy/toy/second/n=8,share=0.5,width=wide/cold",
                                             "toy/toy/first/n=16,share=0.5/cold",
                                             "toy/toy/second/n=16,share=0.5,width=narrow/cold",
                                             "toy/toy/second/n=16,share=0.5,width=wide/cold"});
  const Plan plan = b.plan();
  CHECK(plan.cell_count() == 6);
  CHECK(plan.groups.back().cells.back().index == 5);
  // One value does not show whether machine code depends on it.
  b.experiment().axes.pop_back();
  b.experiment().axis_groups.pop_back();
  CHECK(b.keys().front() == "toy/toy/first/n=8,share=0.5,width=narrow/cold");
}

TEST_CASE("cells remain whose kernels differ in their machine code") {
  const std::array<KernelResource, 2> codes{
      KernelResource{nullptr, "", "a", 80, 32, 0, 0, 0, false, "", "EXIT ;0\n"},
      KernelResource{nullptr, "", "a", 80, 32, 0, 0, 0, false, "", "NOP ;0\nEXIT ;0\n"}};
  const auto loaded = [&](std::size_t code) {
    return LoadedKernels::global().add({"a", [resource = &codes.at(code)](int) {
                                          return LoadedCode{resource, "", ""};
                                        }});
  };
  const void* const kernel = loaded(0);
  for (const std::size_t other : {std::size_t{0}, std::size_t{1}}) {
    INFO(other);
    Bench b;
    Variant& variant = b.family.variants.front();
    variant.launch = [kernel, wide = loaded(other)](const void* problem, const void*,
                                                    const LaunchContext&) {
      Shape shape;
      shape.kernel = static_cast<const ToyProblem*>(problem)->width == 4 ? wide : kernel;
      shape.block = {256, 1, 1};
      shape.grid = {1, 1, 1};
      return Steps(KernelStep{shape, {}});
    };
    b.experiment().axes = {{"width", {Value{std::string("narrow")}, Value{std::string("wide")}}}};
    b.experiment().axis_groups = {{0}};
    b.experiment().unused_parameters[b.experiment().variants.front()] = {2};
    CHECK(b.plan().cell_count() == 1 + other);
  }
}

TEST_CASE("zipped axes advance together") {
  Bench b;
  b.experiment().axes = {{"n", {number(8), number(16)}}, {"share", {Value{0.25}, Value{0.75}}}};
  b.experiment().axis_groups = {{0, 1}};
  CHECK(b.keys() == std::vector<std::string>{"toy/toy/first/n=8,share=0.25,width=narrow/cold",
                                             "toy/toy/first/n=16,share=0.75,width=narrow/cold"});
}

TEST_CASE("a group has the variants of one problem and mode, baseline first") {
  Bench b;
  b.experiment().variants = {b.family.find("first"), b.family.find("second")};
  b.experiment().baseline = b.family.find("second");
  b.experiment().modes = {Mode::cold, Mode::warm};
  const Plan p = b.plan();
  REQUIRE(p.groups.size() == 2);
  CHECK(p.groups[0].cells[0].variant->id == "second");
  CHECK(p.groups[0].cells[1].variant->id == "first");
  CHECK(p.groups[1].cells[1].index == 3);
}

TEST_CASE("wave edges are the last size of a wave count and the next two sizes") {
  Bench b;
  // A wave has 100 SMs × 8 blocks × 256 elements = 204,800 elements.
  b.experiment().axes = {{"n", {WaveEdges{1, 500000}}}};
  b.experiment().axis_groups = {{0}};
  CHECK(b.sizes() == std::vector<std::int64_t>{204800, 204801, 204802, 409600, 409601, 409602});
}

TEST_CASE("wave edges combine with plain sizes, without duplicates") {
  Bench b;
  b.experiment().axes = {{"n", {number(204801), number(7), WaveEdges{200000, 204801}}}};
  b.experiment().axis_groups = {{0}};
  CHECK(b.sizes() == std::vector<std::int64_t>{204801, 7, 204800});
}

TEST_CASE("wave edges depend on the device") {
  Bench b;
  b.device.sm_count = 50;
  b.experiment().axes = {{"n", {WaveEdges{100000, 110000}}}};
  b.experiment().axis_groups = {{0}};
  CHECK(b.sizes() == std::vector<std::int64_t>{102400, 102401, 102402});
}

TEST_CASE("wave edges need a known grid") {
  Bench b;
  b.experiment().axes = {{"n", {WaveEdges{1, 1000}}}};
  b.experiment().axis_groups = {{0}};
  SECTION("vendor libraries choose their own grid") {
    b.experiment().variants = {b.family.find("vendor")};
    CHECK_THROWS_WITH(b.plan(), contains_text("vendor library"));
  }
  SECTION("registers must be known") {
    b.resources = KernelResources();
    CHECK_THROWS_WITH(b.plan(), contains_text("resource table"));
  }
}

TEST_CASE("an experiment without wave edges is an error with its place") {
  Bench b;
  b.config.path = "edges.json";
  b.experiment().axes = {{"n", {WaveEdges{1, 2}}}};
  b.experiment().axis_groups = {{0}};
  CHECK_THROWS_WITH(b.plan(), contains_text("edges.json: $.experiments[0]: selects no cell"));
}

TEST_CASE("if a variant cannot run, its wave edges become one skipped size") {
  Bench b;
  b.family.variants.front().min_compute_capability = 90;
  b.experiment().axes = {{"n", {WaveEdges{1024, 8192}}}};
  b.experiment().axis_groups = {{0}};
  const Plan p = b.plan();
  REQUIRE(p.groups.size() == 1);
  CHECK(!p.groups[0].cells.front().skip_reason.empty());
}

TEST_CASE("cells that cannot run are skipped with the reason") {
  Bench b;
  b.experiment().axes = {{"n", {number(9)}}};
  b.experiment().axis_groups = {{0}};
  const auto reason = [&](std::int64_t free_bytes) {
    return b.plan(free_bytes).groups[0].cells[0].skip_reason;
  };
  SECTION("memory") {
    CHECK_THAT(reason(1000), contains_text("GiB of device memory"));
  }
  SECTION("the problem") {
    b.experiment().variants = {b.family.find("even")};
    CHECK(reason(1 << 30) == "needs an even n");
  }
  SECTION("the device") {
    Variant& v = b.family.variants.front();
    v.min_compute_capability = 90;
    CHECK(reason(1 << 30) == "needs compute capability 9.0, Toy GPU has 8.0");
  }
  SECTION("a launch that exceeds the SM") {
    b.row.registers = 255;
    Variant& v = b.family.variants.front();
    v.launch = [launch = v.launch](const void* problem, const void* data,
                                   const LaunchContext& context) {
      Steps steps = launch(problem, data, context);
      std::get<KernelStep>(steps.all().front().action).shape.block = {1024, 1, 1};
      return steps;
    };
    b.resources = KernelResources(&b.row, 1);
    CHECK_THAT(reason(1 << 30), contains_text("no block fits"));
  }
}

TEST_CASE("memory counts buffers, guards and references") {
  Bench b;
  const auto problem = b.family.make_problem({std::int64_t{1000}, 0.5, std::string("narrow")});
  // x and y of 4 bytes per element with two guards each and padding for alignment to 4096; two fp64
  // arrays for y.
  constexpr std::int64_t kBuffers = 2 * (4000 + 2 * kGuardBytes + 4096);
  constexpr std::int64_t kReferences = 16000;
  CHECK(cell_bytes(b.family, *b.family.find("first"), problem.get(), b.device) ==
        kBuffers + kReferences);
}

TEST_CASE("buffers are aligned to their size, from 512 bytes to 2 MiB") {
  for (const auto& [bytes, alignment] : std::map<std::int64_t, std::int64_t>{{0, 512},
                                                                             {1, 512},
                                                                             {512, 512},
                                                                             {513, 1024},
                                                                             {4096, 4096},
                                                                             {4097, 8192},
                                                                             {2 << 20, 2 << 20},
                                                                             {7 << 20, 2 << 20}})
    CHECK(buffer_alignment(bytes) == alignment);
}

TEST_CASE("the limit is the larger of memory time and arithmetic time") {
  Work w;
  w.moved_read = 1e9;
  w.operations = {{Pipe::fp32, 1e9}};
  const DeviceSpec device = toy_device();
  const auto at = [&](Mode mode) { return limit_of(w, mode, device, datasheet_ceilings(device)); };
  CHECK(at(Mode::cold).time_us.value() == Approx(1000.0));
  CHECK(at(Mode::cold).by == "dram");
  // In warm mode, L2 may still hold as many bytes of input as its size.
  CHECK(at(Mode::warm).time_us.value() == Approx(1e6 * (1e9 - 10 * 1048576) / 1e12));
  w.operations = {{Pipe::fp32, 1e11}};
  CHECK(at(Mode::cold).by == "fp32");
  CHECK(at(Mode::cold).time_us.value() == Approx(1e4));
}

TEST_CASE("transfers to the host and to the device share a bidirectional bus") {
  Work w;
  w.moved_read = 1e9;
  w.to_device = 1e9;
  DeviceSpec device = toy_device();
  const auto limit = [&](const Ceilings& ceilings) {
    return limit_of(w, Mode::cold, device, ceilings);
  };
  CHECK(limit(datasheet_ceilings(device)).by == "dram");
  CHECK(!limit(datasheet_ceilings(device)).pcie_us);

  device.pcie_bytes_per_s = pcie_bytes_per_s(5, 16);
  CHECK(device.pcie_bytes_per_s == Approx(63.0e9).epsilon(1e-3));
  CHECK(limit(datasheet_ceilings(device)).by == "pcie");
  const double isolated_us = limit(datasheet_ceilings(device)).time_us.value();
  CHECK(isolated_us == Approx(1e6 * 1e9 / device.pcie_bytes_per_s));
  w.to_host = 5e8;
  CHECK(limit(datasheet_ceilings(device)).time_us.value() == Approx(isolated_us));

  // Half of the bytes move while the other direction is busy, at the bidirectional rate.
  Ceilings measured = datasheet_ceilings(device);
  measured.bus_to_device_bytes_per_s = 50e9;
  measured.bus_to_host_bytes_per_s = 40e9;
  measured.bus_both_bytes_per_s = 25e9;
  CHECK(limit(measured).time_us.value() == Approx(1e6 * (0.5 / 25 + 0.5 / 50)));
  std::swap(w.to_device, w.to_host);
  CHECK(limit(measured).time_us.value() == Approx(1e6 * (0.5 / 25 + 0.5 / 40)));

  CHECK(pcie_bytes_per_s(3, 8) == Approx(7.877e9).epsilon(1e-3));
  CHECK(pcie_bytes_per_s(0, 16) == 0.0);
  CHECK(pcie_bytes_per_s(kNewestPcieGeneration + 1, 16) == 0.0);
  CHECK(pcie_bytes_per_s(5, 0) == 0.0);
}

TEST_CASE("a prediction counts the kernels of a launch, except a library's") {
  const KernelResources none(nullptr, 0);
  const DeviceSpec device = toy_device();
  CeilingSource ceilings;
  ceilings.ceilings = datasheet_ceilings(device);
  const auto kernels = [&](const std::vector<Shape>& shapes) {
    return predict(Work{}, shapes, Mode::cold, device, ceilings, none).kernel_launches;
  };
  CHECK(kernels({Shape{}, Shape{}, Shape{}}) == 3);
  CHECK(kernels({Shape{}}) == 1);
  CHECK(!kernels({}));
}

TEST_CASE("a prediction has no shape for kernels that launch kernels") {
  const int kernel = 0;
  const DeviceSpec device = toy_device();
  CeilingSource ceilings;
  ceilings.ceilings = datasheet_ceilings(device);
  Shape shape;
  shape.kernel = &kernel;
  shape.grid = {1, 1, 1};
  shape.block = {32, 1, 1};
  KernelResource row{&kernel, "toy", "k", 80, 20, 0, 0, 0};
  const auto predicted = [&] {
    return predict(Work{}, {shape}, Mode::cold, device, ceilings, KernelResources(&row, 1));
  };
  CHECK(predicted().shape);
  CHECK(predicted().waves);
  row.launches_kernels = true;
  CHECK(!predicted().shape);
  CHECK(!predicted().occupancy);
  CHECK(!predicted().waves);
  CHECK(!predicted().kernel_launches);
}

TEST_CASE("writes that fit in L2 may not reach DRAM") {
  Work w;
  w.moved_written = 8 << 20;
  CHECK(min_dram_bytes(w, Mode::cold, toy_device()) == 0.0);
  w.moved_written = 12 << 20;
  CHECK(min_dram_bytes(w, Mode::cold, toy_device()) == Approx(2 << 20));
}

TEST_CASE("registers of the newest older architecture are used if one was not built") {
  const int kernel = 0;
  const KernelResource rows[] = {{&kernel, "toy", "k", 90, 20, 0, 0, 0},
                                 {&kernel, "toy", "k", 80, 10, 0, 0, 0}};
  const KernelResources resources(rows, 2);
  const auto registers = [&](int compute_capability) {
    const auto found = resources.find(&kernel, compute_capability);
    return std::pair{found->resource.registers, found->exact};
  };
  CHECK(registers(80) == std::pair{10, true});
  CHECK(registers(86) == std::pair{10, true});
  CHECK(registers(90) == std::pair{20, true});
  CHECK(registers(120) == std::pair{20, false});
  CHECK(registers(70) == std::pair{10, false});
  CHECK(!resources.find(&rows, 80).has_value());
}

TEST_CASE("missing libraries of a config are named", "[plan]") {
  Bench bench;
  CHECK(missing_libraries(bench.config).empty());
  const Variant* const vendor = bench.family.find("vendor");
  REQUIRE(vendor);
  bench.experiment().variants.push_back(vendor);
  bench.config.experiments.push_back(bench.experiment());
  CHECK(missing_libraries(bench.config) ==
        std::vector<std::string>{"toy/vendor: the library is not installed"});
}

}  // namespace
}  // namespace gpuexp::test
