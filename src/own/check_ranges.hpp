// Bounds on the values of a check's expressions over all values of the indices, by interval
// arithmetic.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "own/expression.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::own {

/// All numbers from `low` to `high`, both included.
struct Range {
  double low = 0;
  double high = 0;

  /// The largest |x|.
  double largest() const;
};

/// All numbers: the range of an expression without a known bound.
Range all_numbers();

/// The range of a buffer's elements; `node` is an index or before() node.
using RangeOfElements = std::function<Range(const Node& node)>;

/// The exponent of a power that is computed as a product: a literal integer from 2 to 16, as in x^2
/// and pow(x, 2). Otherwise 0.
int whole_exponent(const Node& node);

class CheckRanges {
 public:
  /// Without `elements`, every buffer has all_numbers().
  explicit CheckRanges(const Names& parameters, RangeOfElements elements = nullptr);

  /// Adds an index that takes the whole numbers from 0 to `last`, and hides one of the same name.
  void push_index(const std::string& name, double last);
  void pop_index() { indices_.pop_back(); }

  /// Contains every value of the expression. May be wider: i - i is not 0.
  Range of(const Node& node) const;

  /// The power of two, at most 1, of which the value is a multiple if all loaded elements are whole
  /// numbers; 0 if there is none, as for divisions and functions. Sums, products, choices and
  /// comparisons have one.
  double unit(const Node& node) const;
  bool is_whole(const Node& node) const { return unit(node) == 1; }

  /// Upper bound on Checked::magnitude of an expression that has a unit().
  double magnitude(const Node& node);

  /// Maximum number of terms of a sum; infinite if it has no known bound.
  double max_terms(const Node& sum) const;

 private:
  const Range* index_range(const std::string& name) const;
  Range of_name(const Node& node) const;
  Range of_call(const Node& node) const;
  Range of_sum(const Node& node) const;
  double unit_of_function(const Node& node) const;
  double smallest_unit(const Node& node, std::size_t first = 0) const;
  bool compares_exactly(const Node& comparison) const;

  Names parameters_;
  RangeOfElements elements_;
  std::vector<std::pair<std::string, Range>> indices_;
};

}  // namespace gpuexp::own
