#!/usr/bin/env python3
"""Runs declarations of public kernels, and prints a table of CSV.

    run.py FOLDER verify     verdicts in the simulator, compared with those of expected.csv
    run.py FOLDER predict    predicted times at the sizes of column `timed`
    run.py FOLDER measure    verdicts and median times on this machine's GPU at these sizes

The last two also take the declarations of named.csv, which are in tests/sim/data/foreign. FOLDER
has a work tree OWNER+NAME of each repository, at the commits of repositories.csv and of
README.md. Exit status 1 if a verdict is not the expected one, or a measured kernel did not pass.
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
NAMED = HERE.parents[2] / "tests/sim/data/foreign"


def table(name):
    with open(HERE / name, newline="") as file:
        return list(csv.DictReader(file))


def declared_kernels(action):
    drawn = [row for row in table("expected.csv") if row["declaration"]]
    if action == "verify":
        return drawn
    named = [{"draw": "", "kernel": row["declaration"], "timed": row["timed"],
              "declaration": f"{row['declaration']}.gpuexp.json"} for row in table("named.csv")]
    return [row for row in drawn + named if row["timed"]]


def workplace(folder, place):
    """Sources in declarations are relative to the folder of clones, which is not written to."""
    for clone in folder.iterdir():
        (place / clone.name).symlink_to(clone.resolve())
    for declarations in (HERE / "declarations", NAMED):
        for declaration in declarations.glob("*.gpuexp.json"):
            (place / declaration.name).write_text(declaration.read_text())


def run(program, arguments, place):
    """What the program printed to stdout, and its error on one line without the place."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True)
    error = done.stderr.strip().replace(f"{place}/", "").replace("\n", " ")
    return done.stdout, error if done.returncode else ""


def rows_of(program, arguments, place):
    """The rows of a run, or one with its error. Addresses differ from run to run."""
    printed, error = run(program, [*arguments, "--csv", "-", "--quiet"], place)
    rows = list(csv.DictReader(printed.splitlines()))
    for row in rows or [{"status": "error", "reason": error}]:
        yield {**row, "reason": re.sub(r"0x[0-9a-f]+", "0x…", row["reason"])}


def sizes(kernel):
    return [word for value in kernel["timed"].split() for word in ("--set", value)]


def is_expected(kernel, row):
    if row["status"] != kernel["expected"]:
        return False
    line = kernel["fault_line"]
    return kernel["fault"] in row["reason"] and (
        not line or re.search(rf":{line}\b", row["reason"]) is not None)


def verify(kernel, options, declaration, place):
    begin = time.monotonic()
    rows = list(rows_of(options.gpuexp, ["verify", declaration, "--simulate", options.gpu,
                                         "--launch-timeout", "60"], place))
    seconds = time.monotonic() - begin
    as_expected = len(rows) == 1 and is_expected(kernel, rows[0])
    yield {"kernel": kernel["kernel"], "expected": kernel["expected"], "verdict": rows[0]["status"],
           "as_expected": "yes" if as_expected else "no", "seconds": f"{seconds:.1f}",
           "reason": rows[0]["reason"]}


def rounded(value):
    """Five digits of a number; other text as it is."""
    try:
        return f"{float(value):.5g}"
    except ValueError:
        return value


def predict(kernel, options, declaration, place):
    printed, error = run(options.gpuexp, ["predict", declaration, "--gpu", options.gpu, "--csv",
                                          *sizes(kernel)], place)
    columns = ["key", "predicted_time_us", "predicted_band_pct", "predicted_band_cause",
               "bound_by", "limit_time_us", "limit_by"]
    for cell in list(csv.DictReader(printed.splitlines())) or [{}]:
        yield {**{c: rounded(cell.get(c, "")) for c in columns}, "error": error}


def measure(kernel, options, declaration, place):
    columns = ["key", "family", "variant", "status", "time_median_us", "floor_us",
               "predicted_time_us", "bound_by", "reason"]
    for row in rows_of(options.gpuexp, ["run", declaration, *sizes(kernel)], place):
        yield {c: rounded(row.get(c, "")) for c in columns}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("action", choices=["verify", "predict", "measure"])
    parser.add_argument("--gpuexp", default="gpuexp", help="the program (default: gpuexp)")
    parser.add_argument("--gpu", default="h200", help="GPU without measure (default: h200)")
    parser.add_argument("--only", action="append", help="number of a draw; may be repeated")
    options = parser.parse_args()
    action = {"verify": verify, "predict": predict, "measure": measure}[options.action]
    kernels = [kernel for kernel in declared_kernels(options.action)
               if not options.only or kernel["draw"] in options.only]
    writer = None
    missed = False
    with tempfile.TemporaryDirectory() as place:
        workplace(options.folder, pathlib.Path(place))
        for kernel in kernels:
            for result in action(kernel, options, f"{place}/{kernel['declaration']}", place):
                row = {"draw": kernel["draw"], **result}
                if not writer:
                    writer = csv.DictWriter(sys.stdout, row, lineterminator="\n")
                    writer.writeheader()
                writer.writerow(row)
                sys.stdout.flush()
                missed |= row.get("as_expected") == "no"
                missed |= options.action == "measure" and row["status"] != "passed"
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
