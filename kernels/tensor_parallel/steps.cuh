// The steps of a launch: products of parts by cuBLAS, transfers, and sums of results.
#pragma once

#include "kernels/common/rank_product.cuh"
#include "kernels/common/rank_sums.cuh"
#include "kernels/tensor_parallel/kernels.cuh"

namespace gpuexp::tensor_parallel {

enum class Carrier { copy_engine, stores };

inline Steps stored(const Problem& p, const Move<T>& move, std::int64_t most_blocks) {
  if (move.to.empty()) return {};
  const std::int64_t unit = move.pitch % kUnit == 0 ? kUnit : 1;
  const bool is_whole = move.is_whole();
  Sent sent{move.from, {}, static_cast<int>(move.to.size()), 0, 0, move.pitch / unit};
  sent.rows = is_whole ? 1 : move.rows;
  sent.row_units = move.columns / unit * (is_whole ? move.rows : 1);
  for (std::size_t i = 0; i < move.to.size(); ++i)
    sent.to.of[i] = move.to[i];
  const auto blocks =
      std::clamp<std::int64_t>(ceil_div(sent.rows * sent.row_units, kBlock), 1, most_blocks);
  const Shape shape = shape_of_shares({blocks}, {p.m, p.n}, kBlock);
  return unit == kUnit ? launch(send_kernel<uint4>, shape, sent)
                       : launch(send_kernel<std::uint16_t>, shape, sent);
}

inline Steps summed(const Problem& p, const Data& d, const LaunchContext& x, const Summed<T>& sums,
                    std::int64_t max_count) {
  return summed_by_ranks<SumWaits::begin>(sums, peers_of(p, d, x), max_count, x.device,
                                          max_blocks_on_idle_device(x.device), {p.m, p.n, 1});
}

// ---- steps of a problem

/// Operands of one rank's product; a and b are the addresses of the first elements.
struct Operands {
  const T* a;
  const T* b;
  std::int64_t a_pitch;
  std::int64_t b_pitch;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t depth;
};

/// The operands of a part, in the whole A and B of this GPU.
inline Operands resident(const Problem& p, const Data& d, const Part& part) {
  return {d.a.of[d.rank] + part.rows.first * p.k + part.depth.first,
          d.b.of[d.rank] + part.depth.first * p.n + part.columns.first,
          p.k,
          p.n,
          part.rows.size(),
          part.columns.size(),
          part.depth.size()};
}

inline std::int64_t place_of(const Problem& p, const Part& part) {
  return part.rows.first * p.n + part.columns.first;
}

/// Product by cuBLAS, to a matrix of N columns at `c`, on `sm_count` SMs (0: all SMs).
inline Steps multiplied(const Problem& p, const Operands& x, T* c, int sm_count = 0) {
  return part_product(x.rows, x.columns, x.depth, x.a, x.a_pitch, x.b, x.b_pitch, c, p.n, sm_count);
}

/// Copies the rank's part of its C to the same position in the C of the other ranks.
inline Move<T> to_peers(const Problem& p, const Data& d, const Part& part) {
  const std::int64_t place = place_of(p, part);
  Move<T> move{d.c.of[d.rank] + place, {}, part.rows.size(), part.columns.size(), p.n};
  if (!is_everywhere(p)) return move;
  for (const int peer : peers_from(d.rank, p.gpus))
    move.to.push_back(d.c.of[peer] + place);
  return move;
}

/// Address at which rank `owner` receives the partial sum of its rows from rank `source`.
inline T* inbox(const Problem& p, const Data& d, int owner, int source) {
  return d.partial.of[owner] + source * slot_rows(p) * p.n;
}

/// Copies the rows of `owner` from a whole partial sum to its inbox.
inline Move<T> to_inbox(const Problem& p, const Data& d, const T* partial_sum, int owner) {
  const Range rows = even_part(p.m, p.gpus, owner);
  return {partial_sum + rows.first * p.n, {inbox(p, d, owner, d.rank)}, rows.size(), p.n, p.n};
}

/// Sums the rank's rows to its own C or, if `pushed`, to all ranks that need them. from(r) is the
/// first element of rank r's partial sum.
template <class From>
inline Steps rows_summed(const Problem& p, const Data& d, const LaunchContext& x, bool pushed,
                         From from) {
  const Part part = own_result(p, d.rank);
  Summed<T> sums{};
  for (int r = 0; r < p.gpus; ++r)
    sums.from.of[r] = from(r);
  add_targets(sums, d.rank, p.gpus, pushed && is_everywhere(p),
              [&](int r) { return d.c.of[r] + place_of(p, part); });
  sums.count = part.results();
  return summed(p, d, x, sums, slot_rows(p) * p.n);
}

/// Sums the partial sums in the rank's inbox. The rank's own partial sum is at `own`, or in the
/// inbox if `own` is null.
inline Steps inbox_summed(const Problem& p, const Data& d, const LaunchContext& x, bool pushed,
                          const T* own) {
  return rows_summed(p, d, x, pushed, [&](int r) {
    return r == d.rank && own ? own + even_part(p.m, p.gpus, r).first * p.n
                              : inbox(p, d, d.rank, r);
  });
}

/// Sums partial sums that each rank stores as a whole.
inline Steps peers_summed(const Problem& p, const Data& d, const LaunchContext& x) {
  const std::int64_t first = even_part(p.m, p.gpus, d.rank).first * p.n;
  return rows_summed(p, d, x, true, [&](int r) { return d.partial.of[r] + first; });
}

/// Elements of a part of A in the workspace. A part of B follows it.
inline std::int64_t copied_a(const Problem& p) {
  return most(p, [&](int r) {
    const Part part = part_of(p, r);
    return ceil_div(part.rows.size(), kUnit) * kUnit * part.depth.size();
  });
}

inline std::int64_t copied_b(const Problem& p) {
  return most(p, [&](int r) {
    const Part part = part_of(p, r);
    return part.depth.size() * part.columns.size();
  });
}

inline Steps copied_operand(T* to, const T* from, std::int64_t rows, std::int64_t columns,
                            std::int64_t pitch) {
  if (rows == 0 || columns == 0) return {};
  return CopyStep{to, from, kBytes * columns, rows, kBytes * columns, kBytes * pitch};
}

// ---- destinations of a product by this family's kernels

inline Targets to_one(const Problem& p, T* c) {
  Targets targets{};
  targets.c.of[0] = c;
  targets.count = 1;
  targets.pitch = p.n;
  return targets;
}

/// The C of all GPUs or, if k is split, the inboxes of the ranks that sum.
inline Targets to_all(const Problem& p, const Data& d) {
  if (!is_split_k(p)) {
    const Part part = part_of(p, d.rank);
    Targets targets = to_one(p, d.c.of[d.rank] + place_of(p, part));
    for (T* const to : to_peers(p, d, part).to)
      targets.c.of[targets.count++] = to;
    return targets;
  }
  Targets targets = to_one(p, nullptr);
  targets.by_rows = true;
  targets.count = p.gpus;
  for (int owner = 0; owner < p.gpus; ++owner) {
    const Range rows = even_part(p.m, p.gpus, owner);
    targets.begins[owner + 1] = rows.end;
    targets.c.of[owner] = inbox(p, d, owner, d.rank) - rows.first * p.n;
  }
  return targets;
}

// ---- chunks

/// Time of copying a row of results to all others, divided by the time of computing it. Both use
/// datasheet rates, which copies and products miss by similar shares. 1 if a rate is unknown.
inline double copy_ratio(const Problem& p, const DeviceSpec& device) {
  const auto rate = device.peak(Pipe::tensor_bf16_fp32);
  const double link = device.machine.link_bytes_per_s;
  if (!rate || link <= 0) return 1;
  constexpr double kOperations = 2;  // a multiplication and an addition
  const double copied_s = static_cast<double>(kBytes * (p.gpus - 1)) / link;
  return copied_s / (kOperations * static_cast<double>(p.k) / *rate);
}

/// Chunks of rows. The last chunk is one wave of 128×256 tiles, the size of the library's large
/// tiles. Each earlier chunk has as many waves as can be copied while the next chunk is multiplied.
inline std::vector<Part> chunks_of(const Problem& p, const Part& part, const DeviceSpec& device) {
  constexpr std::int64_t kTileRows = 128;
  constexpr std::int64_t kTileColumns = 256;
  constexpr std::int64_t kMaxChunks = 16;
  const std::int64_t rows = part.rows.size();
  const std::int64_t wide = std::max<std::int64_t>(1, ceil_div(part.columns.size(), kTileColumns));
  const std::int64_t wave = kTileRows * std::max<std::int64_t>(1, device.sm_count / wide);
  std::int64_t least = wave * std::max<std::int64_t>(1, ceil_div(ceil_div(rows, wave), kMaxChunks));
  // At least two chunks, so that half of the results leave while the others are computed.
  if (least >= rows)
    least = kTileRows * std::max<std::int64_t>(1, ceil_div(ceil_div(rows, 2), kTileRows));
  std::vector<Part> chunks;
  std::int64_t size = least;
  for (std::int64_t end = part.rows.end; end > part.rows.first;) {
    const std::int64_t first = std::max(part.rows.first, end - size);
    chunks.push_back(part);
    chunks.back().rows = {first, end};
    end = first;
    const auto waves = static_cast<std::int64_t>(static_cast<double>(size) / copy_ratio(p, device) /
                                                 static_cast<double>(least));
    size = least * std::clamp<std::int64_t>(waves, 1, rows / least + 1);
  }
  std::reverse(chunks.begin(), chunks.end());
  return chunks;
}

/// SMs that are reserved for the kernel that stores chunks, and its blocks on them. A wave of 128
/// tiles leaves 4 of 132 SMs free.
constexpr int kStoringSms = 4;
constexpr std::int64_t kStoringBlocks = 4 * kStoringSms;

/// tensor_parallel/copied_parts: operands from GPU 0, a product, and copies of its result or, if k
/// is split, a sum of all partial sums.
inline Steps copied_parts_steps(const Problem& p, const Data& d, const LaunchContext& x) {
  const Part part = part_of(p, d.rank);
  Data of_first = d;
  of_first.rank = 0;
  Operands operands = resident(p, of_first, part);
  Steps steps;
  if (d.rank != 0) {
    auto* const a = static_cast<T*>(x.workspace);
    T* const b = a + copied_a(p);
    steps += copied_operand(a, operands.a, operands.rows, operands.depth, p.k);
    steps += copied_operand(b, operands.b, operands.depth, operands.columns, p.n);
    operands.a = a;
    operands.b = b;
    operands.a_pitch = operands.depth;
    operands.b_pitch = operands.columns;
  }
  if (!is_split_k(p)) {
    return steps + multiplied(p, operands, d.c.of[d.rank] + place_of(p, part)) +
           copied(to_peers(p, d, part));
  }
  steps += multiplied(p, operands, d.partial.of[d.rank]);
  const Part wanted = is_everywhere(p) ? part : own_result(p, d.rank);
  Summed<T> sums{};
  for (int r = 0; r < p.gpus; ++r)
    sums.from.of[r] = d.partial.of[r] + place_of(p, wanted);
  sums.to.of[sums.copies++] = d.c.of[d.rank] + place_of(p, wanted);
  sums.count = wanted.results();
  return steps + summed(p, d, x, sums, p.m * p.n);
}

}  // namespace gpuexp::tensor_parallel
