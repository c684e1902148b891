#!/usr/bin/env python3
"""plot.py: figures for the families of a CSV, and error messages.

Skipped without pandas or matplotlib.
"""

import csv
import json
import sys
import tempfile
import unittest
from pathlib import Path

from requirements import require, run_drawing_script

require("pandas", "matplotlib", "zstandard")
import zstandard  # noqa: E402

PLOT = Path(__file__).resolve().parents[2] / "scripts" / "plot.py"
MAX_PIXELS = 1500  # the height of a figure


def row(family, variant, time_us=100.0, status="passed", **columns):
    numbers = {"time_median_us": time_us, "tflops": 1e4 / time_us, "useful_gb_per_s": 1e5 / time_us}
    return {
        "experiment": family,
        "family": family,
        "variant": variant,
        "mode": "cold",
        "status": status,
        "implementation": "library" if variant == "cublas" else "kernel",
        "limit_by": "fp32",
        "baseline": "naive",
        "speedup": 100.0 / time_us,
        **(numbers if status == "passed" else dict.fromkeys(numbers)),
        **columns,
    }


def cube(n):
    return {"param.m": n, "param.n": n, "param.k": n}


def small_results():
    rows = [row("matmul", v, t, error_rms_rel=1e-7, **cube(64)) for v, t in (("naive", 900), ("tile", 200))]
    rows += [row("matmul", "cublas", status="skipped", reason="no library, here", **cube(64))]
    rows += [
        row("matmul_tensor", v, t, error_rms_rel=1e-3, **cube(64), **{"param.dtype": "bf16"})
        for v, t in (("mma", 50), ("cublas", 30))
    ]
    rows += [row("coalescing", "strided", 10 * s, **{"param.stride": s}) for s in (1, 2, 4)]
    rows += [
        row("divergence", v, t * f, **{"param.fraction": f, "param.cost": c})
        for v, t in (("naive", 100), ("split", 150)) for f in (0.25, 0.5) for c in (16, 64)
    ]  # fmt: skip
    rows += [
        row("wave_quantization", "fixed_tile", n, **{"param.n": n, "metric.waves": 1 + n // 132,
            "metric.tail_efficiency_pct": 50 + n % 50})
        for n in range(100, 160, 10)
    ]  # fmt: skip
    rows += [row("alignment", "cublas", n, **{"param.n": n, "metric.divisor_pow2": n & -n}) for n in (7, 8, 9)]
    rows += [
        row("matmul", "naive", 100 + k % 8, experiment="pitch", **{**cube(64), "param.k": k},
            **{"counter.l1_data_wavefronts": k * k, "counter.l1_tag_wavefronts": 8 * k})
        for k in (60, 62, 63, 64)
    ]  # fmt: skip
    rows += [
        row("transpose", v, t, baseline="copy", **{"param.rows": n, "param.columns": 32, "param.dtype": d})
        for n in (32, 64, 65) for d in ("fp32", "bf16") for v, t in (("copy", 100), ("naive", 400 + n))
    ]  # fmt: skip
    rows += [
        row("occupancy", v, t / w, experiment=e, **{"occupancy_pct": 12.5 * w, "blocks_per_sm": w, "block_threads": 256,
            "param.block": 256, "param.shared_kib": 224 // w, "counter.active_warps_per_sm": 7.5 * w})
        for v, t, e in (("copy_ilp1", 900, "copies"), ("copy_ilp2", 500, "copies"), ("copy_ilp1", 900, "alone"))
        for w in (1, 2, 4, 8)
    ]  # fmt: skip
    rows += [
        row("checkpointing", v, t + k, **{"param.every": k, "metric.peak_bytes": 1e9 * (4 + 64 / k + k)})
        for v, t in (("layers", 900), ("segments", 200)) for k in (1, 8, 64)
    ]  # fmt: skip
    rows += [
        row("training_step", v, t * {"step": 6, "forward": 2, "backward": 4, "update": 1}[phase], experiment=e,
            **{"param.phase": phase, "param.dtype": d, "param.batch": 64})
        for d in ("fp32", "bf16") for v, t in (("separate", 20), ("fused", 15))
        for phase, e in (("step", "precision"), ("forward", "phases"), ("backward", "phases"), ("update", "phases"))
    ]  # fmt: skip
    rows += [row("of_tomorrow", "only_one")]
    return rows


class PlotTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.folder = Path(self.directory.name)

    def write(self, rows):
        path = self.folder / "results.csv"
        names = list(dict.fromkeys(name for r in rows for name in r))
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)
        return path

    def plot(self, *arguments):
        return run_drawing_script(PLOT, *arguments)

    def check_refused(self, result, *words):
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_one_figure_per_family(self):
        path = self.write(small_results())
        self.write_json(self.report_of([]))
        result = self.plot(path, "--out", self.folder / "figures", "--format", "svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        drawn = {p.stem for p in (self.folder / "figures").iterdir()}
        families = {r["family"] for r in small_results()}
        self.assertEqual(drawn, families | {"error_against_speed", "row_pitch"})
        text = (self.folder / "figures" / "matmul.svg").read_text(encoding="utf-8")
        self.assertIn("GPU Ω", text)
        self.assertIn("1 skipped", text)

    def test_a_step_of_training_is_drawn_by_its_phases(self):
        rows = [r for r in small_results() if r["family"] == "training_step"]
        result = self.plot(self.write(rows), "--out", self.folder / "figures", "--format", "svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.folder / "figures" / "training_step.svg").read_text(encoding="utf-8")
        for words in ("forward", "backward", "update", "whole step", "bf16", "separate"):
            self.assertIn(words, text)
        without = [r for r in rows if r["param.phase"] != "update"]
        self.check_refused(self.plot(self.write(without), "--out", self.folder / "others"), "all phases")

    def test_ranks_are_drawn_at_the_problem_with_most_steps_that_can_be_seen(self):
        def of(batches, ranks, variant="micro_batches", **columns):
            steps = [f"layer_kernel@{r}.0:{i}.0-{i + 1}.0" for r in range(ranks) for i in range(batches)]
            waits = [f"receive_kernel@{r}.0:0.0-{r}.5" for r in range(ranks)]
            return row("pipeline_parallel", variant, 10.0 * batches, timeline=";".join(steps + waits + ["copy@0.1:1.0-2.0"]), gpus=ranks,
                       predicted_time_us=9, **{"param.batches": batches, "param.gpus": ranks}, **columns)  # fmt: skip

        rows = [of(2, 3), of(5, 3), of(5, 3, "two_stages"), of(200, 3), of(7, 2)]
        rows.append(row("pipeline_parallel", "one_gpu", 30.0, gpus=3, **{"param.batches": 5, "param.gpus": 3}))
        result = self.plot(self.write(rows), "--out", self.folder / "figures", "--format", "svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.folder / "figures" / "timeline_pipeline_parallel.svg").read_text(encoding="utf-8")
        for words in ("micro_batches: measured 50 µs, predicted 9 µs", "two_stages: measured 50 µs", "GPU 0", "GPU 2"):
            self.assertIn(words, text)
        for words in ("measured 20 µs", "measured 70 µs", "measured 2000 µs", "one_gpu", "GPU 3"):
            self.assertNotIn(words, text)

    def test_stencils_of_planes_and_volumes_share_a_figure(self):
        plane, volume = {"param.nx": 16, "param.ny": 32}, {"param.nx": 7, "param.ny": 8, "param.nz": 9}
        rows = [
            row(family, v, t * r, baseline="copy", **extents, **({"param.radius": r} if family == "stencil_2d" else {}))
            for family, extents in (("stencil_2d", plane), ("stencil_3d", volume))
            for r in (1, 2) for v, t in (("copy", 100), ("naive", 400))
        ]  # fmt: skip
        result = self.plot(self.write(rows), "--out", self.folder / "figures", "--format", "svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([p.name for p in (self.folder / "figures").iterdir()], ["stencil.svg"])
        text = (self.folder / "figures" / "stencil.svg").read_text(encoding="utf-8")
        for words in ("nx 16", "ny 32", "nz 9", "radius 1", "radius 2", "0.25", "0.12"):
            self.assertIn(words, text)
        self.assertNotIn("nan", text)

    def test_figures_of_simulated_results_say_that_times_are_predicted(self):
        def simulated(measured):
            skipped = measured["status"] == "skipped"
            of_row = {"executed_on": "simulated", "status": "skipped" if skipped else "sampled", "operations": 1e6,
                      "useful_bytes": 1e6, "predicted_time_us": None if skipped else 2 * measured["time_median_us"]}  # fmt: skip
            return {**measured, **dict.fromkeys(["time_median_us", "tflops", "useful_gb_per_s", "speedup"]), **of_row}
        path = self.write([simulated(r) for r in small_results()])
        result = self.plot(path, "--out", self.folder / "figures", "--format", "svg")
        self.assertEqual(result.returncode, 0, result.stderr)
        figures = list((self.folder / "figures").iterdir())
        self.assertGreater(len(figures), 5)
        for figure in figures:
            text = figure.read_text(encoding="utf-8")
            with self.subTest(figure.stem):
                self.assertIn("simulated: all times are predicted", text)
                self.assertNotIn(">measured", text)
        # 2·900 µs and 2·200 µs for 10⁶ operations.
        self.assertIn("0.000556", (self.folder / "figures" / "matmul.svg").read_text(encoding="utf-8"))
        # Measured runs are not labelled as simulated.
        self.plot(self.write(small_results()), "--out", self.folder / "measured", "--format", "svg")
        for figure in (self.folder / "measured").iterdir():
            self.assertNotIn("simulated", figure.read_text(encoding="utf-8"))

    def heights_of(self, folder):
        """Pixels of each figure, from the head of its PNG."""
        return {path.name: int.from_bytes(path.read_bytes()[20:24], "big") for path in folder.glob("*.png")}

    def test_figures_fit_a_screen_and_what_does_not_fit_has_figures_of_its_own(self):
        rows = [row("fusion", f"variant_{v}", 100 + v, experiment=f"experiment_{e}") for e in range(12) for v in range(9)]
        rows += [row("occupancy", "copy", 100 + b, experiment=f"blocks_{e}", **{"param.block": 32 * b, "occupancy_pct": 50})
                 for e in range(9) for b in (1, 2, 3)]  # fmt: skip
        rows += [row("scan", v, 100 + n, baseline="copy", **{"param.n": n}) for v in ("copy", "cub") for n in range(20)]
        result = self.plot(self.write(rows), "--out", self.folder / "figures")
        self.assertEqual(result.returncode, 0, result.stderr)
        heights = self.heights_of(self.folder / "figures")
        self.assertLessEqual({f"{name}{page}.png" for name in ("fusion", "occupancy", "scan") for page in ("", "_2")}, set(heights))
        self.assertLessEqual(max(heights.values()), MAX_PIXELS)
        self.plot(self.write(rows), "--out", self.folder / "texts", "--format", "svg")
        text = "".join(path.read_text(encoding="utf-8") for path in (self.folder / "texts").iterdir())
        for shown in [*(f"experiment_{e}" for e in range(12)), *(f"blocks_{e}" for e in range(9)), *(f"n {n}" for n in range(20))]:
            self.assertIn(f">{shown}<", text)

    def test_published_figures_fit_a_screen(self):
        folder = PLOT.parents[1] / "docs" / "figures"
        self.assertEqual({name: height for name, height in self.heights_of(folder).items() if height > MAX_PIXELS}, {})
        self.assertLess(sum(path.stat().st_size for path in folder.glob("*.png")), 6e6)

    def test_every_declared_kind_is_drawn(self):
        sys.path.insert(0, str(PLOT.parent))
        import plot
        self.assertEqual({figure["kind"] for figure in plot.declared()}, set(plot.KINDS))

    def test_libraries_are_told_by_what_rows_say(self):
        sys.path.insert(0, str(PLOT.parent))
        from plotting.results import load, vendors
        frame = load(self.write([row("matmul", "naive"), row("of_tomorrow", "fastest", implementation="library")]))
        self.assertEqual(vendors(frame), {"fastest"})

    def report_of(self, rows, **changes):
        columns = [{"name": name, "unit": "", "type": "text", "doc": ""} for name in dict.fromkeys(n for r in rows for n in r)]
        return {"schema_version": 3, "provenance": {"device": {"name": "GPU Ω"}}, "columns": columns,
                "rows": [{**r, "samples_us": [1.0]} for r in rows], **changes}  # fmt: skip

    def write_json(self, report, name="results.json"):
        path = self.folder / name
        data = json.dumps(report).encode()
        path.write_bytes(zstandard.compress(data) if path.suffix == ".zst" else data)
        return path

    def test_json_is_drawn_as_csv_is(self):
        sys.path.insert(0, str(PLOT.parent))
        import pandas
        from plotting.results import gpu_name, load
        of_csv = load(self.write(small_results()))
        for path in (self.write_json(self.report_of(small_results())),
                     self.write_json(self.report_of(small_results()), "results.json.zst")):  # fmt: skip
            pandas.testing.assert_frame_equal(load(path), of_csv, check_dtype=False)
            self.assertEqual(gpu_name(path), "GPU Ω")
        (self.folder / "results.csv").rename(self.folder / "other.csv")
        self.assertEqual(len(load(self.folder)), len(of_csv))
        result = self.plot(path, "--out", self.folder / "figures", "--format", "svg", "--only", "matmul")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("GPU Ω", (self.folder / "figures" / "matmul.svg").read_text(encoding="utf-8"))

    def test_what_is_no_results_json(self):
        path = self.write_json(self.report_of(small_results(), schema_version=2))
        self.check_refused(self.plot(path), "results.json: has schema_version 2; this version of gpuexp reads 3")
        self.check_refused(self.plot(self.write_json({"rows": []})), "results.json: not the results.json of a gpuexp run")
        path.write_text('{"rows": [')
        self.check_refused(self.plot(path), "results.json: cannot read as JSON")
        packed = self.write_json(self.report_of(small_results()), "results.json.zst")
        data = packed.read_bytes()
        packed.write_bytes(data[:-20])
        self.check_refused(self.plot(packed), "results.json.zst: truncated Zstandard data")
        packed.write_bytes(data[:8] + b"damaged" + data[15:])
        self.check_refused(self.plot(packed), "results.json.zst: damaged Zstandard data")

    def test_only_one_figure(self):
        path = self.write(small_results())
        result = self.plot(path, "--only", "alignment")
        self.assertEqual(result.stdout.split(), [str(self.folder / "alignment.png")])
        self.check_refused(self.plot(path, "--only", "nonesuch"), "nonesuch", "alignment")

    def runs_of_two(self, gpus=("GPU A", "GPU A"), **of_second):
        """A run with a baseline, and a run of the same cells with another baseline."""
        paths = []
        for name, gpu, baseline, times in (("ours", gpus[0], "copy", {"copy": 100, "tile": 200}),
                                           ("theirs", gpus[1], "eager", {"eager": 400, "triton": 125})):  # fmt: skip
            rows = [row("transpose", v, t, baseline=baseline, speedup=times[baseline] / t, key=f"e/transpose/{v}/n=64/cold",
                        **{"param.rows": 64, "param.columns": 64, "param.dtype": "fp32"},
                        **(of_second if name == "theirs" else {})) for v, t in times.items()]  # fmt: skip
            written = self.write(rows)
            paths.append(written.rename(self.folder / f"{name}.csv"))
            self.write_json(self.report_of([], provenance={"device": {"name": gpu}}), f"{name}.json")
        return paths

    def test_two_runs_are_drawn_together_over_the_first_ones_baseline(self):
        ours, theirs = self.runs_of_two()
        result = self.plot(ours, theirs, "--out", self.folder / "figures", "--format", "svg", "--only", "transpose")
        self.assertEqual(result.returncode, 0, result.stderr)
        text = (self.folder / "figures" / "transpose.svg").read_text(encoding="utf-8")
        for shown in ("relative to copy", "1.00", "0.50", "0.25", "0.80", "triton"):
            self.assertIn(f">{shown}<", text)
        self.assertNotIn(">3.20<", text)  # triton relative to eager
        self.assertIn("GPU A", text)

    def test_runs_that_do_not_belong_together_are_refused(self):
        self.check_refused(self.plot(*self.runs_of_two(("GPU A", "GPU B"))), "GPU A and GPU B")
        self.check_refused(self.plot(*self.runs_of_two(executed_on="simulated", predicted_time_us=5)), "measured and predicted")
        ours, _ = self.runs_of_two()
        self.check_refused(self.plot(ours, self.write(small_results())), "key")

    def test_columns_that_are_missing_cost_their_figure_alone(self):
        rows = [{k: v for k, v in r.items() if k != "param.fraction"} for r in small_results()]
        result = self.plot(self.write(rows))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("divergence: not drawn: rows with param.fraction are needed", result.stderr)
        self.assertTrue((self.folder / "matmul.png").exists())

    def test_nothing_passed(self):
        path = self.write([row("matmul", "naive", status="failed", **cube(64))])
        self.check_refused(self.plot(path), "no row passed", "nothing to draw")

    def test_what_is_no_results_csv(self):
        self.check_refused(self.plot(self.folder / "none.csv"), "none.csv: no such file")
        other = self.folder / "other.csv"
        other.write_text("a,b\n1,2\n")
        self.check_refused(self.plot(other), "other.csv: not the results of a gpuexp run", "experiment")
        other.write_bytes(b"")
        self.check_refused(self.plot(other), "other.csv: cannot read as CSV")
        other.write_bytes(b"\xff\xfe\x00\x01" * 9)
        self.check_refused(self.plot(other), "other.csv")
        self.check_refused(self.plot(self.folder), str(self.folder))


if __name__ == "__main__":
    unittest.main()
