#!/usr/bin/env bash
# From a fresh Debian 12 or Ubuntu 24.04 to a first result: installs what is missing, builds build/gpuexp, and runs
# configs/quickstart.json on the GPU here. Without a GPU the kernels are executed on the CPU, as an H200 would: verified and
# counted, with predicted times in place of measured ones.
# Where the program is installed, beside share/, it is run and nothing is installed or built; results go to ./results.
# Arguments go to `gpuexp run`. Needs root, sudo, or that nothing is missing.

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

results=results/quickstart-$(date -u +%Y%m%dT%H%M%SZ)

# Python and packages for plots: looked for, and installed where this is a checkout.
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
  say "No GPU here: the kernels are executed on the CPU, as an H200 would. No time is measured."
  where=(--simulate h200 --counters)
fi

status=0
"$program" run quickstart --out "$results" "${where[@]}" "$@" || status=$?
plot
exit "$status"
