#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests: the release build's, then those that need no CUDA
# once more under the address and undefined-behaviour sanitizers. Tests that need a GPU skip where there is none.
# Arguments go to both runs of ctest, such as -R NAME or -L LABEL.

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

toolkit_wheels+=("${test_wheels[@]}")
setup
compile "$build"

sanitized=$repo/build-host
configured "$sanitized" || configure host
compile "$sanitized"

if ensure_python "pandas, matplotlib, zstandard and jsonschema, for the tests" pandas matplotlib zstandard jsonschema; then
  export GPUEXP_TEST_PYTHON=$python
else
  warn "pandas, matplotlib, zstandard and jsonschema could not be installed; the tests of the plots and the schema are skipped"
fi

# A browser, for the test of report pages: 0.12 GB on Debian. Ubuntu's package is a snap, which is left alone.
find_browser() { command -v "${GPUEXP_CHROMIUM:-chromium}" chromium-browser google-chrome google-chrome-stable >/dev/null; }
if ! find_browser && grep -qs '^ID=debian' /etc/os-release && [[ $(root_command) != none ]]; then
  (install_packages chromium) || true
fi

# Slurm, for the test of job arrays: it starts its own, which takes root.
find_slurm() { (PATH=$PATH:/usr/sbin:/sbin; command -v slurmctld && command -v slurmd && command -v munged) >/dev/null; }
if ! find_slurm && is_debian && [[ $(root_command) != none ]]; then
  (install_packages slurm-wlm munge) || true
fi

# Open MPI, whose mpirun starts a process for each rank.
if ! command -v mpirun >/dev/null && is_debian && [[ $(root_command) != none ]]; then
  (install_packages openmpi-bin) || true
fi

# What was found or installed is no reason to skip a test.
if find_browser; then
  export GPUEXP_REQUIRE_BROWSER=1
else
  warn "no Chromium was found; the test of report pages is skipped"
fi
if find_slurm && ((EUID == 0)) && mountpoint -q /sys/fs/cgroup && unshare --pid --fork --mount-proc true 2>/dev/null; then
  export GPUEXP_REQUIRE_SLURM=1
else
  warn "no Slurm can be started here; the test of job arrays is skipped"
fi
if command -v mpirun >/dev/null; then
  export GPUEXP_REQUIRE_MPI=1
else
  warn "no mpirun was found; the tests of several processes under a launcher are skipped"
fi
if [[ -n $cuobjdump && -n $nvdisasm ]]; then
  export GPUEXP_REQUIRE_MACHINE_CODE=1
fi
if [[ -n $(cached GPUEXP_CUPTI_DIR) ]]; then
  export GPUEXP_REQUIRE_CUPTI=1
fi
if compgen -G "$(dirname "$nvcc")/../lib64/libnvrtc.so.*" >/dev/null; then
  export GPUEXP_REQUIRE_NVRTC=1
fi

status=0
for directory in "$sanitized" "$build"; do
  say "Tests of $directory"
  ctest --test-dir "$directory" --output-on-failure --parallel "$(nproc)" "$@" || status=$?
done
exit "$status"
