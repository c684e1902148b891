#!/usr/bin/env bash
# From a fresh Debian 12 or Ubuntu 24.04 to a first result: installs what is missing, builds build/gpuexp, and runs
# configs/quickstart.json on the GPU here. Without a GPU the kernels are executed on the CPU, as an H200 would: verified and
# counted, with predicted times in place of measured ones.
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

where=()
if ((gpu_count == 0)); then
  say "No GPU here: the kernels are executed on the CPU, as an H200 would. No time is measured."
  where=(--simulate h200 --counters)
fi

status=0
build/gpuexp run "$config" --out "$results" "${where[@]}" "$@" || status=$?
plot
exit "$status"
