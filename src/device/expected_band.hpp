// Ceilings of healthy GPUs of one model: section "expected" of configs/devices/<id>.json.
#pragma once

#include <map>
#include <optional>
#include <string>

namespace gpuexp {

/// Range of a ceiling measured on healthy GPUs, in the unit of its CeilingTerm. `low`, `high` or
/// both are set.
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
