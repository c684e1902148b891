// Different variants of two runs held against each other: a kernel here and a library's, or a
// framework's, there.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/report.hpp"

namespace gpuexp {

/// The variant's name in A, and in B.
struct VariantPair {
  std::string in_a;
  std::string in_b;
};

/// Of texts such as "fused=triton". Throws ReportError.
std::vector<VariantPair> variant_pairs_of(const std::vector<std::string>& texts);

/// The rows of the pairs' variants alone, A's first, of families that have the pair in both runs: a
/// copy for each pair that names it, in which variant and key have "fused → triton". So
/// compare_runs finds the cells of one experiment, problem and mode in both. Throws ReportError
/// where a run has no row of a variant, with those that it has, where no family has both, and as
/// keep_keys().
std::pair<Report, Report> paired_by_variants(const Report& a, const Report& b,
                                             const std::vector<VariantPair>& pairs);

}  // namespace gpuexp
