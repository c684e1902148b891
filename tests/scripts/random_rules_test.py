#!/usr/bin/env python3
"""Results of random programs in the simulator follow the PTX ISA for each instruction."""

import os
import pathlib
import subprocess
import sys
import tempfile

from random_programs import oracle


def main(program):
    with tempfile.TemporaryDirectory() as directory:
        dump = pathlib.Path(directory) / "results"
        run = subprocess.run([program, "[simulate]"], env={**os.environ, "GPUEXP_RANDOM_DUMP": str(dump)}, check=False)
        if run.returncode != 0:
            return run.returncode
        return oracle.report(dump)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
