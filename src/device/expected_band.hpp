// What a healthy GPU of one kind reaches: the section "expected" of configs/devices/<id>.json.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace gpuexp {

/// Where a ceiling falls that is measured on a healthy GPU, in the unit of its CeilingTerm. At
/// least one end is there.
struct ExpectedBand {
  std::optional<double> low;
  std::optional<double> high;
  std::string source;  ///< key in the spec's sources
  std::string note;    ///< may be empty

  bool operator==(const ExpectedBand&) const = default;
};

/// By CeilingTerm::id.
using ExpectedBands = std::map<std::string, ExpectedBand>;

}  // namespace gpuexp
