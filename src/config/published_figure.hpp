// A figure that the field teaches with, as claims about rows of a config: what was published,
// where, and when a measured number counts as the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/table.hpp"

namespace gpuexp {

/// One row of results.
struct ClaimedRow {
  std::string experiment;
  std::string variant;
  std::string mode;
  /// Of the parameters that tell it from other rows of its experiment, by their names.
  std::vector<std::pair<std::string, Field>> parameters;
  std::int64_t times = 1;  ///< how often it is added

  bool operator==(const ClaimedRow&) const = default;
};

/// The sum over rows and columns; where `over` is not empty, divided by that of the rows there.
struct Quantity {
  std::vector<std::string> columns;
  std::vector<ClaimedRow> rows;
  std::vector<ClaimedRow> over;
  std::vector<std::string> over_columns;  ///< of the rows there; empty: the same
  double scale = 1;  ///< units of the columns, or of a quotient, in one of the claim's unit

  bool operator==(const Quantity&) const = default;
};

/// What the model says of a claim's quantity. Empty where it says nothing.
struct ClaimModel {
  std::optional<double> here;       ///< on the device of the run
  std::optional<double> published;  ///< on the device that the number was published for
  /// Why one of the two is missing; "" where the figure has no device, and where nobody has asked.
  std::string why_not;
  std::string bound_by;  ///< here, of the last of the quantity's rows: what takes longest

  bool operator==(const ClaimModel&) const = default;
};

struct Claim {
  std::string name;
  std::string unit;  ///< of `published`, and of all that is shown beside it
  double published = 0;
  Quantity quantity;
  double band_low = 0;  ///< of what is measured over what is expected
  double band_high = 0;
  std::string because;      ///< why the band is as wide
  std::string expectation;  ///< why a device may differ, known beforehand; "" where nothing is
  ClaimModel model;         ///< in the claim's unit

  bool operator==(const Claim&) const = default;
};

struct FigureSource {
  std::string author;
  std::string title;
  std::int64_t year = 0;
  std::string address;
  std::string place;  ///< in the source: "figure 2"

  bool operator==(const FigureSource&) const = default;
};

struct PublishedFigure {
  std::string title;
  FigureSource source;
  std::string published_on;  ///< the GPU, for readers
  std::string device;        ///< its spec in configs/devices; "" where it has none
  std::vector<Claim> claims;

  bool operator==(const PublishedFigure&) const = default;
};

/// Of the base unit, as columns have it, how many one of the claim's unit is; empty where the one
/// cannot be given in the other. A quotient has no base unit: "×" or "%".
std::optional<double> units_per(const std::string& unit, const std::string& base);

}  // namespace gpuexp
