#include "results/reference_rows.hpp"

#include <algorithm>

namespace gpuexp {

ReferenceRows::ReferenceRows(const ExperimentResults& experiment,
                             const std::function<bool(const ResultRecord&)>& is_usable)
    : experiment_(experiment) {
  for (const ResultRecord& row : experiment.rows) {
    if (!is_usable(row)) continue;
    rows_.emplace(key(row.variant, row), row);
    if (lacks_parameters(row)) with_fewer_parameters_.emplace_back(row);
  }
}

const ResultRecord* ReferenceRows::find(const std::string& variant, const ResultRecord& row) const {
  const auto same = rows_.find(key(variant, row));
  if (same != rows_.end()) return &same->second.get();
  const auto other =
      std::ranges::find_if(with_fewer_parameters_, [&](const ResultRecord& reference) {
        return reference.variant == variant && is_reference(reference, row);
      });
  return other == with_fewer_parameters_.end() ? nullptr : &other->get();
}

std::string ReferenceRows::key(const std::string& variant, const ResultRecord& row) const {
  return variant + '\0' + row.family + '\0' + group_of(experiment_, row);
}

bool ReferenceRows::lacks_parameters(const ResultRecord& row) const {
  return std::ranges::any_of(experiment_.axes,
                             [&](const ResultAxis& axis) { return axis.column.text(row).empty(); });
}

bool ReferenceRows::is_reference(const ResultRecord& reference, const ResultRecord& row) const {
  const bool has_same_place = reference.family == row.family &&
                              mode_text(reference) == mode_text(row) &&
                              reference.gpu_uuid == row.gpu_uuid;
  return has_same_place && std::ranges::all_of(experiment_.axes, [&](const ResultAxis& axis) {
           const std::string value = axis.column.text(reference);
           return value.empty() || value == axis.column.text(row);
         });
}

}  // namespace gpuexp
