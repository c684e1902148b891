#pragma once

#include <string>

#include "analysis/explanation.hpp"

namespace gpuexp {

/// The cause, or why none is found: "The cause is DRAM in first: the amounts account for 8× of 8×
/// (high confidence)."
std::string accounting_sentence(const Explanation& explanation);

/// "first launches 4 kernels, fused 1 kernel."; "" if the launches do not differ.
std::string launched_sentence(const Explanation& explanation);

/// "The SMs ran at 1560 MHz in first, at 1980 MHz in fused."; "" if the clocks do not differ.
std::string clocks_sentence(const Explanation& explanation);

/// "At equal sectors, 36 % found in L2 instead of 49 %."; "" if L2 hits are not the reason.
std::string l2_hits_sentence(const Explanation& explanation);

}  // namespace gpuexp
