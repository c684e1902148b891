"""Random numbers that are the same in every version of Python, and immediates that reach edge cases."""

_MASK = (1 << 64) - 1

_WORDS = [0, 1, 2, 3, 31, 32, 33, 127, 128, 255, 256, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xfffffffe,
          0xffffffff, 0x55555555, 0xaaaaaaaa, 0x00ff00ff, 0x80808080, 0x7f7f7f7f]
_FLOATS = [0, 0x80000000, 0x3f800000, 0xbf800000, 0x3f7fffff, 0x3f800001, 0x40000000, 0x3f000000, 0x00000001, 0x007fffff,
           0x00800000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x4b000001, 0x4f000000, 0x5f000000, 0x33800000,
           0x477fe000, 0x38800000, 0x33000000, 0x3eaaaaab]
_DOUBLES = [0, 1 << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x3fefffffffffffff, 0x3ff0000000000001, 1, 0x000fffffffffffff,
            0x0010000000000000, 0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x4330000000000001,
            0x41e0000000000000, 0x43e0000000000000, 0x36a0000000000000, 0x47efffffe0000000, 0x3fd5555555555555]


class Numbers:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed & _MASK

    def next(self):
        self.state = (self.state + 0x9e3779b97f4a7c15) & _MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & _MASK
        return z ^ (z >> 31)

    def below(self, count):
        return (self.next() >> 11) % count

    def chance(self, percent):
        return self.below(100) < percent

    def one_of(self, things):
        return things[self.below(len(things))]

    def shuffle(self, things):
        for i in range(len(things) - 1, 0, -1):
            j = self.below(i + 1)
            things[i], things[j] = things[j], things[i]

    def immediate(self, letter):
        """A PTX immediate of 32 bits (r, f) or 64 bits (l, d)."""
        if letter == "r":
            return str(self.one_of(_WORDS) if self.chance(60) else self.next() & 0xffffffff)
        if letter == "f":
            bits = self.one_of(_FLOATS) if self.chance(70) else self.next() & 0xffffffff
            return f"0f{bits:08X}"
        if letter == "d":
            bits = self.one_of(_DOUBLES) if self.chance(70) else self.next()
            return f"0d{bits:016X}"
        value = self.one_of(_WORDS) if self.chance(60) else self.next()
        return str(value if value < 1 << 63 else value - (1 << 64))
