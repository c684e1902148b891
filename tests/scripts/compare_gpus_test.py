#!/usr/bin/env python3
"""compare_gpus.py: each table from small files, and error messages."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "compare_gpus.py"

COMPARISON = """experiment,key,outcome,ratio
e,e/toy/a/cold,slower,1.5
e,e/toy/b/cold,same,1.01
f,f/toy/a/cold,faster,0.5
f,f/toy/b/cold,missing,
"""


def ceilings(device, **values):
    return {"device": device, "ceilings": {id: {"value": value, "unit": "GB/s"} for id, value in values.items()}}


def report(times, kernels):
    """Results with rows {key: (implementation, time)} and kernels [(key, name)]."""
    rows = [{"key": key, "implementation": kind, "time_median_us": time} for key, (kind, time) in times.items()]
    return {"rows": rows, "kernels": [{"key": key, "kernel": i, "name": name} for i, (key, name) in enumerate(kernels)]}


def explanation(variant, factor, differs, not_seen=()):
    return {"experiment": "e", "variant": variant, "compare_to": "plain", "mode": "cold", "parameters": {"n": 1}, "factor": factor,
            "differs": differs, "not_seen": list(not_seen)}


class CompareGpus(unittest.TestCase):
    def call(self, *arguments, given="", **files):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                Path(folder, name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
            command = [sys.executable, "-B", SCRIPT, *(a.replace("FOLDER", folder) for a in arguments)]
            return subprocess.run(command, capture_output=True, text=True, input=given, check=False)

    def check_table(self, done, *rows):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([line for line in done.stdout.splitlines() if line.startswith("| ")], list(rows))

    def check_refused(self, done, words):
        self.assertEqual(done.returncode, 2, done.stdout)
        self.assertIn(words, done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_ceilings(self):
        files = {"a": ceilings("A100", dram=2000, shared=40000, gone=1), "b": ceilings("B200", dram=1500, shared=44000, new=2)}
        self.check_table(self.call("ceilings", "FOLDER/a", "FOLDER/b", **files),
                         "| ceiling | unit | A100 | B200 | ratio |", "| dram | GB/s | 2000 | 1500 | 0.750 |",
                         "| shared | GB/s | 40000 | 44000 | 1.100 |")
        files["r"] = {"provenance": {"ceilings": {"values": {"dram": {"value": 1000}}}}}
        self.check_table(self.call("ceilings", "FOLDER/a", "FOLDER/b", "--scaled", "FOLDER/r", **files),
                         "| ceiling | unit | A100 | B200 | ratio | in proportion | measured over that |",
                         "| dram | GB/s | 2000 | 1500 | 0.750 | 1000 | 1.500 |", "| shared | GB/s | 40000 | 44000 | 1.100 |  |  |")
        self.check_refused(self.call("ceilings", "FOLDER/a", "FOLDER/c", a=files["a"], c=ceilings("C", other=1)), "no ceiling is in both")

    def test_times(self):
        head = "| experiment | rows | median | lowest | highest | slower | inconclusive | faster | same |"
        self.check_table(self.call("times", "-", given=COMPARISON), head,
                         "| e | 2 | 1.255 | 1.010 | 1.500 | 1 | 0 | 0 | 1 |", "| f | 1 | 0.500 | 0.500 | 0.500 | 0 | 0 | 1 | 0 |",
                         "| all | 3 | 1.010 | 0.500 | 1.500 | 1 | 0 | 1 | 1 |")
        rows = "key,bound_by\ne/toy/a/cold,dram\ne/toy/b/cold,\nf/toy/a/cold,dram\n"
        self.check_table(self.call("times", "-", "--rows", "FOLDER/rows", "--by", "bound_by", given=COMPARISON, rows=rows),
                         head.replace("experiment", "bound by"), "| dram | 2 | 1.000 | 0.500 | 1.500 | 1 | 0 | 1 | 0 |",
                         "| not predicted | 1 | 1.010 | 1.010 | 1.010 | 0 | 0 | 0 | 1 |",
                         "| all | 3 | 1.010 | 0.500 | 1.500 | 1 | 0 | 1 | 1 |")
        self.check_refused(self.call("times", "-", "--by", "bound_by", given=COMPARISON), "no column bound_by; --rows takes")
        self.check_refused(self.call("times", "-", given="key,outcome,ratio\na,missing,\n"), "no row has both times")

    def test_kernels(self):
        times = {"e/toy/lib/n=1/cold": ("library", 10), "e/toy/lib/n=2/cold": ("library", 10), "e/toy/own/n=1/cold": ("kernel", 10)}
        a = report(times, [("e/toy/lib/n=1/cold", "set"), ("e/toy/lib/n=1/cold", "x"), ("e/toy/lib/n=2/cold", "x"), ("e/toy/own/n=1/cold", "x")])
        b = report({**times, "e/toy/lib/n=1/cold": ("library", 12)},
                   [("e/toy/lib/n=1/cold", "set"), ("e/toy/lib/n=1/cold", "y"), ("e/toy/lib/n=2/cold", "x"), ("e/toy/own/n=1/cold", "y")])
        done = self.call("kernels", "FOLDER/a", "FOLDER/b", a=a, b=b)
        self.check_table(done, "| row | on A alone | on B alone | ratio |", "| `toy/lib/n=1/cold` | `x` | `y` | 1.200 |")
        self.assertIn("1 of 2 rows", done.stdout)
        self.check_refused(self.call("kernels", "FOLDER/a", "FOLDER/b", a=a, b=report(times, [])), "no row of a library")

    def test_explanations(self):
        a = {"explanations": [explanation("u", 2, True), explanation("v", 2, True, ["c"]), explanation("w", 1.1, True),
                              explanation("x", 1, False), explanation("y", 1, False), explanation("gone", 2, True)]}
        b = {"explanations": [explanation("u", 1.5, True), explanation("v", 0.5, True), explanation("w", 1, False),
                              explanation("x", 0.9, False), explanation("y", 1.2, True)]}
        done = self.call("explanations", "FOLDER/a", "FOLDER/b", a=a, b=b)
        self.check_table(done, "| comparisons | count |", "| all | 5 |", "| one variant is faster, the same one on both | 1 |",
                         "| one variant is faster, another one on B | 1 |", "| no difference on both | 1 |",
                         "| a difference on A alone | 1 |", "| a difference on B alone | 1 |",
                         "| an expected counter change was not seen on A | 1 |", "| an expected counter change was not seen on B | 0 |")
        self.check_refused(self.call("explanations", "FOLDER/a", "FOLDER/b", a=a, b={"explanations": []}), "no comparison is in both")

    def test_what_cannot_be_read(self):
        self.check_refused(self.call("ceilings", "FOLDER/a", "FOLDER/b"), "a: no such file")
        self.check_refused(self.call("kernels", "FOLDER/a", "FOLDER/a", a="{"), "a: cannot read as JSON")


if __name__ == "__main__":
    unittest.main()
