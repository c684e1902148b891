#include "render/annotation_json.hpp"

#include <cmath>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"

namespace gpuexp {

namespace {

Json extent_json(const Extent& e) {
  return Json::array({e.x, e.y, e.z});
}

// Counts of all blocks are whole.
Json count_json(double count) {
  if (count == std::floor(count)) return static_cast<std::int64_t>(count);
  return count;
}

// Of each state that has any.
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
          {"predicated_on_lanes", count_json(c.lanes_on)},
          {"global_sectors", count_json(c.sectors)},
          {"ideal_global_sectors", count_json(c.ideal_sectors)},
          {"shared_wavefronts", count_json(c.shared_wavefronts)},
          {"ideal_shared_wavefronts", count_json(c.ideal_shared_wavefronts)}};
}

Json counts_json(const ExecutedCounts& c) {
  const double time_us = c.time_us.sum();
  return {{"warp_instructions", count_json(c.warps)},
          {"active_lanes", count_json(c.lanes)},
          {"predicated_on_lanes", count_json(c.lanes_on)},
          {"global_load_requests", count_json(c.load_requests)},
          {"global_load_sectors", count_json(c.load_sectors)},
          {"ideal_global_load_sectors", count_json(c.ideal_load_sectors)},
          {"global_store_requests", count_json(c.store_requests)},
          {"global_store_sectors", count_json(c.store_sectors)},
          {"ideal_global_store_sectors", count_json(c.ideal_store_sectors)},
          {"shared_requests", count_json(c.shared_requests)},
          {"shared_wavefronts", count_json(c.shared_wavefronts)},
          {"ideal_shared_wavefronts", count_json(c.ideal_shared_wavefronts)},
          {"l1_data_wavefronts", count_json(c.data_wavefronts)},
          {"l1_tag_wavefronts", count_json(c.tag_wavefronts)},
          {"l1_hit_pct", c.l1.all > 0 ? Json(100 * c.l1.hits / c.l1.all) : Json(nullptr)},
          {"predicted_us", time_us},
          {"gpu", c.gpu == SourceCounts{} ? Json(nullptr) : counts_json(c.gpu)}};
}

Json line_json(const SourceLine& line) {
  if (line.file.empty()) return nullptr;
  return {{"file", line.file}, {"line", line.line}};
}

Json lines_json(const AnnotatedKernel& kernel, const SourceFiles& sources) {
  Json lines = Json::array();
  for (const AnnotatedLine& line : kernel.lines) {
    Json json{{"file", nullptr}, {"line", nullptr}, {"text", nullptr}};
    if (!line.at.file.empty()) {
      json["file"] = line.at.file;
      json["line"] = line.at.line;
    }
    if (const auto text = sources.line(line.at.file, line.at.line)) json["text"] = printable(*text);
    json["inlined_at"] = Json::array();
    for (const SourceLine& from : line.from)
      json["inlined_at"].push_back(line_json(from));
    json["counts"] = counts_json(line.counts);
    json["warp_states_us"] = states_json(line.counts.time_us);
    json["accesses"] = Json::array();
    for (const LineAccess& access : line.accesses)
      json["accesses"].push_back(
          {{"access", access.access}, {"counts", counts_json(access.counts)}});
    lines.push_back(std::move(json));
  }
  return lines;
}

Json instructions_json(const AnnotatedKernel& kernel) {
  Json instructions = Json::array();
  for (const AnnotatedInstruction& i : kernel.instructions) {
    Json json{{"offset", i.address},
              {"sass", i.text},
              {"at", line_json(i.at)},
              {"inlined_at", line_json(i.from)},
              {"access", nullptr}};
    if (!i.access.empty()) json["access"] = i.access;
    json["counts"] = counts_json(i.counts);
    json["warp_states_us"] = states_json(i.counts.time_us);
    instructions.push_back(std::move(json));
  }
  return instructions;
}

Json kernel_json(const AnnotatedKernel& kernel, const SourceFiles& sources) {
  Json launches = Json::array();
  for (const Shape& shape : kernel.shapes)
    launches.push_back({{"grid", extent_json(shape.grid)}, {"block", extent_json(shape.block)}});
  return {{"kernel", kernel.name},
          {"launches", std::move(launches)},
          {"counts", counts_json(kernel.counts)},
          {"warp_states_us", states_json(kernel.counts.time_us)},
          {"lines", lines_json(kernel, sources)},
          {"instructions", instructions_json(kernel)}};
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
  Json accesses = Json::array();
  for (const PicturedAccess& access : picture.accesses)
    accesses.push_back(access_json(access));
  return {{"kernel", picture.kernel},         {"block", extent_json(picture.block)},
          {"warp", picture.asked.warp},       {"file", picture.line.file},
          {"line", picture.line.line},        {"execution", picture.asked.execution},
          {"executions", picture.executions}, {"accesses", std::move(accesses)}};
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

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

}  // namespace

std::string annotation_json(const AnnotatedLaunch& launch, const SourceFiles& sources,
                            const WarpPicture* picture) {
  Json problem = Json::object();
  for (std::size_t i = 0; i < launch.values.size(); ++i)
    std::visit([&](const auto& v) { problem[launch.family->parameters[i].name] = v; },
               launch.values[i]);
  Json kernels = Json::array();
  for (const AnnotatedKernel& kernel : launch.annotation.kernels)
    kernels.push_back(kernel_json(kernel, sources));
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
            {"kernels", std::move(kernels)},
            {"warp", picture ? picture_json(*picture) : Json(nullptr)}};
  return json.dump(2) + "\n";
}

}  // namespace gpuexp
