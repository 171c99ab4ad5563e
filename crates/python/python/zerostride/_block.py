"""Owns what a worker of Dask computes: the program of one block, and the folds that combine the results of several. It does not
know how a computation becomes blocks (``_chunked.py``).

A program is a list of instructions over *labels*, which are the dimensions that its operands meet in: every value has one
dimension for each label, of size 1 where it does not depend on it. Programs are pickled bytes, so that they are names of
what they compute.
"""

import contextlib
import functools
import math
import os
import pickle
import sys
import threading
import time

from . import _zerostride as zs
from ._fuse import fuse

# Seconds for which a scheduler's answer, how many threads the workers of a machine have, is taken to hold.
_MOST_SECONDS = 30


def run(program, *blocks):
    """Runs a program on blocks; those of dimensions that it reduces come in lists of one."""
    function, is_own = _compiled(program)
    blocks = map(_alone, blocks)
    with _shared_cores():
        return function(*map(zs.asarray, blocks) if is_own else blocks)


@functools.lru_cache(maxsize=256)
def _compiled(program):
    rank, instructions, results, dropped, is_own = pickle.loads(program)

    def piece(*blocks):
        values = []
        for word, *arguments in instructions:
            values.append(_INSTRUCTIONS[word](rank, blocks, values, *arguments))
        kept = tuple(0 if label in dropped else slice(None) for label in range(rank))
        found = tuple(_kept(values[number], kept) if dropped else values[number] for number in results)
        return found if len(found) > 1 else found[0]

    return fuse(piece, rules="torch"), is_own


def _kept(value, kept):
    """Counts are numbers, which have no dimensions to drop."""
    return value if isinstance(value, int) else value[kept]


def _alone(block):
    while isinstance(block, list):
        (block,) = block
    if isinstance(block, zs.Tensor):
        return block
    import numpy

    # A scalar is an array without dimensions here, and no bare number.
    return numpy.asarray(block)


# Instructions: functions of the number of labels, the blocks and the values so far.


def _operand(rank, blocks, values, place, labels):
    """A block whose dimensions have these labels."""
    block = blocks[place]
    order = sorted(range(len(labels)), key=labels.__getitem__)
    if order != list(range(len(labels))):
        block = block.permute(order)
    return block[tuple(slice(None) if label in labels else None for label in range(rank))] if rank > len(labels) else block


def _number(rank, blocks, values, number):
    return number


def _map(rank, blocks, values, operands, op, compute, result):
    return zs._settled(op, [values[operand] for operand in operands], getattr(zs, compute), getattr(zs, result))


def _cast(rank, blocks, values, operand, dtype):
    value, dtype = values[operand], getattr(zs, dtype)
    return value.to(dtype) if isinstance(value, zs.Expr) else zs.tensor(value, dtype=dtype)


def _reduce(rank, blocks, values, operand, op, sizes, correction):
    """A reduction over labels; `sizes` has the sizes of those that the operand may be stretched along."""
    x = _stretched(values[operand], sizes)
    if op in ("argmax", "argmin"):
        # Over one dimension, or over all, beside which the operand has none.
        (dim,) = sizes if len(sizes) == 1 else (None,)
        found = getattr(zs, op)(x, dim, keepdim=dim is not None)
        return found if dim is not None else found[(None,) * rank]
    options = {"correction": correction} if op == "var" else {}
    return getattr(zs, op)(x, tuple(sizes), keepdim=True, **options)


def _stretched(x, sizes):
    wanted = [size if sizes.get(label) is None else sizes[label] for label, size in enumerate(x.shape)]
    return x if wanted == list(x.shape) else x.expand(wanted)


def _mean(rank, blocks, values, operand, sizes):
    x = _stretched(values[operand], sizes)
    return zs.sum(x, tuple(sizes), keepdim=True) / _count(rank, blocks, values, operand, sizes)


def _count(rank, blocks, values, operand, sizes):
    x = _stretched(values[operand], sizes)
    return math.prod(x.shape[label] for label in sizes)


def _spread(rank, blocks, values, operand, mean, sizes):
    """The sum of squared distances from the mean."""
    distances = _stretched(values[operand], sizes) - values[mean]
    squares = zs.square(zs.abs(distances)) if distances.is_complex() else zs.square(distances)
    return zs.sum(squares, tuple(sizes), keepdim=True)


def _matmul(rank, blocks, values, a, b, row, column, inner):
    """The product of values over a label; `row` and `column` are those of the result, `None` where a factor is a vector."""
    row, column = (rank if row is None else row), (rank + 1 if column is None else column)
    others = [label for label in range(rank + 2) if label not in (row, column, inner)]

    def factor(x, kept, absent):
        return x[..., None, None].permute([*others, kept, inner, absent])[..., 0]

    found = zs.matmul(factor(values[a], row, column), factor(values[b], column, row).mT)[..., None]
    order = [*others, row, column, inner]
    return found.permute([order.index(label) for label in range(rank + 2)])[..., 0, 0]


def _index(rank, blocks, values, operands, strides):
    """The number of each element in row-major order, of its indices along several labels."""
    return sum(values[operand] * stride for operand, stride in zip(operands, strides, strict=True))


def _first(rank, blocks, values, operand, wanted, index, sizes):
    """The least index of what is wanted."""
    x = _stretched(values[operand], sizes)
    return zs.amin(zs.where(_is_same(x, values[wanted]), values[index], _NOWHERE), tuple(sizes), keepdim=True)


def _is_same(x, y):
    return (x == y) | (zs.isnan(x) & zs.isnan(y))


# More than any index.
_NOWHERE = (1 << 63) - 1

_INSTRUCTIONS = {
    "operand": _operand, "number": _number, "map": _map, "cast": _cast, "reduce": _reduce, "matmul": _matmul, "mean": _mean, "count": _count,
    "spread": _spread, "index": _index, "first": _first,
}  # fmt: skip


# Folds: from the results of blocks, each a tuple of tensors, one. They have size 1 along what is reduced.


def _of_one(reduce):
    """The fold of results that are reduced as elements are."""
    return lambda parts: (reduce(parts[0], 0),)


def _moments(parts):
    """Count, mean and squared distances of elements of which several parts have theirs (Chan, Golub, LeVeque 1979)."""
    counts, means, spreads = parts
    count, weights = zs.sum(counts), counts.reshape(-1, *[1] * (means.ndim - 1))
    mean = zs.sum(weights * means, 0) / count
    distances = zs.square(zs.abs(means - mean))
    return count, mean, zs.sum(spreads + weights * distances, 0)


def _of_extreme(extreme):
    def place(parts):
        values, indices = parts
        best = extreme(values, 0)
        return best, zs.amin(zs.where(_is_same(values, best), indices, _NOWHERE), 0)

    return place


_FOLDS = {
    **{name: _of_one(getattr(zs, name)) for name in ("sum", "prod", "amax", "amin", "all", "any")},
    "var": _moments,
    "argmax": _of_extreme(zs.amax),
    "argmin": _of_extreme(zs.amin),
}


def same(block, axis, keepdims):
    """What the results of blocks are before they are combined."""
    return block


def combined(blocks, axis, keepdims, *, op):
    """One result of blocks for several."""
    found = _flat(blocks)
    if len(found) == 1:
        return found[0]
    with _shared_cores():
        return _FOLDS[op]([zs.stack([zs.asarray(part) for part in parts]) for parts in zip(*found, strict=True)])


def finished(blocks, axis, keepdims, *, op, correction, dtype, is_own):
    """What a reduction gives of the results of its blocks, as a tensor or NumPy's array."""
    found = combined(blocks, axis, keepdims, op=op)
    if op == "var":
        count, _, spread = found
        result = spread / zs.clamp_min(zs.asarray(count) - correction, 0)
    else:
        result = found[-1]
    result = zs.asarray(result).to(getattr(zs, dtype))
    result = result[tuple(0 if dim in axis else slice(None) for dim in range(result.ndim))]
    return result if is_own else result.numpy()


def _flat(blocks):
    if isinstance(blocks, tuple):
        return [blocks]
    if isinstance(blocks, list):
        return [part for block in blocks for part in _flat(block)]
    return [(blocks,)]


# Threads.

_sharing = threading.Lock()
_sharers, _own = 0, 0
_known = {}


@contextlib.contextmanager
def _shared_cores():
    """While blocks are computed, an evaluation has as many threads as there are cores for each thread that computes blocks."""
    global _sharers, _own
    worker = _worker()
    threads = _threads_of_one(worker)
    with _sharing:
        if _sharers == 0:
            _own = zs.get_num_threads()
            if threads < _own or (worker and _is_dasks(_own)):
                zs.set_num_threads(threads)
        _sharers += 1
    try:
        yield
    finally:
        with _sharing:
            _sharers -= 1
            if _sharers == 0 and zs.get_num_threads() != _own:
                zs.set_num_threads(_own)


def _worker():
    """The worker of a cluster that calls, or `None`."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed and distributed.get_worker()
    except ValueError:
        return None


def _is_dasks(threads):
    """Whether a worker's process was started with so many threads for an evaluation by Dask, which always says one, and not by
    the user."""
    import dask

    given = dask.config.get("distributed.nanny.pre-spawn-environ.OMP_NUM_THREADS", None)
    return "RAYON_NUM_THREADS" not in os.environ and os.environ.get("OMP_NUM_THREADS") == str(given) == str(threads)


def _threads_of_one(worker):
    import dask
    from dask.system import CPU_COUNT

    if worker:
        return max(CPU_COUNT // _threads_of_workers(worker), 1)
    if threading.current_thread() is threading.main_thread():
        return CPU_COUNT
    return max(CPU_COUNT // (dask.config.get("num_workers", None) or CPU_COUNT), 1)


def _threads_of_workers(worker):
    """The threads of all workers of this machine, as the scheduler knows them."""
    since, threads = _known.get(worker.address, (-math.inf, 0))
    if time.monotonic() - since > _MOST_SECONDS:
        from distributed.utils import sync

        threads = worker.state.nthreads
        # Where the scheduler does not answer, this worker counts as the only one.
        with contextlib.suppress(OSError, TimeoutError):
            workers = sync(worker.loop, worker.scheduler.identity, n_workers=-1, callback_timeout=5)["workers"]
            host = workers[worker.address]["host"] if worker.address in workers else None
            threads = sum(other["nthreads"] for other in workers.values() if other["host"] == host) or threads
        _known[worker.address] = time.monotonic(), threads
    return threads
