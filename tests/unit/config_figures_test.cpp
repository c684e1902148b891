// Published figures in configs: accepted members, and errors with their place.
#include "config/config_figures.hpp"

#include <string>

#include "config/config_reader.hpp"
#include "record/fixed_columns.hpp"
#include "support/catch.hpp"
#include "support/fake_family.hpp"

namespace gpuexp {

namespace {

const std::string kRow = R"({"experiment": "ladder", "variant": "naive", "mode": "warm",
                             "at": {"n": 64}})";

// A config with one claim that has the given members.
std::string config_of(const std::string& claim) {
  return R"({"name": "t", "experiments": [
    {"family": "matmul", "name": "ladder", "variants": ["naive", "coalesced"],
     "axes": {"n": [64, 128], "m": [64, 128], "k": 32}, "zip": [["n", "m"]],
     "modes": ["cold", "warm"]},
    {"family": "scale", "variants": ["grid_stride"], "axes": {"n": 1000}}],
    "figures": [{"title": "Steps", "published_on": "NVIDIA A100", "device": "a100_sxm4_40gb",
      "source": {"author": "A. Author", "title": "Matmul", "year": 2022,
                 "address": "https://example.org", "place": "table 1"},
      "claims": [{)" +
         claim + "}]}]}";
}

std::string claim_of(const std::string& unit, const std::string& column, const std::string& rows,
                     const std::string& more = "") {
  return R"("name": "a", "published": 2.5, "because": "so", "band": [0.8, 1.25], "unit": )" + unit +
         R"(, "column": )" + column + R"(, "rows": )" + rows + more;
}

PublishedFigure read(const std::string& claim) {
  return parse_config(config_of(claim), "x.json", fake::registry()).figures.at(0);
}

std::string message_of(const std::string& claim) {
  try {
    read(claim);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a figure of every feature is read as written", "[config][figures]") {
  const PublishedFigure figure =
      read(claim_of("\"ms\"", "\"time_median_us\"",
                    R"([{"experiment": "ladder", "variant": "naive", "mode": "warm",
                         "at": {"n": 64, "k": 32}},
                        {"experiment": "scale", "variant": "grid_stride", "times": 4}])",
                    R"(, "expectation": "other SMs")"));
  CHECK(figure.title == "Steps");
  CHECK(figure.source ==
        FigureSource{"A. Author", "Matmul", 2022, "https://example.org", "table 1"});
  CHECK(figure.published_on == "NVIDIA A100");
  CHECK(figure.device == "a100_sxm4_40gb");
  REQUIRE(figure.claims.size() == 1);
  const Claim& claim = figure.claims[0];
  CHECK(claim.name == "a");
  CHECK(claim.published == 2.5);
  CHECK(claim.unit == "ms");
  CHECK(claim.band_low == 0.8);
  CHECK(claim.band_high == 1.25);
  CHECK(claim.because == "so");
  CHECK(claim.expectation == "other SMs");
  CHECK(claim.quantity.columns == std::vector<std::string>{"time_median_us"});
  CHECK(claim.quantity.scale == 1000);
  REQUIRE(claim.quantity.rows.size() == 2);
  CHECK(
      claim.quantity.rows[0] ==
      ClaimedRow{"ladder", "naive", "warm", {{"n", std::int64_t{64}}, {"k", std::int64_t{32}}}, 1});
  CHECK(claim.quantity.rows[1] == ClaimedRow{"scale", "grid_stride", "cold", {}, 4});
  CHECK(claim.quantity.over.empty());
}

TEST_CASE("a ratio may divide two columns", "[config][figures]") {
  const Claim claim = read(claim_of("\"FLOP/B\"", "\"operations\"", kRow,
                                    R"(, "over_column": "useful_bytes", "over": )" + kRow))
                          .claims.at(0);
  CHECK(claim.quantity.columns == std::vector<std::string>{"operations"});
  CHECK(claim.quantity.over_columns == std::vector<std::string>{"useful_bytes"});
  CHECK(claim.quantity.scale == 1);
}

TEST_CASE("a config without figures has none", "[config][figures]") {
  const Config config = parse_config(R"({"name": "t", "experiments": [{"family": "scale"}]})",
                                     "x.json", fake::registry());
  CHECK(config.figures.empty());
}

TEST_CASE("errors in claims name their place", "[config][figures]") {
  const std::string time = "\"time_median_us\"";
  const auto row = [](const std::string& members) {
    return R"({"experiment": "ladder", "mode": "warm", )" + members + "}";
  };
  const std::string place = "x.json: $.figures[0].claims[0].";
  const std::string cold = R"("variant": "naive", "at": {"n": 64})";
  const struct {
    std::string claim;
    std::string message;
  } kMistakes[] = {
      {claim_of("\"us\"", time, R"({"experiment": "lader", "variant": "naive"})"),
       "rows.experiment: unknown experiment of this config \"lader\"; did you mean 'ladder'?"},
      {claim_of("\"us\"", time, row(R"("variant": "smem_tile", "at": {"n": 64})")),
       "rows.variant: unknown variant of experiment 'ladder' \"smem_tile\""},
      {claim_of("\"us\"", time, R"({"experiment": "ladder", "variant": "naive", "at": {"n": 64}})"),
       "rows: experiment 'ladder' has several modes; name one"},
      {claim_of("\"us\"", time, R"({"experiment": "ladder", "variant": "naive", "mode": "graph"})"),
       "rows.mode: unknown mode of experiment 'ladder' \"graph\""},
      {claim_of("\"us\"", time, row(R"("variant": "naive")")),
       "rows: experiment 'ladder' has several values of n, m; name one in \"at\""},
      {claim_of("\"us\"", time, row(R"("variant": "naive", "at": {"n": 65})")),
       "rows.at: experiment 'ladder' does not have this value of n, m"},
      {claim_of("\"us\"", time, row(R"("variant": "naive", "at": {"n": 64, "m": 128})")),
       "rows.at: experiment 'ladder' does not have this value of n, m"},
      {claim_of("\"us\"", time, row(R"("variant": "naive", "at": {"n": 64, "k": 33})")),
       "rows.at: experiment 'ladder' does not have this value of k"},
      {claim_of("\"us\"", time, row(R"("variant": "naive", "at": {"q": 64})")),
       "rows.at.q: unknown parameter"},
      {claim_of("\"us\"", "\"time_median\"", kRow), "column: \"time_median\" is not a column"},
      {claim_of("\"us\"", "\"metric.nothing\"", kRow),
       "column: \"metric.nothing\" is not a column"},
      {claim_of("\"us\"", "\"counter.nothing\"", kRow),
       "column: \"counter.nothing\" is not a column"},
      {claim_of("\"us\"", "[\"time_median_us\", \"counter.dram_read_bytes\"]", kRow),
       "column[1]: has a different unit than the column before it"},
      {claim_of("\"GB\"", time, kRow), "unit: \"GB\" cannot be converted to 'us'"},
      {claim_of("\"us\"", time, kRow, R"(, "over": )" + kRow),
       "unit: \"us\" is not a unit of a ratio"},
      {claim_of("\"us\"", time, kRow, R"(, "over_column": "tflops")"),
       "over_column: applies to the rows of \"over\", which is missing"},
      {claim_of("\"us\"", time, kRow, R"(, "expected": "no")"), "expected: unknown key"},
      {R"("name": "a", "published": 0, "because": "so", "band": [0.8, 1.25], "unit": "us",
          "column": "time_median_us", "rows": )" +
           kRow,
       "published: 0 is out of range"},
      {R"("name": "a", "published": 1, "because": "so", "band": [1.1, 1.25], "unit": "us",
          "column": "time_median_us", "rows": )" +
           kRow,
       "band[0]: 1.1 is out of range"},
      {R"("name": "a", "published": 1, "because": "so", "band": [1], "unit": "us",
          "column": "time_median_us", "rows": )" +
           kRow,
       "band: expected two ratios"},
      {R"("name": "a", "published": 1, "because": "", "band": [1, 1], "unit": "us",
          "column": "time_median_us", "rows": )" +
           kRow,
       "because: expected a non-empty text"},
  };
  for (const auto& [claim, message] : kMistakes)
    CHECK_THAT(message_of(claim), contains_text(place + message));
}

TEST_CASE("claims of one figure need distinct names", "[config][figures]") {
  const std::string claim = claim_of("\"us\"", "\"time_median_us\"", kRow);
  CHECK_THAT(message_of(claim + "}, {" + claim),
             contains_text("x.json: $.figures[0].claims[1].name: 'a' is the name of"));
}

TEST_CASE("claims may refer to rows at wave edges, which depend on the device",
          "[config][figures]") {
  const auto text = [](const std::string& items, const std::string& at) {
    return R"({"name": "t", "experiments": [{"family": "wave_quantization",
      "variants": ["tile_2048"], "axes": {"n": )" +
           items + R"(}}],
    "figures": [{"title": "Steps", "published_on": "NVIDIA A100",
      "source": {"author": "A", "title": "T", "year": 2022, "address": "x", "place": "y"},
      "claims": [{"name": "a", "published": 2, "unit": "us", "column": "time_median_us",
        "rows": {"experiment": "wave_quantization", "variant": "tile_2048")" +
           at + R"(}, "band": [1, 1], "because": "so"}]}]})";
  };
  const std::string edges = R"({"wave_edges": {"from": 1024, "to": 4096}})";
  const std::string at = R"(, "at": {"n": 1793})";
  const auto figures = [](const std::string& config) {
    return parse_config(config, "x.json", fake::registry()).figures.size();
  };
  CHECK(figures(text(edges, at)) == 1);
  CHECK(figures(text("[1791, " + edges + "]", at)) == 1);
  CHECK(figures(text("[1793, " + edges + "]", at)) == 1);
  CHECK_THROWS_WITH(figures(text(edges, "")), contains_text("has several values of n"));
  CHECK_THROWS_WITH(figures(text("[1791, 1792]", at)),
                    contains_text("does not have this value of n"));
}

TEST_CASE("columns of claims are result columns with their units", "[config][figures]") {
  const Family& family = *fake::registry().find("matmul");
  for (const char* name :
       {"time_median_us", "useful_gb_per_s", "moved_gb_per_s", "tflops", "kernel_launches",
        "grid_blocks", "waves", "operations", "useful_bytes", "moved_bytes"}) {
    CAPTURE(name);
    const auto unit = unit_of_claim_column(name, family);
    REQUIRE(unit);
    REQUIRE(find_fixed_column(name));
    CHECK(*unit == find_fixed_column(name)->unit);
  }
  CHECK(unit_of_claim_column("counter.dram_read_bytes", family) == "B");
  CHECK_FALSE(unit_of_claim_column("predicted_time_us", family));
  CHECK_FALSE(unit_of_claim_column("dram_read_bytes", family));
}

TEST_CASE("a unit fits only quantities of its own kind", "[config][figures]") {
  CHECK(units_per("ms", "us") == 1000);
  CHECK(units_per("GB", "B") == 1e9);
  CHECK(units_per("GFLOP/s", "TFLOP/s") == 1e-3);
  CHECK(units_per("ns", "ns") == 1);
  CHECK(units_per("×", "") == 1);
  CHECK_FALSE(units_per("ms", "B"));
  CHECK_FALSE(units_per("us", ""));
}

}  // namespace gpuexp
