#!/usr/bin/env python3
"""Problems that span GPUs, on a machine with several: every variant at small, irregular sizes, and runs in which a rank's worker is killed,
stops or loses its parent. Arguments: the program, and the library that replaces a profiler. Skipped if fewer than two GPUs reach each
other."""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

SKIPPED = 4
GPUEXP = None
NVTX_INJECTION = None
SIZES = [1, 3, 31, 129, 1001, 4096, 65537]
FAMILIES = {
    "peer_copy": {"n": SIZES, "pattern": ["one_way", "ring", "all_pairs"]},
    "collectives": {
        "n": SIZES,
        "operation": ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "shift"],
        "dtype": ["fp32", "bf16"],
        "in_place": ["no", "yes"],
    },
    "peer_latency": {"steps": [1, 2, 33, 4097]},
    "data_parallel": {"n": SIZES, "buckets": [1, 3], "cost": [0, 5], "dtype": ["fp32", "bf16"]},
    "tensor_parallel": {
        "m": [1, 24, 65, 264, 1024, 4096], "n": [3, 9, 130, 136, 1032, 8200], "k": [1, 40, 75, 72, 520, 72],
        "split": ["rows", "columns", "k", "grid"],
        "result": ["everywhere", "parts"],
    },
    "mlp_parallel": {"tokens": [1, 24, 65, 136, 1024], "width": [3, 9, 30, 40, 520], "hidden": [1, 20, 75, 136, 1032]},
    "pipeline_parallel": {"tokens": [1, 65, 264, 1024], "width": [9, 40, 136, 72], "layers": [1, 2], "batches": [1, 3, 8]},
}
ZIPPED = [{"m", "n", "k"}, {"tokens", "width", "hidden"}]


def gpus():
    result = subprocess.run([GPUEXP, "info", "--json"], capture_output=True, text=True, check=False)
    topology = json.loads(result.stdout).get("topology") or {"gpus": [], "links": []}
    return len(topology["gpus"]) if all(link["peer_access"] for link in topology["links"]) else 0


def workers():
    """Worker processes of this program: (id, device)."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            words = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if len(words) > 3 and words[1] == b"worker" and Path(GPUEXP).name == Path(words[0].decode()).name:
            found.append((int(folder.name), words[words.index(b"--device") + 1].decode()))
    return found


class SeveralGpusTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        self.folder = Path(self.directory.name)

    def tearDown(self):
        deadline = time.monotonic() + 5
        while workers() and time.monotonic() < deadline:
            time.sleep(0.1)
        self.assertEqual(workers(), [], "workers stay behind")

    def config(self, **experiment):
        path = self.folder / "config.json"
        measure = experiment.pop("measure", {"min_samples": 3, "max_samples": 3})
        path.write_text(json.dumps({"name": "ranks", "experiments": [{"name": "e", "measure": measure, **experiment}]}), encoding="utf-8")
        return path

    def rows(self, name):
        with open(self.folder / name / "results.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def start(self, config, name):
        command = [GPUEXP, "run", config, "--out", self.folder / name]
        return subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def worker_of(self, device):
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            found = [number for number, of in workers() if of == device]
            if found:
                return found[0]
            time.sleep(0.01)
        self.fail(f"no worker of device {device}")

    def test_every_variant_is_right_on_small_awkward_problems(self):
        counts = [count for count in (2, 3, 4, 8) if count <= gpus()]
        for family, choices in FAMILIES.items():
            zipped = [sorted(axes & set(choices)) for axes in ZIPPED if len(axes & set(choices)) > 1]
            zips = {"zip": zipped} if zipped else {}
            config = self.config(family=family, axes={"gpus": counts, **choices}, modes=["warm", "cold"], **zips)
            result = subprocess.run([GPUEXP, "run", config, "--out", self.folder / family, "--quiet"], capture_output=True, text=True, check=False)
            self.assertEqual(result.returncode, 0, result.stderr)
            passed = [row for row in self.rows(family) if row["status"] == "passed"]
            self.assertTrue(passed)
            self.assertEqual({row["gpus"] for row in passed}, {str(count) for count in counts})
            provenance = json.loads((self.folder / family / "results.json").read_text(encoding="utf-8"))["provenance"]
            self.assertEqual([rank["rank"] for rank in provenance["ranks"]], list(range(counts[-1])))
            self.assertEqual(len({rank["gpu_uuid"] for rank in provenance["ranks"]}), counts[-1])
            self.assertEqual(provenance["ranks"][0]["gpu_uuid"], provenance["device"]["uuid"])
            self.assertTrue(all(rank["processors"] for rank in provenance["ranks"]))
            for row in passed:
                self.assertLess(abs(float(row["skew_us"])), 1.0, row["key"])

    def long_config(self):
        return self.config(family="peer_copy", axes={"n": [16777216, 16777212, 16777208], "pattern": "ring", "gpus": 2}, modes=["cold"],
                           measure={"min_samples": 2000, "max_samples": 2000, "min_seconds": 0.5, "max_seconds": 0.5})

    def test_ranks_mark_their_launches_for_profilers(self):
        path = self.config(family="peer_copy", variants=["loads"], axes={"n": [1001], "pattern": ["ring"], "gpus": [2]}, modes=["cold"])
        events = self.folder / "events"
        environment = {**os.environ, "NVTX_INJECTION64_PATH": NVTX_INJECTION, "GPUEXP_NVTX_EVENTS": str(events)}
        for phases, flags in (({"verify", "warm-up", "measure"}, []), ({"verify", "measure"}, ["--profile"])):
            with self.subTest(flags=flags):
                done = subprocess.run([GPUEXP, "run", path, "--out", self.folder / f"results{len(flags)}", *flags], capture_output=True,
                                      text=True, timeout=120, env=environment, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("an injected library is attached: running with --no-gate", done.stderr)
                for rank in (0, 1):
                    launch = f"push gpuexp rank {rank} peer_copy/loads/n=1001,pattern=ring,gpus=2/"
                    files = [f for f in self.folder.glob("events.*") if launch in f.read_text(encoding="utf-8")]
                    self.assertEqual(len(files), 1, "a rank is one process")
                    lines = files[0].read_text(encoding="utf-8").splitlines()
                    pushed = {lines[i + 1] for i, line in enumerate(lines) if line.startswith(launch)}
                    self.assertEqual(pushed, {f"push gpuexp {phase}" for phase in phases})
                for file in self.folder.glob("events.*"):
                    file.unlink()

    def test_a_worker_that_is_killed_costs_nothing_but_time(self):
        for device in ("0", "1"):
            with self.subTest(device=device):
                run = self.start(self.long_config(), "killed" + device)
                victim = self.worker_of(device)
                time.sleep(3)
                os.kill(victim, signal.SIGKILL)
                errors = run.communicate(timeout=120)[1].decode()
                self.assertEqual(run.returncode, 0, errors)
                self.assertEqual({row["status"] for row in self.rows("killed" + device)}, {"passed"})
                self.assertRegex(errors, f"lost and reopened once: rank {device}: the worker process ended during .*: signal 9")

    def test_a_worker_that_stops_costs_its_cell_and_is_named(self):
        run = self.start(self.long_config(), "stopped")
        victim = self.worker_of("1")
        time.sleep(3)
        os.kill(victim, signal.SIGSTOP)
        self.assertEqual(run.wait(120), 4, run.stderr.read())
        run.stderr.close()
        failed = [row for row in self.rows("stopped") if row["status"] != "passed"]
        self.assertEqual(len(failed), 1)
        self.assertIn("rank 1", failed[0]["reason"])

    def test_workers_end_with_the_process_that_started_them(self):
        run = self.start(self.long_config(), "orphaned")
        self.worker_of("1")
        time.sleep(2)
        run.kill()
        run.wait(10)
        run.stderr.close()

    def ranks_of(self, config, name, visible, *options, ranks=2):
        """Processes as a launcher starts them, each with these visible GPUs."""
        started = []
        for rank, devices in enumerate(visible):
            environment = dict(os.environ, GPUEXP_RANK=str(rank), GPUEXP_RANKS=str(ranks), GPUEXP_JOB_ID=name, GPUEXP_JOB_DIR=str(self.folder / "jobs"))
            if devices is not None:
                environment["CUDA_VISIBLE_DEVICES"] = devices
            command = [GPUEXP, "run", config, "--out", self.folder / name, "--quiet", *options]
            started.append(subprocess.Popen(list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment, text=True))
        return started

    def launched(self, config, name, visible):
        """Their exit codes."""
        return [rank.wait(300) for rank in self.closed(self.ranks_of(config, name, visible))]

    def closed(self, processes):
        for process in processes:
            self.addCleanup(process.stderr.close)
        return processes

    def test_a_rank_that_never_comes_is_named(self):
        for ranks, missing in ((2, 1), (3, 2)):
            with self.subTest(ranks=ranks):
                began = time.monotonic()
                present = self.ranks_of(self.long_config(), f"missing{missing}", [None] * missing, "--rank-timeout", 3, ranks=ranks)
                first = self.closed(present)[0].communicate(timeout=60)[1]
                self.assertIn(f"rank {missing} of {ranks} did not connect within 3 s", first)
                self.assertNotEqual(present[0].returncode, 0)
                for other in present[1:]:
                    other.wait(60)
                self.assertLess(time.monotonic() - began, 30)

    def test_a_rank_of_a_launcher_that_is_killed_ends_the_run_and_is_named(self):
        first, second = self.closed(self.ranks_of(self.long_config(), "lost", (None, None)))
        deadline = time.monotonic() + 30
        while len(workers()) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(3)
        second.kill()
        second.wait(10)
        errors = first.communicate(timeout=120)[1]
        self.assertNotEqual(first.returncode, 0)
        self.assertRegex(errors, "rank 1.*--resume")

    def test_processes_of_a_launcher_are_one_run(self):
        for name, visible in {"both_seen": (None, None), "own_seen": ("0", "1")}.items():
            for family, choices in FAMILIES.items():
                with self.subTest(visible=visible, family=family):
                    problem = {name: values[0] if isinstance(values[0], str) else values[-1] for name, values in choices.items()}
                    config = self.config(family=family, axes={"gpus": 2, **problem}, modes=["warm"])
                    self.assertEqual(self.launched(config, name + family, visible), [0, 0])
                    self.assertIn("passed", {row["status"] for row in self.rows(name + family)})

    def test_ranks_with_one_gpu_are_named(self):
        config = self.config(family="peer_copy", axes={"n": 4096, "pattern": "ring", "gpus": 2}, modes=["warm"])
        self.assertEqual(self.launched(config, "one_gpu", ("0", "0")), [4, 0])
        reasons = {row["reason"] for row in self.rows("one_gpu") if row["status"] == "failed"}
        self.assertEqual(len(reasons), 1, reasons)
        self.assertRegex(reasons.pop(), "^rank 1: its GPU, GPU-.*, is also used by rank 0")


if __name__ == "__main__":
    GPUEXP, NVTX_INJECTION = (str(Path(sys.argv.pop(1)).resolve()) for _ in range(2))
    if gpus() < 2:
        print("skipped: fewer than two GPUs that reach each other's memory")
        sys.exit(SKIPPED)
    unittest.main()
