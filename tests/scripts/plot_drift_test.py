#!/usr/bin/env python3
"""plot.py drift: a figure of a log, and error messages.

Skipped without pandas or matplotlib.
"""

import json
import sys
import tempfile
import unittest
from pathlib import Path

from requirements import require, run_drawing_script

require("pandas", "matplotlib")

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
from plotting.run_log import read_groups  # noqa: E402

COLUMNS = ["experiment", "status", "key"]


def head(cells):
    report = {"columns": [{"name": name} for name in COLUMNS], "provenance": {"device": {"name": "GPU Ω"}}}
    return {"gpuexp_log": 2, "report": report, "cells": cells}


def row(kind, index, variant, n, status):
    return {kind: index, "fields": ["ladder", status, f"ladder/matmul/{variant}/n={n},k=64/cold"]}


def small_log():
    """Two groups of two variants; the first also has an incorrect one."""
    lines = [head(5)]
    lines += [row("cell", i, v, 64, "not_run") for i, v in enumerate(("naive", "tile", "wrong"))]
    for number, mhz in enumerate((1900.0, 1400.0, 1880.0, 1870.0)):
        lines += [[0, number, 9.0 + number], [1, number, 5.0, 1890.5], [2, number, 1.0]]
        lines.append({"clock": 0, "mhz": mhz, "rounds": [number, number]})
    lines += [row("row", i, v, 64, s) for i, v, s in ((0, "naive", "passed"), (1, "tile", "sampled"), (2, "wrong", "incorrect"))]
    lines += [row("cell", i, v, 128, "not_run") for i, v in ((3, "naive"), (4, "tile"))]
    lines += [[3, 0, 90.0], [4, 0, 50.0], [4, 1, 51.0], [3, 1, 90.0], {"clock": 3, "mhz": 1860.0, "rounds": [0, 1]}]
    lines += [{"event": "complete", "utc": "2026-01-02T03:04:05Z"}]
    return lines


class PlotDriftTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.folder = Path(self.directory.name)

    def write(self, lines, rest=""):
        text = "".join(json.dumps(line) + "\n" for line in lines) + rest
        (self.folder / "log.jsonl").write_text(text, encoding="utf-8")

    def plot(self, *arguments, out="drift.svg"):
        return run_drawing_script(SCRIPTS / "plot.py", "drift", self.folder, "--out", self.folder / out, *arguments)

    def check_refused(self, result, *words):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_groups_of_a_log(self):
        self.write(small_log(), rest="[4,2,")
        gpu, (large, small) = read_groups(self.folder, ["*n=128*", "ladder/*"])
        self.assertEqual(gpu, "GPU Ω")
        self.assertEqual((small.experiment, small.parameters, small.mode), ("ladder", "n=64,k=64", "cold"))
        self.assertEqual(small.samples["naive"], [(0, 9.0), (1, 10.0), (2, 11.0), (3, 12.0)])
        self.assertEqual(set(small.samples), {"naive", "tile"})
        self.assertEqual(small.clocks[0], (0, 0, 1900.0))
        self.assertEqual(large.samples["tile"], [(0, 50.0), (1, 51.0)])
        self.assertEqual(large.clocks, [(0, 1, 1860.0)])

    def test_a_reading_is_of_the_rounds_that_it_names(self):
        lines = [line if not (isinstance(line, dict) and line.get("clock") == 3) else {**line, "rounds": [1, 1]} for line in small_log()]
        self.write(lines)
        _, (large,) = read_groups(self.folder, ["*n=128*"])
        self.assertEqual(large.clocks, [(1, 1, 1860.0)])

    def test_samples_before_a_resumption_are_kept(self):
        again = [row("cell", i, v, 64, "not_run") for i, v in enumerate(("naive", "tile"))]
        self.write([*small_log(), *again, [0, 3, 20.0], [1, 3, 20.0]])
        _, groups = read_groups(self.folder, ["*n=64*"])
        self.assertEqual(groups[0].samples["naive"], [(0, 9.0), (1, 10.0), (2, 11.0), (3, 12.0), (3, 20.0)])

    def test_a_log_of_another_version_is_refused(self):
        first, *lines = small_log()
        self.write([{**first, "gpuexp_log": 1}, *lines])
        self.check_refused(self.plot(), "version 1 of the log; this version of gpuexp reads 2")

    def test_a_figure(self):
        self.write(small_log())
        result = self.plot()
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.folder / "drift.svg").read_text(encoding="utf-8")
        for word in ("GPU Ω", "naive", "tile", "n = 128, k = 64, cold", "n = k = 64, cold"):
            self.assertIn(word, text)
        self.assertNotIn("wrong", text)
        self.assertEqual(self.plot("--cells", "*/tile/*n=64*", out="drift.png").returncode, 0)
        self.assertTrue((self.folder / "drift.png").stat().st_size > 0)

    def test_times_need_no_clock(self):
        self.write([line for line in small_log() if not (isinstance(line, dict) and "clock" in line)])
        self.check_refused(self.plot(), "have samples but no readings of the SM clock; --times draws the samples")
        result = self.plot("--times")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.folder / "drift.svg").read_text(encoding="utf-8")
        for word in ("GPU Ω", "naive", "tile", "n = 128, k = 64, cold", "time (µs)"):
            self.assertIn(word, text)
        self.assertNotIn("SM clock", text)
        self.check_refused(self.plot("--times", "--cells", "nonesuch*"), "no cell nonesuch* has samples")

    def test_what_a_recording_lacks_is_named(self):
        first, *lines = small_log()
        simulated = head(5)
        simulated["report"]["provenance"]["device"]["executed_on"] = "simulated"
        self.write([simulated])
        self.check_refused(self.plot(), "the run was simulated; only a run on a GPU has samples")
        self.write([first])
        self.check_refused(self.plot(), "no cell * has samples of a result that passed")
        self.write([*small_log(), [3, 2, 0.0], [3, 3, 0.0], [3, 4, 0.0]])
        self.check_refused(self.plot(), "ladder: the median of naive is 0 µs; expected a time above 0")
        self.check_refused(self.plot("--times"), "ladder: a sample of naive is not above 0 µs")
        for clock in ({"mhz": 0, "rounds": [0, 0]}, {"mhz": 1900, "rounds": [0]}, {"mhz": 1900, "rounds": "a1"}, {"mhz": 1900}):
            self.write([*small_log(), {"clock": 3, **clock}])
            self.check_refused(self.plot(), f"log.jsonl:{len(small_log()) + 1}: not a line of a gpuexp log: ")
        self.write([{**first, "report": {**first["report"], "provenance": None}}, *lines])
        self.check_refused(self.plot(), "log.jsonl:1: not a line of a gpuexp log: ")

    def test_a_group_whose_first_cell_is_wrong_has_its_readings(self):
        self.write([*small_log(), row("row", 3, "naive", 128, "incorrect"), row("row", 4, "tile", 128, "passed")])
        _, (large,) = read_groups(self.folder, ["*n=128*"])
        self.assertEqual(set(large.samples), {"tile"})
        self.assertEqual(large.clocks, [(0, 1, 1860.0)])

    def test_what_cannot_be_drawn(self):
        self.check_refused(self.plot(), "log.jsonl: no such file; gpuexp run writes it into the run's folder")
        file = self.folder / "results.json"
        file.touch()
        result = run_drawing_script(SCRIPTS / "plot.py", "drift", file, "--out", self.folder / "drift.svg")
        self.check_refused(result, "results.json: is a file; expected the folder of a run, which has log.jsonl")
        self.write([])
        self.check_refused(self.plot(), "log.jsonl: not a gpuexp log")
        self.write([{"a": 1}])
        self.check_refused(self.plot(), "log.jsonl:1: not a line of a gpuexp log")
        self.write(small_log() + [[0]])
        self.check_refused(self.plot(), "not a line of a gpuexp log")
        self.write(small_log())
        self.check_refused(self.plot("--cells", "nonesuch*"), "no cell nonesuch*")
        self.check_refused(self.plot(out="drift.nonesuch"), "nonesuch")
        many = [(row("cell", n, "naive", n, "passed"), [n, 0, 9.0], {"clock": n, "mhz": 1e3, "rounds": [0, 0]}) for n in range(5)]
        self.write([head(5), *(line for lines in many for line in lines)])
        self.check_refused(self.plot(), "5 groups match", "--cells")


if __name__ == "__main__":
    unittest.main()
