// Kernels that compare instructions with their definitions in plain arithmetic. They are compiled
// for several compute capabilities while the test runs (instruction_kernels_test.cpp). Bit i of
// bad[t] is set if comparison i of thread t fails.
//
// gpuexp: threads = 32
// gpuexp: x[2*threads] = integers(0, 4294967296)
// gpuexp: y[2*threads] = integers(0, 4294967296)
// gpuexp: bad[threads]
// gpuexp: integer_products<<<1, threads>>>
// gpuexp: small_integer_products<<<1, threads>>>
// gpuexp: pairs<<<1, threads>>>
// gpuexp: constant_halves<<<1, threads>>>
// gpuexp: special_registers<<<1, threads, 64>>>
// gpuexp: shuffled<<<1, threads>>>
// gpuexp: check bad[i] = 0

using Word = unsigned;

__device__ Word random_word(Word seed) {
  seed = seed * 747796405u + 2891336453u;
  seed = ((seed >> (seed >> 28) + 4) ^ seed) * 277803737u;
  return seed >> 22 ^ seed;
}

// ---- mma.sync of integers

struct Fragments {
  Word a[4];
  Word b[2];
  int c[4];
};

__device__ Fragments random_fragments(Word seed, bool near_limit) {
  Fragments f;
  for (Word& word : f.a)
    word = seed = random_word(seed);
  for (Word& word : f.b)
    word = seed = random_word(seed);
  for (int& sum : f.c) {
    seed = random_word(seed);
    sum = near_limit ? (seed & 1 ? 0x7fffffff : -0x7fffffff - 1) : static_cast<int>(seed);
  }
  return f;
}

struct Format {
  int rows;   ///< rows of A
  int words;  ///< words of A's rows and B's columns, 32 bits each
  int bits;   ///< bits of an element
  bool a_is_signed;
  bool b_is_signed;
  bool clamps;  ///< to 32 bits, instead of wrapping around
};

__device__ int element(Word word, int place, int bits, bool is_signed) {
  const Word up = word << (32 - bits * (place + 1));
  return is_signed ? static_cast<int>(up) >> (32 - bits) : static_cast<int>(up >> (32 - bits));
}

// PTX ISA, "Matrix multiply-accumulate operation using mma instruction": lane l holds row l / 4
// (and l / 4 + 8) of A and D, and column l / 4 of B.
__device__ bool is_product(const Fragments& f, const int* d, const Format& format) {
  __shared__ Word a[16][8];
  __shared__ Word b[8][8];
  const int lane = threadIdx.x % 32;
  const int halves = format.rows / 8;
  __syncwarp();
  for (int r = 0; r < format.words / 4; ++r) {
    for (int half = 0; half < halves; ++half)
      a[lane / 4 + 8 * half][4 * r + lane % 4] = f.a[halves * r + half];
    b[lane / 4][4 * r + lane % 4] = f.b[r];
  }
  __syncwarp();
  bool is_right = true;
  for (int i = 0; i < format.rows / 4; ++i) {
    long long sum = f.c[i];
    for (int k = 0; k < format.words * 32 / format.bits; ++k) {
      const int word = k / (32 / format.bits);
      const int place = k % (32 / format.bits);
      sum += element(a[lane / 4 + 8 * (i / 2)][word], place, format.bits, format.a_is_signed) *
             element(b[2 * (lane % 4) + i % 2][word], place, format.bits, format.b_is_signed);
    }
    if (format.clamps) sum = max(-0x80000000ll, min(0x7fffffffll, sum));
    is_right &= d[i] == static_cast<int>(sum);
  }
  return is_right;
}

#define MMA_OF_16_ROWS_AND_8_WORDS(OPCODE)                                                      \
  asm volatile("mma.sync.aligned." OPCODE " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};" \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                                 \
               : "r"(f.a[0]), "r"(f.a[1]), "r"(f.a[2]), "r"(f.a[3]), "r"(f.b[0]), "r"(f.b[1]))
#define MMA_OF_16_ROWS_AND_4_WORDS(OPCODE)                                             \
  asm volatile("mma.sync.aligned." OPCODE " {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};" \
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                        \
               : "r"(f.a[0]), "r"(f.a[1]), "r"(f.b[0]))
#define MMA_OF_8_ROWS_AND_4_WORDS(OPCODE)                               \
  asm volatile("mma.sync.aligned." OPCODE " {%0,%1},{%2},{%3},{%0,%1};" \
               : "+r"(d[0]), "+r"(d[1])                                 \
               : "r"(f.a[0]), "r"(f.b[0]))
#define COMPARE_PRODUCT(BIT, SIZE, OPCODE, ...)                                \
  {                                                                            \
    const Format format{__VA_ARGS__};                                          \
    const Fragments f = random_fragments(x[threadIdx.x] + BIT, format.clamps); \
    int d[4] = {f.c[0], f.c[1], f.c[2], f.c[3]};                               \
    MMA_OF_##SIZE(OPCODE);                                                     \
    if (!is_product(f, d, format)) fails |= 1u << BIT;                         \
  }

__global__ void integer_products(const Word* x, const Word* y, Word* bad) {
  Word fails = 0;
  COMPARE_PRODUCT(0, 16_ROWS_AND_8_WORDS, "m16n8k32.row.col.s32.s8.s8.s32", 16, 8, 8, true, true,
                  false)
  COMPARE_PRODUCT(1, 16_ROWS_AND_8_WORDS, "m16n8k32.row.col.s32.u8.u8.s32", 16, 8, 8, false, false,
                  false)
  COMPARE_PRODUCT(2, 16_ROWS_AND_8_WORDS, "m16n8k32.row.col.s32.u8.s8.s32", 16, 8, 8, false, true,
                  false)
  COMPARE_PRODUCT(3, 16_ROWS_AND_8_WORDS, "m16n8k32.row.col.s32.s8.u8.s32", 16, 8, 8, true, false,
                  false)
  COMPARE_PRODUCT(4, 16_ROWS_AND_8_WORDS, "m16n8k32.row.col.satfinite.s32.s8.s8.s32", 16, 8, 8,
                  true, true, true)
  COMPARE_PRODUCT(5, 16_ROWS_AND_4_WORDS, "m16n8k16.row.col.s32.s8.s8.s32", 16, 4, 8, true, true,
                  false)
  COMPARE_PRODUCT(6, 16_ROWS_AND_4_WORDS, "m16n8k16.row.col.s32.u8.s8.s32", 16, 4, 8, false, true,
                  false)
  COMPARE_PRODUCT(7, 8_ROWS_AND_4_WORDS, "m8n8k16.row.col.s32.s8.s8.s32", 8, 4, 8, true, true,
                  false)
  COMPARE_PRODUCT(8, 8_ROWS_AND_4_WORDS, "m8n8k16.row.col.satfinite.s32.u8.u8.s32", 8, 4, 8, false,
                  false, true)
  bad[threadIdx.x] = fails;
}

// Compute capability 12.0 has no such instructions; ptxas replaces them by others, some of which
// are not simulated.
__global__ void small_integer_products(const Word* x, const Word* y, Word* bad) {
  Word fails = 0;
#if __CUDA_ARCH__ < 1000
  COMPARE_PRODUCT(0, 8_ROWS_AND_4_WORDS, "m8n8k32.row.col.s32.s4.s4.s32", 8, 4, 4, true, true,
                  false)
  COMPARE_PRODUCT(1, 16_ROWS_AND_4_WORDS, "m16n8k32.row.col.s32.u4.u4.s32", 16, 4, 4, false, false,
                  false)
  COMPARE_PRODUCT(2, 16_ROWS_AND_8_WORDS, "m16n8k64.row.col.s32.u4.s4.s32", 16, 8, 4, false, true,
                  false)
  COMPARE_PRODUCT(3, 16_ROWS_AND_8_WORDS, "m16n8k256.row.col.s32.b1.b1.s32.and.popc", 16, 8, 1,
                  false, false, false)
#endif
  bad[threadIdx.x] = fails;
}

// ---- packed integers

#define COMPARE(BIT, FOUND, EXPECTED) \
  if ((FOUND) != (EXPECTED)) fails |= 1u << BIT;

template <class F>
__device__ Word of_halves(Word a, Word b, F f) {
  const Word low = f(static_cast<short>(a), static_cast<short>(b)) & 0xffff;
  const Word high = f(static_cast<short>(a >> 16), static_cast<short>(b >> 16));
  return low | high << 16;
}

__global__ void pairs(const Word* x, const Word* y, Word* bad) {
  const Word a = x[threadIdx.x];
  const Word b = y[threadIdx.x];
  const Word c = x[threadIdx.x + 32];
  const auto larger = [](int p, int q) { return static_cast<Word>(max(p, q)); };
  const auto smaller = [](int p, int q) { return static_cast<Word>(min(p, q)); };
  const Word sums = of_halves(a, b, [](int p, int q) { return static_cast<Word>(p + q); });
  Word fails = 0;
  COMPARE(0, __vadd2(a, b), sums)
  COMPARE(1, __vsub2(a, b), of_halves(a, b, [](int p, int q) { return static_cast<Word>(p - q); }))
  COMPARE(2, __viaddmax_s16x2(a, b, c), of_halves(sums, c, larger))
  COMPARE(3, __viaddmin_s16x2_relu(a, b, c), of_halves(of_halves(sums, c, smaller), 0, larger))
  COMPARE(4, __vimax3_s16x2(a, b, c), of_halves(of_halves(a, b, larger), c, larger))
  COMPARE(5, __vimax3_s32(a, b, c), max(max(int(a), int(b)), int(c)))
  COMPARE(6, __vimin3_u32(a, b, c), min(min(a, b), c))
  COMPARE(7, __vimin3_s32_relu(a, b, c), max(0, min(min(int(a), int(b)), int(c))))
  bad[threadIdx.x] = fails;
}

// ---- halves of constants as operands, which compute capability 8.x has

__constant__ unsigned short halves[4] = {0x4000, 0xb800, 0x4200, 0x3000};  // 2, -0.5, 3, 0.125

__device__ Word times(unsigned short a, unsigned short b) {
  unsigned short product;
  asm("mul.f16 %0, %1, %2;" : "=h"(product) : "h"(a), "h"(b));
  return product;
}

__global__ void constant_halves(const Word* x, const Word* y, Word* bad) {
  const unsigned short h = 0x3c00 | (x[threadIdx.x] & 0x83ff);  // 1 <= |h| < 2
  const Word exponent = 0x400;
  Word fails = 0;
  COMPARE(0, times(h, halves[0]), h + exponent)
  COMPARE(1, times(h, halves[1]), (h - exponent) ^ 0x8000u)
  COMPARE(2, times(h, halves[3]), h - 3 * exponent)
  bad[threadIdx.x] = fails;
}

// ---- special registers

__global__ void special_registers(const Word* x, const Word* y, Word* bad) {
  __shared__ Word fixed[24];
  fixed[threadIdx.x % 24] = 0;
  Word dynamic_bytes = 0;
  Word total_bytes = 0;
  asm volatile("mov.u32 %0, %%dynamic_smem_size;" : "=r"(dynamic_bytes));
  asm volatile("mov.u32 %0, %%total_smem_size;" : "=r"(total_bytes));
  Word fails = 0;
  COMPARE(0, dynamic_bytes, 64u)
  COMPARE(1, total_bytes, 64u + 24 * 4)
  __prof_trigger(1);
  bad[threadIdx.x] = fails + fixed[threadIdx.x % 24];
}

// Compute capability 12.0 moves the result of the shuffle to a register of the warp.
__global__ void shuffled(const Word* x, const Word* y, Word* bad) {
  const Word from = __shfl_sync(~0u, x[threadIdx.x] % 32, 0);
  Word sum = 0;
  for (Word i = 0; i < from; ++i)
    sum += y[i];
  Word expected = 0;
  for (Word i = 0; i < x[0] % 32; ++i)
    expected += y[i];
  bad[threadIdx.x] = sum != expected;
}
