#include "run/kernel_file_checks.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "run/compared_elements.hpp"

namespace gpuexp {

ExactVerification exact_verification(const KernelFiles* files, const Family& family,
                                     const Values& values) {
  if (!files || !is_kernel_file(family.id)) return {};
  return files->exact_verification(family, values);
}

// Evaluates one element, because the evaluation of a long sum takes long. Elements that are not
// drawn have no expected value either; they are wrong only if the kernel's value is NaN.
std::string check_error(const KernelFiles* files, const Family& verified, const Values& values,
                        std::uint64_t seed, const Verification& verification) {
  if (!files) return "";
  const auto& wrong = verification.first_wrong;
  auto without_value = std::ranges::find_if(wrong, [](const Mismatch& mismatch) {
    return std::isnan(mismatch.expected) && !std::isnan(mismatch.got);
  });
  if (without_value == wrong.end())
    without_value = std::ranges::find_if(
        wrong, [](const Mismatch& mismatch) { return std::isnan(mismatch.expected); });
  if (without_value == wrong.end()) return "";
  return files->check_error(verified, values, seed, without_value->buffer, without_value->index);
}

ElementName element_names(const KernelFiles* files, const Family& family, const Values& values) {
  if (!files || !files->element_name || !is_kernel_file(family.id)) return name_in_one_dimension;
  return [=, &family](const std::string& buffer, std::int64_t element) {
    return files->element_name(family, values, buffer, element);
  };
}

std::string input_hint(const Family& family, const Variant& variant,
                       const Verification& verification) {
  const std::vector<std::string> unchecked = unverified_outputs(family, variant);
  const bool has_nan = std::ranges::any_of(verification.first_wrong, [](const Mismatch& mismatch) {
    return std::isnan(mismatch.got) && !mismatch.is_unwritten;
  });
  if (!is_kernel_file(family.id) || !has_nan || unchecked.empty()) return "";
  return fmt::format(
      "; {0} is an output without contents: declare it as 'in {0}' if the kernel "
      "only reads it",
      unchecked.front());
}

std::vector<std::string> compared_with_itself(const KernelFiles* files, const Family& family,
                                              const Variant& variant) {
  if (!files || !files->compared_with_itself || !is_kernel_file(family.id)) return {};
  return files->compared_with_itself(family, variant);
}

bool has_only_own_results(const KernelFiles* files, const Family& family, const Variant& variant) {
  const std::size_t own = compared_with_itself(files, family, variant).size();
  return own > 0 && own == compared_outputs(family, variant).size();
}

std::string unverified_reason(const KernelFiles* files, const Family& family,
                              const Variant& variant) {
  std::vector<std::string> reasons;
  if (const auto unchecked = unverified_outputs(family, variant); !unchecked.empty())
    reasons.push_back(fmt::format("no check of {}", fmt::join(unchecked, ", ")));
  if (const auto own = compared_with_itself(files, family, variant); !own.empty())
    reasons.push_back(fmt::format(
        "the expected values of {} come from a launch of the same kernels", fmt::join(own, ", ")));
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace gpuexp
