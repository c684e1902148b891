// What the runner asks about users' kernel files. Built-in families need none of it.
#pragma once

#include <cstdint>
#include <string>

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

}  // namespace gpuexp
