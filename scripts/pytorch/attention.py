"""Attention in PyTorch, forward and backward: inputs, variants, reference, verification."""

import math

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from pytorch import operations, tolerances
from pytorch.operations import ATTENTION
from pytorch.protocol import stream_seed

BACKENDS = {"sdpa_flash": SDPBackend.FLASH_ATTENTION, "sdpa_cudnn": SDPBackend.CUDNN_ATTENTION}
GRADIENT_STREAM = 4  # random stream of dO: kernels/attention_backward.cu
CHUNK = 1 << 24  # elements generated at a time
MOST_SCORES = 1 << 26  # scores of a reference in memory at a time, in a few arrays of 8 bytes each


def attend(q, k, v, is_causal, is_grouped):
    """Attention as user code, operation by operation."""
    if is_grouped:
        k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], dim=1) for x in (k, v))
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    if is_causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hidden, -math.inf)
    return torch.softmax(scores, dim=-1) @ v


class Problem:
    """Q, K, V and, for a backward pass, dO: the numbers that gpuexp generates from the same seed."""

    def __init__(self, group, seed, device, random_elements):
        self.group = group
        queries = (group.value("batch"), group.value("heads"), group.value("queries"), group.value("head_dim"))
        keys = (queries[0], queries[1] // group.value("group"), group.value("keys"), queries[3])
        self.made = [(queries, stream_seed(seed, 0), operations.QUERY_RANGE), (keys, stream_seed(seed, 1), 1.0),
                     (keys, stream_seed(seed, 2), 1.0)]  # fmt: skip
        if group.family is not ATTENTION:
            self.made.append((queries, stream_seed(seed, GRADIENT_STREAM), 1.0))
        self.random_elements = lambda of, first, count: random_elements(of[1], first, count, device) * of[2]
        self.dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[group.value("dtype")]
        self.inputs = [torch.empty(of[0], dtype=self.dtype, device=device) for of in self.made]
        self.each_chunk(lambda x, numbers: x.copy_(numbers))
        self.exact_outputs = {}  # by stores_scores(), on which the tolerances depend

    def each_chunk(self, use):
        for of, x in zip(self.made, self.inputs):
            for first in range(0, x.numel(), CHUNK):
                part = x.view(-1)[first : first + CHUNK]
                use(part, self.random_elements(of, first, part.numel()).to(self.dtype))

    def poison(self):
        blocks = [torch.full_like(self.inputs[0], math.nan) for _ in range(2)]
        del blocks

    def inputs_are_whole(self):
        found = []
        self.each_chunk(lambda x, numbers: found.append(torch.equal(x, numbers)))
        return all(found)

    def forward_of(self, variant):
        is_causal = self.group.value("mask") == "causal"
        is_grouped = self.group.value("group") > 1
        if variant not in BACKENDS:
            def forward(q, k, v):
                return attend(q, k, v, is_causal, is_grouped)

            if variant == "pytorch_compiled":
                torch._dynamo.reset()
                return torch.compile(forward, dynamic=False, fullgraph=True)
            return forward

        def library(q, k, v):
            with sdpa_kernel(BACKENDS[variant]):
                return F.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=is_grouped)

        return library

    def launch_of(self, variant):
        """A function that launches the variant and returns its outputs. The forward pass of a backward problem runs here."""
        forward = self.forward_of(variant)
        if self.group.family is ATTENTION:
            def launch():
                with torch.no_grad():
                    return (forward(*self.inputs),)

            return launch
        q, k, v = (x.detach().requires_grad_() for x in self.inputs[:3])
        o = forward(q, k, v)

        def launch_backward():
            return torch.autograd.grad(o, (q, k, v), self.inputs[3], retain_graph=True)

        return launch_backward

    # ---- reference

    def exact(self, variant):
        """(name, exact values, magnitude that relative tolerances scale with, tolerance) of each output."""
        kind = tolerances.stores_scores(variant)
        if kind not in self.exact_outputs:
            self.exact_outputs = {}  # keeps the outputs of one variant kind: references are four times as large as the outputs
            self.exact_outputs[kind] = self.exact_forward(variant) if self.group.family is ATTENTION else self.exact_backward(variant)
        return self.exact_outputs[kind]

    def parts(self):
        """Parts of the reference: sequence, query head, key head, first query and end, end of the keys that these queries attend to."""
        batch, heads, queries, _ = self.inputs[0].shape
        keys = self.group.value("keys")
        step = max(1, MOST_SCORES // keys)
        for b in range(batch):
            for h in range(heads):
                for first in range(0, queries, step):
                    end = min(first + step, queries)
                    yield b, h, h // self.group.value("group"), first, end, end if self.group.value("mask") == "causal" else keys

    def weights(self, q, k, first):
        """Scores and P (softmax of the scores) of the queries q; the first query has index `first`."""
        scores = q @ k.T / math.sqrt(q.shape[-1])
        seen = scores
        if self.group.value("mask") == "causal":
            query = torch.arange(first, first + len(q), device=q.device)[:, None]
            seen = scores.masked_fill(torch.arange(len(k), device=q.device)[None, :] > query, -math.inf)
        return scores, torch.softmax(seen, dim=-1)

    def exact_forward(self, variant):
        bound = tolerances.attention_bound(self.group, variant, self.group.value("keys"))
        value = torch.zeros(self.inputs[0].shape, dtype=torch.float64, device=self.inputs[0].device)
        magnitude = torch.zeros_like(value)
        for b, h, of_key, first, end, seen in self.parts():
            q = self.inputs[0][b, h, first:end].double()
            k, v = (x[b, of_key, :seen].double() for x in self.inputs[1:3])
            scores, p = self.weights(q, k, first)
            value[b, h, first:end] = o = p @ v
            squares = p.square()
            error = bound.rounding * o.abs() + bound.of_terms * (squares @ v.square()).sqrt() + bound.of_all * (p @ v.abs())
            if bound.of_scores:
                error += bound.of_scores * ((squares * scores.square()) @ v.square()).sqrt()
            magnitude[b, h, first:end] = error / bound.rounding
        return [("O", value, magnitude, tolerances.attention_tolerance(self.group, variant))]

    def exact_backward(self, variant):
        names = ("q", "k", "v")
        bounds = {of: tolerances.attention_bound(self.group, variant, tolerances.gradient_terms(self.group, of)) for of in names}
        shapes = dict(zip(names, (x.shape for x in self.inputs)))
        sums = {of: [torch.zeros(shapes[of], dtype=torch.float64, device=self.inputs[0].device) for _ in range(4)] for of in names}
        for part in self.parts():
            self.add_gradients(part, bounds["q"], sums)
        found = []
        for of, (value, squares, errors, stored) in sums.items():
            error = bounds[of].of_terms * squares.sqrt() + errors + stored.sqrt()
            magnitude = value.abs() + error / bounds[of].rounding
            found.append((f"d{of.upper()}", value, magnitude, tolerances.gradient_tolerance(self.group, variant, of)))
        return found

    def add_gradients(self, part, bound, sums):
        """Adds one part to `sums`, which holds for each gradient: values, squares of terms, errors, and squared errors of
        rounded operands (kernels/common/attention_gradient_reference.cuh)."""
        b, h, of_key, first, end, seen = part
        q, d_o = (self.inputs[i][b, h, first:end].double() for i in (0, 3))
        k, v = (x[b, of_key, :seen].double() for x in self.inputs[1:3])
        scores, p = self.weights(q, k, first)
        o = p @ v
        delta, absolute = (d_o * o).sum(dim=1, keepdim=True), (d_o * o).abs().sum(dim=1, keepdim=True)
        product = d_o @ v.T
        change = product - delta
        ds = p * change
        off = p * (bound.of_all * change.abs() + bound.of_product * (d_o.square() @ v.square().T).sqrt() + bound.of_delta * absolute)
        rounded = bound.of_stored**2 * p.square() * (product.square() + change.square()) + (bound.of_scores * ds * scores).square()
        scale = 1 / math.sqrt(q.shape[-1])

        def add(of, place, factors, error, stored, other):
            value, squares, errors, squared = (x[place] for x in sums[of])
            value += factors @ other
            squares += factors.square() @ other.square()
            errors += error @ other.abs()
            squared += stored @ other.square()

        add("q", (b, h, slice(first, end)), ds, off, rounded, k * scale)
        add("k", (b, of_key, slice(0, seen)), ds.T, off.T, rounded.T, q * scale)
        of_p = (bound.of_scores * p * scores).square().T
        add("v", (b, of_key, slice(0, seen)), p.T, bound.of_all * p.T, of_p, d_o)
