#!/usr/bin/env python3
"""prediction_errors.py: errors, orders, reasons and causes of a small run, and error messages."""

import csv
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "prediction_errors.py"
COLUMNS = ["family", "variant", "status", "time_median_us", "predicted_time_us", "implementation", "key"]

# a is bound by tensor cores, b by DRAM; c has no limit, d is in a divergence family, and e has no time.
PREDICTED = """key,predicted_time_us,bound_by,measured_limit_time_us,why_no_predicted_time
e/toy/a/n=1/cold,20,tensor,3,
e/toy/b/n=1/cold,10,dram,8,
e/toy/c/n=1/cold,7,issue,,
e/toy_divergence/d/n=1/cold,10,issue,8,
e/toy/e/n=1/cold,,,,blocks wait
"""


def rows_of(times, implementation="kernel"):
    """Rows of one problem: {variant: (measured, predicted, status)}."""
    return [["toy", v, status, measured, predicted, implementation, f"e/toy/{v}/n=1/cold"] for v, (measured, predicted, status) in times.items()]


def cells_of(output, start):
    line = next(line for line in output.splitlines() if line.startswith(start))
    return [cell.strip() for cell in line.strip("|").split("|")]


class PredictionErrors(unittest.TestCase):
    def run_on(self, rows, *arguments, columns=COLUMNS, causes=None):
        with tempfile.TemporaryDirectory() as folder:
            with open(Path(folder) / "results.csv", "w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([columns, *rows])
            Path(folder, "limits.csv").write_text(PREDICTED, encoding="utf-8")
            if causes is not None:
                Path(folder, "causes.csv").write_text("key,cause\n" + causes, encoding="utf-8")
                arguments = [*arguments, "--causes", "FOLDER/causes.csv"]
            given = [a.replace("FOLDER", folder) for a in arguments]
            return subprocess.run([sys.executable, SCRIPT, folder, *given], capture_output=True, text=True)

    def printed(self, *arguments, **options):
        done = self.run_on(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_bands(self):
        columns = [*COLUMNS, "predicted_band_pct", "predicted_band_cause"]
        times = {"a": (10, 10.9, 10, ""), "b": (10, 9, 10, ""), "c": (10, 12.4, 25, "launch"), "d": (10, 8.1, 25, "launch"), "e": (10, "", "", "")}
        rows = [["toy", v, "passed", measured, predicted, "kernel", f"e/toy/{v}/n=1/cold", pct, cause]
                for v, (measured, predicted, pct, cause) in times.items()]
        printed = self.printed(rows, "--bands", columns=columns)
        # b is below 10 / 1.1; d is above 10 / 1.25.
        self.assertEqual(cells_of(printed, "| none"), ["none", "± 10 %", "2", "50.0 %", "50.0 %"])
        self.assertEqual(cells_of(printed, "| launch"), ["launch", "± 25 %", "2", "50.0 %", "100.0 %"])
        self.assertEqual(cells_of(printed, "| all")[1:], ["± 18 %", "4", "100.0 %", "75.0 %"])
        done = self.run_on(rows_of({"a": (10, 20, "passed")}), "--bands")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row has a measured time and a band", done.stderr)

    def test_errors_and_orders(self):
        rows = rows_of({"a": (10, 20, "passed"), "b": (12, 12, "sampled"), "c": (40, 40 / math.e, "passed"), "wrong": (1, 100, "incorrect"),
                        "waits": (50, "", "passed"), "simulated": ("", 100, "sampled")})
        rows += rows_of({"vendor": (5, "", "passed")}, "library")
        printed = self.printed(rows, "--worst", "1")
        # Errors are ln 2, 0 and -1. The order of b and c is predicted; those of a and b, and of a and c, are not.
        self.assertEqual(cells_of(printed, "| toy"), ["toy", "4", "1", "0.693", "0.939", "+0.000", "54.4 %", "33.3 %", "33 % of 3"])
        self.assertEqual(cells_of(printed, "| all")[1:], cells_of(printed, "| toy")[1:])
        self.assertIn("-1.000", printed.splitlines()[-1])
        self.assertIn("e/toy/c/n=1/cold", printed.splitlines()[-1])

    def test_library_calls_count_only_with_a_predicted_time(self):
        rows = rows_of({"vendor": (5, "", "passed"), "between": (10, 10, "passed")}, "library")
        self.assertEqual(cells_of(self.printed(rows), "| toy")[:3], ["toy", "1", "0"])

    def test_variants_of_nearly_equal_times_have_no_order(self):
        printed = self.printed(rows_of({"a": (10, 20, "passed"), "b": (10.9, 10, "passed")}))
        self.assertEqual(cells_of(printed, "| toy")[-1], "")

    def test_predictions_of_a_file_count_instead(self):
        printed = self.printed(rows_of({"a": (10, 10, "passed"), "e": (12, 12, "passed"), "new": (12, 12, "passed")}), "--predicted", "FOLDER/limits.csv")
        self.assertEqual(cells_of(printed, "| toy")[:4], ["toy", "3", "2", "0.693"])
        config_before = [[*row[:-1], "config." + row[-1]] for row in rows_of({"a": (10, 10, "passed")})]
        self.assertIn("| toy | 1 | 0 | 0.693 |", self.printed(config_before, "--predicted", "FOLDER/limits.csv"))
        self.assertIn("| blocks wait | toy | 1 |", printed)
        self.assertIn("| the cell is not among the predictions | toy | 1 |", printed)

    def test_a_simple_model_on_the_same_rows(self):
        rows = [[*row, 2] for row in rows_of({v: (10, "", "passed") for v in "abc"})]
        rows.append(["toy_divergence", "d", "passed", 10, "", "kernel", "e/toy_divergence/d/n=1/cold", 2])
        printed = self.printed(rows, "--predicted", "FOLDER/limits.csv", columns=[*COLUMNS, "floor_us"])
        self.assertEqual(cells_of(printed, "| all | 4")[1:3], ["4", "0"])
        # ln 2 for a's own prediction, and ln(10 / 5) for its limit plus floor; b and d have no error in either.
        models = printed[printed.index("Median error"):]
        self.assertEqual(cells_of(models, "| all"), ["all", "3", "0.00 (0.55)", "0.00 (0.55)"])
        self.assertEqual(cells_of(models, "| not bound")[1:], ["1", "0.69 (0.69)", "0.69 (0.69)"])

    def test_no_simple_model_without_limits(self):
        self.assertNotIn("roofline", self.printed(rows_of({"a": (10, 10, "passed")})))

    def test_summary_of_all_rows(self):
        printed = self.printed(rows_of({"a": (10, 20, "passed"), "b": (12, 12, "sampled"), "waits": (5, "", "passed"), "wrong": (1, 100, "incorrect")}),
                               "--summary", "toys")
        # 100 % and 0 %; |ln| of ln 2 and 0; the row without a prediction is counted, the incorrect one is not.
        self.assertEqual(cells_of(printed, "| toys"), ["toys", "3", "1", "0.347", "0.624", "+0.347", "50.0 %", "50.0 %", "0 % of 1", "1.99×"])

    def test_causes_of_rows_that_are_far_off(self):
        rows = rows_of({"a": (10, 21, "passed"), "b": (10, 30, "passed"), "c": (10, 19, "passed")})
        printed = self.printed(rows, causes="e/toy/[ab]/*,waits\n")
        self.assertIn("| `e/toy/[ab]/*` | waits | 2 | 30 | 10 |", printed)
        missing = self.run_on(rows, causes="e/toy/a/*,waits\n")
        self.assertEqual(missing.returncode, 2)
        self.assertIn("no cause for e/toy/b/n=1/cold: 30 us predicted, 10 us measured", missing.stderr)
        unused = self.run_on(rows, causes="e/toy/[ab]/*,waits\ne/toy/c/*,waits\n")
        self.assertEqual(unused.returncode, 2)
        self.assertIn("e/toy/c/*: no row is off by more than a factor of 2", unused.stderr)

    def test_nothing_to_compare(self):
        done = self.run_on(rows_of({"waits": (5, "", "passed")}))
        self.assertEqual(done.returncode, 2)
        self.assertIn("no row has both", done.stderr)


if __name__ == "__main__":
    unittest.main()
