#!/usr/bin/env python3
"""precision_cost.py: narrower intervals cost samples and leave fewer rows undecided."""

import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "studies" / "precision_cost" / "precision_cost.py"
NOISE = {"relative": 0.0098, "absolute_us": 0.0797}
PASSED = {"status": "passed", "experiment": "e", "mode": "warm", "graph_launches": 1, "timer_resolution_us": 0.032, "samples": 20}


def row(n, half_width, **other):
    ends = {"time_ci95_low_us": 100 * (1 - half_width), "time_ci95_high_us": 100 * (1 + half_width)}
    return {**PASSED, "time_median_us": 100, **ends, "param.n": n, **other}


class PrecisionCost(unittest.TestCase):
    def table(self, results):
        noise = Path(results).with_name("noise.json")
        noise.write_text(json.dumps(NOISE), encoding="utf-8")
        command = [sys.executable, SCRIPT, results, "--noise", noise]
        return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout

    def numbers(self, rows):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "results.json"
            path.write_text(json.dumps({"schema_version": 3, "provenance": {}, "rows": rows}), encoding="utf-8")
            lines = self.table(path).splitlines()[2:]
        return [[float(re.sub(r"[ s%]", "", cell)) for cell in line.split("|")[3:6]] for line in lines]

    def test_wide_rows_cost_samples_and_are_decided(self):
        statuses = ["passed", "sampled"]
        recorded, *_, no_limit, _ = self.numbers([row(n, 0.009, status=statuses[n % 2]) for n in range(2000)])
        self.assertEqual(recorded[0], 0)
        # 20 × (0.9 % / 0.245 %)² samples of 115 us, minus the existing 20, for 2000 rows.
        self.assertAlmostEqual(no_limit[0], 2000 * (270 - 20) * 115e-6, delta=0.5)
        self.assertGreater(recorded[1], 60)
        self.assertLess(no_limit[1], 6)

    def test_narrow_rows_cost_nothing(self):
        for more, undecided, _ in self.numbers([row(n, 0.0005) for n in range(200)]):
            self.assertEqual(more, 0)
            self.assertLess(undecided, 3)

    def test_rows_without_times_are_left_out(self):
        skipped = {"status": "skipped", "time_ci95_low_us": None}
        self.assertEqual(self.numbers([row(1, 0.001), skipped])[0][0], 0)


if __name__ == "__main__":
    unittest.main()
