// Kernels that copy boxes of tensors, and ones that call functions by pointers.
#pragma once

#include <array>

#include "family/step.hpp"

namespace gpuexp::test {

using BoxPlace = std::array<int, 5>;

/// The box at a place, as it lies in shared memory, to `out`.
Steps load_box(const TensorMap& map, const BoxPlace& place, unsigned* out);
/// Each of three blocks of a cluster gets it from the second one.
Steps multicast_box(const TensorMap& map, const BoxPlace& place, unsigned* out);
/// Words of `in`, as they lie in shared memory, into the tensor.
Steps store_box(const TensorMap& map, const BoxPlace& place, const unsigned* in);

enum class BoxReduction { add, min, max, increment, decrement, with_and, with_or, with_xor };
/// The tensor's 256 words are `in` first, and then changed by the words that follow.
Steps reduce_box(const TensorMap& map, const BoxPlace& place, BoxReduction how, const unsigned* in,
                 unsigned* tensor);

/// With the fault, the line of tensor_kernels.cu that has its name in a comment is the one to be
/// reported. Of a tensor of 16 × 16 words in `out`:
/// its map says that it has one row more.
Steps tensor_overrun(bool is_faulty, unsigned* out);
/// The box in shared memory is not aligned.
Steps tensor_misaligned(bool is_faulty, unsigned* out);
/// The box begins at a multiple of 16 bytes of its rows, or not.
Steps tensor_coordinate(bool is_faulty, unsigned* out);
/// The first row of what is stored is that of the tensor, or the one before it.
Steps tensor_below(bool is_faulty, unsigned* out);
/// What is stored was not written.
Steps tensor_unwritten(bool is_faulty, unsigned* out);
/// The map has another number of dimensions.
Steps tensor_dimensions(bool is_faulty, unsigned* out);

/// Each thread of 96 calls one of three functions by a pointer from a table, in 3 ways.
Steps call_by_pointer(const unsigned* in, unsigned* out);
/// A function that calls itself, and one whose pointer is an argument.
Steps call_recursively(const unsigned* in, unsigned* out);
/// A null pointer, for one thread.
Steps call_of_nothing(bool is_faulty, unsigned* out);

}  // namespace gpuexp::test
