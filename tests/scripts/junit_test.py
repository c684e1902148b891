#!/usr/bin/env python3
"""`compare --format junit` is XML that CI systems read, and agrees with the comparison's JSON in each row.

Argument: the program.
"""

import copy
import json
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
A, B = (ROOT / "tests" / "cli" / "data" / f"compare_{run}.json" for run in "ab")
GPUEXP = sys.argv.pop(1)
REGRESSED = 6
FAILED = {"slower", "broken"}
PASSED = {"faster", "same", "repaired"}

# Elements that the readers of Jenkins, GitLab and GitHub support, with attributes (required, optional) and children.
COUNTS = {"name", "tests", "failures", "errors", "skipped", "time"}
ELEMENTS = {
    "testsuites": (COUNTS, set(), {"testsuite"}),
    "testsuite": (COUNTS, set(), {"properties", "testcase"}),
    "properties": (set(), set(), {"property"}),
    "property": ({"name", "value"}, set(), set()),
    "testcase": ({"classname", "name"}, {"time"}, {"failure", "skipped"}),
    "failure": ({"type", "message"}, set(), set()),
    "skipped": ({"message"}, set(), set()),
}


def compare(a, b, *options):
    done = subprocess.run([GPUEXP, "compare", a, b, "--min-effect", "2", *options], capture_output=True, check=False)
    return done.returncode, done.stdout


class Junit(unittest.TestCase):
    def read(self, a, b, *options):
        """The exit code, the document, and {key: row} of the comparison's JSON; compares the two outputs."""
        code, text = compare(a, b, "--format", "junit", *options)
        document = ElementTree.fromstring(text)
        self.assertEqual(document.tag, "testsuites")
        self.check_form(document)
        same_code, as_json = compare(a, b, "--json", "-", *options)
        self.assertEqual(code, same_code)
        rows = json.loads(as_json)["rows"]
        fail_on = set(options[options.index("--fail-on") + 1].split(",")) if "--fail-on" in options else set()
        self.check_rows(document, rows, fail_on)
        return code, document, rows

    def check_form(self, element):
        required, optional, children = ELEMENTS[element.tag]
        self.assertLessEqual(required, set(element.attrib), element.tag)
        self.assertLessEqual(set(element.attrib), required | optional, element.tag)
        for child in element:
            self.assertIn(child.tag, children)
            self.check_form(child)
        if "time" in element.attrib:
            self.assertRegex(element.get("time"), r"^\d+\.\d{9}$")
        if element.tag in ("testsuites", "testsuite"):
            cases = list(element.iter("testcase"))
            self.assertEqual(int(element.get("tests")), len(cases))
            self.assertEqual(int(element.get("failures")), len(list(element.iter("failure"))))
            self.assertEqual(int(element.get("skipped")), len(list(element.iter("skipped"))))
            self.assertEqual(element.get("errors"), "0")
            self.assertAlmostEqual(float(element.get("time")), sum(float(c.get("time", 0)) for c in cases), delta=1e-9 * len(cases))

    def check_rows(self, document, rows, fail_on):
        cases = [(suite, case) for suite in document for case in suite.iter("testcase")]
        self.assertEqual(len(cases), len(rows))
        for (suite, case), row in zip(cases, rows):
            outcome, (result,) = row["outcome"], [*case] or [None]
            with self.subTest(row["key"]):
                if row["time_b_us"] is None:
                    self.assertIsNone(case.get("time"))
                else:
                    self.assertAlmostEqual(float(case.get("time")), row["time_b_us"] / 1e6, delta=1e-9)
                if outcome in FAILED | fail_on:
                    self.assertEqual((result.tag, result.get("type")), ("failure", outcome))
                    self.assertIn(result.get("message"), result.text)
                elif outcome in PASSED:
                    self.assertIsNone(result)
                else:
                    self.assertEqual(result.tag, "skipped")
                    self.assertTrue(result.get("message").startswith(f"{outcome}: "))

    def test_each_row_is_a_test_case(self):
        code, document, rows = self.read(A, B)
        self.assertEqual(code, 0)
        self.assertEqual([suite.get("name") for suite in document], ["ladder", "reads"])
        names = [f'{case.get("classname").replace(".", "/")}/{case.get("name")}' for case in document.iter("testcase")]
        self.assertEqual(names, [row["key"] for row in rows])
        self.assertEqual({row["outcome"] for row in rows} & FAILED, FAILED)

    def test_gates_are_failures_and_decide_the_exit_code(self):
        for gate, expected in (("missing", REGRESSED), ("slower,inconclusive", REGRESSED), ("faster", REGRESSED)):
            self.assertEqual(self.read(A, B, "--fail-on", gate)[0], expected)
        code, document, _ = self.read(A, A, "--fail-on", "slower,missing,broken,faster")
        self.assertEqual((code, document.get("failures")), (0, "0"))

    def test_any_text_is_escaped(self):
        texts = {"family": "a<b>", "variant": '"x" & \'y\' \x01\x7f\t\n', "reason": "]]> <!-- &amp; \ufffe\uffff\U0001f600 µ"}
        reports = [copy.deepcopy(json.loads(path.read_text(encoding="utf-8"))) for path in (A, B)]
        for report in reports:
            for row in report["rows"]:
                row.update({name: text for name, text in texts.items() if name != "reason" or row["status"] != "passed"})
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder) / f"<{name}>&.json" for name in "ab"]
            for path, report in zip(paths, reports):
                path.write_text(json.dumps(report), encoding="utf-8")
            _, document, _ = self.read(*paths)
        (broken,) = [failure for failure in document.iter("failure") if failure.get("type") == "broken"]
        self.assertIn("]]> <!-- &amp; ??\U0001f600 µ", broken.get("message"))
        self.assertEqual({case.get("classname") for case in document.iter("testcase")}, {"ladder.a<b>", "reads.a<b>"})
        a, *_ = (item.get("value") for item in document.iter("property") if item.get("name") == "A")
        self.assertTrue(a.startswith(str(paths[0])))


if __name__ == "__main__":
    unittest.main()
