"""Reads recorded results: results.json or CSV, compressed or not, or a run folder.

Needs only the standard library and, for compressed files, the package zstandard.
"""

import csv
import io
import json
import math
import re
import sys
from pathlib import Path

SCHEMA_VERSION = 3  # kReportSchemaVersion of src/results/json_fields.hpp
ZSTANDARD = b"\x28\xb5\x2f\xfd"  # first bytes of a compressed file


class UsageError(Exception):
    """The given input cannot be read or drawn; the message says why."""


def exit_with(main, *errors):
    """Ends the process with the result of main(). UsageError and `errors` are printed after the script's name, with exit code 2."""
    try:
        sys.exit(main())
    except (UsageError, *errors) as error:
        print(f"{Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        sys.exit(2)


def markdown_table(head, rows, texts=1):
    """A Markdown table. The first `texts` columns are aligned left, the others right."""
    lines = [f"| {' | '.join(map(str, line))} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * texts + "---:|" * (len(head) - texts), *lines[1:]])


def decompressed(data, path):
    try:
        import zstandard
    except ImportError:
        raise UsageError(f"{path}: is compressed; to read it: python3 -m pip install zstandard") from None
    try:
        frame = zstandard.ZstdDecompressor().decompressobj()
        text = frame.decompress(data)
    except zstandard.ZstdError as error:
        raise UsageError(f"{path}: damaged Zstandard data: {error}") from None
    if not frame.eof:
        raise UsageError(f"{path}: truncated Zstandard data")
    return text


def read_text(path):
    """The text of a file, or of standard input ("-"), decompressed if necessary."""
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
        return (decompressed(data, path) if data.startswith(ZSTANDARD) else data).decode()
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file") from None
    except OSError as error:
        raise UsageError(f"{path}: cannot read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: is not UTF-8: {error}") from None


def read_json(path):
    try:
        return json.loads(read_text(path))
    except ValueError as error:
        raise UsageError(f"{path}: cannot read as JSON: {error}") from None


def results_file(path, names=("results.json", "results.json.zst")):
    """The path of the file itself or, for a run folder, of the first existing file of `names` in it."""
    path = Path(path)
    if not path.is_dir():
        return path
    found = [path / name for name in names if (path / name).exists()]
    if not found:
        raise UsageError(f"{path}: has no {' or '.join(names)}")
    return found[0]


def checked_report(report, path):
    if not isinstance(report, dict) or not {"schema_version", "provenance", "rows"} <= report.keys():
        raise UsageError(f"{path}: not the results.json of a gpuexp run")
    if report["schema_version"] != SCHEMA_VERSION:
        raise UsageError(f"{path}: has schema_version {report['schema_version']}; this version of gpuexp reads {SCHEMA_VERSION}")
    return report


def read_report(path):
    """The content of a results.json, or of the results.json in a run folder."""
    path = results_file(path)
    return checked_report(read_json(path), path)


def csv_field(value):
    """A field as base/csv.cpp writes it: shortest round-trip digits, whole numbers without a point, empty if not finite."""
    if isinstance(value, float):
        return re.sub(r"\.0$", "", repr(value)) if math.isfinite(value) else None
    return value


def csv_text(columns, records):
    text = io.StringIO()
    names = [c["name"] for c in columns]
    csv.writer(text).writerows([names, *([csv_field(r.get(name)) for name in names] for r in records)])
    return text.getvalue()


def read_csv_text(path):
    """Rows of results as CSV text, from a file with CSV or JSON."""
    path = results_file(path, ("results.csv", "results.json", "results.json.zst"))
    text = read_text(path)
    if not text.lstrip().startswith("{"):
        return text
    try:
        report = checked_report(json.loads(text), path)
    except ValueError as error:
        raise UsageError(f"{path}: cannot read as JSON: {error}") from None
    return csv_text(report["columns"], report["rows"])


def read_rows(path):
    """Rows of results, or of another CSV, as dictionaries of strings."""
    return list(csv.DictReader(io.StringIO(read_csv_text(path), newline="")))
