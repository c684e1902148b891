#include "analysis/annotated_launch.hpp"

#include <fmt/format.h>

namespace gpuexp {

std::string problem_text(const AnnotatedLaunch& launch) {
  std::string text;
  for (std::size_t i = 0; i < launch.values.size(); ++i)
    text += fmt::format("{}{}={}", i > 0 ? "," : "", launch.family->parameters[i].name,
                        to_string(launch.values[i]));
  return text;
}

}  // namespace gpuexp
