#include "family/timeline_json.hpp"

#include <string>

namespace gpuexp {

Json json_of(const std::vector<StepTime>& timeline) {
  Json steps = Json::array();
  for (const StepTime& step : timeline)
    steps.push_back(Json::array({step.what, step.stream, step.begin_us, step.end_us}));
  return steps;
}

std::vector<StepTime> timeline_in(const Json& json) {
  std::vector<StepTime> timeline;
  for (const Json& step : json) {
    timeline.push_back({step.at(0).get<std::string>(), step.at(1).get<int>(),
                        step.at(2).get<double>(), step.at(3).get<double>()});
  }
  return timeline;
}

}  // namespace gpuexp
