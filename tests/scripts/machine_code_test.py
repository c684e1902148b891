#!/usr/bin/env python3
"""What the divergence lesson says of its machine code holds: the branch is one, and select has none.

Arguments: cuobjdump, and the program that holds the kernels. Skipped where cuobjdump is missing or the program has no
machine code for compute capability 9.0.
"""

import re
import shutil
import subprocess
import sys
import unittest

from requirements import skip

KERNELS = {
    "branch": "_ZN6gpuexp10divergence13branch_kernelEliPKfPKjPf",
    "select": "_ZN6gpuexp10divergence13select_kernelEliPKfPKjPf",
}
TURN = 32  # FMAs in one turn of a side's loop


def instructions(kernel):
    """(opcode without modifiers, operands) of each instruction of the kernel for sm_90a, in order."""
    command = [CUOBJDUMP, "-sass", "-arch", "sm_90a", "-fun", KERNELS[kernel], PROGRAM]
    text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    line = re.compile(r"^\s+/\*[0-9a-f]{4}\*/\s+(?:@!?U?P\w+\s+)?([A-Z]\w*)[\w.]*\s*(.*?)\s*;", re.MULTILINE)
    return line.findall(text)


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
    def test_the_sides_part_and_meet_again(self):
        opcodes = [opcode for opcode, _ in instructions("branch")]
        self.assertIn("BSSY", opcodes)
        self.assertIn("BSYNC", opcodes)

    def test_each_side_is_a_loop_of_its_own_of_fmas_and_their_counter_alone(self):
        sides = turns("branch")
        self.assertEqual(len(sides), 2)
        signs = [["-" in operands for opcode, operands in side if opcode == "FFMA"] for side in sides]
        self.assertNotEqual(*signs)
        for side in sides:
            self.assertEqual({opcode for opcode, _ in side} - {"FFMA", "IADD3", "ISETP"}, set())

    def test_select_has_both_sides_and_no_branch_between_them(self):
        self.assertEqual(len(turns("select")), 2)
        opcodes = [opcode for opcode, _ in instructions("select")]
        self.assertEqual([opcode for opcode in opcodes if opcode in ("BSSY", "BSYNC")], [])


if __name__ == "__main__":
    CUOBJDUMP, PROGRAM = sys.argv[1:3]
    del sys.argv[1:3]
    if not shutil.which(CUOBJDUMP):
        skip("no cuobjdump")
    if not instructions("branch"):
        skip("no machine code for sm_90a in it")
    unittest.main()
