// The loop whose 128 FFMA instructions patterns.py replaces. patterns.py compiles it once for each pattern, with loop_ and the
// pattern's name as KERNEL. The replaced instructions change neither the number of iterations nor the address of the result, whose
// value has no meaning.
extern "C" __global__ void __launch_bounds__(1024) KERNEL(int iterations, float* out) {
  constexpr int kChains = 8;
  constexpr int kSteps = 16;
  const int thread = threadIdx.x;
  float sum[kChains];
  float x[kChains];
  float y[kChains];
  for (int i = 0; i < kChains; ++i) {
    sum[i] = thread + i;
    x[i] = thread * 2 + i;
    y[i] = thread * 3 - i;
  }
  for (int k = 0; k < iterations; ++k) {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int i = 0; i < kChains; ++i)
        asm volatile("fma.rn.f32 %0, %1, %2, %0;" : "+f"(sum[i]) : "f"(x[i]), "f"(y[i]));
    }
  }
  float total = 0;
  for (int i = 0; i < kChains; ++i)
    total += sum[i] + x[i] + y[i];
  out[blockIdx.x * 1024 + thread] = total;
}
