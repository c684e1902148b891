#include "render/annotation_json.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

Json extent_json(const Extent& e) {
  return Json::array({e.x, e.y, e.z});
}

// Writes whole numbers as integers.
Json count_json(double count) {
  if (count == std::floor(count)) return static_cast<std::int64_t>(count);
  return count;
}

// Time by warp state, without states whose time is 0.
Json states_json(const WarpClocks& clocks) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kWarpStates; ++i) {
    const auto state = static_cast<WarpState>(i);
    if (clocks[state] > 0) json[std::string(name_of(state))] = clocks[state];
  }
  return json;
}

Json counts_json(const SourceCounts& c) {
  return {{"warp_instructions", count_json(c.warps)},
          {"active_lanes", count_json(c.lanes)},
          {"predicated_on_lanes", count_json(c.predicated_lanes)},
          {"global_sectors", count_json(c.sectors)},
          {"ideal_global_sectors", count_json(c.ideal_sectors)},
          {"shared_wavefronts", count_json(c.shared_wavefronts)},
          {"ideal_shared_wavefronts", count_json(c.ideal_shared_wavefronts)}};
}

Json counts_json(const ExecutedCounts& c) {
  Json json = Json::object();
  for (const auto& [name, member] : kExecutedCounts)
    json[name] = count_json(c.*member);
  json["l1_hit_pct"] = c.l1.all > 0 ? Json(100 * c.l1.hits / c.l1.all) : Json(nullptr);
  json["predicted_us"] = c.time_us.sum();
  json["gpu"] = c.gpu == SourceCounts{} ? Json(nullptr) : counts_json(c.gpu);
  return json;
}

Json line_json(const SourceLine& line) {
  if (line.file.empty()) return nullptr;
  return {{"file", line.file}, {"line", line.line}};
}

Json line_json(const AnnotatedLine& line, const SourceFiles& sources) {
  const bool is_known = !line.at.file.empty();
  const auto text = sources.line(line.at.file, line.at.line);
  return {{"file", is_known ? Json(line.at.file) : nullptr},
          {"line", is_known ? Json(line.at.line) : nullptr},
          {"text", text ? Json(printable(*text)) : nullptr},
          {"inlined_at", json_list(line.from, [](const SourceLine& l) { return line_json(l); })},
          {"counts", counts_json(line.counts)},
          {"warp_states_us", states_json(line.counts.time_us)},
          {"accesses", json_list(line.accesses, [](const LineAccess& a) -> Json {
             return {{"access", a.access}, {"counts", counts_json(a.counts)}};
           })}};
}

Json instruction_json(const AnnotatedInstruction& i) {
  return {{"offset", i.address},
          {"sass", i.text},
          {"at", line_json(i.at)},
          {"inlined_at", line_json(i.from)},
          {"access", text_or_null(i.access)},
          {"counts", counts_json(i.counts)},
          {"warp_states_us", states_json(i.counts.time_us)}};
}

Json kernel_json(const AnnotatedKernel& kernel, const SourceFiles& sources) {
  return {
      {"kernel", kernel.name},
      {"launches",
       json_list(kernel.shapes,
                 [](const Shape& shape) -> Json {
                   return {{"grid", extent_json(shape.grid)}, {"block", extent_json(shape.block)}};
                 })},
      {"counts", counts_json(kernel.counts)},
      {"warp_states_us", states_json(kernel.counts.time_us)},
      {"lines", json_list(kernel.lines,
                          [&](const AnnotatedLine& line) { return line_json(line, sources); })},
      {"instructions", json_list(kernel.instructions, instruction_json)}};
}

Json access_json(const PicturedAccess& p) {
  constexpr std::uint64_t kSectorBytes = 32;
  constexpr std::uint64_t kWordBytes = 4;
  constexpr std::uint64_t kBanks = 32;
  Json lanes = Json::array();
  sim::for_each_lane(p.access.lanes, [&](unsigned l) {
    const std::uint64_t address = p.access.address[l];
    Json lane{{"lane", l}, {"offset", address - p.buffer_begin}};
    if (p.access.space == sim::Space::global) {
      lane["sector"] = address / kSectorBytes - p.buffer_begin / kSectorBytes;
    } else {
      lane["bank"] = address / kWordBytes % kBanks;
    }
    lanes.push_back(std::move(lane));
  });
  return {{"offset", p.instruction.address},  {"sass", p.instruction.text},
          {"access", p.instruction.access},   {"buffer", p.buffer},
          {"bytes_per_lane", p.access.width}, {"alike", p.alike},
          {"lanes", std::move(lanes)}};
}

Json picture_json(const WarpPicture& picture) {
  return {
      {"kernel", picture.kernel},         {"block", extent_json(picture.block)},
      {"warp", picture.asked.warp},       {"file", picture.line.file},
      {"line", picture.line.line},        {"execution", picture.asked.execution},
      {"executions", picture.executions}, {"accesses", json_list(picture.accesses, access_json)}};
}

Json prediction_json(const AnnotatedLaunch& launch) {
  const CodeTime& code = launch.code_time;
  Json json{{"time_us", nullptr},
            {"why_no_time", nullptr},
            {"warp_states_us", states_json(launch.annotation.counts.time_us)},
            {"bound_by", nullptr},
            {"terms_us", Json::object()}};
  if (!code.refusal.empty()) {
    json["why_no_time"] = code.refusal;
    return json;
  }
  json["time_us"] = code.total_us;
  if (!code.terms.empty()) json["bound_by"] = code.terms.front().resource;
  for (const Term& term : code.terms)
    json["terms_us"][term.resource] = term.time_us;
  return json;
}

}  // namespace

std::string annotation_json(const AnnotatedLaunch& launch, const SourceFiles& sources,
                            const WarpPicture* picture) {
  Json problem = Json::object();
  for (std::size_t i = 0; i < launch.values.size(); ++i)
    std::visit([&](const auto& v) { problem[launch.family->parameters[i].name] = v; },
               launch.values[i]);
  const auto of_kernel = [&](const AnnotatedKernel& k) { return kernel_json(k, sources); };
  Json json{{"schema_version", kAnnotationSchemaVersion},
            {"family", launch.family->id},
            {"variant", launch.variant->id},
            {"parameters", std::move(problem)},
            {"device", launch.device.name},
            {"compute_capability", launch.device.compute_capability() / 10.0},
            {"executed_on", "simulated"},
            {"blocks", launch.blocks},
            {"blocks_executed", launch.blocks_executed},
            {"counted_on", text_or_null(launch.counted_on)},
            {"why_not_counted", text_or_null(launch.why_not_counted)},
            {"mode", name_of(launch.mode)},
            {"prediction", prediction_json(launch)},
            {"counts", counts_json(launch.annotation.counts)},
            {"kernels", json_list(launch.annotation.kernels, of_kernel)},
            {"warp", picture ? picture_json(*picture) : Json(nullptr)}};
  return json.dump(2) + "\n";
}

}  // namespace gpuexp
