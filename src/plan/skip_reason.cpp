#include "plan/skip_reason.hpp"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "base/input_error.hpp"
#include "model/occupancy.hpp"

namespace gpuexp {

namespace {

using Reason = std::optional<std::string>;

Reason beyond_machine(const Variant& variant, const Group& group, const Family& family,
                      const DeviceSpec& device) {
  if (device.compute_capability() < variant.min_compute_capability) {
    return fmt::format("needs compute capability {}.{}, {} has {}.{}",
                       variant.min_compute_capability / 10, variant.min_compute_capability % 10,
                       device.name, device.cc_major, device.cc_minor);
  }
  const int gpus = family.gpus_of(group.problem.get());
  if (gpus <= device.machine.gpus) return std::nullopt;
  return fmt::format("needs {} GPUs; {} can be used here", gpus, device.machine.gpus);
}

Reason unsupported(const Variant& variant, const Group& group, const Family& family,
                   const DeviceSpec& device) {
  const void* const problem = group.problem.get();
  const bool spans_gpus = family.gpus_of(problem) > 1;
  if (spans_gpus && group.mode == Mode::graph)
    return "launches on several GPUs need a barrier between them, which a CUDA graph of launches "
           "does not have";
  if (spans_gpus && variant.timing != Timing::gated && variant.timing != Timing::ungated)
    return "timing on the host's clock does not support several GPUs";
  if (family.unsupported) {
    if (auto reason = family.unsupported(problem, device)) return reason;
  }
  return variant.unsupported ? variant.unsupported(problem, device) : std::nullopt;
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

Reason without_code(Cell& cell, const void* problem, const DeviceSpec& device,
                    const KernelResources& resources) {
  if (cell.variant->is_vendor) return std::nullopt;
  try {
    for (const Shape& shape : cell.variant->shapes(problem, device)) {
      occupancy(shape, device, resources);
    }
  } catch (const InputError& e) {
    cell.does_not_compile = true;
    return e.what();
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return std::nullopt;
}

Reason beyond_memory(const Variant& variant, Group& group, const Family& family,
                     const DeviceSpec& device, std::int64_t free_bytes) {
  const std::int64_t needed = cell_bytes(family, variant, group.problem.get(), device);
  if (needed <= free_bytes) {
    group.device_bytes = std::max(group.device_bytes, needed);
    return std::nullopt;
  }
  constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
  return fmt::format("needs {:.2f} GiB of device memory, {:.2f} GiB are free",
                     static_cast<double>(needed) / kGiB, static_cast<double>(free_bytes) / kGiB);
}

}  // namespace

void skip_unsupported(Cell& cell, const Group& group, const Experiment& experiment,
                      const DeviceSpec& device) {
  const Variant& variant = *cell.variant;
  const Family& family = *experiment.family;
  Reason reason = beyond_machine(variant, group, family, device);
  cell.machine_lacks = reason.has_value();
  if (!reason) reason = unsupported(variant, group, family, device);
  if (!reason && variant.unavailable) {
    reason = variant.unavailable();
    cell.machine_lacks = reason.has_value();
  }
  if (!reason) reason = unsupported_mode(variant, group.mode, family);
  cell.skip_reason = reason.value_or("");
}

void skip_beyond_device(Cell& cell, Group& group, const Experiment& experiment,
                        const DeviceSpec& device, const KernelResources& resources,
                        std::int64_t free_bytes) {
  Reason reason = without_code(cell, group.problem.get(), device, resources);
  if (!reason) reason = beyond_memory(*cell.variant, group, *experiment.family, device, free_bytes);
  cell.skip_reason = reason.value_or("");
}

}  // namespace gpuexp
