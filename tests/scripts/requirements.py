"""What the tests written in Python share: where their modules come from."""

import importlib.util
import os
import sys

SKIPPED = 4  # SKIP_RETURN_CODE in tests/CMakeLists.txt


def skip(reason, tier=""):
    """Ends the test; ctest shows it as skipped. Under GPUEXP_REQUIRE_<TIER>=1 it fails."""
    if os.environ.get(f"GPUEXP_REQUIRE_{tier}") == "1":
        sys.exit(f"required here: {reason}")
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def require(*modules):
    """Goes on under GPUEXP_TEST_PYTHON where that is set; skips the test where a module is missing, and fails there
    under an interpreter that was set for having them."""
    if python := os.environ.pop("GPUEXP_TEST_PYTHON", None):
        os.environ["GPUEXP_REQUIRE_MODULES"] = "1"
        os.execvp(python, [python, *sys.argv])
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        skip(f"no {', '.join(missing)}", "MODULES")
