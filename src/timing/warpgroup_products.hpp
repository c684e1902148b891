// Products of wgmma: the four warps of a warpgroup start each together, and the tensor cores carry
// them out one after the other while the warps go on.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "timing/memory_path.hpp"
#include "timing/release.hpp"
#include "timing/schedule.hpp"
#include "timing/sm_figures.hpp"

namespace gpuexp {

/// What the warpgroups of an SM have in common.
struct MatrixPipe {
  Server multiply;  ///< the four tensor cores
  Server operands;  ///< of shared memory, what products read
};

class WarpgroupProducts {
 public:
  static constexpr unsigned kWarps = 4;

  explicit WarpgroupProducts(const SmFigures& figures) : figures_(figures) {}

  /// The warp starts its product with this number. True: it is the last of the four.
  bool start(std::size_t number, double now, const TimedOp& op, MatrixPipe& pipe,
             MemoryPath& memory);
  /// When so many products are complete, and so many of their groups; empty where some warp has
  /// not started one of them yet.
  std::optional<Release> complete(std::size_t products) const;
  std::optional<Release> groups_complete(std::size_t groups) const;
  /// When the queue has a place for the product with this number.
  double place_from(std::size_t number) const;

 private:
  struct Started {
    unsigned warps = 0;
    double at = 0;  ///< by the last of them
  };

  Release compute(const Started& started, const TimedOp& op, MatrixPipe& pipe, MemoryPath& memory);

  const SmFigures& figures_;
  std::size_t computed_ = 0;      ///< products whose time is known
  std::deque<Started> started_;   ///< the products behind them
  std::deque<double> last_ends_;  ///< of the last ones, of their multiply-adds
  Release last_done_;
  std::vector<Release> groups_;  ///< when each is complete
  double free_from_ = 0;         ///< the warpgroup's own next product may begin
  double alone_from_ = 0;        ///< likewise, if the SM had no other warpgroup
};

}  // namespace gpuexp
