#!/usr/bin/env bash
# What gpuexp prints, one file per command: list, describe, plan, predict, explain, compare, report, lesson, schema, on every
# config, device spec and recorded result. For changes that must not change any of it:
#   scripts/snapshot.sh BEFORE/build/gpuexp /tmp/before && scripts/snapshot.sh build/gpuexp /tmp/after
#   diff -r /tmp/before /tmp/after
# Needs no GPU. Both binaries read the configs and recorded results of this checkout, or of GPUEXP_SNAPSHOT_INPUTS.
set -euo pipefail

if (($# != 2)); then
  printf 'usage: %s BINARY FOLDER\n' "$0" >&2
  exit 2
fi
binary=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
cd "${GPUEXP_SNAPSHOT_INPUTS:-$(dirname "${BASH_SOURCE[0]}")/..}"

# snap NAME ARGUMENT...: output, errors and exit code.
snap() {
  local status=0
  "$binary" "${@:2}" >"$folder/$1.txt" 2>&1 || status=$?
  printf 'exit code %d\n' "$status" >>"$folder/$1.txt"
}

families() { "$binary" list --json | python3 -c 'import json, sys; [print(f["id"]) for f in json.load(sys.stdin)["families"]]'; }

snap list list
snap list_json list --json
snap list_metrics list metrics
for command in list describe plan predict run verify info report explain lesson compare schema; do
  snap "help_$command" "$command" --help
done
snap schema_config schema config
snap schema_results schema results

for family in $(families); do
  snap "describe_$family" describe "$family"
  snap "describe_json_$family" describe "$family" --json
  snap "describe_a100_$family" describe "$family" --gpu a100_sxm4_80gb
done

for path in configs/*.json; do
  config=$(basename "$path" .json)
  for gpu in h200 h100_sxm a100_sxm4_80gb t4; do
    snap "plan_${gpu}_$config" plan "$config" --gpu "$gpu"
    snap "predict_${gpu}_$config" predict "$config" --gpu "$gpu"
  done
  snap "plan_json_$config" plan "$config" --gpu h200 --json
  snap "predict_json_$config" predict "$config" --gpu h200 --json
  snap "predict_csv_$config" predict "$config" --gpu h200 --csv
done

for result in docs/results/*/*.json; do
  name=$(basename "$(dirname "$result")")_$(basename "$result" .json)
  for format in table markdown csv json html; do
    snap "report_${format}_$name" report "$result" --format "$format"
  done
  snap "explain_$name" explain "$result" --all
  snap "explain_json_$name" explain "$result" --all --json
done

data=tests/cli/data
snap compare compare $data/compare_a.json $data/compare_b.json --all
snap compare_json compare $data/compare_a.json $data/compare_b.json --json -
snap compare_csv compare $data/compare_a.json $data/compare_b.json --csv -
snap compare_repeated compare $data/repeated_1.json $data/repeated_2.json --all
snap compare_recorded compare docs/results/h200/all.json docs/results/h200/quickstart.json --all
for page in docs/lessons/*.md; do
  [[ $page == */README.md ]] || snap "lesson_$(basename "$page" .md)" lesson "$page"
done
for ceilings in configs/ceilings/*.json docs/results/*/ceilings/*.json; do
  snap "check_$(basename "$ceilings" .json)" info --check --from "$ceilings"
done
