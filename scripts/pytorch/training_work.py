"""What a step of training needs at least, of a group's parameters: bytes, operations, the scale of the loss. No PyTorch in here."""

import math

FLOAT = 4
HEAD_DIM = 64
ALIGNMENT = 64  # kernels/common/training_mlp.cuh: where a parameter's tensor begins
FIRST_SCALE_LOG2 = 16
PHASES = ("step", "forward", "backward", "update")


def rows(group):
    """Of activations: tokens."""
    return group.value("batch") if group.family.id == "training_step" else group.value("sequences") * group.value("tokens")


def has(group, part):
    return group.value("phase") in ("step", part)


def aligned(elements):
    return math.ceil(elements / ALIGNMENT) * ALIGNMENT


def layout(group):
    """Of training_step: where W1, W2, b1 and b2 of a layer begin, and what a layer takes; kernels/common/training_mlp.cuh."""
    width, hidden = group.value("width"), group.value("hidden")
    matrix = aligned(width * hidden)
    return 0, matrix, 2 * matrix, 2 * matrix + aligned(hidden), 2 * matrix + aligned(hidden) + aligned(width)


def scale_log2(group):
    """Of the loss; as large as small problems allow."""
    if group.value("dtype") != "fp16":
        return 0
    return min(FIRST_SCALE_LOG2, 8 + math.floor(math.log2(rows(group) * group.value("width"))))


def mlp_work(group, size):
    """Bytes read and written, and operations: kernels/common/training_mlp.cuh."""
    batch, width, hidden, depth = rows(group), group.value("width"), group.value("hidden"), group.value("layers")
    weights, biases, inner, outer = 2 * depth * width * hidden, depth * (width + hidden), depth * batch * hidden, batch * width
    read = written = operations = 0
    if has(group, "forward"):
        read += size * (outer + weights) + FLOAT * (biases + outer)
        written += size * (2 * inner + (depth + 1) * outer)
        operations += 4 * depth * batch * width * hidden + 10 * inner
    if has(group, "backward"):
        if group.value("phase") == "backward":
            read += size * (2 * inner + (depth + 1) * outer + weights)
        written += size * (inner + (depth - 1) * outer) + FLOAT * (weights + biases)
        operations += (8 * depth - 2) * batch * width * hidden + 16 * inner
    if has(group, "update"):
        read += FLOAT * (3 if group.value("phase") == "step" else 4) * (weights + biases)
        written += (3 * FLOAT + (size if size != FLOAT else 0)) * (weights + biases)
        operations += 15 * (weights + biases)
    return read, written, operations


def block_parameters(group):
    """Four products' weights with their biases, and two norms."""
    width, hidden = group.value("width"), group.value("hidden")
    return 4 * width * width + 2 * width * hidden + 9 * width + hidden


def block_work(group, size):
    """The same of a transformer's block: kernels/common/training_block_data.cuh. Attention has two products forward and five backward."""
    count, width, hidden = rows(group), group.value("width"), group.value("hidden")
    outer, inner, matrices, every = count * width, count * hidden, 4 * width * width + 2 * width * hidden, block_parameters(group)
    products = 2 * count * matrices
    scores = 2 * width * group.value("sequences") * group.value("tokens") * (group.value("tokens") + 1) // 2
    kept = size * (9 * outer + 2 * inner) + FLOAT * (4 * count + count * (width // HEAD_DIM))
    read = written = operations = 0
    if has(group, "forward"):
        read += size * (outer + matrices) + FLOAT * outer
        written += kept + size * outer
        operations += products + 2 * scores + 10 * inner + 20 * outer
    if has(group, "backward"):
        if group.value("phase") == "backward":
            read += kept + size * matrices
        written += size * (inner + 10 * outer) + FLOAT * every
        operations += 2 * products + 5 * scores + 16 * inner + 30 * outer
    if has(group, "update"):
        read += FLOAT * (3 if group.value("phase") == "step" else 4) * every
        written += (3 * FLOAT + (size if size != FLOAT else 0)) * every
        operations += 15 * every
    return read, written, operations


def read_written_operations(group, size):
    return (mlp_work if group.family.id == "training_step" else block_work)(group, size)


def work(group, size):
    """useful bytes, bytes in whole sectors, arithmetic operations."""
    read, written, operations = read_written_operations(group, size)
    return read + written, read + written, operations


def written_bytes(group, size):
    return read_written_operations(group, size)[1]
