#include "infer/index_contents.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "own/parameter_types.hpp"

namespace gpuexp::infer {

namespace {

class ContentsSearch {
 public:
  ContentsSearch(SizedRuns zeros, const KernelProbe& probe, const KernelSignature& kernel)
      : kernel_(kernel), probe_(probe), best_(std::move(zeros)) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
      if (kernel.parameters[i].is_pointer) pointers_.push_back(i);
    is_decided_.resize(pointers_.size());
    contents_.resize(pointers_.size());
  }

  // Contents of one buffer can show that the kernel reads others: with offsets of rows, a sparse
  // product reads columns.
  IndexContents found() {
    while (best_.runs.front().touched.depends_on_contents) {
      indices_.clear();
      for (std::size_t j = 0; j < pointers_.size(); ++j)
        if (!is_decided_[j] && may_be_index(j)) indices_.push_back(j);
      if (indices_.empty()) break;
      search();
      for (const std::size_t j : indices_)
        is_decided_[j] = true;
    }
    return {std::move(best_), std::move(fills_)};
  }

 private:
  /// Pointers to integers that the kernel reads and that may therefore be indices.
  bool may_be_index(std::size_t pointer) const {
    const TouchedElements& touched = best_.runs.front().touched.pointers[pointer];
    const auto type = type_of(pointer);
    return type && own::is_integer(*type) && *type != DataType::boolean && touched.is_read &&
           !touched.is_written;
  }
  std::optional<DataType> type_of(std::size_t pointer) const {
    return own::lane_element_type(kernel_.parameters[pointers_[pointer]].type);
  }

  void search() {
    const std::vector<std::string> names = probe_.sized();
    const std::set<std::string> used = used_parameters();
    bool is_found = false;
    for (const bool is_used : {false, true}) {
      for (const std::string& name : names)
        if (used.contains(name) == is_used && try_below_parameter(name)) is_found = true;
      if (is_found || (!is_used && try_allocations())) return;
    }
    if (try_below_constants()) return;
    for (const std::size_t j : indices_)
      set_fill(j, "zeros");
  }

  void set_fill(std::size_t pointer, std::string fill) {
    fills_.resize(pointers_.size());
    fills_[pointer] = std::move(fill);
  }

  // ---- numbers below a parameter

  bool try_below_parameter(const std::string& bound) {
    std::vector<Contents> contents = contents_;
    std::vector<std::string> fills = fills_;
    fills.resize(pointers_.size());
    for (const std::size_t j : indices_) {
      const std::vector<Dimension>& dimensions = best_.fits[j].dimensions;
      const bool is_offset = dimensions.size() == 1 && dimensions[0].text.ends_with(" + 1");
      fills[j] = is_offset ? "iota" : fmt::format("integers(0, {})", bound);
      contents[j] = [bound, is_offset](const own::Names& values, std::int64_t i) {
        const auto below = std::get<std::int64_t>(values.find(bound)->second);
        return is_offset ? i : below - 1 - i % below;
      };
    }
    std::string why_not;
    std::optional<SizedRuns> next = runs_at_multiples(probe_, best_.multiple_of, contents, why_not);
    if (!next || next->explained() <= best_.explained()) return false;
    accept(std::move(*next), std::move(contents));
    fills_ = std::move(fills);
    return true;
  }

  void accept(SizedRuns runs, std::vector<Contents> contents) {
    best_ = std::move(runs);
    contents_ = std::move(contents);
  }

  /// Parameters on which a size or the grid depends. The others probably bound indices.
  std::set<std::string> used_parameters() const {
    std::set<std::string> used;
    for (const own::Expression& side : probe_.launch().grid)
      used.merge(side.names());
    for (const PointerFit& fit : best_.fits)
      for (const Dimension& dimension : fit.dimensions)
        used.insert(dimension.text);
    return used;
  }

  // ---- numbers below a constant

  /// All indices are below the number; the highest one comes first.
  std::vector<Contents> below(std::int64_t bound) const {
    std::vector<Contents> contents = contents_;
    for (const std::size_t j : indices_)
      contents[j] = [bound](const own::Names&, std::int64_t i) { return bound - 1 - i % bound; };
    return contents;
  }

  void set_fills_below(std::int64_t bound) {
    for (const std::size_t j : indices_)
      set_fill(j, fmt::format("integers(0, {})", bound));
  }

  bool is_constant(const PointerFit& fit) const {
    return std::ranges::all_of(fit.dimensions, [](const Dimension& dimension) {
      return own::Expression::parse(dimension.text).names().empty();
    });
  }

  /// Numbers below the constant number of elements that host code allocates for a buffer, if the
  /// kernel then accesses just these elements.
  bool try_allocations() {
    for (const LaunchAllocation& allocation : probe_.launch().allocations) {
      const auto found = std::ranges::find(pointers_, allocation.argument);
      if (found == pointers_.end()) continue;
      const auto pointer = static_cast<std::size_t>(found - pointers_.begin());
      const auto type = type_of(pointer);
      const std::int64_t count =
          type ? allocation.bytes / static_cast<std::int64_t>(size_of(*type)) : 0;
      if (count < 2 || !is_constant(best_.fits[pointer]) ||
          std::ranges::find(indices_, pointer) != indices_.end())
        continue;
      std::string why_not;
      std::optional<SizedRuns> next =
          runs_at_multiples(probe_, best_.multiple_of, below(count), why_not);
      const bool is_size = next && std::ranges::any_of(next->runs, [&](const ProbeRun& run) {
                             return run.touched.pointers[pointer].end == count;
                           });
      const bool is_within = next && std::ranges::all_of(next->runs, [&](const ProbeRun& run) {
                               return run.touched.pointers[pointer].end <= count;
                             });
      if (!is_size || !is_within) continue;
      next->fits[pointer] = {FitKind::exact,
                             {{fmt::format("{}", count), std::vector(next->runs.size(), count)}}};
      accept(std::move(*next), below(count));
      set_fills_below(count);
      return true;
    }
    return false;
  }

  /// Numbers below the constant size of a buffer, or else all numbers of 8 bits, or the default
  /// ones, if the kernel then accesses no other elements than with zeros. The default ones also if
  /// the sizes of all buffers follow from them.
  bool try_below_constants() {
    constexpr std::int64_t kBytes = 256;
    constexpr std::int64_t kDefault = 100;
    std::vector<std::int64_t> bounds;
    for (std::size_t j = 0; j < best_.fits.size(); ++j) {
      const std::int64_t count = product_of(best_.fits[j].dimensions, 0);
      if (best_.fits[j].kind == FitKind::exact && is_constant(best_.fits[j]) && count > 1)
        bounds.push_back(count);
    }
    const bool has_bytes = std::ranges::any_of(
        indices_, [&](std::size_t j) { return *type_of(j) == DataType::uint8; });
    if (has_bytes) bounds.push_back(kBytes);
    bounds.push_back(kDefault);
    const bool has_signed_bytes =
        std::ranges::any_of(indices_, [&](std::size_t j) { return *type_of(j) == DataType::int8; });
    for (const std::int64_t bound : bounds) {
      if (has_signed_bytes && bound > kBytes / 2) continue;
      if (!keeps_elements(below(bound))) continue;
      set_fills_below(bound);
      // The default contents need no statement.
      if (bound == kDefault) {
        for (const std::size_t j : indices_)
          fills_[j].clear();
      }
      return true;
    }
    std::string why_not;
    std::optional<SizedRuns> next =
        runs_at_multiples(probe_, best_.multiple_of, below(kDefault), why_not);
    if (!next || !next->is_settled()) return false;
    accept(std::move(*next), below(kDefault));
    set_fills_below(kDefault);
    return true;
  }

  /// Whether the kernel accesses the same ranges of elements as with zeros, at two sizes.
  bool keeps_elements(const std::vector<Contents>& contents) const {
    for (const ProbeRun* zeros : {&best_.runs.front(), &best_.runs.back()}) {
      try {
        const ProbeRun other = probe_.run(zeros->sizes, contents);
        for (std::size_t j = 0; j < pointers_.size(); ++j)
          if (other.touched.pointers[j].end != zeros->touched.pointers[j].end ||
              other.touched.pointers[j].lowest != zeros->touched.pointers[j].lowest)
            return false;
      } catch (const std::runtime_error&) {
        return false;
      }
    }
    return true;
  }

  const KernelSignature& kernel_;
  const KernelProbe& probe_;
  std::vector<std::size_t> pointers_;  ///< positions of the pointers among the parameters
  std::vector<std::size_t> indices_;   ///< pointers that may be indices, with contents to be found
  std::vector<bool> is_decided_;       ///< by pointer: its contents have been found or not
  SizedRuns best_;
  std::vector<Contents> contents_;  ///< those of best_
  std::vector<std::string> fills_;
};

}  // namespace

IndexContents runs_with_indices(SizedRuns zeros, const KernelProbe& probe,
                                const KernelSignature& kernel) {
  return ContentsSearch(std::move(zeros), probe, kernel).found();
}

bool differs_with_contents(const ProbeRun& zeros, const KernelProbe& probe) {
  if (!zeros.touched.depends_on_contents) return false;
  constexpr std::int64_t kBelow = 7;
  const Contents mixed = [](const own::Names&, std::int64_t i) { return i % kBelow - 1; };
  try {
    const ProbeRun other =
        probe.run(zeros.sizes, std::vector(zeros.touched.pointers.size(), mixed));
    return !std::ranges::equal(zeros.touched.pointers, other.touched.pointers,
                               [](const TouchedElements& a, const TouchedElements& b) {
                                 return a.lowest == b.lowest && a.end == b.end &&
                                        a.written == b.written;
                               });
  } catch (const std::runtime_error&) {
    return true;
  }
}

}  // namespace gpuexp::infer
