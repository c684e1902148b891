#include "simulated/prediction_store.hpp"

#include <system_error>

#include "base/output.hpp"
#include "base/report_error.hpp"
#include "base/sha256.hpp"
#include "family/listed_timeline.hpp"

namespace gpuexp {

template <>
inline constexpr std::tuple kListedMembers<Term>{&Term::resource, &Term::time_us};
template <>
inline constexpr std::tuple kListedMembers<CacheCounts>{
    &CacheCounts::l1_sectors,          &CacheCounts::l1_hits,
    &CacheCounts::l2_sectors,          &CacheCounts::l2_hits,
    &CacheCounts::dram_read_bytes,     &CacheCounts::dram_written_bytes,
    &CacheCounts::shared_load_repeats, &CacheCounts::shared_store_repeats,
    &CacheCounts::extra_wavefronts};
template <>
inline constexpr std::tuple kListedMembers<CodePrediction>{
    &CodePrediction::time_us,    &CodePrediction::terms,    &CodePrediction::why_not,
    &CodePrediction::caches,     &CodePrediction::timeline, &CodePrediction::is_settled,
    &CodePrediction::has_faulted};

std::string line_of(const CodePrediction& prediction) {
  return listed_json(prediction).dump();
}

CodePrediction prediction_from(const std::string& line) {
  const auto prediction = from_listed<CodePrediction>(Json::parse(line));
  if (prediction.time_us && prediction.terms.empty()) throw JsonError("a time without terms");
  return prediction;
}

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
    return prediction_from(json.at("prediction").dump());
  } catch (const JsonError&) {
    return std::nullopt;
  } catch (const ReportError&) {
    return std::nullopt;
  }
}

void PredictionStore::keep(const std::string& key, const CodePrediction& prediction) const {
  if (folder_.empty() || !prediction.is_settled) return;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const Json json{{"key", key}, {"prediction", listed_json(prediction)}};
  try {
    write_file_atomically(file_of(key), json.dump());
  } catch (const ReportError&) {
    // The next run predicts it again.
  }
}

}  // namespace gpuexp
