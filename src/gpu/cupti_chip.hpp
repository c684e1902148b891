// CUPTI's tables of one chip: which metrics there are, and how counts become metrics.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/cupti.hpp"

namespace gpuexp {

/// A metric as its chip has it.
struct NsightMetric {
  std::string name;  ///< without a rollup such as ".sum"
  std::string unit;
  std::string doc;
};

/// The metrics of a chip ("GH100"), from CUPTI's tables: no GPU is needed. Throws
/// CountersUnavailable where CUPTI cannot be loaded or does not know the chip.
std::vector<NsightMetric> nsight_metrics(const std::string& chip);

#if GPUEXP_HAS_CUPTI
}  // namespace gpuexp

#include <cupti_profiler_host.h>

namespace gpuexp {

class CuptiChip {
 public:
  /// `availability` is the device's own image of what it can count; empty without a device.
  CuptiChip(const std::string& name, const std::vector<std::uint8_t>& availability);
  ~CuptiChip();
  CuptiChip(const CuptiChip&) = delete;
  CuptiChip& operator=(const CuptiChip&) = delete;

  bool has(const std::string& metric) const;
  std::vector<NsightMetric> metrics() const;
  /// What the range profiler needs to count these metrics.
  std::vector<std::uint8_t> config_of(const std::vector<const char*>& metrics) const;
  /// The metrics of one range of an image of counts.
  std::vector<double> values_of(const std::vector<std::uint8_t>& image,
                                const std::vector<const char*>& metrics, std::size_t range) const;

 private:
  NsightMetric properties(const char* metric) const;

  CUpti_Profiler_Host_Object* object_ = nullptr;
};
#endif

}  // namespace gpuexp
