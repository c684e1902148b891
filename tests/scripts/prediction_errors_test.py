#!/usr/bin/env python3
"""prediction_errors.py: errors and orders of a small run, and error messages."""

import csv
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "prediction_errors.py"
COLUMNS = ["family", "variant", "status", "time_median_us", "predicted_time_us", "key"]

# a is bound by tensor cores, b by DRAM; c has no limit, and d is in a divergence family.
PREDICTED = """key,predicted_time_us,bound_by,measured_limit_time_us
e/toy/a/n=1/cold,20,tensor,3
e/toy/b/n=1/cold,10,dram,8
e/toy/c/n=1/cold,7,issue,
e/toy_divergence/d/n=1/cold,10,issue,8
"""


def rows_of(times):
    """Rows of one problem: {variant: (measured, predicted, status)}."""
    return [["toy", v, status, measured, predicted, f"e/toy/{v}/n=1/cold"] for v, (measured, predicted, status) in times.items()]


class PredictionErrors(unittest.TestCase):
    def run_on(self, rows, *arguments, columns=COLUMNS):
        with tempfile.TemporaryDirectory() as folder:
            with open(Path(folder) / "results.csv", "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([columns, *rows])
            given = [a.replace("FOLDER", folder) for a in arguments]
            if "--predicted" in given or "--compare" in given:
                Path(folder, "p.csv").write_text('key,predicted_time_us\r\n"e/toy/a/n=1/cold",20\r\n', encoding="utf-8")
                Path(folder, "limits.csv").write_text(PREDICTED, encoding="utf-8")
            return subprocess.run([sys.executable, SCRIPT, folder, *given], capture_output=True, text=True)

    def test_errors_and_orders(self):
        done = self.run_on(rows_of({"a": (10, 20, "passed"), "b": (12, 12, "sampled"), "c": (40, 40 / math.e, "passed"),
                                    "wrong": (1, 100, "incorrect"), "vendor": (5, "", "passed"),
                                    "simulated": ("", 100, "sampled")}), "--worst", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        line = next(line for line in done.stdout.splitlines() if line.startswith("| toy"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        self.assertEqual(cells[1], "3")
        self.assertEqual(cells[2], "0.693")  # median of 0, ln 2 and 1
        self.assertEqual(cells[3], "0.939")
        self.assertEqual(cells[6], "0 % of 1")  # a and b
        self.assertEqual(cells[7], "50 % of 2")  # b before c is correct, a before c is not
        self.assertIn("-1.000", done.stdout.splitlines()[-1])
        self.assertIn("e/toy/c/n=1/cold", done.stdout.splitlines()[-1])

    def test_predictions_of_a_file_count_instead(self):
        done = self.run_on(rows_of({"a": (10, 10, "passed"), "b": (12, 12, "passed")}), "--predicted", "FOLDER/p.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| toy | 1 | 0.693 |", done.stdout)

    def test_a_simple_model_on_the_same_rows(self):
        rows = [[*row, 2] for row in rows_of({v: (10, "", "passed") for v in "abc"})]
        rows.append(["toy_divergence", "d", "passed", 10, "", "e/toy_divergence/d/n=1/cold", 2])
        done = self.run_on(rows, "--predicted", "FOLDER/limits.csv", columns=[*COLUMNS, "floor_us"])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| all | 4 |", done.stdout)
        lines = [line for line in done.stdout.splitlines() if line.startswith(("| all | 3", "| not bound"))]
        # ln 2 for a's own prediction, and ln(10 / 5) for its limit plus floor; b and d have no error in either.
        self.assertEqual(lines, ["| all | 3 | 0.00 (0.55) | 0.00 (0.55) |",
                                 "| not bound by DRAM or launch, no divergence | 1 | 0.69 (0.69) | 0.69 (0.69) |"])

    def test_no_simple_model_without_limits(self):
        done = self.run_on(rows_of({"a": (10, 10, "passed")}), "--predicted", "FOLDER/p.csv")
        self.assertNotIn("roofline", done.stdout)

    def test_summary_of_all_rows(self):
        done = self.run_on(rows_of({"a": (10, 20, "passed"), "b": (12, 12, "sampled"), "vendor": (5, "", "passed"),
                                    "wrong": (1, 100, "incorrect")}), "--summary", "toys")
        self.assertEqual(done.returncode, 0, done.stderr)
        # 100 % and 0 %; |ln| of ln 2 and 0; the row without a prediction is counted, the incorrect one is not.
        self.assertEqual(done.stdout.splitlines()[2:], ["| toys | 2 | 1 | 0.347 | 0.624 | +0.347 | 50.0 % | 1 |"])

    def test_two_predictions_of_the_same_rows(self):
        rows = rows_of({"a": (10, 10, "passed"), "b": (10, 10 * math.e, "passed"), "new": (10, 30, "passed")})
        done = self.run_on(rows, "--compare", "FOLDER/limits.csv")
        self.assertEqual(done.returncode, 0, done.stderr)
        # a is correct, but 20 in the other file; b is too long by e, but correct there; `new` is missing there.
        self.assertIn("| all | 2 | 0.500 (0.900) | +0.500 | 0.347 (0.624) | +0.347 |", done.stdout)
        missing = self.run_on(rows_of({"new": (10, 30, "passed")}), "--compare", "FOLDER/limits.csv")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("no row has both predictions", missing.stderr)

    def test_nothing_to_compare(self):
        done = self.run_on(rows_of({"vendor": (5, "", "passed")}))
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row has both", done.stderr)


if __name__ == "__main__":
    unittest.main()
