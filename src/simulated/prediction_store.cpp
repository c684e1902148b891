#include "simulated/prediction_store.hpp"

#include <array>
#include <system_error>

#include "base/json.hpp"
#include "base/output.hpp"
#include "base/report_error.hpp"
#include "base/sha256.hpp"
#include "family/timeline_json.hpp"

namespace gpuexp {

namespace {

constexpr std::array kCacheFigures{
    &CacheCounts::l1_sectors,          &CacheCounts::l1_hits,
    &CacheCounts::l2_sectors,          &CacheCounts::l2_hits,
    &CacheCounts::dram_read_bytes,     &CacheCounts::dram_written_bytes,
    &CacheCounts::shared_load_repeats, &CacheCounts::shared_store_repeats};

Json json_of(const std::vector<CacheCounts>& caches) {
  Json kernels = Json::array();
  for (const CacheCounts& kernel : caches) {
    std::vector<double> figures;
    for (const auto member : kCacheFigures)
      figures.push_back(kernel.*member);
    kernels.push_back(Json(figures));
  }
  return kernels;
}

std::vector<CacheCounts> caches_in(const Json& json) {
  std::vector<CacheCounts> caches;
  for (const Json& kernel : json) {
    CacheCounts& counts = caches.emplace_back();
    for (std::size_t i = 0; i < kCacheFigures.size(); ++i)
      counts.*kCacheFigures[i] = kernel.at(i).get<double>();
  }
  return caches;
}

CodePrediction prediction_in(const Json& json) {
  CodePrediction prediction;
  if (const Json& time = json.at("time_us"); !time.is_null())
    prediction.time_us = time.get<double>();
  for (const Json& term : json.at("terms"))
    prediction.terms.push_back({term.at(0).get<std::string>(), term.at(1).get<double>()});
  prediction.why_not = json.at("why_not").get<std::string>();
  prediction.caches = caches_in(json.at("caches"));
  prediction.timeline = timeline_in(json.at("timeline"));
  if (prediction.time_us && prediction.terms.empty()) throw JsonError("a time without terms");
  return prediction;
}

}  // namespace

std::filesystem::path PredictionStore::file_of(const std::string& key) const {
  return folder_ / (sha256(key) + ".json");
}

std::optional<CodePrediction> PredictionStore::find(const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const std::filesystem::path file = file_of(key);
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return std::nullopt;
  try {
    const Json json = Json::parse(read_file(file));
    if (json.at("key").get<std::string>() != key) return std::nullopt;
    return prediction_in(json);
  } catch (const JsonError&) {
    return std::nullopt;
  } catch (const ReportError&) {
    return std::nullopt;
  }
}

void PredictionStore::keep(const std::string& key, const CodePrediction& prediction) const {
  if (folder_.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  Json terms = Json::array();
  for (const Term& term : prediction.terms)
    terms.push_back(Json(std::pair(term.resource, term.time_us)));
  const Json json{{"key", key},
                  {"time_us", prediction.time_us},
                  {"terms", terms},
                  {"why_not", prediction.why_not},
                  {"caches", json_of(prediction.caches)},
                  {"timeline", json_of(prediction.timeline)}};
  try {
    write_file_atomically(file_of(key), json.dump());
  } catch (const ReportError&) {
    // It is made again.
  }
}

}  // namespace gpuexp
