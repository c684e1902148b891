"""Results by the PTX ISA, instruction by instruction, compared with the simulator's."""

import collections
import re
import struct

from . import float_rules, integer_rules, warp_rules
from .generator import INPUT_WORDS
from .sources import THREADS

_POISON = 0xcdcdcdcdcdcdcdcd


class Launch:
    """Values that one program read and stored, per register and thread."""

    def __init__(self, name, results, uniform, inputs, stored):
        self.name = name
        self.instructions = []
        self.carries = warp_rules.Carries(THREADS)
        self.values = {f"u{i}": [word] * THREADS for i, word in enumerate(uniform)}
        for place, register, text in results:
            if place[0] == "s":
                first = int(place[1:]) * THREADS
                raw = stored[first:first + THREADS]
                bits = {"h": 16, "l": 64}.get(register[0], 32)
                self.values[register] = [word & ((1 << bits) - 1) for word in raw]
                self.instructions.append((register, text, [word != _POISON for word in raw]))
            else:
                self.values[register] = input_of(place, inputs)


def input_of(place, inputs):
    word, kind = re.match(r"w(\d+)(.*)", place).groups()
    first = [inputs[t * INPUT_WORDS + int(word)] for t in range(THREADS)]
    if kind == ":8":
        return [low | inputs[t * INPUT_WORDS + int(word) + 1] << 32 for t, low in enumerate(first)]
    return [one >> (16 if kind == ".1" else 0) & 0xffff for one in first] if kind[0] == "." else first


def read_dump(path):
    with open(path, "rb") as dump:
        while header := dump.readline():
            name, slots, size = header.decode().split()
            results = [line.split("|", 2) for line in dump.read(int(size)).decode().splitlines()]
            uniform = struct.unpack("<4I", dump.read(16))
            inputs = struct.unpack(f"<{THREADS * INPUT_WORDS}I", dump.read(4 * THREADS * INPUT_WORDS))
            stored = struct.unpack(f"<{THREADS * int(slots)}Q", dump.read(8 * THREADS * int(slots)))
            yield Launch(name, results, uniform, inputs, stored)


def operand_values(text, launch):
    """The values of one source in all threads; None if they are unknown."""
    if text in launch.values:
        return launch.values[text]
    if text.startswith(("0f", "0d")):
        return [int(text[2:], 16)] * THREADS
    if re.fullmatch(r"-?\d+|0x[0-9a-f]+", text):
        return [int(text, 0) & ((1 << 64) - 1)] * THREADS
    return None


_TEXT = re.compile(r"(?:@(!?)(p\d+)\((\w+)\) )?([\w.]+) ([\w|]+), (.*)")


def check(launch, register, text, stored, report):
    found = _TEXT.fullmatch(text)
    if not found:
        return report.unknown(text.split(" ")[0])
    bang, guard, before, opcode, names, sources = found.groups()
    if warp_rules.warp_rule_of(opcode):
        return check_warps(launch, register, text, stored, report)
    rule = warp_rules.is_carrying(opcode) or integer_rules.rule_of(opcode) or float_rules.rule_of(opcode)
    values = [operand_values(one, launch) for one in sources.split(", ")]
    if not rule or None in values:
        return report.unknown(opcode)
    which = names.split("|").index(register)
    got = launch.values[register]
    for thread in range(THREADS):
        if not stored[thread]:
            continue
        if guard and launch.values[guard][thread] == (1 if bang else 0):
            expected = launch.values[before][thread]
        else:
            of_thread = launch.carries.rule(opcode, thread) if rule is True else rule
            expected = of_thread(*(one[thread] for one in values))
        if isinstance(expected, tuple):
            expected = expected[which]
        report.compare(launch, opcode, text, thread, [one[thread] for one in values], got[thread], expected)
    return None


def check_warps(launch, register, text, stored, report):
    _, _, _, opcode, names, sources = _TEXT.fullmatch(text).groups()
    values = [operand_values(one, launch) for one in sources.split(", ")]
    if None in values or not all(stored):
        return report.unknown(opcode)
    which = names.split("|").index(register)
    rule = warp_rules.warp_rule_of(opcode)
    for first in range(0, THREADS, warp_rules.LANES):
        of_warp = [one[first:first + warp_rules.LANES] for one in values]
        for lane, expected in enumerate(rule(*of_warp)):
            report.compare(launch, opcode, text, first + lane, [one[lane] for one in of_warp],
                           launch.values[register][first + lane],
                           expected[which] if isinstance(expected, tuple) else expected)
    return None


def shown(expected):
    return " or ".join(f"{one:x}" for one in expected) if isinstance(expected, frozenset) else f"{expected:x}"


class Report:
    def __init__(self):
        self.checked = collections.Counter()
        self.wrong = collections.Counter()
        self.first = collections.defaultdict(list)
        self.unchecked = collections.Counter()

    def unknown(self, opcode):
        self.unchecked[opcode] += 1

    def compare(self, launch, opcode, text, thread, operands, got, expected):
        self.checked[opcode] += 1
        if expected is None or got == expected or isinstance(expected, frozenset) and got in expected:
            return
        self.wrong[opcode] += 1
        if len(self.first[opcode]) < 4:
            words = " ".join(f"{one:x}" for one in operands)
            self.first[opcode].append(f"{launch.name} thread {thread}: {text}; of {words}: got {got:x}, expected {shown(expected)}")

    def show(self):
        print(f"{sum(self.checked.values())} results of {len(self.checked)} opcodes checked")
        print("not checked:", ", ".join(f"{opcode} {count}" for opcode, count in sorted(self.unchecked.items())))
        for opcode, count in sorted(self.wrong.items()):
            print(f"{opcode}: {count} of {self.checked[opcode]} differ")
            print("\n".join("    " + line for line in self.first[opcode]))


def report(dump):
    result = Report()
    for launch in read_dump(dump):
        if launch.name.startswith("a"):
            continue
        for register, text, stored in launch.instructions:
            check(launch, register, text, stored, result)
    result.show()
    return 1 if result.wrong else 0
