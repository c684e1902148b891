// All errors of a config or an option, with their whole message.
#include <string>
#include <vector>

#include "config/config_reader.hpp"
#include "support/catch.hpp"
#include "support/fake_family.hpp"

namespace gpuexp {

namespace {

std::string error_of(const std::string& text, const ConfigOverrides& overrides = {}) {
  try {
    parse_config(text, "x.json", fake::registry(), overrides);
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "no error";
}

struct Case {
  std::string text;
  std::string error;
};

void check(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    CAPTURE(c.text.substr(0, 300));
    CHECK(error_of(c.text) == c.error);
  }
}

// Cases about members of one experiment on `family`, which is the error's place.
void check_experiment(const std::string& family, const std::vector<Case>& cases) {
  std::vector<Case> whole;
  for (const Case& c : cases) {
    whole.push_back(
        {R"({"name": "t", "experiments": [{"family": ")" + family + "\", " + c.text + "}]}",
         "x.json: $.experiments[0]" + c.error});
  }
  check(whole);
}

}  // namespace

TEST_CASE("text that is not strict JSON is an error with line and column", "[config][error]") {
  std::string deep = R"({"name": "t", "experiments": )";
  for (int i = 0; i < 64; ++i)
    deep += "[";
  check({
      {"", "x.json: is empty; expected a JSON object"},
      {"{\"name\": \"t\",\n \"experiments\": [{\"family\": \"matmul\", \"axes\": {\"n\": NaN}}]}",
       "x.json:2:53: expected a value, found 'N'"},
      {"{\"name\": \"t\" // no comments\n}", "x.json:1:14: expected ',' or '}', found '/'"},
      {"{\"name\": \"t\",}", "x.json:1:14: expected a member's name, found '}'"},
      {R"({"name": "t", "name": "u"})", "x.json:1:20: $: key \"name\" is given twice"},
      {R"({"experiments": [{"axes": {"n": 1, "n": 2}}]})",
       "x.json:1:38: $.experiments[0].axes: key \"n\" is given twice"},
      {R"({"experiments": [{"axes": {"n": 1e999}}]})",
       "x.json:1:33: 1e999 is beyond the range of a double"},
      {R"({"seed": 18446744073709551616})",
       "x.json:1:10: 18446744073709551616 does not fit in 64 bits"},
      {deep, "x.json:1:93: nested more than 64 levels deep"},
      {std::string((16 << 20) + 1, ' '), "x.json: is larger than 16 MiB"},
      {"\xEF\xBB\xBF{}", "x.json: starts with a byte order mark; save it as UTF-8 without one"},
      {"{\"name\": \"\xC3\"}", "x.json:1:11: byte 0xC3 is not UTF-8"},
  });
}

TEST_CASE("the top level is checked", "[config][error]") {
  const std::string keys = "allowed: $schema, description, experiments, figures, name, seed";
  const std::string rest = R"(, "experiments": [{"family": "scale"}]})";
  const std::string name_rule =
      " cannot be part of a file name; allowed: 1 to 128 letters, digits, '.', '_' and '-', not "
      "starting with '.'";
  check({
      {"[]", "x.json: $: expected an object, found an empty list"},
      {"7", "x.json: $: expected an object, found 7"},
      {"{}", "x.json: $: missing key 'name'"},
      {R"({"name": "t"})", "x.json: $: missing key 'experiments'"},
      {R"({"name": "t", "experiment": []})",
       "x.json: $.experiment: unknown key; did you mean 'experiments'? " + keys},
      {R"({"name": "t", "comment": ""})", "x.json: $.comment: unknown key; " + keys},
      {R"({"name": "t", "": ""})", "x.json: $[\"\"]: unknown key; " + keys},
      {R"({"name": 7)" + rest, "x.json: $.name: expected a string, found 7"},
      {R"({"name": "")" + rest, "x.json: $.name: \"\"" + name_rule},
      {R"({"name": ".hidden")" + rest, "x.json: $.name: \".hidden\"" + name_rule},
      {R"({"name": "a/b")" + rest, "x.json: $.name: \"a/b\"" + name_rule},
      {R"({"name": "a b")" + rest, "x.json: $.name: \"a b\"" + name_rule},
      {R"({"name": "é")" + rest, "x.json: $.name: \"é\"" + name_rule},
      {"{\"name\": \"" + std::string(129, 'n') + "\"" + rest,
       "x.json: $.name: \"" + std::string(79, 'n') + "…" + name_rule},
      {R"({"name": "t", "description": null)" + rest,
       "x.json: $.description: expected a string, found null"},
      {R"({"name": "t", "$schema": 1)" + rest, "x.json: $.$schema: expected a string, found 1"},
      {R"({"name": "t", "seed": -1)" + rest,
       "x.json: $.seed: expected an integer from 0 to 18446744073709551615, found -1"},
      {R"({"name": "t", "seed": 1.0)" + rest,
       "x.json: $.seed: expected an integer from 0 to 18446744073709551615, found 1.0"},
      {R"({"name": "t", "seed": "7")" + rest,
       "x.json: $.seed: expected an integer from 0 to 18446744073709551615, found \"7\""},
      {R"({"name": "t", "experiments": []})",
       "x.json: $.experiments: expected a list of experiments, found an empty list"},
      {R"({"name": "t", "experiments": {"family": "scale"}})",
       "x.json: $.experiments: expected a list of experiments, found an object"},
      {R"({"name": "t", "experiments": ["scale"]})",
       "x.json: $.experiments[0]: expected an object, found \"scale\""},
      {R"({"name": "t", "experiments": [{"family": "scale"}, {"family": "scale"}]})",
       "x.json: $.experiments[1]: the name 'scale' is taken by $.experiments[0]; give this "
       "experiment another \"name\""},
      {R"({"name": "t", "experiments": [{"family": "scale"}, {"family": "matmul", "name": "scale"}]})",
       "x.json: $.experiments[1]: the name 'scale' is taken by $.experiments[0]; give this "
       "experiment another \"name\""},
  });
}

TEST_CASE("families, keys and names of an experiment are checked", "[config][error]") {
  const std::string families = "allowed: matmul, scale, wave_quantization";
  check({
      {R"({"name": "t", "experiments": [{}]})", "x.json: $.experiments[0]: missing key 'family'"},
      {R"({"name": "t", "experiments": [{"familly": "matmul"}]})",
       "x.json: $.experiments[0].familly: unknown key; did you mean 'family'? allowed: axes, "
       "baseline, counters, family, measure, modes, name, variants, zip"},
      {R"({"name": "t", "experiments": [{"family": "Matmul"}]})",
       "x.json: $.experiments[0].family: unknown family \"Matmul\"; did you mean 'matmul'? " +
           families},
      {R"({"name": "t", "experiments": [{"family": "attention"}]})",
       "x.json: $.experiments[0].family: unknown family \"attention\"; " + families},
      {R"({"name": "t", "experiments": [{"family": ["matmul"]}]})",
       "x.json: $.experiments[0].family: expected a string, found a list; " + families},
  });
  check_experiment("matmul", {
                                 {R"("name": "..")",
                                  ".name: \"..\" cannot be part of a file name; allowed: 1 to 128 "
                                  "letters, digits, '.', '_' "
                                  "and '-', not starting with '.'"},
                                 {R"("mode": ["cold"])",
                                  ".mode: unknown key; did you mean 'modes'? allowed: axes, "
                                  "baseline, counters, family, measure, modes, "
                                  "name, variants, zip"},
                             });
}

TEST_CASE("variants and baselines are checked", "[config][error]") {
  const std::string ids = "allowed: naive, coalesced, smem_tile, smem_padded, vendor";
  check_experiment(
      "matmul",
      {
          {R"("variants": [])", ".variants: expected a list of variants, found an empty list"},
          {R"("variants": "naive")", ".variants: expected a list of variants, found \"naive\""},
          {R"("variants": [1])", ".variants[0]: expected a string, found 1"},
          {R"("variants": ["naive", "coalescd"])",
           ".variants[1]: \"coalescd\" is not a variant of family 'matmul'; did you mean "
           "'coalesced'? " +
               ids},
          {R"("variants": ["tma_*"])",
           ".variants[0]: \"tma_*\" matches no variant of family 'matmul'; " + ids},
          {R"("variants": [""])", ".variants[0]: \"\" is not a variant of family 'matmul'; " + ids},
          {R"("variants": ["naive", "*", "naive"])", ".variants[2]: \"naive\" is given twice"},
          {R"("variants": ["naive", "smem_*"], "baseline": "vendor")",
           ".baseline: \"vendor\" is not among the experiment's variants; allowed: naive, "
           "smem_tile, "
           "smem_padded"},
          {R"("baseline": "naiv")",
           ".baseline: \"naiv\" is not a variant; did you mean 'naive'? " + ids},
          {R"("baseline": "smem_*")",
           ".baseline: \"smem_*\" is a pattern; a baseline is one variant; " + ids},
          {R"("baseline": null)", ".baseline: expected a string, found null"},
      });
}

TEST_CASE("values of axes are checked", "[config][error]") {
  check_experiment(
      "scale",
      {
          {R"("axes": [1])",
           ".axes: expected an object of parameters and their values, found a list"},
          {R"("axes": {"strid": 1})",
           ".axes.strid: unknown parameter of family 'scale'; did you mean 'stride'? allowed: n, "
           "stride, "
           "alpha, type"},
          {R"("axes": {"n": []})",
           ".axes.n: expected a value, or a list of at least one, found an empty list"},
          {R"("axes": {"n": [1, [2]]})",
           ".axes.n[1]: expected an integer (n: elements written), found a list"},
          {R"("axes": {"n": null})",
           ".axes.n: expected an integer (n: elements written), found null"},
          {R"("axes": {"n": true})",
           ".axes.n: expected an integer (n: elements written), found true"},
          {R"("axes": {"n": "7"})",
           ".axes.n: expected an integer (n: elements written), found \"7\""},
          {R"("axes": {"n": 1e3})",
           ".axes.n: expected an integer without point or exponent (n: elements written), found "
           "1000.0"},
          {R"("axes": {"n": [4096.0]})",
           ".axes.n[0]: expected an integer without point or exponent (n: elements written), found "
           "4096.0"},
          {R"("axes": {"n": 0})",
           ".axes.n: 0 is out of range; allowed: 1 to 1048576 (n: elements written)"},
          {R"("axes": {"n": [1, 2, 99999999]})",
           ".axes.n[2]: 99999999 is out of range; allowed: 1 to 1048576 (n: elements written)"},
          {R"("axes": {"n": 18446744073709551615})",
           ".axes.n: 18446744073709551615 is out of range; allowed: 1 to 1048576 (n: elements "
           "written)"},
          {R"("axes": {"n": -9223372036854775808})",
           ".axes.n: -9223372036854775808 is out of range; allowed: 1 to 1048576 (n: elements "
           "written)"},
          {R"("axes": {"alpha": 1000.5})",
           ".axes.alpha: 1000.5 is out of range; allowed: -1000 to 1000 (alpha: the factor)"},
          {R"("axes": {"alpha": "x"})",
           ".axes.alpha: expected a number (alpha: the factor), found \"x\""},
          {R"("axes": {"type": "fp33"})",
           ".axes.type: unknown type \"fp33\"; did you mean 'fp32'? allowed: fp32, tf32"},
          {R"("axes": {"type": 32})",
           ".axes.type: expected a string, found 32; allowed: fp32, tf32"},
          {R"("axes": {"type": {"pow2": [1, 2]}})",
           ".axes.type: expected a string, found an object; allowed: fp32, tf32"},
      });
}

TEST_CASE("ranges of axes are checked", "[config][error]") {
  const std::string n = " (n: elements written)";
  check_experiment(
      "scale",
      {
          {R"("axes": {"n": {}})",
           R"(.axes.n: expected {"from", "to", "step"}, {"pow2"} or {"wave_edges"}, found an empty object)"},
          {R"("axes": {"n": {"wave_edge": {"from": 1, "to": 2}}})",
           ".axes.n.wave_edge: unknown key; did you mean 'wave_edges'? allowed: from, pow2, step, "
           "to, "
           "wave_edges"},
          {R"("axes": {"n": {"pow2": [1, 2], "step": 1}})",
           ".axes.n.step: unknown key; allowed: pow2"},
          {R"("axes": {"n": {"wave_edges": {"from": 1, "to": 2}, "to": 2}})",
           ".axes.n.to: unknown key; allowed: wave_edges"},
          {R"("axes": {"n": {"from": 1, "to": 2}})", ".axes.n: missing key 'step'"},
          {R"("axes": {"n": {"to": 2, "step": 1}})", ".axes.n: missing key 'from'"},
          {R"("axes": {"n": {"from": 1, "step": 1}})", ".axes.n: missing key 'to'"},
          {R"("axes": {"n": {"from": 3, "to": 2, "step": 1}})",
           ".axes.n: 'from' is 3, above 'to', which is 2"},
          {R"("axes": {"n": {"from": 1, "to": 2, "step": 0}})",
           ".axes.n.step: 0 is out of range; allowed: 1 to 1048575 (step of n)"},
          {R"("axes": {"n": {"from": 1, "to": 2, "step": -1}})",
           ".axes.n.step: -1 is out of range; allowed: 1 to 1048575 (step of n)"},
          {R"("axes": {"n": {"from": 1, "to": 2, "step": 9223372036854775808}})",
           ".axes.n.step: 9223372036854775808 is out of range; allowed: 1 to 1048575 (step of n)"},
          {R"("axes": {"n": {"from": 0, "to": 2, "step": 1}})",
           ".axes.n.from: 0 is out of range; allowed: 1 to 1048576" + n},
          {R"("axes": {"n": {"from": 1, "to": 1048577, "step": 1}})",
           ".axes.n.to: 1048577 is out of range; allowed: 1 to 1048576" + n},
          {R"("axes": {"n": {"from": 1.0, "to": 2, "step": 1}})",
           ".axes.n.from: expected an integer without point or exponent" + n + ", found 1.0"},
          {R"("axes": {"alpha": {"from": 0, "to": 1, "step": 0}})",
           ".axes.alpha.step: 0 is out of range; allowed: above 0, at most 2000 (step of alpha)"},
          {R"("axes": {"alpha": {"from": 1, "to": 0, "step": 1}})",
           ".axes.alpha: 'from' is 1, above 'to', which is 0"},
          {R"("axes": {"alpha": {"from": 0, "to": 1, "step": 1e-300}})",
           ".axes.alpha: the axis has more than 1000000 values"},
          {R"("axes": {"n": {"from": 1, "to": 1000001, "step": 1}})",
           ".axes.n: the axis has more than 1000000 values"},
          {R"("axes": {"n": [{"from": 1, "to": 1000000, "step": 1}, 7]})",
           ".axes.n[1]: the axis has more than 1000000 values"},
          {R"("axes": {"n": {"pow2": 8}})",
           ".axes.n.pow2: expected a list of two powers of two, found 8"},
          {R"("axes": {"n": {"pow2": [8]}})",
           ".axes.n.pow2: expected a list of two powers of two, found a list of 1"},
          {R"("axes": {"n": {"pow2": [1, 2, 4]}})",
           ".axes.n.pow2: expected a list of two powers of two, found a list of 3"},
          {R"("axes": {"n": {"pow2": [8, 4]}})", ".axes.n.pow2: 8 is above 4"},
          {R"("axes": {"n": {"pow2": [1000, 4096]}})",
           ".axes.n.pow2[0]: 1000 is not a power of two; the nearest is 1024"},
          {R"("axes": {"n": {"pow2": [1, 4097]}})",
           ".axes.n.pow2[1]: 4097 is not a power of two; the nearest is 4096"},
          {R"("axes": {"n": {"pow2": [0, 4]}})",
           ".axes.n.pow2[0]: 0 is out of range; allowed: 1 to 1048576" + n},
          {R"("axes": {"n": {"pow2": [1, 2097152]}})",
           ".axes.n.pow2[1]: 2097152 is out of range; allowed: 1 to 1048576" + n},
          {R"("axes": {"alpha": {"pow2": [-2, 2]}})",
           ".axes.alpha.pow2[0]: -2 is not a power of two; the smallest is 1"},
          {R"("axes": {"n": {"wave_edges": [1, 2]}})",
           ".axes.n.wave_edges: expected an object, found a list"},
          {R"("axes": {"n": {"wave_edges": {"from": 1}}})", ".axes.n.wave_edges: missing key 'to'"},
          {R"("axes": {"n": {"wave_edges": {"from": 1, "to": 2, "step": 1}}})",
           ".axes.n.wave_edges.step: unknown key; allowed: from, to"},
          {R"("axes": {"n": {"wave_edges": {"from": 2, "to": 1}}})",
           ".axes.n.wave_edges: 'from' is 2, above 'to', which is 1"},
          {R"("axes": {"n": {"wave_edges": {"from": 1, "to": 9999999}}})",
           ".axes.n.wave_edges.to: 9999999 is out of range; allowed: 1 to 1048576" + n},
          {R"("axes": {"n": {"wave_edges": {"from": 1, "to": 1048576}}})",
           ".axes.n.wave_edges: spans 1048576 sizes, all of which are checked; allowed: at most "
           "1000000"},
          {R"("axes": {"alpha": {"wave_edges": {"from": 1, "to": 2}}})",
           ".axes.alpha: wave_edges need an integer parameter; alpha is a real number"},
          {R"("axes": {"n": {"wave_edges": {"from": 1, "to": 2}}, "stride": {"wave_edges": {"from": 1, "to": 2}}})",
           ": axes 'n' and 'stride' both hold wave_edges; only one axis of an experiment may hold "
           "them"},
      });
}

TEST_CASE("zip is checked", "[config][error]") {
  const std::string axes = R"("axes": {"m": [1, 2], "n": [3, 4, 5], "k": [6, 7]}, )";
  check_experiment(
      "matmul",
      {
          {axes + R"("zip": [["m", "n"]])",
           ": zipped axes need the same number of values; 'm' has 2, 'n' has 3"},
          {axes + R"("zip": [["m", "l"]])", ".zip[0][1]: unknown axis \"l\"; allowed: m, n, k"},
          {R"("zip": [["m", "n"]])", ".zip[0][0]: unknown axis \"m\"; none is allowed"},
          {axes + R"("zip": [["m", "m"]])", ".zip[0][1]: axis 'm' is zipped twice"},
          {axes + R"("zip": [["m", "k"], ["n", "m"]])", ".zip[1][1]: axis 'm' is zipped twice"},
          {axes + R"("zip": [["m"]])",
           ".zip[0]: expected two axes or more to advance together, found one"},
          {axes + R"("zip": [])", ".zip: expected a list of lists of axes, found an empty list"},
          {axes + R"("zip": [[]])", ".zip[0]: expected a list of axes, found an empty list"},
          {axes + R"("zip": ["m", "k"])", ".zip[0]: expected a list of axes, found \"m\""},
          {axes + R"("zip": [[1, "k"]])",
           ".zip[0][0]: expected a string, found 1; allowed: m, n, k"},
          {R"("axes": {"m": [1], "n": [{"wave_edges": {"from": 1, "to": 2}}]}, "zip": [["m", "n"]])",
           ": axis 'n' holds wave_edges, whose number depends on the device, and cannot be zipped"},
      });
}

TEST_CASE("modes and measure settings are checked", "[config][error]") {
  check_experiment(
      "matmul",
      {
          {R"("modes": [])", ".modes: expected a list of modes, found an empty list"},
          {R"("modes": "cold")", ".modes: expected a list of modes, found \"cold\""},
          {R"("modes": ["colt"])",
           ".modes[0]: unknown mode \"colt\"; did you mean 'cold'? allowed: cold, warm, graph, "
           "back_to_back, back_to_back_graph, profile"},
          {R"("modes": ["warm", "warm"])", ".modes[1]: \"warm\" is given twice"},
          {R"("counters": [])", ".counters: expected a list of counters, found an empty list"},
          {R"("counters": ["memry"])",
           ".counters[0]: \"memry\" is not a counter, group of counters or Nsight Compute metric; "
           "did you mean 'memory'? allowed: all, none, memory, local, shared, atomics, divergence, "
           "pipes, tensor, occupancy, and the names that gpuexp list metrics prints"},
          {R"("counters": ["dram_read_byte"])",
           ".counters[0]: \"dram_read_byte\" is not a counter, group of counters or Nsight Compute "
           "metric; did you mean 'dram_read_bytes'? allowed: all, none, memory, local, shared, "
           "atomics, divergence, pipes, tensor, occupancy, and the names that gpuexp list metrics "
           "prints"},
          {R"("counters": ["memory", "memory"])", ".counters[1]: \"memory\" is given twice"},
          {R"("counters": ["none", "memory"])",
           ".counters: 'none' cannot be combined with other counters"},
          {R"("measure": [])", ".measure: expected an object, found an empty list"},
          {R"("measure": {"min_sample": 2})",
           ".measure.min_sample: unknown key; did you mean 'min_samples'? allowed: "
           "burst_check_seconds, fine_relative_ci, fine_seconds, max_samples, max_seconds, "
           "min_samples, min_seconds, sustain_seconds, target_relative_ci, warmup_launches, "
           "warmup_seconds"},
          {R"("measure": {"min_samples": 0})",
           ".measure.min_samples: 0 is out of range; allowed: 1 to 1000000 (minimum number of "
           "samples before stopping early)"},
          {R"("measure": {"min_samples": 2.5})",
           ".measure.min_samples: expected an integer without point or exponent (minimum "
           "number of samples before stopping early), found 2.5"},
          {R"("measure": {"min_samples": 9, "max_samples": 8})",
           ".measure: min_samples is 9, above max_samples, which is 8"},
          {R"("measure": {"min_samples": 1001})",
           ".measure: min_samples is 1001, above max_samples, which is 1000"},
          {R"("measure": {"max_seconds": 0})",
           ".measure.max_seconds: 0 is out of range; allowed: above 0, at most 3600 (maximum "
           "wall time per cell; overrides min_samples and min_seconds)"},
          {R"("measure": {"max_seconds": 3600.5})",
           ".measure.max_seconds: 3600.5 is out of range; allowed: above 0, at most 3600 "
           "(maximum wall time per cell; overrides min_samples and min_seconds)"},
          {R"("measure": {"target_relative_ci": 1.5})",
           ".measure.target_relative_ci: 1.5 is out of range; allowed: 0 to 1 (ratio of the 95 % "
           "interval's half-width to the median below which sampling stops; 0 never stops early)"},
          {R"("measure": {"warmup_launches": 1001})",
           ".measure.warmup_launches: 1001 is out of range; allowed: 0 to 1000 (number of untimed "
           "launches before the first sample)"},
      });
}

TEST_CASE("a config with too many cells is an error before cells are created", "[config][error]") {
  const std::string all = R"({"from": 1, "to": 65536, "step": 1})";
  check_experiment("matmul",
                   {
                       {R"("axes": {"m": )" + all + R"(, "n": )" + all + R"(, "k": )" + all + "}",
                        ": the experiments up to this one have 1407374883553280 cells (problem × "
                        "variant × mode); allowed: at most 1000000"},
                   });
  // Many experiments, each within the limit: the third exceeds the total.
  std::string text = R"({"name": "t", "experiments": [)";
  for (int i = 0; i < 100'000; ++i) {
    text += (i ? "," : "") + std::string(R"({"family": "matmul", "name": "e)") + std::to_string(i) +
            R"(", "axes": {"n": )" + all + "}}";
  }
  CHECK(error_of(text + "]}") ==
        "x.json: $.experiments[3]: the experiments up to this one have 1310720 cells (problem × "
        "variant × mode); allowed: at most 1000000");
}

TEST_CASE("messages shorten what was found", "[config][error]") {
  const std::string longest(1'000'000, 'v');
  CHECK(error_of(R"({"name": "t", "experiments": [{"family": ")" + longest + "\"}]}").size() < 300);
  CHECK(error_of("{\"" + longest + "\": 1}").size() < 300);
  CHECK(error_of(R"({"name": "t", "\u001b[31m": 1})") ==
        "x.json: $[\"\\u001b[31m\"]: unknown key; allowed: $schema, description, experiments, "
        "figures, name, "
        "seed");
}

TEST_CASE("a file that cannot be read is an error", "[config][error]") {
  CHECK_THROWS_WITH(read_config("no/such/config.json", fake::registry()),
                    "no/such/config.json: no such file");
  CHECK_THROWS_WITH(read_config(".", fake::registry()),
                    ".: is a folder without a cubin; expected a config, which is a JSON file, a "
                    "kernel file, whose name ends in .cu, .cuh, .ptx, .cubin or .gpuexp.json, or a "
                    "folder with one cubin");
}

}  // namespace gpuexp
