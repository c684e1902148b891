#!/usr/bin/env python3
"""docs/studies/simulated_counters/simulated_counters.py reports by how much counters differ, and where most."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "studies" / "simulated_counters" / "simulated_counters.py"
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
        self.assertIn("counter,cells,median,p95,worst,gate,met,where\n", out)
        self.assertIn('loads,3,10.000,25.000,25.000,,,"c, kernel 1"\n', out)

    def test_what_is_equal_is_nowhere(self):
        self.assertIn("loads,1,0.000,0.000,0.000,,,\n", run('"a/n=1,k=2",0,loads,100,100\n').stdout)

    def test_what_neither_counts_is_no_cell(self):
        self.assertIn("loads,0,,,,,,\n", run("a,0,loads,0,0\n").stdout)
        self.assertIn("loads,1,100.000,100.000,100.000,", run("a,0,loads,5,0\n").stdout)

    def test_the_last_file_counts(self):
        self.assertIn("loads,1,0.000,", run("a,0,loads,5,10\n", "a,0,loads,10,10\n").stdout)

    def test_rates_differ_in_points(self):
        self.assertIn("l1_hit_pct,1,4.000,4.000,4.000,p95 5,yes,", run("a,0,l1_hit_pct,6,2\n").stdout)
        self.assertIn("l1_hit_pct,1,6.000,6.000,6.000,p95 5,no,", run("a,0,l1_hit_pct,8,2\n").stdout)

    def test_a_gate_is_met_or_not(self):
        self.assertIn('l2_sectors,1,1.000,1.000,1.000,"median 2, p95 15",yes,', run("a,0,l2_sectors,101,100\n").stdout)
        self.assertIn('l2_sectors,1,3.000,3.000,3.000,"median 2, p95 15",no,', run("a,0,l2_sectors,103,100\n").stdout)

    def test_few_bytes_of_dram_are_not_compared(self):
        self.assertIn("dram_read_bytes,0,", run("a,0,dram_read_bytes,1,9e6\n").stdout)
        self.assertIn("dram_read_bytes,1,50.000,50.000,50.000,median 10,no,", run("a,0,dram_read_bytes,1e7,2e7\n").stdout)
        self.assertIn("dram_write_bytes,0,", run("a,0,dram_write_bytes,1,4e7\n").stdout)

    def test_nothing_to_compare(self):
        self.assertEqual(run("").returncode, 2)


if __name__ == "__main__":
    unittest.main()
