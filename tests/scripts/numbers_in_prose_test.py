#!/usr/bin/env python3
"""Numbers with units in README and docs come from recorded files.

A list below its paragraph names the file of a measured number (`<!-- gpuexp: values`, docs/writing.md), and another test compares them.
This test reports all other numbers: digits with a unit outside of generated parts, of code, and of tables below
`<!-- made by: COMMAND -->`, which made_by_test.py compares. Parts that another test compares are in
`<!-- held by: tests/PATH -->…<!-- /held -->`; that test must exist and name the page. Numbers and factors in comments over variants,
which the program prints, are derived in the same sentence or held by the variant's declarations. Numbers that are not measurements of
this project are in ALLOWED, with the file of this repository that contains them, or with a published source on the page.
"""

import fractions
import json
import math
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Numbers in names, allowed on any page.
NAMES = ["95 % interval"]

# (page, text on the page, file of this repository, text in that file)
ALLOWED = [
    ("docs/decisions/run.md", "at least 1 ms apart", "src/gpu/sm_clock.hpp", "kShortestS = 1e-3"),
    ("docs/decisions/run.md", "worth 0.2 s a group", "src/config/config.hpp", "fine_seconds = 0.2;"),
    ("docs/decisions/device.md", "1830 instead of 1980 MHz", "configs/devices/h200.json",
     '"sm_clock_tensor_mhz": {"value": 1830, "source": "h100_whitepaper"'),
    ("docs/decisions/device.md", "tensor cores are 4 % busy", "configs/devices/h200.json", "use tensor cores for 4 % of their time"),
    ("docs/adding_a_variant.md", "allows 0.9 %", "src/family/held_claim.hpp", "kHeldTolerance = 0.009;"),
    ("docs/prediction.md", "reports 6.1 % for", "docs/prediction.md", "SynPerf (Zhang et al., 2026,\narXiv 2601.14910) reports 6.1 %"),
    ("docs/prediction.md", "reports 3 to 8 % for", "docs/prediction.md", "arXiv 2603.00549) reports 3 to 8 %"),
    ("docs/prediction.md", "reports 13.98 % of", "docs/prediction.md", "arXiv 2503.20481) reports 13.98 %"),
    ("docs/prediction.md", "busy for 60 % of", "src/model/prediction_band.cpp", "kBusy = 0.6;"),
    ("docs/prediction.md", "in steps of 5 %", "src/model/prediction_band.hpp", "in steps of 5 %"),
    ("docs/usage.md", "such as ± 10 %", "src/model/prediction_band.hpp", "kNarrowBandPct = 10;"),
    ("docs/explaining.md", "being within 15 % of 1", "src/analysis/causes.cpp", "kHighFactor = 1.15;"),
    ("docs/explaining.md", "within 3 % of the measured factor", "src/analysis/explained_pair.cpp", "kAccuracy = 1.03;"),
    ("docs/explaining.md", "two factors are within 15 %", "src/analysis/causes.cpp", "kHighFactor = 1.15;"),
    ("docs/explaining.md", "takes 60 % of the time", "src/analysis/causes.cpp", "kHighBoundShare = 0.6;"),
    ("docs/explaining.md", "a difference of 5 % or more", "src/analysis/causes.cpp", "kMinFactor = 1.05;"),
    ("docs/explaining.md", "and take 60 % of", "src/analysis/causes.cpp", "kHighBoundShare = 0.6;"),
    ("docs/explaining.md", "clocks that differ by more than 5 %", "src/family/expected_change.hpp", "kUnchangedFactor = 1.05;"),
    ("docs/explaining.md", "differences above 5 % between", "docs/studies/explanations/explained_shares.py", "LEAST = 1.05"),
    ("docs/explaining.md", "At 80 % or more", "src/analysis/explained_pair.hpp", "kNearRate = 0.8;"),
    ("docs/explaining.md", "less than 80 % of the slower", "src/analysis/explained_pair.hpp", "kNearRate = 0.8;"),
    ("docs/explaining.md", "takes 80 % of the time or more", "src/analysis/explained_pair.hpp", "kNearRate = 0.8;"),
    ("docs/explaining.md", "would need 1.1 times its rate", "src/analysis/bounds.cpp", "kMisfit = 1.10;"),
    ("docs/health.md", "less than 5 °C", "src/analysis/health.hpp", "kMinSlowdownMarginC = 5"),
    ("docs/health.md", "less than 95 % of the clock", "src/analysis/health_signs.hpp", "kHeldClockShare = 0.95"),
    ("docs/health.md", "the highest (99 %)", "src/analysis/health_signs.hpp", "kHeldMemoryClockShare = 0.99"),
    ("docs/health.md", "4814 GB/s for an H200", "configs/devices/h200.json", "4814"),
    ("docs/health.md", "larger of 2 % of that end", "scripts/expected_bands.py", "LEAST_MARGIN = 0.02"),
    ("docs/health.md", "10 % replaces the 2 %", "scripts/expected_bands.py", "ONE_CARD_MARGIN = 0.1"),
    ("docs/usage.md", "is below 0.3 %", "src/sim/grid_run.hpp", "standard_error = 0.003;"),
    ("docs/measuring.md", "at least 1 ms apart", "src/gpu/sm_clock.hpp", "kShortestS = 1e-3"),
    ("docs/measuring.md", "A stretch shorter than 1 ms", "src/gpu/sm_clock.hpp", "kShortestS = 1e-3"),
    ("docs/measuring.md", "A sample of 500 µs or more", "src/gpu/cuda_executor.cpp", "kLongUs = 500;"),
    ("docs/measuring.md", "Below 95 % of the device's maximum", "src/run/sample_clocks.hpp", "kLowClock = 0.95;"),
    ("docs/measuring.md", "below 95 % of the highest", "src/run/sample_clocks.hpp", "kLowClock = 0.95;"),
    ("docs/measuring.md", "the clock moved by over 2 %", "src/run/sample_clocks.cpp", "kDrift = 0.02;"),
    ("docs/measuring.md", "would take more than 0.5 s", "src/run/compared_elements.hpp", "kMaxReferenceSeconds = 0.5;"),
    ("docs/measuring.md", "(5.9 TFLOP/s on an", "src/run/compared_elements.cpp", "reached 5.9 TFLOP/s on the 132 SMs of an H200"),
    ("docs/measuring.md", "reads NVML every 50 ms", "src/gpu/nvml_sampler.hpp", "kPeriod{50}"),
    ("docs/measuring.md", "a group is shorter than 50 ms", "src/gpu/nvml_sampler.hpp", "kPeriod{50}"),
    ("docs/measuring.md", "launch takes 50 ms or more", "src/config/config.hpp", "warmup_seconds = 0.05;"),
    # Time of that run beyond its estimate.
    ("docs/measuring.md", "waits about 11 s", "docs/studies/run_times/first_runs.csv", "softmax,5,16.22"),
    ("docs/own_kernel.md", "gpuexp kills it after 60 s", "src/compile/tool_process.hpp", "time_s = 60;"),
    ("docs/own_kernel.md", "takes at most about 5 s on one core", "src/simulated/host_problem.cpp", "kMaxWholeCheckOperations = 1.4e10;"),
    ("docs/decisions/own.md", "operations, about 5 s on one core", "src/simulated/host_problem.cpp", "kMaxWholeCheckOperations = 1.4e10;"),
    ("docs/prediction.md", "states the tensor rates at 1830 MHz and the others at the maximum clock", "configs/devices/h200.json",
     '"sm_clock_tensor_mhz": {"value": 1830, "source": "h100_whitepaper"'),
    ("docs/statistics.md", "sampled to 1 %", "src/config/config.hpp", "target_relative_ci = 0.01;"),
    ("docs/statistics.md", "a half-width of 0.25 %", "src/config/config.hpp", "fine_relative_ci = 0.0025;"),
    ("docs/statistics.md", "at most 0.2 s per group", "src/config/config.hpp", "fine_seconds = 0.2;"),
    ("docs/statistics.md", "at most 3 % of the pairs", "tests/unit/precision_test.cpp", "now.undecided <= 0.03"),
    ("docs/statistics.md", "at least 12 % when", "tests/unit/precision_test.cpp", "before.undecided >= 0.12"),
    ("docs/statistics.md", "sampling ends at 1 %", "src/config/config.hpp", "target_relative_ci = 0.01;"),
    ("docs/statistics.md", "at most 0.5 % of", "src/stats/calibration.hpp", "kFalseVerdictsSeen = 0.005"),
    ("docs/statistics.md", "upper 95 % bound is at most 1 %", "src/stats/calibration.hpp", "kFalseVerdictRate = 0.01"),
    ("docs/statistics.md", "1.39 % or", "configs/noise/h200.json", '"relative": 0.01387'),
    ("docs/statistics.md", "0.338 µs,", "configs/noise/h200.json", '"absolute_us": 0.338'),
    ("docs/usage.md", "else 2 %", "src/cli/comparison.cpp", "kDefault = 0.02"),
]

# Numbers in comments over variants: (family, text of the comment, a Python expression that must be true). Names are
# constants of the family's source.
DERIVED = [
    ("attention_decode", "waves of three blocks per SM", "kBlocksPerSm == 3"),
    ("cross_entropy", "50304, 393 times 128", "50257 < 50304 == 393 * 128"),
    ("divergence", "at f = 1 % that is 72 %", "round(100 * (0.01 ** 32 + 0.99 ** 32)) == 72"),
    ("divergence", "at 5 % 19 %", "round(100 * (0.05 ** 32 + 0.95 ** 32)) == 19"),
    ("divergence", "at 14 % under 1 %", "0.14 ** 32 + 0.86 ** 32 < 0.01"),
    ("loss_scaling", "about 8 times that of well-scaled fp16", "2 ** (11 - 8) == 8"),
    ("master_weights", "updates must be 8 times larger", "2 ** (11 - 8) == 8"),
    ("mixed_precision", "8 times that of fp16", "2 ** (11 - 8) == 8"),
    ("spmv", "more than four times the nonzeros", "kMaxPadding == 4"),
    ("welford", "a mean of 100 times their spread, 2·log2(100) = 13", "int(2 * math.log2(100)) == 13"),
]

HELD = re.compile(r"<!-- held by: (\S+) -->.*?<!-- /held -->", re.S)
# Numbers in comments over variants: factors, and counts of instructions, barriers, banks and registers.
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
           "eleven": 11, "twelve": 12, "sixteen": 16, "twenty": 20, "thirty": 30, "sixty": 60}
DENOMINATORS = {"third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9, "tenth": 10,
                "twelfth": 12, "sixteenth": 16, "32nd": 32, "64th": 64, "hundredth": 100}
FACTOR_WORDS = {**dict.fromkeys(["twice", "half", "halves", "halved", "halving", "double", "doubles", "doubled", "doubling"], 2), "thrice": 3,
                "triples": 3, "quadruples": 4}
N = r"(?:\d+(?:,\d{3})*(?:\.\d+)?|" + "|".join(word for word in NUMBERS if word not in ("a", "an")) + ")"
# Neither one nor the numerator of a share.
SEVERAL = rf"(?:\d+/\d+|{N.replace('|one|', '|')})(?![/\w]| (?:{'|'.join(DENOMINATORS)}))"
COUNTED = (r"(?:registers|barriers?|bank conflicts?|wavefronts|sectors|lanes (?:access|share|meet)|"
           r"blocks (?:per SM|are resident)|resident blocks|blocks of \d+ threads per SM|"
           r"(?:load |store |warp )?(?:requests|instructions))")
FACTOR = re.compile(
    rf"(?<![\w.])(?:(?:{'|'.join(FACTOR_WORDS)})(?![- ](?:buffer|precision))"
    rf"|(?P<whole>{N})(?:(?: |-)times|-fold|-way|×(?! ?[\d`]))"
    rf"|one in (?P<whole_in>{N})|factor of (?P<factor>{N})"
    rf"|(?P<numerator>an?|{N})[- ](?P<denominator>{'|'.join(DENOMINATORS)})s?(?! (?:kernel|pass|copy|warp|stream))"
    rf"|(?<![\w/.])(?P<fraction>\d+/\d+)(?![/.])"
    rf"|(?P<percent>\d[\d.]*) %"
    rf"|from (?P<before>{N})(?: \w+)? to (?P<after>{N})(?! (?:\d|thread))"
    rf"|(?P<counted>{N}) {COUNTED}|(?P<stated_of>[a-z]\w*_\w+) (?:is|stays|falls to|rises to|of) (?P<stated>{SEVERAL})"
    rf"|(?:decreas|increas|fall|grow|ris)e?s? by (?P<by>{SEVERAL}))(?![\w-])", re.I)
# Words that name a quantity in a sentence, if not the last word of its id.
WORDS_OF = {"bank_conflict": r"\bbank|conflict|wavefront", "barriers_per_block": "barrier", "registers_per_thread": "register",
            "shared_bytes_per_block": "shared memory", "threads_per_block": "thread", "blocks_per_sm": r"resident|blocks? (?:of \d+ threads )?per SM",
            "bytes_written": "writ|stor|byte", "bytes_to_peers": "link|byte|send", "dram_read_bytes": "dram|byte|read",
            "dram_write_bytes": "dram|byte|writ", "metric.bytes_in_flight_per_thread": "in flight", "metric.bytes_in_flight_per_sm": "in flight",
            "global_load_sectors_per_request": "sector", "global_store_sectors_per_request": "sector"}
COUNTER = re.compile(r"\b(?:global|shared(?!_bytes)|local|dram|l1|l2|warp|fma|alu|lsu|xu|fp64|tensor|branch|active|stalled|issue)_\w+")
# One side of an equation.
SUM = r"\(?\d[\d.]*\)?(?: ?[-−+×·/^] ?\(?\d[\d.]*\)?)*"
NUMBER = re.compile(
    r"(?<![\w./])\d[\d,.]*(?:(?: |\u00a0)?(?:µs|us|ms|ns|min|TFLOP/s|GFLOP/s|GB/s|TB/s|MB/s|GHz|MHz|%|°C)(?![\w/])"
    r"|(?: |\u00a0)(?:s|times)(?![\w/])|×(?! ?[\d`]))")


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blank(match):
    """Only the line ends of the match, which keeps line numbers."""
    return "\n" * match.group().count("\n")


def is_report(path):
    """Whether the page is a report that `gpuexp report` generated."""
    return path == ROOT / "docs/results/h200/all.md"


def without_code(text, has_code=False):
    text = re.sub(r"^```.*?^```$", blank, text, flags=re.S | re.M)
    return text if has_code else re.sub(r"`[^`\n]*`", "", text)


def without_listed_values(text):
    """The page without lists of values (docs/writing.md), and without the numbers that they name in the paragraph above."""
    parts = re.split(r"<!-- gpuexp: values\n(.*?)\n-->", text, flags=re.S)
    for i in range(0, len(parts) - 1, 2):
        before, paragraph = re.fullmatch(r"(.*\n\n|)(.*)", parts[i], re.S).groups()
        end = 0
        for value in (line.rpartition(" = ")[0] for line in parts[i + 1].split("\n")):
            at = paragraph.find(value, end)
            while at > 0 and re.match(r"[\w.]", paragraph[at - 1]):
                at = paragraph.find(value, at + 1)
            if at < 0:
                raise ValueError(f"the list below '{paragraph.strip()[:60]}' has '{value}', which the paragraph has not in this order")
            paragraph, end = paragraph[:at] + paragraph[at + len(value):], at
        parts[i], parts[i + 1] = before + paragraph, "\n" * (parts[i + 1].count("\n") + 2)
    return "".join(parts)


def prose_of(text, has_code=False):
    """The page without generated parts and code; with `has_code`, including code between backticks."""
    text = without_code(text, has_code)
    text = without_listed_values(text)
    text = re.sub(r"<!-- gpuexp: (?!results )\S.*?<!-- /gpuexp -->", blank, text, flags=re.S)
    text = HELD.sub(blank, text)
    text = re.sub(r"<!-- made by: [^\n]* -->\n\n(?:\|[^\n]*\n)+", blank, text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def bare_numbers(text, allowed=()):
    """Line and text of each number with a unit that is neither generated nor allowed."""
    prose = prose_of(text)
    for known in allowed:
        prose = prose.replace(known, "")
    return [(number, match.group(), line.strip())
            for number, line in enumerate(prose.split("\n"), 1) for match in NUMBER.finditer(line)]


def not_held(text, page, text_of):
    """Errors for parts that name a test that does not exist or does not name the page. `text_of` reads a file of the repository; None if it
    is missing."""
    for test in HELD.findall(without_code(text)):
        says = text_of(test) if re.fullmatch(r"tests/[\w./]+_test\.\w+", test) and ".." not in test else None
        if says is None:
            yield f"'held by: {test}', which is no test"
        elif page not in says:
            yield f"'held by: {test}', which does not name {page}"


def text_of_file(name):
    path = ROOT / name
    return path.read_text() if path.is_file() else None


def check_finds_them():
    """Tests the finder: numbers that it must report, and others."""
    listed = "It takes 12 µs, or 3 s, or 12 µs again.\n<!-- gpuexp: values\n12 µs = a column=b\n12 µs = c column=b\n-->\n"
    found = "It takes 12 µs, 3.5 ms or 2 s, 8.2 times as long: 1.5× as fast, at 4 TB/s and 80 % of 4,814 GB/s.\n"
    assert [n for _, n, _ in bare_numbers(found)] == ["12 µs", "3.5 ms", "2 s", "8.2 times", "1.5×", "4 TB/s", "80 %", "4,814 GB/s"]
    clean = [
        listed.replace("3 s", "more"),
        "```\nsleep 2 s\n```\n",
        "Set `measure.max_seconds` to `2 s`.\n",
        "A tile of 128×128 elements, 16 bytes, n = 2048, 132 SMs, CUDA 13.0, 32 lanes.\n",
        "<!-- gpuexp: table x.csv -->\n\n| a |\n|---|\n| 12 µs |\n\n<!-- /gpuexp -->\n",
        "<!-- made by: scripts/x.py -->\n\n| a |\n|---|\n| 12 µs |\n",
    ]
    for text in clean:
        assert not bare_numbers(text), text
    assert [(line, number) for line, number, _ in bare_numbers(listed + "4 s\n")] == [(1, "3 s"), (6, "4 s")]
    try:
        bare_numbers(listed.replace("12 µs again", "12\nµs again"))
        raise AssertionError("a listed number that the paragraph lacks is found")
    except ValueError:
        pass
    assert not bare_numbers("within 5 % of it\n", ["within 5 %"])
    check_held_parts()
    assert [line for line, _, _ in bare_numbers("a\n```\n1 s\n```\n2 s\n")] == [5]


def check_held_parts():
    """Parts compared by another test are skipped, and reported if that test does not compare them."""
    files = {"tests/a_test.py": "PAGE = 'docs/x.md'", "docs/x.md": "docs/x.md"}
    held = "<!-- held by: tests/a_test.py -->\n\n12 µs\n\n<!-- /held -->"
    assert bare_numbers(f"{held}\n3 s\n") == [(6, "3 s", "3 s")]
    assert not bare_numbers("It takes <!-- held by: tests/a_test.py -->12 µs<!-- /held -->.\n")
    assert bare_numbers("<!-- held by: tests/a_test.py -->\n\n12 µs\n")
    assert not list(not_held(held, "x.md", files.get))
    assert "does not name y.md" in list(not_held(held, "y.md", files.get))[0]
    assert not list(not_held("`<!-- held by: tests/PATH -->…<!-- /held -->`", "x.md", files.get))
    for no_test in ("tests/gone_test.py", "docs/x.md", "tests/../docs/x.md"):
        assert "is no test" in list(not_held(held.replace("tests/a_test.py", no_test), "x.md", files.get))[0]


def check_page(path):
    """Errors of one page."""
    name = str(path.relative_to(ROOT))
    text = path.read_text()
    allowed = [entry for entry in ALLOWED if entry[0] == name]
    complaints = [f"{name}: '{known}' is allowed and not on the page" for _, known, _, _ in allowed if known not in text]
    for _, known, source, says in allowed:
        if says not in (ROOT / source).read_text():
            complaints.append(f"{name}: '{known}' is allowed by {source}, which does not say '{says}'")
    complaints += [f"{name}: {complaint}" for complaint in not_held(text, path.name, text_of_file)]
    for line, number, context in bare_numbers(text, NAMES + [known for _, known, _, _ in allowed]):
        complaints.append(f"{name}:{line}: '{number}' comes from no recorded file: {context[:100]}")
    return complaints


def sentences(text):
    return re.split(r"(?<=\.)\)? (?=[A-Z(])", text)


def evaluated(expression, names=None):
    """Value of an arithmetic expression; None if it is not one."""
    try:
        return eval(expression, {"math": math, "__builtins__": {"round": round, "int": int, "min": min, "max": max}}, names or {})  # noqa: S307
    except (SyntaxError, NameError, TypeError, ZeroDivisionError):
        return None


def constants(source):
    """Integer constants of a source, by name."""
    found = {}
    for name, value in re.findall(r"constexpr [\w:]+ (k\w+) = ([^;,]+)[;,]", source):
        number = evaluated(value.replace("/", "//"), found)
        if isinstance(number, int):
            found[name] = number
    return found


def equations(sentence):
    """Numbers on both sides of each correct equation, such as "5 × 4 = 20" or "4/32 = 1/8", and the values of the sides."""
    numbers = []
    for left, right in re.findall(rf"({SUM}) = ({SUM})", sentence):
        values = [evaluated(side.replace("×", "*").replace("·", "*").replace("−", "-").replace("^", "**")) for side in (left, right)]
        if None not in values and math.isclose(*values, rel_tol=1e-9):
            numbers += [values[0], *(float(n) for n in re.findall(r"\d[\d.]*", left + " " + right))]
    return numbers


def value_in_words(text):
    """The number for a word of NUMBERS or digits."""
    return NUMBERS.get(text) or float(fractions.Fraction(text.replace(",", "")))


def value_of(match):
    groups = match.groupdict()
    whole = groups["whole"] or groups["whole_in"] or groups["factor"] or groups["by"] or groups["fraction"]
    if whole:
        return value_in_words(whole.lower())
    if groups["denominator"]:
        return value_in_words(groups["numerator"].lower()) / DENOMINATORS[groups["denominator"].rstrip("s")]
    if groups["percent"]:
        return float(groups["percent"]) / 100
    if groups["counted"] or groups["stated"]:
        return value_in_words((groups["counted"] or groups["stated"]).lower())
    return FACTOR_WORDS[match.group().lower()]


def factors(sentence):
    """Text of each factor and counted number, with its possible ratios: for a share more or less, 1 plus and 1 minus the share."""
    for match in FACTOR.finditer(sentence):
        if match["before"]:
            before, after = (value_in_words(match[name].lower()) for name in ("before", "after"))
            yield match.group(), (after, after / before if before else 0)
            continue
        value = value_of(match)
        is_change = value < 1 and (re.search(r"\bby (?:(?:nearly|about|some|more than|less than) )?$", sentence[:match.start()], re.I)
                                   or re.match(r" (?:more|fewer|less)\b", sentence[match.end():]))
        yield match.group(), (1 + value, 1 - value) if is_change else (value,)


def is_same(ratios, stated):
    """Whether one of the ratios or its reciprocal equals the stated number."""
    return any(math.isclose(ratio, other, rel_tol=5e-3) for ratio in ratios for other in ([stated, 1 / stated] if stated else [stated]))


def is_named(quantity, sentence):
    """Whether the sentence names the quantity: by its id, or by a word if it contains no counter's id."""
    if quantity in sentence or COUNTER.match(quantity) and COUNTER.search(sentence):
        return quantity in sentence
    return re.search(WORDS_OF.get(quantity) or quantity.split("_")[-1].rstrip("s"), sentence, re.I) is not None


def holds(sentence, ratios, claims):
    """Whether a claim about a quantity that the sentence names states the number, or an equation in the sentence does."""
    return any(is_same(ratios, number) and is_named(quantity, sentence) for quantity, number in claims) \
        or any(is_same(ratios, number) for number in equations(sentence))


def promises(change, ratios):
    """Whether the expected change, by at least a factor, matches one of the ratios."""
    return change["direction"] != "unchanged" and any(change["factor"] <= factor <= 1.25 * change["factor"]
                                                      for ratio in ratios if ratio for factor in (ratio, 1 / ratio))


def check_variant(family, variant, heading, known):
    """Errors in numbers of the comment over a variant."""
    claims = [(claim["quantity"], claim["number"]) for claim in variant["held"]]
    for sentence in [heading, *sentences(variant["why"])]:
        rest = sentence
        for part in known:
            rest = rest.replace(part, "")
        for text, ratios in factors(rest):
            if not holds(sentence, ratios, claims) and not any(
                    promises(change, ratios) and is_named(change["counter"], sentence) for change in variant["expected_changes"]):
                yield f"{family}/{variant['id']}: '{text}' is neither derived nor held: {sentence[:160]}"
        for match in NUMBER.finditer(FACTOR.sub("", rest)):
            yield f"{family}/{variant['id']}: '{match.group()}' is not derived: {sentence[:160]}"


def headings(source):
    """The noun phrase after each variant's id in the heading of its comment."""
    return dict(re.findall(r"^// ---- (\w+)(?:: (.+))?$", source, flags=re.M))


def check_family(description, source, derived=DERIVED):
    """Errors of one family, given by `describe --json`."""
    family = description["id"]
    known = [entry for entry in derived if entry[0] == family]
    texts = headings(source)
    whole = " ".join([*texts.values(), *(variant["why"] for variant in description["variants"])])
    complaints = [f"{family}: '{part}' is derived and in no comment over a variant" for _, part, _ in known if part not in whole]
    complaints += [f"{family}: '{part}' does not follow from '{why}'" for _, part, why in known
                   if evaluated(why, constants(source)) is not True]
    for variant in description["variants"]:
        complaints += check_variant(family, variant, texts.get(variant["id"], ""), [part for _, part, _ in known])
    return complaints


def check_comments_are_read():
    """Numbers in comments over variants that must be reported, and others."""
    def complaints(why, held=(), changes=(), derived=(), heading=""):
        variant = {"id": "v", "why": why, "held": [{"quantity": q, "number": n} for q, n in held],
                   "expected_changes": [{"counter": c, "direction": d, "factor": f} for c, d, f in changes]}
        return check_family({"id": "x", "variants": [variant]}, f"constexpr int kTile = 32;\n// ---- v: {heading}\n", derived)

    for why in ["It takes 3 times as long.", "It is twice as much.", "Requests fall to a quarter.", "Two thirds more.", "A 32-fold cut.",
                "An 8-way conflict.", "One in 128 is left.", "Barriers fall from nine to one.", "Bytes double.", "It takes 4 µs.", "It has three barriers.",
                "At most 8 lanes access one bank.", "It uses 64 registers per thread.", "Half of it is left.", "1.5× less."]:
        assert len(complaints(why)) == 1, why
        assert len(complaints("", heading=why)) == 1, why
    for why in ["The third kernel is a copy.", "A double buffer in half precision.", "It has 256 threads."]:
        assert not complaints(why), why
    requests = ["global_load_requests falls to a quarter."]
    assert not complaints(*requests, held=[("global_load_requests", 0.25)])
    assert not complaints(*requests, changes=[("global_load_requests", "decreases", 3.5)])
    for changes in [("global_load_requests", "decreases", 2), ("global_load_requests", "unchanged", 4), ("l2_sectors", "decreases", 4)]:
        assert complaints(*requests, changes=[changes]), changes
    for held in [("global_load_requests", 0.5), ("l2_sectors", 0.25), ("global_store_requests", 0.25)]:
        assert complaints(*requests, held=[held]), held
    assert not complaints("Instructions grow by a third.", held=[("warp_instructions", 4 / 3)])
    assert complaints("Instructions fall to a third.", held=[("warp_instructions", 4 / 3)])
    for held in (3, 3 / 9):
        assert not complaints("Barriers fall from nine to three.", held=[("barriers_per_block", held)])
    assert not complaints("It loads 5 × 4 = 20 times as often.") and complaints("It loads 5 × 4 = 21 times as often.")
    assert not complaints("It is 32 times as much.", derived=[("x", "32 times", "kTile == 32")])
    assert len(complaints("It is 32 times as much.", derived=[("x", "32 times", "kTile == 31")])) == 1
    assert len(complaints("It is 32 times as much.", derived=[("x", "32 times", "constexpr int kTile = 32;")])) == 1
    assert len(complaints("It is.", derived=[("x", "gone", "1 == 1")])) == 1


def described(program):
    """Each family as `describe --json` prints it."""
    ids = [family["id"] for family in json.loads(subprocess.check_output([program, "list", "--json"], text=True))["families"]]
    return [json.loads(subprocess.check_output([program, "describe", family, "--json"], text=True)) for family in ids]


def source_of(family):
    return "".join(path.read_text() for path in [ROOT / f"kernels/{family}.cu", *sorted((ROOT / "kernels" / family).glob("*.cu*"))])


def main():
    check_finds_them()
    check_comments_are_read()
    complaints = [c for path in pages() if not is_report(path) for c in check_page(path)]
    for description in described(sys.argv[1]) if len(sys.argv) > 1 else []:
        complaints += check_family(description, source_of(description["id"]))
    print("\n".join(complaints))
    if complaints:
        print("expected: a value between markers (docs/writing.md, 'Numbers in prose'), or an entry of ALLOWED with its source; over a variant a line "
              "'held: ...' (src/family/held_claim.hpp), an equation, or an entry of DERIVED")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
