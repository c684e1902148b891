// matmul: C = A·B in fp32, the ladder from one thread per element to register tiles.
//
// The question: how far is a straightforward matrix product from what the GPU can do, and what does
// each step of reuse buy? 2·M·N·K operations meet (M·K + K·N + M·N)·4 bytes: at 4096 that is 683
// FLOP per byte, far above the ridge of any GPU, so DRAM is never the limit by need, only by waste.
// Each rung moves reuse one level closer to the arithmetic: cache lines, shared memory, registers.
#include "kernels/common/launch.cuh"
#include "kernels/common/reference.cuh"

namespace gpuexp::matmul {

// Row-major: A is M×K, B is K×N, C is M×N, no padding.
struct Problem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

struct Data {
  float* a;
  float* b;
  float* c;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the plain reference
// ------------------------------------------------------------------------------------

struct ReferenceDot {
  Problem p;
  Data d;
  __device__ ReferenceElement operator()(std::int64_t i) const {
    const std::int64_t row = i / p.n;
    const std::int64_t col = i % p.n;
    ReferenceElement sum{0.0, 0.0};
    for (std::int64_t k = 0; k < p.k; ++k) {
      const double product = static_cast<double>(d.a[row * p.k + k]) * d.b[k * p.n + col];
      sum.value += product;
      sum.magnitude += fabs(product);
    }
    return sum;
  }
};

void host_reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  for (std::int64_t row = 0; row < p.m; ++row) {
    for (std::int64_t col = 0; col < p.n; ++col) {
      double value = 0.0;
      double magnitude = 0.0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const double product = static_cast<double>(d.a[row * p.k + k]) * d.b[k * p.n + col];
        value += product;
        magnitude += std::abs(product);
      }
      out[0].value[row * p.n + col] = value;
      out[0].magnitude[row * p.n + col] = magnitude;
    }
  }
}

// What every rung must do at least; the rungs differ in how often they fetch the same bytes again.
Work work(const Problem& p) {
  Work w;
  w.bytes_read = static_cast<double>((p.m * p.k + p.k * p.n) * sizeof(float));
  w.bytes_written = static_cast<double>(p.m * p.n * sizeof(float));
  w.moved_read = w.bytes_read;
  w.moved_written = w.bytes_written;
  w.operations = {{Pipe::fp32, 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) *
                                   static_cast<double>(p.k)}};
  return w;
}

// ---- naive: one thread per element of C, neighbouring threads in neighbouring rows
// ----------------------------

constexpr int kNaiveBlock = 32;

__global__ void naive_kernel(Problem p, const float* a, const float* b, float* c) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kNaiveBlock + threadIdx.x;
  const std::int64_t col = static_cast<std::int64_t>(blockIdx.y) * kNaiveBlock + threadIdx.y;
  if (row >= p.m || col >= p.n) return;
  float sum = 0.0f;
  for (std::int64_t k = 0; k < p.k; ++k)
    sum += a[row * p.k + k] * b[k * p.n + col];
  c[row * p.n + col] = sum;
}

Variant naive() {
  Variant v;
  v.id = "naive";
  v.why =
      "One thread per element of C, rows along threadIdx.x: the 32 lanes of a warp read 32 rows of "
      "A, each in a "
      "sector of its own, and write C the same way. global_load_sectors_per_request nears 16 to "
      "32.";
  v.shapes = [](const Problem& p, const DeviceSpec&) {
    Shape s;
    s.kernel = kernel_address(naive_kernel);
    s.block = {kNaiveBlock, kNaiveBlock, 1};
    s.tile = {kNaiveBlock, kNaiveBlock, 1};
    s.grid = {ceil_div(p.m, kNaiveBlock), ceil_div(p.n, kNaiveBlock), 1};
    return std::vector<Shape>{s};
  };
  v.work = work;
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    launch(naive_kernel, x.shapes[0], x.stream, p, d.a, d.b, d.c);
  };
  return v;
}

// ---- declaration
// ----------------------------------------------------------------------------------------------

Family declare() {
  Family f("matmul", "What does each level of data reuse buy in an fp32 matrix product?");
  f.physics =
      "A product of square matrices of size n does 2n³ operations on 12n² bytes, so every byte "
      "could be used n/6 "
      "times. A kernel is as fast as the level that it reuses data from: DRAM sectors, L1 lines, "
      "shared memory or "
      "registers.";
  f.extent("m", &Problem::m, 1024, 1 << 16, "rows of A and C")
      .extent("n", &Problem::n, 1024, 1 << 16, "columns of B and C")
      .extent("k", &Problem::k, 1024, 1 << 16, "columns of A, rows of B");
  f.input("a", &Data::a, [](const Problem& p) { return p.m * p.k; })
      .input("b", &Data::b, [](const Problem& p) { return p.k * p.n; })
      .output("c", &Data::c, [](const Problem& p) { return p.m * p.n; });
  f.outputs = [](const Problem& p) { return Extent{p.m, p.n, 1}; };
  f.prepare = [](const Problem& p, const Data& d, std::uint64_t seed, Stream stream) {
    fill_uniform(d.a, p.m * p.k, stream_seed(seed, 0), stream);
    fill_uniform(d.b, p.k * p.n, stream_seed(seed, 1), stream);
  };
  f.reference = [](const Problem& p, const Data& d, const std::vector<ReferenceView>& out,
                   Stream stream) {
    evaluate_reference(out[0], p.m * p.n, ReferenceDot{p, d}, stream);
  };
  f.host_reference = host_reference;
  f.tolerance_derivation =
      "Summing K products in fp32 in any order errs by at most K·u·Σ|a·b| (u = 2^-24); roundings "
      "of random sign make "
      "it λ·√K·u·Σ|a·b| with probability 1 - 2·exp(-λ²/2) per element (Higham and Mary, SIAM J. "
      "Sci. Comput. 41(5), "
      "2019). λ = 8 leaves 2.5e-14 per element. One more u covers the rounding of the result.";
  f.tolerance = [](const Problem& p) {
    constexpr double kLambda = 8.0;
    const double u = unit_roundoff(DataType::fp32);
    return Tolerance{(kLambda * std::sqrt(static_cast<double>(p.k)) + 1.0) * u, 0.0};
  };
  f.variant(naive());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::matmul
