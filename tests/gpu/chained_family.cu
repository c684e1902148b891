#include "gpu/chained_family.hpp"
#include "kernels/common/launch.cuh"
#include "kernels/common/reference.cuh"

namespace gpuexp::test {
namespace chained {

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

enum class Fault { none, wrong_first, wrong_second, unwritten_first };

constexpr int kBlock = 128;
constexpr float kOff = 1.01f;

template <Fault fault>
__global__ void double_kernel(Problem p, const float* x, float* y) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i >= p.n || (fault == Fault::unwritten_first && i == p.n / 2)) return;
  y[i] = 2.0f * x[i] * (fault == Fault::wrong_first ? kOff : 1.0f);
}

template <Fault fault>
__global__ void square_kernel(Problem p, const float* y, float* z) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < p.n) z[i] = y[i] * y[i] * (fault == Fault::wrong_second ? kOff : 1.0f);
}

template <Fault fault>
Variant variant(const char* id) {
  Variant v;
  v.id = id;
  v.why = "a chain of operations";
  v.work = [](const Problem& p) {
    Work w;
    w.bytes_read = w.moved_read = static_cast<double>(p.n) * sizeof(float);
    w.bytes_written = w.moved_written = 2 * w.bytes_read;
    return w;
  };
  v.launch = [](const Problem& p, const Data& d, const LaunchContext&) {
    Shape s;
    s.block = {kBlock, 1, 1};
    s.tile = s.block;
    s.grid = {ceil_div(p.n, kBlock), 1, 1};
    return launch(double_kernel<fault>, s, p, d.x, d.y) +
           launch(square_kernel<fault>, s, p, d.y, d.z);
  };
  return v;
}

struct Exact {
  bool is_square;
  Data d;
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const double y = is_square ? d.y[i] : 2.0 * d.x[i];
    const double value = is_square ? y * y : y;
    return {value, fabs(value)};
  }
};

auto references(const Data& d) {
  return [d](int output) { return Exact{output == 1, d}; };
}

FamilyType declare() {
  FamilyType f("chained", Topic::memory, "Is each operation held to what it found?");
  f.refers_to_results = true;
  const auto n = [](const Problem& p) { return p.n; };
  f.extent("n", &Problem::n, 1000, 1 << 20, "elements");
  f.input("x", &Data::x, n).output("y", &Data::y, n).output("z", &Data::z, n);
  f.outputs = [](const Problem& p) { return Extent{p.n, 1, 1}; };
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_uniform(d.x, p.n, seed);
  };
  f.reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    return evaluate_references(out, p.n, references(d));
  };
  f.host_reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
    evaluate_references_on_host(out, p.n, references(d));
  };
  f.tolerance = [](const Problem&) { return Tolerance{unit_roundoff(DataType::fp32), 0.0}; };
  f.tolerance_derivation = "A product is rounded once.";
  f.variant(variant<Fault::none>("right"))
      .variant(variant<Fault::wrong_first>("wrong_first"))
      .variant(variant<Fault::wrong_second>("wrong_second"))
      .variant(variant<Fault::unwritten_first>("unwritten_first"));
  return f;
}

}  // namespace chained

Family chained_family() {
  return chained::declare().build();
}

}  // namespace gpuexp::test
