#!/usr/bin/env python3
"""repeatability.py on small results with known verdicts. Argument: the program."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "studies" / "repeatability" / "repeatability.py"
DATA = ROOT / "tests" / "cli" / "data"
GPUEXP = None


def recorded(number):
    return json.loads((DATA / f"repeated_{number}.json").read_text(encoding="utf-8"))


def cells(text, first):
    """Cells of the Markdown line that starts with these."""
    start = "| " + " | ".join(first) + " |"
    lines = [line for line in text.splitlines() if line.startswith(start)]
    return [cell.strip() for cell in lines[0].strip("|").split("|")][len(first) :] if lines else None


class RepeatabilityTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.folder = Path(self.directory.name)
        self.noise = self.folder / "noise.json"
        self.noise.write_text(
            json.dumps({"schema_version": 1, "device": None, "relative": 0.0001, "absolute_us": 0}), encoding="utf-8"
        )

    def write(self, name, report):
        folder = self.folder / name
        folder.mkdir()
        (folder / "results.json").write_text(json.dumps(report), encoding="utf-8")
        return folder

    def call(self, *arguments, gpuexp=None):
        command = [sys.executable, "-B", SCRIPT, *arguments, "--gpuexp", gpuexp or GPUEXP]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)

    def printed(self, *arguments):
        result = self.call(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def check_refused(self, result, *words):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def steady(self, utc, count=48, **shifted):
        """Times about 100 µs, without a trend, in five cells; some are shifted by a percentage."""
        report = recorded(1)
        report["provenance"]["utc"] = utc
        report["rows"] = report["rows"][:5]
        for i, row in enumerate(report["rows"]):
            level = 100 * (1 + shifted.get(f"cell_{i}", 0) / 100)
            row["samples_us"] = [level + 0.032 * (7 * k % 5 - 2) for k in range(count)]
        return report

    def test_recorded_runs(self):
        text = self.printed(*(DATA / f"repeated_{i}.json" for i in (1, 2, 3)))
        self.assertIn("Example GPU · driver 580.65.06 · CUDA 13.0.88 · commit 1a2b3c4d5e6f", text)
        self.assertEqual(cells(text, ["all pairs", ""]), ["180", "0", "0", "0", "180", "0.0 %"])
        self.assertEqual(cells(text, ["repeated_1", "repeated_3"])[0], "60")
        self.assertNotIn("half of a run", text)  # only eight samples each

    def test_a_shift_is_a_false_verdict_and_breaks_coverage(self):
        runs = [self.write("one", self.steady("t1")), self.write("two", self.steady("t2", cell_0=10, cell_1=-10))]
        text = self.printed(*runs, "--planted", "3", "--moved", "2")
        self.assertEqual(cells(text, ["one", "two"]), ["5", "1", "1", "0", "3", "40.0 %"])
        lines = [line for line in text.splitlines() if line.startswith("| one | two |")]
        self.assertEqual(lines[1], "| one | two | 5 | 4 | 5 | 4 | 80.0 % |")
        self.assertIn("Precise rows in which it was not found: 1 faster.", text)
        self.assertEqual(cells(text, ["a run", "another run", "all"]), ["10", "6", "60.0 %"])
        self.assertEqual(cells(text, ["a run", "another run", "cold alone"]), ["10", "6", "60.0 %"])
        halves = "40 samples or more"
        self.assertEqual(cells(text, ["half of a run", "the other half of it", halves]), ["20", "20", "100.0 %"])
        across = cells(text, ["half of a run", "the other half of another run", halves])
        self.assertEqual(across, ["20", "12", "60.0 %"])
        key = self.steady("t1")["rows"][1]["key"]
        self.assertEqual(cells(text, [f"`{key}`"]), ["100 µs", "90 µs", "11.1 %", "1"])

    def test_noise_and_what_is_planted(self):
        runs = [self.write("one", self.steady("t1")), self.write("two", self.steady("t2", cell_0=1))]
        self.assertEqual(cells(self.printed(*runs), ["one", "two"])[1], "0")
        text = self.printed(*runs, "--noise", self.noise, "--planted", "0.5")
        self.assertIn("minimum effect 0.01 %", text)
        self.assertIn("Every sample of B longer by 0.5 %", text)
        self.assertEqual(cells(text, ["one", "two"])[1], "1")

    def test_rows_that_did_not_pass_are_left_out(self):
        lost = self.steady("t2")
        lost["rows"][2].update(status="failed", samples_us=[])
        text = self.printed(self.write("one", self.steady("t1")), self.write("two", lost))
        self.assertEqual(cells(text, ["one", "two"])[0], "4")

    def test_what_cannot_be_compared(self):
        one, two = DATA / "repeated_1.json", DATA / "repeated_2.json"
        self.check_refused(self.call(one), "one run alone")
        self.check_refused(self.call(one, one), "are one run")
        self.check_refused(self.call(one, self.folder / "none"), "none: no such file")
        self.check_refused(self.call(one, self.noise), "noise.json: not the results.json")
        broken = self.folder / "broken.json"
        broken.write_text("{")
        self.check_refused(self.call(one, broken), "broken.json: cannot read as JSON")
        self.check_refused(self.call(one, two, gpuexp=self.folder / "gpuexp"), "no such program", "--gpuexp")
        self.check_refused(self.call(one, two, "--noise", self.folder / "none"), "none")
        self.check_refused(self.call(one, two, "--planted", "nan"), "--planted nan")
        other = recorded(2)
        other["provenance"]["device"]["driver_version"] = "999"
        self.check_refused(self.call(one, self.write("other", other)), "not runs of the same", "580.65.06 → 999")
        bare = recorded(2)
        for row in bare["rows"]:
            del row["samples_us"]
        self.check_refused(self.call(one, self.write("bare", bare)), "no row has samples")


if __name__ == "__main__":
    GPUEXP = sys.argv.pop(1)
    unittest.main()
