#!/usr/bin/env python3
"""collective_scale.py follows its model, refuses files without links, and produced the stored table."""

import csv
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "docs" / "studies" / "collective_scale" / "collective_scale.py"
LINKS = ROOT / "configs" / "ceilings" / "h200.links.json"
KEPT = SCRIPT.with_suffix(".csv")


def run(*arguments):
    return subprocess.run([sys.executable, SCRIPT, *arguments], capture_output=True, text=True, check=False)


def table(text):
    return {(int(row["gpus"]), int(row["bytes"])): row for row in csv.DictReader(io.StringIO(text))}


class CollectiveScale(unittest.TestCase):
    def links(self, **values):
        file = tempfile.NamedTemporaryFile("w", suffix=".json", delete=False)
        self.addCleanup(Path(file.name).unlink)
        with file:
            json.dump({"ceilings": {id: {"value": value} for id, value in values.items()}}, file)
        return file.name

    def test_times_are_those_of_the_model(self):
        # 1 us per step and 100 GB/s within a node; 2 us and 10 GB/s between nodes.
        links = self.links(link_signal_latency=400, link_fence_latency=600, link_both_write=100)
        done = run(links, "--network-gb-per-s", "10", "--network-latency-us", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = table(done.stdout)
        size = 64 << 20
        part = size / 8
        one_node = rows[8, size]
        self.assertAlmostEqual(float(one_node["ring_us"]), 14 * (1 + size / 8 / 1e5), delta=1)
        self.assertAlmostEqual(float(one_node["two_level_us"]), 2 * (1 + 7 / 8 * size / 1e5), delta=1)
        self.assertEqual(one_node["two_level_us"], one_node["tree_us"])
        four_nodes = rows[32, size]
        within = 2 * (1 + 7 / 8 * size / 1e5)
        self.assertAlmostEqual(float(four_nodes["ring_us"]), 62 * (2 + size / 32 / 8e4), delta=1)
        self.assertAlmostEqual(float(four_nodes["two_level_us"]), within + 6 * (2 + part / 4 / 1e4), delta=1)
        self.assertAlmostEqual(float(four_nodes["tree_us"]), within + 4 * 2 + 2 * part / 1e4, delta=1)
        bus = 2 * 31 / 32 * size / float(four_nodes["ring_us"]) / 1e3
        self.assertAlmostEqual(float(four_nodes["ring_bus_gb_per_s"]), bus, delta=0.05)

    def test_other_files_are_refused(self):
        for file in (self.links(link_copy=390), str(ROOT / "configs" / "collectives.json"), "nowhere.json"):
            done = run(file)
            self.assertEqual(done.returncode, 2)
            self.assertIn("no ceilings of links", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_the_kept_table_is_made_of_the_recorded_links(self):
        self.assertEqual(run(str(LINKS)).stdout, KEPT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
