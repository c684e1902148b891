// Tiles of a row-major matrix in shared memory: layouts, and copies from global memory by the
// threads of a block. Elements outside the matrix become zeros.
#pragma once

#include <type_traits>

#include "kernels/common/cp_async.cuh"

namespace gpuexp {

/// Layout of a tile's rows in shared memory, whose 32 banks of 4 bytes span 128 bytes.
enum class TileLayout {
  /// 16 bytes of padding after each row put the same 16 bytes of 8 consecutive rows into different
  /// banks. This layout needs more memory than the swizzled layouts.
  padded,
  /// An xor with the row index permutes the 16-byte columns of each row. ldmatrix reads the same
  /// column of 8 consecutive rows at once; the xor puts these 8 units into different banks.
  swizzled,
  /// An xor with the row index permutes pairs of 16-byte columns. The same 32 bytes of 4
  /// consecutive rows then are in different banks. These 4 rows of 8 words are a tf32 fragment of
  /// B, which ldmatrix cannot transpose.
  swizzled_pairs,
};

template <int kRows_, int kRowBytes_, TileLayout kLayout>
struct SharedTile {
  static constexpr int kRows = kRows_;
  static constexpr int kRowBytes = kRowBytes_;
  static constexpr int kPitch = kRowBytes + (kLayout == TileLayout::padded ? 16 : 0);
  static constexpr int kBytes = kRows * kPitch;

  /// Byte offset in shared memory of byte `byte` of row `row`. Aligned 16-byte units stay
  /// contiguous.
  __host__ __device__ static constexpr int offset(int row, int byte) {
    const unsigned r = static_cast<unsigned>(row);
    if constexpr (kLayout == TileLayout::swizzled) {
      // Rows of 64 bytes: two rows cover all banks, and each row permutes only four 16-byte
      // columns.
      constexpr unsigned kRowsPerSpan = kRowBytes < 128 ? 128 / kRowBytes : 1;
      constexpr unsigned kColumns = kRowBytes < 128 ? kRowBytes / 16 : 8;
      return row * kPitch + (byte ^ static_cast<int>(r / kRowsPerSpan % kColumns * 16));
    } else if constexpr (kLayout == TileLayout::swizzled_pairs) {
      return row * kPitch + (byte ^ static_cast<int>(r % 4 * 32));
    } else {
      return row * kPitch + byte;
    }
  }
};

/// The window of a row-major matrix in global memory from which a tile is copied. Rows and bytes
/// outside the matrix are copied as zeros. `rows` and `row_bytes` may be negative.
struct Window {
  const char* base;  ///< start of the matrix, always a valid address
  const char* data;
  int pitch;      ///< bytes from the start of a row to the start of the next row
  int rows;       ///< number of rows from the tile's first row to the end of the matrix
  int row_bytes;  ///< number of bytes from the tile's first byte to the end of the row

  __device__ bool holds(int row, int byte) const { return row < rows && byte < row_bytes; }
  /// 32-bit offsets suffice: a tile has at most a few hundred rows of less than 2^20 bytes.
  __device__ const char* at(int row, int byte) const { return data + (row * pitch + byte); }
  __device__ void move_right(int bytes) {
    data += bytes;
    row_bytes -= bytes;
  }
  __device__ void move_down(int tile_rows) {
    data += static_cast<std::int64_t>(tile_rows) * pitch;
    rows -= tile_rows;
  }
};

/// Assignment of a tile's units to kThreads threads. Neighbouring lanes have neighbouring units
/// of a row, and a thread has the same bytes of each of its rows. Units of 16 bytes, the maximum
/// per lane, and of 8 bytes require that every row of the matrix starts at a multiple of the
/// unit. Units of 4 bytes support rows with any number of 2-byte elements.
template <class Tile, int kThreads, int kUnitBytes>
struct TileWalk {
  static constexpr bool kAnyRows = kUnitBytes == 4;
  using Unit = std::conditional_t<kUnitBytes == 16, uint4,
                                  std::conditional_t<kUnitBytes == 8, uint2, std::uint32_t>>;
  static_assert(sizeof(Unit) == kUnitBytes, "a unit is 16, 8 or 4 bytes");
  static constexpr int kUnitsPerRow = Tile::kRowBytes / kUnitBytes;
  static constexpr int kRowsPerPass = kThreads / kUnitsPerRow;
  static constexpr int kPasses = Tile::kRows / kRowsPerPass;
  static_assert(kThreads % kUnitsPerRow == 0 && Tile::kRows % kRowsPerPass == 0,
                "a tile must be a whole number of passes");
  static_assert(kRowsPerPass % 2 == 0, "the rows of a thread must be all odd or all even");

  __device__ static int row(int pass) {
    return static_cast<int>(threadIdx.x) / kUnitsPerRow + pass * kRowsPerPass;
  }
  __device__ static int byte() { return static_cast<int>(threadIdx.x) % kUnitsPerRow * kUnitBytes; }

  /// Whether this thread can access its units as whole words. In a matrix of 2-byte elements with
  /// rows of odd length, every second row is misaligned to 4-byte words by one element, and the
  /// last word of a row has only one element. Tiles start at even rows and elements.
  __device__ static bool whole(const Window& w) {
    return !kAnyRows || (row(0) * w.pitch % 4 == 0 && w.row_bytes - byte() != 2);
  }

  /// A 4-byte unit in registers. Its two elements stay in separate registers until the store,
  /// because combining them would wait for the loads. `low` may contain a whole word.
  struct Halves {
    std::uint32_t low;
    std::uint32_t high;
  };
  using Staged = std::conditional_t<kAnyRows, Halves, Unit>;

  __device__ static Staged load(const Window& w, int pass) {
    const int r = row(pass);
    const Unit zeros{};
    const Unit unit = w.holds(r, byte()) ? *reinterpret_cast<const Unit*>(w.at(r, byte())) : zeros;
    if constexpr (kAnyRows) {
      return {unit, 0};
    } else {
      return unit;
    }
  }
  __device__ static Halves load_halves(const Window& w, int pass) {
    const auto half = [&](int at) -> std::uint32_t {
      const int r = row(pass);
      return w.holds(r, at) ? *reinterpret_cast<const std::uint16_t*>(w.at(r, at)) : 0;
    };
    return {half(byte()), half(byte() + 2)};
  }
  __device__ static void store(char* tile, int pass, const Staged& staged) {
    Unit* const to = reinterpret_cast<Unit*>(tile + Tile::offset(row(pass), byte()));
    if constexpr (kAnyRows) {
      *to = staged.low | staged.high << 16;
    } else {
      *to = staged;
    }
  }
};

/// Copies a tile through registers. load() issues the loads and store() waits for their results,
/// so code between the two calls overlaps with the latency.
template <class Tile, int kThreads, int kUnitBytes>
class RegisterCopy {
  using Walk = TileWalk<Tile, kThreads, kUnitBytes>;

 public:
  __device__ void load(const Window& w) {
    if (Walk::whole(w)) {
#pragma unroll
      for (int pass = 0; pass < Walk::kPasses; ++pass)
        staged_[pass] = Walk::load(w, pass);
    } else if constexpr (Walk::kAnyRows) {
#pragma unroll
      for (int pass = 0; pass < Walk::kPasses; ++pass)
        staged_[pass] = Walk::load_halves(w, pass);
    }
  }

  __device__ void store(char* tile) const {
#pragma unroll
    for (int pass = 0; pass < Walk::kPasses; ++pass)
      Walk::store(tile, pass, staged_[pass]);
  }

 private:
  typename Walk::Staged staged_[Walk::kPasses];
};

/// Copies tiles by cp.async, each in kSlices slices, so that a loop can distribute the copies
/// over its body. begin() starts the copy of a slice. cp.async copies at least 4 aligned bytes,
/// so begin() loads units that are not whole words into registers, and end() stores them. The
/// caller must call end() before the next begin() of the slice, and after enough work to hide the
/// latency of the loads.
template <class Tile, int kThreads, int kUnitBytes, int kSlices>
class AsyncCopy {
  using Walk = TileWalk<Tile, kThreads, kUnitBytes>;

 public:
  __device__ void begin(char* tile, const Window& w, int slice) {
    halves_pending_[slice] = !Walk::whole(w);
    if (!halves_pending_[slice]) {
#pragma unroll
      for (int pass = first(slice); pass < first(slice + 1); ++pass) {
        const int row = Walk::row(pass);
        const bool valid = w.holds(row, Walk::byte());
        cp_async<kUnitBytes>(tile + Tile::offset(row, Walk::byte()),
                             valid ? w.at(row, Walk::byte()) : w.base, valid);
      }
    } else if constexpr (Walk::kAnyRows) {
#pragma unroll
      for (int pass = first(slice); pass < first(slice + 1); ++pass)
        staged_[pass] = Walk::load_halves(w, pass);
    }
  }

  __device__ void end(char* tile, int slice) {
    if constexpr (Walk::kAnyRows) {
      if (!halves_pending_[slice]) return;
      halves_pending_[slice] = false;
#pragma unroll
      for (int pass = first(slice); pass < first(slice + 1); ++pass)
        Walk::store(tile, pass, staged_[pass]);
    }
  }

 private:
  __device__ static constexpr int first(int slice) {
    return slice * Walk::kPasses / kSlices;
  }
  bool halves_pending_[kSlices] = {};
  typename Walk::Staged staged_[Walk::kAnyRows ? Walk::kPasses : 1];
};

}  // namespace gpuexp
