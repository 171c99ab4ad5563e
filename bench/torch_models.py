"""Whole models and formulas through `torch.compile(backend="zerostride")` beside eager PyTorch and other backends.

    python bench/torch_models.py check [NAME ...]     outputs, gradients and 20 steps of training against eager PyTorch
    python bench/torch_models.py time [NAME ...]      ms of a step, seconds to the first, MiB that one adds, as Markdown
    python bench/torch_models.py steps [NAME ...]     ratios of steps that take turns in one process, for a machine with other work
    python bench/torch_models.py partitions [NAME ...]    us of partitions inside of steps beside PyTorch's operations for them
    python bench/torch_models.py operations [NAME ...]    ns an element of single operations and a byte (NAME memory), which `_cost.py` was made from
    python bench/torch_models.py calls                us of a fused call on small tensors beside NumPy's arrays

Models have random weights and small configurations; nothing is downloaded. `time` runs each model and backend in a process
of its own. Needs torch, torchvision, timm and transformers.
"""

import argparse
import copy
import ctypes
import gc
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time
import warnings

import torch

BACKENDS = ("eager", "aot_eager", "inductor", "zerostride")


def _vision(name, **options):
    import torchvision

    return getattr(torchvision.models, name)(weights=None, num_classes=10, **options), (torch.randn(8, 3, 64, 64),)


def _vit():
    from torchvision.models import VisionTransformer

    return VisionTransformer(64, 16, 4, 4, 128, 256, num_classes=10), (torch.randn(8, 3, 64, 64),)


def _swin():
    from torchvision.models import SwinTransformer

    return SwinTransformer([4, 4], 48, [2, 2], [2, 4], [4, 4], num_classes=10), (torch.randn(8, 3, 64, 64),)


def _mixer():
    from timm.models.mlp_mixer import MlpMixer

    return MlpMixer(num_classes=10, img_size=64, patch_size=8, num_blocks=4, embed_dim=128), (torch.randn(8, 3, 64, 64),)


def _convnext():
    from timm.models.convnext import ConvNeXt

    return ConvNeXt(num_classes=10, depths=(1, 1, 2, 1), dims=(16, 32, 64, 128)), (torch.randn(8, 3, 64, 64),)


class _First(torch.nn.Module):
    """A model of transformers as a function of token ids alone."""

    def __init__(self, name, config, **options):
        super().__init__()
        import transformers

        transformers.logging.set_verbosity_error()
        self.model = getattr(transformers, name)(getattr(transformers, config)(vocab_size=100, **options))
        self.options = {} if config in ("BertConfig", "T5Config") else {"use_cache": False}

    def forward(self, ids):
        return self.model(ids, **self.options)[0]


def _language(*given, **options):
    return _First(*given, **options), (torch.randint(0, 100, (8, 64)),)


class PairGraph(torch.nn.Module):
    """A graph network whose edges are weights of pairwise distances."""

    def __init__(self, width=32):
        super().__init__()
        self.embed, self.mix, self.out = torch.nn.Linear(3, width), torch.nn.Linear(width, width), torch.nn.Linear(width, 1)
        self.norm = torch.nn.LayerNorm(width)

    def forward(self, points):
        distances = ((points[:, :, None] - points[:, None]) ** 2).sum(-1)
        edges, nodes = torch.softmax(-distances, -1), self.embed(points)
        for _ in range(2):
            nodes = self.norm(nodes + torch.nn.functional.silu(self.mix(edges @ nodes)))
        return self.out(nodes).squeeze(-1)


class DiffusionUNet(torch.nn.Module):
    """A U-Net that is told the time, with group normalisation."""

    def __init__(self, width=32):
        super().__init__()
        nn = torch.nn
        self.time, self.first, self.norm1 = nn.Linear(1, width), nn.Conv2d(3, width, 3, padding=1), nn.GroupNorm(4, width)
        self.down, self.norm2 = nn.Conv2d(width, 2 * width, 3, 2, 1), nn.GroupNorm(4, 2 * width)
        self.middle, self.up = nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.last = nn.Conv2d(2 * width, 3, 3, padding=1)

    def forward(self, image, when):
        silu, gelu = torch.nn.functional.silu, torch.nn.functional.gelu
        first = silu(self.norm1(self.first(image)) + silu(self.time(when))[:, :, None, None])
        low = silu(self.norm2(self.down(first)))
        return self.last(torch.cat([self.up(low + gelu(self.middle(low))), first], 1))


MODELS = {
    "resnet18": lambda: _vision("resnet18"),
    "mobilenet_v3": lambda: _vision("mobilenet_v3_small"),
    "vit": _vit,
    "swin": _swin,
    "mixer": _mixer,
    "convnext": _convnext,
    "bert": lambda: _language("BertModel", "BertConfig", hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256),
    "gpt2": lambda: _language("GPT2LMHeadModel", "GPT2Config", n_embd=128, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0),
    "llama": lambda: _language("LlamaForCausalLM", "LlamaConfig", hidden_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=256),
    "t5": lambda: _language("T5EncoderModel", "T5Config", d_model=128, d_kv=32, num_layers=2, num_heads=4, d_ff=256),
    "pair_graph": lambda: (PairGraph(), (torch.randn(8, 128, 3),)),
    "unet": lambda: (DiffusionUNet(), (torch.randn(8, 3, 32, 32), torch.rand(8, 1))),
}  # fmt: skip


# The five formulas that are timed at these sizes, and five more; all operands get gradients.


def pairwise(a, b):
    return ((a[:, None] - b) ** 2).sum(-1)


def rbf(a, b, w):
    return (torch.exp(-((a[:, None] - b) ** 2).sum(-1)) * w).sum(1)


def nbody(p, m):
    d = p[None] - p[:, None]
    r = (d * d).sum(-1) + 1e-2
    return (d * (m * r**-1.5)[..., None]).sum(1)


def normalise(x, m, s, g, b):
    return (x - m) / s * g + b


def cosexp(a, b, c):
    return (torch.cos(a * b) * torch.exp(c)).sum(-1)


def layer_norm_gelu(x, g, b):
    return torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (x.shape[-1],), g, b))


def focal_loss(x, y):
    p = torch.sigmoid(x)
    return (-(y * (1 - p) ** 2 * torch.log(p + 1e-6) + (1 - y) * p**2 * torch.log(1 - p + 1e-6))).mean(-1)


def softmin(a, b):
    return -torch.logsumexp(-((a[:, None] - b) ** 2).sum(-1), 1)


def rms_norm_swiglu(x, g, y):
    return torch.nn.functional.silu(x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * g) * y


def whiten(image, mean, std):
    return ((image.clamp(0, 1) - mean) / std).flip(-1)


def _rand(*shape):
    return torch.rand(shape) + 0.5


FORMULAS = {
    "pairwise": (pairwise, lambda: (_rand(2000, 3), _rand(2000, 3))),
    "rbf": (rbf, lambda: (_rand(4000, 3), _rand(4000, 3), _rand(4000))),
    "nbody": (nbody, lambda: (_rand(3000, 3), _rand(3000))),
    "normalise": (normalise, lambda: (_rand(4096, 1024), _rand(1024), _rand(1024), _rand(1024), _rand(1024))),
    "cosexp": (cosexp, lambda: (_rand(6000, 128, 1), _rand(6000, 1, 123), _rand(6000, 128, 1))),
    "layer_norm_gelu": (layer_norm_gelu, lambda: (_rand(4096, 1024), _rand(1024), _rand(1024))),
    "focal_loss": (focal_loss, lambda: (_rand(4096, 1024), _rand(4096, 1024))),
    "softmin": (softmin, lambda: (_rand(3000, 8), _rand(3000, 8))),
    "rms_norm_swiglu": (rms_norm_swiglu, lambda: (_rand(4096, 1024), _rand(1024), _rand(4096, 1024))),
    "whiten": (whiten, lambda: (_rand(16, 3, 256, 256), _rand(3, 1, 1), _rand(3, 1, 1))),
}


class _Formula(torch.nn.Module):
    """A formula whose operands are parameters."""

    def __init__(self, function, operands):
        super().__init__()
        self.function, self.operands = function, torch.nn.ParameterList(operands)

    def forward(self):
        return self.function(*self.operands)


def made(name):
    """A model and its inputs, the same in each process."""
    torch.manual_seed(0)
    if name in MODELS:
        return MODELS[name]()
    function, operands = FORMULAS[name]
    return _Formula(function, operands()), ()


def _loss(model, inputs, seed):
    # Models draw random numbers too.
    torch.manual_seed(seed)
    result = model(*inputs)
    return result, (result * torch.linspace(-1, 1, result.numel()).reshape(result.shape)).mean()


def _step(model, inputs, seed=0):
    result, loss = _loss(model, inputs, seed)
    loss.backward()
    return result.detach(), [parameter.grad for parameter in model.parameters()]


def _distance(found, wanted):
    """The largest norm of a difference between two lists of tensors, in units of the larger norm of the list's mean."""
    scale = statistics.fmean(float(one.norm()) for one in wanted) or 1.0
    return max(float((one - other).norm()) / max(float(other.norm()), scale) for one, other in zip(found, wanted, strict=True))


def check(name, steps=20):
    """How far outputs and gradients are from eager PyTorch in f64, here and in eager PyTorch in f32, and how far apart the
    losses of some steps of training get."""
    model, inputs = made(name)
    wide = [value.double() if value.is_floating_point() else value for value in inputs]
    truth = _step(copy.deepcopy(model).double(), wide)
    rows = {}
    for backend in ("eager", "zerostride"):
        torch._dynamo.reset()
        copied = copy.deepcopy(model)
        compiled = copied if backend == "eager" else torch.compile(copied, backend=backend)
        result, gradients = _step(compiled, inputs)
        pairs = [(one, other) for one, other in zip(gradients, truth[1], strict=True) if other is not None]
        errors = _distance([result], [truth[0]]), _distance(*zip(*pairs, strict=True))
        optimizer, losses = torch.optim.AdamW(copied.parameters(), 1e-3), []
        for number in range(steps):
            optimizer.zero_grad()
            loss = _loss(compiled, inputs, number)[1]
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        rows[backend] = *errors, losses
    apart = max(abs(one - other) for one, other in zip(rows["eager"][2], rows["zerostride"][2], strict=True))
    spread = max(rows["eager"][2]) - min(rows["eager"][2])
    return {
        "output": (rows["zerostride"][0], rows["eager"][0]), "gradients": (rows["zerostride"][1], rows["eager"][1]),
        "losses apart": (apart, spread),
    }  # fmt: skip


def measure(name, backend, budget):
    """Seconds to the first step, median ms of a step, and the MiB that a step adds to the process."""
    model, inputs = made(name)
    began = time.perf_counter()
    run = model if backend == "eager" else torch.compile(model, backend=backend)
    _step(run, inputs)
    first, times = time.perf_counter() - began, []
    end = time.perf_counter() + budget
    while len(times) < 5 or time.perf_counter() < end:
        model.zero_grad()
        began = time.perf_counter()
        _step(run, inputs)
        times.append(time.perf_counter() - began)
    model.zero_grad()
    return {"first": first, "step": statistics.median(times) * 1e3, "memory": _added(lambda: _step(run, inputs))}


def _added(call):
    """The MiB by which a call raises the memory of the process at its peak, as Linux counts it. What was freed before, as by
    a compiler, is given back to the system first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    size = lambda name: int(re.search(rf"{name}:\s*(\d+)", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
    before = size("VmRSS")
    call()
    return size("VmHWM") - before


def steps(name, backends, budget):
    """For each backend the median ms of a step, the median of its ratio to eager PyTorch's step of the same round, the
    milliseconds of its shortest step, and the seconds of its first."""
    model, inputs = made(name)
    runs, first = {}, {}
    for backend in backends:
        began = time.perf_counter()
        runs[backend] = model if backend == "eager" else torch.compile(model, backend=backend)
        _step(runs[backend], inputs)
        first[backend] = time.perf_counter() - began
    rounds, end = [], time.perf_counter() + budget * len(backends)
    while len(rounds) < 5 or time.perf_counter() < end:
        rounds.append({})
        for backend, run in runs.items():
            model.zero_grad()
            began = time.perf_counter()
            _step(run, inputs)
            rounds[-1][backend] = time.perf_counter() - began
    found = {}
    for backend in backends:
        times = [times[backend] for times in rounds]
        ratio = statistics.median(times[backend] / times[backends[0]] for times in rounds)
        found[backend] = statistics.median(times) * 1e3, ratio, min(times) * 1e3, first[backend]
    return found


def partitions(name, rounds=15):
    """For each partition of a step the us of the engine and of PyTorch's operations inside of steps, which take turns, and the
    names of its nodes. Of PyTorch's operations those count that it need not run for other nodes too."""
    from zerostride.torch._plan import Partition, _filled

    run, found, turn = Partition.__call__, {}, 0

    def theirs(self, operands):
        values, spent = [value.detach() if isinstance(value, torch.Tensor) else value for value in operands], 0
        for step in self._steps:
            arguments, named = _filled(step.theirs, values), _filled(step.theirs_named, values)
            began = time.perf_counter()
            values.append(step.target(*arguments, **named))
            spent += (time.perf_counter() - began) * step.alone
        results = [values[result] for result in self._results]
        return results, spent

    def timed(self, *operands):
        began = time.perf_counter()
        result, spent = theirs(self, operands) if turn % 2 else (run(self, *operands), time.perf_counter() - began)
        found.setdefault(self, ([], []))[turn % 2].append(spent)
        return result

    model, inputs = made(name)
    compiled = torch.compile(model, backend="zerostride")
    Partition.__call__ = timed
    try:
        for turn in range(2 * rounds + 4):
            model.zero_grad()
            _step(compiled, inputs)
    finally:
        Partition.__call__ = run
    usual = lambda times: statistics.median(times[2:]) * 1e6
    return [(*map(usual, times), " ".join(partition.names)) for partition, times in found.items()]


def _shortest(call, seconds=0.15):
    """The shortest time of a call in ns, which is repeated until the clock can measure it."""
    call()
    began = time.perf_counter()
    call()
    often, shortest, end = max(1, int(2e-4 / (time.perf_counter() - began))), float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        began = time.perf_counter()
        for _ in range(often):
            call()
        shortest = min(shortest, (time.perf_counter() - began) / often)
    return shortest * 1e9


def operations(names):
    """Prints for each operation ns an element of PyTorch's and the engine's, 256 x 256 f32 on one thread, and ns a byte of
    `x * 2` of several sizes."""
    import zerostride as zs
    from zerostride.torch._formulas import native_layer_norm

    torch.set_num_threads(1)
    zs.set_num_threads(1)
    x, y = _rand(256, 256), _rand(256, 256)
    unary = """
        abs acos asin atan cos cosh digamma erf erfc erfinv exp exp2 expm1 lgamma log log10 log1p log2 neg reciprocal rsqrt
        sigmoid sin sinh sqrt tan tanh
    """.split()
    calls = {name: (getattr(torch, name), getattr(zs, name), (x / 2,)) for name in unary}
    calls |= {name: (getattr(torch.nn.functional, name), getattr(zs, name), (x,)) for name in ("gelu", "relu", "silu", "softplus")}
    binary = "add atan2 div eq fmod logaddexp maximum mul pow remainder xlogy".split()
    calls |= {name: (getattr(torch, name), getattr(zs, name), (x, y)) for name in binary}
    along = "amax argmax log_softmax logsumexp mean prod softmax std sum var".split()
    for name in along:
        one, other = getattr(torch, name), getattr(zs, name)
        for dim in (0, 1):
            calls[f"{name}({dim})"] = (lambda x, one=one, dim=dim: one(x, dim), lambda x, other=other, dim=dim: other(x, dim), (x,))
    calls["where"] = torch.where, zs.where, (x > y, x, y)
    calls["norm(1)"] = lambda x: torch.linalg.vector_norm(x, 2, 1), lambda x: zs.norm(x, 2, 1), (x,)
    for width in (64, 128, 256, 1024):
        theirs = lambda x, g: torch.native_layer_norm(x, x.shape[1:], g, g, 1e-5)
        ours = lambda x, g: native_layer_norm(x, x.shape[1:], 1e-5, g, g)
        calls[f"layer_norm({width})"] = theirs, ours, (x.reshape(-1, width), _rand(width))
    for name, (one, other, operands) in calls.items():
        if not names or name in names:
            fused = zs.fuse(other)
            theirs, ours = _shortest(lambda: one(*operands)), _shortest(lambda: fused(*operands))
            print(f"{name:16} PyTorch {theirs / x.numel():.3f}  engine {ours / x.numel():.3f}", flush=True)
    if not names or "memory" in names:
        double = zs.fuse(lambda x: x * 2)
        for size in (1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22):
            x, times = _rand(size), []
            for call in (lambda: x * 2, lambda: double(x)):
                # Results of a model's operations are kept: their memory is not what was read or written last.
                times += [_shortest(call), _shortest(lambda: [call() for _ in range(8)]) / 8]
            row = "PyTorch {:.3f}, eight kept {:.3f}  engine {:.3f}, {:.3f}".format(*(time / (8 * size) for time in times))
            print(f"a byte, {size >> 8:5} KiB  {row}", flush=True)


def calls():
    """Prints us of calls on 8 x 8 f32: of a fused function on torch's tensors and NumPy's arrays, and of torch.compile."""
    import zerostride as zs

    def formula(x, y):
        return (x + y) * x

    fused, x, y = zs.fuse(formula), _rand(8, 8), _rand(8, 8)
    arrays = x.numpy(), y.numpy()
    rows = {"fused, torch": lambda: fused(x, y), "fused, NumPy": lambda: fused(*arrays), "eager": lambda: formula(x, y)}
    own, exported = zs.asarray(x), zs.asarray(x).__dlpack__
    rows |= {"zs.asarray(tensor)": lambda: zs.asarray(x), "torch.from_dlpack(zs tensor)": lambda: torch.from_dlpack(own)}
    rows["__dlpack__"] = lambda: exported(max_version=(1, 0))

    def long(x, y):
        for _ in range(8):
            x = (x + y) * x
        return x

    with torch.no_grad():
        for backend in ("aot_eager", "zerostride"):
            compiled = torch.compile(long, backend=backend)
            rows[f"16 operations, {backend}"] = lambda compiled=compiled: compiled(x, y)
        rows["16 operations, eager"] = lambda: long(x, y)
        for name, call in rows.items():
            print(f"{name:32} {_shortest(call, 1) / 1e3:.2f} us", flush=True)


def _apart(name, backend, budget, threads):
    """`measure` in a process of its own; `None` if it fails."""
    command = [sys.executable, __file__, "one", name, "--backend", backend, "--budget", str(budget)]
    command += ["--threads", str(threads)] if threads else []
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        print(f"{name} with {backend}: {(done.stderr.strip().splitlines() or ['?'])[-1]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=["check", "time", "one", "steps", "partitions", "operations", "calls"])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--backend", default="zerostride")
    parser.add_argument("--budget", type=float, default=2.0, help="seconds for each model and backend")
    parser.add_argument("--backends", default=",".join(BACKENDS))
    parser.add_argument("--threads", type=int, help="of PyTorch and of the engine")
    options = parser.parse_intermixed_args()
    warnings.simplefilter("ignore")
    if options.threads:
        import zerostride as zs

        torch.set_num_threads(options.threads)
        zs.set_num_threads(options.threads)
    names = options.names or [*MODELS, *FORMULAS]
    if options.what == "one":
        print(json.dumps(measure(names[0], options.backend, options.budget)))
        return
    if options.what == "steps":
        for name in names:
            torch._dynamo.reset()
            cells = steps(name, options.backends.split(","), options.budget).items()
            row = (f"{backend} {median:.2f} ({ratio:.2f}, {least:.2f}; first {first:.1f} s)" for backend, (median, ratio, least, first) in cells)
            print(name, *row, sep=" | ", flush=True)
        return
    if options.what == "partitions":
        for name in names:
            torch._dynamo.reset()
            rows = partitions(name)
            ours, theirs = (sum(row[side] for row in rows) for side in (0, 1))
            slower = [row for row in rows if row[0] > row[1]]
            print(f"{name}: {len(rows)} partitions, {ours:.0f} us, PyTorch {theirs:.0f} us; {len(slower)} slower", flush=True)
            for one, other, nodes in slower:
                print(f"    {one:.0f} us, PyTorch {other:.0f} us: {nodes}", flush=True)
        return
    if options.what == "operations":
        operations(options.names)
        return
    if options.what == "calls":
        calls()
        return
    if options.what == "check":
        for name in names:
            row = check(name)
            print(name, *(f"{what} {one:.2g} ({other:.2g})" for what, (one, other) in row.items()), sep=", ", flush=True)
            gc.collect()
        return
    backends = options.backends.split(",")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, load before {os.getloadavg()[0]:.1f}\n")
    print("| program | " + " | ".join(f"{backend} ms (first step s, MiB of a step)" for backend in backends) + " |")
    print("|---" * (1 + len(backends)) + "|")
    for name in names:
        found = [_apart(name, backend, options.budget, options.threads) for backend in backends]
        cells = [f"{row['step']:.2f} ({row['first']:.1f}, {row['memory']:.0f})" if row else "fails" for row in found]
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
