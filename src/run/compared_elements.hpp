// Selection of the output elements that an executor compares with a reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "device/device_spec.hpp"
#include "family/element_draw.hpp"
#include "family/family.hpp"

namespace gpuexp {

/// Indices of the buffers whose contents a launch of the variant must not use: the outputs that it
/// writes, and workspaces.
std::vector<std::size_t> poisoned_before(const Family& family, const Variant& variant);

/// Indices of the outputs that the variant writes and that have a reference.
std::vector<std::size_t> compared_outputs(const Family& family, const Variant& variant);

/// Names of the outputs that the variant writes and that have no reference. If there is one, rows
/// of the variant are unverified.
std::vector<std::string> unverified_outputs(const Family& family, const Variant& variant);

/// Maximum time of a reference on a GPU at reference_rate(). On an H200, this is enough for all
/// elements of the configs' largest products, 10^12 multiply-adds, and for one element in a
/// hundred of attention over 131072 tokens.
inline constexpr double kMaxReferenceSeconds = 0.5;

/// Operations per second of a reference on the device: the rate of a plain fp64 kernel per SM and
/// cycle, measured on an H200, or the datasheet's fp64 rate if that is lower. If the datasheet has
/// no fp64 rate, the lowest fp64 rate of any GPU replaces it.
double reference_rate(const DeviceSpec& device);

/// Number of operations of the reference: as declared by the family, else as performed by the
/// variant.
double reference_operations(const Family& family, const void* problem, const Variant& variant);

/// Share of the variant's output elements whose references together need at most `max_operations`;
/// 1 if the references of all elements do.
double affordable_share(const Family& family, const void* problem, const Variant& variant,
                        double max_operations);

/// The same for host loops, which may compute shared values once (Family::host_operations).
double host_reference_operations(const Family& family, const void* problem, const Variant& variant);
double affordable_host_share(const Family& family, const void* problem, const Variant& variant,
                             double max_operations);

/// Draws from the `available` elements that a launch has written about share × count elements, or
/// more (family/draw_limits.hpp).
ElementDraw affordable_draw(double share, std::int64_t count, std::int64_t available,
                            std::uint64_t seed);

/// The same for a launch that writes all elements. Outputs without NaN are compared completely,
/// because an unwritten element can be at any position, unless that takes more than kMaxDrawTime
/// times the intended time.
ElementDraw affordable_draw(const Buffer& output, const void* problem, double share,
                            std::uint64_t seed);

/// True if an output element is NaN until a launch writes it. Integers have no NaN, and an in-out
/// buffer holds the values that reset() stored: there, an unwritten element shows only as a wrong
/// value.
bool is_nan_unwritten(const Buffer& output, const void* problem);

/// True if the reference computes each element independently: one kernel with a host loop per
/// array, and no other step.
bool is_elementwise(const Steps& reference, const std::vector<const double*>& arrays);

}  // namespace gpuexp
