#include "render/html_variants.hpp"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/sentence_fragments.hpp"
#include "render/html.hpp"

namespace gpuexp {

namespace {

using VariantNames = std::vector<std::string>;

// In the order in which they first appear.
std::vector<std::pair<std::string, VariantNames>> variants_by_family(
    const std::vector<ExperimentResults>& experiments) {
  std::vector<std::pair<std::string, VariantNames>> families;
  for (const ExperimentResults& e : experiments) {
    for (const ResultRecord& row : e.rows) {
      auto found = std::find_if(families.begin(), families.end(),
                                [&](const auto& f) { return f.first == row.family; });
      if (found == families.end())
        found = families.insert(families.end(), {row.family, VariantNames()});
      VariantNames& names = found->second;
      if (std::find(names.begin(), names.end(), row.variant) == names.end())
        names.push_back(row.variant);
    }
  }
  return families;
}

std::string code_summary(const VariantSource& source) {
  std::string text = "Source";
  if (!source.section.lines.empty())
    text +=
        fmt::format(": {}, from line {}", source.section.file, source.section.lines.front().number);
  if (!source.architecture.empty())
    text += fmt::format("; {} machine instructions", source.instructions);
  return text;
}

std::string code_note(const VariantSource& source) {
  if (source.architecture.empty()) return "Machine code of this variant is not known here.";
  return fmt::format(
      "Left of a line: its number, and how many machine instructions (compute capability {}) the "
      "compiler made of it and of what it inlined there, each counted once, however often it runs.",
      source.architecture);
}

std::string part_element(const SourcePart& part, std::string_view variant) {
  if (part.lines.empty()) return "";
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"source of "
      "{}\"><pre>{}</pre>"
      "</div>\n",
      escape_html(variant), source_listing(part));
}

std::string source_part(const HtmlReport& page, const Variant& variant, const std::string& family) {
  if (variant.is_vendor) return "<p class=\"where\">A library's; its source is not here.</p>\n";
  const auto found = page.sources.find({family, variant.id});
  const bool is_known = found != page.sources.end() &&
                        (!found->second.section.lines.empty() || !found->second.others.empty());
  if (!is_known) return "<p class=\"where\">This program does not have its source.</p>\n";
  const VariantSource& source = found->second;
  std::string html =
      fmt::format("<details><summary>{}</summary>{}\n", escape_html(code_summary(source)),
                  html_element("p", code_note(source)));
  html += part_element(source.section, variant.id);
  for (const SourcePart& part : source.others) {
    html += fmt::format("<p class=\"where\">Lines of {} that its kernels are made of</p>\n",
                        part.file.empty() ? "files that are not known" : escape_html(part.file));
    html += part_element(part, variant.id);
  }
  return html + "</details>\n";
}

std::string variant_part(const HtmlReport& page, const Family& family, const std::string& name) {
  const Variant* variant = family.find(name);
  std::string html = fmt::format("<h4><code>{}</code></h4>\n", escape_html(name));
  if (!variant) return html + "<p class=\"where\">This program does not know the variant.</p>\n";
  html += html_element("p", variant->why) + "\n";
  if (!variant->compare_to.empty()) {
    std::string against = fmt::format("Compared to {}", variant->compare_to);
    if (!variant->expected_changes.empty())
      against += ": " + expected_changes_fragment(variant->expected_changes);
    html += fmt::format("<p class=\"where\">{}.</p>\n", escape_html(against));
  }
  return html + source_part(page, *variant, family.id);
}

std::string family_part(const HtmlReport& page, const std::string& name,
                        const VariantNames& variants) {
  std::string html = fmt::format("<article><h3>{}</h3>\n", escape_html(name));
  const Family* family = page.registry.find(name);
  if (!family) {
    return html + fmt::format(
                      "<p>This program does not know the family, nor why its variants exist "
                      "({}).</p></article>\n",
                      escape_html(fmt::format("{}", fmt::join(variants, ", "))));
  }
  html += fmt::format("<p class=\"question\">{}</p>\n", escape_html(family->question));
  html += html_element("p", family->physics) + "\n";
  for (const std::string& variant : variants)
    html += variant_part(page, *family, variant);
  return html + "</article>\n";
}

}  // namespace

std::string source_listing(const SourcePart& part) {
  std::string html;
  std::uint32_t next = 0;
  for (const CodeLine& line : part.lines) {
    if (next != 0 && line.number != next) html += "<i>   ⋯</i>\n";
    next = line.number + 1;
    const std::string count =
        line.instructions == 0 ? std::string() : fmt::format("{}", line.instructions);
    html += fmt::format("<i>{:>4} {:>4} </i>{}", line.number, count, escape_html(line.text));
    if (!line.classes.empty()) html += fmt::format("  <b>{}</b>", escape_html(line.classes));
    html += '\n';
  }
  return html;
}

std::string html_variants(const HtmlReport& page,
                          const std::vector<ExperimentResults>& experiments) {
  std::string html = "<section id=\"variants\"><h2>Variants</h2>\n";
  if (!page.sources_note.empty())
    html += fmt::format("<p class=\"where\">{}</p>\n", escape_html(page.sources_note));
  for (const auto& [family, variants] : variants_by_family(experiments))
    html += family_part(page, family, variants);
  return html + "</section>\n";
}

}  // namespace gpuexp
