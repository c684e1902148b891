#!/usr/bin/env python3
"""A report's page in a browser: it loads nothing and complains of nothing, its tables sort and filter, texts of results are inert,
and it is no wider than a phone.

Skipped where there is no Chromium. Argument: the program.
"""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from browser import Browser, find_browser
from requirements import skip

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs" / "results" / "h200"
GPUEXP = sys.argv.pop(1)
PHONE = 390
EVIL = "\"><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\"><b>"

# The texts of a table's column, a row each; hidden ones left out.
COLUMN = """(table, column) => [...table.tBodies[0].rows].filter((row) => !row.hidden)
  .map((row) => row.cells[column] && row.cells[column].colSpan === 1 ? row.cells[column].textContent : "")"""


def page_of(results, folder):
    path = Path(tempfile.mkdtemp(dir=folder)) / "page.html"
    subprocess.run([GPUEXP, "report", results, "--format", "html", "--out", path], check=True)
    return path


def planted(folder):
    """Results in which each text is a piece of markup, and some rows did not pass."""
    results = json.loads((RESULTS / "transpose.json").read_text(encoding="utf-8"))
    for i, row in enumerate(results["rows"]):
        row["baseline"] = row["experiment"] = EVIL
        if i % 3 == 0:
            row["family"] = row["variant"] = row["key"] = f"{EVIL}{i}"
        if row["status"] != "passed":
            row["reason"] = EVIL
        elif row["flags"]:
            row["flags"] = EVIL
    provenance = results["provenance"]
    provenance["device"]["name"] = provenance["host"] = provenance["git_commit"] = EVIL
    provenance["argv"] = [EVIL]
    provenance["config"]["text"] = provenance["config"]["path"] = EVIL
    path = Path(folder) / "planted.json"
    path.write_text(json.dumps(results), encoding="utf-8")
    return path


def numbers(texts):
    return [float(text.lstrip("<+")) for text in texts if text]


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.page = page_of(RESULTS / "transpose.json", cls.folder.name)
        cls.browser = Browser(BROWSER)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def check_is_quiet(self):
        """No request but the one for the page, and no word on the console."""
        events = self.browser.events
        asked = [e["params"]["request"]["url"] for e in events if e.get("method") == "Network.requestWillBeSent"]
        self.assertEqual([url.rsplit("/", 1)[1].split("#")[0] for url in asked], ["page.html"])
        said = [e for e in events if e.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
        self.assertEqual(said, [])

    def click(self, table, heading):
        """The texts below the heading of the table, once it was clicked."""
        return self.browser.evaluate(
            f"""(() => {{ const table = document.querySelectorAll("{table}")[0];
            const head = [...table.tHead.rows[0].cells].find((cell) => cell.textContent.startsWith("{heading}"));
            head.querySelector("button").click();
            return [head.getAttribute("aria-sort"), ({COLUMN})(table, head.cellIndex)]; }})()""")  # fmt: skip

    def test_it_asks_for_nothing_and_complains_of_nothing(self):
        for dark in (False, True):
            self.browser.open(self.page, dark=dark)
            self.check_is_quiet()
            paper = self.browser.evaluate("getComputedStyle(document.body).backgroundColor")
            self.assertEqual(paper, "rgb(20, 23, 26)" if dark else "rgb(255, 255, 255)")

    def test_what_it_would_load_is_refused(self):
        self.browser.open(self.page)
        self.browser.evaluate("""{ const image = document.createElement("img"); image.src = "other.png";
            const script = document.createElement("script"); script.textContent = "document.title = 'ran'";
            document.body.append(image, script); }""")
        self.assertNotEqual(self.browser.evaluate("document.title"), "ran")
        said = [e["params"]["entry"]["text"] for e in self.browser.events if e.get("method") == "Log.entryAdded"]
        self.assertTrue(said and all("Content Security Policy" in text for text in said), said)

    def test_tables_sort_by_number_and_by_text(self):
        self.browser.open(self.page)
        sort, texts = self.click("#e1 table", "time")
        self.assertEqual(sort, "ascending")
        self.assertGreater(len(numbers(texts)), 10)
        self.assertEqual(numbers(texts), sorted(numbers(texts)))
        missing = texts.count("")
        self.assertGreater(missing, 0)
        self.assertEqual(texts[-missing:], [""] * missing)
        sort, texts = self.click("#e1 table", "time")
        self.assertEqual(sort, "descending")
        self.assertEqual(numbers(texts), sorted(numbers(texts), reverse=True))
        self.assertEqual(texts[-missing:], [""] * missing)
        sort, texts = self.click("#e1 table", "variant")
        in_order = sorted(texts, key=lambda text: text.replace("_", " "))  # as dictionaries have it
        self.assertEqual((sort, texts), ("ascending", in_order))
        self.assertGreater(len(set(texts)), 3)
        count = self.browser.evaluate('document.querySelectorAll("#e1 th[aria-sort]").length')
        self.assertEqual(count, 1)

    def test_sorting_needs_no_mouse(self):
        self.browser.open(self.page)
        self.browser.evaluate('document.querySelector("#e1 th button").focus()')
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", text="\r", windowsVirtualKeyCode=13)
        self.assertEqual(self.browser.evaluate('document.querySelector("#e1 th").getAttribute("aria-sort")'), "ascending")

    def test_a_filter_keeps_rows_with_all_its_words(self):
        self.browser.open(self.page)
        texts, count, all_rows = self.browser.evaluate(
            f"""(() => {{ const table = document.querySelector("#e1 table");
            const input = document.querySelector("#e1 .filter input");
            input.value = "TILE_PADDED bf16"; input.dispatchEvent(new Event("input"));
            return [({COLUMN})(table, 0), document.querySelector("#e1 .filter span").textContent, table.tBodies[0].rows.length]; }})()""")  # fmt: skip
        self.assertGreater(len(texts), 0)
        self.assertTrue(all("tile_padded" in text for text in texts), texts)
        self.assertEqual(count, f"{len(texts)} of {all_rows} rows")

    def test_it_is_no_wider_than_a_phone(self):
        for results in (RESULTS / "transpose.json", planted(self.folder.name)):
            self.browser.open(page_of(results, self.folder.name), width=PHONE, height=844)
            self.browser.evaluate('document.querySelectorAll("details").forEach((part) => { part.open = true; })')
            self.assertEqual(self.browser.evaluate("[innerWidth, document.documentElement.scrollWidth]"), [PHONE, PHONE])
            wide = """[...document.querySelectorAll("table, pre, svg")].filter((part) => !part.closest(".scroll, .legend")).length"""
            self.assertEqual(self.browser.evaluate(wide), 0)

    def test_texts_of_results_are_inert(self):
        self.browser.open(page_of(planted(self.folder.name), self.folder.name))
        self.check_is_quiet()
        self.assertEqual(self.browser.evaluate('document.querySelectorAll("script").length'), 1)
        self.assertEqual(self.browser.evaluate('document.querySelectorAll("img").length'), 0)
        self.assertNotEqual(self.browser.evaluate("document.title"), "ran")
        self.assertIn(EVIL, self.browser.evaluate("document.body.textContent"))

    def test_tables_are_there_without_the_script(self):
        self.browser.open(self.page, script=False)
        self.check_is_quiet()
        document = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        for selector, least in (("#e1 tbody tr", 20), ("#e1 svg", 1), ("th button", 0), (".filter", 0)):
            found = self.browser.call("DOM.querySelectorAll", nodeId=document, selector=selector)["nodeIds"]
            self.assertGreaterEqual(len(found), least, selector)
            if least == 0:
                self.assertEqual(found, [], selector)


if __name__ == "__main__":
    BROWSER = find_browser()
    if BROWSER is None:
        skip("no Chromium in PATH", "BROWSER")
    unittest.main()
