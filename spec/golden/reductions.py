"""Reductions: every operation, dtype and way to name dimensions, sizes of zero, NaN and ties.

Owns `reductions.json` with `reductions.npz`. Floating-point sums and what is built on them carry a
reference computed exactly and rounded once.
"""

import math

import gmpy2
import numpy
import torch
from gmpy2 import mpfr

from bits import FORMATS, UNSIGNED, WIDTHS, from_bits, to_bits, ulps
from operations import DTYPES, NAMES, function
from recorder import Recorder, keywords
from reference import WORK, decode, encode
from values import sets

INF = float("inf")
SHAPE = (3, 4, 5)
DIMS = [None, 0, 1, -1, (0, 1), (0, 2), (1, 2), (0, 1, 2), ()]
PLAIN = ["sum", "mean", "prod", "amax", "amin", "all", "any", "logsumexp", "var", "std", "nansum", "nanmean"]
NORMS = [0, 1, 2, 3, INF, -INF, 0.5]
EMPTY = [
    ((0,), None),
    ((0,), 0),
    ((0, 3), 0),
    ((0, 3), 1),
    ((0, 3), None),
    ((2, 0), 1),
    ((2, 0), (0, 1)),
]


def calls(op):
    """The keyword sets for the main input."""
    for dim in DIMS:
        for keepdim in (False, True):
            if dim is None:
                # Without `dim` most functions have no `keepdim`; `amax` and `amin` always do.
                if keepdim and op not in ("amax", "amin"):
                    continue
                yield {"keepdim": True} if keepdim else {}
            else:
                yield {"dim": dim, "keepdim": keepdim}


def exact(op, values, kwargs):
    """The result over one slice of MPFR numbers, or None where this file defines none."""
    count = len(values)
    if op == "sum":
        return sum(values, mpfr(0))
    if op == "mean":
        return sum(values, mpfr(0)) / count if count else None
    if op == "prod":
        total = mpfr(1)
        for value in values:
            total *= value
        return total
    if op in ("var", "std"):
        freedom = count - kwargs.get("correction", 1)
        if freedom <= 0 or not count:
            return None
        centre = sum(values, mpfr(0)) / count
        spread = sum(((v - centre) ** 2 for v in values), mpfr(0)) / freedom
        return gmpy2.sqrt(spread) if op == "std" else spread
    if op == "logsumexp":
        if not count:
            return None
        highest = max(values)
        return highest + gmpy2.log(sum((gmpy2.exp(v - highest) for v in values), mpfr(0)))
    if op == "norm":
        return norm(values, kwargs.get("p", 2))
    return None


def norm(values, p):
    """The p-norm of MPFR numbers."""
    sizes = [abs(v) for v in values]
    if not sizes:
        return None
    if p == 0:
        return mpfr(sum(1 for s in sizes if s))
    if p in (INF, -INF):
        return max(sizes) if p > 0 else min(sizes)
    return sum((s ** mpfr(p) for s in sizes), mpfr(0)) ** (1 / mpfr(p))


def softened(op, row):
    """The soft maximum of a row of MPFR numbers, or its logarithm."""
    highest = max(row)
    powers = [gmpy2.exp(v - highest) for v in row]
    total = sum(powers, mpfr(0))
    if op == "softmax":
        return [p / total for p in powers]
    return [v - highest - gmpy2.log(total) for v in row]


def exactly_softened(op, x, dim):
    """The patterns of a soft maximum along `dim`, each rounded once."""
    name = NAMES[x.dtype]
    moved = x.movedim(dim, -1)
    values = []
    for row in moved.reshape(-1, moved.shape[-1]):
        values += softened(op, [decode(int(p), name) for p in to_bits(row)])
    codes = numpy.array([encode(v, name) for v in values], UNSIGNED[WIDTHS[name]])
    return to_bits(from_bits(codes, name).reshape(moved.shape).movedim(-1, dim))


def slices(x, kwargs):
    """The input's elements, one row for each element of the result."""
    dim = kwargs.get("dim")
    if dim is None or dim == ():
        dim = tuple(range(x.dim()))
    dims = sorted(d % x.dim() for d in (dim if isinstance(dim, tuple) else (dim,)))
    kept = [d for d in range(x.dim()) if d not in dims]
    rows = math.prod(x.shape[d] for d in kept)
    return x.permute(kept + dims).reshape(rows, -1)


def exactly_reduced(op, x, kwargs):
    """The patterns of a reduction, each rounded once, or None where there is no exact value."""
    name = NAMES[x.dtype]
    codes = []
    for row in slices(x, kwargs):
        value = exact(op, [decode(int(p), name) for p in to_bits(row)], kwargs)
        codes.append(None if value is None else encode(value, name))
    return None if None in codes else numpy.array(codes, UNSIGNED[WIDTHS[name]])


def refer(out, op, x, kwargs, result):
    """Add the exact reference to the last case, if all elements are finite floats."""
    name = NAMES[x.dtype]
    if name not in FORMATS or not torch.isfinite(x).all() or not x.numel() or x.dim() == 0:
        return
    with WORK:
        if op in ("softmax", "log_softmax"):
            patterns = exactly_softened(op, x, kwargs["dim"])
        else:
            patterns = exactly_reduced(op, x, kwargs)
    if patterns is None:
        return
    assert len(patterns) == result.numel(), (op, kwargs)
    distances = ulps(to_bits(result), patterns, name)
    out.cases[-1]["reference"] = out.pool.add(patterns)
    out.cases[-1]["ulp"] = -1 if min(distances) < 0 else max(distances)


def one(out, op, key, x, kwargs, **operands):
    """Record one reduction of the stored input `key` viewed as `x`, with further operands: `b`, or by their names."""
    if x.numel() != out.index[key]["n"]:
        key = out.input(f"{key} as {list(x.shape)}", x.reshape(-1))
    case = {"op": op, "kwargs": keywords(kwargs), "a": key, "in_shape": list(x.shape)}
    for name, operand in operands.items():
        case[name] = out.input(f"operand {len(out.index)}", operand.reshape(-1))
        case[f"{name}_shape"] = list(operand.shape)
    second = [operands.pop("b")] if "b" in operands else []
    call = lambda: function(op)(x, *second, **kwargs, **operands)  # noqa: E731
    error = out.record(case, call)
    if error is None and "outputs" not in case:
        if "shape" not in case:
            case["shape"] = [case["n"]]
        refer(out, op, x, kwargs, call())


def main():
    out = Recorder("reductions.py", "reductions", sets())
    for name in DTYPES:
        key = out.input(f"tame/{name}")
        x = out.inputs[key].reshape(SHAPE)
        ordinary(out, name, key, x)
        empties(out, name)
        sums_to_size(out, key, x)
        normalised(out, key, x)
        distances(out, key, x)
    peculiar(out)
    long(out)
    out.write()


def ordinary(out, name, key, x):
    for op in PLAIN:
        for kwargs in calls(op):
            one(out, op, key, x, kwargs)
    for op in ("argmax", "argmin"):
        for kwargs in ({}, {"dim": 0}, {"dim": 1, "keepdim": True}, {"dim": -1}, {"keepdim": True}):
            one(out, op, key, x, kwargs)
    for op in ("var", "std"):
        for correction in (0, 2, 3, 5):
            for dim in (0, (0, 2), (0, 1, 2)):
                one(out, op, key, x, {"dim": dim, "correction": correction})
    for op in ("softmax", "log_softmax"):
        for dim in (0, 1, -1):
            one(out, op, key, x, {"dim": dim})
    for p in NORMS:
        for more in ({}, {"dim": 1}, {"dim": (0, 2), "keepdim": True}, {"dim": -1}):
            one(out, "norm", key, x, {"p": p, **more})
    for op in ("sum", "mean", "amax", "argmax", "softmax", "var", "all", "logsumexp", "prod"):
        for dim in (3, -4):
            one(out, op, key, x, {"dim": dim})
    for op in ("sum", "mean", "amax", "var", "all"):
        one(out, op, key, x, {"dim": (0, 0)})
        one(out, op, key, x, {"dim": (0, -3)})
    for op in PLAIN + ["argmax", "argmin"]:
        scalar = x[0, 0, 0]
        one(out, op, out.input(f"first/{name}", scalar.reshape(1)), scalar, {})
        one(out, op, f"first/{name}", scalar, {"dim": 0})
        one(out, op, f"first/{name}", scalar, {"dim": -1})


def normalised(out, key, x):
    """Norms divided by, and deviations from means."""
    for kwargs in ({}, {"p": 1.0, "dim": -1}, {"p": 3.0, "dim": 0}, {"p": INF}, {"eps": 10.0}, {"dim": 3}):
        one(out, "normalize", key, x, kwargs)
    one(out, "normalize", key, x.reshape(-1), {})
    weight, bias = x[1, 2] * 2, x[2, 0]
    for op, more in (("layer_norm", {"bias": bias}), ("rms_norm", {})):
        for sizes in ([5], [4, 5], [3, 4, 5], [3], [2, 3, 4, 5], []):
            one(out, op, key, x, {"normalized_shape": sizes})
        one(out, op, key, x, {"normalized_shape": [5], "eps": 0.25}, weight=weight, **more)
        one(out, op, key, x, {"normalized_shape": [4, 5]}, weight=x[1])
        one(out, op, key, x, {"normalized_shape": [5]}, weight=x[1])
        one(out, op, key, x[:0], {"normalized_shape": [5]})
    one(out, "layer_norm", key, x, {"normalized_shape": [5]}, bias=bias)
    one(out, "layer_norm", key, x, {"normalized_shape": [5]}, bias=x[1])
    one(out, "layer_norm", key, x, {"normalized_shape": [5]}, weight=weight.double())


def distances(out, key, x):
    """Distances and angles between vectors, which broadcast."""
    other = x.flip(0, 1, 2)
    for y in (other, other[0], other[0, 0], other[:, :1], other[:, :2], other[..., :3]):
        for kwargs in ({}, {"dim": -1}, {"dim": 0}):
            one(out, "cosine_similarity", key, x, kwargs, b=y)
        one(out, "pairwise_distance", key, x, {}, b=y)
        one(out, "cdist", key, x, {}, b=y)
    one(out, "cosine_similarity", key, x, {"dim": 3}, b=other)
    one(out, "cosine_similarity", key, x, {"eps": 100.0}, b=other)
    one(out, "cosine_similarity", key, x[0, 0], {"dim": 0}, b=other[0, 0])
    for kwargs in ({"p": 1.0}, {"p": 3.0, "keepdim": True}, {"p": INF}, {"p": 0.0}, {"eps": 0.5}):
        one(out, "pairwise_distance", key, x, kwargs, b=other)
    for p in (0.0, 1.0, 1.5, 3.0, INF, -1.0):
        one(out, "cdist", key, x, {"p": p}, b=other[:, :2])
    one(out, "cdist", key, x, {}, b=x)
    one(out, "cdist", key, x[..., :0], {"p": INF}, b=other[..., :0])
    one(out, "cdist", key, x[:, :0], {}, b=other)


def empties(out, name):
    key = out.input(f"empty/{name}", torch.empty(0, dtype=DTYPES[name]))
    for shape, dim in EMPTY:
        x = out.inputs[f"tame/{name}"][:0].reshape(shape)
        for op in PLAIN + ["argmax", "argmin"]:
            if op in ("argmax", "argmin", "prod") and isinstance(dim, tuple):
                continue
            one(out, op, key, x, {} if dim is None else {"dim": dim})
        if isinstance(dim, int):
            one(out, "softmax", key, x, {"dim": dim})
            one(out, "log_softmax", key, x, {"dim": dim})
        for p in NORMS:
            one(out, "norm", key, x, {"p": p} if dim is None else {"p": p, "dim": dim})


def sums_to_size(out, key, x):
    for size in (
        [3, 4, 5],
        [4, 5],
        [1, 5],
        [5],
        [1],
        [],
        [3, 1, 5],
        [1, 1, 1],
        [3, 1, 1],
        [4, 1],
        [3, 4],
        [2, 4, 5],
        [1, 3, 4, 5],
    ):
        case = {"op": "sum_to_size", "kwargs": {"size": size}, "a": key, "in_shape": list(x.shape)}
        out.record(case, lambda: x.sum_to_size(size))
        if "n" in case:
            case["shape"] = size


def peculiar(out):
    """NaN, infinities, signed zeros and ties."""
    nan = float("nan")
    rows = {
        "nan": [1.0, nan, 3.0, -2.0], "two_nan": [nan, 5.0, nan, 1.0], "inf": [1.0, INF, 2.0, 3.0],
        "both_inf": [INF, -INF, 1.0, 2.0], "minus_inf": [-INF, -INF, -INF, -INF],
        "zeros": [0.0, -0.0, 0.0, -0.0], "minus_zeros": [-0.0, -0.0, -0.0, -0.0],
        "ties": [3.0, 1.0, 3.0, 1.0], "inf_nan": [INF, nan, -INF, 0.0], "one": [2.0],
        "large": [60000.0, 60000.0, -60000.0, 1.0], "huge": [3e38, 3e38, -3e38, 1.0],
    }  # fmt: skip
    reals = [n for n in DTYPES if n in FORMATS] + ["complex64", "complex128"]
    for label, row in rows.items():
        for name in reals:
            x = torch.tensor(row, dtype=torch.float64).to(DTYPES[name])
            everything(out, f"{label}/{name}", x)
    for name in DTYPES:
        if name not in reals and name != "bool":
            everything(out, f"ties/{name}", torch.tensor(rows["ties"]).to(DTYPES[name]))
            info = torch.iinfo(DTYPES[name])
            everything(
                out,
                f"wrap/{name}",
                torch.tensor([info.max, info.max, info.min, 3], dtype=DTYPES[name]),
            )
    for label, row in {"true": [1, 1], "false": [0, 0], "mixed": [0, 1]}.items():
        everything(out, f"{label}/bool", torch.tensor(row).bool())


def everything(out, key, x):
    """Every reduction of one vector."""
    out.input(key, x)
    for op in PLAIN + ["argmax", "argmin"]:
        one(out, op, key, x, {})
        one(out, op, key, x, {"dim": 0})
    for op in ("softmax", "log_softmax"):
        one(out, op, key, x, {"dim": 0})
    for p in NORMS:
        one(out, "norm", key, x, {"p": p})


def long(out):
    """Sums long enough that the order of additions shows."""
    generator = numpy.random.default_rng(23)
    numbers = torch.from_numpy(generator.standard_normal(1000))
    for name in FORMATS:
        x = numbers.to(DTYPES[name])
        key = out.input(f"long/{name}", x)
        for shape, dim in (((1000,), None), ((10, 100), 0), ((10, 100), 1), ((100, 10), 0)):
            for op in ("sum", "mean", "var", "std", "logsumexp", "norm", "prod"):
                one(out, op, key, x.reshape(shape), {} if dim is None else {"dim": dim})


if __name__ == "__main__":
    main()
