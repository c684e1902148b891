#!/usr/bin/env python3
"""Every results.json that the program wrote is valid by the published schema, and broken ones are not.

Arguments: the schema that `gpuexp schema results` printed, the program, and gpuexp_sample_report. Skipped without jsonschema.
"""

import copy
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from requirements import require

require("jsonschema", "zstandard")
import jsonschema  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
from plotting.recorded import SCHEMA_VERSION, read_report  # noqa: E402

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "results"
STATUSES = {"passed", "sampled", "unverified", "incorrect", "failed", "skipped", "timeout", "not_run"}
VALIDATOR = GPUEXP = SAMPLE_REPORT = None


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def reported(path, *options):
    return json.loads(output_of(GPUEXP, "report", str(path), "--format", "json", *options))


class ResultsSchema(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.TemporaryDirectory()
        cls.sample_file = Path(cls.directory.name) / "results.json"
        cls.sample_file.write_text(output_of(SAMPLE_REPORT, "96", "5"))
        cls.sample = json.loads(cls.sample_file.read_text())

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def test_recorded_results_are_valid_and_read_back(self):
        files = sorted([*RESULTS.glob("*/*.json.zst"), *RESULTS.glob("*/*/results.json.zst")])
        self.assertGreaterEqual(len(files), 60)
        for file in files:
            with self.subTest(file.name):
                written = reported(file)
                VALIDATOR.validate(written)
                # assertEqual would take minutes to print a difference of megabytes.
                self.assertTrue(written == read_report(file))

    def test_ceilings_are_valid_and_read_back(self):
        ceilings = self.sample["provenance"]["ceilings"]
        self.assertEqual(ceilings["values"]["dram_read"]["low"], 890)
        self.assertIsNone(ceilings["values"]["floor_cold"]["low"])
        self.assertIsNone(ceilings["values"]["fp32"]["value"])
        self.assertEqual(reported(self.sample_file)["provenance"]["ceilings"], ceilings)

    def test_kernels_of_launches_are_valid_and_read_back(self):
        self.assertGreater(len(self.sample["kernels"]), 0)
        self.assertIn(None, [kernel["name"] for kernel in self.sample["kernels"]])
        self.assertEqual(reported(self.sample_file)["kernels"], self.sample["kernels"])
        for member, wrong in [("counter.dram_read_bytes", "many"), ("kernel", "first"), ("key", None)]:
            broken = copy.deepcopy(self.sample)
            broken["kernels"][0][member] = wrong
            with self.subTest(member), self.assertRaises(jsonschema.ValidationError):
                VALIDATOR.validate(broken)

    def test_every_status_is_valid(self):
        VALIDATOR.validate(self.sample)
        self.assertEqual({row["status"] for row in self.sample["rows"]}, STATUSES)
        missing = [row for row in self.sample["rows"] if row["time_median_us"] is None]
        self.assertTrue(missing)
        self.assertEqual(reported(self.sample_file), self.sample)

    def test_samples_can_be_left_out(self):
        self.assertTrue(all("samples_us" in row for row in self.sample["rows"]))
        without = reported(self.sample_file, "--no-samples")
        VALIDATOR.validate(without)
        self.assertFalse(any("samples_us" in row for row in without["rows"]))
        file = Path(self.directory.name) / "without.json"
        file.write_text(json.dumps(without))
        self.assertEqual(reported(file), without)
        for form in ("table", "csv", "markdown"):
            with self.subTest(form):
                texts = [output_of(GPUEXP, "report", str(path), "--format", form) for path in (file, self.sample_file)]
                self.assertEqual(*texts)

    def test_unknown_members_are_valid(self):
        grown = copy.deepcopy(self.sample)
        row, column = grown["rows"][0], grown["columns"][0]
        ceilings = grown["provenance"]["ceilings"]
        fp32 = ceilings["values"]["fp32"]
        for member in (grown, grown["provenance"], grown["provenance"]["device"], ceilings, fp32, row, column):
            member["of_tomorrow"] = [{}]
        VALIDATOR.validate(grown)
        file = Path(self.directory.name) / "grown.json"
        file.write_text(json.dumps(grown))
        self.assertEqual(reported(file), self.sample)

    def test_mistakes_are_not(self):
        def row_of(report, status):
            return next(row for row in report["rows"] if row["status"] == status)

        mistakes = {
            "another version": lambda r: r.update(schema_version=SCHEMA_VERSION + 1),
            "no provenance": lambda r: r.pop("provenance"),
            "no argv": lambda r: r["provenance"].pop("argv"),
            "type in provenance": lambda r: r["provenance"]["device"].update(sm_count="132"),
            "ceilings from nowhere": lambda r: r["provenance"]["ceilings"].pop("source"),
            "a ceiling of text": lambda r: r["provenance"]["ceilings"]["values"]["fp32"].update(value="65"),
            "settings of lists": lambda r: r["provenance"]["settings"].update(seed=[1]),
            "complete is no number": lambda r: r.update(complete=1),
            "rows are no object": lambda r: r.update(rows={}),
            "type of a column": lambda r: r["columns"][0].update(type="float"),
            "no unit": lambda r: r["columns"][0].pop("unit"),
            "unknown status": lambda r: r["rows"][0].update(status="ok"),
            "no status": lambda r: r["rows"][0].pop("status"),
            "unknown mode": lambda r: r["rows"][0].update(mode="hot"),
            "unknown stop reason": lambda r: r["rows"][0].update(stop_reason="tired"),
            "no key": lambda r: r["rows"][0].update(key=None),
            "a number that is text": lambda r: r["rows"][0].update(time_median_us="3.7"),
            "a count with a fraction": lambda r: row_of(r, "passed").update(samples=2.5),
            "a throughput of what failed": lambda r: row_of(r, "failed").update(tflops=51.3),
            "a time of what is incorrect": lambda r: row_of(r, "incorrect").update(time_median_us=3.7),
            "a parameter of lists": lambda r: r["rows"][0].update({"param.n": [1]}),
            "a metric of text": lambda r: r["rows"][0].update({"metric.waves": "1"}),
            "samples without numbers": lambda r: r["rows"][0].update(samples_us=[None]),
        }
        for name, change in mistakes.items():
            broken = copy.deepcopy(self.sample)
            change(broken)
            with self.subTest(name), self.assertRaises(jsonschema.ValidationError):
                VALIDATOR.validate(broken)


if __name__ == "__main__":
    schema = json.loads(Path(sys.argv.pop(1)).read_text())
    GPUEXP, SAMPLE_REPORT = sys.argv.pop(1), sys.argv.pop(1)
    VALIDATOR = jsonschema.validators.validator_for(schema)(schema)
    VALIDATOR.check_schema(schema)
    unittest.main()
