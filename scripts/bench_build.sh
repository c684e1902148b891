#!/usr/bin/env bash
# Times quickstart.sh from nothing: wall time of its build and of the run behind it, processor time of kernels and of host code, of each
# family, and of a family that holds next to nothing. Toolkit and packages are to be installed (scripts/quickstart.sh). Fails
# where a figure is over its limit. What the commands take afterwards: scripts/bench_host.sh.
# Usage: scripts/bench_build.sh [FOLDER], where it clones and builds; a temporary one when absent.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# As a compiler launcher: runs the command and notes its processor time and output.
if [[ ${GPUEXP_COMPILE_TIMES:-} ]]; then
  exec python3 - "$@" <<'PYTHON'
import os, resource, subprocess, sys
status = subprocess.run(sys.argv[1:]).returncode
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
output = sys.argv[sys.argv.index("-o") + 1] if "-o" in sys.argv else "?"
with open(os.environ["GPUEXP_COMPILE_TIMES"], "a") as log:
    log.write(f"{usage.ru_utime + usage.ru_stime:.2f} {output}\n")
sys.exit(status)
PYTHON
fi

folder=${1:-$(mktemp -d)}
clone=$folder/gpuexp
git clone --quiet "$repo" "$clone"
[[ ! -d $repo/build/venv ]] || { mkdir -p "$clone/build" && cp -r "$repo/build/venv" "$clone/build/venv"; }
# A family of one kernel without a body: what every family pays.
cat > "$clone/kernels/empty_family.cu" <<'CUDA'
#include "kernels/common/launch.cuh"

namespace gpuexp::empty_family {

__global__ void empty_kernel() {}

}  // namespace gpuexp::empty_family
CUDA
export GPUEXP_COMPILE_TIMES=$folder/times.txt
export CMAKE_CXX_COMPILER_LAUNCHER=$repo/scripts/bench_build.sh CMAKE_CUDA_COMPILER_LAUNCHER=$repo/scripts/bench_build.sh
rm -f "$GPUEXP_COMPILE_TIMES"
SECONDS=0
"$clone/scripts/quickstart.sh" 2>&1 | while IFS= read -r line; do echo "$SECONDS $line"; done > "$folder/quickstart.log" ||
  { tail "$folder/quickstart.log" >&2; exit 1; }
wall=$SECONDS
# Where no GPU is, executing the kernels follows, which is no part of the build.
built=$(sed -n 's/^\([0-9]*\) .*No GPU here:.*/\1/p' "$folder/quickstart.log")

python3 - "$GPUEXP_COMPILE_TIMES" "$wall" "${built:-$wall}" <<'PYTHON'
import re
import sys
kernels, host = {}, 0.0
for line in open(sys.argv[1]):
    seconds, output = line.split()
    if re.search(r"kernels/CMakeFiles/gpuexp_(\w+_)?kernels\.dir/", output):
        kernels[output.rsplit("/", 1)[1].split(".")[0]] = float(seconds)
    elif "kernels/" not in output or "gpuexp_kernels" not in output:
        host += float(seconds)
empty = kernels.pop("empty_family", float("nan"))
total, mean = sum(kernels.values()), sum(kernels.values()) / len(kernels)
slowest = max(kernels, key=kernels.get)
wall, built = float(sys.argv[2]), float(sys.argv[3])
rows = [("quickstart.sh's build, wall", built, 240), ("its run and plots, wall", wall - built, 120), ("kernels, processor time", total, 200),
        ("host code, processor time", host, 200), (f"a family, mean of {len(kernels)}", mean, 8),
        ("an empty family", empty, 6), (f"the slowest family, {slowest}", kernels[slowest], 30)]
for what, seconds, limit in rows:
    print(f"{what:<44} {seconds:7.1f} s, limit {limit} s{'' if seconds <= limit else '  OVER'}")
sys.exit(any(not seconds <= limit for _, seconds, limit in rows))
PYTHON
