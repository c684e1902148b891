#!/usr/bin/env python3
"""Runs the declarations of expected.csv, and compares each verdict with the expected one.

    run.py FOLDER [--gpuexp PROGRAM] [--gpu GPU] [--only DRAW] > verdicts.csv

FOLDER has a work tree OWNER+NAME of each repository, at the commit of repositories.csv. Exit
status 1 if a verdict differs.
"""
import argparse
import csv
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent.resolve()


def declared_kernels(only):
    with open(HERE / "expected.csv", newline="") as file:
        return [row for row in csv.DictReader(file)
                if row["declaration"] and (not only or row["draw"] in only)]


def workplace(folder, place):
    """Sources in declarations are relative to the folder of clones, which is not written to."""
    for clone in folder.iterdir():
        (place / clone.name).symlink_to(clone.resolve())
    for declaration in (HERE / "declarations").iterdir():
        (place / declaration.name).write_text(declaration.read_text())


def rows_of(command, place):
    """The rows of a command, or a row with its error. Addresses differ from run to run."""
    rows = place / "rows.csv"
    rows.unlink(missing_ok=True)
    begin = time.monotonic()
    done = subprocess.run([*command, "--csv", str(rows), "--quiet"], capture_output=True, text=True)
    seconds = time.monotonic() - begin
    found = []
    if rows.exists():
        with open(rows, newline="") as file:
            found = list(csv.DictReader(file))
    if not found:
        message = (done.stderr or done.stdout).strip().replace(str(place) + "/", "")
        found = [{"status": "error", "reason": message.replace("\n", " ")}]
    for row in found:
        row["reason"] = re.sub(r"0x[0-9a-f]+", "0x…", row["reason"])
    return found, seconds


def is_expected(kernel, row):
    if row["status"] != kernel["expected"]:
        return False
    line = kernel["fault_line"]
    return kernel["fault"] in row["reason"] and (
        not line or re.search(rf":{line}\b", row["reason"]) is not None)


def verify(kernels, options, place):
    table = csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(["draw", "kernel", "expected", "verdict", "as expected", "seconds", "reason"])
    different = 0
    for kernel in kernels:
        command = [options.gpuexp, "verify", str(place / kernel["declaration"]), "--simulate",
                   options.gpu, "--launch-timeout", "60"]
        rows, seconds = rows_of(command, place)
        as_expected = len(rows) == 1 and is_expected(kernel, rows[0])
        different += not as_expected
        table.writerow([kernel["draw"], kernel["kernel"], kernel["expected"], rows[0]["status"],
                        "yes" if as_expected else "no", f"{seconds:.1f}", rows[0]["reason"]])
        sys.stdout.flush()
    print(f"{len(kernels) - different} of {len(kernels)} verdicts are as expected",
          file=sys.stderr)
    return 1 if different else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--gpuexp", default="gpuexp", help="the program (default: gpuexp)")
    parser.add_argument("--gpu", default="h200", help="simulated GPU (default: h200)")
    parser.add_argument("--only", action="append", help="number of a draw; may be repeated")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        workplace(options.folder, pathlib.Path(place))
        return verify(declared_kernels(options.only), options, pathlib.Path(place))


if __name__ == "__main__":
    sys.exit(main())
