// bank_conflicts: eight loads from a tile in shared memory, over and over; only where the words of
// a warp's lanes lie differs.
//
// The question: what does a bank conflict cost, and what removes it? Word w of shared memory, of
// 4 bytes, lies in bank w % 32, and a bank gives one word per clock, to as many lanes as ask for
// it. So a request takes as many wavefronts as the fullest bank has different words to give. Loads
// of 8 bytes per lane are served half a warp at a time, those of 16 a quarter (NVIDIA developer
// forum, topic 77228).
//
// Every block fills a tile of 64 rows by 32 words and reads it `passes` times, with 256 loads or
// more in flight per SM: the data stage of L1 and shared memory is never idle, and time is
// wavefronts. The column cycles over metric.requests_per_sm is what a request takes.
#include <algorithm>
#include <set>
#include <string>

#include "kernels/common/family.cuh"
#include "kernels/common/mma_sync.cuh"

namespace gpuexp::bank_conflicts {

constexpr int kBanks = 32;
constexpr int kBlock = 256;
constexpr int kLoads = 8;  // that a thread makes in each pass
constexpr int kRows = 64;
constexpr int kColumns = kBanks;  // words of a row, which meets every bank once
constexpr int kTileWords = kRows * kColumns;
static_assert(kTileWords == kBlock * kLoads, "each thread brings as many words as it makes loads");

struct Problem {
  std::int64_t blocks;
  int passes;
  int stride;
};

// Each thread adds up the words that it brought to the tile, so that all of the input counts, and
// those that its loads gave it. Variants whose loads give other words have sums of their own.
struct Data {
  std::uint32_t* in;  // a tile per block
  std::uint32_t *contiguous, *broadcast, *strided_4b, *strided_8b, *strided_16b, *column, *matrix;
};

using Family = FamilyOf<Problem, Data>;
using Variant = Family::Variant;

// ---- the kernel, the same for all variants

// Order says which word of the tile a thread's i-th load names, Layout where that word lies, Load
// what the thread then gets. At least four blocks per SM: 32 warps with eight loads in flight each.
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
#pragma unroll 1  // of two passes in a row, ptxas makes one ldmatrix for both
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

// Volatile for both compilers: nvcc would move an asm that is not, and ptxas reads once for two
// passes in a row what no ld.volatile reads.
template <int kWords>
struct Words {
  static constexpr int kNamed = kWords;  ///< words at the address that a lane names
  static constexpr int kGot = kWords;    ///< words that a lane gets

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

  /// The w-th word that a thread gets from its i-th load.
  template <class Order>
  static __host__ __device__ int word(const Order& order, int thread, int i, int w) {
    return order(thread, i) + w;
  }
};

// Rows one behind the other, `kPadding` unused words after each.
template <int kPadding>
struct Rows {
  static constexpr int kPitch = kColumns + kPadding;
  static __host__ __device__ unsigned place(unsigned word) {
    return word / kColumns * kPitch + word % kColumns;
  }
};

// Lanes `stride` words apart. Loads begin 16 words apart, so that all of them, at the largest
// stride, stay within the tile.
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
              "the last lane's word lies in the tile");

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

// What the requests of a pass ask of the banks, by the definition of banks.
struct BankUse {
  int requests = 0;
  int wavefronts = 0;
  int most_words = 0;  ///< different ones, of a bank, that lanes ask for at a time
};

template <class Load, class Layout, class Order>
BankUse bank_use(const Order& order) {
  constexpr int kAtATime = kWarp / Load::kNamed;  // lanes
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
      use.most_words = std::max(use.most_words, most);
    }
  }
  return use;
}

MetricValues metrics(const Problem& p, const DeviceSpec& device, const BankUse& use) {
  const auto requests = [&](std::int64_t blocks) {
    return static_cast<double>(blocks) * p.passes * use.requests;
  };
  return {{"conflict_degree", use.most_words},
          {"wavefronts_per_request", static_cast<double>(use.wavefronts) / use.requests},
          {"requests", requests(p.blocks)},
          {"requests_per_sm", requests(ceil_div(p.blocks, device.sm_count))}};
}

// An output, by its name: the sums of the variants whose loads give the same words.
using Sums = std::uint32_t* Data::*;
struct Output {
  const char* name;
  Sums sums;
};

// `order` makes the Order of a problem.
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
// Neighbouring lanes load neighbouring words of 4 bytes: each bank has one word to give, and a
// request is one wavefront, 128 bytes per clock. shared_load_wavefronts is the number of requests.
// held: bank_conflict = 1 at passes=1

constexpr Output kContiguous{"contiguous", &Data::contiguous};

Variant contiguous() {
  return reading<Words<1>, Rows<0>>("contiguous", "", kContiguous,
                                    [](const Problem&) { return Strided{1}; });
}

// ---- broadcast
//
// All lanes load one word, as where all look up the same entry of a table. Its bank reads it once
// and all lanes get it: one wavefront. Lanes that meet in a bank take no further one as long as
// they want the same word of it. shared_load_wavefronts stays.

constexpr Output kBroadcast{"broadcast", &Data::broadcast};

Variant broadcast() {
  Variant v = reading<Words<1>, Rows<0>>("broadcast", "contiguous", kBroadcast,
                                         [](const Problem&) { return Strided{0}; });
  v.expected_changes = {{"shared_load_wavefronts", Direction::unchanged}};
  return v;
}

// ---- load_4b
//
// Lanes load words `stride` apart, as one field of an array of structures is read. The words of
// gcd(stride, 32) lanes lie in each bank that is used at all, and come one per clock:
// shared_load_wavefronts grows by that factor. It is 1 at odd strides, whose lanes meet every bank
// once, and 32 where all of them meet in one bank.
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
// 8 bytes per lane at the same stride: two words of each structure come at once. 16 lanes are
// served at a time, and each of them uses two banks. That makes as many wavefronts per request as
// load_4b takes, for 8 bytes per lane in place of 4: shared_load_wavefronts stays. The price is
// alignment, an address that 8 divides.

constexpr Output kStrided8b{"strided_8b", &Data::strided_8b};

// Lanes' addresses are multiples of the bytes that they load.
template <int kWords>
std::optional<std::string> misaligned(const Problem& p, const DeviceSpec&) {
  if (p.stride % kWords == 0) return std::nullopt;
  return "needs stride divisible by " + std::to_string(kWords) + ": a load of " +
         std::to_string(4 * kWords) + " bytes needs an address that these divide";
}

Variant load_8b() {
  Variant v = reading<Words<2>, Rows<0>>("load_8b", "load_4b", kStrided8b, strided);
  v.expected_changes = {{"shared_load_wavefronts", Direction::unchanged}};
  v.unsupported = misaligned<2>;
  return v;
}

// ---- load_16b
//
// 16 bytes per lane at the same stride: 8 lanes are served at a time, four banks per lane. A
// request takes as many wavefronts as one of load_4b once more, for 16 bytes per lane in place of
// 4: shared_load_wavefronts stays. At a stride of 4 no lanes meet in a bank, where those of load_4b
// meet in fours.
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
// Lanes load a column of the tile, a word of 32 rows each, as a transpose does. Rows are 32 words
// long, so that a column lies in one bank, which gives its words one by one:
// shared_load_wavefronts is 32 per request.
// held: metric.wavefronts_per_request = 32; bank_conflict = 32 at passes=1

constexpr Output kColumn{"column", &Data::column};

// Each warp reads four columns of the upper 32 rows, and the same of the lower.
struct Columns {
  __host__ __device__ int operator()(int thread, int i) const {
    constexpr int kOfWarp = kColumns / (kBlock / kWarp);
    const int row = i / kOfWarp * kWarp + thread % kWarp;
    const int column = thread / kWarp * kOfWarp + i % kOfWarp;
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
// One unused word after each row: a row begins one bank behind the row above, so that a column lies
// in all 32 banks, and a row still does. shared_load_wavefronts falls to one per request. It costs
// a 32nd more shared memory, and rows that no longer begin at multiples of 16 bytes.
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
// A swizzle: the word of row r and column c lies in column c ^ (r % 32) of its row. For one row
// that is a permutation of the columns, and for one column a permutation of the banks as r grows:
// both lie in all of them. shared_load_wavefronts falls as by column_padded. No memory is unused;
// the price is an XOR wherever an address is made, here once before the passes.
// held: bank_conflict = 1 at passes=1; shared_bytes_per_block = 1 × column

// Units of kUnit words are permuted within their row, by the row.
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
// ldmatrix.x4 as products on tensor cores load A: four matrices of 8 rows of 16 bytes, 16 rows of
// the tile by 32 bytes. Eight lanes at a time name the rows of one matrix. These lie 128 bytes
// apart, all in the same four banks, and take a wavefront each: shared_load_wavefronts is 32 per
// request, where its 512 bytes need four.
// held: metric.wavefronts_per_request = 32; bank_conflict = 8 at passes=1

constexpr Output kMatrix{"matrix", &Data::matrix};

struct Matrices {
  static constexpr int kNamed = 4;  ///< the row of a matrix
  static constexpr int kGot = 4;    ///< a word of each matrix

  static __device__ void load(std::uint32_t (&v)[kGot], const std::uint32_t* from) {
    ldmatrix_x4(v, from);
  }
  // Lanes 8w to 8w + 7 name the rows of matrix w; lane 4g + t gets the t-th word of its row g.
  template <class Order>
  static __host__ __device__ int word(const Order& order, int thread, int i, int w) {
    constexpr int kMatrixRows = 8;
    const int lane = thread % kWarp;
    return order(thread - lane + w * kMatrixRows + lane / kNamed, i) + lane % kNamed;
  }
};

// A warp reads one half of the tile's rows, 16 by 8 words at a time.
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
// 16 unused bytes after each row shift the next one by four banks: eight rows lie in all 32, and
// each matrix is one wavefront. shared_load_wavefronts falls to four per request; the tile takes an
// eighth more shared memory.
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
// Unit u of 16 bytes in row r lies in unit u ^ (r % 8): the same unit of eight rows lies in eight
// different ones. shared_load_wavefronts falls as by ldmatrix_padded. No memory is unused and rows
// stay 128 bytes long: so do products lay out their tiles (kernels/common/shared_tile.cuh), and so
// does the 128-byte swizzle of a tensor map.

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

// In the order of kOutputs.
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
           "What does a bank conflict of shared memory cost, and what removes it?");
  f.physics =
      "Shared memory is 32 banks of 4-byte words, and each gives one word per clock to all lanes "
      "that ask for it. A request takes as many wavefronts as the fullest bank has different words "
      "to give: gcd(stride, 32) for words of 4 bytes that lie stride words apart. Where the data "
      "stage is never idle, cycles per request are wavefronts per request, and a layout that "
      "spreads the words of a request over all banks takes the factor back.";
  f.extent("blocks", &Problem::blocks, 528, 1 << 17,
           "blocks of 256 threads, a tile of 8 KiB each; the default gives each of 132 SMs four")
      .integer("passes", &Problem::passes, 1024, 1, 1 << 16, "",
               "times that a block reads its tile")
      .integer("stride", &Problem::stride, 16, 1, Strided::kLargest, "words",
               "distance of neighbouring lanes' words in load_4b, load_8b and load_16b");
  f.input("in", &Data::in, elements);
  for (const Output& output : kOutputs)
    f.output(output.name, output.sums, threads);
  f.metric("conflict_degree", "",
           "most different words that the lanes which are served at a time ask of one bank; 1: no "
           "conflict")
      .metric("wavefronts_per_request", "",
              "wavefronts of one load of a warp, by where its words lie")
      .metric("requests", "", "loads that warps make of the tiles, over all passes")
      .metric("requests_per_sm", "",
              "of the SM with most blocks; cycles over these are cycles per request");
  f.figure("bank_conflicts", "cycles_per_request",
           "Bank conflicts: cycles that a load of a warp takes",
           {{"param.stride", "words between neighbouring lanes"}});
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
