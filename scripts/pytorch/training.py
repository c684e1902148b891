"""Training steps in PyTorch: networks, phases, variants, reference. Also runs on the CPU, for tests."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from pytorch import tolerances, training_work
from pytorch.operations import TRAINING_STEP
from pytorch.protocol import stream_seed
from pytorch.tolerances import Tolerance
from pytorch.training_work import HEAD_DIM

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
BETAS, EPSILON, DECAY = (0.9, 0.999), 1e-8, 0.01  # AdamW: kernels/common/training_update.cuh
GRADIENT_SEED, GRADIENT_RANGE = 15, 1 / 64  # gradients of an update without other phases: kernels/common/training_mlp.cuh
NORM_EPSILON = 1e-5
DRAWS = 16  # runs with random roundings
DEVIATIONS = 8.0  # allowed error of an element, in standard deviations
FUNCTION_ERROR = 4 * 2.0**-24  # exp and tanh in fp32: 2 ulp (CUDA C++ Programming Guide, mathematical functions)
GRAPHS = ("pytorch_graph", "pytorch_compiled_graph")
COMPILED = ("pytorch_compiled", "pytorch_compiled_graph")


# ---- networks, as user code


class Mlp(nn.Module):
    """Layers that compute x + GELU(x·W1 + b1)·W2 + b2."""

    def __init__(self, group, device):
        super().__init__()
        width, hidden = group.value("width"), group.value("hidden")
        self.up = nn.ModuleList(nn.Linear(width, hidden, device=device) for _ in range(group.value("layers")))
        self.down = nn.ModuleList(nn.Linear(hidden, width, device=device) for _ in range(group.value("layers")))

    def forward(self, x):
        for up, down in zip(self.up, self.down):
            x = x + down(F.gelu(up(x), approximate="tanh"))
        return x


class Block(nn.Module):
    """A pre-norm transformer block as in GPT-2: causal attention with a head dimension of 64, and an MLP. Norms are in fp32, as
    under autocast on a GPU."""

    def __init__(self, group, device):
        super().__init__()
        width, hidden = group.value("width"), group.value("hidden")
        self.norm1, self.norm2 = (nn.LayerNorm(width, eps=NORM_EPSILON, device=device) for _ in range(2))
        self.qkv, self.projection = nn.Linear(width, 3 * width, device=device), nn.Linear(width, width, device=device)
        self.up, self.down = nn.Linear(width, hidden, device=device), nn.Linear(hidden, width, device=device)

    def forward(self, x):
        batch, tokens, width = x.shape
        heads = self.qkv(self.norm1(x.float())).view(batch, tokens, 3, width // HEAD_DIM, HEAD_DIM)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = x + self.projection(mixed.transpose(1, 2).reshape(x.shape))
        return y + self.down(F.gelu(self.up(self.norm2(y.float())), approximate="tanh"))


# ---- the networks in fp64, with or without random roundings


class Draw:
    """Adds random errors where PyTorch rounds (Parker, Pierce, Eggert, Monte Carlo Arithmetic, CiSE 2(4), 2000): two roundings to the
    type of activations, because a library may sum parts of a product in it or round before adding a residual, and the error of a
    sum of `terms` products in fp32, proportional to the sum's RMS (kernels/common/gemm.cuh)."""

    def __init__(self, dtype, generator):
        self.dtype, self.generator = dtype, generator
        self.rounding = math.hypot(math.sqrt(2) * tolerances.rounding_rms(dtype), FUNCTION_ERROR / math.sqrt(3))

    def sum_error(self, terms):
        if terms == 0:
            return 0.0
        if self.dtype == "fp32":
            return tolerances.rounding_rms("fp32") * math.sqrt(terms / 2 + 1)
        return tolerances.tensor_core_sum_rms(terms)

    def __call__(self, x, terms):
        def noise():
            return torch.randn(x.shape, dtype=x.dtype, device=x.device, generator=self.generator)

        off = self.rounding * x * noise() + self.sum_error(terms) * x.square().mean().sqrt() * noise()
        return x + (off + 2.0**-25 * noise() if self.dtype == "fp16" else off)


class Stored(torch.autograd.Function):
    """Identity that rounds an array in the forward pass and its gradient in the backward pass. Each element of the array is a sum of
    `forward_terms` products, each element of the gradient a sum of `backward_terms`; None: not rounded."""

    @staticmethod
    def forward(ctx, x, draw, forward_terms, backward_terms):
        ctx.draw, ctx.terms = draw, backward_terms
        return x.clone() if draw is None or forward_terms is None else draw(x, forward_terms)

    @staticmethod
    def backward(ctx, gradient):
        if ctx.draw is None or ctx.terms is None:
            return gradient, None, None, None
        return ctx.draw(gradient, ctx.terms), None, None, None


class Attention(torch.autograd.Function):
    """Causal attention: P and the gradient of scores are rounded before products, and D is computed from the rounded O."""

    @staticmethod
    def forward(ctx, q, k, v, draw):
        def stored(x, terms):
            return x if draw is None else draw(x, terms)

        scores = stored(q @ k.transpose(-2, -1) / math.sqrt(HEAD_DIM), HEAD_DIM)
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        p = torch.softmax(scores.masked_fill(hidden, -math.inf), dim=-1)
        o = stored(stored(p, 0) @ v, q.shape[-2])
        ctx.stored = stored
        ctx.save_for_backward(q, k, v, p, o)
        return o

    @staticmethod
    def backward(ctx, d_o):
        q, k, v, p, o = ctx.saved_tensors
        stored, tokens, scale = ctx.stored, q.shape[-2], 1 / math.sqrt(HEAD_DIM)
        change = stored(d_o @ v.transpose(-2, -1), HEAD_DIM) - (d_o * o).sum(dim=-1, keepdim=True)
        ds = stored(p * change, 0)
        return (stored(ds @ k * scale, tokens), stored(ds.transpose(-2, -1) @ q * scale, tokens),
                stored(stored(p, 0).transpose(-2, -1) @ d_o, tokens), None)  # fmt: skip


class Exact:
    """A forward and backward pass in fp64, with weights rounded to the type of the products."""

    def __init__(self, problem, draw):
        self.problem, self.draw, self.leaves = problem, draw, []
        self.rows = training_work.rows(problem.group)

    def stored(self, x, forward_terms=0, backward_terms=0):
        return Stored.apply(x, self.draw, forward_terms, backward_terms)

    def parameter(self, x, is_in_fp32=False):
        """A parameter under autocast, which rounds weights and biases of products, and their gradients."""
        leaf = (x if is_in_fp32 else x.to(self.problem.dtype)).double().requires_grad_()
        self.leaves.append(leaf)
        return self.stored(leaf, None, self.rows)

    def linear(self, x, module, backward_terms=0):
        w, b = self.parameter(module.weight), self.parameter(module.bias)
        return self.stored(x @ w.T + b, module.in_features, backward_terms)

    def norm(self, x, module):
        gamma, beta = (self.parameter(p, is_in_fp32=True) for p in (module.weight, module.bias))
        normed = F.layer_norm(x, x.shape[-1:], eps=module.eps)
        return self.stored(normed * gamma + beta, x.shape[-1], 0)

    def mlp(self, x, up, down, rest):
        h = self.linear(x, up)
        a = self.stored(F.gelu(h, approximate="tanh"), 0, down.out_features)
        return self.stored(rest + self.linear(a, down), 0, up.out_features)

    def block(self, x, m):
        batch, tokens, width = x.shape
        heads = self.linear(self.stored(self.norm(x, m.norm1), None, 3 * width), m.qkv, tokens)
        q, k, v = heads.view(batch, tokens, 3, width // HEAD_DIM, HEAD_DIM).permute(2, 0, 3, 1, 4)
        mixed = self.stored(Attention.apply(q, k, v, self.draw), None, width)
        y = self.stored(x + self.linear(mixed.transpose(1, 2).reshape(x.shape), m.projection))
        return self.mlp(self.stored(self.norm(y, m.norm2), None, m.up.out_features), m.up, m.down, y)

    def run(self):
        """Result, loss, and gradients of the scaled loss in the order of the network's parameters."""
        problem, network = self.problem, self.problem.first
        x = problem.x.double()
        if isinstance(network, Mlp):
            for up, down in zip(network.up, network.down):
                x = self.mlp(x, up, down, x)
        else:
            x = self.block(x, network)
        loss = (x - problem.target.double()).square().mean()
        of = dict(zip(self.modules_order(), torch.autograd.grad(loss * problem.scale, self.leaves)))
        return x.detach(), loss.detach(), [of[id(p)] for p in network.parameters()]

    def modules_order(self):
        """Parameters in the order in which run() uses them."""
        network = self.problem.first
        if isinstance(network, Mlp):
            modules = [m for pair in zip(network.up, network.down) for m in pair]
        else:
            modules = [network.norm1, network.qkv, network.projection, network.norm2, network.up, network.down]
        return [id(p) for m in modules for p in (m.weight, m.bias)]


# ---- the problem


class Problem:
    """x, the target, and the initial weights and moments; for training_step, the numbers that gpuexp generates from the seed."""

    def __init__(self, group, seed, device, random_elements):
        self.group, self.device, self.seed = group, device, seed
        self.dtype = DTYPES[group.value("dtype")]
        self.phase = group.value("phase")
        self.scale = 2.0 ** training_work.scale_log2(group)
        self.random_elements = lambda of, first, count: random_elements(of, first, count, device)
        rows, width = training_work.rows(group), group.value("width")
        self.shape = (rows, width) if group.family is TRAINING_STEP else (group.value("sequences"), group.value("tokens"), width)
        self.x, self.target = self.made_inputs()
        self.first = (Mlp if group.family is TRAINING_STEP else Block)(group, device)
        self.gradients, self.m, self.v = [], [], []
        with torch.no_grad():
            (self.fill_mlp if group.family is TRAINING_STEP else self.fill_block)()
        torch.backends.cuda.matmul.allow_tf32 = False  # products in fp32, as in gpuexp
        self.reference = None

    def made_inputs(self):
        rows, width = math.prod(self.shape[:-1]), self.shape[-1]
        x = self.random_elements(stream_seed(self.seed, 0), 0, rows * width).to(self.dtype).view(rows, width)
        own, other = x.float(), x.float().roll(-1, dims=1)
        return x.view(self.shape), (own + torch.relu(other - own)).view(self.shape)

    def fill(self, parameter, first, scale, transposed=False, centre=0.0):
        """Fills a parameter, and appends its moments and gradient, with random numbers from index `first`."""
        steps_before, seed = self.group.value("steps_before"), stream_seed(self.seed, 1)
        count = parameter.numel()

        def lies(numbers):
            return numbers.view(parameter.shape[::-1]).t().contiguous() if transposed else numbers.view(parameter.shape)

        parameter.copy_(centre + scale * lies(self.random_elements(seed, first, count)))
        moments = [torch.zeros_like(parameter.detach()) for _ in range(2)]
        if steps_before > 0:
            moments[0].copy_(1e-3 * lies(self.random_elements((seed + 1) % (1 << 64), first, count)))
            moments[1].copy_(1e-6 * (0.5 + 0.5 * (1 + lies(self.random_elements((seed + 2) % (1 << 64), first, count)))))
        self.m.append(moments[0])
        self.v.append(moments[1])
        self.gradients.append(GRADIENT_RANGE * lies(self.random_elements(GRADIENT_SEED, first, count)))

    def fill_mlp(self):
        width, hidden = self.group.value("width"), self.group.value("hidden")
        w1, w2, b1, b2, each = training_work.layout(self.group)
        places = {}
        for layer, (up, down) in enumerate(zip(self.first.up, self.first.down)):
            places[id(up.weight)] = (w1 + layer * each, math.sqrt(3 / width), True)
            places[id(down.weight)] = (w2 + layer * each, math.sqrt(3 / hidden), True)
            places[id(up.bias)] = (b1 + layer * each, 0.1)
            places[id(down.bias)] = (b2 + layer * each, 0.1)
        for parameter in self.first.parameters():
            self.fill(parameter, *places[id(parameter)])

    def fill_block(self):
        first = 0
        for name, parameter in self.first.named_parameters():
            is_gain = name.startswith("norm") and name.endswith("weight")
            self.fill(parameter, first, math.sqrt(3 / parameter.shape[-1]) if parameter.dim() > 1 else 0.1, False, float(is_gain))
            first += training_work.aligned(parameter.numel())

    def poison(self):
        blocks = [torch.full_like(x, math.nan) for x in (*self.first.parameters(), *(4 * [self.x]))]
        del blocks

    def inputs_are_whole(self):
        return all(torch.equal(a, b) for a, b in zip((self.x, self.target), self.made_inputs()))

    @property
    def own_bytes(self):
        """Bytes that exist before a step: weights, moments, inputs."""
        inputs = sum(x.numel() * x.element_size() for x in (self.x, self.target))
        return 12 * sum(p.numel() for p in self.first.parameters()) + inputs

    def launch_of(self, variant):
        return GraphLaunch(self, variant) if variant in GRAPHS else Launch(self, variant)

    # ---- reference

    def passes(self):
        """Result, loss and gradients in fp64. The bound of each is the deviation of runs with random roundings."""
        if self.reference:
            return self.reference
        exact, squares = self.run_of(None), None
        for draw in range(DRAWS):
            generator = torch.Generator(self.device).manual_seed(draw)
            found = self.run_of(Draw(self.group.value("dtype"), generator))
            off = [(a - b).square() / DRAWS for a, b in zip(found, exact)]
            squares = off if squares is None else [a + b for a, b in zip(squares, off)]
        # The loss is a sum of squares in fp32 without cancellation: kernels/common/training_mlp_reference.cuh.
        squares[1] += ((40 + self.x.numel() / 2**18) * 2.0**-24 * exact[1] / DEVIATIONS).square()
        names = ["y", "loss", *(f"gradient of {name}" for name, _ in self.first.named_parameters())]
        self.reference = []
        for name, value, square in zip(names, exact, squares):
            rms = float(square.mean().sqrt())
            bound = Tolerance(DEVIATIONS, 2.0**-148, 0.0, tolerances.RMS_SAFETY * rms)
            self.reference.append((name, value, (square + rms**2).sqrt(), bound))
        return self.reference

    def run_of(self, draw):
        y, loss, gradients = Exact(self, draw).run()
        return [y, loss, *(g / self.scale for g in gradients)]

    def updated(self, gradients):
        """Weights, first and second moments after AdamW with these gradients (Loshchilov and Hutter, 2019, algorithm 2), with bounds.
        Weights are rounded 3 times. Their update has a few roundings, and 1 - 0.999^step in fp32 adds at most 10. PyTorch's kernels
        may use both betas in fp32, with errors within 2^-25; the bounds include the effect on terms with betas and their powers."""
        u, step, rate = 2.0**-24, self.group.value("steps_before") + 1, self.group.value("learning_rate")
        weights, means, squares = [], [], []
        of_powers = [0.5 * step * beta ** (step - 1) / (1 - beta**step) for beta in BETAS]
        for p, g, m, v in zip(self.first.parameters(), gradients, self.m, self.v):
            w, g, m, v = (x.detach().double() for x in (p, g, m, v))
            mean, square = BETAS[0] * m + (1 - BETAS[0]) * g, BETAS[1] * v + (1 - BETAS[1]) * g.square()
            root = (square / (1 - BETAS[1] ** step)).sqrt() + EPSILON
            share = rate / (1 - BETAS[0] ** step) / root
            of_mean = m.abs() + (1 - BETAS[0]) * g.abs()
            moved_mean, moved_square = 0.5 * (m.abs() + g.abs()), 0.5 * (v + g.square())
            moved_root = 0.5 * (moved_square / square.clamp_min(2.0**-126) + of_powers[1])
            moved = moved_mean + of_mean * (of_powers[0] + moved_root)
            weights.append((w * (1 - rate * DECAY) - share * mean, 3 * w.abs() + share * (32 * of_mean + moved)))
            means.append((mean, 6 * of_mean + moved_mean))
            squares.append((square, 6 * square + moved_square))

        def bound(off):
            return Tolerance(u, 2.0**-148, 0.0, u * float(off.square().mean().sqrt()))

        return [(name, value, off, bound(off)) for name, of in (("w", weights), ("m", means), ("v", squares)) for value, off in of]

    def exact(self, results):
        """(name, exact values, magnitude that tolerances scale with, tolerance) of each result. Updates are compared with AdamW of the
        gradients that the launch computed."""
        count = len(self.m)
        if self.phase == "forward":
            return self.passes()[:2]
        if self.phase == "backward":
            return self.passes()[2:]
        if self.phase == "update":
            return self.updated([g / self.scale for g in self.gradients])
        return self.passes()[1:] + self.updated(results[1 : 1 + count])


# ---- variants


class Launch:
    """Launches a phase of a step. prepare() restores the state that a launch changes and runs the earlier phases."""

    def __init__(self, problem, variant):
        self.problem, self.dtype, group = problem, problem.dtype, problem.group
        self.network = type(problem.first)(group, problem.device)
        self.parameters = list(self.network.parameters())
        is_list = variant == "pytorch_foreach"
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=group.value("learning_rate"), betas=BETAS, eps=EPSILON, weight_decay=DECAY,
            foreach=is_list or None, fused=None if is_list else True, capturable=variant in GRAPHS)  # fmt: skip
        is_scaled = group.value("dtype") == "fp16"
        self.scaler = torch.amp.GradScaler(problem.x.device.type, init_scale=problem.scale,
                                           growth_interval=group.value("growth_interval"), enabled=is_scaled)  # fmt: skip
        self.scaler.scale(torch.ones(1, device=problem.device))  # creates the scaler's state
        good_steps = group.value("steps_before") % group.value("growth_interval")
        self.scaler_state = {**self.scaler.state_dict(), "_growth_tracker": good_steps}
        for p, m, v in zip(self.parameters, problem.m, problem.v):
            step = torch.tensor(float(group.value("steps_before")), device="cpu" if is_list else problem.device)
            self.optimizer.state[p] = {"step": step, "exp_avg": m.clone(), "exp_avg_sq": v.clone()}
        self.steps = [s["step"] for s in self.optimizer.state.values()]
        self.function = self.passed
        if variant in COMPILED:
            torch._dynamo.reset()
            self.function = torch.compile(self.passed, dynamic=False, fullgraph=True)
        self.y = self.loss = None

    def passed(self, x, target):
        with torch.autocast(x.device.type, dtype=self.dtype, enabled=self.dtype != torch.float32):
            y = self.network(x)
        return y, F.mse_loss(y.float(), target)

    def restore(self):
        states = self.optimizer.state.values()
        with torch.no_grad():
            torch._foreach_copy_(self.parameters, list(self.problem.first.parameters()))
            torch._foreach_copy_([s["exp_avg"] for s in states], self.problem.m)
            torch._foreach_copy_([s["exp_avg_sq"] for s in states], self.problem.v)
        for step in self.steps:
            step.fill_(float(self.problem.group.value("steps_before")))
        if self.scaler.is_enabled():
            self.scaler.load_state_dict(self.scaler_state)

    def forward(self):
        self.y, self.loss = self.function(self.problem.x, self.problem.target)

    def backward(self):
        self.scaler.scale(self.loss).backward()

    def update(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def step(self):
        self.forward()
        self.backward()
        self.update()

    def prepare(self):
        self.restore()
        self.y = self.loss = None
        self.optimizer.zero_grad(set_to_none=self.problem.phase != "update")
        if self.problem.phase == "backward":
            self.forward()
        elif self.problem.phase == "update":
            for p, g in zip(self.parameters, self.problem.gradients):
                p.grad = g.clone() if p.grad is None else p.grad.copy_(g)

    def __call__(self):
        getattr(self, self.problem.phase)()
        return self.results

    def results(self):
        """Results of the last launch. Gradients of a backward pass are divided by the loss scale, which fused AdamW removes itself."""
        phase, states = self.problem.phase, list(self.optimizer.state.values())
        scale = self.problem.scale if phase == "backward" else 1.0
        weights = [p.detach() for p in self.parameters]
        moments = [s[name] for name in ("exp_avg", "exp_avg_sq") for s in states]
        if phase == "forward":
            return [self.y.detach(), self.loss.detach()]
        if phase == "update":
            return weights + moments
        gradients = [p.grad / scale for p in self.parameters]
        return gradients if phase == "backward" else [self.loss.detach(), *gradients, *weights, *moments]

    def peak_bytes(self):
        """Peak memory of a launch, with the memory allocated before it."""
        self.prepare()
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        self()
        torch.cuda.synchronize()
        return self.problem.own_bytes + torch.cuda.max_memory_allocated() - before


class GraphLaunch(Launch):
    """A whole step as a CUDA graph, captured once. Its arrays keep their memory between launches."""

    def __init__(self, problem, variant):
        super().__init__(problem, variant)
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                super().prepare()
                self.step()
        torch.cuda.current_stream().wait_stream(stream)
        super().prepare()
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph):
            self.step()

    def prepare(self):
        self.restore()
        for x in (self.loss.detach(), *(p.grad for p in self.parameters)):
            x.fill_(math.nan)  # a replay that does nothing must not leave correct results

    def __call__(self):
        self.graph.replay()
        return self.results
