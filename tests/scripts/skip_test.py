#!/usr/bin/env python3
"""A test that cannot assert is reported as skipped, and fails if its tier is required.

Argument: the program of unit tests, some of which only skip.
"""

import os
import subprocess
import sys
import unittest

import requirements


def run(tag, **environment):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GPUEXP_REQUIRE_")}
    done = subprocess.run([PROGRAM, tag], env=kept | environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


class Skipping(unittest.TestCase):
    def test_a_skipped_test_is_shown_with_its_reason(self):
        for tag, reason in (("[.skip_machine_code]", "no cuobjdump"), ("[.skip_gpu]", "no hardware counters")):
            code, output = run(tag)
            self.assertEqual(code, requirements.SKIPPED, output)
            self.assertIn(f"skipped: {reason}", output)

    def test_a_required_tier_makes_it_fail(self):
        for tag, variable in (("[.skip_machine_code]", "MACHINE_CODE"), ("[.skip_gpu]", "GPU")):
            code, output = run(tag, **{f"GPUEXP_REQUIRE_{variable}": "1"})
            self.assertNotIn(code, (0, requirements.SKIPPED), output)
            self.assertIn("required here: ", output)

    def test_another_tier_does_not(self):
        self.assertEqual(run("[.skip_machine_code]", GPUEXP_REQUIRE_GPU="1")[0], requirements.SKIPPED)
        self.assertEqual(run("[.skip_gpu]", GPUEXP_REQUIRE_GPU="0")[0], requirements.SKIPPED)

    def test_nothing_skipped_is_a_pass_and_a_failure_stays_one(self):
        self.assertEqual(run("[.skip_none]")[0], 0)
        for tag in ("[.skip_fails]", "[.skip_fails_often]"):
            self.assertNotIn(run(tag)[0], (0, requirements.SKIPPED))

    def test_scripts_skip_by_the_same_rule(self):
        command = "import requirements; requirements.skip('no listing', 'MACHINE_CODE')"
        folder = os.path.dirname(os.path.abspath(requirements.__file__))
        for value, expected in (("", requirements.SKIPPED), ("1", 1)):
            environment = os.environ | {"GPUEXP_REQUIRE_MACHINE_CODE": value}
            done = subprocess.run([sys.executable, "-c", command], env=environment, cwd=folder, check=False,
                                  capture_output=True)
            self.assertEqual(done.returncode, expected)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
