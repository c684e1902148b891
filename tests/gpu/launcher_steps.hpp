// Steps for launcher_test.cpp, whose kernels nvcc compiles.
#pragma once

#include "family/step.hpp"

namespace gpuexp::test {

/// first = 5, slowly, on a stream of its own; then, on another that waits for it, second = first
/// + 2.
Steps slow_then_waiting(int* d_first, int* d_second);
/// to = 7, slowly, on a stream that is not the first.
Steps slow_on_other_stream(int* d_to);
/// Adds 5: four blocks in clusters of two with an access-policy window and programmatic launch, one
/// cooperative block.
Steps with_every_attribute(int* d_count, const void* window, std::int64_t window_bytes);
/// One block reads a box of the map at (x, y) into shared memory and writes its elements to
/// d_to, in the order in which they lie there. For compute capability 9.0 and higher.
Steps read_box(float* d_to, const TensorMap& map, int x, int y);
/// An empty grid.
Steps over_nothing(int* d_count);

}  // namespace gpuexp::test
