// Why each variant exists, read from its family's source: the comment that stands over the variant,
//
//   // ---- smem_tile: 32×32 tiles of A and B in shared memory
//   //
//   // What changed, which resource it relieves, what it costs, which counter should change.
//   //
//   // held: global_load_requests = 1/32 × naive
//
// so that whoever reads the file and whoever asks the program read one text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuexp {

struct VariantComment {
  std::string variant;  ///< what stands between the dashes and the colon
  std::string why;      ///< its lines, joined by single spaces
  /// What its lines say that begin with "held: " (held_claim.hpp), separated there by "; ".
  std::vector<std::string> held;
};

/// Those of a source, in order. A heading whose comment ends with it is none.
std::vector<VariantComment> variant_comments(std::string_view source);

}  // namespace gpuexp
