#!/usr/bin/env python3
"""Draws public kernels by a seed: first a repository of repositories.csv, then one of its kernels.

    draw.py FOLDER [--count N]

FOLDER has a git repository OWNER+NAME, or OWNER+NAME/repo, of each repository. Prints a table of
CSV in the order of the draw: number, repository, file, line and kernel. Kernels are definitions of
__global__ functions in .cu and .cuh files; each is drawn at most once.
"""
import argparse
import csv
import fnmatch
import pathlib
import random
import re
import subprocess
import sys

SEED = 2026
KERNEL = re.compile(
    r"__global__(?:\s|__launch_bounds__\s*\([^()]*(?:\([^()]*\)[^()]*)*\)|\b(?:static|inline|void)\b)*"
    r"\b(\w+)\s*\(")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def without_comments(text):
    """The text with comments replaced by blanks, so that lines keep their numbers."""
    return COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def is_definition(text, parenthesis):
    """Whether a body follows the parameters that begin at the parenthesis."""
    depth = 0
    for i in range(parenthesis, len(text)):
        depth += {"(": 1, ")": -1}.get(text[i], 0)
        if depth == 0:
            return text[i + 1:].lstrip().startswith("{")
    return False


def kernels_of(folder, row):
    git = ["git", "-C", str(folder)]
    listed = subprocess.run([*git, "ls-tree", "-r", "--name-only", row["commit"]],
                            check=True, capture_output=True, text=True).stdout.splitlines()
    kernels = []
    for file in sorted(listed):
        if not fnmatch.fnmatch(file, row["files"]) or not file.endswith((".cu", ".cuh")):
            continue
        shown = subprocess.run([*git, "show", f"{row['commit']}:{file}"], capture_output=True)
        if shown.returncode != 0:
            print(f"{row['repository']}: {file} is not in the copy", file=sys.stderr)
            continue
        text = without_comments(shown.stdout.decode("utf-8", "replace"))
        for found in KERNEL.finditer(text):
            if is_definition(text, found.end() - 1):
                kernels.append((file, text.count("\n", 0, found.start(1)) + 1, found.group(1)))
    return kernels


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=30, help="number of draws (default: 30)")
    options = parser.parse_args()
    here = pathlib.Path(__file__).parent
    with open(here / "repositories.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    kernels = {}
    for row in rows:
        folder = options.folder / row["repository"].replace("/", "+")
        kernels[row["repository"]] = kernels_of(
            folder / "repo" if (folder / "repo").is_dir() else folder, row)
    random_numbers = random.Random(SEED)
    drawn = csv.writer(sys.stdout, lineterminator="\n")
    drawn.writerow(["draw", "repository", "file", "line", "kernel"])
    for draw in range(1, options.count + 1):
        repository = random_numbers.choice([row["repository"] for row in rows
                                            if kernels[row["repository"]]])
        of = kernels[repository]
        drawn.writerow([draw, repository, *of.pop(random_numbers.randrange(len(of)))])


if __name__ == "__main__":
    main()
