#include "infer/kernel_inference.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "infer/assumed_launch.hpp"
#include "infer/dimension_order.hpp"
#include "infer/extent_fit.hpp"
#include "infer/index_contents.hpp"
#include "infer/kernel_probe.hpp"
#include "own/parameter_types.hpp"

namespace gpuexp::infer {

namespace {

/// A buffer for the pointer, without role and extents. A pointer to vectors gets one of numbers.
InferredBuffer buffer_of(std::string name, const KernelParameter& pointer) {
  InferredBuffer buffer;
  buffer.name = std::move(name);
  buffer.type = own::lane_element_type(pointer.type).value();
  if (pointer.type.lanes > 1) buffer.declared_type = own::lane_type(pointer.type).text;
  return buffer;
}

class Inference {
 public:
  Inference(const KernelSignature& kernel, KernelProbe probe)
      : kernel_(kernel), probe_(std::move(probe)) {
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i)
      if (kernel.parameters[i].is_pointer) pointers_.push_back(i);
  }

  InferredKernel inferred() {
    IndexContents contents = runs_with_indices(settled_runs(probe_), probe_, kernel_);
    best_ = std::move(contents.runs);
    fills_ = std::move(contents.fills);
    InferredKernel result;
    result.signature = kernel_;
    result.launch = probe_.launch();
    result.notes = result.launch.notes;
    for (std::size_t j = 0; j < pointers_.size(); ++j)
      result.buffers.push_back(buffer(j, result.notes));
    std::erase_if(result.launch.memsets, [&](const LaunchMemset& memset) {
      return !needed_memsets_.contains(memset.argument);
    });
    add_parameters(result);
    if (fills_.empty() && differs_with_contents(best_.runs.front(), probe_))
      result.notes.push_back(
          "assumed: buffers of zeros; with other contents, the kernel accesses other elements");
    result.cutting_parameters = cutting_parameters();
    return result;
  }

 private:
  // ---- results

  /// The extents; sets the order and the constant factors of the fitted dimensions.
  std::vector<std::string> extents(std::size_t pointer, std::vector<std::string>& notes) {
    constexpr std::size_t kMaxRank = 4;
    PointerFit& fit = best_.fits[pointer];
    if (fit.dimensions.size() < 2) return texts_of(fit.dimensions);
    std::vector<BlockSets> blocks;
    for (std::size_t s = 0; s < best_.runs.size(); ++s) {
      const TouchedElements& touched = best_.runs[s].touched.pointers[pointer];
      blocks.push_back({s, &touched.of_blocks, &touched.distances});
    }
    std::vector<std::string> products;
    for (const own::Expression& side : probe_.launch().grid)
      products.push_back(side.text());
    auto ordered = ordered_dimensions(in_order_of(products, fit.dimensions), blocks);
    if (!ordered || ordered->dimensions.size() > kMaxRank) return {product_text(fit.dimensions)};
    fit.dimensions = std::move(ordered->dimensions);
    const std::vector<std::string> texts = texts_of(fit.dimensions);
    if (ordered->is_assumed)
      notes.push_back(fmt::format(
          "assumed: the order of the extents of {0}[{1}]; the kernel's accesses suit others, too",
          name_of_pointer(pointer), fmt::join(texts, "][")));
    return texts;
  }

  BufferRole role(std::size_t pointer, std::vector<std::string>& notes) {
    bool is_written = false;
    bool is_read_first = false;
    bool is_whole = true;
    for (std::size_t s = 0; s < best_.runs.size(); ++s) {
      const TouchedElements& touched = best_.runs[s].touched.pointers[pointer];
      is_written |= touched.is_written;
      is_read_first |= touched.is_read_first || touched.is_atomic;
      is_whole &= touched.written == product_of(best_.fits[pointer].dimensions, s);
    }
    if (!is_written) return BufferRole::input;
    if (is_whole && !is_read_first) return BufferRole::output;
    if (is_set_before(pointer)) {
      needed_memsets_.insert(pointers_[pointer]);
      return BufferRole::output;
    }
    if (is_read_first) return BufferRole::in_out;
    notes.push_back(
        fmt::format("assumed: {} is in_out, because the kernel does not write all of "
                    "its elements",
                    name_of_pointer(pointer)));
    return BufferRole::in_out;
  }

  /// Whether host code sets the buffer before the launch.
  bool is_set_before(std::size_t pointer) const {
    return std::ranges::find(probe_.launch().memsets, pointers_[pointer],
                             &LaunchMemset::argument) != probe_.launch().memsets.end();
  }

  std::string name_of_pointer(std::size_t pointer) const {
    return probe_.launch().arguments[pointers_[pointer]].text();
  }

  static std::string contents_note(const std::string& name, const std::string& fill) {
    if (fill == "zeros")
      return fmt::format(
          "not found: the contents of {}, which select elements; executed with zeros", name);
    if (fill == "iota")
      return fmt::format(
          "assumed: {} has the numbers 0, 1, 2, …, as offsets of ranges of one element", name);
    return fmt::format("assumed: {} has indices; its contents are {}", name, fill);
  }

  InferredBuffer buffer(std::size_t j, std::vector<std::string>& notes) {
    const std::string name = name_of_pointer(j);
    PointerFit& fit = best_.fits[j];
    const TouchedElements& last = best_.runs.back().touched.pointers[j];
    if (fit.kind == FitKind::none) {
      // Valid at the sizes of the last run, which become the declared ones.
      keeps_last_sizes_ = true;
      fit.dimensions = {{fmt::format("{}", std::max<std::int64_t>(last.end, 1)),
                         std::vector<std::int64_t>(best_.runs.size(), last.end)}};
      notes.push_back(
          fmt::format("not found: how the size of {} follows from the parameters; {} "
                      "elements suffice for the values below",
                      name, last.end));
    } else if (fit.kind == FitKind::untouched) {
      notes.push_back(
          fmt::format("not found: the size of {}, of which the kernel accessed nothing", name));
    } else if (fit.kind == FitKind::above) {
      notes.push_back(fmt::format("assumed: {} has {} elements; the kernel accesses fewer", name,
                                  product_text(fit.dimensions)));
    }
    if (last.lowest < 0)
      notes.push_back(fmt::format("the kernel accesses {} before {}",
                                  -last.lowest == 1 ? "an element" : "elements", name));
    InferredBuffer buffer = buffer_of(name, kernel_.parameters[pointers_[j]]);
    buffer.role = role(j, notes);
    buffer.extents = extents(j, notes);
    buffer.is_read = last.is_read;
    if (buffer.role == BufferRole::in_out && last.is_atomic) buffer.fill = "zeros";
    if (j < fills_.size() && !fills_[j].empty()) {
      buffer.fill = fills_[j];
      notes.push_back(contents_note(name, fills_[j]));
    }
    return buffer;
  }

  void add_parameters(InferredKernel& result) {
    std::size_t rank = 1;
    for (const PointerFit& fit : best_.fits)
      rank = std::max(rank, fit.dimensions.size());
    const Sizes& last = best_.runs.back().sizes;
    std::size_t next = 0;
    for (const LaunchParameter& parameter : result.launch.parameters) {
      InferredParameter added{parameter.name, Value(1.0), 1};
      if (parameter.is_real || parameter.is_fixed) {
        added.value =
            parameter.value.value_or(parameter.is_real ? Value(1.0) : Value(std::int64_t{1}));
      } else {
        const std::size_t index = next++;
        added.multiple_of = refined_multiple(index);
        added.value = keeps_last_sizes_ ? Value(last[index])
                                        : size_for(parameter, added.multiple_of, rank, last[index]);
      }
      result.parameters.push_back(std::move(added));
    }
  }

  /// The value in the text, or one that suits the rank of the largest buffer.
  Value size_for(const LaunchParameter& parameter, std::int64_t multiple_of, std::size_t rank,
                 std::int64_t of_sample) const {
    constexpr std::int64_t kSizes[] = {1 << 20, 1 << 10, 1 << 7, 1 << 5};
    constexpr std::int64_t kMaxOfGrid = 16;  // as a batch
    constexpr std::int64_t kMaxOfFirst = 1 << 10;
    if (parameter.value) {
      const auto given = std::get<std::int64_t>(*parameter.value);
      if (given > 0 && given % multiple_of == 0) return *parameter.value;
    }
    if (!determines_size(parameter.name)) return of_sample;
    std::int64_t size = kSizes[std::min(rank, std::size(kSizes)) - 1];
    if (parameter.is_of_grid && probe_.sized().size() > 1)
      size = std::min(size, is_in_first_dimension(parameter.name) ? kMaxOfFirst : kMaxOfGrid);
    return ceil_div(size, multiple_of) * multiple_of;
  }

  bool determines_size(const std::string& parameter) const {
    return std::ranges::any_of(best_.fits, [&](const PointerFit& fit) {
      return std::ranges::any_of(fit.dimensions, [&](const Dimension& dimension) {
        return own::Expression::parse(dimension.text).names().contains(parameter);
      });
    });
  }

  bool is_in_first_dimension(const std::string& parameter) const {
    const std::vector<own::Expression>& grid = probe_.launch().grid;
    return !grid.empty() && grid.front().names().contains(parameter);
  }

  std::set<std::string> cutting_parameters() const {
    std::set<std::string> names;
    const bool has_all_sizes = !keeps_last_sizes_ && best_.explained() > 0 &&
                               std::ranges::none_of(best_.fits, [](const PointerFit& fit) {
                                 return fit.kind == FitKind::above;
                               });
    std::size_t next = 0;
    for (const LaunchParameter& parameter : probe_.launch().parameters) {
      if (parameter.is_real || parameter.is_fixed) continue;
      const std::size_t index = next++;
      if (!parameter.is_of_grid) continue;
      // The kernel may need just this constant, as one that takes the grid's sides for equal.
      const bool is_needed = parameter.value && !has_all_sizes;
      // A constant suits the other sizes as far as the host code says.
      const bool may_cut = !parameter.value && is_in_first_dimension(parameter.name);
      if (is_needed || !determines_size(parameter.name) || (may_cut && leaves_out_elements(index)))
        names.insert(parameter.name);
    }
    return names;
  }

  /// Whether the kernel accesses fewer elements than the extents say if this size is small and the
  /// others are large: a number of blocks that must suit them.
  bool leaves_out_elements(std::size_t index) const {
    constexpr std::int64_t kLarger = 4;
    if (probe_.sized().size() < 2) return false;
    Sizes sizes = best_.runs.front().sizes;
    for (std::size_t i = 0; i < sizes.size(); ++i)
      sizes[i] = i == index ? best_.multiple_of : sizes[i] * kLarger;
    try {
      const ProbeRun run = probe_.run(sizes);
      const own::Names values = probe_.values(sizes);
      for (std::size_t j = 0; j < pointers_.size(); ++j)
        if (best_.fits[j].kind == FitKind::exact && !has_expected_end(run, j, values)) return true;
    } catch (const std::runtime_error&) {
      // It takes long, so nothing more is known.
    }
    return false;
  }

  /// The smallest number of which the parameter must be a multiple, while the others keep the
  /// attempt's multiple.
  std::int64_t refined_multiple(std::size_t index) {
    if (best_.multiple_of == 1 || !best_.is_settled()) return best_.multiple_of;
    for (std::int64_t multiple = 1; multiple < best_.multiple_of; ++multiple)
      if (best_.multiple_of % multiple == 0 && is_enough(index, multiple)) return multiple;
    return best_.multiple_of;
  }

  bool is_enough(std::size_t index, std::int64_t multiple) {
    constexpr std::size_t kTried = 2;
    for (std::size_t s = 0; s < std::min(kTried, best_.runs.size()); ++s) {
      Sizes sizes = best_.runs[s].sizes;
      // So that no larger divisor of the attempt's multiple divides the size.
      sizes[index] += static_cast<std::int64_t>(s == 0 ? 1 : -1) * multiple;
      try {
        const ProbeRun run = probe_.run(sizes);
        const own::Names values = probe_.values(sizes);
        for (std::size_t j = 0; j < pointers_.size(); ++j)
          if (!has_expected_end(run, j, values)) return false;
      } catch (const std::runtime_error&) {
        return false;
      }
    }
    return true;
  }

  /// Whether the pointer's accesses end where the fitted extents say, as in the first run.
  bool has_expected_end(const ProbeRun& run, std::size_t pointer, const own::Names& values) const {
    const PointerFit& fit = best_.fits[pointer];
    if (fit.kind == FitKind::untouched) return !run.touched.pointers[pointer].is_touched();
    std::int64_t expected = 1;
    for (const Dimension& dimension : fit.dimensions)
      expected *= own::Expression::parse(dimension.text).integer(values);
    const TouchedElements& first = best_.runs.front().touched.pointers[pointer];
    const bool is_symmetric = first.end != product_of(fit.dimensions, 0);
    const TouchedElements& touched = run.touched.pointers[pointer];
    return touched.end + (is_symmetric ? touched.lowest : 0) == expected;
  }

  const KernelSignature& kernel_;
  KernelProbe probe_;
  std::vector<std::size_t> pointers_;  ///< positions of the pointers among the parameters
  SizedRuns best_;
  std::vector<std::string> fills_;  ///< one per pointer, or none
  /// Positions of buffers that the kernel adds to, or stores to in part, after a memset.
  std::set<std::size_t> needed_memsets_;
  bool keeps_last_sizes_ = false;
};

/// What is known of a kernel that cannot be executed, or not in time.
InferredKernel without_sizes(const KernelSignature& kernel, const ResolvedLaunch& launch,
                             const char* why) {
  InferredKernel result{kernel, launch, {}, {}, launch.notes, false, {}};
  result.notes.push_back(fmt::format("not found: the sizes of the buffers: {}", why));
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    const KernelParameter& parameter = kernel.parameters[i];
    if (!parameter.is_pointer) continue;
    InferredBuffer buffer = buffer_of(launch.arguments[i].text(), parameter);
    buffer.role = parameter.is_const ? BufferRole::input : BufferRole::output;
    buffer.extents = {"SIZE"};
    result.buffers.push_back(std::move(buffer));
  }
  for (const LaunchParameter& parameter : launch.parameters)
    if (parameter.value) result.parameters.push_back({parameter.name, *parameter.value, 1});
  return result;
}

InferredKernel inferred_with(const ProbedKernel& kernel, ResolvedLaunch launch,
                             sim::Simulator& simulator, ProbeBudget budget) {
  if (launch.grid.empty())
    assume_grid(launch, kernel.signature, kernel.address, kernel.has_grid_y, simulator, budget);
  KernelProbe probe(kernel.signature, kernel.address, launch, simulator, budget);
  try {
    InferredKernel result = Inference(kernel.signature, std::move(probe)).inferred();
    if (budget.warp_instructions == 0)
      result.notes.emplace_back(
          "not tried: more sizes and contents, because executing the kernel takes long");
    return result;
  } catch (const InferenceError& error) {
    return without_sizes(kernel.signature, launch, error.what());
  }
}

}  // namespace

InferredKernel inferred_kernel(const ProbedKernel& kernel,
                               const std::optional<ResolvedLaunch>& launch,
                               sim::Simulator& simulator, ProbeBudget budget) {
  if (!launch)
    return inferred_with(kernel, launch_with_assumed_block(kernel.signature, kernel.has_block_y),
                         simulator, budget);
  ResolvedLaunch tried = *launch;
  while (std::ranges::any_of(tried.parameters, &LaunchParameter::is_of_grid)) {
    InferredKernel result = inferred_with(kernel, tried, simulator, budget);
    if (result.has_sizes && result.cutting_parameters.empty()) {
      for (const LaunchParameter& parameter : tried.parameters)
        if (parameter.is_of_grid)
          result.notes.push_back(fmt::format(
              "assumed: {} is a size of its own; only the grid depends on it", parameter.name));
      return result;
    }
    // A number of blocks that determines no size only cuts the work into parts.
    std::set<std::string> names = result.cutting_parameters;
    for (const LaunchParameter& parameter : tried.parameters)
      if (parameter.is_of_grid && !result.has_sizes) names.insert(parameter.name);
    tried = without_sizes_of_grid(std::move(tried), names);
  }
  return inferred_with(kernel, tried, simulator, budget);
}

}  // namespace gpuexp::infer
