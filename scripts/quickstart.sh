#!/usr/bin/env bash
# Produces a first result on Debian 12 or Ubuntu 24.04: installs missing packages, builds build/gpuexp, and runs
# configs/quickstart.json on this machine's GPU. Without a GPU, the CPU executes the kernels, simulating an H200: results
# are verified and counted, and times are predicted instead of measured.
# An installed copy (share/gpuexp/scripts) runs the installed program, installs and builds nothing, and writes to ./results.
# Arguments are passed to `gpuexp run`. Needs root or sudo if a package is missing.

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

results=results/quickstart-$(date -u +%Y%m%dT%H%M%SZ)

# Finds Python and the packages for plots; in a checkout, installs missing ones.
plotting_python() {
  if [[ -n $installed ]]; then
    find_python pandas matplotlib
  else
    ensure_python "pandas and matplotlib, for the plots, and zstandard, for recorded results" pandas matplotlib zstandard
  fi
}

plot() {
  if [[ ! -s $results/results.csv ]]; then
    return
  fi
  if plotting_python; then
    "$python" "$repo/scripts/plot.py" "$results/results.csv" --out "$results" ||
      warn "scripts/plot.py failed; $results/results.csv has the data"
  else
    warn "no plots: pandas and matplotlib are missing or could not be installed; $results/results.csv has the data"
  fi
}

installed=''
if [[ -e $repo/CMakeLists.txt ]]; then
  setup
  compile "$build" gpuexp
  cd "$repo"
  program=build/gpuexp
else
  installed=yes
  detect_gpu
  check_driver
  program=$(cd "$repo/../../bin" && pwd)/gpuexp
fi

where=()
if ((gpu_count == 0)); then
  say "No GPU here: the CPU executes the kernels, simulating an H200. Times are predicted, not measured."
  where=(--simulate h200 --counters)
fi

status=0
"$program" run quickstart --out "$results" "${where[@]}" "$@" || status=$?
plot
exit "$status"
