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

/// Numbers of blocks along one dimension.
struct StoringBlocks {
  std::vector<Sizes> samples;
  std::vector<std::int64_t> counts;  ///< blocks that store something
  std::vector<std::int64_t> sides;   ///< threads of a block
};

/// Executes more blocks than sizes have elements. Empty if all of them store something.
std::optional<StoringBlocks> storing_blocks(const KernelProbe& probe, bool has_grid_y, bool is_x,
                                            std::int64_t scale) {
  constexpr std::int64_t kMoreBlocks = 8;
  StoringBlocks found;
  found.samples = sample_sizes(probe.sized().size(), 1, scale);
  for (const Sizes& sizes : found.samples) {
    const Extent block = probe.shape(probe.values(sizes)).block;
    const std::int64_t largest = *std::ranges::max_element(sizes);
    const Extent grid = has_grid_y ? Extent{ceil_div(largest, block.x) + kMoreBlocks,
                                            ceil_div(largest, block.y) + kMoreBlocks, 1}
                                   : Extent{largest + kMoreBlocks, 1, 1};
    const Extent storing = probe.run_with_grid(sizes, grid).touched.storing_blocks;
    const std::int64_t count = is_x ? storing.x : storing.y;
    if (count == (is_x ? grid.x : grid.y)) return std::nullopt;
    found.counts.push_back(count);
    found.sides.push_back(is_x ? block.x : block.y);
  }
  return found;
}

/// Parameters divided by the elements of a block and rounded up, for 1 to 16 elements per thread.
std::vector<ExtraFactor> block_quotients(const KernelProbe& probe, const StoringBlocks& blocks,
                                         const std::string& side) {
  constexpr std::int64_t kMaxElements = 16;
  std::vector<ExtraFactor> quotients;
  for (std::int64_t elements = 1; elements <= kMaxElements; elements *= 2) {
    for (std::size_t i = 0; i < probe.sized().size(); ++i) {
      ExtraFactor quotient{
          elements == 1 ? fmt::format("ceil_div({}, {})", probe.sized()[i], side)
                        : fmt::format("ceil_div({}, {}*{})", probe.sized()[i], elements, side),
          {}};
      for (std::size_t s = 0; s < blocks.samples.size(); ++s)
        quotient.values.push_back(ceil_div(blocks.samples[s][i], elements * blocks.sides[s]));
      quotients.push_back(std::move(quotient));
    }
  }
  return quotients;
}

/// The number of blocks that store something, as an expression of the parameters.
std::optional<own::Expression> storing_grid(const KernelProbe& probe, bool has_grid_y, bool is_x) {
  constexpr std::int64_t kLarger = 16;
  const std::int64_t scale = scale_for(probe.sized().size());
  auto found = storing_blocks(probe, has_grid_y, is_x, scale);
  const bool has_one = found && std::ranges::all_of(found->counts, [](auto n) { return n == 1; });
  if (has_one && probe.sized().size() == 1)
    found = storing_blocks(probe, has_grid_y, is_x, kLarger * scale);
  if (!found) return std::nullopt;
  const std::vector<own::Expression>& block = probe.launch().block;
  const std::size_t d = is_x ? 0 : 1;
  const std::vector<ExtraFactor> quotients =
      block_quotients(probe, *found, d < block.size() ? block[d].text() : "1");
  const auto fit = ExtentFitter(probe.sized(), found->samples, quotients).exact(found->counts);
  if (!fit) return std::nullopt;
  return own::Expression::parse(product_text(*fit));
}

}  // namespace

ResolvedLaunch launch_with_assumed_block(const KernelSignature& kernel, bool has_block_y) {
  constexpr std::int64_t kThreads = 256;
  constexpr std::int64_t kSide = 16;
  ResolvedLaunch launch = launch_by_names(kernel);
  launch.block = {number_text(has_block_y ? kSide : kThreads)};
  if (has_block_y) launch.block.push_back(number_text(kSide));
  launch.notes.push_back(fmt::format(
      "assumed: blocks of {} threads, because no launch of the kernel was found; --launches FILE "
      "names a file that launches it",
      has_block_y ? fmt::format("{0} x {0}", kSide) : fmt::format("{}", kThreads)));
  return launch;
}

void assume_grid(ResolvedLaunch& launch, const KernelSignature& kernel, const void* address,
                 bool has_grid_y, sim::Simulator& simulator, ProbeBudget& budget) {
  launch.grid = {number_text(1)};
  const KernelProbe probe(kernel, address, launch, simulator, budget);
  if (probe.sized().empty()) {
    launch.notes.push_back("assumed: a grid of one block");
    return;
  }
  std::vector<own::Expression> grid;
  for (const bool is_x : {true, false}) {
    if (!is_x && !has_grid_y) break;
    const char* const along = is_x ? "x" : "y";
    std::optional<own::Expression> found;
    try {
      found = storing_grid(probe, has_grid_y, is_x);
    } catch (const std::runtime_error&) {
      // The kernel cannot be executed with that many blocks.
    }
    if (found) {
      launch.notes.push_back(
          fmt::format("assumed: the grid along {} has the blocks that store something", along));
      grid.push_back(*found);
      continue;
    }
    const std::size_t d = is_x ? 0 : 1;
    const std::string& size = probe.sized()[std::min(d, probe.sized().size() - 1)];
    const std::string side = d < launch.block.size() ? launch.block[d].text() : "1";
    launch.notes.push_back(fmt::format("assumed: one thread along {} for each of {}", along, size));
    grid.push_back(own::Expression::parse(fmt::format("ceil_div({}, {})", size, side)));
  }
  launch.grid = std::move(grid);
}

}  // namespace gpuexp::infer
