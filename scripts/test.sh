#!/usr/bin/env bash
# Installs missing packages, builds everything and runs all tests. Tests of the core also run with the address and
# undefined-behaviour sanitizers. Tests that need a GPU are skipped without one.
#
# --quick builds and runs the tests with the label "quick": the core, the worker process, the registry, the command line, and the rules
# of sources and documentation. It omits the sanitizers, the scripts, and kernels that the command line tests do not execute. Use it
# after a small edit in a tree that is already built.
# Other arguments are passed to ctest, such as -R NAME or -L LABEL.

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^$/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit 0
fi

# shellcheck source=scripts/setup.sh
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

targets=() selected=()
if [[ ${1:-} == --quick ]]; then
  shift
  targets=(gpuexp_quick_tests)
  selected=(-L '^quick$')
fi

toolkit_wheels+=("${test_wheels[@]}")
setup
compile "$build" "${targets[@]}"

if ensure_python "pandas, matplotlib, zstandard and jsonschema, for the tests" pandas matplotlib zstandard jsonschema; then
  export GPUEXP_TEST_PYTHON=$python
else
  warn "pandas, matplotlib, zstandard and jsonschema could not be installed; the tests of the plots and the schema are skipped"
fi

# A browser (0.12 GB on Debian) for the test of report pages. Ubuntu's package, a snap, is not installed.
find_browser() { command -v "${GPUEXP_CHROMIUM:-chromium}" chromium-browser google-chrome google-chrome-stable >/dev/null; }
if ! find_browser && grep -qs '^ID=debian' /etc/os-release && [[ $(root_command) != none ]]; then
  (install_packages chromium) || true
fi

# Slurm, for the test of job arrays, which starts its own daemons and needs root.
find_slurm() { (PATH=$PATH:/usr/sbin:/sbin; command -v slurmctld && command -v slurmd && command -v munged) >/dev/null; }
if ! find_slurm && is_debian && [[ $(root_command) != none ]]; then
  (install_packages slurm-wlm munge) || true
fi

# Open MPI, whose mpirun starts one process per rank.
if ! command -v mpirun >/dev/null && is_debian && [[ $(root_command) != none ]]; then
  (install_packages openmpi-bin) || true
fi

# Tests whose tools were found must not be skipped.
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

# Runs one more test at a time than there are processors, because some tests mostly wait.
ctest --test-dir "$build" --output-on-failure --parallel $(($(nproc) + 1)) "${selected[@]}" "$@"
