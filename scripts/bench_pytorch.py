#!/usr/bin/env python3
"""Measures operations of gpuexp's families in PyTorch and Triton by gpuexp's protocol, and writes results with gpuexp's columns.

usage: bench_pytorch.py [CONFIG ...] [--out FOLDER] [--experiments GLOB ...] [--variants GLOB ...] [--set KEY=VALUE[,VALUE...] ...]
       bench_pytorch.py --operation elu|sin2_cos2|transpose|sum|softmax|layernorm|rmsnorm|attention|attention_backward|
                                    training_step|training_block [--set n=1000000] ...
       bench_pytorch.py --ptx SM [...]

CONFIG is a config of gpuexp or its name in configs/ (default: fusion and transpose). The script measures the cells in mode cold
of the families fusion, transpose, reduction, softmax, normalization, attention, attention_backward, training_step and
training_block, with these variants:

  pytorch_eager      typical user code, operation by operation (torch.nn.functional.elu, softmax, layer_norm and rms_norm;
                     x.sum(); attention: two matrix products with a softmax between them)
  pytorch_eager_ops  ELU only: the expression "x if x > 0, else alpha * (exp(x) - 1)"
  pytorch_compiled   pytorch_eager through torch.compile, compiled for each shape
  sdpa_flash         attention only: torch.nn.functional.scaled_dot_product_attention with FlashAttention
  sdpa_cudnn         attention only: torch.nn.functional.scaled_dot_product_attention with cuDNN
  pytorch_foreach    training only: AdamW over lists of tensors; other variants use one fused kernel (fused=True)
  pytorch_graph      training steps only: forward, backward and AdamW as one CUDA graph
  pytorch_compiled_graph  training steps only: the compiled network, with AdamW, as one CUDA graph
  triton             a kernel in Triton: scripts/pytorch/triton_kernels.py; not for sums, for which torch.compile generates Triton

The protocol is the same as in gpuexp: inputs are the same numbers, every element is compared with an fp64 reference before and after
timing, the variants of a problem are sampled alternately, twice the L2 size is read before each sample, and a sample is the time
between two events that the GPU cannot reach before the host has enqueued both. docs/pytorch.md lists the differences.

The script writes to FOLDER (default: results/pytorch-UTC): results.csv and results.json, which `gpuexp report`, `gpuexp compare`
and scripts/plot.py read, and kernels.json with PTX, shape and arguments of each Triton launch. It writes them after each problem,
so that Ctrl-C loses at most the current problem.

--ptx SM compiles Triton's kernels for compute capability SM (90 is 9.0) and writes only kernels.json; it needs no GPU.

Exit codes: 0 all passed; 1 output could not be written; 2 error in the command line or a config; 3 incorrect results;
4 failed cells; 5 no usable GPU; 7 PyTorch (with --ptx: Triton) is not installed; 130 interrupted.
"""

import argparse
import datetime
import fnmatch
import gc
import hashlib
import importlib.util
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from pathlib import Path

from pytorch import operations, report, timing
from pytorch.operations import UsageError
from pytorch.protocol import GroupSampler, Turn, summarize, timer_quantum_us

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_CONFIGS = ("fusion", "transpose")
OK, FAILED_OUTPUT, USAGE, INCORRECT, FAILED, NO_GPU, NO_PYTORCH, INTERRUPTED = 0, 1, 2, 3, 4, 5, 7, 130
NEED = {
    **dict.fromkeys(("pytorch_compiled", "pytorch_compiled_graph"), "torch.compile needs Triton, which is not installed"),
    "triton": "Triton is not installed",
}


class Missing(Exception):
    """A missing requirement: message and exit code."""


# ---- command line


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="bench_pytorch.py", description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("configs", nargs="*", metavar="CONFIG", help="configs of gpuexp (default: fusion transpose)")
    parser.add_argument("--operation", choices=sorted(operations.OPERATIONS), help="operation to measure instead of a config; --set chooses its sizes")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE[,VALUE...]",
                        help="replace an axis or a measure setting: n=1024,2048 measure.max_seconds=1")  # fmt: skip
    parser.add_argument("--experiments", action="append", default=[], metavar="GLOB", help="keep these experiments (default: all)")
    parser.add_argument("--variants", action="append", default=[], metavar="GLOB", help="keep these variants (default: all)")
    parser.add_argument("--seed", type=int, help="seed of the inputs, instead of the config's")
    parser.add_argument("--commit", help="commit to record, for a copy of this repository without its history")
    parser.add_argument("--out", metavar="FOLDER", type=Path, help="folder of the results (default: results/pytorch-UTC)")
    parser.add_argument("--list", action="store_true", help="print the keys of the cells; needs no PyTorch")
    parser.add_argument("--ptx", type=int, metavar="SM", help="compile Triton's kernels without measuring")
    options = parser.parse_args(arguments)
    if options.operation and options.configs:
        raise UsageError("--operation: expected instead of configs, found both")
    if options.seed is not None and not 0 <= options.seed < 1 << 64:
        raise UsageError(f"--seed {options.seed}: expected a whole number of at least 0, below 2^64")
    return options


def value_of(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def overrides_of(texts):
    """Axes and measure settings given with --set."""
    axes, settings = {}, {}
    for text in texts:
        key, equals, given = text.partition("=")
        values = [value_of(v) for v in given.split(",")]
        if not key or not equals or "" in values:
            raise UsageError(f"--set {text}: expected KEY=VALUE[,VALUE...]")
        if key.startswith("measure."):
            if len(values) > 1:
                raise UsageError(f"--set {text}: expected one value for {key}")
            settings[key.removeprefix("measure.")] = values[0]
        else:
            axes[key] = values
    return axes, settings


def config_path(name):
    path = Path(name)
    return path if path.suffix == ".json" or path.exists() else ROOT / "configs" / f"{name}.json"


def shown_path(path):
    """The path of a config, relative to this repository if the config is in it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def configs_of(options):
    axes, settings = overrides_of(options.set)
    if options.operation:
        family, fixed = operations.OPERATIONS[options.operation]
        measure = operations.settings_of({}, settings, "--set")
        experiment = operations.Experiment(options.operation, family, measure)
        groups = operations.groups_of(experiment, {**axes, **fixed}, [], f"--operation {options.operation}")
        configs = [operations.Config(Path(options.operation), options.operation, 1, "", groups)]
    else:
        configs = [operations.read_config(config_path(name), axes, settings) for name in options.configs or DEFAULT_CONFIGS]
        known = {p.name for c in configs for g in c.groups for p in g.family.parameters}
        for name in axes:
            if name not in known:
                raise UsageError(f"--set {name}: no such parameter; the families of the configs have {', '.join(sorted(known))}")
    if options.seed is not None:
        for config in configs:
            config.seed = options.seed
    return configs


def checked_globs(option, globs, names):
    for glob in globs:
        if not fnmatch.filter(names, glob):
            raise UsageError(f"{option} {glob}: no match; expected one of: {', '.join(dict.fromkeys(names))}")


def is_kept(name, globs):
    return not globs or any(fnmatch.fnmatch(name, glob) for glob in globs)


def rows_of(configs, globs, experiments=()):
    """(seed of the config, rows) of each group that the globs keep."""
    checked_globs("--variants", globs, [v.id for v in operations.VARIANTS])
    checked_globs("--experiments", experiments, [group.experiment.name for config in configs for group in config.groups])
    cells = []
    for config in configs:
        for group in config.groups:
            kept = [v for v in group.variants() if is_kept(v.id, globs) and is_kept(group.experiment.name, experiments)]
            if kept:
                cells.append((config.seed, [report.Row(group, variant) for variant in kept]))
    keys = [row.key for _, rows in cells for row in rows]
    if not keys:
        raise UsageError("no cell is left: --variants and --experiments exclude all")
    for key in keys:
        if keys.count(key) > 1:
            raise UsageError(f"{key}: two configs have this cell")
    return cells


# ---- provenance


def git(*arguments):
    if not (ROOT / ".git").exists():  # an installed tree or a copy
        return None
    try:
        done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def utc_now(form="%Y-%m-%dT%H:%M:%SZ"):
    return datetime.datetime.now(datetime.timezone.utc).strftime(form)


def provenance_of(configs, versions, device, commit=None):
    one = configs[0] if len(configs) == 1 and configs[0].text else None
    own, changes = (None, None) if commit else (git("rev-parse", "HEAD"), git("status", "--porcelain", "--untracked-files=no"))
    experiments = {g.experiment.name: g.experiment.settings for c in configs for g in c.groups}
    settings = {"seed": ",".join(dict.fromkeys(str(c.seed) for c in configs)), **versions}
    for name, measure in experiments.items():
        settings |= {f"{name}.{key}": value for key, value in vars(measure).items()}
    return {
        "git_commit": commit or own, "git_dirty": bool(changes) if changes is not None else None,
        "cuda_toolkit": versions.get("cuda"), "utc": utc_now(), "host": socket.gethostname(), "argv": sys.argv,
        "config": {"path": ", ".join(shown_path(c.path) for c in configs), "name": ", ".join(c.name for c in configs),
                   "sha256": hashlib.sha256(one.text.encode()).hexdigest() if one else None, "text": one.text if one else None},
        "settings": settings, "device": device,
    }  # fmt: skip


# ---- measuring


class Interrupt:
    """The first Ctrl-C ends the run after the current slice of samples and keeps the results; the second ends the process at once."""

    def __init__(self):
        self.came = False
        signal.signal(signal.SIGINT, self.on_signal)
        signal.signal(signal.SIGTERM, self.on_signal)

    def on_signal(self, number, frame):
        if self.came:
            raise KeyboardInterrupt
        self.came = True
        print("bench_pytorch.py: ending after the current samples; press Ctrl-C again to end at once", file=sys.stderr)


class Bench:
    """Measures groups, one after another. `kept` stores Triton's launches; None if Triton is not installed."""

    def __init__(self, timer, quantum_us, kept, is_ended, synchronize, memory_bytes, device="cuda"):
        self.timer, self.quantum_us, self.kept, self.is_ended = timer, quantum_us, kept, is_ended
        self.memory_bytes = memory_bytes
        self.synchronize, self.device = synchronize, device

    def run_group(self, index, seed, rows):
        from pytorch import torch_operations

        try:
            problem = torch_operations.problem_of(rows[0].group, seed, self.device)
        except Exception as error:  # an error in one problem, usually out of memory, must not end the run
            for row in rows:
                row.end("failed", error_text(error))
            return
        turns = []
        for row in rows:
            if self.is_ended():
                return
            if launch := self.prepared(problem, row):
                turns.append((row, Turn(row.variant.id, launch)))
        settings = rows[0].group.experiment.settings
        sampler = GroupSampler(settings, seed, index, self.quantum_us, self.timer.time_us, time.monotonic, self.is_ended)
        gc.disable()  # a collection would delay the host between enqueued events
        try:
            sampler.sample([turn for _, turn in turns])
        except Exception as error:
            for row, _ in turns:
                row.end("failed", error_text(error))
            return
        finally:
            gc.enable()
        for row, turn in turns:
            self.finish(problem, row, turn)

    def prepared(self, problem, row):
        """The verified launch after its warm-up; None if the row has ended."""
        from pytorch import torch_operations

        if row.variant.id in NEED and self.kept is None:
            return row.end("skipped", NEED[row.variant.id])
        if reason := operations.unsupported(row.group, row.variant.id, self.memory_bytes):
            return row.end("skipped", reason)
        try:
            launch = torch_operations.launch_of(problem, row.variant.id, self.triton_launch(row))
            self.verify(problem, row, launch, "")
            if row.status == "incorrect":
                return None
            for _ in range(row.group.experiment.settings.warmup_launches):
                timing.prepare(launch)
                launch()
            self.synchronize()
            if hasattr(launch, "peak_bytes") and row.group.value("phase") == "step" and "graph" not in row.variant.id:
                row.metrics["peak_bytes"] = float(launch.peak_bytes())
            return launch
        except Exception as error:  # from PyTorch, Triton, ptxas or CUDA; the row records it
            return row.end("failed", error_text(error))

    def triton_launch(self, row):
        if row.variant.id != "triton":
            return None
        from pytorch import triton_kernels

        launch = triton_kernels.launch_of(row.group)

        def run(*pointers):
            compiled = launch.run(*pointers)
            if not row.launch:
                kept = self.kept.add(row.key, launch, compiled)
                row.launch = {"kernel_launches": 1, "grid_blocks": launch.programs, "block_threads": kept["block_threads"],
                              "registers": getattr(compiled, "n_regs", None), "shared_bytes": kept["shared_bytes"]}  # fmt: skip

        return run

    def verify(self, problem, row, launch, when):
        from pytorch import torch_operations

        problem.poison()
        timing.prepare(launch)
        row.verification = torch_operations.verify(problem, launch(), row.variant.id)
        if not row.verification.passed:
            row.end("incorrect", row.verification.reason + when)
        elif not problem.inputs_are_whole():
            row.end("incorrect", "the launch changed its input" + when)

    def finish(self, problem, row, turn):
        if not turn.samples_us:
            return
        row.samples_us, row.stop_reason = turn.samples_us, turn.stop_reason
        try:
            row.status, row.reason = "passed", ""
            self.verify(problem, row, turn.launch, " (after timing)")
        except Exception as error:
            return row.end("failed", error_text(error))
        if row.passed:
            row.statistics = summarize(row.samples_us, self.quantum_us)


def error_text(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def shown(row):
    if row.passed and row.statistics:
        s = row.statistics
        low, high = s.ci95 or (s.median, s.median)
        return f"{s.median:12.3f} us  ± {50 * (high - low) / s.median:.2f} %  {s.count:5d} samples  {row.key}"
    return f"{row.status:>12}  {row.key}{': ' if row.reason else ''}{row.reason}"


def measure(options, configs, cells):
    import torch

    if not torch.cuda.is_available():
        raise Missing("PyTorch finds no GPU; --list and --ptx work without one", NO_GPU)
    # Set before Triton is imported. One compile thread, because starting a pool of workers takes longer than it saves. No line
    # tables, because they contain paths of this machine.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    from pytorch import torch_device

    kept, versions = None, {"pytorch": torch.__version__, "cuda": torch.version.cuda}
    if importlib.util.find_spec("triton"):
        from pytorch import triton_kernels

        kept = triton_kernels.Kept()
        versions["triton"] = triton_kernels.triton.__version__
    interrupt = Interrupt()
    rows = [row for _, group in cells for row in group]
    families = list(dict.fromkeys(row.group.family for row in rows))
    provenance = provenance_of(configs, versions, torch_device.device_facts(), options.commit)
    out = options.out or Path("results") / f"pytorch-{utc_now('%Y%m%dT%H%M%SZ')}"
    folder = report.Folder(out, report.columns_of(families), provenance)
    flush = torch_device.CacheFlush(torch_device.l2_bytes())
    timer = timing.GatedTimer(torch.cuda, flush.enqueue)
    timer.empty_kernel()
    flush.enqueue()
    torch.cuda.synchronize()
    with torch.cuda.stream(timing.typical_stream(torch.cuda, timer)):
        quantum_us = timer_quantum_us(timer.floors_us(flushed=False))
        conditions = {"floor_us": statistics.median(timer.floors_us(flushed=True)), "flushed_bytes": flush.bytes,
                      "l2_bytes": torch_device.l2_bytes()}  # fmt: skip
        bench = Bench(timer, quantum_us, kept, lambda: interrupt.came, torch.cuda.synchronize,
                      torch.cuda.get_device_properties(0).total_memory)  # fmt: skip
        try:
            for index, (seed, group) in enumerate(cells):
                if interrupt.came:
                    break
                bench.run_group(index, seed, group)
                folder.write(rows, conditions, kept.json() if kept else None, complete=False)
                for row in group:
                    print(shown(row), flush=True)
        finally:
            folder.write(rows, conditions, kept.json() if kept else None, complete=not interrupt.came)
    print(folder.path)
    if interrupt.came:
        return INTERRUPTED
    statuses = {row.status for row in rows}
    return INCORRECT if "incorrect" in statuses else FAILED if "failed" in statuses else OK


def compile_ptx(options, cells):
    if not importlib.util.find_spec("triton"):
        raise Missing("Triton is not installed: python3 -m pip install triton", NO_PYTORCH)
    os.environ["TRITON_DISABLE_LINE_INFO"] = "1"
    from pytorch import triton_kernels

    kept = triton_kernels.Kept()
    for _, rows in cells:
        for row in rows:
            if row.variant.id == "triton":
                launch = triton_kernels.launch_of(row.group)
                kept.add(row.key, launch, launch.compiled_for(options.ptx))
    folder = report.Folder(options.out or Path("results") / f"triton-{utc_now('%Y%m%dT%H%M%SZ')}", [], {})
    folder.write_kernels(kept.json())
    print(folder.path / "kernels.json")
    return OK


def run(arguments):
    options = parsed(arguments)
    configs = configs_of(options)
    cells = rows_of(configs, options.variants, options.experiments)
    if options.list:
        for _, rows in cells:
            for row in rows:
                print(row.key)
        return OK
    if options.ptx is not None:
        return compile_ptx(options, cells)
    if not importlib.util.find_spec("torch"):
        raise Missing("PyTorch is not installed: python3 -m pip install torch (--list works without it)", NO_PYTORCH)
    return measure(options, configs, cells)


def main():
    try:
        return run(sys.argv[1:])
    except UsageError as error:
        message, code = str(error), USAGE
    except Missing as error:
        message, code = error.args
    except OSError as error:
        message, code = str(error), FAILED_OUTPUT
    except KeyboardInterrupt:
        message, code = "interrupted", INTERRUPTED
    print(f"bench_pytorch.py: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
