#!/usr/bin/env bash
# From a fresh Debian 12 or Ubuntu 24.04 to a first result: installs what is missing, builds build/gpuexp, and runs
# configs/quickstart.json on the GPU here. Without a GPU it shows the plan and the predictions for an H200.
# Arguments go to `gpuexp run`. Needs root, sudo, or that nothing is missing.

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

config=configs/quickstart.json
results=results/quickstart-$(date -u +%Y%m%dT%H%M%SZ)

plot() {
  if [[ ! -s $results/results.csv ]]; then
    return
  fi
  if find_python "pandas and matplotlib, for the plots" pandas matplotlib; then
    "$python" scripts/plot.py "$results/results.csv" --out "$results" ||
      warn "scripts/plot.py failed; $results/results.csv has the data"
  else
    warn "no plots: pandas and matplotlib could not be installed; $results/results.csv has the data"
  fi
}

setup
compile "$build" gpuexp
cd "$repo"

if ((gpu_count == 0)); then
  say "No GPU here: showing the plan and the predictions for an H200 instead of a run."
  build/gpuexp plan "$config" --gpu h200
  build/gpuexp predict "$config" --gpu h200
  exit
fi

status=0
build/gpuexp run "$config" --out "$results" "$@" || status=$?
plot
exit "$status"
