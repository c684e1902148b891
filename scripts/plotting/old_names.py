"""Columns of results under the names that they have now, whatever version wrote them."""

import json
from pathlib import Path

# Made from src/base/old_names.hpp, as a test says.
OLD_NAMES = json.loads((Path(__file__).parent / "old_names.json").read_text(encoding="utf-8"))
COUNTER = "counter."


def current(column):
    """What the column is called now: itself, unless the name is an old one."""
    if column.startswith(COUNTER):
        name = column.removeprefix(COUNTER)
        return COUNTER + OLD_NAMES["counters"].get(name, name)
    return OLD_NAMES["columns"].get(column, column)


def current_changes(text):
    """Expected changes in the words of today: "l1_tag_turns falls 2" becomes "l1_tag_wavefronts decreases 2"."""
    changes = [change.split(" ") for change in text.split(";")]
    return ";".join(" ".join([OLD_NAMES["counters"].get(counter, counter), OLD_NAMES["directions"].get(direction, direction),
                              factor]) for counter, direction, factor in changes)  # fmt: skip


def with_current_names(row):
    """A row of results.json or of a CSV, by the names of today."""
    row = {current(column): value for column, value in row.items()}
    if row.get("expected_changes"):
        row["expected_changes"] = current_changes(row["expected_changes"])
    return row
