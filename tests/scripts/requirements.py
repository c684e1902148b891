"""Shared by the tests written in Python: where their modules come from, and how they call plotting scripts."""

import importlib.util
import multiprocessing
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path

SKIPPED = 4  # SKIP_RETURN_CODE in tests/CMakeLists.txt


def skip(reason, tier=""):
    """Ends the test as skipped, or as failed if GPUEXP_REQUIRE_<TIER>=1."""
    if os.environ.get(f"GPUEXP_REQUIRE_{tier}") == "1":
        sys.exit(f"required here: {reason}")
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def require(*modules):
    """If a module is missing, restarts the test under GPUEXP_TEST_PYTHON, or skips it if that is not set. Fails if that interpreter also
    lacks a module."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if not missing:
        return
    if python := os.environ.pop("GPUEXP_TEST_PYTHON", None):
        os.environ["GPUEXP_REQUIRE_MODULES"] = "1"
        os.execvp(python, [python, *sys.argv])
    else:
        skip(f"no {', '.join(missing)}", "MODULES")


def run_drawing_script(script, *arguments):
    """Runs the script and returns the same as subprocess.run. It runs in a fork of this process, which imports pandas and matplotlib once,
    since importing them takes most of a script's time."""
    import matplotlib.pyplot  # noqa: F401
    import pandas  # noqa: F401

    sys.stdout.flush()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:

        def run():
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.argv = [str(script), *map(str, arguments)]
            sys.path.insert(0, str(Path(script).parent))
            runpy.run_path(str(script), run_name="__main__")

        process = multiprocessing.get_context("fork").Process(target=run)
        process.start()
        process.join()
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read())
        return subprocess.CompletedProcess([script, *arguments], process.exitcode, *texts)
