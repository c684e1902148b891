// What families are about, in the order in which a reader is to meet them: what a kernel asks of
// memory comes first, since it binds most of them.
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
    TopicName{Topic::memory, "memory", "Memory: which bytes move, and how they are asked for"},
    TopicName{Topic::execution, "execution", "Execution: warps, blocks and waves"},
    TopicName{Topic::fusion, "fusion", "Fusion: what intermediate results cost"},
    TopicName{Topic::patterns, "patterns", "Patterns: what many programs are made of"},
    TopicName{Topic::precision, "precision", "Precision: what fewer bits buy and cost"},
    TopicName{Topic::matrix_products, "matrix_products", "Matrix products: reuse of data"},
    TopicName{Topic::links, "links", "Links: several GPUs, and what crosses between them"},
    TopicName{Topic::limits, "limits", "Limits: what a device does at most"},
};

}  // namespace gpuexp
