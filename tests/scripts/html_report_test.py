#!/usr/bin/env python3
"""Pages of reports and comparisons in a browser: they load nothing and report no error, tables sort and filter, charts match the
results, texts of results are inert, and a page fits a phone's width.

Skipped without Chromium; tests of charts are skipped if the program was built without Chart.js. Arguments: the program, and the
program that writes long reports.
"""

import json
import math
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from browser import Browser, find_browser
from requirements import skip

ROOT = Path(__file__).resolve().parents[2]
ALL, TRANSPOSE = (ROOT / "docs" / "results" / "h200" / f"{name}.json.zst" for name in ("all", "transpose"))
GPUEXP = sys.argv.pop(1)
SAMPLE_REPORT = sys.argv.pop(1)
PHONE = 390
EVIL = "\"><script>document.title='ran'</script><img src=x onerror=\"document.title='ran'\"><b>"

# Texts of a table's column, one per row, without hidden rows.
COLUMN = """(table, column) => [...table.tBodies[0].rows].filter((row) => !row.hidden)
  .map((row) => row.cells[column] && row.cells[column].colSpan === 1 ? row.cells[column].textContent : "")"""


# Charts of an article: their kinds, axes, and the points of each series.
CHARTS = """(id) => { const panels = [...document.querySelectorAll(`#${id} .chart`)].map((box) => box.panel);
  return panels.map(({spec}) => ({title: spec.title, kind: spec.kind, x: spec.x.label, y: spec.y.label, logX: spec.x.log, logY: spec.y.log,
    labels: spec.labels, reference: spec.reference, caption: spec.caption,
    sets: spec.sets.map((set) => ({name: set.name, colour: set.colour, roof: set.roof, points: set.points}))})); }"""


def page_of(results, folder):
    path = Path(tempfile.mkdtemp(dir=folder)) / "page.html"
    subprocess.run([GPUEXP, "report", results, "--format", "html", "--out", path], check=True)
    return path


def page_of_comparison(arguments, folder):
    path = Path(tempfile.mkdtemp(dir=folder)) / "page.html"
    with path.open("wb") as page:
        subprocess.run([GPUEXP, "compare", *arguments, "--format", "html"], check=True, stdout=page)
    return path


def column_of(heading, cells, number=True):
    return {"heading": heading, "number": number, "cells": [str(cell) for cell in cells]}


def swept(kind=None, values=(512, 1024, 2048)):
    """A view of two variants over a size."""
    sizes = [value for value in values for _ in range(2)]
    view = {"id": "t1", "title": "ladder: matmul", "first_number": 2, "notes": {}, "baseline": "naive", "libraries": [],
            "columns": [column_of("variant", ["naive", "tile"] * len(values), False), column_of("m = n", sizes),
                        column_of("time (µs)", [1000 + i for i in range(len(sizes))]), column_of("TFLOP/s", range(1, len(sizes) + 1)),
                        column_of("speedup", [1, 10] * len(values))],
            "time_low": [0.99] * len(sizes), "time_high": [1.01] * len(sizes),
            "speedup_low": [None, 0.9] * len(values), "speedup_high": [None, 1.2] * len(values)}  # fmt: skip
    if kind:
        view["figure"] = {"kind": kind}
    return view


def read(results):
    """The recorded results as the program writes them; the program reads compressed ones."""
    report = subprocess.run([GPUEXP, "report", results, "--format", "json"], check=True, capture_output=True, text=True)
    return json.loads(report.stdout)


def planted(folder):
    """Results in which each text contains markup, and some rows did not pass."""
    results = read(TRANSPOSE)
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
        cls.page = page_of(TRANSPOSE, cls.folder.name)
        cls.browser = Browser(BROWSER)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def check_is_quiet(self):
        """The browser requests only the page and logs nothing to the console."""
        events = self.browser.events
        requested = [e["params"]["request"]["url"] for e in events if e.get("method") == "Network.requestWillBeSent"]
        self.assertEqual([url.rsplit("/", 1)[1].split("#")[0] for url in requested], ["page.html"])
        said = [e for e in events if e.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")]
        self.assertEqual(said, [])

    def click(self, table, heading):
        """Texts in the column of a heading after clicking it."""
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
            if self.has_charts():
                grid = self.browser.evaluate("colour('line')")
                self.assertEqual(grid, "#363d45" if dark else "#d5dae0")
                self.browser.evaluate("document.querySelector('#e1 .chart').scrollIntoView()")
                self.browser.wait_for("panels().some((panel) => panel.chart)")
                self.check_is_quiet()

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
        in_order = sorted(texts, key=lambda text: text.replace("_", " "))  # ignores "_"
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
            f"""(() => {{ const table = document.querySelector("#e1 table"), all = table.tBodies[0].rows.length;
            const input = document.querySelector("#e1 .filter input");
            input.value = "TILE_PADDED bf16"; input.dispatchEvent(new Event("input"));
            return [({COLUMN})(table, 0), document.querySelector("#e1 .filter span").textContent, all]; }})()""")  # fmt: skip
        self.assertGreater(len(texts), 0)
        self.assertTrue(all("tile_padded" in text for text in texts), texts)
        self.assertEqual(count, f"{len(texts)} of {all_rows} rows")

    def test_it_is_no_wider_than_a_phone(self):
        for results in (TRANSPOSE, planted(self.folder.name)):
            self.browser.open(page_of(results, self.folder.name), width=PHONE, height=844)
            self.browser.evaluate('document.querySelectorAll("details").forEach((part) => { part.open = true; })')
            self.assertEqual(self.browser.evaluate("[innerWidth, document.documentElement.scrollWidth]"), [PHONE, PHONE])
            wide = """[...document.querySelectorAll("table, pre, canvas")].filter((part) => !part.closest(".scroll, .chart")).length"""
            self.assertEqual(self.browser.evaluate(wide), 0)

    def test_texts_of_results_are_inert(self):
        self.browser.open(page_of(planted(self.folder.name), self.folder.name))
        self.check_is_quiet()
        self.assertEqual(self.browser.evaluate('document.querySelectorAll("script").length'), 2)
        self.assertEqual(self.browser.evaluate('document.querySelectorAll("img").length'), 0)
        self.assertNotEqual(self.browser.evaluate("document.title"), "ran")
        self.assertIn(EVIL, self.browser.evaluate("document.body.textContent"))

    def test_without_scripts_it_says_what_it_needs(self):
        self.browser.open(self.page, script=False)
        self.check_is_quiet()
        document = self.browser.call("DOM.getDocument")["root"]["nodeId"]
        shown = self.browser.call("DOM.querySelector", nodeId=document, selector="noscript p")["nodeId"]
        self.assertIn("Enable JavaScript", self.browser.call("DOM.getOuterHTML", nodeId=shown)["outerHTML"])

    def text_of(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? null")

    def test_it_has_verdicts_reasons_flags_sources_and_provenance(self):
        self.browser.open(self.page)
        results = read(TRANSPOSE)
        passed = sum(row["status"] == "passed" for row in results["rows"])
        verdicts = self.browser.evaluate('[...document.querySelectorAll(".verdicts li")].map((li) => [li.className, li.textContent])')
        self.assertEqual(verdicts[0], ["", f"{len(results['rows'])} rows"])
        self.assertIn(["good", f"{passed} passed"], verdicts)
        self.assertIn("NVIDIA H200", self.text_of(".cards"))
        self.assertRegex(self.text_of(".cards"), r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
        for row in results["rows"]:
            if row["status"] != "passed":
                self.assertIn(row["reason"], self.text_of("#s-rows-that-did-not-pass"))
        self.assertEqual(self.text_of(".question")[-1], "?")
        self.assertIn("Warnings about the numbers", self.text_of("#s-flags"))
        self.assertGreater(self.browser.evaluate('document.querySelectorAll(".why li").length'), 0)
        self.assertEqual(self.browser.evaluate('document.querySelectorAll("pre").length'), 1)  # the config; sources are made when opened
        self.browser.evaluate('document.querySelectorAll("#variants details").forEach((part) => { part.open = true; })')
        self.browser.wait_for('document.querySelectorAll("#variants pre").length > 3')
        self.assertRegex(self.text_of("#variants pre"), r"^ +\d+ +\d* ")
        note = self.text_of("#variants details p")
        self.assertTrue("compute capability 9.0" in note or note == "No machine code is available.", note)
        facts = self.text_of("#provenance")
        for fact in (results["provenance"]["git_commit"], "maximum SM clock1980 MHz", "local changesno", "theoretical bandwidth4814.3 GB/s"):
            self.assertIn(fact, facts)

    def test_a_row_has_a_link_that_leads_to_it(self):
        self.browser.open(self.page)
        key, target = self.browser.evaluate("""(() => { const row = document.querySelectorAll("#e1 tbody tr")[20];
            return [row.id, row.querySelector("a").getAttribute("href")]; })()""")  # fmt: skip
        self.assertEqual(key.split("/")[1], "transpose")
        self.browser.open(self.page, anchor=target)
        self.assertEqual(self.browser.evaluate('document.querySelector(".hit").id'), key)
        top = self.browser.evaluate('document.querySelector(".hit").getBoundingClientRect().top')
        self.assertTrue(0 < top < 900, top)
        self.browser.evaluate("""document.querySelector("#e1 .filter input").value = "nothing has this word";
            document.querySelector("#e1 .filter input").dispatchEvent(new Event("input"))""")  # fmt: skip
        self.assertEqual(self.browser.evaluate('document.querySelectorAll("#e1 tbody tr").length'), 0)
        self.browser.evaluate(f"goTo({json.dumps(key)})")
        self.assertEqual(self.browser.evaluate('document.querySelector(".hit").id'), key)

    def test_a_report_comes_to_a_largest_speedup_and_errors_of_predictions(self):
        self.browser.open(self.page)
        best = lambda view: self.browser.evaluate(f"bestRow({json.dumps(view)})")  # noqa: E731
        view = swept()
        view["columns"][4]["cells"] = ["1", "10", "1", "10.75", "1", "1.01"]
        self.assertEqual(best(view), 3)
        view["above_limit"] = [3]  # faster than the datasheet allows: no record
        self.assertEqual(best(view), 1)
        view["columns"][4]["cells"] = ["1", "1.01", "1", "0.9", "1", "1.019"]  # too small
        self.assertIsNone(best(view))
        errors = """(() => { const {count, median, within} = errorsOf([{prediction_error: [0.05, -0.2, 0.01, 0.5, -0.09, null]}]);
            return [count, within(10), within(25), median]; })()"""  # fmt: skip
        self.assertEqual(self.browser.evaluate(errors)[:3], [5, 3, 4])
        self.assertAlmostEqual(self.browser.evaluate(errors)[3], 100 * (math.exp(0.09) - 1))
        self.assertEqual(self.browser.evaluate("errorsOf([{}]).count"), 0)
        overview = self.text_of("#s-experiments tbody tr")
        self.assertTrue(overview.startswith("squaretranspose4442"), overview)  # experiment, family, rows, passed

    def test_rows_that_did_not_pass_have_a_reason_and_no_number(self):
        results = read(TRANSPOSE)
        lost = next(i for i, row in enumerate(results["rows"]) if row["status"] == "passed" and row["variant"] != row["baseline"])
        results["rows"][lost].update(status="incorrect", reason="expected 1, found 2")
        path = Path(self.folder.name) / "lost.json"
        path.write_text(json.dumps(results), encoding="utf-8")
        self.browser.open(page_of(path, self.folder.name))
        key = results["rows"][lost]["key"]
        cells = self.browser.evaluate(f"[...document.getElementById({json.dumps(key)}).cells].map((cell) => cell.textContent)")
        self.assertEqual(cells[-1], "incorrect: expected 1, found 2")
        self.assertEqual(self.browser.evaluate(f"document.getElementById({json.dumps(key)}).className"), "lost")
        self.assertEqual(self.text_of(f'#s-rows-that-did-not-pass a[href="#{key.replace("/", "%2F").replace(",", "%2C").replace("=", "%3D")}"]'),
                         results["rows"][lost]["experiment"])  # fmt: skip
        if self.has_charts():
            points = self.browser.evaluate("panels().flatMap((panel) => panel.spec.sets.flatMap((set) => set.points.map((point) => point.key)))")
            self.assertGreater(len(points), 20)
            self.assertNotIn(key, points)

    # ---- charts

    def has_charts(self):
        return self.browser.evaluate("HAS_CHARTS")

    def charts_of(self, view, settings=""):
        """Charts of a view, with settings of its Figure."""
        return self.browser.evaluate(f"""(() => {{ const view = {json.dumps(view)}; const figure = new Figure(view); {settings}
            const host = el("div"); host.id = "t1"; host.append(figure.element); document.body.append(host);
            const shown = ({CHARTS})("t1"); host.remove(); return shown; }})()""")  # fmt: skip

    def open_with_charts(self):
        self.browser.open(self.page)
        if not self.has_charts():
            self.skipTest("built without Chart.js")

    def test_a_parameter_with_three_values_makes_lines_of_the_rate(self):
        self.open_with_charts()
        (chart,) = self.charts_of(swept())
        self.assertEqual((chart["kind"], chart["x"], chart["y"], chart["logX"]), ("lines", "m = n", "TFLOP/s", False))
        self.assertEqual([set_["name"] for set_ in chart["sets"]], ["naive", "tile"])
        last = chart["sets"][0]["points"][2]
        self.assertEqual((last["x"], last["y"], last["key"]), (2048, 5, "t1.4"))
        self.assertAlmostEqual(last["low"], 5 / 1.01)  # a rate is an amount over the time
        self.assertAlmostEqual(last["high"], 5 / 0.99)
        (chart,) = self.charts_of(swept(values=(512, 1024, 2048, 4096)))
        self.assertTrue(chart["logX"])  # sizes that grow by factors

    def test_a_declared_figure_says_which_number_and_over_what(self):
        self.open_with_charts()
        view = swept("swept_times")
        view["figure"].update(axis="m = n", label="size")
        (chart,) = self.charts_of(view)
        self.assertEqual((chart["x"], chart["y"]), ("size", "time (µs)"))
        (chart,) = self.charts_of(swept("relative_times"))
        self.assertEqual((chart["y"], chart["reference"]), ("time over that of naive", 1))
        point = chart["sets"][1]["points"][1]
        self.assertAlmostEqual(point["y"], 0.1)
        self.assertAlmostEqual(point["low"], 1 / 12)
        self.assertAlmostEqual(point["high"], 1 / 9)

    def test_bars_have_a_chart_per_problem_and_yield_to_lines_if_sizes_are_the_question(self):
        self.open_with_charts()
        charts = self.charts_of(swept("share_of_copy"))
        self.assertEqual([chart["title"] for chart in charts], ["m = n = 512", "m = n = 1024", "m = n = 2048"])
        self.assertEqual((charts[0]["kind"], charts[0]["x"], charts[0]["reference"]), ("bars", "speedup over naive", 1))
        self.assertEqual(charts[0]["labels"], ["naive", "tile"])
        self.assertEqual([(set_["name"], set_["colour"]) for set_ in charts[0]["sets"]], [("naive (baseline)", 7), ("tile", 0)])
        five = swept("ladder", (512, 1024, 2048, 4096, 8192))
        self.assertEqual([chart["kind"] for chart in self.charts_of(five)], ["lines"])
        one = swept("ladder")
        for column in one["columns"]:
            column["cells"] = column["cells"][::2]
        (chart,) = self.charts_of(one)  # one bar per problem
        self.assertEqual((chart["kind"], chart["labels"]), ("bars", ["m = n = 512", "m = n = 1024", "m = n = 2048"]))
        one["libraries"] = ["naive"]
        self.assertEqual(self.charts_of(one)[0]["sets"][0]["name"], "naive (library)")

    def test_too_many_series_for_one_chart_are_in_several(self):
        self.open_with_charts()
        rows = [(variant, n, k) for n in (512, 1024, 2048) for variant in "abcde" for k in (64, 128)]
        view = swept()
        view["first_number"] = 3
        view["columns"] = [column_of("variant", [row[0] for row in rows], False), column_of("n", [row[1] for row in rows]),
                           column_of("k", [row[2] for row in rows]), column_of("TFLOP/s", range(1, len(rows) + 1))]  # fmt: skip
        charts = self.charts_of(view)
        self.assertEqual([chart["title"] for chart in charts], ["k = 64", "k = 128"])
        self.assertEqual([set_["name"] for set_ in charts[0]["sets"]], list("abcde"))

    def test_rows_above_their_limit_have_no_rate(self):
        self.open_with_charts()
        view = swept()
        view["above_limit"] = [5]
        (chart,) = self.charts_of(view)
        self.assertEqual([len(set_["points"]) for set_ in chart["sets"]], [3, 2])
        self.assertEqual(len(self.charts_of(view, "figure.choice = 0; figure.render();")[0]["sets"][1]["points"]), 3)

    def test_numbers_that_span_many_factors_get_a_logarithmic_axis_which_a_reader_can_switch(self):
        self.open_with_charts()
        view = swept()
        view["columns"][3]["cells"][5] = "1000"
        self.assertTrue(self.charts_of(view)[0]["logY"])
        self.assertFalse(self.charts_of(swept())[0]["logY"])
        switch = """const input = [...figure.element.querySelectorAll("input")][0]; input.checked = true; input.dispatchEvent(new Event("change"));"""
        self.assertTrue(self.charts_of(swept(), switch)[0]["logY"])
        choose = """const select = figure.element.querySelectorAll("select")[1]; select.value = 0; select.dispatchEvent(new Event("change"));"""
        self.assertEqual(self.charts_of(swept(), choose)[0]["kind"], "bars")

    def test_numbers_at_the_ends_of_what_there_is_are_drawn(self):
        self.open_with_charts()
        for ends in (("-1.8e308", "1.8e308"), ("5e-324", "1.8e308"), ("5e-324", "1e-323"), ("7", "7"), ("0", "0")):
            view = swept()
            view["columns"][3]["cells"] = [ends[i % 2] for i in range(6)]
            self.charts_of(view, 'figure.drawn.forEach((panel) => panel.draw());')
        self.check_is_quiet()

    def test_ticks_are_round_numbers(self):
        self.open_with_charts()
        for call, expected in (("logTicks(0.5, 4, false)", [0.5, 1, 2]), ("logTicks(1, 1e4, false)", [1, 10, 100, 1000, 10000]),
                               ("logTicks(1, 32, true)", [1, 2, 4, 8, 16, 32]), ("logTicks(1, 1024, true)", [1, 4, 16, 64, 256, 1024]),
                               ("[4096, 65536, 33554432, 65537, 0.25].map(binaryText)", ["4096", "64Ki", "32Mi", "65537", "0.25"]),
                               ("[0.5012, 4079.6].map(shortNumber)", ["0.501", "4080"]),
                               ("growsByFactors([16, 1, 4, 4])", True), ("growsByFactors([1, 2, 3, 4, 5, 6, 7, 8])", False),
                               ("growsByFactors([0, 1, 10, 100])", False), ("growsByFactors([1024, 2048, 4096])", False),
                               ("growsByFactors([1024, 1100, 1200, 1048576])", True),
                               ("['1.5', '<0.1', '+2.5', '3.2 ms', '1.010–1.014', '', 'a'].map(numberOf)", [1.5, 0.1, 2.5, 3200, 1.01, None, None])):  # fmt: skip
            self.assertEqual(self.browser.evaluate(call), expected, call)

    def test_a_point_shows_its_value_and_leads_to_its_row(self):
        self.open_with_charts()
        self.browser.evaluate("document.querySelector('#e1 .chart').scrollIntoView({block: 'center'})")
        self.browser.wait_for("document.querySelector('#e1 .chart').panel.chart")
        x, y, key = self.browser.evaluate("""(() => { const panel = document.querySelector("#e1 .chart").panel;
            const point = panel.chart.getDatasetMeta(0).data[0]; const box = panel.canvas.getBoundingClientRect();
            return [box.x + point.x, box.y + point.y, panel.chart.data.datasets[0].data[0].key]; })()""")  # fmt: skip
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.browser.wait_for("document.querySelector('#e1 .chart').panel.chart.tooltip.opacity > 0")
        said = self.browser.evaluate("document.querySelector('#e1 .chart').panel.chart.tooltip.body[0].lines[0]")
        self.assertRegex(said, r"^\S.*: [\d.]+")
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
        self.browser.wait_for('document.querySelector(".hit")')
        self.assertEqual(self.browser.evaluate('document.querySelector(".hit").id'), key)
        self.assertEqual(self.browser.evaluate("decodeURIComponent(location.hash.slice(1))"), key)

    def test_a_drag_zooms_and_a_double_click_shows_everything(self):
        self.open_with_charts()
        self.browser.evaluate("document.querySelector('#e1 .chart').scrollIntoView({block: 'center'})")
        self.browser.wait_for("document.querySelector('#e1 .chart').panel.chart")
        ends = "(() => { const {min, max} = document.querySelector('#e1 .chart').panel.chart.scales.x; return [min, max]; })()"
        low, high = self.browser.evaluate(ends)
        left, top, width, height = self.browser.evaluate("""(() => { const panel = document.querySelector("#e1 .chart").panel;
            const box = panel.canvas.getBoundingClientRect(), area = panel.chart.chartArea;
            return [box.x + area.left, box.y + area.top, area.width, area.height]; })()""")  # fmt: skip
        for kind, share in (("mousePressed", 0.3), ("mouseMoved", 0.5), ("mouseMoved", 0.6), ("mouseReleased", 0.6)):
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=left + share * width, y=top + share * height, button="left",
                              buttons=1, clickCount=1)  # fmt: skip
        zoomed = self.browser.evaluate(ends)
        self.assertTrue(low < zoomed[0] < zoomed[1] < high, (low, high, zoomed))
        self.assertIsNone(self.text_of(".hit"))  # a drag is not a click
        self.browser.evaluate("document.querySelector('#e1 .chart canvas').dispatchEvent(new MouseEvent('dblclick'))")
        self.assertEqual(self.browser.evaluate(ends), [low, high])
        wheel = "document.querySelector('#e1 .chart canvas').dispatchEvent(new WheelEvent('wheel', {deltaY: -100, ctrlKey: %s, cancelable: true}))"
        self.browser.evaluate(wheel % "false")  # scrolls
        self.assertEqual(self.browser.evaluate(ends), [low, high])
        self.browser.evaluate(wheel % "true")
        self.assertNotEqual(self.browser.evaluate(ends), [low, high])
        self.browser.evaluate("[...document.querySelectorAll('#e1 .controls button')].at(-1).click()")
        self.assertEqual(self.browser.evaluate(ends), [low, high])

    def test_the_legend_hides_a_variant_and_shows_it_again(self):
        self.open_with_charts()
        hide = """const button = figure.legend.querySelectorAll("button")[1]; button.click();"""
        (chart,) = self.charts_of(swept(), hide)
        self.assertEqual([set_["name"] for set_ in chart["sets"]], ["naive"])
        (chart,) = self.charts_of(swept(), hide + """figure.legend.querySelectorAll("button")[1].click();""")
        self.assertEqual([set_["name"] for set_ in chart["sets"]], ["naive", "tile"])
        for chart in self.charts_of(swept("share_of_copy"), hide):
            self.assertEqual(chart["labels"], ["naive"])

    def test_a_roofline_has_the_ceilings_of_the_report(self):
        self.browser.open(page_of(ALL, self.folder.name))
        if not self.has_charts():
            self.skipTest("built without Chart.js")
        results = read(ALL)
        ceilings = results["provenance"]["ceilings"]["values"]
        chart = next(chart for chart in self.browser.evaluate(f"({CHARTS})('summary')") if chart["y"] == "TFLOP/s")
        self.assertTrue(chart["logX"] and chart["logY"])
        self.assertIn("Bytes are counted", chart["caption"])
        roofs = {set_["name"]: set_["points"] for set_ in chart["sets"] if set_.get("roof")}
        measured, datasheet = (next(points for name, points in roofs.items() if name.startswith("fp32") and name.endswith(words))
                               for words in ("measured", "datasheet"))  # fmt: skip
        self.assertAlmostEqual(measured[-1]["y"], ceilings["fp32"]["value"])
        self.assertAlmostEqual(measured[0]["y"] / measured[0]["x"], ceilings["dram_read"]["value"] / 1000)
        self.assertAlmostEqual(datasheet[-1]["y"], ceilings["fp32"]["datasheet"])
        rows = {row["key"]: row for row in results["rows"]}
        points = [point for set_ in chart["sets"] if not set_.get("roof") for point in set_["points"]]
        self.assertGreater(len(points), 100)
        for point in points[::50]:
            self.assertAlmostEqual(point["x"] / rows[point["key"]]["arithmetic_intensity"], 1, delta=1e-3)
            self.assertAlmostEqual(point["y"] / rows[point["key"]]["tflops"], 1, delta=1e-3)

    def test_predictions_are_a_dot_per_row(self):
        self.open_with_charts()
        results = read(TRANSPOSE)
        chart = next(chart for chart in self.browser.evaluate(f"({CHARTS})('summary')") if chart["y"].startswith("predicted"))
        points = {point["key"]: point for point in chart["sets"][0]["points"]}
        predicted = [row for row in results["rows"] if row["prediction_error"] is not None and row["status"] == "passed"]
        self.assertEqual(len(points), len(predicted))
        for row in predicted:
            self.assertAlmostEqual(points[row["key"]]["x"] / row["time_median_us"], 1, delta=2e-3)
            self.assertAlmostEqual(points[row["key"]]["y"], row["predicted_time_us"] / row["time_median_us"], delta=2e-3)

    # ---- other pages

    def test_a_comparison_has_a_page(self):
        page = page_of_comparison([TRANSPOSE, planted(self.folder.name), "--all"], self.folder.name)
        self.browser.open(page)
        self.check_is_quiet()
        self.assertIn("min. effect", self.text_of("#summary"))
        self.assertGreater(self.browser.evaluate('document.querySelectorAll("#experiments tbody tr").length'), 20)
        self.assertIn("MISSING", self.text_of("#experiments"))
        self.browser.open(page_of_comparison([TRANSPOSE, TRANSPOSE, "--all"], self.folder.name), width=PHONE)
        self.check_is_quiet()
        self.assertEqual(self.browser.evaluate("[innerWidth, document.documentElement.scrollWidth]"), [PHONE, PHONE])
        if self.has_charts():
            chart = self.browser.evaluate(f"({CHARTS})('e1')")[0]
            self.assertIn("B/A", (chart["x"], chart["y"]))
            self.assertEqual((chart["reference"], chart["sets"][0]["points"][0].get("low") is not None), (1, True))

    def test_a_comparison_across_gpus_has_a_page(self):
        results = read(TRANSPOSE)
        paths = []
        for gpu in range(3):
            results["provenance"]["device"]["uuid"] = f"GPU-{gpu}"
            for row in results["rows"]:
                row.update(gpu_uuid=f"GPU-{gpu}", host=f"node{gpu}")
            paths.append(Path(self.folder.name) / f"gpu{gpu}.json")
            paths[-1].write_text(json.dumps(results), encoding="utf-8")
        self.browser.open(page_of_comparison(["--across", "uuid", *paths], self.folder.name))
        self.check_is_quiet()
        self.assertIn("no GPU stands out", self.text_of("#experiments"))
        self.assertEqual(self.browser.evaluate(f"({COLUMN})(document.querySelector('#e1 table'), 0)"), ["GPU-0", "GPU-1", "GPU-2"])

    def test_a_page_of_many_rows_loads_with_some_of_them_at_a_time(self):
        long = Path(self.folder.name) / "long.json"
        with long.open("wb") as file:
            subprocess.run([SAMPLE_REPORT, "20000", "5"], check=True, stdout=file)
        page = page_of(long, self.folder.name)
        self.assertLess(page.stat().st_size, 8e6)
        self.browser.open(page)
        self.check_is_quiet()
        rows = 'document.querySelectorAll("#experiments tbody tr").length'
        self.assertLessEqual(self.browser.evaluate(rows), 20000)
        key = self.browser.evaluate("keyOf(data.experiments[0], data.experiments[0].columns[0].cells.length - 1)")
        self.browser.evaluate(f"goTo({json.dumps(key)})")
        self.assertEqual(self.browser.evaluate('document.querySelector(".hit").id'), key)


if __name__ == "__main__":
    BROWSER = find_browser()
    if BROWSER is None:
        skip("no Chromium in PATH", "BROWSER")
    unittest.main()
