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


def layers(group):
    return group.value("layers") if group.family.parameter("layers") else 1


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
    batch, width, hidden, depth = rows(group), group.value("width"), group.value("hidden"), layers(group)
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
    return layers(group) * (4 * width * width + 2 * width * hidden + 4 * width + hidden + width + 4 * width)


def block_operations(group):
    """Of products alone, attention's among them: two forward, and five backward, as attention_backward counts them."""
    count, width = rows(group), group.value("width")
    seen = group.value("sequences") * group.value("tokens") * (group.value("tokens") + 1) // 2
    products = layers(group) * 2 * count * width * (4 * width + 2 * group.value("hidden"))
    attention = layers(group) * 2 * width * seen
    forward = products + 2 * attention if has(group, "forward") else 0
    backward = 2 * products + 5 * attention if has(group, "backward") else 0
    return forward + backward + (15 * block_parameters(group) if has(group, "update") else 0)


def work(group, size):
    """useful bytes, bytes in whole sectors, arithmetic operations. Of a block nobody has said what bytes it needs at least."""
    if group.family.id == "training_step":
        read, written, operations = mlp_work(group, size)
        return read + written, read + written, operations
    return None, None, block_operations(group)


def written_bytes(group, size):
    """What a launch leaves behind at least: results and gradients."""
    if group.family.id == "training_step":
        return mlp_work(group, size)[1]
    of_weights = {"forward": 0, "backward": 1, "update": 3, "step": 4}[group.value("phase")]
    return of_weights * FLOAT * block_parameters(group) + size * rows(group) * group.value("width")
