"""Parts of programs with memory accesses: shared, local and global memory, atomics, matrices. No part has a race."""

_LETTERS = {8: "r", 16: "h", 32: "r", 64: "l"}
BYTES_OF_THREAD = 64  # in global memory, in shared memory and in a local array
BLOCK_THREADS = 64


class MemoryParts:
    """Parts of a Program."""

    def memory_part(self):
        parts = [self.local_array, self.global_bytes, self.global_atomic, self.global_vector, self.reduction]
        if not self.is_divergent:
            parts += [self.own_shared, self.exchanged, self.arrived, self.shared_atomic, self.shared_sum, self.matrices,
                      self.stored_matrices, self.copied, self.generic]
        self.numbers.one_of(parts)()

    def use_shared(self):
        """`own` and `all` are the addresses of the thread's bytes and of a word of the block."""
        if not self.shared_bytes:
            self.shared_bytes = BYTES_OF_THREAD * BLOCK_THREADS + 64
            self.lines[0:0] = ["mov.u32 t, %tid.x;", "mov.u32 all, sh;", f"mad.lo.u32 own, t, {BYTES_OF_THREAD}, all;",
                                 "add.u32 all, all, " + str(BYTES_OF_THREAD * BLOCK_THREADS) + ";"]

    def result(self, letters, opcode, operands):
        """An instruction with one stored result per letter."""
        made = [self.new(letter) for letter in letters]
        names = [name for name, _, _ in made]
        to = names[0] if len(names) == 1 and "matrix" not in opcode else "{" + ", ".join(names) + "}"
        text = f"{opcode} {to}, {operands}"
        self.emit(text + ";")
        for name, bank, hint in made:
            self.store(name, text)
            self.define(name, bank, hint)

    def fill(self, space, base):
        """Fills a thread's bytes by 16-byte stores."""
        for offset in range(0, BYTES_OF_THREAD, 16):
            words = ", ".join(self.pick("r") for _ in range(4))
            self.emit(f"st.{space}.v4.b32 [{base}+{offset}], {{{words}}};")

    def stores_and_loads(self, space, base):
        """Stores of some widths, and loads of others."""
        draw = self.numbers
        for _ in range(2):
            bits, count, offset = self.width()
            values = [self.pick(_LETTERS[bits]) for _ in range(count)]
            text = values[0] if count == 1 else "{" + ", ".join(values) + "}"
            self.emit(f"st{space}{self.vector(count)}.b{bits} [{base}+{offset}], {text};")
        for _ in range(3):
            bits, count, offset = self.width()
            type_ = draw.one_of(["b", "u", "s"])
            self.result(_LETTERS[bits] * count, f"ld{space}{self.vector(count)}.{type_}{bits}", f"[{base}+{offset}]")

    def width(self):
        draw = self.numbers
        bits = draw.one_of([8, 16, 32, 64])
        count = draw.one_of([1, 1, 2] if bits == 64 else [1, 1, 2, 4])
        size = bits // 8 * count
        return bits, count, draw.below(BYTES_OF_THREAD // size) * size

    @staticmethod
    def vector(count):
        return f".v{count}" if count > 1 else ""

    def own_shared(self):
        self.use_shared()
        self.emit("bar.sync 0;")
        self.fill("shared", "own")
        self.stores_and_loads(".shared", "own")

    def exchanged(self):
        """Loads what another thread of the block has stored, after a barrier of all its threads."""
        self.use_shared()
        draw = self.numbers
        bits, count, offset = self.width()
        barrier = draw.one_of(["bar.sync 0;", f"bar.sync 1, {BLOCK_THREADS};", f"barrier.cta.sync 2, {BLOCK_THREADS};"])
        self.emit("bar.sync 0;")
        self.fill("shared", "own")
        self.emit(barrier)
        self.emit(f"mov.u32 t, %tid.x; xor.b32 t, t, {draw.one_of([1, 2, 7, 16, 33, 63])};")
        self.emit(f"mov.u32 other, sh; mad.lo.u32 other, t, {BYTES_OF_THREAD}, other;")
        self.result(_LETTERS[bits] * count, f"ld.shared{self.vector(count)}.b{bits}", f"[other+{offset}]")
        self.emit(barrier)

    def atomic_operation(self, space):
        """Letter, opcode and number of operands of an atomic with a bitwise defined result."""
        draw = self.numbers
        letter, forms = draw.one_of([
            ("r", ["add.u32", "add.s32", "min.s32", "min.u32", "max.s32", "max.u32", "inc.u32", "dec.u32", "and.b32", "or.b32",
                   "xor.b32", "exch.b32", "cas.b32"]),
            ("l", ["add.u64", "min.s64", "min.u64", "max.s64", "max.u64", "and.b64", "or.b64", "xor.b64", "exch.b64", "cas.b64"]),
            ("f", ["add.f32"]), ("d", ["add.f64"]), ("X", ["add.noftz.f16x2"]), ("Y", ["add.noftz.bf16x2"])])
        form = draw.one_of(forms)
        return letter, f"atom{space}.{form}", 2 if form.startswith("cas") else 1

    def own_atomic(self, space, base, offset):
        letter, opcode, count = self.atomic_operation(space)
        size = 8 if letter in "ld" else 4
        at = offset // size * size
        operands = ", ".join(self.operand(letter) for _ in range(count))
        self.result(letter.lower(), opcode, f"[{base}+{at}], {operands}")
        self.result("l" if size == 8 else "r", f"ld{space}.b{8 * size}", f"[{base}+{at}]")

    def shared_atomic(self):
        self.use_shared()
        self.emit("bar.sync 0;")
        self.fill("shared", "own")
        for _ in range(2):
            self.own_atomic(".shared", "own", self.numbers.below(BYTES_OF_THREAD - 8))

    def global_atomic(self):
        self.own_atomic(".global", "mem", self.numbers.below(BYTES_OF_THREAD - 8))

    def global_vector(self):
        """Several consecutive elements, each added separately."""
        letter, form, count = self.numbers.one_of([("f", "f32", 2), ("f", "f32", 4), ("x", "noftz.v2.f16x2", 2),
                                                    ("x", "noftz.v4.f16x2", 4), ("y", "noftz.v2.bf16x2", 2),
                                                    ("y", "noftz.v4.bf16x2", 4)])
        form = form if "v" in form else f"v{count}.{form}"
        at = self.numbers.below(BYTES_OF_THREAD // 16) * 16
        operands = ", ".join(self.pick(letter) for _ in range(count))
        if self.numbers.chance(50):
            self.emit(f"red.global.add.{form} [mem+{at}], {{{operands}}};")
        else:
            self.result(letter * count, f"atom.global.add.{form}", f"[mem+{at}], {{{operands}}}")
        self.result("r" * count, f"ld.global.v{count}.b32", f"[mem+{at}]")

    def reduction(self):
        """An atomic without a result."""
        letter, opcode, count = self.atomic_operation(".global")
        while count == 2 or "exch" in opcode:
            letter, opcode, count = self.atomic_operation(".global")
        size = 8 if letter in "ld" else 4
        at = self.numbers.below((BYTES_OF_THREAD - 8) // size) * size
        self.emit(f"red{opcode[4:]} [mem+{at}], {self.operand(letter)};")
        self.result("l" if size == 8 else "r", f"ld.global.b{8 * size}", f"[mem+{at}]")

    def generic(self):
        """Addresses in shared memory for some lanes, in global memory for others."""
        self.use_shared()
        self.emit("bar.sync 0;")
        self.fill("shared", "own")
        self.emit("cvt.u64.u32 gen, own; cvta.shared.u64 gen, gen;")
        self.emit(f"selp.b64 gen, gen, mem, {self.pick('p')};")
        self.stores_and_loads("", "gen")
        self.own_atomic("", "gen", self.numbers.below(BYTES_OF_THREAD - 8))
        # Without .global, which depends on the driver's window for parameters.
        self.result("p", f"isspacep.{self.numbers.one_of(['shared', 'local'])}", "gen")

    def copied(self):
        """The thread's inputs, copied to its shared memory by cp.async; bytes not read are zero."""
        self.use_shared()
        self.emit("bar.sync 0;")
        self.fill("shared", "own")
        for half in range(2):
            size = self.numbers.one_of([4, 8, 16])
            cache = self.numbers.one_of(["ca", "cg"]) if size == 16 else "ca"
            read = f", {self.numbers.below(size + 1)}" if self.numbers.chance(30) else ""
            to, source = (self.numbers.below(BYTES_OF_THREAD // 2 // size) * size + BYTES_OF_THREAD // 2 * part
                          for part in (half, self.numbers.below(4)))
            self.emit(f"cp.async.{cache}.shared.global [own+{to}], [from+{source}], {size}{read};")
            self.emit("cp.async.commit_group;")
        self.emit(self.numbers.one_of(["cp.async.wait_group 0;", "cp.async.wait_all;"]))
        for offset in range(0, BYTES_OF_THREAD, 16):
            self.result("rrrr", "ld.shared.v4.b32", f"[own+{offset}]")

    def arrived(self):
        """The first warp arrives at a barrier, where the second waits before it loads what the first has stored."""
        self.use_shared()
        self.emit("bar.sync 0;")
        self.fill("shared", "own")
        self.emit("mov.u32 t, %tid.x; setp.lt.u32 first, t, 32; xor.b32 t, t, 32;")
        self.emit(f"mov.u32 other, sh; mad.lo.u32 other, t, {BYTES_OF_THREAD}, other;")
        self.emit(f"@first barrier.cta.arrive 3, {BLOCK_THREADS};")
        self.emit(f"@!first barrier.cta.sync 3, {BLOCK_THREADS};")
        name, bank, hint = self.new("r")
        text = f"ld.shared.b32 {name}, [other+{4 * self.numbers.below(BYTES_OF_THREAD // 4)}]"
        self.emit(f"mov.b32 {name}, {self.pick('r')};")
        self.emit(f"@!first {text};")
        self.emit("bar.sync 0;")
        self.store(name, text)
        self.define(name, bank, hint)

    def shared_sum(self):
        """All threads change one word, with a result that does not depend on the order."""
        self.use_shared()
        draw = self.numbers
        self.emit("bar.sync 0;")
        self.emit("mov.u32 t, %tid.x; setp.eq.u32 first, t, 0;")
        self.emit(f"@first st.shared.b32 [all], {draw.one_of([0, 0xffffffff, 0x7fffffff, 77])};")
        self.emit("bar.sync 0;")
        form = draw.one_of(["add.u32", "min.s32", "min.u32", "max.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "inc.u32",
                            "dec.u32"])
        operand = str(draw.below(50)) if form[:3] in ("inc", "dec") else self.operand("r")
        guard = f"@{self.pick('p')} " if draw.chance(40) else ""
        self.emit(f"{guard}red.shared.{form} [all], {operand};")
        self.emit("bar.sync 0;")
        self.result("r", "ld.shared.b32", "[all]")

    def global_bytes(self):
        self.stores_and_loads(".global", "mem")

    def local_array(self):
        """A local array of the thread, indexed by a computed value."""
        self.local_bytes = BYTES_OF_THREAD
        self.emit("mov.u32 here, loc;")
        for offset in range(0, BYTES_OF_THREAD, 8):
            self.emit(f"st.local.b64 [loc+{offset}], {self.pick('l')};")
        self.emit(f"and.b32 at, {self.pick('r')}, {BYTES_OF_THREAD - 4};")
        self.emit("add.u32 at, at, here;")
        self.emit(f"st.local.b32 [at], {self.pick('r')};")
        self.emit(f"and.b32 at, {self.pick('r')}, {BYTES_OF_THREAD - 8};")
        self.emit("add.u32 at, at, here;")
        bits = self.numbers.one_of([8, 16, 32, 64])
        type_ = self.numbers.one_of(["b", "u", "s"])
        self.result(_LETTERS[bits], f"ld.local.{type_}{bits}", "[at]")
        bits, count, offset = self.width()
        self.result(_LETTERS[bits] * count, f"ld.local{self.vector(count)}.b{bits}", f"[loc+{offset}]")

    # Matrices of 8 rows of 16 bytes; each thread has stored one row and supplies its address.
    def matrices(self):
        self.use_shared()
        self.emit("bar.sync 0;")
        self.fill("shared", "own")
        self.emit("bar.sync 0;")
        count = self.numbers.one_of([1, 2, 4])
        trans = self.numbers.one_of(["", ".trans"])
        self.result("r" * count, f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16",
                    f"[own+{16 * self.numbers.below(4)}]")
        self.emit("bar.sync 0;")

    def stored_matrices(self):
        self.use_shared()
        self.emit("bar.sync 0;")
        self.fill("shared", "own")
        self.emit("bar.sync 0;")
        count = self.numbers.one_of([1, 2, 4])
        trans = self.numbers.one_of(["", ".trans"])
        offset = 16 * self.numbers.below(4)
        values = ", ".join(self.pick("r") for _ in range(count))
        self.emit(f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [own+{offset}], {{{values}}};")
        self.emit("bar.sync 0;")
        self.result("rrrr", "ld.shared.v4.b32", f"[own+{offset}]")
