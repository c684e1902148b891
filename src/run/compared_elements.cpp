#include "run/compared_elements.hpp"

#include <algorithm>

#include "family/draw_limits.hpp"

namespace gpuexp {

namespace {

bool writes(const Variant& variant, const Buffer& buffer) {
  return is_output(buffer.role) && variant.fills(buffer.name);
}

/// Number of elements of the outputs that are compared.
double compared_count(const Family& family, const void* problem, const Variant& variant) {
  double elements = 0;
  for (const std::size_t output : compared_outputs(family, variant))
    elements += static_cast<double>(family.buffers[output].count(problem));
  return elements;
}

template <class Condition>
std::vector<std::size_t> buffers_where(const Family& family, const Condition& condition) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < family.buffers.size(); ++i) {
    if (condition(family.buffers[i])) found.push_back(i);
  }
  return found;
}

}  // namespace

std::vector<std::size_t> poisoned_before(const Family& family, const Variant& variant) {
  return buffers_where(family, [&](const Buffer& buffer) {
    return writes(variant, buffer) || buffer.role == BufferRole::workspace;
  });
}

std::vector<std::size_t> compared_outputs(const Family& family, const Variant& variant) {
  return buffers_where(family, [&](const Buffer& buffer) {
    return writes(variant, buffer) && buffer.has_reference;
  });
}

std::vector<std::string> unverified_outputs(const Family& family, const Variant& variant) {
  std::vector<std::string> names;
  for (const Buffer& buffer : family.buffers) {
    if (writes(variant, buffer) && !buffer.has_reference) names.push_back(buffer.name);
  }
  return names;
}

double reference_rate(const DeviceSpec& device) {
  // The reference of the matrix product at 8192³ reached 5.9 TFLOP/s on the 132 SMs of an H200, at
  // 1.98 GHz.
  constexpr double kOperationsPerSmCycle = 22.5;
  // Compute capabilities 8.6, 8.9 and 12.0 have the lowest rate (CUDA C++ Programming Guide,
  // "Throughput of Native Arithmetic Instructions").
  constexpr double kMinResultsPerCycle = 2;   // per SM
  constexpr double kOperationsPerResult = 2;  // a fused multiply-add
  const double sm_cycles_per_s = 1e6 * device.sm_clock_max_mhz * device.sm_count;
  const double min_rate = kOperationsPerResult * kMinResultsPerCycle * sm_cycles_per_s;
  return std::min(kOperationsPerSmCycle * sm_cycles_per_s,
                  device.peak(Pipe::fp64).value_or(min_rate));
}

double reference_operations(const Family& family, const void* problem, const Variant& variant) {
  if (family.reference_operations) return family.reference_operations(problem);
  return operation_count(variant.work(problem));
}

double affordable_share(const Family& family, const void* problem, const Variant& variant,
                        double max_operations) {
  const double operations = std::max(compared_count(family, problem, variant),
                                     reference_operations(family, problem, variant));
  return operations > max_operations ? max_operations / operations : 1.0;
}

double host_reference_operations(const Family& family, const void* problem,
                                 const Variant& variant) {
  if (family.host_operations) return family.host_operations(problem).of_all;
  return reference_operations(family, problem, variant);
}

double affordable_host_share(const Family& family, const void* problem, const Variant& variant,
                             double max_operations) {
  if (!family.host_operations) return affordable_share(family, problem, variant, max_operations);
  const HostOperations operations = family.host_operations(problem);
  const double elements = compared_count(family, problem, variant);
  if (std::max(elements, operations.of_all) <= max_operations) return 1.0;
  return std::min(1.0, max_operations / std::max(elements, operations.of_drawn));
}

ElementDraw affordable_draw(double share, std::int64_t count, std::int64_t available,
                            std::uint64_t seed) {
  const double affordable = share * static_cast<double>(count);
  const double wanted = std::max(
      {affordable, std::min(kUsualDrawnElements, kMaxDrawTime * affordable), kMinDrawnElements});
  return drawn_share(wanted / static_cast<double>(available), seed);
}

ElementDraw affordable_draw(const Buffer& output, const void* problem, double share,
                            std::uint64_t seed) {
  if (!is_nan_unwritten(output, problem) && kMaxDrawTime * share >= 1) return {};
  const std::int64_t count = output.count(problem);
  return affordable_draw(share, count, count, seed);
}

bool is_nan_unwritten(const Buffer& output, const void* problem) {
  const bool has_nan = unit_roundoff(output.type(problem)) > 0;
  return has_nan && output.role == BufferRole::output;
}

bool is_elementwise(const Steps& reference, const std::vector<const double*>& arrays) {
  const auto is_computed = [&](const double* array) {
    return std::any_of(reference.all().begin(), reference.all().end(), [&](const Step& step) {
      const auto* const kernel = std::get_if<KernelStep>(&step.action);
      return kernel && kernel->on_host.run && kernel->on_host.to == array;
    });
  };
  return reference.all().size() == arrays.size() &&
         std::all_of(arrays.begin(), arrays.end(), is_computed);
}

}  // namespace gpuexp
