"""Compares the engine on a GPU with the CPU, bit for bit, and its times with PyTorch's.

    python bench/gpu.py [--tiny] [rows] [formulas] [table] [model]

``rows``: each operation on elements, with each dtype, of 2^20 arguments of any bits. ``formulas``: 2,000 random
formulas of random shapes and layouts, and their gradients. ``table``: formulas beside PyTorch, eager and
compiled, and the memory of the largest. ``model``: steps of training a transformer by
``torch.compile(backend="zerostride")``. Without a name all run, within 8 minutes: what a part has no time for,
it counts. Any NaN equals any other.

Times need PyTorch with a GPU; the rest needs NumPy, the package and NVIDIA's driver. ``--tiny`` takes sizes for
the emulated driver, whose times mean nothing:

    cargo build -p zerostride-emulator
    ZEROSTRIDE_CUDA=target/debug/libzerostride_emulator.so python bench/gpu.py --tiny

It has not been run on a GPU yet.
"""

import argparse
import contextlib
import functools
import io
import itertools
import random
import sys
import time

import numpy as np
import zerostride as zs

try:
    import torch

    torch = torch if torch.cuda.is_available() else None
except ImportError:
    torch = None

DTYPES = [
    zs.bool, zs.uint8, zs.uint16, zs.uint32, zs.uint64, zs.int8, zs.int16, zs.int32, zs.int64, zs.float16, zs.bfloat16,
    zs.float32, zs.float64, zs.complex64, zs.complex128,
]  # fmt: skip
FLOATS = [zs.float16, zs.bfloat16, zs.float32, zs.float64]
# What may be said of an operation that refuses operands, on either side alike.
REFUSED = (IndexError, RuntimeError, TypeError, ValueError, NotImplementedError, ZeroDivisionError)


class Clock:
    """Whether a part of this program has time left."""

    def __init__(self, seconds):
        self.began, self.seconds = time.monotonic(), seconds

    def spent(self):
        return time.monotonic() - self.began

    def is_over(self):
        return self.spent() > self.seconds


def differences(found, wanted):
    """How many elements of two tensors differ, in all of them if these are not alike."""
    if (found.dtype, found.shape) != (wanted.dtype, wanted.shape):
        return max(1, wanted.numel())
    sides = [np.ascontiguousarray((side.float() if side.dtype is zs.bfloat16 else side).cpu().numpy()).reshape(-1) for side in (found, wanted)]
    if sides[0].dtype.kind == "c":
        sides = [side.view(side.real.dtype) for side in sides]
    with np.errstate(invalid="ignore"):
        are_nan = np.isnan(sides[0]) & np.isnan(sides[1]) if sides[0].dtype.kind == "f" else False
    words = [side.view(f"u{side.dtype.itemsize}") for side in sides]
    return int(((words[0] != words[1]) & ~are_nan).sum())


def outcome(function, operands):
    """The results of a function, or its error."""
    try:
        results = function(*operands)
        return list(results) if isinstance(results, (list, tuple)) else [results]
    except REFUSED as error:
        return error


def compare(label, function, operands):
    """Whether a function has results, and whether those of the GPU differ, which is said."""
    wanted = outcome(function, operands)
    found = outcome(function, [operand.cuda() for operand in operands])
    if isinstance(wanted, Exception):
        # The zeros that integers are divided by are found on both sides.
        return False, False
    if isinstance(found, Exception):
        is_known = "has no kernel" in str(found)
        if not is_known:
            print(f"{label}: {found}", flush=True)
        return False, not is_known
    count = sum(differences(one, other) for one, other in zip(found, wanted, strict=True))
    if count:
        print(f"{label}: {count} of {sum(other.numel() for other in wanted)} elements differ", flush=True)
    return True, count > 0


@functools.cache
def any_bits(dtype, count, seed):
    """Elements of a dtype whose bits are random; a quarter of floats near 1, where functions change most."""
    generator = np.random.default_rng(seed)
    if dtype is zs.bool:
        return zs.asarray(generator.random(count) < 0.5)
    if dtype in (zs.complex64, zs.complex128):
        return zs.complex(*(any_bits(zs.float32 if dtype is zs.complex64 else zs.float64, count, seed + part) for part in range(2)))
    bits = generator.integers(0, 1 << 8 * dtype.itemsize, count, dtype=f"u{dtype.itemsize}")
    if dtype is zs.bfloat16:
        elements = zs.asarray((bits.astype(np.uint32) << 16).view(np.float32)).to(dtype)  # NumPy has no such dtype.
    else:
        elements = zs.asarray(bits.view(dtype.name))
    if dtype not in FLOATS:
        return elements
    near = zs.asarray(generator.standard_normal(count)).to(dtype)
    return zs.where(zs.asarray(generator.random(count) < 0.25), near, elements)


def rows(tiny):
    clock, count = Clock(180), 300 if tiny else 1 << 20
    ran = bad = left = 0
    for (name, operands), dtype in itertools.product(zs._elementwise().items(), DTYPES):
        if clock.is_over():
            left += 1
            continue
        function = getattr(zs, name)
        given = [any_bits(dtype, count, seed) for seed in range(operands)]
        if name in ("where", "masked_fill"):
            given[name == "masked_fill"] = any_bits(zs.bool, count, 7)
        has_results, differs = compare(f"{name} of {dtype}", function, given)
        ran, bad = ran + has_results, bad + differs
    print(f"rows: {ran} of {count} arguments each, {bad} differ, {left} left for lack of time; {clock.spent():.0f} s", flush=True)
    return bad


ONE = "abs neg exp sin cos tanh sigmoid erf silu gelu softplus square relu atan log1p expm1".split()
# None that shows the sign of NaN, as copysign does.
TWO = "add sub mul div maximum minimum atan2 hypot".split()
REDUCE = "sum mean amax amin prod var".split()


def formula(seed):
    """A random formula of its operands, the operands' shapes, and a dtype."""
    draw = random.Random(seed)
    shape = [draw.choice([1, 2, 3, 7, 16, 33]) for _ in range(draw.randint(1, 4))]
    shapes = [[size if draw.random() < 0.7 else 1 for size in shape][draw.choice([0, 0, 0, 1]) :] for _ in range(draw.randint(1, 3))]
    steps = []
    for _ in range(draw.randint(1, 7)):
        kind = draw.choices(["one", "two", "reduce", "transpose", "where", "softmax"], [4, 6, 2, 1, 1, 0.5])[0]
        steps.append((kind, draw.choice({"one": ONE, "two": TWO, "reduce": REDUCE}.get(kind, [kind])), draw.random(), draw.random()))

    def run(*operands):
        values = list(operands)
        pick = lambda place: values[int(place * len(values))]
        for kind, name, first, second in steps:
            x, y = pick(first), pick(second)
            dim = int(second * x.ndim) if x.ndim else None
            match kind:
                case "one":
                    values.append(getattr(zs, name)(x))
                case "two":
                    values.append(getattr(zs, name)(x, y))
                case "where":
                    values.append(zs.where(x > 0.25, x, y))
                case "transpose" if x.ndim > 1:
                    values.append(x.transpose(0, -1))
                case "reduce" if x.ndim:
                    values.append(getattr(zs, name)(x, dim, keepdim=True))
                case "softmax" if x.ndim:
                    values.append(zs.softmax(x, dim))
        return values[-1]

    return run, shapes, draw.choices([zs.float32, zs.float64, zs.float16, zs.bfloat16], [5, 2, 1, 1])[0], draw


def laid_out(shape, dtype, draw):
    """A random tensor of a shape, of some layout."""
    whole = zs.randn([2 * size + 1 for size in shape], seed=draw.getrandbits(30)).to(dtype)
    if draw.random() < 0.25:
        return whole[tuple(slice(1, None, 2) for _ in shape)]
    x, back = whole[tuple(slice(0, size) for size in shape)].clone(), list(range(len(shape)))[::-1]
    return draw.choice([x, zs.flip(x, back), x.permute(back).contiguous().permute(back)])


def formulas(tiny):
    clock, wanted = Clock(160), 200 if tiny else 2000
    ran = bad = 0
    for seed in itertools.count():
        if ran >= wanted or clock.is_over():
            break
        run, shapes, dtype, draw = formula(seed)
        operands = [laid_out(shape, dtype, draw) for shape in shapes]
        forward = compare(f"formula {seed}", zs.fuse(run), operands)
        if not forward[0]:
            bad += forward[1]  # Shapes that do not broadcast are an error on both sides.
            continue
        backward = compare(f"gradient of formula {seed}", zs.grad(lambda *operands: run(*operands).sum(), argnums=tuple(range(len(operands)))), operands)
        ran, bad = ran + 1, bad + (forward[1] or backward[1])
    print(f"formulas: {ran} of {wanted} with gradients, {bad} differ; {clock.spent():.0f} s", flush=True)
    return bad


def pairs(m, a, b):
    return ((a[:, None] - b[None]) ** 2).sum(-1)


def rbf_sum(m, a, b):
    return m.exp(-pairs(m, a, b)).sum(1)


def normalise(m, x, mean, deviation, weight, bias):
    return (x - mean) / deviation * weight + bias


def layer_norm_gelu(m, x, weight, bias):
    centred = x - x.mean(1, keepdim=True)
    scaled = centred / m.sqrt((centred * centred).mean(1, keepdim=True) + 1e-5) * weight + bias
    return 0.5 * scaled * (1 + m.erf(scaled * 0.5**0.5))


# The name, the shapes of the operands, and the formula, which both libraries understand.
SQUARE, ROW = (8192, 8192), (8192,)
TABLE = [
    ("copy", [SQUARE], lambda m, x: x.clone()),
    ("x + row * col", [SQUARE, (1, 8192), (8192, 1)], lambda m, x, row, col: x + row * col),
    ("normalise", [SQUARE, ROW, ROW, ROW, ROW], normalise),
    ("pairs", [(8192, 16), (8192, 16)], pairs),
    ("rbf sum", [(8192, 16), (8192, 16)], rbf_sum),
    ("cos-exp", [(6000, 128, 1), (6000, 1, 123), (6000, 128, 1)], lambda m, a, b, c: (m.cos(a * b) * m.exp(c)).sum(-1)),
    ("softmax", [SQUARE], lambda m, x: m.softmax(x, 1)),
    ("layer norm, gelu", [SQUARE, ROW, ROW], layer_norm_gelu),
    ("product", [(4096, 4096), (4096, 4096)], lambda m, x, y: x @ y),
    ("x.sum(1)", [(4096, 5000)], lambda m, x: x.sum(1)),
]
LARGE = 65536
TINY = {8192: 48, 6000: 5, 5000: 1100, 4096: 6, LARGE: 70}
# How often a time is taken.
REPEATS = 5


def milliseconds(call, wait, seconds):
    """The shortest of some means, of calls that take so many seconds together."""

    def measured(count):
        wait()
        began = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        return (time.perf_counter() - began) / count

    call()
    count = max(1, int(seconds / max(measured(1), 1e-6)))
    return 1000 * min(measured(count) for _ in range(REPEATS))


def uniform(shapes, tiny):
    shapes = [tuple(TINY.get(size, size) if tiny else size for size in shape) for shape in shapes]
    return [zs.rand(*shape, seed=1 + place) * 2 - 1 for place, shape in enumerate(shapes)]


def table(tiny):
    wait, seconds, bad = zs.zeros(1).cuda().tolist, 0 if tiny else 0.2, 0
    print(f"{'ms':>16}" + "".join(f"{name:>14}" for name in ("zerostride", "eager", "compiled", "bits differ")))
    for name, shapes, own in TABLE:
        operands = uniform(shapes, tiny)
        moved = [operand.cuda() for operand in operands]
        run = functools.partial(own, zs)
        run = run if name == "copy" else zs.fuse(run)
        wanted = run(*operands)
        differ = differences(run(*moved), wanted)
        bad += differ > 0
        times = [milliseconds(lambda: run(*moved), wait, seconds)]
        if torch:
            theirs = [torch.from_numpy(operand.numpy()).cuda() for operand in operands]
            for function in (own, torch.compile(lambda m, *operands: own(m, *operands))):
                times.append(milliseconds(lambda: function(torch, *theirs), torch.cuda.synchronize, seconds))
        cells = [f"{number:.4f}" for number in times] + ["-"] * (3 - len(times)) + [f"{differ} of {wanted.numel()}"]
        print(f"{name:>16}" + "".join(f"{cell:>14}" for cell in cells), flush=True)
    return bad + large(wait, seconds, tiny)


def large(wait, seconds, tiny):
    """The sum over pairs whose table has 16 GiB; 64 MiB are enough besides the results."""
    a, b = uniform([(LARGE, 16), (LARGE, 16)], tiny)
    run, some = zs.fuse(functools.partial(rbf_sum, zs)), slice(0, 64)
    moved = [a.cuda(), b.cuda()]
    found = zs.evaluate(functools.partial(rbf_sum, zs), max_memory=4 * len(a) + (64 << 20), a=moved[0], b=moved[1])
    differ = differences(found[some], run(a[some], b))
    print(f"rbf sum of {len(a)} x {len(b)} x 16: {milliseconds(lambda: run(*moved), wait, seconds):.4f} ms, within 64 MiB besides its results, {differ} of {len(a[some])} results differ")
    return differ > 0


def model(tiny):
    """Says the time of a step of training, and whether the losses are those of eager PyTorch."""
    if torch is None:
        print("model: left out, PyTorch sees no GPU")
        return 0
    import zerostride.torch

    def trained(backend):
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(256, 8, 1024, dropout=0, batch_first=True, norm_first=True)
        network = torch.nn.Sequential(torch.nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), torch.nn.Linear(256, 10)).cuda()
        optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
        x, target = torch.randn(16, 128, 256).cuda(), torch.randint(0, 10, (16, 128)).cuda()
        run = torch.compile(network, backend=backend) if backend else network

        def step():
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(run(x).flatten(0, 1), target.flatten())
            loss.backward()
            optimizer.step()
            return loss.detach()

        losses = torch.stack([step() for _ in range(10)]).cpu()
        return losses, milliseconds(step, torch.cuda.synchronize, 0.5)

    wanted, bad = trained(None), 0
    print(f"{'a step, ms':>16}{wanted[1]:>14.3f} eager")
    for backend in ("inductor", "zerostride"):
        losses, time_ms = trained(backend)
        differ = not torch.allclose(losses, wanted[0], rtol=2e-3)
        print(f"{'':>16}{time_ms:>14.3f} {backend}{', other losses than eager: ' + str(losses) if differ else ''}", flush=True)
        bad += differ and backend == "zerostride"
    with contextlib.redirect_stdout(io.StringIO()):
        reports = zerostride.torch.report()
    for report in reports:
        bad += sum(partition.failure is not None for partition in report.partitions)
    return bad


PARTS = {"rows": rows, "formulas": formulas, "table": table, "model": model}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("parts", nargs="*", metavar="PART", help=" ".join(PARTS))
    options = parser.parse_args()
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    clock = Clock(0)
    bad = sum(PARTS[part](options.tiny) for part in options.parts or PARTS)
    print(f"{'something differs' if bad else 'nothing differs'}; {clock.spent():.0f} s")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
