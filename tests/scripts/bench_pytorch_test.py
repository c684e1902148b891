#!/usr/bin/env python3
"""bench_pytorch.py without a GPU: its cells and columns compared with the program's, its errors, and runs on a simulated GPU. Argument: the
program. pytorch_protocol_test.py tests its sampling, on_pytorch_test.py its computations."""

import csv
import importlib.util
import io
import itertools
import json
import math
import re
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

from requirements import require

require("zstandard")
from pytorch_fixtures import RECORDED, ROOT, SCRIPT, FakeCuda, group_of, recorded  # noqa: E402

import bench_pytorch  # noqa: E402
from plotting.recorded import read_json  # noqa: E402
from pytorch import operations, protocol, report, timing, tolerances  # noqa: E402

GPUEXP = None
LESSONS = ("fusion", "transpose", "reduction", "softmax", "normalization", "attention", "attention_backward", "training_step",
           "training_block")
RECORDED_LESSONS = tuple(name for name in LESSONS if (RECORDED / f"{name}.json.zst").exists())
HAS_TORCH = importlib.util.find_spec("torch") is not None


def program(*arguments):
    return subprocess.run([GPUEXP, *map(str, arguments)], capture_output=True, text=True, check=False)


def output_of(*arguments):
    done = program(*arguments)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def call(*arguments):
    command = [sys.executable, "-B", SCRIPT, *map(str, arguments)]
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)


class Cells(unittest.TestCase):
    def test_cells_are_the_programs(self):
        for name in LESSONS:
            config = operations.read_config(ROOT / "configs" / f"{name}.json", {}, {})
            own = [group.key("*") for group in config.groups]
            self.assertEqual(len(own), len(set(own)))
            planned = []
            for cell in json.loads(output_of("plan", name, "--json"))[0]["cells"]:
                experiment, family, _, values, mode = cell["key"].split("/")
                key = f"{experiment}/{family}/*/{values}/{mode}"
                is_swept = family == "fusion" and "chunk_l2_pct=11" not in values
                if family in operations.FAMILIES and mode == "cold" and not is_swept and key not in planned:
                    planned.append(key)
            self.assertEqual(own, planned)

    def test_settings_and_seeds_are_the_programs(self):
        for name in RECORDED_LESSONS:
            config = operations.read_config(ROOT / "configs" / f"{name}.json", {}, {})
            settings = recorded(name)["provenance"]["settings"]
            self.assertEqual(str(config.seed), settings["seed"])
            for group in config.groups:
                for key, value in vars(group.experiment.settings).items():
                    self.assertEqual(value, settings[f"{group.experiment.name}.{key}"], key)

    def test_bytes_and_operations_are_the_programs(self):
        for name in RECORDED_LESSONS:
            config = operations.read_config(ROOT / "configs" / f"{name}.json", {}, {})
            rows = {re.sub(r"^(\w+/\w+)/\w+/", r"\1/*/", row["key"]): row for row in recorded(name)["rows"]
                    if row["status"] in ("passed", "sampled")}  # fmt: skip
            for group in config.groups:
                row = rows[group.key("*")]
                useful, moved, count = operations.work(group)
                self.assertEqual((useful, moved, count or None), (row["useful_bytes"], row["moved_bytes"], row["operations"]))

    def test_bounds_are_those_that_the_program_held_results_to(self):
        """The bound is the recorded error divided by its share of the bound."""
        u = 2.0**-24
        for row in recorded("fusion")["rows"]:
            variants = {"ops": "pytorch_eager", "fused": "pytorch_eager", "fused_intrinsics": "triton"}
            if row["experiment"] != "expressions" or row["variant"] not in variants or not row["error_rms_over_allowed"]:
                continue
            if row["variant"] == "fused_intrinsics" and row["param.expression"] != "elu":
                continue  # Triton uses libdevice's sin and cos
            group = group_of(n=row["param.n"], expression=row["param.expression"], dtype=row["param.dtype"])
            bound = tolerances.tolerance(group, variants[row["variant"]])
            largest, rms = (3.0, value_rms_of_elu()) if row["param.expression"] == "elu" else (1.0, 1.0)
            allowed = tolerances.rms_allowed(bound, rms, bound.absolute + bound.relative * largest, row["param.n"])
            recorded_bound = row["error_rms_rel"] * rms / row["error_rms_over_allowed"]
            self.assertTrue(math.isclose(recorded_bound, allowed, rel_tol=1e-3), (row["key"], recorded_bound, allowed))
            if row["param.expression"] == "sin2_cos2" and row["param.dtype"] == "fp32":
                self.assertTrue(math.isclose(bound.relative, 22 * u, rel_tol=1e-5))
                self.assertTrue(math.isclose(row["error_max_rel"] / row["error_over_allowed"], bound.relative, rel_tol=1e-5))

    def test_the_bound_of_a_softmax_is_the_programs(self):
        """With this many elements, chance adds little to the bound on the RMS error."""
        rows = [row for row in recorded("softmax")["rows"]
                if row["experiment"] == "headline" and row["variant"] == "registers" and row["error_rms_over_allowed"]]  # fmt: skip
        self.assertEqual(len(rows), 2)
        for row in rows:
            values = {name: row[f"param.{name}"] for name in ("rows", "columns", "dtype", "scale")}
            bound = tolerances.tolerance(group_of(operations.SOFTMAX, **values), "pytorch_eager")
            allowed = row["error_rms_rel"] / row["error_rms_over_allowed"]
            self.assertGreater(allowed, bound.rms_relative)
            self.assertLess(allowed, 1.02 * bound.rms_relative)

    def test_sums_of_whole_numbers_are_exact(self):
        whole = group_of(operations.REDUCTION, numbers="whole")
        self.assertEqual(tolerances.tolerance(whole, "pytorch_eager"), tolerances.Tolerance())
        self.assertGreater(tolerances.tolerance(group_of(operations.REDUCTION), "pytorch_eager").relative, 0)
        self.assertEqual(operations.work(group_of(operations.REDUCTION, n=1000, dtype="bf16")), (2004, 2048, 1000))

    def test_weights_of_a_norm_are_bytes_as_well(self):
        values = {"rows": 10, "columns": 100, "dtype": "bf16"}
        for norm, arrays in (("layernorm", 2), ("rmsnorm", 1)):
            useful, _, _ = operations.work(group_of(operations.NORMALIZATION, norm=norm, **values))
            self.assertEqual(useful, 2 * 2000 + arrays * 200)

    def test_a_mean_far_from_zero_has_a_wider_bound(self):
        near, far = (tolerances.tolerance(group_of(operations.NORMALIZATION, offset=offset), "triton") for offset in (0, 128))
        self.assertGreater(far.rms_relative, 10 * near.rms_relative)
        self.assertEqual(far.relative, near.relative)

    def test_what_pytorch_does_otherwise_is_skipped(self):
        def reason(variant="sdpa_flash", memory_bytes=1 << 37, **values):
            return operations.unsupported(group_of(operations.ATTENTION, **values), variant, memory_bytes)

        self.assertIsNone(reason())
        self.assertIsNone(reason(mask="full", queries=1, keys=70))
        self.assertIn("window", reason(mask="window"))
        self.assertIn("first query", reason(queries=1, keys=70))
        self.assertIn("dropout", reason(dropout=0.1))
        self.assertIn("memory", reason("pytorch_eager", queries=1 << 18, keys=1 << 18))
        self.assertIsNone(reason("sdpa_cudnn", queries=1 << 18, keys=1 << 18))

    def test_variants_of_training_are_those_of_a_phase(self):
        def names(phase, **values):
            return [v.id.removeprefix("pytorch_") for v in group_of(operations.TRAINING_STEP, phase=phase, **values).variants()]

        self.assertEqual(names("step"), ["eager", "foreach", "compiled", "graph", "compiled_graph"])
        self.assertEqual(names("forward"), ["eager", "compiled"])
        self.assertEqual(names("update"), ["eager", "foreach"])

        def reason(variant, family=operations.TRAINING_STEP, **values):
            return operations.unsupported(group_of(family, **values), variant, 1 << 37)

        self.assertIsNone(reason("pytorch_foreach", dtype="bf16"))
        self.assertIn("GradScaler", reason("pytorch_foreach", dtype="fp16"))
        self.assertIn("overflows", reason("pytorch_eager", dtype="fp16", overflow="planted"))
        self.assertIsNone(reason("pytorch_eager", operations.TRAINING_BLOCK))
        self.assertIn("64", reason("pytorch_eager", operations.TRAINING_BLOCK, width=100))

    def test_a_block_has_the_operations_of_its_products(self):
        """Products of each token with four matrices, and twice as many backward, plus attention over earlier tokens. The rest is small."""
        values = {"sequences": 2, "tokens": 30, "width": 640, "hidden": 1280}
        products, seen = 2 * 60 * 640 * (4 * 640 + 2 * 1280), 2 * 30 * 31 // 2
        for phase, expected in (("forward", products + 2 * 2 * 640 * seen), ("backward", 2 * products + 5 * 2 * 640 * seen)):
            _, _, count = operations.work(group_of(operations.TRAINING_BLOCK, phase=phase, **values))
            self.assertTrue(expected < count < 1.01 * expected, phase)

    def test_a_transpose_is_held_to_every_bit(self):
        self.assertEqual(tolerances.tolerance(group_of(operations.TRANSPOSE), "triton"), tolerances.Tolerance())

    def test_moved_bytes_are_whole_sectors(self):
        self.assertEqual(operations.work(group_of(n=1000, dtype="bf16")), (4000, 4032, 5000))

    def test_experiments_may_be_chosen(self):
        printed = call("training_step", "--list", "--experiments", "phases", "--experiments", "over*").stdout.splitlines()
        self.assertEqual({key.split("/")[0] for key in printed}, {"phases", "overflow"})

    def test_an_axis_may_be_replaced(self):
        printed = call("transpose", "--list", "--set", "rows=3,5", "--set", "columns=4,6", "--variants", "triton")
        keys = [line for line in printed.stdout.splitlines() if line.startswith("square")]
        self.assertEqual([key.split("/")[3] for key in keys],
                         [f"rows={r},columns={c},dtype={t}" for r, c in ((3, 4), (5, 6)) for t in ("fp32", "bf16")])  # fmt: skip


def value_rms_of_elu():
    """For x uniform in [-3, 3): over the positive half, x² has the integral 9; over the negative half, (exp(x) - 1)² has the integral
    `below`."""
    below = (1 - math.exp(-6)) / 2 - 2 * (1 - math.exp(-3)) + 3
    return math.sqrt((9 + operations.ALPHA**2 * below) / 6)


class Mistakes(unittest.TestCase):
    def check_refused(self, arguments, *words):
        done = call(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_each_is_named_with_what_is_allowed(self):
        self.check_refused(["--operation", "gelu"], "gelu", "elu", "sin2_cos2", "transpose")
        self.check_refused(["fusion", "--experiments", "square"], "square", "sizes", "expressions")
        self.check_refused(["--operation", "elu", "--set", "n=0"], "n is 0", "a whole number from 1")
        self.check_refused(["--operation", "elu", "--set", "n=2.5"], "n is 2.5")
        self.check_refused(["--operation", "elu", "--set", "n=8589934592"], "8589934592 elements", "4294967296")
        self.check_refused(["--operation", "elu", "--set", "dtype=fp64"], "'fp64'", "fp32, bf16")
        self.check_refused(["--operation", "elu", "--set", "rows=4"], "no parameter 'rows'", "n, expression, dtype")
        self.check_refused(["--operation", "elu", "--set", "n"], "KEY=VALUE")
        self.check_refused(["--operation", "elu", "fusion"], "instead of configs")
        self.check_refused(["--operation", "elu", "--set", "measure.samples=4"], "'samples'", "min_samples")
        self.check_refused(["--operation", "elu", "--set", "measure.min_samples=2000"], "max_samples 1000")
        self.check_refused(["--operation", "elu", "--variants", "jax"], "jax", "pytorch_eager", "triton")
        self.check_refused(["--operation", "transpose", "--variants", "pytorch_eager_ops"], "no cell is left")
        self.check_refused(["no_such"], "no_such.json", "No such file")
        self.check_refused(["matmul"], "no experiment of fusion or transpose", "matmul")
        self.check_refused(["fusion", "fusion"], "two configs have this cell")
        self.check_refused(["fusion", "--set", "depth=3"], "depth", "no such parameter")
        self.check_refused(["--seed", "-1"], "below 2^64")

    def test_a_config_may_be_broken(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "broken.json"
            experiment = {"name": "e", "family": "fusion", "axes": {"n": {"from": 1, "to": 9}}}
            for text, words in [("{", "not a config"), ('{"experiments": [{}]}', "not a config"),
                                (json.dumps({"experiments": [experiment]}), "ranges"),
                                (json.dumps({"experiments": [{**experiment, "axes": {"n": [1, 2], "dtype": "fp32"},
                                                              "zip": [["n", "dtype"]]}]}), "equally many")]:  # fmt: skip
                file.write_text(text)
                with self.subTest(words):
                    self.check_refused([file], words)

    def test_without_pytorch(self):
        with mock.patch.object(importlib.util, "find_spec", return_value=None):
            for arguments, word in (([], "PyTorch"), (["--ptx", "90"], "Triton")):
                with self.assertRaisesRegex(bench_pytorch.Missing, f"{word} is not installed") as raised:
                    bench_pytorch.run(arguments)
                self.assertEqual(raised.exception.args[1], 7)
        if not HAS_TORCH:
            done = call("--operation", "elu")
            self.assertEqual((done.returncode, done.stdout), (7, ""))
            self.assertIn("python3 -m pip install torch", done.stderr)

    @unittest.skipUnless(HAS_TORCH, "no PyTorch")
    def test_without_a_gpu(self):
        with mock.patch("torch.cuda.is_available", return_value=False):
            with self.assertRaisesRegex(bench_pytorch.Missing, "no GPU") as raised:
                bench_pytorch.run(["--operation", "elu"])
        self.assertEqual(raised.exception.args[1], 5)


CONDITIONS = {"floor_us": 2.88, "flushed_bytes": 125829120, "l2_bytes": 62914560}
DEVICE = {"name": "NVIDIA H200", "executed_on": "gpu", "uuid": "GPU-2cf94ef1", "compute_capability": "9.0", "sm_count": 132,
          "driver_version": "580.159.04", "runtime_version": "13.0"}  # fmt: skip


def verification(**other):
    values = {"error_rms_rel": 1e-8, "error_max_rel": 2e-7, "error_over_allowed": 0.2, "error_rms_over_allowed": 0.1}
    return types.SimpleNamespace(**{**values, "passed": True, "reason": "", **other})


def finished(group, variant, median_us, count=20, stop="converged"):
    row = report.Row(group, next(v for v in operations.VARIANTS if v.id == variant))
    row.samples_us = [median_us + 0.032 * (7 * k % 5 - 2) for k in range(count)]
    row.statistics, row.stop_reason = protocol.summarize(row.samples_us, 0.032), stop
    row.status, row.reason, row.verification = "passed", "", verification()
    return row


class Files(unittest.TestCase):
    """results.csv and results.json can be read by the program."""

    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.folder = Path(self.directory.name)
        self.configs = bench_pytorch.configs_of(bench_pytorch.parsed([]))
        self.rows = [row for _, rows in bench_pytorch.rows_of(self.configs, []) for row in rows]

    def written(self, rows, complete=True, configs=None):
        provenance = bench_pytorch.provenance_of(configs or self.configs, {"pytorch": "2.11.0", "cuda": "13.0"}, DEVICE)
        families = list(dict.fromkeys(row.group.family for row in rows))
        folder = report.Folder(self.folder / "run", report.columns_of(families), provenance)
        folder.write(rows, CONDITIONS, {"modules": {}, "launches": []}, complete)
        return folder.path

    def some_rows(self):
        """Rows with each status and each optional number."""
        rows = self.rows
        for i, row in enumerate(rows):
            done = finished(row.group, row.variant.id, 500.0 + i)
            row.__dict__.update(done.__dict__)
        rows[0].launch = {"kernel_launches": 1, "grid_blocks": 262144, "block_threads": 128, "registers": 32, "shared_bytes": 0}
        rows[1].end("failed", 'RuntimeError: "x", and\nmore')
        rows[2].end("incorrect", "3 wrong elements")
        rows[2].verification = verification(error_over_allowed=math.inf, error_rms_over_allowed=math.nan)
        rows[4].end("skipped", "Triton is not installed")
        rows[5].end("not_run", "the run ended before it")
        rows[6].__dict__.update(finished(rows[6].group, rows[6].variant.id, 5.0, count=5, stop="max_seconds").__dict__)
        return rows

    def test_the_program_writes_the_same(self):
        path = self.written(self.some_rows())
        own = (path / "results.csv").read_bytes()
        self.assertEqual(output_of("report", path / "results.json", "--format", "csv").encode(), own.replace(b"\r\n", b"\n"))
        as_csv = self.folder / "report.csv"
        with as_csv.open("wb") as file:
            subprocess.run([GPUEXP, "report", path / "results.json", "--format", "csv"], stdout=file, check=True)
        self.assertEqual(as_csv.read_bytes(), own)
        written = json.loads((path / "results.json").read_text(encoding="utf-8"))
        self.assertTrue(json.loads(output_of("report", path / "results.json", "--format", "json")) == written)

    def test_results_are_valid_by_the_schema(self):
        if importlib.util.find_spec("jsonschema") is None:
            self.skipTest("no jsonschema")
        import jsonschema

        schema = json.loads((ROOT / "configs/schema/results.schema.json").read_text(encoding="utf-8"))
        written = json.loads((self.written(self.some_rows()) / "results.json").read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator(schema).validate(written)

    def test_columns_are_the_programs(self):
        fixed = [c["name"] for c in report.fixed_columns()]
        schema = json.loads(output_of("schema", "results"))["$defs"]["row"]["properties"]
        self.assertEqual(fixed, [name for name in schema if name not in ("samples_us", "host", "gpu_uuid")])
        for column in report.fixed_columns():
            unit = f" ({column['unit']})" if column["unit"] else ""
            self.assertEqual(column["doc"] + unit, schema[column["name"]]["description"])
        for name, family in (("fusion", operations.FUSION), ("transpose", operations.TRANSPOSE), ("softmax", operations.SOFTMAX)):
            theirs = {c["name"]: c for c in recorded(name)["columns"] if c["name"].startswith(("param.", "metric."))}
            ours = [c for c in report.columns_of([family]) if c["name"].startswith(("param.", "metric."))]
            self.check_columns(ours, theirs, name)
            self.assertEqual([c["name"] for c in ours], [n for n in theirs if n not in ("param.m", "param.k", "param.dropout")])
        for name, family in (("reduction", operations.REDUCTION), ("training_step", operations.TRAINING_STEP)):
            theirs = {c["name"]: c for c in recorded(name)["columns"]}
            self.check_columns(report.columns_of([family])[len(fixed) :], theirs, name)

    def check_columns(self, ours, recorded_columns, family):
        """Names, units and types are those of recorded results; descriptions are the program's, which may be newer."""
        described = " ".join(output_of("describe", family).split())
        for column in ours:
            theirs = recorded_columns[column["name"]]
            self.assertEqual({**column, "doc": ""}, {**theirs, "doc": ""})
            if column["name"].startswith(("param.", "metric.")):
                self.assertIn(": " + " ".join(column["doc"].split()), described)

    def test_the_header_is_that_of_the_programs_runs(self):
        """Compares with a run of the same families, except for counters."""
        done = program("run", "transpose", "--simulate", "h200", "--set", "rows=64", "--set", "columns=64", "--filter",
                       "transpose/copy", "--out", self.folder / "simulated")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        theirs = (self.folder / "simulated" / "results.csv").read_text(encoding="utf-8").splitlines()[0]
        rows = [row for row in self.some_rows() if row.group.family is operations.TRANSPOSE]
        ours = (self.written(rows) / "results.csv").read_text(encoding="utf-8").splitlines()[0]
        self.assertEqual(ours, theirs)

    def test_rows_hold_what_is_known(self):
        rows = list(csv.DictReader(io.StringIO((self.written(self.some_rows()) / "results.csv").read_text(encoding="utf-8"))))
        eager, failed, wrong, _, skipped, ended, capped = rows[:7]
        self.assertEqual((eager["variant"], eager["implementation"], eager["time_median_us"]), ("pytorch_eager", "library", "500"))
        self.assertEqual((eager["speedup"], eager["baseline"], eager["compare_to"]), ("1", "pytorch_eager", ""))
        self.assertEqual(float(eager["useful_gb_per_s"]), 2**31 / 500.0 / 1e3)
        self.assertEqual((eager["flags"], eager["cache_state"], eager["grid_blocks"]), ("", "flushed", "262144"))
        for row in (failed, wrong, skipped, ended):
            self.assertEqual((row["time_median_us"], row["speedup"], row["useful_gb_per_s"]), ("", "", ""))
            self.assertNotEqual(row["reason"], "")
        self.assertEqual((wrong["error_over_allowed"], wrong["error_max_rel"]), ("", "2e-07"))
        self.assertEqual(capped["flags"], "few_samples;near_floor")
        compiled = next(row for row in rows if row["key"].startswith("square/transpose/pytorch_compiled"))
        self.assertTrue(math.isclose(float(compiled["speedup"]), 532 / 533, rel_tol=1e-3))
        self.assertEqual(compiled["compare_to"], "pytorch_eager")
        small = next(row for row in rows if row["key"].startswith("sizes/fusion/triton/n=1000,"))
        self.assertEqual((small["flags"], small["metric.passes"]), ("output_in_l2", "2"))

    def test_compare_sets_variants_of_two_files_side_by_side(self):
        rows = [finished(row.group, row.variant.id, 700.0) for row in self.rows if row.group.family is operations.FUSION]
        path = self.written(rows)
        done = program("compare", RECORDED / "fusion.json.zst", path / "results.json", "--variants", "fused=triton,ops=pytorch_eager",
                       "--csv", self.folder / "c.csv")  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        text = (self.folder / "c.csv").read_text(encoding="utf-8")
        compared = {row["key"]: row for row in csv.DictReader(io.StringIO(text))}
        problem = "n=268435456,expression=elu,dtype=fp32,chunk_l2_pct=11/cold"
        self.assertEqual(compared[f"expressions/fusion/fused → triton/{problem}"]["outcome"], "slower")
        self.assertEqual(compared[f"expressions/fusion/ops → pytorch_eager/{problem}"]["outcome"], "faster")
        ratio = float(compared[f"expressions/fusion/fused → triton/{problem}"]["ratio"])
        self.assertAlmostEqual(ratio, 700 / 507.92, delta=0.01)
        refused = program("compare", RECORDED / "fusion.json.zst", path / "results.json", "--variants", "fused=jax")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no row of variant 'jax'; expected one of: pytorch_eager, pytorch_compiled, triton", refused.stderr)


class FakeProblem:
    """The members of torch_operations.Problem that Bench uses."""

    def __init__(self, group, seed, device):
        self.group, self.whole = group, True

    def poison(self):
        self.result = math.nan

    def inputs_are_whole(self):
        return self.whole


class RunsOfBench(unittest.TestCase):
    """run_group with simulated launches instead of PyTorch."""

    def run_group(self, behaviours, is_ended=lambda: False, **settings):
        """`behaviours`: per variant, what a launch does, given a problem and the number of the launch."""
        cuda = FakeCuda()

        def launch_of(problem, variant, _):
            numbers = itertools.count()

            def launch():
                behaviours.get(variant, lambda *_: None)(problem, next(numbers))
                cuda.launch()
                return problem

            return launch

        def verify(problem, result, _):
            return verification(passed=problem.whole, reason="" if problem.whole else "1 wrong elements")

        module = types.SimpleNamespace(problem_of=FakeProblem, launch_of=launch_of, verify=verify)
        group = group_of(n=1 << 28, settings=protocol.MeasureSettings(**settings))
        rows = [report.Row(group, v) for v in group.variants() if v.id != "triton"]
        bench = bench_pytorch.Bench(timing.GatedTimer(cuda, cuda.flush), 0.032, object(), is_ended, lambda: None, 1 << 40, "cpu")
        with mock.patch.dict(sys.modules, {"pytorch.torch_operations": module}), \
                mock.patch.object(sys.modules["pytorch"], "torch_operations", module, create=True):  # fmt: skip
            bench.run_group(0, 7, rows)
        return {row.variant.id: row for row in rows}

    def test_all_pass(self):
        for row in self.run_group({}, min_seconds=0).values():
            self.assertEqual((row.status, row.reason, row.stop_reason), ("passed", "", "converged"))
            self.assertAlmostEqual(row.statistics.median, 50.0)

    def test_one_that_fails_leaves_the_others(self):
        def fails(*_):
            raise RuntimeError("no kernel image\nis available")

        rows = self.run_group({"pytorch_compiled": fails})
        self.assertEqual((rows["pytorch_compiled"].status, rows["pytorch_compiled"].reason), ("failed", "RuntimeError: no kernel image"))
        self.assertIsNone(rows["pytorch_compiled"].statistics)
        self.assertEqual(rows["pytorch_eager"].status, "passed")

    def test_wrong_after_timing_has_no_time(self):
        def spoils(problem, number):
            problem.whole = number < 10

        rows = self.run_group({"pytorch_eager": spoils})
        self.assertEqual(rows["pytorch_eager"].status, "incorrect")
        self.assertIn("(after timing)", rows["pytorch_eager"].reason)
        self.assertEqual((rows["pytorch_eager"].samples_us, rows["pytorch_eager"].statistics), ([], None))

    def test_an_interrupt_keeps_samples(self):
        launches = itertools.count()
        rows = self.run_group({v: lambda *_: next(launches) for v in ("pytorch_eager", "pytorch_compiled")},
                              is_ended=lambda: next(launches) > 40, max_samples=1000, target_relative_ci=0)  # fmt: skip
        for row in rows.values():
            self.assertEqual((row.status, row.stop_reason), ("passed", "interrupted"))
            self.assertTrue(0 < len(row.samples_us) < 1000)

    def test_without_triton_variants_that_need_it_are_skipped(self):
        group = group_of(n=1000)
        bench = bench_pytorch.Bench(None, 0.032, None, lambda: False, None, 1 << 40, "cpu")
        module = types.SimpleNamespace()
        with mock.patch.object(sys.modules["pytorch"], "torch_operations", module, create=True):
            for variant in group.variants():
                if variant.id in bench_pytorch.NEED:
                    row = report.Row(group, variant)
                    self.assertIsNone(bench.prepared(None, row))
                    self.assertEqual((row.status, "Triton" in row.reason), ("skipped", True))


class KeptKernels(unittest.TestCase):
    """Output of --ptx, which tests/sim/triton_test.cpp assembles and executes."""

    def test_launches_are_whole(self):
        files = [ROOT / "tests/sim/data/triton_kernels.json", *(ROOT / "docs/results").glob("*/pytorch/kernels.json.zst")]
        for file in files:
            kept = read_json(file)
            self.assertEqual({launch["module"] for launch in kept["launches"]}, set(kept["modules"]))
            for launch in kept["launches"]:
                with self.subTest(f"{file} {launch['key']}"):
                    self.check_launch(launch, kept["modules"][launch["module"]])

    def check_launch(self, launch, module):
        ptx = module["ptx"]
        entry = re.search(rf"\.entry {launch['kernel']}\((.*?)\)", ptx, re.DOTALL)[1]
        self.assertEqual(entry.count(".param "), len(launch["arguments"]) + launch["null_pointers"])
        self.assertIn(f".reqntid {launch['block_threads']}", ptx)
        self.assertIn(f".target {module['target']}", ptx)
        self.assertNotIn(".file", ptx)  # it would contain a path
        values = {a["name"]: a.get("value") for a in launch["arguments"]}
        constants = launch["constants"]
        if launch["kernel"] == "transpose_kernel":
            tiles = [-(-values[axis] // constants[f"TILE_{axis.upper()}"]) for axis in ("rows", "columns")]
            self.assertEqual(launch["grid"], [tiles[0] * tiles[1], 1, 1])
        elif launch["kernel"] in ("softmax_kernel", "norm_kernel"):
            self.assertLessEqual(values["columns"], constants["BLOCK"])
        else:
            self.assertEqual(launch["grid"], [-(-values["n"] // constants["BLOCK"]), 1, 1])
        rows = values["rows"] if "rows" in values else launch["grid"][0]
        for argument in launch["arguments"][:2]:
            width = 4 if argument["type"] == "*fp32" else 2
            count = values["n"] if "n" in values else rows * values["columns"]
            self.assertEqual(argument["bytes"], width * count)


if __name__ == "__main__":
    GPUEXP = sys.argv.pop(1)
    unittest.main()
