// Definition of attention and memory layout of its operands, for the forward and backward
// families.
//
// For each head: S = scale·Q·Kᵀ, P = softmax(S) over the keys that each query attends to, O =
// P·V. Q and O have shape [batch][heads][queries][head_dim]; K and V have shape [batch][key
// heads][keys][head_dim]. All are contiguous. `group` query heads share one head of keys and
// values.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "kernels/common/random.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::attention {

enum class Mask {
  full,
  causal,  ///< query q attends to keys 0 to q + keys - queries; the last query attends to all keys
  window,  ///< the last `window` of the keys that `causal` allows
};

struct Problem {
  std::int64_t batch;
  std::int64_t heads;  ///< query heads
  std::int64_t group;  ///< number of query heads that share a head of keys
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t head_dim;
  DataType dtype;  ///< fp16 or bf16
  Mask mask;
  std::int64_t window;  ///< number of keys per query, including its own, if mask is `window`
  double dropout;

  std::int64_t key_heads() const { return heads / group; }
  std::int64_t rows() const { return batch * heads * queries; }
  std::int64_t query_elements() const { return rows() * head_dim; }
  std::int64_t key_elements() const { return batch * key_heads() * keys * head_dim; }
  /// Factor of Q·Kᵀ, which makes the spread of scores independent of head_dim.
  double scale() const { return 1 / std::sqrt(static_cast<double>(head_dim)); }
};

/// Keys that a query attends to: first(q) to end(q) - 1. The range may be empty.
struct AttendedKeys {
  int queries;
  int keys;
  bool is_causal;
  int window;

  __host__ __device__ int end(int query) const {
    const int causal_end = query + 1 + keys - queries;
    return !is_causal || causal_end > keys ? keys : causal_end < 0 ? 0 : causal_end;
  }
  __host__ __device__ int first(int query) const {
    const int query_end = end(query);
    return query_end > window ? query_end - window : 0;
  }
};

inline AttendedKeys allowed_keys(const Problem& p) {
  return {static_cast<int>(p.queries), static_cast<int>(p.keys), p.mask != Mask::full,
          static_cast<int>(p.mask == Mask::window ? std::min(p.window, p.keys) : p.keys)};
}

/// Number of (query, key) pairs per head in which the query attends to the key.
inline std::int64_t attended_pairs(const Problem& p) {
  const AttendedKeys allowed = allowed_keys(p);
  std::int64_t pairs = 0;
  for (int q = 0; q < allowed.queries; ++q)
    pairs += allowed.end(q) - allowed.first(q);
  return pairs;
}

struct Heads {
  AttendedKeys allowed;
  int heads;  ///< query heads of all batches
  int group;
  float scale;
  float dropout;
  std::uint64_t dropout_seed;

  __host__ __device__ std::int64_t first_query(std::int64_t head) const {
    return head * allowed.queries;
  }
  __host__ __device__ std::int64_t first_key(std::int64_t head) const {
    return head / group * allowed.keys;
  }
};

constexpr std::uint64_t kDropoutSeed = 0x5eed;

inline Heads heads_of(const Problem& p) {
  return {allowed_keys(p),
          static_cast<int>(p.batch * p.heads),
          static_cast<int>(p.group),
          static_cast<float>(p.scale()),
          static_cast<float>(p.dropout),
          kDropoutSeed};
}

template <class In>
struct Operands {
  const In* q;
  const In* k;
  const In* v;
};

/// Calls use(value of dtype's C++ type, head dimension as integral_constant).
template <class Use>
auto with_type_and_dim(const Problem& p, Use use) {
  const auto with_type = [&](auto dim) {
    return p.dtype == DataType::bf16 ? use(__nv_bfloat16{}, dim) : use(__half{}, dim);
  };
  if (p.head_dim == 64) return with_type(std::integral_constant<int, 64>{});
  if (p.head_dim == 96) return with_type(std::integral_constant<int, 96>{});
  return with_type(std::integral_constant<int, 128>{});
}

/// Calls use() like with_type_and_dim(), with a third argument: whether there is dropout, as
/// std::true_type or std::false_type.
template <class Use>
auto with_dropout(const Problem& p, Use use) {
  return with_type_and_dim(p, [&](auto in, auto dim) {
    return p.dropout > 0 ? use(in, dim, std::true_type{}) : use(in, dim, std::false_type{});
  });
}

inline std::optional<std::string> unsupported(const Problem& p) {
  if (p.head_dim % 32 != 0) return "head_dim must be 64, 96 or 128";
  if (p.heads % p.group != 0) return "heads must be a multiple of group";
  constexpr std::int64_t kMaxHeads = 65535;  // limit of a grid's y and z dimensions
  if (p.batch * p.heads > kMaxHeads)
    return "batch * heads must be at most 65535, the limit of a grid dimension";
  return std::nullopt;
}

// ---- dropout

/// Counter of the Philox call for an element of P. It depends only on the element's position, so
/// forward and backward kernels recompute the dropout mask and do not store it. Four neighbouring
/// keys of a row share one call.
__host__ __device__ inline std::uint64_t dropout_group(std::int64_t row, int keys, int key) {
  return static_cast<std::uint64_t>(row) * ((static_cast<unsigned>(keys) + 3) / 4) +
         static_cast<unsigned>(key) / 4;
}
/// Dropout sets elements of P to 0 if their 32-bit random word is below this value.
__host__ __device__ inline std::uint32_t dropout_threshold(float probability) {
  return static_cast<std::uint32_t>(static_cast<double>(probability) * 4294967296.0);
}

// ---- inputs

/// Queries are four times as large as keys and values. Scores then have a standard deviation of
/// about 1.3, and with 16384 keys, the largest weight of a row is about 80 times the row's mean
/// weight.
constexpr float kQueryRange = 4.0f;

template <class In>
Uniform<In> query_values(std::uint64_t seed) {
  return {stream_seed(seed, 0), kQueryRange};
}
template <class In>
Uniform<In> key_values(std::uint64_t seed) {
  return {stream_seed(seed, 1)};
}

template <class In>
Steps fill_operands(const Problem& p, In* q, In* k, In* v, std::uint64_t seed) {
  return fill(q, p.query_elements(), query_values<In>(seed)) +
         fill(k, p.key_elements(), key_values<In>(seed)) +
         fill_uniform(v, p.key_elements(), stream_seed(seed, 2));
}

}  // namespace gpuexp::attention
