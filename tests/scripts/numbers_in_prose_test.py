#!/usr/bin/env python3
"""Numbers with units in README and docs come from recorded files.

A measured number in prose stands between markers (`<!-- gpuexp: value … -->…<!-- /gpuexp -->`, CONTRIBUTING.md), where a test
compares it with the file it was recorded in. This test finds the others: digits with a unit outside of generated parts, of code, and
of tables made by a script that stands above them (`<!-- made by: COMMAND -->`), which made_by_test.py compares. Parts that another test compares
stand in `<!-- held by: tests/PATH -->…<!-- /held -->`; that test has to exist and to name the page. Numbers with units in comments over
variants, which the program prints, follow from what DERIVED says. What is no measurement of this project is in ALLOWED, with the file of this repository that says the same, or with a published source on the page itself.
"""

import math
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Confidence levels and other numbers that are names, on any page.
NAMES = ["95 % interval"]

# (page, text on the page, file of this repository, text there that says so)
ALLOWED = [
    ("CONTRIBUTING.md", "at least 1 ms apart", "src/gpu/sm_clock.hpp", "kShortestS = 1e-3"),
    ("CONTRIBUTING.md", "worth 0.2 s a group", "src/config/config.hpp", "fine_seconds = 0.2;"),
    ("CONTRIBUTING.md", "1830 instead of 1980 MHz", "configs/devices/h200.json",
     '"sm_clock_tensor_mhz": {"value": 1830, "source": "h100_whitepaper"'),
    ("CONTRIBUTING.md", "tensor cores are 4 % busy", "configs/devices/h200.json", "use tensor cores for 4 % of their time"),
    ("docs/explaining.md", "being within 15 % of 1", "src/analysis/causes.cpp", "kHighFactor = 1.15;"),
    ("docs/explaining.md", "two factors are within 15 %", "src/analysis/causes.cpp", "kHighFactor = 1.15;"),
    ("docs/explaining.md", "takes 60 % of the time", "src/analysis/causes.cpp", "kHighBoundShare = 0.6;"),
    ("docs/explaining.md", "a difference of 5 % or more", "src/analysis/causes.cpp", "kLeast = 1.05;"),
    ("docs/explaining.md", "and take 60 % of", "src/analysis/causes.cpp", "kHighBoundShare = 0.6;"),
    ("docs/explaining.md", "Differences above 5 % between", "docs/studies/explanations/explained_shares.py", "LEAST = 1.05"),
    ("docs/explaining.md", "From 80 % on", "src/analysis/explained_pair.hpp", "kNearRate = 0.8;"),
    ("docs/explaining.md", "less than 80 % of the slower", "src/analysis/explained_pair.hpp", "kNearRate = 0.8;"),
    ("docs/explaining.md", "takes 80 % of the time or more", "src/analysis/explained_pair.hpp", "kNearRate = 0.8;"),
    ("docs/explaining.md", "would need 1.1 times its rate", "src/analysis/bounds.cpp", "kMisfit = 1.10;"),
    ("docs/health.md", "less than 5 °C", "src/analysis/health.hpp", "kLeastSlowdownMarginC = 5"),
    ("docs/health.md", "less than 95 % of the clock", "src/analysis/health_signs.hpp", "kHeldClockShare = 0.95"),
    ("docs/health.md", "the highest (99 %)", "src/analysis/health_signs.hpp", "kHeldMemoryClockShare = 0.99"),
    ("docs/health.md", "4814 GB/s for an H200", "configs/devices/h200.json", "4814"),
    ("docs/health.md", "larger of 2 % of that end", "scripts/expected_bands.py", "LEAST_MARGIN = 0.02"),
    ("docs/health.md", "10 % take the place of the 2 %", "scripts/expected_bands.py", "ONE_CARD_MARGIN = 0.1"),
    ("docs/usage.md", "is below 0.3 %", "src/sim/grid_run.hpp", "standard_error = 0.003;"),
    ("docs/measuring.md", "each few rounds, at least 1 ms apart", "src/gpu/sm_clock.hpp", "kShortestS = 1e-3"),
    ("docs/measuring.md", "A stretch shorter than 1 ms", "src/gpu/sm_clock.hpp", "kShortestS = 1e-3"),
    ("docs/measuring.md", "A sample of 500 µs or more", "src/gpu/cuda_executor.cpp", "kLongUs = 500;"),
    ("docs/measuring.md", "Below 95 % of the device's maximum", "src/run/sample_clocks.hpp", "kLowClock = 0.95;"),
    ("docs/measuring.md", "below 95 % of the highest", "src/run/sample_clocks.hpp", "kLowClock = 0.95;"),
    ("docs/measuring.md", "the clock moved by over 2 %", "src/run/sample_clocks.cpp", "kDrift = 0.02;"),
    ("docs/measuring.md", "are more than 1 s of work", "src/run/compared_elements.hpp", "kMostReferenceSeconds = 1;"),
    ("docs/measuring.md", "NVML, read every 50 ms", "src/gpu/nvml_sampler.hpp", "kPeriod{50}"),
    ("docs/measuring.md", "a group shorter than 50 ms", "src/gpu/nvml_sampler.hpp", "kPeriod{50}"),
    ("docs/prediction.md", "has the tensor rates at 1830 MHz and the others at 1980", "configs/devices/h200.json",
     '"sm_clock_tensor_mhz": {"value": 1830, "source": "h100_whitepaper"'),
    ("docs/statistics.md", "sampled to 1 %", "src/config/config.hpp", "target_relative_ci = 0.01;"),
    ("docs/statistics.md", "a half-width of 0.25 %", "src/config/config.hpp", "fine_relative_ci = 0.0025;"),
    ("docs/statistics.md", "at most 0.2 s a group", "src/config/config.hpp", "fine_seconds = 0.2;"),
    ("docs/statistics.md", "at most 3 % of the pairs", "tests/unit/precision_test.cpp", "now.undecided <= 0.03"),
    ("docs/statistics.md", "at least 12 % when", "tests/unit/precision_test.cpp", "before.undecided >= 0.12"),
    ("docs/statistics.md", "sampling ends at 1 %", "src/config/config.hpp", "target_relative_ci = 0.01;"),
    ("docs/statistics.md", "at most 0.5 % of", "src/stats/calibration.hpp", "kFalseVerdictsSeen = 0.005"),
    ("docs/statistics.md", "upper 95 % bound is at most 1 %", "src/stats/calibration.hpp", "kFalseVerdictRate = 0.01"),
    ("docs/statistics.md", "1.39 % or", "configs/noise/h200.json", '"relative": 0.01387'),
    ("docs/statistics.md", "0.338 µs,", "configs/noise/h200.json", '"absolute_us": 0.338'),
    ("docs/usage.md", "else 2 %", "src/cli/comparison.cpp", "kDefault = 0.02"),
]

# Comments over variants, which the program prints: (file, text of the comment, what the number follows from). The last is a
# Python expression that has to be true, or text of the same file that says so.
DERIVED = [
    ("kernels/cross_entropy.cu", "50304, 393 times 128", "50257 < 50304 == 393 * 128"),
    ("kernels/divergence.cu", "at f = 1 % that is 72 %", "round(100 * (0.01 ** 32 + 0.99 ** 32)) == 72"),
    ("kernels/divergence.cu", "at 5 % 19 %", "round(100 * (0.05 ** 32 + 0.95 ** 32)) == 19"),
    ("kernels/divergence.cu", "at 14 % under 1 %", "0.14 ** 32 + 0.86 ** 32 < 0.01"),
    ("kernels/gather.cu", "8 times their bytes", "32 // 4 == 8"),
    ("kernels/loss_scaling.cu", "about 8 times that of well-scaled fp16", "2 ** (11 - 8) == 8"),
    ("kernels/master_weights.cu", "updates must be 8 times larger", "2 ** (11 - 8) == 8"),
    ("kernels/matmul.cu", "reads each element 32 times from", "constexpr int kPlainTile = 32;"),
    ("kernels/mixed_precision.cu", "8 times that of fp16", "2 ** (11 - 8) == 8"),
    ("kernels/normalization.cu", "5 × 4 = 20 times that of copy", "5 * 4 == 20"),
    ("kernels/scan.cu", "A tile is 16 times as large", "constexpr int kVectors = 4;"),
    ("kernels/stencil_3d.cu", "there are 32 times fewer threads", "constexpr int kDepth = 32;"),
    ("kernels/welford.cu", "a mean of 100 times their spread, 2·log2(100) = 13", "int(2 * math.log2(100)) == 13"),
]

HELD = re.compile(r"<!-- held by: (\S+) -->.*?<!-- /held -->", re.S)
NUMBER = re.compile(
    r"(?<![\w./])\d[\d,.]*(?:(?: |\u00a0)?(?:µs|us|ms|ns|min|TFLOP/s|GFLOP/s|GB/s|TB/s|MB/s|GHz|MHz|%|°C)(?![\w/])"
    r"|(?: |\u00a0)(?:s|times)(?![\w/])|×(?! ?[\d`]))")


def pages():
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blank(match):
    """Nothing but its line ends, so that line numbers stay."""
    return "\n" * match.group().count("\n")


def is_report(path):
    """A report that `gpuexp report` wrote, which is made from its results as a whole."""
    return path == ROOT / "docs/results/h200/all.md"


def without_code(text):
    text = re.sub(r"^```.*?^```$", blank, text, flags=re.S | re.M)
    return re.sub(r"`[^`\n]*`", "", text)


def prose_of(text):
    """The page without what is generated, and without code."""
    text = without_code(text)
    text = re.sub(r"<!-- gpuexp: value .*?<!-- /gpuexp -->", "", text)
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
    """Complaints about parts that name a test which does not hold them; `text_of` reads a file of the repository, None without one."""
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
    """The finder itself: what it has to find, and what it must not."""
    value = "<!-- gpuexp: value a column=b -->12 µs<!-- /gpuexp -->"
    found = "It takes 12 µs, 3.5 ms or 2 s, 8.2 times as long: 1.5× as fast, at 4 TB/s and 80 % of 4,814 GB/s.\n"
    assert [n for _, n, _ in bare_numbers(found)] == ["12 µs", "3.5 ms", "2 s", "8.2 times", "1.5×", "4 TB/s", "80 %", "4,814 GB/s"]
    clean = [
        f"It takes {value}, and {value} again.\n",
        "```\nsleep 2 s\n```\n",
        "Set `measure.max_seconds` to `2 s`.\n",
        "A tile of 128×128 elements, 16 bytes, n = 2048, 132 SMs, CUDA 13.0, 32 lanes.\n",
        "<!-- gpuexp: table x.csv -->\n\n| a |\n|---|\n| 12 µs |\n\n<!-- /gpuexp -->\n",
        "<!-- made by: scripts/x.py -->\n\n| a |\n|---|\n| 12 µs |\n",
    ]
    for text in clean:
        assert not bare_numbers(text), text
    assert not bare_numbers("within 5 % of it\n", ["within 5 %"])
    check_held_parts()
    assert [line for line, _, _ in bare_numbers("a\n```\n1 s\n```\n2 s\n")] == [5]


def check_held_parts():
    """Parts that another test holds: passed over where they end, and complained of where that test does not hold them."""
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
    """Complaints about one page."""
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


def comments_over_variants(text):
    """Line and text of each `// ---- id: heading` and the comment under it, in one line."""
    for match in re.finditer(r"^// ---- (?:.+\n(?://.*\n)*)", text, flags=re.M):
        yield text.count("\n", 0, match.start()) + 1, re.sub(r"\n// ?", " ", match.group())


def is_derived(expression, text):
    """Whether a Python expression holds, or else the file has the text."""
    try:
        return eval(expression, {"math": math, "__builtins__": {"round": round, "int": int}}) is True  # noqa: S307
    except SyntaxError:
        return expression in text


def check_comments(name, text, derived=DERIVED):
    """Complaints about numbers in the comments over one file's variants."""
    known = [entry for entry in derived if entry[0] == name]
    comments = list(comments_over_variants(text))
    complaints = [f"{name}: '{part}' is derived and in no comment over a variant" for _, part, _ in known
                  if not any(part in comment for _, comment in comments)]
    complaints += [f"{name}: '{part}' does not follow from '{why}'" for _, part, why in known if not is_derived(why, text)]
    for line, comment in comments:
        for _, part, _ in known:
            comment = comment.replace(part, "")
        complaints += [f"{name}:{line}: '{match.group()}' is not derived: {comment[:100]}" for match in NUMBER.finditer(comment)]
    return complaints


def check_comments_are_read():
    """What has to be found in comments over variants, and what must not."""
    text = "// ---- a: b\n//\n// It takes 3\n// times as long.\n\n// 4 µs\nint x;\n"
    assert len(check_comments("x.cu", text, [])) == 1
    assert not check_comments("x.cu", text, [("x.cu", "3 times as long", "1 + 2 == 3")])
    assert not check_comments("x.cu", text, [("x.cu", "3 times as long", "int x;")])
    assert len(check_comments("x.cu", text, [("x.cu", "3 times as long", "1 + 1 == 3")])) == 1
    assert len(check_comments("x.cu", text, [("x.cu", "3 times as long", "1 + 2 == 3"), ("x.cu", "gone", "1 == 1")])) == 1


def main():
    check_finds_them()
    check_comments_are_read()
    complaints = [c for path in pages() if not is_report(path) for c in check_page(path)]
    for path in sorted((ROOT / "kernels").rglob("*.cu*")):
        complaints += check_comments(str(path.relative_to(ROOT)), path.read_text())
    print("\n".join(complaints))
    if complaints:
        print("expected: a value between markers (CONTRIBUTING.md, 'Numbers in prose'), or an entry of ALLOWED with its source")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
