#include "own/work_amounts.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "device/hardware_sizes.hpp"
#include "own/check_costs.hpp"

namespace gpuexp::own {

namespace {

constexpr const char* kBytesRead = "bytes_read";
constexpr const char* kBytesWritten = "bytes_written";

/// The statement for the variant, or else the one for all variants; null if there is none.
const DeclaredWork* declared(const Bound& bound, const BoundVariant& variant,
                             std::string_view quantity) {
  const DeclaredWork* found = nullptr;
  for (const DeclaredWork& work : bound.work) {
    if (work.quantity != quantity) continue;
    if (work.variant == variant.id) return &work;
    if (work.variant.empty()) found = &work;
  }
  return found;
}

std::optional<double> amount_of(const Bound& bound, const BoundVariant& variant,
                                const OwnProblem& problem, std::string_view quantity) {
  const DeclaredWork* const work = declared(bound, variant, quantity);
  if (!work) return std::nullopt;
  const PlacedExpression& amount = work->amount;
  const double value =
      at_place(bound.file, amount.place, [&] { return amount.expression.real(problem.names); });
  if (value >= 0) return value;
  fail(bound.file, amount.place,
       fmt::format("the work '{}' is {}; expected at least 0", amount.expression.text(), value));
}

double in_sectors(double bytes) {
  return std::ceil(bytes / kSectorBytes) * kSectorBytes;
}

void add_buffers(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem,
                 Work& work) {
  for (std::size_t i = 0; i < bound.buffers.size(); ++i) {
    const BoundBuffer& buffer = bound.buffers[i];
    const auto bytes =
        static_cast<double>(problem.count(i)) * static_cast<double>(size_of(buffer.type));
    const bool has_contents = buffer.role == BufferRole::input || buffer.role == BufferRole::in_out;
    if (has_contents && variant.passes(i)) {
      work.bytes_read += bytes;
      work.moved_read += in_sectors(bytes);
    }
    if (is_output(buffer.role) && variant.writes(i)) {
      work.bytes_written += bytes;
      work.moved_written += in_sectors(bytes);
    }
  }
}

/// Two operations, as of a multiply-add, for each term of the sums in the checks of the variant's
/// outputs.
double operations_of_checks(const Bound& bound, const BoundVariant& variant,
                            const OwnProblem& problem) {
  constexpr double kPerTerm = 2;
  double operations = 0;
  for (const std::size_t i : bound.checked_outputs()) {
    if (!variant.writes(i)) continue;
    const double terms = cost_of(bound, i, problem).terms;
    operations += static_cast<double>(problem.count(i)) * kPerTerm * std::max(1.0, terms);
  }
  return operations;
}

}  // namespace

std::vector<std::string> work_quantities() {
  std::vector<std::string> names{kBytesRead, kBytesWritten};
  for (int pipe = 0; pipe < kPipeCount; ++pipe)
    names.emplace_back(name_of(static_cast<Pipe>(pipe)));
  return names;
}

Work work_of(const Bound& bound, const BoundVariant& variant, const OwnProblem& problem) {
  Work work;
  add_buffers(bound, variant, problem, work);
  const auto amount = [&](std::string_view quantity) {
    return amount_of(bound, variant, problem, quantity);
  };
  const std::optional<double> read = amount(kBytesRead);
  const std::optional<double> written = amount(kBytesWritten);
  if (read) {
    work.bytes_read = *read;
    work.moved_read = in_sectors(*read);
  }
  if (written) {
    work.bytes_written = *written;
    work.moved_written = in_sectors(*written);
  }
  work.is_assumed = !read && !written;
  for (int i = 0; i < kPipeCount; ++i) {
    const auto pipe = static_cast<Pipe>(i);
    const std::optional<double> operations = amount(name_of(pipe));
    if (!operations) continue;
    work.is_assumed = false;
    if (*operations > 0) work.operations.push_back({pipe, *operations});
  }
  if (work.operations.empty())
    work.untyped_operations = operations_of_checks(bound, variant, problem);
  return work;
}

}  // namespace gpuexp::own
