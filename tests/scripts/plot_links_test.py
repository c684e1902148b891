#!/usr/bin/env python3
"""plot.py links and plot.py ranks: figures of recorded results, and error messages.

Skipped without pandas or matplotlib.
"""

import tempfile
import unittest
from pathlib import Path

from requirements import require, run_drawing_script

require("pandas", "matplotlib", "zstandard")

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "docs" / "results" / "h200"
PNG = b"\x89PNG"
FIGURES = [["peer_copy"], ["collectives"], ["tensor_parallel", "mlp_parallel"], ["data_parallel"]]


def call(*arguments):
    return run_drawing_script(ROOT / "scripts" / "plot.py", *arguments)


class PlotLinks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_each_recording_makes_its_figure(self):
        for names in FIGURES:
            with self.subTest(names[0]):
                out = self.folder / f"{names[0]}.png"
                done = call("links", *(RECORDED / f"{name}.json.zst" for name in names), "--out", out)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(out.read_bytes()[:4], PNG)

    def test_results_of_other_families_are_refused(self):
        done = call("links", RECORDED / "host_transfer.json.zst", "--out", self.folder / "none.png")
        self.assertEqual(done.returncode, 2)
        self.assertTrue(done.stderr.startswith("plot.py: "), done.stderr)
        self.assertFalse((self.folder / "none.png").exists())

    def test_pictures_of_ranks_are_drawn_without_data(self):
        done = call("ranks", "--out-dir", self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        drawn = sorted(path.stem for path in self.folder.glob("*.png"))
        self.assertEqual(drawn, ["lanes_collectives", "lanes_tensor_parallel", "timeline_data_parallel", "timeline_peer_copy"])


if __name__ == "__main__":
    unittest.main()
