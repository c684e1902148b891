#!/usr/bin/env python3
"""scripts/slurm/shards.sbatch without Slurm: the command that each task of a job array runs."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "slurm" / "shards.sbatch"


def program(path, text):
    path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
    path.chmod(0o755)


class Shards(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        program(self.folder / "gpuexp", 'for word in "$@"; do echo "$word"; done\n')
        self.gpu("echo GPU-a\n")

    def gpu(self, answer):
        program(self.folder / "nvidia-smi", answer)

    def task(self, *arguments, **variables):
        """Exit code, and words of the command or of standard error."""
        environment = {"PATH": f"{self.folder}:/usr/bin:/bin", "GPUEXP": "gpuexp", "SLURM_ARRAY_JOB_ID": "7",
                       "SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MAX": "8", **variables}
        done = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, check=False, cwd=self.folder,
                              env={name: value for name, value in environment.items() if value is not None})
        return done.returncode, done.stdout.splitlines() if done.returncode == 0 else done.stderr

    def log(self, folder, text):
        path = self.folder / folder
        path.mkdir(parents=True, exist_ok=True)
        (path / "log.jsonl").write_text(text, encoding="utf-8")
        return path / "log.jsonl"

    def test_a_task_runs_its_shard(self):
        self.assertEqual(self.task("all", "--set", "n=1 2", "--counters", "--", "--launch-timeout", "60"),
                         (0, ["run", "all", "--set", "n=1 2", "--counters", "--shard", "3/8", "--out",
                              "results/slurm-7/3-of-8-GPU-a", "--quiet", "--launch-timeout", "60"]))
        self.assertEqual(self.task("all", SLURM_ARRAY_TASK_MAX="3", SHARDS="12", RESULTS="there")[1],
                         ["run", "all", "--shard", "3/12", "--out", "there/3-of-12-GPU-a", "--quiet"])

    def test_a_requeued_task_goes_on_on_the_same_gpu(self):
        self.log("results/slurm-7/3-of-8-GPU-a", "{}\n{")
        self.assertEqual(self.task("all", "--counters", "--", "--launch-timeout", "60")[1],
                         ["run", "--resume", "results/slurm-7/3-of-8-GPU-a", "--shard", "3/8", "--quiet",
                          "--launch-timeout", "60"])

    def test_on_another_gpu_it_starts_anew(self):
        kept = self.log("results/slurm-7/3-of-8-GPU-a", "{}\n")
        self.gpu("echo GPU-b\necho GPU-c\n")
        self.assertEqual(self.task("all")[1][-2:], ["results/slurm-7/3-of-8-GPU-b", "--quiet"])
        self.assertTrue(kept.exists())

    def test_without_a_gpu_the_folder_names_none(self):
        for answer in ("exit 9\n", "exit 0\n"):
            self.gpu(answer)
            self.assertIn("results/slurm-7/3-of-8", self.task("all")[1])
        (self.folder / "nvidia-smi").unlink()
        self.assertIn("results/slurm-7/3-of-8", self.task("all")[1])

    def test_a_log_without_a_whole_line_is_begun_again(self):
        log = self.log("results/slurm-7/3-of-8-GPU-a", '{"gpuexp_log": 1')
        self.assertEqual(self.task("all")[1][0:2], ["run", "all"])
        self.assertFalse(log.exists())

    def test_outside_of_an_array_it_is_refused(self):
        code, message = self.task("all", SLURM_ARRAY_TASK_ID=None)
        self.assertEqual(code, 2)
        self.assertIn("sbatch --array=1-N", message)


if __name__ == "__main__":
    sys.exit(unittest.main())
