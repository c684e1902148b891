#include "infer/assumed_launch.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "infer/extent_fit.hpp"
#include "infer/kernel_probe.hpp"

namespace gpuexp::infer {

namespace {

own::Expression number_text(std::int64_t number) {
  return own::Expression::parse(fmt::format("{}", number));
}

/// The number of blocks that store something, as an expression of the parameters; empty if all of
/// a large grid do.
std::optional<own::Expression> storing_grid(const KernelProbe& probe, bool uses_y, bool is_x,
                                            std::int64_t block_side) {
  constexpr std::int64_t kMoreBlocks = 8;
  const std::vector<Sizes> samples =
      sample_sizes(probe.sized().size(), 1, scale_for(probe.sized().size()));
  std::vector<std::int64_t> counts;
  for (const Sizes& sizes : samples) {
    const std::int64_t largest = *std::ranges::max_element(sizes);
    const std::int64_t tiles = largest / block_side + kMoreBlocks;
    const Extent grid = uses_y ? Extent{tiles, tiles, 1} : Extent{largest + kMoreBlocks, 1, 1};
    const Extent storing = probe.run_with_grid(sizes, grid).touched.storing_blocks;
    const std::int64_t count = is_x ? storing.x : storing.y;
    if (count == (is_x ? grid.x : grid.y)) return std::nullopt;
    counts.push_back(count);
  }
  std::vector<ExtraFactor> quotients;
  for (std::size_t i = 0; i < probe.sized().size(); ++i) {
    ExtraFactor quotient{fmt::format("ceil_div({}, {})", probe.sized()[i], block_side), {}};
    for (const Sizes& sizes : samples)
      quotient.values.push_back(ceil_div(sizes[i], block_side));
    quotients.push_back(std::move(quotient));
  }
  const auto fit = ExtentFitter(probe.sized(), samples, quotients).exact(counts);
  if (!fit) return std::nullopt;
  return own::Expression::parse(product_text(*fit));
}

}  // namespace

ResolvedLaunch assumed_launch(const KernelSignature& kernel, const void* address, bool uses_y,
                              sim::Simulator& simulator) {
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kSide = 16;
  ResolvedLaunch launch = launch_by_names(kernel);
  const std::int64_t side = uses_y ? kSide : kThreads;
  launch.grid = {number_text(1)};
  launch.block = {number_text(side)};
  if (uses_y) launch.block.push_back(number_text(side));
  const KernelProbe probe(kernel, address, launch, simulator);
  launch.notes.push_back(fmt::format(
      "assumed: blocks of {} threads, because no launch of the kernel was found; --launches FILE "
      "names a file that launches it",
      uses_y ? fmt::format("{0} x {0}", side) : fmt::format("{}", side)));
  if (probe.sized().empty()) {
    launch.notes.push_back("assumed: one block");
    return launch;
  }
  std::vector<own::Expression> grid;
  for (const bool is_x : {true, false}) {
    if (!is_x && !uses_y) break;
    std::optional<own::Expression> found;
    try {
      found = storing_grid(probe, uses_y, is_x, side);
    } catch (const std::runtime_error&) {
      // The kernel cannot be executed with that many blocks.
    }
    const std::string first =
        probe.sized()[is_x ? 0 : std::min<std::size_t>(1, probe.sized().size() - 1)];
    launch.notes.push_back(
        found
            ? fmt::format("assumed: the grid along {} has the blocks that store something",
                          is_x ? "x" : "y")
            : fmt::format("assumed: one thread along {} for each of {}", is_x ? "x" : "y", first));
    grid.push_back(found ? *found
                         : own::Expression::parse(fmt::format("ceil_div({}, {})", first, side)));
  }
  launch.grid = std::move(grid);
  return launch;
}

}  // namespace gpuexp::infer
