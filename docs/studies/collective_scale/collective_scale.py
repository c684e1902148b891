#!/usr/bin/env python3
"""Computes the time of an all-reduce on 8 to 1024 GPUs in nodes of 8 from measured link ceilings.

usage: collective_scale.py LINKS.json [--network-gb-per-s 50] [--network-latency-us 5] [--gpus-per-node 8]

LINKS.json contains the link ceilings of two GPUs of a node, as measured by `gpuexp info --measure` (configs/ceilings/ID.links.json).
The network between nodes is not measured. It is described by a rate per GPU and direction (default: one 400 Gb/s port, 50 GB/s,
NVIDIA ConnectX-7 and Quantum-2 datasheets) and a latency per step.

The time is the sum over steps of latency plus bytes / bandwidth (alpha, beta; Thakur, Rabenseifner, Gropp, IJHPCA 19, 2005, section 4):
  ring       2 (n - 1) steps around all n GPUs, each with an n-th of the vector, at the rate of the slowest hop. Each network
             port of a node has a ring of its own, which carries its share of the vector.
  two_level  a reduce-scatter within each node, an all-reduce of each GPU's part around a ring of nodes, and an all-gather
             within each node: per GPU, only an eighth of the vector crosses the network.
  tree       two_level with a reduction and a broadcast along a binary tree of nodes, 2 log2(nodes) steps with the GPU's
             whole part. Two trees share the work (Sanders, Speck, Traff, Parallel Computing 35, 2009; NCCL's double binary trees).
A step within a node takes the measured latencies of a signal and a fence, plus bytes / bandwidth of stores in both directions.

Prints CSV: gpus, nodes, bytes, and for each algorithm its time in us and its bus bandwidth in GB/s, defined as in nccl-tests
(2 (n - 1) / n times the vector divided by the time). Needs only the standard library. Exit codes: 0 printed; 2 the file has no link
ceilings.
"""

import argparse
import csv
import json
import math
import sys

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
SIZES = (8 * KIB, MIB, 64 * MIB, GIB)
NODES = (1, 2, 4, 8, 16, 32, 64, 128)
GIGA_PER_S_TO_BYTES_PER_US = 1e3


class Links:
    """Latencies in us and rates in bytes per us."""

    def __init__(self, ceilings, network_gb_per_s, network_latency_us):
        value = {id: c["value"] for id, c in ceilings.items()}
        self.step_us = (value["link_signal_latency"] + value["link_fence_latency"]) / 1e3
        self.rate = value["link_both_write"] * GIGA_PER_S_TO_BYTES_PER_US
        self.network_us = network_latency_us
        self.network_rate = network_gb_per_s * GIGA_PER_S_TO_BYTES_PER_US


def ring(links, gpus, nodes, size):
    step_us, rate = links.step_us, links.rate
    if nodes > 1:
        step_us, rate = max(step_us, links.network_us), min(rate, gpus // nodes * links.network_rate)
    return 2 * (gpus - 1) * (step_us + size / gpus / rate)


def within_nodes(links, in_node, size):
    """Time of a reduce-scatter or an all-gather within a node, in one step in which each GPU exchanges with all others of the node."""
    return links.step_us + (in_node - 1) / in_node * size / links.rate


def two_level(links, gpus, nodes, size):
    in_node = gpus // nodes
    part = size / in_node
    between = 2 * (nodes - 1) * (links.network_us + part / nodes / links.network_rate)
    return 2 * within_nodes(links, in_node, size) + between


def tree(links, gpus, nodes, size):
    in_node = gpus // nodes
    part = size / in_node
    depth = math.ceil(math.log2(nodes)) if nodes > 1 else 0
    # The levels are pipelined: the latency of every level is added, but the bytes only once per direction.
    between = 2 * depth * links.network_us + (2 * part / links.network_rate if depth else 0)
    return 2 * within_nodes(links, in_node, size) + between


ALGORITHMS = {"ring": ring, "two_level": two_level, "tree": tree}


def rows(links, in_node):
    for nodes in NODES:
        gpus = nodes * in_node
        for size in SIZES:
            row = {"gpus": gpus, "nodes": nodes, "bytes": size}
            for name, algorithm in ALGORITHMS.items():
                us = algorithm(links, gpus, nodes, size)
                row[f"{name}_us"] = f"{us:.4g}"
                row[f"{name}_bus_gb_per_s"] = f"{2 * (gpus - 1) / gpus * size / us / GIGA_PER_S_TO_BYTES_PER_US:.4g}"
            yield row


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("links")
    parser.add_argument("--network-gb-per-s", type=float, default=50)
    parser.add_argument("--network-latency-us", type=float, default=5)
    parser.add_argument("--gpus-per-node", type=int, default=8)
    args = parser.parse_args()
    try:
        with open(args.links, encoding="utf-8") as file:
            links = Links(json.load(file)["ceilings"], args.network_gb_per_s, args.network_latency_us)
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"collective_scale.py: {args.links}: no ceilings of links: {error}", file=sys.stderr)
        return 2
    table = list(rows(links, args.gpus_per_node))
    writer = csv.DictWriter(sys.stdout, table[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
