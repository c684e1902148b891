#include "render/ceilings_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "base/text_table.hpp"

namespace gpuexp {

namespace {

constexpr int kCeilingDigits = 4;

std::string ceilings_table(const MeasuredCeilings& measured, const DeviceSpec& device) {
  TextTable table;
  table.add_column("ceiling", Align::left);
  for (const char* title : {"measured", "± %"})
    table.add_column(title, Align::right);
  table.add_column("unit", Align::left);
  for (const char* title : {"datasheet", "% of it"})
    table.add_column(title, Align::right);
  table.add_column("meaning", Align::left);
  Ceilings datasheet = datasheet_ceilings(device);
  for (const CeilingTerm& term : ceiling_terms()) {
    const auto found = measured.find(term.id);
    if (found == measured.end()) continue;
    const MeasuredCeiling& m = found->second;
    const auto listed = term.of(datasheet);
    const double shown = listed.value_or(0) / term.scale;
    table.add_row({term.id, significant(m.value, kCeilingDigits),
                   fmt::format("{:.1f}", 50 * (m.high - m.low) / m.value), term.unit,
                   listed ? significant(shown, kCeilingDigits) : "",
                   listed ? fmt::format("{:.1f}", 100 * m.value / shown) : "", term.doc});
  }
  return table.render();
}

std::string reached_text(const VendorCall& call) {
  return fmt::format("{} {}", significant(call.value, kCeilingDigits),
                     find_ceiling_term(call.ceiling)->unit);
}

std::string vendor_text(const MeasuredCeilings& measured, const std::vector<VendorCall>& vendor) {
  if (vendor.empty()) return "no vendor call passed, so the ceilings are not compared with one\n";
  std::string text = "compared with vendor calls of the same run:\n";
  for (const VendorCall& call : vendor) {
    const auto found = measured.find(call.ceiling);
    if (found == measured.end()) continue;
    text += fmt::format("  {:<18} {:5.1f} % of {} ({})\n", call.ceiling,
                        100 * found->second.value / call.value, call.variant, reached_text(call));
  }
  return text;
}

std::string not_found(const MeasuredCeilings& measured) {
  std::vector<std::string> ids;
  for (const CeilingTerm& term : ceiling_terms()) {
    if (!measured.count(term.id) && !is_link_term(term)) ids.push_back(term.id);
  }
  return ids.empty() ? "" : fmt::format("not measured on this device: {}\n", fmt::join(ids, ", "));
}

}  // namespace

std::string vendor_warnings(const MeasuredCeilings& measured,
                            const std::vector<VendorCall>& vendor) {
  std::string warnings;
  for (const VendorCall& call : vendor) {
    const auto found = measured.find(call.ceiling);
    if (found == measured.end()) {
      warnings += fmt::format("warning: {} was not measured, but {} reached {}\n", call.ceiling,
                              call.variant, reached_text(call));
    } else if (!(found->second.value / call.value >= kMinShareOfVendor)) {
      warnings += fmt::format("warning: {} is below {:.0f} % of {}: the ceiling is too low\n",
                              call.ceiling, 100 * kMinShareOfVendor, call.variant);
    }
  }
  return warnings;
}

CeilingsProvenance ceilings_in_force(const CeilingSource& ceiling_source,
                                     const DeviceSpec& device) {
  CeilingsProvenance p;
  p.source = ceiling_source.source;
  Ceilings in_force = ceiling_source.ceilings;
  Ceilings by_datasheet = datasheet_ceilings(device);
  for (const CeilingTerm& term : ceiling_terms()) {
    const auto shown = [&](const std::optional<double>& ceiling) {
      return ceiling ? std::optional(*ceiling / term.scale) : std::nullopt;
    };
    CeilingProvenance c;
    c.id = term.id;
    c.unit = term.unit;
    c.value = shown(term.of(in_force));
    c.datasheet = shown(term.of(by_datasheet));
    if (!c.value && !c.datasheet) continue;
    if (const auto found = ceiling_source.measured.find(term.id);
        found != ceiling_source.measured.end()) {
      const MeasuredCeiling& m = found->second;
      c.value = m.value;
      c.low = m.low;
      c.high = m.high;
      c.from = m.from;
    } else if (c.value == c.datasheet) {
      c.value.reset();  // the datasheet's value is a separate member
    }
    p.values.push_back(std::move(c));
  }
  return p;
}

std::string link_ceilings_text(const MeasuredCeilings& measured, const DeviceSpec& device) {
  return measured.empty() ? "" : ceilings_table(measured, device);
}

std::string ceilings_text(const MeasuredCeilings& measured, const std::vector<VendorCall>& vendor,
                          const DeviceSpec& device) {
  return fmt::format("{}\n{}{}{}", ceilings_table(measured, device), not_found(measured),
                     vendor_text(measured, vendor), vendor_warnings(measured, vendor));
}

}  // namespace gpuexp
