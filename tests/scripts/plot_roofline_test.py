#!/usr/bin/env python3
"""plot.py roofline: a figure of a ladder, and error messages.

Skipped without pandas or matplotlib.
"""

import csv
import json
import tempfile
import unittest
from pathlib import Path

from requirements import require, run_drawing_script

require("pandas", "matplotlib")

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "plot.py"
PNG = b"\x89PNG"


def row(experiment, variant, intensity, tflops, status="passed"):
    return {"experiment": experiment, "family": "matmul", "variant": variant, "mode": "cold", "status": status,
            "time_median_us": 10, "limit_by": "fp32", "operations": 1e9, "tflops": tflops,
            "arithmetic_intensity": intensity, "intensity_from": "counted",
            "key": f"{experiment}/matmul/{variant}/m=4096,n=4096,k=4096/cold"}


class PlotRoofline(unittest.TestCase):
    def run_on(self, rows, *arguments, gpu="NVIDIA H200", without=()):
        with tempfile.TemporaryDirectory() as folder:
            rows = [{k: v for k, v in r.items() if k not in without} for r in rows]
            with open(Path(folder) / "results.csv", "w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, rows[0].keys())
                writer.writeheader()
                writer.writerows(rows)
            report = {"provenance": {"device": {"name": gpu}}}
            (Path(folder) / "results.json").write_text(json.dumps(report), encoding="utf-8")
            out = Path(folder) / "roof.png"
            done = run_drawing_script(SCRIPT, "roofline", folder, "--out", out, *arguments)
            return done, out.read_bytes() if out.exists() else b""

    def test_a_ladder_is_drawn(self):
        ladder = [row("ladder", v, 16 * 2**i, 0.5 * 4**i) for i, v in enumerate(("naive", "coalesced", "tile", "cublas"))]
        done, picture = self.run_on([*ladder, row("ladder", "wrong", 1, 1, "incorrect"), row("other", "naive", 3, 2)])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(picture.startswith(PNG))

    def assert_refused(self, words, rows, *arguments, **options):
        done, picture = self.run_on(rows, *arguments, **options)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn(words, done.stderr)
        self.assertEqual(picture, b"")

    def test_what_cannot_be_drawn_is_said(self):
        rows = [row("ladder", "naive", 16, 0.5)]
        self.assert_refused("no column arithmetic_intensity", rows, without=("arithmetic_intensity",))
        self.assert_refused("no row that passed", rows, "--experiment", "nothing*")
        self.assert_refused("nothing is known of 'Voodoo 2'", rows, gpu="Voodoo 2")
        many = [row(f"e{i}", "naive", 16, 0.5) for i in range(20)]
        self.assert_refused("20 experiments are too many", many)


if __name__ == "__main__":
    unittest.main()
