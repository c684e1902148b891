"""Families of gpuexp that have PyTorch variants: parameters, cells of configs, bytes and operations. Needs no PyTorch."""

import itertools
import json
import math
from dataclasses import dataclass, fields
from pathlib import Path

from pytorch import training_work
from pytorch.protocol import MeasureSettings

SECTOR_BYTES = 32
SIZES = {"fp32": 4, "bf16": 2, "fp16": 2}
ALPHA = 1.6732631921768188  # α of kernels/fusion.cu, rounded to fp32
NORM_EPSILON = 9.999999747378752e-06  # ε of kernels/common/row_norm.cuh, rounded to fp32
MAX_SUMS_OFFSET = 1.0  # kernels/common/row_norm.cuh
QUERY_RANGE = 4.0  # kernels/common/attention_problem.cuh
MODE = "cold"


class UsageError(Exception):
    """An error in the command line or a config; the message says what is expected."""


@dataclass(frozen=True)
class Parameter:
    name: str
    default: object
    unit: str
    doc: str
    choices: tuple = ()  # texts; empty for a number, which is an integer if the default is
    least: float = 1
    most: float = math.inf


@dataclass(frozen=True)
class Family:
    id: str
    parameters: tuple
    metrics: tuple  # name, unit, doc
    max_elements: int

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
        Parameter("rows", 16384, "", "rows of the input matrix"),
        Parameter("columns", 16384, "", "columns of the input matrix"),
        Parameter("dtype", "fp32", "", "type of the elements, which are copied and compared as integers of this size", ("fp32", "bf16")),
    ),
    (("access_width_bits", "bit", "widest access of a lane to global memory, by the divisibility of both extents"),),
    1 << 32,
)
REDUCTION = Family(
    "reduction",
    (
        Parameter("n", 1 << 28, "", "number of values to sum"),
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
        Parameter("rows", 65536, "", "number of rows, each normalized separately"),
        Parameter("columns", 1024, "", "elements per row"),
        Parameter("dtype", "fp32", "", "element type of the arrays; arithmetic is in fp32", ("fp32", "bf16")),
        Parameter("norm", "layernorm", "", "normalization; RMSNorm subtracts no mean and has no β", ("layernorm", "rmsnorm")),
        Parameter("offset", 0.5, "", "center of the range of x, which is uniform in offset ± 1", least=0),
    ),
    (),
    1 << 32,
)


def attention_family(name, heads, tokens, metrics):
    """A family declared in kernels/common/attention_family.cuh."""
    masks = ("keys that a query attends to: causal, the keys up to its own position, where the last query is at the last key; "
             "full, all keys; window, the causal keys nearest to it")  # fmt: skip
    return Family(
        name,
        (
            Parameter("batch", 1, "", "number of sequences"),
            Parameter("heads", heads, "", "number of query heads per sequence"),
            Parameter("group", 1, "", "number of query heads that share one head of keys and values"),
            Parameter("queries", tokens, "", "query sequence length, in tokens"),
            Parameter("keys", tokens, "", "key/value sequence length, in tokens"),
            Parameter("head_dim", 128, "", "number of elements per head: 64, 96 or 128", least=64, most=128),
            Parameter("dtype", "bf16", "", "type of Q, K, V and O; sums are in fp32", ("bf16", "fp16")),
            Parameter("mask", "causal", "", masks, ("causal", "full", "window")),
            Parameter("window", 1024, "", "number of keys that a query attends to if mask is window"),
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
    (("peak_bytes", "B", "device memory of operands, gradients, stored weights and workspace"),),
)  # fmt: skip


def training_family(name, extents):
    """A family declared in kernels/common/training_family.cuh."""
    return Family(
        name,
        (
            *extents,
            Parameter("dtype", "bf16", "",
                      "type of activations and of the operands of products; 16-bit types have fp32 master weights, and fp16 also "
                      "has loss scaling", ("bf16", "fp16", "fp32")),
            Parameter("phase", "step", "", "phase that is launched; results of earlier phases are given", training_work.PHASES),
            Parameter("overflow", "no", "", "planted: one gradient exceeds the range of fp16", ("no", "planted")),
            Parameter("steps_before", 100, "", "number of training steps before this step; if 0, moments are zero", least=0, most=1 << 20),
            Parameter("growth_interval", 2000, "", "number of steps without overflow after which the loss scale doubles", most=1 << 20),
            Parameter("learning_rate", 1e-3, "", "AdamW learning rate, 1e-6 to 1", least=1e-6, most=1.0),
        ),
        (
            ("kernels", "", "number of kernels per launch"),
            ("peak_bytes", "B",
             "peak memory of a step in which each array exists from its first write to its last read; here every array has its own "
             "memory, so that it can be checked"),
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
LINEAR = (FUSION, REDUCTION)  # families of n elements instead of rows and columns
# Values of --operation: family, and the parameters that the operation fixes.
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
# Parameters that no PyTorch variant uses; only cells with their defaults are measured.
UNUSED_PARAMETERS = {"fusion": ("chunk_l2_pct",)}


@dataclass(frozen=True)
class VariantInfo:
    id: str
    implementation: str  # "kernel" (own kernel) or "library", as in gpuexp's results
    compare_to: str | None
    families: tuple = tuple(FAMILIES)
    expressions: tuple = ("sin2_cos2", "elu")
    phases: tuple = training_work.PHASES


# Variants in the order of the rows. Speedups refer to the first one.
VARIANTS = (
    VariantInfo("pytorch_eager", "library", None),
    # ELU written by the user with several operations; torch.nn.functional.elu is one kernel.
    VariantInfo("pytorch_eager_ops", "library", "pytorch_eager", ("fusion",), ("elu",)),
    # AdamW over lists of tensors, with one kernel for each of its operations; the other variants use one fused kernel.
    VariantInfo("pytorch_foreach", "library", "pytorch_eager", tuple(f.id for f in OF_TRAINING), phases=("step", "update")),
    # torch.compile changes only the passes through the network, not the optimizer's kernel.
    VariantInfo("pytorch_compiled", "library", "pytorch_eager", phases=("step", "forward", "backward")),
    # The whole step as one CUDA graph.
    VariantInfo("pytorch_graph", "library", "pytorch_eager", tuple(f.id for f in OF_TRAINING), phases=("step",)),
    VariantInfo("pytorch_compiled_graph", "library", "pytorch_compiled", tuple(f.id for f in OF_TRAINING), phases=("step",)),
    # No sum: in Triton it needs two kernels or atomics, and torch.compile already generates Triton for it.
    VariantInfo("triton", "kernel", "pytorch_compiled", ("fusion", "transpose", "softmax", "normalization")),
    # torch.nn.functional.scaled_dot_product_attention with the named backend.
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
    """One problem; its variants are sampled alternately."""

    experiment: Experiment
    values: tuple  # (name, value), in the family's order

    @property
    def family(self):
        return self.experiment.family

    def value(self, name):
        return dict(self.values)[name]

    @property
    def rows(self):
        """Attention: number of queries over all sequences and heads."""
        return self.value("batch") * self.value("heads") * self.value("queries")

    @property
    def scores(self):
        """Attention: number of scores, with masked ones."""
        return self.rows * self.value("keys")

    @property
    def visible_scores(self):
        """Attention: number of scores that the mask leaves (kernels/common/attention_problem.cuh)."""
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
        """Key of the row, as in the plan: experiment/family/variant/parameters/mode."""
        values = ",".join(f"{name}={text_of(value)}" for name, value in self.values)
        return f"{self.experiment.name}/{self.family.id}/{variant}/{values}/{MODE}"

    def variants(self):
        return [v for v in VARIANTS if self.family.id in v.families
                and (self.family is not FUSION or self.value("expression") in v.expressions)
                and (self.family not in OF_TRAINING or self.value("phase") in v.phases)]  # fmt: skip


def text_of(value):
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# ---- bytes and operations


def sectors(size):
    return math.ceil(size / SECTOR_BYTES) * SECTOR_BYTES


def operations_per_element(group):
    if group.family is FUSION:
        return {"sin2_cos2": 5, "elu": 4}[group.value("expression")]
    if group.family is NORMALIZATION:
        return 8 if group.is_layernorm else 4
    return {"transpose": 0, "reduction": 1, "softmax": 5}[group.family.id]


def attention_work(group):
    """Useful bytes and operations (kernels/common/attention_family.cuh, kernels/attention_backward.cu)."""
    keys = 2 * group.key_elements * SIZES[group.value("dtype")]
    product = 2 * group.value("head_dim") * group.visible_scores
    if group.family is ATTENTION:
        return group.array_bytes + keys + group.output_bytes, 2 * product
    sums = group.rows * SIZES["fp32"]
    return 3 * group.array_bytes + keys + sums + group.output_bytes, 5 * product


def unsupported_in_training(group, variant):
    if group.value("overflow") == "planted":
        return "a step that overflows is measured only by gpuexp"
    if group.family is TRAINING_BLOCK and group.value("width") % training_work.HEAD_DIM:
        return "width is not a multiple of the head dimension of 64"
    if variant == "pytorch_foreach" and group.value("dtype") == "fp16":
        return "GradScaler waits on the host for the overflow flag before AdamW over lists: the launch cannot be enqueued in advance"
    return None


def unsupported(group, variant, memory_bytes):
    """Why PyTorch cannot run the variant on a GPU with `memory_bytes` bytes; None if it can."""
    if group.family in OF_TRAINING:
        return unsupported_in_training(group, variant)
    if group.family not in OF_ATTENTION:
        return None
    if group.value("mask") == "window":
        return "scaled_dot_product_attention supports windows only through a mask in memory"
    if group.value("mask") == "causal" and group.value("queries") != group.value("keys"):
        return "scaled_dot_product_attention aligns its causal mask to the first query and the first key"
    if group.value("dropout") > 0:
        return "dropout drops different weights in PyTorch"
    # Arrays of scores: products, scaled, masked, P and temporaries of a pass; in the backward pass also gradients.
    arrays = {"attention": 5, "attention_backward": 7}[group.family.id] * SIZES[group.value("dtype")]
    if not variant.startswith("sdpa") and group.scores * arrays > memory_bytes:
        return f"scores of {group.scores * SIZES[group.value('dtype')]} bytes in several arrays exceed the device memory"
    return None


def work(group):
    """(useful bytes, bytes in whole sectors, arithmetic operations) of a launch."""
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
    """Metrics of a launch: passes over an array (read x, write y) for own kernels. Passes and access widths of PyTorch's kernels
    are not known."""
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
        raise UsageError(f"{where}: {parameter.name} is {value!r}; expected {kind}")
    return number


def groups_of(experiment, axes, zipped, where):
    """The problems of an experiment in gpuexp's order: axes are nested loops, the last one fastest."""
    family = experiment.family
    for name in axes:
        if family.parameter(name) is None:
            known = ", ".join(p.name for p in family.parameters)
            raise UsageError(f"{where}: {family.id} has no parameter '{name}'; expected one of: {known}")
    items = {}
    for name, given in axes.items():
        given = given if isinstance(given, list) else [given]
        if not given or any(isinstance(item, (dict, list)) for item in given):
            raise UsageError(f"{where}: {name}: expected a value or a list of values; only gpuexp supports ranges and wave edges")
        items[name] = [checked_value(family.parameter(name), item, where) for item in given]
    together = []  # groups of zipped axes, in the order of their first axis
    for name in items:
        if any(name in names for names in together):
            continue
        together.append(next((names for names in zipped if name in names), [name]))
    for names in together:
        if len({len(items.get(name, ())) for name in names}) != 1:
            raise UsageError(f"{where}: zip {names}: zipped axes need equally many values")
    groups = []
    for places in itertools.product(*(range(len(items[names[0]])) for names in together)):
        chosen = {name: items[name][place] for names, place in zip(together, places) for name in names}
        values = tuple((p.name, chosen.get(p.name, p.default)) for p in family.parameters)
        group = Group(experiment, values)
        if any(group.value(name) != family.parameter(name).default for name in UNUSED_PARAMETERS.get(family.id, ())):
            continue
        if group.elements > family.max_elements:
            raise UsageError(f"{where}: {group.elements} elements; the maximum is {family.max_elements}")
        if group not in groups:
            groups.append(group)
    return groups


def settings_of(measure, overrides, where):
    known = {f.name: f.type for f in fields(MeasureSettings)}
    # Settings of launches back to back before or after the samples, which this script does not perform.
    ignored = {"sustain_seconds", "burst_check_seconds"}
    given = {**{k: v for k, v in measure.items() if k not in ignored}, **overrides}
    for name, value in given.items():
        if name not in known:
            raise UsageError(f"{where}: no measure setting '{name}'; expected one of: {', '.join(known)}")
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0:
            raise UsageError(f"{where}: {name} is {value!r}; expected a number of at least 0")
    settings = MeasureSettings(**{k: int(v) if isinstance(getattr(MeasureSettings, k), int) else float(v)
                                  for k, v in given.items()})  # fmt: skip
    if not 1 <= settings.min_samples <= settings.max_samples:
        few, many = settings.min_samples, settings.max_samples
        raise UsageError(f"{where}: min_samples {few}, max_samples {many}; expected 1 <= min_samples <= max_samples")
    return settings


@dataclass
class Config:
    path: Path
    name: str
    seed: int
    text: str
    groups: list


def read_config(path, axes, overrides):
    """The cells of a config that PyTorch can run: mode cold, families of this module. `axes` replace the config's axes."""
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
        raise UsageError(f"{path}: no experiment of {' or '.join(FAMILIES)}; found {', '.join(dict.fromkeys(families))}")
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
