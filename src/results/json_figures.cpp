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

Json json_of_rows(const std::vector<ClaimedRow>& rows) {
  Json list = Json::array();
  for (const ClaimedRow& row : rows) {
    Json json = json_of_members(row);
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

std::vector<ClaimedRow> read_claimed_rows(JsonValues& values, const Place& place) {
  std::vector<ClaimedRow> rows;
  values.array(place, "an array of rows", [&](const Place& item) {
    ClaimedRow& row = rows.emplace_back();
    const auto names = values.object(item, [&](const std::string& name, const Place& at) {
      if (name != "at") return values.member(name, at, row);
      values.object(at, [&](const std::string& parameter, const Place& in) {
        row.parameters.emplace_back(parameter, values.scalar(in));
      });
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
    } else {
      values.member(name, at, claim);
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
      values.members(at, figure.source);
    } else if (name == "claims") {
      values.array(at, "an array of claims",
                   [&](const Place& item) { figure.claims.push_back(read_claim(values, item)); });
    } else {
      values.member(name, at, figure);
    }
  });
  values.require(names, place, {"title", "source", "claims"});
  return figure;
}

// ---- schema

Json rows_schema() {
  Json row = schemas_of_members<ClaimedRow>();
  row["at"] = described("Parameters that distinguish the row from others.",
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
        described("Expected value: the published number on this device.", {{"type", "number"}})},
       {"is_transposed", described("Whether the model transposed the published number to this "
                                   "device; if false, the number is unchanged.",
                                   {{"type", "boolean"}})},
       {"value", described("Value of the claim's quantity; null if a row has no number.", number)},
       {"value_is", described("Origin of the value: measured, counted, simulated, computed or "
                              "predicted; none if the value is null.",
                              {{"type", "string"}})},
       {"ratio", described("Ratio of the value to the expected value.", number)},
       {"verdict", {{"enum", verdicts}}},
       {"why", described("Reason for the verdict, as text for readers.", {{"type", "string"}})}},
      {"expected", "value", "verdict", "why"});
}

}  // namespace

Json json_of_figures(const std::vector<PublishedFigure>& figures,
                     const std::vector<ResultRecord>& rows) {
  Json list = Json::array();
  for (const PublishedFigure& figure : figures) {
    Json json = json_of_members(figure);
    json["source"] = json_of_members(figure.source);
    Json claims = Json::array();
    for (const Claim& claim : figure.claims) {
      Json item = json_of_members(claim);
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
  Json claim = schemas_of_members<Claim>();
  claim["columns"] =
      described("Columns whose sum is the quantity.", list_of({{"type", "string"}}, 1));
  claim["over_columns"] = described("Columns of the rows in over; empty if they are the same.",
                                    list_of({{"type", "string"}}));
  claim["rows"] = described("Rows whose sum is the quantity.", rows_schema());
  claim["over"] =
      described("Rows by whose sum the sum of rows is divided; may be empty.", rows_schema());
  claim["outcome"] = described("Outcome for this report's rows.", outcome_schema());
  Json figure = schemas_of_members<PublishedFigure>();
  figure["source"] = described("Publication.", object(schemas_of_members<FigureSource>(), {}));
  figure["claims"] = list_of(object(
      claim, {"name", "unit", "published", "columns", "rows", "over", "band_low", "band_high"}));
  return object(figure, {"title", "source", "claims"});
}

}  // namespace gpuexp
