"""Instructions that depend on other threads or on the previous instruction: collectives and carries."""

import functools

from .integer_rules import low, typed

LANES = 32


class Carries:
    """The condition code of each thread (PTX ISA, "Extended-Precision Integer Arithmetic Instructions")."""

    def __init__(self, threads):
        self.carry = [0] * threads

    def rule(self, opcode, thread):
        parts = opcode.split(".")
        bits = int(parts[-1][1:])
        takes, gives = parts[0].endswith("c"), "cc" in parts
        carry = self.carry[thread] if takes else 0

        def evaluate(a, b, c=0):
            a, b, c = (low(x, bits) for x in (a, b, c))
            if parts[0].startswith("sub"):
                x = a - b - carry
                carry_out = int(x < 0)
            elif parts[0].startswith("add"):
                x = a + b + carry
                carry_out = x >> bits
            else:
                product = typed(a, parts[-1]) * typed(b, parts[-1])
                x = low(product >> bits if "hi" in parts else product, bits) + c + carry
                carry_out = x >> bits
            if gives:
                self.carry[thread] = carry_out
            return low(x, bits)
        return evaluate


def is_carrying(opcode):
    return opcode.split(".")[0] in ("addc", "subc", "madc") or ".cc." in opcode


def shuffle(mode, a, b, c):
    values, predicates = [], []
    for lane in range(LANES):
        source, clamp = b[lane] & 31, c[lane] & 31
        segment = c[lane] >> 8 & 31
        most = lane & segment | clamp & ~segment & 31
        least = lane & segment
        j = {"up": lane - source, "down": lane + source, "bfly": lane ^ source, "idx": least | source & ~segment & 31}[mode]
        inside = j >= most if mode == "up" else j <= most
        values.append(a[j if inside else lane])
        predicates.append(int(inside))
    return list(zip(values, predicates))


def reduction(name, type_):
    functions = {"add": lambda x, y: x + y, "min": min, "max": max, "and": lambda x, y: x & y, "or": lambda x, y: x | y,
                 "xor": lambda x, y: x ^ y}
    return lambda a: [low(functools.reduce(functions[name], (typed(x, type_) for x in a)), 32)] * LANES


def vote(mode, p):
    ballot = sum(one << lane for lane, one in enumerate(p))
    return [{"all": int(all(p)), "any": int(any(p)), "uni": int(len(set(p)) == 1), "ballot": ballot}[mode]] * LANES


def match(mode, a, bits):
    a = [low(x, bits) for x in a]
    if mode == "all":
        same = int(len(set(a)) == 1)
        return [(0xffffffff if same else 0, same)] * LANES
    return [sum(1 << lane for lane, x in enumerate(a) if x == one) for one in a]


def warp_rule_of(opcode):
    """A function from the operands' lists by lane to the list of results; None for other instructions."""
    parts = opcode.split(".")
    if parts[0] == "shfl":
        return lambda a, b, c, mask: shuffle(parts[2], a, b, c)
    if parts[0] == "redux":
        type_ = parts[3].replace("b", "u")
        return lambda a, mask: reduction(parts[2], type_)(a)
    if parts[0] == "vote":
        return lambda p, mask: vote(parts[2], p)
    if parts[0] == "match":
        return lambda a, mask: match(parts[1], a, int(parts[-1][1:]))
    return None
