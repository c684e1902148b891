#!/usr/bin/env python3
"""scripts/simulated_counters.py says by how much counters differ, and where most."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "simulated_counters.py"
HEAD = "key,kernel,counter,simulated,recorded\n"


def run(*texts):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i, text in enumerate(texts):
            paths.append(Path(folder) / f"{i}.csv")
            paths[-1].write_text(HEAD + text, encoding="utf-8")
        return subprocess.run([sys.executable, SCRIPT, *paths], capture_output=True, text=True)


class SimulatedCounters(unittest.TestCase):
    def test_differences(self):
        out = run('"a/n=1,k=2",0,loads,100,100\n"b",0,loads,90,100\n"c",1,loads,100,80\n').stdout
        self.assertIn("counter,cells,median,p95,worst,where\n", out)
        self.assertIn('loads,3,10.000,25.000,25.000,"c, kernel 1"\n', out)

    def test_what_is_equal_is_nowhere(self):
        self.assertIn("loads,1,0.000,0.000,0.000,\n", run('"a/n=1,k=2",0,loads,100,100\n').stdout)

    def test_what_neither_counts_is_no_cell(self):
        self.assertIn("loads,0,,,,\n", run("a,0,loads,0,0\n").stdout)
        self.assertIn("loads,1,100.000,100.000,100.000,", run("a,0,loads,5,0\n").stdout)

    def test_the_last_file_counts(self):
        self.assertIn("loads,1,0.000,", run("a,0,loads,5,10\n", "a,0,loads,10,10\n").stdout)

    def test_nothing_to_compare(self):
        self.assertEqual(run("").returncode, 2)


if __name__ == "__main__":
    unittest.main()
