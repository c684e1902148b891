// Measures the rate of atomic operations in L2: of one address, of several in one sector or line, and which lines share a slice.
// Prints CSV, from which the tables of this folder were made. Build and run: nvcc -O3 -arch=sm_90a -o atomics atomics.cu && ./atomics [LINES]
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "../check.cuh"

// Each warp's active lanes add to words[lane's word]; all blocks use the same words.
__global__ void add(unsigned* words, const int* word_of_lane, int lanes, int times) {
  const int lane = threadIdx.x % 32;
  if (lane >= lanes) return;
  unsigned* const word = words + word_of_lane[lane];
  for (int i = 0; i < times; ++i) atomicAdd(word, 1u);
}
// Even warps add to a, odd warps to b, with one lane each.
__global__ void add_pair(unsigned* words, int a, int b, int times) {
  if (threadIdx.x % 32) return;
  unsigned* const word = words + ((blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) % 2 ? b : a);
  for (int i = 0; i < times; ++i) atomicAdd(word, 1u);
}
// Each warp has its own line of a set; one lane each.
__global__ void add_spread(unsigned* words, int lines, int stride, int times) {
  if (threadIdx.x % 32) return;
  unsigned id = (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32);
  for (int i = 0; i < times; ++i) {
    id = id * 1664525u + 1013904223u;
    atomicAdd(words + std::size_t((id >> 8) % lines) * stride, 1u);
  }
}

// Each lane adds to random words of `words_mask + 1` words, `stride` apart; with `returns`, each operation returns its value.
template <bool kReturns>
__global__ void add_random(unsigned* words, unsigned mask, int stride, int times) {
  unsigned id = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u + 12345u;
  unsigned sum = 0;
  for (int i = 0; i < times; ++i) {
    id = id * 1664525u + 1013904223u;
    const unsigned old = atomicAdd(words + std::size_t((id >> 7) & mask) * stride, 1u);
    if (kReturns) sum += old;
  }
  if (kReturns && sum == 0x12345) words[0] = sum;
}

template <class F>
float fastest_us(F launch, int runs = 5) {
  cudaEvent_t a, b;
  CHECK(cudaEventCreate(&a)); CHECK(cudaEventCreate(&b));
  float best = 1e30f;
  for (int i = 0; i < runs; ++i) {
    CHECK(cudaEventRecord(a)); launch(); CHECK(cudaEventRecord(b)); CHECK(cudaEventSynchronize(b));
    float ms; CHECK(cudaEventElapsedTime(&ms, a, b));
    best = std::min(best, ms * 1000);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaEventDestroy(a)); CHECK(cudaEventDestroy(b));
  return best;
}

int main(int argc, char** argv) {
  const int kLines = argc > 1 ? std::atoi(argv[1]) : 1024;
  int sms; CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  unsigned* words; const std::size_t bytes = std::size_t(1) << 28;
  CHECK(cudaMalloc(&words, bytes)); CHECK(cudaMemset(words, 0, bytes));
  std::printf("# %p\n", (void*)words);
  int* map; CHECK(cudaMallocManaged(&map, 32 * sizeof(int)));
  // Lanes and words of a request, with 1, several and all SMs.
  struct Case { const char* name; int lanes; int distinct; int stride; };
  for (const Case c : {Case{"one_lane", 1, 1, 1}, Case{"same_word", 32, 1, 1}, Case{"words_2", 32, 2, 1}, Case{"words_4", 32, 4, 1},
                       Case{"words_8", 32, 8, 1}, Case{"words_16", 32, 16, 1}, Case{"words_32", 32, 32, 1},
                       Case{"sectors_4x1", 4, 4, 8}, Case{"lanes_8_one_sector", 8, 8, 1}, Case{"two_lines", 2, 2, 32}, Case{"lines_1_and_2", 2, 2, 64}, Case{"lines_32", 32, 32, 32}}) {
    CHECK(cudaDeviceSynchronize());
    for (int lane = 0; lane < 32; ++lane) map[lane] = lane % c.distinct * c.stride;
    for (const int blocks : {1, 8, sms}) {
      const int times = 256;
      const float t1 = fastest_us([&] { add<<<blocks, 256>>>(words, map, c.lanes, times); });
      const float t2 = fastest_us([&] { add<<<blocks, 256>>>(words, map, c.lanes, 3 * times); });
      std::printf("request,%s,%d,%.2f,requests_per_us,%.1f\n", c.name, blocks, t1, 2.0 * times * blocks * 8 / (t2 - t1));
    }
  }
  // Rate by number of lines, spread at random.
  for (int stride_lines : {1, 8, 32, 1024})
    for (int lines = 1; lines <= 4096; lines *= 2) {
      if (std::size_t(lines) * stride_lines * 128 > bytes) continue;
      const int times = 64;
      const float t1 = fastest_us([&] { add_spread<<<sms * 2, 1024>>>(words, lines, stride_lines * 32, times); });
      const float t2 = fastest_us([&] { add_spread<<<sms * 2, 1024>>>(words, lines, stride_lines * 32, 3 * times); });
      std::printf("spread,%d,%d,%.2f,ops_per_us,%.1f\n", stride_lines, lines, t1, 2.0 * times * sms * 2 * 32 / (t2 - t1));
    }
  for (const int blocks_per_sm : {1, 8})
    for (const bool returns : {false, true})
      for (const int stride : {1, 32})
        for (unsigned count = 32; count <= (1u << 21); count *= 4) {
          if (std::size_t(count) * stride * 4 > bytes) continue;
          const auto launch = [&](int times) {
            if (returns) add_random<true><<<sms * blocks_per_sm, 256>>>(words, count - 1, stride, times);
            else add_random<false><<<sms * blocks_per_sm, 256>>>(words, count - 1, stride, times);
          };
          const int times = 32;
          const float t1 = fastest_us([&] { launch(times); });
          const float t2 = fastest_us([&] { launch(3 * times); });
          std::printf("random,%d,%d,%d,%u,%.2f,%.2f,lane_ops_per_us,%.0f\n", blocks_per_sm, returns, stride, count, t1, t2,
                      2.0 * times * sms * blocks_per_sm * 256 / (t2 - t1));
        }
  // Classes of lines whose atomics share a unit.
  const int times = 128;
  const int blocks = sms;
  const float same = fastest_us([&] { add_pair<<<blocks, 256>>>(words, 0, 0, times); });
  const float same_line = fastest_us([&] { add_pair<<<blocks, 256>>>(words, 0, 8, times); });
  std::printf("pair,same_word,%.2f\npair,same_line,%.2f\n", same, same_line);
  std::vector<int> representatives;
  for (int line = 0; line < kLines; ++line) {
    int found = -1;
    for (std::size_t r = 0; r < representatives.size() && found < 0; ++r) {
      const float t = fastest_us([&] { add_pair<<<blocks, 256>>>(words, representatives[r] * 32, line * 32, times); }, 4);
      if (t > 0.75f * same) found = int(r);
    }
    if (found < 0) { found = int(representatives.size()); representatives.push_back(line); }
    std::printf("line,%d,%d\n", line, found);
  }
}
