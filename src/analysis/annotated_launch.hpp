// A launch with its annotation, and what readers need to place it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/annotation.hpp"
#include "base/mode.hpp"
#include "device/device_spec.hpp"
#include "family/family.hpp"
#include "model/prediction.hpp"

namespace gpuexp {

struct AnnotatedLaunch {
  const Family* family = nullptr;
  const Variant* variant = nullptr;
  Values values;
  DeviceSpec device;
  Mode mode = Mode::cold;
  CodeTime code_time;
  Annotation annotation;
  std::int64_t blocks = 0;           ///< of all kernels
  std::int64_t blocks_executed = 0;  ///< those that the counts are of
  std::string counted_on;            ///< the GPU that counted all blocks; empty: none
  std::string why_not_counted;       ///< where one was asked to
};

/// "m=64,n=64,k=64"
std::string problem_text(const AnnotatedLaunch& launch);

}  // namespace gpuexp
