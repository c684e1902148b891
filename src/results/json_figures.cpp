#include "results/json_figures.hpp"

#include <optional>
#include <string>
#include <type_traits>

#include "base/json_schema_parts.hpp"
#include "base/json_text.hpp"
#include "results/claim_outcomes.hpp"
#include "results/json_fields.hpp"

namespace gpuexp {

namespace {

using json_schema::described;
using json_schema::list_of;
using json_schema::object;

// ---- writing

auto member_writer(Json& json) {
  return [&json](const char* name, const auto& member, const char*) { json[name] = member; };
}

Json json_of_rows(const std::vector<ClaimedRow>& rows) {
  Json list = Json::array();
  for (const ClaimedRow& row : rows) {
    Json json = Json::object();
    visit_claimed_row(row, member_writer(json));
    Json& at = json["at"] = Json::object();
    for (const auto& [name, value] : row.parameters)
      at[name] = json_of(value);
    list.push_back(std::move(json));
  }
  return list;
}

Json json_of_outcome(const ClaimOutcome& outcome) {
  Json json = Json::object();
  json["expected"] = outcome.expected;
  json["is_transposed"] = outcome.is_transposed;
  json["value"] = outcome.value;
  json["value_is"] = name_of(outcome.origin);
  json["ratio"] = outcome.ratio;
  json["verdict"] = name_of(outcome.verdict);
  json["why"] = outcome.why;
  return json;
}

// ---- reading

// Reads a member that a visit of `members` knows; false where it knows none of the name.
template <class Members, class VisitMembers>
bool read_member(JsonValues& values, const std::string& name, const Place& place, Members& members,
                 const VisitMembers& visit_members) {
  bool is_known = false;
  visit_members(members, [&](const char* known, auto& member, const char*) {
    if (name != known) return;
    is_known = true;
    values.read(place, member);
  });
  return is_known;
}

std::vector<ClaimedRow> read_claimed_rows(JsonValues& values, const Place& place) {
  std::vector<ClaimedRow> rows;
  values.array(place, "an array of rows", [&](const Place& item) {
    ClaimedRow& row = rows.emplace_back();
    const auto names = values.object(item, [&](const std::string& name, const Place& at) {
      if (name == "at") {
        values.object(at, [&](const std::string& parameter, const Place& in) {
          row.parameters.emplace_back(parameter, values.scalar(in));
        });
      } else if (!read_member(values, name, at, row,
                              [](auto& m, const auto& v) { visit_claimed_row(m, v); })) {
        values.scanner().skip();
      }
    });
    values.require(names, item, {"experiment", "variant", "mode", "at"});
  });
  return rows;
}

std::vector<std::string> read_names(JsonValues& values, const Place& place) {
  std::vector<std::string> names;
  values.array(place, "an array of names",
               [&](const Place& item) { values.read(item, names.emplace_back()); });
  return names;
}

Claim read_claim(JsonValues& values, const Place& place) {
  Claim claim;
  const auto names = values.object(place, [&](const std::string& name, const Place& at) {
    if (name == "rows") {
      claim.quantity.rows = read_claimed_rows(values, at);
    } else if (name == "over") {
      claim.quantity.over = read_claimed_rows(values, at);
    } else if (name == "columns") {
      claim.quantity.columns = read_names(values, at);
    } else if (name == "over_columns") {
      claim.quantity.over_columns = read_names(values, at);
    } else if (!read_member(values, name, at, claim,
                            [](auto& m, const auto& v) { visit_claim(m, v); })) {
      values.scanner().skip();
    }
  });
  values.require(
      names, place,
      {"name", "unit", "published", "scale", "columns", "rows", "over", "band_low", "band_high"});
  return claim;
}

PublishedFigure read_figure(JsonValues& values, const Place& place) {
  PublishedFigure figure;
  const auto names = values.object(place, [&](const std::string& name, const Place& at) {
    if (name == "source") {
      values.object(at, [&](const std::string& key, const Place& in) {
        if (!read_member(values, key, in, figure.source,
                         [](auto& m, const auto& v) { visit_source(m, v); }))
          values.scanner().skip();
      });
    } else if (name == "claims") {
      values.array(at, "an array of claims",
                   [&](const Place& item) { figure.claims.push_back(read_claim(values, item)); });
    } else if (!read_member(values, name, at, figure,
                            [](auto& m, const auto& v) { visit_figure(m, v); })) {
      values.scanner().skip();
    }
  });
  values.require(names, place, {"title", "source", "claims"});
  return figure;
}

// ---- schema

Json type_for(const std::string&) {
  return "string";
}
Json type_for(std::int64_t) {
  return "integer";
}
Json type_for(double) {
  return "number";
}
Json type_for(const std::optional<double>&) {
  return Json::array({"number", "null"});
}

auto schema_writer(Json& properties) {
  return [&properties](const char* name, const auto& member, const char* doc) {
    properties[name] = described(doc, {{"type", type_for(member)}});
  };
}

Json rows_schema() {
  Json row = Json::object();
  const ClaimedRow example;
  visit_claimed_row(example, schema_writer(row));
  row["at"] = described("Parameters that tell it from others.",
                        {{"type", "object"},
                         {"additionalProperties", {{"type", Json::array({"string", "number"})}}}});
  return list_of(object(row, {"experiment", "variant", "mode", "at"}));
}

Json outcome_schema() {
  Json verdicts = Json::array();
  for (const ClaimVerdict verdict : kClaimVerdicts)
    verdicts.push_back(name_of(verdict));
  const Json number = {{"type", Json::array({"number", "null"})}};
  return object(
      {{"expected",
        described("What the published number becomes on this device.", {{"type", "number"}})},
       {"is_transposed", described("Whether the model made it of the published number, which "
                                   "stands unchanged otherwise.",
                                   {{"type", "boolean"}})},
       {"value", described("The claim's quantity; null where a row has no number.", number)},
       {"value_is", described("Measured, counted, simulated, computed or predicted; none where it "
                              "is null.",
                              {{"type", "string"}})},
       {"ratio", described("Value over what is expected.", number)},
       {"verdict", {{"enum", verdicts}}},
       {"why", described("Of the verdict, for people.", {{"type", "string"}})}},
      {"expected", "value", "verdict", "why"});
}

}  // namespace

Json json_of_figures(const std::vector<PublishedFigure>& figures,
                     const std::vector<ResultRecord>& rows) {
  Json list = Json::array();
  for (const PublishedFigure& figure : figures) {
    Json json = Json::object();
    visit_figure(figure, member_writer(json));
    visit_source(figure.source, member_writer(json["source"] = Json::object()));
    Json claims = Json::array();
    for (const Claim& claim : figure.claims) {
      Json item = Json::object();
      visit_claim(claim, member_writer(item));
      item["columns"] = claim.quantity.columns;
      item["over_columns"] = claim.quantity.over_columns;
      item["rows"] = json_of_rows(claim.quantity.rows);
      item["over"] = json_of_rows(claim.quantity.over);
      item["outcome"] = json_of_outcome(outcome_of(claim, rows));
      claims.push_back(std::move(item));
    }
    json["claims"] = std::move(claims);
    list.push_back(std::move(json));
  }
  return list;
}

std::vector<PublishedFigure> read_figures(JsonValues& values, const Place& place) {
  std::vector<PublishedFigure> figures;
  values.array(place, "an array of figures",
               [&](const Place& item) { figures.push_back(read_figure(values, item)); });
  return figures;
}

Json figure_schema() {
  Json claim = Json::object();
  const Claim of_claim;
  visit_claim(of_claim, schema_writer(claim));
  claim["columns"] = described("That are added up.", list_of({{"type", "string"}}, 1));
  claim["over_columns"] =
      described("Of the rows below; empty where they are the same.", list_of({{"type", "string"}}));
  claim["rows"] = described("That are added up.", rows_schema());
  claim["over"] = described("That the sum is divided by the sum of; may be empty.", rows_schema());
  claim["outcome"] = described("What this report's rows say.", outcome_schema());
  Json source = Json::object();
  const FigureSource of_source;
  visit_source(of_source, schema_writer(source));
  Json figure = Json::object();
  const PublishedFigure of_figure;
  visit_figure(of_figure, schema_writer(figure));
  figure["source"] = described("Where it was published.", object(source, {}));
  figure["claims"] = list_of(object(
      claim, {"name", "unit", "published", "columns", "rows", "over", "band_low", "band_high"}));
  return object(figure, {"title", "source", "claims"});
}

}  // namespace gpuexp
