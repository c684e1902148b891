#include "family/ceiling_source.hpp"

#include <utility>

namespace gpuexp {

namespace {

CeilingSource source(CeilingSource::Kind kind, std::string ceiling,
                     std::vector<std::string> variants, Mode mode, std::string amount) {
  CeilingSource s;
  s.ceiling = std::move(ceiling);
  s.kind = kind;
  s.variants = std::move(variants);
  s.mode = mode;
  s.amount = std::move(amount);
  return s;
}

}  // namespace

CeilingSource CeilingSource::rate(std::string ceiling, std::vector<std::string> variants, Mode mode,
                                  std::string amount) {
  return source(Kind::rate, std::move(ceiling), std::move(variants), mode, std::move(amount));
}

CeilingSource CeilingSource::latency(std::string ceiling, std::vector<std::string> variants,
                                     Mode mode, std::string amount) {
  return source(Kind::latency, std::move(ceiling), std::move(variants), mode, std::move(amount));
}

CeilingSource CeilingSource::sm_clock(std::string variant, Mode mode) {
  return source(Kind::sm_clock, "sm_clock", {std::move(variant)}, mode, "sm_clock_mhz");
}

CeilingSource& CeilingSource::where(std::string name, std::string wanted) {
  parameter = std::move(name);
  value = std::move(wanted);
  return *this;
}

CeilingSource& CeilingSource::times(double (*units)(const DeviceSpec&)) {
  units_of = units;
  return *this;
}

CeilingSource& CeilingSource::without_launch() {
  launch_is_overhead = true;
  return *this;
}

CeilingSource& CeilingSource::without(std::string variant, double share) {
  overhead_variant = std::move(variant);
  overhead_share = share;
  return *this;
}

}  // namespace gpuexp
