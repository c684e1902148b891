#!/usr/bin/env python3
"""A job array of shards on a real Slurm: a node is killed during the run, and no row is lost or duplicated. The tasks of srun form
one run.

slurmctld, munged and two slurmd run as processes of this test, on loopback, with separate keys, sockets and folders. Each slurmd is the
first process of a PID namespace, so killing it ends all its jobs, like the failure of a node. The test itself also runs in such a
namespace and leaves no process.

Argument: the program. Needs root, slurm-wlm and munge; skipped without them.
"""

import contextlib
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
from pathlib import Path

from requirements import skip

NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "slurm" / "shards.sbatch"
RANKS_SCRIPT = ROOT / "scripts" / "slurm" / "ranks.sbatch"
GPUEXP = sys.argv.pop(1)
NODES = ("node1", "node2")
SHARDS = 4
SLOWER = 3  # machines under load may need this multiple of the time limits of the steps
DEADLINE_S = 450  # for the whole test: it takes 70 s on two idle cores, and a loaded machine needed more than twice that

CONFIG = {
    "name": "fleet",
    "experiments": [{"family": "matmul", "variants": ["naive", "coalesced", "smem_tile"],
                     "axes": {"m": [64, 96, 128, 160], "n": [192, 256], "k": [256, 320, 384]}, "modes": ["cold"]}],
}

SLURM_CONF = """
ClusterName=gpuexp-test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,sched_interval=1
ReturnToService=2
SlurmdTimeout=5
SlurmctldTimeout=5
KillWait=1
JobRequeue=1
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port={node1} CPUs=1
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port={node2} CPUs=1
PartitionName=all Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
"""


def check_requirements():
    missing = [name for name in ("slurmctld", "slurmd", "sbatch", "scontrol", "squeue", "munged", "unshare")
               if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]
    if missing:
        skip(f"no {', '.join(missing)} (Debian: slurm-wlm, munge)", "SLURM")
    if os.geteuid() != 0:
        skip("slurmd has to be started as root", "SLURM")
    namespace = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    if namespace.returncode != 0:
        skip(f"no PID namespaces: {namespace.stderr.strip()}", "SLURM")
    if not os.path.ismount("/sys/fs/cgroup"):
        skip("slurmd needs /sys/fs/cgroup mounted", "SLURM")
    described = subprocess.run([GPUEXP, "describe", "matmul"], capture_output=True, text=True, check=False).stdout
    if "not known: " in described:
        skip("built without cuobjdump or nvdisasm: nothing can be simulated", "MACHINE_CODE")


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Cluster:
    """Ends every process that it started, even if starting one fails."""

    def __init__(self, folder):
        self.folder = folder
        self.processes = {}
        self.environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"), GPUEXP=GPUEXP,
                                RESULTS=str(folder / "shards"), GPUEXP_CACHE_DIR=str(folder / "cache"),
                                CUDA_VISIBLE_DEVICES="-1", PATH=f"{os.environ['PATH']}:/usr/sbin:/sbin")

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        for name in ("munge", "state", *NODES):
            (self.folder / name).mkdir(mode=0o755)
        host = socket.gethostname().split(".")[0]
        controller, *nodes = free_ports(1 + len(NODES))
        (self.folder / "slurm.conf").write_text(SLURM_CONF.format(
            host=host, folder=self.folder, controller=controller, **dict(zip(NODES, nodes))))
        key = self.folder / "munge" / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.launch("munged", "munged", "--foreground", "--force", f"--key-file={key}", f"--socket={key.parent}/socket",
                    f"--pid-file={key.parent}/pid", f"--log-file={key.parent}/log", f"--seed-file={key.parent}/seed",
                    "--num-threads=1")
        self.wait_for("munge's socket", (key.parent / "socket").exists, 10)
        self.launch("slurmctld", "slurmctld", "-D", "-i")
        for node in NODES:
            self.start_node(node)
        self.wait_for("both nodes", lambda: self.nodes_in("idle") == set(NODES), 30)

    def launch(self, name, *command):
        with open(self.folder / f"{name}.out", "ab") as out:
            self.processes[name] = subprocess.Popen(command, stdout=out, stderr=out, stdin=subprocess.DEVNULL,
                                                    env=self.environment, start_new_session=True)

    def start_node(self, node):
        self.launch(node, *NAMESPACE, "slurmd", "-D", "-N", node)

    def end(self, name):
        """Ends a process with all its children. A node's namespace ends with its first process, the child of unshare."""
        process = self.processes.pop(name)
        if name in NODES:
            children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            for child in children.read_text().split() if children.exists() else []:
                os.kill(int(child), signal.SIGKILL)
        else:
            process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=5)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self):
        for name in reversed(list(self.processes)):
            self.end(name)

    def call(self, *command):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20 * SLOWER, env=self.environment)
        return done.stdout.strip() if done.returncode == 0 else ""

    def nodes_in(self, state):
        return set(self.call("sinfo", "--noheader", "-N", "-o", "%N", "-t", state).split())

    def tasks(self):
        """{index of the array: (state, node)} of queued and running tasks."""
        lines = self.call("squeue", "--noheader", "--array", "-o", "%K %t %N").splitlines()
        return {int(index): (state, "".join(node)) for index, state, *node in (line.split() for line in lines)}

    def wait_for(self, what, is_true, seconds):
        until = time.monotonic() + seconds * SLOWER
        while not is_true():
            if time.monotonic() > until:
                raise AssertionError(f"{what}: not within {seconds * SLOWER} s\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        texts = []
        for path in [*sorted(self.folder.glob("*.log")), *sorted(self.folder.glob("*.out"))]:
            texts.append(f"--- {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:]))
        return "\n".join(texts)


def lines_of(log):
    """Whole lines of a log as JSON, without an incomplete last line."""
    text = log.read_text() if log.exists() else ""
    return [json.loads(line) for line in text[:text.rfind("\n") + 1].splitlines()[1:]]


def rows_in(log):
    """Number of rows per cell."""
    counts = {}
    for line in lines_of(log):
        if isinstance(line, dict) and "row" in line:
            counts[line["row"]] = counts.get(line["row"], 0) + 1
    return counts


def events_in(log):
    return [line["event"] for line in lines_of(log) if isinstance(line, dict) and "event" in line]


class Slurm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuexp-slurm-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.folder.chmod(0o755)
        self.config = self.folder / "fleet.json"
        self.config.write_text(json.dumps(CONFIG))

    def log(self, shard):
        return self.folder / "shards" / f"{shard}-of-{SHARDS}" / "log.jsonl"

    def merge(self):
        out = self.folder / "merged"
        done = subprocess.run([GPUEXP, "merge", *sorted(map(str, (self.folder / "shards").iterdir())), "--out", str(out)],
                              capture_output=True, text=True, check=False)
        return done, out / "results.json"

    def test_a_killed_node_costs_nothing(self):
        with Cluster(self.folder) as cluster:
            job = cluster.call("sbatch", "--parsable", f"--array=1-{SHARDS}", f"--output={self.folder}/task-%a.out",
                               f"--chdir={ROOT}", str(SCRIPT), str(self.config), "--", "--simulate", "h200")
            self.assertTrue(job, cluster.logs())
            shard, finished = self.kill_in_the_middle(cluster)
            early, _ = self.merge()
            self.assertEqual(early.returncode, 2, early.stderr)
            self.assertIn("nothing was written", early.stderr)
            cluster.wait_for("the requeued task", lambda: cluster.tasks().get(shard, ("", ""))[0] == "PD", 30)
            cluster.call("scontrol", "update", f"JobId={job}_{shard}", "StartTime=now")
            cluster.wait_for("all tasks", lambda: not cluster.tasks(), 60)
            outputs = "\n".join(path.read_text() for path in sorted(self.folder.glob("task-*.out")))
            self.check_log(shard, finished, outputs + cluster.logs())
        self.check_merged(outputs)

    def test_the_tasks_of_srun_are_one_run(self):
        with Cluster(self.folder) as cluster:
            cluster.environment["GPUEXP_JOB_DIR"] = str(self.folder / "jobs")
            command = [GPUEXP, "run", str(self.config), "--simulate", "h200", "--blocks", "2", "--quiet", "--out"]
            one = self.folder / "one"
            self.srun(cluster, ["-N2", "-n2", *command, str(one)], 0)
            self.assertEqual(len(json.loads((one / "results.json").read_text())["rows"]), 72)
            # Both would otherwise wait for ranks that never start.
            self.srun(cluster, ["-N1", "-n1", *command, str(self.folder / "alone"), "--rank-timeout", "5"], 0)
            script = self.folder / "script.sh"
            script.write_text(f"#!/bin/sh\nexec {' '.join(command)} {self.folder}/script --rank-timeout 5\n")
            cluster.call("sbatch", "-N2", "-n2", f"--output={self.folder}/script.out", str(script))
            cluster.wait_for("the script", lambda: (self.folder / "script" / "results.json").exists(), 40)

    def test_ranks_of_a_batch_job_are_one_run(self):
        with Cluster(self.folder) as cluster:
            cluster.environment.update(GPUEXP_JOB_DIR=str(self.folder / "jobs"), RESULTS=str(self.folder / "ranks"))
            submit = ["sbatch", "-N2", "-n2", f"--output={self.folder}/ranks.out", f"--chdir={ROOT}", str(RANKS_SCRIPT)]
            simulated = ["--simulate", "h200", "--blocks", "2"]
            cluster.call(*submit, str(self.config), *simulated)
            results = self.folder / "ranks" / "results.json"
            cluster.wait_for("the job", lambda: results.exists() and not cluster.call("squeue", "--noheader"), 60)
            self.assertEqual(len(json.loads(results.read_text())["rows"]), 72, cluster.logs())
            before = results.stat().st_mtime_ns
            cluster.call(*submit, "--resume", str(self.folder / "ranks"), *simulated)
            cluster.wait_for("the resumed job", lambda: results.stat().st_mtime_ns > before and not cluster.call("squeue", "--noheader"), 60)
            self.assertEqual(len(json.loads(results.read_text())["rows"]), 72, cluster.logs())

    def test_ranks_outside_a_job_are_refused(self):
        environment = {name: value for name, value in os.environ.items() if name != "SLURM_JOB_ID"}
        done = subprocess.run([RANKS_SCRIPT, "collectives"], capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, 2)
        self.assertIn("submit it with: sbatch", done.stderr)

    def srun(self, cluster, words, code):
        done = subprocess.run(["srun", *words], capture_output=True, text=True, check=False, timeout=60 * SLOWER, env=cluster.environment)
        self.assertEqual(done.returncode, code, done.stderr + cluster.logs())
        return done

    def kill_in_the_middle(self, cluster):
        """Kills the second node while it runs a shard that has rows and has not ended. Returns the shard, and the cells that had
        finished."""
        def running():
            return [index for index, (state, node) in cluster.tasks().items()
                    if state == "R" and node == NODES[1] and rows_in(self.log(index))]

        cluster.wait_for("rows of a shard on the second node", running, 40)
        shard = running()[0]
        cluster.end(NODES[1])
        self.assertNotIn("complete", events_in(self.log(shard)), "killed too late")
        return shard, set(rows_in(self.log(shard)))

    def check_log(self, shard, finished, outputs):
        self.assertEqual(events_in(self.log(shard)), ["resumed", "complete"], outputs)
        counts = rows_in(self.log(shard))
        self.assertTrue(finished)
        self.assertLess(len(finished), len(counts), "the shard had ended when its node was killed")
        # The interrupted group is executed again; rows of other groups are kept.
        group = len(CONFIG["experiments"][0]["variants"])
        again = {cell for cell in finished if counts[cell] > 1}
        self.assertLess(len(again), group, f"{again} of {finished} ran twice")

    def check_merged(self, outputs):
        done, results = self.merge()
        self.assertEqual(done.returncode, 0, done.stderr + outputs)
        self.assertEqual(done.stderr, "")
        merged = json.loads(results.read_text())
        plan = subprocess.run([GPUEXP, "plan", str(self.config), "--gpu", "h200", "--json"], capture_output=True, check=True)
        planned = [cell["key"] for cell in json.loads(plan.stdout)[0]["cells"]]
        self.assertEqual([row["key"] for row in merged["rows"]], planned)
        self.assertEqual({row["status"] for row in merged["rows"]}, {"passed"})
        self.assertTrue(merged["complete"])
        self.assertEqual([part["shard"] for part in merged["provenance"]["parts"]],
                         [f"{shard}/{SHARDS}" for shard in range(1, SHARDS + 1)])


if __name__ == "__main__":
    if os.getpid() != 1:
        check_requirements()
        os.execvp(NAMESPACE[0], [*NAMESPACE, sys.executable, __file__, GPUEXP, *sys.argv[1:]])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("terminated"))
    signal.signal(signal.SIGALRM, lambda *_: sys.exit(f"not done within {DEADLINE_S} s"))
    signal.alarm(DEADLINE_S)
    unittest.main()
