"""Minimum bytes and operations of a training step, and its loss scale. Needs no PyTorch."""

import math

FLOAT = 4
HEAD_DIM = 64
ALIGNMENT = 64  # alignment of parameter tensors, in elements: kernels/common/training_mlp.cuh
FIRST_SCALE_LOG2 = 16
PHASES = ("step", "forward", "backward", "update")


def rows(group):
    """Rows of activations, one per token."""
    return group.value("batch") if group.family.id == "training_step" else group.value("sequences") * group.value("tokens")


def has(group, part):
    return group.value("phase") in ("step", part)


def aligned(elements):
    return math.ceil(elements / ALIGNMENT) * ALIGNMENT


def layout(group):
    """Offsets of W1, W2, b1 and b2 in a layer of training_step, and the size of a layer, in elements: kernels/common/training_mlp.cuh."""
    width, hidden = group.value("width"), group.value("hidden")
    matrix = aligned(width * hidden)
    return 0, matrix, 2 * matrix, 2 * matrix + aligned(hidden), 2 * matrix + aligned(hidden) + aligned(width)


def scale_log2(group):
    """Binary logarithm of the loss scale, limited for small problems."""
    if group.value("dtype") != "fp16":
        return 0
    return min(FIRST_SCALE_LOG2, 8 + math.floor(math.log2(rows(group) * group.value("width"))))


def phases_work(group, size, parameters, forward, backward, kept):
    """Bytes read, bytes written and operations of the phases of a launch, with AdamW of `parameters` elements. A backward pass by
    itself reads the `kept` bytes that the forward pass stored."""
    phase = group.value("phase")
    update = (FLOAT * (3 if phase == "step" else 4) * parameters, (3 * FLOAT + (size if size != FLOAT else 0)) * parameters,
              15 * parameters)  # fmt: skip
    parts = [work for name, work in (("forward", forward), ("backward", backward), ("update", update)) if has(group, name)]
    return tuple(map(sum, zip(*parts, (kept if phase == "backward" else 0, 0, 0))))


def mlp_work(group, size):
    """Bytes read, bytes written and operations: kernels/common/training_mlp.cuh."""
    batch, width, hidden, depth = rows(group), group.value("width"), group.value("hidden"), group.value("layers")
    weights, biases, inner, outer = 2 * depth * width * hidden, depth * (width + hidden), depth * batch * hidden, batch * width
    forward = (size * (outer + weights) + FLOAT * (biases + outer), size * (2 * inner + (depth + 1) * outer),
               4 * depth * batch * width * hidden + 10 * inner)  # fmt: skip
    backward = (0, size * (inner + (depth - 1) * outer) + FLOAT * (weights + biases),
                (8 * depth - 2) * batch * width * hidden + 16 * inner)  # fmt: skip
    return phases_work(group, size, weights + biases, forward, backward, size * (2 * inner + (depth + 1) * outer + weights))


def block_parameters(group):
    """Number of parameters: weights and biases of the products, and the parameters of two norms."""
    width, hidden = group.value("width"), group.value("hidden")
    return 4 * width * width + 2 * width * hidden + 9 * width + hidden


def block_work(group, size):
    """Bytes read, bytes written and operations of a transformer block: kernels/common/training_block_data.cuh. Attention has two
    products in the forward pass and five in the backward pass."""
    count, width, hidden = rows(group), group.value("width"), group.value("hidden")
    outer, inner, matrices, every = count * width, count * hidden, 4 * width * width + 2 * width * hidden, block_parameters(group)
    products = 2 * count * matrices
    scores = 2 * width * group.value("sequences") * group.value("tokens") * (group.value("tokens") + 1) // 2
    kept = size * (9 * outer + 2 * inner) + FLOAT * (4 * count + count * (width // HEAD_DIM))
    forward = (size * (outer + matrices) + FLOAT * outer, kept + size * outer, products + 2 * scores + 10 * inner + 20 * outer)
    backward = (0, size * (inner + 10 * outer) + FLOAT * every, 2 * products + 5 * scores + 16 * inner + 30 * outer)
    return phases_work(group, size, every, forward, backward, kept + size * matrices)


def read_written_operations(group, size):
    return (mlp_work if group.family.id == "training_step" else block_work)(group, size)


def work(group, size):
    """(useful bytes, bytes in whole sectors, arithmetic operations) of a launch."""
    read, written, operations = read_written_operations(group, size)
    return read + written, read + written, operations


def written_bytes(group, size):
    return read_written_operations(group, size)[1]
