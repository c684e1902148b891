// bank_conflicts: eight loads per thread from a tile in shared memory, repeated. The variants
// differ only in the shared memory addresses of a warp's lanes.
//
// The question: what does a bank conflict cost, and which layout removes it? The 4-byte word w of
// shared memory is in bank w % 32. A bank delivers one word per cycle, to all lanes that request
// this word. Loads of 8 bytes per lane are served half a warp at a time, loads of 16 bytes a
// quarter (NVIDIA developer forum, topic 77228).
//
// At least 256 warp loads per SM are in flight, so time is proportional to wavefronts. Cycles
// divided by metric.requests_per_sm is the cost of one request.
#include <algorithm>
#include <set>
#include <string>

#include "kernels/common/family.cuh"
#include "kernels/common/mma_sync.cuh"

namespace gpuexp::bank_conflicts {

constexpr int kBanks = 32;
constexpr int kBlock = 256;
constexpr int kLoads = 8;  // loads of a thread per pass
constexpr int kRows = 64;
constexpr int kColumns = kBanks;  // words per row: one in each bank
constexpr int kTileWords = kRows * kColumns;
static_assert(kTileWords == kBlock * kLoads, "each thread stores as many words as it loads");

struct Problem {
  std::int64_t blocks;
  int passes;
  int stride;
};

// Each output element is the sum of the words that a thread stores in the tile and of the words
// that it loads from the tile. Variants that load different words have different outputs.
struct Data {
  std::uint32_t* in;  // one tile per block
  std::uint32_t *contiguous, *broadcast, *strided_4b, *strided_8b, *strided_16b, *column, *matrix;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the kernel of all variants

// Order maps a thread and the index of its load to a word of the tile. Layout maps this word to its
// position in shared memory. Load loads the thread's words. Four resident blocks have 32 warps with
// eight loads in flight.
template <class Load, class Layout, class Order>
__global__ void __launch_bounds__(kBlock, 4)
    read_kernel(const std::uint32_t* in, std::uint32_t* sums, Order order, int passes) {
  __shared__ alignas(16) std::uint32_t tile[kRows * Layout::kPitch];
  const int thread = threadIdx.x;
  in += static_cast<std::int64_t>(blockIdx.x) * kTileWords;
  std::uint32_t sum = 0;
#pragma unroll
  for (int i = 0; i < kLoads; ++i) {
    const unsigned word = i * kBlock + thread;
    const std::uint32_t value = in[word];
    tile[Layout::place(word)] = value;
    sum += value;
  }
  __syncthreads();
  const std::uint32_t* from[kLoads];
#pragma unroll
  for (int i = 0; i < kLoads; ++i)
    from[i] = tile + Layout::place(order(thread, i));
#pragma unroll 1  // ptxas would merge the ldmatrix of two consecutive passes into one
  for (int pass = 0; pass < passes; ++pass) {
    std::uint32_t got[kLoads][Load::kGot];
#pragma unroll
    for (int i = 0; i < kLoads; ++i)
      Load::load(got[i], from[i]);
#pragma unroll
    for (int i = 0; i < kLoads * Load::kGot; ++i)
      sum += got[i / Load::kGot][i % Load::kGot];
  }
  sums[static_cast<std::int64_t>(blockIdx.x) * kBlock + thread] = sum;
}

// ---- loads of neighbouring words

__device__ inline unsigned shared_address(const std::uint32_t* word) {
  return static_cast<unsigned>(__cvta_generic_to_shared(word));
}

// volatile: nvcc would move a non-volatile asm, and ptxas would merge the loads of two consecutive
// passes if they were not ld.volatile.
template <int kWords>
struct Words {
  static constexpr int kNamed = kWords;  ///< words at the address that a lane passes
  static constexpr int kGot = kWords;    ///< words that a lane receives

  static __device__ void load(std::uint32_t (&v)[kWords], const std::uint32_t* from) {
    const unsigned at = shared_address(from);
    if constexpr (kWords == 1) {
      asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v[0]) : "r"(at));
    } else if constexpr (kWords == 2) {
      asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];" : "=r"(v[0]), "=r"(v[1]) : "r"(at));
    } else {
      asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                   : "r"(at));
    }
  }

  /// Returns the w-th word that a thread receives from its i-th load.
  template <class Order>
  static __host__ __device__ int word(const Order& order, int thread, int i, int w) {
    return order(thread, i) + w;
  }
};

// Layout with `kPadding` unused words after each row.
template <int kPadding>
struct Rows {
  static constexpr int kPitch = kColumns + kPadding;
  static __host__ __device__ unsigned place(unsigned word) {
    return word / kColumns * kPitch + word % kColumns;
  }
};

// Neighbouring lanes load words that are `stride` apart. A warp's consecutive loads start only 16
// words apart, so that all loads stay within the tile at the largest stride.
struct Strided {
  static constexpr int kLargest = 33;
  static constexpr int kApart = 16;
  int stride;
  __host__ __device__ int operator()(int thread, int i) const {
    return (thread / kWarp * kLoads + i) * kApart + thread % kWarp * stride;
  }
};
static_assert((kBlock / kWarp * kLoads - 1) * Strided::kApart + (kWarp - 1) * Strided::kLargest <
                  kTileWords,
              "the last lane's word is in the tile");

// ---- how the variants are launched

std::int64_t threads(const Problem& p) {
  return p.blocks * kBlock;
}
std::int64_t elements(const Problem& p) {
  return p.blocks * kTileWords;
}

Work work(const Problem& p) {
  return streaming_work<std::uint32_t>(elements(p), threads(p));
}

// Requests and wavefronts of a block per pass, computed from the addresses.
struct BankUse {
  int requests = 0;
  int wavefronts = 0;
  int max_words = 0;  ///< largest number of different words loaded from one bank at a time
};

template <class Load, class Layout, class Order>
BankUse bank_use(const Order& order) {
  constexpr int kAtATime = kWarp / Load::kNamed;  // lanes served together
  BankUse use;
  for (int thread = 0; thread < kBlock; thread += kAtATime) {
    for (int i = 0; i < kLoads; ++i) {
      std::set<int> of_bank[kBanks];
      for (int lane = 0; lane < kAtATime; ++lane) {
        const int first = Layout::place(order(thread + lane, i));
        for (int word = first; word < first + Load::kNamed; ++word)
          of_bank[word % kBanks].insert(word);
      }
      int most = 0;
      for (const std::set<int>& words : of_bank)
        most = std::max(most, static_cast<int>(words.size()));
      use.requests += thread % kWarp == 0;
      use.wavefronts += most;
      use.max_words = std::max(use.max_words, most);
    }
  }
  return use;
}

MetricValues metrics(const Problem& p, const DeviceSpec& device, const BankUse& use) {
  const auto requests = [&](std::int64_t blocks) {
    return static_cast<double>(blocks) * p.passes * use.requests;
  };
  return {{"conflict_degree", use.max_words},
          {"wavefronts_per_request", static_cast<double>(use.wavefronts) / use.requests},
          {"requests", requests(p.blocks)},
          {"requests_per_sm", requests(ceil_div(p.blocks, device.sm_count))}};
}

// Variants that load the same words share an output.
using Sums = std::uint32_t* Data::*;
struct Output {
  const char* name;
  Sums sums;
};

// `order` returns the Order for a problem.
template <class Load, class Layout, class OrderOf>
Variant reading(std::string id, std::string compare_to, const Output& output, OrderOf order) {
  Variant v(std::move(id), std::move(compare_to));
  v.writes = {output.name};
  v.work = work;
  v.metrics = [order](const Problem& p, const DeviceSpec& device) {
    return metrics(p, device, bank_use<Load, Layout>(order(p)));
  };
  v.launch = [order, sums = output.sums](const Problem& p, const Data& d, const LaunchContext&) {
    const Shape s = shape_of_blocks({p.blocks}, {kBlock}, {kBlock});
    return launch(read_kernel<Load, Layout, decltype(order(p))>, s, d.in, d.*sums, order(p),
                  p.passes);
  };
  return v;
}

// ---- contiguous
//
// Neighbouring lanes load neighbouring words of 4 bytes. Each bank delivers one word, so a request
// takes one wavefront and the SM loads 128 bytes per cycle. shared_load_wavefronts equals the
// number of requests.
// held: bank_conflict = 1 at passes=1

constexpr Output kContiguous{"contiguous", &Data::contiguous};

Variant contiguous() {
  return reading<Words<1>, Rows<0>>("contiguous", "", kContiguous,
                                    [](const Problem&) { return Strided{1}; });
}

// ---- broadcast
//
// All lanes load the same word, as in a lookup of the same table entry by the whole warp. The bank
// reads the word once and sends it to all lanes in one wavefront: shared_load_wavefronts is
// unchanged. Lanes that access the same bank conflict only if they request different words.

constexpr Output kBroadcast{"broadcast", &Data::broadcast};

Variant broadcast() {
  Variant v = reading<Words<1>, Rows<0>>("broadcast", "contiguous", kBroadcast,
                                         [](const Problem&) { return Strided{0}; });
  v.expected_changes = {{"shared_load_wavefronts", Direction::unchanged}};
  return v;
}

// ---- load_4b
//
// Lanes load words at a distance of `stride`, like one field of an array of structures. gcd(stride,
// 32) lanes access each bank in use, and the bank delivers their words one per cycle:
// shared_load_wavefronts increases by that factor. The factor is 1 at odd strides, where each lane
// accesses a different bank, and 32 if all lanes access the same bank.
// held: bank_conflict = 16 at stride=16, passes=1; bank_conflict = 1 at stride=33, passes=1
// held: bank_conflict = 32 at stride=32, passes=1

constexpr Output kStrided4b{"strided_4b", &Data::strided_4b};

Strided strided(const Problem& p) {
  return {p.stride};
}

bool is_even(const Problem& p) {
  return p.stride % 2 == 0;
}
bool is_odd(const Problem& p) {
  return p.stride % 2 != 0;
}

Variant load_4b() {
  Variant v = reading<Words<1>, Rows<0>>("load_4b", "contiguous", kStrided4b, strided);
  v.expected_changes = {{"shared_load_wavefronts", Direction::increases, 1.9, is_even},
                        {"shared_load_wavefronts", Direction::unchanged, 1.05, is_odd},
                        {"shared_bank_conflicts", Direction::increases, 1.9, is_even}};
  return v;
}

// ---- load_8b
//
// Each lane loads 8 bytes at the same stride as load_4b: two adjacent words of a structure. The SM
// serves 16 lanes at a time, and each lane accesses two banks. A request takes as many wavefronts
// as in load_4b but returns 8 bytes per lane instead of 4: shared_load_wavefronts is unchanged. The
// cost is that addresses must be multiples of 8.

constexpr Output kStrided8b{"strided_8b", &Data::strided_8b};

template <int kWords>
std::optional<std::string> misaligned(const Problem& p, const DeviceSpec&) {
  if (p.stride % kWords == 0) return std::nullopt;
  return "needs stride divisible by " + std::to_string(kWords) + ": a load of " +
         std::to_string(4 * kWords) + " bytes needs an address that is a multiple of its size";
}

Variant load_8b() {
  Variant v = reading<Words<2>, Rows<0>>("load_8b", "load_4b", kStrided8b, strided);
  v.expected_changes = {{"shared_load_wavefronts", Direction::unchanged}};
  v.unsupported = misaligned<2>;
  return v;
}

// ---- load_16b
//
// Each lane loads 16 bytes at the same stride as load_4b. The SM serves 8 lanes at a time, and each
// lane accesses four banks. A request takes as many wavefronts as in load_4b but returns 16 bytes
// per lane instead of 4: shared_load_wavefronts is unchanged. At a stride of 4 no lanes conflict,
// whereas lanes of load_4b conflict in groups of four.
// held: bank_conflict = 1 at stride=4, passes=1

constexpr Output kStrided16b{"strided_16b", &Data::strided_16b};

Variant load_16b() {
  Variant v = reading<Words<4>, Rows<0>>("load_16b", "load_8b", kStrided16b, strided);
  v.expected_changes = {{"shared_load_wavefronts", Direction::unchanged}};
  v.unsupported = misaligned<4>;
  return v;
}

// ---- column
//
// Lanes load a column of the tile, one word from each of 32 rows, as a matrix transpose does. Rows
// are 32 words long, so all words of a column are in one bank, which delivers them one by one:
// shared_load_wavefronts is 32 per request.
// held: metric.wavefronts_per_request = 32; bank_conflict = 32 at passes=1

constexpr Output kColumn{"column", &Data::column};

// Each warp reads four columns of the upper 32 rows and the same columns of the lower 32 rows.
struct Columns {
  __host__ __device__ int operator()(int thread, int i) const {
    constexpr int kColumnsPerWarp = kColumns / (kBlock / kWarp);
    const int row = i / kColumnsPerWarp * kWarp + thread % kWarp;
    const int column = thread / kWarp * kColumnsPerWarp + i % kColumnsPerWarp;
    return row * kColumns + column;
  }
};

template <class Layout>
Variant reading_columns(std::string id, std::string compare_to) {
  return reading<Words<1>, Layout>(std::move(id), std::move(compare_to), kColumn,
                                   [](const Problem&) { return Columns{}; });
}

Variant column() {
  Variant v = reading_columns<Rows<0>>("column", "contiguous");
  v.expected_changes = {{"shared_load_wavefronts", Direction::increases, 24},
                        {"shared_bank_conflicts", Direction::increases, 24}};
  return v;
}

// ---- column_padded
//
// One unused word follows each row, so each row starts one bank after the previous row. A column
// then spans all 32 banks, as a row does: shared_load_wavefronts decreases to one per request. The
// cost is a 32nd more shared memory, and some rows no longer start at multiples of 16 bytes.
// held: bank_conflict = 1 at passes=1; shared_bytes_per_block = 33/32 × column

Variant column_padded() {
  Variant v = reading_columns<Rows<1>>("column_padded", "column");
  v.expected_changes = {{"shared_load_wavefronts", Direction::decreases, 24},
                        {"shared_bank_conflicts", Direction::decreases, 24},
                        {"lsu_instructions", Direction::unchanged}};
  return v;
}

// ---- column_xor
//
// XOR swizzle: the word of row r and column c is stored in column c ^ (r % 32) of its row. The
// words of a column are then in different banks, and so are the words of a row.
// shared_load_wavefronts decreases as in column_padded, without unused memory. The cost is an XOR
// per address computation, here once before the passes.
// held: bank_conflict = 1 at passes=1; shared_bytes_per_block = 1 × column

// Permutes units of kUnit words within each row: unit u of row r moves to unit u ^ r, modulo the
// row length.
template <int kUnit>
struct Swizzled {
  static constexpr int kPitch = kColumns;
  static __host__ __device__ unsigned place(unsigned word) {
    return word ^ word / kColumns % (kColumns / kUnit) * kUnit;
  }
};

Variant column_xor() {
  Variant v = reading_columns<Swizzled<1>>("column_xor", "column");
  v.expected_changes = {{"shared_load_wavefronts", Direction::decreases, 24},
                        {"shared_bank_conflicts", Direction::decreases, 24},
                        {"lsu_instructions", Direction::unchanged}};
  return v;
}

// ---- ldmatrix
//
// ldmatrix.x4, as tensor core kernels use it to load A: four matrices of 8 rows of 16 bytes, which
// are 16 rows of the tile by 32 bytes. Each group of eight lanes passes the row addresses of one
// matrix. These rows are 128 bytes apart and occupy the same four banks, so each row takes one
// wavefront: shared_load_wavefronts is 32 per request, although 512 bytes need only four.
// held: metric.wavefronts_per_request = 32; bank_conflict = 8 at passes=1

constexpr Output kMatrix{"matrix", &Data::matrix};

struct Matrices {
  static constexpr int kNamed = 4;  ///< words at the address that a lane passes
  static constexpr int kGot = 4;    ///< words that a lane receives, one per matrix

  static __device__ void load(std::uint32_t (&v)[kGot], const std::uint32_t* from) {
    ldmatrix_x4(v, from);
  }
  // Lanes 8w to 8w + 7 pass the rows of matrix w; lane 4g + t receives word t of row g of each
  // matrix.
  template <class Order>
  static __host__ __device__ int word(const Order& order, int thread, int i, int w) {
    constexpr int kMatrixRows = 8;
    const int lane = thread % kWarp;
    return order(thread - lane + w * kMatrixRows + lane / kNamed, i) + lane % kNamed;
  }
};

// A warp reads half of the tile's rows, 16 rows by 8 words at a time.
struct Fragments {
  __host__ __device__ int operator()(int thread, int i) const {
    constexpr int kFragmentRows = 16;
    constexpr int kAcross = kLoads / 2;
    const int lane = thread % kWarp;
    const int row =
        thread / kWarp % 2 * (kRows / 2) + i / kAcross * kFragmentRows + lane % kFragmentRows;
    const int unit = i % kAcross * 2 + lane / kFragmentRows;
    return row * kColumns + unit * Matrices::kNamed;
  }
};

template <class Layout>
Variant reading_matrices(std::string id, std::string compare_to) {
  Variant v = reading<Matrices, Layout>(std::move(id), std::move(compare_to), kMatrix,
                                        [](const Problem&) { return Fragments{}; });
  v.min_compute_capability = kMmaBf16ComputeCapability;
  return v;
}

Variant ldmatrix() {
  return reading_matrices<Rows<0>>("ldmatrix", "");
}

// ---- ldmatrix_padded
//
// 16 unused bytes after each row shift the next row by four banks. Eight rows then span all 32
// banks, and each matrix takes one wavefront: shared_load_wavefronts decreases to four per request.
// The cost is an eighth more shared memory for the tile.
// held: metric.wavefronts_per_request = 4; shared_bytes_per_block = 9/8 × ldmatrix
// held: bank_conflict = 1 at passes=1

Variant ldmatrix_padded() {
  Variant v = reading_matrices<Rows<Matrices::kNamed>>("ldmatrix_padded", "ldmatrix");
  v.expected_changes = {{"shared_load_wavefronts", Direction::decreases, 7},
                        {"shared_bank_conflicts", Direction::decreases, 7},
                        {"lsu_instructions", Direction::unchanged}};
  return v;
}

// ---- ldmatrix_xor
//
// Unit u of 16 bytes in row r is stored in unit u ^ (r % 8) of the row, so the same unit of eight
// rows is in eight different groups of banks. shared_load_wavefronts decreases as in
// ldmatrix_padded, without unused memory. Matrix product kernels store their tiles this way
// (kernels/common/shared_tile.cuh), and so does the 128-byte swizzle of a tensor map.

Variant ldmatrix_xor() {
  Variant v = reading_matrices<Swizzled<Matrices::kNamed>>("ldmatrix_xor", "ldmatrix");
  v.expected_changes = {{"shared_load_wavefronts", Direction::decreases, 7},
                        {"shared_bank_conflicts", Direction::decreases, 7},
                        {"lsu_instructions", Direction::unchanged}};
  return v;
}

// ---- the plain reference

template <class Load, class Order>
struct Sum {
  Order order;
  const std::uint32_t* in;
  std::uint32_t passes;

  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    const std::uint32_t* const tile = in + i / kBlock * kTileWords;
    const int thread = static_cast<int>(i % kBlock);
    std::uint32_t brought = 0;
    for (int word = thread; word < kTileWords; word += kBlock)
      brought += tile[word];
    std::uint32_t got = 0;
    for (int n = 0; n < kLoads * Load::kGot; ++n)
      got += tile[Load::word(order, thread, n / Load::kGot, n % Load::kGot)];
    return {static_cast<double>(brought + passes * got), 0.0};
  }
};

constexpr Output kOutputs[] = {kContiguous, kBroadcast, kStrided4b, kStrided8b,
                               kStrided16b, kColumn,    kMatrix};

// Same order as kOutputs.
Steps reference(const Problem& p, const Data& d, const std::vector<ReferenceView>& out) {
  const auto passes = static_cast<std::uint32_t>(p.passes);
  Steps steps;
  const auto add = [&](int o, auto sum) { steps += evaluate_reference(out[o], threads(p), sum); };
  add(0, Sum<Words<1>, Strided>{{1}, d.in, passes});
  add(1, Sum<Words<1>, Strided>{{0}, d.in, passes});
  add(2, Sum<Words<1>, Strided>{{p.stride}, d.in, passes});
  add(3, Sum<Words<2>, Strided>{{p.stride}, d.in, passes});
  add(4, Sum<Words<4>, Strided>{{p.stride}, d.in, passes});
  add(5, Sum<Words<1>, Columns>{{}, d.in, passes});
  add(6, Sum<Matrices, Fragments>{{}, d.in, passes});
  return steps;
}

// ---- declaration

Family declare() {
  Family f("bank_conflicts", Topic::memory,
           "What does a bank conflict in shared memory cost, and which layout removes it?");
  f.physics =
      "Shared memory consists of 32 banks of 4-byte words. Each bank delivers one word per cycle, "
      "to all lanes that request this word. A request takes as many wavefronts as the largest "
      "number of different words that its lanes load from one bank: gcd(stride, 32) for 4-byte "
      "words at a distance of stride words. If the data stage is never idle, cycles per request "
      "equal wavefronts per request. A layout that spreads the words of a request over all banks "
      "removes the additional wavefronts.";
  f.extent("blocks", &Problem::blocks, 528, 1 << 17,
           "blocks of 256 threads with a tile of 8 KiB each; default: four per SM of 132 SMs")
      .integer("passes", &Problem::passes, 1024, 1, 1 << 16, "",
               "number of times that a block reads its tile")
      .integer("stride", &Problem::stride, 16, 1, Strided::kLargest, "words",
               "distance between the words of neighbouring lanes in load_4b, load_8b and load_16b");
  f.input("in", &Data::in, elements);
  for (const Output& output : kOutputs)
    f.output(output.name, output.sums, threads);
  f.metric("conflict_degree", "",
           "largest number of different words that lanes served together load from one bank; 1: "
           "no conflict")
      .metric("wavefronts_per_request", "",
              "wavefronts per load of a warp, computed from the addresses of its words")
      .metric("requests", "", "loads by warps from the tiles, over all passes")
      .metric("requests_per_sm", "",
              "requests of the busiest SM; cycles divided by this: cycles per request");
  f.plot("bank_conflicts", "cycles_per_request", "Bank conflicts: cycles per shared-memory load",
         {{"param.stride", "stride between neighbouring lanes (words)"}});
  f.inputs = [](const Problem& p, const Data& d, std::uint64_t seed) {
    return fill_bits(d.in, elements(p), stream_seed(seed, 0));
  };
  f.reference = reference;
  f.tolerance_derivation =
      "Zero: sums are integers added modulo 2^32, which is exact in any order.";
  f.variants(contiguous(), broadcast(), load_4b(), load_8b(), load_16b(), column(), column_padded(),
             column_xor(), ldmatrix(), ldmatrix_padded(), ldmatrix_xor());
  return f;
}

const Registration registration(declare());

}  // namespace gpuexp::bank_conflicts
