#!/usr/bin/env python3
"""A run of several processes that a launcher started: Open MPI's mpirun, or any launcher that sets environment variables.

No GPU is needed: ranks are fake ones, or the kernels are executed on the CPU. No test leaves a process.
Arguments: the program of the worker tests, whose ranks are fake, and the program, if it was built. Tests under mpirun are skipped
without mpirun.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from pathlib import Path

from requirements import SKIPPED, skip

RANKS = sys.argv.pop(1)
GPUEXP = sys.argv.pop(1) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
MPIRUN = [shutil.which("mpirun"), "--allow-run-as-root", "--oversubscribe"]
RANK_LOST = 7
MARK = "GPUEXP_TEST_MARK"
CONFIG = {
    "name": "launched",
    "experiments": [{"family": "matmul", "variants": ["naive", "coalesced"], "axes": {"m": [64, 96, 128], "n": [192, 256], "k": [256, 320]},
                     "modes": ["cold"]}],
}


def simulates():
    if not GPUEXP:
        return False
    described = subprocess.run([GPUEXP, "describe", "matmul"], capture_output=True, text=True, check=False).stdout
    return "not known: " not in described


class LaunchedTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="gpuexp-launched-")
        self.addCleanup(directory.cleanup)
        self.folder = Path(directory.name)
        self.mark = uuid.uuid4().hex
        # Removes variables of a launcher that started this test.
        foreign = ("OMPI_", "PMI_", "PMIX_", "SLURM_", "GPUEXP_RANK", "GPUEXP_JOB")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        self.environment |= {MARK: self.mark, "GPUEXP_JOB_DIR": str(self.folder / "jobs"), "CUDA_VISIBLE_DEVICES": "-1",
                             "GPUEXP_CACHE_DIR": str(self.folder / "cache")}
        self.config = self.folder / "launched.json"
        self.config.write_text(json.dumps(CONFIG), encoding="utf-8")

    def tearDown(self):
        left = self.processes()
        until = time.monotonic() + 10
        while left and time.monotonic() < until:
            time.sleep(0.05)
            left = self.processes()
        for process in left:
            os.kill(process, signal.SIGKILL)
        self.assertEqual(left, [], "processes stay behind")
        jobs = self.folder / "jobs"
        self.assertEqual(list(jobs.iterdir()) if jobs.exists() else [], [], "an invitation stays behind")

    def processes(self, variable=None):
        """Processes that this test has started, and their children, found by an inherited environment variable."""
        found = []
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit():
                continue
            try:
                variables = (folder / "environ").read_bytes().decode(errors="replace").split("\0")
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if f"{MARK}={self.mark}" in variables and (variable is None or (variable in variables and b"rank" not in words[1:2])):
                found.append(int(folder.name))
        return found

    def wait_for(self, what, is_true, seconds=30):
        until = time.monotonic() + seconds
        while not is_true():
            self.assertLess(time.monotonic(), until, f"{what}: not within {seconds} s")
            time.sleep(0.02)

    def start(self, command, **variables):
        return subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment | variables)

    def start_ranks(self, count, command):
        """Starts one process per rank, with its rank in the environment, like any launcher."""
        return [self.start(command, GPUEXP_RANK=str(rank), GPUEXP_RANKS=str(count), GPUEXP_JOB_ID=self.mark)
                for rank in range(count)]

    @staticmethod
    def ended(process, seconds=90):
        out, err = process.communicate(timeout=seconds)
        return process.returncode, out, err


@unittest.skipUnless(MPIRUN[0], "no mpirun")
class MpirunTest(LaunchedTest):
    def mpirun(self, count, command):
        return self.start([*MPIRUN, "-n", count, *command])

    def fake_ranks(self, fault):
        return self.mpirun(4, [RANKS, "job", self.folder / "jobs", fault])

    def test_four_ranks_are_one_run(self):
        code, out, err = self.ended(self.fake_ranks("none"))
        self.assertEqual(out.split("\n"), ["passed: "] * 4 + [""], err)
        self.assertEqual(code, 0)

    def test_a_killed_worker_costs_its_cell(self):
        code, out, err = self.ended(self.fake_ranks("kill_launch"))
        self.assertRegex(out, r"^passed: \nfailed: rank 1: the worker process ended during launch of second: signal 9.*\npassed: \npassed: \n$")
        self.assertEqual(code, 0, err)

    def of_rank(self, rank):
        return self.processes(f"OMPI_COMM_WORLD_RANK={rank}")

    def slow_run(self):
        """A job in which every rank has its worker."""
        process = self.fake_ranks("slow")
        self.wait_for("four workers", lambda: len(self.processes()) >= 1 + 4 + 4)
        return process

    def test_a_killed_agent_ends_the_run(self):
        process = self.slow_run()
        for victim in self.of_rank(2):
            os.kill(victim, signal.SIGKILL)
        code, out, _ = self.ended(process, 20)
        self.assertNotEqual(code, 0)
        self.assertNotIn("passed", out)

    def test_ctrl_c_leaves_no_process(self):
        process = self.slow_run()
        process.send_signal(signal.SIGINT)
        self.assertNotEqual(self.ended(process, 20)[0], 0)

    @unittest.skipUnless(GPUEXP, "built without CUDA")
    def test_without_a_gpu_rank_0_says_so_once(self):
        out_folder = self.folder / "out"
        code, out, err = self.ended(self.mpirun(3, [GPUEXP, "run", self.config, "--out", out_folder]))
        self.assertEqual(code, 5, err)
        self.assertEqual(err.count("gpuexp: no GPU: "), 1, err)
        self.assertEqual(err.count("gpuexp: "), 2, err)  # the other is about --simulate
        self.assertEqual(out, "")
        self.assertFalse(out_folder.exists())

    @unittest.skipUnless(simulates(), "nothing can be simulated")
    def test_a_killed_launcher_ends_the_run(self):
        log = self.folder / "out" / "log.jsonl"
        process = self.mpirun(3, [GPUEXP, "run", self.config, "--simulate", "h200", "--out", log.parent])
        self.wait_for("two rows", lambda: log.exists() and log.read_text().count('"row"') >= 2)
        process.kill()
        self.ended(process, 20)
        self.wait_for("the end of all", lambda: not self.processes())
        self.assertFalse(json.loads((log.parent / "results.json").read_text())["complete"], "it went on to its end")

    @unittest.skipUnless(simulates(), "nothing can be simulated")
    def test_one_run_writes_its_results_once(self):
        out_folder = self.folder / "out"
        code, out, err = self.ended(self.mpirun(4, [GPUEXP, "run", self.config, "--simulate", "h200", "--blocks", "2", "--out", out_folder]))
        self.assertEqual(code, 0, err)
        self.assertEqual(out.count(" rows: "), 1, out)
        self.assertEqual(err.count("results are in"), 1, err)
        self.assertEqual(len(json.loads((out_folder / "results.json").read_text())["rows"]), 24)


class AnyLauncherTest(LaunchedTest):
    def test_a_killed_agent_ends_the_run_with_its_code(self):
        ranks = self.start_ranks(4, [RANKS, "job", self.folder / "jobs", "slow"])
        self.wait_for("four workers", lambda: len(self.processes()) >= 4 + 4)
        ranks[2].kill()
        code, out, err = self.ended(ranks[0], 20)
        self.assertEqual(code, RANK_LOST, err)
        self.assertRegex(out, "^lost: rank 2 is lost: the connection to its agent")
        for rank in (1, 3):
            self.assertEqual(self.ended(ranks[rank], 5), (0, "", ""))
        self.ended(ranks[2])

    def test_agents_end_when_rank_0_is_killed(self):
        ranks = self.start_ranks(4, [RANKS, "job", self.folder / "jobs", "slow"])
        self.wait_for("four workers", lambda: len(self.processes()) >= 4 + 4)
        ranks[0].kill()
        for rank in (1, 2, 3):
            self.assertEqual(self.ended(ranks[rank], 10), (RANK_LOST, "", f"rank {rank}: rank 0 was lost\n"))
        self.ended(ranks[0])


@unittest.skipUnless(GPUEXP, "built without CUDA")
class ProgramTest(LaunchedTest):
    def command(self, *words):
        return [GPUEXP, "run", self.config, "--out", self.folder / "out", *words]

    def test_without_a_gpu_agents_are_silent(self):
        ranks = self.start_ranks(3, self.command())
        code, _, err = self.ended(ranks[0])
        self.assertEqual(code, 5)
        self.assertIn("gpuexp: no GPU: ", err)
        for rank in (1, 2):
            self.assertEqual(self.ended(ranks[rank]), (0, "", ""))

    def test_a_mistake_is_told_once(self):
        ranks = self.start_ranks(3, [GPUEXP, "run", "no_such_config"])
        self.assertEqual(self.ended(ranks[0])[0], 2)
        for rank in (1, 2):
            self.assertEqual(self.ended(ranks[rank]), (0, "", ""))

    def test_ranks_that_do_not_come_are_named(self):
        began = time.monotonic()
        rank_0 = self.start(self.command("--rank-timeout", "1"), GPUEXP_RANK="0", GPUEXP_RANKS="3", GPUEXP_JOB_ID=self.mark)
        self.assertEqual(self.ended(rank_0), (RANK_LOST, "", "gpuexp: ranks 1, 2 of 3 did not connect within 1 s; --rank-timeout allows more time, and --ranks here waits for no other process\n"))
        rank_1 = self.start(self.command("--rank-timeout", "1"), GPUEXP_RANK="1", GPUEXP_RANKS="3", GPUEXP_JOB_ID=self.mark)
        code, _, err = self.ended(rank_1)
        self.assertEqual(code, RANK_LOST)
        self.assertRegex(err, r"^gpuexp: rank 1: rank 0 did not accept this process within 1 s: .*job-.*: No such file or directory\n$")
        self.assertLess(time.monotonic() - began, 20)

    def test_processes_that_want_different_things_are_no_run(self):
        ranks = [self.start([GPUEXP, "run", self.config, "--out", self.folder / f"out{rank}"], GPUEXP_RANK=str(rank), GPUEXP_RANKS="2",
                            GPUEXP_JOB_ID=self.mark) for rank in range(2)]
        code, _, err = self.ended(ranks[0])
        self.assertEqual(code, 2)
        self.assertIn("rank 1 was started with different arguments than rank 0: run", err)
        self.assertEqual(self.ended(ranks[1]), (0, "", ""))

    def test_a_secret_from_the_environment_needs_no_folder(self):
        self.environment |= {"GPUEXP_JOB_SECRET": uuid.uuid4().hex, "GPUEXP_JOB_DIR": "/nowhere"}
        ranks = self.start_ranks(2, self.command())
        code, _, err = self.ended(ranks[0])
        self.assertEqual(code, 2)
        self.assertIn("the other ranks also need a port: set --listen HOST:PORT", err)
        for rank in ranks[1:]:
            rank.kill()
            self.ended(rank)
        ranks = self.start_ranks(2, self.command("--listen", f"127.0.0.1:{self.free_port()}"))
        self.assertEqual(self.ended(ranks[0])[0], 5)
        self.assertEqual(self.ended(ranks[1]), (0, "", ""))

    @staticmethod
    def free_port():
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return one.getsockname()[1]

    def test_a_launcher_that_was_asked_for_has_to_be_there(self):
        code, _, err = self.ended(self.start(self.command("--ranks", "launcher")))
        self.assertEqual(code, 2)
        self.assertIn("--ranks launcher: the environment names no launch of several processes", err)

    def test_shards_and_ranks_here_are_runs_of_their_own(self):
        for words in (["--shard", "2/2"], ["--ranks", "here"]):
            alone = self.start(self.command(*words), GPUEXP_RANK="1", GPUEXP_RANKS="2", GPUEXP_JOB_ID=self.mark)
            code, _, err = self.ended(alone)
            self.assertEqual(code, 5)
            self.assertIn("gpuexp: no GPU: ", err)

    @unittest.skipUnless(simulates(), "nothing can be simulated")
    def test_a_lost_agent_ends_the_run_and_resume_goes_on(self):
        ranks = self.start_ranks(3, self.command("--simulate", "h200"))
        log = self.folder / "out" / "log.jsonl"
        self.wait_for("two rows", lambda: log.exists() and log.read_text().count('"row"') >= 2)
        ranks[1].kill()
        code, out, err = self.ended(ranks[0])
        self.assertEqual(code, RANK_LOST, err)
        self.assertEqual(out, "")
        self.assertIn("rank 1 is lost", err)
        self.assertIn(f"continue with gpuexp run --resume {self.folder}/out", err)
        self.ended(ranks[1])
        self.assertEqual(self.ended(ranks[2]), (0, "", ""))
        kept = log.read_text().count('"row"')
        self.assertLess(kept, 24, "killed too late")
        ranks = self.start_ranks(2, [GPUEXP, "run", "--resume", self.folder / "out", "--quiet"] + ["--simulate", "h200"])
        self.assertEqual(self.ended(ranks[0])[0], 0)
        self.assertEqual(self.ended(ranks[1]), (0, "", ""))
        results = json.loads((self.folder / "out" / "results.json").read_text())
        self.assertEqual([row["status"] for row in results["rows"]], ["passed"] * 24)
        self.assertTrue(results["complete"])


if __name__ == "__main__":
    done = unittest.main(exit=False).result
    if not done.wasSuccessful():
        sys.exit(1)
    if not MPIRUN[0]:
        skip("no mpirun (Debian: openmpi-bin); the other tests passed", "MPI")
    sys.exit(SKIPPED if any("mpirun" in why for _, why in done.skipped) else 0)
