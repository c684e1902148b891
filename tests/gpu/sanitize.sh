#!/usr/bin/env bash
# Runs compute-sanitizer's memcheck and racecheck on every variant of every family at small sizes,
# after an injected fault that each tool must detect. Arguments: the GPU test program (default:
# build/tests/gpuexp_gpu_tests), the folder for logs (default: sanitizer-logs).
set -uo pipefail

tests=${1:-build/tests/gpuexp_gpu_tests}
logs=${2:-sanitizer-logs}
jobs=${JOBS:-4}
mkdir -p "$logs"
failures=0

check() { # check TOOL FAMILY: writes a log, prints one line, and is false unless the tool found nothing
  local log=$logs/$1.$2.txt
  if compute-sanitizer --tool "$1" --error-exitcode 9 "$tests" \
    "every family verifies on small awkward problems" -c "$2" >"$log" 2>&1; then
    echo "clean   $1 $2: $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | sed 's/=* *//')"
  else
    echo "FAILED  $1 $2: see $log"
    return 1
  fi
}

echo "tests/gpu/sanitize.sh on $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | head -n 1)," \
  "$(compute-sanitizer --version | grep -m 1 -oE '[Vv]ersion [0-9.]+'), $(date -u +%Y-%m-%d)," \
  "$("$(dirname "$tests")/../gpuexp" info 2>/dev/null | head -n 1)"

for tool in memcheck racecheck; do
  log=$logs/$tool.planted.txt
  if compute-sanitizer --tool "$tool" --error-exitcode 9 "$tests" "[planted][$tool]" >"$log" 2>&1; then
    echo "FAILED  $tool did not find the fault planted for it: see $log"
    failures=1
  else
    echo "found   $tool planted fault: $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$log" | sed 's/=* *//')"
  fi
done

# Largest first, so that no large one runs by itself at the end.
for tool in racecheck memcheck; do
  for file in $(ls -S "$(dirname "$0")"/../../kernels/*.cu); do
    while (($(jobs -rp | wc -l) >= jobs)); do wait -n || failures=1; done
    check "$tool" "$(basename "$file" .cu)" &
  done
done
while (($(jobs -rp | wc -l) > 0)); do wait -n || failures=1; done
exit "$failures"
