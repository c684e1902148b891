#include "family/registry.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>

#include "base/config_error.hpp"
#include "family/counters.hpp"

namespace gpuexp {

namespace {

bool has_metric(const Family& family, std::string_view name) {
  return std::any_of(family.metrics.begin(), family.metrics.end(), [&](const Metric& metric) {
    return name == std::string(kMetricMark) + metric.name;
  });
}

// Checks the parts of a declaration on which the program relies.
void check(const Family& family, std::vector<std::string>& errors) {
  const auto require = [&](bool present, const std::string& what) {
    if (!present) errors.push_back("family '" + family.id + "' " + what);
  };
  require(!family.question.empty(), "declares no question");
  require(!family.variants.empty(), "declares no variants");
  require(bool(family.outputs), "declares no outputs extent");
  require(bool(family.inputs), "declares no inputs");
  require(bool(family.reference), "declares no reference");
  require(bool(family.host_reference) || is_kernel_file(family.id), "declares no host reference");
  require(!family.tolerance_derivation.empty(), "declares no tolerance_derivation");
  std::set<std::string> outputs;
  for (const Buffer& b : family.buffers) {
    if (!is_output(b.role)) continue;
    outputs.insert(b.name);
    require(family.tolerance || b.tolerance || !b.has_reference,
            "declares no tolerance for output '" + b.name + "'");
  }
  const bool has_in_out = std::any_of(family.buffers.begin(), family.buffers.end(),
                                      [](const Buffer& b) { return b.role == BufferRole::in_out; });
  const bool has_managed =
      std::any_of(family.buffers.begin(), family.buffers.end(),
                  [](const Buffer& b) { return b.residence == Residence::managed; });
  require(has_in_out || has_managed || !family.reset,
          "declares `reset`, but no in_out or managed buffer to restore");
  require(!has_in_out || family.reset,
          "declares an in_out buffer, but no `reset` that restores it");
  std::set<std::string> ids;
  for (const Variant& v : family.variants) {
    require(ids.insert(v.id).second, "declares variant '" + v.id + "' twice");
    require(v.compare_to.empty() || ids.count(v.compare_to) > 0,
            "compares variant '" + v.id + "' to '" + v.compare_to +
                "', which is not declared before it");
    require(v.expected_changes.empty() || !v.compare_to.empty(),
            "declares expected changes of variant '" + v.id + "', but no compare_to");
    require(!v.expected_changes.empty() || v.compare_to.empty() || v.is_vendor ||
                is_kernel_file(family.id),
            "declares no expected change from variant '" + v.compare_to + "' to '" + v.id + "'");
    for (const ExpectedChange& expected : v.expected_changes) {
      require(find_counter(expected.counter) != nullptr || has_metric(family, expected.counter) ||
                  expected.counter == kTimeColumn,
              "expects variant '" + v.id + "' to change '" + expected.counter +
                  "', which is not a counter, a metric of the family or time_median_us");
      require(expected.factor >= 1, "expects '" + expected.counter + "' of variant '" + v.id +
                                        "' to change by a factor below 1");
    }
    for (const std::string& name : v.writes) {
      require(outputs.count(name) > 0,
              "declares that variant '" + v.id + "' writes '" + name + "', which is not an output");
    }
    require(bool(v.work), "declares no work for variant '" + v.id + "'");
    require(bool(v.launch), "declares no launch for variant '" + v.id + "'");
  }
  std::set<std::string> names;
  for (const Parameter& p : family.parameters) {
    require(names.insert(p.name).second, "declares parameter '" + p.name + "' twice");
  }
}

// Whether the family has the quantity, variant and parameters of the claim.
bool is_about(const Family& family, const HeldClaim& claim) {
  const auto is_parameter = [&](const auto& at) { return family.find_parameter(at.first); };
  const bool is_known = find_counter(claim.quantity) || has_metric(family, claim.quantity) ||
                        std::count(kHeldQuantities.begin(), kHeldQuantities.end(), claim.quantity);
  return is_known && (claim.of.empty() || family.find(claim.of)) &&
         std::all_of(claim.at.begin(), claim.at.end(), is_parameter);
}

std::string file_of(std::string_view family_id) {
  return "kernels/" + std::string(family_id) + ".cu";
}

}  // namespace

bool is_kernel_file(std::string_view text) {
  for (const char* const end : {".cu", ".cuh", ".ptx", ".cubin", ".gpuexp.json"})
    if (text.ends_with(end)) return true;
  std::error_code error;
  if (!std::filesystem::is_directory(text, error)) return false;
  for (std::filesystem::directory_iterator entry(text, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".cubin") return true;
  }
  return false;
}

const KernelFiles& Registry::kernel_files() const {
  if (!kernel_files_.load) throw ConfigError("this command does not read kernel files");
  return kernel_files_;
}

Registry& Registry::global() {
  static Registry registry;
  return registry;
}

void Registry::add(Family family) noexcept {
  try {
    check(family, errors_);
    const auto at = std::find_if(families_.begin(), families_.end(),
                                 [&](const Family& f) { return f.id >= family.id; });
    if (at != families_.end() && at->id == family.id) {
      errors_.push_back("family '" + family.id + "' is declared twice");
      return;
    }
    Family& added = *families_.insert(at, std::move(family));
    explain(added, source_of(added.id));
  } catch (const std::exception& e) {
    errors_.push_back(std::string("a family could not be registered: ") + e.what());
  }
}

const Family& Registry::add_exact(Family family) {
  return exact_families_.emplace_back(std::move(family));
}

void Registry::add_source(std::string_view family_id, std::string_view text) noexcept {
  try {
    sources_[std::string(family_id)] += text;
    for (Family& f : families_) {
      if (f.id == family_id) explain(f, text);
    }
  } catch (const std::exception& e) {
    errors_.push_back(std::string("a family's source could not be read: ") + e.what());
  }
}

void Registry::set_omitted(std::string_view families, std::string_view built) noexcept {
  left_out_ = "," + std::string(families) + ",";
  built_ = built;
  std::replace(built_.begin(), built_.end(), ',', ';');  // CMake's separator
}

std::optional<std::string> Registry::omitted_message(std::string_view id) const {
  if (left_out_.find("," + std::string(id) + ",") == std::string::npos) return std::nullopt;
  return "family '" + std::string(id) + "' is not in this build (GPUEXP_FAMILIES=" + built_ + ")";
}

// Sets each variant's `why` to the comment above the variant. A variant has either such a comment
// or a `why` that its declaration computes.
void Registry::explain(Family& family, std::string_view source) {
  const auto defect = [&](const std::string& variant, const std::string& what) {
    errors_.push_back(file_of(family.id) + " " + what + " '" + variant + "'");
  };
  std::set<std::string> explained;
  for (const VariantComment& comment : variant_comments(source)) {
    const auto v = std::find_if(family.variants.begin(), family.variants.end(),
                                [&](const Variant& x) { return x.id == comment.variant; });
    if (v == family.variants.end()) {
      defect(comment.variant, "has a comment under a heading that names no variant:");
    } else if (!explained.insert(v->id).second) {
      defect(v->id, "has two comments above variant");
    } else if (!v->why.empty()) {
      defect(v->id, "has both a comment and a `why` for variant");
    } else {
      v->why = comment.why;
      store_claims(family, comment);
    }
  }
}

void Registry::store_claims(const Family& family, const VariantComment& comment) {
  std::vector<HeldClaim>& claims = held_claims_[family.id + "/" + comment.variant];
  for (const std::string& text : comment.held) {
    const auto claim = held_claim_in(text);
    if (claim && is_about(family, *claim)) {
      claims.push_back(*claim);
      continue;
    }
    errors_.push_back(
        file_of(family.id) + ": '" + text + "' above variant '" + comment.variant +
        "' is not a claim; expected 'QUANTITY = NUMBER [× VARIANT] [within P %] [at NAME=VALUE, "
        "...]' "
        "(=, <= or >=), with a counter, a metric or another quantity of held_claim.hpp");
  }
}

const std::vector<HeldClaim>& Registry::held_claims(const std::string& family_id,
                                                    const std::string& variant_id) const {
  static const std::vector<HeldClaim> none;
  const auto found = held_claims_.find(family_id + "/" + variant_id);
  return found == held_claims_.end() ? none : found->second;
}

std::vector<std::string> Registry::errors() const {
  std::vector<std::string> errors = errors_;
  for (const Family& f : families_) {
    for (const Variant& v : f.variants) {
      if (v.why.empty())
        errors.push_back("family '" + f.id + "' does not explain variant '" + v.id +
                         "': " + file_of(f.id) + " has no comment '// ---- " + v.id +
                         "' above it, and it has no `why`");
    }
  }
  return errors;
}

std::string_view Registry::source_of(std::string_view family_id) const {
  const auto source = sources_.find(family_id);
  return source == sources_.end() ? std::string_view() : source->second;
}

const Family* Registry::find(std::string_view id) const {
  for (const std::list<Family>* const families : {&families_, &exact_families_}) {
    const auto found = std::ranges::find(*families, id, &Family::id);
    if (found != families->end()) return &*found;
  }
  return nullptr;
}

}  // namespace gpuexp
