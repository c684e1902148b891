// gelu_backward: dx = dy·gelu'(x) and the sums of its columns, in two kernels and in one.
//
// The question: what does it cost to store a gradient before its columns are summed? In the
// backward pass of a layer, the gradient is multiplied by the activation's slope, and the column
// sums of the product are the bias's gradient. Two kernels make 4 passes over the matrix: dy and x
// in, dx out, dx in. One kernel that sums elements while they are in registers makes 3.
#include "kernels/common/column_sums.cuh"
#include "kernels/common/family.cuh"
#include "kernels/common/gelu_slope.cuh"

namespace gpuexp::gelu_backward {

struct Problem {
  std::int64_t rows;
  std::int64_t columns;
  DataType dtype;  // type of matrices, fp32 or bf16; arithmetic and sums are in fp32
};

// Matrices are row-major without padding.
struct Data {
  void* dy;
  void* x;  // input of GELU
  void* dx;
  float* dbias;  // column sums of dx
};

// Computes and stores elements [i, i + kCount) of dx.
template <int kCount, class T>
__device__ void gelu_gradients(const T* dy, const T* x, T* dx, std::int64_t i);

// ---- two_kernels: the gradient, then its column sums
//
// One kernel loads dy and x and stores dx. A second kernel, vectors of the family backward, loads
// dx again and sums its columns in a fixed order: 4 passes over the matrix. In bf16, the terms of
// the sums are rounded.

constexpr int kBlock = 256;
template <class T>
constexpr int kWidth = 16 / static_cast<int>(sizeof(T));  // elements per access of a lane

template <class T>
__global__ void __launch_bounds__(kBlock)
    gelu_kernel(const T* dy, const T* x, T* dx, std::int64_t n) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * kBlock + threadIdx.x;
  const std::int64_t first = thread * kWidth<T>;
  if (first + kWidth<T> <= n) {
    gelu_gradients<kWidth<T>>(dy, x, dx, first);
  } else {
#pragma unroll 1
    for (std::int64_t i = first; i < n; ++i)
      gelu_gradients<1>(dy, x, dx, i);
  }
}

// Terms of the column sums: elements of dx, which `finish` also stores.
template <class T>
struct GeluTerms {
  using Element = T;
  static constexpr int kRowsInFlight = 2;
  const T* dy;
  const T* x;
  T* dx;
  template <int kCount>
  __device__ void load(std::int64_t i, float (&term)[kCount], float (&of)[kCount]) const {
    load_floats(dy + i, term);
    load_floats(x + i, of);
  }
  template <int kCount>
  __device__ void finish(std::int64_t i, float (&term)[kCount], const float (&of)[kCount]) const {
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const auto slope = gelu_slope(of[j], [](float z) { return fast_sigmoid(z); });
      term[j] *= slope.first + slope.second;
    }
    store_floats(dx + i, term);
  }
};

template <int kCount, class T>
__device__ void gelu_gradients(const T* dy, const T* x, T* dx, std::int64_t i) {
  float term[kCount], of[kCount];
  const GeluTerms<T> terms{dy, x, dx};
  terms.load(i, term, of);
  terms.finish(i, term, of);
}

// ---- how the variants are launched

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

std::int64_t elements(const Problem& p) {
  return p.rows * p.columns;
}
std::int64_t bytes(const Problem& p) {
  return elements(p) * static_cast<std::int64_t>(size_of(p.dtype));
}

template <class Make>
auto with_matrices(const Problem& p, const Data& d, Make make) {
  return of_float_type(p.dtype, [&](auto zero) {
    using T = decltype(zero);
    return make(GeluTerms<T>{static_cast<const T*>(d.dy), static_cast<const T*>(d.x),
                             static_cast<T*>(d.dx)});
  });
}

template <class T>
Steps launch_gelu(const Problem& p, const GeluTerms<T>& m) {
  const Shape s = shape_of_tiles(elements(p), kBlock * kWidth<T>, kBlock);
  return launch(gelu_kernel<T>, s, m.dy, m.x, m.dx, elements(p));
}

Slices slices(const Problem& p, const DeviceSpec& device) {
  return slices_of(p.rows, p.columns, columns_per_block(p.columns, p.dtype), kTilesPerSm, device);
}

Work work(const Problem& p) {
  constexpr double kOperations = 16;  // the exponential and the division count as one each
  return 2 * reads<char>(bytes(p)) + writes<char>(bytes(p)) + writes<float>(p.columns) +
         computes(Pipe::fp32, kOperations * static_cast<double>(elements(p)));
}

Variant variant(std::string id, std::string compare_to, double passes,
                ExpectedChangesOf<Problem> expected) {
  Variant v(std::move(id), std::move(compare_to), std::move(expected));
  v.deterministic = true;
  v.work = work;
  v.metrics = [passes](const Problem&, const DeviceSpec&) {
    return MetricValues{{"passes", passes}};
  };
  v.workspace_bytes = [](const Problem& p, const DeviceSpec& device) {
    return slices(p, device).partial_bytes();
  };
  return v;
}

Variant two_kernels() {
  Variant v = variant("two_kernels", "", 4, {});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return with_matrices(p, d, [&](auto m) {
      const ElementTerms<typename decltype(m)::Element> sums{m.dx};
      return launch_gelu(p, m) + launch_stored_tile_sums(slices(p, x.device), sums,
                                                         static_cast<float*>(x.workspace), d.dbias);
    });
  };
  return v;
}

constexpr auto beyond_caches = at_least(bytes, 1 << 28);

// ---- one_kernel: column sums from registers
//
// One kernel reads dy and x and writes dx: 3 passes. The summing kernel computes and stores each
// element of dx, and adds it to its column's sum. dram_read_bytes falls from three passes to two,
// and in bf16 the terms of the sums are not rounded. The cost is registers: a lane holds two rows
// of dy and x and its sums.

Variant one_kernel() {
  Variant v = variant("one_kernel", "two_kernels", 3,
                      {{"dram_read_bytes", Direction::decreases, 1.4, beyond_caches},
                       {"global_store_sectors", Direction::unchanged, 1.05, beyond_caches}});
  v.launch = [](const Problem& p, const Data& d, const LaunchContext& x) {
    return with_matrices(p, d, [&](auto m) {
      return launch_stored_tile_sums(slices(p, x.device), m, static_cast<float*>(x.workspace),
                                     d.dbias);
    });
  };
  return v;
}

// ---- inputs

Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  return with_matrices(p, d, [&](auto m) {
    using T = typename decltype(m)::Element;
    return fill_uniform(static_cast<T*>(d.dy), elements(p), stream_seed(seed, 0)) +
           fill_uniform(static_cast<T*>(d.x), elements(p), stream_seed(seed, 1), 3.0f);
  });
}

// ---- the plain reference

// Reference of dx or, if is_sum, of the column sums.
template <class T>
struct Reference {
  bool is_sum;
  std::int64_t rows, columns;
  const T* dy;
  const T* x;
  __host__ __device__ ReferenceElement gradient(std::int64_t i) const {
    const double of = to_double(x[i]);
    const auto slope = gelu_slope(of, [](double z) { return exact_sigmoid(z); });
    const double d = to_double(dy[i]);
    return {d * (slope.first + slope.second), fabs(d) * slope.s * (1.0 + fabs(of) * slope.z_slope)};
  }
  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    if (!is_sum) return gradient(i);
    ReferenceElement sum{0.0, 0.0};
    for (std::int64_t row = 0; row < rows; ++row) {
      const ReferenceElement term = gradient(row * columns + i);
      sum.value += term.value;
      sum.magnitude += term.magnitude;
    }
    return sum;
  }
};

Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  return with_matrices(p, d, [&](auto m) {
    using T = typename decltype(m)::Element;
    return evaluate_reference(out[0], elements(p),
                              Reference<T>{false, p.rows, p.columns, m.dy, m.x}) +
           evaluate_reference(out[1], p.columns, Reference<T>{true, p.rows, p.columns, m.dy, m.x});
  });
}

// Bounds derived in tolerance_derivation.
Tolerance gradient_tolerance(const Problem& p) {
  const double u = unit_roundoff(DataType::fp32);
  const double stored = unit_roundoff(p.dtype);
  return {stored + 60 * u, 0.0, kRmsSafety * (0.58 * stored + 22 * u), 0.0};
}
Tolerance sum_tolerance(const Problem& p) {
  const double u = unit_roundoff(DataType::fp32);
  const Tolerance term = gradient_tolerance(p);
  return {term.relative + static_cast<double>(p.rows) * u, 0.0,
          term.rms_relative + kRmsSafety * sum_rms(p.rows, DataType::fp32), 0.0};
}

// ---- declaration

Family declare() {
  Family f("gelu_backward", Topic::fusion,
           "What does it cost to store a gradient before its columns are summed?");
  f.physics =
      "An elementwise backward kernel and a column sum of its result are both limited by bytes: "
      "three passes over a matrix, and one. If one kernel sums the elements while they are in "
      "registers, the fourth pass is not needed. The summing kernel gives each block a tile of "
      "columns and iterates over its rows; the elementwise work can use this order of elements as "
      "well as any other.";
  constexpr std::int64_t kMost = 1 << 26;
  f.extent("rows", &Problem::rows, 16384, kMost, "rows of dy, x and dx")
      .extent("columns", &Problem::columns, 8192, kMost, "columns of dy, x and dx; one sum each")
      .choice("dtype", &Problem::dtype, {{"fp32", DataType::fp32}, {"bf16", DataType::bf16}},
              "type of dy, x and dx; sums are fp32");
  const auto columns = [](const Problem& p) { return p.columns; };
  f.input("dy", &Data::dy, &Problem::dtype, elements)
      .input("x", &Data::x, &Problem::dtype, elements)
      .output("dx", &Data::dx, &Problem::dtype, elements, gradient_tolerance)
      .output("dbias", &Data::dbias, columns, sum_tolerance);
  f.metric("passes", "", "reads and writes of a matrix by the kernels of a launch");
  f.plot("gelu_backward", "traffic", "GELU gradient with column sums: useful bandwidth");
  f.outputs = [](const Problem& p) { return Extent{p.columns, 1, 1}; };
  f.inputs = inputs;
  f.reference = reference;
  f.tolerance = sum_tolerance;
  f.tolerance_derivation =
      "u = 2^-24, U = unit roundoff of the stored type, x in [-3, 3]. GELU's slope is s(z) + "
      "x·s·(1 - s)·z' with |z| <= 6.8. The relative error of s is 18u·(1 - s) for __expf (9 ulp "
      "there), 5u for a sum and a division, and 4u·|z|·(1 - s) for z's own roundings; the error of "
      "s·(1 - s) is |1 - 2s| times as much; further roundings are below ten. Together this is "
      "within 60u of |dy|·s·(1 + |x|·z'), plus U if the result is stored. A sum of m terms is "
      "within m·u of the sum of their absolute values in any order (Higham, Accuracy and Stability "
      "of Numerical Algorithms, 2nd ed., section 4.2), plus the errors of its terms. For the RMS "
      "errors, a uniform rounding is 0.58·U; over x in [-3, 3] the errors of s change the slope by "
      "30u of its RMS, 18u if they are uniform up to their bounds, and the roundings of z and "
      "others by 4u. The RMS error of a sum is the RMS of a random walk (sum_rms of "
      "family/tolerance.hpp). The bounds are twice the RMS errors.";
  f.variants(two_kernels(), one_kernel());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::gelu_backward
