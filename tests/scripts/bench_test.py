#!/usr/bin/env python3
"""bench.py: number of rows of a run, from the log of an invented binary."""

import importlib.util
import json
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "bench.py"

# Row 0 has a line when it is timed and one when its counters are read, and a sample between them.
LOG = [{"gpuexp_log": 2, "cells": 3}, {"cell": 0, "fields": []}, [0, 0, 2.5], {"row": 0, "fields": []},
       {"row": 1, "fields": []}, {"kernels": 0, "rows": [[1]]}, {"row": 0, "fields": []}, {"times_s": {"total": 1.5}}]  # fmt: skip


def bench():
    spec = importlib.util.spec_from_file_location("bench", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Bench(unittest.TestCase):
    def test_a_row_with_two_lines_counts_once(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "log").write_text("".join(json.dumps(line) + "\n" for line in LOG), encoding="utf-8")
            binary = folder / "gpuexp"
            # called as: gpuexp run CONFIG --out OUT --quiet
            binary.write_text(f'#!/bin/sh\nmkdir "$4" && cp "{folder}/log" "$4/log.jsonl"\n', encoding="utf-8")
            binary.chmod(0o755)
            _, _, spent, rows = bench().measured_run(binary, "toy", folder / "out")
        self.assertEqual(rows, 2)
        self.assertEqual(spent, {"total": 1.5})


if __name__ == "__main__":
    unittest.main()
