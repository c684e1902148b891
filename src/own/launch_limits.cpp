#include "own/launch_limits.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "sass/grid_barrier.hpp"
#include "sass/loaded_kernels.hpp"

namespace gpuexp::own {

namespace {

/// Empty if the kernel is not a loaded one, or does not compile for the GPU.
std::optional<LoadedCode> code_of(const void* kernel, const DeviceSpec& device) {
  const LoadedKernel* const loaded = LoadedKernels::global().find(kernel);
  if (!loaded) return std::nullopt;
  try {
    return loaded->code(device.compute_capability());
  } catch (const std::runtime_error&) {
    return std::nullopt;
  }
}

std::array<std::int64_t, 3> sides_of(const Extent& extent) {
  return {extent.x, extent.y, extent.z};
}

/// Compares launches of a declaration with limits. All functions throw DeclarationError.
class LaunchLimits {
 public:
  LaunchLimits(const Bound& bound, const OwnProblem& problem, const DeviceSpec& device)
      : bound_(bound), problem_(problem), device_(device) {}

  void check(const BoundLaunch& launch) const {
    const DeclaredLaunch& declared = launch.declared;
    check_sides(declared.grid, "the grid", kMaxGrid);
    check_sides(declared.block, "the block", kMaxBlock);
    const Shape shape = shape_of(bound_, launch, problem_.names);
    const Extent& block = shape.block;
    if (block.count() > kMaxBlockThreads)
      fail_at(declared.block,
              fmt::format("the block has {} x {} x {} = {} threads; expected at most {}", block.x,
                          block.y, block.z, block.count(), kMaxBlockThreads));
    const std::optional<LoadedCode> code = code_of(shape.kernel, device_);
    if (code) check_block(declared, block, code->block);
    check_shared_memory(declared, shape.dynamic_shared_bytes,
                        code ? code->resource->static_shared_bytes : 0);
    if (code) check_registers(declared, block.count(), code->resource->registers);
    if (code && synchronizes_grid(code->resource->code.text(), device_.compute_capability()))
      fail(bound_.file, declared.place,
           fmt::format("{} synchronizes the whole grid (cooperative groups); grid-wide "
                       "synchronization needs a cooperative launch, which a declaration does not "
                       "make: declare a kernel for each step instead",
                       declared.kernel));
  }

  /// The buffers, and the expected values of the outputs that the variant writes.
  void check_memory(const BoundVariant& variant) const {
    constexpr std::int64_t kExpectedBytes = 2 * sizeof(double);  // value and magnitude
    double all = 0;
    std::size_t largest = 0;
    for (std::size_t i = 0; i < bound_.buffers.size(); ++i) {
      all += bytes_of(i);
      if (bytes_of(i) > bytes_of(largest)) largest = i;
      const bool has_expected = bound_.expected_by(i) != ExpectedBy::nothing && variant.writes(i);
      if (has_expected) all += static_cast<double>(kExpectedBytes * problem_.count(i));
    }
    const auto available = static_cast<double>(device_.memory_bytes);
    if (all <= available) return;
    const BoundBuffer& buffer = bound_.buffers[largest];
    fail(bound_.file, buffer.declared.place,
         fmt::format("{} has {} elements of type {}, {}; the buffers and the expected values need "
                     "{}, but {} has {} of memory; expected fewer elements",
                     buffer.declared.name, problem_.count(largest), name_of(buffer.type),
                     bytes_text(bytes_of(largest)), bytes_text(all), device_.name,
                     bytes_text(available)));
  }

 private:
  [[noreturn]] void fail_at(const std::vector<PlacedExpression>& at,
                            const std::string& message) const {
    fail(bound_.file, at.front().place, message);
  }

  double bytes_of(std::size_t buffer) const {
    return static_cast<double>(problem_.count(buffer)) *
           static_cast<double>(size_of(bound_.buffers[buffer].type));
  }

  void check_sides(const std::vector<PlacedExpression>& given, std::string_view what,
                   const Extent& allowed) const {
    constexpr std::array kNames{"x", "y", "z"};
    for (std::size_t i = 0; i < given.size(); ++i) {
      const std::int64_t limit = sides_of(allowed)[i];
      const std::int64_t side = given[i].expression.integer(problem_.names);
      if (side > limit)
        fail(bound_.file, given[i].place,
             fmt::format("{} has {} along {}; expected at most {}", what, side, kNames[i], limit));
    }
  }

  void check_block(const DeclaredLaunch& launch, const Extent& block,
                   const BlockLimits& limits) const {
    if (limits.max_threads > 0 && block.count() > limits.max_threads)
      fail_at(launch.block,
              fmt::format("the block has {} threads; expected at most {}, which __launch_bounds__ "
                          "of {} declares",
                          block.count(), limits.max_threads, launch.kernel));
    if (limits.required[0] > 0 && limits.required != sides_of(block))
      fail_at(launch.block, fmt::format("the block is ({}); expected ({}), which {} requires",
                                        fmt::join(sides_of(block), ", "),
                                        fmt::join(limits.required, ", "), launch.kernel));
  }

  void check_shared_memory(const DeclaredLaunch& launch, std::int64_t dynamic_bytes,
                           std::int64_t static_bytes) const {
    const std::int64_t limit = device_.sm.shared_bytes_per_block;
    if (dynamic_bytes + static_bytes <= limit) return;
    const Place& place = launch.shared_bytes ? launch.shared_bytes->place : launch.place;
    fail(bound_.file, place,
         fmt::format("a block of {} needs {} bytes of shared memory, {} of the launch and {} of "
                     "the kernel's variables; expected at most {} on {}",
                     launch.kernel, dynamic_bytes + static_bytes, dynamic_bytes, static_bytes,
                     limit, device_.name));
  }

  // An SM reserves registers for warps, in units of 256 (CUDA Occupancy Calculator).
  void check_registers(const DeclaredLaunch& launch, std::int64_t threads, int registers) const {
    constexpr std::int64_t kWarp = 32;
    constexpr std::int64_t kUnit = 256;
    const std::int64_t needed =
        ceil_div(threads, kWarp) * ceil_div(registers * kWarp, kUnit) * kUnit;
    if (needed > device_.sm.registers)
      fail_at(launch.block,
              fmt::format("the block has {} threads, and {} uses {} registers per thread; an SM of "
                          "{} has {}: expected fewer threads, or __launch_bounds__({}) of {}",
                          threads, launch.kernel, registers, device_.name, device_.sm.registers,
                          threads, launch.kernel));
  }

  const Bound& bound_;
  const OwnProblem& problem_;
  const DeviceSpec& device_;
};

}  // namespace

std::optional<std::string> beyond_limits(const Bound& bound, const BoundVariant& variant,
                                         const OwnProblem& problem, const DeviceSpec& device) {
  const LaunchLimits limits(bound, problem, device);
  try {
    limits.check_memory(variant);
    for (const BoundLaunch* launch : variant.launches())
      limits.check(*launch);
    if (bound.reference)
      for (const BoundLaunch* launch : bound.reference->launches())
        limits.check(*launch);
  } catch (const DeclarationError& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace gpuexp::own
