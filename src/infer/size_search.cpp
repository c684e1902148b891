#include "infer/size_search.hpp"

#include <functional>
#include <numeric>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "infer/host_tree.hpp"
#include "infer/sample_sizes.hpp"
#include "own/expression_tree.hpp"

namespace gpuexp::infer {

namespace {

std::string reason_of(const std::exception& error) {
  const auto* const fault = dynamic_cast<const sim::Fault*>(&error);
  return fault
             ? fmt::format("{}{}{}", fault->words, fault->place.empty() ? "" : " at ", fault->place)
             : error.what();
}

/// Adds each name that is divided by a constant, such as "n/2".
void add_quotients(const own::Node& node, std::set<std::string>& texts) {
  const bool is_of_name = node.kind == own::NodeKind::divide &&
                          node.operand(0).kind == own::NodeKind::name &&
                          node.operand(1).kind == own::NodeKind::integer;
  if (is_of_name) texts.insert(text_of(node));
  for (const own::NodePointer& operand : node.operands)
    add_quotients(*operand, texts);
}

/// Whether the expression is a product of parameters, which the fitter finds by itself.
bool is_product(const own::Node& node) {
  return node.kind == own::NodeKind::name ||
         (node.kind == own::NodeKind::multiply && is_product(node.operand(0)) &&
          is_product(node.operand(1)));
}

ExtentFitter fitter_for(const KernelProbe& probe, const SizedRuns& sized) {
  std::vector<Sizes> samples;
  for (const ProbeRun& run : sized.runs)
    samples.push_back(run.sizes);
  std::vector<ExtraFactor> extras;
  const auto add = [&](const own::Expression& expression, const auto& side) {
    if (expression.names().empty() || is_product(expression.root())) return;
    ExtraFactor extra{expression.text(), {}};
    for (const ProbeRun& run : sized.runs)
      extra.values.push_back(side(run.shape.grid));
    extras.push_back(std::move(extra));
  };
  const std::vector<own::Expression>& grid = probe.launch().grid;
  if (!grid.empty()) add(grid[0], [](const Extent& extent) { return extent.x; });
  if (grid.size() > 1) add(grid[1], [](const Extent& extent) { return extent.y; });
  if (grid.size() > 2) add(grid[2], [](const Extent& extent) { return extent.z; });
  std::set<std::string> quotients;
  for (const auto* expressions : {&probe.launch().grid, &probe.launch().arguments})
    for (const own::Expression& expression : *expressions)
      add_quotients(expression.root(), quotients);
  return {probe.sized(), samples, extras, std::move(quotients)};
}

PointerFit exact_fit(std::vector<Dimension> dimensions) {
  const FitKind kind = is_rounded_down(dimensions) ? FitKind::rounded_down : FitKind::exact;
  return {kind, std::move(dimensions)};
}

bool is_touched(const SizedRuns& sized, std::size_t pointer) {
  return std::ranges::any_of(sized.runs, [&](const ProbeRun& run) {
    return run.touched.pointers[pointer].is_touched();
  });
}

/// A kernel that leaves out the first elements of a buffer usually leaves out as many at its end.
PointerFit fit_of(const SizedRuns& sized, std::size_t pointer, const ExtentFitter& fitter) {
  std::vector<std::int64_t> ends;
  std::vector<std::int64_t> symmetric;
  for (const ProbeRun& run : sized.runs) {
    const TouchedElements& touched = run.touched.pointers[pointer];
    ends.push_back(touched.end);
    symmetric.push_back(touched.end + std::max<std::int64_t>(touched.lowest, 0));
  }
  if (!is_touched(sized, pointer))
    return {FitKind::untouched, {{"1", std::vector<std::int64_t>(ends.size(), 1)}}};
  const auto of_ends = fitter.exact(ends);
  const auto of_symmetric = ends == symmetric ? std::nullopt : fitter.exact(symmetric);
  const bool is_symmetric =
      of_symmetric && (!of_ends || of_ends->size() > of_symmetric->size() ||
                       texts_of(*of_ends).front().find(' ') != std::string::npos);
  if (is_symmetric) return exact_fit(*of_symmetric);
  if (of_ends) return exact_fit(*of_ends);
  if (const auto above = fitter.above(ends)) return {FitKind::above, *above};
  return {};
}

/// The parameter or constant whose minimum with another parameter the kernel accesses, as that of
/// an index such as i % c. Parameters on which no other buffer's size depends come first.
PointerFit fit_of_minimum(const SizedRuns& sized, std::size_t pointer,
                          const std::vector<Dimension>& parameters) {
  std::vector<std::int64_t> ends;
  for (const ProbeRun& run : sized.runs)
    ends.push_back(run.touched.pointers[pointer].end);
  const auto is_used = [&](const Dimension& parameter) {
    return std::ranges::any_of(sized.fits, [&](const PointerFit& fit) {
      return fit.kind == FitKind::exact &&
             std::ranges::find(fit.dimensions, parameter.text, &Dimension::text) !=
                 fit.dimensions.end();
    });
  };
  const std::int64_t most = *std::ranges::max_element(ends);
  std::vector<Dimension> limits = parameters;
  std::ranges::stable_partition(limits, [&](const Dimension& limit) { return !is_used(limit); });
  limits.push_back({fmt::format("{}", most), std::vector<std::int64_t>(ends.size(), most)});
  for (const Dimension& limit : limits) {
    for (const Dimension& other : parameters) {
      std::ptrdiff_t limited = 0;
      std::ptrdiff_t short_of_limit = 0;
      bool is_minimum = true;
      for (std::size_t s = 0; s < ends.size(); ++s) {
        is_minimum = is_minimum && ends[s] == std::min(limit.values[s], other.values[s]);
        limited += limit.values[s] < other.values[s] ? 1 : 0;
        short_of_limit += limit.values[s] > other.values[s] ? 1 : 0;
      }
      if (is_minimum && limited > 0 && short_of_limit > 0) return {FitKind::exact, {limit}};
    }
  }
  return {};
}

/// Whether a run accesses no element of the pointer, as runs of one block do if the kernel leaves
/// out its first block.
bool is_left_out(const SizedRuns& sized, std::size_t pointer) {
  return std::ranges::any_of(sized.runs, [&](const ProbeRun& run) {
    return !run.touched.pointers[pointer].is_touched();
  });
}

/// Whether larger sizes may show more of the kernel.
bool are_small(const SizedRuns& sized) {
  const bool has_several_blocks = std::ranges::any_of(
      sized.runs, [](const ProbeRun& run) { return run.shape.grid.count() > 1; });
  if (!has_several_blocks) return true;
  for (std::size_t j = 0; j < sized.fits.size(); ++j)
    if (is_left_out(sized, j)) return true;
  return false;
}

/// A pointer that these runs never access, but runs at other sizes do, has no known size.
void drop_untouched(SizedRuns& sized, const SizedRuns& other) {
  for (std::size_t j = 0; j < sized.fits.size(); ++j)
    if (!is_touched(sized, j) && is_touched(other, j)) sized.fits[j] = {};
}

std::optional<SizedRuns> runs_at(const KernelProbe& probe, const std::vector<Sizes>& samples,
                                 std::int64_t multiple_of, const std::vector<Contents>& contents,
                                 std::string& why_not) {
  constexpr std::size_t kMinRuns = 3;
  SizedRuns sized;
  sized.multiple_of = multiple_of;
  for (const Sizes& sizes : samples) {
    try {
      sized.runs.push_back(probe.run(sizes, contents));
    } catch (const ImpossibleLaunch& error) {
      why_not = reason_of(error);
    } catch (const std::runtime_error& error) {
      why_not = reason_of(error);
      return std::nullopt;
    }
  }
  if (sized.runs.size() < std::min(kMinRuns, samples.size())) return std::nullopt;
  const ExtentFitter fitter = fitter_for(probe, sized);
  for (std::size_t j = 0; j < sized.runs.front().touched.pointers.size(); ++j)
    sized.fits.push_back(fit_of(sized, j, fitter));
  for (std::size_t j = 0; j < sized.fits.size(); ++j) {
    if (sized.fits[j].is_settled()) continue;
    PointerFit minimum = fit_of_minimum(sized, j, fitter.parameters());
    if (minimum.kind == FitKind::exact) sized.fits[j] = std::move(minimum);
  }
  return sized;
}

}  // namespace

std::ptrdiff_t SizedRuns::explained() const {
  const auto follows_parameter = [](const Dimension& d) {
    return std::ranges::adjacent_find(d.values, std::not_equal_to<>()) != d.values.end();
  };
  return std::ranges::count_if(fits, [&](const PointerFit& fit) {
    const bool is_found = fit.kind == FitKind::exact || fit.kind == FitKind::rounded_down;
    return is_found && std::ranges::any_of(fit.dimensions, follows_parameter);
  });
}

std::optional<SizedRuns> runs_at_multiples(const KernelProbe& probe, std::int64_t multiple_of,
                                           const std::vector<Contents>& contents,
                                           std::string& why_not) {
  constexpr std::int64_t kLarger = 4;
  const std::size_t count = probe.sized().size();
  std::optional<SizedRuns> made;
  for (const std::int64_t scale : {scale_for(count), kLarger * scale_for(count)}) {
    std::optional<SizedRuns> next =
        runs_at(probe, sample_sizes(count, multiple_of, scale), multiple_of, contents, why_not);
    if (!next) break;
    made = std::move(next);
    if (multiple_of > 1 || !are_small(*made)) break;
  }
  return made;
}

namespace {

/// Runs at an eighth of the usual sizes, for kernels that compute much for each element.
std::optional<SizedRuns> runs_at_small(const KernelProbe& probe, std::string& why_not) {
  constexpr std::int64_t kSmaller = 8;
  constexpr std::int64_t kMin = 3;
  const std::size_t count = probe.sized().size();
  const std::int64_t scale = std::max(scale_for(count) / kSmaller, kMin);
  return runs_at(probe, sample_sizes(count, 1, scale), 1, {}, why_not);
}

/// The number of which sizes must be a multiple so that constant divisors leave no remainder.
std::int64_t divisor_in(const own::Node& node) {
  std::int64_t divisor = 1;
  for (const own::NodePointer& operand : node.operands)
    divisor = std::lcm(divisor, divisor_in(*operand));
  const bool is_quotient = node.kind == own::NodeKind::divide &&
                           node.operand(1).kind == own::NodeKind::integer &&
                           node.operand(1).integer > 0;
  return is_quotient ? divisor * node.operand(1).integer : divisor;
}

/// Numbers of which all sizes are multiples, in the order of attempts.
std::vector<std::int64_t> multiples_to_try(const KernelProbe& probe) {
  // The last one has divisors that are not powers of two: a third of a size, or pixels of 3 bytes.
  constexpr std::int64_t kMultiples[] = {32, 128, 256, 96};
  // A product of many multiples of 32 has too many elements to execute.
  constexpr std::size_t kMany = 4;
  constexpr std::int64_t kSmallMultiple = 4;
  constexpr std::int64_t kMaxDivisor = 1024;
  std::int64_t divisor = 1;
  for (const auto* expressions : {&probe.launch().grid, &probe.launch().arguments})
    for (const own::Expression& expression : *expressions)
      divisor = std::lcm(divisor, std::min(divisor_in(expression.root()), kMaxDivisor));
  if (divisor > kMaxDivisor) divisor = 1;
  std::vector<std::int64_t> multiples;
  if (divisor == 1) multiples.push_back(1);
  if (probe.sized().size() >= kMany) multiples.push_back(std::lcm(kSmallMultiple, divisor));
  for (const std::int64_t multiple : kMultiples) {
    const std::int64_t common = std::lcm(multiple, divisor);
    if (std::ranges::find(multiples, common) == multiples.end()) multiples.push_back(common);
  }
  return multiples;
}

}  // namespace

SizedRuns settled_runs(const KernelProbe& probe) {
  std::string why_not = "no size was tried";
  std::optional<SizedRuns> best;
  std::string why_not_first;
  for (const std::int64_t multiple_of : multiples_to_try(probe)) {
    if (best && probe.sized().empty()) break;
    std::optional<SizedRuns> next = runs_at_multiples(probe, multiple_of, {}, why_not);
    if (!next && multiple_of == 1 && probe.takes_reserve()) next = runs_at_small(probe, why_not);
    if (why_not_first.empty()) why_not_first = why_not;
    if (next && best) drop_untouched(*next, *best);
    if (next && (!best || next->is_settled() || next->explained() > best->explained()))
      best = std::move(next);
    if (best && best->is_settled()) return std::move(*best);
  }
  if (!best) throw InferenceError(why_not_first);
  return std::move(*best);
}

}  // namespace gpuexp::infer
