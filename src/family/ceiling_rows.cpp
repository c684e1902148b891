#include "family/ceiling_rows.hpp"

#include <utility>

namespace gpuexp {

CeilingRows CeilingRows::rate(std::string ceiling, std::vector<std::string> variants, Mode mode,
                              std::string amount) {
  return {std::move(ceiling), Kind::rate, std::move(variants), mode, std::move(amount)};
}

CeilingRows CeilingRows::latency(std::string ceiling, std::vector<std::string> variants, Mode mode,
                                 std::string amount) {
  return {std::move(ceiling), Kind::latency, std::move(variants), mode, std::move(amount)};
}

CeilingRows CeilingRows::sm_clock(std::string variant, Mode mode) {
  return {"sm_clock", Kind::sm_clock, {std::move(variant)}, mode, "sm_clock_mhz"};
}

CeilingRows& CeilingRows::where(std::string name, std::string wanted) {
  parameter = std::move(name);
  value = std::move(wanted);
  return *this;
}

CeilingRows& CeilingRows::times(double (*units)(const DeviceSpec&)) {
  units_of = units;
  return *this;
}

CeilingRows& CeilingRows::without_launch() {
  launch_is_overhead = true;
  return *this;
}

CeilingRows& CeilingRows::without(std::string variant, double share) {
  overhead_variant = std::move(variant);
  overhead_share = share;
  return *this;
}

}  // namespace gpuexp
