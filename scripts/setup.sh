# shellcheck shell=bash
# Functions and constants that quickstart.sh and test.sh source: they find or install the tools of the build, and
# configure and build the project in build/. Each step checks first, so a second run does nothing. The first step
# that fails ends the script and says how to continue.

set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$repo/build
venv=$build/venv # scripts/cmake/find_toolkit.cmake searches it, too

# Component versions that NVIDIA's package selects for CUDA 13.0 Update 2.
toolkit_wheels=('cuda-toolkit[nvcc,crt,nvvm,cudart,culibos,cccl,cublas,cupti,nvtx,nvml,profiler]==13.0.2')
# NVRTC (0.1 GB), which only tests load: test.sh adds it to toolkit_wheels.
test_wheels=('cuda-toolkit[nvrtc]==13.0.2')
# The oldest versions available as wheels. They also read objects of older compilers.
binary_tool_wheels=('nvidia-cuda-cuobjdump==13.2.51' 'nvidia-cuda-nvdisasm==13.2.51')

# Minimum Linux driver versions: CUDA release notes, table "CUDA Toolkit and Corresponding Driver Versions".
cuda_13_driver=580.65.06
cuda_12_8_driver=570.26

minimum_cmake=3.25

say() { printf '%s\n' "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
fail() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# at_least VERSION MINIMUM: true if VERSION is MINIMUM or later.
at_least() { [[ $(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1) == "$2" ]]; }

# --- GPU and driver ---------------------------------------------------------------------------------------------

# Sets gpu_count, gpu_name and driver_version; gpu_count is 0 if nvidia-smi lists no GPU.
detect_gpu() {
  gpu_count=0 gpu_name='' driver_version=''
  local smi output
  smi=$(command -v nvidia-smi || command -v /usr/lib/wsl/lib/nvidia-smi || true)
  if [[ -n $smi ]]; then
    if output=$("$smi" --query-gpu=driver_version,name --format=csv,noheader 2>&1) && [[ $output == *,* ]]; then
      gpu_count=$(wc -l <<<"$output")
      driver_version=$(head -n 1 <<<"$output" | cut -d, -f1)
      gpu_name=$(head -n 1 <<<"$output" | cut -d, -f2- | sed 's/^ *//')
      return
    fi
    warn "nvidia-smi lists no GPU: $(head -n 1 <<<"$output")"
  fi
  if nvidia_pci_device_present; then
    warn "an NVIDIA GPU is installed, but its driver does not respond; to run on it, install NVIDIA's driver" \
      "$cuda_13_driver or later and reboot"
  fi
}

nvidia_pci_device_present() {
  local device
  for device in /sys/bus/pci/devices/*; do
    if [[ -r $device/vendor && $(<"$device/vendor") == 0x10de && $(<"$device/class") == 0x03* ]]; then
      return 0
    fi
  done
  return 1
}

# Ends the script if the driver is too old for every toolkit that the project supports.
check_driver() {
  ((gpu_count > 0)) || return 0
  say "GPU: $gpu_count x $gpu_name, driver $driver_version"
  at_least "$driver_version" "$cuda_12_8_driver" ||
    fail "driver $driver_version is too old: CUDA 13.0 needs $cuda_13_driver or later, CUDA 12.8 $cuda_12_8_driver or" \
      "later. Update NVIDIA's driver, reboot, and run this again."
}

# check_driver_for CUDA_VERSION: ends the script if the driver is too old for this toolkit.
check_driver_for() {
  ((gpu_count > 0)) || return 0
  local needed=$cuda_12_8_driver
  if at_least "$1" 13.0; then
    needed=$cuda_13_driver
  fi
  at_least "$driver_version" "$needed" ||
    fail "driver $driver_version is too old for CUDA $1, which needs $needed or later. Update NVIDIA's driver and" \
      "reboot; or install the CUDA 12.8 toolkit (driver $cuda_12_8_driver or later), put its nvcc first in PATH," \
      "delete $build, and run this again."
}

# --- System packages --------------------------------------------------------------------------------------------

is_debian() { command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; }

package_installed() { [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# Prints the command that runs others as root: empty if the user is root, "none" if the user cannot use sudo.
root_command() {
  if ((EUID == 0)); then
    say ''
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    say 'sudo'
  else
    say 'none'
  fi
}

package_lists_updated=''

# install_packages PACKAGE...: with apt, as root.
install_packages() {
  local root
  root=$(root_command)
  [[ $root != none ]] ||
    fail "these packages are missing, and you are neither root nor able to use sudo: $*. Ask the administrator of this" \
      "machine to run: apt-get install $*"
  say "Installing $* with apt-get"
  local -a apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  if [[ -n $root ]]; then
    apt=("$root" "${apt[@]}")
  fi
  if [[ -z $package_lists_updated ]]; then
    "${apt[@]}" update || warn "apt-get update failed; trying with the package lists at hand"
    package_lists_updated=yes
  fi
  "${apt[@]}" install -y --no-install-recommends "$@" >/dev/null ||
    fail "apt-get could not install $*; see its message above"
}

# Checks the commands that the build needs, and installs the packages of missing ones.
ensure_build_tools() {
  local -a missing=()
  command -v g++ >/dev/null || missing+=(g++)
  command -v cmake >/dev/null || missing+=(cmake)
  command -v git >/dev/null || missing+=(git)
  # make also works, but takes longer to check an up-to-date build.
  if ! command -v ninja >/dev/null && ! { command -v make >/dev/null && [[ $(root_command) == none ]]; }; then
    missing+=(ninja-build)
  fi
  if ((${#missing[@]} > 0)); then
    is_debian || fail "missing: ${missing[*]} (Debian's names). Install them and run this again."
    install_packages "${missing[@]}"
  fi

  local version
  version=$(cmake --version | sed -n 's/^cmake version \([0-9.]*\).*/\1/p')
  at_least "$version" "$minimum_cmake" ||
    fail "CMake $version is too old: $minimum_cmake or later is needed. Put a newer one first in PATH (for example that of" \
      "Python's package 'cmake') and run this again."
}

# Missing library packages that this user cannot install; CMake fetches these libraries with git.
missing_libraries=''

ensure_libraries() {
  is_debian || return 0
  # CMake does not fetch OpenSSL.
  package_installed libssl-dev || install_packages libssl-dev
  local package
  local -a missing=()
  for package in libcli11-dev libfmt-dev nlohmann-json3-dev libzstd-dev zlib1g-dev catch2 libjs-chart.js; do
    package_installed "$package" || missing+=("$package")
  done
  if ((${#missing[@]} == 0)); then
    return
  fi
  if [[ $(root_command) == none ]]; then
    missing_libraries=${missing[*]}
    warn "not installed, and you are neither root nor able to use sudo: $missing_libraries. CMake fetches these" \
      "libraries with git instead; without libjs-chart.js, HTML pages have no charts."
  else
    install_packages "${missing[@]}"
  fi
}

# --- Python packages --------------------------------------------------------------------------------------------

ensure_venv() {
  if [[ -x $venv/bin/python ]] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    return
  fi
  local python=python3
  if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    is_debian || fail "Python's modules venv and ensurepip are missing. Install them and run this again."
    install_packages python3-venv
    python=/usr/bin/python3
  fi
  "$python" -m venv --clear "$venv" || fail "$python -m venv $venv failed; see its message above"
}

# pip_install WHAT REQUIREMENT...: installs the packages once into the virtual environment; false if pip fails.
pip_install() {
  local stamp
  stamp=$venv/.installed-$(cksum <<<"${*:2}" | cut -d' ' -f1)
  if [[ ! -e $stamp ]]; then
    say "Installing into $venv: $1"
    ensure_venv
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${@:2}" || return 1
    touch "$stamp"
  fi
}

# find_python MODULE...: sets python to an interpreter that has the modules; false if there is none.
find_python() {
  local imports
  imports=$(IFS=,; printf 'import %s' "$*")
  for python in python3 "$venv/bin/python"; do
    "$python" -c "$imports" 2>/dev/null && return
  done
  return 1
}

# ensure_python WHAT MODULE...: sets python to an interpreter that has the modules. If there is none, installs them into the
# virtual environment; false if that fails.
ensure_python() {
  find_python "${@:2}" || pip_install "$@"
}

# --- CUDA toolkit -----------------------------------------------------------------------------------------------

# Sets nvcc, nvcc_version, cuobjdump and nvdisasm to the tools that the build will use; empty if a tool is missing. A build
# that is already configured keeps its compiler.
find_toolkit() {
  nvcc='' nvcc_version='' cuobjdump='' nvdisasm=''
  local name value configured_nvcc
  configured_nvcc=$(cached GPUEXP_NVCC)
  if [[ -x $configured_nvcc ]]; then
    local -x CUDACXX=$configured_nvcc
  fi
  while IFS='=' read -r name value; do
    case $name in
      nvcc | nvcc_version | cuobjdump | nvdisasm) printf -v "$name" '%s' "$value" ;;
    esac
  done < <(cmake -P "$repo/scripts/cmake/find_toolkit.cmake")
}

# Adds links that a linker needs and the wheels lack: a directory lib64, and library names without a version.
complete_toolkit_wheels() {
  local toolkit library
  for toolkit in "$venv"/lib/python3*/site-packages/nvidia/cu13; do
    ln -sfn lib "$toolkit/lib64"
    for library in "$toolkit"/lib/lib*.so.*; do
      ln -sf "$(basename "$library")" "${library%%.so.*}.so"
    done
  done
}

ensure_toolkit() {
  find_toolkit
  check_driver_for "${nvcc_version:-13.0}"
  # An nvcc in the virtual environment may be left from an interrupted installation.
  if [[ -z $nvcc || $nvcc == "$venv"/* ]]; then
    pip_install "NVIDIA's CUDA 13.0 toolkit (0.9 GB), because no nvcc 12.8 or later was found" \
      "${toolkit_wheels[@]}" "${binary_tool_wheels[@]}" ||
      fail "pip could not install the CUDA toolkit; see its message above. Or install the toolkit yourself and run" \
        "this again with its nvcc in PATH."
    complete_toolkit_wheels
    find_toolkit
    [[ -n $nvcc ]] || fail "the CUDA toolkit in $venv does not work. Delete $venv and run this again."
  elif [[ -z $cuobjdump || -z $nvdisasm || $cuobjdump == "$venv"/* ]]; then
    if pip_install "cuobjdump and nvdisasm, which the toolkit of $nvcc lacks" "${binary_tool_wheels[@]}"; then
      find_toolkit
    else
      warn "pip could not install them; without a GPU, this build has no registers and shared memory of kernels"
    fi
  fi
  say "CUDA $nvcc_version: $nvcc"
}

# --- Build ------------------------------------------------------------------------------------------------------

# cached NAME [DIR]: prints the value of a variable in the CMake cache of DIR (default: build/), or nothing if unset.
cached() { sed -n "s|^$1:[A-Z]*=||p" "${2:-$build}/CMakeCache.txt" 2>/dev/null || true; }

# configured DIR: true if DIR is a completely configured build of this checkout.
configured() {
  [[ -e $1/build.ninja || -e $1/Makefile ]] && [[ $(cached CMAKE_HOME_DIRECTORY "$1") == "$repo" ]]
}

# release_is_current: true if build/ is configured with CUDA and with the tools found now. A compiler that the user selected
# is kept.
release_is_current() {
  configured "$build" && [[ $(cached GPUEXP_CUDA) == ON && $(cached GPUEXP_SANITIZED_TESTS) == ON && -x $(cached GPUEXP_NVCC) ]] &&
    { [[ -z $cuobjdump ]] || [[ -x $(cached GPUEXP_CUOBJDUMP) ]]; } &&
    { [[ -z $nvdisasm ]] || [[ -x $(cached GPUEXP_NVDISASM) ]]; }
}

# configure PRESET [OPTION...]
configure() {
  local -a generator=()
  command -v ninja >/dev/null || generator=(-G 'Unix Makefiles')
  (cd "$repo" && cmake --fresh --preset "$1" "${generator[@]}" "${@:2}") ||
    fail "CMake could not configure the build; see its message above." \
      "${missing_libraries:+If fetching failed, ask the administrator to run: apt-get install $missing_libraries}"
}

# compile DIR [TARGET...]: builds the targets, or everything if none is given.
compile() {
  local -a targets=()
  if (($# > 1)); then
    targets=(--target "${@:2}")
  fi
  cmake --build "$1" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}" "${targets[@]}" ||
    fail "the build in $1 failed; see the compiler's message above"
}

# Performs every step up to a configured build/.
setup() {
  detect_gpu
  check_driver
  ensure_build_tools
  ensure_libraries
  ensure_toolkit
  release_is_current || configure release -DGPUEXP_CUDA=ON
}
