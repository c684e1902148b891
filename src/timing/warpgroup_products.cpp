#include "timing/warpgroup_products.hpp"

#include <algorithm>

namespace gpuexp {

// A product takes as long as its multiply-adds, or as shared memory takes to deliver its operands,
// if that is longer. Its latencies before and after overlap with neighbouring products.
Release WarpgroupProducts::compute(const Started& started, const TimedOp& op, MatrixPipe& pipe,
                                   MemoryPath& memory) {
  const AsyncParameters& async = parameters_.async;
  const double latency =
      op.a_in_registers ? async.product_latency_register_a : async.product_latency;
  const double before = latency - async.product_drain;
  const double clocks =
      std::max(op.pipe_clocks,
               op.a_in_registers ? async.min_product_register_a - async.product_gap_register_a : 0);
  const double begin =
      std::max({started.at + before, pipe.multiply.free_at(), free_from_, pipe.operands.free_at()});
  const double read =
      pipe.operands.serve(begin, op.operand_wavefronts * parameters_.data_stage_clocks);
  const double multiplied = pipe.multiply.serve(begin, clocks);
  memory.reserve_data_stage(begin, multiplied, op.operand_wavefronts);
  // The last operands are read while the next product starts, so a single product does not wait for
  // them.
  const double gap = op.a_in_registers ? async.product_gap_register_a : 0;
  free_from_ = std::max(multiplied, read) + gap;
  last_ends_.push_back(multiplied);
  if (last_ends_.size() > async.max_products) last_ends_.pop_front();
  const double alone = std::max(started.at + before, alone_from_) + clocks;
  alone_from_ = std::max(alone, alone - clocks + (read - begin)) + gap;
  return {multiplied + async.product_drain, alone + async.product_drain};
}

bool WarpgroupProducts::start(std::size_t number, double now, const TimedOp& op, MatrixPipe& pipe,
                              MemoryPath& memory) {
  while (started_.size() <= number - computed_)
    started_.emplace_back();
  Started& started = started_[number - computed_];
  started.at = std::max(started.at, now);
  if (++started.warps < kWarps) return false;
  const Release done = compute(started, op, pipe, memory);
  last_done_ = {std::max(last_done_.when, done.when), std::max(last_done_.alone, done.alone)};
  started_.pop_front();
  ++computed_;
  if (op.commits) groups_.push_back(last_done_);
  return true;
}

std::optional<Release> WarpgroupProducts::complete(std::size_t products) const {
  if (products > computed_) return std::nullopt;
  return last_done_;
}

std::optional<Release> WarpgroupProducts::groups_complete(std::size_t groups) const {
  if (groups > groups_.size()) return std::nullopt;
  return groups == 0 ? Release{} : groups_[groups - 1];
}

double WarpgroupProducts::place_from(std::size_t number) const {
  const std::size_t most = parameters_.async.max_products;
  // The end of products that other warps have not started is unknown; such products cause no delay.
  if (number < most || number - most >= computed_) return 0;
  const std::size_t behind = computed_ - (number - most);
  return behind <= last_ends_.size() ? last_ends_[last_ends_.size() - behind] : 0;
}

}  // namespace gpuexp
