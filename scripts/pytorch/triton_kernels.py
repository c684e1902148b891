"""The operations as Triton kernels, and a store of their launches: PTX, launch shape, arguments."""

import hashlib
import re
from dataclasses import dataclass

import triton
import triton.language as tl

from pytorch import operations

BLOCK = 1024  # elements per program of an element-wise kernel
WARPS = 4
TILE = 64  # maximum elements along either side of a program's tile
TILE_WARPS = 8
ALIGNMENT = 16  # Triton compiles a separate version for pointers and integers that are multiples of this


# ---- kernels


@triton.jit
def sin2_cos2_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n).to(tl.float32)
    s = tl.sin(v)
    c = tl.cos(v)
    tl.store(y + i, (s * s + c * c).to(y.dtype.element_ty), mask=i < n)


@triton.jit
def elu_kernel(x, y, n, ALPHA: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n).to(tl.float32)
    r = tl.where(v > 0, v, ALPHA * (tl.exp(v) - 1.0))
    tl.store(y + i, r.to(y.dtype.element_ty), mask=i < n)


# Consecutive programs write neighbouring tiles in a row of y, like the blocks of `output_order`. Triton transposes the tile through
# shared memory in a layout of its choice.
@triton.jit
def transpose_kernel(x, y, rows, columns, TILE_ROWS: tl.constexpr, TILE_COLUMNS: tl.constexpr):
    down = tl.cdiv(rows, TILE_ROWS)
    tile = tl.program_id(0)
    row = (tile % down).to(tl.int64) * TILE_ROWS + tl.arange(0, TILE_ROWS)
    column = (tile // down).to(tl.int64) * TILE_COLUMNS + tl.arange(0, TILE_COLUMNS)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    values = tl.load(x + row[:, None] * columns + column[None, :], mask=inside)
    transposed = (column[:, None] < columns) & (row[None, :] < rows)
    tl.store(y + column[:, None] * rows + row[None, :], tl.trans(values), mask=transposed)


# Each program processes a row, in one tensor whose length is a power of two.
@triton.jit
def softmax_kernel(x, y, columns, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * columns
    i = tl.arange(0, BLOCK)
    v = tl.load(x + first + i, mask=i < columns, other=-float("inf")).to(tl.float32)
    power = tl.exp(v - tl.max(v, axis=0))
    tl.store(y + first + i, (power / tl.sum(power, axis=0)).to(y.dtype.element_ty), mask=i < columns)


@triton.jit
def norm_kernel(x, y, gamma, beta, columns, EPSILON: tl.constexpr, CENTERED: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * columns
    i = tl.arange(0, BLOCK)
    inside = i < columns
    v = tl.load(x + first + i, mask=inside, other=0.0).to(tl.float32)
    if CENTERED:
        v = tl.where(inside, v - tl.sum(v, axis=0) / columns, 0.0)
    rstd = 1.0 / tl.sqrt(tl.sum(v * v, axis=0) / columns + EPSILON)
    r = v * rstd * tl.load(gamma + i, mask=inside, other=0.0).to(tl.float32)
    if CENTERED:
        r += tl.load(beta + i, mask=inside, other=0.0).to(tl.float32)
    tl.store(y + first + i, r.to(y.dtype.element_ty), mask=inside)


# ---- launches


@dataclass
class Argument:
    """An argument of a kernel: a pointer with the size of its array, or a number with its value."""

    name: str
    type: str  # Triton type: *fp32, i32
    bytes: int | None = None
    value: int | None = None


@dataclass
class Launch:
    kernel: object
    programs: int
    warps: int
    arguments: list
    constants: dict

    def run(self, *pointers):
        numbers = [a.value for a in self.arguments if a.value is not None]
        return self.kernel[(self.programs, 1, 1)](*pointers, *numbers, **self.constants, num_warps=self.warps)

    def compiled_for(self, compute_capability):
        """Compiles the kernel without a GPU, as a launch would."""
        from triton.backends.compiler import GPUTarget
        from triton.compiler import ASTSource

        names = self.kernel.arg_names
        signature = {a.name: a.type for a in self.arguments} | dict.fromkeys(self.constants, "constexpr")
        for a in self.arguments:
            if a.value == 1:
                signature[a.name] = "constexpr"
        constants = {(names.index(k),): v for k, v in self.constants.items()}
        constants |= {(names.index(a.name),): 1 for a in self.arguments if a.value == 1}
        divisible = [a for a in self.arguments if a.value is None or a.value % ALIGNMENT == 0]
        attributes = {(names.index(a.name),): [["tt.divisibility", ALIGNMENT]] for a in divisible}
        source = ASTSource(self.kernel, signature=signature, constexprs=constants, attrs=attributes)
        target = GPUTarget("cuda", compute_capability, 32)
        return triton.compile(source, target=target, options={"num_warps": self.warps})


def whole(name, value):
    return Argument(name, "i32" if value < 2**31 else "i64", value=value)


def launch_of(group):
    """The launch for a group's problem."""
    pointers = [Argument(name, "*" + group.value("dtype"), bytes=group.array_bytes) for name in ("x", "y")]
    if group.family is operations.FUSION:
        programs = triton.cdiv(group.elements, BLOCK)
        arguments = [*pointers, whole("n", group.elements)]
        if group.value("expression") == "elu":
            return Launch(elu_kernel, programs, WARPS, arguments, {"ALPHA": operations.ALPHA, "BLOCK": BLOCK})
        return Launch(sin2_cos2_kernel, programs, WARPS, arguments, {"BLOCK": BLOCK})
    rows, columns = group.value("rows"), group.value("columns")
    if group.family is not operations.TRANSPOSE:
        return launch_of_rows(group, pointers, rows, columns)
    high, wide = (min(TILE, max(16, triton.next_power_of_2(extent))) for extent in (rows, columns))
    programs = triton.cdiv(rows, high) * triton.cdiv(columns, wide)
    arguments = [*pointers, whole("rows", rows), whole("columns", columns)]
    return Launch(transpose_kernel, programs, TILE_WARPS, arguments, {"TILE_ROWS": high, "TILE_COLUMNS": wide})


def launch_of_rows(group, pointers, rows, columns):
    block = max(16, triton.next_power_of_2(columns))
    warps = min(32, max(1, block // (32 * 32)))  # 32 elements per lane, limited to 32 warps
    if group.family is operations.SOFTMAX:
        return Launch(softmax_kernel, rows, warps, [*pointers, whole("columns", columns)], {"BLOCK": block})
    weights = [Argument(name, "*" + group.value("dtype"), bytes=columns * operations.SIZES[group.value("dtype")])
               for name in ("gamma", "beta")]  # fmt: skip
    constants = {"EPSILON": operations.NORM_EPSILON, "CENTERED": group.is_layernorm, "BLOCK": block}
    return Launch(norm_kernel, rows, warps, [*pointers, *weights, whole("columns", columns)], constants)


# ---- stored launches


def ptx_parameters(ptx):
    """Number of parameters of the PTX entry."""
    entry = ptx.index(".entry")
    return ptx[entry : ptx.index("{", entry)].count(".param ")


class Kept:
    """Launches and their PTX; identical PTX is stored once."""

    def __init__(self):
        self.modules, self.launches = {}, []

    def add(self, key, launch, compiled):
        ptx = compiled.asm["ptx"]
        name = hashlib.sha256(ptx.encode()).hexdigest()[:12]
        metadata = compiled.metadata
        if getattr(metadata, "global_scratch_size", 0) or getattr(metadata, "profile_scratch_size", 0):
            raise ValueError(f"{metadata.name} uses scratch memory, which is not supported")
        types = dict(compiled.src.signature)
        arguments = [a for a in launch.arguments if types[a.name] != "constexpr"]
        self.modules[name] = {"target": re.search(r"^\.target (\w+)", ptx, re.MULTILINE)[1], "ptx": ptx}
        self.launches.append({
            "key": key, "module": name, "kernel": metadata.name, "grid": [launch.programs, 1, 1],
            "block_threads": 32 * metadata.num_warps, "shared_bytes": metadata.shared,
            "constants": launch.constants,
            "arguments": [{"name": a.name, "type": types[a.name],
                           **({"bytes": a.bytes} if a.value is None else {"value": a.value})} for a in arguments],
            # Triton appends pointers to scratch memory to the kernel's parameters; they are null here.
            "null_pointers": ptx_parameters(ptx) - len(arguments),
        })  # fmt: skip
        return self.launches[-1]

    def json(self):
        return {"schema_version": 1, "triton": triton.__version__, "modules": self.modules, "launches": self.launches}
