#include "render/html_variants.hpp"

#include <algorithm>

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
  std::string text =
      fmt::format("Source: {}, from line {}", source.file, source.lines.front().number);
  if (!source.architecture.empty())
    text += fmt::format("; {} machine instructions", source.instructions);
  return text;
}

std::string code_note(const VariantSource& source) {
  if (source.architecture.empty()) return "Machine code of this variant is not known here.";
  std::string text = fmt::format(
      "Left of a line: its number and how many machine instructions (compute capability {}) the "
      "compiler made of it, each counted once, however often it runs.",
      source.architecture);
  if (source.elsewhere > 0) {
    text += fmt::format(" {} more come from lines outside of this section.", source.elsewhere);
  }
  return text;
}

std::string source_part(const HtmlReport& page, const Variant& variant, const std::string& family) {
  if (variant.is_vendor) return "<p class=\"where\">A library's; its source is not here.</p>\n";
  const auto found = page.sources.find({family, variant.id});
  if (found == page.sources.end() || found->second.lines.empty())
    return "<p class=\"where\">No section of the source is this variant's alone.</p>\n";
  const VariantSource& source = found->second;
  return fmt::format(
      "<details><summary>{}</summary>{}<div class=\"scroll\" tabindex=\"0\" role=\"region\""
      " aria-label=\"source of {}\"><pre>{}</pre></div></details>\n",
      escape_html(code_summary(source)), html_element("p", code_note(source)),
      escape_html(variant.id), source_listing(source));
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

std::string source_listing(const VariantSource& source) {
  std::string html;
  for (const CodeLine& line : source.lines) {
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
