"""Exact arithmetic on binary floating-point numbers, with every rounding, as rational numbers."""

from fractions import Fraction
from math import isqrt

F32, F64, F16, BF16, TF32 = (8, 23), (11, 52), (5, 10), (8, 7), (8, 10)
E5M2 = (5, 2)
FORMATS = {"f32": F32, "f64": F64, "f16": F16, "bf16": BF16}
NAN = {F32: 0x7fffffff, F64: 0xfff8000000000000, F16: 0x7fff, BF16: 0x7fff}


class Number:
    """A sign, and a magnitude that is a Fraction, "inf" or "nan"."""

    def __init__(self, sign, magnitude):
        self.sign = sign
        self.magnitude = magnitude

    @property
    def is_nan(self):
        return self.magnitude == "nan"

    @property
    def is_inf(self):
        return self.magnitude == "inf"

    @property
    def value(self):
        if self.is_inf:
            return float("-inf") if self.sign else float("inf")
        return -self.magnitude if self.sign else self.magnitude

    def negated(self):
        return Number(1 - self.sign, self.magnitude)


def read(bits, form, ftz=False):
    exponent_bits, fraction_bits = form
    sign = bits >> (exponent_bits + fraction_bits) & 1
    exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1)
    fraction = bits & ((1 << fraction_bits) - 1)
    bias = (1 << (exponent_bits - 1)) - 1
    if exponent == (1 << exponent_bits) - 1:
        return Number(sign, "nan" if fraction else "inf")
    if exponent == 0:
        if ftz:
            fraction = 0
        return Number(sign, Fraction(fraction, 1 << (bias - 1 + fraction_bits)))
    power = exponent - bias - fraction_bits
    whole = fraction | 1 << fraction_bits
    return Number(sign, Fraction(whole << power) if power >= 0 else Fraction(whole, 1 << -power))


def round_magnitude(x, sign, mode, power):
    """x / 2^power as an integer, and whether it was exact."""
    scaled = x * Fraction(1 << -power) if power <= 0 else x / (1 << power)
    whole, rest = divmod(scaled.numerator, scaled.denominator)
    twice = 2 * rest
    up = (mode == "rn" and (twice > scaled.denominator or (twice == scaled.denominator and whole & 1))
          or mode == "rna" and twice >= scaled.denominator
          or mode == "rm" and rest and sign or mode == "rp" and rest and not sign)
    return whole + (1 if up else 0)


def write(number, form, mode="rn", ftz=False):
    """The bits of a number, rounded."""
    exponent_bits, fraction_bits = form
    if number.is_nan:
        return NAN.get(form, (1 << (exponent_bits + fraction_bits)) - 1)
    sign = number.sign << (exponent_bits + fraction_bits)
    infinity = ((1 << exponent_bits) - 1) << fraction_bits
    if number.is_inf:
        return sign | infinity
    x = number.magnitude
    if x == 0:
        return sign
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    if (x.numerator << -exponent if exponent < 0 else x.numerator) < (
            x.denominator << exponent if exponent > 0 else x.denominator):
        exponent -= 1
    least = 1 - bias
    if ftz and exponent < least - 1:
        return sign
    # Flushes numbers that, rounded with an unlimited exponent, are below the smallest normal number.
    if ftz and exponent < least and round_magnitude(x, number.sign, mode, exponent - fraction_bits) < 2 << fraction_bits:
        return sign
    exponent = max(exponent, least)
    whole = round_magnitude(x, number.sign, mode, exponent - fraction_bits)
    bits = ((exponent + bias - 1) << fraction_bits) + whole
    if bits >= infinity:
        away = mode in ("rn", "rna") or mode == ("rm" if number.sign else "rp")
        return sign | (infinity if away else infinity - 1)
    return sign | bits


def of_fraction(x, zero_sign=0):
    return Number(zero_sign if x == 0 else int(x < 0), abs(x))


_NAN = Number(0, "nan")


def add(a, b, mode):
    if a.is_nan or b.is_nan or (a.is_inf and b.is_inf and a.sign != b.sign):
        return _NAN
    if a.is_inf or b.is_inf:
        return a if a.is_inf else b
    same = a.sign if a.sign == b.sign else int(mode == "rm")
    return of_fraction(a.value + b.value, same)


def multiply(a, b):
    sign = a.sign ^ b.sign
    if a.is_nan or b.is_nan:
        return _NAN
    if a.is_inf or b.is_inf:
        return _NAN if 0 in (a.magnitude, b.magnitude) else Number(sign, "inf")
    return Number(sign, a.magnitude * b.magnitude)


def divide(a, b):
    sign = a.sign ^ b.sign
    if a.is_nan or b.is_nan or (a.is_inf and b.is_inf) or (a.magnitude == 0 and b.magnitude == 0):
        return _NAN
    if a.is_inf or b.magnitude == 0:
        return Number(sign, "inf")
    return Number(sign, Fraction(0)) if b.is_inf else Number(sign, a.magnitude / b.magnitude)


def square_root(a):
    """Precise enough to be rounded: 200 bits, with the last bit set if more follow."""
    if a.is_nan or (a.sign and a.magnitude != 0):
        return _NAN
    if a.is_inf or a.magnitude == 0:
        return a
    shift = 800
    scaled = (a.magnitude.numerator << 2 * shift) // a.magnitude.denominator
    root = isqrt(scaled)
    exact = root * root == scaled and scaled * a.magnitude.denominator == a.magnitude.numerator << 2 * shift
    return Number(0, Fraction(2 * root + (0 if exact else 1), 1 << (shift + 1)))


def saturated(number):
    """Clamps to [0, 1]; NaN becomes 0."""
    if number.is_nan or number.sign or number.magnitude == 0:
        return Number(0, Fraction(0))
    return Number(0, Fraction(1)) if number.is_inf or number.magnitude > 1 else number
