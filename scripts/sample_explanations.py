#!/usr/bin/env python3
"""Draws explanations at random, with the counters that they are to be read against.

    build/gpuexp explain docs/results/h200/all.json --all --json > explanations.json
    scripts/sample_explanations.py explanations.json

Prints how many of the differences above 5 % are explained, and by what, then 40 of them with what they say and the
least times of both variants. The draw depends on the seed and on which differences there are, not on what is said of them.
"""
import argparse
import collections
import json
import random

# Their variants differ in lanes that idle, which amounts of warps do not show.
DIVERGENCE = ("divergence", "switch_divergence")


def differences(explanations, least):
    """Resolved differences of at least this factor, outside divergence."""
    return [e for e in explanations
            if e["differs"] and max(e["factor"], 1 / e["factor"]) > least and e["family"] not in DIVERGENCE]


def counts(explanations):
    """How many are explained by which cause, with which confidence."""
    return collections.Counter((e["cause"], e["confidence"]) for e in explanations)


def place(explanation):
    parameters = ",".join(f"{name}={value}" for name, value in explanation["parameters"].items())
    return f"{explanation['experiment']}/{explanation['variant']}/{parameters}/{explanation['mode']}"


def drawn(explanations, number, seed):
    """In a fixed order, of which what is said is no part."""
    ordered = sorted(explanations, key=place)
    return random.Random(seed).sample(ordered, min(number, len(ordered)))


def least_times(bound):
    """The three longest, each as 'resource: time (amount)'."""
    if not bound:
        return "not known"
    longest = sorted(bound["least_times"], key=lambda t: -t["least_time_us"])[:3]
    times = ", ".join(f"{t['resource']} {t['least_time_us']:.4g} us ({t['amount']:.4g})" for t in longest)
    return f"launch {bound['launch_us']:.3g} us, {100 * bound['sm_share']:.0f} % of SMs; {times}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("explanations", help="what gpuexp explain RESULTS --all --json printed")
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--least", type=float, default=1.05, help="factor of the differences")
    arguments = parser.parse_args()
    with open(arguments.explanations, encoding="utf-8") as file:
        found = differences(json.load(file)["explanations"], arguments.least)
    explained = sum(e["confidence"] != "none" for e in found)
    print(f"{len(found)} differences, {explained} explained ({100 * explained / max(1, len(found)):.1f} %)")
    for (cause, confidence), number in sorted(counts(found).items()):
        print(f"  {number:4d} {cause}, {confidence}")
    for number, e in enumerate(drawn(found, arguments.number, arguments.seed), 1):
        print(f"\n{number}. {place(e)}\n   {e['text']}")
        print(f"   {e['compare_to']}: {e['compare_to_time_us']:.4g} us; {least_times(e['compare_to_bound'])}")
        print(f"   {e['variant']}: {e['time_us']:.4g} us; {least_times(e['bound'])}")


if __name__ == "__main__":
    main()
