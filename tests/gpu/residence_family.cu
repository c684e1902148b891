#include "gpu/residence_family.hpp"
#include "kernels/common/launch.cuh"
#include "kernels/common/reference.cuh"

namespace gpuexp::test::residence {

struct Problem {
  std::int64_t n;
};

struct Data {
  float* x;
  float* y;
  float* z;
};

using FamilyType = FamilyOf<Problem, Data>;
using Variant = FamilyType::Variant;

__global__ void add_kernel(Problem p, const float* x, float* z) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < p.n) z[i] += x[i];
}

__global__ void index_kernel(Problem p, float* x) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < p.n) x[i] = static_cast<float>(i + 1);
}

Variant variant(const char* id, const char* writes) {
  Variant v;
  v.id = id;
  v.why = "for tests";
  v.writes = {writes};
  v.work = [](const Problem& p) {
    Work w;
    w.bytes_read = w.moved_read = 4.0 * static_cast<double>(p.n);
    w.bytes_written = w.moved_written = 4.0 * static_cast<double>(p.n);
    return w;
  };
  return v;
}

/// y = x except for the last `less` elements.
Variant copies(const char* id, std::int64_t less) {
  Variant v = variant(id, "y");
  v.launch = [less](const Problem& p, const Data& d, const LaunchContext&) {
    return Steps(CopyStep{d.y, d.x, (p.n - less) * static_cast<std::int64_t>(sizeof(float))});
  };
  return v;
}

Variant copies_beyond() {
  Variant v = variant("copies_beyond", "y");
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const auto bytes = p.n * static_cast<std::int64_t>(sizeof(float));
    return Steps(CopyStep{d.y, d.x, bytes}) + Steps(CopyStep{d.y + p.n, d.x, sizeof(float)});
  };
  return v;
}

Variant changes_x() {
  Variant v = variant("changes_x", "y");
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    const auto bytes = p.n * static_cast<std::int64_t>(sizeof(float));
    return Steps(CopyStep{d.y, d.x, bytes}) + Steps(CopyStep{d.x + 1, d.x, sizeof(float)});
  };
  return v;
}

Variant adds() {
  Variant v = variant("adds", "z");
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    return launch(add_kernel, grid_stride(p.n, p.n), p, d.x, d.z);
  };
  return v;
}

struct Copied {
  Data d;
  __device__ ReferenceElement operator()(std::int64_t i) const { return {d.x[i], d.x[i]}; }
};
struct Added {
  Data d;
  __device__ ReferenceElement operator()(std::int64_t i) const {
    const double sum = static_cast<double>(d.z[i]) + d.x[i];
    return {sum, sum};
  }
};

Steps ones(const Problem& p, const Data& d) {
  return MemsetStep{d.z, 1, p.n * static_cast<std::int64_t>(sizeof(float))};
}

}  // namespace gpuexp::test::residence

namespace gpuexp::test {

Family residence_family(Residence x, Residence y_and_z) {
  using namespace residence;
  const auto count = [](const Problem& p) { return p.n; };
  FamilyType f("residence", Topic::memory, "Does it matter where a buffer lives?");
  f.extent("n", &Problem::n, 1001, 1 << 20, "elements");
  f.input("x", &Data::x, count).lives_in(x);
  f.output("y", &Data::y, count).lives_in(y_and_z);
  f.in_out("z", &Data::z, count).lives_in(y_and_z);
  f.outputs = [](const Problem& p) { return Extent{p.n, 1, 1}; };
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t) {
    return launch(index_kernel, grid_stride(p.n, p.n), p, d.x) + ones(p, d);
  };
  f.reset = ones;
  f.reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    Steps steps;
    if (out[0]) steps += evaluate_reference(out[0], p.n, Copied{d});
    if (out[1]) steps += evaluate_reference(out[1], p.n, Added{d});
    return steps;
  };
  f.host_reference = [](const Problem&, const Data&, const std::vector<ReferenceView>&) {};
  f.tolerance = [](const Problem&) { return Tolerance{unit_roundoff(DataType::fp32), 0.0}; };
  f.tolerance_derivation = "One addition, rounded once.";
  f.variant(copies("copies", 0))
      .variant(adds())
      .variant(copies("copies_less", 1))
      .variant(copies_beyond())
      .variant(changes_x());
  return f.build();
}

}  // namespace gpuexp::test
