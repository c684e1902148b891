// Steps for launcher_test.cpp, with kernels compiled by nvcc.
#pragma once

#include "family/step.hpp"

namespace gpuexp::test {

/// Slowly stores 5 to *d_first on one stream, then *d_first + 2 to *d_second on another, which
/// waits.
Steps slow_then_waiting(int* d_first, int* d_second);
/// Slowly stores 7 to *d_to on a stream other than the first.
Steps slow_on_other_stream(int* d_to);
/// Adds 5: four blocks in clusters of two, with an access policy window and programmatic launch,
/// and one cooperative block.
Steps with_every_attribute(int* d_count, const void* window, std::int64_t window_bytes);
/// One block copies the box at (x, y) to shared memory and stores its elements to d_to in that
/// layout. Requires compute capability 9.0.
Steps read_box(float* d_to, const TensorMap& map, int x, int y);
/// An empty grid.
Steps over_nothing(int* d_count);

}  // namespace gpuexp::test
