#include "infer/dimension_order.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text_parts.hpp"
#include "infer/monomial.hpp"

namespace gpuexp::infer {

namespace {

// ---- regrouping

/// Whether the expression is a parameter.
bool is_name(std::string_view text) {
  return std::ranges::all_of(
      text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

/// The parameter of the dimension, which is `own`, times a fraction. Empty if that is not a whole
/// number in all samples.
std::optional<Dimension> scaled(const Dimension& dimension, const Monomial& own,
                                std::int64_t factor, std::int64_t divisor) {
  const std::int64_t common = std::gcd(factor, divisor);
  factor /= common;
  divisor /= common;
  Dimension result{own.factors.front(), {}};
  if (factor > 1) result.text = fmt::format("{}*{}", factor, result.text);
  if (divisor > 1) result.text = fmt::format("{}/{}", result.text, divisor);
  for (const std::int64_t value : dimension.values) {
    const std::int64_t whole = value / own.multiplier * own.divisor * factor;
    if (whole % divisor != 0) return std::nullopt;
    result.values.push_back(whole / divisor);
  }
  return result;
}

/// The ways to write the number as a product of `count` factors.
void add_factorizations(std::int64_t number, std::size_t count, std::vector<std::int64_t>& factors,
                        std::vector<std::vector<std::int64_t>>& all) {
  if (factors.size() + 1 == count) {
    all.push_back(factors);
    all.back().push_back(number);
    return;
  }
  for (std::int64_t factor = 1; factor <= number; ++factor) {
    if (number % factor != 0) continue;
    factors.push_back(factor);
    add_factorizations(number / factor, count, factors, all);
    factors.pop_back();
  }
}

std::vector<std::vector<std::int64_t>> factorizations(std::int64_t number, std::size_t count) {
  std::vector<std::vector<std::int64_t>> all;
  std::vector<std::int64_t> factors;
  add_factorizations(number, count, factors, all);
  return all;
}

// ---- order

/// How the accessed elements fill boxes of indices.
struct Filling {
  /// Accessed elements per combination of the accessed indices of each dimension.
  double share = 1;
  /// Accessed elements per combination of the indices from the lowest to the highest one.
  double density = 1;
};

struct Box {
  double combinations = 1;
  double span = 1;
};

Box box_of(const ElementSet& elements, const std::vector<Dimension>& dimensions,
           const std::vector<std::size_t>& order, std::size_t sample) {
  Box box;
  std::vector<std::int64_t> rest = elements;
  std::vector<std::int64_t> indices(elements.size());
  for (std::size_t d = order.size(); d-- > 0;) {
    const std::int64_t extent = dimensions[order[d]].values[sample];
    for (std::size_t i = 0; i < rest.size(); ++i) {
      indices[i] = d == 0 ? rest[i] : rest[i] % extent;
      rest[i] /= extent;
    }
    std::ranges::sort(indices);
    box.span *= static_cast<double>(indices.back() - indices.front() + 1);
    const auto end = std::unique(indices.begin(), indices.end());
    box.combinations *= static_cast<double>(end - indices.begin());
  }
  return box;
}

Filling filling_of(const std::vector<Dimension>& dimensions, const std::vector<std::size_t>& order,
                   const std::vector<BlockSets>& blocks) {
  double accessed = 0;
  Box boxes{0, 0};
  for (const BlockSets& block : blocks) {
    for (const ElementSet& elements : *block.sets) {
      if (elements.empty() || elements.front() < 0) return {0, 0};
      const Box box = box_of(elements, dimensions, order, block.sample);
      accessed += static_cast<double>(elements.size());
      boxes.combinations += box.combinations;
      boxes.span += box.span;
    }
  }
  if (accessed == 0) return {};
  return {accessed / boxes.combinations, accessed / boxes.span};
}

// A stencil leaves out the corners of its tiles.
constexpr double kMinShare = 0.85;

struct Ordered {
  std::vector<Dimension> dimensions;
  double density = 0;
  bool is_assumed = false;
};

/// Whether the parameters are in the same order.
bool have_equal_parameters(const std::vector<Dimension>& a, const std::vector<Dimension>& b) {
  const auto of = [](const std::vector<Dimension>& dimensions) {
    std::vector<std::string> texts;
    for (const Dimension& dimension : dimensions)
      if (!monomial_of(dimension.text).factors.empty()) texts.push_back(dimension.text);
    return texts;
  };
  return of(a) == of(b);
}

std::optional<Ordered> best_order(const std::vector<Dimension>& dimensions,
                                  const std::vector<BlockSets>& blocks) {
  // Distances at the edges of blocks are explained by several orders.
  constexpr double kMinMore = 0.05;
  std::vector<std::size_t> order(dimensions.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::optional<Ordered> best;
  double share_of_best = 0;
  double explained_by_best = 0;
  do {
    const Filling filling = filling_of(dimensions, order, blocks);
    if (filling.share < kMinShare) continue;
    Ordered ordered{{}, filling.density};
    for (const std::size_t d : order)
      ordered.dimensions.push_back(dimensions[d]);
    const double explained = explained_distances(ordered.dimensions, blocks);
    const double more = explained - explained_by_best;
    const bool is_like_best = best && std::abs(more) <= kMinMore;
    const bool is_equal = is_like_best && filling.share == share_of_best;
    if (is_equal) best->is_assumed |= !have_equal_parameters(best->dimensions, ordered.dimensions);
    const bool is_better =
        !best || more > kMinMore || (is_like_best && filling.share > share_of_best);
    if (!is_better) continue;
    best = std::move(ordered);
    share_of_best = filling.share;
    explained_by_best = explained;
  } while (std::next_permutation(order.begin(), order.end()));
  return best;
}

}  // namespace

std::vector<std::vector<Dimension>> regrouped(const std::vector<Dimension>& dimensions) {
  constexpr std::int64_t kMaxConstant = 64;
  std::vector<std::pair<const Dimension*, Monomial>> of_parameters;
  std::vector<Dimension> others;
  std::vector<std::string> scalable;
  for (const Dimension& dimension : dimensions) {
    Monomial parts = monomial_of(dimension.text);
    const bool is_scalable =
        parts.factors.empty() || (parts.factors.size() == 1 && is_name(parts.factors.front()));
    if (!is_scalable) {
      others.push_back(dimension);
      continue;
    }
    scalable.push_back(dimension.text);
    if (!parts.factors.empty()) of_parameters.emplace_back(&dimension, std::move(parts));
  }
  const Monomial all = monomial_of(scalable);
  const bool is_constant = all.multiplier == 1 && all.divisor == 1;
  if (is_constant || of_parameters.empty() || std::max(all.multiplier, all.divisor) > kMaxConstant)
    return {};
  std::vector<std::vector<Dimension>> results;
  // The last factor remains a dimension of its own.
  for (const auto& factors : factorizations(all.multiplier, of_parameters.size() + 1)) {
    for (const auto& divisors : factorizations(all.divisor, of_parameters.size())) {
      std::vector<Dimension> result = others;
      for (std::size_t i = 0; i < of_parameters.size(); ++i) {
        const auto& [dimension, own] = of_parameters[i];
        if (auto added = scaled(*dimension, own, factors[i], divisors[i]))
          result.push_back(std::move(*added));
      }
      const bool is_whole = result.size() == others.size() + of_parameters.size();
      if (!is_whole) continue;
      if (factors.back() > 1)
        result.push_back({fmt::format("{}", factors.back()),
                          std::vector(dimensions.front().values.size(), factors.back())});
      results.push_back(std::move(result));
    }
  }
  std::ranges::stable_sort(results, {}, &std::vector<Dimension>::size);
  return results;
}

std::vector<Dimension> in_order_of(const std::vector<std::string>& products,
                                   std::vector<Dimension> dimensions) {
  for (const std::string& product : products) {
    std::vector<Dimension> first;
    std::vector<Dimension> others = dimensions;
    for (std::string_view rest = product; !rest.empty();) {
      const std::string_view factor = trimmed(take_until(rest, "*"));
      const auto found = std::ranges::find(others, factor, &Dimension::text);
      if (found == others.end()) continue;
      first.push_back(*found);
      others.erase(found);
    }
    if (first.size() < 2) continue;
    dimensions = std::move(first);
    dimensions.insert(dimensions.end(), others.begin(), others.end());
  }
  return dimensions;
}

std::optional<OrderedDimensions> ordered_dimensions(const std::vector<Dimension>& dimensions,
                                                    const std::vector<BlockSets>& blocks) {
  std::optional<Ordered> best = best_order(dimensions, blocks);
  if (!best || best->density < kMinShare) {
    for (const std::vector<Dimension>& other : regrouped(dimensions)) {
      std::optional<Ordered> found = best_order(other, blocks);
      if (found && (!best || found->density > best->density)) best = std::move(found);
    }
  }
  if (!best) return std::nullopt;
  return OrderedDimensions{std::move(best->dimensions), best->is_assumed};
}

}  // namespace gpuexp::infer
