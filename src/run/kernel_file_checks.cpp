#include "run/kernel_file_checks.hpp"

#include <algorithm>
#include <cmath>

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

}  // namespace gpuexp
