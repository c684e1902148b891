#!/usr/bin/env python3
"""Computes the bands of a healthy GPU's ceilings from recorded measurements of healthy GPUs.

usage: expected_bands.py FILE [FILE ...] [--update SPEC.json]

FILEs are written by `gpuexp info --measure --out FILE`, for several cards of one GPU model, or several times for one card. Prints
the section "expected" of configs/devices/<id>.json and its source; --update writes both into that file and keeps its other lines.

Each ceiling has its own band: from the lowest to the highest end of the 95 % intervals of all recordings, widened on both sides by
the larger of two margins. One is 2 % of the end (10 % if all recordings are of one card). The other is half the difference between
the lowest and the highest recorded value. Ends are rounded outwards to four digits.

Half the difference allows for cards that are not recorded: the value of a third card lies outside the range of the first two in two of
three cases. 2 % allow for other drivers, toolkits and temperatures. 10 % also allow for other cards: with 2 %, another H200 is outside
most bands of one recorded H200. Link latencies of one card have a margin of 17 %, because pairs of cards differ. Floors vary more than
other ceilings and need more than one recording.

Needs only the standard library. Exit codes: 0 done; 2 the files make no bands.
"""

import argparse
import json
import os
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from pathlib import Path

from plotting.recorded import UsageError, exit_with, read_json

ROOT = Path(__file__).resolve().parents[1]
LEAST_MARGIN = 0.02
ONE_CARD_MARGIN = 0.1
# Link latencies: a card signals to one card of its machine a sixth faster than to another card.
ONE_PAIR_MARGIN = 0.17
DIGITS = 4
# Launch times, which differ between processes even on one card.
FLOORS = ("floor_", "kernel_latency", "link_kernel")
LINKS = "link_"
# Vendor calls, whose rates depend on the installed library and on the kernels that it selects.
LIBRARY_PREFIX = "library."
SOURCE = "recorded_ceilings"
# Ceilings that depend on the machine around the GPU and do not show the GPU's health.
MACHINE_CEILINGS = {"host_call", "host_launch", "bus_to_device", "bus_to_host", "bus_both", "unit_change", "link_all"}


@dataclass
class Recording:
    path: Path
    device: str
    uuid: str
    driver: str
    toolkit: str
    utc: str
    links_to: str  # UUID of the other GPU, for links
    ceilings: dict


def read_recording(given):
    path = Path(given)
    try:
        text = read_json(path)
        ceilings = text["ceilings"]
        intervals_hold = all(c["low"] <= c["value"] <= c["high"] for c in ceilings.values())
        made = Recording(
            path,
            text["device"],
            text["uuid"],
            text["driver_version"],
            text["cuda_toolkit"],
            text["utc"],
            text.get("links_to", ""),
            ceilings,
        )
    except (KeyError, TypeError, AttributeError):
        raise UsageError(f"{path}: not what `gpuexp info --measure --out` writes") from None
    if not ceilings:
        raise UsageError(f"{path}: has no ceilings")
    if not intervals_hold:
        raise UsageError(f"{path}: a value lies outside of its interval")
    return made


def read_recordings(files):
    """The recordings without duplicates. Raises UsageError unless all are of one GPU model."""
    recordings = {}
    for file in files:
        recording = read_recording(file)
        recordings.setdefault((recording.uuid, recording.links_to, recording.utc), recording)
    kinds = sorted({recording.device for recording in recordings.values()})
    if len(kinds) > 1:
        raise UsageError(f"recordings of {' and of '.join(kinds)}: expected recordings of one GPU model")
    return list(recordings.values())


def rounded(value, rounding):
    """The value, rounded to four significant digits in the given direction."""
    number = Decimal(repr(value))
    step = Decimal(1).scaleb(number.adjusted() - DIGITS + 1)
    return float(number.quantize(step, rounding=rounding)) if number.as_tuple().exponent < step.adjusted() else value


def text_of(value, rounding=ROUND_HALF_EVEN):
    return f"{rounded(value, rounding):g}"


def band_of(ceilings, margin):
    """Low end and high end of one ceiling's band, and the recorded range, as text."""
    low = min(c["low"] for c in ceilings)
    high = max(c["high"] for c in ceilings)
    values = [c["value"] for c in ceilings]
    half_spread = (max(values) - min(values)) / 2
    lowest = low - max(margin * low, half_spread)
    highest = high + max(margin * high, half_spread)
    if not lowest > 0:
        raise UsageError(f"recordings from {low:g} to {high:g} leave no band above 0")
    seen = f"{text_of(low)} to {text_of(high)}"
    return text_of(lowest, ROUND_FLOOR), text_of(highest, ROUND_CEILING), seen


def count_text(count, what):
    return f"{count} {what}" + ("" if count == 1 else "s")


def cards_of(recordings):
    return len({recording.uuid for recording in recordings})


def how_many(recordings):
    cards = cards_of(recordings)
    text = count_text(cards, "card")
    return text if cards == len(recordings) else f"{text}, {len(recordings)} recordings"


def section_of(recordings):
    """The section "expected", indented as in a device spec."""
    measured = dict.fromkeys(id for recording in recordings for id in recording.ceilings)
    ids = [id for id in measured if id not in MACHINE_CEILINGS and not id.startswith(LIBRARY_PREFIX)]
    lines = []
    for id in ids:
        having = [recording for recording in recordings if id in recording.ceilings]
        if id.startswith(FLOORS) and len(having) == 1:
            continue
        is_way = id.startswith(LINKS) and having[0].ceilings[id].get("unit") == "ns"
        of_one_card = ONE_PAIR_MARGIN if is_way else ONE_CARD_MARGIN
        margin = of_one_card if cards_of(having) == 1 else LEAST_MARGIN
        low, high, seen = band_of([recording.ceilings[id] for recording in having], margin)
        lines.append(
            f'    {json.dumps(id)}: {{"low": {low}, "high": {high}, '
            f'"source": "{SOURCE}", "note": "{seen} on {how_many(having)}"}}'
        )
    if not lines:
        raise UsageError("one recording of floors makes no bands")
    return '  "expected": {\n' + ",\n".join(lines) + "\n  }"


def source_of(recordings):
    """The line that describes the source."""

    def name(path):
        path = path.resolve()
        return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name

    files = ", ".join(sorted(name(recording.path) for recording in recordings))
    drivers = ", ".join(sorted({recording.driver for recording in recordings}))
    toolkits = ", ".join(sorted({recording.toolkit for recording in recordings}))
    text = (
        f"gpuexp info --measure on {how_many(recordings)} (driver {drivers}, CUDA {toolkits}), "
        f"bands by scripts/expected_bands.py: {files}"
    )
    return f"    {json.dumps(SOURCE)}: {json.dumps(text)}"


def without(lines, first, last):
    """The lines, without those from the first that starts with `first` to the next that starts with `last`."""
    start = next((i for i, line in enumerate(lines) if line.startswith(first)), None)
    if start is None:
        return lines
    end = next(i for i in range(start, len(lines)) if lines[i].startswith(last))
    return lines[:start] + lines[end + 1 :]


def updated(text, recordings):
    """The spec with the new section and source. Lines are edited, because json.dumps does not keep one ceiling per line."""
    source = f'    "{SOURCE}"'
    lines = without(without(text.splitlines(), '  "expected"', "  }"), source, source)
    sources = lines.index('  "sources": {')
    end = lines.index("  }", sources)
    cited = [line.rstrip(",") for line in lines[sources + 1 : end]] + [source_of(recordings)]
    section = section_of(recordings).splitlines()
    section[-1] += ","
    return "\n".join(lines[:sources] + section + [lines[sources], ",\n".join(cited)] + lines[end:]) + "\n"


def others(spec):
    """The parts of the spec that an update must not change."""
    sources = {id: text for id, text in spec["sources"].items() if id != SOURCE}
    return {**{key: value for key, value in spec.items() if key != "expected"}, "sources": sources}


def update(path, recordings):
    try:
        text = path.read_text(encoding="utf-8")
        before = json.loads(text)
        names = {name.lower() for name in [before["name"], *before.get("aliases", [])]}
        if recordings[0].device.lower() not in names:
            raise UsageError(f"{path}: is not the spec of {recordings[0].device}")
        after = updated(text, recordings)
        if others(json.loads(after)) != others(before):
            raise UsageError(f"{path}: is not formatted like the other specs; insert the section by hand")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, StopIteration):
        raise UsageError(f"{path}: is not a device spec, or is not formatted like the others") from None
    made = path.with_name(path.name + ".new")
    made.write_text(after, encoding="utf-8")
    os.replace(made, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", metavar="FILE", nargs="+")
    parser.add_argument("--update", metavar="SPEC.json", type=Path)
    options = parser.parse_args()
    recordings = read_recordings(options.files)
    if options.update:
        update(options.update, recordings)
    else:
        print(f"{section_of(recordings)},\n  \"sources\": {{\n{source_of(recordings)}")


if __name__ == "__main__":
    exit_with(main)
