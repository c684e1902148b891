"""Integer instructions as the PTX ISA describes them: functions of the operands' bits by opcode."""

import functools

_COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
            "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "lo": lambda a, b: a < b, "ls": lambda a, b: a <= b,
            "hi": lambda a, b: a > b, "hs": lambda a, b: a >= b}
_COMBINE = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def width_of(type_):
    return int(type_[1:])


def low(x, bits):
    return x & ((1 << bits) - 1)


def typed(x, type_):
    """Bits as a number of the type."""
    bits = width_of(type_)
    x = low(x, bits)
    return x - (1 << bits) if type_[0] == "s" and x >> (bits - 1) else x


def clamped(x, type_):
    bits = width_of(type_)
    least, most = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if type_[0] == "s" else (0, (1 << bits) - 1)
    return max(least, min(most, x))


def quotient(a, b):
    q = abs(a) // abs(b)
    return -q if (a < 0) != (b < 0) else q


def binary(name, type_, sat=False, relu=False):
    bits = width_of(type_)
    functions = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "min": min, "max": max,
                 "div": quotient, "rem": lambda a, b: a - b * quotient(a, b)}
    function = functions[name]

    def rule(a, b):
        a, b = typed(a, type_), typed(b, type_)
        if name in ("div", "rem") and a == -(1 << (bits - 1)) and b == -1 and type_[0] == "s":
            return None
        x = function(a, b)
        return low(max(x, 0) if relu else clamped(x, type_) if sat else x, bits)
    return rule


def halves(rule):
    return lambda a, b: rule(a & 0xffff, b & 0xffff) | rule(a >> 16 & 0xffff, b >> 16 & 0xffff) << 16


def product(name, part, type_, sat=False):
    bits = width_of(type_)
    result = 2 * bits if part == "wide" else bits
    is24 = name.endswith("24")

    def rule(a, b, c=0):
        if is24:
            cut = "s24" if type_[0] == "s" else "u24"
            x = typed(a, cut) * typed(b, cut)
            x >>= 16 if part == "hi" else 0
        else:
            x = typed(a, type_) * typed(b, type_)
            x >>= bits if part == "hi" else 0
        if sat:
            return low(clamped(typed(low(x, bits), type_) + typed(c, type_), type_), bits)
        return low(x + c, result)
    return rule


def shift(direction, type_):
    bits = width_of(type_)

    def rule(a, amount):
        amount = min(amount & 0xffffffff, bits)
        return low(low(a, bits) << amount if direction == "shl" else typed(a, type_) >> amount, bits)
    return rule


def funnel(direction, mode):
    def rule(a, b, amount):
        amount &= 0xffffffff
        amount = amount & 31 if mode == "wrap" else min(amount, 32)
        both = low(b, 32) << 32 | low(a, 32)
        return low(both << amount >> 32 if direction == "l" else both >> amount, 32)
    return rule


def field_extract(type_):
    bits = width_of(type_)

    def rule(a, position, length):
        position, length = position & 0xff, length & 0xff
        a = low(a, bits)
        sign_at = min(position + length - 1, bits - 1)
        sign = 0 if type_[0] == "u" or length == 0 else a >> sign_at & 1
        result = 0
        for i in range(bits):
            one = a >> (position + i) & 1 if i < length and position + i < bits else sign
            result |= one << i
        return result
    return rule


def field_insert(bits):
    def rule(a, b, position, length):
        position, length = position & 0xff, length & 0xff
        result = low(b, bits)
        for i in range(length):
            if position + i < bits:
                result = result & ~(1 << (position + i)) | (a >> i & 1) << (position + i)
        return result
    return rule


def find(type_, is_amount):
    bits = width_of(type_)

    def rule(a):
        a = typed(a, type_)
        at = (~a if a < 0 else a).bit_length() - 1
        if at < 0:
            return 0xffffffff
        return bits - 1 - at if is_amount else at
    return rule


def permute(mode):
    def rule(a, b, selector):
        both = [low(a, 32) >> 8 * i & 0xff for i in range(4)] + [low(b, 32) >> 8 * i & 0xff for i in range(4)]
        by = selector & 3
        chosen = {"f4e": lambda i: by + i, "b4e": lambda i: (by - i) & 7, "rc8": lambda i: by,
                  "ecl": lambda i: max(by, i), "ecr": lambda i: min(by, i), "rc16": lambda i: (by & 1) * 2 + (i & 1),
                  "": lambda i: selector >> 4 * i & 0xf}[mode]
        result = 0
        for i in range(4):
            which = chosen(i)
            byte = both[which & 7]
            if which & 8:
                byte = 0xff if byte & 0x80 else 0
            result |= byte << 8 * i
        return result
    return rule


def dot(parts, types):
    def rule(a, b, c):
        total = c
        count = 4 if parts[0] == "dp4a" else 2
        for i in range(count):
            x = typed(a >> 8 * i, types[0] + "8") if count == 4 else typed(a >> 16 * i, types[0] + "16")
            y = typed(b >> 8 * (i + (2 if "hi" in parts else 0)), types[1] + "8")
            total += x * y
        return low(total, 32)
    return rule


def logic(name, bits):
    functions = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "not": lambda a: ~a,
                 "cnot": lambda a: int(low(a, bits) == 0)}
    return lambda *x: low(functions[name](*x), bits)


def look_up(a, b, c, table):
    result = 0
    for i in range(32):
        entry = (a >> i & 1) << 2 | (b >> i & 1) << 1 | c >> i & 1
        result |= (table >> entry & 1) << i
    return result


def look_up_with(combine):
    def rule(a, b, c, table, p):
        result = look_up(a, b, c, table)
        return result, _COMBINE[combine](int(result != 0), p)
    return rule


def comparison(parts):
    how, type_ = _COMPARE[parts[1]], parts[-1]

    def holds(a, b):
        return int(how(typed(a, type_), typed(b, type_)))
    if len(parts) == 3:
        return holds
    combine = _COMBINE[parts[2]]
    return lambda a, b, p: (combine(holds(a, b), p), combine(1 - holds(a, b), p))


def set_of(parts):
    how, type_ = _COMPARE[parts[1]], parts[-1]
    yes = 0x3f800000 if parts[2] == "f32" else 0xffffffff
    return lambda a, b: yes if how(typed(a, type_), typed(b, type_)) else 0


def convert(parts):
    to, source = parts[-2], parts[-1]

    def rule(a):
        x = typed(a, source)
        x = clamped(x, to) if "sat" in parts else typed(x, to)
        return low(x, max(32, width_of(to)))
    return rule


def pack(parts):
    to = parts[3]
    bits = width_of(to)

    def rule(a, b, c=0):
        x, y = (low(clamped(typed(one, "s32"), to), bits) for one in (a, b))
        return low(c << 2 * bits | x << bits | y, 32)
    return rule


def mask(mode):
    def rule(a, b):
        a, b = (x & 31 if mode == "wrap" else min(x & 0xffffffff, 32) for x in (a, b))
        return low(low(~0, b) << a, 32) if b else 0
    return rule


def extend(mode, type_):
    def rule(a, b):
        b = b & 31 if mode == "wrap" else min(b & 0xffffffff, 32)
        if b == 0:
            return 0
        return low(typed(a, f"{type_[0]}{b}"), 32)
    return rule


def is_integer(type_):
    return len(type_) > 1 and type_[0] in "us" and type_[1:].isdigit()


@functools.lru_cache(maxsize=None)
def rule_of(opcode):
    parts = opcode.split(".")
    name, type_ = parts[0], parts[-1]
    bits = int(type_[1:]) if type_[1:].isdigit() else 0
    if name in ("add", "sub", "min", "max", "div", "rem") and is_integer(type_) and "cc" not in parts:
        return binary(name, type_, "sat" in parts, "relu" in parts)
    if name in ("add", "min", "max") and type_ in ("u16x2", "s16x2"):
        return halves(binary(name, type_[:3], False, "relu" in parts))
    if name in ("mul", "mad", "mul24", "mad24") and is_integer(type_) and "cc" not in parts:
        return product(name, parts[1], type_, "sat" in parts)
    if name == "sad":
        return lambda a, b, c: low(c + abs(typed(a, type_) - typed(b, type_)), bits)
    if name in ("abs", "neg") and is_integer(type_):
        return lambda a: low(abs(typed(a, type_)) if name == "abs" else -a, bits)
    if name == "popc":
        return lambda a: low(a, bits).bit_count()
    if name == "clz":
        return lambda a: bits - low(a, bits).bit_length()
    if name == "bfind":
        return find(type_, "shiftamt" in parts)
    if name == "brev":
        return lambda a: int(f"{low(a, bits):0{bits}b}"[::-1], 2)
    if name in ("bfe", "bfi"):
        return field_extract(type_) if name == "bfe" else field_insert(bits)
    if name in ("bmsk", "szext"):
        return mask(parts[1]) if name == "bmsk" else extend(parts[1], type_)
    if name in ("dp4a", "dp2a"):
        return dot(parts, (parts[-2][0], parts[-1][0]))
    if name in ("and", "or", "xor", "not", "cnot"):
        return logic(name, 1 if type_ == "pred" else bits)
    if name == "lop3":
        return look_up if len(parts) == 2 else look_up_with(parts[1])
    if name == "shf":
        return funnel(parts[1], parts[2])
    if name in ("shl", "shr"):
        return shift(name, type_)
    if name == "prmt":
        return permute(parts[2] if len(parts) > 2 else "")
    if name == "selp":
        return lambda a, b, p: low(a if p else b, bits)
    if name == "slct" and type_ == "s32":
        return lambda a, b, c: low(a if typed(c, "s32") >= 0 else b, int(parts[-2][1:]))
    if name == "setp" and is_integer(type_):
        return comparison(parts)
    if name == "set" and is_integer(type_):
        return set_of(parts)
    if name == "cvt" and parts[1] == "pack":
        return pack(parts)
    if name == "cvt" and is_integer(type_) and is_integer(parts[-2]):
        return convert(parts)
    return None
