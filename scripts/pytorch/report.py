"""Writes gpuexp's results.csv and results.json. Columns are read from docs/columns.md, which gpuexp generates."""

import json
import math
import os
import re
from pathlib import Path

from plotting.recorded import SCHEMA_VERSION, csv_text
from pytorch import operations
from pytorch.protocol import Statistics

COLUMNS_PAGE = Path(__file__).resolve().parents[2] / "docs" / "columns.md"
MANY_OUTLIERS = 0.05
NEAR_FLOOR_FACTOR = 3.0
DEVICE = ("name executed_on uuid pci_bus_id compute_capability sm_count driver_version runtime_version sm_clock_mhz "
          "sm_clock_max_mhz memory_clock_mhz power_limit_w temperature_c ecc_enabled memory_total_bytes memory_bytes_per_s "
          "memory_free_bytes").split()  # fmt: skip
PROVENANCE = "gpuexp_version git_commit git_dirty compiler cuda_toolkit utc host".split()


def fixed_columns(page=COLUMNS_PAGE):
    """Name, unit, type and meaning of each column in order, without columns that only merged results have."""
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise operations.UsageError(f"{page}: {error.strerror}; results take their columns from it") from None
    part = text.partition("<!-- gpuexp: declared columns -->")[2].partition("<!-- /gpuexp -->")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.*?) \| (\w+) \| (?!merged )[\w ]+ \| (.*) \|$", part, re.MULTILINE)
    columns = [{"name": n, "unit": u.strip(), "type": t, "doc": re.sub(r"\\(.)", r"\1", d)} for n, u, t, d in rows]
    if not columns or columns[-1]["name"] != "key":
        raise operations.UsageError(f"{page}: has no table of columns")
    return columns


def columns_of(families):
    """The fixed columns, then parameters and metrics of the families."""
    columns = fixed_columns()
    taken = set()
    for family in families:
        for p in family.parameters:
            kind = "text" if p.choices else "integer" if isinstance(p.default, int) else "real"
            if p.name not in taken:
                columns.append({"name": f"param.{p.name}", "unit": p.unit, "type": kind, "doc": p.doc})
            taken.add(p.name)
    for family in families:
        metrics = [{"name": f"metric.{n}", "unit": u, "type": "real", "doc": d} for n, u, d in family.metrics]
        columns += [metric for metric in metrics if metric["name"] not in {column["name"] for column in columns}]
    return columns


def known(number):
    return number if number is not None and math.isfinite(number) else None


class Row:
    """Results of a cell."""

    def __init__(self, group, variant):
        self.group, self.variant = group, variant
        self.key = group.key(variant.id)
        self.status, self.reason = "not_run", "the run ended before it"
        self.samples_us = []
        self.statistics: Statistics | None = None
        self.stop_reason = None
        self.verification = None
        self.launch = {}  # grid_blocks, block_threads, registers, shared_bytes, kernel_launches
        self.metrics = {}  # measured metrics other than time

    def end(self, status, reason):
        self.status, self.reason = status, reason
        self.samples_us, self.statistics, self.stop_reason = [], None, None

    @property
    def passed(self):
        return self.status == "passed"


def flags_of(row, conditions):
    s, settings = row.statistics, row.group.experiment.settings
    few = s.count < settings.min_samples
    capped = row.stop_reason in ("max_samples", "max_seconds")
    flags = {
        "few_samples": few,
        "wide_interval": capped and not few and settings.target_relative_ci > 0,
        "outliers": s.outliers > MANY_OUTLIERS * s.count,
        "output_in_l2": row.group.output_bytes < conditions["l2_bytes"],
        "near_floor": s.median < NEAR_FLOOR_FACTOR * conditions["floor_us"],
    }
    return [name for name, holds in flags.items() if holds]


def times_of(row, conditions, baseline):
    """Columns that only rows with a time have."""
    s = row.statistics
    low, high = s.ci95 or (None, None)
    useful, moved, count = operations.work(row.group)
    return {
        "flags": ";".join(flags_of(row, conditions)) or None,
        "time_median_us": s.median, "time_ci95_low_us": low, "time_ci95_high_us": high, "time_min_us": s.min,
        "time_p5_us": s.p5, "time_p25_us": s.p25, "time_p75_us": s.p75, "time_p95_us": s.p95, "time_mean_us": s.mean,
        "time_stdev_us": s.stdev, "time_mad_us": s.mad, "timer_resolution_us": s.quantum_us or None,
        "correlation_time": s.correlation_time, "outliers": s.outliers, "samples": s.count, "stop_reason": row.stop_reason,
        "flushed_bytes": conditions["flushed_bytes"], "graph_launches": 1, "rotated_bytes": 0, "cache_state": "flushed",
        "floor_us": conditions["floor_us"],
        "speedup": baseline.median / s.median if baseline else None,
        "useful_gb_per_s": useful / s.median / 1e3, "moved_gb_per_s": moved / s.median / 1e3,
        "tflops": count / s.median / 1e6 if count else None,
    }  # fmt: skip


def record_of(row, conditions, baseline):
    """{column: value}, without unknown values. `baseline`: statistics of the group's baseline if it passed, else None."""
    useful, moved, count = operations.work(row.group)
    record = {
        "experiment": row.group.experiment.name, "family": row.group.family.id, "variant": row.variant.id,
        "implementation": row.variant.implementation, "mode": operations.MODE, "status": row.status,
        "reason": row.reason or None, "executed_on": "gpu", "baseline": operations.BASELINE,
        "compare_to": row.variant.compare_to, "useful_bytes": float(useful), "moved_bytes": float(moved),
        "operations": float(count) or None, "key": row.key, **row.launch,
    }  # fmt: skip
    if row.verification:
        v = row.verification
        record |= {"error_rms_rel": known(v.error_rms_rel), "error_max_rel": known(v.error_max_rel),
                   "error_over_allowed": known(v.error_over_allowed),
                   "error_rms_over_allowed": known(v.error_rms_over_allowed), "verified_pct": 100.0}  # fmt: skip
    if row.passed and row.statistics:
        record |= times_of(row, conditions, baseline)
    record |= {f"param.{name}": value for name, value in row.group.values}
    metrics = {**operations.metrics(row.group, row.variant.id), **row.metrics}
    record |= {f"metric.{name}": value for name, value in metrics.items()}
    return record


def records_of(rows, conditions):
    baselines = {row.group: row.statistics for row in rows if row.variant.id == operations.BASELINE and row.passed}
    return [record_of(row, conditions, baselines.get(row.group)) for row in rows]


# ---- files


def json_text(columns, records, samples, provenance, complete):
    rows = [{**{c["name"]: r.get(c["name"]) for c in columns}, "samples_us": s} for r, s in zip(records, samples)]
    p = {**dict.fromkeys(PROVENANCE), **provenance}
    p["device"] = {**dict.fromkeys(DEVICE), **provenance["device"]}
    report = {"schema_version": SCHEMA_VERSION, "provenance": p, "complete": complete, "columns": columns, "rows": rows}
    return json.dumps(report, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_atomically(path, text):
    """Writes to a temporary file and renames it, so that readers see the old or the new file."""
    part = path.with_name(path.name + ".part")
    with open(part, "w", encoding="utf-8", newline="") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


class Folder:
    """The folder with results.csv, results.json and kernels.json of a run; write() replaces all files."""

    def __init__(self, path, columns, provenance):
        self.path, self.columns, self.provenance = path, columns, provenance
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise operations.UsageError(f"--out {path}: {error.strerror}") from None

    def write(self, rows, conditions, kernels, complete):
        records = records_of(rows, conditions)
        samples = [row.samples_us for row in rows]
        write_atomically(self.path / "results.csv", csv_text(self.columns, records))
        write_atomically(self.path / "results.json", json_text(self.columns, records, samples, self.provenance, complete))
        if kernels:
            self.write_kernels(kernels)

    def write_kernels(self, kernels):
        write_atomically(self.path / "kernels.json", json.dumps(kernels, indent=1) + "\n")
