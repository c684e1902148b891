"""Floating-point instructions as the PTX ISA describes them: functions of the operands' bits by opcode."""

import functools
from fractions import Fraction

from .floats import (E5M2, F16, F32, F64, FORMATS, TF32, Number, add, divide, multiply, of_fraction, read,
                     round_magnitude, saturated, square_root, write)
from .integer_rules import clamped, is_integer, low, typed, width_of

_MODES = ("rn", "rz", "rm", "rp")
_COMPARE = {"eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
            "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b}
_COMBINE = {"and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}


def mode_of(parts):
    return next((part for part in parts if part in _MODES), "rn")


def arithmetic(parts, form):
    mode, ftz, name = mode_of(parts), "ftz" in parts, parts[0]

    def rule(*operands):
        x = [read(low(bits, 1 + sum(form)), form, ftz) for bits in operands]
        if name == "fma":
            exact = add(multiply(x[0], x[1]), x[2], mode)
        elif name in ("add", "sub"):
            exact = add(x[0], x[1] if name == "add" else x[1].negated(), mode)
        elif name == "mul":
            exact = multiply(x[0], x[1])
        elif name == "div":
            exact = divide(x[0], x[1])
        elif name == "rcp":
            exact = divide(of_fraction(Fraction(1)), x[0])
        else:
            exact = square_root(x[0])
        if "sat" in parts:
            exact = saturated(exact)
        if "relu" in parts and not exact.is_nan and exact.sign:
            exact = Number(0, Fraction(0))
        if exact.is_nan and form == F64 and any(one.is_nan for one in x):
            return quiet(operands, x)
        return write(exact, form, mode, ftz)
    return rule


def quiet(operands, numbers):
    """fp64 keeps the payload of one NaN operand; no document states which."""
    return frozenset(bits | 1 << 51 for bits, number in zip(operands, numbers) if number.is_nan)


def least_or_most(parts, form):
    ftz, is_min = "ftz" in parts, parts[0] == "min"
    magnitude = (1 << sum(form)) - 1

    def rule(a, b):
        sign = (a ^ b) >> sum(form) & 1
        if "xorsign" in parts:
            a, b = a & magnitude, b & magnitude
        x, y = read(a, form, ftz), read(b, form, ftz)
        if x.is_nan and y.is_nan and (form == F64 or a == b):
            return None  # ptxas simplifies min(a, a)
        if x.is_nan and y.is_nan or "NaN" in parts and (x.is_nan or y.is_nan):
            return write(Number(0, "nan"), form)
        if x.is_nan or y.is_nan:
            chosen = y if x.is_nan else x
        elif x.value == y.value:
            chosen = x if bool(x.sign) == is_min else y
        else:
            chosen = x if (x.value < y.value) == is_min else y
        if "xorsign" in parts:
            chosen = Number(sign, chosen.magnitude)
        return write(chosen, form, "rn", ftz)
    return rule


def comparison(parts, form):
    how, ftz = parts[1], "ftz" in parts
    base = how[:2] if how.endswith("u") else how

    def rule(a, b):
        x, y = read(low(a, 1 + sum(form)), form, ftz), read(low(b, 1 + sum(form)), form, ftz)
        is_nan = x.is_nan or y.is_nan
        if how in ("num", "nan"):
            return int(is_nan == (how == "nan"))
        return int(how.endswith("u")) if is_nan else int(_COMPARE[base](x.value, y.value))
    return rule


def setp(parts, form, is_pair):
    holds = comparison(parts, form)
    combine = next((part for part in parts if part in _COMBINE), None)

    def rule(a, b, p=1):
        if is_pair:
            both = holds(a & 0xffff, b & 0xffff), holds(a >> 16, b >> 16)
            return tuple(_COMBINE[combine](one, p) for one in both) if combine else both
        one = holds(a, b)
        return (_COMBINE[combine](one, p), _COMBINE[combine](1 - one, p)) if combine else one
    return rule


def set_of(parts, form, is_pair):
    holds = comparison(parts, form)
    combine = next((part for part in parts if part in _COMBINE), "and")
    to = parts[-2].removesuffix("x2")
    yes = 0xffffffff if to in ("u32", "s32") else {"f32": 0x3f800000, "f16": 0x3c00, "bf16": 0x3f80}[to]

    def rule(a, b, p=1):
        if is_pair:
            return (yes if holds(a & 0xffff, b & 0xffff) else 0) | (yes if holds(a >> 16, b >> 16) else 0) << 16
        return yes if _COMBINE[combine](holds(a, b), p) else 0
    return rule


def test(kind, form):
    def rule(a):
        x = read(low(a, 1 + sum(form)), form)
        is_normal = not x.is_nan and not x.is_inf and (a >> form[1] & ((1 << form[0]) - 1)) != 0
        is_finite = not x.is_nan and not x.is_inf
        return int({"finite": is_finite, "infinite": x.is_inf, "number": not x.is_nan, "notanumber": x.is_nan,
                    "normal": is_normal or x.magnitude == 0, "subnormal": is_finite and not is_normal and x.magnitude != 0}[kind])
    return rule


def pairs(rule):
    def both(*operands):
        lower = rule(*(one & 0xffff for one in operands))
        upper = rule(*(one >> 16 & 0xffff for one in operands))
        return joined(upper, lower, 16)
    return both


def to_integer(parts, form):
    to, source = parts[-2], parts[-1]
    mode = {"rni": "rn", "rzi": "rz", "rmi": "rm", "rpi": "rp"}[parts[1]]
    bits = width_of(to)

    def rule(a):
        x = read(low(a, 1 + sum(form)), form, "ftz" in parts)
        if x.is_nan:
            # PTX ISA, cvt: 0 unless fp64 or a 64-bit type is involved.
            return 0 if source != "f64" and bits < 64 else None if bits < 32 else 1 << (bits - 1)
        if x.is_inf:
            whole = -(1 << 80) if x.sign else 1 << 80
        else:
            whole = round_magnitude(x.magnitude, x.sign, mode, 0)
            whole = -whole if x.sign else whole
        return low(clamped(whole, to), max(bits, 16 if source == "bf16" and bits == 16 else 32))
    return rule


def to_float(parts, form, source):
    mode = mode_of(parts)
    if is_integer(source):
        return lambda a: write(of_fraction(Fraction(typed(a, source))), form, mode)
    of = FORMATS[source]
    integer_mode = next((part for part in parts if part in ("rni", "rzi", "rmi", "rpi")), None)

    def rule(a):
        x = read(low(a, 1 + sum(of)), of, "ftz" in parts and of == F32)
        if integer_mode and not x.is_nan and not x.is_inf:
            x = Number(x.sign, Fraction(round_magnitude(x.magnitude, x.sign, integer_mode[:2], 0)))
        if "sat" in parts:
            x = saturated(x)
        if "relu" in parts and x.sign and not x.is_nan:
            x = Number(0, Fraction(0))
        if "ftz" in parts and form == F16 and mode in ("rm", "rp") and x.magnitude == 0 and low(a, 31) != 0:
            return None  # ptxas drops .ftz
        # bf16 is the upper half of fp32, so NaN may keep its payload, as in fp64.
        if x.is_nan and (source in ("bf16", "f64") or form == F64):
            return None
        return write(x, form, mode, "ftz" in parts and form == F32)
    return rule


def to_tf32(parts):
    def rule(a):
        x = read(a, F32)
        if x.is_nan:
            return None
        if "relu" in parts and x.sign:
            x = Number(0, Fraction(0))
        return write(x, TF32, parts[1]) << 13
    return rule


def to_fp8(bits, form, is_e4m3, relu):
    x = read(bits, form)
    if x.is_nan:
        return 0x7f
    if relu and x.sign:
        return 0
    sign = x.sign << 7
    if not is_e4m3:
        byte = write(x, E5M2)
        return byte - 1 if byte & 0x7f == 0x7c else byte
    if x.is_inf or x.magnitude >= 464:
        return sign | 0x7e
    return sign | e4m3_magnitude(x.magnitude)


def e4m3_magnitude(x):
    if x == 0:
        return 0
    exponent = -6
    while x >= 2 ** (exponent + 1):
        exponent += 1
    return ((exponent + 6) << 3) + round_magnitude(x, 0, "rn", exponent - 3)


def joined(upper, lower, bits):
    return None if upper is None or lower is None else upper << bits | lower


def pair_conversion(parts):
    to, source = parts[-2], parts[-1]
    relu = "relu" in parts
    if to in ("e4m3x2", "e5m2x2"):
        is_e4m3 = to.startswith("e4")
        if source == "f32":
            return lambda a, b: joined(to_fp8(a, F32, is_e4m3, relu), to_fp8(b, F32, is_e4m3, relu), 8)
        return lambda a: joined(to_fp8(a >> 16, F16, is_e4m3, relu), to_fp8(a & 0xffff, F16, is_e4m3, relu), 8)
    if source == "f32":
        one = to_float([*parts[:-2], to[:-2], "f32"], FORMATS[to[:-2]], "f32")
        return lambda a, b: joined(one(a), one(b), 16)
    return None


def one_operand(name, form):
    sign = 1 << sum(form)

    def rule(a):
        if read(a, form).is_nan:
            return None  # sign and payload of NaN are unspecified
        return a & (sign - 1) if name == "abs" else a ^ sign
    return rule


@functools.lru_cache(maxsize=None)
def rule_of(opcode):
    parts = opcode.split(".")
    name, type_ = parts[0], parts[-1]
    scalar = type_.removesuffix("x2")
    is_pair = type_ != scalar
    if name == "cvt" and (parts[-2].endswith("x2") or is_pair):
        return pair_conversion(parts)
    if name == "cvt" and parts[-2] == "tf32":
        return to_tf32(parts)
    if name == "cvt" and parts[-2] in FORMATS:
        return to_float(parts, FORMATS[parts[-2]], type_)
    if name == "selp" or scalar not in FORMATS or "oob" in parts or "approx" in parts or "full" in parts:
        return None
    form = FORMATS[scalar]
    if name == "cvt":
        return to_integer(parts, form)
    if name in ("setp", "set"):
        return (setp if name == "setp" else set_of)(parts, form, is_pair)
    if name == "testp":
        return test(parts[1], form)
    if name in ("abs", "neg") and "ftz" not in parts:
        rule = one_operand(name, form)
        return None if is_pair else rule
    if name == "copysign":
        sign = 1 << sum(form)
        return lambda a, b: b & (sign - 1) | a & sign
    if name in ("add", "sub", "mul", "fma", "div", "rcp", "sqrt"):
        rule = arithmetic(parts, form)
        return pairs(rule) if is_pair else rule
    if name in ("min", "max"):
        rule = least_or_most(parts, form)
        return pairs(rule) if is_pair else rule
    return None
