// The metrics that CUPTI has for a chip, and their computation from counts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/cupti.hpp"

namespace gpuexp {

struct NsightMetric {
  std::string name;  ///< without a rollup such as ".sum"
  std::string unit;
  std::string doc;
};

/// All metrics of a chip ("GH100"); needs no GPU. Throws CountersUnavailable if CUPTI cannot be
/// loaded or does not support the chip.
std::vector<NsightMetric> nsight_metrics(const std::string& chip);

#if GPUEXP_HAS_CUPTI
}  // namespace gpuexp

#include <cupti_profiler_host.h>

namespace gpuexp {

class CuptiChip {
 public:
  CuptiChip(const std::string& name, const std::vector<std::uint8_t>& availability);
  ~CuptiChip();
  CuptiChip(const CuptiChip&) = delete;
  CuptiChip& operator=(const CuptiChip&) = delete;

  bool has(const std::string& metric) const;
  std::vector<NsightMetric> metrics() const;
  std::vector<std::uint8_t> config_of(const std::vector<const char*>& metrics) const;
  std::vector<double> values_of(const std::vector<std::uint8_t>& image,
                                const std::vector<const char*>& metrics, std::size_t range) const;

 private:
  NsightMetric properties(const char* metric) const;

  CUpti_Profiler_Host_Object* object_ = nullptr;
};
#endif

}  // namespace gpuexp
