// bf16 matrices that several GPUs share: the part of each rank, and copies between ranks.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "family/phase.hpp"
#include "kernels/common/convert.cuh"
#include "kernels/common/launch.cuh"

namespace gpuexp {

struct Range {
  std::int64_t first;
  std::int64_t end;
  std::int64_t size() const { return end - first; }
};

/// Parts start at multiples of 8 bf16 elements: 16 bytes.
constexpr std::int64_t kPartUnit = 8;

/// Range of part i of `parts`. Sizes differ by at most one unit, plus the remainder in the last
/// part.
inline Range even_part(std::int64_t extent, int parts, int i) {
  const auto begin = [&](int of) {
    return of == parts ? extent : extent / kPartUnit * of / parts * kPartUnit;
  };
  return {begin(i), begin(i + 1)};
}

/// A phase that transfers `link_bytes` bytes between GPUs, in each direction.
inline Phase link_phase(const char* what, LinkUse by, double link_bytes) {
  Phase phase;
  phase.what = what;
  phase.by = by;
  phase.link_bytes = link_bytes;
  phase.both_ways = true;
  phase.memory_bytes = 2 * link_bytes;
  return phase;
}

inline Phase waiting_phase(const char* what, int signals, int memory_loads) {
  Phase phase;
  phase.what = what;
  phase.signals = signals;
  phase.memory_loads = memory_loads;
  return phase;
}

/// Sets the phase's kernel and grid to the step's kernel and grid, so that the model computes the
/// phase's time from the kernel's machine code.
inline void name_kernel(Phase& phase, const Steps& step) {
  const Shape& shape = std::get<KernelStep>(step.all().front().action).shape;
  phase.kernel = shape.kernel;
  phase.grid = shape.grid;
}

template <class Figure>
std::int64_t max_of_ranks(int ranks, Figure plot) {
  std::int64_t largest = 0;
  for (int r = 0; r < ranks; ++r)
    largest = std::max<std::int64_t>(largest, plot(r));
  return largest;
}

/// The other ranks, starting with the next one, so that not all ranks send to the same rank at
/// once.
inline std::vector<int> peers_from(int rank, int ranks) {
  std::vector<int> peers;
  for (int i = 1; i < ranks; ++i)
    peers.push_back((rank + i) % ranks);
  return peers;
}

/// Initial value of result elements, which detects elements that a variant does not write.
constexpr float kUntouched = 1.5f;
template <class T>
struct Untouched {
  __host__ __device__ T operator()(std::int64_t) const { return from_float<T>(kUntouched); }
};

/// A rectangle of a matrix, and its destinations in matrices of the same pitch.
template <class T>
struct Move {
  const T* from;
  std::vector<T*> to;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t pitch;
  bool is_whole() const { return columns == pitch; }
};

/// Copies by a copy engine, one destination after another.
template <class T>
Steps copied(const Move<T>& move) {
  constexpr std::int64_t kBytes = sizeof(T);
  Steps steps;
  if (move.rows == 0 || move.columns == 0) return steps;
  for (T* const to : move.to) {
    steps += CopyStep{to,
                      move.from,
                      kBytes * move.columns * (move.is_whole() ? move.rows : 1),
                      move.is_whole() ? 1 : move.rows,
                      kBytes * move.pitch,
                      kBytes * move.pitch};
  }
  return steps;
}

inline void append(Steps& steps, Steps more, int stream, std::size_t after) {
  for (Step& step : more.all()) {
    step.stream = stream;
    step.after = {after};
    steps.add(std::move(step));
  }
}

}  // namespace gpuexp
