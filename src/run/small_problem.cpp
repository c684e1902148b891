#include "run/small_problem.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>
#include <variant>

#include "run/compared_elements.hpp"

namespace gpuexp {

namespace {

/// Instructions that one core executes in about a tenth of a second.
constexpr double kMaxSmallWork = 5e7;
constexpr double kInstructionsPerElement = 60;
constexpr std::int64_t kMinHalved = 64;

/// Approximate number of instructions of one launch of each variant and of its reference; empty if
/// a variant cannot run the problem.
std::optional<double> launch_work(const Family& family, const std::vector<const Variant*>& variants,
                                  const Values& values, const DeviceSpec& device) try {
  const auto problem = family.make_problem(values);
  if (family.unsupported && family.unsupported(problem.get(), device)) return std::nullopt;
  double instructions = 0;
  for (const Variant* const variant : variants) {
    if (variant->unsupported && variant->unsupported(problem.get(), device)) return std::nullopt;
    for (const Shape& shape : variant->shapes(problem.get(), device))
      if (shape.grid.count() == 0) return std::nullopt;
    const Work work = variant->work(problem.get());
    const double moved = work.moved_read + work.moved_written;
    instructions += operation_count(work) + work.untyped_operations +
                    kInstructionsPerElement * moved / sizeof(float) +
                    host_reference_operations(family, problem.get(), *variant);
  }
  return instructions;
} catch (const std::runtime_error&) {  // a declaration that cannot be evaluated at these values
  return std::nullopt;
}

}  // namespace

Values small_values(const Family& family, const std::vector<const Variant*>& variants,
                    Values values, const std::set<std::string>& fixed, const DeviceSpec& device) {
  std::optional<double> work = launch_work(family, variants, values, device);
  while (work && *work > kMaxSmallWork) {
    std::vector<std::pair<std::int64_t, std::size_t>> largest_first;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto* const value = std::get_if<std::int64_t>(&values[i]);
      if (value && *value >= kMinHalved && !fixed.contains(family.parameters[i].name))
        largest_first.emplace_back(*value, i);
    }
    std::ranges::stable_sort(largest_first, std::ranges::greater(),
                             &std::pair<std::int64_t, std::size_t>::first);
    std::optional<double> smaller;
    for (const auto& [value, place] : largest_first) {
      Values halved = values;
      halved[place] = value / 2;
      smaller = launch_work(family, variants, halved, device);
      if (smaller && *smaller < *work) {
        values = std::move(halved);
        break;
      }
      smaller.reset();
    }
    work = smaller;
  }
  return values;
}

}  // namespace gpuexp
