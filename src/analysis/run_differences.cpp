#include "analysis/run_differences.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"

namespace gpuexp {

namespace {

std::string text_or_none(const Field& field) {
  return std::holds_alternative<std::monostate>(field) ? "none" : text_of(field);
}

std::string commit_of(const Provenance& p) {
  constexpr std::size_t kShort = 12;
  if (!p.git_commit) return "unknown";
  return p.git_commit->substr(0, kShort) +
         (p.git_dirty.value_or(false) ? " with local changes" : "");
}

Field setting(const Provenance& p, const std::string& name) {
  for (const auto& [known, value] : p.settings) {
    if (known == name) return value;
  }
  return {};
}

// Those other than the seed, which has a line of its own. Settings belong to experiments, and what
// only one of the runs has is no difference between rows that both have.
std::vector<std::string> differing_settings(const Provenance& a, const Provenance& b) {
  std::vector<std::string> texts;
  for (const auto& [name, in_a] : a.settings) {
    const Field in_b = setting(b, name);
    if (name == "seed" || in_b == Field() || in_a == in_b) continue;
    texts.push_back(fmt::format("{} {} → {}", name, text_or_none(in_a), text_or_none(in_b)));
  }
  return texts;
}

}  // namespace

std::vector<std::string> differences(const Provenance& a, const Provenance& b) {
  std::vector<std::string> notes;
  const auto differ = [&](const char* what, const std::string& in_a, const std::string& in_b) {
    if (in_a != in_b) notes.push_back(printable(fmt::format("{}: {} → {}", what, in_a, in_b)));
  };
  const auto known = [](const std::optional<std::string>& text) {
    return text.value_or("unknown");
  };
  differ("GPU", known(a.device.name), known(b.device.name));
  if (a.device.name == b.device.name && a.device.uuid && b.device.uuid)
    differ("another GPU of this kind", *a.device.uuid, *b.device.uuid);
  differ("driver", known(a.device.driver_version), known(b.device.driver_version));
  differ("CUDA runtime", known(a.device.runtime_version), known(b.device.runtime_version));
  differ("toolkit", known(a.cuda_toolkit), known(b.cuda_toolkit));
  differ("commit", commit_of(a), commit_of(b));
  differ("seed", text_or_none(setting(a, "seed")), text_or_none(setting(b, "seed")));
  constexpr std::size_t kShown = 3;
  auto settings = differing_settings(a, b);
  const std::size_t more = settings.size() > kShown ? settings.size() - kShown : 0;
  settings.resize(settings.size() - more);
  if (!settings.empty()) {
    notes.push_back(printable(fmt::format("settings: {}{}", fmt::join(settings, ", "),
                                          more ? fmt::format(" and {} more", more) : "")));
  }
  return notes;
}

}  // namespace gpuexp
