// Matrices of bf16 that several GPUs share: who has which part, and how parts are moved.
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

/// Parts begin at multiples of so many elements of bf16: at 16 bytes.
constexpr std::int64_t kPartUnit = 8;

/// Part i of so many, which differ by a unit, and the last by what is left.
inline Range even_part(std::int64_t extent, int parts, int i) {
  const auto begin = [&](int of) {
    return of == parts ? extent : extent / kPartUnit * of / parts * kPartUnit;
  };
  return {begin(i), begin(i + 1)};
}

/// Of bytes that go both ways, from one GPU's memory to another's.
inline Phase link_phase(const char* what, LinkUse by, double link_bytes) {
  Phase phase;
  phase.what = what;
  phase.by = by;
  phase.link_bytes = link_bytes;
  phase.both_ways = true;
  phase.memory_bytes = 2 * link_bytes;
  return phase;
}

/// Of a kernel that does nothing but wait.
inline Phase waiting_phase(const char* what, int signals, int memory_loads) {
  Phase phase;
  phase.what = what;
  phase.signals = signals;
  phase.memory_loads = memory_loads;
  return phase;
}

/// Of a phase that is one kernel: so that its time is found in the kernel's code. Only shape and
/// kernel of the step count, no arguments.
inline void name_kernel(Phase& phase, const Steps& step) {
  const Shape& shape = std::get<KernelStep>(step.all().front().action).shape;
  phase.kernel = shape.kernel;
  phase.grid = shape.grid;
}

/// The largest value of a figure of the ranks.
template <class Figure>
std::int64_t most_of_ranks(int ranks, Figure figure) {
  std::int64_t largest = 0;
  for (int r = 0; r < ranks; ++r)
    largest = std::max<std::int64_t>(largest, figure(r));
  return largest;
}

/// The other ranks, the next one first: at no time do all send to one.
inline std::vector<int> peers_from(int rank, int ranks) {
  std::vector<int> peers;
  for (int i = 1; i < ranks; ++i)
    peers.push_back((rank + i) % ranks);
  return peers;
}

/// Elements of results as launches find them: what no result is written to keeps them.
constexpr float kUntouched = 1.5f;
template <class T>
struct Untouched {
  __host__ __device__ T operator()(std::int64_t) const { return from_float<T>(kUntouched); }
};

/// Rows × columns from one place to others; of matrices of one pitch.
template <class T>
struct Move {
  const T* from;
  std::vector<T*> to;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t pitch;
  bool is_whole() const { return columns == pitch; }  ///< no gaps between rows
};

/// By a copy engine, one after the other.
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

/// Appends steps that run in a stream of their own, once one of those before is done.
inline void append(Steps& steps, Steps more, int stream, std::size_t after) {
  for (Step& step : more.all()) {
    step.stream = stream;
    step.after = {after};
    steps.add(std::move(step));
  }
}

}  // namespace gpuexp
