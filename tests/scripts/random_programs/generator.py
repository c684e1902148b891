"""Generates random programs from instruction forms: straight-line code, branches, loops, memory, collectives."""

from .memory import MemoryParts
from .numbers import Numbers

INPUT_WORDS = 32
BYTES_PER_SLOT = 8
# First word and number of words of each kind of input, in a thread's words.
INPUT_PLACES = {"i": (0, 8), "f": (8, 6), "x": (14, 3), "y": (17, 3), "l": (20, 4), "d": (24, 6), "c": (30, 2)}

_BANKS = {"r": ("r", "i"), "f": ("r", "f"), "x": ("r", "x"), "y": ("r", "y"), "h": ("h", "i"), "u": ("h", "u"),
          "v": ("h", "v"), "l": ("l", "i"), "d": ("l", "d"), "p": ("p", "p")}
_ALL_LANES = 0xffffffff
_SIZES = {"r": 4, "h": 2, "l": 8, "p": 4}


class Slot:
    """A result of every thread: its place and the instruction that computed it."""

    def __init__(self, place, name, text):
        self.place = place  # "s3" a slot, "w5" an input word, "w5:8" a pair, "w5.1" an upper half
        self.name = name
        self.text = text


class Program(MemoryParts):
    def __init__(self, name, numbers, threads):
        self.name = name
        self.numbers = numbers
        self.threads = threads
        self.lines = []
        self.slots = []
        self.registers = {"r": [], "h": [], "l": [], "p": []}  # (name, hint) that can be read here
        self.counts = {"r": 0, "h": 0, "l": 0, "p": 0, "L": 0}
        self.slot_count = 0
        self.is_divergent = False
        self.mask = _ALL_LANES
        self.shared_bytes = 0
        self.local_bytes = 0

    # ---- registers

    def new(self, letter):
        bank, hint = _BANKS[letter]
        name = f"{bank}{self.counts[bank]}"
        self.counts[bank] += 1
        return name, bank, hint

    def define(self, name, bank, hint):
        self.registers[bank].append((name, hint))

    def pick(self, letter):
        bank, hint = _BANKS[letter]
        known = self.registers[bank]
        of_hint = [name for name, its in known if its == hint]
        if of_hint and self.numbers.chance(75):
            if len(of_hint) > 6 and self.numbers.chance(50):
                of_hint = of_hint[-6:]
            return self.numbers.one_of(of_hint)
        return self.numbers.one_of(known)[0]

    def label(self):
        self.counts["L"] += 1
        return f"L{self.counts['L']}"

    # ---- text

    def emit(self, text):
        self.lines.append(text)

    def store(self, name, text):
        """Stores a register for comparison, as the result of `text`."""
        place = self.slot_count
        self.slot_count += 1
        offset = place * self.threads * BYTES_PER_SLOT
        bank = name[0]
        if bank == "p":
            self.emit(f"selp.b32 t, 1, 0, {name};")
            self.emit(f"st.global.b32 [to+{offset}], t;")
        else:
            self.emit(f"st.global.b{8 * _SIZES[bank]} [to+{offset}], {name};")
        self.slots.append(Slot(f"s{place}", name, text))

    # ---- operands

    def operand(self, letter):
        """Text of a source operand, after emitting what it needs."""
        draw = self.numbers
        lower = letter.lower()
        if letter == "b":
            if draw.chance(50):
                return str(draw.below(70))
            return self.in_range(63) if draw.chance(50) else self.pick("r")
        if letter == "e":
            # Immediates below 32: ptxas 13.0 reduces larger ones modulo 32.
            return str(draw.below(32)) if draw.chance(50) else self.in_range(draw.one_of([63, 255]))
        if letter == "n":
            return self.or_one("r", "b32")
        if letter == "m":
            return self.or_one("l", "b64")
        if letter == "g":
            return self.or_one("h", "b16")
        if letter == "t":
            return str(draw.below(256))
        if letter == "s":
            return str(draw.below(32 if self.mask == _ALL_LANES else 16))
        if letter == "k":
            return f"0x{self.mask:x}"
        if letter == "c" and self.mask != _ALL_LANES:
            return str(0x100f)  # lanes read only within their half
        if letter == "c":
            return str(draw.one_of([0x1f, 0x1f, 0, 0x181f, 0x1c1f, 0x1e1f, 0x100f, 0x1807, 0x1c03]))
        if letter == "bar":
            return "0"
        if letter in "rfld" and draw.chance(14):
            return draw.immediate(letter)
        if letter in "rf" and draw.chance(8):
            return draw.one_of(["u0", "u1"] if letter == "r" else ["u2", "u3"])
        if letter == "h" and draw.chance(8):
            return str(draw.below(1 << 15))
        return self.pick(lower)

    def in_range(self, most):
        name, bank, hint = self.new("r")
        text = f"and.b32 {name}, {self.pick('r')}, {most};"
        self.emit(text)
        self.store(name, text[:-1])
        self.define(name, bank, hint)
        return name

    def or_one(self, letter, suffix):
        name, bank, hint = self.new(letter)
        text = f"or.{suffix} {name}, {self.pick(letter)}, 1;"
        self.emit(text)
        self.store(name, text[:-1])
        return name

    def source(self, letter):
        if letter.startswith("["):
            return "{" + ", ".join(self.pick(one) for one in letter[1:-1]) + "}"
        return letter if letter.startswith("%") else self.operand(letter)

    # ---- instructions

    def instruction(self, form):
        sources = [self.source(letter) for letter in form.source]
        letters = form.to.strip("[]").replace("|", "")
        made = [self.new(letter) for letter in letters]
        names = [name for name, _, _ in made]
        to = "{" + ", ".join(names) + "}" if form.to.startswith("[") else "|".join(names)
        guard = self.guard(form, names, made)
        text = f"{guard}{form.opcode} {to}, {', '.join(sources)}"
        self.emit(text + ";")
        for name, bank, hint in made:
            self.store(name, text)
            self.define(name, bank, hint)

    def guard(self, form, names, made):
        """Makes one instruction in ten conditional; its destination has a value before."""
        # ptxas 13.0 converts the old destination of a conditional `set`, and drops the condition of `testp`.
        if form.group == "collective" or form.opcode.startswith(("set.", "testp.")) or len(names) > 1:
            return ""
        if not self.numbers.chance(10):
            return ""
        if not self.registers["p"]:
            return ""
        name, bank, _ = made[0]
        size = {"r": "b32", "h": "b16", "l": "b64", "p": "pred"}[bank]
        before = self.numbers.one_of(self.registers[bank])[0]
        self.emit(f"mov.{size} {name}, {before};")
        chosen = self.pick("p")
        bang = "!" if self.numbers.chance(50) else ""
        return f"@{bang}{chosen}({before}) "

    def carries(self):
        """A chain of sums or products that propagate a carry."""
        draw = self.numbers
        chain = draw.one_of([
            ["add.cc.u32", "addc.cc.u32", "addc.u32"], ["sub.cc.u32", "subc.cc.u32", "subc.u32"],
            ["mad.lo.cc.u32", "madc.hi.cc.u32", "addc.u32"], ["mad.hi.cc.u32", "madc.lo.cc.u32", "madc.hi.u32"],
            ["add.cc.u64", "addc.cc.u64", "addc.u64"], ["sub.cc.u64", "subc.cc.u64", "subc.u64"],
            ["mad.lo.cc.s32", "madc.hi.cc.s32", "addc.s32"], ["mad.lo.cc.u64", "madc.hi.u64"],
            ["add.cc.s32", "addc.s32"], ["sub.cc.s32", "subc.s32"]])
        made = []
        for opcode in chain:
            letter = "l" if opcode.endswith("64") else "r"
            name, bank, hint = self.new(letter)
            count = 3 if opcode.startswith("mad") else 2
            text = f"{opcode} {name}, {', '.join(self.operand(letter) for _ in range(count))}"
            made.append((name, bank, hint, text))
        for _, _, _, text in made:
            self.emit(text + ";")
        for name, bank, hint, text in made:
            self.store(name, text)
            self.define(name, bank, hint)

    # ---- structure

    def inside(self, body):
        """Registers defined in a branch are not read after it."""
        before = {bank: list(names) for bank, names in self.registers.items()}
        was = self.is_divergent
        self.is_divergent = True
        body()
        result = self.numbers.one_of([name for name, _ in self.registers["r"]])
        self.registers = before
        self.is_divergent = was
        return result

    def branch(self, first, second, condition=None):
        condition = condition or self.pick("p")
        merged, bank, hint = self.new("r")
        other, end = self.label(), self.label()
        self.emit(f"@!{condition} bra {other};")
        value = self.inside(first)
        self.emit(f"mov.b32 {merged}, {value};")
        self.emit(f"bra {end};")
        self.emit(f"{other}:")
        value = self.inside(second)
        self.emit(f"mov.b32 {merged}, {value};")
        self.emit(f"{end}:")
        self.store(merged, f"if {condition}")
        self.define(merged, bank, hint)

    def loop(self, body):
        """One to four iterations, per lane or uniform; a sum over the iterations."""
        count, sum_, again = self.new("r")[0], self.new("r")[0], self.new("p")[0]
        start = self.label()
        self.emit(f"and.b32 {count}, {self.pick('r')}, 3;")
        self.emit(f"mov.b32 {sum_}, {self.pick('r')};")
        self.emit(f"{start}:")

        def one_round():
            # A copy whose last value is stored, because the sum changes after it is read.
            so_far, bank, hint = self.new("r")
            self.emit(f"mov.b32 {so_far}, {sum_};")
            self.store(so_far, "loop")
            self.define(so_far, bank, hint)
            body()
        value = self.inside(one_round)
        self.emit(f"mad.lo.s32 {sum_}, {value}, 5, {sum_};")
        self.emit(f"sub.s32 {count}, {count}, 1;")
        self.emit(f"setp.ge.s32 {again}, {count}, 0;")
        self.emit(f"@{again} bra {start};")
        self.store(sum_, "loop")
        self.define(sum_, "r", "i")

    def switch(self, body):
        """An indirect branch to one of four targets."""
        index, bank, hint = self.new("r")
        merged = self.new("r")[0]
        targets, end = [self.label() for _ in range(4)], self.label()
        self.emit(f"and.b32 {index}, {self.pick('r')}, 3;")
        self.store(index, "index")
        self.emit(f"T{end}: .branchtargets {', '.join(targets)};")
        self.emit(f"brx.idx {index}, T{end};")
        for target in targets:
            self.emit(f"{target}:")
            value = self.inside(body)
            self.emit(f"mov.b32 {merged}, {value};")
            self.emit(f"bra {end};")
        self.emit(f"{end}:")
        self.store(merged, "if")
        self.define(merged, bank, hint)

    def some_lanes(self, forms):
        """Some lanes of each warp execute collectives, the other lanes execute different ones."""
        count = self.numbers.one_of([1, 8, 16, 16, 31])
        condition, bank, hint = self.new("p")
        self.emit(f"mov.u32 t, %laneid; setp.lt.u32 {condition}, t, {count};")
        self.store(condition, "if")
        self.registers[bank].append((condition, hint))
        allowed = [form for form in forms if "bar" not in form.source and
                   (not form.opcode.startswith("shfl") or
                    count == 16 and (form.source[1] == "s" or ".bfly" not in form.opcode))]

        def side(mask):
            self.mask = mask
            for _ in range(2):
                self.instruction(self.numbers.one_of(allowed))
            self.mask = _ALL_LANES
        self.branch(lambda: side((1 << count) - 1), lambda: side(_ALL_LANES ^ (1 << count) - 1), condition)

    def uniform(self, forms):
        """Integers that are equal in all threads, for the uniform datapath."""
        before = self.registers
        self.registers = {bank: [] for bank in before}
        self.registers["r"] = [("u0", "i"), ("u1", "i"), ("u2", "i"), ("u3", "i")]
        condition, bank, hint = self.new("p")
        text = f"setp.{self.numbers.one_of(['lt', 'ge', 'ne'])}.s32 {condition}, {self.pick('r')}, {self.pick('r')}"
        self.emit(text + ";")
        self.store(condition, text)
        self.define(condition, bank, hint)
        for _ in range(4 + self.numbers.below(6)):
            self.instruction(self.numbers.one_of(forms))
        for bank, names in self.registers.items():
            before[bank] += [one for one in names if not one[0].startswith("u")]
        self.registers = before

    def nothing(self):
        """An instruction that no result depends on."""
        self.emit(self.numbers.one_of(["membar.cta;", "membar.gl;", "membar.sys;", "fence.sc.gpu;", "fence.acq_rel.sys;",
                                       "nanosleep.u32 20;", "griddepcontrol.wait;", "griddepcontrol.launch_dependents;"]))

    # ---- a program

    def begin(self):
        for kind, letter in (("i", "r"), ("f", "f"), ("x", "x"), ("y", "y"), ("l", "l"), ("d", "d")):
            first, count = INPUT_PLACES[kind]
            step = 2 if letter in "ld" else 1
            places = list(range(first, first + count, step))
            self.numbers.shuffle(places)
            for word in places[:4 if kind == "i" else 3 if kind == "f" else 2]:
                name, bank, hint = self.new(letter)
                self.emit(f"ld.global.nc.b{32 * step} {name}, [from+{4 * word}];")
                self.slots.append(Slot(f"w{word}:{4 * step}", name, "input"))
                self.define(name, bank, hint)
        for kind, letter in (("i", "h"), ("x", "u"), ("y", "v")):
            word = INPUT_PLACES[kind][0]
            for half in range(2):
                name, bank, hint = self.new(letter)
                self.emit(f"ld.global.b16 {name}, [from+{4 * word + 2 * half}];")
                self.slots.append(Slot(f"w{word}.{half}", name, "input"))
                self.define(name, bank, hint)
        for _ in range(2):
            name, bank, hint = self.new("p")
            text = f"setp.{self.numbers.one_of(['lt', 'ge', 'ne'])}.s32 {name}, {self.pick('r')}, {self.pick('r')}"
            self.emit(text + ";")
            self.store(name, text)
            self.define(name, bank, hint)

    def body_text(self):
        """PTX of the whole program."""
        names = []
        for bank, type_ in (("r", "b32"), ("h", "b16"), ("l", "b64"), ("p", "pred")):
            if self.counts[bank]:
                names.append(f".reg .{type_} {bank}<{self.counts[bank]}>;")
        names.append(".reg .b32 t;")
        if self.shared_bytes:
            names.append(f".shared .align 16 .b8 sh[{self.shared_bytes}];")
            names.append(".reg .b32 own, all, other;")
            names.append(".reg .b64 gen;")
            names.append(".reg .pred first;")
        if self.local_bytes:
            names.append(f".local .align 16 .b8 loc[{self.local_bytes}];")
            names.append(".reg .b32 at, here;")
        return names + [without_notes(line) for line in self.lines]


def without_notes(line):
    """`@p3(r5) add…` names the result if p3 is false: a note for readers, not for ptxas."""
    if line.startswith("@") and "(" in line.split(" ")[0]:
        guard, rest = line.split(" ", 1)
        return f"{guard.split('(')[0]} {rest}"
    return line


class Deck:
    """Deals all forms in shuffled order, repeatedly, so each occurs equally often."""

    def __init__(self, forms, numbers):
        self.forms = forms
        self.numbers = numbers
        self.rest = []

    def deal(self, divergent):
        for _ in range(2):
            for i in range(len(self.rest) - 1, -1, -1):
                if not divergent or self.rest[i].group != "collective":
                    return self.rest.pop(i)
            again = list(self.forms)
            self.numbers.shuffle(again)
            self.rest = again + self.rest
        raise ValueError("no form may stand in a branch")


def make_program(name, seed, deck, threads):
    numbers = Numbers(seed)
    program = Program(name, numbers, threads)
    program.begin()

    collectives = [form for form in deck.forms if form.group == "collective"]
    of_words = [form for form in deck.forms if form.group == "integer" and set("".join([form.to, *form.source])) <= set("rRbetnp|")]

    def straight(count):
        for _ in range(count):
            if numbers.chance(5):
                program.carries()
            elif numbers.chance(1):
                program.nothing()
            else:
                program.instruction(deck.deal(program.is_divergent))

    def part(depth):
        what = numbers.below(100)
        if depth < 2 and what < 14:
            program.branch(lambda: part(depth + 1), lambda: part(depth + 1))
        elif depth < 2 and what < 22:
            program.loop(lambda: part(depth + 1))
        elif depth == 0 and what < 24:
            program.switch(lambda: part(2))
        elif depth == 0 and what < 26:
            program.some_lanes(collectives)
        elif what < 28:
            program.uniform(of_words)
        elif what < 42:
            program.memory_part()
        else:
            straight(2 + numbers.below(5))

    while program.slot_count < 28:
        part(0)
    return program


def make_approximate(name, seed, deck, threads):
    """Functions of inputs only: results with errors are not used as operands."""
    program = Program(name, Numbers(seed), threads)
    program.begin()
    for _ in range(20):
        kept = {bank: list(names) for bank, names in program.registers.items()}
        program.instruction(deck.deal(False))
        program.registers = kept
    return program
