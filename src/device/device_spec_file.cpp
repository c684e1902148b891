#include "device/device_spec_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json.hpp"
#include "base/json_node.hpp"
#include "base/names.hpp"
#include "base/text.hpp"
#include "device/ceilings.hpp"
#include "device/topology.hpp"

namespace gpuexp {

namespace {

constexpr std::array kSpecKeys{
    Key{"name", "product name"},
    Key{"aliases", "other names, including the driver's"},
    Key{"architecture", "chip family"},
    Key{"chip", "name of the chip"},
    Key{"compute_capability", "\"9.0\""},
    Key{"sm_count", "number of streaming multiprocessors"},
    Key{"sm_clock_max_mhz", "maximum SM clock in MHz"},
    Key{"sm_clock_tensor_mhz", "maximum SM clock in MHz while tensor cores are busy, if lower"},
    Key{"memory_bytes", "bytes of device memory"},
    Key{"memory_bandwidth_gb_per_s", "bandwidth of device memory in GB/s"},
    Key{"memory_bus_bits", "bus width of device memory in bits"},
    Key{"l2_bytes", "bytes of the L2 cache"},
    Key{"power_limit_w", "power limit in watts"},
    Key{"pcie_generation", "PCI Express generation of the link to the host"},
    Key{"pcie_lanes", "PCI Express lanes of the link to the host"},
    Key{"links", "links to the other GPUs of a host"},
    Key{"peak_tflops", "peak rates by pipe in TFLOP/s"},
    Key{"expected", "expected bands by ceiling"},
    Key{"sources", "sources of the numbers, by name"},
};
constexpr std::array kNumberKeys{Key{"value", ""}, Key{"source", ""}, Key{"note", ""}};
constexpr std::array kLinkKeys{
    Key{"kind", "pcie or nvlink"},
    Key{"layout", "by_switch, all_pairs or pairs"},
    Key{"gpus", "number of GPUs of a host that a problem may span"},
    Key{"gb_per_s", "GB/s per direction, from one GPU to all others together"},
};
constexpr std::array kBandKeys{Key{"low", ""}, Key{"high", ""}, Key{"source", ""}, Key{"note", ""}};

// Limits that no GPU reaches, which detect a wrong unit.
const Bounds kCount{1, 1e5};
const Bounds kBytes{1, 1e15};
const Bounds kNumber{0, 1e9, true};

/// Reads the numbers of one file. Each must refer to one of the file's sources.
class SpecReader {
 public:
  explicit SpecReader(const Node& root) : root_(root) {
    root_.check_keys(kSpecKeys);
    for (const auto& [name, text] : root_.require("sources").members("an object of sources")) {
      text.text();
      sources_.push_back(name);
    }
  }

  std::string text(std::string_view key) const { return root_.require(key).text(); }
  Node value(std::string_view key) const { return value_of(root_.require(key)); }
  double number(std::string_view key) const { return value(key).real(kNumber); }
  std::int64_t integer(std::string_view key, const Bounds& bounds) const {
    return value(key).integer(bounds);
  }

  std::vector<std::string> aliases() const {
    std::vector<std::string> aliases;
    const auto list = root_.find("aliases");
    const bool is_empty = !list || (list->json().is_array() && list->json().empty());
    if (is_empty) return aliases;
    for (const Node& alias : list->items("a list of names"))
      aliases.push_back(alias.text());
    return aliases;
  }

  void read_compute_capability(DeviceSpec& spec) const {
    const Node node = value("compute_capability");
    const std::string text = node.text();
    constexpr std::size_t kLongest = 5;  // "12.0"; longer strings might overflow
    int used = 0;
    if (text.size() > kLongest ||
        std::sscanf(text.c_str(), "%d.%d%n", &spec.cc_major, &spec.cc_minor, &used) != 2 ||
        static_cast<std::size_t>(used) != text.size())
      node.fail(fmt::format("expected a string like \"9.0\", found {}", describe(node.json())));
    try {
      spec.sm = sm_limits(spec.cc_major, spec.cc_minor);
    } catch (const std::out_of_range& e) {
      node.fail(e.what());
    }
  }

  void read_pcie(DeviceSpec& spec) const {
    if (!root_.find("pcie_generation")) return;
    constexpr int kMaxLanes = 32;
    const auto generation = integer("pcie_generation", {1, kNewestPcieGeneration});
    const auto lanes = integer("pcie_lanes", {1, kMaxLanes});
    spec.pcie_bytes_per_s = pcie_bytes_per_s(static_cast<int>(generation), static_cast<int>(lanes));
  }

  void read_links(Machine& machine) const {
    const auto links = root_.find("links");
    if (!links) return;
    links->check_keys(kLinkKeys);
    const std::string kind = links->require("kind").one_of({"pcie", "nvlink"}, "kind of link");
    machine.link = kind == "pcie" ? LinkKind::pcie : LinkKind::nvlink;
    const std::string layout =
        links->require("layout").one_of({"by_switch", "all_pairs", "pairs"}, "layout of links");
    machine.layout = layout == "by_switch"   ? LinkLayout::by_switch
                     : layout == "all_pairs" ? LinkLayout::all_pairs
                                             : LinkLayout::pairs;
    constexpr int kMaxGpus = 1024;
    machine.gpus = static_cast<int>(value_of(links->require("gpus")).integer({2, kMaxGpus}));
    constexpr double kBytesPerGb = 1e9;
    machine.link_bytes_per_s = kBytesPerGb * value_of(links->require("gb_per_s")).real(kNumber);
  }

  void read_peaks(DeviceSpec& spec) const {
    std::vector<std::string> pipes;
    for (int pipe = 0; pipe < kPipeCount; ++pipe)
      pipes.emplace_back(name_of(static_cast<Pipe>(pipe)));
    constexpr double kTera = 1e12;
    for (const auto& [name, number] : root_.require("peak_tflops").members("rates by pipe")) {
      const auto pipe = std::find(pipes.begin(), pipes.end(), name);
      if (pipe == pipes.end()) number.fail("unknown pipe" + allowed_names(name, pipes));
      spec.peak_ops_per_s[static_cast<std::size_t>(pipe - pipes.begin())] =
          kTera * value_of(number).real(kNumber);
    }
  }

  ExpectedBands expected() const {
    ExpectedBands bands;
    const auto expected = root_.find("expected");
    if (!expected) return bands;
    for (const auto& [id, band] : expected->members("bands by ceiling")) {
      if (!find_ceiling_term(id)) band.fail(unknown_ceiling(id));
      bands.emplace(id, read_band(band));
    }
    return bands;
  }

 private:
  Node value_of(const Node& number) const {
    number.check_keys(kNumberKeys);
    source_of(number);
    note_of(number);
    return number.require("value");
  }

  std::string source_of(const Node& number) const {
    return number.require("source").one_of(sources_, "source");
  }

  static std::string note_of(const Node& number) {
    const auto note = number.find("note");
    return note ? note->text() : "";
  }

  ExpectedBand read_band(const Node& node) const {
    node.check_keys(kBandKeys);
    const auto end = [&](std::string_view key) {
      const auto found = node.find(key);
      return found ? std::optional(found->real(kNumber)) : std::nullopt;
    };
    ExpectedBand band{end("low"), end("high"), source_of(node), note_of(node)};
    if (!band.low && !band.high) node.fail("a band has \"low\", \"high\" or both");
    if (band.low && band.high && *band.low > *band.high)
      node.fail(fmt::format("low {} is above high {}", *band.low, *band.high));
    return band;
  }

  const Node& root_;
  std::vector<std::string> sources_;
};

bool has_name(const DeviceSpecFile& f, const std::string& name) {
  const std::string wanted = lower_case(name);
  return lower_case(f.spec.id) == wanted || lower_case(f.spec.name) == wanted ||
         std::any_of(f.aliases.begin(), f.aliases.end(),
                     [&](const std::string& alias) { return lower_case(alias) == wanted; });
}

/// Maximal sequences of letters and digits, in lower case.
std::set<std::string> words_of(const std::string& text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : lower_case(text) + " ") {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, ""));
    }
  }
  return words;
}

std::string without_separators(const std::string& text) {
  std::string joined;
  for (const char c : lower_case(text)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) joined += c;
  }
  return joined;
}

/// Whether name and id have the same letters and digits in another order. A name with one letter
/// or digit more or less is another GPU: an H20 and a GH200 are not an H200.
bool has_swapped_letters(const std::string& name, const std::string& id) {
  std::string a = without_separators(name), b = without_separators(id);
  std::ranges::sort(a);
  std::ranges::sort(b);
  return a == b;
}

/// Whether the name could mean this GPU: it equals an id, name or alias except for separators, or
/// all its words are words of the id, name and aliases.
bool may_be_meant_by(const DeviceSpecFile& f, const std::string& name) {
  std::vector<std::string> names = f.aliases;
  names.insert(names.end(), {f.spec.id, f.spec.name});
  std::set<std::string> words;
  for (const std::string& one : names) {
    if (without_separators(one) == without_separators(name)) return true;
    words.merge(words_of(one));
  }
  const std::set<std::string> wanted = words_of(name);
  return !wanted.empty() && std::includes(words.begin(), words.end(), wanted.begin(), wanted.end());
}

}  // namespace

DeviceSpecFile read_device_spec(const std::filesystem::path& path) {
  const std::string source = path.string();
  const Json json = read_json(read_text_file(path), source);
  const Node root(json, source, "$");
  const SpecReader reader(root);
  constexpr double kGiga = 1e9;
  DeviceSpecFile f;
  f.spec.id = path.stem().string();
  f.spec.name = reader.text("name");
  if (root.find("chip")) f.spec.chip = reader.text("chip");
  f.architecture = reader.text("architecture");
  f.aliases = reader.aliases();
  reader.read_compute_capability(f.spec);
  f.spec.sm_count = static_cast<int>(reader.integer("sm_count", kCount));
  f.spec.sm_clock_max_mhz = reader.number("sm_clock_max_mhz");
  if (root.find("sm_clock_tensor_mhz"))
    f.spec.sm_clock_tensor_mhz = reader.number("sm_clock_tensor_mhz");
  f.spec.memory_bytes = reader.integer("memory_bytes", kBytes);
  f.spec.memory_bytes_per_s = kGiga * reader.number("memory_bandwidth_gb_per_s");
  if (root.find("memory_bus_bits")) reader.integer("memory_bus_bits", kCount);
  f.spec.l2_bytes = reader.integer("l2_bytes", kBytes);
  if (root.find("power_limit_w")) f.spec.power_limit_w = reader.number("power_limit_w");
  reader.read_pcie(f.spec);
  reader.read_links(f.spec.machine);
  reader.read_peaks(f.spec);
  f.expected = reader.expected();
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
  if (const DeviceSpecFile* const f = match_device_name(specs, name)) return *f;
  std::vector<std::string> ids;
  std::vector<const DeviceSpecFile*> candidates;
  for (const DeviceSpecFile& f : specs) {
    ids.push_back(f.spec.id);
    if (may_be_meant_by(f, name)) candidates.push_back(&f);
  }
  if (candidates.size() == 1) return *candidates.front();
  if (!candidates.empty()) {
    std::vector<std::string> meant;
    for (const DeviceSpecFile* f : candidates)
      meant.push_back(f->spec.id);
    throw ConfigError(fmt::format("GPU '{}' matches {} device specs; expected one of: {}",
                                  shorten(name), meant.size(), fmt::join(meant, ", ")));
  }
  const auto meant = std::ranges::find_if(
      ids, [&](const std::string& id) { return has_swapped_letters(name, id); });
  throw ConfigError(fmt::format(
      "no device spec for GPU '{}';{} known: {}; to add a GPU, write a file in configs/devices "
      "(format: its README.md)",
      shorten(name), meant == ids.end() ? "" : fmt::format(" did you mean '{}'?", *meant),
      fmt::join(ids, ", ")));
}

const DeviceSpecFile* match_device_name(const std::vector<DeviceSpecFile>& specs,
                                        const std::string& name) {
  for (const DeviceSpecFile& f : specs) {
    if (has_name(f, name)) return &f;
  }
  return nullptr;
}

}  // namespace gpuexp
