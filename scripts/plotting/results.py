"""Reads and checks results for plot.py, and finds the parameters that vary."""

import io
import math
from dataclasses import dataclass

import pandas as pd

from plotting.recorded import UsageError, read_csv_text, read_json, results_file
from plotting.statuses import WITH_VALUES

REQUIRED = ["experiment", "family", "variant", "status", "time_median_us"]
TEXT = ["executed_on", "experiment", "family", "variant", "implementation", "mode", "status", "reason", "flags", "baseline", "limit_by"]


class NothingToDraw(Exception):
    """The rows lack data that a figure needs."""


@dataclass
class Axis:
    """A parameter that varies between rows, or several parameters with equal values in every row (m = n = k)."""

    column: str
    label: str
    numeric: bool


def load(path):
    """All rows of the results. Text columns that are missing are added and empty."""
    try:
        frame = pd.read_csv(io.StringIO(read_csv_text(path)), keep_default_na=False, na_values=[""])
    except (pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise UsageError(f"{path}: cannot read as CSV: {error}") from None
    missing = [name for name in REQUIRED if name not in frame]
    if missing:
        raise UsageError(f"{path}: not the results of a gpuexp run: no column {', '.join(missing)}")
    for name in TEXT:
        if name not in frame:
            frame[name] = ""
        frame[name] = frame[name].astype(object).fillna("").astype(str)  # pandas reads an empty column as numbers
    frame["time_median_us"] = pd.to_numeric(frame["time_median_us"], errors="coerce")
    if is_simulated(frame):
        predict(frame)
    return frame.copy()  # defragments the frame, which avoids a warning of pandas


def is_simulated(frame):
    """True if the rows were simulated."""
    return bool((frame["executed_on"] == "simulated").any())


def predict(frame):
    """Replaces measured times, and columns computed from measured times, by predicted times. Titles of figures state this."""
    time_us = numbers(frame, "predicted_time_us")
    frame["time_median_us"] = time_us
    frame["useful_gb_per_s"] = numbers(frame, "useful_bytes") / time_us / 1e3
    frame["moved_gb_per_s"] = numbers(frame, "moved_bytes") / time_us / 1e3
    frame["tflops"] = numbers(frame, "operations") / time_us / 1e6
    frame["limit_pct"] = 100 * numbers(frame, "limit_time_us") / time_us
    problem = ["experiment", "mode", *(c for c in frame if c.startswith("param."))]
    baselines = frame[frame["variant"] == frame["baseline"]]
    baseline_us = dict(zip(map(tuple, baselines[problem].astype(str).values), baselines["time_median_us"]))
    of_row = [baseline_us.get(tuple(row), math.nan) for row in frame[problem].astype(str).values]
    frame["speedup"] = pd.Series(of_row, index=frame.index) / time_us


def basis(frame):
    """Kind of the times: "measured", or "predicted" for a simulated GPU."""
    return "predicted" if is_simulated(frame) else "measured"


def gpu_name(path):
    """The GPU named in the results or, for a CSV, in the JSON next to it; "" if unknown."""
    file = results_file(path)
    of_csv = (file.with_suffix(".json"), file.with_suffix(".json.zst"), file.parent / "results.json")
    for candidate in of_csv if ".csv" in file.suffixes else (file,):
        try:
            name = read_json(candidate)["provenance"]["device"]["name"]
        except (UsageError, KeyError, TypeError):
            continue
        if isinstance(name, str):
            return name
    return ""


def one_gpu(paths):
    """The GPU that the results name; "" if no result names a GPU. Raises UsageError if the results name several GPUs."""
    names = list(dict.fromkeys(filter(None, map(gpu_name, paths))))
    if len(names) > 1:
        raise UsageError(f"runs of {' and '.join(names)}: one figure can only show times of one GPU")
    return names[0] if names else ""


def timed(frame):
    """Rows that have a time: passed, sampled and unverified ones."""
    return frame[frame["status"].isin(WITH_VALUES) & (frame["time_median_us"] > 0)]


def numbers(frame, column):
    """The column as numbers; NaN for missing values or a missing column."""
    if column not in frame:
        return pd.Series(math.nan, index=frame.index)
    return pd.to_numeric(frame[column], errors="coerce")


def has(frame, *columns):
    return all(numbers(frame, column).notna().any() for column in columns)


def timed_with(frame, *columns):
    """Timed rows. Raises NothingToDraw if one of the columns has no number."""
    good = timed(frame)
    if not has(good, *columns):
        *others, last = columns
        raise NothingToDraw(f"rows with {', '.join(others)}{' and ' if others else ''}{last} are needed")
    return good


def distinct(frame, column):
    """Distinct values of the column, in order of first appearance."""
    return list(frame[column].dropna().drop_duplicates()) if column in frame else []


def experiments(frame):
    return [(name, frame[frame["experiment"] == name]) for name in distinct(frame, "experiment")]


def axes(frame):
    """Parameters that vary in the frame."""
    found = []
    for column in [c for c in frame if c.startswith("param.")]:
        if len(distinct(frame, column)) < 2:
            continue
        name = column.removeprefix("param.")
        twin = next((a for a in found if frame[a.column].equals(frame[column])), None)
        if twin:
            twin.label += f" = {name}"
        else:
            numeric = numbers(frame, column).notna().equals(frame[column].notna())
            found.append(Axis(column, name, numeric))
    return found


def swept(frame, least=3):
    """The numeric parameter with the most values, at least `least`; None if there is none."""
    numeric = [a for a in axes(frame) if a.numeric and len(distinct(frame, a.column)) >= least]
    return max(numeric, key=lambda a: len(distinct(frame, a.column)), default=None)


def rate(frame):
    """Column and label of the rate in the unit of the limiting resource: bytes for DRAM, else operations."""
    by_dram = (frame["limit_by"] == "dram").mean() > 0.5
    preferred = [("useful_gb_per_s", "useful bandwidth (GB/s)"), ("tflops", "throughput (TFLOP/s)")]
    for column, label in preferred if by_dram else reversed(preferred):
        if has(frame, column):
            return column, label
    raise NothingToDraw("neither useful_gb_per_s nor tflops has a number")


def text_of(value):
    """A parameter's value as text: 1024, 0.25, bf16."""
    number = pd.to_numeric(pd.Series([value]), errors="coerce").iloc[0]
    return str(value) if math.isnan(number) else f"{number:g}" if number % 1 else f"{int(number)}"


def is_vendor(frame):
    """Mask of rows measured with a vendor library."""
    return frame["implementation"] == "library"


def vendors(frame):
    """Variants that call a vendor library."""
    return set(frame[is_vendor(frame)]["variant"])
