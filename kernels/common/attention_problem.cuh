// What attention computes, and how its operands lie in memory: shared by its forward and backward
// families.
//
// Of each head: S = scale·Q·Kᵀ, P = softmax(S) row by row over the keys that the query may see,
// O = P·V. Q and O are [batch][heads][queries][head_dim], K and V [batch][key
// heads][keys][head_dim] without gaps; `group` heads of queries share a head of keys.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "kernels/common/random.cuh"
#include "kernels/common/types.cuh"

namespace gpuexp::attention {

enum class Mask {
  full,    ///< every query sees every key
  causal,  ///< query q sees the keys up to q + keys - queries: the last query sees them all
  window,  ///< likewise, of which the last `window` ones
};

struct Problem {
  std::int64_t batch;
  std::int64_t heads;  ///< of queries
  std::int64_t group;  ///< heads of queries that share a head of keys
  std::int64_t queries;
  std::int64_t keys;
  std::int64_t head_dim;  ///< 64, 96 or 128
  DataType dtype;         ///< fp16 or bf16
  Mask mask;
  std::int64_t window;  ///< keys that a query sees, itself included, where mask is `window`
  double dropout;       ///< probability with which an element of P becomes 0

  std::int64_t key_heads() const { return heads / group; }
  std::int64_t rows() const { return batch * heads * queries; }
  std::int64_t query_elements() const { return rows() * head_dim; }
  std::int64_t key_elements() const { return batch * key_heads() * keys * head_dim; }
  /// Of scores, so that they have about the spread of one element of a query times that of a key,
  /// whatever head_dim is.
  double scale() const { return 1 / std::sqrt(static_cast<double>(head_dim)); }
};

/// Keys that a query sees: from first(q) up to, but without, end(q). None where they are equal.
struct AllowedKeys {
  int queries;
  int keys;
  bool is_causal;
  int window;

  __host__ __device__ int end(int query) const {
    const int behind = query + 1 + keys - queries;
    return !is_causal || behind > keys ? keys : behind < 0 ? 0 : behind;
  }
  __host__ __device__ int first(int query) const {
    const int behind = end(query);
    return behind > window ? behind - window : 0;
  }
};

inline AllowedKeys allowed_keys(const Problem& p) {
  return {static_cast<int>(p.queries), static_cast<int>(p.keys), p.mask != Mask::full,
          static_cast<int>(p.mask == Mask::window ? std::min(p.window, p.keys) : p.keys)};
}

/// Pairs of a query and a key that it sees, of one head.
inline std::int64_t visible_pairs(const Problem& p) {
  const AllowedKeys allowed = allowed_keys(p);
  std::int64_t pairs = 0;
  for (int q = 0; q < allowed.queries; ++q)
    pairs += allowed.end(q) - allowed.first(q);
  return pairs;
}

/// What kernels know of a problem.
struct Heads {
  AllowedKeys allowed;
  int heads;  ///< of queries, of all batches
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

/// Q, K and V, whose elements are of the problem's dtype.
template <class In>
struct Operands {
  const In* q;
  const In* k;
  const In* v;
};

/// Calls `use` with a value of the C++ type of `dtype` and the head dimension as a constant.
template <class Use>
auto with_type_and_dim(const Problem& p, Use use) {
  const auto with_type = [&](auto dim) {
    return p.dtype == DataType::bf16 ? use(__nv_bfloat16{}, dim) : use(__half{}, dim);
  };
  if (p.head_dim == 64) return with_type(std::integral_constant<int, 64>{});
  if (p.head_dim == 96) return with_type(std::integral_constant<int, 96>{});
  return with_type(std::integral_constant<int, 128>{});
}

/// Calls use(type, head dimension, whether there is dropout).
template <class Use>
auto with_dropout(const Problem& p, Use use) {
  return with_type_and_dim(p, [&](auto in, auto dim) {
    return p.dropout > 0 ? use(in, dim, std::true_type{}) : use(in, dim, std::false_type{});
  });
}

inline std::optional<std::string> unsupported(const Problem& p) {
  if (p.head_dim % 32 != 0) return "head dimensions are 64, 96 and 128";
  if (p.heads % p.group != 0)
    return "the heads of queries are no multiple of those that share keys";
  constexpr std::int64_t kMostHeads = 65535;  // of a grid's second and third dimensions
  if (p.batch * p.heads > kMostHeads) return "more heads than a grid has places for";
  return std::nullopt;
}

// ---- dropout

/// Which elements of P become 0: by a seed and the element's place alone, so that every kernel,
/// forward and backward, finds the same ones without storing them. Four neighbouring keys of a row
/// share one call of Philox.
__host__ __device__ inline std::uint64_t dropout_group(std::int64_t row, int keys, int key) {
  return static_cast<std::uint64_t>(row) * ((static_cast<unsigned>(keys) + 3) / 4) +
         static_cast<unsigned>(key) / 4;
}
/// A word of 32 random bits below this drops its element.
__host__ __device__ inline std::uint32_t dropout_threshold(float probability) {
  return static_cast<std::uint32_t>(static_cast<double>(probability) * 4294967296.0);
}

// ---- inputs

/// Queries are four times as large as keys and values, so that scores spread by about ±1.3, and the
/// largest weights of a row are hundreds of times its mean.
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
