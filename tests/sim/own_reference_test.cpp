// Expected values of kernel files that are those of another kernel or of a .npy file.
#include <cstring>

#include "own/expected_values.hpp"
#include "sim/kernel_folder.hpp"

namespace gpuexp::test {
namespace {

/// A .npy file of this type and shape, such as "<f4" and "(3,)".
template <class T>
std::string npy(const std::string& type, const std::string& shape, const std::vector<T>& elements) {
  const std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + "}\n";
  std::string text("\x93NUMPY\1\0", 8);
  text += static_cast<char>(header.size());
  text += '\0';
  text += header;
  const std::size_t begin = text.size();
  text.resize(begin + elements.size() * sizeof(T));
  std::memcpy(text.data() + begin, elements.data(), elements.size() * sizeof(T));
  return text;
}

/// Rows of 96 numbers. The kernels of variants have the name of what is wrong with them.
const std::string kWithReference = R"(// gpuexp: rows = 5
// gpuexp: n = 96
// gpuexp: x[rows][n] = normal
// gpuexp: out y[rows][n]
// gpuexp: right<<<rows, 32>>>
// gpuexp: zeros<<<rows, 32>>>
// gpuexp: no_numbers<<<rows, 32>>>
// gpuexp: last_row_is_missing = right<<<rows - 1, 32>>>
// gpuexp: off_by_a_thousandth<<<rows, 32>>>
// gpuexp: reference by_definition<<<rows, 1>>>
// gpuexp: tolerance 1e-5
__global__ void by_definition(float* x, float* y, int n) {
  const int row = blockIdx.x * n;
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += exp((double)x[row + i]);
  for (int i = 0; i < n; ++i) y[row + i] = exp((double)x[row + i]) / sum;
}
__device__ void softmax(const float* x, float* y, int n, float factor) {
  const int row = blockIdx.x * n;
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += 32) sum += expf(x[row + i]);
  for (int lane = 16; lane > 0; lane /= 2) sum += __shfl_xor_sync(~0u, sum, lane);
  for (int i = threadIdx.x; i < n; i += 32) y[row + i] = factor * expf(x[row + i]) / sum;
}
__global__ void right(const float* x, float* y, int n) { softmax(x, y, n, 1); }
__global__ void zeros(const float* x, float* y, int n) { softmax(x, y, n, 0); }
__global__ void no_numbers(const float* x, float* y, int n) { softmax(x, y, n, nanf("")); }
__global__ void off_by_a_thousandth(const float* x, float* y, int n) { softmax(x, y, n, 1.001f); }
)";

std::string with_reference(const std::string& text, const std::string& from,
                           const std::string& to) {
  std::string changed = text;
  const std::size_t at = changed.find(from);
  REQUIRE(at != std::string::npos);
  return changed.replace(at, from.size(), to);
}

TEST_CASE("variants are compared with a kernel of the file", "[own_reference]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("softmax.cu", kWithReference);
  CHECK(family.variants.size() == 5);
  CHECK(failure(family, "right").empty());
  for (const char* wrong : {"zeros", "no_numbers", "last_row_is_missing", "off_by_a_thousandth"}) {
    INFO(wrong);
    CHECK_THAT(failure(family, wrong), contains_text(" of 480 elements "));
  }
  CHECK_THAT(family.tolerance_derivation,
             contains_text("Expected values: y from the reference by_definition; "));
}

TEST_CASE("variants are compared with the first one", "[own_reference]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const std::string text =
      with_reference(kWithReference, "reference by_definition<<<rows, 1>>>", "reference first");
  const Family& family = folder.load("softmax.cu", text);
  CHECK(failure(family, "right").empty());
  for (const char* wrong : {"zeros", "no_numbers", "last_row_is_missing", "off_by_a_thousandth"}) {
    INFO(wrong);
    CHECK_THAT(failure(family, wrong), contains_text(" of 480 elements "));
  }
  CHECK_THAT(failure(family, "last_row_is_missing"),
             contains_text("first y[384]: the kernel did not write it, expected 0.0"));
  const KernelFiles files = folder.files().callbacks();
  const auto own = [&](const char* variant) {
    return files.compared_with_itself(family, *family.find(variant));
  };
  CHECK(own("right") == std::vector<std::string>{"y"});
  CHECK(own("zeros").empty());
  // The first variant is launched twice, so elements that it never writes are found.
  const std::string incomplete =
      with_reference(text, "// gpuexp: right<<<rows, 32>>>", "// gpuexp: first = right<<<1, 32>>>");
  KernelFolder other;
  CHECK_THAT(
      failure(other.load("softmax.cu", incomplete), "first"),
      contains_text("384 of 480 elements are wrong; first y[96]: the kernel did not write it"));
}

constexpr const char* kSameReference = R"(// gpuexp: n = 64
// gpuexp: x[n] y[n]
// gpuexp: triple<<<1, 64>>>(x, y, 3)
// gpuexp: other_grid = triple<<<2, 32>>>(x, y, 3)
// gpuexp: doubled = triple<<<1, 64>>>(x, y, 2)
// gpuexp: reference triple<<<1, 64>>>(x, y, 3)
// gpuexp: tolerance 1e-6
__global__ void triple(const float* x, float* y, float by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = by * x[i];
}
)";

/// The variants whose expected values come from launches of their own kernels.
std::vector<std::string> verified_by_themselves(const std::string& text) {
  KernelFolder folder;
  const Family& family = folder.load("same.cu", text);
  std::vector<std::string> found;
  for (const Variant& variant : family.variants) {
    if (!folder.files().callbacks().compared_with_itself(family, variant).empty())
      found.push_back(variant.id);
  }
  return found;
}

TEST_CASE("a reference that launches a variant's own kernel verifies nothing", "[own_reference]") {
  REQUIRE_TOOLKIT();
  const std::vector<std::string> expected{"triple", "other_grid"};
  CHECK(verified_by_themselves(kSameReference) == expected);
  std::string by_first = kSameReference;
  const std::string reference = "reference triple<<<1, 64>>>(x, y, 3)";
  by_first.replace(by_first.find(reference), reference.size(), "reference first");
  CHECK(verified_by_themselves(by_first) == expected);
  // A null pointer is another argument than a buffer.
  CHECK(verified_by_themselves(R"(// gpuexp: x[64] y[64]
// gpuexp: without = add<<<1, 64>>>(x, nullptr, y)
// gpuexp: with = add<<<1, 64>>>(x, x, y)
// gpuexp: reference add<<<1, 64>>>(x, x, y)
// gpuexp: tolerance 1e-6
__global__ void add(const float* x, const float* more, float* y) {
  y[threadIdx.x] = x[threadIdx.x] + (more ? more[threadIdx.x] : 0);
}
)") == std::vector<std::string>{"with"});
}

TEST_CASE("an element that the reference does not write is equal to no result", "[own_reference]") {
  REQUIRE_TOOLKIT();
  // Both leave element 40 of an integer output unwritten.
  const std::string text = R"(// gpuexp: x[64]
// gpuexp: out y[64]
// gpuexp: most<<<2, 32>>>
// gpuexp: reference TYPE<<<2, 32>>>
__global__ void most(const TYPE* x, TYPE* y) { if (blockIdx.x * 32 + threadIdx.x != 40) y[blockIdx.x * 32 + threadIdx.x] = x[blockIdx.x * 32 + threadIdx.x]; }
)";
  KernelFolder folder;
  std::string of_integers = with_reference(text, "TYPE<<<", "most<<<");
  while (of_integers.find("TYPE") != std::string::npos)
    of_integers = with_reference(of_integers, "TYPE", "unsigned char");
  const Family& family = folder.load("gap.cu", of_integers);
  CHECK_THAT(failure(family, "most"), contains_text("1 of 64 elements "));
}

TEST_CASE("a reference and its variants have the same contents of in_out buffers",
          "[own_reference]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("add.cu", R"(// gpuexp: n = 300
// gpuexp: x[n] = integers(0, 9)
// gpuexp: in_out y[n] = iota
// gpuexp: in_out z[n] = integers(0, 100)
// gpuexp: twice = add<<<ceil_div(n, 64), 64>>>(x, y, z, 2, n)
// gpuexp: thrice = add<<<ceil_div(n, 64), 64>>>(x, y, z, 3, n)
// gpuexp: reference serial<<<1, 1>>>
// gpuexp: check z[i] = before(z[i]) + x[i]
__global__ void add(const int* x, int* y, int* z, int a, int n) {
  const int i = blockIdx.x * 64 + threadIdx.x;
  if (i < n) y[i] += a * x[i], z[i] += x[i];
}
__global__ void serial(const int* x, int* y, int* z, int n) {
  for (int i = 0; i < n; ++i) y[i] = y[i] + x[i] + x[i], z[i] = 0;
}
)");
  CHECK(failure(family, "twice").empty());
  CHECK_THAT(failure(family, "thrice"), contains_text("first y[1]: "));
  CHECK(failure(family, "twice").empty());
}

TEST_CASE("faults of a reference differ from those of variants", "[own_reference]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& outside = folder.load(
      "outside.cu",
      with_reference(kWithReference, "by_definition<<<rows, 1", "by_definition<<<rows + 1, 1"));
  CHECK_THAT(failure(outside, "right"), contains_text("the reference: "));
  CHECK_THAT(failure(outside, "right"), contains_text("outside of every buffer"));
  const Family& writes = folder.load(
      "writes.cu",
      with_reference(kWithReference, "y[row + i] = exp(", "x[row + i] = 1, y[row + i] = exp("));
  CHECK_THAT(failure(writes, "right"), contains_text("the reference wrote into input 'x'"));
}

TEST_CASE("the results of a reference kernel are not sampled", "[own_reference]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  const Family& family = folder.load("softmax.cu", kWithReference);
  SimulationLimits limits(device(), no_kernels(), {});
  const auto refusal = [&](std::int64_t rows) {
    const auto problem = family.make_problem({rows, std::int64_t{96}});
    return limits.reference_refusal(family, family.variants.front(), problem.get());
  };
  CHECK(refusal(5).empty());
  CHECK_THAT(refusal(1 << 20),
             contains_text("results of a kernel cannot be sampled: verify a smaller problem"));
  SimulatedOptions options;
  options.blocks = {2};
  const auto sampled = make_simulated_executor(device(), no_kernels(), options);
  sampled->set_up(family, family.defaults(), 7);
  CHECK(sampled->verify(*family.find("right"), Mode::cold).passed());
  CHECK(!sampled->verify(*family.find("zeros"), Mode::cold).passed());
}

const std::string kScale = R"(// gpuexp: n = 4
// gpuexp: x[n] = x.npy
// gpuexp: in_out y[n] = data/y.npy
// gpuexp: scale<<<1, 32>>>
// gpuexp: check y = expected.npy
// gpuexp: tolerance 1e-6
__global__ void scale(const float* x, float* y, int n) {
  if (threadIdx.x < n) y[threadIdx.x] += 2 * x[threadIdx.x];
}
)";

TEST_CASE("contents and expected values are those of files", "[own_reference]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  folder.write("x.npy", npy<float>("<f4", "(4,)", {1, 2, 3, 4}));
  folder.write("data/y.npy", npy<float>("<f4", "(4,)", {0.5F, 0, 0, 0}));
  folder.write("expected.npy", npy<double>("<f8", "(4,)", {2.5, 4, 6, 8}));
  const Family& family = folder.load("scale.cu", kScale);
  CHECK(failure(family, "scale").empty());
  CHECK(folder.files().other_inputs() == std::vector<std::string>{folder.folder() + "/data/y.npy",
                                                                  folder.folder() + "/expected.npy",
                                                                  folder.folder() + "/x.npy"});
  CHECK_THAT(family.tolerance_derivation, contains_text("Expected values: y from expected.npy; "));
  KernelFolder other;
  other.write("x.npy", npy<float>("<f4", "(4,)", {1, 2, 3, 4}));
  other.write("data/y.npy", npy<float>("<f4", "(4,)", {0.5F, 0, 0, 0}));
  other.write("expected.npy", npy<float>("<f4", "(4,)", {2.5F, 4, 6, 8.001F}));
  CHECK_THAT(failure(other.load("scale.cu", kScale), "scale"), contains_text("1 of 4 elements "));
}

std::string problem_error(const Family& family) {
  try {
    family.make_problem(family.defaults());
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST_CASE("files of another type or shape are refused before anything runs", "[own_reference]") {
  REQUIRE_TOOLKIT();
  KernelFolder folder;
  folder.write("data/y.npy", npy<float>("<f4", "(4,)", {0, 0, 0, 0}));
  const Family& family = folder.load("scale.cu", kScale);
  const std::string place = folder.folder() + "/scale.cu:2:19: ";
  const auto check = [&](const std::string& file, const std::string& error) {
    folder.write("x.npy", file);
    CHECK_THAT(problem_error(family), contains_text(place + error));
  };
  CHECK_THAT(problem_error(family),
             contains_text(place + folder.folder() + "/x.npy: cannot be read: No such file"));
  check("no array", folder.folder() + "/x.npy: is not a .npy file");
  check(npy<double>("<f8", "(4,)", {1, 2, 3, 4}),
        "x.npy has elements of type float64 (<f8) and shape (4,); expected float32 (<f4) and shape "
        "(4,), as x is declared");
  check(npy<float>("<f4", "(2, 2)", {1, 2, 3, 4}),
        "x.npy has elements of type float32 (<f4) and shape (2, 2); expected float32 (<f4) and "
        "shape (4,), as x is declared");
  folder.write("x.npy", npy<float>("<f4", "(4,)", {1, 2, 3, 4}));
  folder.write("expected.npy", npy<std::int32_t>("<i4", "(4,)", {1, 2, 3, 4}));
  CHECK_THAT(problem_error(family),
             contains_text("scale.cu:5:22: expected.npy has elements of type int32 (<i4) and shape "
                           "(4,); expected float32 (<f4) or float64 (<f8) and shape (4,)"));
}

}  // namespace
}  // namespace gpuexp::test
