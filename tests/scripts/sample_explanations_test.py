#!/usr/bin/env python3
"""Statements of docs/explaining.md about the recorded results, compared with the program's output. Argument: the program."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "studies" / "explanations"))
import explained_shares  # noqa: E402
import sample_explanations as sample  # noqa: E402

SCRIPT = ROOT / "docs" / "studies" / "explanations" / "sample_explanations.py"
RESULTS = ROOT / "docs" / "results" / "h200" / "all.json.zst"
GPUEXP = None


def explanation(variant, factor, **more):
    return {"experiment": "e", "family": "toy", "variant": variant, "parameters": {"n": 1}, "mode": "cold", "differs": True,
            "factor": factor, "cause": "amounts", "confidence": "high", **more}


class SampleTest(unittest.TestCase):
    def test_differences_are_resolved_large_and_outside_divergence(self):
        small, large, slower = explanation("a", 1.04), explanation("b", 1.06), explanation("c", 0.5)
        noise = explanation("d", 2, differs=False)
        lanes = explanation("e", 2, family="divergence")
        found = sample.differences([small, large, slower, noise, lanes], 1.05)
        self.assertEqual([e["variant"] for e in found], ["b", "c"])

    def test_the_draw_depends_on_the_seed_and_not_on_what_is_said(self):
        these = [explanation(f"v{i}", 2) for i in range(100)]
        others = [explanation(f"v{i}", 2, confidence="none", cause="unknown") for i in range(99, -1, -1)]
        names = [e["variant"] for e in sample.drawn(these, 40, 14)]
        self.assertEqual(len(set(names)), 40)
        self.assertEqual(names, [e["variant"] for e in sample.drawn(others, 40, 14)])
        self.assertNotEqual(names, [e["variant"] for e in sample.drawn(these, 40, 15)])
        self.assertEqual(len(sample.drawn(these[:3], 40, 14)), 3)


class SharesTest(unittest.TestCase):
    def test_runs_are_counted_by_gpu_and_causes_over_all(self):
        found = {"h200": {"a": [explanation("v", 2), explanation("w", 2, confidence="none", cause="unknown")], "none": []},
                 "h100": {"a": [explanation("v", 2, cause="host", confidence="low")], "b": [explanation("v", 2)]}}
        runs, causes = explained_shares.tables(found)
        self.assertEqual(runs[2:], ["| a | 2 | 1 (50 %) | 1 | 1 (100 %) |", "| b |  |  | 1 | 1 (100 %) |",
                                    "| every run | 2 | 1 (50 %) | 2 | 2 (100 %) |"])
        self.assertEqual(causes[2:], ["| amounts | 2 | 2 | 0 | 0 |", "| host | 1 | 0 | 0 | 1 |"])


class RecordedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        text = subprocess.run([GPUEXP, "explain", RESULTS, "--all", "--json"], check=True, capture_output=True, text=True).stdout
        cls.explanations = json.loads(text)["explanations"]
        cls.found = sample.differences(cls.explanations, 1.05)
        cls.page = (ROOT / "docs" / "explaining.md").read_text(encoding="utf-8")
        cls.prose = " ".join(cls.page.split())
        cls.directory = tempfile.TemporaryDirectory()
        cls.file = Path(cls.directory.name) / "explanations.json"
        cls.file.write_text(text, encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        cls.directory.cleanup()

    def test_four_fifths_are_explained(self):
        explained = [e for e in self.found if e["confidence"] != "none"]
        self.assertGreaterEqual(len(explained), 0.8 * len(self.found))

    def test_the_page_has_the_figures(self):
        counts = sample.counts(self.found)
        by = lambda *keys: sum(n for key, n in counts.items() if key[0] in keys)
        amounts = {c: sum(counts[cause, c] for cause in ("amounts", "idle_sms", "launches")) for c in ("high", "medium", "low")}
        unknown = [e for e in self.found if e["cause"] == "unknown"]
        number = lambda config: sum(1 for e in unknown if e["experiment"].startswith(config + "."))
        explained = len(self.found) - len(unknown)
        share = lambda n: round(100 * n / len(self.found))
        for sentence in [
            f"Of the {len(self.found)} differences above 5 % outside divergence in `docs/results/h200/all.json.zst`, {explained} are "
            f"explained ({share(explained)} %): {by('amounts')} by amounts, {by('idle_sms')} by idle SMs and {by('launches')} by "
            f"launches, {amounts['high']} of them with high confidence, {amounts['medium']} with medium, {amounts['low']} with low; "
            f"{by('latency')} by latency, {counts['latency', 'low']} of them with low confidence",
            f"By amounts, idle SMs and launches it is {share(by('amounts', 'idle_sms', 'launches'))} %.",
            f"Of the {len(unknown)} that are not, {number('transpose')} are transposes, {number('fusion')} of fusion and epilogues, "
            f"and {number('matmul_tensor')} products of tensor cores.",
        ]:
            self.assertIn(sentence, self.prose)

    def test_the_page_has_the_table(self):
        rows = subprocess.run([sys.executable, SCRIPT, self.file, "--table"], check=True, capture_output=True,
                              text=True).stdout.splitlines()
        self.assertEqual(len(rows), 40)
        lines = self.page.splitlines()
        for row in rows:
            line = [line for line in lines if line.startswith(row + " ")]
            self.assertEqual(len(line), 1, row)
            self.assertGreater(len(line[0]), len(row) + 3, "a verdict")

    def one(self, variant, experiment, **parameters):
        found = [e for e in self.explanations if e["variant"] == variant and e["experiment"] == experiment and e["mode"] == "warm"
                 and all(e["parameters"][name] == value for name, value in parameters.items())]
        self.assertEqual(len(found), 1)
        return found[0]

    def test_idle_sms_are_the_cause_at_1024(self):
        cublas = self.one("cublas", "matmul.ladder", m=1024)
        self.assertEqual((cublas["cause"], cublas["confidence"]), ("idle_sms", "high"))
        self.assertIn("32 blocks leave 100 of 132 SMs idle", cublas["text"])
        self.assertLess(cublas["accounted_factor_without_idle_sms"], 1)
        for words in ("2.95×", "0.888×", "146.1 µs of 173.2 µs", "41.76 µs of 58.72 µs", "3.35×", "36.5 M", "41.5 M"):
            self.assertIn(words, cublas["text"])
            self.assertIn(words, self.page)

    def test_the_page_says_how_near_rows_come_to_dram(self):
        def most(mode):
            shares = [t["least_time_us"] / (time_us - bound["launch_us"])
                      for e in self.explanations if e["mode"] == mode
                      for bound, time_us in ((e["bound"], e["time_us"]), (e["compare_to_bound"], e["compare_to_time_us"]))
                      for t in bound["least_times"] if t["resource"] == "dram"]
            return f"{max(shares):.2f}"

        self.assertFalse([e for e in self.explanations if e["misfit"]])
        self.assertIn(f"rows measured cold reach {most('cold')}, warm ones {most('warm')}.", self.prose)

    def test_one_sum_takes_so_many_cycles(self):
        text = subprocess.run([GPUEXP, "explain", RESULTS.parent / "atomics.json.zst", "--family", "atomics", "--all", "--json"],
                              check=True, capture_output=True, text=True).stdout
        rates = [change["from"] / (e["compare_to_time_us"] - e["bound"]["launch_us"])
                 for e in json.loads(text)["explanations"] if e["parameters"]["k"] == 1 and e["compare_to"] == "global"
                 for change in e["changes"] if change["counter"] == "l2_atomic_cycles"]
        self.assertTrue(rates)
        for rate in rates:
            self.assertEqual(f"{rate:.0f}", "1336")
        self.assertIn("one sum takes 1336 cycles of its slice's atomic unit per µs.", self.prose)
        self.assertIn("kCyclesPerUs = 1336;", (ROOT / "src" / "analysis" / "causes.cpp").read_text(encoding="utf-8"))

    def test_latency_is_likely_only_by_a_prediction_that_names_it(self):
        for e in self.explanations:
            if "Latency is likely" in e["text"]:
                self.assertEqual(e["cause"], "unknown")
            if "predict gives" in e["text"]:
                away = (e["predicted_factor"] - 1) * (e["factor"] - 1) < 0 and max(e["predicted_factor"], 1 / e["predicted_factor"]) >= 1.02
                self.assertEqual("the opposite, " in e["text"].split("predict gives", 1)[1].split(".")[0], away, e["text"])

    def test_no_effect_is_cited(self):
        for e in self.explanations:
            for word in ("busy", "waiting for", "wait most", "stalled", "of issue slots used"):
                self.assertNotIn(word, e["text"])


if __name__ == "__main__":
    GPUEXP = sys.argv.pop(1)
    unittest.main()
