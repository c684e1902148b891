#include "infer/extent_fit.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/types.hpp"

namespace gpuexp::infer {

namespace {

constexpr std::size_t kMaxFactors = 4;
constexpr int kMaxCost = 8;

constexpr int kParameterCost = 1;
constexpr int kHaloCost = 2;    // n + 1
constexpr int kExtraCost = 2;   // the size of the grid
constexpr int kFactorCost = 2;  // a constant factor
constexpr int kQuotientCost = 3;
constexpr int kRoundedDownCost = 4;
constexpr int kSumCost = 4;  // n + m - 1

std::string plus(const std::string& text, std::int64_t constant) {
  if (constant == 0) return text;
  return fmt::format("{} {} {}", text, constant < 0 ? '-' : '+',
                     constant < 0 ? -constant : constant);
}

template <class Function>
std::vector<std::int64_t> mapped(const std::vector<std::int64_t>& values,
                                 const Function& function) {
  std::vector<std::int64_t> all;
  for (const std::int64_t value : values)
    all.push_back(function(value));
  return all;
}

/// counts / product, if that is the same whole number in all samples; 0 otherwise.
std::int64_t common_factor(const std::vector<std::int64_t>& counts,
                           const std::vector<std::int64_t>& product) {
  std::int64_t factor = 0;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    if (product[s] <= 0 || counts[s] % product[s] != 0) return 0;
    const std::int64_t here = counts[s] / product[s];
    if (s > 0 && here != factor) return 0;
    factor = here;
  }
  return factor;
}

constexpr std::string_view kFloorDiv = "floor_div";

Dimension constant(std::int64_t value, std::size_t samples) {
  return {fmt::format("{}", value), std::vector<std::int64_t>(samples, value)};
}

}  // namespace

/// The best product so far.
struct ExtentFitter::Search {
  const std::vector<std::int64_t>& counts;
  std::optional<std::vector<Dimension>> best = std::nullopt;
  int cost = kMaxCost + 1;

  void offer(std::vector<Dimension> dimensions, int at_cost) {
    if (at_cost >= cost) return;
    cost = at_cost;
    best = std::move(dimensions);
  }
};

ExtentFitter::ExtentFitter(const std::vector<std::string>& names, const std::vector<Sizes>& samples,
                           const std::vector<ExtraFactor>& extras, std::set<std::string> quotients)
    : quotients_(std::move(quotients)) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::int64_t> values;
    for (const Sizes& sample : samples)
      values.push_back(sample[i]);
    parameters_.push_back({names[i], values});
    add_parameter(names[i], values);
  }
  for (const ExtraFactor& extra : extras)
    add(extra.text, extra.values, kExtraCost, true);
}

void ExtentFitter::add(std::string text, std::vector<std::int64_t> values, int cost,
                       bool is_rounded) {
  const bool is_known =
      std::any_of(candidates_.begin(), candidates_.end(),
                  [&](const Candidate& c) { return c.dimension.values == values; });
  if (is_known || values.empty()) return;
  candidates_.push_back({{std::move(text), std::move(values)}, cost, is_rounded});
}

void ExtentFitter::add_parameter(const std::string& name, const std::vector<std::int64_t>& values) {
  constexpr std::int64_t kHalos[] = {1, -1, 2, -2};
  constexpr std::int64_t kMaxDivisor = 1024;  // above kMaxAnyDivisor, powers of two
  constexpr std::int64_t kMaxAnyDivisor = 16;
  add(name, values, kParameterCost);
  for (const std::int64_t halo : kHalos)
    add(plus(name, halo), mapped(values, [&](std::int64_t v) { return v + halo; }), kHaloCost);
  for (std::int64_t divisor = 2; divisor <= kMaxDivisor;
       divisor += divisor < kMaxAnyDivisor ? 1 : divisor) {
    const bool is_exact =
        std::all_of(values.begin(), values.end(), [&](auto v) { return v % divisor == 0; });
    const std::string text = is_exact ? fmt::format("{}/{}", name, divisor)
                                      : fmt::format("ceil_div({}, {})", name, divisor);
    add(text, mapped(values, [&](std::int64_t v) { return ceil_div(v, divisor); }),
        quotients_.contains(text) ? kParameterCost : kQuotientCost, !is_exact);
    add(fmt::format("{}({}, {})", kFloorDiv, name, divisor),
        mapped(values, [&](std::int64_t v) { return v / divisor; }), kRoundedDownCost, true);
  }
}

void ExtentFitter::try_one(Search& search, Dimension dimension, int cost) const {
  if (dimension.values == search.counts) search.offer({std::move(dimension)}, cost);
}

/// n + 40, n + m - 1, and (n + 6)*(m + 6).
void ExtentFitter::add_sums(Search& search) const {
  constexpr std::int64_t kMaxHalo = 64;
  const std::vector<std::int64_t>& counts = search.counts;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Dimension& a = parameters_[i];
    const std::int64_t more = counts[0] - a.values[0];
    try_one(search,
            {plus(a.text, more), mapped(a.values, [&](std::int64_t v) { return v + more; })},
            kHaloCost + 1);
    for (std::size_t j = 0; j < parameters_.size(); ++j) {
      const Dimension& b = parameters_[j];
      Dimension sum{"", {}};
      Dimension difference{"", {}};
      for (std::size_t s = 0; s < counts.size(); ++s) {
        sum.values.push_back(a.values[s] + b.values[s]);
        difference.values.push_back(a.values[s] - b.values[s]);
      }
      for (Dimension* const both : {&sum, &difference}) {
        const std::int64_t rest = counts[0] - both->values[0];
        const char* const sign = both == &sum ? "+" : "-";
        if (i == j || (both == &sum && j < i)) continue;
        try_one(search,
                {plus(fmt::format("{} {} {}", a.text, sign, b.text), rest),
                 mapped(both->values, [&](std::int64_t v) { return v + rest; })},
                kSumCost);
      }
      for (std::int64_t halo = 3; j >= i && halo <= kMaxHalo; ++halo) {
        const auto with_halo = [&](std::int64_t v) { return v + halo; };
        const Dimension first{plus(a.text, halo), mapped(a.values, with_halo)};
        const Dimension second{plus(b.text, halo), mapped(b.values, with_halo)};
        bool is_equal = true;
        for (std::size_t s = 0; s < counts.size(); ++s)
          is_equal = is_equal && first.values[s] * second.values[s] == counts[s];
        if (is_equal) search.offer({first, second}, kSumCost + 1);
      }
    }
  }
}

void ExtentFitter::extend(Search& search, std::size_t first, std::vector<std::size_t>& chosen,
                          const std::vector<std::int64_t>& product, int cost) const {
  const std::int64_t factor = common_factor(search.counts, product);
  const bool is_rounded =
      std::ranges::any_of(chosen, [&](std::size_t i) { return candidates_[i].is_rounded; });
  if (factor == 1 || (factor > 1 && !is_rounded)) {
    std::vector<Dimension> dimensions;
    for (const std::size_t i : chosen)
      dimensions.push_back(candidates_[i].dimension);
    const bool has_constant = factor > 1 || chosen.empty();
    if (has_constant) dimensions.push_back(constant(factor, search.counts.size()));
    search.offer(std::move(dimensions), cost + (chosen.empty() ? kParameterCost
                                                : has_constant ? kFactorCost
                                                               : 0));
  }
  if (chosen.size() == kMaxFactors) return;
  for (std::size_t i = first; i < candidates_.size(); ++i) {
    const int next_cost = cost + candidates_[i].cost;
    if (next_cost >= search.cost) continue;
    std::vector<std::int64_t> next = product;
    bool may_fit = true;
    for (std::size_t s = 0; s < next.size() && may_fit; ++s) {
      const std::int64_t value = candidates_[i].dimension.values[s];
      may_fit = value > 0 && !__builtin_mul_overflow(next[s], value, &next[s]) &&
                next[s] <= search.counts[s];
    }
    if (!may_fit) continue;
    chosen.push_back(i);
    extend(search, i, chosen, next, next_cost);
    chosen.pop_back();
  }
}

std::optional<std::vector<Dimension>> ExtentFitter::exact(
    const std::vector<std::int64_t>& counts) const {
  if (counts.empty() || *std::min_element(counts.begin(), counts.end()) <= 0) return std::nullopt;
  Search search{counts};
  std::vector<std::size_t> chosen;
  extend(search, 0, chosen, std::vector<std::int64_t>(counts.size(), 1), 0);
  add_sums(search);
  return search.best;
}

namespace {

/// Whether the product is at least the counts, and at most two rows of each dimension larger;
/// adds the excess in all samples.
bool covers(const std::vector<const Dimension*>& factors, std::int64_t constant_factor,
            const std::vector<std::int64_t>& counts, double& excess) {
  constexpr double kRows = 2;
  for (std::size_t s = 0; s < counts.size(); ++s) {
    double product = static_cast<double>(constant_factor);
    for (const Dimension* factor : factors)
      product *= static_cast<double>(factor->values[s]);
    double rows = 0;
    for (const Dimension* factor : factors)
      rows += kRows * product / static_cast<double>(factor->values[s]);
    const double more = product - static_cast<double>(counts[s]);
    if (more < 0 || more >= rows) return false;
    excess += more / product;
  }
  return true;
}

}  // namespace

std::optional<std::vector<Dimension>> ExtentFitter::above(
    const std::vector<std::int64_t>& counts) const {
  constexpr std::int64_t kMaxConstant = 4;
  constexpr std::size_t kMaxAbove = 3;
  std::optional<std::vector<Dimension>> best;
  double least = std::numeric_limits<double>::max();
  std::vector<const Dimension*> factors;
  const auto extend_above = [&](const auto& self, std::size_t first) -> void {
    for (std::int64_t c = 1; !factors.empty() && c <= kMaxConstant; ++c) {
      double excess = 0;
      if (!covers(factors, c, counts, excess) || excess >= least) continue;
      least = excess;
      best.emplace();
      for (const Dimension* factor : factors)
        best->push_back(*factor);
      if (c > 1) best->push_back(constant(c, counts.size()));
    }
    if (factors.size() == kMaxAbove) return;
    for (std::size_t i = first; i < parameters_.size(); ++i) {
      factors.push_back(&parameters_[i]);
      self(self, i);
      factors.pop_back();
    }
  };
  extend_above(extend_above, 0);
  return best;
}

std::vector<std::string> texts_of(const std::vector<Dimension>& dimensions) {
  std::vector<std::string> texts;
  for (const Dimension& dimension : dimensions)
    texts.push_back(dimension.text);
  return texts;
}

bool is_rounded_down(const std::vector<Dimension>& dimensions) {
  return std::ranges::any_of(
      dimensions, [](const Dimension& dimension) { return dimension.text.starts_with(kFloorDiv); });
}

std::int64_t product_of(const std::vector<Dimension>& dimensions, std::size_t sample) {
  std::int64_t product = 1;
  for (const Dimension& dimension : dimensions)
    product *= dimension.values[sample];
  return product;
}

std::string product_text(const std::vector<Dimension>& dimensions) {
  std::string text;
  for (const Dimension& dimension : dimensions) {
    const bool is_sum = dimension.text.find(' ') != std::string::npos &&
                        !dimension.text.ends_with(')') && dimensions.size() > 1;
    text += fmt::format("{}{}{}{}", text.empty() ? "" : "*", is_sum ? "(" : "", dimension.text,
                        is_sum ? ")" : "");
  }
  return text;
}

}  // namespace gpuexp::infer
