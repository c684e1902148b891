#include "worker/wire.hpp"

#include <cmath>
#include <limits>

#include "base/json.hpp"
#include "config/config_keys.hpp"
#include "family/timeline_json.hpp"

namespace gpuexp::wire {

namespace {

// JSON has no infinity and no NaN, and what a wrong kernel computes may be either.
Json number(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

double number_from(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const auto text = json.get<std::string>();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (text == "inf") return kInfinity;
  return text == "-inf" ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

Json to_json(const Values& values) {
  Json json = Json::array();
  for (const Value& value : values)
    std::visit([&](const auto& v) { json.push_back(v); }, value);
  return json;
}

Values values_from(const Json& json) {
  Values values;
  for (const Json& item : json) {
    if (item.is_string()) {
      values.emplace_back(item.get<std::string>());
    } else if (item.is_integer()) {
      values.emplace_back(item.get<std::int64_t>());
    } else {
      values.emplace_back(item.get<double>());
    }
  }
  return values;
}

Json to_json(const Verification& v) {
  Json json{{"elements", v.elements},
            {"checked", v.checked},
            {"wrong", v.wrong},
            {"overrun", v.overrun},
            {"changed_input", v.changed_input},
            {"worst_over_allowed", number(v.worst_over_allowed)},
            {"rms", {v.rms.buffer, number(v.rms.got), number(v.rms.allowed)}},
            {"error_rms_rel", number(v.error_rms_rel)},
            {"error_max_rel", number(v.error_max_rel)}};
  Json& wrong = json["first_wrong"] = Json::array();
  for (const Mismatch& m : v.first_wrong) {
    wrong.push_back({m.buffer, m.index, number(m.expected), number(m.got), number(m.allowed)});
  }
  return json;
}

Verification verification_from(const Json& json) {
  Verification v;
  v.elements = json.at("elements").get<std::int64_t>();
  v.checked = json.at("checked").get<std::int64_t>();
  v.wrong = json.at("wrong").get<std::int64_t>();
  v.overrun = json.at("overrun").get<std::string>();
  v.changed_input = json.at("changed_input").get<std::string>();
  v.worst_over_allowed = number_from(json.at("worst_over_allowed"));
  const Json& rms = json.at("rms");
  v.rms = {rms.at(0).get<std::string>(), number_from(rms.at(1)), number_from(rms.at(2))};
  v.error_rms_rel = number_from(json.at("error_rms_rel"));
  v.error_max_rel = number_from(json.at("error_max_rel"));
  for (const Json& m : json.at("first_wrong")) {
    v.first_wrong.push_back({m.at(0).get<std::string>(), m.at(1).get<std::int64_t>(),
                             number_from(m.at(2)), number_from(m.at(3)), number_from(m.at(4))});
  }
  return v;
}

Json to_json(const SampleTraits& t) {
  return {{"launches", t.launches},
          {"flushed_bytes", t.flushed_bytes},
          {"rotated_bytes", t.rotated_bytes},
          {"gated", t.gated},
          {"preparation_us", t.preparation_us},
          {"timeline", json_of(t.timeline)}};
}

SampleTraits traits_from(const Json& json) {
  return {json.at("launches").get<int>(),
          json.at("flushed_bytes").get<std::int64_t>(),
          json.at("rotated_bytes").get<std::int64_t>(),
          json.at("gated").get<bool>(),
          json.at("preparation_us").get<double>(),
          timeline_in(json.at("timeline"))};
}

Json to_json(const Sample& sample) {
  const auto number = [](const auto& value) { return value ? Json(*value) : Json(nullptr); };
  return Json::array({sample.time_us, number(sample.sm_clock_mhz), number(sample.start_ns)});
}

Sample sample_from(const Json& json) {
  Sample sample{json.at(0).get<double>()};
  if (!json.at(1).is_null()) sample.sm_clock_mhz = json.at(1).get<double>();
  if (!json.at(2).is_null()) sample.start_ns = json.at(2).get<std::int64_t>();
  return sample;
}

Json to_json(const std::optional<ClockReading>& reading) {
  return reading ? Json::array({reading->mhz, reading->load}) : Json(nullptr);
}

std::optional<ClockReading> clock_from(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return ClockReading{json.at(0).get<double>(), json.at(1).get<double>()};
}

Json to_json(const DeviceError& error) {
  return {{"what", error.what()}, {"fault", static_cast<int>(error.fault())}};
}

DeviceError error_from(const Json& json) {
  return {json.at("what").get<std::string>(),
          static_cast<DeviceFault>(json.at("fault").get<int>())};
}

Json to_json(const MetricValues& metrics) {
  Json json = Json::array();
  for (const auto& [name, value] : metrics)
    json.push_back(Json::array({name, number(value)}));
  return json;
}

MetricValues metrics_from(const Json& json) {
  MetricValues metrics;
  for (const Json& item : json)
    metrics.emplace_back(item.at(0).get<std::string>(), number_from(item.at(1)));
  return metrics;
}

Json to_json(const CounterSupport& support) {
  return {{"unavailable", support.unavailable}, {"unknown", support.unknown}};
}

CounterSupport support_from(const Json& json) {
  return {json.at("unavailable").get<std::string>(),
          json.at("unknown").get<std::vector<std::string>>()};
}

Json to_json(const LaunchCounts& counts) {
  Json kernels = Json::array();
  for (const KernelCounts& kernel : counts.kernels) {
    Json values = Json::array();
    for (const double value : kernel.values)
      values.push_back(number(value));
    kernels.push_back({kernel.kernel, values});
  }
  return {{"metrics", counts.metrics}, {"kernels", kernels}, {"passes", counts.passes}};
}

LaunchCounts counts_from(const Json& json) {
  LaunchCounts counts{
      json.at("metrics").get<std::vector<std::string>>(), {}, json.at("passes").get<int>()};
  for (const Json& item : json.at("kernels")) {
    KernelCounts kernel{item.at(0).get<std::string>(), {}};
    for (const Json& value : item.at(1))
      kernel.values.push_back(number_from(value));
    counts.kernels.push_back(std::move(kernel));
  }
  return counts;
}

Json to_json(const CountedInstruction& instruction) {
  Json counts = Json::array();
  for (const SourceMetric& metric : source_metrics())
    counts.push_back(instruction.counts.*metric.member);
  return {{"kernel", instruction.kernel}, {"address", instruction.address}, {"counts", counts}};
}

CountedInstruction counted_instruction_from(const Json& json) {
  CountedInstruction instruction;
  instruction.kernel = json.at("kernel").get<std::string>();
  instruction.address = static_cast<std::uint32_t>(json.at("address").get<std::uint64_t>());
  for (std::size_t i = 0; i < source_metrics().size(); ++i)
    instruction.counts.*source_metrics()[i].member = json.at("counts").at(i).get<double>();
  return instruction;
}

Json to_json(const CountedLaunch& launch) {
  Json json;
  json["family"] = launch.family->id;
  json["values"] = to_json(launch.values);
  json["variant"] = launch.variant->id;
  json["mode"] = std::string(name_of(launch.mode));
  return json;
}

CountedLaunch counted_launch_from(const Json& json, const Registry& registry) {
  CountedLaunch launch;
  const auto family = json.at("family").get<std::string>();
  launch.family = registry.find(family);
  if (!launch.family) throw std::invalid_argument("no family is called " + family);
  const auto variant = json.at("variant").get<std::string>();
  launch.variant = launch.family->find(variant);
  if (!launch.variant) throw std::invalid_argument("no variant is called " + variant);
  launch.values = values_from(json.at("values"));
  launch.mode = mode_from(json.at("mode"));
  return launch;
}

Mode mode_from(const Json& json) {
  const auto name = json.get<std::string>();
  for (const ModeKey& mode : kModes) {
    if (mode.key.name == name) return mode.mode;
  }
  throw std::invalid_argument("no mode is called " + name);
}

}  // namespace gpuexp::wire
