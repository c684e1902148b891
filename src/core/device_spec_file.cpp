#include "core/device_spec_file.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/ceilings.hpp"
#include "core/config.hpp"

namespace gpuexp {

namespace {

using Json = nlohmann::json;

/// Reads figures out of one file, naming file and path in every complaint.
class Reader {
 public:
  Reader(std::string file, const Json& root) : file_(std::move(file)), root_(root) {}

  [[noreturn]] void fail(const std::string& path, const std::string& what) const {
    throw ConfigError(fmt::format("{}: {}: {}", file_, path, what));
  }

  std::string text(const std::string& key) const {
    const auto it = root_.find(key);
    if (it == root_.end() || !it->is_string()) fail("$." + key, "a string is required");
    return it->get<std::string>();
  }

  /// The value of a figure object, whose source must be one of the file's sources.
  const Json& figure(const Json& parent, const std::string& path, const std::string& key) const {
    const auto it = parent.find(key);
    const std::string at = path + "." + key;
    if (it == parent.end()) fail(at, "this figure is required");
    if (!it->is_object() || !it->contains("value"))
      fail(at, "a figure is an object with \"value\" and \"source\"");
    for (const auto& [name, unused] : it->items()) {
      if (name != "value" && name != "source" && name != "note") {
        fail(at + "." + name, "unknown key; allowed: value, source, note");
      }
    }
    check_source(*it, at);
    return (*it)["value"];
  }

  /// Fails unless the object's source is one of the file's sources.
  void check_source(const Json& object, const std::string& at) const {
    const auto source = object.find("source");
    if (source == object.end() || !source->is_string() ||
        !root_.value("sources", Json::object()).contains(*source)) {
      fail(at + ".source", "must name an entry of $.sources");
    }
  }

  double number(const Json& parent, const std::string& path, const std::string& key) const {
    const Json& value = figure(parent, path, key);
    if (!value.is_number() || value.get<double>() <= 0) {
      fail(path + "." + key + ".value",
           fmt::format("a positive number is required, found {}", value.dump()));
    }
    return value.get<double>();
  }

  const Json& root() const { return root_; }

 private:
  std::string file_;
  const Json& root_;
};

void read_compute_capability(const Reader& r, DeviceSpec& spec) {
  const Json& value = r.figure(r.root(), "$", "compute_capability");
  int used = 0;
  if (!value.is_string() ||
      std::sscanf(value.get<std::string>().c_str(), "%d.%d%n", &spec.cc_major, &spec.cc_minor,
                  &used) != 2 ||
      static_cast<std::size_t>(used) != value.get<std::string>().size()) {
    r.fail("$.compute_capability.value",
           fmt::format("a string like \"9.0\" is required, found {}", value.dump()));
  }
  try {
    spec.sm = sm_limits(spec.cc_major, spec.cc_minor);
  } catch (const std::out_of_range& e) {
    r.fail("$.compute_capability.value", e.what());
  }
}

void read_peaks(const Reader& r, DeviceSpec& spec) {
  const auto peaks = r.root().find("peak_tflops");
  if (peaks == r.root().end() || !peaks->is_object())
    r.fail("$.peak_tflops", "an object is required");
  for (const auto& [key, unused] : peaks->items()) {
    int pipe = 0;
    while (pipe < kPipeCount && name_of(static_cast<Pipe>(pipe)) != key)
      ++pipe;
    if (pipe == kPipeCount) r.fail("$.peak_tflops." + key, "unknown pipe");
    spec.peak_ops_per_s[static_cast<std::size_t>(pipe)] =
        1e12 * r.number(*peaks, "$.peak_tflops", key);
  }
}

std::optional<double> read_end(const Reader& r, const Json& band, const std::string& at,
                               const char* key) {
  const auto end = band.find(key);
  if (end == band.end()) return std::nullopt;
  if (!end->is_number() || !(end->get<double>() > 0)) {
    r.fail(at + "." + key, fmt::format("a positive number is required, found {}", end->dump()));
  }
  return end->get<double>();
}

ExpectedBand read_band(const Reader& r, const Json& band, const std::string& at) {
  if (!band.is_object())
    r.fail(at, R"(a band is an object with "low", "high" or both, and "source")");
  for (const auto& [key, unused] : band.items()) {
    if (key != "low" && key != "high" && key != "source" && key != "note")
      r.fail(at + "." + key, "unknown key; allowed: low, high, source, note");
  }
  r.check_source(band, at);
  ExpectedBand read{read_end(r, band, at, "low"), read_end(r, band, at, "high"), band["source"],
                    ""};
  if (!read.low && !read.high) r.fail(at, "a band has \"low\", \"high\" or both");
  if (read.low && read.high && *read.low > *read.high)
    r.fail(at, fmt::format("low {} is above high {}", *read.low, *read.high));
  if (const auto note = band.find("note"); note != band.end()) {
    if (!note->is_string()) r.fail(at + ".note", "a string is required");
    read.note = *note;
  }
  return read;
}

ExpectedBands read_expected(const Reader& r) {
  ExpectedBands bands;
  const auto expected = r.root().find("expected");
  if (expected == r.root().end()) return bands;
  if (!expected->is_object()) r.fail("$.expected", "an object is required");
  for (const auto& [id, band] : expected->items()) {
    const std::string at = "$.expected." + id;
    if (!find_ceiling_term(id)) r.fail(at, unknown_ceiling(id));
    bands.emplace(id, read_band(r, band, at));
  }
  return bands;
}

void check_keys(const Reader& r) {
  static const std::set<std::string> kKnown{"name",
                                            "aliases",
                                            "architecture",
                                            "chip",
                                            "compute_capability",
                                            "sm_count",
                                            "sm_clock_max_mhz",
                                            "memory_bytes",
                                            "memory_bandwidth_gb_per_s",
                                            "memory_bus_bits",
                                            "l2_bytes",
                                            "power_limit_w",
                                            "peak_tflops",
                                            "expected",
                                            "sources"};
  for (const auto& [key, unused] : r.root().items()) {
    if (!kKnown.count(key)) r.fail("$." + key, "unknown key");
  }
}

std::string lower(std::string s) {
  std::transform(s.begin(), s.end(), s.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return s;
}

bool answers_to(const DeviceSpecFile& f, const std::string& name) {
  const std::string wanted = lower(name);
  return lower(f.spec.id) == wanted || lower(f.spec.name) == wanted ||
         std::any_of(f.aliases.begin(), f.aliases.end(),
                     [&](const std::string& alias) { return lower(alias) == wanted; });
}

}  // namespace

DeviceSpecFile read_device_spec(const std::filesystem::path& path) {
  std::ifstream in(path);
  if (!in) throw ConfigError(fmt::format("{}: cannot be opened", path.string()));
  Json root;
  try {
    root = Json::parse(in);
  } catch (const Json::exception& e) {
    throw ConfigError(fmt::format("{}: {}", path.string(), e.what()));
  }
  const Reader r(path.string(), root);
  if (!root.is_object()) r.fail("$", "an object is required");
  check_keys(r);
  DeviceSpecFile f;
  f.spec.id = path.stem().string();
  f.spec.name = r.text("name");
  if (r.root().contains("chip")) f.spec.chip = r.text("chip");
  f.architecture = r.text("architecture");
  for (const Json& alias : root.value("aliases", Json::array()))
    f.aliases.push_back(alias.get<std::string>());
  read_compute_capability(r, f.spec);
  f.spec.sm_count = static_cast<int>(r.number(root, "$", "sm_count"));
  f.spec.sm_clock_max_mhz = r.number(root, "$", "sm_clock_max_mhz");
  f.spec.memory_bytes = static_cast<std::int64_t>(r.number(root, "$", "memory_bytes"));
  f.spec.memory_bytes_per_s = 1e9 * r.number(root, "$", "memory_bandwidth_gb_per_s");
  f.spec.l2_bytes = static_cast<std::int64_t>(r.number(root, "$", "l2_bytes"));
  if (root.contains("power_limit_w")) f.spec.power_limit_w = r.number(root, "$", "power_limit_w");
  read_peaks(r, f.spec);
  f.expected = read_expected(r);
  return f;
}

std::vector<DeviceSpecFile> read_device_specs(const std::filesystem::path& directory) {
  std::vector<DeviceSpecFile> specs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (entry.path().extension() == ".json") specs.push_back(read_device_spec(entry.path()));
  }
  if (error) throw ConfigError(fmt::format("{}: {}", directory.string(), error.message()));
  std::sort(specs.begin(), specs.end(),
            [](const DeviceSpecFile& a, const DeviceSpecFile& b) { return a.spec.id < b.spec.id; });
  return specs;
}

const DeviceSpecFile& find_device_spec(const std::vector<DeviceSpecFile>& specs,
                                       const std::string& name) {
  for (const DeviceSpecFile& f : specs) {
    if (answers_to(f, name)) return f;
  }
  std::vector<std::string> ids;
  for (const DeviceSpecFile& f : specs)
    ids.push_back(f.spec.id);
  std::string message = fmt::format("GPU '{}' is not known", name);
  const auto near = nearest_name(lower(name), ids);
  message += near ? fmt::format("; did you mean '{}'? known:", *near) : "; known:";
  for (const std::string& id : ids)
    message += " " + id;
  throw ConfigError(message);
}

const DeviceSpecFile* match_device_name(const std::vector<DeviceSpecFile>& specs,
                                        const std::string& name) {
  for (const DeviceSpecFile& f : specs) {
    if (answers_to(f, name)) return &f;
  }
  return nullptr;
}

}  // namespace gpuexp
