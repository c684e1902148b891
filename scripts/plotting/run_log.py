"""Reads samples and the SM clock of each group and round from a run's log (src/results/run_log.hpp), for plot.py drift."""

import json
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from plotting.recorded import UsageError
from plotting.statuses import WITH_VALUES

LOG_VERSION = 2  # kRunLogVersion of src/results/run_log.hpp


@dataclass
class Group:
    """The variants of one problem in one mode, which were sampled in the same rounds."""

    experiment: str
    parameters: str  # as in a key, such as m=4096,n=4096
    mode: str
    samples: dict = field(default_factory=dict)  # variant: [(round, µs)]
    clocks: list = field(default_factory=list)  # (first round, last round, MHz) of each reading


def read_groups(folder, patterns):
    """(GPU, groups with a cell whose key matches a pattern). Groups are in the order of the patterns, then of the run. A group contains
    its cells that have samples and either passed or did not finish."""
    if Path(folder).is_file():
        raise UsageError(f"{folder}: is a file; expected the folder of a run, which has log.jsonl")
    path = Path(folder) / "log.jsonl"
    reader = Reader()
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                if line.endswith("\n"):  # the last line may be incomplete
                    reader.read(number, json.loads(line))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; gpuexp run writes it into the run's folder") from None
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except KeyError as error:
        raise UsageError(f"{path}:{number}: not a line of a gpuexp log: it lacks {error}") from None
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise UsageError(f"{path}:{number}: not a line of a gpuexp log: {error}") from None
    if reader.columns is None:
        raise UsageError(f"{path}: not a gpuexp log: the file is empty")
    if reader.is_simulated:
        raise UsageError(f"{folder}: the run was simulated; only a run on a GPU has samples and readings of the clock")
    return reader.gpu, reader.groups(patterns)


class Cell:
    def __init__(self):
        self.fields = {}
        self.samples = []


class Reader:
    def __init__(self):
        self.columns = None
        self.gpu = ""
        self.is_simulated = False
        self.cells = {}
        self.clocks = {}  # first cell of a group: [(first round, last round, MHz)]

    def read(self, number, line):
        if number == 1:
            if line["gpuexp_log"] != LOG_VERSION:
                raise ValueError(f"version {line['gpuexp_log']} of the log; this version of gpuexp reads {LOG_VERSION}")
            report = line["report"]
            self.columns = [column["name"] for column in report["columns"]]
            device = report["provenance"].get("device") or {}
            self.gpu = device.get("name") or ""
            self.is_simulated = device.get("executed_on") == "simulated"
        elif isinstance(line, list):
            self.cell(line[0]).samples.append((line[1], float(line[2])))
        elif "cell" in line or "row" in line:
            self.cell(line.get("cell", line.get("row"))).fields = self.fields(line)
        elif "clock" in line:
            (first, last), mhz = map(int, line["rounds"]), float(line["mhz"])
            if not mhz > 0:
                raise ValueError(f"a clock of {mhz:g} MHz")
            self.clocks.setdefault(line["clock"], []).append((first, last, mhz))

    def cell(self, index):
        return self.cells.setdefault(int(index), Cell())

    def fields(self, line):
        return dict(zip(self.columns, line["fields"]))

    def groups(self, patterns):
        groups, rank = {}, {}
        for index, cell in sorted(self.cells.items()):
            key = cell.fields.get("key") or ""
            parts = key.split("/")  # experiment/family/variant/parameters/mode
            if len(parts) < 4:
                continue
            name = (parts[0], parts[1], *parts[3:])
            parameters = "/".join(parts[3:-1])
            group = groups.setdefault(name, Group(parts[0], parameters, parts[-1]))
            group.clocks += self.clocks.get(index, [])
            if not cell.samples or cell.fields.get("status") not in [*WITH_VALUES, "not_run"]:
                continue
            group.samples[parts[2]] = cell.samples
            matches = [i for i, pattern in enumerate(patterns) if fnmatchcase(key, pattern)]
            if matches:
                rank[name] = min(matches[0], rank.get(name, len(patterns)))
        return [groups[name] for name in sorted(rank, key=rank.get)]
