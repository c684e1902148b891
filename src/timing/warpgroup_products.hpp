// Products of wgmma. A product starts when all four warps of the warpgroup have issued it. The
// tensor cores execute the products one after another while the warps continue.
#pragma once

#include <array>
#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "timing/memory_path.hpp"
#include "timing/release.hpp"
#include "timing/schedule.hpp"
#include "timing/sm_parameters.hpp"

namespace gpuexp {

struct MatrixPipe {
  Server multiply;
  Server operands;
};

class WarpgroupProducts {
 public:
  static constexpr unsigned kWarps = 4;

  explicit WarpgroupProducts(const SmParameters& parameters) : parameters_(parameters) {}

  /// Records that a warp issues product `number`, and times the product if this warp is the last of
  /// the four. Returns whether it is.
  bool start(std::size_t number, double now, const TimedOp& op, MatrixPipe& pipe,
             MemoryPath& memory);
  /// When the first `products` products, or `groups` groups of products, are complete; empty if a
  /// warp has not started one of them.
  std::optional<Release> complete(std::size_t products) const;
  std::optional<Release> groups_complete(std::size_t groups) const;
  /// When the queue has a free entry for product `number`.
  double place_from(std::size_t number) const;

 private:
  struct Started {
    unsigned warps = 0;
    double at = 0;  ///< latest time at which one of these warps issued the product
  };

  Release compute(const Started& started, const TimedOp& op, MatrixPipe& pipe, MemoryPath& memory);

  const SmParameters& parameters_;
  std::size_t computed_ = 0;      ///< number of products whose times are known
  std::deque<Started> started_;   ///< products after the first `computed_`
  std::deque<double> last_ends_;  ///< ends of the multiply-adds of the last products
  Release last_done_;
  std::vector<Release> groups_;
  double free_from_ = 0;   ///< earliest start of the warpgroup's next product
  double alone_from_ = 0;  ///< earliest start if the SM had no other warpgroup
};

}  // namespace gpuexp
