#!/usr/bin/env python3
"""nccl_tests.py runs nccl-tests for gpuexp's measurements and reports values that differ too much."""
import csv
import importlib.util
import io
import os
import stat
import sys
import tempfile
import unittest
from contextlib import redirect_stdout

SCRIPT = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "studies", "nccl_tests", "nccl_tests.py")
spec = importlib.util.spec_from_file_location("nccl_tests", SCRIPT)
nccl_tests = importlib.util.module_from_spec(spec)
spec.loader.exec_module(nccl_tests)

FAKE = """#!{python}
import json, os, sys
arguments = sys.argv[1:]
value = dict(zip(arguments[::2], arguments[1::2]))
assert value["-b"] == value["-e"] and value["-n"] == "20" and value["-a"] == "3" and value["-c"] == "0", arguments
assert os.environ["NCCL_NVLS_ENABLE"] == "0"
time = int(value["-b"]) / 1e6 + int(value["-t"]) + 10 * int(value["-G"])
in_place = None if "sendrecv" in sys.argv[0] else {{"time": time / 2}}
json.dump({{"results": [{{"out_of_place": {{"time": time}}, "in_place": in_place}}]}}, open(value["-J"], "w"))
"""


def row(operation, n, mode, in_place, us, gpus=2, variant="nccl", status="passed"):
    return {"variant": variant, "status": status, "mode": mode, "time_median_us": us, "param.n": n,
            "param.dtype": "fp32", "param.operation": operation, "param.gpus": gpus, "param.in_place": in_place,
            "graph_launches": 60 if mode == "back_to_back_graph" else 20}


class NcclTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for program in nccl_tests.PROGRAMS.values():
            path = self.path(program)
            with open(path, "w", encoding="utf-8") as file:
                file.write(FAKE.format(python=sys.executable))
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def results(self, rows):
        with open(self.path("results.csv"), "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    def call(self, *arguments):
        sys.argv = ["nccl_tests.py", *arguments]
        printed = io.StringIO()
        with redirect_stdout(printed):
            code = nccl_tests.main()
        return code, printed.getvalue()

    def run_on(self, gpus, *options):
        return self.call("run", self.path("results.csv"), "--build", self.folder.name, "--gpus", str(gpus),
                         "--out", self.path("out.csv"), *options)

    def compare(self):
        return self.call("compare", self.path("results.csv"), self.path("out.csv"))

    def test_each_problem_is_run_once_and_both_places_are_kept(self):
        self.results([row("all_reduce", 1000, "back_to_back", "no", 2),
                      row("all_reduce", 1000, "back_to_back", "yes", 2),
                      row("shift", 1000, "back_to_back_graph", "no", 2),
                      row("all_gather", 1000, "back_to_back", "no", 2, gpus=4),
                      row("all_gather", 1000, "warm", "no", 2),
                      row("all_reduce", 1000, "back_to_back", "no", 2, variant="ring"),
                      row("broadcast", 1000, "back_to_back", "no", 2, status="failed")])
        self.assertEqual(self.run_on(2)[0], 0)
        with open(self.path("out.csv"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual(lines, ["operation,dtype,bytes,gpus,mode,in_place,nccl_tests_us",
                                 "all_reduce,fp32,4000,2,back_to_back,no,2.004",
                                 "all_reduce,fp32,4000,2,back_to_back,yes,1.002",
                                 "shift,fp32,4000,2,back_to_back_graph,no,32.004"])
        self.assertEqual(self.run_on(4)[0], 0)
        with open(self.path("out.csv"), encoding="utf-8") as file:
            self.assertEqual(file.read().splitlines()[4:], ["all_gather,fp32,4000,4,back_to_back,no,4.004",
                                                            "all_gather,fp32,4000,4,back_to_back,yes,2.002"])

    def test_a_launcher_starts_a_process_for_each_gpu(self):
        self.results([row("all_reduce", 1000, "back_to_back", "no", 2)])
        self.assertEqual(self.run_on(2, "--launcher", "env LAUNCHED=2")[0], 0)
        with open(self.path("out.csv"), encoding="utf-8") as file:
            self.assertTrue(file.read().splitlines()[1].endswith(",1.004"), "one thread")

    def test_long_vectors_may_be_three_percent_apart_and_short_ones_ten(self):
        long_n = (16 << 20) // 4
        long_us = (16 << 20) / 1e6 + 2
        for n, us, within in ((1000, 2.004 * 1.09, True), (1000, 2.004 * 1.11, False), (1000, 2.004 * 0.89, False),
                              (long_n, long_us * 1.029, True), (long_n, long_us * 1.031, False),
                              (long_n, long_us * 0.96, False)):
            with self.subTest(n=n, us=us):
                self.results([row("all_reduce", n, "back_to_back", "no", us)])
                if os.path.exists(self.path("out.csv")):
                    os.remove(self.path("out.csv"))
                self.run_on(2)
                code, text = self.compare()
                self.assertEqual(code, 0 if within else 1)
                self.assertIn(f"{int(within)} of 1 problems", text)

    def test_some_problems_of_several_runs_are_compared(self):
        self.results([row("all_reduce", 1000, "back_to_back", "no", 2), row("shift", 1000, "back_to_back", "no", 9)])
        self.run_on(2)
        os.rename(self.path("results.csv"), self.path("first.csv"))
        self.results([row("broadcast", 1000, "back_to_back", "no", 2)])
        self.run_on(2)
        for only, problems in (([], 3), (["--only", "operation=all_reduce"], 1), (["--only", "gpus=2", "--only", "in_place=no"], 3)):
            code, text = self.call("compare", self.path("first.csv"), self.path("results.csv"), self.path("out.csv"), *only)
            self.assertIn(f" of {problems} problems", text)
            self.assertEqual(code, 1 if problems == 3 else 0)
        with self.assertRaisesRegex(SystemExit, "no such problem"):
            self.call("compare", self.path("first.csv"), self.path("out.csv"), "--only", "gpus=8")

    def test_what_has_no_time_of_nccl_is_an_error(self):
        self.results([row("all_reduce", 1000, "warm", "no", 2)])
        with self.assertRaisesRegex(SystemExit, "no row of variant nccl in mode back_to_back"):
            self.run_on(2)
        self.results([row("all_reduce", 1000, "back_to_back", "no", 2)])
        with self.assertRaisesRegex(SystemExit, "no row spans 4 GPUs"):
            self.run_on(4)

    def test_a_program_that_fails_is_named_with_what_it_said(self):
        self.results([row("all_reduce", 1000, "back_to_back", "no", 2)])
        with open(self.path("all_reduce_perf"), "w", encoding="utf-8") as file:
            file.write(f"#!{sys.executable}\nimport sys\nprint('no GPU')\nsys.exit(3)\n")
        with self.assertRaisesRegex(SystemExit, "(?s)all_reduce_perf -b 4000.*exit code 3.*no GPU"):
            self.run_on(2)


if __name__ == "__main__":
    unittest.main()
