"""The operations that PyTorch does as well, in the terms of gpuexp's families: parameters, cells of the configs, bytes. No PyTorch in here; tests/scripts/bench_pytorch_test.py holds it against the program."""

import itertools
import json
import math
from dataclasses import dataclass, fields
from pathlib import Path

from pytorch import training_work
from pytorch.protocol import MeasureSettings

SECTOR_BYTES = 32
SIZES = {"fp32": 4, "bf16": 2, "fp16": 2}
ALPHA = 1.6732631921768188  # of kernels/fusion.cu, as fp32 has it
NORM_EPSILON = 9.999999747378752e-06  # of kernels/common/row_norm.cuh, as fp32 has it
MOST_SUMS_OFFSET = 1.0  # likewise
QUERY_RANGE = 4.0  # of kernels/common/attention_problem.cuh
MODE = "cold"


class UsageError(Exception):
    """What was given cannot be run; the message says what can."""


@dataclass(frozen=True)
class Parameter:
    name: str
    default: object
    unit: str
    doc: str
    choices: tuple = ()  # of texts; else it is a number, whole where the default is
    least: float = 1
    most: float = math.inf


@dataclass(frozen=True)
class Family:
    id: str
    parameters: tuple
    metrics: tuple  # name, unit, doc
    most_elements: int

    def parameter(self, name):
        return next((p for p in self.parameters if p.name == name), None)


FUSION = Family(
    "fusion",
    (
        Parameter("n", 1 << 28, "", "elements of x"),
        Parameter("expression", "sin2_cos2", "",
                  "sin²(x) + cos²(x), five operations; or ELU, x if x > 0, else α·(exp(x) - 1), four",
                  ("sin2_cos2", "elu")),
        Parameter("dtype", "fp32", "", "type of all arrays; arithmetic is in fp32", ("fp32", "bf16")),
        Parameter("chunk_l2_pct", 11.0, "%", "size of a chunk of x in ops_chunks, as a share of L2's size"),
    ),
    (("passes", "", "reads and writes of an array of n elements by the kernels of a launch"),),
    1 << 32,
)  # fmt: skip
TRANSPOSE = Family(
    "transpose",
    (
        Parameter("rows", 16384, "", "rows of the matrix that is read"),
        Parameter("columns", 16384, "", "its columns"),
        Parameter("dtype", "fp32", "", "type of the elements, which are moved and compared bit by bit", ("fp32", "bf16")),
    ),
    (("access_width_bits", "bit", "widest access of a lane to global memory, by the divisibility of both extents"),),
    1 << 32,
)
REDUCTION = Family(
    "reduction",
    (
        Parameter("n", 1 << 28, "", "numbers to sum"),
        Parameter("dtype", "fp32", "", "type of the numbers; sums are in fp32", ("fp32", "bf16")),
        Parameter("numbers", "random", "", "random values in [-1, 1), or whole numbers in [-64, 64], whose sums are exact in any order",
                  ("random", "whole")),
    ),
    (("bytes_in_flight_per_thread", "B", "bytes that a thread requests by loads before it waits"),
     ("kernels", "", "number of kernels per launch")),
    (1 << 31) - 1,
)  # fmt: skip
SOFTMAX = Family(
    "softmax",
    (
        Parameter("rows", 131072, "", "number of rows; each has its own softmax"),
        Parameter("columns", 1024, "", "elements per row"),
        Parameter("dtype", "fp32", "", "type of x and y; arithmetic is in fp32", ("fp32", "bf16")),
        Parameter("scale", 8.0, "", "scores are uniform in [-scale, scale)", least=0),
    ),
    (),
    1 << 32,
)
NORMALIZATION = Family(
    "normalization",
    (
        Parameter("rows", 65536, "", "rows, each normed by itself"),
        Parameter("columns", 1024, "", "elements of a row"),
        Parameter("dtype", "fp32", "", "type of the arrays; arithmetic is in fp32", ("fp32", "bf16")),
        Parameter("norm", "layernorm", "", "which of the two; an RMSNorm has no mean and no β", ("layernorm", "rmsnorm")),
        Parameter("offset", 0.5, "", "x is spread evenly over this ± 1", least=0),
    ),
    (),
    1 << 32,
)


def attention_family(name, heads, tokens, metrics):
    """kernels/common/attention_family.cuh."""
    masks = ("keys that a query attends to: causal, the keys up to its own position, where the last query is at the last key; "
             "full, all keys; window, the causal keys nearest to it")  # fmt: skip
    return Family(
        name,
        (
            Parameter("batch", 1, "", "number of sequences"),
            Parameter("heads", heads, "", "query heads per sequence"),
            Parameter("group", 1, "", "query heads that share one head of keys and values"),
            Parameter("queries", tokens, "", "query sequence length, in tokens"),
            Parameter("keys", tokens, "", "key/value sequence length, in tokens"),
            Parameter("head_dim", 128, "", "elements per head: 64, 96 or 128", least=64, most=128),
            Parameter("dtype", "bf16", "", "type of Q, K, V and O; sums are in fp32", ("bf16", "fp16")),
            Parameter("mask", "causal", "", masks, ("causal", "full", "window")),
            Parameter("window", 1024, "", "keys that a query attends to if mask is window"),
            Parameter("dropout", 0.0, "", "probability that a weight becomes 0", least=0, most=0.9),
        ),
        metrics,
        1 << 34,
    )


ATTENTION = attention_family(
    "attention", 2, 16384, (("peak_bytes", "B", "device memory of operands, results and the workspace of a launch"),)
)
ATTENTION_BACKWARD = attention_family(
    "attention_backward", 4, 8192,
    (("peak_bytes", "B", "device memory: operands, gradients, weights that are kept, and what a launch works in"),),
)  # fmt: skip


def training_family(name, extents):
    """kernels/training_step.cu."""
    return Family(
        name,
        (
            *extents,
            Parameter("dtype", "bf16", "",
                      "of activations and of what products multiply; 16 bits come with fp32 master weights, fp16 with a scale of "
                      "the loss", ("bf16", "fp16", "fp32")),
            Parameter("phase", "step", "", "what of a step is launched; what comes before it is given", training_work.PHASES),
            Parameter("overflow", "no", "", "planted: one gradient is too large for fp16", ("no", "planted")),
            Parameter("steps_before", 100, "", "of training; before the first, moments are zero", least=0, most=1 << 20),
            Parameter("growth_interval", 2000, "", "good steps after which the scale doubles", most=1 << 20),
            Parameter("learning_rate", 1e-3, "", "of AdamW", least=1e-6, most=1.0),
        ),
        (
            ("kernels", "", "that a launch starts"),
            ("peak_bytes", "B",
             "the most that a step needs at a time, each array from when it is written until it is last read; here every array has "
             "a place of its own, so that it can be checked"),
        ),
        1 << 32,
    )  # fmt: skip


TRAINING_STEP = training_family(
    "training_step",
    (
        Parameter("batch", 4096, "", "rows of activations (tokens) per batch", most=1 << 18),
        Parameter("width", 1024, "", "elements per row at a layer's input and output", most=1 << 15),
        Parameter("hidden", 4096, "", "elements per row in the hidden layer, the input of GELU", most=1 << 15),
        Parameter("layers", 4, "", "number of layers of the network", most=8),
    ),
)
TRAINING_BLOCK = training_family(
    "training_block",
    (
        Parameter("sequences", 8, "", "sequences per batch", most=1 << 16),
        Parameter("width", 768, "", "elements per token, a multiple of the head dimension of 64", least=64, most=1 << 15),
        Parameter("tokens", 512, "", "tokens per sequence", most=1 << 16),
        Parameter("hidden", 3072, "", "elements per token in the hidden layer, the input of GELU", most=1 << 15),
    ),
)
OF_ATTENTION = (ATTENTION, ATTENTION_BACKWARD)
OF_TRAINING = (TRAINING_STEP, TRAINING_BLOCK)
FAMILIES = {f.id: f for f in (FUSION, TRANSPOSE, REDUCTION, SOFTMAX, NORMALIZATION, *OF_ATTENTION, *OF_TRAINING)}
LINEAR = (FUSION, REDUCTION)  # of n elements; the others of rows and columns
# What --operation takes: a family, and what it fixes of it.
OPERATIONS = {
    "elu": (FUSION, {"expression": "elu"}),
    "sin2_cos2": (FUSION, {"expression": "sin2_cos2"}),
    "transpose": (TRANSPOSE, {}),
    "sum": (REDUCTION, {}),
    "softmax": (SOFTMAX, {}),
    "layernorm": (NORMALIZATION, {"norm": "layernorm"}),
    "rmsnorm": (NORMALIZATION, {"norm": "rmsnorm"}),
    "attention": (ATTENTION, {}),
    "attention_backward": (ATTENTION_BACKWARD, {}),
    "training_step": (TRAINING_STEP, {}),
    "training_block": (TRAINING_BLOCK, {}),
}
# Parameters that mean nothing to PyTorch: cells in which they are swept would be one measurement several times.
OF_OTHER_VARIANTS = {"fusion": ("chunk_l2_pct",)}


@dataclass(frozen=True)
class VariantInfo:
    id: str
    implementation: str  # as in gpuexp's results: a kernel of ours, or a library
    compare_to: str | None
    families: tuple = tuple(FAMILIES)
    expressions: tuple = ("sin2_cos2", "elu")
    phases: tuple = training_work.PHASES


# In the order in which rows stand. What the first one is, speed-ups refer to.
VARIANTS = (
    VariantInfo("pytorch_eager", "library", None),
    # torch.nn.functional.elu is one kernel. This is what a user's own expression costs.
    VariantInfo("pytorch_eager_ops", "library", "pytorch_eager", ("fusion",), ("elu",)),
    # AdamW over lists of tensors, a kernel for each of its operations; all others have it in one kernel.
    VariantInfo("pytorch_foreach", "library", "pytorch_eager", tuple(f.id for f in OF_TRAINING), phases=("step", "update")),
    # An optimizer is the same kernel in both: compiled are the passes through the network.
    VariantInfo("pytorch_compiled", "library", "pytorch_eager", phases=("step", "forward", "backward")),
    # The whole step as one CUDA graph.
    VariantInfo("pytorch_graph", "library", "pytorch_eager", tuple(f.id for f in OF_TRAINING), phases=("step",)),
    VariantInfo("pytorch_compiled_graph", "library", "pytorch_compiled", tuple(f.id for f in OF_TRAINING), phases=("step",)),
    # A sum in Triton takes two kernels or atomics: what torch.compile makes of it is Triton's as well.
    VariantInfo("triton", "kernel", "pytorch_compiled", ("fusion", "transpose", "softmax", "normalization")),
    # torch.nn.functional.scaled_dot_product_attention by the one of its backends that is named.
    VariantInfo("sdpa_flash", "library", "pytorch_eager", ("attention", "attention_backward")),
    VariantInfo("sdpa_cudnn", "library", "sdpa_flash", ("attention", "attention_backward")),
)
BASELINE = "pytorch_eager"


@dataclass(frozen=True)
class Experiment:
    name: str
    family: Family
    settings: MeasureSettings


@dataclass(frozen=True)
class Group:
    """One problem: its variants are sampled in turn."""

    experiment: Experiment
    values: tuple  # (name, value), in the family's order

    @property
    def family(self):
        return self.experiment.family

    def value(self, name):
        return dict(self.values)[name]

    @property
    def rows(self):
        """Of attention: each has queries of its own."""
        return self.value("batch") * self.value("heads") * self.value("queries")

    @property
    def scores(self):
        """Of attention, whether they are seen or not."""
        return self.rows * self.value("keys")

    @property
    def visible_scores(self):
        """kernels/common/attention_problem.cuh."""
        queries, keys, mask = self.value("queries"), self.value("keys"), self.value("mask")
        if mask == "full":
            return self.scores
        window = min(self.value("window"), keys) if mask == "window" else keys
        ends = (min(keys, max(0, query + 1 + keys - queries)) for query in range(queries))
        return self.value("batch") * self.value("heads") * sum(min(end, window) for end in ends)

    @property
    def key_elements(self):
        key_heads = self.value("heads") // self.value("group")
        return self.value("batch") * key_heads * self.value("keys") * self.value("head_dim")

    @property
    def elements(self):
        if self.family in OF_TRAINING:
            return training_work.rows(self) * self.value("width")
        if self.family in OF_ATTENTION:
            return self.rows * self.value("head_dim")
        return self.value("n") if self.family in LINEAR else self.value("rows") * self.value("columns")

    @property
    def outputs(self):
        return 1 if self.family is REDUCTION else self.elements

    @property
    def output_bytes(self):
        if self.family in OF_TRAINING:
            return training_work.written_bytes(self, SIZES[self.value("dtype")])
        if self.family is ATTENTION:
            return self.array_bytes + self.rows * SIZES["fp32"]
        if self.family is ATTENTION_BACKWARD:
            return self.array_bytes + 2 * self.key_elements * SIZES[self.value("dtype")]
        return SIZES["fp32"] if self.family is REDUCTION else self.array_bytes

    @property
    def is_layernorm(self):
        return self.value("norm") == "layernorm"

    @property
    def array_bytes(self):
        return self.elements * SIZES[self.value("dtype")]

    def key(self, variant):
        """plan: experiment/family/variant/parameters/mode."""
        values = ",".join(f"{name}={text_of(value)}" for name, value in self.values)
        return f"{self.experiment.name}/{self.family.id}/{variant}/{values}/{MODE}"

    def variants(self):
        return [v for v in VARIANTS if self.family.id in v.families
                and (self.family is not FUSION or self.value("expression") in v.expressions)
                and (self.family not in OF_TRAINING or self.value("phase") in v.phases)]  # fmt: skip


def text_of(value):
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# ---- what a launch needs


def sectors(size):
    return math.ceil(size / SECTOR_BYTES) * SECTOR_BYTES


def operations_per_element(group):
    if group.family is FUSION:
        return {"sin2_cos2": 5, "elu": 4}[group.value("expression")]
    if group.family is NORMALIZATION:
        return 8 if group.is_layernorm else 4
    return {"transpose": 0, "reduction": 1, "softmax": 5}[group.family.id]


def attention_work(group):
    """kernels/common/attention_family.cuh and kernels/attention_backward.cu."""
    keys = 2 * group.key_elements * SIZES[group.value("dtype")]
    product = 2 * group.value("head_dim") * group.visible_scores
    if group.family is ATTENTION:
        return group.array_bytes + keys + group.output_bytes, 2 * product
    sums = group.rows * SIZES["fp32"]
    return 3 * group.array_bytes + keys + sums + group.output_bytes, 5 * product


def unsupported_in_training(group, variant):
    if group.value("overflow") == "planted":
        return "what a step does that overflows is shown by the program"
    if group.family is TRAINING_BLOCK and group.value("width") % training_work.HEAD_DIM:
        return "width is no multiple of a head's 64 elements"
    if variant == "pytorch_foreach" and group.value("dtype") == "fp16":
        return "GradScaler waits on the host for the overflow before an AdamW of lists: nothing of it can be enqueued ahead"
    return None


def unsupported(group, variant, memory_bytes):
    """Why PyTorch cannot run it on a GPU with so much memory; None where it can."""
    if group.family in OF_TRAINING:
        return unsupported_in_training(group, variant)
    if group.family not in OF_ATTENTION:
        return None
    if group.value("mask") == "window":
        return "scaled_dot_product_attention has windows by a mask in memory alone"
    if group.value("mask") == "causal" and group.value("queries") != group.value("keys"):
        return "scaled_dot_product_attention lets the first query see the first key, whatever their numbers"
    if group.value("dropout") > 0:
        return "dropout takes other weights in PyTorch"
    # Products, scaled, hidden, P, and what a pass over them leaves; backward their gradients, too.
    arrays = {"attention": 5, "attention_backward": 7}[group.family.id] * SIZES[group.value("dtype")]
    if not variant.startswith("sdpa") and group.scores * arrays > memory_bytes:
        return f"scores of {group.scores * SIZES[group.value('dtype')]} bytes, several times over, are more than there is memory"
    return None


def work(group):
    """useful bytes, bytes in whole sectors, arithmetic operations."""
    if group.family in OF_TRAINING:
        return training_work.work(group, SIZES[group.value("dtype")])
    if group.family in OF_ATTENTION:
        useful, count = attention_work(group)
        return useful, useful, count
    parts = [group.array_bytes, group.output_bytes]
    if group.family is NORMALIZATION:
        parts.append(group.value("columns") * SIZES[group.value("dtype")] * (2 if group.is_layernorm else 1))
    return sum(parts), sum(map(sectors, parts)), operations_per_element(group) * group.elements


def metrics(group, variant):
    """Passes over an array: x once in and y once out, of the kernels that are ours. What PyTorch's kernels read and write, and what
    any of them accesses at a time, nobody here counts."""
    return {"passes": 2.0} if group.family is FUSION and variant == "triton" else {}


# ---- cells


def checked_value(parameter, value, where):
    if parameter.choices:
        if value not in parameter.choices:
            raise UsageError(f"{where}: {parameter.name} is {value!r}; allowed: {', '.join(parameter.choices)}")
        return value
    try:
        number = type(parameter.default)(value)
    except (TypeError, ValueError):
        number = -1
    is_fraction = isinstance(number, int) and float(value) != number
    if isinstance(value, bool) or not parameter.least <= number <= parameter.most or is_fraction:
        upto = f" to {parameter.most}" if parameter.most < math.inf else ""
        kind = f"a {'whole ' if isinstance(parameter.default, int) else ''}number from {parameter.least}{upto}"
        raise UsageError(f"{where}: {parameter.name} is {value!r}; it is {kind}")
    return number


def groups_of(experiment, axes, zipped, where):
    """The problems of an experiment, in the program's order: axes as nested loops, the last one fastest."""
    family = experiment.family
    for name in axes:
        if family.parameter(name) is None:
            known = ", ".join(p.name for p in family.parameters)
            raise UsageError(f"{where}: {family.id} has no parameter '{name}'; it has {known}")
    items = {}
    for name, given in axes.items():
        given = given if isinstance(given, list) else [given]
        if not given or any(isinstance(item, (dict, list)) for item in given):
            raise UsageError(f"{where}: {name}: a value or a list of values; ranges and wave edges are the program's alone")
        items[name] = [checked_value(family.parameter(name), item, where) for item in given]
    together = []  # groups of axes, in the order of their first
    for name in items:
        if any(name in names for names in together):
            continue
        together.append(next((names for names in zipped if name in names), [name]))
    for names in together:
        if len({len(items.get(name, ())) for name in names}) != 1:
            raise UsageError(f"{where}: zip {names}: axes that advance together have equally many values")
    groups = []
    for places in itertools.product(*(range(len(items[names[0]])) for names in together)):
        chosen = {name: items[name][place] for names, place in zip(together, places) for name in names}
        values = tuple((p.name, chosen.get(p.name, p.default)) for p in family.parameters)
        group = Group(experiment, values)
        if any(group.value(name) != family.parameter(name).default for name in OF_OTHER_VARIANTS.get(family.id, ())):
            continue
        if group.elements > family.most_elements:
            raise UsageError(f"{where}: {group.elements} elements; at most {family.most_elements}")
        if group not in groups:
            groups.append(group)
    return groups


def settings_of(measure, overrides, where):
    known = {f.name: f.type for f in fields(MeasureSettings)}
    # What this script does not do: no stretch back to back, before samples or after them.
    ignored = {"sustain_seconds", "burst_check_seconds"}
    given = {**{k: v for k, v in measure.items() if k not in ignored}, **overrides}
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{where}: no measure setting '{name}'; there are {', '.join(known)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise UsageError(f"{where}: {name} is {value!r}; it is a number from 0")
    settings = MeasureSettings(**{k: int(v) if isinstance(getattr(MeasureSettings, k), int) else float(v)
                                  for k, v in given.items()})  # fmt: skip
    if not 1 <= settings.min_samples <= settings.max_samples:
        few, many = settings.min_samples, settings.max_samples
        raise UsageError(f"{where}: min_samples is {few}, max_samples {many}; 1 <= the first <= the second")
    return settings


@dataclass
class Config:
    path: Path
    name: str
    seed: int
    text: str
    groups: list


def read_config(path, axes, overrides):
    """The cells of a config that PyTorch can run: mode cold, families that are here. `axes` replace the config's."""
    try:
        text = path.read_text(encoding="utf-8")
        config = json.loads(text)
        experiments = [(e["name"] if "name" in e else e["family"], e) for e in config["experiments"]]
        families = [e["family"] for _, e in experiments]
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{path}: not a config of gpuexp: {error!r}") from None
    if not set(families) & set(FAMILIES):
        raise UsageError(f"{path}: no experiment of {' or '.join(FAMILIES)}; it has {', '.join(dict.fromkeys(families))}")
    groups = []
    for name, e in experiments:
        if e["family"] not in FAMILIES or MODE not in e.get("modes", [MODE]):
            continue
        where = f"{path}: {name}"
        family = FAMILIES[e["family"]]
        experiment = Experiment(name, family, settings_of(e.get("measure", {}), overrides, where))
        own = {k: v for k, v in axes.items() if family.parameter(k)}
        groups += groups_of(experiment, {**e.get("axes", {}), **own}, e.get("zip", []), where)
    return Config(path, config.get("name", path.stem), config.get("seed", 1), text, groups)
