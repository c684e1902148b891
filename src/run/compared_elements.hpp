// How many elements of an output are compared with their reference: one rule for every executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/device_spec.hpp"
#include "family/element_draw.hpp"
#include "family/family.hpp"

namespace gpuexp {

/// Indices of the buffers that the variant fills.
std::vector<std::size_t> written_by(const Family& family, const Variant& variant);

/// What a reference on a GPU may take at reference_rate(). The largest products of the configs,
/// 10^12 multiply-adds, are still compared whole on an H200; of attention over 131072 tokens, one
/// element in a hundred is.
inline constexpr double kMostReferenceSeconds = 0.5;

/// Operations per second of a reference on the device: what a plain fp64 kernel, which waits for
/// its loads, was measured to reach, or the datasheet's rate where that is lower. Where the
/// datasheet has none, the lowest that a GPU has.
double reference_rate(const DeviceSpec& device);

/// Of the reference of what the variant writes: those that the family declares, or as many as the
/// variant's own.
double reference_operations(const Family& family, const void* problem, const Variant& variant);

/// The share of the variant's outputs whose reference takes at most so many operations; 1: all.
double affordable_share(const Family& family, const void* problem, const Variant& variant,
                        double most_operations);

/// That share of an output of `count` elements, or a few thousand elements if these are more, drawn
/// from the `available` ones that a launch has written.
ElementDraw affordable_draw(double share, std::int64_t count, std::int64_t available,
                            std::uint64_t seed);

/// Whether an element of the output is NaN unless a launch writes it. Integers have no NaN, and
/// what is an input, too, holds what it was reset to: of these, only a reference shows what is
/// missing.
bool is_nan_unwritten(const Buffer& output, const void* problem);

/// Whether these are the steps of a reference that computes each of the arrays, none of whose
/// elements depends on another one: some can then be had without the rest.
bool is_elementwise(const Steps& reference, const std::vector<const double*>& arrays);

}  // namespace gpuexp
