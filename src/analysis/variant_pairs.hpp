// Comparison of different variants of two runs, such as a kernel with a library or framework call.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/report.hpp"

namespace gpuexp {

struct VariantPair {
  std::string in_a;
  std::string in_b;
};

/// Parses texts such as "fused=triton". Throws ReportError.
std::vector<VariantPair> variant_pairs_of(const std::vector<std::string>& texts);

/// Reduces A and B to the rows of the pairs' variants, in families that have both variants. Copies
/// a row for each of its pairs, with "fused → triton" as variant and in its key, so that
/// compare_runs() matches the rows. Throws ReportError if a run lacks a variant or the column
/// `key`, or if no family has both variants.
std::pair<Report, Report> paired_by_variants(const Report& a, const Report& b,
                                             const std::vector<VariantPair>& pairs);

}  // namespace gpuexp
