#!/usr/bin/env python3
"""Draws a random sample of explanations, with the lower bounds on time with which a reader checks them.

    build/gpuexp explain docs/results/h200/all.json.zst --all --json > explanations.json
    docs/studies/explanations/sample_explanations.py explanations.json [--table]

Prints the number of differences above 5 % by cause, then 40 of these differences with their explanations and the lower bounds on
time of both variants. --table prints the rows of docs/explaining.md, to which a reader adds verdicts. The sample depends on the seed
and on the differences, not on the explanations.
"""
import argparse
import collections
import json
import random

# Variants of these families differ in idle lanes, which counters show directly.
DIVERGENCE = ("divergence", "switch_divergence")
NAMES = {"idle_sms": "idle SMs"}
# Parameters that identify the rows of the table.
SHOWN = ("n", "k", "rows", "columns", "stride", "fields", "loads_per_thread", "expression", "dtype", "accumulate", "centre_log2")


def differences(explanations, least):
    """Differences that the samples resolve and that exceed the factor `least`, without families of divergence."""
    return [e for e in explanations
            if e["differs"] and max(e["factor"], 1 / e["factor"]) > least and e["family"] not in DIVERGENCE]


def counts(explanations):
    """Number of explanations by (cause, confidence)."""
    return collections.Counter((e["cause"], e["confidence"]) for e in explanations)


def place(explanation):
    parameters = ",".join(f"{name}={value}" for name, value in explanation["parameters"].items())
    return f"{explanation['experiment']}/{explanation['variant']}/{parameters}/{explanation['mode']}"


def drawn(explanations, number, seed):
    """A random sample, drawn in an order that does not depend on the explanations."""
    ordered = sorted(explanations, key=place)
    return random.Random(seed).sample(ordered, min(number, len(ordered)))


def least_times(bound):
    """The three largest lower bounds on time, each as 'resource time (count)'."""
    if not bound:
        return "not known"
    longest = sorted(bound["least_times"], key=lambda t: -t["least_time_us"])[:3]
    times = ", ".join(f"{t['resource']} {t['least_time_us']:.4g} us ({t['amount']:.4g})" for t in longest)
    return f"launch {bound['launch_us']:.3g} us, {100 * bound['sm_share']:.0f} % of SMs; {times}"


def summary_of(e):
    """A short form of the explanation, with factors above 1."""
    flip = (lambda f: 1 / f) if e["factor"] < 1 else (lambda f: f)
    given = f"amounts {flip(e['accounted_factor']):.3g}x of {flip(e['factor']):.3g}x"
    if e["misfit"] and e["cause"] == "unknown":
        return f"{e['misfit']} counters do not fit, not explained"
    if e["atomics_factor"]:
        return f"{given}; atomics {flip(e['atomics_factor']):.3g}x, {e['confidence']}"
    if e["latency_factor"]:
        return f"{given}; latency {flip(e['latency_factor']):.3g}x, {e['confidence']}"
    if e["cause"] == "unknown":
        return f"{given}; not explained"
    if e["cause"] != "amounts":
        return f"{given}; {NAMES.get(e['cause'], e['cause'])}, {e['confidence']}"
    return f"{given}; {' and '.join(e['cause_resources']) or 'all kernels'}, {e['confidence']}"


def two_longest(bound, time_us):
    longest = sorted(bound["least_times"], key=lambda t: -t["least_time_us"])[:2]
    times = ", ".join(f"{t['resource']} {t['least_time_us']:.4g}" for t in longest)
    return f"{times} of {time_us:.4g}"


def table_row(number, e):
    """A row of the table in docs/explaining.md, without verdict."""
    counters = (f"{two_longest(e['compare_to_bound'], e['compare_to_time_us'])}; "
                f"{two_longest(e['bound'], e['time_us'])}")
    parameters = " ".join(f"{name}={value}" for name, value in e["parameters"].items() if name in SHOWN)
    return (f"| {number} | {e['variant']} against {e['compare_to']}, {parameters} {e['mode']} | {summary_of(e)} | {counters} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("explanations", help="output of gpuexp explain RESULTS --all --json")
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--least", type=float, default=1.05, help="minimum factor of the differences")
    parser.add_argument("--table", action="store_true", help="print rows of docs/explaining.md")
    arguments = parser.parse_args()
    with open(arguments.explanations, encoding="utf-8") as file:
        found = differences(json.load(file)["explanations"], arguments.least)
    sample = drawn(found, arguments.number, arguments.seed)
    if arguments.table:
        print("\n".join(table_row(number, e) for number, e in enumerate(sample, 1)))
        return
    explained = sum(e["confidence"] != "none" for e in found)
    print(f"{len(found)} differences, {explained} explained ({100 * explained / max(1, len(found)):.1f} %)")
    for (cause, confidence), number in sorted(counts(found).items()):
        print(f"  {number:4d} {cause}, {confidence}")
    for number, e in enumerate(sample, 1):
        print(f"\n{number}. {place(e)}\n   {e['text']}")
        print(f"   {e['compare_to']}: {e['compare_to_time_us']:.4g} us; {least_times(e['compare_to_bound'])}")
        print(f"   {e['variant']}: {e['time_us']:.4g} us; {least_times(e['bound'])}")


if __name__ == "__main__":
    main()
