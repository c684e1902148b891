// Number of output elements that are compared with a reference; all executors use this rule.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device_spec.hpp"
#include "family/element_draw.hpp"
#include "family/family.hpp"

namespace gpuexp {

/// Indices of the output buffers that the variant writes.
std::vector<std::size_t> written_by(const Family& family, const Variant& variant);

/// Maximum time of a reference on a GPU at reference_rate(). On an H200 this covers the largest
/// products of the configs, 10^12 multiply-adds, completely, and one element in a hundred of
/// attention over 131072 tokens.
inline constexpr double kMaxReferenceSeconds = 0.5;

/// Operations per second of a reference on the device: the measured rate of a plain fp64 kernel
/// that waits for its loads, or the datasheet's fp64 rate if lower. If the datasheet has no fp64
/// rate, the lowest rate of any GPU is assumed.
double reference_rate(const DeviceSpec& device);

/// Operations of the reference for the variant's outputs: the number that the family declares, else
/// the variant's own number of operations.
double reference_operations(const Family& family, const void* problem, const Variant& variant);

/// The share of the variant's output elements whose reference needs at most `max_operations`; 1
/// means all.
double affordable_share(const Family& family, const void* problem, const Variant& variant,
                        double max_operations);

/// Draws that share of the `count` elements, but at least a few thousand, from the `available`
/// elements that a launch has written.
ElementDraw affordable_draw(double share, std::int64_t count, std::int64_t available,
                            std::uint64_t seed);

/// True if an element of the output is NaN unless a launch writes it. Integers have no NaN, and an
/// in-out buffer holds the values that reset() stored; in these outputs, only the reference reveals
/// missing elements.
bool is_nan_unwritten(const Buffer& output, const void* problem);

/// True if the steps compute every element of the arrays independently, so that some elements can
/// be computed without the others.
bool is_elementwise(const Steps& reference, const std::vector<const double*>& arrays);

}  // namespace gpuexp
