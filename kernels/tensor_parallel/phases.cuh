// Minimum work of a rank, and the phases from which the time of a launch is predicted.
#pragma once

#include "kernels/tensor_parallel/steps.cuh"

namespace gpuexp::tensor_parallel {

inline Work work_with(const Problem& p, const Traffic& traffic) {
  const auto size = [&](auto range) {
    return most(p, [&](int r) { return range(part_of(p, r)).size(); });
  };
  const std::int64_t rows = size([](const Part& part) { return part.rows; });
  const std::int64_t columns = size([](const Part& part) { return part.columns; });
  const std::int64_t depth = size([](const Part& part) { return part.depth; });
  Work w = gemm_work(rows, columns, depth, DataType::bf16, DataType::bf16, Pipe::tensor_bf16_fp32);
  const std::int64_t kept =
      is_everywhere(p) ? p.m * p.n : most(p, [&](int r) { return own_result(p, r).results(); });
  w.bytes_written = static_cast<double>(kBytes * kept);
  w.moved_written = sector_bytes<T>(kept);
  w.to_peers = traffic.to;
  w.from_peers = traffic.from;
  return w;
}

inline Work work(const Problem& p) {
  return work_with(p, min_traffic(p));
}

inline Work whole_product(const Problem& p) {
  return gemm_work(p.m, p.n, p.k, DataType::bf16, DataType::bf16, Pipe::tensor_bf16_fp32);
}

/// The phase of a product that performs `share` of the work `w`.
inline Phase product_phase(const Work& w, double share = 1) {
  Phase phase;
  phase.what = "product";
  phase.by_library = true;
  phase.operations = w.operations;
  for (Operations& operations : phase.operations)
    operations.count *= share;
  phase.memory_bytes = (w.bytes_read + w.bytes_written) * share;
  return phase;
}

inline Phase move_phase(const char* what, LinkUse by, const Traffic& traffic) {
  Phase phase = link_phase(what, by, traffic.most());
  phase.memory_bytes = traffic.to + traffic.from;
  return phase;
}

/// A kernel that waits for the other ranks, and then sums partial sums in their memory (loads) or
/// in this GPU's own memory.
inline Phase sum_phase(const Problem& p, LinkUse by, const Traffic& traffic) {
  Phase phase = move_phase("sums", by, traffic);
  phase.signals = 1;
  phase.fences = 1;
  phase.link_loads = by == LinkUse::loads ? 1 : 0;
  phase.memory_loads = 1;                                       // load of the epoch
  const std::int64_t read = by == LinkUse::loads ? 0 : p.gpus;  // partial sums in its own memory
  phase.memory_bytes += static_cast<double>(kBytes * (read + 1) * slot_rows(p) * p.n);
  return phase;
}

inline std::vector<Phase> chunks_phases(const Problem& p, const DeviceSpec& device, Carrier by) {
  const LinkUse use = by == Carrier::copy_engine ? LinkUse::copy_engine : LinkUse::stores;
  const Part part = part_of(p, p.gpus - 1);  // the last rank's part contains the remainder
  const Traffic all = is_split_k(p) ? scattered(p) : gathered(p);
  std::vector<Phase> phases;
  std::size_t last_copy = 0;
  const auto chunk = [&](double of_product, double of_copies) {
    phases.push_back(product_phase(work(p), of_product));
    if (of_copies == 0) return;
    Phase copy = move_phase("copies", use, {all.to * of_copies, all.from * of_copies});
    copy.stream = 1;
    copy.after = {phases.size() - 1};
    copy.sm_share = static_cast<double>(kStoringSms) / device.sm_count;
    last_copy = phases.size();
    phases.push_back(copy);
  };
  if (!is_split_k(p)) {
    for (const Part& some : chunks_of(p, part, device)) {
      const double share =
          static_cast<double>(some.rows.size()) / static_cast<double>(part.rows.size());
      chunk(share, share);
    }
    return phases;
  }
  // The rank's own rows are a chunk that is not sent.
  for (int i = 1; i <= p.gpus; ++i)
    chunk(1.0 / p.gpus, i < p.gpus ? 1.0 / (p.gpus - 1) : 0.0);
  phases.push_back(sum_phase(p, LinkUse::stores, gathered(p)));
  phases.back().after = {last_copy};
  return phases;
}

/// The share of `tiles` tiles that the last wave computes, with `at_once` tiles per wave.
inline double last_share(std::int64_t tiles, std::int64_t at_once) {
  if (tiles == 0) return 0;
  const std::int64_t last = (tiles - 1) % at_once + 1;
  return static_cast<double>(last) / static_cast<double>(tiles);
}

/// A kernel that stores finished tiles to peers: `last_share` of them after its last
/// multiplication, the others while it multiplies.
inline std::vector<Phase> sending_phases(const Problem& p, Phase product, double last_share) {
  const Traffic sent = is_split_k(p) ? scattered(p) : gathered(p);
  product.by = LinkUse::stores;
  product.link_bytes = (1 - last_share) * sent.most();
  product.both_ways = true;
  product.memory_bytes += (1 - last_share) * sent.from;
  std::vector<Phase> phases{std::move(product)};
  if (sent.most() > 0)
    phases.push_back(
        move_phase("last tiles", LinkUse::stores, {last_share * sent.to, last_share * sent.from}));
  if (is_split_k(p)) phases.push_back(sum_phase(p, LinkUse::stores, gathered(p)));
  return phases;
}

}  // namespace gpuexp::tensor_parallel
