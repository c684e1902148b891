// Finds the product of parameters that numbers of accessed elements follow.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "infer/sample_sizes.hpp"

namespace gpuexp::infer {

/// One factor of an extent: an expression and its value in each sample.
struct Dimension {
  std::string text;
  std::vector<std::int64_t> values;
};

std::vector<std::string> texts_of(const std::vector<Dimension>& dimensions);
/// Whether a dimension is a quotient that is rounded down: floor_div(n, 2).
bool is_rounded_down(const std::vector<Dimension>& dimensions);
/// The product in one sample.
std::int64_t product_of(const std::vector<Dimension>& dimensions, std::size_t sample);
/// "m*(n + 1)".
std::string product_text(const std::vector<Dimension>& dimensions);

/// A whole number that extents may be products of besides parameters, such as the size of the grid.
/// `values` has one value for each sample.
using ExtraFactor = Dimension;

class ExtentFitter {
 public:
  /// `names` are the parameters' names, and `samples` their values. `quotients` are texts such as
  /// "n/2" that host code has: they are as simple as parameters.
  ExtentFitter(const std::vector<std::string>& names, const std::vector<Sizes>& samples,
               const std::vector<ExtraFactor>& extras = {}, std::set<std::string> quotients = {});

  const std::vector<Dimension>& parameters() const { return parameters_; }

  /// The simplest product whose value is counts[s] in each sample s: of parameters, of parameters
  /// plus or minus a small constant, of quotients such as n/2, ceil_div(n, 256) and floor_div(n,
  /// 3), of the extra factors, and of a constant. A constant by itself is one dimension. Empty if
  /// there is none.
  std::optional<std::vector<Dimension>> exact(const std::vector<std::int64_t>& counts) const;

  /// The smallest product of parameters, and a constant of at most 4, that is at least counts[s] in
  /// each sample and less than two rows of each dimension larger. Empty if there is none.
  std::optional<std::vector<Dimension>> above(const std::vector<std::int64_t>& counts) const;

 private:
  struct Candidate {
    Dimension dimension;
    int cost = 0;  ///< simpler expressions have lower costs
    /// Whether it counts parts that may be incomplete, as ceil_div(n, 4) does. Such a number times
    /// a constant is a size that is rounded up, which says that n must be a multiple.
    bool is_rounded = false;
  };
  struct Search;

  void add(std::string text, std::vector<std::int64_t> values, int cost, bool is_rounded = false);
  void add_parameter(const std::string& name, const std::vector<std::int64_t>& values);
  void add_sums(Search& search) const;
  void try_one(Search& search, Dimension dimension, int cost) const;
  void extend(Search& search, std::size_t first, std::vector<std::size_t>& chosen,
              const std::vector<std::int64_t>& product, int cost) const;

  std::set<std::string> quotients_;
  std::vector<Dimension> parameters_;
  std::vector<Candidate> candidates_;
};

}  // namespace gpuexp::infer
