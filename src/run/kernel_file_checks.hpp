// What the runner asks about users' kernel files. Built-in families need none of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "family/registry.hpp"
#include "record/measurement.hpp"

namespace gpuexp {

/// The verification that a family needs in addition. `files` may be null.
ExactVerification exact_verification(const KernelFiles* files, const Family& family,
                                     const Values& values);

/// Why a failed verification is an error of the check instead of the kernel: a wrong element has no
/// expected value. Empty if all have one. `verified` is `family` or ExactVerification::family.
std::string check_error(const KernelFiles* files, const Family& verified, const Values& values,
                        std::uint64_t seed, const Verification& verification);

/// Names of the elements of the family's buffers: with an index for each extent in a kernel file,
/// else with one index.
ElementName element_names(const KernelFiles* files, const Family& family, const Values& values);

/// Names of the outputs whose expected values are the variant's own results (`reference first`).
std::vector<std::string> compared_with_itself(const KernelFiles* files, const Family& family,
                                              const Variant& variant);

/// Whether the expected values of all compared outputs are the variant's own results.
bool has_only_own_results(const KernelFiles* files, const Family& family, const Variant& variant);

/// Why the rows of a variant are unverified: an output has no expected values, or those of the
/// variant itself. Empty if they can pass.
std::string unverified_reason(const KernelFiles* files, const Family& family,
                              const Variant& variant);

/// What a result that is NaN may be due to: a kernel that reads an output without a check, because
/// a pointer that is not const made the buffer an output. Empty if there is no such result or
/// output.
std::string input_hint(const Family& family, const Variant& variant,
                       const Verification& verification);

}  // namespace gpuexp
