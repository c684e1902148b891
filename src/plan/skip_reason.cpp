#include "plan/skip_reason.hpp"

#include <optional>
#include <stdexcept>

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "family/registry.hpp"
#include "model/occupancy.hpp"

namespace gpuexp {

namespace {

using Reason = std::optional<std::string>;

Reason beyond_machine(const Variant& variant, const void* problem, const Family& family,
                      const DeviceSpec& device) {
  if (device.compute_capability() < variant.min_compute_capability) {
    return fmt::format("needs compute capability {}.{}, {} has {}.{}",
                       variant.min_compute_capability / 10, variant.min_compute_capability % 10,
                       device.name, device.cc_major, device.cc_minor);
  }
  const int gpus = family.gpus_of(problem);
  if (gpus <= device.machine.gpus) return std::nullopt;
  return fmt::format("needs {} GPUs; {} can be used here", gpus, device.machine.gpus);
}

Reason unsupported(const Variant& variant, const void* problem, Mode mode, const Family& family,
                   const DeviceSpec& device) {
  const bool spans_gpus = family.gpus_of(problem) > 1;
  if (spans_gpus && mode == Mode::graph)
    return "launches on several GPUs need a barrier between them, which a CUDA graph of launches "
           "does not have";
  if (spans_gpus && variant.timing != Timing::gated && variant.timing != Timing::ungated)
    return "timing on the host's clock does not support several GPUs";
  if (family.unsupported) {
    if (auto reason = family.unsupported(problem, device)) return reason;
  }
  // The limits of a kernel file depend on its code.
  const bool needs_code = is_kernel_file(family.id);
  return variant.unsupported && !needs_code ? variant.unsupported(problem, device) : std::nullopt;
}

Reason unsupported_mode(const Variant& variant, Mode mode, const Family& family) {
  if (is_back_to_back(mode) && family.reset && !family.repeats_without_reset)
    return "needs its inputs restored before each launch; back-to-back modes do not restore "
           "them: use cold, warm or graph";
  if (variant.timing == Timing::ungated && is_captured(mode))
    return "its launch waits for the GPU, which a CUDA graph cannot capture";
  if (times_first_launches(variant.timing) && follows_launches(mode))
    return "times first launches, which only mode cold supports";
  return std::nullopt;
}

}  // namespace

SkipReason unsupported_reason(const Family& family, const Variant& variant, const void* problem,
                              Mode mode, const DeviceSpec& device) {
  if (const Reason reason = beyond_machine(variant, problem, family, device))
    return {*reason, SkipCause::machine_lacks};
  if (const Reason reason = unsupported(variant, problem, mode, family, device)) return {*reason};
  if (variant.unavailable) {
    if (const Reason reason = variant.unavailable()) return {*reason, SkipCause::machine_lacks};
  }
  return {unsupported_mode(variant, mode, family).value_or("")};
}

SkipReason code_reason(const Family& family, const Variant& variant, const void* problem,
                       const DeviceSpec& device, const KernelResources& resources) {
  if (variant.is_vendor) return {};
  try {
    if (is_kernel_file(family.id) && variant.unsupported) {
      if (const Reason reason = variant.unsupported(problem, device))
        return {*reason, SkipCause::beyond_limits};
    }
    for (const Shape& shape : variant.shapes(problem, device)) {
      occupancy(shape, device, resources);
    }
  } catch (const InputError& e) {
    return {e.what(), SkipCause::no_code};
  } catch (const std::runtime_error& e) {
    return {e.what()};
  }
  return {};
}

}  // namespace gpuexp
