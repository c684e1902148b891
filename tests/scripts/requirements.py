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
    """If a module is missing, goes on under GPUEXP_TEST_PYTHON where that is set, and skips the test otherwise; fails
    where that interpreter lacks one, too."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if not missing:
        return
    if python := os.environ.pop("GPUEXP_TEST_PYTHON", None):
        os.environ["GPUEXP_REQUIRE_MODULES"] = "1"
        os.execvp(python, [python, *sys.argv])
    else:
        skip(f"no {', '.join(missing)}", "MODULES")
