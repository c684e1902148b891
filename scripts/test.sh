#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests: the release build's, then those that need no CUDA
# once more under the address and undefined-behaviour sanitizers. Tests that need a GPU skip where there is none.
# Arguments go to both runs of ctest, such as -R NAME or -L LABEL.

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

setup
compile "$build"

sanitized=$repo/build-host
configured "$sanitized" || configure host
compile "$sanitized"

if find_plotting_python; then
  export GPUEXP_PLOT_PYTHON=$python
else
  warn "pandas and matplotlib could not be installed; the test of the plots is skipped"
fi

status=0
for directory in "$sanitized" "$build"; do
  say "Tests of $directory"
  ctest --test-dir "$directory" --output-on-failure --parallel "$(nproc)" "$@" || status=$?
done
exit "$status"
