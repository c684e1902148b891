#include "gpu/faulty_product.hpp"
#include "kernels/common/gemm.cuh"
#include "kernels/common/random.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::test::faulty_product {

// Row-major: A is M×K, B is K×N, C is M×N, no padding.
struct Problem {
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
};

template <class T>
struct Data {
  T* a;
  T* b;
  T* c;
};

template <class T>
using FamilyType = FamilyOf<Problem, Data<T>>;

constexpr int kTile = 32;
constexpr int kRows = 8;

// Rounds to nearest even, with 10 bits after the leading one.
__device__ float to_tf32(float x) {
  const unsigned bits = __float_as_uint(x);
  return __uint_as_float((bits + 0xfffu + (bits >> 13 & 1u)) & ~0x1fffu);
}

struct ExactInputs {
  __device__ static float input(float x) { return x; }
};
struct Tf32Inputs {
  __device__ static float input(float x) { return to_tf32(x); }
};

template <class Inputs>
struct Fp32Sum {
  __device__ static float element(const float* a, const float* b, const Problem& p) {
    float sum = 0.0f;
    for (std::int64_t k = 0; k < p.k; ++k)
      sum = fmaf(Inputs::input(a[k]), Inputs::input(b[k * p.n]), sum);
    return sum;
  }
};

// Sums like tensor cores with fp16 accumulators: a few products exactly, then one rounding.
template <bool drops_slice>
struct Fp16Sum {
  static constexpr int kStep = 16;
  static constexpr int kSlice = 32;
  __device__ static __half element(const __half* a, const __half* b, const Problem& p) {
    __half sum = __float2half_rn(0.0f);
    for (std::int64_t first = drops_slice ? kSlice : 0; first < p.k; first += kStep) {
      float part = __half2float(sum);
      for (std::int64_t k = first; k < min(first + kStep, p.k); ++k)
        part = fmaf(__half2float(a[k]), __half2float(b[k * p.n]), part);
      sum = __float2half_rn(part);
    }
    return sum;
  }
};

template <class T, class Sum>
__global__ void product_kernel(Problem p, const T* a, const T* b, T* c) {
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.y) * kRows + threadIdx.y;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * kTile + threadIdx.x;
  if (row >= p.m || column >= p.n) return;
  c[row * p.n + column] = Sum::element(a + row * p.k, b + column, p);
}

template <class T, class Sum>
typename FamilyType<T>::Variant variant(const char* id) {
  typename FamilyType<T>::Variant v;
  v.id = id;
  v.why = "right, or wrong on purpose";
  v.work = [](const Problem& p) {
    constexpr DataType type = DataTypeOf<T>::value;
    return gemm_work(p.m, p.n, p.k, type, type, Pipe::fp32);
  };
  v.launch = [](const Problem& p, const Data<T>& d, const LaunchContext&) {
    Shape s;
    s.block = {kTile, kRows, 1};
    s.tile = s.block;
    s.grid = {ceil_div(p.n, kTile), ceil_div(p.m, kRows), 1};
    return launch(product_kernel<T, Sum>, s, p, d.a, d.b, d.c);
  };
  return v;
}

// `bound` computes the reference's magnitudes.
template <class T, class Bound>
FamilyType<T> declare(const char* id, Bound bound) {
  FamilyType<T> f(id, Topic::matrix_products, "Is a product rejected of which every element is a little off?");
  f.extent("m", &Problem::m, 4096, 1 << 14, "rows of C")
      .extent("n", &Problem::n, 4096, 1 << 14, "columns of C")
      .extent("k", &Problem::k, 4096, 1 << 14, "products in an element of C");
  f.input("a", &Data<T>::a, [](const Problem& p) { return p.m * p.k; })
      .input("b", &Data<T>::b, [](const Problem& p) { return p.k * p.n; })
      .output("c", &Data<T>::c, [](const Problem& p) { return p.m * p.n; });
  f.outputs = [](const Problem& p) { return Extent{p.n, p.m, 1}; };
  f.inputs = [](const Problem& p, const Data<T>& d, std::uint64_t seed) {
    return fill_uniform(d.a, p.m * p.k, stream_seed(seed, 0)) +
           fill_uniform(d.b, p.k * p.n, stream_seed(seed, 1));
  };
  const auto operands = [](const Problem& p, const Data<T>& d) {
    return contiguous_operands<T>(d.a, d.b, p.m, p.n, p.k);
  };
  f.reference = [=](const Problem& p, const Data<T>& d, const std::vector<ReferenceView>& out) {
    return evaluate_gemm(operands(p, d), bound(p), out[0]);
  };
  f.host_reference = [=](const Problem& p, const Data<T>& d,
                         const std::vector<ReferenceView>& out) {
    host_gemm(operands(p, d), bound(p), out[0]);
  };
  return f;
}

}  // namespace gpuexp::test::faulty_product

namespace gpuexp::test {

using namespace faulty_product;

// Tolerance of kernels/matmul.cu.
Family faulty_fp32_product() {
  auto f = declare<float>("faulty_fp32", [](const Problem&) { return AbsoluteBound{}; });
  f.tolerance = [](const Problem& p) { return fp32_sum_tolerance(p.k); };
  f.tolerance_derivation = kFp32SumDerivation;
  f.variant(variant<float, Fp32Sum<ExactInputs>>("right"))
      .variant(variant<float, Fp32Sum<Tf32Inputs>>("tf32_inputs"));
  return f.build();
}

// Tolerance of kernels/matmul_tensor.cu with fp16 accumulation.
Family faulty_fp16_product() {
  const auto bound = [](const Problem& p) {
    return tensor_core_bound(p.k, DataType::fp16, DataType::fp16);
  };
  auto f = declare<__half>("faulty_fp16", bound);
  f.tolerance = [bound](const Problem& p) { return bound(p).tolerance(); };
  f.tolerance_derivation = kTensorCoreBoundDerivation;
  f.variant(variant<__half, Fp16Sum<false>>("right"))
      .variant(variant<__half, Fp16Sum<true>>("drops_slice"));
  return f.build();
}

}  // namespace gpuexp::test
