#!/usr/bin/env python3
"""The machine code matches the divergence lesson: each side is a separate loop of FMAs and its counter, a branch is between BSSY and
BSYNC unless the compiler knows that it is uniform, and spinning lanes let others run.

Argument: the folder with the listings of the families' machine code. Skipped if the build listed none for compute capability 9.0.
tests/registry tests what the kernels' table shows, without the order of instructions.
"""

import itertools
import re
import sys
import unittest
from pathlib import Path

from requirements import skip

KERNELS = {
    "branch": ("divergence", "_ZN6gpuexp10divergence13branch_kernelEliPKfPKjPf"),
    "select": ("divergence", "_ZN6gpuexp10divergence13select_kernelEliPKfPKjPf"),
    "per_lane": ("warp_uniform", "_ZN6gpuexp12warp_uniform15per_lane_kernelElifPKfPKjPf"),
    "broadcast": ("warp_uniform", "_ZN6gpuexp12warp_uniform16broadcast_kernelElifPKfPKjPf"),
    "vote": ("warp_uniform", "_ZN6gpuexp12warp_uniform11vote_kernelElifPKfPKjPf"),
    "by_block": ("warp_uniform", "_ZN6gpuexp12warp_uniform15by_block_kernelElifPKfPKjPf"),
    "mailbox": ("lane_handover", "_ZN6gpuexp13lane_handover14mailbox_kernelElifPKfPf"),
}
ITERATION_FMAS = 32  # FMAs in one iteration of a side's loop


def instructions(kernel):
    """(opcode without modifiers, operands) of each instruction of the kernel for sm_90a, in order."""
    family, function = KERNELS[kernel]
    listing = LISTINGS / f"{family}.sass"
    _, _, code = (listing.read_text() if listing.exists() else "").partition("\tcode for sm_90a\n")
    _, _, function = code.partition(f"Function : {function}\n")
    function, _, _ = function.partition("Function : ")
    line = re.compile(r"^\s+/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)[\w.]*\s*(.*?)\s*;", re.MULTILINE)
    return line.findall(function)


def iterations(kernel):
    """Instructions of each loop with ITERATION_FMAS FMAs per iteration, from the first of these FMAs to the branch."""
    listing = instructions(kernel)
    found = []
    for at, (opcode, _) in enumerate(listing):
        body = []
        for instruction in reversed(listing[:at] if opcode == "BRA" else []):
            if instruction[0] in ("BRA", "BSSY", "BSYNC"):
                break
            body.insert(0, instruction)
            if sum(name == "FFMA" for name, _ in body) == ITERATION_FMAS:
                found.append(body)
                break
    return found


class Divergence(unittest.TestCase):
    def test_each_side_is_a_loop_of_its_own_of_fmas_and_their_counter_alone(self):
        sides = iterations("branch")
        self.assertEqual(len(sides), 2)
        signs = [["-" in operands for opcode, operands in side if opcode == "FFMA"] for side in sides]
        self.assertNotEqual(*signs)
        for side in sides:
            self.assertEqual({opcode for opcode, _ in side} - {"FFMA", "IADD3", "ISETP"}, set())

    def test_select_runs_both_sides(self):
        self.assertEqual(len(iterations("select")), 2)


def opcodes(kernel):
    return [opcode for opcode, _ in instructions(kernel)]


class WarpUniform(unittest.TestCase):
    SIDE = 16  # FMAs per side of the branch

    def test_the_branch_that_may_part_lanes_stands_between_bssy_and_bsync(self):
        code = opcodes("per_lane")
        region = code[code.index("BSSY") : code.index("BSYNC")]
        self.assertEqual((code.count("BSSY"), code.count("BSYNC")), (1, 1))
        self.assertIn("BRA", region)
        self.assertEqual(region.count("FFMA"), 2 * self.SIDE)

    def test_one_that_never_does_is_a_branch_without_them(self):
        for kernel in ("broadcast", "vote", "by_block"):
            code = opcodes(kernel)
            with self.subTest(kernel):
                self.assertEqual(code.count("FFMA"), 2 * self.SIDE)
                self.assertEqual((code.count("BSSY"), code.count("BSYNC")), (0, 0))
                first = code.index("FFMA")
                self.assertEqual(code[first : first + self.SIDE + 8].count("BRA"), 1)


    def test_the_lesson_shows_what_jumps_votes_and_computes(self):
        page = (Path(__file__).resolve().parents[2] / "docs" / "lessons" / "divergence.md").read_text(encoding="utf-8")
        for kernel in ("per_lane", "broadcast", "vote", "by_block"):
            shown = [opcode for opcode in opcodes(kernel) if opcode in ("BRA", "BSSY", "BSYNC", "FFMA", "SHFL", "VOTE")]
            self.assertEqual(shown.pop(), "BRA")  # the padding branch after EXIT
            runs = [(opcode, len(list(run))) for opcode, run in itertools.groupby(shown)]
            outline = "  ".join(opcode if count == 1 else f"{opcode} × {count}" for opcode, count in runs)
            with self.subTest(kernel):
                self.assertIn(f"\n{kernel:<10} {outline}\n", page)


class LaneHandover(unittest.TestCase):
    def test_each_loop_that_spins_lets_other_lanes_run(self):
        code = opcodes("mailbox")
        atomics = [at for at, opcode in enumerate(code) if opcode == "ATOMS"]
        self.assertGreater(len(atomics), 0)
        for at in atomics:
            loop_begin = max(i for i, opcode in enumerate(code[:at]) if opcode in ("BRA", "BSSY"))
            self.assertIn("YIELD", code[loop_begin:at])


if __name__ == "__main__":
    LISTINGS = Path(sys.argv.pop(1))
    if not instructions("branch"):
        skip("no machine code for sm_90a was listed", "MACHINE_CODE")
    unittest.main()
