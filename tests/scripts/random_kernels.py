#!/usr/bin/env python3
"""Writes random programs as CUDA sources, whose bodies are PTX, and reports which machine code they compile to.

  random_kernels.py generate --out DIR --seed 1 --programs 300 --files 4 [--approximate 20]
  random_kernels.py coverage --simulator src/sim LISTING.sass...
  random_kernels.py check DUMP                 # checks the simulator's results by the rules of the PTX ISA
"""

import argparse
import pathlib
import sys

from random_programs import coverage, oracle, sources


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    generate = commands.add_parser("generate")
    generate.add_argument("--out", type=pathlib.Path, required=True)
    generate.add_argument("--stem", default="random")
    generate.add_argument("--seed", type=int, default=1)
    generate.add_argument("--programs", type=int, default=300)
    generate.add_argument("--approximate", type=int, default=20)
    generate.add_argument("--files", type=int, default=4)
    generate.set_defaults(run=lambda a: sources.write(a.out, a.stem, a.seed, a.programs, a.approximate, a.files))
    covered = commands.add_parser("coverage")
    covered.add_argument("--simulator", type=pathlib.Path, required=True)
    covered.add_argument("listings", type=pathlib.Path, nargs="+")
    covered.set_defaults(run=lambda a: coverage.report(a.simulator, a.listings))
    check = commands.add_parser("check")
    check.add_argument("dump", type=pathlib.Path)
    check.set_defaults(run=lambda a: oracle.report(a.dump))
    arguments = parser.parse_args()
    return arguments.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
