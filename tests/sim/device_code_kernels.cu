// What device code of users contains: shuffles that read inactive lanes, calls that are not
// inlined, printf(), assert() and traps. The file is compiled during the test.
#include <cassert>
#include <cstdio>

// ---- shuffles

__device__ int shuffle_down(int value, int by, unsigned mask) {
  int result;
  asm volatile("shfl.sync.down.b32 %0, %1, %2, 0x1f, %3;"
               : "=r"(result)
               : "r"(value), "r"(by), "r"(mask));
  return result;
}

// 8 words per thread: each kind of shuffle from lanes that have diverged, from lanes whose guard is
// false, and from lanes that have exited.
extern "C" __global__ void shuffles(int* out) {
  const int lane = threadIdx.x;
  const int value = 1000 + lane;
  int results[8] = {-1, -1, -1, -1, -1, -1, -1, -1};
  if (lane < 16) {
    asm volatile("shfl.sync.idx.b32 %0, %1, 20, 0x1f, 0xffff;" : "=r"(results[0]) : "r"(value));
    results[1] = shuffle_down(value, 8, 0xffff);
    asm volatile("shfl.sync.bfly.b32 %0, %1, 16, 0x1f, 0xffff;" : "=r"(results[2]) : "r"(value));
    asm volatile(
        "{\n.reg .pred p;\n.reg .b32 any;\nshfl.sync.idx.b32 any|p, %1, 20, 0x1f, 0xffff;\n"
        "selp.b32 %0, 1, 0, p;\n}"
        : "=r"(results[3])
        : "r"(value));
  }
  __syncwarp();
  if (lane >= 16)
    asm volatile("shfl.sync.up.b32 %0, %1, 12, 0, 0xffff0000;" : "=r"(results[4]) : "r"(value));
  __syncwarp();
  asm volatile(
      "{\n.reg .pred q;\nsetp.lt.s32 q, %2, 16;\n"
      "@q shfl.sync.idx.b32 %0, %1, 20, 0x1f, 0xffff;\n}"
      : "+r"(results[5])
      : "r"(value), "r"(lane));
  for (int i = 0; i < 6; ++i)
    out[8 * lane + i] = results[i];
  if (lane >= 24) return;
  out[8 * lane + 6] = shuffle_down(value, 8, 0xffffff);
}

// The last step of a reduction, in which lanes that hold no partial sum skip the shuffles.
extern "C" __global__ void reduce_few(const int* in, int* out) {
  const int lane = threadIdx.x;
  if (lane < 5) {
    int sum = in[lane];
    for (int by = 16; by > 0; by /= 2)
      sum += shuffle_down(sum, by, 0x1f);
    if (lane == 0) out[0] = sum;
  }
}

// ---- calls

__device__ __noinline__ int fibonacci(int n) {
  return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

// A stack frame with an array, below a recursive call.
__device__ __noinline__ int sum_of_digits(int n, int depth) {
  int digits[8];
  for (int i = 0; i < 8; ++i)
    digits[i] = (n >> 4 * i) & 15;
  const int below = depth > 0 ? sum_of_digits(n + 1, depth - 1) : 0;
  int sum = below;
  for (int i = 0; i < 8; ++i)
    sum += digits[(i + depth) % 8];
  return sum;
}

using Function = int (*)(int, int);
__device__ __noinline__ int add(int a, int b) {
  return a + b;
}
__device__ __noinline__ int multiply(int a, int b) {
  return a * b;
}
__device__ __noinline__ int both(int a, int b) {
  return add(multiply(a, b), a - b);
}

extern "C" __global__ void calls(const int* in, int* out) {
  const int t = threadIdx.x;
  const Function function = in[t] % 3 == 0 ? add : in[t] % 3 == 1 ? multiply : both;
  out[3 * t] = fibonacci(t % 12);
  out[3 * t + 1] = sum_of_digits(in[t] * 77777, t % 4);
  out[3 * t + 2] = function(in[t], t);
}

// ---- traps

extern "C" __global__ void traps(int* out, int which) {
  const int t = threadIdx.x;
  __nanosleep(100);
  if (t == which) __trap();
  if (t == which - 100) __brkpt();
  out[t] = t;
}

// ---- functions of the CUDA runtime

extern "C" __global__ void asserts(int* out, int n) {
  const int t = threadIdx.x;
  assert(t < n && "too many threads");  // fault: asserts
  out[t] = t;
}

__device__ const char* const names[3] = {"zero", "one", "two"};

extern "C" __global__ void prints(int* out, int n) {
  const int t = threadIdx.x;
  int printed = -1;
  if (t % 2 == 0) {
    printed = printf("%d %s %.2f\n", t, names[t % 3], t * 0.25);
  } else if (t < n) {
    printf("%-4d|%c|%#llx\n", t, 'a' + t, 1ll << t);
  }
  if (t == 0) printf("end\n");
  out[t] = printed;
}

// ---- addresses of functions in global memory

struct Shape {
  __device__ virtual int area(int size) const = 0;
};
struct Square : Shape {
  __device__ int area(int size) const override { return size * size; }
};
struct Strip : Shape {
  int width;
  __device__ explicit Strip(int w) : width(w) {}
  __device__ int area(int size) const override { return size * width; }
};

__device__ Function const table[3] = {add, multiply, both};

extern "C" __global__ void tables(int* out, int width) {
  const int t = threadIdx.x;
  Square square;
  Strip strip(width);
  const Shape* const shape = t % 2 ? static_cast<const Shape*>(&square) : &strip;
  out[2 * t] = shape->area(t);
  out[2 * t + 1] = table[t % 3](t, width);
}
