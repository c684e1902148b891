// Topics of families in reading order. Memory comes first, because it limits the speed of most
// families.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace gpuexp {

enum class Topic : std::uint8_t {
  memory,
  execution,
  fusion,
  patterns,
  precision,
  matrix_products,
  links,
  limits
};

struct TopicName {
  Topic topic;
  std::string_view id;
  std::string_view title;
};

inline constexpr std::array kTopics{
    TopicName{Topic::memory, "memory", "Memory: traffic and access patterns"},
    TopicName{Topic::execution, "execution", "Execution: warps, blocks and waves"},
    TopicName{Topic::fusion, "fusion", "Fusion: cost of intermediate results"},
    TopicName{Topic::patterns, "patterns", "Patterns: common building blocks of programs"},
    TopicName{Topic::precision, "precision", "Precision: speed and error of narrower types"},
    TopicName{Topic::matrix_products, "matrix_products", "Matrix products: data reuse"},
    TopicName{Topic::links, "links", "Links: communication between GPUs"},
    TopicName{Topic::limits, "limits", "Limits: peak rates and latencies of a device"},
};

}  // namespace gpuexp
