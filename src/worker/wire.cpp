#include "worker/wire.hpp"

#include "config/config_files.hpp"
#include "config/config_keys.hpp"

namespace gpuexp::wire {

Json to_json(const DeviceError& error) {
  return listed_json(std::pair(std::string(error.what()), error.fault()));
}

DeviceError error_from(const Json& json) {
  const auto [what, fault] = from_listed<std::pair<std::string, DeviceFault>>(json);
  return {what, fault};
}

Json to_json(const CountedLaunch& launch) {
  Json json;
  json["family"] = launch.family->id;
  json["values"] = to_json(*launch.family, launch.values);
  json["variant"] = launch.variant->id;
  json["mode"] = std::string(name_of(launch.mode));
  return json;
}

Json to_json(const Family& family, const Values& values) {
  return listed_json(std::pair(values, planned_files(family, values)));
}

Values values_from(const Json& json) {
  auto [values, files] = from_listed<std::pair<Values, std::vector<FileIdentity>>>(json);
  for (const FileIdentity& file : files)
    plan_file(file);
  return values;
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
    if (mode.name == name) return mode.mode;
  }
  throw std::invalid_argument("no mode is called " + name);
}

}  // namespace gpuexp::wire
