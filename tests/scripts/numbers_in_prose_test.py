#!/usr/bin/env python3
"""Numbers with units in README and docs come from recorded files.

A measured number in prose stands between markers (`<!-- gpuexp: value … -->…<!-- /gpuexp -->`, CONTRIBUTING.md), where a test
compares it with the file it was recorded in. This test finds the others: digits with a unit outside of generated parts, of code, and
of tables made by a script that stands above them (`<!-- made by: COMMAND -->`), whose output it compares. What is no measurement of
this project is in ALLOWED, with the file of this repository that says the same, or with a published source on the page itself.
"""

import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Confidence levels and other numbers that are names, on any page.
NAMES = ["95 % interval"]

# (page, text on the page, file of this repository, text there that says so)
ALLOWED = [
    ("docs/explaining.md", "within 15 % of", "src/analysis/explanation.cpp", "kHighFactor = 1.15"),
    ("docs/explaining.md", "at least 60 % of its time", "src/analysis/explanation.hpp", "kBoundPct = 60.0"),
    ("docs/health.md", "less than 5 °C", "src/analysis/health.hpp", "kLeastSlowdownMarginC = 5"),
    ("docs/health.md", "less than 95 % of the clock", "src/analysis/health.hpp", "kHeldClockShare = 0.95"),
    ("docs/health.md", "the highest (99 %)", "src/analysis/health.hpp", "kHeldMemoryClockShare = 0.99"),
    ("docs/health.md", "4814 GB/s for an H200", "configs/devices/h200.json", "4814"),
    ("docs/health.md", "larger of 2 % of that end", "scripts/expected_bands.py", "LEAST_MARGIN = 0.02"),
    ("docs/statistics.md", "at most 0.5 % of", "src/stats/calibration.hpp", "kFalseVerdictsSeen = 0.005"),
    ("docs/statistics.md", "upper 95 % bound is at most 1 %", "src/stats/calibration.hpp", "kFalseVerdictRate = 0.01"),
    ("docs/statistics.md", "(0.98 % or", "configs/noise/h200.json", '"relative": 0.0098'),
    ("docs/statistics.md", "0.08 µs, whichever", "configs/noise/h200.json", '"absolute_us": 0.0797'),
    ("docs/usage.md", "else 2 %", "src/cli/comparison.cpp", "kDefault = 0.02"),
]

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


def prose_of(text):
    """The page without what is generated, and without code."""
    text = re.sub(r"<!-- gpuexp: value .*?<!-- /gpuexp -->", "", text)
    text = re.sub(r"<!-- gpuexp: (?!results )\S.*?<!-- /gpuexp -->", blank, text, flags=re.S)
    text = re.sub(r"^```.*?^```$", blank, text, flags=re.S | re.M)
    text = re.sub(r"<!-- made by: [^\n]* -->\n\n(?:\|[^\n]*\n)+", blank, text)
    text = re.sub(r"`[^`\n]*`", "", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def bare_numbers(text, allowed=()):
    """Line and text of each number with a unit that is neither generated nor allowed."""
    prose = prose_of(text)
    for known in allowed:
        prose = prose.replace(known, "")
    return [(number, match.group(), line.strip())
            for number, line in enumerate(prose.split("\n"), 1) for match in NUMBER.finditer(line)]


def made_tables(text):
    """Command and table of each table that a script makes."""
    return re.findall(r"<!-- made by: ([^\n]*) -->\n\n((?:\|[^\n]*\n)+)", text)


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
    assert [line for line, _, _ in bare_numbers("a\n```\n1 s\n```\n2 s\n")] == [5]


def check_page(path):
    """Complaints about one page."""
    name = str(path.relative_to(ROOT))
    text = path.read_text()
    allowed = [entry for entry in ALLOWED if entry[0] == name]
    complaints = [f"{name}: '{known}' is allowed and not on the page" for _, known, _, _ in allowed if known not in text]
    for _, known, source, says in allowed:
        if says not in (ROOT / source).read_text():
            complaints.append(f"{name}: '{known}' is allowed by {source}, which does not say '{says}'")
    for line, number, context in bare_numbers(text, NAMES + [known for _, known, _, _ in allowed]):
        complaints.append(f"{name}:{line}: '{number}' comes from no recorded file: {context[:100]}")
    for command, table in made_tables(text):
        output = subprocess.run(shlex.split(command), cwd=ROOT, capture_output=True, text=True, check=False).stdout
        if table not in output:
            complaints.append(f"{name}: not what `{command}` prints:\n{table}expected:\n{output}")
    return complaints


def main():
    check_finds_them()
    complaints = [c for path in pages() if not is_report(path) for c in check_page(path)]
    print("\n".join(complaints))
    if complaints:
        print("expected: a value between markers (CONTRIBUTING.md, 'Numbers in prose'), or an entry of ALLOWED with its source")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
