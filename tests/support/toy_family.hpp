// A host-only family with known shapes and work, for tests of planning and running.
#pragma once

#include "family/family_of.hpp"

namespace gpuexp::test {

struct ToyProblem {
  std::int64_t n;
  double share;
  int width;
};

struct ToyData {
  float* x;
  float* y;
};

inline VariantOf<ToyProblem, ToyData> toy_variant(const std::string& id) {
  VariantOf<ToyProblem, ToyData> v;
  v.id = id;
  v.why = "for tests";
  v.work = [](const ToyProblem& p) {
    Work w;
    w.bytes_read = w.moved_read = 4.0 * static_cast<double>(p.n);
    w.bytes_written = w.moved_written = 4.0 * static_cast<double>(p.n);
    w.operations = {{Pipe::fp32, static_cast<double>(p.n)}};
    return w;
  };
  v.launch = [](const ToyProblem& p, const ToyData&, const LaunchContext&) {
    static const int kKernel = 0;
    Shape s;
    s.kernel = &kKernel;
    s.block = {256, 1, 1};
    s.tile = {256, 1, 1};
    s.grid = {ceil_div(p.n, 256), 1, 1};
    return Steps(KernelStep{s, {}});
  };
  return v;
}

/// y = x over n elements; variants `first`, `second`, `even` (rejects odd n), `vendor`.
inline Family toy_family() {
  FamilyOf<ToyProblem, ToyData> f("toy", Topic::execution, "Does the machinery work?");
  f.extent("n", &ToyProblem::n, 1024, 1 << 20, "elements");
  f.real("share", &ToyProblem::share, 0.5, 0.0, 1.0, "", "a share");
  f.choice("width", &ToyProblem::width, {{"narrow", 1}, {"wide", 4}}, "a width");
  f.input("x", &ToyData::x, [](const ToyProblem& p) { return p.n; });
  f.output("y", &ToyData::y, [](const ToyProblem& p) { return p.n; });
  f.outputs = [](const ToyProblem& p) { return Extent{p.n, 1, 1}; };
  f.tolerance = [](const ToyProblem&) { return Tolerance{}; };
  f.tolerance_derivation = "exact";
  f.variant(toy_variant("first"));
  auto second = toy_variant("second");
  second.compare_to = "first";
  second.expected_changes = {{"dram_read_bytes", Direction::decreases, 2.0,
                              [](const ToyProblem& p) { return p.width == 4; }},
                             {"warp_instructions", Direction::unchanged}};
  f.variant(second);
  auto even = toy_variant("even");
  even.unsupported = [](const ToyProblem& p, const DeviceSpec&) -> std::optional<std::string> {
    if (p.n % 2 == 0) return std::nullopt;
    return "needs an even n";
  };
  f.variant(even);
  auto vendor = toy_variant("vendor");
  vendor.is_vendor = true;
  vendor.unavailable = [] { return std::optional<std::string>("the library is not installed"); };
  f.variant(vendor);
  return f.build();
}

/// A device with round numbers: 100 SMs, 1 TB/s, 10 TFLOP/s fp32, 10 MiB of L2, 16 GiB, compute
/// capability 8.0.
inline DeviceSpec toy_device() {
  DeviceSpec d;
  d.id = "toy";
  d.name = "Toy GPU";
  d.cc_major = 8;
  d.sm_count = 100;
  d.memory_bytes = std::int64_t{16} << 30;
  d.memory_bytes_per_s = 1e12;
  d.l2_bytes = 10 << 20;
  d.sm = sm_limits(8, 0);
  d.peak_ops_per_s[static_cast<int>(Pipe::fp32)] = 1e13;
  return d;
}

}  // namespace gpuexp::test
