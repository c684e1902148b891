"""What the tests written in Python share: where their modules come from."""

import importlib.util
import os
import sys

SKIPPED = 4  # SKIP_RETURN_CODE in tests/CMakeLists.txt


def skip(reason):
    """Ends the test; ctest shows it as skipped."""
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def require(*modules):
    """Goes on under GPUEXP_TEST_PYTHON where that is set, and skips the test where a module is missing."""
    if python := os.environ.pop("GPUEXP_TEST_PYTHON", None):
        os.execvp(python, [python, *sys.argv])
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        skip(f"no {', '.join(missing)}")
