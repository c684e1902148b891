#!/usr/bin/env python3
"""Tables under `<!-- made by: COMMAND -->` match lines that the command prints; GPUEXP_UPDATE_GOLDEN=1 rewrites them. The first argument is
the program used as build/gpuexp. If it has no machine code, its predictions are not compared."""

import os
import re
import subprocess
import sys
import unittest
from pathlib import Path

from requirements import require, skip

require("zstandard")

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MADE_BY = re.compile(r"^<!-- made by: (.+) -->\n\n((?:\|.*\n)+)", re.MULTILINE)
PROGRAM = "build/gpuexp"


def tables_in(text):
    return re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)


def printed_by(command, program):
    # Scripts start python3 from PATH, and recorded results need a package.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command.replace(PROGRAM, program)], cwd=ROOT, capture_output=True,
                          text=True, env={**os.environ, "PATH": path})
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.stderr}")
    return tables_in(done.stdout)


def table_for(table, printed):
    """Lines of the printed table with the page's heading and first column."""
    def face(lines):
        return [lines[0], *(line.split("|")[1] for line in lines[2:])]
    same_head = [t for t in printed if t.splitlines()[0] == table.splitlines()[0]]
    same = [t for t in same_head if face(t.splitlines()) == face(table.splitlines())]
    return (same or same_head or [None])[0]


class MadeBy(unittest.TestCase):
    program = ""

    def test_pages(self):
        self.maxDiff = None
        found = 0
        for page in PAGES:
            text = page.read_text(encoding="utf-8")
            for command, table in MADE_BY.findall(text):
                if PROGRAM in command and not self.program:
                    continue
                found += 1
                made = table_for(table, printed_by(command, self.program))
                self.assertIsNotNone(made, f"{page}: {command} prints no table with the head {table.splitlines()[0]}")
                if os.environ.get("GPUEXP_UPDATE_GOLDEN") == "1":
                    text = text.replace(table, made)
                    page.write_text(text, encoding="utf-8")
                with self.subTest(page=page.name, command=command):
                    self.assertIn(made, text)
        self.assertGreater(found, 0)

    def test_a_stale_number_is_found(self):
        printed = printed_by("printf '| a | b |\\n| - | - |\\n| x | 2 |\\n'", "")
        self.assertEqual(table_for("| a | b |\n| - | - |\n| x | 1 |\n", printed), "| a | b |\n| - | - |\n| x | 2 |\n")
        self.assertIsNone(table_for("| a | c |\n| - | - |\n| x | 1 |\n", printed))


def has_machine_code(program):
    done = subprocess.run([program, "predict", "quickstart", "--gpu", "h200", "--limits", "--json"], cwd=ROOT, capture_output=True, text=True)
    return done.returncode == 0 and '"registers"' in done.stdout


if __name__ == "__main__":
    MadeBy.program = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    if MadeBy.program and not has_machine_code(MadeBy.program):
        skip("the program predicts nothing: built without cuobjdump", "MACHINE_CODE")
    unittest.main()
