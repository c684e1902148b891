#!/usr/bin/env python3
"""What the divergence lesson says of its loops holds: each side is one of its own, of FMAs and their counter alone.

Argument: the listing of the family's machine code. Skipped where the build made none, or none for compute capability 9.0.
What needs no order of instructions is in tests/registry, which asks the kernels' table.
"""

import re
import sys
import unittest
from pathlib import Path

from requirements import skip

KERNELS = {
    "branch": "_ZN6gpuexp10divergence13branch_kernelEliPKfPKjPf",
    "select": "_ZN6gpuexp10divergence13select_kernelEliPKfPKjPf",
}
TURN = 32  # FMAs in one turn of a side's loop


def instructions(kernel):
    """(opcode without modifiers, operands) of each instruction of the kernel for sm_90a, in order."""
    _, _, code = LISTING.read_text().partition("\tcode for sm_90a\n")
    _, _, function = code.partition(f"Function : {KERNELS[kernel]}\n")
    function, _, _ = function.partition("Function : ")
    line = re.compile(r"^\s+/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)[\w.]*\s*(.*?)\s*;", re.MULTILINE)
    return line.findall(function)


def turns(kernel):
    """The instructions of each loop that does TURN FMAs a turn: back from its branch until they are all there."""
    listing = instructions(kernel)
    found = []
    for at, (opcode, _) in enumerate(listing):
        turn = []
        for instruction in reversed(listing[:at] if opcode == "BRA" else []):
            if instruction[0] in ("BRA", "BSSY", "BSYNC"):
                break
            turn.insert(0, instruction)
            if sum(name == "FFMA" for name, _ in turn) == TURN:
                found.append(turn)
                break
    return found


class Divergence(unittest.TestCase):
    def test_each_side_is_a_loop_of_its_own_of_fmas_and_their_counter_alone(self):
        sides = turns("branch")
        self.assertEqual(len(sides), 2)
        signs = [["-" in operands for opcode, operands in side if opcode == "FFMA"] for side in sides]
        self.assertNotEqual(*signs)
        for side in sides:
            self.assertEqual({opcode for opcode, _ in side} - {"FFMA", "IADD3", "ISETP"}, set())

    def test_select_runs_both_sides(self):
        self.assertEqual(len(turns("select")), 2)


if __name__ == "__main__":
    LISTING = Path(sys.argv.pop(1))
    if not LISTING.exists() or not instructions("branch"):
        skip("no machine code for sm_90a was listed", "MACHINE_CODE")
    unittest.main()
