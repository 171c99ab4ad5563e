"""Formulas forwards and backwards beside PyTorch, TorchInductor and JAX, in one run on one thread count.

    python bench/gradients.py [NAME ...] [--threads 1] [--scale 1.0] [--seconds 1.0]

*Forward* is the formula, *backward* its sum with the gradients of all operands (`zs.value_and_grad`). Libraries take turns,
call by call, so that a busy machine slows all of them; a cell is the median in ms, and the last column the fastest peer's
time divided by ours. Results are compared with PyTorch's in f64 first. ``gradients.md`` has a record. Memory is not measured: `Plan` says what ours is.
"""

import argparse
import functools
import os
import statistics
import time
import warnings


def pairwise(m, a, b):
    return ((a[:, None] - b) ** 2).sum(-1)


def rbf(m, a, b, w):
    return (m.exp(-((a[:, None] - b) ** 2).sum(-1)) * w).sum(1)


def nbody(m, p, w):
    d = p[None] - p[:, None]
    r = (d * d).sum(-1) + 1e-2
    return (d * (w * r**-1.5)[..., None]).sum(1)


def softmin(m, a, b):
    distances = ((a[:, None] - b) ** 2).sum(-1)
    least = distances.min(1, keepdims=True) if m.__name__ == "jax.numpy" else m.amin(distances, 1, keepdim=True)
    return -m.log(m.exp(least - distances).sum(1)) + least[:, 0]


def normalise(m, x, mean, deviation, gain, bias):
    return (x - mean) / deviation * gain + bias


def cosexp(m, a, b, c):
    return (m.cos(a * b) * m.exp(c)).sum(-1)


FORMULAS = {
    "pairwise": (pairwise, [(2000, 3), (2000, 3)]),
    "rbf": (rbf, [(3000, 3), (3000, 3), (3000,)]),
    "nbody": (nbody, [(2000, 3), (2000,)]),
    "softmin": (softmin, [(2500, 8), (2500, 8)]),
    "normalise": (normalise, [(4096, 1024), (1024,), (1024,), (1024,), (1024,)]),
    "cosexp": (cosexp, [(4000, 64, 1), (4000, 1, 64), (4000, 64, 1)]),
}


def step_of(torch, forward):
    """The sum of what a function of tensors returns, with the gradients of all of them."""

    def step(*operands):
        loss = forward(*operands).sum()
        return loss, *torch.autograd.grad(loss, operands)

    return step


def flat(pair):
    return pair[0], *pair[1]


def sides(formula, arrays):
    """For each library a call of the formula and one of its gradients, each of which ends when the results are there."""
    import jax
    import torch

    import zerostride as zs

    every = tuple(range(len(arrays)))
    gradient = zs.value_and_grad(lambda *xs: formula(zs, *xs).sum(), every)
    fused = zs.fuse(lambda *xs: formula(zs, *xs))
    yield "zerostride", lambda: fused(*arrays), lambda: flat(gradient(*arrays))

    torch.compiler.reset()
    plain = [torch.from_numpy(array) for array in arrays]
    leaves = [tensor.clone().requires_grad_() for tensor in plain]
    eager = functools.partial(formula, torch)
    compiled = torch.compile(eager, backend="inductor", dynamic=False)
    for library, forward in (("torch", eager), ("inductor", compiled)):
        call, step = functools.partial(forward, *plain), functools.partial(step_of(torch, forward), *leaves)
        yield library, call, step

    given = [jax.numpy.asarray(array) for array in arrays]
    forward = jax.jit(lambda *xs: formula(jax.numpy, *xs))
    both = jax.jit(jax.value_and_grad(lambda *xs: formula(jax.numpy, *xs).sum(), every))
    yield "jax", lambda: jax.block_until_ready(forward(*given)), lambda: flat(jax.block_until_ready(both(*given)))


def check(name, found, wanted):
    import numpy as np

    for one, other in zip(found, wanted, strict=True):
        one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
        if np.linalg.norm(one - other) > 1e-4 * (np.linalg.norm(other) + 1e-3):
            raise ValueError(f"{name}: {np.linalg.norm(one - other)} from {np.linalg.norm(other)}")


def interleaved(calls, seconds):
    """The median time of each call in ms, in turns."""
    times = [[] for _ in calls]
    for call in calls:
        call()
    end = time.perf_counter() + seconds * len(calls)
    while len(times[0]) < 5 or time.perf_counter() < end:
        for call, own in zip(calls, times, strict=True):
            start = time.perf_counter()
            call()
            own.append((time.perf_counter() - start) * 1e3)
    return [statistics.median(own) for own in times]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", default=list(FORMULAS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scale", type=float, default=1.0, help="of the larger sizes")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each library and direction")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    # JAX has no setting for its threads but the processors that it is started on.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    import numpy as np
    import torch

    import zerostride as zs

    torch.set_num_threads(options.threads)
    zs.set_num_threads(options.threads)
    print("| formula | zerostride | torch | inductor | JAX | fastest peer / ours |\n|---|---|---|---|---|---|")
    for name in options.names:
        formula, shapes = FORMULAS[name]
        generator = np.random.default_rng(0)
        shapes = [[max(1, int(size * options.scale)) if size >= 1000 else size for size in shape] for shape in shapes]
        arrays = [generator.random(shape, np.float32) + np.float32(0.5) for shape in shapes]
        wide = [torch.from_numpy(array).double().requires_grad_() for array in arrays]
        truth = [value.detach() for value in step_of(torch, functools.partial(formula, torch))(*wide)]
        libraries = list(sides(formula, arrays))
        for library, _, both in libraries:
            values = [value.detach() if library in ("torch", "inductor") else value for value in both()]
            check(f"{name} of {library}", values, truth)
        for direction in (1, 2):
            found = interleaved([library[direction] for library in libraries], options.seconds)
            cells = " | ".join(f"{one:.2f}" for one in found)
            print(f"| {name} {('forward', 'backward')[direction - 1]} | {cells} | {min(found[1:]) / found[0]:.2f} |", flush=True)


if __name__ == "__main__":
    main()
