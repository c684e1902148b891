#!/usr/bin/env python3
"""plot.py access: the listed figures, their numbers compared with the program's counts, and error messages.

Skipped without matplotlib, and partly skipped if the program has no machine code.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from requirements import require, run_drawing_script

require("pandas", "matplotlib")

ROOT = Path(__file__).resolve().parents[2]
PLOT = [ROOT / "scripts" / "plot.py", "access"]
LISTED = ROOT / "docs" / "figures" / "accesses.json"
PNG = b"\x89PNG"

sys.path.insert(0, str(ROOT / "scripts"))
from plotting import access as pictures  # noqa: E402


def access_of(width, offsets, shared):
    lanes = [{"lane": i, "offset": offset, **({"bank": offset // 4 % 32} if shared else {"sector": offset // 32})}
             for i, offset in enumerate(offsets)]  # fmt: skip
    return {"access": "load of shared" if shared else "load of x", "bytes_per_lane": width, "lanes": lanes}


def annotation(access):
    return {"family": "toy", "variant": "first", "device": "Toy GPU", "warp": {"accesses": [access]}}


def draw(*arguments):
    return run_drawing_script(*PLOT, *arguments)


class Wavefronts(unittest.TestCase):
    def of(self, width, stride):
        return pictures.wavefronts_of(access_of(width, [i * stride for i in range(32)], True))[1]

    def test_words_of_one_bank_take_turns(self):
        self.assertEqual([self.of(4, 4 * stride) for stride in (0, 1, 2, 3, 16, 32, 33)], [1, 1, 2, 1, 16, 32, 1])

    def test_wide_accesses_are_served_in_parts_of_the_warp(self):
        self.assertEqual([self.of(8, 8), self.of(16, 16), self.of(16, 32)], [2, 4, 8])


class Files(unittest.TestCase):
    def test_annotations_are_drawn(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for i, shared in enumerate((False, True)):
                paths.append(Path(folder) / f"{i}.json")
                paths[-1].write_text(json.dumps(annotation(access_of(4, [8 * lane for lane in range(32)], shared))), encoding="utf-8")
            out = Path(folder) / "out.png"
            done = draw(*paths, "--out", out)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(out.read_bytes().startswith(PNG))

    def test_what_has_no_warp_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "a.json"
            path.write_text(json.dumps({**annotation(None), "warp": None}), encoding="utf-8")
            done = draw(path, "--out", Path(folder) / "out.png")
            self.assertEqual(done.returncode, 2)
            self.assertIn("--warp B,W --line N --json", done.stderr)
            path.write_text("no JSON", encoding="utf-8")
            self.assertEqual(draw(path, "--out", Path(folder) / "out.png").returncode, 2)


class Listed(unittest.TestCase):
    program = ""

    def setUp(self):
        if not self.program:
            self.skipTest("no program was given")

    def test_each_is_drawn_and_on_a_page(self):
        pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "lessons").glob("*.md"))
        with tempfile.TemporaryDirectory() as folder:
            done = draw("--figures", LISTED, "--program", self.program, "--out-dir", folder)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            for name in json.loads(LISTED.read_text(encoding="utf-8")):
                with self.subTest(name):
                    self.assertTrue((Path(folder) / f"{name}.png").read_bytes().startswith(PNG))
                    self.assertTrue((LISTED.parent / f"{name}.png").exists())
                    self.assertIn(f"../figures/{name}.png", pages)

    def drawn(self, name):
        """For each panel, the access, and the program's counts of its line per request."""
        for panel in json.loads(LISTED.read_text(encoding="utf-8"))[name]["panels"]:
            drawn = pictures.annotation_of(panel, self.program)
            warp = drawn["warp"]
            lines = drawn["kernels"][0]["lines"]
            line = next(x for x in lines if (x["file"], x["line"]) == (warp["file"], warp["line"]))
            counts = next(a["counts"] for a in [*line["accesses"], line] if panel["access"] in a.get("access", panel["access"]))
            yield warp["accesses"][0], counts

    def test_wavefronts_are_those_that_the_program_counts(self):
        found = [(pictures.wavefronts_of(access)[1], counts["shared_wavefronts"] / counts["shared_requests"])
                 for access, counts in self.drawn("access_matmul_tensor")]  # fmt: skip
        self.assertEqual(found, [(8, 8)])  # as in docs/lessons/matmul_tensor.md: twice what is needed

    def test_sectors_are_those_that_the_pages_speak_of(self):
        # Half as many for 2 bytes per lane, four times as many for packs of 16 (docs/lessons/mixed_precision.md).
        for name, expected in (("access_mixed_precision", [4, 2, 16]), ("access_matmul", [32, 4]), ("access_coalescing", [4, 8, 32])):
            with self.subTest(name):
                sectors = [len({word // pictures.SECTOR_CELLS for word in pictures.words_of(access)}) for access, _ in self.drawn(name)]
                self.assertEqual(sectors, expected)


def has_machine_code(program):
    done = subprocess.run([program, "annotate", "coalescing/read_contiguous", "--set", "n=64"], capture_output=True, check=False)
    return done.returncode == 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        program = sys.argv.pop(1)
        if has_machine_code(program):
            Listed.program = program
    unittest.main()
