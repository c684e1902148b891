// Problem, inputs and reference of the collective operations.
#pragma once

#include <tuple>
#include <utility>
#include <vector>

#include "gpu/nccl.hpp"
#include "kernels/common/family.cuh"
#include "kernels/common/pack.cuh"
#include "kernels/common/rank_parts.cuh"

namespace gpuexp::collectives {

using nccl::Operation;

struct Problem {
  std::int64_t n;  // elements of each rank's vector
  Operation operation;
  DataType dtype;  // fp32 or bf16
  int gpus;
  bool in_place;  // y is the input, too
  // Values of NCCL_ALGO, NCCL_PROTO and NCCL_P2P_DISABLE; null: not set.
  const char* nccl_algorithm;
  const char* nccl_protocol;
  const char* nccl_p2p_disable;
};

inline Environment environment(const Problem& p) {
  Environment variables;
  const auto add = [&](const char* name, const char* value) {
    if (value) variables.emplace_back(name, value);
  };
  add("NCCL_ALGO", p.nccl_algorithm);
  add("NCCL_PROTO", p.nccl_protocol);
  add("NCCL_P2P_DISABLE", p.nccl_p2p_disable);
  return variables;
}

struct Data {
  int rank;
  Ranks<void> x;  // n elements
  Ranks<void> y;  // n elements; a copy of x if in_place. Elements without a result are unchanged.
  Ranks<unsigned> signals;     // RankSignals
  Ranks<std::uint32_t> inbox;  // used by low_latency
};

inline std::int64_t element_bytes(const Problem& p) {
  return static_cast<std::int64_t>(size_of(p.dtype));
}

// First element of the rank's part, a multiple of 16 bytes.
inline std::int64_t part_begin(const Problem& p, int rank) {
  const std::int64_t unit = 16 / element_bytes(p);
  return rank == p.gpus ? p.n : p.n / unit * rank / p.gpus * unit;
}

inline std::int64_t longest_part(const Problem& p) {
  return max_of_ranks(p.gpus, [&](int r) { return part_begin(p, r + 1) - part_begin(p, r); });
}

inline bool is_sum(const Problem& p) {
  return p.operation == Operation::all_reduce || p.operation == Operation::reduce_scatter;
}

/// The input vectors of the operation.
inline const Ranks<void>& taken(const Problem& p, const Data& d) {
  return p.in_place ? d.y : d.x;
}

/// Range [first, end) of the elements of the rank's y that the operation writes.
inline std::pair<std::int64_t, std::int64_t> given(const Problem& p, int rank) {
  if (p.operation != Operation::reduce_scatter) return {0, p.n};
  return {part_begin(p, rank), part_begin(p, rank + 1)};
}

/// A copy to one rank: elements [first, first + count) of x of rank `source`, to element `to` of y.
struct RankCopy {
  int source;
  std::int64_t first;
  std::int64_t to;
  std::int64_t count;
};

inline std::vector<RankCopy> rank_copies(const Problem& p, int rank) {
  std::vector<RankCopy> all;
  const auto size = [&](int of) { return part_begin(p, of + 1) - part_begin(p, of); };
  for (int k = 1; k <= p.gpus; ++k) {
    const int source = (rank + k) % p.gpus;
    switch (p.operation) {
      case Operation::all_gather:
        all.push_back({source, part_begin(p, source), part_begin(p, source), size(source)});
        break;
      case Operation::all_to_all:
        all.push_back({source, part_begin(p, rank), part_begin(p, source), size(rank)});
        break;
      case Operation::broadcast:
        if (source == 0) all.push_back({source, 0, 0, p.n});
        break;
      case Operation::shift:
        if (k == 1) all.push_back({source, 0, 0, p.n});
        break;
      case Operation::all_reduce:
      case Operation::reduce_scatter: break;
    }
  }
  return all;
}

template <class T>
inline Steps reset_of(const Problem& p, const Data& d) {
  auto* const y = static_cast<T*>(d.y.of[d.rank]);
  if (p.in_place) return CopyStep{y, d.x.of[d.rank], p.n * element_bytes(p)};
  return fill(y, p.n, Untouched<T>{});
}

inline Steps reset(const Problem& p, const Data& d) {
  return p.dtype == DataType::bf16 ? reset_of<__nv_bfloat16>(p, d) : reset_of<float>(p, d);
}

inline Steps inputs(const Problem& p, const Data& d, std::uint64_t seed) {
  const std::uint64_t own = stream_seed(seed, static_cast<std::uint64_t>(d.rank));
  void* const x = d.x.of[d.rank];
  return (p.dtype == DataType::bf16 ? fill_uniform(static_cast<__nv_bfloat16*>(x), p.n, own)
                                    : fill_uniform(static_cast<float*>(x), p.n, own)) +
         reset(p, d);
}

// Expected y of one rank. An element is a sum over all ranks, a copy from one rank, or the initial
// value.
template <class T>
struct Expected {
  Ranks<const T> x;
  const T* found;  // initial values of y; null: Untouched
  int ranks;
  bool is_sum;
  std::int64_t first;  // elements [first, end) are sums
  std::int64_t end;
  // Copied elements [to, to + count) equal the elements of `source` that start at `from`.
  int copies;
  int source[kMaxRanks];
  std::int64_t from[kMaxRanks];
  std::int64_t to[kMaxRanks];
  std::int64_t count[kMaxRanks];

  __host__ __device__ ReferenceElement operator()(std::int64_t i) const {
    if (is_sum && i >= first && i < end) {
      ReferenceElement sum{0, 0};
      for (int r = 0; r < ranks; ++r) {
        const double value = to_double(x.of[r][i]);
        sum.value += value;
        sum.magnitude += value < 0 ? -value : value;
      }
      return sum;
    }
    for (int c = 0; c < copies; ++c) {
      if (i >= to[c] && i < to[c] + count[c])
        return {to_double(x.of[source[c]][from[c] + i - to[c]]), 0};
    }
    return {found ? to_double(found[i]) : kUntouched, 0};
  }
};

template <class T>
Expected<T> expected(const Problem& p, const Data& d) {
  Expected<T> e{};
  for (int r = 0; r < p.gpus; ++r)
    e.x.of[r] = static_cast<const T*>(d.x.of[r]);
  if (p.in_place) e.found = e.x.of[d.rank];
  e.ranks = p.gpus;
  e.is_sum = is_sum(p);
  std::tie(e.first, e.end) = given(p, d.rank);
  for (const RankCopy& b : rank_copies(p, d.rank)) {
    e.source[e.copies] = b.source;
    e.from[e.copies] = b.first;
    e.to[e.copies] = b.to;
    e.count[e.copies++] = b.count;
  }
  return e;
}

}  // namespace gpuexp::collectives
