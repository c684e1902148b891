// Kernels that copy boxes of tensors, and kernels that call functions through pointers.
#pragma once

#include <array>

#include "family/step.hpp"

namespace gpuexp::test {

using BoxPlace = std::array<int, 5>;

/// Copies the box at a place to `out`, in its shared memory layout.
Steps load_box(const TensorMap& map, const BoxPlace& place, unsigned* out);
/// Each of three blocks of a cluster receives the box from the second one.
Steps multicast_box(const TensorMap& map, const BoxPlace& place, unsigned* out);
/// Stores words of `in`, in shared memory layout, into the tensor.
Steps store_box(const TensorMap& map, const BoxPlace& place, const unsigned* in);

enum class BoxReduction { add, min, max, increment, decrement, with_and, with_or, with_xor };
/// Initializes the tensor with 256 words of `in` and reduces the words after them into it.
Steps reduce_box(const TensorMap& map, const BoxPlace& place, BoxReduction how, const unsigned* in,
                 unsigned* tensor);

/// With the fault, the simulator must report the line of tensor_kernels.cu that names it in a
/// comment. Tensors have 16 × 16 words in `out`. Here the map has one row too many.
Steps tensor_overrun(bool is_faulty, unsigned* out);
/// The box in shared memory is misaligned.
Steps tensor_misaligned(bool is_faulty, unsigned* out);
/// The box starts at a byte offset of its rows that is not a multiple of 16.
Steps tensor_coordinate(bool is_faulty, unsigned* out);
/// The first stored row is the row before the tensor's first one.
Steps tensor_below(bool is_faulty, unsigned* out);
/// Stores shared memory that was not written.
Steps tensor_unwritten(bool is_faulty, unsigned* out);
/// The map has a different number of dimensions.
Steps tensor_dimensions(bool is_faulty, unsigned* out);

/// Each of 96 threads calls one of three functions through a pointer from a table, in 3 ways.
Steps call_by_pointer(const unsigned* in, unsigned* out);
/// A function that calls itself, and one whose pointer is an argument.
Steps call_recursively(const unsigned* in, unsigned* out);
/// One thread calls a null pointer.
Steps call_of_nothing(bool is_faulty, unsigned* out);

}  // namespace gpuexp::test
