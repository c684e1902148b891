#!/usr/bin/env python3
"""expected_bands.py: its rule on known numbers, the parts of a device spec that it keeps, and error messages. Every recorded section is
what the script computes from the recordings."""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "expected_bands.py"
DEVICES = ROOT / "configs" / "devices"
SOURCE = "recorded_ceilings"


def recorded_files(id):
    """The repository's recordings of a GPU model."""
    reference = ROOT / "configs" / "ceilings" / f"{id}.json"
    if not reference.exists():
        return []
    device = json.loads(reference.read_text(encoding="utf-8"))["device"]
    return [reference] + [path for path in sorted((ROOT / "docs" / "results").glob("*/ceilings/*.json"))
                          if json.loads(path.read_text(encoding="utf-8"))["device"] == device]


def recording(card, device="Example GPU", **ceilings):
    """Ceilings as (value, low, high)."""
    return {
        "schema_version": 1,
        "device": device,
        "uuid": f"GPU-{card}",
        "driver_version": "580.65.06",
        "cuda_toolkit": "13.0.88",
        "git_commit": "0123456789ab",
        "utc": f"2026-01-0{card}T00:00:00Z",
        "ceilings": {id: dict(zip(("value", "low", "high"), c)) for id, c in ceilings.items()},
    }


class ExpectedBands(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
        return path

    def call(self, *arguments):
        command = [sys.executable, "-B", str(SCRIPT), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def bands(self, *recordings):
        done = self.call(*(self.write(f"{i}.json", r) for i, r in enumerate(recordings)))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads("{" + done.stdout + "}}")["expected"]

    def check_refused(self, result, *words):
        self.assertEqual(result.returncode, 2, result.stdout)
        self.assertNotIn("Traceback", result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_one_card_is_widened_by_ten_percent(self):
        bands = self.bands(recording(1, dram_copy=(4000, 3990, 4011), shared=(33000.5, 33000.5, 33000.5)))
        self.assertEqual(bands["dram_copy"]["low"], 3591)
        self.assertEqual(bands["dram_copy"]["high"], 4413)  # 4412.1
        self.assertEqual(bands["dram_copy"]["note"], "3990 to 4011 on 1 card")
        self.assertEqual(bands["shared"], {"low": 29700, "high": 36310, "source": SOURCE, "note": "33000 to 33000 on 1 card"})

    def test_two_cards_are_widened_by_two_percent(self):
        bands = self.bands(recording(1, dram_copy=(4000, 3990, 4011)), recording(2, dram_copy=(4000, 3990, 4011)))
        self.assertEqual((bands["dram_copy"]["low"], bands["dram_copy"]["high"]), (3910, 4092))  # 3910.2 and 4091.22

    def test_no_recorded_card_fails_the_bands_of_another_alone(self):
        cards = [json.loads(file.read_text(encoding="utf-8")) for file in recorded_files("h200")]
        self.assertGreater(len(cards), 4)
        for card in cards:
            for id, band in self.bands(card).items():
                self.assertFalse(id.startswith("floor_"))
                value = card["ceilings"][id]["value"]
                values = [other["ceilings"][id]["value"] for other in cards if id in other["ceilings"]]
                if id.endswith("latency"):  # longer is worse; a better value is only noted
                    self.assertLessEqual(max(values), band["high"], id)
                    self.assertGreater(1.2 * value, band["high"], f"{id}: a slow card passes")
                else:
                    self.assertGreaterEqual(min(values), band["low"], id)
                    self.assertLess(0.8 * value, band["low"], f"{id}: a slow card passes")

    def test_cards_far_apart_are_widened_by_half_of_that(self):
        bands = self.bands(recording(1, fp32=(60, 59, 61), fp64=(30, 30, 30)), recording(2, fp32=(66, 65, 67)))
        self.assertEqual((bands["fp32"]["low"], bands["fp32"]["high"]), (56, 70))
        self.assertEqual(bands["fp32"]["note"], "59 to 67 on 2 cards")
        self.assertEqual((bands["fp64"]["low"], bands["fp64"]["note"]), (27, "30 to 30 on 1 card"))

    def test_floors_take_two_recordings(self):
        one, again = recording(1, floor_warm=(3.1, 3, 3.2), fp32=(60, 59, 61)), recording(2, floor_warm=(3.3, 3.2, 3.4))
        self.assertEqual(list(self.bands(one)), ["fp32"])
        self.assertEqual(list(self.bands(one, again)), ["floor_warm", "fp32"])
        again["uuid"] = one["uuid"]
        self.assertEqual(self.bands(one, again)["floor_warm"]["note"], "3 to 3.4 on 1 card, 2 recordings")
        floors = self.write("floors.json", recording(1, floor_cold=(3, 3, 3)))
        self.check_refused(self.call(floors), "one recording of floors makes no bands")

    def test_a_recording_counts_once_and_a_card_too(self):
        one, again = recording(1, fp32=(60, 59, 61)), recording(2, fp32=(60, 60, 60))
        again["uuid"] = one["uuid"]
        bands = self.bands(one, one, again)
        self.assertEqual(bands["fp32"]["note"], "59 to 61 on 1 card, 2 recordings")

    def test_what_makes_no_bands(self):
        good = self.write("good.json", recording(1, fp32=(60, 59, 61)))
        self.check_refused(self.call(self.folder / "absent.json"), "absent.json: no such file")
        self.check_refused(self.call(self.write("a.json", "{")), "a.json: cannot read as JSON")
        self.check_refused(self.call(self.write("b.json", {"rows": []})), "b.json: not what", "info --measure --out")
        other = self.write("c.json", recording(2, device="Other GPU", fp32=(60, 59, 61)))
        self.check_refused(self.call(good, other), "recordings of Example GPU and of Other GPU")
        nan = self.write("d.json", recording(1, fp32=(float("nan"), 59, 61)))
        self.check_refused(self.call(nan), "d.json: a value lies outside of its interval")
        self.check_refused(self.call(self.write("f.json", recording(1))), "f.json: has no ceilings")
        far = self.write("e.json", recording(2, fp32=(600, 59, 610)))
        self.check_refused(self.call(good, far), "leave no band above 0")
        self.check_refused(self.call(good, "--update", DEVICES / "h200.json"), "h200.json: is not the spec of Example GPU")
        self.check_refused(self.call(good, "--update", self.folder / "none.json"), "none.json: No such file")
        flat = self.write("flat.json", {"name": "Example GPU", "sources": {}})
        self.check_refused(self.call(good, "--update", flat), "flat.json: is not a device spec")

    def test_the_rest_of_a_spec_stays_as_it_is(self):
        spec = self.folder / "t4.json"
        shutil.copy(DEVICES / "t4.json", spec)
        before = json.loads(spec.read_text(encoding="utf-8"))
        file = self.write("1.json", recording(1, device="Tesla T4", fp32=(8, 7.9, 8.1)))
        for _ in range(2):
            done = self.call(file, "--update", spec)
            self.assertEqual(done.returncode, 0, done.stderr)
            after = json.loads(spec.read_text(encoding="utf-8"))
            self.assertEqual(list(after["expected"]), ["fp32"])
            self.assertIn("on 1 card (driver 580.65.06, CUDA 13.0.88)", after["sources"].pop(SOURCE))
            self.assertEqual({key: after[key] for key in after if key != "expected"},
                             {key: before[key] for key in before if key != "expected"})

    def test_shipped_bands_are_those_of_the_recordings(self):
        recorded = [path for path in sorted(DEVICES.glob("*.json")) if recorded_files(path.stem)]
        self.assertIn(DEVICES / "h200.json", recorded)
        for path in recorded:
            with self.subTest(path.name):
                copy = self.folder / path.name
                shutil.copy(path, copy)
                files = recorded_files(path.stem)
                done = self.call(*files, "--update", copy)
                self.assertEqual(done.returncode, 0, done.stderr)
                command = " ".join(str(file.relative_to(ROOT)) for file in files)
                self.assertEqual(path.read_text(encoding="utf-8"), copy.read_text(encoding="utf-8"),
                                 f"scripts/expected_bands.py {command} --update {path.relative_to(ROOT)} writes it anew")


if __name__ == "__main__":
    unittest.main()
