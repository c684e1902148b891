// Measures how much time fills of memory (cudaMemsetAsync) and empty or storing kernels take between two kernels. Prints CSV.
// Build and run: nvcc -O3 -arch=sm_90a -o fills fills.cu && ./fills
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "../check.cuh"

__global__ void empty() {}
__global__ void store(unsigned* to) { to[threadIdx.x] = threadIdx.x; }

constexpr int kTimes = 200;

template <class F>
void report(const char* what, cudaStream_t stream, F enqueue) {
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < kTimes; ++i) enqueue();
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (const bool as_graph : {false, true}) {
    float best = 1e30f;
    for (int sample = 0; sample < 20; ++sample) {
      CHECK(cudaEventRecord(begin, stream));
      if (as_graph) {
        CHECK(cudaGraphLaunch(executable, stream));
      } else {
        for (int i = 0; i < kTimes; ++i) enqueue();
      }
      CHECK(cudaEventRecord(end, stream));
      CHECK(cudaStreamSynchronize(stream));
      float ms;
      CHECK(cudaEventElapsedTime(&ms, begin, end));
      best = std::min(best, ms);
    }
    std::printf("%s,%s,%.2f\n", what, as_graph ? "graph" : "stream", best * 1000 / kTimes);
  }
}

int main() {
  cudaStream_t stream;
  unsigned* words;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMalloc(&words, 1 << 20));
  std::printf("repeated,submitted_as,us\n");
  report("empty kernel", stream, [&] { empty<<<1, 32, 0, stream>>>(); });
  report("storing kernel", stream, [&] { store<<<1, 32, 0, stream>>>(words); });
  report("fill of 4 bytes", stream, [&] { CHECK(cudaMemsetAsync(words, 0, 4, stream)); });
  report("fill of 4 bytes and empty kernel", stream, [&] {
    CHECK(cudaMemsetAsync(words, 0, 4, stream));
    empty<<<1, 32, 0, stream>>>();
  });
  report("fill of 4 bytes and storing kernel", stream, [&] {
    CHECK(cudaMemsetAsync(words, 0, 4, stream));
    store<<<1, 32, 0, stream>>>(words);
  });
  report("fill of 64 KiB and storing kernel", stream, [&] {
    CHECK(cudaMemsetAsync(words, 0, 1 << 16, stream));
    store<<<1, 32, 0, stream>>>(words);
  });
}
