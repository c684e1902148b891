// A published figure as claims about rows of a config: published numbers, their source, and the
// range within which a measured number reproduces a published number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/table.hpp"

namespace gpuexp {

struct ClaimedRow {
  std::string experiment;
  std::string variant;
  std::string mode;
  /// Names and values of the parameters that distinguish the row within its experiment.
  std::vector<std::pair<std::string, Field>> parameters;
  std::int64_t times = 1;  ///< factor of the row in a sum over rows

  bool operator==(const ClaimedRow&) const = default;
};

/// The sum over rows and columns, divided by the sum over the rows of `over`, if any.
struct Quantity {
  std::vector<std::string> columns;
  std::vector<ClaimedRow> rows;
  std::vector<ClaimedRow> over;
  std::vector<std::string> over_columns;  ///< columns of the rows in `over`; empty: `columns`
  double scale = 1;  ///< number of units of the columns, or of the ratio, in one unit of the claim

  bool operator==(const Quantity&) const = default;
};

/// The model's values for a claim's quantity; empty if the model has no value.
struct ClaimModel {
  std::optional<double> here;       ///< on the GPU of the run
  std::optional<double> published;  ///< on the GPU of the published figure
  /// Why a value is missing; "" if the figure has no device, or if no model was evaluated.
  std::string why_not;
  std::string bound_by;  ///< limiting resource of the quantity's last row on the run's device

  bool operator==(const ClaimModel&) const = default;
};

struct Claim {
  std::string name;
  std::string unit;  ///< unit of `published` and of all other numbers of the claim
  double published = 0;
  Quantity quantity;
  double band_low = 0;  ///< minimum of measured value / expected value
  double band_high = 0;
  std::string because;      ///< reason for band_low and band_high
  std::string expectation;  ///< known reason why a device may differ; may be ""
  ClaimModel model;

  bool operator==(const Claim&) const = default;
};

struct FigureSource {
  std::string author;
  std::string title;
  std::int64_t year = 0;
  std::string address;
  std::string place;  ///< location in the source: "figure 2"

  bool operator==(const FigureSource&) const = default;
};

struct PublishedFigure {
  std::string title;
  FigureSource source;
  std::string published_on;  ///< name of the GPU, for readers
  std::string device;        ///< id of its spec in configs/devices; "" if it has none
  std::vector<Claim> claims;

  bool operator==(const PublishedFigure&) const = default;
};

/// Number of base units (units of columns) in one unit of a claim; empty if the unit cannot be
/// converted. A ratio ("×", "%") has the base unit "".
std::optional<double> units_per(const std::string& unit, const std::string& base);

}  // namespace gpuexp
