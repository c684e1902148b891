// Comparison of different variants of two runs, such as a kernel and a library or framework call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/report.hpp"

namespace gpuexp {

/// The variant in A and the variant in B that it is compared with.
struct VariantPair {
  std::string in_a;
  std::string in_b;
};

/// Parses texts such as "fused=triton". Throws ReportError.
std::vector<VariantPair> variant_pairs_of(const std::vector<std::string>& texts);

/// Reduces A and B to the rows of the pairs' variants, in families that have the pair in both runs.
/// A row is copied for each of its pairs, with "fused → triton" in variant and key, so that
/// compare_runs() matches the cells of both. Throws ReportError if a run has no row of a variant,
/// if no family has both, and as keep_keys() does.
std::pair<Report, Report> paired_by_variants(const Report& a, const Report& b,
                                             const std::vector<VariantPair>& pairs);

}  // namespace gpuexp
