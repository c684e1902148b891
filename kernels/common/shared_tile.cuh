// Tiles of a row-major matrix in shared memory: where their bytes lie, and how a block's threads
// bring them in from global memory, zeros beyond the matrix's edge.
#pragma once

#include <type_traits>

#include "kernels/common/cp_async.cuh"

namespace gpuexp {

/// How a tile's rows lie in shared memory, whose 32 banks of 4 bytes span 128 bytes.
enum class TileLayout {
  /// 16 unused bytes after each row shift the next one by four banks. Takes memory, and needs no
  /// knowledge of how the tile is read.
  padded,
  /// 16-byte columns are permuted (xor) by the row, so that the same column of 8 consecutive rows
  /// lies in 8 different places of the 128 bytes: what ldmatrix reads at once.
  swizzled,
  /// Pairs of 16-byte columns are permuted by the row, so that the same 32 bytes of 4 consecutive
  /// rows lie in 4 different places: a tf32 fragment of B, 4 rows of 8 words, which ldmatrix cannot
  /// transpose.
  swizzled_pairs,
};

template <int kRows_, int kRowBytes_, TileLayout kLayout>
struct SharedTile {
  static constexpr int kRows = kRows_;
  static constexpr int kRowBytes = kRowBytes_;
  static constexpr int kPitch = kRowBytes + (kLayout == TileLayout::padded ? 16 : 0);
  static constexpr int kBytes = kRows * kPitch;

  /// Place of byte `byte` of row `row`; bytes stay together in groups of 16.
  __host__ __device__ static constexpr int offset(int row, int byte) {
    const unsigned r = static_cast<unsigned>(row);
    if constexpr (kLayout == TileLayout::swizzled) {
      // Rows of 64 bytes lie two to a span of the banks and permute four columns only.
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

/// The part of a row-major matrix in global memory that a tile is filled from. Rows and bytes
/// beyond what is left of the matrix count as zeros; both may be negative.
struct Window {
  const char* base;  ///< the matrix: an address that may be formed whatever is left
  const char* data;  ///< the tile's first byte
  int pitch;         ///< bytes from row to row
  int rows;          ///< left of the matrix, from the tile's first row
  int row_bytes;     ///< left of a row, from the tile's first byte

  __device__ bool holds(int row, int byte) const { return row < rows && byte < row_bytes; }
  /// Offsets within a tile fit in 32 bits: a few hundred rows of less than 2^20 bytes.
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

/// kThreads threads walking over a tile in units, neighbouring lanes on neighbouring units of a
/// row, each thread at the same bytes of every row that it comes to. A unit is 16 bytes, the most
/// that a lane can move, or 8, where every row of the matrix begins at a multiple of that. A unit
/// of 4 bytes suits rows of any whole number of 2-byte elements.
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
                "a tile is a whole number of passes");
  static_assert(kRowsPerPass % 2 == 0, "all rows of a thread are odd, or all even");

  __device__ static int row(int pass) {
    return static_cast<int>(threadIdx.x) / kUnitsPerRow + pass * kRowsPerPass;
  }
  __device__ static int byte() { return static_cast<int>(threadIdx.x) % kUnitsPerRow * kUnitBytes; }

  /// Whether this thread can move its units whole. In a matrix of 2-byte elements whose rows have
  /// odd length, every other row lies one element off the words of 4 bytes, and the last word of a
  /// row holds one element only. Tiles start at even rows and elements.
  __device__ static bool whole(const Window& w) {
    return !kAnyRows || (row(0) * w.pitch % 4 == 0 && w.row_bytes - byte() != 2);
  }

  /// A unit on its way through registers. One of 4 bytes keeps its two elements apart until it is
  /// stored: putting them together any earlier would wait for memory. A whole word is a low half
  /// that fills all bits.
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

/// Moves a tile through registers: load() sends the reads off, store() waits for them, so that
/// whatever stands between the two hides their latency.
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

/// Moves tiles by cp.async, each in kSlices slices, so that a loop can spread the copies over its
/// body. begin() starts a slice. cp.async moves no less than 4 aligned bytes: units that are not
/// whole go through registers, and into the tile by the end() of the slice, which must come before
/// its next begin(), after work that takes as long as memory does.
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

  /// Takes the tile that was given to begin().
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
