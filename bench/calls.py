"""Calls of Python programs, beside NumPy's for the same, in one process and on one thread.

pip install ./crates/python numpy
python bench/calls.py [FILTER] [--seconds 1]

Each call takes turns with NumPy's. A line shows the shorter time of each and their ratio: less than 1 is
faster than NumPy. Timings of a build without optimisation mean nothing: `pip install` builds with it. Close
other programs.
"""

import argparse
import os
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import zerostride as zs

random = np.random.default_rng(1)


def reals(*shape, dtype="float32"):
    return random.random(shape, dtype="float64").astype(dtype)


def complexes(*shape):
    return (random.random(shape) + 1j * random.random(shape)).astype("complex64")


def calls():
    """Name, call, operands: the call gets NumPy's arrays once, and once tensors on their memory."""
    x, y = reals(1_000_000), reals(1_000_000)
    for power in (0.5, -1, -0.5, 2, 3, -2):
        yield f"x ** {power}, 1 M f32", lambda x, power=power: x**power, (x,)
    whole = random.integers(1, 100, 1_000_000)
    yield "x / y, 1 M i64", lambda x, y: x / y, (whole, whole[::-1].copy())
    mixed = random.random(1_000_000) > 0.5
    bools = {"mixed": mixed, "false": np.zeros_like(mixed), "true": np.ones_like(mixed)}
    for name, value in bools.items():
        yield f"amax of 1 M bools, {name}", lambda x: x.max(), (value,)
        yield f"amin of 1 M bools, {name}", lambda x: x.min(), (value,)
    yield "sum of 1 M bools", lambda x: x.sum(), (mixed,)
    yield "tolist of 1 M f32", lambda x: x.tolist(), (x,)
    yield "first of a million rows", lambda x: next(iter(x)), (x.reshape(-1, 1),)
    yield "all of 10,000 rows", lambda x: sum(1 for _ in x), (reals(10_000, 3),)
    yield "10,000 products of 3 x 3, f32", lambda x, y: x @ y, (reals(10_000, 3, 3), reals(10_000, 3, 3))
    yield "10,000 products of 3 x 3, f64", lambda x, y: x @ y, (reals(10_000, 3, 3, dtype="float64"),) * 2
    for count in (100, 10_000, 100_000):
        yield f"dot of {count:,} f32", lambda x, y: x @ y, (x[:count], y[:count])
    square = reals(1024, 1024)
    yield "1024 x 1024 by a vector, f32", lambda x, y: x @ y, (square, x[:1024])
    yield "a vector by 1024 x 1024, f32", lambda x, y: x @ y, (x[:1024], square)
    for n, k, m in ((64, 64, 64), (32, 1000, 32), (1000, 8, 1000), (8, 100_000, 8), (256, 256, 256), (512, 512, 512)):
        yield f"{n} x {k} by {k} x {m}, f32", lambda x, y: x @ y, (reals(n, k), reals(k, m))
    yield "256 x 256 by 256 x 256, c64", lambda x, y: x @ y, (complexes(256, 256), complexes(256, 256))
    for count in (4_000, 1_000_000):
        yield f"x * y, {count:,} c64", lambda x, y: x * y, (complexes(count), complexes(count))
    rows = complexes(1000, 1000)
    where = lambda condition, x, y: (np if isinstance(x, np.ndarray) else zs).where(condition, x, y)
    yield "where of a row of conditions, 1 M c64", where, (mixed[:1000], rows, rows.T.copy())
    yield "where of a column of conditions, 1 M c64", where, (mixed[:1000, None], rows, rows.T.copy())
    thin = reals(300_000, 3)
    yield "sum of rows of 3, f32", lambda x: x.sum(1), (thin,)
    yield "x + column, rows of 3, f32", lambda x, y: x + y, (thin, reals(300_000, 1))
    yield "x + y, rows of 3 and transposed, f32", lambda x, y: x + y, (thin, reals(3, 300_000).T)
    for count in (8, 64, 512):
        several = reals(count, 1000)
        yield f"fused sum of {count} arrays of 1000 f32", added, tuple(several)


def added(*arrays):
    total = arrays[0]
    for array in arrays[1:]:
        total = total + array
    return total


fused_sum = zs.fuse(added)


def best(call, operands, seconds):
    """The shortest time of a call, which is repeated until the clock can measure it."""
    start = time.perf_counter()
    call(*operands)
    often = max(1, int(0.001 / (time.perf_counter() - start)))
    shortest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(often):
            call(*operands)
        shortest = min(shortest, (time.perf_counter() - start) / often)
    return shortest


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("filter", nargs="?", default="", help="only calls whose name contains it")
    parser.add_argument("--seconds", type=float, default=1, help="for each call")
    options = parser.parse_args()
    zs.set_num_threads(1)
    print(f"{'call':44} {'zerostride':>12} {'NumPy':>12} {'ratio':>7}")
    for name, call, arrays in calls():
        if options.filter not in name:
            continue
        own = (fused_sum, arrays) if call is added else (call, [zs.asarray(array) for array in arrays])
        turns = [(best(*own, options.seconds / 6), best(call, arrays, options.seconds / 6)) for _ in range(3)]
        ours, theirs = (min(turn[side] for turn in turns) for side in (0, 1))
        print(f"{name:44} {ours * 1e6:9.1f} us {theirs * 1e6:9.1f} us {ours / theirs:7.2f}", flush=True)


if __name__ == "__main__":
    main()
