// Extracts each variant's `why` from the comment above it in its family's source:
//
//   // ---- smem_tile: 32×32 tiles of A and B in shared memory
//   //
//   // What changed, which resource it relieves, what it costs, which counter should change.
//   //
//   // held: global_load_requests = 1/32 × naive
//
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

struct VariantComment {
  std::string variant;  ///< text between the dashes and the colon
  std::string why;      ///< comment lines after the heading, except `held`, joined by single spaces
  /// Claims in lines that start with "held: " (held_claim.hpp); "; " separates claims.
  std::vector<std::string> held;
};

/// The variant comments of a source, in order. Headings without text below them are skipped.
std::vector<VariantComment> variant_comments(std::string_view source);

}  // namespace gpuexp
