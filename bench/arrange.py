"""Functions that move, pick or order elements, and reductions, beside PyTorch's and NumPy's, on one thread.

`cargo xtask bench arrange [OPTION]...` builds the engine and runs this; by hand, after `pip install ./crates/python`:

    python bench/arrange.py [FILTER] [--seconds 0.05] [--sizes 64x64,1000x1000,100000x3] [--dtypes f32,i64]

Each is called with a matrix of random numbers as a user calls it, results and all: a figure is the shortest time of a
call, in microseconds. A ratio above 1 means that zerostride is faster than the faster of the two others.
Close other programs.
"""

import argparse
import os
import statistics
import time

os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import torch
import zerostride as zs

SAMPLE = 2e-3
DTYPES = {"bool": "?", "u8": "u1", "i32": "i4", "i64": "i8", "f32": "f4", "f64": "f8"}


class Operands:
    """What functions are called with, as arrays of one library."""

    def __init__(self, library, convert, matrix, picks, places):
        self.library, self.matrix, self.picks, self.places = library, convert(matrix), convert(picks), convert(places)
        self.row, self.column = convert(matrix[0].copy()), convert(matrix[:, 0].copy())
        self.edges = convert(np.sort(matrix[0]))
        self.square = convert(np.resize(matrix, (matrix.shape[1],) * 2))


def along(name, dim, *arguments):
    return lambda o: getattr(o.library, name)(o.matrix, *arguments, dim)


# Functions that all three libraries call alike, but for the word for a dimension.
REDUCTIONS = "sum prod amax amin argmax argmin any all mean var std"
ALIKE = {f"{name}({dim})": (name, dim) for name in REDUCTIONS.split() for dim in (0, 1)}
ALIKE |= {f"{name}({dim})": (name, dim) for name in "cumsum cumprod sort argsort".split() for dim in (0, 1)}
# Those of PyTorch and zerostride, and NumPy's where it has one.
OWN = {
    "median(1)": (along("median", 1), None),
    "logsumexp(1)": (along("logsumexp", 1), None),
    "softmax(1)": (along("softmax", 1), None),
    "norm(1)": (lambda o: o.library.norm(o.matrix, 2, 1), None),
    "nansum(1)": (along("nansum", 1), lambda o: np.nansum(o.matrix, 1)),
    "topk(5, 1)": (lambda o: o.library.topk(o.matrix, 5, 1), None),
    "kthvalue(5, 1)": (lambda o: o.library.kthvalue(o.matrix, 5, 1), None),
    "unique": (lambda o: o.library.unique(o.matrix), lambda o: np.unique(o.matrix)),
    "cat(0)": (lambda o: o.library.cat([o.matrix, o.matrix], 0), lambda o: np.concatenate([o.matrix, o.matrix], 0)),
    "cat(1)": (lambda o: o.library.cat([o.matrix, o.matrix], 1), lambda o: np.concatenate([o.matrix, o.matrix], 1)),
    "stack(-1)": (lambda o: o.library.stack([o.matrix, o.matrix], -1), lambda o: np.stack([o.matrix, o.matrix], -1)),
    "roll": (lambda o: o.library.roll(o.matrix, (3, 5), (0, 1)), lambda o: np.roll(o.matrix, (3, 5), (0, 1))),
    "flip(1)": (lambda o: o.library.flip(o.matrix, [1]), lambda o: np.flip(o.matrix, 1).copy()),
    "tril": (lambda o: o.library.tril(o.matrix), lambda o: np.tril(o.matrix)),
    "repeat_interleave": (
        lambda o: o.library.repeat_interleave(o.matrix, 3, 1),
        lambda o: np.repeat(o.matrix, 3, 1),
    ),
    "tile": (lambda o: o.library.tile(o.matrix, (2, 3)), lambda o: np.tile(o.matrix, (2, 3))),
    "x + x.T": (lambda o: o.matrix + o.matrix.T, lambda o: o.matrix + o.matrix.T),
    "x[::2].clone": (lambda o: o.matrix[::2].clone(), lambda o: o.matrix[::2].copy()),
    "x[:, ::2].clone": (lambda o: o.matrix[:, ::2].clone(), lambda o: o.matrix[:, ::2].copy()),
    "x.T.contiguous": (lambda o: o.matrix.T.contiguous(), lambda o: np.ascontiguousarray(o.matrix.T)),
    "x[x > 0]": (lambda o: o.matrix[o.matrix > 0], lambda o: o.matrix[o.matrix > 0]),
    "nonzero": (lambda o: o.library.nonzero(o.matrix > 0), lambda o: np.nonzero(o.matrix > 0)),
    "count_nonzero": (lambda o: o.library.count_nonzero(o.matrix), lambda o: np.count_nonzero(o.matrix)),
    "searchsorted": (
        lambda o: o.library.searchsorted(o.edges, o.matrix),
        lambda o: np.searchsorted(o.edges, o.matrix),
    ),
    "index_select(0)": (lambda o: o.library.index_select(o.matrix, 0, o.picks), lambda o: o.matrix[o.picks]),
    "index_select(1)": (lambda o: o.library.index_select(o.matrix, 1, o.picks), lambda o: o.matrix[:, o.picks]),
    "x[i, i]": (lambda o: o.matrix[o.picks, o.picks], lambda o: o.matrix[o.picks, o.picks]),
    "gather(0)": (
        lambda o: o.library.gather(o.matrix, 0, o.places),
        lambda o: np.take_along_axis(o.matrix, o.places, 0),
    ),
    "gather(1)": (
        lambda o: o.library.gather(o.matrix, 1, o.places),
        lambda o: np.take_along_axis(o.matrix, o.places, 1),
    ),
    "take": (lambda o: o.library.take(o.matrix, o.places), lambda o: np.take(o.matrix, o.places)),
    "scatter_add(1)": (lambda o: o.library.scatter_add(o.matrix, 1, o.places, o.matrix), None),
    "index_add(0)": (lambda o: o.library.index_add(o.matrix, 0, o.picks, o.matrix), None),
    "x @ v": (lambda o: o.matrix @ o.row, lambda o: o.matrix @ o.row),
    "v @ x": (lambda o: o.column @ o.matrix, lambda o: o.column @ o.matrix),
    "x.T @ v": (lambda o: o.matrix.T @ o.column, lambda o: o.matrix.T @ o.column),
    "x @ y": (lambda o: o.matrix @ o.square, lambda o: o.matrix @ o.square),
    "x.T @ x": (lambda o: o.matrix.T @ o.matrix, lambda o: o.matrix.T @ o.matrix),
    "(x * x).sum(1)": (lambda o: (o.matrix * o.matrix).sum(1), lambda o: (o.matrix * o.matrix).sum(1)),
    "x - mean(0)": (lambda o: o.matrix - o.matrix.mean(0), lambda o: o.matrix - o.matrix.mean(0)),
    "x * column": (lambda o: o.matrix * o.column[:, None], lambda o: o.matrix * o.column[:, None]),
    "x + x[:, 0]": (lambda o: o.matrix.T + o.matrix[:, 0], lambda o: o.matrix.T + o.matrix[:, 0]),
    "dot": (
        lambda o: o.matrix.reshape(-1) @ o.matrix.reshape(-1),
        lambda o: o.matrix.reshape(-1) @ o.matrix.reshape(-1),
    ),
    "to f64": (lambda o: o.matrix.to(o.library.float64), lambda o: o.matrix.astype("f8")),
    "to i32": (lambda o: o.matrix.to(o.library.int32), lambda o: o.matrix.astype("i4")),
}
OWN |= {
    name: (along(function, dim), lambda o, function=function, dim=dim: getattr(np, function)(o.matrix, axis=dim))
    for name, (function, dim) in ALIKE.items()
}


def best(call, operands, seconds):
    """The shortest time of a call in microseconds; `None` where the library refuses the dtype."""
    try:
        call(operands)
    except (RuntimeError, TypeError, ValueError):
        return None
    start = time.perf_counter()
    call(operands)
    often = max(1, int(SAMPLE / (time.perf_counter() - start)))
    shortest, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        for _ in range(often):
            call(operands)
        shortest = min(shortest, (time.perf_counter() - start) / often)
    return shortest * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("filter", nargs="?", default="", help="only functions whose name contains this")
    parser.add_argument("--seconds", type=float, default=0.05, help="how long each is called (default 0.05)")
    sizes = "64x64,1000x1000,100000x3,100000x30"
    parser.add_argument("--sizes", default=sizes, help="rows and columns of the matrix (default %(default)s)")
    parser.add_argument("--dtypes", default="f32,i64", help="some of " + ",".join(DTYPES) + " (default f32,i64)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    zs.set_num_threads(1)
    random, ratios = np.random.default_rng(0), []
    print(f"{'microseconds a call':36} {'zerostride':>10} {'torch':>10} {'numpy':>10}  ratio")
    for dtype in options.dtypes.split(","):
        for size in options.sizes.split(","):
            shape = tuple(map(int, size.split("x")))
            matrix = (20 * random.standard_normal(shape)).astype(DTYPES[dtype])
            arrays = matrix, random.integers(0, min(shape), min(shape)), random.integers(0, min(shape), shape)
            libraries = (zs, zs.asarray), (torch, torch.from_numpy), (np, np.asarray)
            own, others, plain = (Operands(*library, *arrays) for library in libraries)
            for name, (call, numpy_call) in OWN.items():
                if options.filter not in name or (ours := best(call, own, options.seconds)) is None:
                    continue
                theirs = [best(call, others, options.seconds)]
                theirs.append(best(numpy_call, plain, options.seconds) if numpy_call else None)
                words = [f"{'-' if time is None else format(time, '.1f'):>10}" for time in (ours, *theirs)]
                known = [time for time in theirs if time is not None]
                ratios += [min(known) / ours] if known else []
                ratio = f"{ratios[-1]:6.2f}" if known else ""
                print(f"{name:18} {dtype:5} {size:>11}", *words, ratio, flush=True)
    if ratios:
        slower = sum(ratio < 0.95 for ratio in ratios)
        print(f"\n{len(ratios)} rows: median {statistics.median(ratios):.2f}, {slower} below 0.95")


if __name__ == "__main__":
    main()
