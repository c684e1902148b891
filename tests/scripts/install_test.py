#!/usr/bin/env python3
"""An installation made by `cmake --install` runs from anywhere: moved, through a symbolic link, from another folder, and without
files of its build folder.

Arguments: cmake, and the build folder.
"""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from requirements import skip

CMAKE, BUILD = sys.argv.pop(1), sys.argv.pop(1)
# An absolute path, because the script below is also called python3 and would call itself.
PYTHON = Path(shutil.which(os.environ.get("GPUEXP_TEST_PYTHON", sys.executable))).absolute()
MAX_SECONDS = 300
CELLS = ("--filter", "divergence/*", "--set", "fraction=0.5", "--set", "modes=cold")


def script(path, text):
    path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    path.chmod(0o755)


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = Path(cls.folder.name).resolve()
        subprocess.run([CMAKE, "--install", BUILD, "--prefix", cls.root / "first"], check=True, stdout=subprocess.DEVNULL)
        cls.tree = (cls.root / "first").rename(cls.root / "moved")
        cls.share = cls.tree / "share" / "gpuexp"
        cls.elsewhere = cls.root / "elsewhere"
        cls.elsewhere.mkdir()
        cls.program = cls.elsewhere / "link"
        cls.program.symlink_to(cls.tree / "bin" / "gpuexp")
        tools = cls.root / "tools"
        tools.mkdir()
        script(tools / "nvidia-smi", "echo no GPU\nexit 1\n")
        script(tools / "python3", f"exec '{PYTHON}' \"$@\"\n")
        cls.environment = {"PATH": f"{tools}:/usr/bin:/bin", "HOME": str(cls.elsewhere), "LC_ALL": "C.UTF-8"}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_there(self, *command, code=0, **variables):
        done = subprocess.run(
            command, cwd=self.elsewhere, env={**self.environment, **variables}, capture_output=True, text=True, timeout=MAX_SECONDS
        )
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def simulated(self, gpu, out, code=0, **variables):
        self.run_there(self.program, "run", "quickstart", "--simulate", gpu, *CELLS, "--out", out, code=code, **variables)
        results = json.loads((self.elsewhere / out / "results.json").read_text(encoding="utf-8"))
        self.assertEqual(results["provenance"]["argv"][:3], ["gpuexp", "run", "quickstart"])
        with (self.elsewhere / out / "results.csv").open(encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_configs_and_devices_are_the_installed_ones(self):
        shutil.copy(self.share / "configs" / "quickstart.json", self.share / "configs" / "only_here.json")
        listed = self.run_there(self.program, "list")
        self.assertIn(f"configs in {self.share}/configs", listed)
        self.assertIn("only_here", listed)
        for name in ("schema/experiment.schema.json", "noise/h200.json", "ceilings/h200.json", "devices/h200.json"):
            self.assertTrue((self.share / "configs" / name).is_file(), name)
        self.assertIn("h200", self.run_there(self.program, "predict", "quickstart", "--gpu", "h200", "--limits").lower())

    def test_kernels_are_executed(self):
        rows = self.simulated("h200", "of_h200")
        self.assertEqual({row["status"] for row in rows}, {"sampled"})
        self.assertIn("select_kernel", self.run_there(self.program, "annotate", "divergence/select", "--set", "n=4096"))

    def test_the_toolkit_is_this_machines(self):
        toolkit = self.root / "toolkit"
        (toolkit / "bin").mkdir(parents=True)
        for tool in ("cuobjdump", "nvdisasm", "ptxas"):
            script(toolkit / "bin" / tool, "echo here is a toolkit of this machine >&2\nexit 1\n")
        rows = self.simulated("rtx_4090", "of_rtx_4090", code=4, CUDA_HOME=str(toolkit))
        self.assertEqual({row["status"] for row in rows}, {"skipped"})
        for row in rows:
            self.assertIn("here is a toolkit of this machine", row["reason"])
        dynamic = subprocess.run(["readelf", "-d", self.program], check=True, capture_output=True, text=True).stdout
        self.assertIn("NEEDED", dynamic)
        self.assertNotIn("PATH", dynamic)

    def test_quickstart_runs_and_draws(self):
        self.run_there(self.share / "scripts" / "quickstart.sh", *CELLS)
        (results,) = (self.elsewhere / "results").glob("quickstart-*")
        self.assertTrue((results / "results.csv").is_file())
        can_draw = subprocess.run([PYTHON, "-c", "import pandas, matplotlib"], capture_output=True, check=False).returncode == 0
        self.assertEqual(any(results.glob("*.png")), can_draw)


if __name__ == "__main__":
    described = subprocess.run([Path(BUILD) / "gpuexp", "describe", "divergence"], check=True, capture_output=True, text=True)
    if "BSSY" not in described.stdout:
        skip("the program knows no machine code", "MACHINE_CODE")
    unittest.main()
