#include "compile/nvrtc_headers.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "compile/toolkit_tools.hpp"

namespace gpuexp {

namespace {

namespace fs = std::filesystem;

// libcu++ declares the same types for NVRTC, where 64 bits are long long.
constexpr std::string_view kIntegers = R"(#pragma once
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
typedef int64_t intptr_t;
typedef uint64_t uintptr_t;
typedef int64_t intmax_t;
typedef uint64_t uintmax_t;
#define INT8_MIN (-128)
#define INT8_MAX 127
#define UINT8_MAX 255
#define INT16_MIN (-32768)
#define INT16_MAX 32767
#define UINT16_MAX 65535
#define INT32_MIN (-2147483647 - 1)
#define INT32_MAX 2147483647
#define UINT32_MAX 4294967295u
#define INT64_MIN (-9223372036854775807ll - 1)
#define INT64_MAX 9223372036854775807ll
#define UINT64_MAX 18446744073709551615ull
#define SIZE_MAX 18446744073709551615ul
namespace std {
using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t;
using ::uint8_t; using ::uint16_t; using ::uint32_t; using ::uint64_t;
using ::intptr_t; using ::uintptr_t; using ::intmax_t; using ::uintmax_t;
}
)";

constexpr std::string_view kSizes = R"(#pragma once
typedef long ptrdiff_t;
typedef long ssize_t;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
#ifndef NULL
#define NULL 0
#endif
namespace std {
using ::size_t;
using ::ptrdiff_t;
using nullptr_t = decltype(nullptr);
}
)";

constexpr std::string_view kPrint = R"(#pragma once
#include <cstddef>
namespace std { using ::printf; }
)";

constexpr std::string_view kAssert = R"(#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition) \
  ((condition) ? (void)0 : __assertfail(#condition, __FILE__, __LINE__, __func__, sizeof(char)))
#endif
)";

constexpr std::string_view kIntegerLimits = R"(#pragma once
#define CHAR_BIT 8
#define SCHAR_MIN (-128)
#define SCHAR_MAX 127
#define UCHAR_MAX 255
#define CHAR_MIN SCHAR_MIN
#define CHAR_MAX SCHAR_MAX
#define SHRT_MIN (-32768)
#define SHRT_MAX 32767
#define USHRT_MAX 65535
#define INT_MIN (-2147483647 - 1)
#define INT_MAX 2147483647
#define UINT_MAX 4294967295u
#define LONG_MIN (-9223372036854775807l - 1)
#define LONG_MAX 9223372036854775807l
#define ULONG_MAX 18446744073709551615ul
#define LLONG_MIN (-9223372036854775807ll - 1)
#define LLONG_MAX 9223372036854775807ll
#define ULLONG_MAX 18446744073709551615ull
)";

constexpr std::string_view kRealLimits = R"(#pragma once
#define FLT_RADIX 2
#define FLT_MANT_DIG 24
#define FLT_DIG 6
#define FLT_MIN 1.17549435e-38f
#define FLT_MAX 3.40282347e+38f
#define FLT_EPSILON 1.19209290e-07f
#define DBL_MANT_DIG 53
#define DBL_DIG 15
#define DBL_MIN 2.2250738585072014e-308
#define DBL_MAX 1.7976931348623157e+308
#define DBL_EPSILON 2.2204460492503131e-16
)";

constexpr std::string_view kMath = R"(#pragma once
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef HUGE_VALF
#define HUGE_VALF __int_as_float(0x7f800000)
#define HUGE_VAL __longlong_as_double(0x7ff0000000000000ll)
#endif
#ifndef NAN
#define NAN __int_as_float(0x7fffffff)
#endif
#ifndef M_PI
#define M_E 2.7182818284590452354
#define M_LOG2E 1.4426950408889634074
#define M_LN2 0.69314718055994530942
#define M_PI 3.14159265358979323846
#define M_PI_2 1.57079632679489661923
#define M_1_PI 0.31830988618379067154
#define M_2_PI 0.63661977236758134308
#define M_2_SQRTPI 1.12837916709551257390
#define M_SQRT2 1.41421356237309504880
#define M_SQRT1_2 0.70710678118654752440
#endif
namespace std {
using ::abs; using ::acos; using ::asin; using ::atan; using ::atan2; using ::ceil; using ::cos;
using ::cosh; using ::erf; using ::erfc; using ::exp; using ::exp2; using ::expm1; using ::fabs;
using ::floor; using ::fma; using ::fmax; using ::fmin; using ::fmod; using ::hypot; using ::isfinite;
using ::isinf; using ::isnan; using ::ldexp; using ::log; using ::log10; using ::log1p; using ::log2;
using ::pow; using ::rint; using ::round; using ::sin; using ::sinh; using ::sqrt; using ::tan;
using ::tanh; using ::tgamma; using ::trunc;
}
)";

constexpr std::string_view kTypeTraits = R"(#pragma once
#include <cstddef>
namespace std {
template <class T, T v> struct integral_constant {
  static constexpr T value = v;
  using value_type = T;
  using type = integral_constant;
  __host__ __device__ constexpr operator T() const { return v; }
};
template <bool v> using bool_constant = integral_constant<bool, v>;
using true_type = integral_constant<bool, true>;
using false_type = integral_constant<bool, false>;
template <class A, class B> struct is_same : false_type {};
template <class A> struct is_same<A, A> : true_type {};
template <class A, class B> inline constexpr bool is_same_v = is_same<A, B>::value;
template <bool c, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> { using type = T; };
template <bool c, class T = void> using enable_if_t = typename enable_if<c, T>::type;
template <bool c, class A, class B> struct conditional { using type = A; };
template <class A, class B> struct conditional<false, A, B> { using type = B; };
template <bool c, class A, class B> using conditional_t = typename conditional<c, A, B>::type;
template <class T> struct remove_reference { using type = T; };
template <class T> struct remove_reference<T&> { using type = T; };
template <class T> struct remove_reference<T&&> { using type = T; };
template <class T> using remove_reference_t = typename remove_reference<T>::type;
template <class T> struct remove_const { using type = T; };
template <class T> struct remove_const<const T> { using type = T; };
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> struct remove_cv { using type = T; };
template <class T> struct remove_cv<const T> { using type = T; };
template <class T> struct remove_cv<volatile T> { using type = T; };
template <class T> struct remove_cv<const volatile T> { using type = T; };
template <class T> using remove_cv_t = typename remove_cv<T>::type;
template <class T> struct remove_pointer { using type = T; };
template <class T> struct remove_pointer<T*> { using type = T; };
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;
template <class T> using decay_t = remove_cv_t<remove_reference_t<T>>;
template <class T> inline constexpr bool is_floating_point_v =
    is_same_v<remove_cv_t<T>, float> || is_same_v<remove_cv_t<T>, double>;
template <class T> struct is_floating_point : integral_constant<bool, is_floating_point_v<T>> {};
template <class T> struct is_integral : false_type {};
template <> struct is_integral<bool> : true_type {};
template <> struct is_integral<char> : true_type {};
template <> struct is_integral<signed char> : true_type {};
template <> struct is_integral<unsigned char> : true_type {};
template <> struct is_integral<short> : true_type {};
template <> struct is_integral<unsigned short> : true_type {};
template <> struct is_integral<int> : true_type {};
template <> struct is_integral<unsigned> : true_type {};
template <> struct is_integral<long> : true_type {};
template <> struct is_integral<unsigned long> : true_type {};
template <> struct is_integral<long long> : true_type {};
template <> struct is_integral<unsigned long long> : true_type {};
template <class T> inline constexpr bool is_integral_v = is_integral<remove_cv_t<T>>::value;
template <class T> inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T> struct is_arithmetic : integral_constant<bool, is_arithmetic_v<T>> {};
template <class T> struct is_pointer : false_type {};
template <class T> struct is_pointer<T*> : true_type {};
template <class T> inline constexpr bool is_pointer_v = is_pointer<T>::value;
template <class... T> using void_t = void;
}
)";

// NVRTC has std::move and std::forward.
constexpr std::string_view kUtility = R"(#pragma once
#include <type_traits>
namespace std {
template <class T> __host__ __device__ constexpr void swap(T& a, T& b) {
  T c = static_cast<T&&>(a);
  a = static_cast<T&&>(b);
  b = static_cast<T&&>(c);
}
template <class A, class B> struct pair {
  A first;
  B second;
};
}
)";

constexpr std::string_view kAlgorithm = R"(#pragma once
#include <utility>
namespace std {
template <class T> __host__ __device__ constexpr const T& min(const T& a, const T& b) {
  return b < a ? b : a;
}
template <class T> __host__ __device__ constexpr const T& max(const T& a, const T& b) {
  return a < b ? b : a;
}
template <class T> __host__ __device__ constexpr const T& clamp(const T& v, const T& low, const T& high) {
  return v < low ? low : high < v ? high : v;
}
}
)";

constexpr std::string_view kLimits = R"(#pragma once
#include <cfloat>
#include <climits>
namespace std {
template <class T> struct numeric_limits { static constexpr bool is_specialized = false; };
template <class T> struct numeric_limits<const T> : numeric_limits<T> {};
#define GPUEXP_INTEGER_LIMITS(T, low, high)                                              \
  template <> struct numeric_limits<T> {                                                 \
    static constexpr bool is_specialized = true, is_integer = true;                      \
    static constexpr bool is_signed = (low) < 0;                                         \
    static constexpr int digits = sizeof(T) * 8 - ((low) < 0);                           \
    __host__ __device__ static constexpr T min() { return low; }                         \
    __host__ __device__ static constexpr T lowest() { return low; }                      \
    __host__ __device__ static constexpr T max() { return high; }                        \
  };
GPUEXP_INTEGER_LIMITS(char, CHAR_MIN, CHAR_MAX)
GPUEXP_INTEGER_LIMITS(signed char, SCHAR_MIN, SCHAR_MAX)
GPUEXP_INTEGER_LIMITS(unsigned char, 0, UCHAR_MAX)
GPUEXP_INTEGER_LIMITS(short, SHRT_MIN, SHRT_MAX)
GPUEXP_INTEGER_LIMITS(unsigned short, 0, USHRT_MAX)
GPUEXP_INTEGER_LIMITS(int, INT_MIN, INT_MAX)
GPUEXP_INTEGER_LIMITS(unsigned, 0, UINT_MAX)
GPUEXP_INTEGER_LIMITS(long, LONG_MIN, LONG_MAX)
GPUEXP_INTEGER_LIMITS(unsigned long, 0, ULONG_MAX)
GPUEXP_INTEGER_LIMITS(long long, LLONG_MIN, LLONG_MAX)
GPUEXP_INTEGER_LIMITS(unsigned long long, 0, ULLONG_MAX)
#undef GPUEXP_INTEGER_LIMITS
#define GPUEXP_REAL_LIMITS(T, prefix, from_bits, of_infinity, of_nan)                    \
  template <> struct numeric_limits<T> {                                                 \
    static constexpr bool is_specialized = true, is_integer = false, is_signed = true;   \
    static constexpr int digits = prefix##_MANT_DIG;                                     \
    __host__ __device__ static constexpr T min() { return prefix##_MIN; }                \
    __host__ __device__ static constexpr T max() { return prefix##_MAX; }                \
    __host__ __device__ static constexpr T lowest() { return -prefix##_MAX; }            \
    __host__ __device__ static constexpr T epsilon() { return prefix##_EPSILON; }        \
    __host__ __device__ static T infinity() { return from_bits(of_infinity); }           \
    __host__ __device__ static T quiet_NaN() { return from_bits(of_nan); }               \
  };
GPUEXP_REAL_LIMITS(float, FLT, __int_as_float, 0x7f800000, 0x7fffffff)
GPUEXP_REAL_LIMITS(double, DBL, __longlong_as_double, 0x7ff0000000000000ll, 0x7fffffffffffffffll)
#undef GPUEXP_REAL_LIMITS
}
)";

// Members of classes that measure times, which device code does not use.
constexpr std::string_view kTime = R"(#pragma once
struct timeval { long tv_sec, tv_usec; };
)";

// cuBLAS's headers include those of 16-bit numbers.
constexpr std::string_view kHalfTypes = R"(#pragma once
#if __has_include(<cuda_bf16.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif
)";

// NVRTC has the types and functions of the CUDA runtime that kernels use.
constexpr std::string_view kNothing = "#pragma once\n";

constexpr const char* kWholeCub = "cub/cub.cuh";

/// Headers of functions that host code calls.
bool is_of_host(std::string_view header) {
  constexpr std::array<std::string_view, 4> kHost{
      "cub/device/", "cub/util_allocator.", "cub/util_device.", "cub/util_temporary_storage."};
  return std::ranges::any_of(kHost,
                             [&](std::string_view name) { return header.starts_with(name); });
}

std::string device_part_of_cub(std::string_view text) {
  constexpr std::string_view kDirective = "#include <";
  std::string part = "#pragma once\n";
  while (!text.empty()) {
    const std::string_view line = trimmed(take_until(text, "\n"));
    if (line.starts_with(kDirective) && !is_of_host(line.substr(kDirective.size())))
      part += fmt::format("{}\n", line);
  }
  return part;
}

void write_header(const fs::path& folder, std::string_view name, std::string_view text) {
  const fs::path file = folder / name;
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace

const std::vector<StandInHeader>& stand_in_headers() {
  static const std::vector<StandInHeader> headers = [] {
    std::vector<StandInHeader> all{
        {"cstdint", kIntegers},      {"stdint.h", kIntegers},      {"inttypes.h", kIntegers},
        {"cinttypes", kIntegers},    {"cstddef", kSizes},          {"stddef.h", kSizes},
        {"cstdio", kPrint},          {"stdio.h", kPrint},          {"cassert", kAssert},
        {"assert.h", kAssert},       {"climits", kIntegerLimits},  {"limits.h", kIntegerLimits},
        {"cfloat", kRealLimits},     {"float.h", kRealLimits},     {"cmath", kMath},
        {"math.h", kMath},           {"type_traits", kTypeTraits}, {"utility", kUtility},
        {"algorithm", kAlgorithm},   {"limits", kLimits},          {"sys/time.h", kTime},
        {"cublas_v2.h", kHalfTypes}, {"cublasLt.h", kHalfTypes}};
    for (const char* const host : {"array",
                                   "atomic",
                                   "bitset",
                                   "cctype",
                                   "cerrno",
                                   "chrono",
                                   "complex",
                                   "cstdarg",
                                   "cstdlib",
                                   "cstring",
                                   "ctime",
                                   "ctype.h",
                                   "deque",
                                   "errno.h",
                                   "exception",
                                   "filesystem",
                                   "fstream",
                                   "functional",
                                   "getopt.h",
                                   "initializer_list",
                                   "iomanip",
                                   "ios",
                                   "iostream",
                                   "istream",
                                   "iterator",
                                   "list",
                                   "map",
                                   "memory",
                                   "mutex",
                                   "new",
                                   "numeric",
                                   "omp.h",
                                   "optional",
                                   "ostream",
                                   "queue",
                                   "random",
                                   "regex",
                                   "set",
                                   "sstream",
                                   "stack",
                                   "stdexcept",
                                   "stdlib.h",
                                   "string",
                                   "string.h",
                                   "string_view",
                                   "strings.h",
                                   "sys/stat.h",

                                   "sys/types.h",
                                   "thread",
                                   "time.h",
                                   "tuple",
                                   "unistd.h",
                                   "unordered_map",
                                   "unordered_set",
                                   "valarray",
                                   "variant",
                                   "vector",

                                   "cuda_profiler_api.h",
                                   "cuda_runtime.h",
                                   "cuda_runtime_api.h",
                                   "cudnn.h",
                                   "cufft.h",
                                   "curand.h",
                                   "cusolverDn.h",
                                   "cusparse.h",
                                   "device_launch_parameters.h",
                                   "nvToolsExt.h",
                                   "nvtx3/nvToolsExt.h"})
      all.push_back({host, kNothing});
    return all;
  }();
  return headers;
}

std::vector<fs::path> toolkit_headers(const fs::path& library) {
  std::vector<fs::path> folders{
      library.parent_path().parent_path() / "include",
      library.parent_path().parent_path().parent_path() / "cuda_runtime/include"};
  if (const char* const home = std::getenv("CUDA_HOME"); home && *home)
    folders.push_back(fs::path(home) / "include");
  folders.emplace_back("/usr/local/cuda/include");
  for (const fs::path& folder : folders) {
    std::error_code error;
    if (fs::exists(folder / "cuda_fp16.h", error)) return {folder, folder / "cccl"};
  }
  return {};
}

void write_stand_ins(const fs::path& folder, const fs::path& library) {
  for (const StandInHeader& header : stand_in_headers())
    write_header(folder, header.name, header.text);
  std::error_code unknown;
  for (const fs::path& headers : toolkit_headers(library))
    if (fs::is_regular_file(headers / kWholeCub, unknown))
      write_header(folder, kWholeCub, device_part_of_cub(text_of_file(headers / kWholeCub)));
}

}  // namespace gpuexp
