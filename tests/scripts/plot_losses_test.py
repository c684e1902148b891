#!/usr/bin/env python3
"""plot.py losses: a figure of losses, and error messages.

Skipped without pandas or matplotlib.
"""

import tempfile
import unittest
from pathlib import Path

from requirements import require, run_drawing_script

require("pandas", "matplotlib")

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "plot.py"
HEAD = "run,dtype,variant,step,loss_least,loss_mean,loss_most\n"


class PlotLossesTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.folder = Path(self.directory.name)

    def plot(self, text):
        path = self.folder / "losses.csv"
        path.write_text(text, encoding="utf-8")
        return run_drawing_script(SCRIPT, "losses", path, "--out", self.folder / "losses.svg")

    def test_each_precision_has_a_line_and_the_first_a_band(self):
        rows = [f"{t}/{v}/{s},{t},{v},{s},{0.9 / s},{1 / s},{1.1 / s}" for t, v in (("fp32", "fused"), ("bf16", "separate"))
                for s in (25, 50, 75)]  # fmt: skip
        result = self.plot(HEAD + "\n".join(rows) + "\n")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.folder / "losses.svg").read_text(encoding="utf-8")
        for words in ("fp32 fused, least to most of its runs", "fp32 fused", "bf16 separate"):
            self.assertIn(words, text)

    def test_other_tables_are_refused(self):
        for text in (HEAD, "step,loss\n25,1\n"):
            result = self.plot(text)
            self.assertEqual(result.returncode, 2)
            self.assertIn("loss_mean", result.stderr)
            self.assertNotIn("Traceback", result.stderr)


if __name__ == "__main__":
    unittest.main()
