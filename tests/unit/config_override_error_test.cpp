// All errors of the options --set and --filter, with their whole message.
#include <string>
#include <vector>

#include "config/config_reader.hpp"
#include "support/catch.hpp"
#include "support/fake_family.hpp"

namespace gpuexp {

namespace {

std::string override_error(const std::string& text, const ConfigOverrides& overrides) {
  try {
    parse_config(text, "x.json", fake::registry(), overrides);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

struct SetCase {
  std::string text;
  std::string error;
};

void check_sets(const std::vector<SetCase>& cases) {
  const char* text = R"({"name": "t", "experiments": [
      {"family": "matmul", "name": "tiling", "axes": {"m": [1, 2], "n": [3, 4]}, "zip": [["m", "n"]]},
      {"family": "scale", "axes": {"stride": 2}}]})";
  for (const SetCase& c : cases) {
    CAPTURE(c.text.substr(0, 300));
    CHECK(override_error(text, {{}, {c.text}, {}}) == c.error);
  }
}

}  // namespace

TEST_CASE("--set is checked", "[config][error]") {
  const std::string keys =
      "allowed: m, n, k, stride, alpha, type, modes, counters, measure.min_samples, "
      "measure.max_samples, measure.min_seconds, measure.max_seconds, measure.target_relative_ci, "
      "measure.fine_relative_ci, measure.fine_seconds, measure.sustain_seconds, "
      "measure.burst_check_seconds, measure.warmup_launches, measure.warmup_seconds";
  check_sets({
      {"n", "--set n: expected key=value[,value...]"},
      {"=1", "--set =1: expected key=value[,value...]"},
      {"", "--set : expected key=value[,value...]"},
      {"n=", "--set n=: expected a value, found nothing"},
      {"n=1,,2", "--set n=1,,2: expected a value, found nothing"},
      {"n=1,", "--set n=1,: expected a value, found nothing"},
      {"strid=1", "--set strid=1: unknown key 'strid'; did you mean 'stride'? " + keys},
      {"measure.max_second=1",
       "--set measure.max_second=1: unknown key 'measure.max_second'; did you mean "
       "'measure.max_seconds'? " +
           keys},
      {"n=5,0",
       "--set n=5,0: tiling.n[1]: 0 is out of range; allowed: 1 to 65536 (n: columns of B and C)"},
      {"n=100000",
       "--set n=100000: tiling.n[0]: 100000 is out of range; allowed: 1 to 65536 (n: columns of B "
       "and "
       "C)"},
      {"n=big",
       "--set n=big: tiling.n[0]: expected an integer (n: columns of B and C), found \"big\""},
      {"n=1e3",
       "--set n=1e3: tiling.n[0]: expected an integer without point or exponent (n: columns of B "
       "and "
       "C), found 1000.0"},
      {"n=1x", "--set n=1x: expected a number such as 1024, 2^10 or 0.5, found '1x'"},
      {"n=2^1.5", "--set n=2^1.5: expected a number such as 1024, 2^10 or 0.5, found '2^1.5'"},
      {"n=2^-1", "--set n=2^-1: expected a number such as 1024, 2^10 or 0.5, found '2^-1'"},
      {"n=2^", "--set n=2^: expected a number such as 1024, 2^10 or 0.5, found '2^'"},
      {"n=3*128", "--set n=3*128: expected a number such as 1024, 2^10 or 0.5, found '3*128'"},
      {"n=2^63", "--set n=2^63: 2^63 is above 2^63 - 1"},
      {"n=2^40",
       "--set n=2^40: tiling.n[0]: 1099511627776 is out of range; allowed: 1 to 65536 (n: columns "
       "of B and C)"},
      {"n=1..8", "--set n=1..8: found the range '1..8'; expected its values, separated by commas"},
      {"type=2^3", "--set type=2^3: scale.type[0]: unknown type \"2^3\"; allowed: fp32, tf32"},
      {"n=1.5.2", "--set n=1.5.2:1:4: expected nothing after the value, found '.'"},
      {"n=1e999", "--set n=1e999:1:1: 1e999 is beyond the range of a double"},
      {"n=[1]",
       "--set n=[1]: tiling.n[0]: expected an integer (n: columns of B and C), found \"[1]\""},
      {"n=1", "--set: tiling: zipped axes need the same number of values; 'm' has 2, 'n' has 1"},
      {"type=fp33",
       "--set type=fp33: scale.type[0]: unknown type \"fp33\"; did you mean 'fp32'? allowed: fp32, "
       "tf32"},
      {"type=32", "--set type=32: scale.type[0]: unknown type \"32\"; allowed: fp32, tf32"},
      {"type=\xff",
       "--set type=\xff: scale.type[0]: unknown type \"\xEF\xBF\xBD\"; allowed: fp32, tf32"},
      {"modes=cold,hot",
       "--set modes=cold,hot: tiling.modes[1]: unknown mode \"hot\"; allowed: cold, warm, graph, "
       "back_to_back, back_to_back_graph, profile"},
      {"modes=1",
       "--set modes=1: tiling.modes[0]: unknown mode \"1\"; allowed: cold, warm, graph, "
       "back_to_back, back_to_back_graph, profile"},
      {"measure.max_seconds=0",
       "--set measure.max_seconds=0: tiling.measure.max_seconds: 0 is out of range; allowed: above "
       "0, at most 3600 (maximum wall time per cell; overrides min_samples and min_seconds)"},
      {"measure.max_seconds=1,2",
       "--set measure.max_seconds=1,2: tiling.measure.max_seconds: expected a number (maximum "
       "wall time per cell; overrides min_samples and min_seconds), found a list"},
      {"measure.min_samples=5000",
       "--set: tiling: min_samples is 5000, above max_samples, which is 1000"},
  });
  CHECK(override_error(R"({"name": "t", "experiments": [{"family": "scale"}]})",
                       {{}, {"n=1", "n=2"}, {}}) == "--set n=2: 'n' is set twice");
  CHECK(override_error(R"({"name": "t", "experiments": [{"family": "scale",
                     "axes": {"n": {"from": 1, "to": 400000, "step": 1}}}]})",
                       {{}, {"alpha=1,2"}, {}}) ==
        "--set: scale: the experiments up to this one have 1600000 cells (problem × variant × "
        "mode); allowed: at most 1000000");
}

TEST_CASE("a filter that leaves nothing is an error", "[config][error]") {
  const char* text = R"({"name": "t", "experiments": [
      {"family": "matmul", "variants": ["smem_*"]}, {"family": "scale"}]})";
  const std::string allowed =
      "allowed: matmul/smem_padded, matmul/smem_tile, scale/grid_stride, scale/vectorized";
  CHECK(override_error(text, {{}, {}, {"matmul"}}) ==
        "--filter matmul: matches nothing that the config selects; did you mean "
        "'matmul/smem_tile'? " +
            allowed);
  CHECK(override_error(text, {{}, {}, {"matmul/smem_tiles"}}) ==
        "--filter matmul/smem_tiles: matches nothing that the config selects; did you mean "
        "'matmul/smem_tile'? " +
            allowed);
}

TEST_CASE("a filter that matches nothing is an error although another matches", "[config][error]") {
  const char* text = R"({"name": "t", "experiments": [{"family": "scale"}]})";
  const std::string error = override_error(text, {{}, {}, {"scale/vectorized", "scale/grid"}});
  CHECK(error ==
        "--filter scale/grid: matches nothing that the config selects; did you mean "
        "'scale/grid_stride'? allowed: scale/grid_stride, scale/vectorized");
}

}  // namespace gpuexp
